/* translate.c - the time of a run, from a measured one of another configuration
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/translate.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Of ln (measured ratio / predicted ratio). */
struct spread {
    double sigma;
    double slope;
    double freedom;
    double fade;
};

static const struct spread spreads[DN_N_GAPS] = {
#define DN_GAP(NAME, sigma, slope, freedom, fade, help) {sigma, slope, freedom, fade},
#include "predict/translate.inc"
#undef DN_GAP
};

/* --- what differs ----------------------------------------------------------------- */

/* How much a step of the same network does on one device. */
static const size_t size_keys[] = {offsetof (struct dn_spec, batch),
                                   offsetof (struct dn_spec, global_batch),
                                   offsetof (struct dn_spec, grad_accum),
                                   offsetof (struct dn_spec, seq_len),
                                   offsetof (struct dn_spec, tgt_len),
                                   offsetof (struct dn_spec, mem_len),
                                   offsetof (struct dn_spec, image),
                                   offsetof (struct dn_spec, packing),
                                   offsetof (struct dn_spec, seq_mean)};

/* Groups of keys; what no row has does not change a step. */
static const struct {
    const char *group;
    enum dn_gap change;
} groups[] = {{"architecture", DN_GAP_OTHER},
              {"training", DN_GAP_OTHER},
              {"fine-tuning", DN_GAP_OTHER},
              {"attention", DN_GAP_OTHER},
              {"software", DN_GAP_OTHER},
              {"parallelism", DN_GAP_GPUS},
              {"input", DN_GAP_OTHER},
              {"device", DN_GAP_TYPE}};

static unsigned change_of (const struct dn_key *key)
{
    if (key->offset == offsetof (struct dn_spec, precision))
        return 1U << DN_GAP_PRECISION;
    for (size_t i = 0; i < DN_N_ELEMENTS (size_keys); i++)
        if (key->offset == size_keys[i])
            return 1U << DN_GAP_BATCH;
    for (size_t i = 0; i < DN_N_ELEMENTS (groups); i++)
        if (strcmp (key->group, groups[i].group) == 0)
            return 1U << groups[i].change;
    return 0;
}

/* The batch of a GPU and the number of GPUs say what that of the job is. */
static bool follows (const struct dn_key *key,
                     const struct dn_setting *measured,
                     const struct dn_setting *wanted)
{
    return key->offset == offsetof (struct dn_spec, global_batch)
           && measured->spec->batch > 0 && wanted->spec->batch > 0;
}

unsigned dn_changes_between (const struct dn_setting *measured,
                             const struct dn_setting *wanted)
{
    struct dn_keyset keys = dn_spec_differing (measured->spec, wanted->spec);
    const struct dn_key *key;
    unsigned found = 0;

    if (strcmp (measured->estimate->device->name, wanted->estimate->device->name) != 0)
        found |= 1U << DN_GAP_TYPE;
    for (int i = 0; (key = dn_spec_key_of (keys, i)); i++)
        if (!follows (key, measured, wanted))
            found |= change_of (key);
    return found;
}

struct dn_spec dn_spec_of_kin (const struct dn_spec *spec)
{
    const unsigned translated =
        1U << DN_GAP_BATCH | 1U << DN_GAP_PRECISION | 1U << DN_GAP_GPUS;
    struct dn_spec kin = dn_spec_of_application (spec);
    struct dn_keyset keys = dn_spec_given (&kin);
    const struct dn_key *key;

    for (int i = 0; (key = dn_spec_key_of (keys, i)); i++)
        if ((change_of (key) & translated) != 0)
            dn_spec_clear (&kin, key);
    return kin;
}

/* --- the law ---------------------------------------------------------------------- */

/* The sum of independent errors: its degrees of freedom are Satterthwaite's (Biometrics
 * Bulletin 2, 1946).
 */
struct sum {
    double variance;
    double squares; /* of the variances, over their degrees of freedom */
};

static void add (struct sum *sum, double sigma, double freedom)
{
    double variance = sigma * sigma;

    sum->variance += variance;
    sum->squares += variance * variance / freedom;
}

static void set_law (const struct sum *sum, struct dn_range *law)
{
    if (sum->squares <= 0)
        return;
    law->sigma = sqrt (sum->variance);
    law->quantiles = dn_student_law (
        (int) dn_min (sum->variance * sum->variance / sum->squares, 255));
}

/* --- the ratio -------------------------------------------------------------------- */

/* A V100 reaches more of its matrix units than an A100, also beside what the white box
 * says of that (work.c); H100, whose units fetch their operands themselves, as much.
 * Chosen with the pairs of tests/bench/one-run: from .2 to .25 the median error moves
 * from 13.1 to 12.7 % over all pairs of types, from 8.7 to 10.9 % of V100 and A100.
 */
#define CROWD 0.22

/* A measured step may be this much longer than predicted before the rest counts as work
 * of the host, or of a loader: an estimate by hand; 1.15 and 1.3 differ by 0.2 points.
 */
#define SLACK 1.15

/* Share of its work that does not wait for the host. */
static double device_share (const struct dn_estimate *estimate)
{
    const double *stage = estimate->stage_s;
    double work = stage[DN_STAGE_FORWARD] + stage[DN_STAGE_BACKWARD_DATA]
                  + stage[DN_STAGE_BACKWARD_WEIGHT] + stage[DN_STAGE_RECOMPUTE];

    return work > 0 ? work / (work + stage[DN_STAGE_HOST]) : 0;
}

/* FLOP/s of one of NVIDIA's multiprocessors, over those of A100's; 1 if unknown or of
 * faster matrix units.
 */
static double crowd (const struct dn_setting *setting)
{
    const struct dn_device *device = setting->estimate->device;
    const double of_matrix = 312e12 / 108;
    const double of_fp32 = 19.5e12 / 108;
    double sms = (double) device->sms;
    bool matrix;

    dn_device_peak (device, setting->spec->precision, &matrix);
    if (device->generation->number <= 0 || sms <= 0)
        return 1;
    return matrix ? dn_min (device->fp16 / of_matrix / sms, 1)
                  : device->fp32 / of_fp32 / sms;
}

/* ln of the factor on a step's time on that device. */
static double crowding (const struct dn_setting *setting)
{
    return CROWD * device_share (setting->estimate) * log (crowd (setting));
}

static bool is_known (const struct dn_setting *setting)
{
    return !setting->estimate->by_history && setting->estimate->step_s.p50 > 0;
}

/* Share of its predicted step that is left where no data are waited for. */
static double free_share (const struct dn_estimate *estimate)
{
    const double *stage = estimate->stage_s;
    double device = 0;
    double bound;

    for (int i = DN_STAGE_FORWARD; i <= DN_STAGE_OPTIMIZER; i++)
        device += stage[i];
    device = dn_max (device, stage[DN_STAGE_HOST]);
    bound = pow (pow (device, 4) + pow (stage[DN_STAGE_INPUT], 4), 0.25); /* step.c */
    return device > 0
               ? (device + stage[DN_STAGE_EXPOSED]) / (bound + stage[DN_STAGE_EXPOSED])
               : 1;
}

/* Wanted over measured seconds of a step; not positive if one is unknown. */
static double step_ratio (const struct dn_setting *measured,
                          const struct dn_setting *wanted)
{
    double ratio;

    if (!is_known (measured) || !is_known (wanted))
        return -1;
    ratio = wanted->estimate->step_s.p50 / measured->estimate->step_s.p50;
    if (strcmp (measured->estimate->device->name, wanted->estimate->device->name) != 0)
        ratio *= exp (crowding (wanted) - crowding (measured));
    return ratio;
}

double dn_free_ratio (const struct dn_setting *measured,
                      const struct dn_setting *wanted)
{
    double ratio = step_ratio (measured, wanted);

    return ratio > 0
               ? ratio * free_share (wanted->estimate) / free_share (measured->estimate)
               : ratio;
}

/* The larger one, if the measured run may be bound by its device. */
static double safe_ratio (const struct dn_setting *measured,
                          const struct dn_setting *wanted)
{
    double ratio = step_ratio (measured, wanted);

    return measured->unbound ? dn_max (ratio, dn_free_ratio (measured, wanted)) : ratio;
}

/* Samples of a step of the wanted run over those of the measured one. */
static double samples_ratio (const struct dn_setting *measured,
                             const struct dn_setting *wanted)
{
    const struct dn_estimate *from = measured->estimate;
    const struct dn_estimate *to = wanted->estimate;

    return to->samples_per_s * to->step_s.p50
           / (from->samples_per_s * from->step_s.p50);
}

/* The ratio for a measured step of 'step_s'. What it took longer than predicted is in
 * equal parts work of the host, which stays, and of the device. Of the rest of the
 * level's error a part is that of the device and the precision (translate.inc); up to
 * twice, so that a slower device is never predicted to be faster.
 */
static DN_COLD double carried_ratio (double step_s,
                                     const struct dn_setting *measured,
                                     const struct dn_setting *wanted)
{
    double ratio = safe_ratio (measured, wanted);
    double predicted = measured->estimate->step_s.p50;
    unsigned found = dn_changes_between (measured, wanted);
    double fade = 0;
    double surplus;
    double level;
    double far;

    for (int i = 0; i < DN_N_GAPS; i++)
        fade += (found & 1U << i) != 0 ? spreads[i].fade : 0;
    if (ratio <= 0 || fade <= 0 || step_s <= 0)
        return ratio;
    far = dn_min (fabs (log (ratio / samples_ratio (measured, wanted))), 1);
    surplus = dn_max (step_s - SLACK * predicted, 0) / step_s;
    ratio = sqrt (ratio * ((1 - surplus) * ratio + surplus));
    level = dn_min (dn_max (step_s / predicted, 0.5), 2);
    return ratio * pow (level, -fade * far);
}

/* How far apart they are in what differs. */
static double distance (enum dn_gap change,
                        const struct dn_setting *measured,
                        const struct dn_setting *wanted)
{
    double gpus = dn_max ((double) wanted->spec->gpus, 1)
                  / dn_max ((double) measured->spec->gpus, 1);
    double batch = samples_ratio (measured, wanted) / gpus;
    double step = wanted->estimate->step_s.p50 / measured->estimate->step_s.p50;

    if (change == DN_GAP_GPUS)
        return fabs (log (gpus));
    if (change == DN_GAP_BATCH && fabs (log (batch)) > 1e-6)
        return fabs (log (batch));
    return fabs (log (step));
}

static void add_changes (struct sum *sum,
                         const struct dn_setting *measured,
                         const struct dn_setting *wanted)
{
    unsigned found = dn_changes_between (measured, wanted);

    for (int i = 0; i < DN_N_GAPS; i++)
        if ((found & 1U << i) != 0)
            add (sum,
                 hypot (spreads[i].sigma,
                        spreads[i].slope * distance (i, measured, wanted)),
                 spreads[i].freedom);
}

struct dn_range dn_translate_step (double step_s,
                                   const struct dn_setting *measured,
                                   const struct dn_setting *wanted)
{
    double ratio = carried_ratio (step_s, measured, wanted);
    struct dn_range law = {.p50 = -1};
    struct sum sum = {0, 0};

    if (ratio <= 0 || step_s <= 0)
        return law;
    law.p50 = step_s * ratio;
    add_changes (&sum, measured, wanted);
    set_law (&sum, &law);
    return law;
}

/* Measured seconds of a step; 0 if the row's unit does not tell. */
static double row_step (const struct dn_app_row *row, const struct dn_setting *measured)
{
    if (row->unit == DN_WORK_STEPS)
        return (double) row->unit_s;
    if (row->unit == DN_WORK_PREDICTED)
        return (double) row->unit_s * measured->estimate->step_s.p50;
    return 0;
}

struct dn_range dn_learned_translate (const struct dn_app_row *row,
                                      double work,
                                      const struct dn_setting *measured,
                                      const struct dn_setting *wanted)
{
    double ratio = carried_ratio (row_step (row, measured), measured, wanted);
    struct dn_app_row there = *row;
    struct dn_range law = {.p50 = -1};
    struct sum sum = {0, 0};

    if (ratio <= 0 || work <= 0)
        return law;
    if (row->unit != DN_WORK_STEPS)
        ratio /= samples_ratio (measured, wanted);
    if (row->unit == DN_WORK_PREDICTED)
        work /= ratio; /* as seconds on the measured device */
    there.unit_s = (float) ((double) row->unit_s * ratio);
    there.longest_s =
        (float) (dn_min ((double) row->start_s, (double) row->longest_s)
                 + dn_max ((double) row->longest_s - (double) row->start_s, 0) * ratio);
    law = dn_app_row_law (&there, work);
    add (&sum, law.sigma, row->freedom);
    add_changes (&sum, measured, wanted);
    set_law (&sum, &law);
    return law;
}
