/* jobs_table.c - the table of jobs, read once for all tasks of a round
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Bytes of the list that an update can name: all but a limit "%4" and what Slurm has
 * left out.
 */
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
