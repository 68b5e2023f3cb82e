/* confirm.c - compare our predictions with those of libxgboost for the same trees
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/confirm.h"

#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "learn/boost.h"
#include "learn/json_member.h"

#define RANDOM_ROWS 2000
#define SEED        UINT64_C (20240607)

/* --- the trees as a model of XGBoost --------------------------------------------- */

static void add_number (struct json_object *to, const char *key, int number)
{
    char text[16];

    /* XGBoost writes all its parameters as strings. */
    snprintf (text, sizeof (text), "%d", number);
    json_object_object_add (to, key, json_object_new_string (text));
}

/* The arrays of a tree in XGBoost's JSON, with a value per node. */
struct arrays {
    struct json_object *left;
    struct json_object *right;
    struct json_object *parents;
    struct json_object *features;
    struct json_object *values;
    struct json_object *missing;
    struct json_object *unused[3]; /* gains and covers: no prediction needs them */
};

/* Nine digits represent every float exactly. Without an exponent a whole number is
 * written as an integer.
 */
static struct json_object *new_float (float value)
{
    char text[32];

    snprintf (text, sizeof (text), "%.8e", (double) value);
    return json_object_new_double_s ((double) value, text);
}

static void add_node (const struct dn_node *node, int parent, struct arrays *arrays)
{
    const int no_parent = 0x7fffffff;
    int child = node->child > 0 ? node->child : -1;

    json_object_array_add (arrays->left, json_object_new_int (child));
    json_object_array_add (arrays->right,
                           json_object_new_int (child > 0 ? child + 1 : -1));
    json_object_array_add (arrays->parents,
                           json_object_new_int (parent < 0 ? no_parent : parent));
    json_object_array_add (arrays->features, json_object_new_int (node->feature));
    json_object_array_add (arrays->values, new_float (node->value));
    json_object_array_add (arrays->missing, json_object_new_int (node->missing_left));
    for (size_t i = 0; i < DN_N_ELEMENTS (arrays->unused); i++)
        json_object_array_add (arrays->unused[i], new_float (0));
}

static struct json_object *new_tree (const struct dn_trees *trees, int tree)
{
    const struct dn_node *nodes = trees->nodes + trees->first[tree];
    int n = trees->first[tree + 1] - trees->first[tree];
    struct json_object *json = json_object_new_object ();
    struct json_object *parameters = dn_member_object (json, "tree_param");
    struct arrays arrays = {
        .left = dn_member_array (json, "left_children"),
        .right = dn_member_array (json, "right_children"),
        .parents = dn_member_array (json, "parents"),
        .features = dn_member_array (json, "split_indices"),
        .values = dn_member_array (json, "split_conditions"),
        .missing = dn_member_array (json, "default_left"),
        .unused = {dn_member_array (json, "base_weights"),
                   dn_member_array (json, "loss_changes"),
                   dn_member_array (json, "sum_hessian")},
    };
    int parent = -1;

    /* children are in the order of their parents */
    for (int i = 0; i < n; i++) {
        while (i > 0 && (parent < 0 || i > nodes[parent].child + 1))
            do
                parent++;
            while (nodes[parent].child == 0);
        add_node (&nodes[i], parent, &arrays);
    }
    json_object_object_add (json, "id", json_object_new_int (tree));
    add_number (parameters, "num_deleted", 0);
    add_number (parameters, "num_feature", trees->n_features);
    add_number (parameters, "num_nodes", n);
    add_number (parameters, "size_leaf_vector", 0);
    return json;
}

static void add_booster (struct json_object *learner, const struct dn_trees *trees)
{
    struct json_object *booster = dn_member_object (learner, "gradient_booster");
    struct json_object *model = dn_member_object (booster, "model");
    struct json_object *parameters = dn_member_object (model, "gbtree_model_param");
    struct json_object *outputs = dn_member_array (model, "tree_info");
    struct json_object *array = dn_member_array (model, "trees");

    dn_member_text (booster, "name", "gbtree");
    add_number (parameters, "num_parallel_tree", 1);
    add_number (parameters, "num_trees", trees->n_trees);
    add_number (parameters, "size_leaf_vector", 0);
    for (int t = 0; t < trees->n_trees; t++) {
        json_object_array_add (outputs, json_object_new_int (0));
        json_object_array_add (array, new_tree (trees, t));
    }
}

/* The base is added here, since libxgboost would store it in single precision. */
static struct json_object *new_model (const struct dn_trees *trees)
{
    static const int version[] = {1, 7, 4};
    struct json_object *json = json_object_new_object ();
    struct json_object *learner = dn_member_object (json, "learner");
    struct json_object *parameters = dn_member_object (learner, "learner_model_param");
    struct json_object *objective = dn_member_object (learner, "objective");
    struct json_object *versions = dn_member_array (json, "version");

    dn_member_object (learner, "attributes");
    dn_member_array (learner, "feature_names");
    dn_member_array (learner, "feature_types");
    add_booster (learner, trees);
    dn_member_text (parameters, "base_score", "0");
    add_number (parameters, "boost_from_average", 1);
    add_number (parameters, "num_class", 0);
    add_number (parameters, "num_feature", trees->n_features);
    add_number (parameters, "num_target", 1);
    dn_member_text (objective, "name", "reg:squarederror");
    add_number (dn_member_object (objective, "reg_loss_param"), "scale_pos_weight", 1);
    for (size_t i = 0; i < DN_N_ELEMENTS (version); i++)
        json_object_array_add (versions, json_object_new_int (version[i]));
    return json;
}

static struct dn_boost *load (const struct dn_trees *trees, struct dn_err *err)
{
    dn_cleanup (dn_json_free) struct json_object *model = new_model (trees);
    const char *text = json_object_to_json_string_ext (model, JSON_C_TO_STRING_PLAIN);

    if (!text) {
        dn_err_set (err, DN_E_NOMEM, "out of memory");
        return NULL;
    }
    return dn_boost_load (dn_span_of (text), err);
}

/* --- rows ------------------------------------------------------------------------ */

/* The limits of the splits of feature f are limits[first[f]] to limits[first[f + 1] -
 * 1].
 */
struct limits {
    float *limits;
    int *first;
};

static void free_limits (struct limits *limits)
{
    free (limits->limits);
    free (limits->first);
}

static int find_limits (const struct dn_trees *trees,
                        struct limits *limits,
                        struct dn_err *err)
{
    int n_nodes = trees->first[trees->n_trees];
    size_t n = (size_t) trees->n_features;
    dn_cleanup (dn_free_ptr) int *next = calloc (n, sizeof (*next));

    limits->limits = calloc ((size_t) n_nodes, sizeof (*limits->limits));
    limits->first = calloc (n + 1, sizeof (*limits->first));
    if (!next || !limits->limits || !limits->first)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int i = 0; i < n_nodes; i++)
        if (trees->nodes[i].child > 0)
            limits->first[trees->nodes[i].feature + 1]++;
    for (size_t f = 0; f < n; f++) {
        limits->first[f + 1] += limits->first[f];
        next[f] = limits->first[f];
    }
    for (int i = 0; i < n_nodes; i++)
        if (trees->nodes[i].child > 0)
            limits->limits[next[trees->nodes[i].feature]++] = trees->nodes[i].value;
    return 0;
}

/* The same numbers on every machine (Marsaglia's xorshift64). */
static uint64_t draw (uint64_t *state, uint64_t n)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (*state >> 11) % n;
}

static float draw_value (const struct limits *limits, int feature, uint64_t *state)
{
    int first = limits->first[feature];
    int n = limits->first[feature + 1] - first;
    float limit = n > 0 ? limits->limits[first + (int) draw (state, (uint64_t) n)] : 0;

    switch (draw (state, 8)) {
    case 0:
        return NAN;
    case 1:
        return 0;
    case 2:
    case 3:
        return limit;
    case 4:
    case 5:
        return nextafterf (limit, -INFINITY);
    default:
        return limit + (float) draw (state, 2001) / 1000 - 1;
    }
}

/* One row of missing features, one of zeros, and random rows. */
static float *make_rows (const struct dn_trees *trees, int n_rows, struct dn_err *err)
{
    dn_cleanup (free_limits) struct limits limits = {NULL, NULL};
    int n = trees->n_features;
    float *rows;
    uint64_t state = SEED;

    if (find_limits (trees, &limits, err) < 0)
        return NULL;
    rows = calloc ((size_t) n_rows * (size_t) n, sizeof (*rows));
    if (!rows) {
        dn_err_set (err, DN_E_NOMEM, "out of memory");
        return NULL;
    }
    for (int f = 0; f < n; f++)
        rows[f] = NAN;
    for (int i = 2 * n; i < n_rows * n; i++)
        rows[i] = draw_value (&limits, i % n, &state);
    return rows;
}

/* --- comparing ------------------------------------------------------------------- */

/* A booster to compare with. Its predictions do not include 'base'. */
struct witness {
    const struct dn_boost *boost;
    double base;
};

static int compare (const struct dn_trees *trees,
                    const struct witness *witness,
                    const float *rows,
                    int n_rows,
                    struct dn_confirmed *confirmed,
                    struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) float *sums =
        malloc (2 * (size_t) n_rows * sizeof (*sums));
    float *ours;

    if (!sums)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    ours = sums + n_rows;
    if (dn_boost_predict (witness->boost, rows, n_rows, trees->n_features, sums, err)
            < 0
        || dn_trees_predict (trees, rows, n_rows, ours, err) < 0)
        return -1;
    for (int i = 0; i < n_rows; i++) {
        double said = (double) sums[i] + witness->base;
        double difference =
            fabs (said - (double) ours[i]) / (1 + fabs ((double) ours[i]));

        if (!(difference <= DN_CONFIRM_TOLERANCE))
            return dn_err_set (err,
                               DN_E_VERSION,
                               "libxgboost predicts %g, expected %g from these trees",
                               said,
                               (double) ours[i]);
        confirmed->difference = fmax (confirmed->difference, difference);
    }
    confirmed->n_rows += n_rows;
    return 0;
}

static int compare_all (const struct dn_trees *trees,
                        const struct witness *witness,
                        const float *rows,
                        int n_rows,
                        struct dn_confirmed *confirmed,
                        struct dn_err *err)
{
    const int n_made = 2 + RANDOM_ROWS;
    dn_cleanup (dn_free_ptr) float *made = make_rows (trees, n_made, err);

    if (!made)
        return -1;
    if (n_rows > 0 && compare (trees, witness, rows, n_rows, confirmed, err) < 0)
        return -1;
    return compare (trees, witness, made, n_made, confirmed, err);
}

int dn_confirm_trees (const struct dn_trees *trees,
                      const struct dn_boost *trained,
                      const float *rows,
                      int n_rows,
                      struct dn_confirmed *confirmed,
                      struct dn_err *err)
{
    struct dn_boost *loaded = load (trees, err);
    struct witness witness = {loaded, trees->base};
    struct dn_confirmed again = {.n_rows = 0};
    int rc = -1;

    *confirmed = (struct dn_confirmed){.n_rows = 0};
    if (loaded)
        rc = compare_all (trees, &witness, rows, n_rows, confirmed, err);
    dn_boost_free (loaded);
    if (rc < 0 || !trained)
        return rc;
    witness = (struct witness){trained, 0};
    return compare_all (trees, &witness, rows, n_rows, &again, err);
}

/* The points of a domain before scaling, with 0 for features that it does not use. NULL
 * with 'err'.
 */
static float *rows_of (const struct dn_domain *domain, struct dn_err *err)
{
    float *rows = calloc ((size_t) domain->n_points * DN_N_FEATURES, sizeof (*rows));

    if (!rows) {
        dn_err_set (err, DN_E_NOMEM, "out of memory");
        return NULL;
    }
    for (int i = 0; i < domain->n_points; i++)
        for (int k = 0; k < domain->n_used; k++)
            rows[i * DN_N_FEATURES + domain->used[k]] =
                domain->points[(ptrdiff_t) i * domain->n_used + k] / domain->scale[k];
    return rows;
}

int dn_confirm_bundle (const struct dn_bundle *bundle, struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) float *rows = rows_of (&bundle->domain, err);

    if (!rows)
        return -1;
    for (int q = 0; q < DN_N_QUANTITIES; q++) {
        const struct dn_correction *correction = &bundle->corrections[q];
        struct dn_confirmed confirmed;

        if (correction->trees
            && dn_confirm_trees (correction->trees,
                                 NULL,
                                 rows,
                                 bundle->domain.n_points,
                                 &confirmed,
                                 err)
                   < 0)
            return dn_err_wrap (err, "%s", correction->file);
    }
    return 0;
}
