/* power.c - mean power of a board
 *
 * A board that works all the time draws what its chip needs up to its limit; one that
 * waits for the host draws a floor. The floor is high where the memory is on the board
 * (GDDR): its pins are clocked with or without data, as soon as a process holds the
 * device. The load of the kernels matters little: ResNet-50 and BERT differ by 3 % on
 * one board, batch 8 and batch 360 by 2 %. The share of time in which kernels run
 * matters, and it follows from the step's stages: a device that waits for the host, the
 * loader or other devices draws the floor. So does the share of the multiprocessors
 * that have work, which only recurrent layers leave idle for long. An energy per FLOP
 * and per byte (Choi et al., IPDPS 2013) did no better on these rows.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/work.h"

#include <math.h>

/* Is the memory on the board, not in the package? The catalogue does not state it, but
 * stacked memory has more bytes per FLOP. The data-centre generations have only stacked
 * memory.
 */
static bool is_memory_on_board (const struct dn_device *device)
{
    const double flops_per_byte = 21;

    if (device->generation->stacked_memory || device->bandwidth <= 0)
        return false;
    return device->fp32 / device->bandwidth > flops_per_byte;
}

/* Power of a device whose process only waits. */
static double floor_power (const struct dn_constants *k, const struct dn_device *device)
{
    double watts = k->power_floor * device->tdp_w;

    if (is_memory_on_board (device))
        watts += k->power_pin * device->bandwidth;
    return fmin (fmax (watts, device->idle_w), device->tdp_w);
}

/* Share of the multiprocessors that one time step of a recurrent layer keeps busy. Its
 * product has few rows, those of the batch, and the next one waits for it: the last
 * wave of tiles is never full. Those without a tile draw little.
 */
static double filled (const struct dn_setup *c, const struct dn_op *op)
{
    const double tile = 64;
    double sms = (double) c->device->sms;
    double rows = op->m * c->computed / op->steps;
    double tiles = ceil (rows / tile) * ceil (op->n / tile);

    return sms > 0 && tiles > 0 ? tiles / (ceil (tiles / sms) * sms) : 1;
}

/* The device's seconds of one pass that the stages count as work but draw little. */
struct hollow {
    double waits;    /* the minimum time of kernels, and waits of one for another */
    double unfilled; /* seconds of work times the share that stands idle meanwhile */
};

static void add_recurrence (const struct dn_setup *c,
                            const struct dn_op *op,
                            struct hollow *hollow)
{
    struct dn_rates rates;
    struct dn_turn turn;

    dn_rates_init (&rates, c);
    dn_turn_of (c, &rates, op, &turn);
    for (int d = 0; d < DN_N_DIRECTIONS; d++) {
        const struct dn_work *work = &turn.work[d];

        hollow->waits += rates.slowdown * work->wait_s;
        hollow->unfilled +=
            rates.slowdown * (work->compute_s + work->memory_s) * (1 - filled (c, op));
    }
}

static void add_hollow (const struct dn_setup *c,
                        const struct dn_op *op,
                        struct hollow *hollow)
{
    const double directions = 3;
    struct dn_op room[DN_PARTS_MAX];
    int n;
    const struct dn_op *parts =
        dn_parts_of (c->spec, c->device, c->share, op, room, &n);

    for (int i = 0; i < n; i++) {
        hollow->waits += directions * parts[i].repeat * dn_kernels_of (c, &parts[i])
                         * c->constants->kernel_s;
        if (parts[i].kind == DN_OP_RNN && parts[i].steps > 1)
            add_recurrence (c, &parts[i], hollow);
    }
}

/* Seconds of a step in which the device computes, and the share of the device that
 * does.
 */
static double work_time (const struct dn_setup *c,
                         const struct dn_estimate *estimate,
                         double *share)
{
    double passes = (double) c->spec->grad_accum / c->model_parallel;
    struct hollow hollow = {0, 0};
    double work = 0;

    *share = 1;
    for (int i = DN_STAGE_FORWARD; i <= DN_STAGE_OPTIMIZER; i++)
        work += estimate->stage_s[i];
    for (int i = 0; i < c->graph->n_ops; i++) {
        if (dn_time_is_up (c, i))
            return 0;
        add_hollow (c, &c->graph->ops[i], &hollow);
    }
    work = fmax (work - hollow.waits * passes, 0);
    if (work > 0)
        *share = 1 - fmin (hollow.unfilled * passes / work, 1);
    return fmin (work, estimate->step_s.p50);
}

static double mean_power (const struct dn_setup *c,
                          const struct dn_estimate *estimate,
                          double limit)
{
    const struct dn_constants *k = c->constants;
    const double directions = 3;
    bool matrix;
    double share;
    double floor = floor_power (k, c->device);
    double work = work_time (c, estimate, &share);
    double arithmetic = directions * c->graph->flops * c->batch
                        * (double) c->spec->grad_accum / c->model_parallel / c->context
                        / dn_device_peak (c->device, c->precision, &matrix);
    double intensity = work > 0 ? fmin (arithmetic / work, 1) : 0;
    double drawn =
        1 - exp (-pow (work / estimate->step_s.p50 / k->power_half, k->power_steep));

    return fmin (floor
                     + fmax (dn_full_power (k, c->device, intensity, limit) - floor, 0)
                           * share * drawn,
                 limit);
}

void dn_whitebox_power (const struct dn_setup *c, struct dn_estimate *estimate)
{
    double limit = c->device->tdp_w;

    if (c->spec->power_limit > 0)
        limit = fmin (limit, (double) c->spec->power_limit);
    estimate->power_w = mean_power (c, estimate, limit);
    estimate->power_w_p95 =
        fmin (dn_range_at ((struct dn_range){.p50 = estimate->power_w,
                                             .sigma = c->constants->sigma_power},
                           0.95),
              limit);
}
