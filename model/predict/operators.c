/* operators.c - what people read of an estimate: the time of a step by operator and its
 * bottleneck, names of the parts, price and carbon
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/work.h"

#include <math.h>

const struct dn_names dn_bottleneck_names = DN_NAMES_OF (BOTTLENECKS);
const struct dn_names dn_stage_names = DN_NAMES_OF (STAGES);
const struct dn_names dn_memory_class_names = DN_NAMES_OF (MEMORY_CLASSES);

double dn_op_seconds (const struct dn_op_time *time)
{
    return time->forward_s + time->backward_data_s + time->backward_weight_s
           + time->recompute_s;
}

/* The largest of the three parts of the device's time. */
static enum dn_bottleneck largest (double compute_s, double memory_s, double fixed_s)
{
    if (compute_s >= memory_s && compute_s >= fixed_s)
        return DN_BOTTLENECK_COMPUTE;
    return memory_s >= fixed_s ? DN_BOTTLENECK_BANDWIDTH : DN_BOTTLENECK_LAUNCH;
}

/* The device waits where the host takes longer to launch the kernels than they run. */
static enum dn_bottleneck find_bottleneck (const struct dn_op_time *time)
{
    if (dn_op_seconds (time) <= 0)
        return DN_BOTTLENECK_UNKNOWN;
    if (time->host_s > dn_op_seconds (time))
        return DN_BOTTLENECK_LAUNCH;
    return largest (time->compute_s, time->memory_s, time->fixed_s);
}

void dn_op_add (struct dn_op_time *sum, const struct dn_op_time *time)
{
    sum->forward_s += time->forward_s;
    sum->backward_data_s += time->backward_data_s;
    sum->backward_weight_s += time->backward_weight_s;
    sum->recompute_s += time->recompute_s;
    sum->compute_s += time->compute_s;
    sum->memory_s += time->memory_s;
    sum->fixed_s += time->fixed_s;
    sum->host_s += time->host_s;
    sum->flops += time->flops;
    sum->bytes += time->bytes;
    sum->bottleneck = find_bottleneck (sum);
}

/* Add the time of one kernel, or of equal ones. */
static void add_op_time (const struct dn_lane *lane,
                         const struct dn_op *op,
                         struct dn_op_time *sum)
{
    const struct dn_rates *r = &lane->rates;
    double seconds[DN_N_DIRECTIONS];
    struct dn_load load;
    double turns;

    dn_load_of (lane, op, &load);
    turns = dn_pipeline (&lane->setup, load.block, !load.block);
    for (int d = 0; d < DN_N_DIRECTIONS; d++) {
        const struct dn_amount *amount = &load.amount[d];
        struct dn_work work = dn_work_of (lane, &load, d);
        double all = d == DN_FORWARD && load.again ? 2 * turns : turns;
        double fixed = work.wait_s + work.launches * r->kernel_s;

        sum->compute_s += all * work.compute_s * r->slowdown;
        sum->memory_s += all * work.memory_s * r->slowdown;
        sum->fixed_s += all * fixed * r->slowdown;
        sum->host_s +=
            all * work.launches * r->launch_s * dn_host_copies (&lane->setup, d);
        sum->flops += all * amount->flops;
        sum->bytes += all * (amount->bytes + amount->unpacked + amount->moved);
        seconds[d] = turns * (work.compute_s + work.memory_s + fixed) * r->slowdown;
    }
    sum->forward_s += seconds[DN_FORWARD];
    sum->backward_data_s += seconds[DN_DATA];
    sum->backward_weight_s += seconds[DN_WEIGHT];
    sum->recompute_s += load.again ? seconds[DN_FORWARD] : 0;
}

void dn_whitebox_operators (const struct dn_case *c, struct dn_op_time times[])
{
    struct dn_lane lane = {.follows = false};

    dn_setup_init (&lane.setup, c, NULL);
    dn_rates_init (&lane.rates, &lane.setup);
    for (int i = 0; i < c->graph->n_ops; i++) {
        struct dn_op room[DN_PARTS_MAX];
        int n;
        const struct dn_op *parts = dn_parts_of (
            c->spec, c->device, lane.setup.share, &c->graph->ops[i], room, &n);

        times[i] = (struct dn_op_time){0};
        for (int j = 0; j < n; j++)
            add_op_time (&lane, &parts[j], &times[i]);
        times[i].bottleneck = find_bottleneck (&times[i]);
    }
}

enum dn_bottleneck dn_step_bottleneck (const struct dn_estimate *estimate,
                                       const struct dn_op_time times[],
                                       int n_times)
{
    const double *stage = estimate->stage_s;
    struct dn_op_time sum = {0};
    double device = 0;

    for (int i = DN_STAGE_FORWARD; i <= DN_STAGE_OPTIMIZER; i++)
        device += stage[i];
    if (stage[DN_STAGE_EXPOSED] > device
        && stage[DN_STAGE_EXPOSED] >= stage[DN_STAGE_INPUT]
        && stage[DN_STAGE_EXPOSED] >= stage[DN_STAGE_HOST])
        return DN_BOTTLENECK_NETWORK;
    if (stage[DN_STAGE_INPUT] > device && stage[DN_STAGE_INPUT] >= stage[DN_STAGE_HOST])
        return DN_BOTTLENECK_INPUT;
    if (stage[DN_STAGE_HOST] > device)
        return DN_BOTTLENECK_HOST;
    for (int i = 0; i < n_times; i++)
        dn_op_add (&sum, &times[i]);
    /* The optimizer's kernels are long and bound by memory traffic. */
    return largest (
        sum.compute_s, sum.memory_s + stage[DN_STAGE_OPTIMIZER], sum.fixed_s);
}

double dn_whitebox_throughput (const struct dn_case *c)
{
    struct dn_estimate estimate;

    dn_whitebox (c, &estimate);
    return estimate.samples_per_s;
}

struct dn_range dn_estimate_memory (const struct dn_estimate *estimate,
                                    enum dn_memory_count count)
{
    struct dn_range memory = estimate->gpu_mem;

    if (count >= DN_MEMORY_RESERVED)
        memory.p50 -= estimate->memory[DN_MEMORY_CONTEXT];
    if (count >= DN_MEMORY_ALLOCATED)
        memory.p50 -= estimate->memory[DN_MEMORY_SLACK];
    return memory;
}

double dn_estimate_price_performance (const struct dn_estimate *estimate,
                                      int64_t n_gpus,
                                      double cost_per_hour)
{
    if (cost_per_hour <= 0 || n_gpus < 1)
        return -1;
    return estimate->samples_per_s / ((double) n_gpus * cost_per_hour);
}

double dn_estimate_carbon_g (double energy_j, double g_per_kwh)
{
    const double joules_per_kwh = 3.6e6;

    if (energy_j < 0 || g_per_kwh < 0)
        return -1;
    return energy_j / joules_per_kwh * g_per_kwh;
}
