/* guard.c - the task that extends lowered limits of running jobs
 *
 * A pass over the table of jobs finds those whose limit is near, or may be lowered by
 * the progress that they report, the most urgent first. Each is read again just before
 * its limit and its record are changed in one request. After an error of the connection
 * the pass ends; the next one reads the table anew.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "task.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/messages.h"
#include "guard/around.h"
#include "guard/remembered.h"
#include "guard/reported.h"
#include "host/files.h"
#include "host/view_files.h"
#include "jobs_table.h"
#include "output.h"
#include "policy/guarded.h"

/* Reservations that are looked at. */
#define RESERVATIONS_MAX 4096

/* Bytes of the file 'guard': a line of 20 jobs has some 250. */
#define FILE_MAX (DN_GUARDED_USERS_MAX * 512)

struct guard {
    struct dn_guard_jobs jobs;
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

struct reserved {
    char *name;
    char *nodes;
    int64_t from;
};

struct pass {
    struct guard *guard;
    struct dn_daemon *d;
    struct due *due;
    int64_t n_due;
    struct dn_cluster *cluster; /* NULL: not read yet */
    struct reserved *reserved;
    int64_t n_reserved;
    struct dn_err *err;
};

static bool is_running (const struct dn_link_job *job)
{
    return job->phase == DN_PHASE_RUNNING || job->phase == DN_PHASE_SUSPENDED;
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

static struct dn_guard_case case_of (const struct pass *pass,
                                     const struct dn_link_job *job,
                                     const struct dn_promise *promise)
{
    const struct dn_site *site = pass->d->site;
    struct dn_guard_case c = {.promise = *promise,
                              .now_s = pass->d->now_s,
                              .interval_s = (int64_t) site->guard_interval_s,
                              .margin = site->rules.time_margin,
                              .limit_s = job->limit_s,
                              .end_s = job->end,
                              .deadline = job->deadline,
                              .restarts = job->restarts,
                              .default_s = DN_UNSET,
                              .partition_s = DN_UNLIMITED,
                              .wall_s = DN_UNLIMITED};

    if (job->phase == DN_PHASE_SUSPENDED || job->end <= 0)
        c.end_s = c.now_s + job->limit_s - run_time (job, c.now_s);
    return c;
}

/* --- the pass over the table --------------------------------------------------- */

/* A job counts as soon as it needs more than its first limit, else when it has
 * completed within it.
 */
static int note_tally (const struct pass *pass,
                       const struct dn_link_job *job,
                       struct dn_guard_job *entry)
{
    bool needed = run_time (job, pass->d->now_s) > entry->promise.set_s;

    if ((entry->noted && entry->needed >= needed)
        || (!needed
            && (job->phase != DN_PHASE_ENDED || strcmp (job->state, "COMPLETED") != 0)))
        return 0;
    if (dn_guarded_note (
            pass->guard->guarded, job->user_id, job->raw_id, needed, pass->err)
        < 0)
        return -1;
    entry->noted = true;
    entry->needed = needed;
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
    if (dn_rows_grow (&pass->due, pass->n_due, sizeof (*pass->due), pass->err) < 0)
        return -1;
    pass->due[pass->n_due++] = (struct due){*job, *c, entry};
    return 0;
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
    if (!entry || entry->promise.set_s == DN_UNSET || job->phase == DN_PHASE_PENDING)
        return 0;
    if (note_tally (pass, job, entry) < 0)
        return -1;
    if (!is_running (job) || entry->hands_off)
        return 0;
    if (!entry->guarded) {
        entry->guarded = true;
        dn_tick (DN_TICK_GUARDED);
    }
    c = case_of (pass, job, &entry->promise);
    dn_guard_reported (pass->d->site, job, run_time (job, c.now_s), &c);
    verdict = dn_guard_plan (&c).verdict;
    if (verdict == DN_GUARD_HANDS_OFF)
        leave_alone (job, entry);
    else if (verdict == DN_GUARD_SHORTEN || dn_guard_is_due (&c))
        return add_due (pass, job, &c, jobs->n_now - 1);
    return 0;
}

/* --- what is around the jobs that are due -------------------------------------- */

static int take_reservation (void *to, const struct dn_link_reservation *reservation)
{
    struct pass *pass = to;
    struct reserved *reserved;

    if (!reservation->nodes || reservation->until <= pass->d->now_s)
        return 0;
    if (!pass->reserved)
        pass->reserved = calloc (RESERVATIONS_MAX, sizeof (*pass->reserved));
    if (!pass->reserved)
        return dn_err_set (pass->err, DN_E_NOMEM, dn_say_err_no_memory_for, "guard");
    if (pass->n_reserved == RESERVATIONS_MAX)
        return dn_err_set (
            pass->err, DN_E_LIMIT, dn_say_err_reservations, RESERVATIONS_MAX);
    reserved = &pass->reserved[pass->n_reserved++];
    reserved->from = reservation->from;
    reserved->name = strdup (reservation->name ? reservation->name : "");
    reserved->nodes = strdup (reservation->nodes);
    if (!reserved->name || !reserved->nodes)
        return dn_err_set (pass->err, DN_E_NOMEM, dn_say_err_no_memory_for, "guard");
    return 0;
}

/* Read once a pass, and only where a job is due. */
static int read_around (struct pass *pass)
{
    if (pass->cluster)
        return 0;
    pass->cluster = calloc (1, sizeof (*pass->cluster));
    if (!pass->cluster)
        return dn_err_set (pass->err, DN_E_NOMEM, dn_say_err_no_memory_for, "guard");
    if (dn_link_cluster (pass->d->link, pass->cluster, pass->err) < 0)
        return -1;
    return dn_link_reservations (pass->d->link, take_reservation, pass, pass->err);
}

/* Does the job run in that reservation? */
static bool is_own (const struct dn_link_job *job, const char *name)
{
    struct dn_span rest = dn_span_of (job->reservation ? job->reservation : "");
    struct dn_span piece;

    while ((piece = dn_span_cut (&rest, ",")).text)
        if (piece.len == strlen (name) && memcmp (piece.text, name, piece.len) == 0)
            return true;
    return false;
}

/* The first reservation of a node of the job for others; NULL: none. */
static const struct reserved *reserved_of (const struct pass *pass,
                                           const struct dn_link_job *job)
{
    const struct reserved *first = NULL;

    for (int64_t i = 0; i < pass->n_reserved; i++) {
        const struct reserved *reserved = &pass->reserved[i];

        if (!is_own (job, reserved->name) && (!first || reserved->from < first->from)
            && dn_link_share_node (job->nodes, reserved->nodes))
            first = reserved;
    }
    return first;
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
            due->c.pace_s > 0 ? dn_say_guard_progress : "",
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
    struct dn_link_change change = {.name = due->job.name, .limit_s = limit_s};
    int rc;

    if (pass->d->dry_run) {
        log_extension (due, limit_s, true);
        return 0;
    }
    comment = dn_record_note (due->job.admin_comment, limit_s, &err);
    if (!comment) {
        dn_err_wrap (&err, dn_say_of_job, due->job.name);
        return refused (entry, &err);
    }
    change.admin_comment = comment;
    rc = dn_job_change (pass->d, &due->job, is_running, &change, &err, pass->err);
    if (rc == 0 && err.code != DN_E_NONE)
        return refused (entry, &err);
    if (rc <= 0)
        return rc;
    dn_tick (limit_s < due->job.limit_s ? DN_TICK_SHORTENED : DN_TICK_EXTENSIONS);
    log_extension (due, limit_s, false);
    return 1;
}

/* Tell the user of a reservation that ends the job. */
static void warn_user (struct pass *pass,
                       const struct due *due,
                       const struct reserved *reserved,
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
    const struct reserved *reserved;
    struct dn_guard_plan plan;

    if (read_around (pass) < 0)
        return -1;
    dn_guard_around (pass->cluster, &due->job, &due->c);
    reserved = reserved_of (pass, &due->job);
    due->c.reserved_from = reserved ? reserved->from : 0;
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

static int pass_all (struct pass *pass)
{
    if (dn_jobs_each (pass->d, take_job, pass, pass->err) != 0)
        return -1;
    if (pass->n_due > 1)
        qsort (pass->due, (size_t) pass->n_due, sizeof (*pass->due), by_urgency);
    for (int64_t i = 0; i < pass->n_due; i++)
        if (serve (pass, &pass->due[i]) < 0)
            return -1;
    return 0;
}

static void free_pass (struct pass *pass)
{
    for (int64_t i = 0; i < pass->n_reserved; i++) {
        free (pass->reserved[i].name);
        free (pass->reserved[i].nodes);
    }
    free (pass->reserved);
    dn_cluster_free (pass->cluster);
    free (pass->due);
}

/* --- the file 'guard': that the guard is alive, and the tallies ---------------- */

static struct dn_guarded *read_left (const struct dn_daemon *d)
{
    struct dn_view_path path = dn_view_path (d->site->state_dir, DN_GUARDED_FILE);
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct dn_guarded *guarded = NULL;
    struct dn_err err = {0};

    if (access (path.text, F_OK) < 0)
        return NULL;
    if (dn_file_read (path.text, FILE_MAX, &text, &err) == 0)
        guarded = dn_guarded_read (dn_span_of (text), path.text, &err);
    if (!guarded)
        dn_log (DN_LOG_ERROR, dn_say_guard_counts_lost, err.text);
    return guarded;
}

/* Read the file that an earlier process has left, once. One that is absent or not valid
 * begins anew. -1 with 'err' without memory.
 */
static int begin_file (struct guard *guard,
                       const struct dn_daemon *d,
                       struct dn_err *err)
{
    if (!guard->guarded)
        guard->guarded = read_left (d);
    if (!guard->guarded)
        guard->guarded = calloc (1, sizeof (*guard->guarded));
    return guard->guarded
               ? 0
               : dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory_for, "guard");
}

/* After a complete pass; in a dry run only where an output is named. */
static int write_file (struct guard *guard,
                       const struct dn_daemon *d,
                       struct dn_err *err)
{
    dn_cleanup (dn_put_text_free) struct dn_put_text text = {.len = 0};

    guard->guarded->time_s = d->now_s;
    guard->guarded->interval_s = (int64_t) d->site->guard_interval_s;
    if (dn_guarded_write (guard->guarded, dn_put_text_add, &text) != 0)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory_for, "guard");
    return dn_output_write (&text, d, DN_GUARDED_FILE, err) < 0 ? -1 : 0;
}

static int run_guard (void *memory, struct dn_daemon *d, struct dn_err *err)
{
    struct guard *guard = memory;
    struct pass pass = {.guard = guard, .d = d, .err = err};
    int rc = begin_file (guard, d, err);

    if (rc == 0)
        rc = pass_all (&pass);
    free_pass (&pass);
    if (rc < 0) {
        dn_guard_jobs_keep (&guard->jobs);
        return -1;
    }
    dn_guard_jobs_turn (&guard->jobs);
    return write_file (guard, d, err);
}

static void end_guard (void *memory)
{
    struct guard *guard = memory;

    dn_guard_jobs_free (&guard->jobs);
    dn_guarded_free (guard->guarded);
}

const struct dn_task dn_task_guard = {
    .name = "guard",
    .help = "extend the lowered time limits of running jobs before they end",
    .interval_offset = offsetof (struct dn_site, guard_interval_s),
    .memory = sizeof (struct guard),
    .run = run_guard,
    .end = end_guard,
};
