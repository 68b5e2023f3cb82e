/* residual.h - boosted trees behind a small interface
 *
 * The only room of libxgboost, which confirms what was read here.
 *
 * A residual is immutable: any number of threads may predict with it at once. It starts
 * no thread of its own, neither when it is read nor when it predicts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_RESIDUAL_H
#define DN_RESIDUAL_H

#include "base/text.h"

struct dn_residual;

/* Read an XGBoost model of 'n_features' features from its JSON. NULL with 'err'. Freed
 * with dn_residual_free ().
 */
struct dn_residual *dn_residual_new (struct dn_span json,
                                     int n_features,
                                     struct dn_err *err);

/* NULL-safe. No thread may be predicting with it. */
void dn_residual_free (struct dn_residual *residual);

/* Predict 'n_rows' rows of features in one call; NaN is a value that is missing. Return
 * -1 with 'err' when a sum is beyond all numbers; 'out' is not to be used then. Neither
 * allocates nor calls anybody.
 */
int dn_residual_predict (const struct dn_residual *residual,
                         const float *rows,
                         int n_rows,
                         float *out,
                         struct dn_err *err);

#endif
