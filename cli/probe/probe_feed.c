/* probe_feed.c - the times at which a probed program has taken steps
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "probe_feed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Marks of one counter: a probe of an hour at 250 steps per second. */
#define MARKS_MAX 1000000

/* Seconds. A larger number is no valid time of the monotonic clock. */
#define TIME_MAX 1e10

void dn_feed_begin (struct dn_feed *feed, const regex_t *pattern, double start_s)
{
    memset (feed, 0, sizeof (*feed));
    feed->pattern = pattern;
    feed->every = 1;
    feed->start_s = start_s;
}

static struct dn_feed_counter *find_counter (struct dn_feed *feed,
                                             int64_t pid,
                                             int64_t optimizer)
{
    struct dn_feed_counter *counter = feed->counters;

    for (int i = 0; i < feed->n_counters; i++, counter++)
        if (counter->pid == pid && counter->optimizer == optimizer)
            return counter;
    if (feed->n_counters == DN_FEED_COUNTERS_MAX)
        return NULL;
    feed->n_counters++;
    counter->pid = pid;
    counter->optimizer = optimizer;
    return counter;
}

static bool grow (struct dn_feed_counter *counter)
{
    int size = counter->size > 0 ? 2 * counter->size : 256;
    struct dn_mark *marks;
    double *loader_s;

    if (counter->n_marks < counter->size)
        return true;
    marks = realloc (counter->marks, (size_t) size * sizeof (*marks));
    if (!marks)
        return false;
    counter->marks = marks;
    loader_s = realloc (counter->loader_s, (size_t) size * sizeof (*loader_s));
    /* -Wanalyzer-malloc-leak: no, 'counter' keeps what it has */
    if (!loader_s)
        return false;
    counter->loader_s = loader_s;
    /* -Wanalyzer-malloc-leak: it keeps these, too */
    counter->size = size;
    return true;
}

/* Record that so many steps were done at 'time_s' of the monotonic clock. */
static void add_mark (struct dn_feed *feed,
                      struct dn_feed_counter *counter,
                      double time_s,
                      int64_t step,
                      double loader_s)
{
    counter->n_steps = step;
    if (counter->n_marks == MARKS_MAX)
        return;
    if (!grow (counter)) {
        feed->failed = true;
        return;
    }
    counter->marks[counter->n_marks] = (struct dn_mark){time_s - feed->start_s, step};
    counter->loader_s[counter->n_marks++] = loader_s;
}

/* --- lines of the hook ----------------------------------------------------------- */

static bool cut_int (struct dn_span *rest, int64_t max, int64_t *value)
{
    return dn_int_read (dn_span_cut (rest, " "), "", 0, max, value, NULL) == 0;
}

static bool cut_real (struct dn_span *rest, double max, double *value)
{
    return dn_real_read (dn_span_cut (rest, " "), "", 0, max, value, NULL) == 0;
}

/* Copy printable characters only: the text is printed on terminals. */
static void copy_name (struct dn_span span, char *out, size_t size)
{
    size_t len = 0;

    for (size_t i = 0; i < span.len && len + 1 < size; i++)
        out[len++] = span.text[i] < ' ' || span.text[i] > '~' ? '?' : span.text[i];
    out[len] = '\0';
}

static void take_step (struct dn_feed *feed,
                       int64_t pid,
                       struct dn_span rest,
                       double now_s)
{
    struct dn_feed_counter *counter;
    int64_t optimizer;
    int64_t workers;
    double time_s;
    double loader_s;

    if (!cut_int (&rest, INT32_MAX, &optimizer) || !cut_real (&rest, TIME_MAX, &time_s)
        || !cut_real (&rest, TIME_MAX, &loader_s)
        || !cut_int (&rest, INT32_MAX, &workers))
        return;
    counter = find_counter (feed, pid, optimizer);
    if (!counter)
        return;
    /* A process in another time namespace has another clock. */
    if (time_s < feed->start_s || time_s > now_s + 1)
        time_s = now_s;
    feed->workers = workers;
    add_mark (feed, counter, time_s, counter->n_steps + 1, loader_s);
}

static void take_device (struct dn_feed *feed, struct dn_span rest)
{
    struct dn_span kind = dn_span_cut (&rest, " ");

    if (feed->told_device)
        return;
    if (dn_span_is (kind, "cuda")) {
        if (!cut_real (&rest, 1e15, &feed->memory))
            return;
        copy_name (rest, feed->product, sizeof (feed->product));
        feed->cuda = true;
    } else if (!dn_span_is (kind, "cpu")) {
        return;
    }
    feed->told_device = true;
}

static void take_hook_line (struct dn_feed *feed, struct dn_span rest, double now_s)
{
    struct dn_span kind = dn_span_cut (&rest, " ");
    int64_t pid;
    double bytes;

    if (kind.len != 1 || !cut_int (&rest, INT32_MAX, &pid))
        return;
    switch (kind.text[0]) {
    case 'H':
        feed->hooked = true;
        copy_name (rest, feed->torch, sizeof (feed->torch));
        break;
    case 'D':
        take_device (feed, rest);
        break;
    case 'S':
        take_step (feed, pid, rest, now_s);
        break;
    case 'E':
        feed->n_exhausted++;
        break;
    case 'M':
        if (cut_real (&rest, 1e15, &bytes))
            feed->reserved = fmax (feed->reserved, bytes);
        break;
    default:
        break;
    }
}

/* --- lines of the program -------------------------------------------------------- */

/* A number that matches the pattern's first group is the number of steps so far. */
static void take_output_line (struct dn_feed *feed, const char *text, double now_s)
{
    struct dn_feed_counter *counter;
    regmatch_t parts[2];
    int64_t step;

    if (regexec (feed->pattern, text, DN_N_ELEMENTS (parts), parts, 0) != 0)
        return;
    counter = find_counter (feed, 0, 0);
    if (!counter)
        return;
    step = counter->n_steps + feed->every;
    if (parts[1].rm_so >= 0) {
        struct dn_span number = {text + parts[1].rm_so,
                                 (size_t) (parts[1].rm_eo - parts[1].rm_so)};

        if (dn_int_read (number, "", 0, INT64_C (1000000000000), &step, NULL) < 0
            || (counter->n_marks > 0 && step <= counter->n_steps))
            return;
    }
    add_mark (feed, counter, now_s, step, 0);
}

static void end_line (struct dn_feed *feed, struct dn_feed_line *line, double now_s)
{
    line->text[line->len] = '\0';
    if (line->len > 0 && feed->pattern)
        take_output_line (feed, line->text, now_s);
    else if (line->len > 0 && !line->too_long)
        take_hook_line (feed, (struct dn_span){line->text, line->len}, now_s);
    line->len = 0;
    line->too_long = false;
}

/* A carriage return also ends a line, as in progress bars. Of a line that is too long
 * only the beginning is matched.
 */
void dn_feed_take (struct dn_feed *feed,
                   struct dn_feed_line *line,
                   const char *bytes,
                   size_t len,
                   double now_s)
{
    for (size_t i = 0; i < len; i++) {
        char c = bytes[i];

        if (c == '\n' || c == '\r')
            end_line (feed, line, now_s);
        else if (line->len + 1 == sizeof (line->text))
            line->too_long = true;
        else
            line->text[line->len++] = (char) (c == '\0' ? '?' : c);
    }
}

const struct dn_feed_counter *dn_feed_best (const struct dn_feed *feed)
{
    const struct dn_feed_counter *best = NULL;

    for (int i = 0; i < feed->n_counters; i++)
        if (feed->counters[i].n_marks > 0
            && (!best || feed->counters[i].n_steps > best->n_steps))
            best = &feed->counters[i];
    return best;
}

void dn_feed_free (struct dn_feed *feed)
{
    if (!feed)
        return;
    for (int i = 0; i < feed->n_counters; i++) {
        free (feed->counters[i].marks);
        free (feed->counters[i].loader_s);
    }
    feed->n_counters = 0;
}
