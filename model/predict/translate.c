/* translate.c - the time of a run, from a measured one of another configuration
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/translate.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "predict/learned.h"

static const char *const change_text[DN_N_CHANGES] = {
#define DN_CHANGE_ROW(NAME, name, ...) #name,
#include "predict/translate.inc"
#undef DN_CHANGE_ROW
};

const struct dn_names dn_change_names = DN_NAMES (change_text, DN_N_CHANGES);

/* Of ln (measured ratio / predicted ratio). */
struct spread {
    double sigma;
    double freedom;
};

static const struct spread spreads[DN_N_CHANGES] = {
#define DN_CHANGE_ROW(NAME, name, sigma, freedom, help) {sigma, freedom},
#include "predict/translate.inc"
#undef DN_CHANGE_ROW
};

/* --- what differs ----------------------------------------------------------------- */

/* How much a step of the same network does on one device. */
static const size_t size_keys[] = {offsetof (struct dn_spec, batch),
                                   offsetof (struct dn_spec, global_batch),
                                   offsetof (struct dn_spec, grad_accum),
                                   offsetof (struct dn_spec, micro_batch),
                                   offsetof (struct dn_spec, seq_len),
                                   offsetof (struct dn_spec, tgt_len),
                                   offsetof (struct dn_spec, mem_len),
                                   offsetof (struct dn_spec, image),
                                   offsetof (struct dn_spec, packing),
                                   offsetof (struct dn_spec, seq_mean)};

/* Groups of keys; what no row has does not change a step. */
static const struct {
    const char *group;
    enum dn_change change;
} groups[] = {{"architecture", DN_CHANGE_OTHER},
              {"training", DN_CHANGE_OTHER},
              {"fine-tuning", DN_CHANGE_OTHER},
              {"attention", DN_CHANGE_OTHER},
              {"software", DN_CHANGE_OTHER},
              {"parallelism", DN_CHANGE_GPUS},
              {"input", DN_CHANGE_OTHER},
              {"device", DN_CHANGE_TYPE}};

static unsigned change_of (const struct dn_key *key)
{
    if (key->offset == offsetof (struct dn_spec, precision))
        return 1U << DN_CHANGE_PRECISION;
    for (size_t i = 0; i < DN_N_ELEMENTS (size_keys); i++)
        if (key->offset == size_keys[i])
            return 1U << DN_CHANGE_BATCH;
    for (size_t i = 0; i < DN_N_ELEMENTS (groups); i++)
        if (strcmp (key->group, groups[i].group) == 0)
            return 1U << groups[i].change;
    return 0;
}

unsigned dn_changes_between (const struct dn_setting *measured,
                             const struct dn_setting *wanted)
{
    struct dn_keyset keys = dn_spec_differing (measured->spec, wanted->spec);
    const struct dn_key *key;
    unsigned found = 0;

    if (strcmp (measured->estimate->device->name, wanted->estimate->device->name) != 0)
        found |= 1U << DN_CHANGE_TYPE;
    for (int i = 0; (key = dn_spec_key_of (keys, i)); i++)
        found |= change_of (key);
    return found;
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

static void add_changes (struct sum *sum, unsigned found)
{
    for (int i = 0; i < DN_N_CHANGES; i++)
        if ((found & 1U << i) != 0)
            add (sum, spreads[i].sigma, spreads[i].freedom);
}

static void set_law (const struct sum *sum, struct dn_range *law)
{
    if (sum->squares <= 0)
        return;
    law->sigma = sqrt (sum->variance);
    law->quantiles =
        dn_student_law ((int) fmin (sum->variance * sum->variance / sum->squares, 255));
}

/* Wanted over measured seconds of a step; not positive if one is unknown. */
static double step_ratio (const struct dn_setting *measured,
                          const struct dn_setting *wanted)
{
    double from = measured->estimate->step_s.p50;
    double to = wanted->estimate->step_s.p50;

    return !measured->estimate->by_history && !wanted->estimate->by_history && from > 0
                   && to > 0
               ? to / from
               : -1;
}

struct dn_range dn_translate_step (double step_s,
                                   const struct dn_setting *measured,
                                   const struct dn_setting *wanted)
{
    double ratio = step_ratio (measured, wanted);
    struct dn_range law = {.p50 = -1};
    struct sum sum = {0, 0};

    if (ratio <= 0 || step_s <= 0)
        return law;
    law.p50 = step_s * ratio;
    add_changes (&sum, dn_changes_between (measured, wanted));
    set_law (&sum, &law);
    return law;
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

struct dn_range dn_learned_translate (const struct dn_app_row *row,
                                      double work,
                                      const struct dn_setting *measured,
                                      const struct dn_setting *wanted)
{
    double ratio = step_ratio (measured, wanted);
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
        (float) (fmin ((double) row->start_s, (double) row->longest_s)
                 + fmax ((double) row->longest_s - (double) row->start_s, 0) * ratio);
    law = dn_learned_law (&there, work);
    add (&sum, law.sigma, row->freedom);
    add_changes (&sum, dn_changes_between (measured, wanted));
    set_law (&sum, &law);
    return law;
}
