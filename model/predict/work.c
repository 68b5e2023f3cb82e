/* work.c - the device's work for one operator
 *
 * A roofline per kernel,
 *     t = flops / (peak * e) * padding^q + bytes / (bandwidth * e_m) + kernel_s.
 * The sum of compute and memory time was never worse than their maximum on measured
 * kernels and steps. Forward, data gradient and weight gradient are separate
 * kernels.
 *
 * A layer of libraries such as cuDNN multiplies the inputs of all steps at once, which
 * is a product like others. What a step adds is a product with the state of the step
 * before, in a kernel that starts when that step has ended, and whose tiles are too few
 * to hide how long a tile takes to pass its features. The weights' gradient is one
 * product again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/work.h"

#include <math.h>

/* PyTorch 1.12 has the kernels for small layers (pull request 62143): one block keeps
 * the weights of all steps. LSTMs of 32 to 128 features gain, from 152 on they lose.
 */
#define FIRST_SMALL      112
#define SMALL_HIDDEN_MAX 128

static double hidden_of (const struct dn_op *op)
{
    return op->out / (op->m * op->batches);
}

/* Do the steps of the operator wait for one another on the device? */
static bool has_steps (const struct dn_op *op)
{
    return op->steps > 1 && op->calls <= 1;
}

/* device NULL: any. */
static bool could_be_small (const struct dn_spec *spec,
                            const struct dn_device *device,
                            const struct dn_op *op)
{
    return (dn_habits_of (spec) & DN_HABIT_TORCH) != 0 && op->kind == DN_OP_RNN
           && hidden_of (op) <= SMALL_HIDDEN_MAX
           && (!device || device->generation->small_recurrent);
}

bool dn_recurrent_reads_torch (const struct dn_case *c)
{
    for (int i = 0; i < c->graph->n_ops; i++) {
        const struct dn_op *op = &c->graph->ops[i];

        if (has_steps (op) && could_be_small (c->spec, c->device, op))
            return true;
    }
    return false;
}

static bool is_small (const struct dn_setup *c, const struct dn_op *op)
{
    int version = dn_spec_torch (c->spec);

    return could_be_small (c->spec, c->device, op)
           && (version < 0 || version >= FIRST_SMALL);
}

/* Seconds in one pass of the layer, or of another operator whose steps wait for one
 * another; 0 if none do, or if the host launches them one by one. 'backward': of the
 * activation's gradient.
 */
static double recurrent_wait (const struct dn_setup *c,
                              const struct dn_op *op,
                              bool backward)
{
    const struct dn_constants *k = c->constants;
    double step = c->device->measured.recurrence_s;
    double factor = backward ? k->recurrence_backward : 1;

    if (!has_steps (op))
        return 0;
    if (step <= 0)
        step = k->recurrence_s;
    if (op->kind != DN_OP_RNN)
        return op->steps * step;
    if (is_small (c, op))
        return op->steps * k->recurrence_small_s * factor;
    return op->steps
           * (step * factor
              + k->recurrence_feature_s * (backward ? op->n : hidden_of (op)));
}

bool dn_is_fused (const struct dn_setup *c)
{
    return c->spec->compile == 1 || dn_has_habit (c, DN_HABIT_FUSED);
}

/* Lower the data-sheet rates to what exists in practice. Measured rates have this in
 * them.
 */
static void apply_shares (const struct dn_setup *c, struct dn_rates *r)
{
    double compute = c->device->generation->compute_share;
    double memory = c->device->generation->memory_share;

    if (dn_device_rate (c->device, DN_RATE_LINEAR, c->precision) <= 0) {
        r->linear *= compute;
        r->batched *= compute;
        r->recurrent *= compute;
    }
    if (dn_device_rate (c->device, DN_RATE_CONV, c->precision) <= 0)
        r->conv *= compute;
    r->grouped *= compute;
    if (c->device->measured.stream <= 0) {
        r->memory *= memory;
        r->light *= memory;
    }
}

/* A rate measured on the site's devices replaces the data sheet. An efficiency was
 * fitted on devices whose long kernels reach the share 'seen' of theirs. The lower rate
 * of short kernels is left to the padding and the minimum time of a kernel: with a
 * measured half-way point in addition, predictions got worse.
 */
static void take_rate (const struct dn_setup *c,
                       enum dn_rate_class class,
                       enum dn_precision precision,
                       double seen,
                       double *rate)
{
    double measured = dn_device_rate (c->device, class, precision);
    bool matrix;

    if (measured > 0)
        *rate *= measured / (seen * dn_device_peak (c->device, precision, &matrix));
}

/* The precision of operators that are not linear layers. */
static enum dn_precision rest_precision (const struct dn_setup *c)
{
    return c->traits->rest != DN_PRECISION_UNKNOWN ? c->traits->rest : c->precision;
}

static void take_measured (const struct dn_setup *c, struct dn_rates *r)
{
    const struct dn_constants *k = c->constants;
    double linear = r->tensor ? k->seen_linear_tensor : k->seen_linear_fp32;
    double conv = r->tensor ? k->seen_conv_tensor : k->seen_conv_fp32;
    enum dn_precision rest = rest_precision (c);

    take_rate (c, DN_RATE_LINEAR, rest, linear, &r->recurrent);
    take_rate (c, DN_RATE_LINEAR, c->precision, linear, &r->linear);
    take_rate (c, DN_RATE_LINEAR, rest, linear, &r->batched);
    take_rate (c, DN_RATE_CONV, rest, conv, &r->conv);
}

/* Rates of attention in one kernel. On ordinary units products take nearly all of its
 * time, and it runs at their rate.
 */
static void set_attention_rates (const struct dn_setup *c,
                                 struct dn_rates *r,
                                 double peak)
{
    const struct dn_constants *k = c->constants;
    double factor = c->device->generation->attention_behind ? k->flash_hopper : 1;
    double found = peak * factor;

    if (!r->tensor) {
        r->flash = r->fused = (struct dn_attention_rates){r->linear, r->linear};
        return;
    }
    take_rate (c, DN_RATE_LINEAR, rest_precision (c), k->seen_linear_tensor, &found);
    r->flash = (struct dn_attention_rates){found * k->flash_forward,
                                           found * k->flash_backward};
    r->fused = (struct dn_attention_rates){found * k->fused_forward,
                                           found * k->fused_backward};
}

double dn_bandwidth (const struct dn_setup *c)
{
    return c->device->measured.stream > 0
               ? c->device->measured.stream / c->constants->seen_stream
               : c->device->bandwidth;
}

/* A device whose compiler puts the whole step into one program. "All kernels are
 * offloaded before execution, so this overhead is negligible" (Xie et al., USENIX ATC
 * 2024, 4.3.2). What was measured on it needs no efficiency of GPUs, whose kernels wait
 * for their memory: the roofline of these devices has a second level, on the chip (5.2
 * there). Their convolutions are products as well.
 */
static void compile_step (const struct dn_setup *c, struct dn_rates *r)
{
    double linear = dn_device_rate (c->device, DN_RATE_LINEAR, c->precision);
    double conv = dn_device_rate (c->device, DN_RATE_CONV, rest_precision (c));

    r->launch_s = 0;
    r->kernel_s = 0;
    if (linear > 0)
        r->linear = r->batched = r->conv = linear;
    if (conv > 0)
        r->conv = conv;
}

void dn_rates_init (struct dn_rates *r, const struct dn_setup *c)
{
    const struct dn_constants *k = c->constants;
    const struct dn_device *device = c->device;
    double peak;
    double rest;

    *r = (struct dn_rates){.bytes = c->traits->activation,
                           .launch_s = k->launch_s * c->stack.launch,
                           .kernel_s = k->kernel_s,
                           .chip_bytes = device->chip_bw > 0 ? device->l2 : 0,
                           .chip = device->chip_bw,
                           .slowdown =
                               dn_power_slowdown (k, device, c->spec->power_limit)};
    rest = dn_device_peak (device, rest_precision (c), &r->tensor);
    peak = dn_device_peak (device, c->precision, &r->tensor);
    r->cast = c->traits->linear;
    if (r->tensor) {
        double factor = c->stack.tensor * (c->traits->rounds ? k->eff_tf32 : 1);

        r->linear = peak * k->eff_linear_tensor * factor;
        r->batched = rest * k->eff_linear_tensor * factor;
        r->conv = rest * k->eff_conv_tensor * factor;
    } else {
        r->linear = peak * k->eff_linear_fp32;
        r->batched = rest * k->eff_linear_fp32;
        r->conv = rest * k->eff_conv_fp32;
    }
    /* The same library in all stacks, at the rate of its long products. */
    r->recurrent = rest * (r->tensor ? k->seen_linear_tensor : k->seen_linear_fp32);
    r->tile = r->tensor ? 128 : 64;
    r->grouped = device->fp32 * k->eff_grouped * c->stack.grouped;
    if (r->bytes < 4 && r->tensor)
        r->grouped *= 2;
    /* Without fast units for them 16-bit numbers are converted to fp32 and back. */
    if (!r->tensor && peak <= device->fp32)
        r->bytes = 4;
    r->unpack = dn_bandwidth (c) * k->unpack;
    r->copy = dn_bandwidth (c) * k->optimizer_memory;
    r->memory = dn_bandwidth (c) * k->eff_memory * c->stack.memory;
    r->light = dn_bandwidth (c) * k->eff_light * c->stack.memory;
    apply_shares (c, r);
    r->light_launches = 1;
    if (dn_is_fused (c)) {
        r->light /= k->fused_bytes;
        r->light_launches = k->fused_launch;
    }
    if (dn_has_habit (c, DN_HABIT_CAPTURES) || c->graph->whole_step) {
        r->launch_s = fmin (r->launch_s, k->captured_s);
        r->kernel_s = fmin (r->kernel_s, k->captured_s);
    }
    take_measured (c, r);
    if (device->compiled)
        compile_step (c, r);
    r->direct = r->tensor ? r->conv : r->linear;
    if (device->sustained > 0)
        r->slowdown /= device->sustained;
    set_attention_rates (c, r, rest);
}

/* A loss is not fused. */
void dn_rates_of_loss (struct dn_rates *loss,
                       const struct dn_setup *c,
                       const struct dn_rates *r)
{
    *loss = *r;
    if (dn_is_fused (c))
        loss->light *= c->constants->fused_bytes;
    loss->light_launches =
        dn_habit_number (c->constants, c->spec, c->stack.tuned, DN_HABIT_LOSS_LAUNCHES);
}

/* Padded over useful outputs of a tiled product, at least 1. */
static double padding (double rows, double columns, double tile)
{
    return ceil (rows / tile) * tile * ceil (columns / tile) * tile / (rows * columns);
}

static double seconds (const struct dn_work *work)
{
    return work->compute_s + work->memory_s + work->wait_s;
}

/* Work is written in place, never copied: a decision computes some thousands, and a
 * structure of five numbers that was just written one by one is slow to copy.
 */
static void scale (struct dn_work *work, double factor)
{
    work->compute_s *= factor;
    work->memory_s *= factor;
    work->wait_s *= factor;
    work->flops *= factor;
    work->bytes *= factor;
}

static void set_traffic (struct dn_work *work,
                         const struct dn_rates *r,
                         double bytes,
                         double rate)
{
    if (r->chip > 0)
        rate = bytes <= r->chip_bytes ? r->chip : fmin (rate, r->chip);
    work->memory_s = bytes / rate;
    work->bytes = bytes;
}

/* Samples of an operator in one pass. Where devices share the experts, an expert gets
 * the tokens of all of them.
 */
static double samples (const struct dn_setup *c, const struct dn_op *op)
{
    return op->expert ? c->computed * c->experts : c->computed;
}

/* Are a convolution's activations brought into the order that its kernels need, and
 * back? Matrix units need channels last, which PyTorch never has for sequences, and for
 * images only where they are stored so. An order of images that is not stated is taken
 * as right: the efficiencies were fitted with rows that do not state it. TensorFlow's
 * volumes are channels last, and its kernels for them need channels first. Grouped
 * convolutions have kernels for both orders.
 */
static bool is_moved (const struct dn_setup *c,
                      const struct dn_rates *r,
                      const struct dn_op *op)
{
    switch (op->dims) {
    case 1:
        return op->batches == 1 && r->tensor
               && !dn_has_habit (c, DN_HABIT_CHANNELS_FIRST);
    case 2:
        return op->batches == 1 && r->tensor && c->spec->layout == DN_LAYOUT_NCHW;
    case 3:
        return dn_has_habit (c, DN_HABIT_CHANNELS_FIRST);
    default:
        return false;
    }
}

/* Its activations are read and written once more each. */
static void add_relayout (struct dn_work *work,
                          const struct dn_setup *c,
                          const struct dn_rates *r,
                          const struct dn_op *op)
{
    double bytes = 2 * (op->in + op->out) * samples (c, op) * r->bytes;

    if (op->kind != DN_OP_CONV || !is_moved (c, r, op))
        return;
    work->bytes += bytes;
    work->memory_s += bytes / r->copy;
}

static double rate_of (const struct dn_rates *r, const struct dn_op *op)
{
    switch (op->kind) {
    case DN_OP_CONV:
        return op->direct ? r->direct : r->conv;
    case DN_OP_MATMUL:
        return r->batched;
    case DN_OP_RNN:
        return r->recurrent;
    default:
        return r->linear;
    }
}

/* One matrix product or convolution, moving 'elements'. Grouped convolutions are not
 * tiled: the loaded data serve only the channels of a group, so their rate grows with
 * the number of these until it is that of other convolutions.
 */
static void set_product (struct dn_work *work,
                         const struct dn_setup *c,
                         const struct dn_rates *r,
                         const struct dn_op *op,
                         double rows,
                         double columns,
                         double elements)
{
    double rate = rate_of (r, op);
    double padded = padding (rows, columns, r->tile);

    set_traffic (work, r, elements * r->bytes, r->memory);
    add_relayout (work, c, r, op);
    work->flops = op->flops * samples (c, op);
    if (op->kind == DN_OP_CONV && op->batches > 1) {
        work->compute_s = work->flops / fmin (r->grouped * op->n, r->conv);
        return;
    }
    work->compute_s = work->flops / rate;
    if (padded > 1)
        work->compute_s *= pow (padded, c->constants->tile);
}

/* Elements that an operator without products reads and writes, forward and backward.
 * Batch normalisation reads twice and writes once forward; backward it reads gradient
 * and input twice and writes once.
 */
static void light_traffic (const struct dn_op *op, double *forward, double *backward)
{
    double size = fmax (op->in, op->out);

    *forward = 2 * size;
    *backward = 3 * size;
    switch (op->kind) {
    case DN_OP_NORM:
        *forward = 3 * size;
        *backward = 5 * size;
        break;
    case DN_OP_ELEMENTWISE:
        /* All inputs, and their gradients. A sum of two needs no inputs and hands its
         * gradient on, but where its inputs part, two gradients are added up. One over
         * neighbours in a graph gathers gradients as it gathered values.
         */
        *forward = op->in + op->out;
        *backward = (op->saved > 0 ? 2 : 1) * op->in + op->out;
        break;
    case DN_OP_POOL: /* backward also the largest elements' numbers */
        *forward = op->in + op->out;
        *backward = op->in + 2 * op->out;
        break;
    case DN_OP_COPY:
        *forward = *backward = op->in + op->out;
        break;
    case DN_OP_DROPOUT:
        *backward = 2 * size;
        break;
    case DN_OP_LOSS:
        /* the gradient is cleared first, then one element per token is set */
        *backward = 4 * size;
        break;
    default:
        break;
    }
}

/* Passes of 4 bytes that bring 16-bit elements to single precision and back. */
#define CAST_PASSES 3

/* An operator without products: casts to single precision and back where it needs it.
 */
static void light_work (const struct dn_setup *c,
                        const struct dn_rates *r,
                        const struct dn_op *op,
                        struct dn_work work[DN_N_DIRECTIONS])
{
    double element = op->single ? fmax (r->bytes, 4) : r->bytes;
    double casts =
        op->single && r->bytes < 4 ? CAST_PASSES * fmax (op->in, op->out) : 0;
    double forward;
    double backward;

    light_traffic (op, &forward, &backward);
    set_traffic (
        &work[DN_FORWARD], r, (forward + casts) * samples (c, op) * element, r->light);
    set_traffic (
        &work[DN_DATA], r, (backward + casts) * samples (c, op) * element, r->light);
    work[DN_FORWARD].wait_s = work[DN_DATA].wait_s = recurrent_wait (c, op, false);
}

/* Are the weights stored in 8 bits or fewer, and unpacked for every product? */
static bool is_quantised (const struct dn_op *op)
{
    return op->frozen_bytes > 0 && op->frozen_bytes < 1.5 * op->frozen_params;
}

static void add_unpacking (struct dn_work *work,
                           const struct dn_rates *r,
                           const struct dn_op *op)
{
    double bytes = op->frozen_bytes + op->frozen_params * r->bytes;

    work->bytes += bytes;
    work->memory_s += bytes / r->unpack;
}

/* Elements that the products of a linear layer in fp8 move, in activations' elements.
 * What they multiply is short, what they give is not. Before, it is read once and
 * written twice, plain and transposed: the input forward, together with the fp32 weight
 * in the first pass of a step, and the gradient backward (Transformer Engine).
 */
static double short_elements (const struct dn_setup *c,
                              const struct dn_rates *r,
                              const struct dn_op *op,
                              int direction)
{
    double in = op->in * samples (c, op);
    double out = op->out * samples (c, op);
    double part = r->cast / r->bytes;
    double cast = 1 + 2 * part;
    double cast_weight = 4 / r->bytes + 2 * part;

    switch (direction) {
    case DN_FORWARD:
        return (cast + part) * in + out
               + (part + cast_weight / (double) c->spec->grad_accum) * op->weights;
    case DN_DATA:
        return (cast + part) * out + in + part * op->weights;
    default:
        return part * (in + out) + op->weights;
    }
}

static double product_elements (const struct dn_setup *c,
                                const struct dn_rates *r,
                                const struct dn_op *op,
                                int direction)
{
    if (r->cast > 0 && op->kind == DN_OP_LINEAR)
        return short_elements (c, r, op, direction);
    return (op->in + op->out) * samples (c, op) + op->weights * op->calls;
}

/* Convolutions, linear and recurrent layers. Of frozen weights only biases may have a
 * gradient: a sum over the output's.
 */
static void find_layer (const struct dn_setup *c,
                        const struct dn_rates *r,
                        const struct dn_op *op,
                        bool data,
                        bool weight,
                        struct dn_work work[DN_N_DIRECTIONS])
{
    double rows = op->m * samples (c, op);

    set_product (&work[DN_FORWARD],
                 c,
                 r,
                 op,
                 rows,
                 op->n,
                 product_elements (c, r, op, DN_FORWARD));
    work[DN_FORWARD].wait_s = recurrent_wait (c, op, false);
    if (data)
        set_product (&work[DN_DATA],
                     c,
                     r,
                     op,
                     rows,
                     op->k,
                     product_elements (c, r, op, DN_DATA));
    if (weight && !dn_op_is_frozen (op))
        set_product (&work[DN_WEIGHT],
                     c,
                     r,
                     op,
                     op->k,
                     op->n,
                     product_elements (c, r, op, DN_WEIGHT));
    else if (weight && op->params > 0)
        set_traffic (
            &work[DN_WEIGHT], r, op->out * samples (c, op) * r->bytes, r->memory);
    if (op->steps > 1 && (data || weight))
        work[data ? DN_DATA : DN_WEIGHT].wait_s = recurrent_wait (c, op, true);
    if (!is_quantised (op))
        return;
    add_unpacking (&work[DN_FORWARD], r, op);
    if (data)
        add_unpacking (&work[DN_DATA], r, op);
}

/* The backward pass of attention over its forward pass: five products, not two. */
#define ATTENTION_BACKWARD 2.5

/* Attention in one kernel. Backward it reads query, key, value, output and the output's
 * gradient, and writes three gradients.
 */
static void set_attention (struct dn_work *work,
                           const struct dn_setup *c,
                           const struct dn_rates *r,
                           const struct dn_op *op,
                           bool backward)
{
    bool flash = dn_attention_way (c->spec, c->device, op) == DN_ATTENTION_FLASH
                 && !dn_attention_is_first (c->spec);
    const struct dn_attention_rates *rates = flash ? &r->flash : &r->fused;
    double elements = (op->in + op->out) * (backward ? 2 : 1) * samples (c, op);

    set_traffic (work, r, elements * r->bytes, r->memory);
    work->flops = op->flops * samples (c, op) * (backward ? ATTENTION_BACKWARD : 1);
    work->compute_s = work->flops / (backward ? rates->backward : rates->forward);
}

/* Memory is read and written in pieces of so many bytes. */
#define SECTOR 32.0

/* Rows of a table that are gathered and, if a sample has several, summed up; backward
 * they are scattered, into a dense gradient or row by row.
 */
static void find_lookup (const struct dn_setup *c,
                         const struct dn_rates *r,
                         const struct dn_op *op,
                         bool weight,
                         struct dn_work work[DN_N_DIRECTIONS])
{
    double out = op->out * samples (c, op);
    double features = op->in > 0 ? op->weights / op->in : op->weights;
    double row = features * r->bytes;
    double padded = row > 0 ? ceil (row / SECTOR) * SECTOR / row : 1;
    double bytes = (op->weights * samples (c, op) * padded + out) * r->bytes;

    set_traffic (&work[DN_FORWARD], r, bytes, r->memory);
    if (weight)
        set_traffic (&work[DN_WEIGHT],
                     r,
                     bytes + (dn_is_sparse (op) ? 0 : op->params * 4),
                     r->memory);
}

/* Find the work of one pass of one operator on the device, by direction. 'work' is zero
 * at first, and remains so in a direction that the operator does not have.
 */
static void find_work (const struct dn_setup *c,
                       const struct dn_rates *r,
                       const struct dn_op *op,
                       struct dn_work work[DN_N_DIRECTIONS])
{
    double in = op->in * samples (c, op);
    double out = op->out * samples (c, op);
    bool forward_only = op->frozen || c->graph->whole_step;
    bool data = !forward_only && !op->first;
    bool weight = !forward_only && !dn_op_is_frozen (op);

    switch (op->kind) {
    case DN_OP_CONV:
    case DN_OP_LINEAR:
    case DN_OP_RNN:
        find_layer (c, r, op, data, !forward_only, work);
        break;
    case DN_OP_MATMUL: /* two gradients of the same size, both of activations */
        set_product (&work[DN_FORWARD], c, r, op, op->m, op->n, in + out);
        if (!forward_only) {
            set_product (&work[DN_DATA], c, r, op, op->m, op->k, in + out);
            scale (&work[DN_DATA], 2);
        }
        break;
    case DN_OP_ATTENTION:
        set_attention (&work[DN_FORWARD], c, r, op, false);
        if (!forward_only)
            set_attention (&work[DN_DATA], c, r, op, true);
        break;
    case DN_OP_EMBEDDING:
        find_lookup (c, r, op, weight, work);
        break;
    default:
        light_work (c, r, op, work);
        if (forward_only)
            work[DN_DATA] = (struct dn_work){0};
        break;
    }
}

/* The devices that share an operator. Tensor parallelism splits products and the
 * operators between them, by heads those on the scores of attention; norms, residuals
 * and their dropout are done by every device in full, or are split by sequence
 * parallelism. An expert is on c->experts of the devices that share them all.
 */
static double split_of (const struct dn_setup *c, const struct dn_op *op)
{
    double split = op->expert ? c->experts : 1;

    switch (op->kind) {
    case DN_OP_EMBEDDING:
        return split;
    case DN_OP_NORM:
    case DN_OP_ELEMENTWISE:
    case DN_OP_DROPOUT:
        return split
               * (dn_is_attention_core (c, op) ? (double) c->spec->tp : c->norm_split);
    default:
        return split * (double) c->spec->tp;
    }
}

static double launches_of (const struct dn_rates *r,
                           const struct dn_op *op,
                           int direction)
{
    switch (op->kind) {
    case DN_OP_MATMUL:
        return direction == DN_DATA ? 2 : 1;
    case DN_OP_LINEAR: /* casts of input and weight, of the gradient; unpacking */
        return 1
               + (r->cast > 0 ? (direction == DN_FORWARD) + (direction != DN_WEIGHT)
                              : 0)
               + (is_quantised (op) && direction != DN_WEIGHT ? 1 : 0);
    case DN_OP_CONV:
    case DN_OP_RNN:
    case DN_OP_EMBEDDING:
        return 1;
    default:
        return r->light_launches;
    }
}

/* Does checkpointing compute it again where a backward pass needs it? */
static bool is_again (const struct dn_setup *c, const struct dn_op *op)
{
    switch (c->spec->checkpointing) {
    case DN_CHECKPOINTING_FULL:
        return op->block;
    case DN_CHECKPOINTING_SELECTIVE:
        return op->kind != DN_OP_ATTENTION && dn_is_attention_core (c, op);
    default:
        return false;
    }
}

void dn_turn_of (const struct dn_setup *c,
                 const struct dn_rates *r,
                 const struct dn_op *op,
                 struct dn_turn *turn)
{
    double share = op->repeat / split_of (c, op);
    double weight_share = op->flops > 0 ? 1 - c->graph->spared : 1;
    double kernels = op->repeat * dn_kernels_of (c, op);

    turn->block = op->block;
    turn->again = !op->frozen && is_again (c, op);
    turn->kernels = kernels;
    turn->ring = dn_ring_attention (c, op);
    for (int d = 0; d < DN_N_DIRECTIONS; d++)
        turn->work[d] = (struct dn_work){0};
    find_work (c, r, op, turn->work);
    for (int d = 0; d < DN_N_DIRECTIONS; d++) {
        bool any = seconds (&turn->work[d]) > 0;

        turn->launches[d] = any ? kernels * op->calls * launches_of (r, op, d) : 0;
        if (d == DN_FORWARD)
            turn->launches[d] += op->repeat * op->each * c->batch;
        scale (&turn->work[d], d == DN_WEIGHT ? share * weight_share : share);
        turn->time[d] = seconds (&turn->work[d]) + turn->launches[d] * r->kernel_s;
    }
}
