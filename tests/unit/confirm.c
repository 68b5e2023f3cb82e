/* confirm.c - tests of trees from libxgboost: reading, writing, comparing
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <pthread.h>

#include "base/limits.h"
#include "booster.h"
#include "learn/boost.h"
#include "learn/booster_json.h"
#include "learn/confirm.h"
#include "learn/flat_write.h"
#include "small_bundle.h"

#define F 6

/* The trees of a model, as read from a bundle's file. */
static struct dn_trees *load (const char *json)
{
    struct dn_err err = {0};
    struct dn_trees *trees = dn_booster_json_read (dn_span_of (json), F, &err);
    struct dn_flat_file file = {NULL, 0};
    struct dn_trees *read;

    if (!trees || dn_flat_write_trees (trees, &file, &err) < 0)
        fail_msg ("%s", err.text);
    read = dn_trees_read (dn_flat_file_span (&file), F, &err);
    if (!read)
        fail_msg ("%s", err.text);
    assert_int_equal (read->n_trees, trees->n_trees);
    dn_trees_free (trees);
    free (file.data);
    return read;
}

/* --- right answers --------------------------------------------------------------- */

static void expect_same (const struct booster_parameter *parameters)
{
    float expected[BOOSTER_ROWS];
    float rows[BOOSTER_ROWS * F];
    float out[BOOSTER_ROWS];
    struct dn_err err = {0};
    char *json = booster_json (F, 20, parameters, expected);
    struct dn_trees *trees = load (json);

    for (int i = 0; i < BOOSTER_ROWS; i++)
        booster_row (i, F, rows + (ptrdiff_t) i * F);
    assert_int_equal (dn_trees_predict (trees, rows, BOOSTER_ROWS, out, &err), 0);
    for (int i = 0; i < BOOSTER_ROWS; i++)
        if (fabsf (out[i] - expected[i]) > 1e-5F)
            fail_msg (
                "row %d: %g, expected %g", i, (double) out[i], (double) expected[i]);
    assert_true (fabsf (out[0] - out[1]) > 1e-4F);
    dn_trees_free (trees);
    free (json);
}

TEST ("Predictions equal those of the trainer")
{
    static const struct booster_parameter variants[][3] = {
        {{NULL, NULL}},
        {{"base_score", "0.25"}, {NULL, NULL}},
        {{"objective", "reg:pseudohubererror"}, {NULL, NULL}},
        {{"tree_method", "exact"}, {"gamma", "0.05"}, {NULL, NULL}}, /* prunes */
        {{"num_parallel_tree", "3"}, {"subsample", "0.5"}, {NULL, NULL}},
        {{"max_depth", "1"}, {NULL, NULL}},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (variants); i++)
        expect_same (variants[i]);
}

TEST ("One row gives the same sum as among many")
{
    float rows[BOOSTER_ROWS * F];
    float many[BOOSTER_ROWS];
    float one;
    struct dn_err err = {0};
    char *json = booster_json (F, 20, NULL, NULL);
    struct dn_trees *trees = load (json);

    for (int i = 0; i < BOOSTER_ROWS; i++)
        booster_row (i, F, rows + (ptrdiff_t) i * F);
    assert_int_equal (dn_trees_predict (trees, rows, BOOSTER_ROWS, many, &err), 0);
    for (int i = 0; i < BOOSTER_ROWS; i++) {
        float *row = rows + (ptrdiff_t) i * F;

        assert_int_equal (dn_trees_predict (trees, row, 1, &one, &err), 0);
        assert_true (one == many[i]);
    }
    dn_trees_free (trees);
    free (json);
}

struct worker {
    const struct dn_trees *trees;
    const float *expected;
    int n_wrong;
};

static void *predict_often (void *context)
{
    struct worker *worker = context;
    float row[F];
    float out;

    for (int i = 0; i < 3000; i++) {
        int which = (i * 7) % BOOSTER_ROWS;

        booster_row (which, F, row);
        if (dn_trees_predict (worker->trees, row, 1, &out, NULL) < 0
            || fabsf (out - worker->expected[which]) > 1e-5F)
            worker->n_wrong++;
    }
    return NULL;
}

TEST ("Threads do not disturb each other")
{
    float expected[BOOSTER_ROWS];
    char *json = booster_json (F, 20, NULL, expected);
    struct dn_trees *trees = load (json);
    struct worker workers[6];
    pthread_t threads[6];

    for (int i = 0; i < 6; i++) {
        workers[i] = (struct worker){trees, expected, 0};
        assert_int_equal (
            pthread_create (&threads[i], NULL, predict_often, &workers[i]), 0);
    }
    for (int i = 0; i < 6; i++) {
        pthread_join (threads[i], NULL);
        assert_int_equal (workers[i].n_wrong, 0);
    }
    dn_trees_free (trees);
    free (json);
}

/* --- comparing ------------------------------------------------------------------- */

#define N_ROWS 64

/* The model that libxgboost trained on some rows, and the trees read from it. */
struct trained {
    float rows[N_ROWS * F];
    struct dn_boost *boost;
    struct dn_trees *trees;
};

static void train (struct trained *trained)
{
    float targets[N_ROWS];
    float weights[N_ROWS];
    struct dn_err err = {0};
    const char *text;
    size_t len;

    for (int i = 0; i < N_ROWS; i++) {
        float *row = trained->rows + (ptrdiff_t) i * F;

        booster_row (i, F, row);
        targets[i] = isnan (row[0]) ? 2 : row[0] + (isnan (row[3]) ? 0 : row[3]);
        weights[i] = 1;
    }
    trained->boost =
        dn_boost_train (trained->rows, N_ROWS, F, targets, weights, NULL, 1, &err);
    if (!trained->boost || dn_boost_save (trained->boost, &text, &len, &err) < 0)
        fail_msg ("%s", err.text);
    trained->trees = dn_booster_json_read ((struct dn_span){text, len}, F, &err);
    assert_non_null (trained->trees);
}

static void free_trained (struct trained *trained)
{
    dn_boost_free (trained->boost);
    dn_trees_free (trained->trees);
}

TEST ("libxgboost confirms the trees that it trained")
{
    struct trained trained;
    struct dn_confirmed confirmed;
    struct dn_err err = {0};

    train (&trained);
    if (dn_confirm_trees (
            trained.trees, trained.boost, trained.rows, N_ROWS, &confirmed, &err)
        < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (confirmed.n_rows, N_ROWS + 2002);
    assert_true (confirmed.difference >= 0 && confirmed.difference < 1e-5);
    assert_int_equal (dn_confirm_trees (trained.trees, NULL, NULL, 0, &confirmed, &err),
                      0);
    assert_int_equal (confirmed.n_rows, 2002);
    free_trained (&trained);
}

TEST ("Trees that libxgboost did not train are detected")
{
    struct trained trained;
    struct dn_confirmed confirmed;
    struct dn_node *split;
    struct dn_node kept;

    train (&trained);
    split = &trained.trees->nodes[0];
    assert_true (split->child > 0);
    kept = *split;
    for (int i = 0; i < 5; i++) {
        struct dn_err err = {0};
        double base = trained.trees->base;

        if (i == 0)
            split->missing_left = !split->missing_left;
        if (i == 1)
            split->value += 0.25F;
        if (i == 2)
            split->feature = (uint8_t) ((split->feature + 1) % F);
        if (i == 3)
            trained.trees->base += 0.01;
        if (i == 4)
            *split = (struct dn_node){.value = 1};
        assert_int_equal (
            dn_confirm_trees (trained.trees, trained.boost, NULL, 0, &confirmed, &err),
            -1);
        assert_contains (err.text, "libxgboost predicts ");
        trained.trees->base = base;
        *split = kept;
    }
    free_trained (&trained);
}

/* libxgboost adds in single precision: 1e8 + 3 - 1e8 is 0. */
TEST ("Trees that libxgboost sums differently are detected")
{
    static const float leaves[] = {1e8F, 3, -1e8F};
    struct dn_trees *trees = dn_trees_new (F, 3, 3);
    struct dn_confirmed confirmed;
    struct dn_err err = {0};

    assert_non_null (trees);
    for (int i = 0; i < 3; i++) {
        trees->nodes[i].value = leaves[i];
        trees->first[++trees->n_trees] = i + 1;
    }
    assert_int_equal (dn_confirm_trees (trees, NULL, NULL, 0, &confirmed, &err), -1);
    assert_string_equal (err.text,
                         "libxgboost predicts 0, expected 3 from these trees");
    dn_trees_free (trees);
}

TEST ("All trees of a bundle are confirmed")
{
    struct small_bundle small = small_bundle_make ();
    struct dn_err err = {0};
    struct dn_bundle *bundle = small_bundle_read (&small, &err);
    struct dn_trees *memory;

    assert_non_null (bundle);
    if (dn_confirm_bundle (bundle, &err) < 0)
        fail_msg ("%s", err.text);
    memory = bundle->corrections[DN_QUANTITY_MEMORY].trees;
    for (int i = 0; i < memory->first[memory->n_trees]; i++)
        memory->nodes[i].value = 3e38F; /* the sum of two overflows */
    assert_int_equal (dn_confirm_bundle (bundle, &err), -1);
    assert_contains (err.text, "memory.trees: ");
    dn_bundle_free (bundle);
    small_bundle_free (&small);
}

/* --- invalid files --------------------------------------------------------------- */

/* 'json' with the first 'from' after 'behind' replaced. */
static char *replace (const char *json,
                      const char *behind,
                      const char *from,
                      const char *to)
{
    const char *at = strstr (json, behind);
    char *out = malloc (strlen (json) + strlen (to) + 1);

    assert_non_null (out);
    assert_non_null (at);
    at = strstr (at, from);
    assert_non_null (at);
    memcpy (out, json, (size_t) (at - json));
    strcpy (out + (at - json), to);
    strcat (out, at + strlen (from));
    return out;
}

/* A tree of three nodes: 1 and 2 are the leaves. */
#define TREE(left, right, feature, value, missing)                                     \
    "{\"left_children\":[" left "],\"right_children\":[" right                         \
    "],\"split_indices\":[" feature "],\"split_conditions\":[" value                   \
    "],\"default_left\":[" missing "],\"tree_param\":{\"num_feature\":\"6\","          \
    "\"num_nodes\":\"3\"}}"
#define MODEL(tree)                                                                    \
    "{\"learner\":{\"gradient_booster\":{\"name\":\"gbtree\",\"model\":{"              \
    "\"tree_info\":[0],\"trees\":[" tree "]}},\"objective\":{\"name\":"                \
    "\"reg:squarederror\"},\"learner_model_param\":{\"num_feature\":\"6\","            \
    "\"num_class\":\"0\",\"base_score\":\"5E-1\"}}}"
#define GOOD TREE ("1,-1,-1", "2,-1,-1", "5,0,0", "0.5,-1,2E0", "1,0,0")

TEST ("A model written by hand is read")
{
    struct dn_trees *trees = load (MODEL (GOOD));
    float rows[3 * F] = {0};
    float out[3];
    struct dn_err err = {0};

    rows[5] = NAN;
    rows[F + 5] = 0.5F; /* not less than 0.5 */
    rows[2 * F + 5] = 0.25F;
    assert_int_equal (dn_trees_predict (trees, rows, 3, out, &err), 0);
    assert_near ((double) out[0], -0.5);
    assert_near ((double) out[1], 2.5);
    assert_near ((double) out[2], -0.5);
    dn_trees_free (trees);
}

/* Each leaf is a number, but the sum of two overflows. */
TEST ("A sum that overflows is an error")
{
#define FAR TREE ("1,-1,-1", "2,-1,-1", "5,0,0", "100,-1,3E38", "1,0,0")
    char *json = replace (MODEL (FAR "," FAR), "tree_info", "[0]", "[0,0]");
    struct dn_trees *trees = load (json);
    float row[F] = {0};
    float out;
    struct dn_err err = {0};

    assert_int_equal (dn_trees_predict (trees, row, 1, &out, &err), 0);
    assert_near ((double) out, -1.5);
    row[5] = 101;
    assert_int_equal (dn_trees_predict (trees, row, 1, &out, &err), -1);
    assert_string_equal (err.text, "model bundle: a sum is not a number");
    dn_trees_free (trees);
    free (json);
}

static void expect_refused (const char *json, const char *says)
{
    struct dn_err err = {0};
    struct dn_trees *trees = dn_booster_json_read (dn_span_of (json), F, &err);

    if (trees)
        fail_msg ("taken, expected '%s'", says);
    assert_contains (err.text, says);
}

static const struct {
    const char *json;
    const char *says;
} lies[] = {
    {"", "empty, expected a JSON object"},
    {"{", "ends in the middle of JSON"},
    {"[]", "not a JSON object"},
    {"{} {}", "text after the JSON value"},
    {"{\"learner\":{},\"learner\":{}}", "'learner': given twice in one object"},
    {"{\"l\\u0065arner\":{}}", "a key with an escape"},
    {"{\"learner\":{}}", "objective: missing"},
    {"{\"learner\":[]}", "learner: found array, expected an object"},
    {"{}", "learner: missing, expected an object"},
    /* a missing child, the root, a second parent, itself */
    {MODEL (TREE ("3,-1,-1", "2,-1,-1", "5,0,0", "1,1,2", "1,0,0")),
     "tree 0: left_children: value 0 is out of range"},
    {MODEL (TREE ("-2,-1,-1", "2,-1,-1", "5,0,0", "1,1,2", "1,0,0")),
     "left_children: value 0"},
    {MODEL (TREE ("4294967297,-1,-1", "2,-1,-1", "5,0,0", "1,1,2", "1,0,0")),
     "left_children: value 0"},
    {MODEL (TREE ("1,0,-1", "2,1,-1", "5,0,0", "1,1,2", "1,0,0")),
     "left_children: value 1"},
    {MODEL (TREE ("1,-1,-1", "1,-1,-1", "5,0,0", "1,1,2", "1,0,0")),
     "right_children: value 0"},
    {MODEL (TREE ("1,2,-1", "2,1,-1", "5,0,0", "1,1,2", "1,0,0")),
     "left_children: value 1"},
    {MODEL (TREE ("1,-1,-1", "-1,-1,-1", "5,0,0", "1,1,2", "1,0,0")),
     "right_children: value 0"},
    {MODEL (TREE ("-1,-1,-1", "2,-1,-1", "5,0,0", "1,1,2", "1,0,0")),
     "right_children: value 0"},
    /* arrays of other lengths and other things */
    {MODEL (TREE ("1,-1,-1", "2,-1", "5,0,0", "1,1,2", "1,0,0")),
     "right_children: 2 values, expected 3"},
    {MODEL (TREE ("1,-1,-1", "2,-1,-1", "5,0,0,0", "1,1,2", "1,0,0")),
     "split_indices: 4 values, expected 3"},
    {MODEL (TREE ("1,-1,-1,-1", "2,-1,-1,-1", "5,0,0,0", "1,1,2,1", "1,0,0,0")),
     "num_nodes: 3, expected 4"},
    {MODEL (TREE ("\"1\",-1,-1", "2,-1,-1", "5,0,0", "1,1,2", "1,0,0")),
     "left_children: value 0"},
    {MODEL (TREE ("1.5,-1,-1", "2,-1,-1", "5,0,0", "1,1,2", "1,0,0")),
     "left_children: value 0"},
    /* features, numbers */
    {MODEL (TREE ("1,-1,-1", "2,-1,-1", "6,0,0", "1,1,2", "1,0,0")),
     "split_indices: value 0"},
    {MODEL (TREE ("1,-1,-1", "2,-1,-1", "-1,0,0", "1,1,2", "1,0,0")),
     "split_indices: value 0"},
    {MODEL (TREE ("1,-1,-1", "2,-1,-1", "5,0,0", "1,1e39,2", "1,0,0")),
     "split_conditions: value 1"},
    {MODEL (TREE ("1,-1,-1", "2,-1,-1", "5,0,0", "1,NaN,2", "1,0,0")),
     "split_conditions: value 1"},
    {MODEL (TREE ("1,-1,-1", "2,-1,-1", "5,0,0", "1,null,2", "1,0,0")),
     "split_conditions: value 1"},
    {MODEL (TREE ("1,-1,-1", "2,-1,-1", "5,0,0", "1,1,2", "2,0,0")),
     "default_left: value 0"},
    {MODEL ("7"), "tree 0: expected an object"},
    {MODEL (""), "trees: 0 values, expected 1.."},
    {MODEL (GOOD "," GOOD), "tree_info: 1 values, expected 2"},
};

TEST ("Errors in trees are named")
{
    for (size_t i = 0; i < DN_N_ELEMENTS (lies); i++)
        expect_refused (lies[i].json, lies[i].says);
}

TEST ("Other kinds of models are named")
{
    static const struct {
        const char *behind;
        const char *from;
        const char *to;
        const char *says;
    } cases[] = {
        {"objective",
         "reg:squarederror",
         "binary:logistic",
         "objective: name: 'binary"},
        {"\"name\"", "gbtree", "gblinear", "name: 'gblinear', expected gbtree"},
        {"\"name\"", "gbtree", "dart", "name: 'dart', expected gbtree"},
        {"learner_model_param", "\"6\"", "\"7\"", "num_feature: 7, expected 6"},
        {"num_class", "\"0\"", "\"3\"", "num_class: 3, expected 0"},
        {"base_score", "5E-1", "nan", "base_score: 'nan' is not a number"},
        {"base_score", "5E-1", "1e9", "base_score: 1e9 out of range"},
        {"tree_info", "[0]", "[1]", "tree_info: value 0 is not 0"},
        {"tree_param", "\"6\"", "\"5\"", "num_feature: 5, expected 6"},
        {"left_children", "]", "],\"split_type\":[1,0,0]", "node 0 splits categories"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        char *json =
            replace (MODEL (GOOD), cases[i].behind, cases[i].from, cases[i].to);

        expect_refused (json, cases[i].says);
        free (json);
    }
}

/* XGBoost up to 1.5 wrote true and false, from 3.1 on brackets. */
TEST ("Models of other versions are read")
{
    char *old = replace (MODEL (GOOD), "default_left", "1,0,0", "true,false,false");
    char *new = replace (MODEL (GOOD), "base_score", "5E-1", "[5E-1]");
    float row[F] = {0};
    float out = 0;

    row[5] = NAN;
    for (int i = 0; i < 2; i++) {
        struct dn_trees *trees = load (i == 0 ? old : new);

        assert_int_equal (dn_trees_predict (trees, row, 1, &out, NULL), 0);
        assert_near ((double) out, -0.5);
        dn_trees_free (trees);
    }
    free (old);
    free (new);
}

/* The file 'name' of tests/data, terminated; freed by the caller. */
static char *read_data (const char *name)
{
    const char *srcdir = getenv ("srcdir");
    char path[512];
    char *text = calloc (1, 65536);
    FILE *file;

    assert_non_null (text);
    snprintf (path, sizeof (path), "%s/tests/data/%s", srcdir ? srcdir : ".", name);
    file = fopen (path, "r");
    if (!file)
        fail_msg ("cannot open %s", path);
    assert_true (fread (text, 1, 65535, file) > 0);
    fclose (file);
    return text;
}

/* Made by booster_json () with four rounds of depth 3, by XGBoost 1.7.4 and 3.2.0, with
 * the predictions of these.
 */
TEST ("Files of other versions predict the same")
{
    static const struct {
        const char *name;
        float expected[4];
    } files[] = {
        {"booster_1.7.json", {0.0458912F, 0.0458912F, 0.232232F, 0.1976269F}},
        {"booster_3.2.json", {-0.1029902F, -0.08509558F, 0.1197174F, 0.1146059F}},
    };
    float rows[4 * F];
    float out[4];

    for (int i = 0; i < 4; i++)
        booster_row (i, F, rows + (ptrdiff_t) i * F);
    for (size_t f = 0; f < DN_N_ELEMENTS (files); f++) {
        char *json = read_data (files[f].name);
        struct dn_trees *trees = load (json);

        assert_int_equal (dn_trees_predict (trees, rows, 4, out, NULL), 0);
        for (int i = 0; i < 4; i++)
            assert_true (fabsf (out[i] - files[f].expected[i]) < 1e-6F);
        dn_trees_free (trees);
        free (json);
    }
}

/* A chain of 'n' splits, each the left child of the one before. */
static char *chain (int n)
{
    static const char *const names[] = {
        "left_children", "right_children", "split_indices", "split_conditions"};
    size_t size = 200 + 60 * (size_t) n;
    char *text = malloc (size);
    struct dn_buf buf = dn_buf_on (text, size);
    int n_nodes = 2 * n + 1;

    assert_non_null (text);
    dn_buf_add (&buf, "{");
    for (int a = 0; a < 4; a++) {
        dn_buf_add (&buf, "\"%s\":[", names[a]);
        for (int i = 0; i < n_nodes; i++) {
            bool split = i % 2 == 0 && i < n_nodes - 1;
            int value = a < 2 ? -1 : 0;

            if (split && a < 2)
                value = a == 0 ? i + 2 : i + 1;
            dn_buf_add (&buf, "%s%d", i > 0 ? "," : "", value);
        }
        dn_buf_add (&buf, "],");
    }
    dn_buf_add (&buf, "\"default_left\":[0");
    for (int i = 1; i < n_nodes; i++)
        dn_buf_add (&buf, ",0");
    dn_buf_add (&buf,
                "],\"tree_param\":{\"num_feature\":\"6\",\"num_nodes\":\"%d\"}}",
                n_nodes);
    assert_false (buf.cut);
    return text;
}

TEST ("Depth and size are limited")
{
    static const int depths[] = {DN_TREE_DEPTH_MAX, DN_TREE_DEPTH_MAX + 1, 20000};
    static const char *const says[] = {NULL, "deeper than 32", "deeper than 32"};
    char *deep;

    for (size_t i = 0; i < DN_N_ELEMENTS (depths); i++) {
        char *tree = chain (depths[i]);
        char *json = replace (MODEL ("TREE"), "trees", "TREE", tree);

        if (says[i])
            expect_refused (json, says[i]);
        else
            dn_trees_free (load (json));
        free (tree);
        free (json);
    }
    deep = malloc (DN_BOOSTER_JSON_MAX + 2);
    assert_non_null (deep);
    memset (deep, '[', DN_BOOSTER_JSON_MAX + 1);
    deep[DN_BOOSTER_JSON_MAX + 1] = '\0';
    expect_refused (deep, "8388609 bytes, expected at most 8388608");
    deep[DN_BOOSTER_JSON_MAX] = '\0';
    expect_refused (deep, "nested too deeply");
    memset (deep, ',', DN_BOOSTER_JSON_MAX);
    expect_refused (deep, "more than 1000000 values");
    free (deep);
}

/* --- random damage --------------------------------------------------------------- */

static unsigned next (unsigned *seed)
{
    *seed = *seed * 1664525U + 1013904223U;
    return *seed >> 8;
}

/* A damaged model that is accepted predicts numbers. */
static bool try_model (const char *json, size_t len)
{
    struct dn_err err = {0};
    struct dn_trees *trees =
        dn_booster_json_read ((struct dn_span){json, len}, F, &err);
    float rows[4 * F];
    float out[4];

    if (!trees) {
        assert_true (err.text[0] != '\0');
        return false;
    }
    for (int i = 0; i < 4; i++)
        booster_row (i, F, rows + (ptrdiff_t) i * F);
    assert_int_equal (dn_trees_predict (trees, rows, 4, out, &err), 0);
    dn_trees_free (trees);
    return true;
}

TEST ("A cut file is refused wherever it ends")
{
    char *json = booster_json (F, 3, NULL, NULL);
    size_t len = strlen (json);

    assert_true (try_model (json, len));
    for (size_t at = 0; at < len; at += at < 600 ? 1 : 13)
        assert_false (try_model (json, at));
    free (json);
}

/* Change bits, bytes or digits, or move pieces. */
static void damage (char *json, size_t len, unsigned *seed)
{
    static const char bytes[] = "0123456789-+.eE,:[]{}\"nNtfI \\\n";
    int n_hits = 1 + (int) (next (seed) % 4);

    for (int i = 0; i < n_hits; i++) {
        size_t at = next (seed) % len;
        size_t from = next (seed) % len;
        size_t n = next (seed) % 24;

        switch (next (seed) % 4) {
        case 0:
            json[at] = (char) (json[at] ^ 1 << next (seed) % 8);
            break;
        case 1:
            json[at] = (char) next (seed);
            break;
        case 2:
            json[at] = bytes[next (seed) % (sizeof (bytes) - 1)];
            break;
        default:
            n = n < len - at ? n : len - at;
            n = n < len - from ? n : len - from;
            memmove (json + at, json + from, n);
        }
    }
}

TEST ("A damaged file is refused or harmless")
{
    char *json = booster_json (F, 2, NULL, NULL);
    size_t len = strlen (json);
    char *copy = malloc (len);
    unsigned seed = 20240607;
    int n_taken = 0;
    int n_tries = 6000;

    assert_non_null (copy);
    for (int i = 0; i < n_tries; i++) {
        memcpy (copy, json, len);
        damage (copy, len, &seed);
        n_taken += try_model (copy, len);
    }
    /* Digits of leaves may change undetected, which is why files have checksums; most
     * damage is detected. */
    assert_true (n_taken > 0);
    assert_true (n_taken < n_tries);
    print_message ("# %d of %d damaged models could be read\n", n_taken, n_tries);
    free (copy);
    free (json);
}
