/* submit.c - one submission from start to end: read, advise, edit, report
 *
 * slurmctld holds its locks meanwhile, so the call is timed: it takes less than a
 * millisecond, and one of more than 50 ms is reported. Large data is on the heap,
 * because the stack of a slurmctld thread may be small.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "submit/submit.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "advise.h"
#include "base/messages.h"
#include "host/carry.h"
#include "host/stopwatch.h"
#include "graph/sidecar.h"
#include "submit/adapter.h"
#include "submit/host.h"
#include "submit/keeper.h"
#include "submit/news.h"
#include "submit/state.h"
#include "trace/trace.h"

#define SLOW_US          50000
#define SLOW_INTERVAL_US 60000000 /* between two reports */

static atomic_llong slow_reported_us; /* 0: never */

static long long now_us (void)
{
    struct timespec now;

    clock_gettime (CLOCK_MONOTONIC, &now);
    return (long long) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* One thread reports, at most once per SLOW_INTERVAL_US. */
static void report_if_slow (long long start_us)
{
    long long end_us = now_us ();
    long long reported_us = atomic_load (&slow_reported_us);

    if (end_us - start_us <= SLOW_US
        || (reported_us != 0 && end_us - reported_us < SLOW_INTERVAL_US))
        return;
    if (atomic_compare_exchange_strong (&slow_reported_us, &reported_us, end_us))
        slurm_error (dn_say_log_slow, (end_us - start_us) / 1000, SLOW_US / 1000);
}

/* The job is not changed. The user gets the error as a message, unless the rules of the
 * site suppress messages.
 */
static void refuse (const struct dn_site *site,
                    const struct dn_job *job,
                    const struct dn_err *err,
                    char **err_msg)
{
    const struct dn_submitter submitter = dn_submitter_of (job);
    const struct dn_rules rules = dn_site_rules (site, &submitter, NULL);
    char line[DN_ERR_TEXT_MAX + 64];

    slurm_info (dn_say_log_unchanged, (long long) job->user_id, err->text);
    if (rules.message == DN_MESSAGE_NEVER || rules.mode == DN_MODE_OBSERVE)
        return;
    snprintf (line, sizeof (line), dn_say_user_error, err->text);
    dn_host_append_line (err_msg, line);
}

/* Append the lines of a patch for the user to the messages of other plugins. */
static void tell (const struct dn_patch *patch, char **err_msg)
{
    if (patch->user_text[0] != '\0')
        dn_host_append_line (err_msg, patch->user_text);
    for (int i = 0; i < patch->n_warnings; i++)
        dn_host_append_line (err_msg, patch->warnings[i]);
}

static void follow (const struct dn_advice *advice,
                    job_desc_msg_t *desc,
                    char **err_msg,
                    struct dn_err *err)
{
    long long user_id = advice->job.user_id;
    char line[DN_LOG_TEXT_MAX];

    dn_advice_log (advice, line); /* before texts of the job are freed */
    if (dn_adapter_apply (desc, &advice->patch, err) < 0) {
        slurm_error (dn_say_log_unchanged, user_id, err->text);
        return;
    }
    slurm_info (dn_say_log_line, line);
    tell (&advice->patch, err_msg);
}

/* The job is not decided about; there may be warnings, as of metadata that are ignored.
 */
static void leave (const struct dn_decision *decision,
                   const struct dn_patch *patch,
                   int64_t user_id,
                   char **err_msg)
{
    for (int i = 0; i < decision->n_warnings; i++)
        slurm_info (dn_say_log_unchanged,
                    (long long) user_id,
                    dn_warning_text (&decision->warnings[i]).text);
    tell (patch, err_msg);
}

/* Check the size of the sidecar that came with the job, or read the one that its
 * comment names. '*text' is the text read, or NULL.
 */
static int find_sidecar (const struct dn_site *site,
                         struct dn_job *job,
                         char **text,
                         struct dn_err *err)
{
    const size_t max = DN_SIDECAR_HANDOVER_MAX;

    if (job->sidecar && strnlen (job->sidecar, max + 1) > max)
        return dn_err_set (err, DN_E_LIMIT, dn_say_err_sidecar_large, max);
    if (dn_carry_comment (job, site->sidecar_dir, text, err) < 0)
        return -1;
    if (*text)
        job->sidecar = *text;
    return 0;
}

/* Does the patch change more than the record in AdminComment? */
static bool rewrites (const struct dn_patch *patch)
{
    for (int i = 0; i < patch->n_edits; i++)
        if (patch->edits[i].field != DN_FIELD_ADMIN_COMMENT)
            return true;
    return false;
}

static void count_decision (const struct dn_advice *advice)
{
    const struct dn_decision *decision = &advice->decision;
    dn_counter *changes =
        rewrites (&advice->patch) ? dn_counters.changed : dn_counters.advised;

    dn_count (&dn_counters.verdicts[decision->verdict]);
    dn_count (&dn_counters.abstained[decision->abstain]);
    if (advice->reused)
        dn_count (&dn_counters.estimates_reused);
    if (decision->time_limit_s != DN_UNSET)
        dn_count (&changes[DN_CHANGE_TIME]);
    if (decision->time_min_s != DN_UNSET)
        dn_count (&changes[DN_CHANGE_TIME_MIN]);
    if (decision->gpu)
        dn_count (&changes[DN_CHANGE_GPU]);
    if (decision->cpus_per_task != DN_UNSET || decision->cpus_each_gpu != DN_UNSET)
        dn_count (&changes[DN_CHANGE_CPUS]);
}

/* Count the outcome. 'advice' is NULL if there is none; 'err' has the error, if any.
 * Return the event for finish () to pass to the log; 'wanted' is set if there is a log.
 * NULL with 'wanted' means that there was no memory.
 */
static struct dn_event *leave_traces (const struct dn_site *site,
                                      const struct dn_job *job,
                                      const struct dn_advice *advice,
                                      const struct dn_err *err,
                                      bool *wanted)
{
    bool failed = !advice || err->code != DN_E_NONE;
    struct dn_event *event;

    *wanted = false;
    if (!failed && advice->metadata == DN_METADATA_OFF)
        dn_count (&dn_counters.opted_out);
    if (!failed && advice->decision.verdict == DN_VERDICT_NONE)
        return NULL;
    if (failed || advice->metadata == DN_METADATA_GIVEN)
        dn_count (&dn_counters.described);
    if (failed)
        dn_count (&dn_counters.errors[err->code]);
    else
        count_decision (advice);
    *wanted = site->decision_log[0] != '\0';
    if (!*wanted)
        return NULL;
    event = dn_event_new (job, advice, failed ? err : NULL);
    if (event)
        event->applied = !failed && rewrites (&advice->patch);
    return event;
}

static struct dn_event *advise (struct dn_snapshot *snapshot,
                                const struct dn_view *view,
                                struct dn_job *job,
                                job_desc_msg_t *desc,
                                char **err_msg,
                                struct dn_stopwatch *watch,
                                bool *wanted)
{
    const struct dn_site *site = dn_state_site (snapshot);
    struct dn_cache_access *cache = dn_state_cache (snapshot);
    struct dn_err err = {.code = DN_E_NONE};
    dn_cleanup (dn_free_ptr) char *sidecar = NULL;
    struct dn_advice *advice = dn_advice_new ();
    struct dn_event *event;

    watch->deadline.limit_ms = site->decision_ms;
    if (!advice)
        dn_err_set (&err, DN_E_NOMEM, dn_say_err_no_memory);
    if (!advice || find_sidecar (site, job, &sidecar, &err) < 0
        || dn_advise (site, view, job, &watch->deadline, cache, advice, &err) < 0) {
        refuse (site, job, &err, err_msg);
        event = leave_traces (site, job, NULL, &err, wanted);
    } else {
        if (advice->decision.verdict != DN_VERDICT_NONE)
            follow (advice, desc, err_msg, &err);
        else
            leave (&advice->decision, &advice->patch, job->user_id, err_msg);
        event = leave_traces (site, job, advice, &err, wanted);
    }
    dn_advice_free (advice);
    return event;
}

/* The last step for a job that concerns dnnest. */
static void finish (struct dn_event *event, bool wanted, long long start_us)
{
    struct timespec now;
    long long taken_us = now_us () - start_us;

    dn_counters_took (&dn_counters, taken_us);
    if (!wanted)
        return;
    clock_gettime (CLOCK_REALTIME, &now);
    if (event) {
        event->time_ms = (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
        event->taken_us = taken_us;
    }
    dn_trace_hand_over (event);
}

/* In a federation every sibling gets the job as the first cluster left it. Users cannot
 * write an admin comment.
 */
static bool is_advised (const job_desc_msg_t *desc)
{
    return desc->admin_comment && strstr (desc->admin_comment, "{\"dnnest\":");
}

void dn_submit_job (job_desc_msg_t *desc, char **err_msg)
{
    struct dn_snapshot *snapshot;
    struct dn_stopwatch watch;
    struct dn_event *event;
    struct dn_news news;
    struct dn_view view;
    struct dn_job job;
    long long start_us;
    bool wanted;

    if (dn_keeper_is_missing ())
        return;
    dn_count (&dn_counters.submissions);
    /* Probe variables of such a job are its own, not inherited; keep them. */
    if (is_advised (desc))
        return;
    dn_stopwatch_start (&watch, 0);
    dn_adapter_forget_probe (desc);
    dn_adapter_read (desc, &job);
    dn_keeper_notice ();
    start_us = now_us ();
    snapshot = dn_state_take ();
    if (!snapshot)
        return;
    if (!dn_advise_concerns (dn_state_site (snapshot), &job)) {
        dn_state_give (snapshot);
        return;
    }
    news = dn_news_take (&view);
    event = advise (snapshot, &view, &job, desc, err_msg, &watch, &wanted);
    if (job.option || job.sidecar)
        dn_adapter_forget (desc);
    dn_news_give (&news);
    dn_state_give (snapshot);
    finish (event, wanted, start_us);
    report_if_slow (start_us);
}
