/* onnx_attend.c - attention in ONNX, from its product of scores to that with values
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "import/onnx_attend.h"

#include <stdlib.h>
#include <string.h>

/* Limits of the nodes between two products, and of those behind a mask. */
#define STEPS_MAX 12
#define MASK_MAX  64

struct look {
    const struct dn_onnx *file;
    const struct dn_onnx_run *run;
    struct dn_onnx_fusion *fusion;
    int *uses; /* readers of a value that are not only interested in its shape; owned */
    int *user; /* the last of them; owned */
    int path[3 * STEPS_MAX]; /* the nodes between the products */
    int n_path;
    bool causal;
    bool learned; /* something learned is added to the scores */
    bool dropout;
};

static const struct dn_onnx_value *value_of (const struct look *look, int id)
{
    return &look->run->values[id];
}

static const char *op_of (const struct look *look, int node)
{
    return dn_onnx_op (&look->file->nodes[node]);
}

static bool is_one_of (const char *op, const char *const *ops)
{
    for (; *ops; ops++)
        if (strcmp (op, *ops) == 0)
            return true;
    return false;
}

/* What reads only the shape of a value. */
static const char *const sizes[] = {"Shape", "Size", NULL};

static int input_of (const struct look *look, int node, int i)
{
    const struct dn_onnx_node *at = &look->file->nodes[node];

    return i < at->n_in ? at->in[i] : -1;
}

static int output_of (const struct look *look, int node)
{
    const struct dn_onnx_node *at = &look->file->nodes[node];

    return at->n_out > 0 ? at->out[0] : -1;
}

/* Does the value depend on the sample? */
static bool varies (const struct look *look, int id)
{
    return id >= 0 && !value_of (look, id)->constant;
}

/* What a mask is made of. */
struct mask {
    bool triangle;
    bool learned;
};

static bool is_learned (const struct look *look, int id)
{
    const struct dn_onnx_value *value = value_of (look, id);

    return value->origin == id && value->floating && dn_onnx_elements (value) > 1;
}

static int add_inputs (const struct look *look, int node, int waiting[MASK_MAX], int n)
{
    for (int i = 0; i < look->file->nodes[node].n_in && n < MASK_MAX; i++)
        waiting[n++] = input_of (look, node, i);
    return n;
}

static struct mask look_behind (const struct look *look, int id)
{
    struct mask mask = {false, false};
    int waiting[MASK_MAX] = {id};
    int n = 1;

    for (int i = 0; i < n; i++) {
        int node = waiting[i] >= 0 ? look->fusion->maker[waiting[i]] : -1;

        if (node < 0) {
            mask.learned |= waiting[i] >= 0 && is_learned (look, waiting[i]);
            continue;
        }
        if (strcmp (op_of (look, node), "Trilu") == 0)
            mask.triangle = true;
        else if (!is_one_of (op_of (look, node), sizes))
            n = add_inputs (look, node, waiting, n);
    }
    return mask;
}

/* Note what is added to the scores, or chooses among them. */
static void look_at_mask (struct look *look, int id)
{
    const struct dn_onnx_value *value;
    struct mask mask;

    if (id < 0)
        return;
    value = value_of (look, id);
    mask = look_behind (look, id);
    look->learned |= mask.learned && value->constant;
    look->causal |=
        mask.triangle
        || (value->constant && !value->floating && dn_onnx_elements (value) > 1);
}

/* The scores among the inputs of a node after their product, or -1. */
static int scores_of (struct look *look, int node)
{
    static const char *const steps[] = {
        "Add", "Sub", "Mul", "Div", "Where", "Cast", "Identity", "Reshape", NULL};
    int out = output_of (look, node);
    int scores = -1;

    if (out < 0 || !is_one_of (op_of (look, node), steps))
        return -1;
    for (int i = 0; i < look->file->nodes[node].n_in && scores < 0; i++)
        if (varies (look, input_of (look, node, i))
            && value_of (look, input_of (look, node, i))->floating
            && look->uses[input_of (look, node, i)] == 1
            && dn_onnx_elements (value_of (look, input_of (look, node, i)))
                   == dn_onnx_elements (value_of (look, out)))
            scores = input_of (look, node, i);
    for (int i = 0; i < look->file->nodes[node].n_in; i++)
        if (input_of (look, node, i) != scores
            && strcmp (op_of (look, node), "Reshape") != 0)
            look_at_mask (look, input_of (look, node, i));
    return scores;
}

static void add_to_path (struct look *look, int node)
{
    look->path[look->n_path++] = node;
}

/* The product that a softmax's scores come from, or -1. */
static int find_scores (struct look *look, int softmax)
{
    int id = input_of (look, softmax, 0);

    for (int i = 0; i < STEPS_MAX && id >= 0; i++) {
        int node = look->uses[id] == 1 ? look->fusion->maker[id] : -1;

        if (node < 0 || strcmp (op_of (look, node), "MatMul") == 0)
            return node;
        add_to_path (look, node);
        id = scores_of (look, node);
    }
    return -1;
}

/* The reader of a value: its only one, or that behind a guard against what is not a
 * number, Where (IsNaN (x), 0, x); or -1.
 */
static int reader_of (const struct look *look, int id)
{
    int user = look->user[id];

    if (look->uses[id] == 1)
        return user;
    if (look->uses[id] != 2 || user < 0 || strcmp (op_of (look, user), "Where") != 0
        || input_of (look, user, 2) != id)
        return -1;
    return user;
}

/* The product with values after a softmax, or -1. */
static int find_values (struct look *look, int softmax)
{
    static const char *const steps[] = {
        "Dropout", "Cast", "Identity", "Where", "Reshape", NULL};
    int id = output_of (look, softmax);

    for (int i = 0; i < STEPS_MAX && id >= 0; i++) {
        int node = reader_of (look, id);
        int guard;

        if (node < 0)
            return -1;
        if (strcmp (op_of (look, node), "MatMul") == 0)
            return input_of (look, node, 0) == id ? node : -1;
        if (!is_one_of (op_of (look, node), steps))
            return -1;
        guard = strcmp (op_of (look, node), "Where") == 0
                    ? look->fusion->maker[input_of (look, node, 0)]
                    : -1;
        if (guard >= 0 && strcmp (op_of (look, guard), "IsNaN") == 0)
            add_to_path (look, guard);
        if (strcmp (op_of (look, node), "Dropout") == 0)
            look->dropout = true;
        add_to_path (look, node);
        id = output_of (look, node);
    }
    return -1;
}

static double last (const struct dn_onnx_value *value, int back)
{
    return value->rank >= back ? value->dim[value->rank - back] : 1;
}

/* Are they query, key and value of the same heads? */
static bool fit (const struct look *look, int query, int key, int value)
{
    const struct dn_onnx_value *q;
    const struct dn_onnx_value *k;
    const struct dn_onnx_value *v;

    if (!varies (look, query) || !varies (look, key) || !varies (look, value))
        return false;
    q = value_of (look, query);
    k = value_of (look, key);
    v = value_of (look, value);
    if (q->rank < 3 || k->rank != q->rank || v->rank != q->rank
        || last (q, 1) != last (k, 2) || last (k, 1) != last (v, 2))
        return false;
    for (int i = 0; i + 2 < q->rank; i++)
        if (q->dim[i] != k->dim[i] || q->dim[i] != v->dim[i])
            return false;
    return true;
}

static bool is_over_keys (const struct look *look, int softmax)
{
    const struct dn_onnx_node *node = &look->file->nodes[softmax];
    int id = input_of (look, softmax, 0);
    int64_t axis = dn_onnx_int (node, "axis", -1);

    return id >= 0 && (axis == -1 || axis == value_of (look, id)->rank - 1);
}

static void attend (struct look *look, int softmax)
{
    struct dn_onnx_fused *nodes = look->fusion->nodes;
    int scores;
    int values;

    look->n_path = 0;
    look->causal = look->learned = look->dropout = false;
    if (!is_over_keys (look, softmax))
        return;
    scores = find_scores (look, softmax);
    values = scores >= 0 ? find_values (look, softmax) : -1;
    if (values < 0 || look->learned || nodes[scores].kind || nodes[values].kind
        || nodes[scores].n_constants > 0
        || !fit (look,
                 input_of (look, scores, 0),
                 input_of (look, scores, 1),
                 input_of (look, values, 1)))
        return;
    for (int i = 0; i < look->n_path; i++)
        nodes[look->path[i]].hidden = true;
    nodes[scores].hidden = nodes[softmax].hidden = true;
    nodes[values].kind = DN_LAYER_ATTENTION;
    nodes[values].scores = scores;
    nodes[values].causal = look->causal;
    nodes[values].dropout = look->dropout;
}

static void count_readers (struct look *look)
{
    for (int i = 0; i < look->file->n_nodes; i++)
        for (int j = 0;
             !is_one_of (op_of (look, i), sizes) && j < look->file->nodes[i].n_in;
             j++)
            if (input_of (look, i, j) >= 0) {
                look->uses[input_of (look, i, j)]++;
                look->user[input_of (look, i, j)] = i;
            }
    for (size_t i = 0; i < look->file->graph->n_output; i++) {
        int id = dn_onnx_find (look->file, look->file->graph->output[i]->name);

        if (id >= 0)
            look->uses[id]++;
    }
}

int dn_onnx_attend (const struct dn_onnx_run *run,
                    struct dn_onnx_fusion *fusion,
                    struct dn_err *err)
{
    size_t n = (size_t) run->file->n_values + 1;
    dn_cleanup (dn_free_ptr) int *uses = calloc (n, sizeof (*uses));
    dn_cleanup (dn_free_ptr) int *user = calloc (n, sizeof (*user));
    struct look look = {
        .file = run->file, .run = run, .fusion = fusion, .uses = uses, .user = user};

    if (!uses || !user)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    count_readers (&look);
    for (int i = 0; i < run->file->n_nodes; i++)
        if (strcmp (op_of (&look, i), "Softmax") == 0 && !fusion->nodes[i].hidden)
            attend (&look, i);
    return 0;
}
