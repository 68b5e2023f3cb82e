/* booster.h - small boosters for tests, made by libxgboost itself
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_BOOSTER_H
#define DN_BOOSTER_H

#include <stddef.h>

/* A parameter of XGBoost; the last one's name is NULL. */
struct booster_parameter {
    const char *name;
    const char *value;
};

/* Train 'n_rounds' rounds on made-up rows of 'n_features' features, some of them
 * missing, and return the model as JSON, terminated; 'parameters' may be NULL. Freed by
 * the caller. 'expected' (may be NULL) gets what libxgboost itself predicts for
 * BOOSTER_ROWS rows, those that booster_row () makes.
 */
#define BOOSTER_ROWS 16
char *booster_json (int n_features,
                    int n_rounds,
                    const struct booster_parameter *parameters,
                    float expected[BOOSTER_ROWS]);

/* Row number 'row' of the made-up ones. */
void booster_row (int row, int n_features, float *out);

#endif
