/* confirm.c - tests of trees from libxgboost: reading, writing, comparing
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <pthread.h>

#include "base/limits.h"
#include "learn/boost.h"
#include "learn/confirm.h"
#include "learn/flat_write.h"

#define F      6
#define N_ROWS 64

/* The model that libxgboost trained on some rows, the trees as they are read from a
 * file of a bundle, and what libxgboost predicts of the rows.
 */
struct trained {
    float rows[N_ROWS * F];
    float expected[N_ROWS];
    struct dn_boost *boost;
    struct dn_trees *trees;
};

/* The same on every machine: a linear congruential generator. */
static unsigned next (unsigned *seed)
{
    *seed = *seed * 1664525U + 1013904223U;
    return *seed >> 8;
}

static void fill_row (int number, float row[F])
{
    unsigned seed = (unsigned) number * 7919U + 17U;

    for (int i = 0; i < F; i++) {
        float value = (float) (next (&seed) % 2000) / 1000 - 1;

        row[i] = next (&seed) % 8 == 0 ? NAN : value;
    }
}

/* The trees that are read from the bytes that a bundle has of these. */
static struct dn_trees *written (struct dn_trees *trees)
{
    struct dn_flat_file file = {NULL, 0};
    struct dn_trees *read;

    if (!trees || dn_flat_write_trees (trees, &file, &unit_err) < 0)
        fail_msg ("%s", unit_err.text);
    read = assert_made (dn_trees_read (dn_flat_file_span (&file), F, &unit_err));
    assert_int_equal (read->n_trees, trees->n_trees);
    dn_trees_free (trees);
    free (file.data);
    return read;
}

int before_test (void **state)
{
    static struct trained trained;
    float targets[N_ROWS];
    float weights[N_ROWS];
    const struct dn_boost_table table = {.features = trained.rows,
                                         .targets = targets,
                                         .weights = weights,
                                         .n = N_ROWS,
                                         .n_features = F};

    for (int i = 0; i < N_ROWS; i++) {
        float *row = trained.rows + (ptrdiff_t) i * F;

        fill_row (i, row);
        targets[i] = isnan (row[0]) ? 2 : row[0] + (isnan (row[3]) ? 0 : row[3]);
        weights[i] = 1;
    }
    trained.boost = dn_boost_train (&table, 1, &unit_err);
    if (!trained.boost
        || dn_boost_predict (
               trained.boost, trained.rows, N_ROWS, F, trained.expected, &unit_err)
               < 0)
        fail_msg ("%s", unit_err.text);
    trained.trees = written (dn_boost_trees (trained.boost, F, &unit_err));
    *state = &trained;
    return 0;
}

int after_test (void **state)
{
    struct trained *trained = *state;

    dn_boost_free (trained->boost);
    dn_trees_free (trained->trees);
    return 0;
}

TEST ("Predictions equal those of the trainer")
{
    const struct trained *trained = *state;
    float out[N_ROWS];

    assert_int_equal (
        dn_trees_predict (trained->trees, trained->rows, N_ROWS, out, NULL), 0);
    for (int i = 0; i < N_ROWS; i++)
        if (fabsf (out[i] - trained->expected[i]) > 1e-5F)
            fail_msg ("row %d: %g, expected %g",
                      i,
                      (double) out[i],
                      (double) trained->expected[i]);
    assert_true (fabsf (out[0] - out[1]) > 1e-4F);
}

TEST ("One row gives the same sum as among many")
{
    const struct trained *trained = *state;
    float many[N_ROWS];

    assert_int_equal (
        dn_trees_predict (trained->trees, trained->rows, N_ROWS, many, NULL), 0);
    for (int i = 0; i < N_ROWS; i++) {
        float one;

        assert_int_equal (
            dn_trees_predict (
                trained->trees, trained->rows + (ptrdiff_t) i * F, 1, &one, NULL),
            0);
        assert_true (one == many[i]);
    }
}

struct worker {
    const struct trained *trained;
    int n_wrong;
};

static void *predict_often (void *context)
{
    struct worker *worker = context;
    const struct trained *trained = worker->trained;
    float out;

    for (int i = 0; i < 3000; i++) {
        int which = (i * 7) % N_ROWS;

        if (dn_trees_predict (
                trained->trees, trained->rows + (ptrdiff_t) which * F, 1, &out, NULL)
                < 0
            || fabsf (out - trained->expected[which]) > 1e-5F)
            worker->n_wrong++;
    }
    return NULL;
}

TEST ("Threads do not disturb each other")
{
    struct worker workers[6];
    pthread_t threads[6];

    for (int i = 0; i < 6; i++) {
        workers[i] = (struct worker){*state, 0};
        assert_int_equal (
            pthread_create (&threads[i], NULL, predict_often, &workers[i]), 0);
    }
    for (int i = 0; i < 6; i++) {
        pthread_join (threads[i], NULL);
        assert_int_equal (workers[i].n_wrong, 0);
    }
}

TEST ("libxgboost confirms the trees that it trained")
{
    const struct trained *trained = *state;
    struct dn_confirmed confirmed;

    assert_done (dn_confirm_trees (
        trained->trees, trained->boost, trained->rows, N_ROWS, &confirmed, &unit_err));
    assert_int_equal (confirmed.n_rows, N_ROWS + 2002);
    assert_true (confirmed.difference >= 0 && confirmed.difference < 1e-5);
}

TEST ("Trees that libxgboost did not train are detected")
{
    const struct trained *trained = *state;
    struct dn_confirmed confirmed;
    struct dn_node *split = &trained->trees->nodes[0];
    const struct dn_node kept = *split;
    const double base = trained->trees->base;

    assert_true (split->child > 0);
    for (int i = 0; i < 5; i++) {
        if (i == 0)
            split->missing_left = !split->missing_left;
        if (i == 1)
            split->value += 0.25F;
        if (i == 2)
            split->feature = (uint8_t) ((split->feature + 1) % F);
        if (i == 3)
            trained->trees->base += 0.01;
        if (i == 4)
            *split = (struct dn_node){.value = 1};
        assert_error (
            dn_confirm_trees (
                trained->trees, trained->boost, NULL, 0, &confirmed, &unit_err),
            "libxgboost predicts ");
        trained->trees->base = base;
        *split = kept;
    }
}
