/* onnx_join.c - copies of ONNX that are no kernel, or part of another
 *
 * An exporter writes every change of order as a node; a framework runs few of them. A
 * node that only moves the batch, pads by zero or casts between floating-point types is
 * no kernel (the specification states the precision). A copy of a copy that has no
 * other reader is part of the first, such as a shift that is then cut into windows. The
 * transposes of an attention's query, key and value count as one, as in
 * graph/attention.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "import/onnx_join.h"

#include <string.h>

/* Limit of a chain of views. */
#define STEPS_MAX 16

struct join {
    const struct dn_onnx *file;
    const struct dn_onnx_run *small;
    const struct dn_onnx_run *large;
    struct dn_onnx_fusion *fusion;
};

static const struct dn_onnx_value *value_of (const struct join *join, int id)
{
    return &join->small->values[id];
}

static const char *op_of (const struct join *join, int node)
{
    return dn_onnx_op (&join->file->nodes[node]);
}

static bool is_op (const struct join *join, int node, const char *op)
{
    return node >= 0 && strcmp (op_of (join, node), op) == 0;
}

static int input_of (const struct join *join, int node, int i)
{
    return i < join->file->nodes[node].n_in ? join->file->nodes[node].in[i] : -1;
}

static int output_of (const struct join *join, int node)
{
    return join->file->nodes[node].n_out > 0 ? join->file->nodes[node].out[0] : -1;
}

/* The input of a node that depends on the sample, if it is the only one; or -1. */
static int only_input (const struct join *join, int node)
{
    const struct dn_onnx_node *at = &join->file->nodes[node];
    int found = -1;

    for (int i = 0; i < at->n_in; i++) {
        if (at->in[i] < 0 || value_of (join, at->in[i])->constant)
            continue;
        if (found >= 0)
            return -1;
        found = at->in[i];
    }
    return found;
}

static double elements_of (const struct join *join, int id)
{
    return id < 0 ? 0 : dn_onnx_elements (value_of (join, id));
}

/* Elements of one sample. */
static double sample_elements (const struct join *join, int id)
{
    double more = dn_onnx_elements (&join->large->values[id]) - elements_of (join, id);

    return join->large == join->small ? elements_of (join, id) / join->small->batch
                                      : more;
}

/* Is this dimension only the batch? */
static bool is_batch (const struct join *join, int id, int i)
{
    double small = value_of (join, id)->dim[i];

    if (join->large == join->small)
        return i == 0 && small == join->small->batch;
    return small == join->small->batch
           && join->large->values[id].dim[i] == join->large->batch;
}

/* Is it a transpose that does not change a single sample? */
static bool moves_batch (const struct join *join, int node)
{
    const DnOnnx__Attribute *perm =
        dn_onnx_attribute (&join->file->nodes[node], "perm");
    int id = only_input (join, node);
    int64_t before = -1;

    if (!perm || id < 0 || (int) perm->n_ints != value_of (join, id)->rank)
        return false;
    for (size_t i = 0; i < perm->n_ints; i++) {
        int64_t from = perm->ints[i];

        if (from < 0 || from >= value_of (join, id)->rank)
            return false;
        if (is_batch (join, id, (int) from))
            continue;
        if (from < before)
            return false;
        before = from;
    }
    return true;
}

/* Is it a node that exporters write and that no framework runs? */
static bool is_idle (const struct join *join, int node)
{
    int in = only_input (join, node);
    int out = output_of (join, node);

    if (in < 0 || out < 0)
        return false;
    if (is_op (join, node, "Transpose"))
        return moves_batch (join, node);
    if (is_op (join, node, "Pad"))
        return elements_of (join, in) == elements_of (join, out);
    return is_op (join, node, "Cast") && value_of (join, in)->floating
           && value_of (join, out)->floating;
}

/* The node that computes a value, followed back through views; or -1. '*whole' becomes
 * false where a view is only a part, or where a value on the way has another reader.
 */
static int behind (const struct join *join, int id, bool *whole)
{
    for (int i = 0; i < STEPS_MAX && id >= 0; i++) {
        int node = join->fusion->maker[id];
        const struct dn_onnx_rule *rule =
            node >= 0 ? dn_onnx_rule (&join->file->nodes[node]) : NULL;
        bool scalar = is_op (join, node, "Gather") && input_of (join, node, 1) >= 0
                      && value_of (join, input_of (join, node, 1))->rank == 0;

        *whole = *whole && join->fusion->uses[id] == 1;
        if (node < 0 || (!scalar && !is_idle (join, node) && !(rule && !rule->kind)))
            return node;
        id = input_of (join, node, 0);
        *whole =
            *whole
            && elements_of (join, id) == elements_of (join, output_of (join, node));
    }
    return -1;
}

/* Is it a shift: the concatenation of all parts of one value, which has no other
 * reader?
 */
static bool is_roll (const struct join *join, int node)
{
    const struct dn_onnx_node *at = &join->file->nodes[node];
    int source = -1;

    if (!is_op (join, node, "Concat") || output_of (join, node) < 0)
        return false;
    for (int i = 0; i < at->n_in; i++) {
        int slice = at->in[i] >= 0 ? join->fusion->maker[at->in[i]] : -1;
        int from = is_op (join, slice, "Slice") ? input_of (join, slice, 0) : -1;

        if (from < 0 || (source >= 0 && from != source))
            return false;
        source = from;
    }
    return source >= 0 && join->fusion->uses[source] == at->n_in
           && elements_of (join, source) == elements_of (join, output_of (join, node));
}

/* The earlier copy that a copy reads, if it is its only reader; or -1. */
static int copied_before (const struct join *join, int node)
{
    bool roll = is_roll (join, node);
    int id = roll ? input_of (join, join->fusion->maker[input_of (join, node, 0)], 0)
                  : only_input (join, node);
    bool whole = true;
    int before = id >= 0 ? behind (join, id, &whole) : -1;

    if (!is_op (join, before, "Transpose") && !(before >= 0 && is_roll (join, before)))
        return -1;
    return whole || roll ? before : -1; /* each part of a shift is a reader */
}

/* The transpose that a factor of a product comes from, also through a scale; or -1. */
static int transpose_of (const struct join *join, int id)
{
    bool whole = true;
    int node = id >= 0 ? behind (join, id, &whole) : -1;

    if (is_op (join, node, "Mul") || is_op (join, node, "Div"))
        node = only_input (join, node) >= 0
                   ? behind (join, only_input (join, node), &whole)
                   : -1;
    return is_op (join, node, "Transpose") ? node : -1;
}

static bool is_product (const struct join *join, int node)
{
    return is_op (join, node, "MatMul") && input_of (join, node, 1) >= 0
           && !value_of (join, input_of (join, node, 0))->constant
           && !value_of (join, input_of (join, node, 1))->constant;
}

/* Does the transpose read part of another? Products read that in place. */
static bool is_cut_out (const struct join *join, int node)
{
    bool whole = true;

    return is_op (join, behind (join, input_of (join, node, 0), &whole), "Transpose");
}

/* The transposes before and after an attention are part of its separate kernels. */
static void join_attention (struct join *join, int before, int values)
{
    int out = output_of (join, values);
    int after = out >= 0 && join->fusion->uses[out] == 1 ? join->fusion->user[out] : -1;

    if (before < 0)
        return;
    join->fusion->nodes[before].hidden = true;
    join->fusion->nodes[values].moved = true;
    if (is_op (join, after, "Transpose"))
        join->fusion->nodes[after].hidden = true;
}

/* Count the transposes of query, key and value together, in the first. */
static void join_factors (struct join *join, int scores, int values)
{
    const int factors[] = {input_of (join, scores, 0),
                           input_of (join, scores, 1),
                           input_of (join, values, 1)};
    int first = -1;

    for (size_t i = 0; i < DN_N_ELEMENTS (factors); i++) {
        int node = transpose_of (join, factors[i]);
        bool whole = true;

        if (node >= 0 && join->fusion->nodes[node].hidden) /* part of another */
            node = behind (join, input_of (join, node, 0), &whole);
        if (!is_op (join, node, "Transpose"))
            continue;
        if (node == first || join->fusion->nodes[node].hidden)
            continue;
        if (first >= 0 || is_cut_out (join, node))
            join->fusion->nodes[node].hidden = true;
        if (first >= 0 && !is_cut_out (join, node))
            join->fusion->nodes[first].more +=
                sample_elements (join, output_of (join, node));
        if (first < 0 && !is_cut_out (join, node))
            first = node;
    }
    if (join->fusion->nodes[values].kind == DN_LAYER_ATTENTION)
        join_attention (join, first, values);
}

/* The source of an element-wise node: that of all its inputs, else its own output.
 * Where it reads several that have one source, it is part of an activation function,
 * and the zoo counts one array read for each such part.
 */
static void find_source (struct join *join, int node)
{
    const struct dn_onnx_node *at = &join->file->nodes[node];
    const struct dn_onnx_rule *rule = dn_onnx_rule (at);
    int out = output_of (join, node);
    int source = -1;
    int n = 0;

    if (out < 0 || !rule
        || (rule->kind != DN_LAYER_ACTIVATION && rule->kind != DN_LAYER_ELEMENTWISE))
        return;
    for (int i = 0; i < at->n_in; i++) {
        int id = at->in[i];

        if (id < 0 || value_of (join, id)->constant)
            continue;
        if (elements_of (join, id) != elements_of (join, out)
            || (n > 0 && join->fusion->source[id] != source))
            return;
        source = join->fusion->source[id];
        n++;
    }
    if (n == 0)
        return;
    join->fusion->source[out] = source;
    join->fusion->nodes[node].narrow = n > 1;
}

void dn_onnx_join (const struct dn_onnx_run *small,
                   const struct dn_onnx_run *large,
                   struct dn_onnx_fusion *fusion)
{
    struct join join = {small->file, small, large, fusion};
    int scores = -1;
    bool softmax = false;

    for (int i = 0; i < small->file->n_values; i++)
        fusion->source[i] = i;
    for (int i = 0; i < small->file->n_nodes; i++)
        find_source (&join, i);
    for (int i = 0; i < small->file->n_nodes; i++) {
        if (!fusion->nodes[i].hidden && !fusion->nodes[i].kind)
            fusion->nodes[i].hidden = is_idle (&join, i);
        if ((is_op (&join, i, "Transpose") || is_roll (&join, i))
            && !fusion->nodes[i].hidden && copied_before (&join, i) >= 0)
            fusion->nodes[i].hidden = true;
    }
    for (int i = 0; i < small->file->n_nodes; i++) {
        if (is_op (&join, i, "Softmax"))
            softmax = scores >= 0;
        if (!is_product (&join, i))
            continue;
        if (softmax)
            join_factors (&join, scores, i);
        scores = softmax ? -1 : i;
        softmax = false;
    }
}
