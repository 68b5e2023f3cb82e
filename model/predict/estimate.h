/* estimate.h - the prediction of a run on one device
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ESTIMATE_H
#define DN_ESTIMATE_H

#include "predict/constants.h"
#include "base/limits.h"
#include "hardware/hardware.h"

/* How far measured values were from predicted ones, in units of the predicted spread:
 * quantiles of ln (measured / predicted) / sigma at ascending normal scores.
 */
struct dn_quantiles {
    int n;
    double scores[DN_LEVELS_MAX];
    double values[DN_LEVELS_MAX];
    /* The symmetric law that has the same absolute values; NULL: the half above the
     * median, both ways. Borrowed. */
    const struct dn_quantiles *within;
};

/* A positive quantity known up to a factor: median p50 and the spread 'sigma' of its
 * natural logarithm, normal unless 'quantiles' are set. They are borrowed from the
 * bundle and valid as long as the site.
 */
struct dn_range {
    double p50;
    double sigma;
    const struct dn_quantiles *quantiles; /* NULL: the normal law */
    /* A second law of the same quantity. A quantile above the median is the larger one
     * of both. */
    struct dn_range_floor {
        double ratio; /* of its median to p50; 0: there is none */
        double sigma;
        const struct dn_quantiles *quantiles;
    } floor;
};

/* The value that the quantity stays below with probability 'quantile' (0..1). */
double dn_range_at (struct dn_range range, double quantile);

/* The probability that the quantity is within this factor, above 1, of its median. It
 * falls with the spread. The second law does not count.
 */
double dn_range_within (struct dn_range range, double factor);

/* Confidence in a time is the probability that it is within this factor of the likely
 * one.
 */
#define DN_CONFIDENCE_FACTOR 1.5

/* The standard normal quantile. */
double dn_normal_score (double quantile);

/* The time of one optimizer step by stage, seconds on one device. The stages overlap,
 * so their sum is not the step.
 */
/* clang-format off */
#define DN_STAGES(ROW)                                                                 \
    ROW (STAGE_FORWARD, "forward")                                                     \
    ROW (STAGE_BACKWARD_DATA, "backward_data") /* gradients of activations */          \
    ROW (STAGE_BACKWARD_WEIGHT, "backward_weight") /* gradients of parameters */       \
    ROW (STAGE_RECOMPUTE, "recompute") /* forward again, under checkpointing */        \
    ROW (STAGE_OPTIMIZER, "optimizer")                                                 \
    ROW (STAGE_COMMUNICATION, "communication") /* all of it */                         \
    ROW (STAGE_EXPOSED, "exposed_communication") /* the part that is not overlapped */ \
    ROW (STAGE_INPUT, "input") /* the loader's time for one step's samples */          \
    ROW (STAGE_HOST, "host") /* fixed host time of a step */
/* clang-format on */
DN_ENUM (dn_stage, STAGES);

extern const struct dn_names dn_stage_names;

/* The GPU's memory at its peak by class, bytes on one device. Gradients and buckets are
 * not yet allocated when activations peak; memory that they take over counts as theirs.
 */
/* clang-format off */
#define DN_MEMORY_CLASSES(ROW)                                                         \
    ROW (MEMORY_WEIGHTS, "weights")                                                    \
    ROW (MEMORY_GRADIENTS, "gradients")                                                \
    ROW (MEMORY_OPTIMIZER, "optimizer")                                                \
    ROW (MEMORY_ACTIVATIONS, "activations")                                            \
    ROW (MEMORY_WORKSPACE, "workspace")                                                \
    ROW (MEMORY_BUCKETS, "buckets") /* communication */                                \
    ROW (MEMORY_CONTEXT, "context") /* of the driver and the framework's kernels */    \
    ROW (MEMORY_SLACK, "slack") /* rounding and fragmentation of the allocator */
/* clang-format on */
DN_ENUM (dn_memory_class, MEMORY_CLASSES);

extern const struct dn_names dn_memory_class_names;

/* What a figure of GPU memory counts. PyTorch reports the latter two
 * (max_memory_reserved, max_memory_allocated), nvidia-smi the first.
 */
enum dn_memory_count {
    DN_MEMORY_OF_DEVICE, /* all that is in use */
    DN_MEMORY_RESERVED,  /* without the context */
    DN_MEMORY_ALLOCATED  /* and without what the allocator holds ready */
};

struct dn_estimate {
    const struct dn_device *device;
    bool supported;         /* the device can run this precision */
    bool fits;              /* it can run there: dn_estimate_may_fit () */
    bool attention_open;    /* usual kernels were taken for those of a long attention */
    int32_t tokens;         /* taken for seq_len=; 0: it was given, or there is none */
    struct dn_range step_s; /* wall time of one optimizer step of the whole job */
    double stage_s[DN_N_STAGES];
    double n_steps;          /* of one training; -1 when unknown */
    struct dn_range train_s; /* of all trainings of the job; p50 -1 when unknown */
    struct dn_range gpu_mem; /* bytes on one device */
    double memory[DN_N_MEMORY_CLASSES];
    double host_mem;      /* bytes per node */
    int64_t cpus_per_gpu; /* minimum that does not slow the step; DN_UNSET unknown */
    double power_w;       /* mean board power */
    double power_w_p95;   /* which it stays below in 95 of 100 runs */
    double energy_j;      /* in that time, all devices; -1 when unknown */
    double samples_per_s; /* of the whole job */
    double confidence;    /* 0..1 */
    double known;         /* share of the learned residual that counts, 0 without one */
    const char *bundle; /* the name of the bundle, borrowed from it; NULL without one */
    double white_step_s;     /* step_s.p50 of the shipped white box alone */
    struct dn_keyset unread; /* given keys that the estimate does not depend on */
    double site;             /* factor on it from the site's own runs, 1 without any */
    /* By the history of the application (learned.h). */
    bool by_history;          /* alone: there is no prediction of the network */
    double base_s;            /* train_s.p50 without history; not positive: unknown */
    int64_t history_runs;     /* that train_s is by; 0: none */
    bool history_shared;      /* its bound is by longer ones of the account */
    const char *history_from; /* the type whose runs were translated; NULL: its own */
    bool no_kernels;    /* the job's software has none for the device, as it said */
    bool host_kept;     /* a run was killed when its memory had been lowered */
    uint8_t host_runs;  /* with as many GPUs that measured host memory; at most 255 */
    float host_peak_gb; /* the most of all runs [GiB]; 0: unknown */
};

/* The GPU's memory, counted so. */
struct dn_range dn_estimate_memory (const struct dn_estimate *estimate,
                                    enum dn_memory_count count);

/* Can the device run the precision, and is the memory within the device's with a
 * probability of three tenths? Of runs that ran, with code and networks left out, 1 in
 * 500 is below that, 1 in 100 is below four tenths, and 6 are below one half.
 */
bool dn_estimate_may_fit (const struct dn_estimate *estimate);

/* Is the 95 % bound of the memory within the device's, too? Otherwise it is not known
 * whether the run fits.
 */
bool dn_estimate_surely_fits (const struct dn_estimate *estimate);

/* Likely seconds of the run with its start, or of one step where the amount of work is
 * unknown.
 */
double dn_estimate_time (const struct dn_estimate *estimate);

/* Cost of the run at 'cost_per_hour' per device, or -1 when its time is unknown. */
double dn_estimate_cost (const struct dn_estimate *estimate,
                         int64_t n_gpus,
                         double cost_per_hour);

/* Samples per second of the whole job for each unit of money that an hour of its
 * devices costs, Centimani's price-performance ratio (Xie et al., USENIX ATC
 * 2024, 6.2); -1 where the devices have no price.
 */
double dn_estimate_price_performance (const struct dn_estimate *estimate,
                                      int64_t n_gpus,
                                      double cost_per_hour);

/* Grams of CO2 for the energy of a run by what the grid emits per kWh; -1 when one of
 * them is unknown (< 0).
 */
double dn_estimate_carbon_g (double energy_j, double g_per_kwh);

#endif
