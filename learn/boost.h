/* boost.h - gradient-boosted trees, made by libxgboost
 *
 * In: features and targets with weights. Out: a model file in XGBoost's JSON, the same
 * bytes for the same input, and its predictions. One thread, so that no order of
 * additions depends on the machine.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_BOOST_H
#define DN_BOOST_H

#include "base/text.h"

struct dn_boost;

/* One of the parameters of training, for the manifest; NULL behind the last. */
struct dn_boost_parameter {
    const char *name;
    const char *value;
};
const struct dn_boost_parameter *dn_boost_parameter_at (int i);
int dn_boost_rounds (void);

/* The version of libxgboost as "1.7.4". */
void dn_boost_version (char *text, size_t size);

/* Train on 'n' rows of 'n_features'. A 'floor' row (may be NULL) only says that its
 * target is this or more: it pulls where the prediction is below. NULL with 'err'.
 * Freed with dn_boost_free ().
 */
struct dn_boost *dn_boost_train (const float *features,
                                 int n,
                                 int n_features,
                                 const float *targets,
                                 const float *weights,
                                 const bool *floor,
                                 uint64_t seed,
                                 struct dn_err *err);
void dn_boost_free (struct dn_boost *made);

/* Load a model file. NULL with 'err'. */
struct dn_boost *dn_boost_load (struct dn_span json, struct dn_err *err);

int dn_boost_predict (const struct dn_boost *made,
                      const float *features,
                      int n,
                      int n_features,
                      float *out,
                      struct dn_err *err);

/* The model file; borrowed from 'made' until it is used again. -1 with 'err'. */
int dn_boost_save (const struct dn_boost *made,
                   const char **text,
                   size_t *len,
                   struct dn_err *err);

#endif
