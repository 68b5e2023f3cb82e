/* estimate.c - names of an estimate's parts, and cost and carbon from it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/estimate.h"

#include <math.h>

static const char *const stage_text[] = {
    [DN_STAGE_FORWARD] = "forward",
    [DN_STAGE_BACKWARD_DATA] = "backward_data",
    [DN_STAGE_BACKWARD_WEIGHT] = "backward_weight",
    [DN_STAGE_RECOMPUTE] = "recompute",
    [DN_STAGE_OPTIMIZER] = "optimizer",
    [DN_STAGE_COMMUNICATION] = "communication",
    [DN_STAGE_EXPOSED] = "exposed_communication",
    [DN_STAGE_INPUT] = "input",
    [DN_STAGE_HOST] = "host",
};
static const char *const memory_text[] = {
    [DN_MEMORY_WEIGHTS] = "weights",
    [DN_MEMORY_GRADIENTS] = "gradients",
    [DN_MEMORY_OPTIMIZER] = "optimizer",
    [DN_MEMORY_ACTIVATIONS] = "activations",
    [DN_MEMORY_WORKSPACE] = "workspace",
    [DN_MEMORY_BUCKETS] = "buckets",
    [DN_MEMORY_CONTEXT] = "context",
    [DN_MEMORY_SLACK] = "slack",
};

static const char *const memory_kind_text[] = {
    [DN_MEMORY_KIND_IMAGES] = "images",
    [DN_MEMORY_KIND_DENSE] = "dense",
    [DN_MEMORY_KIND_DETECTORS] = "detectors",
    [DN_MEMORY_KIND_ATTENTION] = "attention",
    [DN_MEMORY_KIND_TUNED] = "tuned",
    [DN_MEMORY_KIND_SPLIT] = "split",
    [DN_MEMORY_KIND_OTHER] = "other",
};

const struct dn_names dn_memory_kind_names =
    DN_NAMES (memory_kind_text, DN_N_MEMORY_KINDS);
const struct dn_names dn_stage_names = DN_NAMES (stage_text, DN_N_STAGES);
const struct dn_names dn_memory_class_names =
    DN_NAMES (memory_text, DN_N_MEMORY_CLASSES);

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

bool dn_estimate_surely_fits (const struct dn_estimate *estimate)
{
    return estimate->fits
           && dn_range_at (estimate->gpu_mem, 0.95) <= estimate->device->memory;
}

double dn_estimate_time (const struct dn_estimate *estimate)
{
    return estimate->train_s.p50 < 0 ? estimate->step_s.p50 : estimate->train_s.p50;
}

double dn_estimate_cost (const struct dn_estimate *estimate,
                         int64_t n_gpus,
                         double cost_per_hour)
{
    if (estimate->train_s.p50 < 0)
        return -1;
    return estimate->train_s.p50 / 3600 * (double) n_gpus * cost_per_hour;
}

double dn_estimate_price_performance (const struct dn_estimate *estimate,
                                      int64_t n_gpus,
                                      double cost_per_hour)
{
    if (cost_per_hour <= 0 || n_gpus < 1)
        return -1;
    return estimate->samples_per_s / ((double) n_gpus * cost_per_hour);
}

double dn_estimate_carbon_g (double energy_j, double pue, double g_per_kwh)
{
    const double joules_per_kwh = 3.6e6;

    if (energy_j < 0 || g_per_kwh < 0)
        return -1;
    return energy_j / joules_per_kwh * fmax (pue, 1) * g_per_kwh;
}
