/* work.h - the device's work for one operator, private to predict/
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_WORK_H
#define DN_WORK_H

#include "predict/stages.h"

/* What runs at a rate of its own. */
enum dn_arithmetic {
    DN_BY_NOTHING,
    DN_BY_LINEAR,    /* matrix products with weights */
    DN_BY_ODD,       /* those of sizes that the matrix units do not read */
    DN_BY_BATCHED,   /* products of two activations */
    DN_BY_RECURRENT, /* recurrent layers */
    DN_BY_CONV,      /* convolutions */
    DN_BY_DIRECT,    /* those that are computed as a product */
    DN_BY_GROUPED,   /* depthwise ones, for each channel of a group */
    DN_BY_FLASH,     /* attention in one kernel (attend.h) */
    DN_BY_FLASH_BACKWARD,
    DN_BY_FUSED,
    DN_BY_FUSED_BACKWARD,
    DN_N_ARITHMETICS
};

/* How data move, each at a rate of its own. */
enum dn_route {
    DN_ROUTE_PRODUCT, /* of products */
    DN_ROUTE_LIGHT,   /* of operators without products */
    DN_ROUTE_LOSS,
    DN_ROUTE_CHIP, /* data that fit into the chip's memory */
    DN_N_ROUTES
};

/* Rates of one precision on one device, with the stack's factors. */
struct dn_rates {
    double bytes;                   /* of an activation element */
    double flops[DN_N_ARITHMETICS]; /* FLOP/s */
    double route[DN_N_ROUTES];      /* byte/s */
    double light_launches;          /* of operators without products */
    double loss_launches;
    double copy;       /* byte/s of long copies */
    double chip_bytes; /* data of a kernel up to this size stay on the chip */
    double unpack;     /* byte/s at which quantised weights are unpacked */
    double launch_s;
    double kernel_s;
    double slowdown; /* of kernels under the board's power limit */
    double tile;     /* side of an output tile */
    bool tensor;     /* on matrix units */
    bool early;      /* matrix units of Volta or Turing */
    double cast; /* bytes of the elements that linear layers multiply, to which others
                    are cast; 0: no casts */
};

/* Do kernels of an operator wait for one another, once per step of its sequence? */
enum dn_step_wait {
    DN_WAIT_NONE,
    DN_WAIT_FORWARD,
    DN_WAIT_BACKWARD
};

/* The work of an operator in one direction, with its repetitions. */
struct dn_amount {
    double flops;
    double arithmetic; /* the same, more where tiles are partly empty */
    double bytes;      /* moved at the rate of memory */
    double unpacked;   /* of quantised weights */
    double moved;      /* of activations that are reordered */
    enum dn_arithmetic by;
    enum dn_route route;
    enum dn_step_wait wait;
};

/* One pass of one operator, or of a kernel that runs in its place: what all devices
 * that run it alike have in common.
 */
struct dn_load {
    const struct dn_op *op;
    struct dn_amount amount[DN_N_DIRECTIONS];
    double launches[DN_N_DIRECTIONS];
    double share[DN_N_DIRECTIONS]; /* repetitions on one device, in 'amount' */
    double each;                   /* launches for the samples, forward */
    double kernels;                /* of a direction with one launch */
    bool light;                    /* without products */
    bool block;                    /* spread over the stages of a pipeline */
    bool again;                    /* the backward pass computes it again */
    bool plain; /* its seconds are 'arithmetic' and 'bytes' over rates */
};

/* An operator in one direction on one device. */
struct dn_work {
    double compute_s; /* arithmetic */
    double memory_s;  /* traffic to the device's memory */
    double wait_s;    /* kernels that wait for one another */
    double launches;  /* each takes kernel_s of the device more */
};

/* One device in a loop over the operators of a graph. */
struct dn_lane {
    struct dn_setup setup;
    struct dn_rates rates;
    struct dn_lane *next;        /* that runs them alike; NULL: none */
    bool follows;                /* it is the next one of another */
    const struct dn_lane *sheet; /* of a device with measured rates: it by its sheet */
    struct dn_group group;       /* of the first of those that run alike */
    struct dn_pass pass;
};

void dn_rates_init (struct dn_rates *r, const struct dn_setup *c);

/* Do two devices have the same loads, and the same contents of their memory? */
bool dn_runs_alike (const struct dn_lane *a, const struct dn_lane *b);

/* The memory's data-sheet bandwidth, or its replacement if it was measured. */
double dn_bandwidth (const struct dn_setup *c);

void dn_load_of (const struct dn_lane *lane,
                 const struct dn_op *op,
                 struct dn_load *load);

struct dn_work dn_work_of (const struct dn_lane *lane,
                           const struct dn_load *load,
                           int direction);

#endif
