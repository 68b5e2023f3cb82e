/* kernel.c - time of one kernel on one device
 *
 * A product is cut into tiles, the library takes the tile that suits, and the tiles run
 * on the multiprocessors in waves:
 *
 *     compute = min over tiles a x b of (tiles / sms + tail) * sms * 2ab (k + ramp)
 *               * (1 + edge (1/a + 1/b)) / (1 + edge / 64) / (peak * efficiency)
 *     time    = norm (compute, bytes / (bandwidth * memory))
 *
 * Only whole tiles count, but the number of waves is not rounded up: whole waves fitted
 * worse on skinny shapes. If the contraction may be split, the best split has a closed
 * form. Long rows exceed the range of address translation, above all on Pascal (a
 * factor 2.5 at 40,000 elements). 3 x 3 convolutions take the cheapest of implicit
 * product, Winograd 2 x 2 and 4 x 4.
 *
 * Boards with little power for their peak (T4, P4, L4) leave the boost clock within a
 * millisecond. Their sustained clock is board power over (peak * energy per FLOP). The
 * energy scales with the process, with one constant per class for all GPUs. The power
 * of boards allows 2.4 (L4), 8.6 (T4), 12.8 (A100 PCIe), 13.6 (P4), 17.9 (V100 PCIe)
 * and 26.9 (P100) pJ per FLOP of their FP32 peak; for L4, T4 and P4 this is too little.
 *
 * Not explained: large linear layers on P4 run at either 0.2 or 0.4 of the peak, with
 * similar shapes in both groups. Heat may be the cause.
 *
 * Tried without gain: FLOP-dependent saturation (it is launch), six or eight tile
 * shapes in place of four, alignment of n and k to 2, 4, 8, residency in the L2 cache
 * for element-wise kernels, split contraction in forward products.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/kernel.h"

#include <math.h>

const struct dn_kernel_constants dn_kernel_constants_default = {
#include "learn/kernel_constants.inc"
};

/* FLOP/s of one multiprocessor, if the catalogue does not state their number. */
#define SM_PEAK 0.18e12

/* Process in nm; 0 if the law of the sustained clock is not known to hold. */
static double process_of (enum dn_arch arch)
{
    switch (arch) {
    case DN_ARCH_KEPLER:
        return 28;
    case DN_ARCH_PASCAL:
        return 16;
    case DN_ARCH_VOLTA:
    case DN_ARCH_TURING:
        return 12;
    case DN_ARCH_AMPERE: /* consumer 8 nm, GA100 7 nm */
        return 8;
    case DN_ARCH_CDNA:
        return 7;
    case DN_ARCH_ADA:
    case DN_ARCH_HOPPER:
    case DN_ARCH_BLACKWELL:
        return 5;
    default:
        return 0;
    }
}

struct dn_kernel_device dn_kernel_device_of (const struct dn_kernel_constants *k,
                                             const struct dn_device *device,
                                             enum dn_precision precision)
{
    bool matrix;
    double peak = dn_device_peak (device, precision, &matrix);
    double vector = matrix ? device->fp32 : peak;
    double process = process_of (device->arch);
    struct dn_kernel_device d = {
        .unit = matrix ? DN_KERNEL_MATRIX : DN_KERNEL_VECTOR,
        .peak = peak,
        .vector = vector,
        .bandwidth = device->bandwidth,
        .sms = device->sms > 0 ? (double) device->sms : fmax (1, vector / SM_PEAK),
        .factor = 1,
        .pascal = device->arch == DN_ARCH_KEPLER || device->arch == DN_ARCH_PASCAL,
    };

    /* Half precision in vector units does two operations with the energy of one. */
    for (int i = 0; i < DN_N_KERNEL_PRODUCTS; i++) {
        double watts =
            (matrix ? peak : device->fp32) * k->energy[i][d.unit] * process / 12;

        d.clock[i] = watts > device->tdp_w ? device->tdp_w / watts : 1;
    }
    return d;
}

/* Sizes of a product's result in tiles, and its contraction. */
struct shape {
    double m;
    double n;
    double k;
    double batches;
    bool split;
};

/* The smaller one. fmin () would be a call. */
static double least (double a, double b)
{
    return b < a ? b : a;
}

/* The next whole number. ceil () would be a call, and this is the hot path. */
static double whole (double x)
{
    double down;

    if (x > 1e15)
        return x;
    down = (double) (int64_t) x;
    return down < x ? down + 1 : down;
}

/* Waves and contraction steps that 'waves' waves of tiles take. If the contraction may
 * be split s times, (s w + tail) (k / s + ramp) is smallest at s = sqrt (tail k / (w
 * ramp)), where it is the square of a sum.
 */
static double tiled (const struct dn_kernel_product *p,
                     const struct shape *s,
                     double tail,
                     double waves)
{
    if (s->split && waves * p->ramp < tail * s->k) {
        double root = sqrt (waves * s->k) + sqrt (tail * p->ramp);

        return root * root;
    }
    return (waves + tail) * (s->k + p->ramp);
}

/* FLOPs of the cheapest of four tile shapes on fully used multiprocessors. */
static double product_flops (const struct dn_kernel_product *p,
                             const struct shape *s,
                             double tail,
                             double sms)
{
    double m64 = whole (s->m / 64);
    double n128 = whole (s->n / 128);
    double n64 = whole (s->n / 64);
    double share = s->batches / sms;
    double e = p->edge;
    double best = tiled (p, s, tail, whole (s->m / 128) * n128 * share)
                  * (128 * 128 * (1 + e / 64));
    double other =
        tiled (p, s, tail, m64 * n128 * share) * (64 * 128 * (1 + e * 3 / 128));

    best = least (best, other);
    other = tiled (p, s, tail, m64 * n64 * share) * (64 * 64 * (1 + e / 32));
    best = least (best, other);
    other = tiled (p, s, tail, whole (s->m / 32) * n64 * share)
            * (32 * 64 * (1 + e * 3 / 64));
    best = least (best, other);
    return 2 * sms * best / (1 + e / 64);
}

/* The clock falls from boost to its sustained share while the kernel runs. */
static double at_clock (const struct dn_kernel_device *d,
                        enum dn_kernel_class class,
                        double warm_s,
                        double boost_s)
{
    double clock = d->clock[class];

    if (clock >= 1)
        return boost_s;
    if (!d->rested)
        return boost_s / clock;
    return boost_s * (1 + (1 / clock - 1) * boost_s / (boost_s + warm_s));
}

/* A smooth combination: neither time hides the other completely. The longer one is
 * factored out to keep the powers small.
 */
static double overlapped (const struct dn_kernel_product *p,
                          double compute_s,
                          double memory_s)
{
    double longer = compute_s < memory_s ? memory_s : compute_s;
    double shorter = least (compute_s, memory_s);

    if (shorter <= 0)
        return longer;
    return longer * pow (1 + pow (shorter / longer, p->overlap), 1 / p->overlap);
}

static double rate (const struct dn_kernel_device *d, double efficiency)
{
    double share = efficiency * d->factor;

    return share < 1 ? d->peak * share : d->peak;
}

/* Winograd with output tiles of 'tile' x 'tile': (tile + 2)^2 products of 1/9 of the
 * contraction, and transforms that are written and read back.
 */
static double winograd_time (const struct dn_kernel_constants *k,
                             const struct dn_kernel_device *d,
                             const struct dn_kernel *kernel,
                             double tile)
{
    const struct dn_kernel_winograd *w = &k->winograd;
    bool four = tile > 3;
    struct dn_kernel_product p = k->product[DN_KERNEL_CONV][d->unit];
    double points = (tile + 2) * (tile + 2);
    double padded = whole (kernel->side / tile) / kernel->side;
    double in = kernel->split ? kernel->m / 9 : kernel->k / 9;
    double outputs = kernel->split ? kernel->k : kernel->m;
    double tiles = outputs * padded * padded;
    struct shape s = {tiles, kernel->n, in, points, kernel->split};
    double bytes = kernel->bytes + kernel->weight * (points / 9 * 2) * w->weights;
    double flops;
    double element = kernel->weight / (9 * in * kernel->n);

    p.ramp = four ? w->ramp4 : w->ramp2;
    if (kernel->split) {
        s.m = in;
        s.k = tiles;
    }
    if (four) /* the smaller one transforms in registers */
        bytes += 2 * points * tiles * (in + kernel->n) * element * w->transform;
    flops = product_flops (&p, &s, four ? w->tail4 : w->tail2, d->sms);
    flops /= rate (d, four ? w->efficiency4 : w->efficiency2);
    return overlapped (&p,
                       at_clock (d, kernel->class, p.warm_s, flops),
                       bytes / (d->bandwidth * p.memory));
}

double dn_kernel_time (const struct dn_kernel_constants *k,
                       const struct dn_kernel_device *device,
                       const struct dn_kernel *kernel)
{
    const struct dn_kernel_product *p;
    struct shape s = {kernel->m, kernel->n, kernel->k, kernel->batches, kernel->split};
    double compute;
    double time;

    if (kernel->class >= DN_N_KERNEL_PRODUCTS)
        return kernel->bytes
               / (device->bandwidth * k->light[kernel->class - DN_KERNEL_LIGHT]);
    p = &k->product[kernel->class][device->unit];
    compute =
        product_flops (p, &s, p->tail, device->sms) / rate (device, p->efficiency);
    compute *= 1 + kernel->row / (device->pascal ? p->row_pascal : p->row);
    if (kernel->class == DN_KERNEL_CONV && kernel->batches > 1)
        compute = least (compute,
                         2 * kernel->m * kernel->n * kernel->k * kernel->batches
                             / (device->vector * k->direct));
    time = overlapped (p,
                       at_clock (device, kernel->class, p->warm_s, compute),
                       kernel->bytes / (device->bandwidth * p->memory));
    if (kernel->side > 0 && device->unit == DN_KERNEL_VECTOR) {
        time = least (time, winograd_time (k, device, kernel, 2));
        time = least (time, winograd_time (k, device, kernel, 4));
    }
    return time;
}

/* Kernel size over stride in all dimensions: how often an output channel uses an input
 * element. */
static double taps_of (const struct dn_op *op)
{
    return op->in > 0 ? op->k * op->batches * op->m / op->in : 1;
}

struct dn_kernel dn_kernel_of (const struct dn_op *op,
                               enum dn_kernel_pass pass,
                               double batch,
                               double bytes)
{
    double taps = op->kind == DN_OP_CONV ? taps_of (op) : 1;
    bool winograd = op->kind == DN_OP_CONV && fabs (taps - 9) < 0.01
                    && op->batches < 1.5 && op->m >= 4;
    struct dn_kernel kernel = {
        .class = op->kind == DN_OP_CONV     ? DN_KERNEL_CONV
                 : op->kind == DN_OP_MATMUL ? DN_KERNEL_BMM
                                            : DN_KERNEL_LINEAR,
        .m = op->m * batch,
        .n = op->n,
        .k = op->k,
        .batches = op->batches,
        .bytes = ((op->in + op->out) * batch + op->weights) * bytes,
        .weight = op->weights * bytes,
        .side = winograd ? sqrt (op->m) : 0,
    };

    if (op->kind == DN_OP_MATMUL) {
        kernel.m = op->m;
        kernel.batches = op->batches * batch;
    }
    switch (pass) {
    case DN_KERNEL_FORWARD:
        kernel.row = kernel.class == DN_KERNEL_LINEAR ? kernel.k : 0;
        break;
    case DN_KERNEL_BACKWARD_DATA: /* gradient (m, n) x weights (n, k) */
        kernel.n = op->k / taps;
        kernel.k = op->n * taps;
        break;
    case DN_KERNEL_BACKWARD_WEIGHT: /* input (k, m) x gradient (m, n) */
        kernel.split = kernel.class != DN_KERNEL_BMM;
        kernel.k = kernel.m;
        kernel.m = op->k;
        break;
    }
    return kernel;
}
