/* booster_json.h - trees out of a model file of XGBoost
 *
 * In: the JSON that libxgboost writes of what it has trained. Out: the trees that
 * predictions walk, and that a bundle's file gets (learn/flat_write.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_BOOSTER_JSON_H
#define DN_BOOSTER_JSON_H

#include "predict/trees.h"

/* Bytes; a node takes some 80. */
#define DN_BOOSTER_JSON_MAX (8 * 1024 * 1024)

/* Read a "gbtree" regression model of 'n_features' features, as any XGBoost from 1.0 on
 * writes it. NULL with 'err'. Free with dn_trees_free ().
 */
struct dn_trees *dn_booster_json_read (struct dn_span json,
                                       int n_features,
                                       struct dn_err *err);

#endif
