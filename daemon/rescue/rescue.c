/* rescue.c - the task that starts jobs again which ran out of memory: of the GPU, where
 * dnnest had moved them, or of the host, where it had lowered that
 *
 * A pass looks at each failed job with a record once. The job is requeued and held,
 * gets the request of its user and the note "rescued" in one update, and is released;
 * what fails for the connection goes on in the next pass. A job that could not be given
 * its request stays held, for its user or an operator: with the type on which it has
 * failed it would only fail again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "task.h"

#include <stdlib.h>
#include <string.h>

#include "base/messages.h"
#include "round.h"
#include "rescue/rescue_plan.h"

/* What remains to be done with a job. */
enum stage {
    STAGE_DONE,
    STAGE_LOOK,    /* it has failed; not looked at yet */
    STAGE_REQUEUE, /* it ran out of memory */
    STAGE_CHANGE,  /* it is requeued and held */
    STAGE_RELEASE  /* it has its request back */
};

/* A failed run of a job with a record. */
struct seen {
    int64_t raw_id;
    int64_t start; /* of the run */
    enum stage stage;
    bool present; /* in this pass */
    bool tried;   /* to requeue it */
    char name[DN_NAME_MAX];
    char *comment; /* the admin comment with its note; owned; NULL: no plan */
    struct dn_rescue_plan plan;
};

struct rescue {
    struct seen *seen; /* owned */
    int64_t n_seen;
};

struct pass {
    struct rescue *rescue;
    struct dn_daemon *d;
    int slurm;
    struct dn_err *err;
};

/* --- what was seen ------------------------------------------------------------- */

static void free_seen (struct seen *seen)
{
    free (seen->comment);
    memset (seen, 0, sizeof (*seen));
}

static struct seen *find_seen (const struct rescue *rescue,
                               const struct dn_link_job *job)
{
    for (int64_t i = 0; i < rescue->n_seen; i++)
        if (rescue->seen[i].raw_id == job->raw_id)
            return &rescue->seen[i];
    return NULL;
}

/* The entry of a failed run, made anew for another run of the same job. */
static struct seen *take_seen (struct pass *pass, const struct dn_link_job *job)
{
    struct rescue *rescue = pass->rescue;
    struct seen *seen = find_seen (rescue, job);

    if (seen && seen->start == job->start)
        return seen;
    if (!seen
        && dn_rows_grow (
               &rescue->seen, rescue->n_seen, sizeof (*rescue->seen), pass->err)
               < 0)
        return NULL;
    if (seen)
        free_seen (seen);
    else
        seen = &rescue->seen[rescue->n_seen++];
    *seen =
        (struct seen){.raw_id = job->raw_id, .start = job->start, .stage = STAGE_LOOK};
    memcpy (seen->name, job->name, sizeof (seen->name));
    return seen;
}

/* Forget jobs that have left the table, when all is done with them. */
static void forget (struct rescue *rescue)
{
    int64_t n = 0;

    for (int64_t i = 0; i < rescue->n_seen; i++) {
        if (rescue->seen[i].present)
            rescue->seen[n++] = rescue->seen[i];
        else
            free_seen (&rescue->seen[i]);
        if (n > 0)
            rescue->seen[n - 1].present = false;
    }
    rescue->n_seen = n;
}

/* --- the pass over the table --------------------------------------------------- */

/* The record has what the next bundle must learn from. */
static void tell (const struct pass *pass,
                  const struct seen *seen,
                  const struct dn_link_job *job,
                  const struct dn_recorded *recorded,
                  bool of_host)
{
    enum dn_rescue_refusal refusal = seen->plan.refusal;
    char what[DN_REASON_MAX];
    struct dn_buf buf = dn_buf_on (what, sizeof (what));

    if (of_host)
        dn_buf_add (&buf, dn_say_rescue_of_host);
    else
        dn_buf_add (&buf, dn_say_rescue_of_gpu, dn_recorded_gpu (recorded));
    if (!of_host)
        dn_tick (DN_TICK_FALSE_FITS);
    if (refusal != DN_REFUSAL_NONE && refusal != DN_REFUSAL_RULES)
        dn_tick (DN_TICK_NOT_RESCUED);
    if (refusal != DN_REFUSAL_NONE)
        dn_log (DN_LOG_INFO,
                dn_say_rescue_not_started,
                job->name,
                what,
                dn_rescue_refusal_text (refusal));
    else
        dn_log (DN_LOG_INFO,
                pass->d->dry_run ? dn_say_rescue_would : dn_say_rescue_started,
                job->name,
                what);
    dn_log (DN_LOG_INFO, dn_say_rescue_record, job->name, job->admin_comment);
}

static int look (struct pass *pass, struct seen *seen, const struct dn_link_job *job)
{
    const struct dn_site *site = pass->d->site;
    struct dn_recorded recorded;
    struct dn_err err = {0};
    bool of_gpu, of_host, enabled;

    seen->stage = STAGE_DONE;
    if (dn_record_read (job->admin_comment, &recorded, NULL) <= 0)
        return 0;
    of_gpu = dn_rescue_concerns (job, &recorded, false)
             && dn_evidence_find (site, job, false);
    of_host = !of_gpu && dn_rescue_concerns (job, &recorded, true)
              && dn_evidence_find (site, job, true);
    if (!of_gpu && !of_host)
        return 0;
    enabled = of_host || dn_rules_of (site, job).rescue == DN_RESCUE_REQUEUE;
    seen->plan = dn_rescue_plan (job, &recorded, of_host, enabled, pass->slurm);
    if (seen->plan.refusal == DN_REFUSAL_NONE)
        seen->comment = dn_record_note (job->admin_comment, DN_UNSET, &err);
    if (seen->plan.refusal == DN_REFUSAL_NONE && !seen->comment) {
        dn_log (DN_LOG_ERROR, dn_say_rescue_error, job->name, err.text);
        return 0;
    }
    tell (pass, seen, job, &recorded, of_host);
    if (seen->plan.refusal == DN_REFUSAL_NONE && !pass->d->dry_run)
        seen->stage = STAGE_REQUEUE;
    return 0;
}

static int take_job (void *to, const struct dn_link_job *job)
{
    struct pass *pass = to;
    struct seen *seen = find_seen (pass->rescue, job);

    if (seen)
        seen->present = true;
    if (!dn_rescue_failed (job) || !job->admin_comment
        || !strstr (job->admin_comment, "{\"dnnest\":"))
        return 0;
    seen = take_seen (pass, job);
    if (!seen)
        return -1;
    seen->present = true;
    return seen->stage == STAGE_LOOK ? look (pass, seen, job) : 0;
}

/* --- changes ------------------------------------------------------------------- */

/* Is the job as the pass has seen it? Another dnnestd may have been faster, or the
 * answer to an earlier try was lost.
 */
static int compare_run (void *to, const struct dn_link_job *now)
{
    struct seen *seen = to;

    if (seen->tried && now->phase == DN_PHASE_PENDING)
        seen->stage = STAGE_CHANGE;
    else if (!dn_rescue_failed (now) || now->start != seen->start)
        seen->stage = STAGE_DONE;
    return 0;
}

static int requeue (struct pass *pass, struct seen *seen, struct dn_err *err)
{
    seen->tried = true;
    if (dn_link_requeue (pass->d->link, seen->name, true, err) < 0)
        return -1;
    seen->stage = STAGE_CHANGE;
    return 0;
}

/* One more stage of a job. -1 with 'err'. */
static int advance (struct pass *pass, struct seen *seen, struct dn_err *err)
{
    struct dn_link *link = pass->d->link;
    const struct dn_rescue_plan *plan = &seen->plan;
    const struct dn_link_change change = {
        .name = seen->name,
        .limit_s = plan->limit_s,
        .admin_comment = seen->comment,
        .gres = plan->gres[0] ? plan->gres : NULL,
        .mem_mb = plan->mem_mb,
        .partition = plan->partition[0] ? plan->partition : NULL,
        .features = plan->features[0] ? plan->features : NULL};

    switch (seen->stage) {
    case STAGE_REQUEUE:
        if (dn_link_job_now (link, seen->raw_id, compare_run, seen, err) < 0)
            return -1;
        return seen->stage == STAGE_REQUEUE ? requeue (pass, seen, err) : 0;
    case STAGE_CHANGE:
        if (dn_link_update (link, &change, err) < 0)
            return -1;
        seen->stage = STAGE_RELEASE;
        return 0;
    case STAGE_RELEASE:
        if (dn_link_release (link, seen->name, err) < 0)
            return -1;
        dn_tick (DN_TICK_RESCUED);
        seen->stage = STAGE_DONE;
        return 0;
    default:
        return 0;
    }
}

/* All stages. A refusal ends them; after an error of the connection they go on. */
static int serve (struct pass *pass, struct seen *seen)
{
    struct dn_err err = {0};

    while (seen->stage > STAGE_LOOK) {
        enum stage stage = seen->stage;

        if (advance (pass, seen, &err) == 0)
            continue;
        if (dn_link_is_lost (&err))
            return dn_err_set (pass->err, err.code, "%s", err.text);
        dn_log (DN_LOG_ERROR,
                stage > STAGE_REQUEUE ? dn_say_rescue_held : dn_say_rescue_refused,
                err.text);
        dn_tick (DN_TICK_NOT_RESCUED);
        seen->stage = STAGE_DONE;
    }
    return 0;
}

/* --- the task ------------------------------------------------------------------ */

static int run_rescue (void *memory, struct dn_daemon *d, struct dn_err *err)
{
    struct rescue *rescue = memory;
    struct pass pass = {.rescue = rescue, .d = d, .err = err};
    struct dn_link_conf conf;

    if (dn_link_conf (d->link, &conf, err) < 0)
        return -1;
    pass.slurm = conf.slurm;
    if (dn_jobs_each (d, take_job, &pass, err) != 0)
        return -1;
    for (int64_t i = 0; i < rescue->n_seen; i++)
        if (serve (&pass, &rescue->seen[i]) < 0)
            return -1;
    forget (rescue);
    return 0;
}

static void end_rescue (void *memory)
{
    struct rescue *rescue = memory;

    for (int64_t i = 0; i < rescue->n_seen; i++)
        free_seen (&rescue->seen[i]);
    free (rescue->seen);
}

const struct dn_task dn_task_rescue = {
    .name = "rescue",
    .help = "start jobs again that ran out of memory after a change",
    .interval_offset = offsetof (struct dn_site, guard_interval_s),
    .memory = sizeof (struct rescue),
    .run = run_rescue,
    .end = end_rescue,
};
