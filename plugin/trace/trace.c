/* trace.c - passes decisions to the decision log and the counters
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "trace/trace.h"

#include <stdlib.h>

#include "base/messages.h"

struct dn_counters dn_counters;

static struct dn_events events;

void dn_trace_start (void)
{
    struct dn_event *event;

    while ((event = dn_events_get (&events)))
        free (event);
}

void dn_trace_hand_over (struct dn_event *event)
{
    if (!event) {
        dn_count (&dn_counters.dropped[DN_DROP_MEMORY]);
    } else if (!dn_events_put (&events, event)) {
        dn_count (&dn_counters.dropped[DN_DROP_FULL]);
        free (event);
    }
}

struct dn_writer dn_writer_empty (void)
{
    return (struct dn_writer){.journal = dn_journal_empty ()};
}

static void let_go (struct dn_writer *writer)
{
    free (writer->held);
    writer->held = NULL;
}

void dn_writer_end (struct dn_writer *writer)
{
    dn_journal_close (&writer->journal);
    let_go (writer);
}

/* Number of lines lost since the plugin was loaded. */
static unsigned long long lost (void)
{
    unsigned long long sum = 0;

    for (int i = DN_DROP_NONE + 1; i < DN_N_DROPS; i++)
        sum += atomic_load_explicit (&dn_counters.dropped[i], memory_order_relaxed);
    return sum;
}

static void say_trouble (struct dn_trouble *trouble,
                         const struct dn_err *err,
                         dn_writer_say *say)
{
    if (!trouble->failing) {
        trouble->dropped = lost ();
        say (true, err->text);
    }
    trouble->failing = true;
}

static void say_no_trouble (struct dn_trouble *trouble,
                            const char *path,
                            bool lines,
                            dn_writer_say *say)
{
    char text[DN_JOURNAL_PATH_MAX + 64];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    if (!trouble->failing)
        return;
    trouble->failing = false;
    dn_buf_add (&buf, dn_say_log_written_again, path);
    if (lines)
        dn_buf_add (&buf, dn_say_log_missing, lost () - trouble->dropped);
    say (false, text);
}

/* The log was switched off. Discard the lines that wait. */
static void switch_off (struct dn_writer *writer)
{
    struct dn_event *event;

    dn_writer_end (writer);
    for (int i = 0; i < DN_EVENTS_MAX && (event = dn_events_get (&events)); i++)
        free (event);
    writer->log.failing = false;
}

void dn_writer_log (struct dn_writer *writer, const char *path, dn_writer_say *say)
{
    struct dn_err err = {.code = DN_E_NONE};

    if (path[0] == '\0') {
        switch_off (writer);
        return;
    }
    if (dn_journal_ready (&writer->journal, path, &err) < 0) {
        say_trouble (&writer->log, &err, say);
        return;
    }
    /* At most DN_EVENTS_MAX lines per call, so that a flood does not block the thread.
     */
    for (int i = 0; i < DN_EVENTS_MAX; i++) {
        if (!writer->held)
            writer->held = dn_events_get (&events);
        if (!writer->held)
            return;
        if (dn_journal_append (&writer->journal, writer->held->line, &err) < 0) {
            say_trouble (&writer->log, &err, say);
            return;
        }
        let_go (writer);
        dn_count (&dn_counters.lines);
        say_no_trouble (&writer->log, path, true, say);
    }
}

void dn_writer_counters (struct dn_writer *writer,
                         const char *path,
                         const struct dn_gauges *gauges,
                         dn_writer_say *say)
{
    struct dn_err err = {.code = DN_E_NONE};

    if (path[0] == '\0')
        return;
    if (dn_counters_write (&dn_counters, gauges, path, &err) < 0)
        say_trouble (&writer->counters, &err, say);
    else
        say_no_trouble (&writer->counters, path, false, say);
}
