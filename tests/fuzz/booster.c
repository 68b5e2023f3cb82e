/* booster.c - fuzz target: the trees in a model file of XGBoost
 *
 * 'dnnest-dev train' reads the trees that libxgboost, of any version, writes. Trees
 * that are read predict, and can be written as a file of a bundle that is read as the
 * same trees. There are few features, so that inputs stay small.
 *
 * Aims at: learn/booster_json.c learn/flat_write.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/booster_json.h"
#include "learn/flat_write.h"

#define N_FEATURES 6
#define N_ROWS     3

static void check_written (const struct dn_trees *trees)
{
    struct dn_flat_file file = {NULL, 0};
    struct dn_err err = {0};
    struct dn_trees *again;

    expect (dn_flat_write_trees (trees, &file, &err) == 0, "not written", &err);
    again = dn_trees_read (dn_flat_file_span (&file), N_FEATURES, &err);
    expect (again != NULL, "not read again", &err);
    expect (again->n_trees == trees->n_trees
                && memcmp (again->first,
                           trees->first,
                           sizeof (int) * ((size_t) trees->n_trees + 1))
                       == 0,
            "other trees",
            NULL);
    dn_trees_free (again);
    free (file.data);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static const float rows[N_ROWS][N_FEATURES] = {
        {0, 1, NAN, 0.5F, -1, 2}, {-1e6F, 1e6F, 0.5F}, {NAN, NAN, NAN, NAN, NAN, NAN}};
    struct dn_span json = {(const char *) data, size};
    struct dn_err err = {0};
    struct dn_trees *trees = dn_booster_json_read (json, N_FEATURES, &err);
    float out[N_ROWS];

    if (!trees) {
        expect_message (&err);
        return 0;
    }
    if (dn_trees_predict (trees, rows[0], N_ROWS, out, &err) < 0)
        expect_message (&err);
    check_written (trees);
    dn_trees_free (trees);
    return 0;
}
