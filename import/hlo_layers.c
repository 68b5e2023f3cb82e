/* hlo_layers.c - an HLO module as the layers of a sidecar
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "import/hlo_layers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/compact.h"
#include "import/hlo_attend.h"
#include "import/hlo_kernels.h"

/* Layers are merged at this number; few of them differ. */
#define MERGE_AT (DN_GRAPH_OPS_MAX - DN_GRAPH_OPS_MAX / 4)

struct making {
    const struct dn_hlo *module;
    struct dn_hlo_costs costs;
    struct dn_hlo_entry entry;
    struct dn_hlo_kernels kernels;
    struct dn_layers *layers;
    struct dn_hlo_summary *summary;
    struct dn_err *err;
    double activation; /* bytes of an element in the predictor */
    double by_type[3]; /* operations of products in fp32, fp16, bf16 */
};

static bool is_whole (double number)
{
    return number >= 1 && number == floor (number) && number <= 1e9;
}

/* Copy a name, cut to 'size'. */
static void set_name (char *name, size_t size, struct dn_span text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.len && n + 1 < size; i++)
        name[n++] = text.text[i];
    name[n] = '\0';
}

static struct dn_layer new_layer (enum dn_layer_kind kind,
                                  const struct dn_hlo_instruction *instruction,
                                  double runs)
{
    struct dn_layer layer = dn_layer_empty (kind);

    set_name (layer.name, sizeof (layer.name), instruction->name);
    layer.repeat = runs;
    return layer;
}

/* Largest number of a sidecar. */
#define NUMBER_MAX 1e18

static int too_much (const struct making *making, const char *name)
{
    return dn_err_set (making->err,
                       DN_E_LIMIT,
                       "instruction '%s': more than %g operations, bytes or elements",
                       name,
                       NUMBER_MAX);
}

static int add_layer (struct making *making, struct dn_layer *layer)
{
    if (!(layer->flops <= NUMBER_MAX) || !(layer->bytes <= NUMBER_MAX))
        return too_much (making, layer->name);
    making->summary->kernels += layer->repeat;
    if (making->summary->step) /* memory is counted once, for all */
        layer->saved = layer->masks = 0;
    if (making->layers->n >= MERGE_AT)
        dn_layers_merge (making->layers);
    return dn_layers_add (making->layers, layer, making->err);
}

/* A kernel without a kind of layer: the bytes that it moves. */
static int add_other (struct making *making,
                      const struct dn_hlo_instruction *instruction,
                      double flops,
                      double bytes,
                      double runs)
{
    struct dn_layer layer = new_layer (DN_LAYER_OTHER, instruction, runs);

    /* The predictor assumes elements of one size. */
    layer.flops = flops / making->entry.batch;
    layer.bytes = bytes / making->activation * 4 / making->entry.batch;
    making->summary->bytes += bytes * runs;
    return add_layer (making, &layer);
}

static struct dn_extent extent (double first, double second)
{
    return (struct dn_extent){.dim = {first, second}, .rank = 2};
}

/* (m, k) x (k, n) as a linear layer over m rows of the batch; false if they are not a
 * multiple of the batch.
 */
static bool set_linear (struct dn_layer *layer, double rows, double in, double out)
{
    if (!is_whole (rows) || !is_whole (in) || !is_whole (out))
        return false;
    layer->kind = DN_LAYER_LINEAR;
    layer->in[0] = extent (rows, in);
    layer->n_in = 1;
    layer->out = extent (rows, out);
    return true;
}

/* Which of the three arrays have samples determines the product: forward or the
 * gradient of its input, the gradient of its weights, or a product of two activations.
 */
static bool set_matmul (const struct making *making,
                        const struct dn_hlo_product *p,
                        struct dn_layer *layer)
{
    double batch = making->entry.batch;
    bool lhs = dn_hlo_is_batched (making->module, &making->entry, p->lhs);
    bool rhs = dn_hlo_is_batched (making->module, &making->entry, p->rhs);
    bool out = dn_hlo_is_batched (making->module, &making->entry, p->out);

    if (lhs && rhs && out && is_whole (p->batches / batch) && is_whole (p->m)
        && is_whole (p->n) && is_whole (p->k)) {
        layer->kind = DN_LAYER_MATMUL;
        layer->in[0] =
            (struct dn_extent){.dim = {p->batches / batch, p->m, p->k}, .rank = 3};
        layer->in[1] =
            (struct dn_extent){.dim = {p->batches / batch, p->k, p->n}, .rank = 3};
        layer->n_in = 2;
        layer->out =
            (struct dn_extent){.dim = {p->batches / batch, p->m, p->n}, .rank = 3};
        return true;
    }
    if (p->batches != 1)
        return false;
    if (lhs && rhs && !out)
        return set_linear (layer, p->k / batch, p->m, p->n);
    if (rhs && out && !lhs)
        return set_linear (layer, p->n / batch, p->k, p->m);
    return out && set_linear (layer, p->m / batch, p->k, p->n);
}

/* Channels and positions of a convolution's input and output, per sample, for the
 * forward pass and both gradients. A transposed one is counted at its input's
 * positions.
 */
static bool set_conv (const struct making *making,
                      const struct dn_hlo_product *p,
                      struct dn_layer *layer)
{
    static const enum dn_layer_kind kinds[] = {
        DN_LAYER_CONV1D, DN_LAYER_CONV1D, DN_LAYER_CONV2D, DN_LAYER_CONV3D};
    int space = p->out->rank - 2;
    double batch = making->entry.batch;
    double lhs = dn_hlo_elements (making->module, p->lhs);
    double out = dn_hlo_elements (making->module, p->out);
    double in_channels = p->k / p->kernel * p->groups;
    double out_channels = p->n * p->groups;
    double kernel = p->kernel;
    double groups = p->groups;
    double as_conv;
    double as_transposed;

    if (!dn_hlo_is_batched (making->module, &making->entry, p->out)) {
        /* The gradient of a kernel: its output is the window, its window the output. */
        in_channels = p->lhs_batch;
        kernel = p->out_space;
        groups = p->batch_groups;
        out = dn_hlo_elements (making->module, p->rhs);
    }
    layer->kernel = kernel;
    layer->groups = groups;
    layer->in[0] = extent (in_channels, lhs / in_channels / batch);
    layer->out = extent (out_channels, out / out_channels / batch);
    layer->n_in = 1;
    if (space < 0 || space > 3 || !is_whole (kernel) || !is_whole (groups)
        || !is_whole (in_channels / groups) || !is_whole (out_channels / groups)
        || !is_whole (layer->in[0].dim[1]) || !is_whole (layer->out.dim[1]))
        return false;
    as_conv =
        2 * batch * layer->out.dim[1] * out_channels * in_channels / groups * kernel;
    as_transposed =
        2 * batch * layer->in[0].dim[1] * out_channels * in_channels / groups * kernel;
    layer->kind = fabs (as_conv - p->flops) <= fabs (as_transposed - p->flops)
                      ? kinds[space]
                      : DN_LAYER_CONV_TRANSPOSE;
    if (layer->kind == DN_LAYER_CONV_TRANSPOSE) /* its shapes give its dimensions */
        for (int i = 2; i <= space; i++) {
            layer->in[0].dim[layer->in[0].rank++] = 1;
            layer->out.dim[layer->out.rank++] = 1;
        }
    return true;
}

static double product_bytes (const struct dn_hlo *module,
                             const struct dn_hlo_product *p)
{
    return dn_hlo_bytes (module, p->lhs) + dn_hlo_bytes (module, p->rhs)
           + dn_hlo_bytes (module, p->out);
}

static void count_type (struct making *making,
                        const struct dn_hlo_array *factor,
                        double flops)
{
    int type = factor->letter == 'b' ? 2 : factor->half_bytes == 4 ? 1 : 0;

    making->by_type[type] += flops;
}

static int add_product (struct making *making,
                        const struct dn_hlo_instruction *instruction,
                        const struct dn_hlo_product *p,
                        double runs)
{
    struct dn_layer layer = new_layer (DN_LAYER_OTHER, instruction, runs);
    double bytes = product_bytes (making->module, p);

    if (p->kernel > 0 ? set_conv (making, p, &layer) : set_matmul (making, p, &layer)) {
        making->summary->bytes += bytes * runs;
        return add_layer (making, &layer);
    }
    return add_other (making, instruction, p->flops, bytes, runs);
}

/* The products of a fusion are its work; other bytes that it moves are a second layer.
 */
static int add_fused_products (struct making *making,
                               const struct dn_hlo_instruction *fusion,
                               double bytes,
                               double runs)
{
    const struct dn_hlo *module = making->module;
    const struct dn_hlo_computation *inside =
        dn_hlo_computation (module, dn_hlo_callee (module, fusion, 0));
    struct dn_hlo_product product;

    for (int i = inside->first; i < inside->first + inside->n; i++) {
        const struct dn_hlo_instruction *instruction = dn_hlo_at (module, i);

        if (!dn_hlo_product (module, &making->costs, instruction, &product))
            continue;
        bytes -= product_bytes (module, &product);
        if (add_product (making, instruction, &product, runs) < 0)
            return -1;
    }
    return bytes > 0 ? add_other (making, fusion, 0, bytes, runs) : 0;
}

/* One kernel of cuDNN. Backward it does as much as two and a half times forward. */
static int add_attention (struct making *making,
                          const struct dn_hlo_instruction *call,
                          const struct dn_hlo_attention *a,
                          double bytes,
                          double runs)
{
    double samples = a->batch / making->entry.batch;
    struct dn_layer layer =
        new_layer (DN_LAYER_ATTENTION, call, runs * samples * (a->backward ? 2.5 : 1));

    layer.in[0] = (struct dn_extent){.dim = {a->heads, a->tokens, a->size}, .rank = 3};
    layer.in[1] = (struct dn_extent){.dim = {a->kv_heads, a->keys, a->size}, .rank = 3};
    layer.in[2] =
        (struct dn_extent){.dim = {a->kv_heads, a->keys, a->value_size}, .rank = 3};
    layer.n_in = 3;
    layer.out =
        (struct dn_extent){.dim = {a->heads, a->tokens, a->value_size}, .rank = 3};
    layer.window = a->window;
    layer.causal = a->causal;
    layer.masks = a->dropout ? a->heads * a->tokens * a->keys : 0;
    layer.fused = true;
    making->summary->bytes += bytes * runs;
    return add_layer (making, &layer);
}

/* An embedding: one row of a table per index. */
static bool set_embedding (const struct making *making,
                           const struct dn_hlo_instruction *gather,
                           struct dn_layer *layer)
{
    const struct dn_hlo *module = making->module;
    const struct dn_hlo_array *out = dn_hlo_result (module, gather, 0);
    double width =
        out->rank > 1 ? (double) dn_hlo_dims (module, out)[out->rank - 1] : 0;
    double rows = dn_hlo_elements (module, out) / fmax (width, 1) / making->entry.batch;

    if (!is_whole (width) || !is_whole (rows)
        || !dn_hlo_is_batched (module, &making->entry, out))
        return false;
    layer->kind = DN_LAYER_EMBEDDING;
    layer->in[0] = (struct dn_extent){.dim = {rows}, .rank = 1};
    layer->n_in = 1;
    layer->out = extent (rows, width);
    return true;
}

static int add_kernel (struct making *making, int i, double runs)
{
    const struct dn_hlo *module = making->module;
    const struct dn_hlo_instruction *instruction = dn_hlo_at (module, i);
    double bytes = making->kernels.bytes[i];
    struct dn_hlo_product product;
    struct dn_hlo_attention attention;
    struct dn_layer layer = new_layer (DN_LAYER_OTHER, instruction, runs);

    if (dn_hlo_attention (module, instruction, &attention)
        && attention.batch >= making->entry.batch)
        return add_attention (making, instruction, &attention, bytes, runs);
    if (dn_hlo_product (module, &making->costs, instruction, &product))
        return add_product (making, instruction, &product, runs);
    if (instruction->op == DN_HLO_FUSION && instruction->n_callees == 1
        && making->costs.list[dn_hlo_callee (module, instruction, 0)].products > 0)
        return add_fused_products (making, instruction, bytes, runs);
    if (instruction->op == DN_HLO_ALL_REDUCE || instruction->op == DN_HLO_COLLECTIVE)
        return 0;
    if (instruction->op == DN_HLO_GATHER && instruction->n_arrays == 1
        && set_embedding (making, instruction, &layer)) {
        making->summary->bytes += bytes * runs;
        return add_layer (making, &layer);
    }
    return bytes > 0 ? add_other (making, instruction, 0, bytes, runs) : 0;
}

/* Devices of one group: "{{0,1},{2,3}}" or "[2,4]<=[8]", groups times members. */
static void count_replicas (struct making *making,
                            const struct dn_hlo_instruction *instruction)
{
    struct dn_span groups = dn_hlo_attribute (instruction, "replica_groups");
    double members = 1;
    int64_t sizes[2];

    if (!groups.text || groups.len == 0)
        return;
    if (groups.text[0] == '[') {
        if (dn_hlo_numbers (groups, sizes, 2) == 2)
            members = (double) sizes[1];
    } else {
        for (size_t i = 1; i < groups.len && groups.text[i] != '}'; i++)
            members += groups.text[i] == ',';
    }
    making->summary->replicas = fmax (making->summary->replicas, members);
}

/* Precision: that of most operations of products. */
static void find_types (struct making *making)
{
    const struct dn_hlo *module = making->module;
    struct dn_hlo_product product;
    struct dn_hlo_attention attention;

    for (int c = 0; c < module->computations.n; c++) {
        const struct dn_hlo_computation *computation = dn_hlo_computation (module, c);
        double runs = fmax (1, making->kernels.runs[c]);

        for (int i = computation->first; i < computation->first + computation->n; i++) {
            const struct dn_hlo_instruction *instruction = dn_hlo_at (module, i);

            if (dn_hlo_product (module, &making->costs, instruction, &product))
                count_type (making, product.lhs, runs * product.flops);
            else if (dn_hlo_attention (module, instruction, &attention))
                count_type (making, attention.query, runs * attention.flops);
            if (instruction->op == DN_HLO_ALL_REDUCE
                || instruction->op == DN_HLO_COLLECTIVE)
                count_replicas (making, instruction);
        }
    }
}

static enum dn_precision most_used (const struct making *making)
{
    const double *by_type = making->by_type;

    if (by_type[2] > by_type[1] && by_type[2] > by_type[0])
        return DN_PRECISION_BF16;
    return by_type[1] > by_type[0] ? DN_PRECISION_FP16 : DN_PRECISION_FP32;
}

/* TensorFlow names modules after its functions or its clusters. */
static enum dn_framework find_framework (const struct dn_hlo *module)
{
    if (dn_hlo_find (module->name, "inference_")
        || dn_hlo_find (module->name, "cluster_"))
        return DN_FRAMEWORK_TENSORFLOW;
    return DN_FRAMEWORK_JAX;
}

/* Set the keys that the module shows, where they are unset. */
static void fill_spec (const struct making *making, struct dn_spec *spec)
{
    static const enum dn_optimizer by_states[] = {
        DN_OPTIMIZER_SGD, DN_OPTIMIZER_MOMENTUM, DN_OPTIMIZER_ADAM};
    const int n_known = (int) DN_N_ELEMENTS (by_states);
    double states = making->entry.states;

    if (spec->batch == DN_UNSET)
        spec->batch = (int64_t) making->entry.batch;
    if (spec->precision == DN_PRECISION_UNKNOWN)
        spec->precision = most_used (making);
    if (spec->framework == DN_FRAMEWORK_UNKNOWN)
        spec->framework = find_framework (making->module);
    if (spec->compile == DN_UNSET)
        spec->compile = 1;
    if (spec->optimizer == DN_OPTIMIZER_UNKNOWN && making->entry.step && states >= 0
        && states < n_known)
        spec->optimizer = by_states[(int) states];
}

/* The input: the data of a sample, and what belongs to the whole network. */
static int add_input (struct making *making)
{
    const struct dn_hlo_entry *entry = &making->entry;
    struct dn_layer layer = dn_layer_empty (DN_LAYER_OTHER);

    snprintf (layer.name, sizeof (layer.name), "input");
    layer.flops = layer.bytes = layer.saved = 0;
    layer.params = entry->params;
    layer.tensors = entry->tensors;
    if (is_whole (entry->data_elements / entry->batch)) {
        layer.in[0] =
            (struct dn_extent){.dim = {entry->data_elements / entry->batch}, .rank = 1};
        layer.n_in = 1;
    }
    layer.masks = entry->step ? floor (making->kernels.peak / entry->batch) : 0;
    making->layers->input_bytes = floor (entry->data_bytes / entry->batch);
    if (!(layer.params <= NUMBER_MAX) || !(layer.masks <= NUMBER_MAX)
        || !(making->layers->input_bytes <= NUMBER_MAX))
        return too_much (making, layer.name);
    return dn_layers_add (making->layers, &layer, making->err);
}

static int add_layers (struct making *making)
{
    const struct dn_hlo *module = making->module;

    if (add_input (making) < 0)
        return -1;
    for (int c = module->computations.n - 1; c >= 0; c--) {
        const struct dn_hlo_computation *computation = dn_hlo_computation (module, c);
        double runs = making->kernels.runs[c];

        if (runs <= 0)
            continue;
        for (int i = computation->first; i < computation->first + computation->n; i++)
            if (making->kernels.home[i] == i && add_kernel (making, i, runs) < 0)
                return -1;
    }
    dn_layers_merge (making->layers);
    return 0;
}

static void sum_up (struct making *making)
{
    struct dn_hlo_summary *summary = making->summary;
    const struct dn_hlo *module = making->module;

    summary->flops = making->costs.list[module->entry].flops;
    summary->products = making->costs.list[module->entry].products;
    summary->batch = making->entry.batch;
    summary->params = making->entry.params;
    summary->step = making->entry.step;
    summary->optimised = module->optimised;
    summary->instructions = module->instructions.n;
    summary->computations = module->computations.n;
    summary->unknown_trips = making->costs.unknown_trips;
    summary->unknown_calls = making->costs.unknown_calls;
    summary->replicas = 1;
}

static int make (struct making *making, struct dn_sidecar *sidecar)
{
    struct dn_spec spec = sidecar->spec;

    sum_up (making);
    find_types (making);
    fill_spec (making, &spec);
    making->activation = dn_precision_traits[spec.precision].activation;
    set_name (making->layers->name,
              sizeof (making->layers->name),
              making->module->name.len > 0 ? making->module->name : dn_span_of ("hlo"));
    making->layers->whole_step = making->entry.step;
    if (add_layers (making) < 0)
        return -1;
    sidecar->spec = spec;
    return 0;
}

int dn_hlo_layers (const struct dn_hlo *module,
                   enum dn_hlo_pass pass,
                   double batch,
                   struct dn_sidecar *sidecar,
                   struct dn_hlo_summary *summary,
                   struct dn_err *err)
{
    struct dn_layers layers = {.input_bytes = -1};
    struct making making = {
        .module = module, .layers = &layers, .summary = summary, .err = err};
    int rc = -1;

    *summary = (struct dn_hlo_summary){.flops = 0};
    if (dn_hlo_costs_find (module, &making.costs, err) < 0)
        return -1;
    if (dn_hlo_entry_find (module, pass, batch, &making.entry, err) == 0
        && dn_hlo_kernels_find (
               module, &making.costs, &making.entry, &making.kernels, err)
               == 0)
        rc = make (&making, sidecar);
    dn_hlo_costs_free (&making.costs);
    dn_hlo_entry_free (&making.entry);
    dn_hlo_kernels_free (&making.kernels);
    if (rc < 0) {
        dn_layers_free (&layers);
        return -1;
    }
    dn_layers_free (&sidecar->layers);
    sidecar->layers = layers;
    return 0;
}
