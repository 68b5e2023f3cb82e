/* trees.c - boosted trees: reading with full checks, and prediction
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/trees.h"

#include <math.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/messages.h"
#include "predict/flat.h"

#define BASE_MAX  1e6
#define NODE_SIZE 8

_Static_assert(DN_TREE_NODES_MAX - 1 <= UINT16_MAX, "a node has 16 bits for a child");

struct dn_trees *dn_trees_new (int n_features, int n_trees, int n_nodes)
{
    struct dn_trees *trees = calloc (1, sizeof (*trees));

    if (!trees)
        return NULL;
    trees->n_features = n_features;
    trees->first = calloc ((size_t) n_trees + 1, sizeof (*trees->first));
    trees->nodes = calloc ((size_t) n_nodes, sizeof (*trees->nodes));
    if (trees->first && trees->nodes)
        return trees;
    dn_trees_free (trees);
    return NULL;
}

void dn_trees_free (struct dn_trees *trees)
{
    if (!trees)
        return;
    free (trees->first);
    free (trees->nodes);
    free (trees);
}

/* --- reading --------------------------------------------------------------------- */

static int read_node (const unsigned char *at,
                      int n_features,
                      struct dn_node *node,
                      enum dn_node_kind *kind,
                      struct dn_err *err)
{
    uint16_t number = dn_flat_u16 (at + 6);

    uint16_t feature = dn_flat_u16 (at + 4);

    node->value = dn_flat_f32 (at);
    if (!isfinite (node->value))
        return dn_refuse (err, node_value);
    if (number >= DN_N_NODE_KINDS)
        return dn_refuse (err, node_kind, (unsigned) number);
    *kind = (enum dn_node_kind) number;
    if (feature >= (*kind == DN_NODE_LEAF ? 1 : n_features))
        return dn_refuse (err, node_feature, (unsigned) feature);
    node->feature = (uint8_t) feature;
    node->missing_left = *kind == DN_NODE_MISSING_LEFT;
    return 0;
}

/* Read the 'n' nodes of a tree. Nodes are in order of depth: 'below' is the first that
 * is deeper than the current one.
 */
static int read_tree (const unsigned char *at,
                      int n,
                      int n_features,
                      struct dn_node *nodes,
                      struct dn_err *err)
{
    int n_known = 1; /* the first node, and the children of the splits so far */
    int below = 1;
    int depth = 0;

    for (int i = 0; i < n; i++) {
        enum dn_node_kind kind;

        if (i == n_known)
            return dn_refuse (err, node_parent, i);
        if (i == below) {
            below = n_known;
            depth++;
        }
        if (read_node (
                at + (ptrdiff_t) i * NODE_SIZE, n_features, &nodes[i], &kind, err)
            < 0)
            return dn_err_wrap (err, dn_say_at_node, i);
        if (kind == DN_NODE_LEAF)
            continue;
        if (depth == DN_TREE_DEPTH_MAX)
            return dn_refuse (err, tree_deep, DN_TREE_DEPTH_MAX);
        nodes[i].child = (uint16_t) n_known;
        n_known += 2;
    }
    if (n_known != n)
        return dn_refuse (err, tree_splits, n, n_known);
    return 0;
}

/* Read the number of nodes of each tree. */
static int read_counts (const struct dn_flat *flat,
                        struct dn_trees *trees,
                        struct dn_err *err)
{
    uint32_t left = flat->n_nodes;

    for (uint32_t t = 0; t < flat->n_rows; t++) {
        uint32_t n = dn_flat_u32 (flat->data + 8 + 4 * (size_t) t);

        if (n < 1 || n > left)
            return dn_refuse (
                err, tree_nodes, (unsigned) t, (unsigned) n, (unsigned) left);
        left -= n;
        trees->first[t + 1] = trees->first[t] + (int) n;
    }
    if (left > 0)
        return dn_refuse (err, trees_after, (unsigned) left);
    trees->n_trees = (int) flat->n_rows;
    return 0;
}

static int read_all (const struct dn_flat *flat,
                     struct dn_trees *trees,
                     struct dn_err *err)
{
    const unsigned char *nodes = flat->data + 8 + 4 * (size_t) flat->n_rows;

    trees->base = dn_flat_f64 (flat->data);
    if (!(fabs (trees->base) <= BASE_MAX))
        return dn_refuse (err, trees_base, -BASE_MAX, BASE_MAX);
    if (read_counts (flat, trees, err) < 0)
        return -1;
    for (int t = 0; t < trees->n_trees; t++) {
        int first = trees->first[t];

        if (read_tree (nodes + (ptrdiff_t) first * NODE_SIZE,
                       trees->first[t + 1] - first,
                       trees->n_features,
                       trees->nodes + first,
                       err)
            < 0)
            return dn_err_wrap (err, dn_say_at_tree, t);
    }
    return 0;
}

struct dn_trees *dn_trees_read (struct dn_span file, int n_features, struct dn_err *err)
{
    struct dn_flat flat;
    struct dn_trees *trees;

    if (dn_flat_open (file, DN_FLAT_TREES, n_features, DN_TREES_MAX, &flat, err) < 0)
        return NULL;
    if (flat.n_nodes < 1 || flat.n_nodes > DN_TREE_NODES_MAX)
        return DN_NULL (
            dn_refuse (err, trees_nodes, (unsigned) flat.n_nodes, DN_TREE_NODES_MAX));
    if (dn_flat_check_length (&flat,
                              8 + 4 * (size_t) flat.n_rows
                                  + NODE_SIZE * (size_t) flat.n_nodes,
                              err)
        < 0)
        return NULL;
    trees = dn_trees_new (n_features, (int) flat.n_rows, (int) flat.n_nodes);
    if (!trees)
        return DN_NULL (dn_refuse (err, no_memory));
    if (read_all (&flat, trees, err) == 0)
        return trees;
    dn_trees_free (trees);
    return NULL;
}

/* --- predicting ------------------------------------------------------------------
 *
 * The rows of one decision differ in few features, so most of them go through a tree
 * together.
 */

/* Rows that are predicted together, a bit of a set for each. */
struct rows {
    const float *row[DN_CANDIDATES_MAX];
    float least[UINT8_MAX + 1]; /* of all rows, by feature; where one is missing ... */
    float most[UINT8_MAX + 1];  /* ... the rows are looked at one by one */
    double sums[DN_CANDIDATES_MAX];
};

static void set_rows (struct rows *rows,
                      const struct dn_trees *trees,
                      const float *values,
                      int n)
{
    for (int f = 0; f < trees->n_features; f++) {
        rows->least[f] = INFINITY;
        rows->most[f] = -INFINITY;
    }
    for (int i = 0; i < n; i++) {
        const float *row = values + (ptrdiff_t) i * trees->n_features;

        rows->row[i] = row;
        rows->sums[i] = trees->base;
        for (int f = 0; f < trees->n_features; f++) {
            if (!(row[f] >= rows->least[f]))
                rows->least[f] = isnan (row[f]) ? -INFINITY : row[f];
            if (!(row[f] <= rows->most[f]))
                rows->most[f] = isnan (row[f]) ? INFINITY : row[f];
        }
    }
}

/* Those of a set that go to the left. */
static uint32_t left_of (const struct rows *rows,
                         const struct dn_node *node,
                         uint32_t set)
{
    uint32_t left = 0;

    if (rows->most[node->feature] < node->value)
        return set;
    if (rows->least[node->feature] >= node->value)
        return 0;
    for (uint32_t rest = set; rest != 0; rest &= rest - 1) {
        int i = __builtin_ctz (rest);
        float value = rows->row[i][node->feature];

        if (value < node->value || (isnan (value) && node->missing_left))
            left |= UINT32_C (1) << i;
    }
    return left;
}

/* Add to the rows of a set what the tree says below 'node'. */
static void add_tree (struct rows *rows, // NOLINT(misc-no-recursion): of bounded depth
                      const struct dn_node *first,
                      const struct dn_node *node,
                      uint32_t set)
{
    while (node->child > 0) {
        const struct dn_node *child = first + node->child;
        uint32_t left = left_of (rows, node, set);

        if (left != 0 && left != set)
            add_tree (rows, first, child, left);
        node = left == set ? child : child + 1;
        set = left == set ? set : set & ~left;
    }
    for (; set != 0; set &= set - 1)
        rows->sums[__builtin_ctz (set)] += (double) node->value;
}

int dn_trees_predict (const struct dn_trees *trees,
                      const float *values,
                      int n_rows,
                      float *out,
                      struct dn_err *err)
{
    struct rows rows;

    for (int i = 0; i < n_rows; i += DN_CANDIDATES_MAX) {
        int n = n_rows - i < DN_CANDIDATES_MAX ? n_rows - i : DN_CANDIDATES_MAX;
        uint32_t all = (uint32_t) ((UINT64_C (1) << n) - 1);

        set_rows (&rows, trees, values + (ptrdiff_t) i * trees->n_features, n);
        for (int t = 0; t < trees->n_trees; t++) {
            const struct dn_node *first = trees->nodes + trees->first[t];

            add_tree (&rows, first, first, all);
        }
        for (int j = 0; j < n; j++) {
            out[i + j] = (float) rows.sums[j];
            if (!isfinite (out[i + j]))
                return dn_refuse (err, trees_sum);
        }
    }
    return 0;
}
