/* booster_json.h - read trees from a model file of XGBoost
 *
 * In: the JSON that libxgboost writes after training. Out: the trees that predictions
 * walk and that are written to a bundle (learn/flat_write.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_BOOSTER_JSON_H
#define DN_BOOSTER_JSON_H

#include "predict/trees.h"

/* Bytes; a node takes about 80. */
#define DN_BOOSTER_JSON_MAX (8 * 1024 * 1024)

/* Read a "gbtree" regression model with 'n_features' features, written by XGBoost 1.0
 * or later. NULL with 'err'. Free with dn_trees_free ().
 */
struct dn_trees *dn_booster_json_read (struct dn_span json,
                                       int n_features,
                                       struct dn_err *err);

#endif
