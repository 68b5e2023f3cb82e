/* apps_build.c - the history of all applications, from the store of finished jobs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/history/apps_build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/messages.h"
#include "jobs/finished.h"
#include "predict/learned.h"

/* No job of accounting is believed that ran longer, or did more work. */
#define RAN_MAX_S (400.0 * 86400)
#define WORK_MAX  1e12

/* How many runs of an owner's other applications the shipped spread is worth, and how
 * many of them count at most. */
#define SHIPPED_WORTH 12.0
#define OWN_WORTH_MAX 60.0
#define SIGMA_MIN     0.06

/* Runs of one application on one type with one number of GPUs, the newest. */
struct group {
    dn_app_key key;
    int32_t type;
    uint16_t gpus;
    bool mem_kept; /* a run was killed when its memory had been lowered */
    struct dn_fit_runs seen;
};

/* All state of a build. */
struct making {
    const struct dn_build *build;
    struct dn_apps *apps;
    struct group *groups; /* of the present owner; owned */
    int n_groups;
    struct dn_known_list *known;
    int64_t owner;   /* uid, or the key of an account's name */
    bool by_account; /* of owners that are read now */
    struct dn_gate *gate;
    struct dn_err *err;
};

/* --- jobs ------------------------------------------------------------------------- */

/* The owner's key of a job; 0 without an application, or without the account. */
static dn_app_key key_of (const struct dn_finished *job, bool by_account)
{
    if (job->app[0] == '\0' || (by_account && job->account[0] == '\0'))
        return 0;
    return by_account ? dn_app_key_of_account (job->account, job->app)
                      : dn_app_key_of_user (job->user, job->app);
}

/* Work in seconds that are predicted today. */
static double work_predicted (const struct dn_build *build,
                              const struct dn_finished *job)
{
    if (strcmp (job->bundle, build->bundle) == 0)
        return job->base_s;
    return build->base ? build->base (build->base_to, job) : NAN;
}

/* What a job says of the time of its application's next run. False: nothing. */
static bool read_run (const struct dn_build *build,
                      const struct dn_finished *job,
                      enum dn_work_unit *unit,
                      struct dn_fit_run *run)
{
    int outcome =
        dn_names_find (&dn_outcome_names, job->outcome, strlen (job->outcome));
    enum dn_evidence evidence =
        dn_outcome_evidence (outcome < 0 ? DN_OUTCOME_UNKNOWN : outcome);
    int known =
        dn_names_find (&dn_work_unit_names, job->work_unit, strlen (job->work_unit));
    double gpus = job->gpus > 0 ? (double) job->gpus : 1;
    double ran_s = dn_finished_ran_s (job);

    *unit = known < 0 ? DN_WORK_RUN : (enum dn_work_unit) known;
    *run = (struct dn_fit_run){.end_s = job->end_s,
                               .ran_s = ran_s,
                               .work = 1,
                               .exact = evidence == DN_EVIDENCE_EXACT,
                               .likely_s = job->likely_s,
                               .p95_s = job->p95_s,
                               .cores = job->cpu_s / fmax (ran_s, 1) / gpus,
                               .gpu_mem_gb = job->gpu_mem_gb,
                               .said_gpu_mem_gb = job->said_gpu_mem_gb,
                               .step_s = job->step_ms / 1000,
                               .start_up_s = job->start_up_s,
                               .mem_gb = job->host_mem_gb
                                         * (double) (job->nodes > 0 ? job->nodes : 1)};
    if (*unit == DN_WORK_PREDICTED)
        run->work = work_predicted (build, job);
    else if (*unit != DN_WORK_RUN)
        run->work = job->work;
    return evidence != DN_EVIDENCE_NOTHING && ran_s >= 1 && ran_s <= RAN_MAX_S
           && run->work > 0 && run->work <= WORK_MAX && job->gpus <= UINT16_MAX
           && job->end_s <= UINT32_MAX;
}

/* --- groups of an owner ----------------------------------------------------------- */

/* The number of a GPU type; -1: there are too many, or its name is too long. */
static int32_t type_of (struct dn_apps *apps, const char *name)
{
    for (int32_t i = 0; i < apps->n_types; i++)
        if (strcmp (apps->types[i], name) == 0)
            return i;
    if (apps->n_types == DN_APP_TYPES_MAX || strlen (name) >= DN_NAME_MAX)
        return -1;
    memcpy (apps->types[apps->n_types], name, strlen (name) + 1);
    return apps->n_types++;
}

static int64_t end_of (const struct group *group)
{
    return group->seen.n > 0 ? group->seen.runs[group->seen.n - 1].end_s : 0;
}

/* The oldest group of the owner, which is replaced; the newest are at the end. */
static struct group *oldest (struct making *m)
{
    struct group *old = &m->groups[0];

    for (int i = 1; i < m->n_groups; i++)
        if (end_of (&m->groups[i]) < end_of (old))
            old = &m->groups[i];
    return old;
}

static struct group *new_group (struct making *m)
{
    if (m->n_groups == DN_BUILD_OWNER_MAX)
        return oldest (m);
    if (dn_rows_grow (&m->groups, m->n_groups, sizeof (*m->groups), m->err) < 0)
        return NULL;
    return &m->groups[m->n_groups++];
}

/* The group of a job; the jobs of an application come together. */
static struct group *group_of (struct making *m,
                               dn_app_key key,
                               int32_t type,
                               uint16_t gpus)
{
    struct group *group;

    for (int i = m->n_groups - 1; i >= 0; i--)
        if (m->groups[i].key == key && m->groups[i].type == type
            && m->groups[i].gpus == gpus)
            return &m->groups[i];
    group = new_group (m);
    if (group)
        *group = (struct group){.key = key, .type = type, .gpus = gpus};
    return group;
}

/* --- the gate --------------------------------------------------------------------- */

/* Sums over some runs. */
struct sums {
    int64_t runs;
    int64_t beyond; /* the bound */
    double error;
};

static void add_error (struct sums *sums, double ran_s, double p50, double p95)
{
    sums->runs++;
    sums->beyond += ran_s > p95;
    sums->error += fabs (log (ran_s / p50));
}

static void vote (struct dn_judged *judged, const struct sums *sums)
{
    if (sums->runs == 0)
        return;
    judged->votes++;
    judged->runs += sums->runs;
    judged->error += sums->error / (double) sums->runs;
    judged->coverage += 1 - (double) sums->beyond / (double) sums->runs;
}

static bool is_worse (const struct sums *before,
                      const struct sums *after,
                      const struct sums *alone)
{
    double most = before->error * (1 + DN_GATE_ERROR_SHARE)
                  + DN_GATE_ERROR_MORE * (double) before->runs;

    return (before->runs >= DN_GATE_RUNS_MIN
            && (after->error > most || after->beyond > before->beyond + DN_GATE_BEYOND))
           || alone->beyond > DN_GATE_BEYOND_ALONE;
}

/* Count a row in the gate. True if it is not worse. */
static bool gate_row (struct dn_gate *gate,
                      const struct dn_fit_run runs[],
                      int n,
                      enum dn_work_unit unit,
                      const struct dn_fit_prior *prior)
{
    struct sums before = {0};
    struct sums after = {0};
    struct sums alone = {0};
    int newest = n / 5;
    bool worse;

    newest = newest < DN_GATE_RUNS_MIN ? DN_GATE_RUNS_MIN : newest;
    newest = newest > DN_GATE_RUNS_MAX ? DN_GATE_RUNS_MAX : newest;
    gate->n_rows++;
    for (int i = n - newest; i < n; i++) {
        struct dn_app_row row = {.type = 0};
        struct dn_range law;
        double p95;

        if (i < 2 || !runs[i].exact || !dn_fit_row (runs, i, unit, prior, &row))
            continue;
        law = dn_app_row_law (&row, runs[i].work);
        p95 = dn_range_at (law, DN_GATE_QUANTILE);
        if (runs[i].likely_s > 0 && runs[i].p95_s > 0) {
            add_error (&before, runs[i].ran_s, runs[i].likely_s, runs[i].p95_s);
            add_error (&after, runs[i].ran_s, law.p50, p95);
        } else {
            add_error (&alone, runs[i].ran_s, law.p50, p95);
        }
    }
    if (before.runs + alone.runs < DN_GATE_RUNS_MIN)
        return true;
    vote (&gate->before, &before);
    vote (&gate->after, &after);
    vote (&gate->alone, &alone);
    worse = is_worse (&before, &after, &alone);
    gate->n_judged++;
    gate->n_worse += worse;
    return !worse;
}

static void end_judged (struct dn_judged *judged)
{
    judged->error /= (double) judged->votes; /* NaN without */
    judged->coverage /= (double) judged->votes;
}

/* After the last row: make means of sums, and say why. */
static void gate_end (struct dn_gate *gate)
{
    struct dn_buf why = dn_buf_on (gate->why, sizeof (gate->why));

    end_judged (&gate->before);
    end_judged (&gate->after);
    end_judged (&gate->alone);
    gate->passed = gate->n_worse == 0 || gate->n_worse < gate->n_rows;
    dn_buf_add (&why,
                dn_say_gate_votes,
                (long long) gate->n_judged,
                (long long) gate->n_rows,
                (long long) gate->n_worse);
    if (gate->before.runs > 0)
        dn_buf_add (&why,
                    dn_say_gate_errors,
                    100 * gate->before.error,
                    100 * gate->after.error,
                    100 * gate->before.coverage,
                    100 * gate->after.coverage,
                    (long long) gate->before.runs);
    if (gate->alone.runs > 0)
        dn_buf_add (&why,
                    dn_say_gate_alone,
                    (long long) gate->alone.runs,
                    100 * gate->alone.error,
                    100 * gate->alone.coverage);
}

/* --- rows ------------------------------------------------------------------------- */

/* The spread of the owner's runs, around the shipped one. */
static struct dn_fit_prior prior_of (const struct making *m)
{
    struct dn_fit_prior prior = dn_fit_prior_default;
    double sum = 0;
    double worth = 0;

    for (int i = 0; i < m->n_groups; i++) {
        double variance;
        double freedom;

        const struct dn_fit_runs *seen = &m->groups[i].seen;

        if (!dn_fit_scatter (seen->runs, seen->n, seen->unit, &variance, &freedom))
            continue;
        sum += freedom * variance;
        worth += freedom;
    }
    if (worth > OWN_WORTH_MAX) {
        sum *= OWN_WORTH_MAX / worth;
        worth = OWN_WORTH_MAX;
    }
    prior.sigma = sqrt ((SHIPPED_WORTH * prior.sigma * prior.sigma + sum)
                        / (SHIPPED_WORTH + worth));
    prior.sigma = fmax (prior.sigma, SIGMA_MIN);
    return prior;
}

/* The more useful row first: it has runs enough, was used lately, then often. */
static int by_use (const void *a, const void *b)
{
    const struct dn_app_row *x = a;
    const struct dn_app_row *y = b;
    int enough =
        (y->runs >= DN_LEARNED_RUNS_MIN) - (int) (x->runs >= DN_LEARNED_RUNS_MIN);

    if (enough != 0)
        return enough;
    if (x->last_s / 86400 != y->last_s / 86400)
        return x->last_s > y->last_s ? -1 : 1;
    return x->runs > y->runs ? -1 : x->runs < y->runs;
}

static int by_key (const void *a, const void *b)
{
    const struct dn_app_row *x = a;
    const struct dn_app_row *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    return x->gpus < y->gpus ? -1 : x->gpus > y->gpus;
}

/* Keep the most useful rows. */
static void thin_out (struct dn_apps *apps)
{
    if (apps->n_rows <= DN_APPS_MAX)
        return;
    qsort (apps->rows, (size_t) apps->n_rows, sizeof (*apps->rows), by_use);
    apps->n_rows = DN_APPS_MAX;
}

static int add_row (struct making *m, const struct dn_app_row *row)
{
    struct dn_apps *apps = m->apps;

    if (apps->n_rows == 2 * DN_APPS_MAX)
        thin_out (apps);
    return dn_rows_add (apps->rows, apps->n_rows, *row, m->err);
}

/* Let the law in force stay. False: there is none. */
static bool keep_law (const struct making *m, struct dn_app_row *row)
{
    const struct dn_apps *apps = m->build->in_force;
    const struct dn_app_row *old =
        dn_apps_find (apps, row->key, m->apps->types[row->type], row->gpus);
    struct dn_app_row kept;

    if (!old || old->gpus != row->gpus
        || (old->unit == DN_WORK_PREDICTED
            && strcmp (apps->bundle, m->build->bundle) != 0))
        return false;
    kept = *old;
    kept.type = row->type;
    kept.cores = row->cores;
    kept.gpu_mem_gb = row->gpu_mem_gb;
    kept.gpu_mem_said = row->gpu_mem_said;
    kept.step_s = row->step_s;
    kept.start_up_s = row->start_up_s;
    kept.mem_gb = row->mem_gb;
    kept.mem_runs = row->mem_runs;
    *row = kept;
    return true;
}

/* Make the row of a group. False: it has none. */
static bool make_row (const struct making *m,
                      const struct group *group,
                      const struct dn_fit_prior *prior,
                      struct dn_app_row *row)
{
    const struct dn_fit_runs *seen = &group->seen;

    *row = (struct dn_app_row){
        .key = group->key, .type = group->type, .gpus = group->gpus};
    if (seen->n == 0 || !dn_fit_row (seen->runs, seen->n, seen->unit, prior, row)
        || (!m->by_account
            && !gate_row (m->gate, seen->runs, seen->n, seen->unit, prior)
            && !keep_law (m, row)))
        return false;
    row->mem_kept = group->mem_kept;
    return true;
}

/* Fit the groups of the owner, and forget them. */
static int end_owner (struct making *m)
{
    struct dn_fit_prior prior = prior_of (m);
    int rc = 0;

    for (int i = 0; i < m->n_groups && rc == 0; i++) {
        struct dn_app_row row;

        if (make_row (m, &m->groups[i], &prior, &row))
            rc = add_row (m, &row);
    }
    m->n_groups = 0;
    return rc;
}

/* --- the store -------------------------------------------------------------------- */

static int64_t owner_of (const struct making *m, const struct dn_finished *job)
{
    return m->by_account ? (int64_t) (dn_app_key_of_account (job->account, "") >> 1)
                         : job->user;
}

static int take_job (void *to, const struct dn_finished *job)
{
    struct making *m = to;
    dn_app_key key = key_of (job, m->by_account);
    enum dn_work_unit unit;
    struct dn_fit_run run;
    struct group *group;
    int32_t type;

    bool killed = dn_finished_memory_killed (job);
    bool counts = read_run (m->build, job, &unit, &run);

    if (key == 0 || !(counts || killed))
        return 0;
    if (m->owner != owner_of (m, job) && end_owner (m) < 0)
        return -1;
    m->owner = owner_of (m, job);
    if (counts && run.exact && !m->by_account
        && dn_known_note (m->known, key, job, m->err) < 0)
        return -1;
    type = type_of (m->apps, job->gpu);
    if (type < 0)
        return 0;
    group = group_of (m, key, type, (uint16_t) (job->gpus > 0 ? job->gpus : 0));
    if (!group)
        return -1;
    group->mem_kept = group->mem_kept || killed;
    if (counts)
        dn_fit_add (&group->seen, unit, &run);
    return 0;
}

static void free_making (struct making *m)
{
    free (m->groups);
    dn_known_list_free (m->known);
    dn_apps_free (m->apps);
}

static int begin_apps (struct making *m)
{
    struct dn_apps *apps = calloc (1, sizeof (*apps));

    m->apps = apps;
    m->known = dn_known_list_new ();
    if (apps)
        apps->types = calloc (DN_APP_TYPES_MAX, sizeof (*apps->types));
    if (!apps || !apps->types || !m->known)
        return dn_refuse (m->err, no_memory);
    apps->time_s = m->build->now_s;
    apps->by_account = m->build->by_account;
    dn_span_copy (dn_span_of (m->build->bundle),
                  apps->bundle,
                  sizeof (apps->bundle),
                  "bundle",
                  NULL);
    return 0;
}

/* Read the jobs of all users, or accounts. */
static int read_jobs (struct making *m, struct dn_store *store, bool by_account)
{
    struct dn_store_filter filter = dn_store_all ();

    filter.order = by_account ? DN_STORE_BY_ACCOUNT : DN_STORE_BY_APP;
    m->by_account = by_account;
    m->owner = DN_UNSET;
    return dn_store_read (store, &filter, take_job, m, m->err) < 0 ? -1 : end_owner (m);
}

struct dn_apps *dn_build_apps (struct dn_store *store,
                               const struct dn_build *build,
                               struct dn_gate *gate,
                               struct dn_err *err)
{
    dn_cleanup (free_making) struct making m = {
        .build = build, .gate = gate, .err = err};
    struct dn_apps *apps;

    *gate = (struct dn_gate){.passed = false};
    if (begin_apps (&m) < 0 || read_jobs (&m, store, false) < 0
        || (build->by_account && read_jobs (&m, store, true) < 0)
        || dn_known_end (m.known, m.apps, err) < 0)
        return NULL;
    gate_end (gate);
    thin_out (m.apps);
    if (m.apps->n_rows > 0)
        qsort (m.apps->rows, (size_t) m.apps->n_rows, sizeof (*m.apps->rows), by_key);
    apps = m.apps;
    m.apps = NULL;
    return apps;
}
