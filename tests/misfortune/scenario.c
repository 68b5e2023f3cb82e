/* scenario.c - reads the file of a scenario
 *
 *   Scenario Title="the guard is killed" Seed=1
 *   At Time=3600 Do=guard_killed For=600
 *   End Events=1
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "misfortune.h"

#include <libgen.h>
#include <stdio.h>
#include <string.h>

#include "base/fields.h"
#include "host/files.h"

#define FILE_MAX  65536
#define TIME_MAX  (30 * 86400)
#define COUNT_MAX INT64_C (1000000000)

static const char *const whats[] = {
    [CANCEL] = "cancel",
    [CLOCK_GUARD] = "clock_guard",
    [CLOCK_DRIFT] = "clock_drift",
    [CLOCK_SLURMCTLD] = "clock_slurmctld",
    [CONTROLLER_DOWN] = "controller_down",
    [DISK_FULL] = "disk_full",
    [GUARD_HANGS] = "guard_hangs",
    [GUARD_KILLED] = "guard_killed",
    [GUARD_STOPPED] = "guard_stopped",
    [GUARD_SECOND] = "guard_second",
    [HUMAN_ADDS] = "human_adds",
    [HUMAN_SETS] = "human_sets",
    [ANSWERS_LOST] = "answers_lost",
    [OBSERVE] = "observe",
    [PARTITION] = "partition",
    [QOS] = "qos",
    [RECORD_DAMAGED] = "record_damaged",
    [RECORD_LOST] = "record_lost",
    [REFUSED] = "refused",
    [REQUEUE] = "requeue",
    [REQUEUE_AT_FIRST] = "requeue_at_first",
    [RESERVATION] = "reservation",
    [RESERVATION_FORCED] = "reservation_forced",
    [SLOW] = "slow",
    [STATE_DIR_GONE] = "state_dir_gone",
    [SUSPEND] = "suspend",
    [TIMER_OFF] = "timer_off",
    [UNREACHABLE] = "unreachable",
};
const struct dn_names what_names = DN_NAMES (whats, N_WHATS);

#define COUNT(key, member, absent)                                                     \
    DN_COUNT_OR (key, struct scenario, member, 0, COUNT_MAX, absent)
static const struct dn_member head[] = {
    DN_TEXT ("Title", struct scenario, title, true),
    COUNT ("Seed", seed, 1),
    DN_FLAG ("Todo", struct scenario, todo, false),
    DN_FLAG ("Harms", struct scenario, harms, false),
    DN_FLAG ("Shorten", struct scenario, shorten, false),
    DN_FLAG ("OldRecord", struct scenario, old_record, false),
    DN_COUNT_OR ("Jobs", struct scenario, jobs, 1, JOBS_MAX, JOBS_MAX),
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
    {.key = "Do",
     .type = DN_MEMBER_NAME,
     .offset = offsetof (struct event, what),
     .required = true,
     .names = &what_names},
    COUNT ("Share", share, 100),
    COUNT ("For", for_s, 0),
    COUNT ("By", by, 0),
    DN_COUNT_OR ("Back", struct event, back, 0, COUNT_MAX, 0),
    COUNT ("Nodes", nodes, 0),
    COUNT ("In", in_s, 0),
    COUNT ("Table", table_ms, 1),
    COUNT ("Update", update_ms, 1),
};
struct tail {
    int64_t events;
};
static const struct dn_member end[] = {
    DN_COUNT ("Events", struct tail, events, 0, EVENTS_MAX),
};

static const struct dn_line_kind kinds[] = {
    {"Scenario", head, (int) DN_N_ELEMENTS (head)},
    {"At", at, (int) DN_N_ELEMENTS (at)},
    {"End", end, (int) DN_N_ELEMENTS (end)},
};

static int read_head (void *to, const struct dn_keyline *line, struct dn_err *err)
{
    return dn_fields_read (&kinds[0], line, to, err);
}

static int read_event (void *to, const struct dn_keyline *line, struct dn_err *err)
{
    struct scenario *scenario = to;
    struct event *event = &scenario->events[scenario->n_events];

    if (scenario->n_events == EVENTS_MAX)
        return dn_err_set (err, DN_E_LIMIT, "more than %d events", EVENTS_MAX);
    if (dn_fields_read (&kinds[1], line, event, err) < 0)
        return -1;
    if (event->back > 0)
        event->by = -event->back;
    scenario->n_events++;
    return 0;
}

static int read_end (void *to, const struct dn_keyline *line, struct dn_err *err)
{
    const struct scenario *scenario = to;
    struct tail tail;

    if (dn_fields_read (&kinds[2], line, &tail, err) < 0)
        return -1;
    return tail.events == scenario->n_events
               ? 0
               : dn_err_set (err, DN_E_RANGE, "Events: not %d", scenario->n_events);
}

int scenario_read (const char *path, struct scenario *scenario, struct dn_err *err)
{
    static int (*const readers[]) (void *,
                                   const struct dn_keyline *,
                                   struct dn_err *) = {read_head, read_event, read_end};
    static const struct dn_lines lines = {.kinds = kinds,
                                          .n_kinds = (int) DN_N_ELEMENTS (kinds),
                                          .expected = "Scenario, At or End",
                                          .readers = readers,
                                          .max = FILE_MAX};
    dn_cleanup (dn_free_ptr) char *text = NULL;
    char copy[4096];

    memset (scenario, 0, sizeof (*scenario));
    if (dn_file_read (path, FILE_MAX, &text, err) < 0
        || dn_lines_read (&lines, dn_span_of (text), path, scenario, err) < 0)
        return -1;
    snprintf (copy, sizeof (copy), "%s", path);
    snprintf (scenario->name,
              sizeof (scenario->name),
              "%.*s",
              (int) strcspn (basename (copy), "."),
              basename (copy));
    return 0;
}
