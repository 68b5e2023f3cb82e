/* scenario.c - reads the file of scenarios
 *
 *   Scenario Name=guard-killed Title="the guard is killed" Seed=1
 *   At Time=3600 Do=guard_killed For=600
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "misfortune.h"

#include <stdio.h>
#include <string.h>

#include "base/fields.h"
#include "host/files.h"

#define FILE_MAX  65536
#define TIME_MAX  (30 * 86400)
#define COUNT_MAX INT64_C (1000000000)

static const char *const whats[] = {
#define EVENT(what, name) [what] = name,
#include "events.inc"
};
const struct dn_names what_names = DN_NAMES (whats, N_WHATS);

#define COUNT(key, member, absent)                                                     \
    DN_COUNT_OR (key, struct scenario, member, 0, COUNT_MAX, absent)
static const struct dn_member head[] = {
    DN_TEXT ("Name", struct scenario, name, true),
    DN_TEXT ("Title", struct scenario, title, true),
    COUNT ("Seed", seed, 1),
    DN_FLAG ("Harms", struct scenario, harms, false),
    DN_FLAG ("Shorten", struct scenario, shorten, false),
    DN_FLAG ("OldRecord", struct scenario, old_record, false),
    COUNT ("Interval", interval_s, 30),
    COUNT ("Spread", spread_s, 7200),
    COUNT ("Wait", wait_s, 1800),
    COUNT ("OwnMin", own_min, 20),
    COUNT ("OwnMax", own_max, 600),
    COUNT ("Low", low_min, 0),
    COUNT ("Signal", signal, 10),
    COUNT ("TimeMin", time_min, 5),
    COUNT ("Deadline", deadline, 5),
    COUNT ("Array", array, 10),
    COUNT ("Het", het, 5),
    COUNT ("Unlimited", unlimited, 2),
    COUNT ("Unset", unset, 3),
    COUNT ("Wrong", wrong, 5),
    COUNT ("Progress", progress, 0),
    COUNT ("Federated", federated, 0),
};
#undef COUNT
#define COUNT(key, member, absent)                                                     \
    DN_COUNT_OR (key, struct event, member, 0, COUNT_MAX, absent)
static const struct dn_member at[] = {
    COUNT ("Time", time_s, 0),
    COUNT ("Random", random_s, 0),
    COUNT ("Every", every_s, 0),
    DN_COUNT_OR ("Times", struct event, times, 1, 500, 1),
    DN_WORD ("Do", struct event, what, &what_names),
    COUNT ("Share", share, 100),
    COUNT ("For", for_s, 0),
    COUNT ("By", by, 0),
    DN_COUNT_OR ("Back", struct event, back, 0, COUNT_MAX, 0),
    COUNT ("Nodes", nodes, 0),
    COUNT ("In", in_s, 0),
    COUNT ("Table", table_ms, 1),
    COUNT ("Update", update_ms, 1),
};

static const struct dn_line_kind kinds[] = {
    {"Scenario", head, (int) DN_N_ELEMENTS (head)},
    {"At", at, (int) DN_N_ELEMENTS (at)},
};

/* A line of the last of 'n' scenarios, or of a new one. Their number, or -1. */
static int read_line (const struct dn_keyline *line,
                      struct scenario *scenarios,
                      int n,
                      struct dn_err *err)
{
    struct scenario *scenario = &scenarios[n - 1];
    struct event *event;

    if (dn_span_is (line->word, kinds[0].word)) {
        if (n == SCENARIOS_MAX)
            return dn_err_set (err, DN_E_LIMIT, "more than %d scenarios", n);
        return dn_fields_read (&kinds[0], line, scenario + 1, err) < 0 ? -1 : n + 1;
    }
    if (n == 0 || !dn_span_is (line->word, kinds[1].word))
        return dn_err_set (err, DN_E_SYNTAX, "neither Scenario nor an At of one");
    if (scenario->n_events == EVENTS_MAX)
        return dn_err_set (err, DN_E_LIMIT, "more than %d events", EVENTS_MAX);
    event = &scenario->events[scenario->n_events++];
    if (dn_fields_read (&kinds[1], line, event, err) < 0)
        return -1;
    if (event->back > 0)
        event->by = -event->back;
    return n;
}

int scenarios_read (const char *path,
                    struct scenario scenarios[SCENARIOS_MAX],
                    struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct dn_keyline line = {.words = true};
    struct dn_span rest;
    int n = 0;
    int more;

    memset (scenarios, 0, SCENARIOS_MAX * sizeof (*scenarios));
    if (dn_file_read (path, FILE_MAX, &text, err) < 0)
        return -1;
    rest = dn_span_of (text);
    while ((more = dn_keyline_next (&rest, &line, err)) > 0) {
        n = read_line (&line, scenarios, n, err);
        if (n < 0)
            return dn_keyline_wrap (&line, path, err);
    }
    return more < 0 ? -1 : n;
}
