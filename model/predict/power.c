/* power.c - mean power of a board, and the slow-down by its limit
 *
 * A board that works all the time draws what its chip needs up to its limit; one that
 * waits for the host draws a floor, Idle= of the catalogue. The floor is high where the
 * memory is on the board (GDDR): its pins are clocked with or without data, as soon as
 * a process holds the device. The load of the kernels matters little: ResNet-50 and
 * BERT differ by 3 % on one board, batch 8 and batch 360 by 2 %. The share of time in
 * which kernels run matters, and it follows from the step's stages: a device that waits
 * for the host, the loader or other devices draws the floor. So does the share of the
 * multiprocessors that have work, which only recurrent layers leave idle for long. An
 * energy per FLOP and per byte (Choi et al., IPDPS 2013) did no better on these rows.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/stages.h"

#include <math.h>

/* Watts of a device that computes all the time with the share 'intensity' of its
 * arithmetic: the demand of the chip, regulated to the limit. The transition is smooth,
 * since the demand varies within a step.
 */
static double full_power (const struct dn_constants *k,
                          const struct dn_device *device,
                          double intensity,
                          double limit)
{
    const double sharpness = 6;
    double demand = device->tdp_w * (k->power_traffic + k->power_work * intensity)
                    * (device->generation->low_power ? k->power_old : 1);
    double regulated = limit * k->power_regulated;

    if (demand <= 0 || regulated <= 0)
        return 0;
    return demand / pow (1 + pow (demand / regulated, sharpness), 1 / sharpness);
}

double dn_power_slowdown (const struct dn_constants *constants,
                          const struct dn_device *device,
                          int64_t power_limit)
{
    const double usual = 0.6; /* share of the arithmetic that training reaches */
    double lack;

    if (power_limit <= 0 || (double) power_limit >= device->tdp_w)
        return 1;
    lack = full_power (constants, device, usual, device->tdp_w)
               / full_power (constants, device, usual, (double) power_limit)
           - 1;
    return 1 + constants->power_slow * lack
           + constants->power_slow_deep * lack * lack * lack;
}

/* Power of a device whose process only waits. */
static double floor_power (const struct dn_constants *k, const struct dn_device *device)
{
    double watts = device->idle_w > 0 ? device->idle_w : k->power_floor * device->tdp_w;

    return dn_min (watts, device->tdp_w);
}

/* Seconds of a step in which the device computes, and the share of the device that
 * does.
 */
static double work_time (const struct dn_setup *c,
                         const struct dn_hollow *hollow,
                         const struct dn_estimate *estimate,
                         double *share)
{
    double passes = (double) c->spec->grad_accum / c->model_parallel;
    double work = 0;

    *share = 1;
    for (int i = DN_STAGE_FORWARD; i <= DN_STAGE_OPTIMIZER; i++)
        work += estimate->stage_s[i];
    work = dn_max (work - hollow->waits * passes, 0);
    if (work > 0)
        *share = 1 - dn_min (hollow->unfilled * passes / work, 1);
    return dn_min (work, estimate->step_s.p50);
}

static double mean_power (const struct dn_setup *c,
                          const struct dn_hollow *hollow,
                          const struct dn_estimate *estimate,
                          double limit)
{
    const struct dn_constants *k = c->constants;
    const double directions = 3;
    bool matrix;
    double share;
    double floor = floor_power (k, c->device);
    double work = work_time (c, hollow, estimate, &share);
    double arithmetic = (directions * c->graph->flops + c->graph->others) * c->batch
                        * (double) c->spec->grad_accum / c->model_parallel / c->context
                        / dn_device_peak (c->device, c->precision, &matrix);
    double intensity = work > 0 ? dn_min (arithmetic / work, 1) : 0;
    double drawn =
        1 - exp (-pow (work / estimate->step_s.p50 / k->power_half, k->power_steep));

    return dn_min (floor
                       + dn_max (full_power (k, c->device, intensity, limit) - floor, 0)
                             * share * drawn,
                   limit);
}

void dn_whitebox_power (const struct dn_setup *c,
                        const struct dn_hollow *hollow,
                        struct dn_estimate *estimate)
{
    double limit = c->device->tdp_w;

    if (c->spec->power_limit > 0)
        limit = dn_min (limit, (double) c->spec->power_limit);
    estimate->power_w = mean_power (c, hollow, estimate, limit);
    estimate->power_w_p95 =
        dn_min (dn_range_at ((struct dn_range){.p50 = estimate->power_w,
                                               .sigma = c->constants->sigma_power},
                             0.95),
                limit);
}
