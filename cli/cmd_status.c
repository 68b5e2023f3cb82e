/* cmd_status.c - shows what dnnestd, dnnest-guard and the plugin do, or did to a job
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "health.h"
#include "output/grid.h"
#include "output/json.h"
#include "report/job_story.h"
#include "report/site_store.h"

/* --- JSON --------------------------------------------------------------------------
 */

static const char *or_null (const char *text)
{
    return text && text[0] != '\0' ? text : NULL;
}

/* A time since 1970, or null for never. */
static void add_time (struct json_object *to, const char *key, int64_t time_s)
{
    dn_json_add_count (to, key, time_s > 0 ? time_s : -1);
}

/* The age of what is from the future is negative. */
static void add_age (struct json_object *to, const char *key, int64_t age_s)
{
    json_object_object_add (
        to, key, age_s == DN_UNSET ? NULL : json_object_new_int64 (age_s));
}

static void add_parts (struct json_object *json, const struct dn_health *health)
{
    struct json_object *array = dn_json_add_array (json, "parts");

    for (int i = 0; i < health->n_parts; i++) {
        const struct dn_health_part *part = &health->parts[i];
        struct json_object *row = dn_json_append_object (array);

        dn_json_add_text (row, "part", part->name);
        dn_json_add_text (row, "state", dn_health_state_name (part->state));
        add_age (row, "age_s", part->age_s);
        dn_json_add_text (row, "file", or_null (part->path.text));
        dn_json_add_text (row, "error", or_null (part->error));
        dn_json_add_text (row, "next", part->next);
    }
}

static void add_program (struct json_object *json, const struct dn_health_status *of)
{
    const struct dn_daemon_status *status = &of->status;
    struct json_object *to;

    if (!of->found) {
        json_object_object_add (json, of->key, NULL);
        return;
    }
    to = dn_json_add_object (json, of->key);

    dn_json_add_text (to, "version", status->version);
    dn_json_add_count (to, "pid", status->pid);
    add_time (to, "started", status->started_s);
    add_time (to, "written", status->written_s);
    add_time (to, "ended", status->ended_s);
    dn_json_add_bool (to, "up", status->up);
    add_time (to, "up_since", status->up_since_s);
    dn_json_add_text (to, "cluster", or_null (status->cluster));
    add_time (to, "slurm", status->slurm);
    dn_json_add_bool (to, "soft_time_min", status->soft_time_min);
    dn_json_add_text (to, "last_error", or_null (status->error));
    add_time (to, "error_time", status->error_s);
}

static void add_tasks (struct json_object *array, const struct dn_daemon_status *status)
{
    for (int i = 0; i < status->n_tasks; i++) {
        const struct dn_daemon_task *task = &status->tasks[i];
        struct json_object *row = dn_json_append_object (array);

        dn_json_add_text (row, "name", task->name);
        dn_json_add_count (row, "interval_s", task->interval_s);
        add_time (row, "last", task->last_s);
        dn_json_add_count (row, "took_ms", task->took_ms);
        dn_json_add_text (row, "error", or_null (task->error));
    }
}

/* What both programs have counted. */
static int64_t of_day (const struct dn_health *health, enum dn_tick tick)
{
    int64_t sum = 0;

    for (int i = 0; i < DN_N_HEALTH_PROGRAMS; i++)
        if (health->programs[i].found)
            sum +=
                dn_daemon_status_day (&health->programs[i].status, tick, health->now_s);
    return sum;
}

static void add_day (struct json_object *json, const struct dn_health *health)
{
    struct json_object *day = dn_json_add_object (json, "day");

    for (int i = 0; i < DN_N_TICKS; i++)
        dn_json_add_count (
            day, dn_names_get (&dn_tick_names, i), of_day (health, (enum dn_tick) i));
}

static void add_plugin (struct json_object *json, const struct dn_plugin_counts *counts)
{
    struct json_object *to = dn_json_add_object (json, "plugin");

    add_time (to, "started", counts->started_s);
    dn_json_add_count (to, "submissions", counts->submissions);
    dn_json_add_count (to, "described", counts->described);
    dn_json_add_count (to, "changed", counts->changed);
    dn_json_add_count (to, "errors", counts->errors);
}

/* Has 'dnnest pause' stopped something? */
static bool is_paused (const struct dn_options *given)
{
    char path[DN_SITE_PATH_MAX];

    if (!given->paths.conf)
        return false;
    dn_load_beside (given->paths.conf, DN_PAUSE_FILE, path);
    return access (path, F_OK) == 0;
}

static void print_json (const struct dn_health *health, bool paused)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    struct json_object *tasks;

    dn_json_add_bool (json, "fresh", dn_health_is_fresh (health));
    dn_json_add_bool (json, "paused", paused);
    dn_json_add_text (json, "limits", dn_limits_kind_name (health->limits));
    dn_json_add_count (json, "users", health->n_users);
    dn_json_add_count (json, "distrusted", health->n_distrusted);
    add_parts (json, health);
    for (int i = 0; i < DN_N_HEALTH_PROGRAMS; i++)
        add_program (json, &health->programs[i]);
    tasks = dn_json_add_array (json, "tasks");
    for (int i = 0; i < DN_N_HEALTH_PROGRAMS; i++)
        add_tasks (tasks, &health->programs[i].status);
    add_day (json, health);
    if (health->has_counts)
        add_plugin (json, &health->counts);
    else
        json_object_object_add (json, "plugin", NULL);
    dn_json_print (json);
}

/* --- text --------------------------------------------------------------------------
 */

/* "00:01:10"; "-" when unknown, or from the future. */
static const char *age_text (int64_t age_s, struct dn_time_text *text)
{
    *text = dn_time_write (age_s >= 0 ? age_s : 0);
    return age_s >= 0 ? text->text : "-";
}

static int print_parts (const struct dn_health *health)
{
    static const struct dn_grid_column columns[] = {
        {"PART", false}, {"STATE", false}, {"AGE", true}, {"FILE", false}};
    dn_cleanup (dn_grid_free) struct dn_grid grid = dn_grid_of (columns, 4);

    for (int i = 0; i < health->n_parts; i++) {
        const struct dn_health_part *part = &health->parts[i];
        struct dn_time_text age;

        dn_grid_add (&grid, "%s", part->name);
        dn_grid_add (&grid, "%s", dn_health_state_name (part->state));
        dn_grid_add (&grid, "%s", age_text (part->age_s, &age));
        dn_grid_add (&grid, "%s", part->path.text[0] != '\0' ? part->path.text : "-");
    }
    return dn_grid_print (&grid);
}

/* Release 2411 is "24.11". */
static void print_program (const struct dn_health *health,
                           const struct dn_health_status *of)
{
    const struct dn_daemon_status *status = &of->status;
    struct dn_time_text age;

    if (!of->found)
        return;
    printf ("\n%s %s, pid %" PRId64 ", started %s ago",
            of->name,
            status->version,
            status->pid,
            age_text (health->now_s - status->started_s, &age));
    if (status->slurm > 0)
        printf ("; cluster %s, Slurm %02d.%02d",
                status->cluster,
                (int) (status->slurm / 100),
                (int) (status->slurm % 100));
    printf ("\n");
    for (int i = 0; i < status->n_tasks; i++)
        printf ("%s: every %" PRId64 " s, took %" PRId64 " ms\n",
                status->tasks[i].name,
                status->tasks[i].interval_s,
                status->tasks[i].took_ms);
    if (status->error[0] != '\0')
        printf ("last error, %s ago: %s\n",
                age_text (health->now_s - status->error_s, &age),
                status->error);
}

static void print_limits (const struct dn_health *health)
{
    static const char *const words[] = {
        [DN_LIMITS_KEPT] = "those of the users (TimeLimit=keep)",
        [DN_LIMITS_SOFT] = "soft (--time-min, which Slurm 24.11 lets jobs exceed)",
        [DN_LIMITS_GUARDED] = "guarded (GuardedQuantile; dnnest-guard extends them)",
        [DN_LIMITS_QUANTILE] = "TimeQuantile (no guard extends them)",
    };

    printf ("\nlimits: %s\n", words[health->limits]);
    if (health->n_users > 0)
        printf ("users with guarded jobs: %" PRId64 ", of these %" PRId64
                " with TimeQuantile because their jobs needed more too often\n",
                health->n_users,
                health->n_distrusted);
}

static void print_day (const struct dn_health *health)
{
    bool any = false;

    for (int i = 0; i < DN_N_TICKS; i++) {
        int64_t n = of_day (health, (enum dn_tick) i);

        if (n == 0)
            continue;
        if (!any)
            printf ("\nIn the last 24 hours:\n");
        any = true;
        printf ("%8" PRId64 "  %s\n", n, dn_tick_help ((enum dn_tick) i));
    }
    if (health->has_counts)
        printf ("\nSince the plugin was loaded: %" PRId64 " submissions, %" PRId64
                " described, %" PRId64 " fields changed, %" PRId64 " errors\n",
                health->counts.submissions,
                health->counts.described,
                health->counts.changed,
                health->counts.errors);
}

static void print_next (const struct dn_health *health)
{
    bool any = false;

    for (int i = 0; i < health->n_parts; i++) {
        const struct dn_health_part *part = &health->parts[i];

        if (!part->next)
            continue;
        if (!any)
            printf ("\nWhat to do:\n");
        any = true;
        printf ("  %s: %s%s%s\n",
                part->name,
                part->error,
                part->error[0] != '\0' ? "; " : "",
                part->next);
    }
}

static int print_text (const struct dn_health *health, bool paused)
{
    int rc = print_parts (health);

    if (rc != DN_EXIT_DONE)
        return rc;
    for (int i = 0; i < DN_N_HEALTH_PROGRAMS; i++)
        print_program (health, &health->programs[i]);
    print_limits (health);
    if (paused)
        printf ("paused, for all jobs or some: " DN_PAUSE_FILE
                " beside dnnest.conf says\n");
    print_day (health);
    print_next (health);
    return DN_EXIT_DONE;
}

/* --- the command -------------------------------------------------------------------
 */

struct call {
    const char *db;
};

static const struct dn_option options[] = {
    DN_OPT_TEXT ("db",
                 0,
                 "FILE",
                 "the store of finished jobs (StateDir/records.db)",
                 db),
    DN_OPT_END,
};

static int run (const struct dn_command *self, int argc, char **argv)
{
    dn_cleanup (dn_site_cleanup) struct dn_site *site = NULL;
    dn_cleanup (dn_health_free) struct dn_health health = {.n_parts = 0};
    struct dn_options given;
    struct call call = {.db = NULL};
    int rc = DN_EXIT_DONE;

    dn_options_begin (&given, self, argc, argv);
    if (!dn_options_all (&given, &call, 0, 1))
        return given.exit_code;
    if (call.db && given.n_args == 0)
        return dn_options_misuse (self, "--db needs a JOBID");
    site = dn_options_site (&given, NULL);
    if (!site)
        return given.exit_code;
    if (given.n_args == 1)
        return dn_job_story (site, call.db, given.args[0], given.json);
    dn_health_read (&health, site, given.paths.conf);
    if (given.json)
        print_json (&health, is_paused (&given));
    else
        rc = print_text (&health, is_paused (&given));
    if (rc != DN_EXIT_DONE)
        return rc;
    return dn_health_is_fresh (&health) ? DN_EXIT_DONE : DN_EXIT_ABSTAINED;
}

const struct dn_command dn_cmd_status = {
    .name = "status",
    .summary = "Show what dnnestd and the plugin do, or did to a finished job",
    .arguments = "[JOBID]",
    .options = options,
    .run = run,
};
