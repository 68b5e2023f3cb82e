/* event.h - one decision as a line of the decision log
 *
 * A submission writes its line into memory, some kilobytes at most. Another thread
 * writes the file later.
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
    char line[];           /* a JSON object of printable ASCII, and a newline */
};

/* What a line says beside the job and the advice. */
struct dn_outcome {
    int64_t time_ms; /* since 1970 */
    int64_t taken_us;
    bool applied;             /* the job is rewritten as the record says */
    const struct dn_err *err; /* NULL: none */
};

/* The event of 'job' and of 'advice', which may be NULL; both have their texts still.
 * Return NULL without memory. Free it with free ().
 */
struct dn_event *dn_event_new (const struct dn_job *job,
                               const struct dn_advice *advice,
                               const struct dn_outcome *outcome) DN_COLD;

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

#endif
