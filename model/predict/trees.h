/* trees.h - boosted trees: reading with full checks, and prediction
 *
 * In: the bytes of a file of trees (flat.h). Out: trees that are const from then on, so
 * that any number of threads may predict with them. A prediction allocates nothing,
 * fails only if a sum is not a number, and its loops are bounded by the depth of the
 * trees.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TREES_H
#define DN_TREES_H

#include "base/text.h"

/* 8 bytes, which a processor finds by its number in one instruction. */
struct dn_node {
    float value;       /* of a leaf: what the tree adds */
    uint16_t child;    /* the left one, below the tree's first node; the right one is
                        * the next; 0: a leaf */
    uint8_t feature;   /* left if it is less than 'value' ... */
    bool missing_left; /* ... or missing */
};

/* Regression trees whose leaves' values are added up. */
struct dn_trees {
    int n_features;
    int n_trees;
    int *first;            /* n_trees + 1 places in 'nodes'; owned */
    struct dn_node *nodes; /* owned */
    double base;           /* added to the sum */
};

/* Allocate 'n_trees' trees of 'n_nodes' nodes in all. NULL without memory. */
struct dn_trees *dn_trees_new (int n_features, int n_trees, int n_nodes);

/* NULL-safe. No thread may be predicting with them. */
void dn_trees_free (struct dn_trees *trees) DN_COLD;

/* Read trees of 'n_features' features from the bytes of a file. NULL with 'err'. Free
 * with dn_trees_free ().
 */
struct dn_trees *dn_trees_read (struct dn_span file,
                                int n_features,
                                struct dn_err *err) DN_COLD;

/* Predict 'n_rows' rows of features, of which those that differ in few features are
 * fast; NaN is a missing value. -1 with 'err' when a sum is not a finite number; 'out'
 * is then invalid.
 */
int dn_trees_predict (const struct dn_trees *trees,
                      const float *values,
                      int n_rows,
                      float *out,
                      struct dn_err *err);

#endif
