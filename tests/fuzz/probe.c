/* probe.c - fuzz target: the steps that a probed program reports
 *
 * Attack surface: the lines of the hook, and a program's own output by a pattern. The
 * input is read in two pieces. Its steps give a rate, or a message why not.
 *
 * Aims at: cli/probe/probe_feed.c learn/steady.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"

#include <math.h>

#include "probe/probe_feed.h"

#define START_S 1000.0
#define NOW_S   5000.0

static void check_feed (const struct dn_feed *feed)
{
    const struct dn_feed_counter *best = dn_feed_best (feed);
    struct dn_steady steady;
    struct dn_err err = {0};

    expect (is_printable (feed->torch) && is_printable (feed->product), "a name", NULL);
    expect (isfinite (feed->memory) && isfinite (feed->reserved), "bytes", NULL);
    if (!best)
        return;
    if (dn_steady_find (best->marks, best->n_marks, 2, &steady, &err) < 0) {
        expect_message (&err);
        return;
    }
    expect (isfinite (steady.step_s) && steady.step_s >= 0, "a step", NULL);
    expect (isfinite (steady.sigma) && steady.sigma >= 0, "a spread", NULL);
    expect (steady.confidence >= 0 && steady.confidence <= 1, "confidence", NULL);
}

static void read_as (const char *text, size_t size, const regex_t *pattern)
{
    static struct dn_feed feed;
    size_t half = size / 2;

    dn_feed_begin (&feed, pattern, START_S);
    dn_feed_take (&feed, &feed.line, text, half, NOW_S / 2);
    dn_feed_take (&feed, &feed.line, text + half, size - half, NOW_S);
    check_feed (&feed);
    dn_feed_free (&feed);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static regex_t pattern;
    static bool compiled;

    if (!compiled)
        compiled = regcomp (&pattern, "step ([0-9kMGT.e-]*)", REG_EXTENDED) == 0;
    read_as ((const char *) data, size, NULL);
    read_as ((const char *) data, size, &pattern);
    return 0;
}
