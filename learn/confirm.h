/* confirm.h - compare our predictions with those of libxgboost for the same trees
 *
 * slurmctld walks trees with predict/trees.c and never loads libxgboost, which starts
 * threads, opens files, and ends the process when memory runs out. So the two are
 * compared when trees are trained. The manifest of a bundle records the result, with
 * the checksum of the trees (predict/bundle.h).
 *
 * The rows compared are those of the caller, one row with all features missing, one row
 * of zeros, and 2000 random rows (the same each time). A feature of a random row is
 * missing, 0, exactly at a limit of one of its splits, just below it, or near it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_CONFIRM_H
#define DN_CONFIRM_H

#include "predict/bundle.h"

struct dn_boost;

struct dn_confirmed {
    int n_rows;        /* compared */
    double difference; /* the largest, relative to 1 + |our sum| */
};

/* Compare trees with the booster that they were read from, on 'n_rows' rows of features
 * (may be 0) and on those above. -1 with 'err' if a difference is above
 * DN_CONFIRM_TOLERANCE.
 */
int dn_confirm_trees (const struct dn_trees *trees,
                      const struct dn_boost *trained,
                      const float *rows,
                      int n_rows,
                      struct dn_confirmed *confirmed,
                      struct dn_err *err);

#endif
