/* booster.h - small boosters for tests, trained by libxgboost
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

/* Train 'n_rounds' rounds on generated rows of 'n_features' features, some of them
 * missing, and return the model as JSON, terminated; 'parameters' may be NULL. The
 * caller frees it. 'expected' (may be NULL) gets the predictions of libxgboost for
 * BOOSTER_ROWS rows, those that booster_row () makes.
 */
#define BOOSTER_ROWS 16
char *booster_json (int n_features,
                    int n_rounds,
                    const struct booster_parameter *parameters,
                    float expected[BOOSTER_ROWS]);

/* Generate row number 'row'. */
void booster_row (int row, int n_features, float *out);

#endif
