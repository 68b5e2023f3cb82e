/* guard.c - the task that extends lowered limits of running jobs, and gives them back
 *
 * A pass over the table of jobs finds those whose limit is near, or may be lowered by
 * the progress that they report, the most urgent first. Each is read again just before
 * its limit and its record are changed in one request. After an error of the connection
 * the pass ends; the next one reads the table anew.
 *
 * Before the guard leaves, and where it is silent, all jobs get back what their users
 * requested, pending ones too: a pass in which every limit is due.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "task.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/messages.h"
#include "guard/kept.h"
#include "guard/guard_plan.h"
#include "round.h"

/* Passes in which all is given back: the list of tasks of an array may be cut, and jobs
 * change between the table and the request.
 */
#define PASSES_MAX 64

struct guard {
    struct dn_guard_jobs jobs;
    struct dn_reservations reservations;
    struct dn_guarded *guarded; /* the file of StateDir; owned; NULL: not read yet */
};

/* A job whose limit is near. The texts of 'job' belong to the table, which is kept for
 * the round, but those that are made for one job at a time are gone.
 */
struct due {
    struct dn_link_job job;
    struct dn_guard_case c;
    int64_t entry; /* index of what is remembered */
};

struct pass {
    struct guard *guard;
    struct dn_daemon *d;
    struct due *due;
    int64_t n_due;
    struct dn_cluster *cluster; /* NULL: not read yet */
    bool restore;               /* all limits, because the guard leaves */
    bool left_out; /* a job has changed since the table, or a list of tasks is cut */
    struct dn_err *err;
};

/* Only limits of pending jobs that are given back are changed. */
static bool may_change (const struct dn_link_job *job)
{
    return job->phase == DN_PHASE_PENDING || job->phase == DN_PHASE_RUNNING
           || job->phase == DN_PHASE_SUSPENDED;
}

/* How long a job has run, without suspensions. */
static int64_t run_time (const struct dn_link_job *job, int64_t now_s)
{
    bool ended = job->phase == DN_PHASE_ENDING || job->phase == DN_PHASE_ENDED;

    if (job->phase == DN_PHASE_SUSPENDED)
        return job->ran_s;
    if (job->phase == DN_PHASE_PENDING || job->start <= 0 || (ended && job->end <= 0))
        return 0;
    return (ended ? job->end : now_s) - job->start - job->suspended_s;
}

/* Does the policy no longer change jobs of its user? */
static bool is_observed (const struct dn_site *site, const struct dn_link_job *job)
{
    return dn_rules_of (site, job).mode == DN_MODE_OBSERVE;
}

static struct dn_guard_case case_of (const struct pass *pass,
                                     const struct dn_link_job *job,
                                     const struct dn_guard_job *entry)
{
    const struct dn_site *site = pass->d->site;
    struct dn_guard_case c = {.promise = entry->promise,
                              .base_s = entry->base_s,
                              .now_s = pass->d->now_s,
                              .interval_s = (int64_t) site->guard_interval_s,
                              .margin = site->rules.time_margin,
                              .limit_s = job->limit_s,
                              .end_s = job->end,
                              .start_s = job->start,
                              .deadline = job->deadline,
                              .restarts = job->restarts,
                              .default_s = DN_UNSET,
                              .restore = pass->restore || entry->lost
                                         || is_observed (site, job)};

    if (job->phase == DN_PHASE_SUSPENDED || job->end <= 0)
        c.end_s = c.now_s + job->limit_s - run_time (job, c.now_s);
    return c;
}

/* What the job has reported; the file is read only if the limit is near, or may be
 * lowered.
 */
static void add_reported (const struct dn_site *site,
                          const struct dn_link_job *job,
                          struct dn_guard_case *c)
{
    const struct dn_pace_job run = {
        job->start, c->now_s, run_time (job, c->now_s), c->interval_s};
    struct dn_progress progress;
    struct dn_pace pace;
    bool shorten;

    if (site->progress_dir[0] == '\0')
        return;
    shorten = dn_rules_of (site, job).shorten == DN_YES_YES;
    if ((!shorten && !dn_guard_is_due (c)) || !dn_progress_of (site, job, &progress))
        return;
    pace = dn_pace_needed (&progress, &run);
    if (pace.needed_s > 0) {
        c->pace_s = pace.needed_s;
        c->shorten = shorten && pace.steady;
    }
}

/* --- the pass over the table --------------------------------------------------- */

/* Within what time a job whose limit is its user's own has run as it was described. */
static int64_t honest_time (const struct pass *pass, const struct dn_promise *promise)
{
    const struct dn_rules *rules = &pass->d->site->rules;

    return promise->p99_s <= 0
               ? 0
               : (int64_t) fmax ((double) promise->p99_s * (1 + rules->time_margin),
                                 (double) rules->time_min_s);
}

/* A job counts as soon as it needs more than its first limit, for each second beyond
 * it; else when it has completed within it. What the last pass has seen of it is noted
 * already.
 */
static int note_tally (const struct pass *pass,
                       const struct dn_link_job *job,
                       struct dn_guard_job *entry)
{
    const struct dn_promise *promise = &entry->promise;
    int64_t last_s = pass->guard->guarded->time_s, now_s = pass->d->now_s;
    bool lowered = promise->set_s != DN_UNSET, ended = job->phase == DN_PHASE_ENDED;
    int64_t ran_s = run_time (job, now_s);
    int64_t first_s = lowered ? promise->set_s : honest_time (pass, promise);
    struct dn_guarded_run run = {.user_id = job->user_id,
                                 .app = promise->app,
                                 .job_id = job->raw_id,
                                 .lowered = lowered,
                                 .needed = lowered && ran_s > first_s,
                                 .gpu_s = ran_s};

    if (run.needed) {
        /* Since the last pass; after a pause of the guard from now on. */
        int64_t until_s = ended && job->end > 0 ? job->end : now_s;
        int64_t new_s = last_s > 0 && until_s > last_s ? until_s - last_s : 0;

        if (job->phase == DN_PHASE_SUSPENDED || (entry->noted && new_s == 0))
            return 0;
        run.gpu_s = ran_s - first_s < new_s ? ran_s - first_s : new_s;
    } else if (entry->noted || !ended || ran_s > first_s
               || strcmp (job->state, "COMPLETED") != 0) {
        return 0;
    }
    run.gpu_s *= promise->gpus;
    if (dn_guarded_note (pass->guard->guarded, &run, pass->err) < 0)
        return -1;
    entry->noted = true;
    return 0;
}

/* Slurm's backfill shortens jobs with --time-min by itself. Any other change was made
 * by a person.
 */
static void leave_alone (const struct dn_link_job *job, struct dn_guard_job *entry)
{
    bool cut = job->time_min_s > 0 && job->limit_s >= job->time_min_s
               && job->limit_s < entry->promise.written_s;

    entry->hands_off = true;
    if (!cut)
        dn_tick (DN_TICK_HANDS_OFF);
    dn_log (DN_LOG_INFO,
            dn_say_guard_left_alone,
            job->name,
            job->limit_s == DN_UNLIMITED ? "UNLIMITED"
                                         : dn_time_write (job->limit_s).text,
            dn_time_write (entry->promise.written_s).text,
            cut ? dn_say_guard_backfill : "");
}

static int add_due (struct pass *pass,
                    const struct dn_link_job *job,
                    const struct dn_guard_case *c,
                    int64_t entry)
{
    const struct due due = {*job, *c, entry};

    return dn_rows_add (pass->due, pass->n_due, due, pass->err);
}

/* A limit that is higher than in the last pass, and not written by dnnest, was raised
 * by a human; that of a pending job also by its user. Another process of dnnest may
 * have written since then.
 */
static void note_base (const struct dn_link_job *job, struct dn_guard_job *entry)
{
    if (entry->base_s > 0 && entry->base_s < entry->promise.written_s)
        entry->base_s = entry->promise.written_s;
    if (entry->base_s == 0 || job->phase == DN_PHASE_PENDING
        || job->limit_s < entry->base_s || job->limit_s <= entry->promise.written_s)
        entry->base_s = job->limit_s;
}

static int take_job (void *to, const struct dn_link_job *job)
{
    struct pass *pass = to;
    struct dn_guard_jobs *jobs = &pass->guard->jobs;
    struct dn_err err = {0};
    struct dn_guard_job *entry = dn_guard_jobs_take (jobs, job, &err);
    enum dn_guard_verdict verdict;
    struct dn_guard_case c;

    if (!entry && err.code != DN_E_NONE)
        return dn_err_set (pass->err, err.code, "%s", err.text);
    if (!entry || entry->bad)
        return 0;
    if (!pass->restore && note_tally (pass, job, entry) < 0)
        return -1;
    if (entry->promise.set_s == DN_UNSET || !may_change (job) || entry->hands_off)
        return 0;
    note_base (job, entry);
    c = case_of (pass, job, entry);
    if (job->phase == DN_PHASE_PENDING && !c.restore)
        return 0;
    if (!entry->guarded) {
        entry->guarded = true;
        dn_tick (DN_TICK_GUARDED);
    }
    if (!c.restore)
        add_reported (pass->d->site, job, &c);
    verdict = dn_guard_plan (&c).verdict;
    if (verdict == DN_GUARD_HANDS_OFF)
        leave_alone (job, entry);
    else if (verdict == DN_GUARD_SHORTEN || dn_guard_is_due (&c))
        return add_due (pass, job, &c, jobs->n_now - 1);
    return 0;
}

/* --- what is around the jobs that are due -------------------------------------- */

/* An error that concerns these tables only must not end the pass: without a partition a
 * job gets the longest limit.
 */
static int read_cluster (struct pass *pass)
{
    struct dn_err err = {.code = DN_E_NONE};

    pass->cluster = calloc (1, sizeof (*pass->cluster));
    if (!pass->cluster)
        return dn_refuse (pass->err, no_memory_for, "guard");
    if (dn_link_cluster (pass->d->link, pass->cluster, &err) == 0)
        return 0;
    if (dn_link_is_lost (&err))
        return dn_err_set (pass->err, err.code, "%s", err.text);
    dn_log (DN_LOG_ERROR, "%s", err.text);
    return 0;
}

/* The limit of a job whose user gave none: that of its partition, of several that wait
 * for it the shortest, for the requested type.
 */
static int default_of (struct pass *pass, struct due *due)
{
    const struct dn_cluster *cluster;
    struct dn_recorded recorded;

    if (due->c.promise.asked_s != DN_UNSET)
        return 0;
    if (!pass->cluster && read_cluster (pass) < 0)
        return -1;
    cluster = pass->cluster;
    for (int64_t i = 0; i < cluster->n_partitions; i++) {
        const struct dn_partition *partition = &cluster->partitions[i];
        int64_t limit_s = partition->default_time_s != DN_UNSET
                              ? partition->default_time_s
                              : partition->max_time_s;

        if (due->job.partition
            && dn_list_has (due->job.partition, dn_span_of (partition->name))
            && (due->c.default_s < 0 || (limit_s >= 0 && limit_s < due->c.default_s)))
            due->c.default_s = limit_s;
    }
    if (dn_record_read (due->job.admin_comment, &recorded, NULL) > 0)
        due->c.default_s =
            dn_open_limit (&recorded, due->c.default_s, 0, dn_open_now (&recorded));
    return 0;
}

/* A reservation that its user's limit would have crossed at the start. */
static const struct dn_reserved *reserved_of (const struct pass *pass, struct due *due)
{
    const struct dn_reserved *reserved = dn_reservations_first (
        &pass->guard->reservations, &due->job, due->job.start + dn_guard_own (&due->c));

    due->c.reserved_from = reserved ? reserved->from : 0;
    return reserved;
}

/* --- changes ------------------------------------------------------------------- */

static void log_extension (const struct due *due, int64_t limit_s, bool dry_run)
{
    dn_log (DN_LOG_INFO,
            dn_say_guard_changed,
            due->job.name,
            dry_run ? dn_say_daemon_would_change : "",
            dn_time_write (due->job.limit_s).text,
            dn_time_write (limit_s).text,
            due->c.restore      ? dn_say_guard_restored
            : due->c.pace_s > 0 ? dn_say_guard_progress
                                : "",
            dn_time_write (dn_guard_own (&due->c)).text,
            (long long) (due->c.end_s - due->c.now_s));
}

/* A refusal concerns this job only, such as one that has just ended. */
static int refused (struct dn_guard_job *entry, const struct dn_err *err)
{
    if (!entry->refused) {
        dn_tick (DN_TICK_REFUSED);
        dn_log (DN_LOG_ERROR, dn_say_guard_refused, err->text);
    }
    entry->refused = true;
    return 0;
}

/* Return 1 if the limit was changed, 0 if not, or -1 with 'err'. */
static int change_limit (struct pass *pass, const struct due *due, int64_t limit_s)
{
    struct dn_guard_job *entry = &pass->guard->jobs.now[due->entry];
    struct dn_err err = {0};
    dn_cleanup (dn_free_ptr) char *comment = NULL;
    dn_cleanup (dn_free_ptr) char *name = dn_job_pending_name (&due->job);
    struct dn_link_change change = {.name = name, .limit_s = limit_s};
    int rc;

    if (!name)
        return dn_refuse (pass->err, no_memory_for, "guard");
    if (pass->d->dry_run) {
        log_extension (due, limit_s, true);
        return 0;
    }
    if (!entry->lost)
        comment = dn_record_note (due->job.admin_comment, limit_s, &err);
    /* A record that has no room for it does not end a job: a higher limit than the
     * record has is known as ours. */
    if (!comment && !entry->lost && limit_s < due->job.limit_s) {
        dn_err_wrap (&err, dn_say_of_job, due->job.name);
        return refused (entry, &err);
    }
    err.code = DN_E_NONE;
    change.admin_comment = comment;
    rc = dn_job_change (pass->d, &due->job, may_change, &change, &err, pass->err);
    if (rc == 0 && err.code != DN_E_NONE)
        return refused (entry, &err);
    pass->left_out = pass->left_out || rc == 0;
    if (rc <= 0)
        return rc;
    if (!comment)
        entry->promise.written_s = limit_s;
    entry->base_s = limit_s;
    dn_tick (due->c.restore               ? DN_TICK_RESTORED
             : limit_s < due->job.limit_s ? DN_TICK_SHORTENED
                                          : DN_TICK_EXTENSIONS);
    log_extension (due, limit_s, false);
    pass->left_out = pass->left_out || dn_job_is_cut (&due->job);
    return 1;
}

/* Tell the user of a reservation that ends the job. */
static void warn_user (struct pass *pass,
                       const struct due *due,
                       const struct dn_reserved *reserved,
                       int64_t limit_s)
{
    struct dn_guard_job *entry = &pass->guard->jobs.now[due->entry];
    char line[256];
    struct dn_buf buf = dn_buf_on (line, sizeof (line));
    struct dn_err err = {0};

    if (entry->warned || !reserved || pass->d->dry_run)
        return;
    entry->warned = true;
    dn_buf_add (&buf,
                dn_say_guard_notice,
                dn_time_write (limit_s).text,
                dn_time_write (dn_guard_own (&due->c)).text,
                dn_quote (reserved->name, strlen (reserved->name)).text);
    if (dn_link_notify (pass->d->link, &due->job, line, &err) < 0)
        dn_log (DN_LOG_INFO, dn_say_guard_no_notice, err.text);
}

static void tell_held (struct pass *pass,
                       const struct due *due,
                       const struct dn_guard_plan *plan)
{
    struct dn_guard_job *entry = &pass->guard->jobs.now[due->entry];

    if (plan->holder == DN_HOLDER_NONE || entry->held == plan->holder)
        return;
    entry->held = plan->holder;
    dn_tick (DN_TICK_HELD);
    dn_log (DN_LOG_INFO,
            dn_say_guard_held,
            due->job.name,
            dn_time_write (dn_guard_own (&due->c)).text,
            dn_guard_holder_text (plan->holder));
}

static int serve (struct pass *pass, struct due *due)
{
    struct dn_guard_job *entry = &pass->guard->jobs.now[due->entry];
    const struct dn_reserved *reserved;
    struct dn_guard_plan plan;

    if (default_of (pass, due) < 0)
        return -1;
    reserved = reserved_of (pass, due);
    plan = dn_guard_plan (&due->c);
    if (plan.verdict == DN_GUARD_OWN && !entry->own) {
        entry->own = true;
        dn_tick (DN_TICK_AT_OWN_LIMIT);
        dn_log (DN_LOG_INFO,
                dn_say_guard_own_limit,
                due->job.name,
                dn_time_write (due->c.limit_s).text);
    }
    if ((plan.verdict == DN_GUARD_EXTEND || plan.verdict == DN_GUARD_SHORTEN)
        && change_limit (pass, due, plan.limit_s) < 0)
        return -1;
    tell_held (pass, due, &plan);
    if (plan.holder == DN_HOLDER_RESERVATION)
        warn_user (pass,
                   due,
                   reserved,
                   plan.verdict == DN_GUARD_EXTEND ? plan.limit_s : due->c.limit_s);
    return 0;
}

/* --- the task ------------------------------------------------------------------ */

static int by_urgency (const void *a, const void *b)
{
    int64_t x = ((const struct due *) a)->c.end_s;
    int64_t y = ((const struct due *) b)->c.end_s;

    return (x > y) - (x < y);
}

/* The reservations are read in each pass, so that it is known since when they are. Of
 * a table of them that cannot be read the last one counts.
 */
static int read_reservations (const struct pass *pass)
{
    struct dn_err err = {.code = DN_E_NONE};

    if (dn_reservations_read (
            &pass->guard->reservations, pass->d->link, pass->d->now_s, &err)
        == 0)
        return 0;
    if (dn_link_is_lost (&err))
        return dn_err_set (pass->err, err.code, "%s", err.text);
    dn_log (DN_LOG_ERROR, "%s", err.text);
    return 0;
}

static int pass_all (struct pass *pass)
{
    if (dn_jobs_each (pass->d, take_job, pass, pass->err) != 0
        || read_reservations (pass) < 0)
        return -1;
    if (pass->n_due > 1)
        qsort (pass->due, (size_t) pass->n_due, sizeof (*pass->due), by_urgency);
    for (int64_t i = 0; i < pass->n_due; i++)
        if (serve (pass, &pass->due[i]) < 0)
            return -1;
    return 0;
}

/* Others may not change jobs of users: then no limit may rely on this guard. */
static int check_user (const struct dn_daemon *d, struct dn_err *err)
{
    struct dn_link_conf conf;

    if (dn_link_conf (d->link, &conf, err) < 0)
        return -1;
    return geteuid () == 0 || (int64_t) geteuid () == conf.slurm_user
               ? 0
               : dn_err_set (err, DN_E_RANGE, dn_say_err_guard_user, (int) geteuid ());
}

/* A pass over the jobs; all of them is remembered, as far as it came. */
static int run_pass (struct guard *guard,
                     struct dn_daemon *d,
                     bool restore,
                     bool *left_out,
                     struct dn_err *err)
{
    struct pass pass = {.guard = guard, .d = d, .restore = restore, .err = err};
    int rc = pass_all (&pass);

    *left_out = pass.left_out;
    dn_cluster_free (pass.cluster);
    free (pass.due);
    if (rc < 0)
        dn_guard_jobs_keep (&guard->jobs);
    else
        dn_guard_jobs_turn (&guard->jobs);
    return rc;
}

static int restore_all (struct guard *guard, struct dn_daemon *d, struct dn_err *err)
{
    bool left_out = true;
    int rc = 0;

    for (int i = 0; rc == 0 && left_out && i < PASSES_MAX; i++) {
        rc = run_pass (guard, d, true, &left_out, err);
        dn_jobs_drop (d);
    }
    return rc;
}

static int run_guard (void *memory, struct dn_daemon *d, struct dn_err *err)
{
    struct guard *guard = memory;
    bool left_out;

    if (dn_heartbeat_begin (&guard->guarded, d, err) < 0
        || run_pass (guard, d, false, &left_out, err) < 0 || check_user (d, err) < 0)
        return -1;
    return dn_heartbeat_write (guard->guarded, d, d->now_s, err);
}

/* Every job gets back what its user requested; what fails is left to --restore. */
static int leave_guard (void *memory, struct dn_daemon *d, struct dn_err *err)
{
    struct guard *guard = memory;
    int rc = dn_heartbeat_begin (&guard->guarded, d, err);

    /* First, so that no limit is lowered any more. */
    if (rc == 0)
        dn_heartbeat_write (guard->guarded, d, 0, NULL);
    dn_jobs_drop (d);
    return restore_all (guard, d, err);
}

static void end_guard (void *memory)
{
    struct guard *guard = memory;

    dn_guard_jobs_free (&guard->jobs);
    dn_reservations_free (&guard->reservations);
    dn_guarded_free (guard->guarded);
}

const struct dn_task dn_task_guard = {
    .name = "guard",
    .help = "extend the lowered time limits of running jobs before they end",
    .interval_offset = offsetof (struct dn_site, guard_interval_s),
    .memory = sizeof (struct guard),
    .run = run_guard,
    .leave = leave_guard,
    .end = end_guard,
};

static int run_restore (void *memory, struct dn_daemon *d, struct dn_err *err)
{
    return restore_all (memory, d, err);
}

static int run_restore_if_silent (void *memory, struct dn_daemon *d, struct dn_err *err)
{
    return dn_heartbeat_is_alive (d) ? 0 : restore_all (memory, d, err);
}

#define RESTORES(how)                                                                  \
    {                                                                                  \
        .name = "restore",                                                             \
        .help = "give every job back the time limit that its user requested",          \
        .interval_offset = offsetof (struct dn_site, guard_interval_s),                \
        .memory = sizeof (struct guard), .run = (how), .end = end_guard                \
    }

const struct dn_task dn_task_restore = RESTORES (run_restore);
const struct dn_task dn_task_restore_if_silent = RESTORES (run_restore_if_silent);
