/* booster.c - small boosters for tests, trained by libxgboost
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <xgboost/c_api.h>

#include "booster.h"

#define N_ROWS 200

#define REQUIRE(call)                                                                  \
    do {                                                                               \
        if ((call) != 0)                                                               \
            fail_msg ("%s: %s", #call, XGBGetLastError ());                            \
    } while (0)

/* The same on every machine: a linear congruential generator. */
static unsigned next (unsigned *seed)
{
    *seed = *seed * 1664525U + 1013904223U;
    return *seed >> 8;
}

void booster_row (int row, int n_features, float *out)
{
    unsigned seed = (unsigned) row * 7919U + 17U;

    for (int i = 0; i < n_features; i++) {
        float value = (float) (next (&seed) % 2000) / 1000 - 1;

        out[i] = next (&seed) % 8 == 0 ? NAN : value;
    }
}

static float target (const float *row, int n_features)
{
    float sum = 0;

    for (int i = 0; i < n_features; i++)
        if (!isnan (row[i]))
            sum += sinf (3 * row[i] + (float) i) / 10;
    return sum;
}

static DMatrixHandle make_matrix (int n_features)
{
    float *rows = malloc (sizeof (*rows) * N_ROWS * (size_t) n_features);
    float labels[N_ROWS];
    DMatrixHandle matrix;

    assert_non_null (rows);
    for (int i = 0; i < N_ROWS; i++) {
        float *row = rows + (ptrdiff_t) i * n_features;

        booster_row (i, n_features, row);
        labels[i] = target (row, n_features);
    }
    REQUIRE (
        XGDMatrixCreateFromMat (rows, N_ROWS, (bst_ulong) n_features, NAN, &matrix));
    REQUIRE (XGDMatrixSetFloatInfo (matrix, "label", labels, N_ROWS));
    free (rows);
    return matrix;
}

char *booster_json (int n_features,
                    int n_rounds,
                    const struct booster_parameter *parameters,
                    float expected[BOOSTER_ROWS])
{
    DMatrixHandle matrix = make_matrix (n_features);
    BoosterHandle booster;
    bst_ulong len;
    const char *text;
    const float *values;
    char *copy;

    REQUIRE (XGBoosterCreate (&matrix, 1, &booster));
    REQUIRE (XGBoosterSetParam (booster, "nthread", "1"));
    REQUIRE (XGBoosterSetParam (booster, "verbosity", "0"));
    REQUIRE (XGBoosterSetParam (booster, "max_depth", "4"));
    for (; parameters && parameters->name; parameters++)
        REQUIRE (XGBoosterSetParam (booster, parameters->name, parameters->value));
    for (int i = 0; i < n_rounds; i++)
        REQUIRE (XGBoosterUpdateOneIter (booster, i, matrix));
    if (expected) {
        REQUIRE (XGBoosterPredict (booster, matrix, 0, 0, 0, &len, &values));
        memcpy (expected, values, BOOSTER_ROWS * sizeof (*values));
    }
    REQUIRE (
        XGBoosterSaveModelToBuffer (booster, "{\"format\":\"json\"}", &len, &text));
    copy = malloc (len + 1);
    assert_non_null (copy);
    memcpy (copy, text, len);
    copy[len] = '\0';
    XGBoosterFree (booster);
    XGDMatrixFree (matrix);
    return copy;
}
