/* onnx_layers.c - the layers of an ONNX graph
 *
 * Shapes are computed for two and for three samples if the file has a symbol for them;
 * the dimensions that grow are the batch. The activations kept for the backward pass
 * follow the rules of graph/verbs.c, each array once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "import/onnx_layers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/onnx_attend.h"
#include "import/onnx_join.h"

/* Two batch sizes without a common divisor. */
#define SMALL 2
#define LARGE 3

/* The largest window that a sidecar states, and the largest size. */
#define KERNEL_MAX 1e6
#define EXTENT_MAX 1e9

struct work {
    const struct dn_onnx *file;
    struct dn_onnx_run small;
    struct dn_onnx_run large; /* the same as 'small' where the batch is fixed */
    struct dn_onnx_fusion fusion;
    int *root;     /* owned; of a value: the one whose memory it shares */
    bool *kept;    /* owned; is the value already kept for the backward pass? */
    bool *single;  /* owned; is the value in single precision under torch.amp? */
    bool *read;    /* owned; has a product with weights read the value? */
    bool *counted; /* owned; are its parameters counted? */
    bool *sample;  /* owned; is the value an input of the network? */
    int *maker;    /* owned; of a value: the node that computes it, or -1 */
    int *waiting;  /* owned; values still to visit */
    bool fixed;
    struct dn_sidecar *sidecar;
    struct dn_onnx_summary *summary;
    struct dn_err *err;
};

/* One node on its way to a layer. */
struct making {
    struct work *work;
    const struct dn_onnx_node *node;
    const struct dn_onnx_fused *fused;
    struct dn_layer layer;
};

static const struct dn_onnx_value *value_of (const struct work *work, int id)
{
    return &work->small.values[id];
}

/* One dimension of one sample; 'gone' if it was only the batch. */
static double sample_dim (const struct work *work, int id, int i, bool *gone)
{
    double a = work->small.values[id].dim[i];
    double b = work->large.values[id].dim[i];

    *gone = false;
    if (work->fixed) {
        double n = work->small.batch;

        if (i > 0 || fmod (a, n) != 0)
            return a;
        *gone = a == n;
        return a / n;
    }
    if (a == b)
        return a;
    *gone = a == SMALL && b == LARGE;
    return a * LARGE == b * SMALL ? a / SMALL : fmax (1, b - a);
}

/* The shape of one sample. 'whole' keeps the dimensions that were only the batch. */
static struct dn_extent sample_of (const struct work *work, int id, bool whole)
{
    const struct dn_onnx_value *value = value_of (work, id);
    struct dn_extent extent = {.rank = 0};
    double front = 1;

    for (int i = 0; i < value->rank; i++) {
        bool gone;
        double size = sample_dim (work, id, i, &gone);

        if (gone && !whole)
            continue;
        if (value->rank - i > DN_LAYER_RANK_MAX - 1)
            front *= size; /* more dimensions than a layer has */
        else
            extent.dim[extent.rank++] = size;
    }
    if (front > 1) {
        memmove (extent.dim + 1, extent.dim, sizeof (extent.dim) - sizeof (front));
        extent.dim[0] = front;
        extent.rank++;
    }
    if (extent.rank == 0)
        extent.dim[extent.rank++] = 1;
    return extent;
}

static double elements_of (const struct work *work, int id)
{
    struct dn_extent extent = sample_of (work, id, false);

    return dn_extent_elements (&extent);
}

/* (channels, positions ...) of (batch, channels, positions ...): a batch of several per
 * sample multiplies the positions.
 */
static struct dn_extent image_of (const struct work *work, int id)
{
    struct dn_extent extent = sample_of (work, id, true);
    double more = extent.dim[0];

    memmove (extent.dim, extent.dim + 1, sizeof (extent.dim) - sizeof (more));
    extent.rank--;
    if (extent.rank > 1)
        extent.dim[1] *= more;
    return extent;
}

/* A product's factor, with two dimensions at least. */
static struct dn_extent factor_of (const struct work *work, int id)
{
    struct dn_extent extent = sample_of (work, id, true);

    while (extent.rank > 2 && extent.dim[0] == 1) {
        memmove (extent.dim, extent.dim + 1, sizeof (extent.dim) - sizeof (double));
        extent.rank--;
    }
    if (extent.rank < 2) {
        extent.dim[1] = extent.dim[0];
        extent.dim[0] = 1;
        extent.rank = 2;
    }
    return extent;
}

/* Elements of a value that are kept: all of the memory that it shares, or none if that
 * is already kept.
 */
static double keep (struct work *work, int id)
{
    int root = work->root[id];

    if (work->kept[root] || value_of (work, root)->constant
        || !value_of (work, root)->floating)
        return 0;
    work->kept[root] = true;
    return elements_of (work, root);
}

/* Charge one value: its learned elements, or else the values that it is computed from,
 * which are visited next.
 */
static void charge_value (struct making *making, int id, int *n_waiting)
{
    struct work *work = making->work;
    int maker = work->maker[id];
    double elements = dn_onnx_elements (value_of (work, id));

    work->counted[id] = true;
    if (maker >= 0) {
        const struct dn_onnx_node *node = &work->file->nodes[maker];

        for (int i = 0; i < node->n_in; i++)
            if (node->in[i] >= 0 && !work->counted[node->in[i]]
                && value_of (work, node->in[i])->floating) {
                work->counted[node->in[i]] = true;
                work->waiting[(*n_waiting)++] = node->in[i];
            }
        return;
    }
    if (value_of (work, id)->origin != id || elements <= 1) /* a factor, an exponent */
        return;
    making->layer.params += elements;
    making->layer.tensors = fmax (making->layer.tensors, 0) + 1;
}

/* Charge a layer with the learned arrays that a constant is computed from. */
static void charge (struct making *making, int id)
{
    struct work *work = making->work;
    int n_waiting = 0;

    if (id < 0 || !value_of (work, id)->constant || !value_of (work, id)->floating
        || work->counted[id])
        return;
    work->waiting[n_waiting++] = id;
    while (n_waiting > 0)
        charge_value (making, work->waiting[--n_waiting], &n_waiting);
}

static void charge_all (struct making *making)
{
    for (int i = 0; i < making->node->n_in; i++)
        charge (making, making->node->in[i]);
    for (int i = 0; i < making->fused->n_constants; i++)
        charge (making, making->fused->constants[i]);
}

static void add_in (struct dn_layer *layer, const struct dn_extent *extent)
{
    if (layer->n_in < DN_LAYER_INPUTS_MAX)
        layer->in[layer->n_in++] = *extent;
    else
        layer->more_in += dn_extent_elements (extent);
}

/* All inputs that depend on the sample, and the first output. */
static void add_shapes (struct making *making)
{
    const struct work *work = making->work;

    for (int i = 0; i < making->node->n_in; i++) {
        int id =
            making->fused->source >= 0 ? making->fused->source : making->node->in[i];
        struct dn_extent extent;

        if (id < 0 || value_of (work, id)->constant)
            continue;
        extent = sample_of (work, id, false);
        add_in (&making->layer, &extent);
        if (making->fused->source >= 0 || making->fused->narrow)
            break;
    }
    making->layer.out = sample_of (work, making->node->out[0], false);
}

static int make_conv (struct making *making)
{
    struct work *work = making->work;
    const struct dn_onnx_value *w = value_of (work, making->node->in[1]);
    struct dn_layer *layer = &making->layer;
    struct dn_extent image = image_of (work, making->node->in[0]);

    if (layer->kind == DN_LAYER_CONV2D)
        layer->kind = w->rank == 3   ? DN_LAYER_CONV1D
                      : w->rank == 5 ? DN_LAYER_CONV3D
                                     : DN_LAYER_CONV2D;
    layer->kernel = 1;
    for (int i = 2; i < w->rank; i++)
        layer->kernel *= w->dim[i];
    layer->groups = (double) dn_onnx_int (making->node, "group", 1);
    if (!(layer->kernel >= 1 && layer->kernel <= KERNEL_MAX) || layer->groups < 1
        || layer->groups > EXTENT_MAX)
        return dn_err_set (work->err,
                           DN_E_RANGE,
                           "a window of %g positions, %g groups",
                           layer->kernel,
                           layer->groups);
    add_in (layer, &image);
    layer->out = image_of (work, making->node->out[0]);
    layer->first = work->sample[work->root[making->node->in[0]]];
    layer->saved = keep (work, making->node->in[0]);
    return 0;
}

static bool is_single (const struct work *work, int id)
{
    return id >= 0 && work->single[work->root[id]];
}

/* Under torch.amp each product that reads an array in single precision keeps a copy of
 * 16 bits.
 */
static double copied_again (struct work *work, int id)
{
    int root = work->root[id];
    bool again = work->read[root];

    work->read[root] = true;
    return again && is_single (work, id) ? elements_of (work, root) : 0;
}

/* With weights, or of two activations. */
static int make_product (struct making *making)
{
    struct work *work = making->work;
    struct dn_layer *layer = &making->layer;
    int a = making->node->in[0];
    int b = making->node->in[1];
    struct dn_extent extent;

    if (value_of (work, a)->constant || value_of (work, b)->constant) {
        int x = value_of (work, a)->constant ? b : a;

        layer->kind = DN_LAYER_LINEAR;
        extent = sample_of (work, x, false);
        add_in (layer, &extent);
        layer->out = sample_of (work, making->node->out[0], false);
        layer->first = work->sample[work->root[x]];
        layer->saved = keep (work, x);
        layer->amp_saved = copied_again (work, x);
        return 0;
    }
    layer->kind = DN_LAYER_MATMUL;
    extent = factor_of (work, a);
    add_in (layer, &extent);
    extent = factor_of (work, b);
    add_in (layer, &extent);
    layer->out = factor_of (work, making->node->out[0]);
    layer->saved = keep (work, a) + keep (work, b);
    return 0;
}

/* (heads, rows, columns) of one sample. */
static struct dn_extent heads_of (const struct work *work, int id)
{
    struct dn_extent extent = factor_of (work, id);
    double rows = extent.dim[extent.rank - 2];
    double columns = extent.dim[extent.rank - 1];
    double heads = dn_extent_elements (&extent) / (rows * columns);

    return (struct dn_extent){.dim = {heads, rows, columns}, .rank = 3};
}

/* Fill in what an attention keeps: what it reads and writes. */
static void keep_attention (struct making *making, const int *ids, int n)
{
    struct dn_layer *layer = &making->layer;

    for (int i = 0; i < n; i++)
        keep (making->work, ids[i]);
    layer->saved = dn_extent_elements (&layer->out);
    for (int i = 0; i < layer->n_in; i++)
        layer->saved += dn_extent_elements (&layer->in[i]);
}

/* (heads, tokens, size) of one sample, of an array with heads or with all features. */
static struct dn_extent split_heads (const struct work *work, int id, double heads)
{
    struct dn_extent extent = factor_of (work, id);
    double features = extent.dim[extent.rank - 1];

    if (value_of (work, id)->rank > 3)
        return heads_of (work, id);
    return (struct dn_extent){
        .dim = {heads, extent.dim[extent.rank - 2], features / heads}, .rank = 3};
}

static double int_of (const struct making *making, const char *name, double otherwise)
{
    return (double) dn_onnx_int (making->node, name, (int64_t) otherwise);
}

/* The layer of query, key and value within ONNX Runtime's Attention. */
static int add_projection (struct making *making)
{
    struct work *work = making->work;
    struct making inner = *making;
    struct dn_extent extent = sample_of (work, making->node->in[0], false);

    inner.layer = dn_layer_empty (DN_LAYER_LINEAR);
    snprintf (inner.layer.name, sizeof (inner.layer.name), "%s", making->layer.name);
    inner.layer.masks = 0;
    add_in (&inner.layer, &extent);
    extent.dim[extent.rank - 1] = value_of (work, making->node->in[1])->dim[1];
    inner.layer.out = extent;
    inner.layer.first = work->sample[work->root[making->node->in[0]]];
    inner.layer.saved = keep (work, making->node->in[0]);
    charge_all (&inner);
    work->summary->params += inner.layer.params;
    return dn_layers_add (&work->sidecar->layers, &inner.layer, work->err);
}

/* One node. */
static int make_whole_attention (struct making *making)
{
    struct work *work = making->work;
    const struct dn_onnx_node *node = making->node;
    struct dn_layer *layer = &making->layer;
    bool joined = strcmp (dn_onnx_op (node), "Attention") == 0
                  && dn_onnx_attribute (node, "num_heads");
    double heads = int_of (making, "num_heads", int_of (making, "q_num_heads", 1));
    double kv_heads = int_of (making, "kv_num_heads", heads);
    const int ids[] = {node->in[0], node->in[1], node->in[2], node->out[0]};

    layer->out = split_heads (work, node->out[0], heads);
    layer->n_in = 3;
    for (int i = 0; i < 3; i++)
        layer->in[i] =
            joined ? layer->out : split_heads (work, ids[i], i > 0 ? kv_heads : heads);
    layer->causal = int_of (making, "is_causal", int_of (making, "unidirectional", 0))
                    || strcmp (dn_onnx_op (node), "GroupQueryAttention") == 0;
    layer->window = fmax (int_of (making, "local_window_size", 0), 0);
    layer->moved = true;
    if (joined && add_projection (making) < 0)
        return -1;
    keep_attention (making, joined ? ids + 3 : ids, joined ? 1 : 4);
    return 0;
}

/* From the product of scores to that with values. */
static int make_attention (struct making *making)
{
    struct work *work = making->work;
    const struct dn_onnx_node *scores = &work->file->nodes[making->fused->scores];
    const int ids[] = {
        scores->in[0], scores->in[1], making->node->in[1], making->node->out[0]};
    struct dn_layer *layer = &making->layer;
    struct dn_extent key = heads_of (work, ids[1]);
    double size = key.dim[1];

    key.dim[1] = key.dim[2];
    key.dim[2] = size;
    layer->in[0] = heads_of (work, ids[0]);
    layer->in[1] = key;
    layer->in[2] = heads_of (work, ids[2]);
    layer->n_in = 3;
    layer->out = heads_of (work, ids[3]);
    layer->causal = making->fused->causal;
    layer->moved = making->fused->moved;
    keep_attention (making, ids, (int) DN_N_ELEMENTS (ids));
    if (making->fused->dropout)
        layer->masks = layer->out.dim[0] * layer->out.dim[1] * key.dim[1];
    return 0;
}

static int make_rnn (struct making *making)
{
    struct work *work = making->work;
    const struct dn_onnx_value *r = value_of (work, making->node->in[2]);
    const char *op = dn_onnx_op (making->node);
    struct dn_layer *layer = &making->layer;
    double tokens = value_of (work, making->node->in[0])->dim[0];
    double directions = r->dim[0];

    layer->hidden = r->dim[2];
    layer->gates = op[0] == 'L' ? 4 : op[0] == 'G' ? 3 : 1;
    if (!(layer->hidden >= 1 && tokens >= 1 && directions >= 1
          && directions * layer->hidden <= EXTENT_MAX))
        return dn_err_set (work->err, DN_E_RANGE, "no tokens or no hidden size");
    layer->in[0] =
        (struct dn_extent){{tokens, value_of (work, making->node->in[0])->dim[2]}, 2};
    layer->n_in = 1;
    layer->out = (struct dn_extent){{tokens, directions * layer->hidden}, 2};
    layer->saved = keep (work, making->node->in[0])
                   + dn_extent_elements (&layer->out)
                         * (layer->gates + (layer->gates == 4 ? 2 : 1));
    for (int i = 0; i < making->node->n_out; i++)
        if (making->node->out[i] >= 0)
            work->kept[making->node->out[i]] = true;
    return 0;
}

/* Rows of a table, or a selection that is a view of its input. */
static int make_gather (struct making *making)
{
    struct work *work = making->work;
    const struct dn_onnx_value *table = value_of (work, making->node->in[0]);

    add_shapes (making);
    if (!table->constant || table->rank != 2)
        return 0;
    making->layer.kind = DN_LAYER_EMBEDDING;
    making->layer.masks = -1;
    return 0;
}

/* Operators that keep their output instead of their input. */
static bool keeps_output (const char *op)
{
    static const char *const ops[] = {
        "Relu", "LeakyRelu", "Sigmoid", "Tanh", "Softmax", "LogSoftmax", "Exp", "Sqrt"};

    for (size_t i = 0; i < DN_N_ELEMENTS (ops); i++)
        if (strcmp (op, ops[i]) == 0)
            return true;
    return false;
}

/* The backward pass of a product needs both factors, but not the one whose other factor
 * is a constant number. That of a power needs its base.
 */
static void keep_factors (struct making *making)
{
    struct dn_layer *layer = &making->layer;
    struct work *work = making->work;
    bool power = strcmp (dn_onnx_op (making->node), "Pow") == 0;

    layer->amp_saved = 0;
    for (int i = 0; i < making->node->n_in; i++) {
        int other = making->node->n_in == 2 ? making->node->in[1 - i] : -1;

        if (!power && other >= 0 && value_of (work, other)->constant
            && value_of (work, other)->origin < 0)
            continue;
        if (making->node->in[i] >= 0) {
            double kept = keep (work, making->node->in[i]);

            layer->saved += kept;
            if (power || is_single (work, making->node->in[i]))
                layer->amp_saved += kept;
        }
    }
}

/* Under torch.amp norms and powers are computed in single precision, and so is what
 * follows them up to the next product.
 */
static void find_single (struct making *making)
{
    struct work *work = making->work;
    enum dn_layer_kind kind = making->layer.kind;
    int out = making->node->out[0];
    int source = making->fused->source;

    if (kind == DN_LAYER_LAYERNORM || kind == DN_LAYER_GROUPNORM
        || strcmp (dn_onnx_op (making->node), "Pow") == 0)
        work->single[out] = true;
    if (kind != DN_LAYER_ACTIVATION && kind != DN_LAYER_ELEMENTWISE
        && kind != DN_LAYER_DROPOUT && kind != DN_LAYER_COPY)
        return;
    for (int i = 0; source < 0 && i < making->node->n_in; i++)
        work->single[out] = work->single[out] || is_single (work, making->node->in[i]);
    work->single[out] = work->single[out] || is_single (work, source);
}

static int make_light (struct making *making)
{
    struct work *work = making->work;
    const char *op = dn_onnx_op (making->node);
    struct dn_layer *layer = &making->layer;
    int in = making->fused->source >= 0 ? making->fused->source : making->node->in[0];

    add_shapes (making);
    if (making->fused->source < 0 && keeps_output (op))
        layer->saved = keep (work, making->node->out[0]);
    else if (layer->kind == DN_LAYER_DROPOUT)
        layer->masks = dn_extent_elements (&layer->out);
    else if (layer->kind == DN_LAYER_ELEMENTWISE
             && (strcmp (op, "Mul") == 0 || strcmp (op, "Div") == 0
                 || strcmp (op, "Pow") == 0))
        keep_factors (making);
    else if (in >= 0
             && (layer->kind == DN_LAYER_ACTIVATION || layer->kind == DN_LAYER_POOL
                 || layer->kind == DN_LAYER_BATCHNORM
                 || layer->kind == DN_LAYER_LAYERNORM
                 || layer->kind == DN_LAYER_GROUPNORM))
        layer->saved = keep (work, in);
    if (layer->kind == DN_LAYER_ACTIVATION && is_single (work, in))
        layer->amp_saved = layer->saved;
    if (strcmp (op, "MaxPool") == 0)
        layer->masks = 8 * dn_extent_elements (&layer->out);
    layer->more_in += making->fused->more;
    layer->more_out += making->fused->more;
    return 0;
}

/* An operator without a rule: only its bytes are known. */
static int make_other (struct making *making)
{
    struct dn_onnx_summary *summary = making->work->summary;
    struct dn_layer *layer = &making->layer;

    add_shapes (making);
    layer->flops = 0;
    layer->bytes = layer->more_in + dn_extent_elements (&layer->out);
    for (int i = 0; i < layer->n_in; i++)
        layer->bytes += dn_extent_elements (&layer->in[i]);
    layer->bytes *= 4;
    if (summary->n_unknown++ == 0)
        snprintf (
            summary->unknown,
            sizeof (summary->unknown),
            "%s",
            dn_quote (dn_onnx_op (making->node), strlen (dn_onnx_op (making->node)))
                .text);
    return 0;
}

static int make (struct making *making)
{
    switch (making->layer.kind) {
    case DN_LAYER_CONV2D:
    case DN_LAYER_CONV_TRANSPOSE:
        return make_conv (making);
    case DN_LAYER_LINEAR:
    case DN_LAYER_MATMUL:
        return make_product (making);
    case DN_LAYER_ATTENTION:
        return making->fused->kind ? make_attention (making)
                                   : make_whole_attention (making);
    case DN_LAYER_RNN:
        return make_rnn (making);
    case DN_LAYER_OTHER:
        return make_other (making);
    default:
        if (strcmp (dn_onnx_op (making->node), "Gather") == 0)
            return make_gather (making);
        return make_light (making);
    }
}

/* Are the sizes in the range of a sidecar? */
static bool is_right (const struct dn_layer *layer)
{
    const struct dn_extent *extents[] = {
        &layer->in[0], &layer->in[1], &layer->in[2], &layer->out};

    for (size_t i = 0; i < DN_N_ELEMENTS (extents); i++)
        for (int j = 0; j < extents[i]->rank; j++)
            if (!(extents[i]->dim[j] >= 1 && extents[i]->dim[j] <= EXTENT_MAX))
                return false;
    return layer->more_in <= EXTENT_MAX;
}

static bool is_zero (const struct work *work, const struct dn_onnx_node *node, int i)
{
    const struct dn_onnx_value *value =
        i < node->n_in && node->in[i] >= 0 ? value_of (work, node->in[i]) : NULL;

    return value && value->data && dn_onnx_elements (value) == 1 && value->data[0] == 0;
}

/* Dropout without effect: of ratio 0, or not in training. */
static bool is_idle (const struct work *work, const struct dn_onnx_node *node)
{
    const DnOnnx__Attribute *ratio = dn_onnx_attribute (node, "ratio");

    return strcmp (dn_onnx_op (node), "Dropout") == 0
           && ((ratio && ratio->f <= 0) || is_zero (work, node, 1)
               || is_zero (work, node, 2));
}

/* Is the node a view of its input? */
static bool is_view (const struct work *work,
                     const struct dn_onnx_node *node,
                     const struct dn_onnx_rule *rule)
{
    if ((rule && rule->kind == DN_LAYER_UNKNOWN) || is_idle (work, node))
        return true;
    return strcmp (dn_onnx_op (node), "Gather") == 0 && node->n_in > 1
           && !value_of (work, node->in[0])->constant && node->in[1] >= 0
           && value_of (work, node->in[1])->rank == 0;
}

/* The outputs of a view share the memory of the first input that depends on the sample.
 * A part of it counts separately: query, key and value of one product are kept as
 * separate copies.
 */
static void share (struct work *work, const struct dn_onnx_node *node)
{
    int from = -1;

    if (strcmp (dn_onnx_op (node), "Concat") == 0) /* of several inputs */
        return;
    for (int i = 0; i < node->n_in && from < 0; i++)
        if (node->in[i] >= 0 && !value_of (work, node->in[i])->constant)
            from = work->root[node->in[i]];
    for (int i = 0; i < node->n_out && from >= 0; i++)
        if (node->out[i] >= 0
            && elements_of (work, node->out[i]) >= elements_of (work, from))
            work->root[node->out[i]] = from;
}

/* A name that is valid in JSON and printable on terminals. */
static void name_layer (struct dn_layer *layer, const struct dn_onnx_node *node)
{
    const char *name = node->proto->name ? node->proto->name : "";

    snprintf (layer->name, sizeof (layer->name), "%s", name);
    for (char *c = layer->name; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
}

static int add_node (struct work *work, int i)
{
    struct making making = {
        .work = work, .node = &work->file->nodes[i], .fused = &work->fusion.nodes[i]};
    const struct dn_onnx_rule *rule = dn_onnx_rule (making.node);

    if (making.node->n_out == 0 || making.node->out[0] < 0)
        return 0;
    if (is_view (work, making.node, rule) || making.fused->hidden) {
        share (work, making.node);
        return 0;
    }
    if (value_of (work, making.node->out[0])->constant
        || dn_onnx_elements (value_of (work, making.node->out[0])) == 0)
        return 0;
    making.layer = dn_layer_empty (making.fused->kind ? making.fused->kind
                                   : rule             ? rule->kind
                                                      : DN_LAYER_OTHER);
    making.layer.saved = making.layer.masks = 0;
    name_layer (&making.layer, making.node);
    if (make (&making) < 0)
        return dn_onnx_wrap (making.node, work->err);
    find_single (&making);
    if (making.layer.kind == DN_LAYER_BATCHNORM) /* not its mean and variance */
        for (int j = 1; j < 3 && j < making.node->n_in; j++)
            charge (&making, making.node->in[j]);
    else if (making.layer.kind == DN_LAYER_RNN) {
        charge_all (&making);
        making.layer.tensors = making.layer.params > 0
                                   ? 4 * making.layer.out.dim[1] / making.layer.hidden
                                   : 0;
    } else
        charge_all (&making);
    if (!is_right (&making.layer)) {
        dn_err_set (work->err, DN_E_RANGE, "sizes out of range 1..%g", EXTENT_MAX);
        return dn_onnx_wrap (making.node, work->err);
    }
    work->summary->params += making.layer.params;
    return dn_layers_add (&work->sidecar->layers, &making.layer, work->err);
}

/* A loss for each result that depends on the sample. */
static int add_losses (struct work *work)
{
    const DnOnnx__Graph *graph = work->file->graph;

    for (size_t i = 0; i < graph->n_output; i++) {
        int id = dn_onnx_find (work->file, graph->output[i]->name);
        struct dn_layer layer = dn_layer_empty (DN_LAYER_LOSS);

        if (id < 0 || value_of (work, id)->rank < 1 || value_of (work, id)->constant
            || !value_of (work, id)->floating)
            continue;
        layer.n_in = 1;
        layer.in[0] = layer.out = sample_of (work, id, false);
        if (!is_right (&layer))
            continue;
        layer.saved = dn_extent_elements (&layer.out);
        layer.masks = 8 * layer.saved
                      / layer.out.dim[layer.out.rank > 2 ? 0 : layer.out.rank - 1];
        if (dn_layers_add (&work->sidecar->layers, &layer, work->err) < 0)
            return -1;
    }
    return 0;
}

static void measure_input (struct work *work)
{
    const DnOnnx__Graph *graph = work->file->graph;
    double bytes = 0;

    for (size_t i = 0; i < graph->n_input; i++) {
        int id = dn_onnx_find (work->file, graph->input[i]->name);

        if (id >= 0 && !value_of (work, id)->constant)
            bytes += elements_of (work, id) * (value_of (work, id)->floating ? 4 : 8);
    }
    work->sidecar->layers.input_bytes = fmin (bytes, 1e15);
}

static int infer (struct work *work,
                  const struct dn_onnx_sizes *sizes,
                  struct dn_err *err)
{
    double batch;
    const char *symbol = dn_onnx_batch (work->file, sizes, &batch);

    work->fixed = !symbol;
    work->summary->samples = symbol ? 0 : batch;
    work->small = (struct dn_onnx_run){
        .file = work->file,
        .sizes = sizes,
        .symbol = symbol,
        .batch = symbol ? SMALL : batch,
    };
    work->large = work->small;
    if (dn_onnx_infer (&work->small, err) < 0)
        return -1;
    if (work->fixed) {
        work->large.values = work->small.values;
        return 0;
    }
    work->large.batch = LARGE;
    if (dn_onnx_infer (&work->large, err) < 0)
        return -1;
    for (int i = 0; i < work->file->n_values; i++)
        if (work->small.values[i].rank != work->large.values[i].rank)
            return dn_err_set (
                err, DN_E_RANGE, "a rank that depends on the number of samples");
    return 0;
}

static int make_room (struct work *work)
{
    size_t n = (size_t) work->file->n_values + 1;

    work->root = calloc (n, sizeof (*work->root));
    work->kept = calloc (n, sizeof (*work->kept));
    work->single = calloc (n, sizeof (*work->single));
    work->read = calloc (n, sizeof (*work->read));
    work->counted = calloc (n, sizeof (*work->counted));
    work->sample = calloc (n, sizeof (*work->sample));
    work->maker = calloc (n, sizeof (*work->maker));
    work->waiting = calloc (n, sizeof (*work->waiting));
    if (!work->root || !work->kept || !work->single || !work->read || !work->counted
        || !work->sample || !work->maker || !work->waiting)
        return dn_err_set (work->err, DN_E_NOMEM, "out of memory");
    return 0;
}

/* The maker of each value, and which values are inputs of the network. */
static void index_values (struct work *work)
{
    const DnOnnx__Graph *graph = work->file->graph;

    for (int i = 0; i < work->file->n_values; i++) {
        work->root[i] = i;
        work->maker[i] = -1;
    }
    for (int i = 0; i < work->file->n_nodes; i++)
        for (int j = 0; j < work->file->nodes[i].n_out; j++)
            if (work->file->nodes[i].out[j] >= 0)
                work->maker[work->file->nodes[i].out[j]] = i;
    for (size_t i = 0; i < graph->n_input; i++) {
        int id = dn_onnx_find (work->file, graph->input[i]->name);

        if (id >= 0)
            work->sample[id] = true;
    }
}

static int walk (struct work *work)
{
    if (make_room (work) < 0)
        return -1;
    index_values (work);
    if (dn_onnx_fuse (&work->small, &work->fusion, work->err) < 0
        || dn_onnx_attend (&work->small, &work->fusion, work->err) < 0)
        return -1;
    dn_onnx_join (
        &work->small, work->fixed ? &work->small : &work->large, &work->fusion);
    for (int i = 0; i < work->file->n_nodes; i++)
        if (add_node (work, i) < 0)
            return -1;
    if (work->sidecar->layers.n == 0)
        return dn_err_set (
            work->err, DN_E_RANGE, "no operator that depends on a sample");
    measure_input (work);
    return add_losses (work);
}

int dn_onnx_layers (const struct dn_onnx *file,
                    const struct dn_onnx_sizes *sizes,
                    struct dn_sidecar *sidecar,
                    struct dn_onnx_summary *summary,
                    struct dn_err *err)
{
    struct work work = {
        .file = file, .sidecar = sidecar, .summary = summary, .err = err};
    const char *name = file->graph->name ? file->graph->name : "";
    int rc;

    *summary = (struct dn_onnx_summary){.n_nodes = file->n_nodes};
    snprintf (sidecar->layers.name,
              sizeof (sidecar->layers.name),
              "%s",
              name[0] ? dn_quote (name, strlen (name)).text : "onnx");
    rc = infer (&work, sizes, err);
    if (rc == 0)
        rc = walk (&work);
    if (rc < 0)
        dn_layers_free (&sidecar->layers);
    if (!work.fixed)
        dn_onnx_run_free (&work.large);
    dn_onnx_run_free (&work.small);
    dn_onnx_fusion_free (&work.fusion);
    free (work.root);
    free (work.kept);
    free (work.single);
    free (work.read);
    free (work.counted);
    free (work.sample);
    free (work.maker);
    free (work.waiting);
    return rc;
}
