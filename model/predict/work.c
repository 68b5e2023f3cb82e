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
 * another. 'backward': of the activation's gradient.
 */
static double recurrent_wait (const struct dn_setup *c,
                              const struct dn_op *op,
                              bool backward)
{
    const struct dn_constants *k = c->constants;
    double step = c->device->measured.recurrence_s;
    double factor = backward ? k->recurrence_backward : 1;

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
        r->flops[DN_BY_LINEAR] *= compute;
        r->flops[DN_BY_BATCHED] *= compute;
        r->flops[DN_BY_RECURRENT] *= compute;
    }
    if (dn_device_rate (c->device, DN_RATE_CONV, c->precision) <= 0)
        r->flops[DN_BY_CONV] *= compute;
    r->flops[DN_BY_GROUPED] *= compute;
    if (c->device->measured.stream <= 0) {
        r->route[DN_ROUTE_PRODUCT] *= memory;
        r->route[DN_ROUTE_LIGHT] *= memory;
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

    take_rate (c, DN_RATE_LINEAR, rest, linear, &r->flops[DN_BY_RECURRENT]);
    take_rate (c, DN_RATE_LINEAR, c->precision, linear, &r->flops[DN_BY_LINEAR]);
    take_rate (c, DN_RATE_LINEAR, rest, linear, &r->flops[DN_BY_BATCHED]);
    take_rate (c, DN_RATE_CONV, rest, conv, &r->flops[DN_BY_CONV]);
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

    if (r->tensor)
        take_rate (
            c, DN_RATE_LINEAR, rest_precision (c), k->seen_linear_tensor, &found);
    r->flops[DN_BY_FLASH] = found * k->flash_forward;
    r->flops[DN_BY_FLASH_BACKWARD] = found * k->flash_backward;
    r->flops[DN_BY_FUSED] = found * k->fused_forward;
    r->flops[DN_BY_FUSED_BACKWARD] = found * k->fused_backward;
    for (int i = DN_BY_FLASH; i <= DN_BY_FUSED_BACKWARD && !r->tensor; i++)
        r->flops[i] = r->flops[DN_BY_LINEAR];
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
        r->flops[DN_BY_LINEAR] = r->flops[DN_BY_BATCHED] = r->flops[DN_BY_CONV] =
            linear;
    if (conv > 0)
        r->flops[DN_BY_CONV] = conv;
}

/* The efficiencies are those of A100. Matrix units that multiply faster wait longer for
 * their operands, which all chips bring at about one rate per multiprocessor: the time
 * of a tile is 1 / peak + 1 / feed. Short numbers need fewer bytes. A share, 1 on A100.
 */
static double fed (const struct dn_setup *c, double peak, double bytes)
{
    const double a100 = 312e12 / 108;
    double feed = c->constants->tensor_feed;
    double each = c->device->sms > 0 ? peak / (double) c->device->sms : a100;

    return (1 + a100 / feed) / (1 + each * bytes / 2 / feed);
}

/* Of products; 'peak' of linear layers, 'rest' of other operators. */
static void set_product_rates (const struct dn_setup *c,
                               struct dn_rates *r,
                               double peak,
                               double rest)
{
    const struct dn_constants *k = c->constants;
    double factor = c->stack.tensor * (c->traits->rounds ? k->eff_tf32 : 1)
                    * (r->early ? k->tensor_early : 1);
    double linear = r->tensor ? k->eff_linear_tensor * factor : k->eff_linear_fp32;
    double conv = r->tensor ? k->eff_conv_tensor * factor : k->eff_conv_fp32;
    double short_fed = r->tensor ? fed (c, peak, r->cast > 0 ? r->cast : r->bytes) : 1;
    double rest_fed = r->tensor ? fed (c, rest, r->bytes) : 1;

    r->flops[DN_BY_LINEAR] = peak * linear * short_fed;
    r->flops[DN_BY_BATCHED] = rest * linear * rest_fed;
    r->flops[DN_BY_CONV] = rest * conv * rest_fed;
    r->flops[DN_BY_ODD] = 2 * c->device->fp32 * k->eff_linear_fp32;
    /* The same library in all stacks, at the rate of its long products. */
    r->flops[DN_BY_RECURRENT] =
        rest * (r->tensor ? k->eff_recurrent : k->seen_linear_fp32);
    r->flops[DN_BY_GROUPED] = c->device->fp32 * k->eff_grouped * c->stack.grouped;
    if (r->bytes < 4 && r->tensor)
        r->flops[DN_BY_GROUPED] *= 2;
}

static void set_memory_rates (const struct dn_setup *c, struct dn_rates *r)
{
    const struct dn_constants *k = c->constants;
    double bandwidth = dn_bandwidth (c);

    r->chip_bytes = c->device->chip_bw > 0 ? c->device->l2 : 0;
    r->unpack = bandwidth * k->unpack;
    r->copy = bandwidth * k->optimizer_memory;
    r->route[DN_ROUTE_PRODUCT] = bandwidth * k->eff_memory * c->stack.memory;
    r->route[DN_ROUTE_LIGHT] = bandwidth * k->eff_light * c->stack.memory;
    r->route[DN_ROUTE_CHIP] = c->device->chip_bw;
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
                           .cast = c->traits->linear,
                           .light_launches = 1,
                           .flops = {[DN_BY_NOTHING] = INFINITY},
                           .slowdown =
                               dn_power_slowdown (k, device, c->spec->power_limit)};
    rest = dn_device_peak (device, rest_precision (c), &r->tensor);
    peak = dn_device_peak (device, c->precision, &r->tensor);
    r->tile = r->tensor ? 128 : 64;
    r->early = r->tensor && device->generation->number > 0
               && !device->generation->flash_attention;
    set_product_rates (c, r, peak, rest);
    /* Without fast units for them 16-bit numbers are converted to fp32 and back. */
    if (!r->tensor && peak <= device->fp32)
        r->bytes = 4;
    set_memory_rates (c, r);
    apply_shares (c, r);
    r->route[DN_ROUTE_LOSS] = r->route[DN_ROUTE_LIGHT]; /* a loss is not fused */
    if (dn_is_fused (c)) {
        r->route[DN_ROUTE_LIGHT] /= k->fused_bytes;
        r->light_launches = k->fused_launch;
    }
    r->loss_launches =
        dn_habit_number (k, c->spec, c->stack.tuned, DN_HABIT_LOSS_LAUNCHES);
    if (dn_has_habit (c, DN_HABIT_CAPTURES)) {
        r->launch_s = dn_min (r->launch_s, k->captured_s);
        r->kernel_s = dn_min (r->kernel_s, k->captured_s);
    }
    take_measured (c, r);
    if (device->compiled)
        compile_step (c, r);
    r->flops[DN_BY_DIRECT] = r->flops[r->tensor ? DN_BY_CONV : DN_BY_LINEAR];
    if (device->sustained > 0)
        r->slowdown /= device->sustained;
    for (int i = 0; i < DN_ROUTE_CHIP && device->chip_bw > 0; i++)
        r->route[i] = dn_min (r->route[i], device->chip_bw);
    set_attention_rates (c, r, rest);
}

bool dn_runs_alike (const struct dn_lane *a, const struct dn_lane *b)
{
    const struct dn_generation *one = a->setup.device->generation;
    const struct dn_generation *other = b->setup.device->generation;

    return a->setup.traits == b->setup.traits && a->rates.bytes == b->rates.bytes
           && a->rates.tensor == b->rates.tensor
           && a->rates.chip_bytes == b->rates.chip_bytes
           && (a->rates.early == b->rates.early || !a->setup.odd)
           && (!a->setup.attention
               || (one->fused_attention == other->fused_attention
                   && one->flash_attention == other->flash_attention));
}

/* An operator whose work is found. */
struct loading {
    const struct dn_setup *c;
    const struct dn_rates *r;
    const struct dn_op *op;
    double samples; /* of it in one pass; an expert gets those of all that share it */
    double in;      /* elements */
    double out;
    double moved; /* bytes of activations that a convolution reorders */
    struct dn_load *load;
};

/* Padded over useful outputs of a tiled product, at least 1. */
static double padding (double rows, double columns, double tile)
{
    return ceil (rows / tile) * tile * ceil (columns / tile) * tile / (rows * columns);
}

/* Are a convolution's activations brought into the order that its kernels need, and
 * back? Matrix units need channels last, which PyTorch never has for sequences, and for
 * images only where they are stored so. Of images in TF32 cuDNN has kernels for both
 * orders, and training gains nothing by the other one
 * (github.com/tensorflow/tensorflow, pull request 58054). An order of images that is
 * not stated is taken as right: the efficiencies were fitted with rows that do not
 * state it. TensorFlow's volumes are channels last, and its kernels for them need
 * channels first. Grouped convolutions have kernels for both orders.
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
        return op->batches == 1 && r->tensor && !c->traits->rounds
               && c->spec->layout == DN_LAYOUT_NCHW;
    case 3:
        return dn_has_habit (c, DN_HABIT_CHANNELS_FIRST);
    default:
        return false;
    }
}

static enum dn_arithmetic arithmetic_of (const struct dn_op *op)
{
    switch (op->kind) {
    case DN_OP_CONV:
        if (op->batches > 1)
            return DN_BY_GROUPED;
        return op->direct ? DN_BY_DIRECT : DN_BY_CONV;
    case DN_OP_MATMUL:
        return DN_BY_BATCHED;
    case DN_OP_RNN:
        return DN_BY_RECURRENT;
    default:
        return DN_BY_LINEAR;
    }
}

/* One matrix product or convolution, moving 'elements'. Grouped convolutions are not
 * tiled: the loaded data serve only the channels of a group, so their rate grows with
 * the number of these until it is that of other convolutions.
 */
static void set_product (const struct loading *l,
                         int direction,
                         double rows,
                         double columns,
                         double elements)
{
    struct dn_amount *amount = &l->load->amount[direction];
    double padded = padding (rows, columns, l->r->tile);

    amount->by = l->r->early && l->r->bytes < 4 && dn_is_odd (l->c->spec, l->op)
                     ? DN_BY_ODD
                     : arithmetic_of (l->op);
    amount->bytes = elements * l->r->bytes;
    amount->moved = l->moved;
    amount->flops = amount->arithmetic = l->op->flops * l->samples;
    if (padded > 1 && amount->by != DN_BY_GROUPED)
        amount->arithmetic *= pow (padded, l->c->constants->tile);
}

/* Elements that an operator without products reads and writes, forward and backward.
 * Batch normalisation reads twice and writes once forward; backward it reads gradient
 * and input twice and writes once.
 */
static void light_traffic (const struct dn_op *op, double *forward, double *backward)
{
    double size = dn_max (op->in, op->out);

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
static void find_light (const struct loading *l, bool backward)
{
    const struct dn_op *op = l->op;
    struct dn_load *load = l->load;
    double bytes = l->r->bytes;
    double casts = op->single && bytes < 4 ? CAST_PASSES * dn_max (op->in, op->out) : 0;
    double forward;
    double data;

    load->light = true;
    if (op->single)
        bytes = dn_max (bytes, 4);
    light_traffic (op, &forward, &data);
    for (int d = DN_FORWARD; d <= (backward ? DN_DATA : DN_FORWARD); d++) {
        double elements = d == DN_FORWARD ? forward : data;

        load->amount[d].bytes = (elements + casts) * l->samples * bytes;
        load->amount[d].wait = has_steps (op) ? DN_WAIT_FORWARD : DN_WAIT_NONE;
    }
}

/* Are the weights stored in 8 bits or fewer, and unpacked for every product? Those of
 * an earlier pass are counted in the last one.
 */
static bool is_quantised (const struct dn_op *op)
{
    double weights = op->earlier ? op->weights : op->frozen_params;

    return op->frozen_bytes > 0 && op->frozen_bytes < 1.5 * weights;
}

/* Elements that the products of a linear layer in fp8 move, in activations' elements.
 * What they multiply is short, what they give is not. Before, it is read once and
 * written twice, plain and transposed: the input forward, together with the fp32 weight
 * in the first pass of a step, and the gradient backward (Transformer Engine).
 */
static double short_elements (const struct loading *l, int direction)
{
    double part = l->r->cast / l->r->bytes;
    double cast = 1 + 2 * part;
    double cast_weight = 4 / l->r->bytes + 2 * part;

    switch (direction) {
    case DN_FORWARD:
        return (cast + part) * l->in + l->out
               + (part + cast_weight / (double) l->c->spec->grad_accum)
                     * l->op->weights;
    case DN_DATA:
        return (cast + part) * l->out + l->in + part * l->op->weights;
    default:
        return part * (l->in + l->out) + l->op->weights;
    }
}

static double product_elements (const struct loading *l, int direction)
{
    if (l->r->cast > 0 && l->op->kind == DN_OP_LINEAR)
        return short_elements (l, direction);
    return l->in + l->out + l->op->weights * l->op->calls;
}

/* Convolutions, linear and recurrent layers. Of frozen weights only biases may have a
 * gradient: a sum over the output's.
 */
static void find_layer (const struct loading *l, bool data, bool weight)
{
    const struct dn_op *op = l->op;
    struct dn_amount *amount = l->load->amount;
    double rows = op->m * l->samples;
    double unpacked =
        is_quantised (op)
            ? op->frozen_bytes
                  + (op->earlier ? op->weights : op->frozen_params) * l->r->bytes
            : 0;

    set_product (l, DN_FORWARD, rows, op->n, product_elements (l, DN_FORWARD));
    if (data)
        set_product (l, DN_DATA, rows, op->k, product_elements (l, DN_DATA));
    if (weight && !dn_op_is_frozen (op))
        set_product (l, DN_WEIGHT, op->k, op->n, product_elements (l, DN_WEIGHT));
    else if (weight && op->params > 0)
        amount[DN_WEIGHT].bytes = l->out * l->r->bytes;
    if (has_steps (op)) {
        amount[DN_FORWARD].wait = DN_WAIT_FORWARD;
        if (data || weight)
            amount[data ? DN_DATA : DN_WEIGHT].wait = DN_WAIT_BACKWARD;
    }
    amount[DN_FORWARD].unpacked = unpacked;
    amount[DN_DATA].unpacked = data ? unpacked : 0;
}

/* The backward pass of attention over its forward pass: five products, not two. */
#define ATTENTION_BACKWARD 2.5

/* Attention in one kernel. Backward it reads query, key, value, output and the output's
 * gradient, and writes three gradients.
 */
static void find_attention (const struct loading *l, bool backward)
{
    bool flash =
        dn_attention_way (l->c->spec, l->c->device, l->op) == DN_ATTENTION_FLASH
        && !dn_attention_is_first (l->c->spec);
    struct dn_amount *amount = l->load->amount;
    double bytes = (l->in + l->out) * l->r->bytes;
    double flops = l->op->flops * l->samples;

    amount[DN_FORWARD] = (struct dn_amount){.by = flash ? DN_BY_FLASH : DN_BY_FUSED,
                                            .flops = flops,
                                            .arithmetic = flops,
                                            .bytes = bytes};
    if (backward)
        amount[DN_DATA] = (struct dn_amount){.by = flash ? DN_BY_FLASH_BACKWARD
                                                         : DN_BY_FUSED_BACKWARD,
                                             .flops = flops * ATTENTION_BACKWARD,
                                             .arithmetic = flops * ATTENTION_BACKWARD,
                                             .bytes = 2 * bytes};
}

/* Memory is read and written in pieces of so many bytes. */
#define SECTOR 32.0

/* Rows of a table that are gathered and, if a sample has several, summed up; backward
 * they are scattered, into a dense gradient or row by row.
 */
static void find_lookup (const struct loading *l, bool weight)
{
    const struct dn_op *op = l->op;
    double features = op->in > 0 ? op->weights / op->in : op->weights;
    double row = features * l->r->bytes;
    double padded = row > 0 ? ceil (row / SECTOR) * SECTOR / row : 1;
    double bytes = (op->weights * l->samples * padded + l->out) * l->r->bytes;

    l->load->amount[DN_FORWARD].bytes = bytes;
    if (weight)
        l->load->amount[DN_WEIGHT].bytes =
            bytes + (dn_is_sparse (op) ? 0 : op->params * 4);
}

/* Find the work of one pass of one operator, by direction. */
static void find_work (const struct loading *l)
{
    const struct dn_op *op = l->op;
    bool backward = !op->frozen;

    switch (op->kind) {
    case DN_OP_CONV:
    case DN_OP_LINEAR:
    case DN_OP_RNN:
        find_layer (l, backward && !op->first, backward);
        break;
    case DN_OP_MATMUL: /* two gradients of the same size, both of activations */
        set_product (l, DN_FORWARD, op->m, op->n, l->in + l->out);
        if (backward) {
            set_product (l, DN_DATA, op->m, op->k, l->in + l->out);
            l->load->share[DN_DATA] *= 2;
        }
        break;
    case DN_OP_ATTENTION:
        find_attention (l, backward);
        break;
    case DN_OP_EMBEDDING:
        find_lookup (l, backward && !dn_op_is_frozen (op));
        break;
    default:
        find_light (l, backward);
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

/* Kernels of an operator with products, or of one lookup. */
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
    default:
        return 1;
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

static void scale (struct dn_amount *amount, double factor)
{
    amount->flops *= factor;
    amount->arithmetic *= factor;
    amount->bytes *= factor;
    amount->unpacked *= factor;
    amount->moved *= factor;
}

static enum dn_route route_of (const struct dn_rates *r,
                               const struct dn_load *load,
                               int d)
{
    if (r->chip_bytes > 0 && load->amount[d].bytes <= r->chip_bytes * load->share[d])
        return DN_ROUTE_CHIP;
    if (!load->light)
        return DN_ROUTE_PRODUCT;
    return load->op->kind == DN_OP_LOSS ? DN_ROUTE_LOSS : DN_ROUTE_LIGHT;
}

/* Scale what one kernel does to all of them. Neighbours that are fused have fewer
 * launches; those of a loss depend on the device.
 */
static void finish (const struct dn_rates *r, struct dn_load *load, int d)
{
    struct dn_amount *amount = &load->amount[d];
    const struct dn_op *op = load->op;

    if (amount->arithmetic <= 0 && amount->bytes <= 0 && amount->wait == DN_WAIT_NONE)
        return;
    load->launches[d] = load->kernels * op->calls * launches_of (r, op, d);
    if (op->kind == DN_OP_ATTENTION || (load->light && op->kind != DN_OP_LOSS))
        load->launches[d] *= r->light_launches;
    scale (amount, load->share[d]);
    amount->route = route_of (r, load, d);
}

/* Are its seconds no more than arithmetic and bytes over the rates of the device? */
static bool is_plain (const struct loading *l)
{
    const struct dn_op *op = l->op;

    return op->kind != DN_OP_LOSS && op->kind != DN_OP_RNN && op->each <= 0
           && l->c->context <= 1 && l->moved <= 0 && !has_steps (op)
           && !is_quantised (op) && (op->kind != DN_OP_CONV || op->batches <= 1);
}

void dn_load_of (const struct dn_lane *lane,
                 const struct dn_op *op,
                 struct dn_load *load)
{
    const struct dn_setup *c = &lane->setup;
    const struct dn_rates *r = &lane->rates;
    double samples = op->expert ? c->computed * c->experts : c->computed;
    double share = op->repeat / split_of (c, op);
    double weight_share = op->flops > 0 ? 1 - c->graph->spared : 1;
    struct loading l = {
        c, r, op, samples, op->in * samples, op->out * samples, 0, NULL};

    *load = (struct dn_load){.op = op,
                             .block = op->block,
                             .again = !op->frozen && is_again (c, op),
                             .kernels = op->repeat * dn_kernels_of (c, op),
                             .each = op->repeat * op->each * c->batch,
                             .share = {share, share, share * weight_share}};
    l.load = load;
    if (op->kind == DN_OP_CONV && is_moved (c, r, op))
        l.moved = 2 * (l.in + l.out) * r->bytes;
    load->plain = is_plain (&l);
    find_work (&l);
    for (int d = 0; d < DN_N_DIRECTIONS; d++)
        finish (r, load, d);
}

/* FLOP/s. */
static double rate_of (const struct dn_rates *r, const struct dn_load *load, int d)
{
    enum dn_arithmetic by = load->amount[d].by;

    return by == DN_BY_GROUPED
               ? dn_min (r->flops[by] * load->op->n, r->flops[DN_BY_CONV])
               : r->flops[by];
}

struct dn_work dn_work_of (const struct dn_lane *lane,
                           const struct dn_load *load,
                           int d)
{
    const struct dn_rates *r = &lane->rates;
    const struct dn_amount *amount = &load->amount[d];
    struct dn_work work = {.launches = load->launches[d]};

    if (load->op->kind == DN_OP_LOSS)
        work.launches *= r->loss_launches;
    if (d == DN_FORWARD)
        work.launches += load->each;
    if (load->launches[d] <= 0)
        return work;
    if (amount->arithmetic > 0)
        work.compute_s = amount->arithmetic / rate_of (r, load, d);
    work.memory_s = amount->bytes / r->route[amount->route]
                    + amount->unpacked / r->unpack + amount->moved / r->copy;
    if (amount->wait != DN_WAIT_NONE)
        work.wait_s =
            load->share[d]
            * recurrent_wait (&lane->setup, load->op, amount->wait == DN_WAIT_BACKWARD);
    return work;
}
