/* words.c - the lines for the user, and one for the log
 *
 * Numbers are whole minutes, whole counts and tenths written as two whole numbers, so
 * that they do not depend on the locale.
 * Names from users pass through dn_quote ().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rewrite/words.h"
#include "base/messages.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* "resnet50, 90 epochs" */
static void add_work (struct dn_buf *buf, const struct dn_story *story)
{
    const struct dn_spec *spec = story->spec;
    bool by_history = story->chosen && story->chosen->by_history;

    if (dn_spec_shown (spec)[0] != '\0')
        dn_buf_add (buf, "%s", dn_spec_shown (spec));
    else if (by_history && spec->app[0] != '\0')
        dn_buf_add (buf, "%s", spec->app);
    else
        dn_buf_add (buf, by_history ? dn_say_user_script : dn_say_user_network);
    if (spec->steps != DN_UNSET)
        dn_buf_add (buf, dn_say_user_steps, spec->steps);
    else if (spec->epochs >= 1)
        dn_buf_add (buf, dn_say_user_epochs, spec->epochs);
    if (spec->runs > 1)
        dn_buf_add (buf, dn_say_user_runs, spec->runs);
}

/* ": likely 2h51m" */
static void add_likely (struct dn_buf *buf, double seconds)
{
    int64_t minutes = (int64_t) ceil (seconds / 60);

    dn_buf_add (buf, dn_say_user_likely, minutes / 60, minutes % 60);
}

/* A longest run that is so much longer than a likely one is another mode. */
#define OTHER_MODE 3

/* " by 7 of your runs, the longest 10h02m" */
static void add_runs (struct dn_buf *buf, const struct dn_estimate *estimate)
{
    const struct dn_range *time = &estimate->train_s;
    int64_t minutes = (int64_t) ceil (time->floor.ratio * time->p50 / 60);

    if (estimate->history_runs == 0)
        return;
    dn_buf_add (buf,
                estimate->history_shared ? dn_say_user_by_account : dn_say_user_by_own,
                estimate->history_runs);
    if (time->floor.ratio > OTHER_MODE)
        dn_buf_add (buf, dn_say_user_longest, minutes / 60, minutes % 60);
}

/* "a100:4", "a100" where the number is unknown, "4" without a type. */
static void add_gpus (struct dn_buf *buf, const char *type, int64_t n_gpus)
{
    dn_buf_add (buf, "%s", DN_QUOTED (type));
    if (n_gpus != DN_UNSET)
        dn_buf_add (buf, "%s%" PRId64, type[0] != '\0' ? ":" : "", n_gpus);
}

/* ", partition A -> B, constraint C -> D" after a new GPU type. */
static void add_place (struct dn_buf *buf, const struct dn_story *story)
{
    const struct dn_job *job = story->request->job;
    const struct dn_patch *patch = story->patch;

    if (patch->partition[0] != '\0')
        dn_buf_add (buf, dn_say_user_partition, job->partition, patch->partition);
    if (patch->features[0] != '\0' && job->features)
        dn_buf_add (buf, dn_say_user_constraint, job->features, patch->features);
}

static int64_t tenths_of (double factor)
{
    return llround (10 * dn_min (dn_max (factor, 0), 1e6));
}

/* " (starts now, 1.6x the time, 0.6x the cost)" after a new GPU type, where the job
 * could run on the old one.
 */
static void add_exchange (struct dn_buf *buf, const struct dn_story *story)
{
    const struct dn_decision *decision = story->decision;
    double slowdown;
    int64_t tenths;

    if (decision->rescued || !story->base || !story->chosen
        || !(dn_estimate_time (story->base) > 0))
        return;
    slowdown = dn_estimate_time (story->chosen) / dn_estimate_time (story->base);
    tenths = tenths_of (slowdown);
    dn_buf_add (buf, "%s", decision->starts_now ? dn_say_user_starts_now : " (");
    dn_buf_add (buf, dn_say_user_slowdown, tenths / 10, tenths % 10);
    if (decision->from_cost > 0) {
        tenths = tenths_of (slowdown * decision->cost / decision->from_cost);
        dn_buf_add (buf, dn_say_user_cost, tenths / 10, tenths % 10);
    }
    dn_buf_add (buf, ")");
}

/* "gpu a100:1 -> a100 or v100, which starts first (1.6x the time)" */
static void add_open (struct dn_buf *buf, const struct dn_story *story)
{
    const struct dn_decision *decision = story->decision;
    int64_t tenths = tenths_of (decision->open[decision->n_open - 1].slow);

    add_gpus (buf, decision->open[0].gpu->type, story->request->n_gpus);
    dn_buf_text (buf, " -> ");
    for (int i = 0; i < decision->n_open; i++)
        dn_buf_add (buf,
                    "%s%s",
                    i == 0                     ? ""
                    : i + 1 < decision->n_open ? ", "
                                               : dn_say_user_or,
                    decision->open[i].gpu->type);
    dn_buf_text (buf, dn_say_user_first);
    dn_buf_add (buf, dn_say_user_slowdown, tenths / 10, tenths % 10);
    if (decision->wait_s != DN_UNSET && decision->own_wait_s > 0)
        dn_buf_add (buf,
                    dn_say_user_start,
                    dn_time_write (decision->wait_s).text,
                    decision->open[0].gpu->type,
                    dn_time_write (decision->own_wait_s).text);
    dn_buf_text (buf, ")");
}

/* "-c 20 -> 10" in the unit of the user's own option. */
static void add_cpus (struct dn_buf *buf, const struct dn_story *story)
{
    const struct dn_request *request = story->request;
    const struct dn_decision *decision = story->decision;

    if (decision->cpus_each_gpu != DN_UNSET)
        dn_buf_add (buf,
                    dn_say_user_cpus_per_gpu,
                    request->cpus_each_gpu,
                    decision->cpus_each_gpu);
    else
        dn_buf_add (
            buf, dn_say_user_cpus, request->cpus_per_task, decision->cpus_per_task);
}

/* The time as the scheduler will plan with it and, unless the limit is lowered for
 * good, the limit that the user keeps.
 */
static void add_time (struct dn_buf *buf, const struct dn_story *story)
{
    const struct dn_decision *decision = story->decision;
    struct dn_time_text asked = dn_time_write (story->request->time_limit_s);

    if (decision->time_limit_s != DN_UNSET)
        dn_buf_add (buf,
                    dn_say_user_time,
                    asked.text,
                    dn_time_write (decision->time_limit_s).text);
    if (decision->extended)
        dn_buf_add (buf, dn_say_user_extended, asked.text);
    if (decision->time_min_s != DN_UNSET)
        dn_buf_add (buf,
                    story->rules->mode == DN_MODE_ENFORCE ? dn_say_user_planned
                                                          : dn_say_user_time_min,
                    dn_time_write (decision->time_min_s).text,
                    asked.text);
}

/* "gpu a100:4 -> v100:1 (1.6x the time), partition A -> B" */
static void add_gpu (struct dn_buf *buf, const struct dn_story *story)
{
    const struct dn_request *request = story->request;
    const struct dn_decision *decision = story->decision;
    const char *from = decision->gpu ? decision->from->type : request->gpu_type;
    bool fewer = decision->gpus != DN_UNSET;

    add_gpus (buf, from, fewer ? request->asked_gpus : request->n_gpus);
    dn_buf_add (buf, " -> ");
    add_gpus (buf, decision->gpu ? decision->gpu->type : from, request->n_gpus);
    if (!decision->gpu)
        return;
    add_exchange (buf, story);
    add_place (buf, story);
}

/* "time A -> B, gpu C -> D, -c E -> F, mem G -> H" */
static void add_changes (struct dn_buf *buf, const struct dn_story *story)
{
    const struct dn_decision *decision = story->decision;
    const char *comma = "";

    if (decision->time_limit_s != DN_UNSET || decision->time_min_s != DN_UNSET) {
        add_time (buf, story);
        comma = ", ";
    }
    if (decision->gpu || decision->gpus != DN_UNSET) {
        dn_buf_add (buf, dn_say_user_gpu, comma);
        add_gpu (buf, story);
        comma = ", ";
    } else if (decision->n_open > 0) {
        dn_buf_add (buf, dn_say_user_gpu, comma);
        add_open (buf, story);
        comma = ", ";
    }
    if (decision->cpus_per_task != DN_UNSET || decision->cpus_each_gpu != DN_UNSET) {
        dn_buf_add (buf, "%s", comma);
        add_cpus (buf, story);
        comma = ", ";
    }
    if (decision->mem_mb != DN_UNSET)
        dn_buf_add (buf,
                    dn_say_user_memory,
                    comma,
                    story->request->mem_per_node_mb / 1024,
                    decision->mem_mb / 1024);
}

/* May the user get messages at all? */
static bool user_reads (const struct dn_rules *rules)
{
    return rules->mode != DN_MODE_OBSERVE && rules->message != DN_MESSAGE_NEVER;
}

/* Does the user get the line about the decision? A warning is a message, too. */
static bool user_wants (const struct dn_story *story)
{
    const struct dn_decision *decision = story->decision;

    if (!user_reads (story->rules))
        return false;
    if (decision->verdict == DN_VERDICT_CONTROL) /* a message is a treatment */
        return false;
    return decision->verdict == DN_VERDICT_CHANGE || dn_given (decision->note)
           || (story->rules->message == DN_MESSAGE_ALWAYS && decision->n_warnings == 0);
}

void dn_rewrite_warn (const struct dn_story *story, struct dn_patch *patch)
{
    const struct dn_decision *decision = story->decision;

    if (!user_reads (story->rules) || decision->verdict == DN_VERDICT_CONTROL)
        return;
    patch->n_warnings = decision->n_warnings;
    for (int i = 0; i < decision->n_warnings; i++) {
        struct dn_buf buf = dn_buf_on (patch->warnings[i], DN_WARN_TEXT_MAX);

        dn_buf_add (
            &buf, dn_say_user_warning, dn_warning_text (&decision->warnings[i]).text);
    }
}

/* The line about a job that is not changed. */
static void say_unchanged (const struct dn_story *story, struct dn_buf *buf)
{
    const struct dn_decision *decision = story->decision;
    struct dn_reason why = decision->note;

    if (!dn_given (why))
        why = decision->n_reasons > 0 ? decision->reasons[decision->n_reasons - 1]
                                      : DN_REASON (no_change);
    dn_buf_add (buf, dn_say_user_unchanged, dn_reason_text (&why).text);
}

/* Do its warnings say what was assumed? */
static bool says_assumed (const struct dn_decision *decision)
{
    for (int i = 0; i < decision->n_warnings; i++)
        if (decision->warnings[i].kind == DN_WARNING_LIMIT
            || decision->warnings[i].kind == DN_WARNING_DEADLINE)
            return true;
    return false;
}

void dn_words_user (const struct dn_story *story, char text[DN_USER_TEXT_MAX])
{
    const struct dn_decision *decision = story->decision;
    bool advises = story->rules->mode == DN_MODE_ADVISE;
    struct dn_buf buf = dn_buf_on (text, DN_USER_TEXT_MAX);

    if (!user_wants (story))
        return;
    if (decision->verdict != DN_VERDICT_CHANGE) {
        say_unchanged (story, &buf);
        return;
    }
    dn_buf_add (&buf, advises ? dn_say_user_suffices : dn_say_user_begin);
    add_changes (&buf, story);
    dn_buf_add (&buf, " (");
    add_work (&buf, story);
    if (story->chosen && story->chosen->train_s.p50 >= 0) {
        add_likely (&buf, story->chosen->train_s.p50);
        add_runs (&buf, story->chosen);
        if (decision->by_run)
            dn_buf_add (&buf, dn_say_user_described, decision->by_run);
    }
    if (decision->assumed_input[0] != '\0' && !says_assumed (decision))
        dn_buf_add (&buf, dn_say_user_assumed, decision->assumed_input);
    if (dn_given (decision->note))
        dn_buf_add (&buf, dn_say_user_note, dn_reason_text (&decision->note).text);
    dn_buf_add (&buf, advises ? dn_say_user_end_advise : dn_say_user_end);
}

void dn_rewrite_log (const struct dn_story *story, char text[DN_LOG_TEXT_MAX])
{
    const struct dn_decision *decision = story->decision;
    const char *name = dn_spec_shown (story->spec);
    struct dn_buf buf = dn_buf_on (text, DN_LOG_TEXT_MAX);

    dn_buf_add (&buf,
                dn_say_log_decision,
                story->request->job->user_id,
                dn_names_get (&dn_mode_names, (int) story->rules->mode),
                dn_names_get (&dn_verdict_names, (int) decision->verdict),
                name[0] != '\0' ? name : "-");
    add_changes (&buf, story);
    for (int i = 0; i < decision->n_warnings; i++)
        dn_buf_add (&buf,
                    "%s%s",
                    i == 0 ? dn_say_log_warned : ",",
                    dn_names_get (&dn_warning_names, (int) decision->warnings[i].kind));
    for (int i = 0; i < decision->n_reasons && !buf.cut; i++) {
        size_t len = buf.len;

        dn_buf_text (&buf, i == 0 ? dn_say_log_because : "; ");
        dn_reason_add (&buf, &decision->reasons[i]);
        if (buf.cut)
            text[len] = '\0';
    }
}
