/* event.c - one decision as a line of the decision log
 *
 * {"time":"2026-11-21T16:07:06.123Z","uid":1000,"kind":"batch","name":"train",
 * "partition":"gpu","account":"research","verdict":"change","applied":true,
 * "us":412,"reasons":["gpu: ..."],"record":{"dnnest":1,...}}
 *
 * etc/decision-log.schema.json and job_submit_dnnest(8) explain the members. One that
 * is unknown is left out. Users choose the names: a character that is not printable
 * ASCII becomes '?', so that a terminal that shows the log does not obey it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "trace/event.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A line with all reasons has 10 KiB. */
#define LINE_MAX 16384

static const char *const kind_text[] = {
    [DN_JOB_UNKNOWN] = "unknown",
    [DN_JOB_BATCH] = "batch",
    [DN_JOB_SRUN] = "srun",
    [DN_JOB_SALLOC] = "salloc",
};
static const struct dn_names kind_names = DN_NAMES (kind_text, DN_N_JOB_KINDS);

/* A string of JSON, of at most 'max' characters of 'text'. */
static void add_string (struct dn_buf *line, const char *text, size_t max)
{
    size_t len = strnlen (text, max + 1);

    dn_buf_put (line, "\"", 1);
    dn_buf_escape (line, (struct dn_span){text, len > max ? max : len}, '\0');
    dn_buf_text (line, len > max ? "...\"" : "\"");
}

/* NULL and "" are left out. */
static void add_member (struct dn_buf *line,
                        const char *key,
                        const char *text,
                        size_t max)
{
    if (!text || text[0] == '\0')
        return;
    dn_buf_add (line, ",\"%s\":", key);
    add_string (line, text, max);
}

/* "2026-11-21T16:07:06.123Z" */
static void add_time (struct dn_buf *line, int64_t time_ms)
{
    time_t seconds = (time_t) (time_ms / 1000);
    struct tm tm = {.tm_mday = 1};

    gmtime_r (&seconds, &tm);
    dn_buf_add (line,
                "{\"time\":\"%04d-%02d-%02dT%02d:%02d:%02d.%03dZ\"",
                tm.tm_year + 1900,
                tm.tm_mon + 1,
                tm.tm_mday,
                tm.tm_hour,
                tm.tm_min,
                tm.tm_sec,
                (int) (time_ms % 1000));
}

static void add_job (struct dn_buf *line, const struct dn_job *job)
{
    if (job->user_id >= 0)
        dn_buf_add (line, ",\"uid\":%ld", (long) job->user_id);
    add_member (
        line, "kind", dn_names_get (&kind_names, (int) job->kind), DN_EVENT_NAME_MAX);
    add_member (line, "name", job->name, DN_EVENT_NAME_MAX);
    add_member (line, "partition", job->partition, DN_EVENT_NAME_MAX);
    add_member (line, "account", job->account, DN_EVENT_NAME_MAX);
    add_member (line, "qos", job->qos, DN_EVENT_NAME_MAX);
}

static void add_verdict (struct dn_buf *line,
                         const struct dn_decision *decision,
                         const struct dn_outcome *outcome)
{
    const struct dn_err *err = outcome->err;
    const char *verdict = "error";
    const char *abstained = NULL;

    if (decision && !err)
        verdict = dn_names_get (&dn_verdict_names, (int) decision->verdict);
    if (decision && decision->abstain != DN_ABSTAIN_NONE)
        abstained = dn_names_get (&dn_abstain_names, (int) decision->abstain);
    add_member (line, "verdict", verdict, DN_NAME_MAX);
    dn_buf_add (line, ",\"applied\":%s", outcome->applied ? "true" : "false");
    add_member (line, "abstained", abstained, DN_NAME_MAX);
    add_member (line, "error", err ? err->text : NULL, DN_ERR_TEXT_MAX);
    dn_buf_add (line, ",\"us\":%ld,\"reasons\":[", (long) outcome->taken_us);
    for (int i = 0; decision && i < decision->n_reasons; i++) {
        dn_buf_text (line, i > 0 ? "," : "");
        add_string (line, dn_reason_text (&decision->reasons[i]).text, DN_REASON_MAX);
    }
    dn_buf_put (line, "]", 1);
}

struct dn_event *dn_event_new (const struct dn_job *job,
                               const struct dn_advice *advice,
                               const struct dn_outcome *outcome)
{
    struct dn_event *event = malloc (sizeof (*event) + LINE_MAX);
    struct dn_event *fitting;
    struct dn_buf line;

    if (!event)
        return NULL;
    line = dn_buf_on (event->line, LINE_MAX);
    add_time (&line, outcome->time_ms);
    add_job (&line, job);
    add_verdict (&line, advice ? &advice->decision : NULL, outcome);
    /* the record is JSON already */
    if (advice && advice->patch.record[0] != '\0')
        dn_buf_add (&line, ",\"record\":%s", advice->patch.record);
    dn_buf_text (&line, "}\n");
    if (line.cut) {
        free (event);
        return NULL;
    }
    fitting = realloc (event, sizeof (*event) + line.len + 1);
    return fitting ? fitting : event;
}

bool dn_events_put (struct dn_events *events, struct dn_event *event)
{
    if (atomic_fetch_add (&events->n, 1) >= DN_EVENTS_MAX) {
        atomic_fetch_sub (&events->n, 1);
        return false;
    }
    event->next = atomic_load (&events->last);
    while (!atomic_compare_exchange_weak (&events->last, &event->next, event))
        ;
    return true;
}

struct dn_event *dn_events_get (struct dn_events *events)
{
    struct dn_event *event;

    if (!events->first) {
        /* The reader takes all at once, so that none is put back in between. */
        struct dn_event *last = atomic_exchange (&events->last, NULL);

        while (last) {
            event = last;
            last = event->next;
            event->next = events->first;
            events->first = event;
        }
    }
    event = events->first;
    if (event) {
        events->first = event->next;
        atomic_fetch_sub (&events->n, 1);
    }
    return event;
}
