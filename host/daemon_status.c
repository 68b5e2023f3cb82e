/* daemon_status.c - what dnnestd and dnnest-guard leave about themselves
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "host/daemon_status.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/json_write.h"
#include "base/messages.h"

#define HOUR_S INT64_C (3600)

/* Rounds that a daemon may miss before it counts as dead, and what a round may take. */
#define MISSED   2
#define ROUND_S  30
#define DEPTH    4
#define VALUES   2048
#define TIME_MAX INT64_C (99999999999) /* seconds; the year 5138 */
#define N_MAX    1e15

const struct dn_names dn_tick_names = DN_NAMES_OF (TICKS);

#define HELP(constant, word, help) [DN_##constant] = (help),
static const char *const tick_help[] = {DN_TICKS (HELP)};

const char *dn_tick_help (enum dn_tick tick)
{
    return tick_help[tick];
}

bool dn_tick_is_of (enum dn_tick tick, bool guard)
{
    if (tick == DN_TICK_ROUNDS || tick == DN_TICK_FAILURES
        || tick == DN_TICK_JOB_TABLES)
        return true;
    return guard == (tick >= DN_TICK_GUARDED && tick <= DN_TICK_RESTORED);
}

/* --- counting ----------------------------------------------------------------------
 */

static int64_t hour_of (int64_t now_s)
{
    return now_s - now_s % HOUR_S;
}

void dn_daemon_status_count (struct dn_daemon_status *status,
                             enum dn_tick tick,
                             int64_t now_s)
{
    const int64_t from_s = hour_of (now_s);
    int n = status->n_hours;

    if (n == 0 || status->hours[0].from_s != from_s) {
        if (n == DN_DAEMON_HOURS)
            n--;
        memmove (
            &status->hours[1], &status->hours[0], (size_t) n * sizeof (*status->hours));
        memset (&status->hours[0], 0, sizeof (*status->hours));
        status->hours[0].from_s = from_s;
        status->n_hours = n + 1;
    }
    status->hours[0].n[tick]++;
}

int64_t dn_daemon_status_day (const struct dn_daemon_status *status,
                              enum dn_tick tick,
                              int64_t now_s)
{
    int64_t sum = 0;

    for (int i = 0; i < status->n_hours; i++)
        if (status->hours[i].from_s > now_s - 24 * HOUR_S
            && status->hours[i].from_s <= now_s)
            sum += status->hours[i].n[tick];
    return sum;
}

bool dn_daemon_status_is_alive (const struct dn_daemon_status *status, int64_t now_s)
{
    return status->ended_s == 0
           && now_s - status->written_s <= MISSED * status->every_s + ROUND_S;
}

/* --- reading -----------------------------------------------------------------------
 */

static int read_time (const struct json_object *json,
                      const char *key,
                      int64_t *out,
                      struct dn_err *err)
{
    return dn_json_read_int (json, key, 0, TIME_MAX, out, err);
}

static int read_task (const struct json_object *json,
                      struct dn_daemon_task *task,
                      struct dn_err *err)
{
    if (dn_json_need_text (json, "name", task->name, sizeof (task->name), err) < 0
        || read_time (json, "interval_s", &task->interval_s, err) < 0
        || read_time (json, "last", &task->last_s, err) < 0
        || read_time (json, "took_ms", &task->took_ms, err) < 0
        || dn_json_read_text (json, "error", task->error, sizeof (task->error), err)
               < 0)
        return dn_err_wrap (err, "tasks");
    return 0;
}

static int read_tasks (const struct json_object *json,
                       struct dn_daemon_status *status,
                       struct dn_err *err)
{
    struct json_object *tasks = NULL;

    if (dn_json_read_array (json, "tasks", DN_DAEMON_TASKS_MAX, &tasks, err) < 0)
        return -1;
    status->n_tasks = tasks ? (int) json_object_array_length (tasks) : 0;
    for (int i = 0; i < status->n_tasks; i++)
        if (read_task (
                json_object_array_get_idx (tasks, (size_t) i), &status->tasks[i], err)
            < 0)
            return -1;
    return 0;
}

static int read_hours (const struct json_object *json,
                       struct dn_daemon_status *status,
                       struct dn_err *err)
{
    struct json_object *hours = NULL;

    if (dn_json_read_array (json, "hours", DN_DAEMON_HOURS, &hours, err) < 0)
        return -1;
    status->n_hours = hours ? (int) json_object_array_length (hours) : 0;
    for (int i = 0; i < status->n_hours; i++) {
        const struct json_object *hour = json_object_array_get_idx (hours, (size_t) i);
        struct dn_daemon_hour *out = &status->hours[i];

        if (dn_json_need_int (hour, "from", 0, TIME_MAX, &out->from_s, err) < 0)
            return dn_err_wrap (err, "hours");
        for (int tick = 0; tick < DN_N_TICKS; tick++)
            if (dn_json_read_int (hour,
                                  dn_names_get (&dn_tick_names, tick),
                                  0,
                                  (int64_t) N_MAX,
                                  &out->n[tick],
                                  err)
                < 0)
                return dn_err_wrap (err, "hours");
    }
    return 0;
}

static int read_slurm (const struct json_object *json,
                       struct dn_daemon_status *status,
                       struct dn_err *err)
{
    if (dn_json_read_bool (json, "up", &status->up, err) < 0
        || read_time (json, "up_since", &status->up_since_s, err) < 0
        || dn_json_read_text (
               json, "cluster", status->cluster, sizeof (status->cluster), err)
               < 0
        || dn_json_read_int (json, "slurm", 0, 9999, &status->slurm, err) < 0
        || dn_json_read_bool (json, "soft_time_min", &status->soft_time_min, err) < 0)
        return -1;
    return 0;
}

static int read_all (const struct json_object *json,
                     struct dn_daemon_status *status,
                     struct dn_err *err)
{
    int64_t version = 0;

    if (dn_json_need_int (json, "dnnestd", 0, 9999, &version, err) < 0)
        return -1;
    if (version != DN_DAEMON_STATUS_VERSION)
        return dn_refuse (err, format, (int) version, DN_DAEMON_STATUS_VERSION);
    if (dn_json_need_text (
            json, "version", status->version, sizeof (status->version), err)
            < 0
        || dn_json_need_int (json, "pid", 1, INT32_MAX, &status->pid, err) < 0
        || dn_json_need_int (json, "started", 0, TIME_MAX, &status->started_s, err) < 0
        || dn_json_need_int (json, "written", 0, TIME_MAX, &status->written_s, err) < 0
        || dn_json_need_int (json, "every_s", 1, 86400, &status->every_s, err) < 0
        || read_time (json, "ended", &status->ended_s, err) < 0
        || read_time (json, "error_time", &status->error_s, err) < 0
        || dn_json_read_text (json, "error", status->error, sizeof (status->error), err)
               < 0)
        return -1;
    if (read_slurm (json, status, err) < 0 || read_tasks (json, status, err) < 0)
        return -1;
    return read_hours (json, status, err);
}

int dn_daemon_status_read (struct dn_span text,
                           const char *file,
                           struct dn_daemon_status *status,
                           struct dn_err *err)
{
    dn_cleanup (dn_json_free) struct json_object *json =
        dn_json_read (text, DEPTH, VALUES, err);

    memset (status, 0, sizeof (*status));
    if (!json || read_all (json, status, err) < 0)
        return dn_err_wrap (err, "%s", file);
    return 0;
}

/* --- writing -----------------------------------------------------------------------
 */

/* A time, unless it is 0: never; or a count. */
static int put_positive (struct json_object *json, const char *key, int64_t value)
{
    return value > 0 ? dn_json_put_number (json, key, value) : 0;
}

static int put_task (struct json_object *array, const struct dn_daemon_task *task)
{
    struct json_object *json = json_object_new_object ();

    if (!json || json_object_array_add (array, json) < 0) {
        json_object_put (json);
        return -1;
    }
    return dn_json_put_text (json, "name", task->name) < 0
                   || dn_json_put_number (json, "interval_s", task->interval_s) < 0
                   || put_positive (json, "last", task->last_s) < 0
                   || dn_json_put_number (json, "took_ms", task->took_ms) < 0
                   || dn_json_put_text (json, "error", task->error) < 0
               ? -1
               : 0;
}

static int put_hour (struct json_object *array, const struct dn_daemon_hour *hour)
{
    struct json_object *json = json_object_new_object ();

    if (!json || json_object_array_add (array, json) < 0) {
        json_object_put (json);
        return -1;
    }
    if (dn_json_put_number (json, "from", hour->from_s) < 0)
        return -1;
    for (int tick = 0; tick < DN_N_TICKS; tick++)
        if (put_positive (json, dn_names_get (&dn_tick_names, tick), hour->n[tick]) < 0)
            return -1;
    return 0;
}

static int put_lists (struct json_object *json, const struct dn_daemon_status *status)
{
    struct json_object *tasks = json_object_new_array ();
    struct json_object *hours = NULL;

    if (dn_json_put (json, "tasks", tasks) < 0)
        return -1;
    for (int i = 0; i < status->n_tasks; i++)
        if (put_task (tasks, &status->tasks[i]) < 0)
            return -1;
    hours = json_object_new_array ();
    if (dn_json_put (json, "hours", hours) < 0)
        return -1;
    for (int i = 0; i < status->n_hours; i++)
        if (put_hour (hours, &status->hours[i]) < 0)
            return -1;
    return 0;
}

static int put_all (struct json_object *json, const struct dn_daemon_status *status)
{
    return dn_json_put_number (json, "dnnestd", DN_DAEMON_STATUS_VERSION) < 0
                   || dn_json_put_text (json, "version", status->version) < 0
                   || dn_json_put_number (json, "pid", status->pid) < 0
                   || dn_json_put_number (json, "started", status->started_s) < 0
                   || dn_json_put_number (json, "written", status->written_s) < 0
                   || dn_json_put_number (json, "every_s", status->every_s) < 0
                   || put_positive (json, "ended", status->ended_s) < 0
                   || dn_json_put (json, "up", json_object_new_boolean (status->up)) < 0
                   || put_positive (json, "up_since", status->up_since_s) < 0
                   || dn_json_put_text (json, "cluster", status->cluster) < 0
                   || put_positive (json, "slurm", status->slurm) < 0
                   || dn_json_put (json,
                                   "soft_time_min",
                                   json_object_new_boolean (status->soft_time_min))
                          < 0
                   || put_positive (json, "error_time", status->error_s) < 0
                   || dn_json_put_text (json, "error", status->error) < 0
                   || put_lists (json, status) < 0
               ? -1
               : 0;
}

char *dn_daemon_status_text (const struct dn_daemon_status *status)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    const char *line;
    char *text;
    size_t len;

    if (!json || put_all (json, status) < 0)
        return NULL;
    line = dn_json_line (json);
    if (!line)
        return NULL;
    len = strlen (line);
    text = malloc (len + 2);
    if (text) {
        memcpy (text, line, len);
        memcpy (text + len, "\n", 2);
    }
    return text;
}
