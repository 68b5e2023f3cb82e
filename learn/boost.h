/* boost.h - gradient-boosted trees, trained by libxgboost
 *
 * In: features and targets with weights. Out: trees, the same for the same input, and
 * what libxgboost predicts with them. Training uses one thread, so that the
 * order of additions does not depend on the machine.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_BOOST_H
#define DN_BOOST_H

#include "predict/trees.h"

struct dn_boost;

/* A training parameter, for the manifest. NULL after the last. */
struct dn_boost_parameter {
    const char *name;
    const char *value;
};
const struct dn_boost_parameter *dn_boost_parameter_at (int i);
int dn_boost_rounds (void);

/* The version of libxgboost, such as "1.7.4". */
void dn_boost_version (char *text, size_t size);

/* What is learned from: 'n' rows of 'n_features'. The target of a 'floor' row (may be
 * NULL) is a lower limit: the row has a gradient only where the prediction is below it.
 */
struct dn_boost_table {
    float *features;
    float *targets;
    float *weights;
    bool *floor;
    int n;
    int n_features;
};

/* NULL with 'err'. Freed with dn_boost_free (). */
struct dn_boost *dn_boost_train (const struct dn_boost_table *table,
                                 uint64_t seed,
                                 struct dn_err *err);
void dn_boost_free (struct dn_boost *made);

int dn_boost_predict (const struct dn_boost *made,
                      const float *features,
                      int n,
                      int n_features,
                      float *out,
                      struct dn_err *err);

/* The trees as predictions walk them and bundles have them. NULL with 'err'. Freed with
 * dn_trees_free ().
 */
struct dn_trees *dn_boost_trees (const struct dn_boost *made,
                                 int n_features,
                                 struct dn_err *err);

#endif
