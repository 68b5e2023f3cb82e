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
#include <stdlib.h>
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

/* One job that concerns dnnest. */
struct turn {
    const struct dn_site *site;
    const struct dn_view *view;
    struct dn_job *job; /* its texts are those of the description */
    char **err_msg;
    long long start_us;
};

/* --- traces ---------------------------------------------------------------------- */

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

    if (advice->metadata == DN_METADATA_GIVEN)
        dn_count (&dn_counters.described);
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

static void count_error (const struct dn_err *err)
{
    dn_count (&dn_counters.described);
    dn_count (&dn_counters.errors[err->code]);
}

/* The event for the decision log. NULL: there is no log, or no memory. */
static struct dn_event *note (const struct turn *turn,
                              const struct dn_advice *advice,
                              const struct dn_err *err)
{
    struct timespec now;
    struct dn_outcome outcome = {.taken_us = now_us () - turn->start_us,
                                 .applied = !err && rewrites (&advice->patch),
                                 .err = err};

    if (turn->site->decision_log[0] == '\0')
        return NULL;
    clock_gettime (CLOCK_REALTIME, &now);
    outcome.time_ms = (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
    return dn_event_new (turn->job, advice, &outcome);
}

/* Without memory for the event, it is counted as lost. */
static void hand_over (const struct turn *turn, struct dn_event *event)
{
    if (turn->site->decision_log[0] != '\0')
        dn_trace_hand_over (event);
}

/* --- the three outcomes ---------------------------------------------------------- */

/* The job is not changed. The user gets the error as a message, unless the rules of the
 * site suppress messages.
 */
static void refuse (const struct turn *turn, const struct dn_err *err)
{
    const struct dn_rules rules = dn_advise_rules (turn->site, turn->view, turn->job);
    char line[DN_ERR_TEXT_MAX + 64];

    slurm_info (dn_say_log_unchanged, (long long) turn->job->user_id, err->text);
    count_error (err);
    hand_over (turn, note (turn, NULL, err));
    if (rules.message == DN_MESSAGE_NEVER || rules.mode == DN_MODE_OBSERVE)
        return;
    snprintf (line, sizeof (line), dn_say_user_error, err->text);
    dn_host_append_line (turn->err_msg, line);
}

/* Append the lines of a patch for the user to the messages of other plugins. */
static void tell (const struct dn_patch *patch, char **err_msg)
{
    if (patch->user_text[0] != '\0')
        dn_host_append_line (err_msg, patch->user_text);
    for (int i = 0; i < patch->n_warnings; i++)
        dn_host_append_line (err_msg, patch->warnings[i]);
}

/* Rewrite the job. Its line of the decision log is made before, since that frees texts
 * of the job.
 */
static void follow (const struct turn *turn,
                    const struct dn_advice *advice,
                    job_desc_msg_t *desc)
{
    struct dn_err err = {.code = DN_E_NONE};
    struct dn_event *event = note (turn, advice, NULL);
    char line[DN_LOG_TEXT_MAX];

    dn_advice_log (advice, line);
    if (dn_adapter_apply (desc, &advice->patch, &err) < 0) {
        slurm_error (dn_say_log_unchanged, (long long) advice->job.user_id, err.text);
        free (event);
        event = note (turn, advice, &err);
        count_error (&err);
    } else {
        slurm_info (dn_say_log_line, line);
        tell (&advice->patch, turn->err_msg);
        count_decision (advice);
    }
    hand_over (turn, event);
}

/* The job is not decided about; there may be warnings, as of metadata that are ignored,
 * and it may describe itself.
 */
static void leave (const struct turn *turn,
                   const struct dn_advice *advice,
                   job_desc_msg_t *desc)
{
    const struct dn_decision *decision = &advice->decision;
    struct dn_err err = {.code = DN_E_NONE};

    for (int i = 0; i < decision->n_warnings; i++)
        slurm_info (dn_say_log_unchanged,
                    (long long) turn->job->user_id,
                    dn_warning_text (&decision->warnings[i]).text);
    if (dn_adapter_apply (desc, &advice->patch, &err) < 0)
        slurm_error (dn_say_log_unchanged, (long long) turn->job->user_id, err.text);
    tell (&advice->patch, turn->err_msg);
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
        return dn_refuse (err, sidecar_large, max);
    if (dn_carry_comment (job, site->sidecar_dir, text, err) < 0)
        return -1;
    if (*text)
        job->sidecar = *text;
    return 0;
}

/* The end of a submission without an error. */
static void settle (const struct turn *turn,
                    const struct dn_advice *advice,
                    job_desc_msg_t *desc)
{
    if (advice->metadata == DN_METADATA_OFF)
        dn_count (&dn_counters.opted_out);
    if (advice->decision.verdict == DN_VERDICT_NONE)
        leave (turn, advice, desc);
    else
        follow (turn, advice, desc);
}

static void advise (const struct turn *turn,
                    const struct dn_state *state,
                    struct dn_stopwatch *watch,
                    job_desc_msg_t *desc)
{
    struct dn_job *job = turn->job;
    struct dn_err err = {.code = DN_E_NONE};
    dn_cleanup (dn_free_ptr) char *sidecar = NULL;
    struct dn_advice *advice = dn_advice_new ();

    if (!advice)
        dn_refuse (&err, no_memory);
    if (!advice || find_sidecar (state->site, job, &sidecar, &err) < 0
        || dn_advise (state->site,
                      &state->view,
                      job,
                      &watch->deadline,
                      state->cache,
                      advice,
                      &err)
               < 0)
        refuse (turn, &err);
    else
        settle (turn, advice, desc);
    dn_advice_free (advice);
}

/* In a federation every sibling gets the job as the first cluster left it. Users cannot
 * write an admin comment.
 */
static bool is_advised (const job_desc_msg_t *desc)
{
    return desc->admin_comment && strstr (desc->admin_comment, "{\"dnnest\":");
}

/* A question (--test-only): only what may become a job has a session; or scrontab. */
static bool is_question (const job_desc_msg_t *desc)
{
    return desc->alloc_sid == NO_VAL && !(desc->bitflags & CRON_JOB);
}

void dn_submit_job (job_desc_msg_t *desc, char **err_msg)
{
    struct dn_stopwatch watch;
    struct dn_state state;
    struct dn_job job;
    struct turn turn = {.job = &job, .err_msg = err_msg};

    if (dn_keeper_is_missing ())
        return;
    dn_count (&dn_counters.submissions);
    /* Variables of such a job are its own, not inherited; keep them. */
    if (is_advised (desc))
        return;
    dn_stopwatch_start (&watch, 0);
    dn_adapter_forget_job (desc);
    dn_adapter_read (desc, &job);
    dn_keeper_notice ();
    turn.start_us = job.draw = now_us ();
    dn_state_take (&state);
    if (is_question (desc))
        state.view.changes = NULL; /* it does not count */
    turn.site = state.site;
    turn.view = &state.view;
    if (turn.site && dn_advise_concerns (turn.site, &job)) {
        watch.deadline.limit_ms = turn.site->decision_ms;
        advise (&turn, &state, &watch, desc);
        if (job.option || job.sidecar)
            dn_adapter_forget (desc);
        dn_counters_took (&dn_counters, now_us () - turn.start_us);
        report_if_slow (turn.start_us);
    }
    dn_state_give (&state);
}
