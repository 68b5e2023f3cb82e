/* round.c - what the tasks of a round share: the table of jobs, reports, output
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "round.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/messages.h"
#include "host/capture_file.h"
#include "policy/policy.h"

int dn_jobs_each (struct dn_daemon *d, dn_link_job_f take, void *to, struct dn_err *err)
{
    if (!d->jobs) {
        if (dn_link_jobs (d->link, err) < 0)
            return -1;
        d->jobs = d->link;
        d->now_s = dn_link_now (d->link);
        dn_tick (DN_TICK_JOB_TABLES);
    }
    return dn_link_jobs_each (d->link, take, to);
}

void dn_jobs_drop (struct dn_daemon *d)
{
    if (d->jobs)
        dn_link_jobs_drop (d->link);
    d->jobs = NULL;
}

struct reread {
    const struct dn_link_job *job;
    dn_job_may_f may;
    bool same;
};

static bool same_text (const char *a, const char *b)
{
    return strcmp (a ? a : "", b ? b : "") == 0;
}

static int compare (void *to, const struct dn_link_job *now)
{
    struct reread *reread = to;
    const struct dn_link_job *job = reread->job;

    reread->same = reread->may (now) && now->limit_s == job->limit_s
                   && same_text (now->admin_comment, job->admin_comment)
                   && same_text (now->features, job->features)
                   && same_text (now->partition, job->partition)
                   && same_text (now->pending_tasks, job->pending_tasks);
    return 0;
}

int dn_job_change (struct dn_daemon *d,
                   const struct dn_link_job *job,
                   dn_job_may_f may,
                   const struct dn_link_change *change,
                   struct dn_err *refusal,
                   struct dn_err *err)
{
    struct reread reread = {job, may, false};

    if (dn_link_job_now (d->link, job->raw_id, compare, &reread, err) < 0)
        return -1;
    if (!reread.same)
        return 0;
    if (dn_link_update (d->link, change, refusal) == 0)
        return 1;
    return dn_link_is_lost (refusal)
               ? dn_err_set (err, refusal->code, "%s", refusal->text)
               : 0;
}

bool dn_start_may_change (struct dn_start *start, const struct dn_daemon *d)
{
    struct dn_view view = {.now_s = d->now_s, .changes = &start->changes};

    if (start->begun_s == 0)
        start->begun_s = d->now_s;
    view.begun_s = start->begun_s;
    return d->once || d->dry_run
           || dn_policy_may_change (&view, d->site->start_changes);
}

bool dn_job_is_cut (const struct dn_link_job *job)
{
    return job->pending_tasks && strstr (job->pending_tasks, "...");
}

/* Bytes of the list that an update can name: all but "%4" and what Slurm left out. */
static size_t whole_tasks (const char *tasks)
{
    const char *cut = strstr (tasks, "...");
    size_t len = cut ? (size_t) (cut - tasks) : strcspn (tasks, "%");

    while (cut && len > 0 && (tasks[len] != ',' || tasks[len - 1] == ','))
        len--;
    return len;
}

char *dn_job_pending_name (const struct dn_link_job *job)
{
    const char *tasks = job->pending_tasks ? job->pending_tasks : "";
    size_t len = whole_tasks (tasks);
    size_t size = DN_NAME_MAX + len + 4;
    char *name = malloc (size);

    if (name && job->pending_tasks)
        snprintf (name, size, "%lld_[%.*s]", (long long) job->job_id, (int) len, tasks);
    else if (name)
        snprintf (name, size, "%s", job->name);
    return name;
}

/* --- reports and output ----------------------------------------------------------- */

bool dn_progress_of (const struct dn_site *site,
                     const struct dn_link_job *job,
                     struct dn_progress *progress)
{
    struct dn_err err = {0};

    memset (progress, 0, sizeof (*progress));
    if (site->progress_dir[0] == '\0')
        return false;
    if (dn_job_progress (
            site->progress_dir, job->raw_id, (uid_t) job->user_id, progress, &err)
        == 0)
        return true;
    dn_log (DN_LOG_DEBUG, dn_say_guard_no_progress, job->name, err.text);
    return false;
}

struct dn_submitter dn_job_submitter (const struct dn_link_job *job)
{
    return (struct dn_submitter){.partition = job->partition,
                                 .account = job->account,
                                 .qos = job->qos,
                                 .user_id = job->user_id,
                                 .group_id = job->group_id};
}

struct dn_rules dn_rules_of (const struct dn_site *site, const struct dn_link_job *job)
{
    const struct dn_submitter submitter = dn_job_submitter (job);

    return dn_site_rules (site, &submitter, NULL);
}

static int print (const struct dn_put_text *output, struct dn_err *err)
{
    if (fwrite (output->text, 1, output->len, stdout) != output->len
        || fflush (stdout) != 0)
        return dn_err_set (err, DN_E_IO, dn_say_err_stdout);
    return 0;
}

int dn_output_write (const struct dn_put_text *output,
                     const struct dn_daemon *d,
                     const char *name,
                     struct dn_err *err)
{
    const struct dn_span text = {output->text, output->len};
    char path[DN_SITE_PATH_MAX + DN_NAME_MAX];

    if (d->out && strcmp (d->out, "-") == 0)
        return print (output, err);
    if (d->out)
        return dn_put_file (d->out, text, err);
    snprintf (path, sizeof (path), "%s/%s", d->site->state_dir, name);
    if (d->dry_run) {
        dn_log (DN_LOG_INFO, dn_say_daemon_would_write, output->len, path);
        return 0;
    }
    return dn_put_file (path, text, err) < 0 ? -1 : 1;
}
