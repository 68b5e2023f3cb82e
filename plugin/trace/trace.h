/* trace.h - decisions on their way to the decision log and the counters
 *
 * Submissions only count and hand over; one writer, on a thread of its own, writes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TRACE_H
#define DN_TRACE_H

#include "trace/counters.h"
#include "trace/event.h"

extern struct dn_counters dn_counters;

/* Nobody submits yet. What an earlier writer has left is thrown away. */
void dn_trace_start (void);

/* Hand 'event' over to the writer; it is freed, and counted, where that cannot be.
 * Callable from any thread, and never waits. NULL (no memory for it) is counted.
 */
void dn_trace_hand_over (struct dn_event *event);

/* What the writer needs to remember; its own thread's. */
struct dn_writer;

struct dn_writer *dn_writer_new (void);
void dn_writer_free (struct dn_writer *writer);

/* Where a writer tells what it cannot do, and that it can again: a line for
 * slurmctld's log, an error or not.
 */
typedef void dn_writer_say (bool error, const char *text);

/* Write what was handed over to the decision log 'path'. "": there is no log, and what
 * was handed over is thrown away. While it cannot be written, lines wait in the queue.
 */
void dn_writer_log (struct dn_writer *writer, const char *path, dn_writer_say *say);

/* Write the counters to 'path', unless that is "". */
void dn_writer_counters (struct dn_writer *writer,
                         const char *path,
                         const struct dn_gauges *gauges,
                         dn_writer_say *say);

#endif
