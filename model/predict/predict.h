/* predict.h - time, memory, CPUs, power, energy and cost of a run on one device
 *
 * In: a resolved specification, its graph, a device and the constants of the white box.
 * Out: struct dn_estimate, every quantity with its median and the spread of its error,
 * the breakdown of a step, and a confidence. Never: what the user asked for, whether to
 * change it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PREDICT_H
#define DN_PREDICT_H

#include "base/limits.h"
#include "graph/graph.h"
#include "hardware/hardware.h"
#include "predict/constants.h"

/* How far measured values were from predicted ones, in units of the predicted spread:
 * quantiles of ln (measured / predicted) / sigma at ascending normal scores.
 */
struct dn_quantiles {
    int n;
    double scores[DN_LEVELS_MAX];
    double values[DN_LEVELS_MAX];
};

/* A positive quantity known up to a factor: median p50 and the spread 'sigma' of its
 * natural logarithm, normal unless 'quantiles' tell better. They are borrowed of the
 * bundle, and live as long as the site.
 */
struct dn_range {
    double p50;
    double sigma;
    const struct dn_quantiles *quantiles; /* NULL: the normal law */
};

/* The value that the quantity stays below with probability 'quantile' (0..1). */
double dn_range_at (struct dn_range range, double quantile);

/* The standard normal quantile. */
double dn_normal_score (double quantile);

/* Where the time of one optimizer step goes, seconds on one device. The stages overlap:
 * their sum is not the step.
 */
enum dn_stage {
    DN_STAGE_FORWARD,
    DN_STAGE_BACKWARD_DATA,   /* gradients of activations */
    DN_STAGE_BACKWARD_WEIGHT, /* gradients of parameters */
    DN_STAGE_RECOMPUTE,       /* forward again, under checkpointing */
    DN_STAGE_OPTIMIZER,
    DN_STAGE_COMMUNICATION, /* all of it */
    DN_STAGE_EXPOSED,       /* the part of it that nothing hides */
    DN_STAGE_INPUT,         /* the loader's time for one step's samples */
    DN_STAGE_HOST,          /* fixed host time of a step */
    DN_N_STAGES
};

extern const struct dn_names dn_stage_names;

/* What fills the GPU's memory at its peak, bytes on one device. Gradients and buckets
 * are not there yet when activations peak: what they take over counts as theirs.
 */
enum dn_memory_class {
    DN_MEMORY_WEIGHTS,
    DN_MEMORY_GRADIENTS,
    DN_MEMORY_OPTIMIZER,
    DN_MEMORY_ACTIVATIONS,
    DN_MEMORY_WORKSPACE,
    DN_MEMORY_BUCKETS, /* communication */
    DN_MEMORY_CONTEXT, /* of the driver and the framework's kernels */
    DN_MEMORY_SLACK,   /* rounding and fragmentation of the allocator */
    DN_N_MEMORY_CLASSES
};

extern const struct dn_names dn_memory_class_names;

struct dn_estimate {
    const struct dn_device *device;
    bool supported;         /* the device can run this precision */
    bool fits;              /* median memory is within the device's */
    struct dn_range step_s; /* wall time of one optimizer step of the whole job */
    double stage_s[DN_N_STAGES];
    double n_steps;          /* of the run; -1 when the amount of work is unknown */
    struct dn_range train_s; /* of the run; p50 -1 when unknown */
    struct dn_range gpu_mem; /* bytes on one device */
    double memory[DN_N_MEMORY_CLASSES];
    double host_mem;      /* bytes per node */
    int64_t cpus_per_gpu; /* the fewest that do not slow the step; DN_UNSET unknown */
    double power_w;       /* mean board power */
    double energy_j;      /* of the run, all devices; -1 when unknown */
    double samples_per_s; /* of the whole job */
    double confidence;    /* 0..1 */
    double known;         /* share of the learned residual that counts, 0 without one */
    const char *bundle;   /* the name of the bundle, borrowed of it; NULL without one */
    double white_step_s;  /* step_s.p50 of the shipped white box alone */
    double site;          /* factor on it by the site's own runs, 1 without any */
};

/* Predict the run of 'graph' as 'spec' describes it on 'device'. Cannot fail: what
 * cannot be told is said in the estimate.
 */
void dn_predict (const struct dn_constants *constants,
                 const struct dn_spec *spec,
                 const struct dn_graph *graph,
                 const struct dn_device *device,
                 double cpus_per_gpu,
                 struct dn_estimate *estimate);

/* Seconds of a run whose steps take 'step_s', that works 'start_s' before its steps are
 * steady and turns to a new epoch so many times; -1 when the amount of work is unknown.
 */
double dn_run_seconds (const struct dn_constants *constants,
                       const struct dn_spec *spec,
                       double step_s,
                       double start_s,
                       double epoch_starts);

/* What holds work up. The first three are of operators as well, all of a step. */
enum dn_bottleneck {
    DN_BOTTLENECK_UNKNOWN,
    DN_BOTTLENECK_COMPUTE,   /* arithmetic */
    DN_BOTTLENECK_BANDWIDTH, /* traffic with the device's memory */
    DN_BOTTLENECK_LAUNCH,    /* kernels too short: their start, on device or host */
    DN_BOTTLENECK_HOST,      /* work of the host around the kernels */
    DN_BOTTLENECK_INPUT,     /* loaders */
    DN_BOTTLENECK_NETWORK    /* communication that nothing hides */
};

extern const struct dn_names dn_bottleneck_names;

/* One operator of a graph with its repetitions in one optimizer step, as the stages of
 * the step count it: over all operators forward_s, backward_data_s, backward_weight_s
 * and recompute_s add up to these stages. Their sum is compute_s + memory_s + fixed_s.
 */
struct dn_op_time {
    double forward_s;
    double backward_data_s;
    double backward_weight_s;
    double recompute_s;
    double compute_s;
    double memory_s;
    double fixed_s; /* least time of kernels, and of those that wait for one another */
    double host_s;  /* the host launches them meanwhile */
    double flops;   /* of products, all directions */
    double bytes;   /* moved, all directions */
    enum dn_bottleneck bottleneck;
};

/* Where the time of a step goes, by operator: fill 'times', an entry per operator of
 * 'graph', in its order.
 */
void dn_predict_operators (const struct dn_constants *constants,
                           const struct dn_spec *spec,
                           const struct dn_graph *graph,
                           const struct dn_device *device,
                           struct dn_op_time times[]);

/* Seconds on the device of one operator, all directions. */
double dn_op_seconds (const struct dn_op_time *time);

/* Add 'time' to 'sum' (zeroed at first) and judge again what holds the sum up. */
void dn_op_add (struct dn_op_time *sum, const struct dn_op_time *time);

/* What the step that was estimated spends most of its time on. */
enum dn_bottleneck dn_step_bottleneck (const struct dn_estimate *estimate,
                                       const struct dn_op_time times[],
                                       int n_times);

/* Cost of the run at 'cost_per_hour' and device, or -1 when its time is unknown. */
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

/* Grams of CO2 for the energy of a run, with the data centre's overhead 'pue' (at least
 * 1) and the grid's 'g_per_kwh'; -1 when the energy or the intensity is unknown (< 0).
 */
double dn_estimate_carbon_g (double energy_j, double pue, double g_per_kwh);

/* How many times longer kernels take on 'device' when its board may only draw
 * 'power_limit' watts; 1 at the board's own limit and where none is given.
 */
double dn_power_slowdown (const struct dn_constants *constants,
                          const struct dn_device *device,
                          int64_t power_limit);

/* The largest batch per GPU whose memory, with the share 'headroom' on top, stays below
 * the device's with probability 'quantile' (0.5: the median). 0 when not even one
 * sample fits. Gradient accumulation and all else stay as 'spec' has them; its own
 * batch does not matter. Costs some twenty predictions of the memory.
 */
int64_t dn_predict_largest_batch (const struct dn_constants *constants,
                                  const struct dn_spec *spec,
                                  const struct dn_graph *graph,
                                  const struct dn_device *device,
                                  double quantile,
                                  double headroom);

/* Samples per second of the whole job when each GPU has 'cpus_per_gpu' CPUs. */
double dn_predict_throughput (const struct dn_constants *constants,
                              const struct dn_spec *spec,
                              const struct dn_graph *graph,
                              const struct dn_device *device,
                              double cpus_per_gpu);

#endif
