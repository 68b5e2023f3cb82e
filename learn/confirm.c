/* confirm.c - compare our predictions with those of libxgboost for the same trees
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/confirm.h"

#include <math.h>
#include <stdlib.h>

#include "learn/boost.h"
#include "learn/reals.h"

#define RANDOM_ROWS 2000
#define SEED        UINT64_C (20240607)

/* --- rows ------------------------------------------------------------------------ */

/* The limits of the splits of feature f are limits[first[f]] to limits[first[f + 1] -
 * 1].
 */
struct limits {
    float *limits;
    int *first;
};

static void free_limits (struct limits *limits)
{
    free (limits->limits);
    free (limits->first);
}

static int find_limits (const struct dn_trees *trees,
                        struct limits *limits,
                        struct dn_err *err)
{
    int n_nodes = trees->first[trees->n_trees];
    size_t n = (size_t) trees->n_features;
    dn_cleanup (dn_free_ptr) int *next = calloc (n, sizeof (*next));

    limits->limits = calloc ((size_t) n_nodes, sizeof (*limits->limits));
    limits->first = calloc (n + 1, sizeof (*limits->first));
    if (!next || !limits->limits || !limits->first)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int i = 0; i < n_nodes; i++)
        if (trees->nodes[i].child > 0)
            limits->first[trees->nodes[i].feature + 1]++;
    for (size_t f = 0; f < n; f++) {
        limits->first[f + 1] += limits->first[f];
        next[f] = limits->first[f];
    }
    for (int i = 0; i < n_nodes; i++)
        if (trees->nodes[i].child > 0)
            limits->limits[next[trees->nodes[i].feature]++] = trees->nodes[i].value;
    return 0;
}

static uint64_t draw (uint64_t *state, uint64_t n)
{
    return (dn_xorshift (state) >> 11) % n;
}

static float draw_value (const struct limits *limits, int feature, uint64_t *state)
{
    int first = limits->first[feature];
    int n = limits->first[feature + 1] - first;
    float limit = n > 0 ? limits->limits[first + (int) draw (state, (uint64_t) n)] : 0;

    switch (draw (state, 8)) {
    case 0:
        return NAN;
    case 1:
        return 0;
    case 2:
    case 3:
        return limit;
    case 4:
    case 5:
        return nextafterf (limit, -INFINITY);
    default:
        return limit + (float) draw (state, 2001) / 1000 - 1;
    }
}

/* One row of missing features, one of zeros, and random rows. */
static float *make_rows (const struct dn_trees *trees, int n_rows, struct dn_err *err)
{
    dn_cleanup (free_limits) struct limits limits = {NULL, NULL};
    int n = trees->n_features;
    float *rows;
    uint64_t state = SEED;

    if (find_limits (trees, &limits, err) < 0)
        return NULL;
    rows = calloc ((size_t) n_rows * (size_t) n, sizeof (*rows));
    if (!rows) {
        dn_err_set (err, DN_E_NOMEM, "out of memory");
        return NULL;
    }
    for (int f = 0; f < n; f++)
        rows[f] = NAN;
    for (int i = 2 * n; i < n_rows * n; i++)
        rows[i] = draw_value (&limits, i % n, &state);
    return rows;
}

/* --- comparing ------------------------------------------------------------------- */

static int compare (const struct dn_trees *trees,
                    const struct dn_boost *trained,
                    const float *rows,
                    int n_rows,
                    struct dn_confirmed *confirmed,
                    struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) float *sums =
        malloc (2 * (size_t) n_rows * sizeof (*sums));
    float *ours;

    if (!sums)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    ours = sums + n_rows;
    if (dn_boost_predict (trained, rows, n_rows, trees->n_features, sums, err) < 0
        || dn_trees_predict (trees, rows, n_rows, ours, err) < 0)
        return -1;
    for (int i = 0; i < n_rows; i++) {
        double difference =
            fabs ((double) sums[i] - (double) ours[i]) / (1 + fabs ((double) ours[i]));

        if (!(difference <= DN_CONFIRM_TOLERANCE))
            return dn_err_set (err,
                               DN_E_VERSION,
                               "libxgboost predicts %g, expected %g from these trees",
                               (double) sums[i],
                               (double) ours[i]);
        confirmed->difference = fmax (confirmed->difference, difference);
    }
    confirmed->n_rows += n_rows;
    return 0;
}

int dn_confirm_trees (const struct dn_trees *trees,
                      const struct dn_boost *trained,
                      const float *rows,
                      int n_rows,
                      struct dn_confirmed *confirmed,
                      struct dn_err *err)
{
    const int n_made = 2 + RANDOM_ROWS;
    dn_cleanup (dn_free_ptr) float *made = make_rows (trees, n_made, err);

    *confirmed = (struct dn_confirmed){.n_rows = 0};
    if (!made
        || (n_rows > 0 && compare (trees, trained, rows, n_rows, confirmed, err) < 0))
        return -1;
    return compare (trees, trained, made, n_made, confirmed, err);
}
