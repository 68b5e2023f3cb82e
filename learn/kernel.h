/* kernel.h - time of one kernel on one device
 *
 * In: the shape of a kernel (a matrix product, a convolution as an implicit product, or
 * a memory-bound kernel) and what a device reaches in one precision. Out: seconds that
 * the device is busy with it. Never: launch and host time, which the caller adds, and
 * overlap between kernels.
 *
 * Predictions do not use it. Over whole steps its sums were no better than the simpler
 * law of predict/step.c (weighted error .216 against .207 on the same rows, both
 * refitted), whose constants also absorb what a list of operators misses.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_KERNEL_H
#define DN_KERNEL_H

#include "graph/graph.h"
#include "hardware/hardware.h"

enum dn_kernel_class {
    DN_KERNEL_LINEAR, /* a product with weights */
    DN_KERNEL_BMM,    /* a batch of products of two activations */
    DN_KERNEL_CONV,   /* a convolution as an implicit product, 'batches' groups */
    DN_N_KERNEL_PRODUCTS,
    DN_KERNEL_LIGHT = DN_N_KERNEL_PRODUCTS, /* element-wise, copies, pooling */
    DN_KERNEL_SOFTMAX,
    DN_KERNEL_NORM,
    DN_N_KERNEL_CLASSES
};

/* The units that compute the products. */
enum dn_kernel_unit {
    DN_KERNEL_VECTOR,
    DN_KERNEL_MATRIX, /* tensor cores */
    DN_N_KERNEL_UNITS
};

/* One class of products on one kind of unit. */
struct dn_kernel_product {
    double efficiency; /* share of the peak in the steady state of a 128 x 128 tile */
    double edge;       /* cost of a tile's edge: time ~ area * (1 + edge (1/a + 1/b)) */
    double tail;       /* waves lost at the end and to imbalance */
    double ramp;       /* of the contraction: time ~ k + ramp */
    double memory;     /* share of the memory bandwidth */
    double overlap;    /* norm of compute and memory time: 1 is their sum, a large one
                          their maximum */
    double warm_s;     /* busy time after which the power limit sets the clock */
    double row;        /* elements per row at which address translation doubles time */
    double row_pascal; /* the same on Pascal and older */
};

/* Winograd's algorithm for 3 x 3 convolutions with stride 1: output tiles of 4 x 4 from
 * 36 products, 2 x 2 from 16. */
struct dn_kernel_winograd {
    double efficiency4;
    double tail4;
    double ramp4;
    double efficiency2;
    double tail2;
    double ramp2;
    double transform; /* passes over the transformed activations, of two */
    double weights;   /* passes over the transformed weights */
};

struct dn_kernel_constants {
    struct dn_kernel_product product[DN_N_KERNEL_PRODUCTS][DN_N_KERNEL_UNITS];
    struct dn_kernel_winograd winograd;
    double direct; /* grouped and depthwise convolutions, share of the vector peak */
    double light[DN_N_KERNEL_CLASSES - DN_KERNEL_LIGHT]; /* share of the bandwidth */
    /* Joule per FLOP at boost clock in a 12 nm process */
    double energy[DN_N_KERNEL_PRODUCTS][DN_N_KERNEL_UNITS];
    /* What a timed call takes besides the kernel; not used by dn_kernel_time () */
    double floor_s[DN_N_KERNEL_CLASSES];
};

extern const struct dn_kernel_constants dn_kernel_constants_default;

/* What a device reaches in one precision. */
struct dn_kernel_device {
    enum dn_kernel_unit unit;
    double peak;      /* FLOP/s, data sheet */
    double vector;    /* FLOP/s of the ordinary units */
    double bandwidth; /* byte/s */
    double sms;
    double clock[DN_N_KERNEL_PRODUCTS]; /* sustained share of the boost clock, 0..1 */
    double factor; /* measured share of what the class reaches elsewhere; 1 unknown */
    bool pascal;   /* address translation covers shorter rows */
    bool rested; /* kernels come one by one, so the clock has not fallen yet; false: the
                    load lasts and the clock is the sustained one */
};

/* The rates of 'device' in 'precision' under a lasting load. The sustained clock is
 * computed from the board's power and the process, so data-sheet values are sufficient.
 */
struct dn_kernel_device dn_kernel_device_of (const struct dn_kernel_constants *k,
                                             const struct dn_device *device,
                                             enum dn_precision precision);

/* A product (m, contract) x (contract, n), 'batches' times. Light kernels have only
 * bytes. */
struct dn_kernel {
    enum dn_kernel_class class;
    double m;
    double n;
    double k;
    double batches;
    double bytes;  /* of operands and result, each once */
    double weight; /* bytes of a convolution's weights, part of 'bytes' */
    double row;    /* elements between the rows that a tile reads; 0: none */
    double side;   /* of the square output of a 3 x 3 convolution, stride 1; else 0 */
    bool split;    /* the contraction may be split over multiprocessors: gradients of
                      weights, which have a small result and a long contraction */
};

enum dn_kernel_pass {
    DN_KERNEL_FORWARD,
    DN_KERNEL_BACKWARD_DATA,
    DN_KERNEL_BACKWARD_WEIGHT
};

/* The kernel of one pass of a convolution, linear layer or batched product over 'batch'
 * samples with elements of 'bytes' bytes. The gradient of a batched product towards its
 * second operand is the weight pass.
 */
struct dn_kernel dn_kernel_of (const struct dn_op *op,
                               enum dn_kernel_pass pass,
                               double batch,
                               double bytes);

/* Seconds that the device is busy. Increases with every size, and is never below what
 * peak and bandwidth allow (for Winograd, with a quarter of the products).
 */
double dn_kernel_time (const struct dn_kernel_constants *k,
                       const struct dn_kernel_device *device,
                       const struct dn_kernel *kernel);

#endif
