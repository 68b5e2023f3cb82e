/* step.c - wall time of one optimizer step
 *
 * A sum over operators of a roofline with launch: per kernel
 *     t = flops / (peak * e) * padding^q + bytes / (bandwidth * e_m) + launch.
 * The sum of compute and memory time was never worse than their maximum on measured
 * kernels and steps. Forward, data gradient and weight gradient are kernels of their
 * own. Then the optimizer, a fixed host time, the input pipeline (overlapped: the
 * 4-norm of both, a maximum without a kink), stragglers, and what of the gradient
 * all-reduce the backward pass does not hide. Stages that overlap are overlapped here
 * and nowhere else.
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
    double launch_s;
    double tile; /* side of an output tile */
    bool tensor; /* on matrix units */
};

static double matrix_peak (const struct dn_device *device, enum dn_precision precision)
{
    switch (precision) {
    case DN_PRECISION_TF32:
        return device->tf32;
    case DN_PRECISION_FP16:
    case DN_PRECISION_HALF:
        return device->fp16;
    case DN_PRECISION_BF16:
        return device->bf16;
    default:
        return 0;
    }
}

/* Devices before Volta have no matrix units: their fp16 is a rate of the ordinary ones.
 */
static bool has_matrix_units (const struct dn_device *device)
{
    return device->arch != DN_ARCH_KEPLER && device->arch != DN_ARCH_PASCAL;
}

static struct rates find_rates (const struct dn_case *c)
{
    const struct dn_constants *k = c->constants;
    const struct dn_device *device = c->device;
    bool ngc = c->spec->stack == DN_STACK_NGC;
    double peak = matrix_peak (device, c->precision);
    struct rates r = {.bytes = dn_activation_bytes (c->precision)};

    r.tensor = peak > 0 && has_matrix_units (device);
    if (peak <= 0)
        peak = device->fp32;
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
    r.launch_s = k->launch_s * (ngc ? k->ngc_launch : 1);
    return r;
}

/* Padded over useful outputs of a tiled product, at least 1. */
static double padding (double rows, double columns, double tile)
{
    return ceil (rows / tile) * tile * ceil (columns / tile) * tile / (rows * columns);
}

/* One matrix product or convolution of 'flops', moving 'elements'. */
static double product_time (const struct dn_case *c,
                            const struct rates *r,
                            const struct dn_op *op,
                            double rows,
                            double columns,
                            double elements)
{
    double flops = op->flops * c->batch;
    double rate = r->linear;

    if (op->kind == DN_OP_CONV)
        rate = op->batches > 1 ? r->grouped : r->conv;
    return flops / rate * pow (padding (rows, columns, r->tile), c->constants->tile)
           + elements * r->bytes / r->memory + r->launch_s
           + (op->steps > 1 ? op->steps * c->constants->recurrence_s : 0);
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

/* Seconds of one pass of one operator (times repeat): [0] forward, [1] gradient of the
 * activation, [2] gradient of the weights.
 */
static void op_time (const struct dn_case *c,
                     const struct rates *r,
                     const struct dn_op *op,
                     double time[3])
{
    double in = op->in * c->batch;
    double out = op->out * c->batch;
    double forward;
    double backward;

    time[1] = time[2] = 0;
    switch (op->kind) {
    case DN_OP_CONV:
    case DN_OP_LINEAR:
    case DN_OP_RNN:
        time[0] =
            product_time (c, r, op, op->m * c->batch, op->n, in + out + op->weights);
        if (!op->first)
            time[1] = product_time (
                c, r, op, op->m * c->batch, op->k, in + out + op->weights);
        time[2] = product_time (c, r, op, op->k, op->n, in + out + op->weights);
        break;
    case DN_OP_MATMUL: /* both operands are activations: two gradients of the same size
                        */
        time[0] = product_time (c, r, op, op->m, op->n, in + out);
        time[1] = 2 * product_time (c, r, op, op->m, op->k, in + out);
        break;
    case DN_OP_EMBEDDING: /* gather; scatter, into a dense gradient or row by row */
        time[0] = 2 * out * r->bytes / r->memory + r->launch_s;
        time[2] = 2 * out * r->bytes / r->memory + r->launch_s;
        if (!dn_is_sparse (op))
            time[2] += op->params * 4 / r->memory;
        break;
    default:
        light_passes (op->kind, &forward, &backward);
        forward *= fmax (in, out) * r->bytes / r->memory;
        backward *= fmax (in, out) * r->bytes / r->memory;
        time[0] = forward + r->launch_s;
        time[1] = backward + r->launch_s;
        break;
    }
    for (int i = 0; i < 3; i++)
        time[i] *= op->repeat;
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

static double optimizer_time (const struct dn_case *c)
{
    const double reached = 0.8; /* of the bandwidth, by long element-wise kernels */
    double per_device = c->dense_params / c->model_parallel;

    if (c->spec->parallel >= DN_PARALLEL_ZERO1)
        per_device /= c->replicas;
    return per_device * 4 * optimizer_passes (c->spec->optimizer)
           / (reached * c->device->bandwidth) * c->constants->optimizer;
}

/* Ring all-reduce of the gradients: 2 (n-1)/n of their bytes over the slowest link. */
static double communication_time (const struct dn_case *c)
{
    const struct dn_constants *k = c->constants;
    double n = c->replicas;
    double bytes =
        c->dense_params / c->model_parallel * dn_activation_bytes (c->precision);
    double rate = c->device->link == DN_LINK_NVLINK && c->spec->link != DN_LINK_PCIE
                      ? c->device->link_bw * k->nvlink_eff
                      : c->device->pcie_bw * k->pcie_eff;

    if (n <= 1)
        return 0;
    if (c->spec->nodes > 1)
        rate = fmin (rate, k->node_bw);
    rate *= bytes / (bytes + k->link_half);
    return 2 * (n - 1) / n * bytes / rate;
}

static double norm4 (double a, double b)
{
    return sqrt (sqrt (a * a * a * a + b * b * b * b));
}

void dn_predict_step (const struct dn_case *c, struct dn_estimate *estimate)
{
    const struct dn_constants *k = c->constants;
    struct rates r = find_rates (c);
    double passes = (double) c->spec->grad_accum;
    double *stage = estimate->stage_s;
    double compute;
    double bubble;

    for (int i = 0; i < c->graph->n_ops; i++) {
        double time[3];

        op_time (c, &r, &c->graph->ops[i], time);
        stage[DN_STAGE_FORWARD] += time[0];
        stage[DN_STAGE_BACKWARD_DATA] += time[1];
        stage[DN_STAGE_BACKWARD_WEIGHT] += time[2];
    }
    /* A pipeline of p stages works m + p - 1 turns for m micro-batches. */
    bubble = (passes + (double) c->spec->pp - 1) / passes;
    for (int i = DN_STAGE_FORWARD; i <= DN_STAGE_BACKWARD_WEIGHT; i++)
        stage[i] *= passes * bubble / c->model_parallel;
    if (c->spec->checkpointing == DN_CHECKPOINTING_FULL)
        stage[DN_STAGE_RECOMPUTE] = stage[DN_STAGE_FORWARD];
    stage[DN_STAGE_OPTIMIZER] = optimizer_time (c);
    stage[DN_STAGE_HOST] =
        k->step_s * (c->spec->stack == DN_STACK_NGC ? k->ngc_step : 1);
    stage[DN_STAGE_COMMUNICATION] = communication_time (c);

    compute = stage[DN_STAGE_FORWARD] + stage[DN_STAGE_BACKWARD_DATA]
              + stage[DN_STAGE_BACKWARD_WEIGHT] + stage[DN_STAGE_RECOMPUTE]
              + stage[DN_STAGE_OPTIMIZER] + stage[DN_STAGE_HOST];
    stage[DN_STAGE_INPUT] = dn_predict_input (c, compute, estimate);
    stage[DN_STAGE_EXPOSED] =
        fmax (stage[DN_STAGE_COMMUNICATION] - k->overlap * compute,
              k->exposed * stage[DN_STAGE_COMMUNICATION]);
    estimate->step_s.p50 = norm4 (compute, stage[DN_STAGE_INPUT])
                               * (1 + k->straggler * log2 ((double) c->spec->gpus))
                           + stage[DN_STAGE_EXPOSED];
}
