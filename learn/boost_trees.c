/* boost_trees.c - the trees that libxgboost has trained
 *
 * libxgboost gives its trees as JSON. It is our own library that writes them, by the
 * parameters of boost.c: one output, base 0, no categories. Nodes are taken from the
 * root downwards and renumbered, which drops those that pruning has left without a
 * parent. Whether they are read as libxgboost means them is found by comparing
 * predictions (confirm.c), and whether a file of them is well formed by its reader
 * (predict/trees.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/boost.h"

#include <json-c/json.h>
#include <stdlib.h>

#include "base/json_read.h"
#include "base/limits.h"

/* The value of a node in one of the tree's arrays; older versions write booleans. */
static double value_of (const struct json_object *tree, const char *array, int node)
{
    return json_object_get_double (json_object_array_get_idx (
        json_object_object_get (tree, array), (size_t) node));
}

/* Number of nodes; 0: not a tree. */
static int n_nodes_of (const struct json_object *tree)
{
    struct json_object *values = json_object_object_get (tree, "split_conditions");

    return json_object_is_type (values, json_type_array)
               ? (int) json_object_array_length (values)
               : 0;
}

static int add_tree (const struct json_object *tree,
                     struct dn_trees *trees,
                     struct dn_err *err)
{
    int first = trees->first[trees->n_trees];
    struct dn_node *nodes = trees->nodes + first;
    int n_nodes = n_nodes_of (tree);
    dn_cleanup (dn_free_ptr) int *place =
        calloc ((size_t) n_nodes + 2, sizeof (*place));
    int n = 1;

    if (!place)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    if (n_nodes == 0 || n_nodes > DN_TREE_NODES_MAX - first)
        return dn_err_set (err, DN_E_LIMIT, "libxgboost: a tree of %d nodes", n_nodes);
    for (int i = 0; i < n; i++) {
        int left = (int) value_of (tree, "left_children", place[i]);

        nodes[i].value = (float) value_of (tree, "split_conditions", place[i]);
        if (left < 0)
            continue;
        if (n + 2 > n_nodes)
            return dn_err_set (err, DN_E_BUG, "libxgboost: a tree with a circle");
        nodes[i].feature = (uint8_t) value_of (tree, "split_indices", place[i]);
        nodes[i].missing_left = value_of (tree, "default_left", place[i]) != 0;
        nodes[i].child = (uint16_t) n;
        place[n++] = left;
        place[n++] = (int) value_of (tree, "right_children", place[i]);
    }
    trees->first[++trees->n_trees] = first + n;
    return 0;
}

static struct dn_trees *read_trees (struct json_object *array,
                                    int n_features,
                                    struct dn_err *err)
{
    int n = (int) json_object_array_length (array);
    struct dn_trees *trees = dn_trees_new (n_features, n, DN_TREE_NODES_MAX);

    if (!trees)
        dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int i = 0; trees && i < n; i++)
        if (add_tree (json_object_array_get_idx (array, (size_t) i), trees, err) < 0) {
            dn_trees_free (trees);
            return NULL;
        }
    return trees;
}

struct dn_trees *dn_boost_trees (const struct dn_boost *made,
                                 int n_features,
                                 struct dn_err *err)
{
    dn_cleanup (dn_json_free) struct json_object *document = NULL;
    struct json_object *array = NULL;
    struct json_tokener *tokener;
    struct dn_span json;

    if (dn_boost_save (made, &json, err) < 0)
        return NULL;
    tokener = json_tokener_new ();
    if (tokener)
        document = json_tokener_parse_ex (tokener, json.text, (int) json.len);
    json_tokener_free (tokener);
    if (json_pointer_get (document, "/learner/gradient_booster/model/trees", &array)
            != 0
        || !json_object_is_type (array, json_type_array)) {
        dn_err_set (err, DN_E_VERSION, "libxgboost: its model has no trees");
        return NULL;
    }
    return read_trees (array, n_features, err);
}
