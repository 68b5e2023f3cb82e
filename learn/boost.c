/* boost.c - gradient-boosted trees, trained by libxgboost
 *
 * Depth, number and rate of the trees were chosen by leaving out models, sources, GPUs
 * and random runs. Each tree sees .7 of the rows and .3 of the features, so that a
 * feature that identifies the source is not in every tree. With a model left out the
 * error is a fifth lower than with trees that see all.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/boost.h"

#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xgboost/c_api.h>

#include "base/json_read.h"
#include "base/limits.h"

#define ROUNDS 150

static const struct dn_boost_parameter parameters[] = {
    {"booster", "gbtree"},
    {"objective", "reg:squarederror"},
    {"base_score", "0"},
    {"tree_method", "hist"},
    {"max_bin", "64"},
    {"grow_policy", "lossguide"},
    {"max_depth", "8"},
    {"max_leaves", "48"},
    {"eta", "0.1"},
    {"subsample", "0.7"},
    {"colsample_bytree", "0.3"},
    {"lambda", "1"},
    {"min_child_weight", "1"},
    /* End of parameters */
};

struct dn_boost {
    BoosterHandle handle;
};

const struct dn_boost_parameter *dn_boost_parameter_at (int i)
{
    return (size_t) i < DN_N_ELEMENTS (parameters) ? &parameters[i] : NULL;
}

int dn_boost_rounds (void)
{
    return ROUNDS;
}

void dn_boost_version (char *text, size_t size)
{
    int major;
    int minor;
    int patch;

    XGBoostVersion (&major, &minor, &patch);
    snprintf (text, size, "%d.%d.%d", major, minor, patch);
}

/* The first line of libxgboost's message, without the source location before it. The
 * other lines are a stack trace.
 */
static int fail (const char *what, struct dn_err *err)
{
    const char *said = XGBGetLastError ();
    const char *place_end = strstr (said, ": ");
    const char *text = place_end ? place_end + 2 : said;

    return dn_err_set (err,
                       DN_E_BUG,
                       "libxgboost: %s: %s",
                       what,
                       dn_quote (text, strcspn (text, "\n")).text);
}

static void free_matrix (DMatrixHandle *matrix)
{
    if (*matrix)
        XGDMatrixFree (*matrix);
}

static int set_parameters (BoosterHandle handle, uint64_t seed, struct dn_err *err)
{
    char text[24];

    for (size_t i = 0; i < DN_N_ELEMENTS (parameters); i++)
        if (XGBoosterSetParam (handle, parameters[i].name, parameters[i].value) != 0)
            return fail (parameters[i].name, err);
    snprintf (text, sizeof (text), "%u", (unsigned) (seed & 0x7fffffff));
    if (XGBoosterSetParam (handle, "seed", text) != 0
        || XGBoosterSetParam (handle, "seed_per_iteration", "1") != 0
        || XGBoosterSetParam (handle, "nthread", "1") != 0
        || XGBoosterSetParam (handle, "verbosity", "0") != 0)
        return fail ("seed", err);
    return 0;
}

/* Raise the target of a floor row to the current prediction where that is higher, which
 * makes the gradient 0.
 */
static int lift_floors (BoosterHandle handle,
                        DMatrixHandle matrix,
                        const struct dn_boost_table *table,
                        float *lifted,
                        struct dn_err *err)
{
    bst_ulong len;
    const float *now;

    if (XGBoosterPredict (handle, matrix, 0, 0, 0, &len, &now) != 0
        || len != (bst_ulong) table->n)
        return fail ("predict", err);
    for (int i = 0; i < table->n; i++)
        lifted[i] =
            table->floor[i] ? fmaxf (table->targets[i], now[i]) : table->targets[i];
    if (XGDMatrixSetFloatInfo (matrix, "label", lifted, len) != 0)
        return fail ("label", err);
    return 0;
}

static int boost (BoosterHandle handle,
                  DMatrixHandle matrix,
                  const struct dn_boost_table *table,
                  struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) float *lifted = NULL;
    bool any = false;

    for (int i = 0; table->floor && i < table->n; i++)
        any = any || table->floor[i];
    if (any) {
        lifted = malloc ((size_t) table->n * sizeof (*lifted));
        if (!lifted)
            return dn_err_set (err, DN_E_NOMEM, "out of memory");
    }
    for (int round = 0; round < ROUNDS; round++) {
        if (any && lift_floors (handle, matrix, table, lifted, err) < 0)
            return -1;
        if (XGBoosterUpdateOneIter (handle, round, matrix) != 0)
            return fail ("train", err);
    }
    return 0;
}

struct dn_boost *dn_boost_train (const struct dn_boost_table *table,
                                 uint64_t seed,
                                 struct dn_err *err)
{
    dn_cleanup (free_matrix) DMatrixHandle matrix = NULL;
    struct dn_boost *made = calloc (1, sizeof (*made));
    bst_ulong rows = (bst_ulong) table->n;

    if (!made) {
        dn_err_set (err, DN_E_NOMEM, "out of memory");
        return NULL;
    }
    if (XGDMatrixCreateFromMat (
            table->features, rows, (bst_ulong) table->n_features, NAN, &matrix)
            != 0
        || XGDMatrixSetFloatInfo (matrix, "label", table->targets, rows) != 0
        || XGDMatrixSetFloatInfo (matrix, "weight", table->weights, rows) != 0
        || XGBoosterCreate (&matrix, 1, &made->handle) != 0) {
        fail ("data", err);
        dn_boost_free (made);
        return NULL;
    }
    if (set_parameters (made->handle, seed, err) == 0
        && boost (made->handle, matrix, table, err) == 0)
        return made;
    dn_boost_free (made);
    return NULL;
}

void dn_boost_free (struct dn_boost *made)
{
    if (!made)
        return;
    if (made->handle)
        XGBoosterFree (made->handle);
    free (made);
}

int dn_boost_predict (const struct dn_boost *made,
                      const float *features,
                      int n,
                      int n_features,
                      float *out,
                      struct dn_err *err)
{
    dn_cleanup (free_matrix) DMatrixHandle matrix = NULL;
    bst_ulong len;
    const float *result;

    if (n == 0)
        return 0;
    if (XGDMatrixCreateFromMat (
            features, (bst_ulong) n, (bst_ulong) n_features, NAN, &matrix)
            != 0
        || XGBoosterPredict (made->handle, matrix, 0, 0, 0, &len, &result) != 0
        || len != (bst_ulong) n)
        return fail ("predict", err);
    memcpy (out, result, (size_t) n * sizeof (*out));
    return 0;
}

static int save (const struct dn_boost *made, struct dn_span *json, struct dn_err *err)
{
    bst_ulong size;

    if (XGBoosterSaveModelToBuffer (
            made->handle, "{\"format\":\"json\"}", &size, &json->text)
        != 0)
        return fail ("save", err);
    json->len = (size_t) size;
    return 0;
}

/* --- its trees ------------------------------------------------------------ */

/* libxgboost gives its trees as JSON. It is our own library that writes them, by the
 * parameters: one output, base 0, no categories. Nodes are taken from the
 * root downwards and renumbered, which drops those that pruning has left without a
 * parent. Whether they are read as libxgboost means them is found by comparing
 * predictions (confirm.c), and whether a file of them is well formed by its reader
 * (predict/trees.c).
 */

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

    if (save (made, &json, err) < 0)
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
