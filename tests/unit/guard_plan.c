/* guard_plan.c - tests of the guard's decision (whole lives: tests/misfortune)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "guard/guard_plan.h"

#define HOUR INT64_C (3600)

/* A job of one hour that had asked for ten, likely done in three, at its 50th minute.
 */
static struct dn_guard_case one_case (void)
{
    return (struct dn_guard_case){
        .promise = {.asked_s = 10 * HOUR,
                    .set_s = HOUR,
                    .written_s = HOUR,
                    .p95_s = 2 * HOUR,
                    .p99_s = 3 * HOUR,
                    .signal_s = DN_UNSET},
        .now_s = 1000000,
        .interval_s = 60,
        .margin = 0.1,
        .limit_s = HOUR,
        .end_s = 1000000 + 600,
        .default_s = DN_UNSET,
    };
}

static void assert_plan (const struct dn_guard_case *c,
                         enum dn_guard_verdict verdict,
                         int64_t limit_s,
                         enum dn_guard_holder holder)
{
    struct dn_guard_plan plan = dn_guard_plan (c);

    assert_int_equal (plan.verdict, verdict);
    assert_int_equal (plan.limit_s, limit_s);
    assert_int_equal (plan.holder, holder);
}

TEST ("limits grow by quantiles up to the user's own")
{
    struct dn_guard_case c = one_case ();

    c.end_s = c.now_s + 900;
    assert_plan (&c, DN_GUARD_KEEP, 0, DN_HOLDER_NONE);
    c.end_s = c.now_s + 899;
    assert_plan (&c, DN_GUARD_EXTEND, 7920, DN_HOLDER_NONE);
    c.limit_s = c.promise.written_s = 7920;
    assert_plan (&c, DN_GUARD_EXTEND, 11880, DN_HOLDER_NONE);
    c.limit_s = c.promise.written_s = 11880;
    assert_plan (&c, DN_GUARD_EXTEND, 10 * HOUR, DN_HOLDER_NONE);
    c.limit_s = c.promise.written_s = 10 * HOUR;
    assert_plan (&c, DN_GUARD_OWN, 0, DN_HOLDER_NONE);
}

TEST ("progress extends at once to what is needed")
{
    struct dn_guard_case c = one_case ();

    c.pace_s = 5 * HOUR + 1;
    assert_plan (&c, DN_GUARD_EXTEND, 5 * HOUR + 60, DN_HOLDER_NONE);
    /* Never beyond the user's own. */
    c.pace_s = 50 * HOUR;
    assert_plan (&c, DN_GUARD_EXTEND, 10 * HOUR, DN_HOLDER_NONE);
    /* A job that claims to end soon keeps a lead of room until it does. */
    c.pace_s = 3100;
    c.end_s = c.now_s + 100;
    assert_plan (&c, DN_GUARD_EXTEND, 4440, DN_HOLDER_NONE);
}

TEST ("progress lowers a limit where the rules say so")
{
    struct dn_guard_case c = one_case ();

    c.limit_s = c.promise.written_s = 5 * HOUR;
    c.end_s = c.now_s + 4 * HOUR;
    c.pace_s = 2 * HOUR;
    assert_plan (&c, DN_GUARD_KEEP, 0, DN_HOLDER_NONE);
    c.shorten = true;
    assert_plan (&c, DN_GUARD_SHORTEN, 2 * HOUR, DN_HOLDER_NONE);
    /* By a tenth and ten minutes at least. */
    c.pace_s = 4 * HOUR + 1800;
    assert_plan (&c, DN_GUARD_SHORTEN, 4 * HOUR + 1800, DN_HOLDER_NONE);
    c.pace_s += 1;
    assert_plan (&c, DN_GUARD_KEEP, 0, DN_HOLDER_NONE);
    /* Never below what is left as a lead. */
    c.pace_s = 60;
    assert_plan (&c, DN_GUARD_SHORTEN, HOUR + 960, DN_HOLDER_NONE);
    /* Not against a human. */
    c.limit_s -= 60;
    assert_plan (&c, DN_GUARD_HANDS_OFF, 0, DN_HOLDER_NONE);
    /* Not what dnnest has not set. */
    c.promise.set_s = DN_UNSET;
    assert_plan (&c, DN_GUARD_NONE, 0, DN_HOLDER_NONE);
}

TEST ("the lead outlasts the silence of a dead guard, and the signal")
{
    struct dn_guard_case c = one_case ();

    assert_int_equal (dn_guard_lead (&c, 100 * HOUR), 1800);
    assert_numbers ("900 450", dn_guard_lead (&c, HOUR), dn_guard_lead (&c, 120));
    c.interval_s = 600;
    assert_int_equal (dn_guard_lead (&c, HOUR), 4230);
    c.interval_s = 60;
    c.promise.signal_s = 300;
    assert_int_equal (dn_guard_lead (&c, HOUR), 900 + 360);
    assert_plan (&c, DN_GUARD_EXTEND, 7920 + 360, DN_HOLDER_NONE);
}

TEST ("a limit that a human has lowered is not touched")
{
    struct dn_guard_case c = one_case ();

    for (int64_t limit = 60; limit <= HOUR; limit += 60) {
        c.limit_s = limit;
        assert_int_equal (dn_guard_plan (&c).verdict == DN_GUARD_HANDS_OFF,
                          limit != HOUR);
    }
    c.limit_s = DN_UNLIMITED;
    assert_plan (&c, DN_GUARD_HANDS_OFF, 0, DN_HOLDER_NONE);
    c = one_case ();
    c.promise.written_s = 2 * HOUR;
    assert_plan (&c, DN_GUARD_HANDS_OFF, 0, DN_HOLDER_NONE);
    c.restarts = 1;
    assert_int_equal (dn_guard_plan (&c).verdict, DN_GUARD_EXTEND);
}

TEST ("a deadline and a reservation hold it")
{
    struct dn_guard_case c = one_case ();

    c.start_s = c.end_s - HOUR;
    c.deadline = c.end_s + 119;
    assert_plan (&c, DN_GUARD_EXTEND, HOUR + 60, DN_HOLDER_DEADLINE);
    c.reserved_from = c.end_s + 60;
    assert_plan (&c, DN_GUARD_EXTEND, HOUR + 60, DN_HOLDER_DEADLINE);
    c.reserved_from = c.end_s + 59;
    assert_plan (&c, DN_GUARD_HELD, 0, DN_HOLDER_RESERVATION);
    c.reserved_from = c.now_s - 100000;
    assert_plan (&c, DN_GUARD_HELD, 0, DN_HOLDER_RESERVATION);
    /* A suspension has moved the end of a job that met its deadline when it started. */
    c.reserved_from = 0;
    c.start_s = c.deadline - 10 * HOUR;
    assert_plan (&c, DN_GUARD_EXTEND, 7920, DN_HOLDER_NONE);
}

TEST ("a request without a limit has that of its partition")
{
    struct dn_guard_case c = one_case ();

    c.promise.p95_s = c.promise.p99_s = DN_UNSET;
    c.promise.asked_s = DN_UNLIMITED;
    assert_plan (&c, DN_GUARD_EXTEND, INT64_C (365) * 86400, DN_HOLDER_NONE);
    c.promise.asked_s = DN_UNSET;
    assert_plan (&c, DN_GUARD_EXTEND, INT64_C (365) * 86400, DN_HOLDER_NONE);
    c.default_s = 4 * HOUR;
    assert_plan (&c, DN_GUARD_EXTEND, 4 * HOUR, DN_HOLDER_NONE);
}

TEST ("only lowered limits are guarded")
{
    struct dn_recorded recorded = {.changed = true,
                                   .asked_s = 7200,
                                   .set_s = 3601,
                                   .soft_s = DN_UNSET,
                                   .signal_s = DN_UNSET,
                                   .p95_s = DN_UNSET,
                                   .p99_s = DN_UNSET};
    struct dn_guard_case c = one_case ();

    assert_int_equal (dn_promise_of (&recorded).set_s, 3660);
    assert_int_equal (dn_promise_of (&recorded).written_s, 3660);
    recorded.later_s[0] = 5400;
    recorded.n_later = 1;
    assert_int_equal (dn_promise_of (&recorded).written_s, 5400);
    recorded.asked_s = DN_UNLIMITED;
    assert_int_equal (dn_promise_of (&recorded).set_s, 3660);
    recorded.asked_s = 3600;
    assert_int_equal (dn_promise_of (&recorded).set_s, DN_UNSET);
    recorded.asked_s = 7200;
    recorded.changed = false;
    assert_int_equal (dn_promise_of (&recorded).set_s, DN_UNSET);
    recorded.changed = true;
    recorded.set_s = DN_UNSET;
    recorded.soft_s = 3600;
    c.promise = dn_promise_of (&recorded);
    assert_plan (&c, DN_GUARD_NONE, 0, DN_HOLDER_NONE);
}

/* A guard that is dead ends no job before its first limit, and one that comes back in
 * time saves it.
 */
TEST ("a guard that was away finds the job")
{
    struct dn_guard_case c = one_case ();

    for (int64_t left = 899; left > -30; left--) {
        c.end_s = c.now_s + left;
        assert_int_equal (dn_guard_plan (&c).verdict, DN_GUARD_EXTEND);
        assert_int_equal (dn_guard_plan (&c).limit_s, 7920);
    }
    /* Far beyond, such as with OverTimeLimit: a step still gives room. */
    c.end_s = c.now_s - 3 * HOUR;
    assert_plan (&c, DN_GUARD_EXTEND, 10 * HOUR, DN_HOLDER_NONE);
}
