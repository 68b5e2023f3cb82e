/* features.c - the features of a run for the learned residual
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/features.h"

#include <math.h>
#include <string.h>

#include "predict/attend.h"

/* Sizes are limited to e^-50..e^50, far beyond any that occurs, and ratios to a
 * hundred.
 */
#define LN_MAX    50.0
#define RATIO_MAX 100.0

static const struct dn_feature_key keys[DN_N_FEATURES] = {
#define DN_FEATURE(constant, name, unit, meaning) {#name, unit, meaning},
#include "predict/features.inc"
};

const struct dn_feature_key *dn_feature_keys (void)
{
    return keys;
}

/* The logarithm of a size; 0 for an unknown size. */
static double ln (double value)
{
    return value > 0 ? log (value) : 0;
}

static double share (double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

/* The hardware tiles products; with few channels tiles are partly empty. */
static double padded (const struct dn_op *op)
{
    const double tile = 64;
    double n = ceil (op->n / tile) * tile;
    double k = ceil (op->k / tile) * tile;

    return op->n > 0 && op->k > 0 ? op->flops * sqrt (n * k / (op->n * op->k))
                                  : op->flops;
}

static void add_to_mix (struct dn_mix *mix, const struct dn_op *op)
{
    double flops = op->repeat * op->flops;
    double traffic = op->repeat * (op->in + op->out);

    mix->flops[op->kind] += flops;
    mix->traffic[op->kind] += traffic;
    mix->all_flops += flops;
    mix->padded_flops += op->repeat * padded (op);
    mix->all_traffic += traffic;
    mix->weights += op->repeat * op->weights;
    mix->operators += op->repeat * dn_max (op->steps, 1);
    mix->products += op->flops > 0 ? op->repeat : 0;
    if (op->kind == DN_OP_CONV && op->batches > 1) {
        mix->grouped_flops += flops;
        mix->grouped_traffic += traffic;
    } else if (op->kind == DN_OP_CONV && op->m > 0 && op->k * op->m <= op->in) {
        mix->pointwise_flops += flops;
    }
    if (op->kind == DN_OP_EMBEDDING)
        mix->embedding_params += op->repeat * (op->params + op->frozen_params);
    if (op->kind == DN_OP_RNN)
        mix->recurrence = dn_max (mix->recurrence, op->steps);
}

static void mix_init (struct dn_mix *mix, const struct dn_graph *graph)
{
    *mix = (struct dn_mix){.recurrence = 0};
    for (int i = 0; i < graph->n_ops; i++)
        if (graph->ops[i].kind == DN_OP_ATTENTION)
            mix->attentions++;
        else
            add_to_mix (mix, &graph->ops[i]);
}

/* Add the kernels that run attention on the device of a case. */
static void add_attentions (struct dn_mix *mix, const struct dn_case *c)
{
    for (int i = 0; mix->attentions > 0 && i < c->graph->n_ops; i++) {
        struct dn_op room[DN_PARTS_MAX];
        const struct dn_op *parts;
        int n;

        if (c->graph->ops[i].kind != DN_OP_ATTENTION)
            continue;
        parts = dn_parts_of (c->spec, c->device, 1, &c->graph->ops[i], room, &n);
        for (int j = 0; j < n; j++)
            add_to_mix (mix, &parts[j]);
    }
}

static void add_white_box (const struct dn_estimate *e,
                           const struct dn_device *device,
                           double out[DN_N_FEATURES])
{
    const double *stage = e->stage_s;
    double step = e->step_s.p50;
    double busy = 0;
    double memory = e->gpu_mem.p50;

    for (int i = DN_STAGE_FORWARD; i <= DN_STAGE_OPTIMIZER; i++)
        busy += stage[i];
    out[DN_FEATURE_STEP_TIME] = ln (step);
    out[DN_FEATURE_DEVICE_SHARE] = share (busy, step);
    out[DN_FEATURE_BACKWARD_SHARE] =
        share (stage[DN_STAGE_BACKWARD_DATA] + stage[DN_STAGE_BACKWARD_WEIGHT], busy);
    out[DN_FEATURE_OPTIMIZER_SHARE] = share (stage[DN_STAGE_OPTIMIZER], busy);
    out[DN_FEATURE_COMMUNICATION_SHARE] = share (stage[DN_STAGE_COMMUNICATION], step);
    out[DN_FEATURE_EXPOSED_SHARE] = share (stage[DN_STAGE_EXPOSED], step);
    out[DN_FEATURE_INPUT_SHARE] = share (stage[DN_STAGE_INPUT], step);
    out[DN_FEATURE_HOST_SHARE] = share (stage[DN_STAGE_HOST], step);
    out[DN_FEATURE_MEMORY_PRESSURE] = share (memory, device->memory);
    out[DN_FEATURE_ACTIVATION_SHARE] = share (e->memory[DN_MEMORY_ACTIVATIONS], memory);
    out[DN_FEATURE_STATE_SHARE] =
        share (e->memory[DN_MEMORY_WEIGHTS] + e->memory[DN_MEMORY_GRADIENTS]
                   + e->memory[DN_MEMORY_OPTIMIZER] + e->memory[DN_MEMORY_BUCKETS],
               memory);
    out[DN_FEATURE_WORKSPACE_SHARE] = share (e->memory[DN_MEMORY_WORKSPACE], memory);
    out[DN_FEATURE_POWER_SHARE] = share (e->power_w, device->tdp_w);
}

static void add_operators (const struct dn_mix *mix,
                           const struct dn_graph *graph,
                           double out[DN_N_FEATURES])
{
    const double *flops = mix->flops;
    const double *traffic = mix->traffic;
    double all = mix->all_flops;
    double moved = mix->all_traffic;

    out[DN_FEATURE_CONV_FLOPS] =
        share (flops[DN_OP_CONV] - mix->pointwise_flops - mix->grouped_flops, all);
    out[DN_FEATURE_POINTWISE_FLOPS] = share (mix->pointwise_flops, all);
    out[DN_FEATURE_GROUPED_FLOPS] = share (mix->grouped_flops, all);
    out[DN_FEATURE_LINEAR_FLOPS] = share (flops[DN_OP_LINEAR], all);
    out[DN_FEATURE_MATMUL_FLOPS] =
        share (flops[DN_OP_MATMUL] + flops[DN_OP_ATTENTION], all);
    out[DN_FEATURE_RECURRENT_FLOPS] = share (flops[DN_OP_RNN], all);
    out[DN_FEATURE_GROUPED_TRAFFIC] = share (mix->grouped_traffic, moved);
    out[DN_FEATURE_NORM_TRAFFIC] = share (traffic[DN_OP_NORM], moved);
    out[DN_FEATURE_POINT_TRAFFIC] = share (
        traffic[DN_OP_ACTIVATION] + traffic[DN_OP_ELEMENTWISE] + traffic[DN_OP_DROPOUT],
        moved);
    out[DN_FEATURE_SOFTMAX_TRAFFIC] =
        share (traffic[DN_OP_SOFTMAX] + traffic[DN_OP_LOSS], moved);
    out[DN_FEATURE_COPY_TRAFFIC] =
        share (traffic[DN_OP_COPY] + traffic[DN_OP_POOL], moved);
    out[DN_FEATURE_EMBEDDING_PARAMS] =
        share (mix->embedding_params, graph->params + graph->frozen_params);
    out[DN_FEATURE_PADDING] = ln (share (mix->padded_flops, all));
    out[DN_FEATURE_RECURRENCE] = ln (mix->recurrence);
}

/* Kernels of one step. */
static double kernels_of (const struct dn_mix *mix, const struct dn_spec *spec)
{
    return mix->operators * dn_max ((double) spec->grad_accum, 1)
           / dn_max ((double) spec->pp, 1);
}

/* GPUs that share the work on one batch. */
static double sharers (const struct dn_spec *spec)
{
    return dn_max ((double) spec->pp, 1) * dn_max ((double) spec->tp, 1)
           * dn_max ((double) spec->cp, 1);
}

static void add_sizes (const struct dn_mix *mix,
                       const struct dn_spec *spec,
                       const struct dn_graph *graph,
                       double out[DN_N_FEATURES])
{
    double batch = (double) spec->batch;
    double passes = dn_max ((double) spec->grad_accum, 1);
    double parts = sharers (spec);
    double params = graph->params + graph->frozen_params;

    out[DN_FEATURE_PARAMS] = ln (params);
    out[DN_FEATURE_SAMPLE_FLOPS] = ln (mix->all_flops);
    out[DN_FEATURE_SAMPLE_TRAFFIC] = ln (mix->all_traffic);
    out[DN_FEATURE_INTENSITY] =
        ln (share (mix->all_flops * batch, mix->all_traffic * batch + mix->weights));
    out[DN_FEATURE_KERNELS] = ln (kernels_of (mix, spec));
    out[DN_FEATURE_KERNEL_FLOPS] = ln (share (mix->all_flops * batch, mix->products));
    out[DN_FEATURE_KERNEL_TRAFFIC] =
        ln (share (mix->all_traffic * batch + mix->weights, mix->operators));
    out[DN_FEATURE_TENSORS] = ln (graph->tensors);
    out[DN_FEATURE_REUSE] =
        ln (share (mix->all_flops * batch * passes / parts, params));
    out[DN_FEATURE_SAMPLE_SIZE] = ln (graph->input);
    out[DN_FEATURE_SEQUENCE] = ln ((double) spec->seq_len);
    out[DN_FEATURE_BATCH] = ln (batch);
    out[DN_FEATURE_ACCUMULATION] = ln (passes);
}

static void add_training (const struct dn_spec *spec, double out[DN_N_FEATURES])
{
    unsigned habits = dn_habits_of (spec);

    out[DN_FEATURE_OPTIMIZER_STATES] = dn_optimizer_traits[spec->optimizer].states;
    out[DN_FEATURE_NO_OPTIMIZER] = spec->optimizer == DN_OPTIMIZER_NONE;
    out[DN_FEATURE_FRAMEWORK_PYTORCH] = (habits & DN_HABIT_TORCH) != 0;
    out[DN_FEATURE_FRAMEWORK_GRAPH] = (habits & DN_HABIT_GRAPH) != 0;
    out[DN_FEATURE_TUNED] = (habits & DN_HABIT_TUNED) != 0;
    out[DN_FEATURE_COMPILED] = spec->compile == 1;
    if (spec->checkpointing == DN_CHECKPOINTING_FULL)
        out[DN_FEATURE_CHECKPOINTING] = 2;
    else if (spec->checkpointing == DN_CHECKPOINTING_SELECTIVE)
        out[DN_FEATURE_CHECKPOINTING] = 1;
    if (spec->input == DN_INPUT_SYNTHETIC)
        out[DN_FEATURE_REAL_INPUT] = -1;
    else if (spec->input != DN_INPUT_UNKNOWN)
        out[DN_FEATURE_REAL_INPUT] = 1;
}

static void add_parallelism (const struct dn_spec *spec, double out[DN_N_FEATURES])
{
    out[DN_FEATURE_GPUS] = ln ((double) spec->gpus);
    out[DN_FEATURE_NODES] = ln ((double) spec->nodes);
    out[DN_FEATURE_TENSOR_PARALLEL] = ln ((double) spec->tp);
    out[DN_FEATURE_PIPELINE_PARALLEL] = ln ((double) spec->pp);
    if (spec->parallel >= DN_PARALLEL_ZERO1)
        out[DN_FEATURE_SHARDING] = dn_min (spec->parallel - DN_PARALLEL_ZERO1 + 1.0, 3);
    if (spec->gpus > 1)
        out[DN_FEATURE_GRADIENT_TRAFFIC] = -out[DN_FEATURE_REUSE];
}

static void add_device (const struct dn_spec *spec,
                        const struct dn_device *device,
                        double out[DN_N_FEATURES])
{
    enum dn_precision precision = dn_device_precision (device, spec->precision);
    bool nvlink = device->link == DN_LINK_NVLINK && spec->link != DN_LINK_PCIE;
    bool matrix;
    double peak = dn_device_peak (device, precision, &matrix);

    if (spec->gpus > 1)
        out[DN_FEATURE_LINK] = ln (nvlink ? device->link_bw : device->pcie_bw);
    out[DN_FEATURE_ELEMENT_BYTES] = dn_precision_traits[precision].activation;
    out[DN_FEATURE_MATRIX_UNITS] = matrix;
    out[DN_FEATURE_TF32] = dn_precision_traits[precision].rounds;
    out[DN_FEATURE_PEAK] = ln (peak);
    out[DN_FEATURE_VECTOR_PEAK] = ln (device->fp32);
    out[DN_FEATURE_BANDWIDTH] = ln (device->bandwidth);
    out[DN_FEATURE_BALANCE] = ln (share (peak, device->bandwidth));
    out[DN_FEATURE_MEMORY] = ln (device->memory);
    out[DN_FEATURE_L2] = ln (device->l2);
    out[DN_FEATURE_MULTIPROCESSORS] = ln ((double) device->sms);
    out[DN_FEATURE_GENERATION] = (double) device->generation->number;
    out[DN_FEATURE_BOARD_POWER] = ln (device->tdp_w);
    out[DN_FEATURE_POWER_LIMIT] = 1;
    if (spec->power_limit > 0 && (double) spec->power_limit < device->tdp_w)
        out[DN_FEATURE_POWER_LIMIT] = share ((double) spec->power_limit, device->tdp_w);
}

/* The ratio of the white box's step to the minimum by the data sheet, as a logarithm.
 * The backward pass counts as two forward passes.
 */
static double above_bound (const struct dn_mix *mix,
                           const struct dn_spec *spec,
                           const struct dn_device *device,
                           const double features[DN_N_FEATURES])
{
    double samples =
        (double) spec->batch * dn_max ((double) spec->grad_accum, 1) / sharers (spec);
    double peak = exp (features[DN_FEATURE_PEAK]);
    double least = 3 * samples
                   * (share (mix->all_flops, peak)
                      + share (mix->all_traffic * features[DN_FEATURE_ELEMENT_BYTES],
                               device->bandwidth));

    return least > 0 ? features[DN_FEATURE_STEP_TIME] - log (least) : 0;
}

/* Limit a feature to the range of trained trees, also for invalid input. */
static float bounded (enum dn_feature feature, double value)
{
    const char *unit = keys[feature].unit;
    bool size = unit[0] == 'l' && unit[1] == 'n';
    double max = size ? LN_MAX : RATIO_MAX;

    if (isnan (value))
        return 0;
    if (value > max)
        return (float) max;
    return (float) (value < -max ? -max : value);
}

/* What follows from the network and how it is trained. */
static void add_run (const struct dn_mix *mix,
                     const struct dn_case *c,
                     double out[DN_N_FEATURES])
{
    add_operators (mix, c->graph, out);
    add_sizes (mix, c->spec, c->graph, out);
    add_training (c->spec, out);
    add_parallelism (c->spec, out);
}

void dn_common_init (struct dn_common *common, const struct dn_case *c)
{
    memset (common->features, 0, sizeof (common->features));
    mix_init (&common->mix, c->graph);
    if (common->mix.attentions == 0)
        add_run (&common->mix, c, common->features);
}

void dn_features_of (const struct dn_common *common,
                     const struct dn_case *c,
                     const struct dn_estimate *white_box,
                     float out[DN_N_FEATURES])
{
    double features[DN_N_FEATURES];
    struct dn_mix mix = common->mix;
    double step_s = white_box->step_s.p50;

    memcpy (features, common->features, sizeof (features));
    if (mix.attentions > 0) {
        add_attentions (&mix, c);
        add_run (&mix, c, features);
    }
    add_white_box (white_box, c->device, features);
    features[DN_FEATURE_KERNEL_RATE] = ln (share (kernels_of (&mix, c->spec), step_s));
    add_device (c->spec, c->device, features);
    features[DN_FEATURE_BOUND_SHARE] = above_bound (&mix, c->spec, c->device, features);
    for (int i = 0; i < DN_N_FEATURES; i++)
        out[i] = bounded ((enum dn_feature) i, features[i]);
}

/* Shares of the FLOPs of a network, or of its convolutions, from which they make its
 * kind; recurrent layers are slow from a quarter on, and depthwise convolutions have
 * few FLOPs even where they take most of the time.
 */
#define RECURRENT 0.25
#define MOST      0.5
#define DEPTHWISE 0.03

static const char *kind_of_conv (const struct dn_graph *graph, double all)
{
    double by_dims[4] = {0};
    double grouped = 0;

    for (int i = 0; i < graph->n_ops; i++) {
        const struct dn_op *op = &graph->ops[i];
        double flops = op->repeat * op->flops;

        if (op->kind != DN_OP_CONV)
            continue;
        by_dims[op->dims >= 1 && op->dims <= 3 ? op->dims : 2] += flops;
        grouped += op->batches > 1 ? flops : 0;
    }
    if (by_dims[1] > MOST * all)
        return "signal";
    if (by_dims[3] > MOST * all)
        return "volume";
    return grouped > DEPTHWISE * all ? "depthwise" : "conv";
}

const char *dn_network_kind (const struct dn_graph *graph)
{
    double flops[DN_N_OP_KINDS] = {0};
    double tables = 0;

    for (int i = 0; i < graph->n_ops; i++) {
        const struct dn_op *op = &graph->ops[i];

        flops[op->kind] += op->repeat * op->flops;
        if (op->kind == DN_OP_EMBEDDING)
            tables += op->repeat * (op->params + op->frozen_params);
    }
    if (flops[DN_OP_RNN] > RECURRENT * graph->flops)
        return "recurrent";
    if (flops[DN_OP_CONV] > MOST * graph->flops)
        return kind_of_conv (graph, flops[DN_OP_CONV]);
    if (tables > MOST * (graph->params + graph->frozen_params))
        return "tables";
    return flops[DN_OP_MATMUL] + flops[DN_OP_ATTENTION] > 0 ? "attention" : "other";
}

static const char *name_in (const char *key, int value)
{
    return dn_names_get (&dn_spec_key (dn_span_of (key))->names, value);
}

void dn_stack_name (const struct dn_spec *spec, char name[DN_NAME_MAX])
{
    struct dn_buf buf = dn_buf_on (name, DN_NAME_MAX);

    dn_buf_add (&buf,
                "%s",
                spec->framework == DN_FRAMEWORK_UNKNOWN
                    ? DN_STACK_UNSTATED
                    : name_in ("framework", (int) spec->framework));
    if (spec->stack != DN_STACK_UNKNOWN && spec->stack != DN_STACK_PLAIN)
        dn_buf_add (&buf, "+%s", name_in ("stack", (int) spec->stack));
    if (spec->compile == 1)
        dn_buf_add (&buf, "+compile");
}
