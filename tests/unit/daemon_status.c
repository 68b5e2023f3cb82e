/* daemon_status.c - tests of the status of dnnestd: its text, hostile texts, the hours
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "host/daemon_status.h"
#include "state_text.h"

#define NOW    INT64_C (1700000000)
#define HOUR_S 3600

static struct dn_daemon_status sample (void)
{
    struct dn_daemon_status status = {.version = "1.0",
                                      .pid = 42,
                                      .started_s = NOW - 100000,
                                      .written_s = NOW,
                                      .every_s = 60,
                                      .up = true,
                                      .up_since_s = NOW - 50000,
                                      .cluster = "alps",
                                      .slurm = 2411,
                                      .soft_time_min = true,
                                      .error_s = NOW - 7,
                                      .error = "slurmctld: \"no\" \\ answer",
                                      .n_tasks = 2};

    status.tasks[0] = (struct dn_daemon_task){"watch", 60, NOW - 3, 12, ""};
    status.tasks[1] = (struct dn_daemon_task){"guard", 30, 0, 0, "no table"};
    for (int i = 0; i < DN_N_TICKS; i++)
        for (int n = 0; n <= i; n++)
            dn_daemon_status_count (&status, (enum dn_tick) i, NOW);
    return status;
}

/* It is kept for the test. */
static char *text_of (const struct dn_daemon_status *status)
{
    char *text = dn_daemon_status_text (status);

    assert_non_null (text);
    return unit_keep (text, free);
}

TEST ("what is written is read again")
{
    struct dn_daemon_status status = sample ();
    struct dn_daemon_status read;
    char *text = text_of (&status);
    char *again;

    assert_done (dn_daemon_status_read (dn_span_of (text), "status", &read, &unit_err));
    again = text_of (&read);
    assert_string_equal (again, text);
    assert_string_equal (read.error, status.error);
    assert_string_equal (read.tasks[1].error, "no table");
    assert_int_equal (read.hours[0].n[DN_TICK_RESCUED], DN_TICK_RESCUED + 1);
    assert_true (read.up && read.soft_time_min && read.slurm == 2411);
}

TEST ("the largest status fits its limit")
{
    struct dn_daemon_status status = sample ();
    struct dn_daemon_status read;
    char *text;

    memset (status.error, '"', sizeof (status.error) - 1);
    memset (status.cluster, 'c', sizeof (status.cluster) - 1);
    status.n_tasks = DN_DAEMON_TASKS_MAX;
    for (int i = 0; i < DN_DAEMON_TASKS_MAX; i++) {
        status.tasks[i] = status.tasks[0];
        memset (status.tasks[i].error, '"', sizeof (status.tasks[i].error) - 1);
    }
    for (int hour = 1; hour < DN_DAEMON_HOURS; hour++)
        dn_daemon_status_count (&status, DN_TICK_ROUNDS, NOW + hour * HOUR_S);
    for (int hour = 0; hour < DN_DAEMON_HOURS; hour++)
        for (int i = 0; i < DN_N_TICKS; i++)
            status.hours[hour].n[i] = INT64_C (1000000000000000);
    text = text_of (&status);
    assert_true (strlen (text) < DN_DAEMON_STATUS_MAX);
    assert_done (dn_daemon_status_read (dn_span_of (text), "status", &read, &unit_err));
    assert_int_equal (read.n_hours, DN_DAEMON_HOURS);
}

static const char *const wrong[] = {
    "`dnnestd`:1|`dnnestd`:2|format 2, expected 1",
    "`dnnestd`:1|`dnnest`:1|dnnestd",
    "`pid`:42|`pid`:0|pid: 0 out of range",
    "`pid`:42|`pid`:4294967296|pid: 4294967296 out of range",
    "`pid`:42|`pid`:`42`|pid",
    "`pid`:42|`pid`:42,`pid`:43|pid",
    "`pid`:42|`pid`:1.5|pid",
    "`pid`:42|`pid`:NaN|",
    "`every_s`:60|`every_s`:0|every_s: 0 out of range",
    "`every_s`:60|`every_s`:86401|every_s: 86401 out of range",
    "`written`:1700000000|`written`:-1|written",
    "`written`:1700000000|`written`:1e300|written",
    "`written`:1700000000,||written: missing",
    "`version`:`1.0`|`version`:`\\u001b[2J`|version",
    "`up`:true|`up`:1|up",
    "`alps`|`\\u00fc`|cluster",
    "`alps`|`al\\u0007ps`|cluster",
    "`alps`|{}|cluster",
    "`tasks`:[|`tasks`:[null,|name",
    "`tasks`:[|`tasks`:[{},{},{},{},{},{},{},|tasks",
    "`tasks`:[|`tasks`:[[],|name",
    "`watch`|`\\u001b[2J`|tasks",
    "`took_ms`:12|`took_ms`:-1|took_ms",
    "`hours`:[|`hours`:[7,|hours",
    "`hours`:[|`hours`:7,`x`:[|hours",
    "`rounds`:1|`rounds`:1000000000000001|rounds",
    "`rounds`:1|`rounds`:-1|rounds",
    "`rounds`:1|`rounds`:[[[1]]]|",
};

static int read_in (struct dn_span text, struct dn_err *err)
{
    struct dn_daemon_status read;

    return dn_daemon_status_read (text, "FILE", &read, err);
}

TEST ("wrong values are named")
{
    struct dn_daemon_status status = sample ();

    assert_wrong_rows (
        text_of (&status), wrong, DN_N_ELEMENTS (wrong), "FILE: ", read_in);
}

TEST ("a text that is cut is no status")
{
    struct dn_daemon_status status = sample ();

    assert_no_cut (text_of (&status), read_in);
}

TEST ("hours are kept for a day")
{
    struct dn_daemon_status status = {.n_hours = 0};
    const int64_t from_s = NOW - NOW % HOUR_S;

    for (int hour = 0; hour < 60; hour++) {
        const int64_t now_s = from_s + hour * HOUR_S;

        dn_daemon_status_count (&status, DN_TICK_EXTENSIONS, now_s);
        dn_daemon_status_count (&status, DN_TICK_EXTENSIONS, now_s + HOUR_S - 1);
        assert_int_equal (dn_daemon_status_day (&status, DN_TICK_EXTENSIONS, now_s),
                          hour < 24 ? 2 * (hour + 1) : 48);
        assert_true (status.n_hours <= DN_DAEMON_HOURS);
    }
    assert_int_equal (
        dn_daemon_status_day (&status, DN_TICK_ROUNDS, from_s + 59 * HOUR_S), 0);
    /* Much later, nothing is left of it. */
    assert_int_equal (
        dn_daemon_status_day (&status, DN_TICK_EXTENSIONS, from_s + 200 * HOUR_S), 0);
}

/* The clock was set back: no count is lost, and none is of the future. */
TEST ("a clock that goes back does no harm")
{
    struct dn_daemon_status status = {.n_hours = 0};

    dn_daemon_status_count (&status, DN_TICK_ROUNDS, NOW);
    dn_daemon_status_count (&status, DN_TICK_ROUNDS, NOW - 2 * HOUR_S);
    assert_int_equal (dn_daemon_status_day (&status, DN_TICK_ROUNDS, NOW - 2 * HOUR_S),
                      1);
    assert_int_equal (dn_daemon_status_day (&status, DN_TICK_ROUNDS, NOW), 2);
}

TEST ("a daemon that does not write is dead")
{
    struct dn_daemon_status status = sample ();

    assert_true (dn_daemon_status_is_alive (&status, NOW));
    assert_true (dn_daemon_status_is_alive (&status, NOW + 150));
    assert_false (dn_daemon_status_is_alive (&status, NOW + 151));
    status.ended_s = NOW;
    assert_false (dn_daemon_status_is_alive (&status, NOW));
}

TEST ("every counter has a name and a sentence")
{
    for (int i = 0; i < DN_N_TICKS; i++) {
        const char *help = dn_tick_help ((enum dn_tick) i);

        assert_non_null (dn_names_get (&dn_tick_names, i));
        assert_non_null (help);
        assert_int_equal (help[strlen (help) - 1], '.');
    }
}
