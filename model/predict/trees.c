/* trees.c - an XGBoost model file, read without belief in any of it
 *
 * What the trees do not need (gains, covers, names) is passed over. Almost all of a
 * file's bytes are numbers: those of long arrays do not go through json-c. Nodes are
 * taken from the root downwards and numbered anew; those that pruning has left behind
 * without a parent are gone then.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/trees.h"

#include <float.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_lean.h"
#include "base/json_read.h"
#include "base/limits.h"

/* Objectives whose prediction is the sum itself. */
static const char *const objectives[] = {"reg:squarederror",
                                         "reg:absoluteerror",
                                         "reg:pseudohubererror",
                                         "reg:quantileerror"};

/* Members of a tree with a value per node. */
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

/* One tree of the file. */
struct source {
    double *arrays[N_ARRAYS]; /* NULL: not in the file */
    double *values;           /* of all arrays */
    int n_nodes;
    int *place;  /* of each node taken, in the file; by its new number */
    int *depth;  /* the same */
    bool *taken; /* by number in the file */
};

static void free_source (struct source *source)
{
    free (source->values);
    free (source->place);
    free (source->depth);
    free (source->taken);
}

/* XGBoost writes its parameters as strings, from 3.1 on some of them in brackets. */
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

/* A whole number of an array. */
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
                       struct dn_node *nodes,
                       int parent,
                       int array,
                       int *n_taken,
                       struct dn_err *err)
{
    int place = source->place[parent];
    int32_t child;

    /* The root is nobody's child, and nobody has two parents: so there is no circle. */
    if (!read_whole (source, array, place, 1, source->n_nodes - 1, &child)
        || source->taken[child])
        return fail_node (array, place, err);
    if (source->depth[parent] == DN_TREE_DEPTH_MAX)
        return dn_err_set (err, DN_E_LIMIT, "deeper than %d nodes", DN_TREE_DEPTH_MAX);
    source->taken[child] = true;
    source->place[*n_taken] = child;
    source->depth[*n_taken] = source->depth[parent] + 1;
    nodes[*n_taken].parent = parent;
    return (*n_taken)++;
}

static int take_node (struct source *source,
                      struct dn_node *nodes,
                      int at,
                      int n_features,
                      int *n_taken,
                      struct dn_err *err)
{
    struct dn_node *node = &nodes[at];
    int place = source->place[at];
    int32_t flag;

    if (read_value (source, place, &node->value, err) < 0)
        return -1;
    if (source->arrays[ARRAY_TYPE]
        && !read_whole (source, ARRAY_TYPE, place, 0, 0, &flag))
        return dn_err_set (err, DN_E_VERSION, "node %d splits categories", place);
    node->left = node->right = -1;
    node->feature = 0;
    node->missing_left = false;
    if (read_whole (source, ARRAY_LEFT, place, -1, -1, &flag)) {
        if (!read_whole (source, ARRAY_RIGHT, place, -1, -1, &flag))
            return fail_node (ARRAY_RIGHT, place, err);
        return 0;
    }
    if (!read_whole (source, ARRAY_FEATURE, place, 0, n_features - 1, &node->feature))
        return fail_node (ARRAY_FEATURE, place, err);
    if (!read_whole (source, ARRAY_MISSING, place, 0, 1, &flag))
        return fail_node (ARRAY_MISSING, place, err);
    node->missing_left = flag == 1;
    node->left = take_child (source, nodes, at, ARRAY_LEFT, n_taken, err);
    if (node->left < 0)
        return -1;
    node->right = take_child (source, nodes, at, ARRAY_RIGHT, n_taken, err);
    return node->right < 0 ? -1 : 0;
}

/* The numbers of the arrays of a tree, which have the same length. XGBoost up to 1.5
 * writes true and false for some of them.
 */
static int read_arrays (const struct json_object *tree,
                        const struct dn_json_lean *lean,
                        int n_left,
                        struct source *source,
                        struct dn_err *err)
{
    const struct json_object *arrays[N_ARRAYS] = {NULL};
    size_t n = 0;

    for (int i = 0; i < N_ARRAYS; i++) {
        if (i >= N_NEEDED && !dn_json_member (tree, array_names[i]))
            continue;
        arrays[i] = dn_json_lean_need (lean,
                                       tree,
                                       array_names[i],
                                       i == 0 ? 1 : n,
                                       i == 0 ? (size_t) n_left : n,
                                       &n,
                                       err);
        if (!arrays[i])
            return -1;
    }
    source->n_nodes = (int) n;
    source->values = calloc (N_ARRAYS * n, sizeof (*source->values));
    if (!source->values)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int i = 0; i < N_ARRAYS; i++) {
        if (!arrays[i])
            continue;
        source->arrays[i] = source->values + (size_t) i * n;
        dn_json_lean_read (lean, arrays[i], source->arrays[i], n);
    }
    return 0;
}

static int open_source (const struct json_object *tree,
                        const struct dn_json_lean *lean,
                        int n_features,
                        int n_left,
                        struct source *source,
                        struct dn_err *err)
{
    const struct json_object *parameters =
        dn_json_need_object (tree, "tree_param", err);
    size_t n;

    if (!parameters || expect_parameter (parameters, "num_feature", n_features, err) < 0
        || read_arrays (tree, lean, n_left, source, err) < 0)
        return -1;
    n = (size_t) source->n_nodes;
    source->place = calloc (n, sizeof (*source->place));
    source->depth = calloc (n, sizeof (*source->depth));
    source->taken = calloc (n, sizeof (*source->taken));
    if (!source->place || !source->depth || !source->taken)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    return expect_parameter (parameters, "num_nodes", source->n_nodes, err);
}

/* Read one tree behind those that are there. */
static int read_tree (const struct json_object *tree,
                      const struct dn_json_lean *lean,
                      struct dn_trees *trees,
                      struct dn_err *err)
{
    dn_cleanup (free_source) struct source source = {.n_nodes = 0};
    int first = trees->first[trees->n_trees];
    struct dn_node *nodes = trees->nodes + first;
    int n_taken = 1;

    if (!json_object_is_type (tree, json_type_object))
        return dn_err_set (err, DN_E_SYNTAX, "expected an object");
    if (open_source (
            tree, lean, trees->n_features, DN_TREE_NODES_MAX - first, &source, err)
        < 0)
        return -1;
    nodes[0].parent = -1;
    source.taken[0] = true;
    for (int i = 0; i < n_taken; i++)
        if (take_node (&source, nodes, i, trees->n_features, &n_taken, err) < 0)
            return -1;
    trees->first[++trees->n_trees] = first + n_taken;
    return 0;
}

/* Every tree belongs to the one output. */
static int check_outputs (const struct json_object *model,
                          const struct dn_json_lean *lean,
                          size_t n_trees,
                          struct dn_err *err)
{
    const struct json_object *array =
        dn_json_lean_need (lean, model, "tree_info", n_trees, n_trees, &n_trees, err);
    double outputs[DN_TREES_MAX];

    if (!array)
        return -1;
    dn_json_lean_read (lean, array, outputs, n_trees);
    for (size_t i = 0; i < n_trees; i++)
        if (outputs[i] != 0)
            return dn_err_set (err, DN_E_VERSION, "tree_info: value %zu is not 0", i);
    return 0;
}

static int read_trees (const struct json_object *learner,
                       const struct dn_json_lean *lean,
                       struct dn_trees *trees,
                       struct dn_err *err)
{
    static const char *const boosters[] = {"gbtree"};
    struct json_object *booster =
        dn_json_need_object (learner, "gradient_booster", err);
    struct json_object *model;
    struct json_object *array;
    size_t n_trees;

    if (!booster || expect_name (booster, boosters, 1, err) < 0)
        return -1;
    model = dn_json_need_object (booster, "model", err);
    array = model ? dn_json_need_array (model, "trees", 1, DN_TREES_MAX, err) : NULL;
    if (!array)
        return -1;
    n_trees = json_object_array_length (array);
    if (check_outputs (model, lean, n_trees, err) < 0)
        return -1;
    trees->first = calloc (n_trees + 1, sizeof (*trees->first));
    trees->nodes = calloc (DN_TREE_NODES_MAX, sizeof (*trees->nodes));
    if (!trees->first || !trees->nodes)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (size_t i = 0; i < n_trees; i++)
        if (read_tree (json_object_array_get_idx (array, i), lean, trees, err) < 0)
            return dn_err_wrap (err, "tree %zu", i);
    return 0;
}

static int read_learner (const struct json_object *document,
                         const struct dn_json_lean *lean,
                         struct dn_trees *trees,
                         struct dn_err *err)
{
    struct json_object *learner = dn_json_need_object (document, "learner", err);
    struct json_object *objective;
    struct json_object *parameters;

    if (!learner)
        return -1;
    objective = dn_json_need_object (learner, "objective", err);
    if (!objective)
        return -1;
    if (expect_name (objective, objectives, DN_N_ELEMENTS (objectives), err) < 0)
        return dn_err_wrap (err, "objective");
    parameters = dn_json_need_object (learner, "learner_model_param", err);
    if (!parameters
        || expect_parameter (parameters, "num_feature", trees->n_features, err) < 0
        || expect_parameter (parameters, "num_class", 0, err) < 0
        || read_parameter (parameters, "base_score", -1e6, 1e6, &trees->base, err) < 0)
        return -1;
    if (dn_json_member (parameters, "num_target")
        && expect_parameter (parameters, "num_target", 1, err) < 0)
        return -1;
    return read_trees (learner, lean, trees, err);
}

int dn_trees_read (struct dn_span json,
                   int n_features,
                   struct dn_trees *trees,
                   struct dn_err *err)
{
    dn_cleanup (dn_json_free) struct json_object *document = NULL;
    dn_cleanup (dn_json_lean_free) struct dn_json_lean lean = {.text = NULL};

    *trees = (struct dn_trees){.n_features = n_features};
    if (json.len > DN_BOOSTER_MAX)
        return dn_err_set (err,
                           DN_E_LIMIT,
                           "%zu bytes, at most %d expected",
                           json.len,
                           DN_BOOSTER_MAX);
    if (dn_json_lean_make (json, &lean, err) < 0)
        return -1;
    document = dn_json_read ((struct dn_span){lean.text, lean.len},
                             DN_BUNDLE_DEPTH_MAX,
                             DN_BOOSTER_VALUES_MAX,
                             err);
    if (document && read_learner (document, &lean, trees, err) == 0)
        return 0;
    dn_trees_free (trees);
    return -1;
}

void dn_trees_free (struct dn_trees *trees)
{
    free (trees->first);
    free (trees->nodes);
    memset (trees, 0, sizeof (*trees));
}
