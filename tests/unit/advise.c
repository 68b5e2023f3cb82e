/* advise.c - tests of the ladder: a decision and its deadline
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <stdio.h>
#include <time.h>

#include "host/stopwatch.h"
#include "scene.h"
#include "small_bundle.h"

/* A clock that stands at 0 until it has been looked at so many times, then jumps. */
struct clock {
    struct dn_deadline deadline;
    int looks;
    int jumps_at; /* this look; 0: never */
};

static double spent_ms (const struct dn_deadline *deadline)
{
    struct clock *clock = (struct clock *) (void *) deadline;

    clock->looks++;
    return clock->jumps_at > 0 && clock->looks >= clock->jumps_at ? 1e9 : 0;
}

static struct clock clock_that_jumps_at (int look)
{
    return (struct clock){.deadline = {spent_ms, 5}, .jumps_at = look};
}

/* A site with a bundle, so that a decision has all of its stages. */
static struct dn_site *learned_site (void)
{
    struct small_bundle small = small_bundle_make ();
    struct dn_site *site = scene_site ("Mode=enforce\nMinConfidence=0\n");
    struct dn_err err = {0};

    site->bundle = small_bundle_read (&small, &err);
    if (!site->bundle)
        fail_msg ("%s", err.text);
    small_bundle_free (&small);
    return site;
}

static void the_time_is_looked_at_before_every_stage (void **state)
{
    static const char *const stages[] = {"description",
                                         "request",
                                         "network",
                                         "estimate",
                                         "estimate",
                                         "residual",
                                         "residual",
                                         "refined estimate",
                                         "refined estimate",
                                         "policy",
                                         "rewrite"};
    struct dn_site *site = learned_site ();
    struct dn_job job = scene_job ();
    struct dn_advice *advice = dn_advice_new ();

    (void) state;
    for (int i = 0; i < (int) DN_N_ELEMENTS (stages); i++) {
        struct clock clock = clock_that_jumps_at (i + 1);
        struct dn_err err = {0};
        char expected[DN_ERR_TEXT_MAX];

        snprintf (expected,
                  sizeof (expected),
                  "took longer than DecisionTime=5 ms, given up before the %s",
                  stages[i]);
        assert_int_equal (dn_advise (site, &job, &clock.deadline, advice, &err), -1);
        assert_int_equal (err.code, DN_E_TIME);
        assert_string_equal (err.text, expected);
        assert_int_equal (clock.looks, i + 1);
        assert_int_equal (advice->patch.n_edits, 0);
        assert_string_equal (advice->patch.log_text, "");
    }
    dn_advice_free (advice);
    scene_free (site);
}

static void in_time_a_decision_is_the_same (void **state)
{
    struct dn_site *site = learned_site ();
    struct dn_job job = scene_job ();
    struct dn_advice *without = dn_advice_new ();
    struct dn_advice *with = dn_advice_new ();
    struct clock clock = clock_that_jumps_at (0);

    (void) state;
    assert_int_equal (dn_advise (site, &job, NULL, without, NULL), 0);
    assert_int_equal (dn_advise (site, &job, &clock.deadline, with, NULL), 0);
    assert_int_equal (clock.looks, 11);
    assert_true (with->patch.n_edits > 1);
    assert_string_equal (with->patch.log_text, without->patch.log_text);
    /* Without a limit nobody looks at all. */
    clock = clock_that_jumps_at (1);
    clock.deadline.limit_ms = 0;
    assert_int_equal (dn_advise (site, &job, &clock.deadline, with, NULL), 0);
    assert_int_equal (clock.looks, 0);
    dn_advice_free (without);
    dn_advice_free (with);
    scene_free (site);
}

/* A job that says nothing of itself costs next to nothing. */
static void a_silent_job_is_in_time (void **state)
{
    struct dn_site *site = scene_site ("OptIn=all\n");
    struct dn_job job = scene_job ();
    struct dn_advice *advice = dn_advice_new ();
    struct clock clock = clock_that_jumps_at (2);

    (void) state;
    job.comment = NULL;
    assert_int_equal (dn_advise (site, &job, &clock.deadline, advice, NULL), 0);
    assert_int_equal (advice->decision.verdict, DN_VERDICT_ABSTAIN);
    dn_advice_free (advice);
    scene_free (site);
}

static void compute_for_ms (double ms)
{
    struct timespec now;
    double end = -1;
    double at;

    do {
        clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
        at = (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
        end = end < 0 ? at + ms : end;
    } while (at < end);
}

static void what_is_computed_counts_and_what_is_waited_does_not (void **state)
{
    const struct timespec pause = {0, 80 * 1000 * 1000};
    struct dn_stopwatch watch;

    (void) state;
    dn_stopwatch_start (&watch, 20);
    assert_int_equal (dn_deadline_check (&watch.deadline, "test", NULL), 0);
    nanosleep (&pause, NULL);
    assert_int_equal (dn_deadline_check (&watch.deadline, "test", NULL), 0);
    assert_true (dn_stopwatch_ms (&watch) < 20);
    compute_for_ms (25);
    assert_true (dn_stopwatch_ms (&watch) >= 25);
    assert_int_equal (dn_deadline_check (&watch.deadline, "test", NULL), -1);
    watch.deadline.limit_ms = 0;
    assert_int_equal (dn_deadline_check (&watch.deadline, "test", NULL), 0);
    assert_int_equal (dn_deadline_check (NULL, "test", NULL), 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST ("the time is looked at before every stage",
              the_time_is_looked_at_before_every_stage),
        TEST ("in time, a decision is the same", in_time_a_decision_is_the_same),
        TEST ("a silent job is in time", a_silent_job_is_in_time),
        TEST ("what is computed counts, and what is waited does not",
              what_is_computed_counts_and_what_is_waited_does_not),
    };

    return cmocka_run_group_tests_name ("advise", tests, NULL, NULL);
}
