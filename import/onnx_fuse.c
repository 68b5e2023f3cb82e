/* onnx_fuse.c - nodes of ONNX that form one operator of a framework
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "import/onnx_fuse.h"

#include <stdlib.h>
#include <string.h>

struct search {
    const struct dn_onnx *file;
    const struct dn_onnx_run *run;
    struct dn_onnx_fused *nodes;
    int *maker; /* as in struct dn_onnx_fusion */
    int *uses;
    int *user;
};

/* The node that computes an input of a node, if it is the operator 'op'; or -1. */
static int made_by (const struct search *search, int node, int input, const char *op)
{
    const struct dn_onnx_node *at = &search->file->nodes[node];
    int id = input < at->n_in ? at->in[input] : -1;
    int maker = id >= 0 ? search->maker[id] : -1;

    if (maker < 0 || strcmp (dn_onnx_op (&search->file->nodes[maker]), op) != 0)
        return -1;
    return maker;
}

static int input_of (const struct search *search, int node, int i)
{
    const struct dn_onnx_node *at = &search->file->nodes[node];

    return i < at->n_in ? at->in[i] : -1;
}

static bool is_constant (const struct search *search, int id)
{
    return id >= 0 && search->run->values[id].constant;
}

static bool is_op (const struct search *search, int node, const char *op)
{
    return strcmp (dn_onnx_op (&search->file->nodes[node]), op) == 0;
}

/* The only reader of a node's output, if it is the operator 'op'; or -1. */
static int only_user (const struct search *search, int node, const char *op)
{
    const struct dn_onnx_node *at = &search->file->nodes[node];
    int id = at->n_out > 0 ? at->out[0] : -1;

    if (id < 0 || search->uses[id] != 1 || search->user[id] < 0
        || !is_op (search, search->user[id], op))
        return -1;
    return search->user[id];
}

static void hide (struct search *search, int node)
{
    search->nodes[node].hidden = true;
}

/* The other input of a node with two; -1 if 'id' is none of them. */
static int other_input (const struct search *search, int node, int id)
{
    const struct dn_onnx_node *at = &search->file->nodes[node];

    if (at->n_in != 2 || (at->in[0] != id && at->in[1] != id))
        return -1;
    return at->in[0] == id ? at->in[1] : at->in[0];
}

/* The scale or shift ('op') that follows a node, with its constant; or -1. */
static int take_constant (struct search *search,
                          int node,
                          const char *op,
                          int *constant)
{
    int next = only_user (search, node, op);
    int other =
        next >= 0 ? other_input (search, next, search->file->nodes[node].out[0]) : -1;

    if (other < 0 || !is_constant (search, other))
        return -1;
    *constant = other;
    return next;
}

/* (x - mean) / sqrt (mean ((x - mean)^2) + eps), scaled and shifted. */
static void fuse_norm (struct search *search, int div)
{
    int sub = made_by (search, div, 0, "Sub");
    int root = made_by (search, div, 1, "Sqrt");
    int sum = root >= 0 ? made_by (search, root, 0, "Add") : -1;
    int mean = sum >= 0 ? made_by (search, sum, 0, "ReduceMean") : -1;
    int power = mean >= 0 ? made_by (search, mean, 0, "Pow") : -1;
    int centre = sub >= 0 ? made_by (search, sub, 1, "ReduceMean") : -1;
    struct dn_onnx_fused fused = {.kind = DN_LAYER_LAYERNORM};
    int end = div;
    int next;

    if (power < 0 || centre < 0 || made_by (search, power, 0, "Sub") < 0)
        return;
    fused.source = input_of (search, sub, 0);
    if (fused.source < 0 || input_of (search, centre, 0) != fused.source)
        return;
    next = take_constant (search, end, "Mul", &fused.constants[0]);
    if (next >= 0) {
        fused.n_constants = 1;
        hide (search, end);
        end = next;
        next = take_constant (search, end, "Add", &fused.constants[1]);
        if (next >= 0) {
            fused.n_constants = 2;
            hide (search, end);
            end = next;
        }
    }
    hide (search, centre);
    hide (search, sub);
    hide (search, made_by (search, power, 0, "Sub"));
    hide (search, power);
    hide (search, mean);
    hide (search, sum);
    hide (search, root);
    search->nodes[end] = fused;
}

/* x (1 + erf (x / sqrt (2))) / 2, from the node Erf on. */
static void fuse_gelu (struct search *search, int erf)
{
    int scale = made_by (search, erf, 0, "Div");
    int sum = only_user (search, erf, "Add");
    int product = sum >= 0 ? only_user (search, sum, "Mul") : -1;
    int half = product >= 0 ? only_user (search, product, "Mul") : -1;
    int source;

    if (scale < 0)
        scale = made_by (search, erf, 0, "Mul");
    if (scale < 0 || half < 0)
        return;
    source = input_of (search, scale, 0);
    if (source < 0
        || other_input (search, product, search->file->nodes[sum].out[0]) != source)
        return;
    hide (search, scale);
    hide (search, erf);
    hide (search, sum);
    hide (search, product);
    search->nodes[half] =
        (struct dn_onnx_fused){.kind = DN_LAYER_ACTIVATION, .source = source};
}

/* x sigmoid (x): SiLU; with the hard sigmoid, hard-swish. */
static void fuse_swish (struct search *search, int gate)
{
    int source = input_of (search, gate, 0);
    int product = only_user (search, gate, "Mul");

    if (product < 0 || source < 0
        || other_input (search, product, search->file->nodes[gate].out[0]) != source)
        return;
    hide (search, gate);
    search->nodes[product] =
        (struct dn_onnx_fused){.kind = DN_LAYER_ACTIVATION, .source = source};
}

/* A product with weights, and the sum with its bias. */
static void fuse_bias (struct search *search, int product)
{
    struct dn_onnx_fused *fused = &search->nodes[product];
    int bias;
    int sum;

    if (!is_constant (search, input_of (search, product, 1)))
        return;
    sum = take_constant (search, product, "Add", &bias);
    if (sum < 0 || search->run->values[bias].rank > 1)
        return;
    fused->constants[fused->n_constants++] = bias;
    hide (search, sum);
}

static void index_values (struct search *search)
{
    const struct dn_onnx *file = search->file;

    for (int i = 0; i < file->n_values; i++)
        search->maker[i] = search->user[i] = -1;
    for (int i = 0; i < file->n_nodes; i++) {
        for (int j = 0; j < file->nodes[i].n_out; j++)
            if (file->nodes[i].out[j] >= 0)
                search->maker[file->nodes[i].out[j]] = i;
        for (int j = 0; j < file->nodes[i].n_in; j++)
            if (file->nodes[i].in[j] >= 0) {
                search->uses[file->nodes[i].in[j]]++;
                search->user[file->nodes[i].in[j]] = i;
            }
    }
    for (size_t i = 0; i < file->graph->n_output; i++) {
        int id = dn_onnx_find (file, file->graph->output[i]->name);

        if (id >= 0)
            search->uses[id]++;
    }
}

static void look (struct search *search, int i)
{
    if (search->nodes[i].hidden || search->nodes[i].kind)
        return;
    if (is_op (search, i, "Div"))
        fuse_norm (search, i);
    else if (is_op (search, i, "Erf"))
        fuse_gelu (search, i);
    else if (is_op (search, i, "Sigmoid") || is_op (search, i, "HardSigmoid"))
        fuse_swish (search, i);
    else if (is_op (search, i, "MatMul"))
        fuse_bias (search, i);
}

int dn_onnx_fuse (const struct dn_onnx_run *run,
                  struct dn_onnx_fusion *fusion,
                  struct dn_err *err)
{
    const struct dn_onnx *file = run->file;
    size_t n = (size_t) file->n_values + 1;
    struct search search = {.file = file, .run = run};

    fusion->nodes = calloc ((size_t) file->n_nodes + 1, sizeof (*fusion->nodes));
    fusion->maker = calloc (n, sizeof (*fusion->maker));
    fusion->uses = calloc (n, sizeof (*fusion->uses));
    fusion->user = calloc (n, sizeof (*fusion->user));
    fusion->source = calloc (n, sizeof (*fusion->source));
    if (!fusion->nodes || !fusion->maker || !fusion->uses || !fusion->user
        || !fusion->source)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int i = 0; i < file->n_nodes; i++)
        fusion->nodes[i].source = -1;
    search.nodes = fusion->nodes;
    search.maker = fusion->maker;
    search.uses = fusion->uses;
    search.user = fusion->user;
    index_values (&search);
    for (int i = 0; i < file->n_nodes; i++)
        look (&search, i);
    return 0;
}

void dn_onnx_fusion_free (struct dn_onnx_fusion *fusion)
{
    free (fusion->nodes);
    free (fusion->maker);
    free (fusion->uses);
    free (fusion->user);
    free (fusion->source);
    *fusion = (struct dn_onnx_fusion){.nodes = NULL};
}
