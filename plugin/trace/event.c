/* event.c - one decision as a line of the decision log
 *
 * {"time":"2026-11-21T16:07:06.123Z","uid":1000,"kind":"batch","name":"train",
 * "partition":"gpu","account":"research","verdict":"change","applied":true,
 * "us":412,"reasons":["gpu: ..."],"record":{"dnnest":1,...}}
 *
 * etc/decision-log.schema.json and job_submit_dnnest(8) explain the members. Users
 * choose the names: a character that is not printable ASCII becomes '?', so that a
 * terminal that shows the log does not obey it. json-c escapes quotes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "trace/event.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json_read.h"
#include "base/json_write.h"

static const char *const kind_text[] = {
    [DN_JOB_UNKNOWN] = "unknown",
    [DN_JOB_BATCH] = "batch",
    [DN_JOB_SRUN] = "srun",
    [DN_JOB_SALLOC] = "salloc",
};
static const struct dn_names kind_names = DN_NAMES (kind_text, DN_N_JOB_KINDS);

static void copy_name (char out[DN_EVENT_NAME_MAX + 4], const char *name)
{
    size_t n = 0;

    for (; name && name[n] != '\0' && n < DN_EVENT_NAME_MAX; n++)
        out[n] = name[n] >= ' ' && name[n] <= '~' ? name[n] : '?';
    snprintf (out + n, 4, "%s", name && name[n] != '\0' ? "..." : "");
}

struct dn_event *dn_event_new (const struct dn_job *job,
                               const struct dn_advice *advice,
                               const struct dn_err *err)
{
    int n_reasons = advice ? advice->decision.n_reasons : 0;
    struct dn_event *event =
        calloc (1, sizeof (*event) + (size_t) n_reasons * sizeof (event->reasons[0]));

    if (!event)
        return NULL;
    event->user_id = job->user_id;
    event->kind = job->kind;
    copy_name (event->name, job->name);
    copy_name (event->partition, job->partition);
    copy_name (event->account, job->account);
    copy_name (event->qos, job->qos);
    if (err)
        memcpy (event->error, err->text, sizeof (event->error));
    if (!advice)
        return event;
    event->verdict = advice->decision.verdict;
    event->abstain = advice->decision.abstain;
    event->n_reasons = n_reasons;
    memcpy (event->record, advice->patch.record, sizeof (event->record));
    for (int i = 0; i < n_reasons; i++)
        memcpy (event->reasons[i],
                dn_reason_text (&advice->decision.reasons[i]).text,
                DN_REASON_MAX);
    return event;
}

/* "2026-11-21T16:07:06.123Z" */
static int put_time (struct json_object *line, int64_t time_ms)
{
    time_t seconds = (time_t) (time_ms / 1000);
    struct tm tm;
    char text[64];

    if (!gmtime_r (&seconds, &tm))
        return 0;
    snprintf (text,
              sizeof (text),
              "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
              tm.tm_year + 1900,
              tm.tm_mon + 1,
              tm.tm_mday,
              tm.tm_hour,
              tm.tm_min,
              tm.tm_sec,
              (int) (time_ms % 1000));
    return dn_json_put_text (line, "time", text);
}

static int put_job (struct json_object *line, const struct dn_event *event)
{
    if (dn_json_put_number (line, "uid", event->user_id) < 0
        || dn_json_put_text (
               line, "kind", dn_names_get (&kind_names, (int) event->kind))
               < 0
        || dn_json_put_text (line, "name", event->name) < 0
        || dn_json_put_text (line, "partition", event->partition) < 0
        || dn_json_put_text (line, "account", event->account) < 0
        || dn_json_put_text (line, "qos", event->qos) < 0)
        return -1;
    return 0;
}

static const char *verdict_of (const struct dn_event *event)
{
    return event->error[0] != '\0'
               ? "error"
               : dn_names_get (&dn_verdict_names, (int) event->verdict);
}

static int put_verdict (struct json_object *line, const struct dn_event *event)
{
    const char *abstained = "";

    if (event->abstain != DN_ABSTAIN_NONE)
        abstained = dn_names_get (&dn_abstain_names, (int) event->abstain);
    if (dn_json_put_text (line, "verdict", verdict_of (event)) < 0
        || dn_json_put (line, "applied", json_object_new_boolean (event->applied)) < 0
        || dn_json_put_text (line, "abstained", abstained) < 0
        || dn_json_put_text (line, "error", event->error) < 0
        || dn_json_put_number (line, "us", event->taken_us) < 0)
        return -1;
    return 0;
}

static int put_reasons (struct json_object *line, const struct dn_event *event)
{
    struct json_object *reasons = json_object_new_array ();

    if (dn_json_put (line, "reasons", reasons) < 0)
        return -1;
    for (int i = 0; i < event->n_reasons; i++) {
        struct json_object *reason = json_object_new_string (event->reasons[i]);

        if (!reason || json_object_array_add (reasons, reason) < 0) {
            json_object_put (reason);
            return -1;
        }
    }
    return 0;
}

/* The record is JSON already, and is copied unchanged. */
static int put_record (struct json_object *line, const struct dn_event *event)
{
    struct json_object *record;
    char *text;

    if (event->record[0] == '\0')
        return 0;
    record = json_object_new_object ();
    if (dn_json_put (line, "record", record) < 0)
        return -1;
    text = strdup (event->record);
    if (!text)
        return -1;
    json_object_set_serializer (
        record, json_object_userdata_to_json_string, text, json_object_free_userdata);
    return 0;
}

char *dn_event_line (const struct dn_event *event)
{
    dn_cleanup (dn_json_free) struct json_object *line = json_object_new_object ();
    const char *json;
    char *text;
    size_t len;

    if (!line || put_time (line, event->time_ms) < 0 || put_job (line, event) < 0
        || put_verdict (line, event) < 0 || put_reasons (line, event) < 0
        || put_record (line, event) < 0)
        return NULL;
    json = dn_json_line (line);
    if (!json)
        return NULL;
    len = strlen (json);
    text = malloc (len + 2);
    if (!text)
        return NULL;
    memcpy (text, json, len);
    memcpy (text + len, "\n", 2);
    return text;
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
