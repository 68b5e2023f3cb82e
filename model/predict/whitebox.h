/* whitebox.h - time, memory, CPUs, power and energy of a run on one device, by formulas
 *
 * In: a case. Out: struct dn_estimate from the constants alone, the breakdown of a step
 * by operator, the largest batch. It uses neither the learned residual (predict.h) nor
 * the request of the user.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_WHITEBOX_H
#define DN_WHITEBOX_H

#include "graph/graph.h"
#include "predict/constants.h"
#include "predict/estimate.h"

/* A run on a device. All is borrowed. */
struct dn_case {
    const struct dn_constants *constants;
    const struct dn_spec *spec; /* resolved */
    const struct dn_graph *graph;
    const struct dn_device *device;
    double cpus_per_gpu; /* of the job; <= 0 unknown */
};

/* Estimate a case. Cannot fail: unknown values are marked as such in the estimate. */
void dn_whitebox (const struct dn_case *c, struct dn_estimate *estimate);

/* Estimate a case on each of 'n' devices, at least one; its own is ignored. 'sheets'
 * (NULL: not wanted) gets the same by their data sheets, without measured rates. What
 * does not depend on the device is computed once. When the deadline passes meanwhile,
 * the estimates are unusable. -1 with 'err' without memory.
 */
int dn_whitebox_all (const struct dn_case *c,
                     const struct dn_device *const devices[],
                     int n,
                     const struct dn_deadline *deadline,
                     struct dn_estimate estimates[],
                     struct dn_estimate sheets[],
                     struct dn_err *err);

/* Samples per second of the whole job. */
double dn_whitebox_throughput (const struct dn_case *c);

/* The largest batch per GPU whose memory, with the share 'headroom' on top, stays below
 * the device's with probability 'quantile' (0.5: the median). 0 when not even one
 * sample fits. All else, such as gradient accumulation, is as in the case; its batch is
 * ignored. The cost is about twenty estimates of the memory.
 */
int64_t dn_whitebox_largest_batch (const struct dn_case *c,
                                   double quantile,
                                   double headroom);

/* The keys that were given and that the estimate of a case does not depend on: those of
 * the network that its graph does not read, and those of the training that may still
 * change the time. device NULL: any.
 */
struct dn_keyset dn_unread_keys (const struct dn_case *c);

/* The part of the step's variance that comes from assumed facts, and from what the
 * white box models poorly. With a learned residual ('learned') the distance from the
 * training runs covers the latter better. Of the estimate of the case, its unread keys
 * count.
 */
double dn_whitebox_doubt (const struct dn_case *c,
                          const struct dn_estimate *estimate,
                          bool learned);

/* How many times longer kernels take on 'device' when its board may only draw
 * 'power_limit' watts; 1 at the board's own limit or without a limit.
 */
double dn_power_slowdown (const struct dn_constants *constants,
                          const struct dn_device *device,
                          int64_t power_limit);

/* What limits the speed of work. The first three apply to operators too, all of them to
 * a step.
 */
/* clang-format off */
#define DN_BOTTLENECKS(ROW)                                                            \
    ROW (BOTTLENECK_UNKNOWN, "unknown")                                                \
    ROW (BOTTLENECK_COMPUTE, "compute") /* arithmetic */                               \
    ROW (BOTTLENECK_BANDWIDTH, "bandwidth") /* traffic to the device's memory */       \
    /* start of kernels that are too short, on device or host */                       \
    ROW (BOTTLENECK_LAUNCH, "launch")                                                  \
    ROW (BOTTLENECK_HOST, "host") /* work of the host around the kernels */            \
    ROW (BOTTLENECK_INPUT, "input") /* loaders */                                      \
    ROW (BOTTLENECK_NETWORK, "network") /* communication that is not overlapped */
/* clang-format on */
DN_ENUM (dn_bottleneck, BOTTLENECKS);

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
    double
        fixed_s; /* minimum time of kernels, and of kernels that wait for one another */
    double host_s; /* to launch them, in parallel with the device */
    double flops;  /* of products, all directions */
    double bytes;  /* moved, all directions */
    enum dn_bottleneck bottleneck;
};

/* Where the time of a step goes, by operator: fill 'times', an entry per operator of
 * the graph, in its order.
 */
void dn_whitebox_operators (const struct dn_case *c, struct dn_op_time times[]);

/* Seconds on the device of one operator, all directions. */
double dn_op_seconds (const struct dn_op_time *time);

/* Add 'time' to 'sum' (zeroed at first) and determine the bottleneck of the sum again.
 */
void dn_op_add (struct dn_op_time *sum, const struct dn_op_time *time);

/* The bottleneck of the estimated step. */
enum dn_bottleneck dn_step_bottleneck (const struct dn_estimate *estimate,
                                       const struct dn_op_time times[],
                                       int n_times);

#endif
