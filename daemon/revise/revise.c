/* revise.c - the task that lowers limits of pending jobs when history allows it
 *
 * It looks at the jobs only after the history has changed. A pending job with a record
 * is read again just before its limit and its record are changed in one request. Of an
 * array only the tasks that are pending are changed. A pass has a bounded number of
 * changes, of each user, too; the next one begins where it ended.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/messages.h"
#include "host/view_files.h"
#include "round.h"
#include "policy/guarded.h"
#include "policy/scope.h"
#include "revise/revise_plan.h"

/* Jobs that Slurm refused to change, after which a history counts as applied. */
#define REFUSED_MAX 2000

struct revise {
    int64_t seen_s;  /* time of the history that was applied to all jobs; 0 none */
    int64_t from_id; /* raw id of the job after which the next pass begins */
    int64_t refused[REFUSED_MAX]; /* raw ids of jobs that are left alone until then */
    int n_refused;
    struct dn_start start;
};

struct pass {
    struct dn_daemon *d;
    struct revise *revise;
    struct dn_view_content said; /* owned */
    struct dn_shares shares;
    bool wrapped; /* it is at the jobs before from_id */
    int64_t last_id;
    bool left_out; /* jobs for the next pass */
    struct dn_err *err;
};

static void free_pass (struct pass *pass)
{
    dn_view_free (&pass->said);
}

/* --- one job ---------------------------------------------------------------------- */

static const struct dn_app_row *row_of (const struct pass *pass,
                                        dn_app_key key,
                                        const struct dn_recorded *recorded)
{
    return dn_apps_find (pass->said.apps,
                         key,
                         recorded->gpus != 0 ? dn_recorded_gpu (recorded) : "",
                         recorded->gpus == DN_UNSET ? 0 : recorded->gpus);
}

static bool was_refused (const struct revise *revise, int64_t id)
{
    for (int i = 0; i < revise->n_refused; i++)
        if (revise->refused[i] == id)
            return true;
    return false;
}

static bool is_pending (const struct dn_link_job *job)
{
    return job->phase == DN_PHASE_PENDING;
}

static void log_change (const struct dn_link_job *job,
                        const struct dn_revision *revision,
                        bool dry_run)
{
    char old[DN_NAME_MAX];

    snprintf (old,
              sizeof (old),
              "%s",
              job->limit_s == DN_UNLIMITED ? "UNLIMITED"
                                           : dn_time_write (job->limit_s).text);
    dn_log (DN_LOG_INFO,
            dn_say_revise_changed,
            job->name,
            dry_run ? dn_say_daemon_would_change : "",
            old,
            dn_time_write (revision->limit_s).text,
            (long long) revision->runs);
}

/* -1 where the connection is lost; a refusal concerns this job only. */
static int change_job (struct pass *pass,
                       const struct dn_link_job *job,
                       const struct dn_revision *revision)
{
    struct revise *revise = pass->revise;
    struct dn_err err = {0};
    dn_cleanup (dn_free_ptr) char *comment = NULL;
    dn_cleanup (dn_free_ptr) char *name = dn_job_pending_name (job);
    struct dn_link_change change = {.name = name, .limit_s = revision->limit_s};
    int rc = 0;

    if (!name)
        return dn_refuse (pass->err, no_memory_for, "revise");
    if (pass->d->dry_run) {
        log_change (job, revision, true);
        return 0;
    }
    comment = dn_record_revise (job->admin_comment, revision, &err);
    change.admin_comment = comment;
    if (!comment)
        dn_err_wrap (&err, dn_say_of_job, job->name);
    else
        rc = dn_job_change (pass->d, job, is_pending, &change, &err, pass->err);
    if (rc == 0 && err.code != DN_E_NONE) {
        dn_log (DN_LOG_ERROR, dn_say_revise_refused, err.text);
        if (revise->n_refused < REFUSED_MAX)
            revise->refused[revise->n_refused++] = job->raw_id;
    }
    pass->left_out = pass->left_out || (rc == 0 && err.code == DN_E_NONE);
    if (rc <= 0)
        return rc;
    dn_tick (DN_TICK_REVISED);
    log_change (job, revision, false);
    return 0;
}

static bool is_guarded (const struct pass *pass,
                        const struct dn_link_job *job,
                        const struct dn_recorded *recorded)
{
    return dn_guarded_is_alive (pass->said.guarded, pass->d->now_s)
           && dn_guarded_earned (pass->said.guarded, job->user_id, recorded->app);
}

/* May the limit be lowered at all: is the user trusted, and does no limit count its
 * minutes, as far as the last snapshot knows?
 */
static bool may_lower (const struct pass *pass, const struct dn_link_job *job)
{
    const struct dn_job names = {
        .account = job->account, .qos = job->qos, .user_id = job->user_id};
    struct dn_span rest = dn_span_of (job->partition ? job->partition : "");
    bool may =
        pass->said.cluster && dn_guarded_trusts (pass->said.guarded, job->user_id);

    while (may && rest.text) {
        char name[DN_NAME_MAX] = "";

        dn_span_copy (dn_span_cut (&rest, ","), name, sizeof (name), "partition", NULL);
        may = !dn_given (dn_policy_minutes (pass->said.cluster, &names, name));
    }
    return may;
}

/* When nodes of the type are reserved next, as far as the last snapshot knows; of any
 * type, if the job names none. 0: never.
 */
static int64_t reserved_from (const struct pass *pass, const char *gpu)
{
    const struct dn_cluster *cluster = pass->said.cluster;
    int64_t first_s = 0;

    for (int64_t i = 0; cluster && i < cluster->n_groups; i++) {
        const struct dn_node_group *group = &cluster->groups[i];

        if ((gpu[0] == '\0' || group->type[0] == '\0' || strcmp (gpu, group->type) == 0)
            && group->reserved_from > 0 && group->reserved_until > pass->d->now_s
            && (first_s == 0 || group->reserved_from < first_s))
            first_s = group->reserved_from;
    }
    return first_s;
}

/* What the history says of a job. */
static enum dn_revise_verdict plan_job (const struct pass *pass,
                                        const struct dn_link_job *job,
                                        struct dn_revision *revision)
{
    const struct dn_submitter submitter = dn_job_submitter (job);
    struct dn_recorded recorded;
    struct dn_rules rules;
    struct dn_revise_case c = {.recorded = &recorded, .rules = &rules};

    if (dn_record_read (job->admin_comment, &recorded, NULL) <= 0
        || recorded.app[0] == '\0')
        return DN_REVISE_MODE;
    rules = dn_site_rules_in_force (pass->d->site, &submitter);
    c.row = row_of (pass, dn_app_key_of_user (job->user_id, recorded.app), &recorded);
    if (pass->said.apps->by_account && job->account)
        c.others = row_of (
            pass, dn_app_key_of_account (job->account, recorded.app), &recorded);
    c.limit_s = job->limit_s;
    c.time_min_s = job->time_min_s;
    c.submit_s = job->submit;
    c.now_s = pass->d->now_s;
    c.reserved_from = reserved_from (pass, dn_recorded_gpu (&recorded));
    c.guarded = is_guarded (pass, job, &recorded);
    if (c.guarded)
        c.guard_interval_s = pass->said.guarded->interval_s;
    return may_lower (pass, job) ? dn_revise_plan (&c, revision) : DN_REVISE_NO_GAIN;
}

static int take_job (void *to, const struct dn_link_job *job)
{
    struct pass *pass = to;
    struct dn_revision revision;

    if (pass->wrapped != (job->raw_id <= pass->revise->from_id)
        || job->phase != DN_PHASE_PENDING || job->het_offset != DN_UNSET
        || job->federated || !job->admin_comment
        || was_refused (pass->revise, job->raw_id)
        || plan_job (pass, job, &revision) != DN_REVISE_LOWER)
        return 0;
    if (!dn_shares_take (&pass->shares, job->user_id)
        || !dn_start_may_change (&pass->revise->start, pass->d)) {
        pass->left_out = true;
        return 0;
    }
    if (dn_job_is_cut (job))
        pass->left_out = true;
    pass->last_id = job->raw_id;
    return change_job (pass, job, &revision);
}

/* --- the task --------------------------------------------------------------------- */

static int read_files (struct pass *pass)
{
    const char *dir = pass->d->site->state_dir;
    const char *cluster = pass->d->site->cluster;
    static const struct {
        enum dn_view_file file;
        const char *name;
    } files[] = {{DN_VIEW_APPS, DN_APPS_FILE},
                 {DN_VIEW_CLUSTER, DN_CLUSTER_FILE},
                 {DN_VIEW_GUARDED, DN_GUARDED_FILE}};

    for (size_t i = 0; i < DN_N_ELEMENTS (files); i++) {
        struct dn_view_path path = dn_view_path (dir, files[i].name);

        if (dn_view_read (
                files[i].file, path.text, DN_VIEW_OURS, cluster, &pass->said, pass->err)
            < 0)
            return -1;
    }
    return 0;
}

/* Is Revise= set in any rule? If not, the file of histories is not read. */
static bool is_wanted (const struct dn_site *site)
{
    if (site->rules.revise == DN_YES_YES)
        return true;
    for (int i = 0; i < site->policies.n_policies; i++)
        if (site->policies.list[i].rules.revise == DN_YES_YES)
            return true;
    return false;
}

static int run_revise (void *memory, struct dn_daemon *d, struct dn_err *err)
{
    struct revise *revise = memory;
    dn_cleanup (free_pass) struct pass pass = {
        .d = d, .revise = revise, .last_id = revise->from_id, .err = err};

    if (!is_wanted (d->site))
        return 0;
    if (read_files (&pass) < 0)
        return -1;
    if (!pass.said.apps || pass.said.apps->time_s == revise->seen_s)
        return 0;
    for (int i = 0; i < 2; i++) {
        pass.wrapped = i == 1;
        if (dn_jobs_each (d, take_job, &pass, err) != 0)
            return -1;
    }
    revise->from_id = pass.last_id;
    if (d->dry_run || (pass.left_out && revise->n_refused < REFUSED_MAX))
        return 0;
    revise->seen_s = pass.said.apps->time_s;
    revise->n_refused = 0;
    return 0;
}

const struct dn_task dn_task_revise = {
    .name = "revise",
    .help = "lower limits of pending jobs whose application has run",
    .interval_offset = offsetof (struct dn_site, guard_interval_s),
    .memory = sizeof (struct revise),
    .run = run_revise,
};
