/* event.h - one decision as a line of the decision log
 *
 * A submission only copies the data for its line, some kilobytes at most. Another
 * thread writes the line later.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_EVENT_H
#define DN_EVENT_H

#include <stdatomic.h>

#include "advise.h"

/* Characters of the name of a job, partition, account or QOS. Longer names are cut and
 * end in "...".
 */
#define DN_EVENT_NAME_MAX 128

/* About one second of 2000 decisions per second, which is more than any site makes. */
#define DN_EVENTS_MAX 2048

struct dn_event {
    struct dn_event *next; /* in a queue */
    int64_t time_ms;       /* since 1970 */
    int64_t user_id;
    int64_t taken_us;
    enum dn_job_kind kind;
    bool applied;            /* the job was rewritten as the record says */
    enum dn_verdict verdict; /* NONE: there was an error */
    enum dn_abstain abstain;
    char name[DN_EVENT_NAME_MAX + 4];
    char partition[DN_EVENT_NAME_MAX + 4];
    char account[DN_EVENT_NAME_MAX + 4];
    char qos[DN_EVENT_NAME_MAX + 4];
    char error[DN_ERR_TEXT_MAX];
    char record[DN_RECORD_MAX + 1];
    int n_reasons;
    char reasons[][DN_REASON_MAX];
};

/* The event of 'job', from 'advice' and 'err'; either may be NULL. Return NULL without
 * memory. Free it with free ().
 */
struct dn_event *dn_event_new (const struct dn_job *job,
                               const struct dn_advice *advice,
                               const struct dn_err *err);

/* A queue from many threads to one, in which no thread waits for another. Zeroed when
 * empty.
 */
struct dn_events {
    _Atomic (struct dn_event *) last; /* put in, each linked to the one before it */
    atomic_int n;
    struct dn_event *first; /* taken from there by the reader, in their order */
};

/* Put 'event' in; false if there are DN_EVENTS_MAX. Callable from any thread. */
bool dn_events_put (struct dn_events *events, struct dn_event *event);

/* Take the oldest event out; NULL when there is none. One thread at a time. */
struct dn_event *dn_events_get (struct dn_events *events);

/* The line, a JSON object of printable ASCII, with a newline at its end. NULL without
 * memory. Free it with free ().
 */
char *dn_event_line (const struct dn_event *event);

#endif
