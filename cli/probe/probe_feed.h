/* probe_feed.h - the times at which a probed program has taken steps
 *
 * In: the lines that the hook in the program writes to a file (hook/sitecustomize.py),
 * or the program's own output and a pattern. Out: marks of steps, and the other facts
 * that the hook reports. The input is untrusted: malformed lines are ignored, and each
 * number has a limit.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PROBE_FEED_H
#define DN_PROBE_FEED_H

#include <regex.h>

#include "learn/steady.h"

#define DN_FEED_LINE_MAX 4096

/* The steps of one optimizer in one process. The report uses one counter. */
struct dn_feed_counter {
    int64_t pid;
    int64_t optimizer;
    int64_t n_steps;
    struct dn_mark *marks; /* owned */
    double *loader_s;      /* owned, seconds waited for data until each mark */
    int n_marks;
    int size;
};

#define DN_FEED_COUNTERS_MAX 64

/* A line of output that is not complete yet. */
struct dn_feed_line {
    char text[DN_FEED_LINE_MAX];
    size_t len;
    bool too_long;
};

struct dn_feed {
    struct dn_feed_counter counters[DN_FEED_COUNTERS_MAX];
    int n_counters;
    const regex_t *pattern; /* borrowed; NULL: the hook's lines */
    int64_t every;          /* steps that a line of the pattern stands for */
    double start_s;         /* on the monotonic clock */
    bool failed;            /* out of memory: marks are missing */
    /* of the hook */
    bool hooked;      /* torch has been imported */
    char torch[32];   /* its version */
    bool told_device; /* the next three are set */
    bool cuda;
    char product[96];    /* of the GPU */
    double memory;       /* bytes of it */
    double reserved;     /* peak, by torch */
    int64_t workers;     /* of the loader */
    int64_t n_exhausted; /* how often loaders were exhausted */
    struct dn_feed_line line;
};

/* Begin at 'start_s' of the monotonic clock. */
void dn_feed_begin (struct dn_feed *feed, const regex_t *pattern, double start_s);

/* Parse bytes that were read at 'now_s' of the monotonic clock, line by line: from the
 * hook's file, or from the program's output if there is a pattern. 'line' keeps an
 * incomplete last line.
 */
void dn_feed_take (struct dn_feed *feed,
                   struct dn_feed_line *line,
                   const char *bytes,
                   size_t len,
                   double now_s);

/* The counter with the most steps, the first of equal ones; NULL: no steps. */
const struct dn_feed_counter *dn_feed_best (const struct dn_feed *feed);

/* NULL-safe. */
void dn_feed_free (struct dn_feed *feed);

#endif
