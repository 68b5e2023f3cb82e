/* layer.c - from the layers of a framework to operators
 *
 * If the description does not give what a layer keeps for backward, the rules of
 * verbs.c apply. An activation function is treated as a rectifier in place: what it
 * keeps is what the next layer reads, counted once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/layer.h"

#include <math.h>
#include <stdlib.h>

#include "base/fields.h"
#include "base/messages.h"
#include "graph/build.h"

const struct dn_names dn_layer_kind_names = DN_NAMES_OF (LAYER_KINDS);

struct dn_layer dn_layer_empty (enum dn_layer_kind kind)
{
    return (struct dn_layer){.kind = kind,
                             .kernel = -1,
                             .groups = 1,
                             .hidden = -1,
                             .gates = -1,
                             .params = 0,
                             .tensors = -1,
                             .repeat = 1,
                             .flops = -1,
                             .bytes = -1,
                             .saved = -1,
                             .masks = -1,
                             .amp_saved = -1};
}

double dn_extent_elements (const struct dn_extent *extent)
{
    double elements = 1;

    for (int i = 0; i < extent->rank; i++)
        elements *= extent->dim[i];
    return elements;
}

int dn_layers_add (struct dn_layers *layers,
                   const struct dn_layer *layer,
                   struct dn_err *err)
{
    if (layers->n == DN_GRAPH_OPS_MAX)
        return dn_refuse (err, layers, DN_GRAPH_OPS_MAX);
    if (dn_rows_grow (&layers->list, layers->n, sizeof (*layer), err) < 0)
        return -1;
    layers->list[layers->n++] = *layer;
    return 0;
}

void dn_layers_free (struct dn_layers *layers)
{
    if (!layers)
        return;
    free (layers->list);
    *layers = (struct dn_layers){.n = 0};
}

double dn_layer_in (const struct dn_layer *layer)
{
    double elements = layer->more_in;

    for (int i = 0; i < layer->n_in; i++)
        elements += dn_extent_elements (&layer->in[i]);
    return elements;
}

double dn_layer_out (const struct dn_layer *layer)
{
    return dn_extent_elements (&layer->out) + layer->more_out;
}

bool dn_layer_is_frozen (const struct dn_layer *layer)
{
    return layer->frozen > 0 && layer->params <= 0;
}

/* Does the layer keep its own output, so that the next need not keep its input? */
static bool keeps_output (enum dn_layer_kind kind)
{
    return kind == DN_LAYER_SOFTMAX || kind == DN_LAYER_RNN
           || kind == DN_LAYER_ACTIVATION || kind == DN_LAYER_ATTENTION;
}

/* The weights' gradient of a product needs its input, that of the input does not. */
static bool keeps_input (const struct dn_layer *layer)
{
    enum dn_layer_kind kind = layer->kind;

    if (kind <= DN_LAYER_LINEAR && dn_layer_is_frozen (layer))
        return false;
    return (kind <= DN_LAYER_ACTIVATION && kind != DN_LAYER_EMBEDDING)
           || kind == DN_LAYER_POOL;
}

/* Has the layer no backward pass at all? Of layers with weights each gradient is
 * decided by itself (predict/work.c).
 */
static bool is_passive (const struct dn_layer *layer)
{
    return layer->first && layer->params <= 0
           && (layer->kind > DN_LAYER_RNN || layer->kind == DN_LAYER_MATMUL
               || layer->kind == DN_LAYER_ATTENTION)
           && layer->kind != DN_LAYER_LOSS;
}

/* Elements that a layer keeps if its description does not give them. */
static double usual_saved (const struct dn_layer *layer, const struct dn_layer *before)
{
    bool kept = before && keeps_output (before->kind) && !is_passive (before)
                && dn_layer_out (before) == dn_layer_in (layer);

    if (is_passive (layer))
        return 0;
    switch (layer->kind) {
    case DN_LAYER_SOFTMAX:
    case DN_LAYER_LOSS:
        return dn_layer_in (layer);
    case DN_LAYER_RNN:
        return (kept ? 0 : dn_layer_in (layer))
               + dn_layer_out (layer) * (layer->gates + (layer->gates == 4 ? 2 : 1));
    default:
        return keeps_input (layer) && !kept ? dn_layer_in (layer) : 0;
    }
}

/* More elements of 16 bits that a layer keeps under torch.amp. A norm's input is in
 * single precision, whichever layer is charged with it; and the result of softmax, of
 * which the product that reads it keeps a copy, unless that reads dropout's result.
 */
static double usual_amp_saved (const struct dn_layer *layer,
                               const struct dn_layer *after)
{
    bool dropped = after && after->kind == DN_LAYER_DROPOUT
                   && dn_layer_in (after) == dn_layer_out (layer);

    if (is_passive (layer))
        return 0;
    switch (layer->kind) {
    case DN_LAYER_LAYERNORM:
    case DN_LAYER_GROUPNORM:
        return dn_layer_in (layer);
    case DN_LAYER_SOFTMAX:
        return layer->saved > 0 ? (dropped ? 1 : 2) * dn_layer_out (layer) : 0;
    default:
        return 0;
    }
}

/* Set what the i-th layer keeps, in 'layer', which is a copy of it or itself. */
static void settle (const struct dn_layers *layers, int i, struct dn_layer *layer)
{
    const struct dn_layer *at = &layers->list[i];

    if (layer->saved < 0)
        layer->saved = usual_saved (layer, i > 0 ? at - 1 : NULL);
    if (layer->amp_saved < 0)
        layer->amp_saved = usual_amp_saved (layer, i + 1 < layers->n ? at + 1 : NULL);
}

void dn_layers_settle (struct dn_layers *layers)
{
    for (int i = 0; i < layers->n; i++)
        settle (layers, i, &layers->list[i]);
}

/* One layer that is converted to operators. */
struct making {
    const struct dn_layer *layer;
    struct dn_build *build;
    struct dn_op op; /* with what every kind has in common */
};

static double last (const struct dn_extent *extent, int back)
{
    return extent->rank >= back ? extent->dim[extent->rank - back] : 1;
}

/* Fail if the layer has fewer inputs, or of fewer dimensions. */
static bool need (struct making *making, int n_in, int rank)
{
    const struct dn_layer *layer = making->layer;

    for (int i = 0; i < n_in; i++)
        if (i >= layer->n_in || layer->in[i].rank < rank)
            dn_build_refuse (making->build, layer_in, layer->n_in, n_in, rank);
    if (layer->out.rank < rank)
        dn_build_refuse (making->build, layer_out, layer->out.rank, rank);
    return !making->build->failed;
}

static bool divide (struct making *making, double channels)
{
    if (fmod (channels, making->layer->groups) != 0)
        dn_build_refuse (making->build, layer_groups, making->layer->groups, channels);
    return !making->build->failed;
}

static DN_COLD void make_conv (struct making *making)
{
    const struct dn_layer *layer = making->layer;
    bool transposed = layer->kind == DN_LAYER_CONV_TRANSPOSE;
    struct dn_op *op = &making->op;
    double in;
    double out;

    if (!need (making, 1, 2))
        return;
    in = layer->in[0].dim[0];
    out = layer->out.dim[0];
    if (!divide (making, in) || !divide (making, out))
        return;
    if (layer->kernel < 1)
        dn_build_refuse (making->build, layer_kernel);
    op->dims = transposed ? layer->in[0].rank - 1
                          : 1 + (int) layer->kind - (int) DN_LAYER_CONV1D;
    op->batches = layer->groups;
    op->m = dn_extent_elements (transposed ? &layer->in[0] : &layer->out)
            / (transposed ? in : out);
    op->n = out / layer->groups * (transposed ? layer->kernel : 1);
    op->k = in / layer->groups * (transposed ? 1 : layer->kernel);
    op->flops = 2 * op->m * op->n * op->k * op->batches;
    /* Kernels of 3 x 3 that move by one, or nearly so at the edges. */
    op->direct = layer->kind != DN_LAYER_CONV2D || layer->kernel != 9
                 || layer->groups > 1
                 || 2 * dn_extent_elements (&layer->out) / out
                        < dn_extent_elements (&layer->in[0]) / in;
}

static DN_COLD void make_linear (struct making *making)
{
    const struct dn_layer *layer = making->layer;
    struct dn_op *op = &making->op;

    if (!need (making, 1, 1))
        return;
    op->batches = 1;
    op->n = last (&layer->out, 1);
    op->k = last (&layer->in[0], 1);
    op->m = dn_extent_elements (&layer->out) / op->n;
    op->flops = 2 * op->m * op->n * op->k;
    /* Weights that another layer counts are read here too. */
    op->weights = dn_max (layer->params + layer->frozen, op->n * op->k);
}

static DN_COLD void make_matmul (struct making *making)
{
    const struct dn_layer *layer = making->layer;
    struct dn_op *op = &making->op;

    if (!need (making, 2, 2))
        return;
    op->m = last (&layer->out, 2);
    op->n = last (&layer->out, 1);
    op->k = last (&layer->in[0], 1);
    op->batches = dn_extent_elements (&layer->out) / (op->m * op->n);
    op->flops = 2 * op->batches * op->m * op->n * op->k;
}

/* The number of heads that an array of (heads, tokens, size) has. */
static double heads_of (const struct dn_extent *extent)
{
    return dn_extent_elements (extent) / (last (extent, 1) * last (extent, 2));
}

static DN_COLD void make_attention (struct making *making)
{
    const struct dn_layer *layer = making->layer;
    const struct dn_extent *key = &layer->in[1];
    struct dn_op *op = &making->op;

    if (!need (making, 2, 3))
        return;
    op->batches = heads_of (&layer->in[0]);
    op->m = last (&layer->in[0], 2);
    op->k = last (&layer->in[0], 1);
    op->n = last (key, 2);
    op->kv_heads = heads_of (key);
    op->value_dim = last (&layer->out, 1);
    op->window = layer->window;
    op->causal = layer->causal;
    op->moved = layer->moved;
    op->dropout = layer->masks > 0;
    op->fused = layer->fused;
    op->masked = true;
    if (op->kv_heads > op->batches || fmod (op->batches, op->kv_heads) != 0)
        dn_build_refuse (making->build, layer_heads, op->kv_heads, op->batches);
    if (dn_extent_elements (&layer->out) != op->batches * op->m * op->value_dim)
        dn_build_refuse (making->build, layer_queries, op->batches, op->m);
    op->amp_saved = 0; /* its kernels have a rule of their own */
    dn_op_set_attention (op);
    if (layer->saved == 0)
        dn_op_keep_nothing (op);
}

static DN_COLD void make_embedding (struct making *making)
{
    struct dn_op *op = &making->op;

    if (!need (making, 1, 1))
        return;
    op->weights = op->out;
    op->first = true;
    if (making->layer->masks < 0)
        op->masks = 8 * op->in;
}

static DN_COLD void make_rnn (struct making *making)
{
    const struct dn_layer *layer = making->layer;
    struct dn_op *op = &making->op;

    if (!need (making, 1, 2))
        return;
    if (layer->hidden < 1 || layer->gates < 1)
        dn_build_refuse (making->build, layer_rnn);
    op->m = dn_extent_elements (&layer->in[0]) / last (&layer->in[0], 1);
    op->n = layer->gates * layer->hidden;
    op->k = last (&layer->in[0], 1) + layer->hidden;
    op->batches = dn_max (1, round (last (&layer->out, 1) / layer->hidden));
    op->flops = 2 * op->m * op->n * op->k * op->batches;
    op->steps = op->m;
}

static DN_COLD void make_other (struct making *making)
{
    const struct dn_layer *layer = making->layer;
    struct dn_op *op = &making->op;
    double elements = layer->bytes / 4;

    if (layer->flops < 0 || layer->bytes < 0)
        dn_build_refuse (making->build, layer_other);
    if (layer->flops > 0)
        op->kind = DN_OP_MATMUL;
    op->flops = layer->flops;
    op->m = op->n = op->k = dn_max (1, cbrt (layer->flops / 2));
    op->batches = 1;
    op->in = op->out = elements / 2;
}

/* The operator of each kind, and what fills it; NULL: it reads and writes its
 * activation, and computes very little.
 */
#define KIND(constant, word, op, make) [DN_##constant] = {DN_OP_##op, make},
static const struct {
    enum dn_op_kind op;
    void (*make) (struct making *making);
} kinds[DN_N_LAYER_KINDS] = {DN_LAYER_KINDS (KIND)};

/* A weight and a bias, as most layers with parameters have. */
double dn_layer_tensors (const struct dn_layer *layer)
{
    if (layer->tensors >= 0)
        return layer->tensors;
    if (layer->params <= 0)
        return 0;
    return layer->kind == DN_LAYER_EMBEDDING ? 1 : layer->kind == DN_LAYER_RNN ? 4 : 2;
}

double dn_layer_masks (const struct dn_layer *layer)
{
    if (layer->masks >= 0)
        return layer->masks;
    if (layer->kind == DN_LAYER_DROPOUT)
        return dn_layer_out (layer);
    return layer->kind == DN_LAYER_LOSS ? 8 : 0;
}

static void add_layer (struct dn_build *build, const struct dn_layer *layer)
{
    struct making making = {
        .layer = layer,
        .build = build,
        .op = {.kind = kinds[layer->kind].op,
               .in = dn_layer_in (layer),
               .out = dn_layer_out (layer),
               .weights = layer->params + layer->frozen,
               .params = layer->params,
               .tensors = dn_layer_tensors (layer),
               .frozen_params = layer->frozen,
               .frozen_bytes = layer->frozen > 0 ? layer->frozen_bytes : 0,
               .saved = dn_max (layer->saved, 0),
               .amp_saved = dn_max (layer->amp_saved, 0),
               .masks = dn_layer_masks (layer),
               .first = layer->first,
               .frozen = is_passive (layer)},
    };

    DN_REPEAT (build, layer->repeat) {
        if (kinds[layer->kind].make)
            kinds[layer->kind].make (&making);
        dn_build_op (build, &making.op);
    }
}

/* The elements of a sample are those that the first layer reads. */
static void measure_input (const struct dn_layers *layers, struct dn_graph *graph)
{
    for (int i = 0; i < layers->n && graph->input == 0; i++)
        graph->input = dn_layer_in (&layers->list[i]);
    graph->input_bytes =
        layers->input_bytes >= 0 ? layers->input_bytes : 4 * graph->input;
}

int dn_layers_graph_by (const struct dn_layers *layers,
                        const struct dn_deadline *deadline,
                        struct dn_graph *graph,
                        struct dn_err *err)
{
    struct dn_spec spec = dn_spec_empty ();
    struct dn_build build;

    *graph = (struct dn_graph){0};
    dn_build_start (&build, &spec, deadline, layers->name, err);
    for (int i = 0; !build.failed && i < layers->n; i++) {
        struct dn_layer layer = layers->list[i];

        settle (layers, i, &layer);
        add_layer (&build, &layer);
        if (build.failed)
            dn_err_wrap (err,
                         dn_say_at_op,
                         i,
                         dn_names_get (&dn_layer_kind_names, (int) layer.kind));
    }
    if (dn_build_finish (&build, graph) < 0)
        return -1;
    graph->block_layers = (int64_t) layers->blocks;
    graph->block_boundary = layers->boundary;
    for (int i = 0; i < graph->n_ops; i++)
        graph->ops[i].block =
            layers->blocks > 1 && graph->ops[i].repeat >= layers->blocks;
    measure_input (layers, graph);
    return 0;
}
