/* ticks.c - the counters of dnnestd or dnnest-guard, its status, and the files of both
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ticks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/messages.h"
#include "host/files.h"
#include "host/put_file.h"
#include "site.h"
#include "task.h"

/* All families together take some 4 KiB. */
#define TEXT_MAX 16384

#define FILE_NAME_MAX (DN_SITE_PATH_MAX + DN_NAME_MAX)

struct dn_ticks dn_ticks;

void dn_tick (enum dn_tick what)
{
    dn_ticks.total[what]++;
    dn_daemon_status_count (&dn_ticks.status, what, (int64_t) time (NULL));
}

static bool is_guard (void)
{
    return dn_ticks.name && strcmp (dn_ticks.name, "dnnest-guard") == 0;
}

static void path_in (const char *dir, const char *ending, char path[FILE_NAME_MAX])
{
    snprintf (path, FILE_NAME_MAX, "%s/%s.%s", dir, dn_ticks.name, ending);
}

static void take_over_hours (const char *dir, struct dn_daemon_status *status)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct dn_daemon_status earlier;
    char path[FILE_NAME_MAX];

    path_in (dir, "status", path);
    if (dn_file_read (path, DN_DAEMON_STATUS_MAX, &text, NULL) < 0
        || dn_daemon_status_read (dn_span_of (text), path, &earlier, NULL) < 0)
        return;
    memcpy (status->hours, earlier.hours, sizeof (status->hours));
    status->n_hours = earlier.n_hours;
}

void dn_ticks_begin (const char *name, const char *dir, int64_t now_s)
{
    struct dn_daemon_status *status = &dn_ticks.status;

    memset (&dn_ticks, 0, sizeof (dn_ticks));
    dn_ticks.name = name;
    dn_span_copy (dn_span_of (PACKAGE_VERSION),
                  status->version,
                  sizeof (status->version),
                  "version",
                  NULL);
    status->pid = getpid ();
    status->started_s = now_s;
    status->every_s = 1;
    take_over_hours (dir, status);
}

void dn_ticks_quote (char error[DN_ERR_TEXT_MAX], const char *text)
{
    snprintf (error, DN_ERR_TEXT_MAX, "%s", text);
    for (char *c = error; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
}

void dn_ticks_error (const char *text, int64_t now_s)
{
    dn_ticks_quote (dn_ticks.status.error, text);
    dn_ticks.status.error_s = now_s;
}

/* Of the names of its metrics. */
static const char *prefix (void)
{
    return is_guard () ? "dnnest_guard" : "dnnestd";
}

static void add_head (struct dn_buf *buf,
                      const char *name,
                      const char *help,
                      const char *type)
{
    dn_buf_add (buf, "# HELP %s_%s %s\n", prefix (), name, help);
    dn_buf_add (buf, "# TYPE %s_%s %s\n", prefix (), name, type);
}

static void add_gauges (struct dn_buf *buf, const struct dn_daemon_status *status)
{
    add_head (buf, "info", "Its version.", "gauge");
    dn_buf_add (buf, "%s_info{version=\"%s\"} 1\n", prefix (), status->version);
    add_head (buf, "start_time_seconds", "When it was started.", "gauge");
    dn_buf_add (
        buf, "%s_start_time_seconds %" PRId64 "\n", prefix (), status->started_s);
    add_head (buf, "slurmctld_up", "1 if slurmctld answers.", "gauge");
    dn_buf_add (buf, "%s_slurmctld_up %d\n", prefix (), status->up);
}

/* With a decimal point in any locale. */
static void add_tasks (struct dn_buf *buf, const struct dn_daemon_status *status)
{
    if (status->n_tasks == 0)
        return;
    add_head (buf,
              "last_run_time_seconds",
              "Start of the last complete run of the task; 0: none yet.",
              "gauge");
    for (int i = 0; i < status->n_tasks; i++)
        dn_buf_add (buf,
                    "%s_last_run_time_seconds{task=\"%s\"} %" PRId64 "\n",
                    prefix (),
                    status->tasks[i].name,
                    status->tasks[i].last_s);
    add_head (buf, "last_run_seconds", "Time that this run took.", "gauge");
    for (int i = 0; i < status->n_tasks; i++)
        dn_buf_add (buf,
                    "%s_last_run_seconds{task=\"%s\"} %" PRId64 ".%03d\n",
                    prefix (),
                    status->tasks[i].name,
                    status->tasks[i].took_ms / 1000,
                    (int) (status->tasks[i].took_ms % 1000));
}

char *dn_ticks_text (const struct dn_ticks *ticks)
{
    char *text = malloc (TEXT_MAX);
    struct dn_buf buf;

    if (!text)
        return NULL;
    buf = dn_buf_on (text, TEXT_MAX);
    add_gauges (&buf, &ticks->status);
    add_tasks (&buf, &ticks->status);
    for (int i = 0; i < DN_N_TICKS; i++) {
        char name[DN_NAME_MAX];

        if (!dn_tick_is_of ((enum dn_tick) i, is_guard ()))
            continue;
        snprintf (name, sizeof (name), "%s_total", dn_names_get (&dn_tick_names, i));
        add_head (&buf, name, dn_tick_help ((enum dn_tick) i), "counter");
        dn_buf_add (&buf, "%s_%s %" PRId64 "\n", prefix (), name, ticks->total[i]);
    }
    return text;
}

static int put (const char *dir, const char *ending, char *text, struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *owned = text;
    char path[FILE_NAME_MAX];

    path_in (dir, ending, path);
    if (!owned)
        return dn_refuse (err, no_memory_for, path);
    return dn_put_file (path, dn_span_of (owned), err);
}

int dn_ticks_write (const char *dir, int64_t now_s, struct dn_err *err)
{
    dn_ticks.status.written_s = now_s;
    if (put (dir, "prom", dn_ticks_text (&dn_ticks), err) < 0)
        return -1;
    return put (dir, "status", dn_daemon_status_text (&dn_ticks.status), err);
}
