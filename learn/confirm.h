/* confirm.h - does libxgboost predict what we predict with the same trees?
 *
 * slurmctld walks trees with predict/trees.c and never loads libxgboost, which starts
 * threads, opens files, and ends the process where it has no memory. So the two are
 * compared where trees are trained, verified and installed; the manifest of a bundle
 * records it (predict/bundle.h).
 *
 * libxgboost gets a model that is written from the trees as they were read. Rows that
 * are compared: what the caller has, one of which all features are missing, one of
 * zeros, and 2000 by chance (always the same): each feature is missing, 0, exactly a
 * limit of one of its splits, just below it, or near it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_CONFIRM_H
#define DN_CONFIRM_H

#include "predict/bundle.h"

struct dn_boost;

struct dn_confirmed {
    int n_rows;        /* compared */
    double difference; /* the largest, of 1 + |our sum| */
};

/* Compare on 'n_rows' rows of features (may be 0) and those above. 'trained' (may be
 * NULL) is the booster that the trees were read from: it must say the same as well. -1
 * with 'err' where a difference is above DN_CONFIRM_TOLERANCE.
 */
int dn_confirm_trees (const struct dn_trees *trees,
                      const struct dn_boost *trained,
                      const float *rows,
                      int n_rows,
                      struct dn_confirmed *confirmed,
                      struct dn_err *err);

/* Compare all trees of a bundle, with the points of its domain as rows. */
int dn_confirm_bundle (const struct dn_bundle *bundle, struct dn_err *err);

#endif
