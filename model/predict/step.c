/* step.c - wall time of one optimizer step
 *
 * A sum over operators of a roofline: per kernel
 *     t = flops / (peak * e) * padding^q + bytes / (bandwidth * e_m) + kernel_s.
 * The sum of compute and memory time was never worse than their maximum on measured
 * kernels and steps. Forward, data gradient and weight gradient are kernels of their
 * own. The host launches them meanwhile, launch_s each; the step takes the norm of
 * both, a maximum without a kink. Then a fixed host time, the input pipeline
 * (overlapped in the same way), stragglers, and what of the gradient all-reduce the
 * backward pass does not hide. Stages that overlap are overlapped here and nowhere
 * else.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/stages.h"

#include <math.h>

/* Rates of one precision on one device, with the stack's factors in. */
struct rates {
    double bytes;   /* of an activation element */
    double linear;  /* FLOP/s that matrix products reach */
    double conv;    /* FLOP/s that convolutions reach */
    double grouped; /* FLOP/s that grouped convolutions reach */
    double memory;  /* byte/s */
    double light;   /* byte/s of operators without products */
    double light_launches;
    double launch_s;
    double tile; /* side of an output tile */
    bool tensor; /* on matrix units */
};

/* Code that was tuned for the device: the vendor's container, or Megatron-LM, which
 * comes from the same house.
 */
static bool is_tuned (const struct dn_spec *spec)
{
    return spec->stack == DN_STACK_NGC || spec->framework == DN_FRAMEWORK_MEGATRON;
}

/* Do neighbouring element-wise operators share kernels? */
static bool is_fused (const struct dn_spec *spec)
{
    return spec->compile == 1 || spec->framework == DN_FRAMEWORK_MEGATRON;
}

static struct rates find_rates (const struct dn_case *c)
{
    const struct dn_constants *k = c->constants;
    const struct dn_device *device = c->device;
    bool ngc = is_tuned (c->spec);
    struct rates r = {.bytes = dn_activation_bytes (c->precision)};
    double peak = dn_device_peak (device, c->precision, &r.tensor);

    if (r.tensor) {
        double factor = (ngc ? k->ngc_tensor : 1)
                        * (c->precision == DN_PRECISION_TF32 ? k->eff_tf32 : 1);

        r.linear = peak * k->eff_linear_tensor * factor;
        r.conv = peak * k->eff_conv_tensor * factor;
    } else {
        r.linear = peak * k->eff_linear_fp32;
        r.conv = peak * k->eff_conv_fp32;
    }
    r.tile = r.tensor ? 128 : 64;
    r.grouped = device->fp32 * k->eff_grouped * (ngc ? k->ngc_grouped : 1);
    r.memory = device->bandwidth * k->eff_memory * (ngc ? k->ngc_memory : 1);
    r.light = device->bandwidth * k->eff_light * (ngc ? k->ngc_memory : 1);
    r.light_launches = 1;
    if (is_fused (c->spec)) {
        r.light /= k->fused_bytes;
        r.light_launches = k->fused_launch;
    }
    r.launch_s = k->launch_s * (ngc ? k->ngc_launch : 1);
    return r;
}

/* Padded over useful outputs of a tiled product, at least 1. */
static double padding (double rows, double columns, double tile)
{
    return ceil (rows / tile) * tile * ceil (columns / tile) * tile / (rows * columns);
}

/* One matrix product or convolution, moving 'elements'. Grouped convolutions are not
 * tiled over their few channels.
 */
static double product_time (const struct dn_case *c,
                            const struct rates *r,
                            const struct dn_op *op,
                            double rows,
                            double columns,
                            double elements)
{
    double flops = op->flops * c->batch;
    double bytes_s = elements * r->bytes / r->memory;
    double rate = op->kind == DN_OP_CONV ? r->conv : r->linear;

    if (op->kind == DN_OP_CONV && op->batches > 1)
        return flops / r->grouped + bytes_s;
    return flops / rate * pow (padding (rows, columns, r->tile), c->constants->tile)
           + bytes_s + (op->steps > 1 ? op->steps * c->constants->recurrence_s : 0);
}

/* Passes over the activation that an operator without products makes, forward and
 * backward, counted in elements of its input. Batch normalisation reads twice and
 * writes once forward; backward it reads gradient and input twice and writes once.
 */
static void light_passes (enum dn_op_kind kind, double *forward, double *backward)
{
    *forward = 2;
    *backward = 3;
    switch (kind) {
    case DN_OP_NORM:
        *forward = 3;
        *backward = 5;
        break;
    case DN_OP_ELEMENTWISE:
        *forward = 3;
        *backward = 2;
        break;
    case DN_OP_COPY:
    case DN_OP_DROPOUT:
        *backward = 2;
        break;
    default:
        break;
    }
}

/* The three directions of an operator: forward, gradient of the activation, gradient of
 * the weights.
 */
enum {
    FORWARD,
    DATA,
    WEIGHT,
    N_DIRECTIONS
};

/* Seconds of work on the device of one pass of one operator, by direction; 0 for a
 * direction that it does not have.
 */
static void work_time (const struct dn_case *c,
                       const struct rates *r,
                       const struct dn_op *op,
                       double time[N_DIRECTIONS])
{
    double in = op->in * c->batch;
    double out = op->out * c->batch;
    double all = in + out + op->weights;
    double rows = op->m * c->batch;
    double forward;
    double backward;

    time[DATA] = time[WEIGHT] = 0;
    switch (op->kind) {
    case DN_OP_CONV:
    case DN_OP_LINEAR:
    case DN_OP_RNN:
        time[FORWARD] = product_time (c, r, op, rows, op->n, all);
        time[DATA] = op->first ? 0 : product_time (c, r, op, rows, op->k, all);
        time[WEIGHT] = product_time (c, r, op, op->k, op->n, all);
        break;
    case DN_OP_MATMUL: /* two gradients of the same size, of activations both */
        time[FORWARD] = product_time (c, r, op, op->m, op->n, in + out);
        time[DATA] = 2 * product_time (c, r, op, op->m, op->k, in + out);
        break;
    case DN_OP_EMBEDDING: /* gather; scatter, into a dense gradient or row by row */
        time[FORWARD] = 2 * out * r->bytes / r->memory;
        time[WEIGHT] = time[FORWARD];
        if (!dn_is_sparse (op))
            time[WEIGHT] += op->params * 4 / r->memory;
        break;
    default:
        light_passes (op->kind, &forward, &backward);
        time[FORWARD] = forward * fmax (in, out) * r->bytes / r->light;
        time[DATA] = backward * fmax (in, out) * r->bytes / r->light;
        break;
    }
}

/* Tensor parallelism splits products and what stands between them; norms, residuals and
 * their dropout are done by every device in full (Megatron-LM without sequence
 * parallelism).
 */
static bool is_split (enum dn_op_kind kind)
{
    return kind != DN_OP_NORM && kind != DN_OP_ELEMENTWISE && kind != DN_OP_DROPOUT
           && kind != DN_OP_EMBEDDING;
}

static double launches_of (const struct rates *r, const struct dn_op *op, int direction)
{
    switch (op->kind) {
    case DN_OP_MATMUL:
        return direction == DATA ? 2 : 1;
    case DN_OP_CONV:
    case DN_OP_LINEAR:
    case DN_OP_RNN:
    case DN_OP_EMBEDDING:
        return 1;
    default:
        return r->light_launches;
    }
}

/* Seconds of one pass of one micro-batch over the whole network, by direction. Blocks
 * are spread over the stages of a pipeline, the rest (head, embedding) stays on one.
 */
struct pass {
    double blocks[N_DIRECTIONS];
    double rest[N_DIRECTIONS];
    double block_launches[N_DIRECTIONS];
    double rest_launches[N_DIRECTIONS];
};

static struct pass pass_time (const struct dn_case *c, const struct rates *r)
{
    struct pass pass = {{0}, {0}, {0}, {0}};
    double layers = (double) c->graph->block_layers;

    for (int i = 0; i < c->graph->n_ops; i++) {
        const struct dn_op *op = &c->graph->ops[i];
        double split = is_split (op->kind) ? (double) c->spec->tp : 1;
        bool block = layers > 1 && op->repeat >= layers;
        double time[N_DIRECTIONS];

        work_time (c, r, op, time);
        if (c->graph->whole_step)
            time[DATA] = time[WEIGHT] = 0;
        for (int d = 0; d < N_DIRECTIONS; d++) {
            double launches = time[d] > 0 ? op->repeat * launches_of (r, op, d) : 0;

            time[d] = op->repeat * time[d] / split + launches * c->constants->kernel_s;
            (block ? pass.blocks : pass.rest)[d] += time[d];
            (block ? pass.block_launches : pass.rest_launches)[d] += launches;
        }
    }
    return pass;
}

/* Seconds of all passes of one optimizer step when one takes 'blocks' in the pipeline's
 * blocks and 'rest' besides: p stages work m micro-batches; the slowest stage sets the
 * pace, and filling the pipe takes one pass through all stages.
 */
static double pipeline (const struct dn_case *c, double blocks, double rest)
{
    double turns = (double) c->spec->grad_accum - 1;

    return turns * (blocks / (double) c->spec->pp + rest) + blocks + rest;
}

/* Elements of parameter-sized arrays that an optimizer reads and writes per parameter.
 */
static double optimizer_passes (enum dn_optimizer optimizer)
{
    switch (optimizer) {
    case DN_OPTIMIZER_NONE:
        return 0;
    case DN_OPTIMIZER_SGD:
        return 3;
    case DN_OPTIMIZER_ADAM:
    case DN_OPTIMIZER_ADAMW:
    case DN_OPTIMIZER_ADADELTA:
        return 7;
    case DN_OPTIMIZER_LAMB:
    case DN_OPTIMIZER_NOVOGRAD:
        return 12;
    default: /* one state: momentum, LARS, Adagrad, RMSprop; also when not stated */
        return 5;
    }
}

static double optimizer_launches (const struct dn_case *c)
{
    return c->spec->optimizer == DN_OPTIMIZER_NONE || c->graph->whole_step
               ? 0
               : c->constants->optimizer_launches;
}

static double optimizer_time (const struct dn_case *c)
{
    const double reached = 0.8; /* of the bandwidth, by long element-wise kernels */
    double per_device = c->dense_params / c->model_parallel;

    if (c->graph->whole_step)
        return 0;
    if (c->spec->parallel >= DN_PARALLEL_ZERO1)
        per_device /= c->replicas;
    return per_device * 4 * optimizer_passes (c->spec->optimizer)
           / (reached * c->device->bandwidth) * c->constants->optimizer;
}

/* Two things that run side by side: their maximum, without a kink. */
static double norm (double a, double b, double p)
{
    return pow (pow (a, p) + pow (b, p), 1 / p);
}

/* Host seconds of one optimizer step: launching every kernel, and what does not depend
 * on the network.
 */
static double host_time (const struct dn_case *c,
                         const struct rates *r,
                         const struct pass *pass,
                         bool recompute)
{
    double blocks = 0;
    double rest = 0;
    double handing = 0;

    for (int d = 0; d < N_DIRECTIONS; d++) {
        double times = d == FORWARD && recompute ? 2 : 1;

        blocks += times * pass->block_launches[d];
        rest += pass->rest_launches[d];
    }
    if (c->spec->pp > 1)
        handing =
            (double) (c->spec->grad_accum + c->spec->pp - 1) * c->constants->pipeline_s;
    if (c->spec->tp > 1)
        handing +=
            pipeline (c, dn_split_calls (c, recompute), 0) * c->constants->split_s;
    return handing
           + (pipeline (c, blocks, rest)
              + c->graph->tensors / (double) c->spec->pp * optimizer_launches (c))
                 * r->launch_s;
}

void dn_predict_step (const struct dn_case *c, struct dn_estimate *estimate)
{
    const struct dn_constants *k = c->constants;
    struct rates r = find_rates (c);
    struct pass pass = pass_time (c, &r);
    double slowdown = dn_power_slowdown (k, c->device, c->spec->power_limit);
    bool recompute = c->spec->checkpointing == DN_CHECKPOINTING_FULL;
    double *stage = estimate->stage_s;
    double split_s = pipeline (c, dn_split_traffic (c, recompute), 0);
    double fixed = k->step_s * (is_tuned (c->spec) ? k->ngc_step : 1);
    double device = 0;
    double compute;

    stage[DN_STAGE_FORWARD] = pipeline (c, pass.blocks[FORWARD], pass.rest[FORWARD]);
    stage[DN_STAGE_BACKWARD_DATA] = pipeline (c, pass.blocks[DATA], pass.rest[DATA]);
    stage[DN_STAGE_BACKWARD_WEIGHT] =
        pipeline (c, pass.blocks[WEIGHT], pass.rest[WEIGHT]);
    if (recompute)
        stage[DN_STAGE_RECOMPUTE] = pipeline (c, pass.blocks[FORWARD], 0);
    stage[DN_STAGE_OPTIMIZER] = optimizer_time (c);
    for (int i = DN_STAGE_FORWARD; i <= DN_STAGE_OPTIMIZER; i++) {
        stage[i] *= slowdown;
        device += stage[i];
    }
    stage[DN_STAGE_HOST] = host_time (c, &r, &pass, recompute) + fixed;
    compute =
        norm (device + split_s, stage[DN_STAGE_HOST] - fixed, k->host_norm) + fixed;

    stage[DN_STAGE_COMMUNICATION] = dn_gradient_traffic (c);
    /* The gradients of the last pass are reduced while it still runs. */
    stage[DN_STAGE_EXPOSED] =
        fmax (stage[DN_STAGE_COMMUNICATION]
                  - k->overlap * compute / (double) c->spec->grad_accum,
              k->exposed * stage[DN_STAGE_COMMUNICATION]);
    stage[DN_STAGE_INPUT] = dn_predict_input (c, compute, estimate);
    estimate->step_s.p50 = norm (compute, stage[DN_STAGE_INPUT], 4)
                               * (1 + k->straggler * log2 (c->replicas))
                           + stage[DN_STAGE_EXPOSED];
    stage[DN_STAGE_COMMUNICATION] += split_s;
    stage[DN_STAGE_EXPOSED] += split_s;
}
