/* ticks.c - tests of dnnestd's counters: Prometheus' format, both files, a restart
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "scratch.h"
#include "task.h"
#include "ticks.h"

#define NOW INT64_C (1700000000)

/* The tasks of dnnestd as they are after a run. */
static void fill (struct dn_ticks *ticks)
{
    struct dn_daemon_status *status = &ticks->status;

    status->up = true;
    status->n_tasks = 2;
    status->tasks[0] = (struct dn_daemon_task){"watch", 60, NOW, 1234, ""};
    status->tasks[1] = (struct dn_daemon_task){"guard", 60, 0, 7, "no table"};
}

/* What a program that begins in the scratch folder writes then. */
static char *text_of (const char *program)
{
    char *text;

    dn_ticks_begin (program, scratch_path (""), NOW);
    fill (&dn_ticks);
    text = dn_ticks_text (&dn_ticks);
    assert_non_null (text);
    return unit_keep (text, free);
}

/* Each has its own counters, and three are of both. */
TEST ("every counter has its family")
{
    static const char *const prefixes[] = {"dnnestd", "dnnest_guard"};
    int n_both = 0;
    char *text;

    for (int guard = 1; guard >= 0; guard--) {
        text_of (guard ? "dnnest-guard" : "dnnestd");
        for (int i = 0; i < DN_N_TICKS; i++)
            for (int n = 0; n <= i; n++)
                dn_tick ((enum dn_tick) i);
        text = unit_keep (dn_ticks_text (&dn_ticks), free);
        for (int i = 0; i < DN_N_TICKS; i++) {
            const char *name = dn_names_get (&dn_tick_names, i);
            char *line = unit_text ("\n# TYPE %s_%s_total counter\n%s_%s_total %d\n",
                                    prefixes[guard],
                                    name,
                                    prefixes[guard],
                                    name,
                                    i + 1);

            if (dn_tick_is_of ((enum dn_tick) i, guard))
                assert_contains (text, line);
            else
                assert_null (strstr (text, line));
            n_both += dn_tick_is_of ((enum dn_tick) i, guard);
        }
    }
    assert_int_equal (n_both, DN_N_TICKS + 3);
    assert_contains (text, "\ndnnestd_slurmctld_up 1\n");
    assert_contains (text, "\ndnnestd_start_time_seconds 1700000000\n");
    assert_contains (text, "\ndnnestd_last_run_seconds{task=\"watch\"} 1.234\n");
    assert_contains (text, "\ndnnestd_last_run_seconds{task=\"guard\"} 0.007\n");
    assert_contains (text, "\ndnnestd_last_run_time_seconds{task=\"guard\"} 0\n");
    assert_int_equal (text[strlen (text) - 1], '\n');
}

/* promtool reads the text from its standard input. Where it is not installed, the next
 * test has to do.
 */
TEST ("promtool has no complaint")
{
    FILE *promtool;

    if (system ("command -v promtool >/dev/null 2>&1") != 0)
        return;
    promtool = popen ("promtool check metrics >&2", "w");
    assert_non_null (promtool);
    fputs (text_of ("dnnestd"), promtool);
    assert_int_equal (pclose (promtool), 0);
}

/* Without promtool: lines are comments or samples, a family is in one place, and comes
 * after its HELP and TYPE.
 */
TEST ("every line is well-formed")
{
    char *rest = text_of ("dnnestd");
    char *line;
    char family[96] = "";
    int n_samples = 0;

    while ((line = strsep (&rest, "\n")) && *line) {
        char name[96];
        double value;
        char end;

        if (sscanf (line, "# HELP %95s %c", name, &end) == 2) {
            assert_string_not_equal (name, family);
            strcpy (family, name);
            continue;
        }
        if (strncmp (line, "# TYPE ", 7) == 0) {
            assert_int_equal (strncmp (line + 7, family, strlen (family)), 0);
            continue;
        }
        assert_int_equal (
            sscanf (line, "%95[a-z_]%*[^ ] %lf%c", name, &value, &end) == 2
                || sscanf (line, "%95[a-z_] %lf%c", name, &value, &end) == 2,
            1);
        assert_string_equal (name, family);
        n_samples++;
    }
    assert_int_equal (n_samples, 3 + 4 + DN_N_TICKS - 8);
}

/* --- the files -------------------------------------------------------------------- */

TEST ("both files are written")
{
    struct dn_daemon_status status;
    char *text;

    text_of ("dnnestd");
    dn_ticks_error ("a\tbell\a and \xc3\xbc", NOW + 1);
    assert_done (dn_ticks_write (scratch_path (""), NOW + 2, &unit_err));
    assert_contains (unit_keep (scratch_read ("dnnestd.prom", NULL), free),
                     "# TYPE dnnestd_info gauge");
    text = unit_keep (scratch_read ("dnnestd.status", NULL), free);
    assert_done (
        dn_daemon_status_read (dn_span_of (text), "status", &status, &unit_err));
    assert_int_equal (status.pid, getpid ());
    assert_true (status.written_s == NOW + 2 && status.started_s == NOW);
    assert_string_equal (status.error, "a?bell? and ??");
    assert_true (status.error_s == NOW + 1);
    assert_error (dn_ticks_write ("/nonexistent/dnnest", NOW, &unit_err),
                  "/nonexistent/dnnest/dnnestd.prom");
}

/* Counters begin anew, as Prometheus expects; what was done in the day does not. */
TEST ("a restart keeps the day")
{
    const int64_t now_s = (int64_t) time (NULL);

    dn_ticks_begin ("dnnestd", "/nonexistent", now_s);
    dn_tick (DN_TICK_EXTENSIONS);
    dn_tick (DN_TICK_EXTENSIONS);
    assert_done (dn_ticks_write (scratch_path (""), now_s, &unit_err));
    dn_ticks_begin ("dnnestd", scratch_path (""), now_s);
    assert_int_equal (dn_ticks.total[DN_TICK_EXTENSIONS], 0);
    dn_tick (DN_TICK_EXTENSIONS);
    assert_int_equal (dn_daemon_status_day (
                          &dn_ticks.status, DN_TICK_EXTENSIONS, (int64_t) time (NULL)),
                      3);
}

TEST ("a damaged status is no obstacle")
{
    static const char *const texts[] = {"", "{", "{\"dnnestd\":2}", "\xff\xff"};

    for (size_t i = 0; i < DN_N_ELEMENTS (texts); i++) {
        scratch_put ("dnnestd.status", texts[i]);
        dn_ticks_begin ("dnnestd", scratch_path (""), NOW);
        assert_int_equal (dn_ticks.status.n_hours, 0);
    }
}
