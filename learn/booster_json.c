/* booster_json.c - read trees from a model file of XGBoost
 *
 * Members that the trees do not need (gains, covers, names) are skipped. Nodes are
 * taken from the root downwards and renumbered, which drops the nodes that pruning has
 * left without a parent.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/booster_json.h"

#include <float.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/limits.h"

/* A node has 11 values. */
#define VALUES_MAX 1000000

/* Objectives whose prediction is the sum itself. */
static const char *const objectives[] = {"reg:squarederror",
                                         "reg:absoluteerror",
                                         "reg:pseudohubererror",
                                         "reg:quantileerror"};

/* Members of a tree that have a value per node. */
enum {
    ARRAY_LEFT,
    ARRAY_RIGHT,
    ARRAY_FEATURE,
    ARRAY_VALUE,
    ARRAY_MISSING,
    N_NEEDED,
    ARRAY_TYPE = N_NEEDED,
    N_ARRAYS
};

static const char *const array_names[N_ARRAYS] = {"left_children",
                                                  "right_children",
                                                  "split_indices",
                                                  "split_conditions",
                                                  "default_left",
                                                  "split_type"};

/* A tree of the file. */
struct source {
    double *arrays[N_ARRAYS]; /* NULL: not in the file */
    double *values;           /* of all arrays */
    int n_nodes;
    int *place;  /* number in the file of each node taken, by its new number */
    int *depth;  /* of each node taken, by its new number */
    bool *taken; /* by number in the file */
};

static void free_source (struct source *source)
{
    free (source->values);
    free (source->place);
    free (source->depth);
    free (source->taken);
}

/* XGBoost writes its parameters as strings. From 3.1 on some of them are in brackets.
 */
static int read_parameter (const struct json_object *in,
                           const char *key,
                           double min,
                           double max,
                           double *out,
                           struct dn_err *err)
{
    char text[DN_NAME_MAX];
    struct dn_span span;

    if (dn_json_need_text (in, key, text, sizeof (text), err) < 0)
        return -1;
    span = dn_span_of (text);
    if (span.len > 2 && text[0] == '[' && text[span.len - 1] == ']')
        span = (struct dn_span){text + 1, span.len - 2};
    return dn_real_read (span, key, min, max, out, err);
}

static int expect_parameter (const struct json_object *in,
                             const char *key,
                             int64_t expected,
                             struct dn_err *err)
{
    double value;

    if (read_parameter (in, key, -1e9, 1e9, &value, err) < 0)
        return -1;
    if (value != (double) expected)
        return dn_err_set (
            err, DN_E_RANGE, "%s: %g, expected %lld", key, value, (long long) expected);
    return 0;
}

static int expect_name (const struct json_object *in,
                        const char *const names[],
                        size_t n_names,
                        struct dn_err *err)
{
    char name[DN_NAME_MAX];

    if (dn_json_need_text (in, "name", name, sizeof (name), err) < 0)
        return -1;
    for (size_t i = 0; i < n_names; i++)
        if (strcmp (name, names[i]) == 0)
            return 0;
    return dn_err_set (err,
                       DN_E_RANGE,
                       "name: '%s', expected %s",
                       dn_quote (name, strlen (name)).text,
                       names[0]);
}

/* A whole number from an array. */
static bool read_whole (const struct source *source,
                        int array,
                        int at,
                        int64_t min,
                        int64_t max,
                        int32_t *out)
{
    double value = source->arrays[array][at];

    if (!(value >= (double) min && value <= (double) max) || value != floor (value))
        return false;
    *out = (int32_t) value;
    return true;
}

static int fail_node (int array, int place, struct dn_err *err)
{
    return dn_err_set (
        err, DN_E_RANGE, "%s: value %d is out of range", array_names[array], place);
}

static int read_value (const struct source *source,
                       int place,
                       float *out,
                       struct dn_err *err)
{
    double value = source->arrays[ARRAY_VALUE][place];

    if (!(fabs (value) <= (double) FLT_MAX))
        return fail_node (ARRAY_VALUE, place, err);
    *out = (float) value;
    return 0;
}

/* Give a child of node 'parent' the next number. */
static int take_child (struct source *source,
                       int parent,
                       int array,
                       int *n_taken,
                       struct dn_err *err)
{
    int place = source->place[parent];
    int32_t child;

    /* The root is no child, and no node has two parents, so there is no cycle. */
    if (!read_whole (source, array, place, 1, source->n_nodes - 1, &child)
        || source->taken[child])
        return fail_node (array, place, err);
    if (source->depth[parent] == DN_TREE_DEPTH_MAX)
        return dn_err_set (err, DN_E_LIMIT, "deeper than %d nodes", DN_TREE_DEPTH_MAX);
    source->taken[child] = true;
    source->place[*n_taken] = child;
    source->depth[*n_taken] = source->depth[parent] + 1;
    return (*n_taken)++;
}

static int take_node (struct source *source,
                      struct dn_node *node,
                      int at,
                      int n_features,
                      int *n_taken,
                      struct dn_err *err)
{
    int place = source->place[at];
    int32_t feature;
    int32_t flag;
    int child;

    if (read_value (source, place, &node->value, err) < 0)
        return -1;
    if (source->arrays[ARRAY_TYPE]
        && !read_whole (source, ARRAY_TYPE, place, 0, 0, &flag))
        return dn_err_set (err, DN_E_VERSION, "node %d splits categories", place);
    if (read_whole (source, ARRAY_LEFT, place, -1, -1, &flag)) {
        if (!read_whole (source, ARRAY_RIGHT, place, -1, -1, &flag))
            return fail_node (ARRAY_RIGHT, place, err);
        return 0;
    }
    if (!read_whole (source, ARRAY_FEATURE, place, 0, n_features - 1, &feature))
        return fail_node (ARRAY_FEATURE, place, err);
    if (!read_whole (source, ARRAY_MISSING, place, 0, 1, &flag))
        return fail_node (ARRAY_MISSING, place, err);
    node->missing_left = flag == 1;
    node->feature = (uint8_t) feature;
    child = take_child (source, at, ARRAY_LEFT, n_taken, err);
    if (child < 0)
        return -1;
    node->child = (uint16_t) child;
    return take_child (source, at, ARRAY_RIGHT, n_taken, err) < 0 ? -1 : 0;
}

/* XGBoost up to 1.5 writes true and false for some numbers. NaN if it is neither. */
static double value_of (struct json_object *value)
{
    double number;

    if (json_object_is_type (value, json_type_boolean))
        return json_object_get_boolean (value) ? 1 : 0;
    return dn_json_number (value, &number) ? number : NAN;
}

/* Read the arrays of a tree, which have the same length. */
static int read_arrays (const struct json_object *tree,
                        int n_left,
                        struct source *source,
                        struct dn_err *err)
{
    struct json_object *arrays[N_ARRAYS] = {NULL};
    size_t n = 0;

    for (int i = 0; i < N_ARRAYS; i++) {
        if (i >= N_NEEDED && !dn_json_member (tree, array_names[i]))
            continue;
        arrays[i] = dn_json_need_array (
            tree, array_names[i], i == 0 ? 1 : n, i == 0 ? (size_t) n_left : n, err);
        if (!arrays[i])
            return -1;
        n = json_object_array_length (arrays[i]);
    }
    source->n_nodes = (int) n;
    source->values = calloc (N_ARRAYS * n, sizeof (*source->values));
    if (!source->values)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int i = 0; i < N_ARRAYS; i++) {
        if (!arrays[i])
            continue;
        source->arrays[i] = source->values + (size_t) i * n;
        for (size_t j = 0; j < n; j++)
            source->arrays[i][j] = value_of (json_object_array_get_idx (arrays[i], j));
    }
    return 0;
}

static int open_source (const struct json_object *tree,
                        int n_features,
                        int n_left,
                        struct source *source,
                        struct dn_err *err)
{
    const struct json_object *parameters =
        dn_json_need_object (tree, "tree_param", err);
    size_t n;

    if (!parameters || expect_parameter (parameters, "num_feature", n_features, err) < 0
        || read_arrays (tree, n_left, source, err) < 0)
        return -1;
    n = (size_t) source->n_nodes;
    source->place = calloc (n, sizeof (*source->place));
    source->depth = calloc (n, sizeof (*source->depth));
    source->taken = calloc (n, sizeof (*source->taken));
    if (!source->place || !source->depth || !source->taken)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    return expect_parameter (parameters, "num_nodes", source->n_nodes, err);
}

/* Read one tree and append it. */
static int read_tree (const struct json_object *tree,
                      struct dn_trees *trees,
                      struct dn_err *err)
{
    dn_cleanup (free_source) struct source source = {.n_nodes = 0};
    int first = trees->first[trees->n_trees];
    struct dn_node *nodes = trees->nodes + first;
    int n_taken = 1;

    if (!json_object_is_type (tree, json_type_object))
        return dn_err_set (err, DN_E_SYNTAX, "expected an object");
    if (open_source (tree, trees->n_features, DN_TREE_NODES_MAX - first, &source, err)
        < 0)
        return -1;
    source.taken[0] = true;
    for (int i = 0; i < n_taken; i++)
        if (take_node (&source, &nodes[i], i, trees->n_features, &n_taken, err) < 0)
            return -1;
    trees->first[++trees->n_trees] = first + n_taken;
    return 0;
}

/* All trees must belong to the single output. */
static int check_outputs (const struct json_object *model,
                          size_t n_trees,
                          struct dn_err *err)
{
    struct json_object *array =
        dn_json_need_array (model, "tree_info", n_trees, n_trees, err);

    if (!array)
        return -1;
    for (size_t i = 0; i < n_trees; i++)
        if (value_of (json_object_array_get_idx (array, i)) != 0)
            return dn_err_set (err, DN_E_VERSION, "tree_info: value %zu is not 0", i);
    return 0;
}

/* Read the trees of a model. The caller must set their base. */
static struct dn_trees *read_trees (const struct json_object *learner,
                                    int n_features,
                                    struct dn_err *err)
{
    static const char *const boosters[] = {"gbtree"};
    struct json_object *booster =
        dn_json_need_object (learner, "gradient_booster", err);
    struct json_object *model;
    struct json_object *array;
    struct dn_trees *trees;
    size_t n_trees;

    if (!booster || expect_name (booster, boosters, 1, err) < 0)
        return NULL;
    model = dn_json_need_object (booster, "model", err);
    array = model ? dn_json_need_array (model, "trees", 1, DN_TREES_MAX, err) : NULL;
    if (!array)
        return NULL;
    n_trees = json_object_array_length (array);
    if (check_outputs (model, n_trees, err) < 0)
        return NULL;
    trees = dn_trees_new (n_features, (int) n_trees, DN_TREE_NODES_MAX);
    if (!trees)
        dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (size_t i = 0; trees && i < n_trees; i++)
        if (read_tree (json_object_array_get_idx (array, i), trees, err) < 0) {
            dn_err_wrap (err, "tree %zu", i);
            dn_trees_free (trees);
            return NULL;
        }
    return trees;
}

/* Check the other members of the learner, and read the base. */
static int check_learner (const struct json_object *learner,
                          int n_features,
                          double *base,
                          struct dn_err *err)
{
    struct json_object *objective = dn_json_need_object (learner, "objective", err);
    struct json_object *parameters;

    if (!objective)
        return -1;
    if (expect_name (objective, objectives, DN_N_ELEMENTS (objectives), err) < 0)
        return dn_err_wrap (err, "objective");
    parameters = dn_json_need_object (learner, "learner_model_param", err);
    if (!parameters || expect_parameter (parameters, "num_feature", n_features, err) < 0
        || expect_parameter (parameters, "num_class", 0, err) < 0
        || read_parameter (parameters, "base_score", -1e6, 1e6, base, err) < 0)
        return -1;
    return dn_json_member (parameters, "num_target")
               ? expect_parameter (parameters, "num_target", 1, err)
               : 0;
}

struct dn_trees *dn_booster_json_read (struct dn_span json,
                                       int n_features,
                                       struct dn_err *err)
{
    dn_cleanup (dn_json_free) struct json_object *document = NULL;
    const struct json_object *learner;
    struct dn_trees *trees;
    double base = 0;

    if (json.len > DN_BOOSTER_JSON_MAX) {
        dn_err_set (err,
                    DN_E_LIMIT,
                    "%zu bytes, expected at most %d",
                    json.len,
                    DN_BOOSTER_JSON_MAX);
        return NULL;
    }
    document = dn_json_read (json, DN_BUNDLE_DEPTH_MAX, VALUES_MAX, err);
    learner = document ? dn_json_need_object (document, "learner", err) : NULL;
    if (!learner || check_learner (learner, n_features, &base, err) < 0)
        return NULL;
    trees = read_trees (learner, n_features, err);
    if (trees)
        trees->base = base;
    return trees;
}
