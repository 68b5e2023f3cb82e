/* learned.c - the estimate of an application that has run before
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/learned.h"

#include <math.h>
#include <string.h>

/* How far outside the work of the runs, as a factor, the law is used. */
#define FAR 10

/* CPUs above those that were busy on average. */
#define CPU_PEAKS 1.25

/* Spread of the memory of equal runs: the bound of 95 % is a tenth above it. */
#define MEMORY_SIGMA 0.058

/* The same where it was measured on another type: contexts and kernels' workspaces
 * differ.
 */
#define MEMORY_OTHER_SIGMA 0.12

static bool is_whole (double value)
{
    return value >= 1 && value == floor (value);
}

bool dn_learned_counted (const struct dn_spec *spec)
{
    return spec->epochs > 0 || spec->steps > 0 || spec->tokens > 0;
}

/* The work of a run in that unit, not positive if it is unknown. */
static double work_in (enum dn_work_unit unit,
                       const struct dn_spec *spec,
                       double base_s)
{
    double runs = dn_spec_runs (spec);

    switch (unit) {
    case DN_WORK_RUN:
        return dn_learned_counted (spec) ? -1 : 1;
    case DN_WORK_EPOCHS:
        return is_whole (spec->epochs) ? spec->epochs * runs : -1;
    case DN_WORK_STEPS:
        return spec->steps > 0 ? (double) spec->steps * runs : -1;
    case DN_WORK_PREDICTED:
        return base_s;
    case DN_N_WORK_UNITS:
        break;
    }
    return -1;
}

enum dn_work_unit dn_learned_work (const struct dn_spec *spec,
                                   double base_s,
                                   double *work)
{
    static const enum dn_work_unit order[] = {
        DN_WORK_PREDICTED, DN_WORK_EPOCHS, DN_WORK_STEPS};

    for (size_t i = 0; i < DN_N_ELEMENTS (order); i++) {
        *work = work_in (order[i], spec, base_s);
        if (*work > 0)
            return order[i];
    }
    *work = 1;
    return DN_WORK_RUN;
}

struct dn_estimate dn_learned_begin (const struct dn_device *device)
{
    return (struct dn_estimate){.device = device,
                                .by_history = true,
                                .supported = true,
                                .fits = true,
                                .step_s = {.p50 = -1},
                                .train_s = {.p50 = -1},
                                .base_s = -1,
                                .n_steps = -1,
                                .cpus_per_gpu = DN_UNSET,
                                .energy_j = -1};
}

/* Is what is predicted the unit of the row, and is the model another one? */
static bool is_stale (const struct dn_learner *learner, const struct dn_app_row *row)
{
    const char *bundle = learner->bundle ? learner->bundle : "";

    return row->unit == DN_WORK_PREDICTED
           && strcmp (bundle, learner->apps->bundle) != 0;
}

static double row_work (const struct dn_learner *learner,
                        const struct dn_app_row *row,
                        double base_s)
{
    return is_stale (learner, row)
               ? -1
               : work_in ((enum dn_work_unit) row->unit, learner->spec, base_s);
}

bool dn_learned_widen (const struct dn_app_row *others,
                       double work,
                       struct dn_range *law)
{
    struct dn_range theirs;
    double ratio;

    if (!others || !(work > 0) || dn_app_row_reach (others, work) > FAR)
        return false;
    theirs = dn_app_row_law (others, work);
    ratio = theirs.floor.ratio * theirs.p50 / law->p50;
    if (!(ratio > law->floor.ratio))
        return false;
    law->floor.ratio = ratio;
    return true;
}

static void scale (struct dn_estimate *estimate, double factor)
{
    estimate->step_s.p50 *= factor;
    estimate->train_s.p50 *= factor;
    estimate->samples_per_s /= factor;
    if (estimate->energy_j >= 0)
        estimate->energy_j *= factor;
}

static void set_time (const struct dn_learner *learner,
                      const struct dn_app_row *row,
                      const struct dn_app_row *others,
                      struct dn_estimate *estimate)
{
    double work = row_work (learner, row, estimate->base_s);
    double theirs = others ? row_work (learner, others, estimate->base_s) : 0;
    struct dn_range law;

    if (work <= 0 || dn_app_row_reach (row, work) > FAR
        || (estimate->by_history && row->runs < DN_LEARNED_RUNS_MIN))
        return;
    law = dn_app_row_law (row, work);
    estimate->history_shared = dn_learned_widen (others, theirs, &law);
    if (estimate->by_history)
        estimate->step_s = law;
    else if (estimate->base_s > 0)
        scale (estimate, law.p50 / estimate->base_s);
    estimate->train_s = law;
    estimate->history_runs = row->runs;
    estimate->confidence = dn_range_within (law, DN_CONFIDENCE_FACTOR);
}

/* By how much runs on other types took longer than predicted; at least 1. */
static double excess (const struct dn_learner *learner, dn_app_key key, double base_s)
{
    int64_t n;
    const struct dn_app_row *rows = dn_apps_all (learner->apps, key, &n);
    double most = 1;

    for (int64_t i = 0; i < n && base_s > 0; i++)
        if (rows[i].unit == DN_WORK_PREDICTED && !is_stale (learner, &rows[i])
            && dn_app_row_reach (&rows[i], base_s) <= FAR)
            most = dn_max (most, dn_app_row_time (&rows[i], base_s).p50 / base_s);
    return dn_min (most, DN_APP_TIME_MAX_S);
}

/* 'most': that a run on any type had. */
static void set_memory (const struct dn_learner *learner,
                        const struct dn_app_row *row,
                        double most,
                        struct dn_estimate *estimate)
{
    double here = row ? (double) row->gpu_mem_gb * DN_GIB : 0;
    struct dn_range *memory = &estimate->gpu_mem;

    if (here > 0)
        estimate->fits = estimate->supported;
    if (row && here > 0
        && (memory->p50 <= 0
            || (!learner->named && !row->gpu_mem_said
                && row->runs >= DN_LEARNED_RUNS_MIN)))
        *memory = (struct dn_range){.p50 = here, .sigma = MEMORY_SIGMA};
    else if (memory->p50 > 0 && most > dn_range_at (*memory, 0.95))
        memory->floor = (struct dn_range_floor){.ratio = most / memory->p50};
}

static void set_cpus (const struct dn_app_row *row,
                      bool own,
                      struct dn_estimate *estimate)
{
    int64_t busy = (int64_t) ceil (CPU_PEAKS * (double) row->cores);

    if (busy <= 0)
        return;
    if ((estimate->by_history && own)
        || (estimate->cpus_per_gpu != DN_UNSET && estimate->cpus_per_gpu < busy))
        estimate->cpus_per_gpu = busy;
}

/* The most host memory that a run on any type had, and how many measured it with as
 * many GPUs. Return the most GPU memory.
 */
static double set_host_memory (const struct dn_learner *learner,
                               struct dn_estimate *estimate)
{
    const dn_app_key keys[] = {learner->key, learner->others};
    int64_t runs = 0;
    double most = 0;

    estimate->host_peak_gb = 0;
    estimate->host_kept = false;
    for (size_t k = 0; k < DN_N_ELEMENTS (keys); k++) {
        int64_t n;
        const struct dn_app_row *rows = dn_apps_all (learner->apps, keys[k], &n);

        for (int64_t i = 0; i < n; i++) {
            most = dn_max (most, (double) rows[i].gpu_mem_gb * DN_GIB);
            estimate->host_peak_gb = fmaxf (estimate->host_peak_gb, rows[i].mem_gb);
            estimate->host_kept = estimate->host_kept || rows[i].mem_kept;
            if (k == 0 && (rows[i].gpus == learner->gpus || rows[i].gpus == 0))
                runs += rows[i].mem_runs;
        }
    }
    estimate->host_runs = (uint8_t) (runs < UINT8_MAX ? runs : UINT8_MAX);
    return most;
}

static const struct dn_app_row *row_of (const struct dn_learner *learner,
                                        dn_app_key key,
                                        const char *type)
{
    return key == 0
               ? NULL
               : dn_apps_find (
                   learner->apps, key, type, learner->gpus > 0 ? learner->gpus : 0);
}

void dn_learned_apply (const struct dn_learner *learner,
                       const char *type,
                       struct dn_estimate *estimate)
{
    const struct dn_app_row *row = row_of (learner, learner->key, type);
    const struct dn_app_row *others = row_of (learner, learner->others, type);
    double most = set_host_memory (learner, estimate);

    if (!estimate->by_history)
        estimate->base_s = estimate->train_s.p50;
    if (!learner->apps)
        return;
    if (row) {
        set_time (learner, row, others, estimate);
        set_cpus (row, true, estimate);
    }
    if (others)
        set_cpus (others, false, estimate);
    if (estimate->history_runs == 0 && !estimate->by_history)
        scale (estimate,
               dn_max (excess (learner, learner->key, estimate->base_s),
                       excess (learner, learner->others, estimate->base_s)));
    set_memory (learner, row, most, estimate);
}

/* --- networks that an earlier run has described ------------------------------------
 */

/* Does row 'a' say more than 'b' of runs on so many GPUs? */
static bool says_more (const struct dn_app_row *a,
                       const struct dn_app_row *b,
                       int64_t gpus)
{
    bool as_many = a->gpus == gpus;

    if (as_many != (b->gpus == gpus))
        return as_many;
    return a->runs != b->runs ? a->runs > b->runs : a->last_s > b->last_s;
}

struct dn_learned_source dn_learned_source_of (const struct dn_learner *learner,
                                               const char *type)
{
    struct dn_learned_source source = {row_of (learner, learner->key, type), type, {}};
    int64_t n;
    const struct dn_app_row *rows = dn_apps_all (learner->apps, learner->key, &n);

    if (source.row || n == 0)
        return source;
    source.row = &rows[0];
    for (int64_t i = 1; i < n; i++)
        if (says_more (&rows[i], source.row, learner->gpus))
            source.row = &rows[i];
    source.type = learner->apps->types[source.row->type];
    return source;
}

/* Has the newest run waited for its data? */
static bool waits (const struct dn_learner *learner)
{
    return learner->known && learner->known->loader_share >= DN_LEARNED_LOADER_SHARE;
}

static void set_known_time (const struct dn_learner *learner,
                            const struct dn_learned_source *source,
                            const struct dn_app_row *others,
                            struct dn_estimate *estimate)
{
    const struct dn_setting wanted = {.spec = learner->spec, .estimate = estimate};
    const struct dn_app_row *row = source->row;
    double work = row_work (learner, row, -1);
    struct dn_setting measured = source->measured;
    bool translated = source->measured.estimate != NULL;
    struct dn_range law;

    if (work <= 0 || dn_app_row_reach (row, work) > FAR)
        return;
    measured.unbound = !waits (learner);
    law = translated ? dn_learned_translate (row, work, &measured, &wanted)
                     : dn_app_row_law (row, work);
    if (law.p50 <= 0)
        return;
    estimate->history_shared =
        dn_learned_widen (others, others ? row_work (learner, others, -1) : 0, &law);
    estimate->history_runs = translated ? 0 : row->runs;
    estimate->history_from = translated ? source->type : NULL;
    estimate->train_s = law;
    estimate->confidence = dn_range_within (law, DN_CONFIDENCE_FACTOR);
}

/* A faster GPU takes the data of more CPUs, also where the prediction says that the
 * data bound both, but the run did not wait for them.
 */
static void set_known_cpus (const struct dn_learner *learner,
                            const struct dn_learned_source *source,
                            struct dn_estimate *estimate)
{
    const struct dn_setting *measured = &source->measured;
    const struct dn_setting wanted = {.spec = learner->spec, .estimate = estimate};
    double cores = (double) source->row->cores;
    double faster = 1;
    double free_ratio;

    if (measured->estimate && measured->estimate->samples_per_s > 0
        && measured->spec->gpus > 0 && learner->spec->gpus > 0)
        faster = estimate->samples_per_s / (double) learner->spec->gpus
                 / (measured->estimate->samples_per_s / (double) measured->spec->gpus);
    free_ratio =
        measured->estimate && !waits (learner) ? dn_free_ratio (measured, &wanted) : 0;
    if (free_ratio > 0 && measured->spec->batch == learner->spec->batch)
        faster = dn_max (faster, 1 / free_ratio);
    if (cores <= 0)
        return;
    estimate->cpus_per_gpu = (int64_t) ceil (CPU_PEAKS * cores * dn_max (1, faster));
    if (estimate->cpus_per_gpu < learner->known->workers)
        estimate->cpus_per_gpu = learner->known->workers;
}

/* A measured peak, times the ratio of the predicted ones. What only the job says of its
 * memory lowers no prediction.
 */
static void set_known_memory (const struct dn_learner *learner,
                              const struct dn_learned_source *source,
                              const struct dn_app_row *own,
                              double most,
                              struct dn_estimate *estimate)
{
    const struct dn_estimate *measured = source->measured.estimate;
    double peak = source->row ? (double) source->row->gpu_mem_gb * DN_GIB : 0;
    struct dn_range *memory = &estimate->gpu_mem;
    double here = measured && measured->gpu_mem.p50 > 0
                      ? peak * memory->p50 / measured->gpu_mem.p50
                      : 0;

    if (source->row && here > 0 && source->row->runs >= DN_LEARNED_RUNS_MIN
        && (!source->row->gpu_mem_said || here > memory->p50)) {
        *memory = (struct dn_range){.p50 = here, .sigma = MEMORY_OTHER_SIGMA};
        estimate->fits = dn_estimate_may_fit (estimate);
    } else {
        set_memory (learner, own, most, estimate);
    }
    /* It has run there. */
    if (own)
        estimate->supported = estimate->fits = true;
}

void dn_learned_known (const struct dn_learner *learner,
                       const struct dn_learned_source *source,
                       const char *type,
                       struct dn_estimate *estimate)
{
    const struct dn_app_row *own = row_of (learner, learner->key, type);
    const struct dn_app_row *others = row_of (learner, learner->others, type);

    estimate->train_s = (struct dn_range){.p50 = -1};
    estimate->base_s = estimate->energy_j = -1;
    estimate->unread = (struct dn_keyset){{0}};
    estimate->cpus_per_gpu = DN_UNSET;
    set_known_memory (
        learner, source, own, set_host_memory (learner, estimate), estimate);
    if (!source->row)
        return;
    set_known_time (learner, source, others, estimate);
    set_known_cpus (learner, source, estimate);
    if (others)
        set_cpus (others, false, estimate);
}

int64_t dn_learned_runs (const struct dn_learner *learner, const char *type)
{
    const struct dn_app_row *row = row_of (learner, learner->key, type);

    return row ? row->runs : 0;
}
