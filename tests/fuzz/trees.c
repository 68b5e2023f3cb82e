/* trees.c - fuzz target: the binary files of a model bundle, trees and points
 *
 * Every input is read as both. Trees that are accepted predict numbers, or an error for
 * a sum that overflows; points that are accepted have distances. The trees have few
 * features, so that inputs stay small.
 *
 * Aims at: model/predict/flat.c model/predict/trees.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"

#include "predict/bundle.h"

#define N_FEATURES 6
#define N_ROWS     3

static void try_trees (struct dn_span file)
{
    static const float rows[N_ROWS][N_FEATURES] = {
        {0, 1, NAN, 0.5F, -1, 2}, {-1e6F, 1e6F, 0.5F}, {NAN, NAN, NAN, NAN, NAN, NAN}};
    struct dn_err err = {0};
    struct dn_trees *trees = dn_trees_read (file, N_FEATURES, &err);
    float out[N_ROWS];

    if (!trees) {
        expect_message (&err);
        return;
    }
    if (dn_trees_predict (trees, rows[0], N_ROWS, out, &err) < 0)
        expect_message (&err);
    else
        for (int i = 0; i < N_ROWS; i++)
            expect (isfinite (out[i]), "no number");
    dn_trees_free (trees);
}

static void try_points (struct dn_span file)
{
    static const float nothing[DN_N_FEATURES];
    struct dn_domain domain = {.n_used = DN_AXES_ALL};
    struct dn_err err = {0};

    for (int i = 0; i < DN_N_FEATURES; i++) {
        domain.used[i] = i;
        domain.scale[i] = 1;
    }
    if (dn_domain_read (file, &domain, &err) < 0)
        expect_message (&err);
    else
        expect (dn_domain_distance (&domain, nothing) >= 0, "a distance");
    dn_domain_free (&domain);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct dn_span file = {(const char *) data, size};

    try_trees (file);
    try_points (file);
    return 0;
}
