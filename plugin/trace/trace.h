/* trace.h - passes decisions to the decision log and the counters
 *
 * Submissions only count and queue events; a writer in another thread writes the files.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TRACE_H
#define DN_TRACE_H

#include "trace/counters.h"
#include "trace/event.h"
#include "trace/journal.h"

extern struct dn_counters dn_counters;

/* Discard the events of an earlier writer. No submission may be in progress. */
void dn_trace_start (void) DN_COLD;

/* Pass 'event' to the writer. If the queue is full, it is freed and counted as lost.
 * NULL (there was no memory for the event) is counted as lost. Callable from any
 * thread, and never waits.
 */
void dn_trace_hand_over (struct dn_event *event);

/* The state of one of the writer's two files. An error is logged once. */
struct dn_trouble {
    bool failing;
    unsigned long long dropped; /* total lost lines when the error began */
};

/* The state of the writer. Only one thread may use it. */
struct dn_writer {
    struct dn_journal journal;
    struct dn_event *held; /* its line could not be written yet */
    struct dn_trouble log;
    struct dn_trouble counters;
};

struct dn_writer dn_writer_empty (void);

/* Close the file; a line that it holds is lost. */
void dn_writer_end (struct dn_writer *writer) DN_COLD;

/* Called when the writer cannot write a file, and when it can again. 'text' is a line
 * for slurmctld's log.
 */
typedef void dn_writer_say (bool error, const char *text);

/* Write the queued events to the decision log 'path'. "": there is no log, and the
 * events are discarded. While the log cannot be written, events wait in the queue.
 */
void dn_writer_log (struct dn_writer *writer,
                    const char *path,
                    dn_writer_say *say) DN_COLD;

/* Write the counters to 'path', unless that is "". */
void dn_writer_counters (struct dn_writer *writer,
                         const char *path,
                         const struct dn_gauges *gauges,
                         dn_writer_say *say) DN_COLD;

#endif
