/* operators.c - where the time of a step goes, by operator, and what holds it up
 *
 * The times are those of step.c; here they are only compared.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/stages.h"

static const char *const bottleneck_text[] = {
    [DN_BOTTLENECK_UNKNOWN] = "unknown",
    [DN_BOTTLENECK_COMPUTE] = "compute",
    [DN_BOTTLENECK_BANDWIDTH] = "bandwidth",
    [DN_BOTTLENECK_LAUNCH] = "launch",
    [DN_BOTTLENECK_HOST] = "host",
    [DN_BOTTLENECK_INPUT] = "input",
    [DN_BOTTLENECK_NETWORK] = "network",
};

const struct dn_names dn_bottleneck_names =
    DN_NAMES (bottleneck_text, DN_N_BOTTLENECKS);

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

/* The device waits where the host takes longer to launch the kernels than they last. */
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

void dn_whitebox_operators (const struct dn_case *c, struct dn_op_time times[])
{
    struct dn_setup setup;

    dn_setup_init (&setup, c);
    dn_step_operators (&setup, times);
    for (int i = 0; i < c->graph->n_ops; i++)
        times[i].bottleneck = find_bottleneck (&times[i]);
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
    /* The optimizer's kernels are long and do little but move. */
    return largest (
        sum.compute_s, sum.memory_s + stage[DN_STAGE_OPTIMIZER], sum.fixed_s);
}
