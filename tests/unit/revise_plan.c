/* revise_plan.c - tests of the new limit of a pending job
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "revise/revise_plan.h"

#include <json-c/json.h>

#include "unit.h"

#define SUBMITTED 1700000000

static const char record_of_change[] =
    "{\"dnnest\":1,\"version\":\"1\",\"mode\":\"enforce\",\"verdict\":\"change\","
    "\"req\":{\"time_s\":86400,\"gpu\":\"a100\",\"gpus\":2},\"set\":{\"time_s\":36000},"
    "\"pred\":{\"train_s\":20000,\"p95_s\":40000,\"p99_s\":50000},"
    "\"app\":\"net\",\"unit\":\"run\",\"work\":1}";
static const char record_without_history[] =
    "{\"dnnest\":1,\"version\":\"1\",\"mode\":\"enforce\",\"verdict\":\"abstain\","
    "\"req\":{\"time_s\":86400,\"gpu\":\"a100\",\"gpus\":2},"
    "\"app\":\"net\",\"unit\":\"run\",\"work\":1,\"why\":\"no history\"}";

/* A case with all that it points to. */
struct all {
    struct dn_recorded recorded;
    struct dn_app_row row;
    struct dn_rules rules;
    struct dn_revise_case c;
};

/* Runs of an hour, after the submission. */
static void fill (struct all *all, const char *record, int64_t limit_s)
{
    assert_int_equal (dn_record_read (record, &all->recorded, NULL), 1);
    all->row = (struct dn_app_row){.unit = DN_WORK_RUN,
                                   .freedom = 20,
                                   .runs = 8,
                                   .last_s = SUBMITTED + 100,
                                   .unit_s = 3600,
                                   .sigma = 0.1F,
                                   .longest_s = 3700,
                                   .work_min = 1,
                                   .work_max = 1};
    all->rules = dn_rules_default ();
    all->rules.mode = DN_MODE_ENFORCE;
    all->rules.revise = DN_YES_YES;
    all->rules.time_limit = DN_TIME_LIMIT;
    all->c = (struct dn_revise_case){.recorded = &all->recorded,
                                     .row = &all->row,
                                     .rules = &all->rules,
                                     .limit_s = limit_s,
                                     .submit_s = SUBMITTED,
                                     .guarded = true};
}

/* A job of that record and limit, after changes of the case 'all', is revised so. */
#define REVISED(record, limit, changes, verdict)                                       \
    ({                                                                                 \
        struct dn_revision revision_ = {0};                                            \
        struct all all;                                                                \
                                                                                       \
        fill (&all, record, limit);                                                    \
        changes;                                                                       \
        assert_int_equal (dn_revise_plan (&all.c, &revision_), verdict);               \
        revision_;                                                                     \
    })
#define CHANGED(changes, verdict) REVISED (record_of_change, 36000, changes, verdict)

TEST ("a lowered limit is lowered again")
{
    struct dn_revision revision = CHANGED (, DN_REVISE_LOWER);

    assert_true (revision.limit_s > 3700 && revision.limit_s < 5400);
    assert_numbers ("0 3600", revision.limit_s % 60, revision.likely_s);
    assert_true (revision.p95_s > 3600 && revision.p99_s > revision.p95_s);
    assert_true (CHANGED (all.c.guarded = false, DN_REVISE_LOWER).limit_s
                 > revision.limit_s);
}

TEST ("a job left alone for lack of history is lowered")
{
    REVISED (record_without_history, 86400, , DN_REVISE_LOWER);
}

TEST ("a humans limit stays")
{
    REVISED (record_of_change, 43200, , DN_REVISE_HANDS_OFF);
    REVISED (record_without_history, 36000, , DN_REVISE_HANDS_OFF);
}

TEST ("nothing new changes nothing")
{
    CHANGED (all.row.last_s = SUBMITTED - 1, DN_REVISE_NO_NEWS);
    CHANGED (all.row.runs = 1, DN_REVISE_NO_NEWS);
    CHANGED (all.c.row = NULL, DN_REVISE_NO_NEWS);
    CHANGED (all.row.unit = DN_WORK_EPOCHS, DN_REVISE_NO_NEWS);
}

TEST ("a job whose own limit would run into a reservation keeps its limit")
{
#define RESERVED(in_s)                                                                 \
    (all.c.now_s = SUBMITTED, all.c.reserved_from = (int64_t) SUBMITTED + (in_s))
    CHANGED (RESERVED (86400), DN_REVISE_LOWER);
    CHANGED (RESERVED (86399), DN_REVISE_RESERVED);
    CHANGED ((RESERVED (SUBMITTED), all.recorded.asked_s = DN_UNLIMITED),
             DN_REVISE_RESERVED);
#undef RESERVED
}

TEST ("a limit that is guarded leaves the guard its time")
{
    /* 2 x (7 x 600 + 30) + 600 */
    assert_int_equal (
        CHANGED ((all.c.guard_interval_s = 600, all.recorded.signal_s = 540),
                 DN_REVISE_LOWER)
            .limit_s,
        9060);
}

TEST ("a limit is never raised")
{
    CHANGED (all.row.unit_s = 200000, DN_REVISE_NO_GAIN);
    CHANGED (all.row.unit_s = 30000, DN_REVISE_NO_GAIN);
}

TEST ("longer runs of others keep a limit above them")
{
    struct dn_app_row others;
    int64_t limit_s;

#define OTHERS(seconds)                                                                \
    (others = all.row,                                                                 \
     others.unit_s = others.longest_s = (seconds),                                     \
     all.c.others = &others)
    limit_s = CHANGED (OTHERS (60), DN_REVISE_LOWER).limit_s;
    assert_true (limit_s > 3700 && limit_s < 5400);
    assert_true (CHANGED (OTHERS (20000), DN_REVISE_LOWER).limit_s >= 20000);
#undef OTHERS
}

TEST ("each user has a share of a pass")
{
    static struct dn_shares shares;
    int taken = 0;

    for (int i = 0; i < 10 * DN_REVISE_CHANGES; i++)
        taken += dn_shares_take (&shares, 1000);
    assert_int_equal (taken, DN_REVISE_SHARE);
    assert_true (dn_shares_take (&shares, 1001));
    for (int user = 0; user < 2 * DN_REVISE_CHANGES; user++)
        taken += dn_shares_take (&shares, 2000 + user);
    assert_int_equal (taken, DN_REVISE_CHANGES - 1);
}

TEST ("rules and groups are kept")
{
    CHANGED (all.rules.revise = DN_YES_NO, DN_REVISE_MODE);
    CHANGED (all.rules.mode = DN_MODE_ADVISE, DN_REVISE_MODE);
    CHANGED (all.rules.time_limit = DN_TIME_TIME_MIN, DN_REVISE_MODE);
    CHANGED (strcpy (all.recorded.verdict, "control"), DN_REVISE_MODE);
    CHANGED (all.c.time_min_s = 600, DN_REVISE_MODE);
}

/* The guard must take a revised job for one whose limit was lowered at first. */
TEST ("the record of a revision is that of a change")
{
    const struct dn_revision revision = {3600, 3000, 3500, 3580, 8};
    dn_cleanup (dn_free_ptr) char *text =
        dn_record_revise (record_without_history, &revision, NULL);
    dn_cleanup (dn_free_ptr) char *again =
        dn_record_revise (record_of_change, &revision, NULL);
    struct dn_recorded recorded;

    assert_non_null (text);
    assert_int_equal (dn_record_read (text, &recorded, NULL), 1);
    assert_true (recorded.changed);
    assert_int_equal (recorded.set_s, 3600);
    assert_numbers ("86400 3580", recorded.asked_s, recorded.p99_s);
    assert_contains (text, "\"revised\":1");
    assert_contains (text, "\"app\":\"net\"");
    assert_non_null (again);
    assert_int_equal (dn_record_read (again, &recorded, NULL), 1);
    assert_int_equal (recorded.set_s, 3600);
    assert_null (strstr (again, "36000"));
    assert_null (dn_record_revise ("hello", &revision, NULL));
}
