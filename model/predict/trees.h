/* trees.h - an XGBoost model file, read without belief in any of it
 *
 * libxgboost trusts its model files: an index out of range is a crash, and in slurmctld
 * the end of the controller. So a file is read here, and only what was found right goes
 * on: residual.c predicts with these trees, and to confirm them it hands libxgboost a
 * model that is written from them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TREES_H
#define DN_TREES_H

#include "base/text.h"

struct dn_node {
    int32_t left; /* below the same tree's first node; -1 for both: a leaf */
    int32_t right;
    int32_t parent;    /* -1: the first node */
    int32_t feature;   /* goes left where it is less than 'value' ... */
    bool missing_left; /* ... or missing */
    float value;       /* of a leaf: what the tree adds */
};

/* Regression trees whose leaves' values are added up. Every node but the first of a
 * tree has one parent, which stands in front of it.
 */
struct dn_trees {
    int n_features;
    int n_trees;
    int *first;            /* n_trees + 1 places in 'nodes'; owned */
    struct dn_node *nodes; /* owned */
    double base;           /* added to the sum */
};

/* Read the JSON of a "gbtree" regression model of 'n_features' features, as any XGBoost
 * from 1.0 on writes it. Return -1 with 'err' and 'trees' empty. Free with
 * dn_trees_free
 * ().
 */
int dn_trees_read (struct dn_span json,
                   int n_features,
                   struct dn_trees *trees,
                   struct dn_err *err);
void dn_trees_free (struct dn_trees *trees);

#endif
