/* booster.c - fuzz target: the trees of a model bundle
 *
 * libxgboost believes its files; ours is what stands before it. What is read is handed
 * over, and predicts; nothing that was read may make libxgboost fail. The features are
 * few, so that inputs stay small.
 *
 * Aims at: model/predict/trees.c model/predict/residual.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"

#include <math.h>

#include "predict/residual.h"

#define N_FEATURES 6
#define N_ROWS     3

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static const float rows[N_ROWS][N_FEATURES] = {
        {0, 1, NAN, 0.5F, -1, 2}, {-1e6F, 1e6F, 0.5F}, {NAN, NAN, NAN, NAN, NAN, NAN}};
    struct dn_span json = {(const char *) data, size};
    struct dn_err err = {0};
    struct dn_residual *residual = dn_residual_new (json, N_FEATURES, &err);
    float out[N_ROWS];

    if (!residual) {
        expect_message (&err);
        return 0;
    }
    expect (dn_residual_predict (residual, rows[0], N_ROWS, out, &err) == 0,
            "no prediction",
            &err);
    for (int i = 0; i < N_ROWS; i++)
        expect (!isnan (out[i]), "no number", NULL);
    dn_residual_free (residual);
    return 0;
}
