/* work.h - the device's work for one operator, private to predict/
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_WORK_H
#define DN_WORK_H

#include "predict/stages.h"

/* FLOP/s of attention in one kernel. */
struct dn_attention_rates {
    double forward;
    double backward;
};

/* Rates of one precision on one device, with the stack's factors. */
struct dn_rates {
    double bytes;     /* of an activation element */
    double linear;    /* FLOP/s that matrix products with weights reach */
    double batched;   /* and those of two activations */
    double recurrent; /* and those of recurrent layers */
    double conv;      /* FLOP/s that convolutions reach */
    double direct;    /* and those that are computed as a product */
    double grouped;   /* FLOP/s that depthwise convolutions reach */
    double memory;    /* byte/s */
    double light;     /* byte/s of operators without products */
    double light_launches;
    double copy;       /* byte/s of long copies */
    double chip_bytes; /* data of a kernel up to this size stay on the chip ... */
    double chip;       /* ... and move at this byte/s */
    double unpack;     /* byte/s at which quantised weights are unpacked */
    double launch_s;
    double kernel_s;
    double slowdown; /* of kernels under the board's power limit */
    double tile;     /* side of an output tile */
    struct dn_attention_rates flash;
    struct dn_attention_rates fused;
    bool tensor; /* on matrix units */
    double cast; /* bytes of the elements that linear layers multiply, to which others
                    are cast; 0: no casts */
};

/* The three directions of an operator: forward, gradient of the activation, gradient of
 * the weights.
 */
enum {
    DN_FORWARD,
    DN_DATA,
    DN_WEIGHT,
    DN_N_DIRECTIONS
};

/* The work of an operator in one direction, and its seconds. */
struct dn_work {
    double compute_s; /* arithmetic */
    double memory_s;  /* traffic to the device's memory */
    double wait_s;    /* kernels that wait for one another */
    double flops;
    double bytes;
};

/* One pass of one operator with its repetitions, by direction. Blocks are spread over
 * the stages of a pipeline, the rest (head, embedding) stays on one.
 */
struct dn_turn {
    struct dn_work work[DN_N_DIRECTIONS];
    double time[DN_N_DIRECTIONS];
    double launches[DN_N_DIRECTIONS];
    double kernels; /* of a direction with one launch */
    double ring; /* seconds of communication after it, forward; twice that backward */
    bool block;
    bool again; /* the backward pass computes it again */
};

void dn_rates_init (struct dn_rates *r, const struct dn_setup *c);

/* The memory's data-sheet bandwidth, or its replacement if it was measured. */
double dn_bandwidth (const struct dn_setup *c);

/* Fill 'loss' with the rates of a loss; 'r' are those of other operators. */
void dn_rates_of_loss (struct dn_rates *loss,
                       const struct dn_setup *c,
                       const struct dn_rates *r);

void dn_turn_of (const struct dn_setup *c,
                 const struct dn_rates *r,
                 const struct dn_op *op,
                 struct dn_turn *turn);

#endif
