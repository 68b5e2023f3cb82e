/* replay.c - what today's policy would have done with past jobs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "replay.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/messages.h"

/* When less than a quarter of the limit, and than this, is left, it is extended. */
#define LEAD_MAX_S 1800.0

struct dn_replay {
    const struct dn_site *site;
    struct dn_replay_options options;
    struct dn_past *past;
    struct dn_advice *advice;
    int64_t last_s; /* submission of the last job */
    int64_t n;
    struct dn_replay_sums sums[DN_REPLAY_TYPES_MAX + 1];
    int n_sums;
};

struct dn_replay *dn_replay_new (const struct dn_site *site,
                                 const struct dn_replay_options *options)
{
    struct dn_replay *replay = calloc (1, sizeof (*replay));

    if (!replay)
        return NULL;
    replay->site = site;
    replay->options = *options;
    replay->last_s = INT64_MIN;
    replay->n_sums = 1;
    replay->past = dn_past_new ();
    replay->advice = dn_advice_new ();
    if (!replay->past || !replay->advice) {
        dn_replay_free (replay);
        return NULL;
    }
    return replay;
}

void dn_replay_free (struct dn_replay *replay)
{
    if (!replay)
        return;
    dn_past_free (replay->past);
    dn_advice_free (replay->advice);
    free (replay);
}

const struct dn_replay_sums *dn_replay_sums (const struct dn_replay *replay, int i)
{
    return i < replay->n_sums ? &replay->sums[i] : NULL;
}

/* --- the decision ----------------------------------------------------------------- */

/* The key of its application; 0: it has none. */
static dn_app_key key_of (const struct dn_finished *row,
                          const struct dn_rebuilt *rebuilt)
{
    if (rebuilt->app[0] == '\0')
        return 0;
    return dn_app_key_of_user (row->user, rebuilt->app);
}

static enum dn_replay_fate fate_of (const struct dn_advice *advice)
{
    switch (advice->decision.verdict) {
    case DN_VERDICT_ABSTAIN:
        return DN_REPLAY_ABSTAINED;
    case DN_VERDICT_KEEP:
        return DN_REPLAY_KEPT;
    case DN_VERDICT_CHANGE:
        return DN_REPLAY_CHANGED;
    case DN_VERDICT_CONTROL:
        return DN_REPLAY_CONTROL;
    default:
        return DN_REPLAY_SILENT;
    }
}

static int64_t runs_known (const struct dn_apps *history)
{
    int64_t runs = 0;

    for (int64_t i = 0; history && i < history->n_rows; i++)
        runs += history->rows[i].runs;
    return runs;
}

/* Decide as of the submission. */
static void decide (struct dn_replay *replay,
                    const struct dn_finished *row,
                    const struct dn_rebuilt *rebuilt,
                    struct dn_replayed *out)
{
    struct dn_guarded *guarded = dn_past_guarded (replay->past);
    struct dn_view view = {.now_s = row->submit_s, .replayed = true};
    struct dn_err err = {0};

    guarded->time_s = row->submit_s;
    guarded->interval_s = (int64_t) replay->site->guard_interval_s;
    if (replay->options.guard)
        view.guarded = guarded;
    if (replay->options.history)
        view.apps = dn_past_history (replay->past, key_of (row, rebuilt));
    out->runs = runs_known (view.apps);
    out->fate = DN_REPLAY_SILENT;
    if (!dn_advise_concerns (replay->site, &rebuilt->job))
        return;
    if (dn_advise (replay->site, &view, &rebuilt->job, NULL, NULL, replay->advice, &err)
        < 0)
        out->fate = DN_REPLAY_REFUSED;
    else
        out->fate = fate_of (replay->advice);
}

/* --- what it means ---------------------------------------------------------------- */

static void add_limit (struct dn_replayed *out, double limit_s)
{
    if (out->n_limits < DN_REPLAY_LIMITS_MAX
        && (out->n_limits == 0 || limit_s > out->limits_s[out->n_limits - 1]))
        out->limits_s[out->n_limits++] = limit_s;
}

/* The limits that the guard would give the job: quantiles, then the user's own. */
static void add_steps (const struct dn_advice *advice, struct dn_replayed *out)
{
    static const double steps[] = {0.95, 0.99};
    double own = out->limit_s < 0 ? INFINITY : (double) out->limit_s;
    int chosen = advice->decision.chosen;

    for (size_t i = 0; chosen >= 0 && i < DN_N_ELEMENTS (steps); i++) {
        double bound = dn_range_at (advice->estimates[chosen].train_s, steps[i])
                       * (1 + advice->rules.time_margin);
        double limit_s = 60 * ceil (bound / 60);

        if (bound > 0 && limit_s < own)
            add_limit (out, limit_s);
    }
    add_limit (out, own);
}

static void set_limits (const struct dn_advice *advice, struct dn_replayed *out)
{
    const struct dn_decision *decision = &advice->decision;
    /* A limit that serves each type of a list, on the job's own one. */
    double factor = decision->either ? decision->factor : 1;

    if (decision->time_min_s != DN_UNSET) {
        out->soft = true;
        add_limit (out, (double) decision->time_min_s);
        add_limit (out, out->limit_s < 0 ? INFINITY : (double) out->limit_s);
    } else if (decision->time_limit_s != DN_UNSET) {
        out->guarded = decision->extended;
        add_limit (out, (double) decision->time_limit_s / factor);
        if (decision->extended)
            add_steps (advice, out);
    }
}

/* The types that it may get when it can start. */
static void set_open (const struct dn_advice *advice, struct dn_replayed *out)
{
    const struct dn_decision *decision = &advice->decision;

    if (decision->n_open == 0 || decision->base < 0)
        return;
    out->likely_s = advice->estimates[decision->base].train_s.p50;
    for (int i = 1; i < decision->n_open && out->likely_s > 0; i++)
        out->open[out->n_open++] = (struct dn_replay_open){decision->open[i].gpu->type,
                                                           decision->open[i].slow};
}

/* Its GPU type, CPUs and run time on that type. */
static void set_resources (const struct dn_advice *advice, struct dn_replayed *out)
{
    const struct dn_decision *decision = &advice->decision;
    const struct dn_request *request = &advice->request;

    if (decision->gpu)
        out->gpu = decision->gpu->type;
    if (decision->gpu && decision->base >= 0 && decision->chosen >= 0) {
        double base = advice->estimates[decision->base].train_s.p50;
        double chosen = advice->estimates[decision->chosen].train_s.p50;

        if (base > 0 && chosen > 0)
            out->runs_s = out->ran_s * chosen / base;
    }
    if (decision->mem_mb != DN_UNSET)
        out->mem_after_mb = decision->mem_mb;
    if (decision->cpus_per_task != DN_UNSET && request->n_tasks > 0)
        out->cpus_after = decision->cpus_per_task * request->n_tasks;
    else if (decision->cpus_each_gpu != DN_UNSET)
        out->cpus_after = decision->cpus_each_gpu * out->gpus;
}

/* Would the guard have extended the job, or the limit have killed it? Only what runs
 * out of a limit below the user's own is due to the policy.
 */
static void judge (struct dn_replayed *out)
{
    double limit_s = out->n_limits > 0 ? out->limits_s[0] : INFINITY;
    double lead_s = fmin (limit_s / 4, LEAD_MAX_S);

    if (out->guarded)
        out->extended = out->n_limits > 1 && out->runs_s > limit_s - lead_s;
    else if (!out->soft)
        out->killed = out->runs_s > limit_s && out->evidence == DN_EVIDENCE_EXACT
                      && (out->limit_s < 0 || (double) out->limit_s > limit_s);
}

/* --- sums ------------------------------------------------------------------------- */

static const struct dn_names fate_names = DN_NAMES_OF (REPLAY_FATES);

const char *dn_replay_fate_text (enum dn_replay_fate fate)
{
    return dn_names_get (&fate_names, (int) fate);
}

#define RATIO_MIN 0.01
#define STEP      0.02 /* of ln (ratio) */

static int class_of (double ratio)
{
    double i = floor (log (ratio / RATIO_MIN) / STEP);

    return i < 0 ? 0 : i >= DN_REPLAY_CLASSES ? DN_REPLAY_CLASSES - 1 : (int) i;
}

double dn_replay_median (const int64_t classes[DN_REPLAY_CLASSES])
{
    int64_t n = 0, below = 0;

    for (int i = 0; i < DN_REPLAY_CLASSES; i++)
        n += classes[i];
    for (int i = 0; i < DN_REPLAY_CLASSES; i++) {
        below += classes[i];
        if (2 * below >= n && n > 0)
            return RATIO_MIN * exp ((i + 0.5) * STEP);
    }
    return NAN;
}

/* The limit with the policy; that of the user where it is unchanged. */
static double limit_after (const struct dn_replayed *job)
{
    return job->n_limits > 0 ? job->limits_s[0] : (double) job->limit_s;
}

static void count_limits (struct dn_replay_sums *sums, const struct dn_replayed *job)
{
    double after = limit_after (job), before = (double) job->limit_s;
    double gpus = (double) job->gpus / 3600;

    sums->lowered += job->n_limits > 0 && (before < 0 || after < before);
    sums->raised += job->n_limits > 0 && before >= 0 && after > before;
    sums->extended += job->extended;
    sums->killed += job->killed;
    if (before <= 0 || after <= 0)
        return;
    sums->used_gpu_h += job->ran_s * gpus;
    sums->asked_gpu_h += before * gpus;
    sums->set_gpu_h += after * gpus;
    if (job->evidence != DN_EVIDENCE_EXACT || job->ran_s <= 0 || job->runs_s <= 0
        || job->fate < DN_REPLAY_KEPT)
        return;
    sums->ratios++;
    sums->asked[class_of (before / job->ran_s)]++;
    sums->set[class_of (after / job->runs_s)]++;
}

static double gib_hours (const struct dn_replayed *job, int64_t mem_mb, double run_s)
{
    return (double) mem_mb / 1024 * (double) job->nodes * run_s / 3600;
}

void dn_replay_count (struct dn_replay_sums *sums, const struct dn_replayed *job)
{
    sums->jobs++;
    sums->fates[job->fate]++;
    if (job->fate >= DN_REPLAY_KEPT && job->runs > 0)
        sums->with_history++;
    count_limits (sums, job);
    sums->moved += strcmp (job->from, job->gpu) != 0;
    sums->fewer_cpus += job->cpus_after < job->cpus;
    sums->asked_cpu_h += (double) job->cpus * job->ran_s / 3600;
    sums->set_cpu_h += (double) job->cpus_after * job->runs_s / 3600;
    sums->less_memory += job->mem_after_mb < job->mem_mb;
    sums->asked_mem_h += gib_hours (job, job->mem_mb, job->ran_s);
    sums->set_mem_h += gib_hours (job, job->mem_after_mb, job->runs_s);
}

/* --- jobs ------------------------------------------------------------------------- */

static void begin (const struct dn_finished *row, struct dn_replayed *out)
{
    *out = (struct dn_replayed){
        .evidence = dn_outcome_evidence (dn_outcome_of (row)),
        .ran_s = dn_finished_ran_s (row),
        .gpus = row->gpus > 0 ? row->gpus : 0,
        .from = dn_rebuild_gpu (row),
        .gpu = dn_rebuild_gpu (row),
        .cpus = dn_rebuild_cpus (row) > 0 ? dn_rebuild_cpus (row) : 0,
        .mem_mb = dn_rebuild_mem_mb (row) > 0 ? dn_rebuild_mem_mb (row) : 0,
        .nodes = row->nodes > 0 ? row->nodes : 1,
        .limit_s = dn_rebuild_limit (row),
    };
    out->runs_s = out->ran_s;
    out->cpus_after = out->cpus;
    out->mem_after_mb = out->mem_mb;
}

/* The work of a run as its history counts it: by the record, else by the metadata. */
static void set_work (const struct dn_finished *row,
                      const struct dn_advice *advice,
                      struct dn_past_job *job)
{
    int unit =
        dn_names_find (&dn_work_unit_names, row->work_unit, strlen (row->work_unit));

    job->unit = DN_WORK_RUN;
    job->run.work = 1;
    if (unit >= 0 && row->work > 0) {
        job->unit = (enum dn_work_unit) unit;
        job->run.work = row->work;
    } else if (advice && advice->spec.steps > 0) {
        job->unit = DN_WORK_STEPS;
        job->run.work = (double) advice->spec.steps;
    } else if (advice && advice->spec.epochs > 0) {
        job->unit = DN_WORK_EPOCHS;
        job->run.work = advice->spec.epochs;
    }
}

/* What the job means for the trust in its user and application, as for the guard. */
static void set_trust (const struct dn_replay *replay,
                       const struct dn_finished *row,
                       const struct dn_replayed *out,
                       struct dn_past_job *job)
{
    const struct dn_advice *advice = replay->advice;
    const struct dn_rules *rules = &advice->rules;
    double first_s = 0;

    if (out->fate < DN_REPLAY_ABSTAINED || advice->decision.chosen < 0)
        return;
    job->app = dn_app_key_of_user (row->user, advice->decision.app);
    job->lowered = out->guarded && out->fate == DN_REPLAY_CHANGED;
    if (job->lowered)
        first_s = out->limits_s[0];
    else if (advice->estimates[advice->decision.chosen].train_s.p50 > 0)
        first_s =
            fmax (dn_range_at (advice->estimates[advice->decision.chosen].train_s, 0.99)
                      * (1 + rules->time_margin),
                  (double) rules->time_min_s);
    job->needed = job->lowered && out->runs_s > first_s;
    job->honest =
        !job->needed && out->evidence == DN_EVIDENCE_EXACT && out->runs_s <= first_s;
    job->gpu_s = (int64_t) ((out->runs_s - (job->needed ? first_s : 0))
                            * (double) (out->gpus > 0 ? out->gpus : 1));
}

/* What the job teaches when it ends. */
static int remember (struct dn_replay *replay,
                     const struct dn_finished *row,
                     const struct dn_rebuilt *rebuilt,
                     const struct dn_replayed *out,
                     struct dn_err *err)
{
    double gpu_s = out->ran_s * (double) out->gpus;
    struct dn_past_job job = {
        .run = {.end_s = row->end_s,
                .ran_s = out->ran_s,
                .exact = out->evidence == DN_EVIDENCE_EXACT,
                .cores = gpu_s > 0 ? row->cpu_s / gpu_s : NAN,
                .gpu_mem_gb = row->gpu_mem_gb,
                .mem_gb =
                    row->host_mem_gb * (double) (row->nodes > 0 ? row->nodes : 1)},
        .key = key_of (row, rebuilt),
        .type = row->gpu,
        .gpus = row->gpus,
        .user = row->user,
        .id = row->raw_id,
        .says_time = out->evidence != DN_EVIDENCE_NOTHING && out->ran_s > 0
                     && row->gpus > 0 && row->gpus < UINT16_MAX,
    };

    if (row->end_s < row->submit_s)
        return 0;
    set_trust (replay, row, out, &job);
    set_work (row, out->fate >= DN_REPLAY_ABSTAINED ? replay->advice : NULL, &job);
    return dn_past_add (replay->past, &job, err);
}

static void count (struct dn_replay *replay, const struct dn_replayed *out)
{
    int i = 1;

    dn_replay_count (&replay->sums[0], out);
    while (i < replay->n_sums && strcasecmp (replay->sums[i].type, out->from) != 0)
        i++;
    if (i > DN_REPLAY_TYPES_MAX || out->from[0] == '\0'
        || strlen (out->from) >= DN_NAME_MAX)
        return;
    if (i == replay->n_sums) {
        memcpy (replay->sums[i].type, out->from, strlen (out->from) + 1);
        replay->n_sums++;
    }
    dn_replay_count (&replay->sums[i], out);
}

static int replay_one (struct dn_replay *replay,
                       const struct dn_finished *row,
                       const struct dn_rebuilt *rebuilt,
                       struct dn_replayed *out,
                       struct dn_err *err)
{
    begin (row, out);
    if (dn_past_until (replay->past, row->submit_s, err) < 0)
        return -1;
    decide (replay, row, rebuilt, out);
    if (out->fate == DN_REPLAY_CHANGED) {
        set_limits (replay->advice, out);
        set_resources (replay->advice, out);
        set_open (replay->advice, out);
        judge (out);
    }
    if (remember (replay, row, rebuilt, out, err) < 0)
        return -1;
    if (row->submit_s < replay->options.since_s)
        return 0;
    count (replay, out);
    return 1;
}

int dn_replay_job (struct dn_replay *replay,
                   const struct dn_finished *row,
                   struct dn_replayed *out,
                   struct dn_err *err)
{
    struct dn_rebuilt rebuilt;
    int rc;

    replay->n++;
    if (row->submit_s == DN_UNSET || row->submit_s < replay->last_s)
        return dn_refuse (err, replay_order, replay->n);
    replay->last_s = row->submit_s;
    if (replay->options.until_s > 0 && row->submit_s >= replay->options.until_s)
        return 0;
    rc = dn_rebuild (row, &rebuilt, err);
    if (rc == 0)
        rc = replay_one (replay, row, &rebuilt, out, err);
    dn_rebuilt_free (&rebuilt);
    return rc;
}
