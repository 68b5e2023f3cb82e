/* habits.h - what the code of a framework, a stack or an optimizer does; private to
 * predict/
 *
 * A new framework is a row of the table in habits.c, besides its name (spec/).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_HABITS_H
#define DN_HABITS_H

#include "predict/whitebox.h"

/* A run has the habits of its framework and of its stack. */
enum dn_habit {
    /* The framework as the learned residual sees it */
    DN_HABIT_TORCH = 1 << 0,          /* PyTorch */
    DN_HABIT_GRAPH = 1 << 1,          /* a framework that compiles graphs */
    DN_HABIT_TUNED = 1 << 2,          /* code tuned for the device (below) */
    DN_HABIT_PLAIN_LAUNCH = 1 << 3,   /* whose host launches kernels as others do */
    DN_HABIT_FUSED = 1 << 4,          /* element-wise operators share kernels */
    DN_HABIT_COMPILES_STEP = 1 << 5,  /* compile=1 includes the optimizer */
    DN_HABIT_IN_TURN = 1 << 6,        /* parts of a step wait for one another */
    DN_HABIT_CHANNELS_FIRST = 1 << 7, /* volumes are channels last, kernels are not */
    DN_HABIT_GROUPED = 1 << 15,       /* one kernel computes a layer's experts */
    /* Data kept in memory and sent */
    DN_HABIT_SCORES = 1 << 8,           /* attention's scores (attend.h) */
    DN_HABIT_OUTPUTS = 1 << 9,          /* every output, unless compile=1 */
    DN_HABIT_SHORT_LOSS = 1 << 10,      /* losses in the precision of activations */
    DN_HABIT_SHORT_GRADIENTS = 1 << 11, /* gradients are sent in it, too */
    DN_HABIT_COMPOSED = 1 << 16,        /* norms, GELU, dropout are single kernels */
    DN_HABIT_IN_PLACE = 1 << 12,        /* the optimizer needs no copy while it works */
    /* The host's side */
    DN_HABIT_LAUNCHER = 1 << 13,    /* one process per GPU, also without training */
    DN_HABIT_FAST_LOADER = 1 << 14, /* images are decoded by compiled code */
    DN_HABIT_CAPTURES = 1 << 17,   /* kernels of a step are launched as one graph, or by
                                      compiled code */
    DN_HABIT_RUNS_AHEAD = 1 << 18, /* the host prepares a step during the one before */
    DN_HABIT_VENDOR = 1 << 19,     /* kernels are written for the network */
    DN_HABIT_SCATTERS = 1 << 20    /* devices of a stage send shares to the next one */
};

/* All habits of a run, or-ed. */
unsigned dn_habits_of (const struct dn_spec *spec);

/* Is it PyTorch, as far as is known? */
bool dn_runs_torch (const struct dn_spec *spec);

/* Is the software of 2023 or later, by since= or torch=? */
enum dn_age {
    DN_AGE_UNKNOWN,
    DN_AGE_OLD,
    DN_AGE_MODERN
};

enum dn_age dn_age_of (const struct dn_spec *spec);

/* Was the software stated to be of that release of PyTorch or later, or to be older? By
 * its year where the release is not stated.
 */
enum dn_age dn_age_by (const struct dn_spec *spec, int release, int64_t year);

/* Numbers that differ between rows; each is a constant. */
enum dn_habit_number {
    DN_HABIT_OPTIMIZER_TRAFFIC,  /* of the optimizer, over the minimum */
    DN_HABIT_OPTIMIZER_LAUNCHES, /* operators per tensor of parameters */
    DN_HABIT_LOSS_LAUNCHES,      /* kernels of log-softmax */
    DN_N_HABIT_NUMBERS
};

/* 'tuned' is the share below: where nothing states how the optimizer runs, its
 * numbers lie between those of one kernel and of several.
 */
double dn_habit_number (const struct dn_constants *constants,
                        const struct dn_spec *spec,
                        double tuned,
                        enum dn_habit_number number);

/* Parameters that an optimizer leaves to AdamW. */
enum dn_apart {
    DN_APART_NONE,
    DN_APART_TABLES, /* embeddings */
    DN_APART_OTHERS  /* all but the matrices of inner layers */
};

struct dn_optimizer_traits {
    double states; /* kept per parameter */
    double passes; /* over arrays of the parameters' size, in one step */
    double bytes;  /* of a state; 0: by the precision */
    bool fused;    /* one kernel per tensor in every framework */
    enum dn_apart apart;
};

extern const struct dn_optimizer_traits dn_optimizer_traits[DN_N_OPTIMIZERS];

/* How well the code and the host of a run are tuned. The same network on the same
 * device differs between sites by a factor of 1.2 in the median: containers, versions,
 * host and care. No key states it. It is a share here, from 0, code written with a
 * framework as it is taught, to 1, the vendor's containers (stack=ngc), and beyond,
 * code that the vendor wrote for the network (stack=mlperf): what the keys of a run say
 * of it shifts the share, and the constants of the white box lie between those of plain
 * code and of containers, or beyond these. What is left is the spread between sites,
 * which a site's own runs take away (tuning.h). Factors on constants of untuned code:
 */
struct dn_stack_factors {
    double tuned;   /* the share */
    double tensor;  /* on the efficiencies of matrix units */
    double memory;  /* on the shares of the memory bandwidth */
    double grouped; /* on eff_grouped */
    double launch;  /* on launch_s */
    double step;    /* on step_s */
};

struct dn_stack_factors dn_stack_factors_of (const struct dn_case *c);

/* Has the network convolutions over images that run on matrix units, of the device or
 * of some device if the case has none? Only these need an order of the channels;
 * kernels for groups exist for both orders.
 */
bool dn_reads_layout (const struct dn_case *c);

/* Does the age of the software (since=, torch=) that was stated, or that could be,
 * decide how well the code is tuned? On Hopper and later, code is taken as that of 2023
 * or later: a statement of older software is not believed.
 */
bool dn_reads_age (const struct dn_case *c);

#endif
