/* calibrate.c - correct the predictions of all devices by a measurement on one
 *
 * On the measured device the measurement is used, and the model adds only what was not
 * measured. For another device the prediction is scaled by a part of ln (measured /
 * predicted), the part that the application has in common on both. That part was fitted
 * to the runs of learn/data/training_runs.csv in which one source measured the same
 * specification on several devices: 0.85 of the logarithm
 * if both have the same chip, else 0.36. In the second case it varies between sources
 * from 0.15 to 0.83. So 0.3 of the measured logarithm is added to the spread, which
 * never gets smaller than the model's.
 *
 * A CPU's libraries have nothing in common with a GPU's. A measurement on one is used
 * for the other only for the time that the program takes to start.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/calibrate.h"
#include "hardware/gpu_names.h"

#include <math.h>

static const char *const basis_text[] = {
    [DN_BASIS_UNKNOWN] = "unknown",
    [DN_BASIS_MEASURED] = "measured",
    [DN_BASIS_CHIP] = "same chip",
    [DN_BASIS_SCALED] = "scaled",
    [DN_BASIS_MODEL] = "model",
};

const struct dn_names dn_basis_names = DN_NAMES (basis_text, DN_N_BASES);

/* The part of the logarithm that carries over, and the part of it that may be wrong. */
static const struct carry {
    double part;
    double doubt;
} carries[] = {
    [DN_BASIS_CHIP] = {0.85, 0.15},
    [DN_BASIS_SCALED] = {0.36, 0.30},
};

/* A smaller share of the step that waits for data is no bottleneck. */
#define STALL_MIN 0.05

/* The maximum confidence if a CPU was measured and a GPU is requested. */
#define CONFIDENCE_UNSEEN 0.1

/* Relative error of memory and power as read from the driver. */
#define SIGMA_READ 0.05

static bool is_cpu (const struct dn_device *device)
{
    return device->generation->host;
}

static enum dn_basis basis_of (const struct dn_probed *measured,
                               const struct dn_device *device)
{
    if (!measured->device || is_cpu (measured->device) != is_cpu (device))
        return DN_BASIS_MODEL;
    if (measured->device == device)
        return DN_BASIS_MEASURED;
    return dn_device_same_chip (measured->device, device) ? DN_BASIS_CHIP
                                                          : DN_BASIS_SCALED;
}

static void set_step (struct dn_estimate *estimate, double step_s)
{
    double factor = step_s / estimate->step_s.p50;

    /* it is unknown which stage was wrong, so their shares are kept */
    for (int i = 0; i < DN_N_STAGES; i++)
        estimate->stage_s[i] *= factor;
    estimate->step_s.p50 = step_s;
}

static void take_measured (const struct dn_probed *measured,
                           struct dn_estimate *estimate)
{
    set_step (estimate, measured->step_s);
    estimate->step_s.sigma = measured->sigma;
    estimate->step_s.quantiles = NULL;
    estimate->confidence = measured->confidence;
    if (measured->gpu_mem > 0) {
        estimate->gpu_mem =
            (struct dn_range){.p50 = measured->gpu_mem, .sigma = SIGMA_READ};
        estimate->fits = true;
    }
    if (measured->power_w > 0)
        estimate->power_w = measured->power_w;
}

/* Loaders are not faster on a faster device. Data loaded between steps add to the step
 * time; loaders that run in parallel set its minimum.
 */
static double with_stall (const struct dn_probed *measured, double device_s)
{
    if (measured->stall_s < STALL_MIN * measured->step_s)
        return device_s;
    if (measured->serial)
        return device_s + measured->stall_s;
    return fmax (device_s, measured->step_s);
}

static void move (const struct dn_probed *measured,
                  const struct dn_estimate *own,
                  const struct carry *carry,
                  struct dn_estimate *estimate)
{
    double stall = measured->stall_s < STALL_MIN * measured->step_s
                       ? 0
                       : fmin (measured->stall_s, 0.99 * measured->step_s);
    double off = log ((measured->step_s - stall) / own->step_s.p50);
    double sigma = estimate->step_s.sigma;

    set_step (estimate,
              with_stall (measured, estimate->step_s.p50 * exp (carry->part * off)));
    estimate->step_s.sigma = sqrt (sigma * sigma + pow (carry->doubt * off, 2)
                                   + pow (carry->part * measured->sigma, 2));
}

/* Recompute what depends on the step time and on the measured start. */
static void follow (const struct dn_probed *measured,
                    const struct dn_constants *constants,
                    const struct dn_spec *spec,
                    struct dn_estimate *estimate)
{
    bool started = measured->start_s >= 0;
    double epochs = spec->epochs > 0 ? spec->epochs : 1;
    double p50 = dn_run_seconds (constants,
                                 spec,
                                 estimate->step_s.p50,
                                 started ? measured->start_s : constants->start_s,
                                 /* the measured start includes the first epoch's */
                                 started ? fmax (epochs - 1, 0) : epochs);

    estimate->samples_per_s = (double) spec->global_batch / estimate->step_s.p50;
    estimate->train_s = estimate->step_s;
    estimate->train_s.p50 = p50;
    estimate->energy_j = p50 < 0 ? -1 : p50 * estimate->power_w * (double) spec->gpus;
}

enum dn_basis dn_calibrate (const struct dn_probed *measured,
                            const struct dn_constants *constants,
                            const struct dn_spec *spec,
                            const struct dn_estimate *own,
                            struct dn_estimate *estimate)
{
    enum dn_basis basis = basis_of (measured, estimate->device);

    if (!estimate->supported && basis != DN_BASIS_MEASURED)
        return DN_BASIS_MODEL;
    estimate->supported = true; /* it has run */
    if (basis == DN_BASIS_MEASURED)
        take_measured (measured, estimate);
    else if (basis != DN_BASIS_MODEL)
        move (measured, own, &carries[basis], estimate);
    else if (measured->device && is_cpu (measured->device))
        estimate->confidence = fmin (estimate->confidence, CONFIDENCE_UNSEEN);
    follow (measured, constants, spec, estimate);
    return basis;
}
