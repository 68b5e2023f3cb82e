/* cmd_status.c - shows what dnnestd, dnnest-guard and the plugin do, or did to a job
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/daemon_status.h"
#include "host/files.h"
#include "output/rows.h"
#include "report/job_story.h"
#include "process/sacct.h"
#include "seen.h"
#include "slurm_conf.h"

/* Counters of the plugin, in the file that it writes. */
enum count {
    COUNT_STARTED, /* start of the plugin, seconds since 1970 */
    COUNT_SUBMISSIONS,
    COUNT_DESCRIBED,
    COUNT_CHANGED, /* fields of jobs, of any kind */
    COUNT_ERRORS,  /* of any kind */
    N_COUNTS
};

enum state {
    IS_FRESH,
    IS_OFF,    /* not configured, which is no error */
    IS_NONE,   /* there is no such file, or it has never run */
    IS_OLD,    /* or from the future */
    IS_BROKEN, /* or not trusted */
    IS_ENDED,
    IS_DOWN,   /* does not answer */
    IS_FAILED, /* the last run */
};

struct part {
    char name[DN_NAME_MAX];
    enum state state;
    int64_t age_s;            /* DN_UNSET: unknown */
    struct dn_view_path path; /* "": not a file */
    char error[DN_ERR_TEXT_MAX];
    const char *next; /* what to do; NULL: nothing */
};

/* The programs beside slurmctld. */
enum {
    DNNESTD,
    GUARD,
    N_PROGRAMS
};

struct program {
    bool found; /* its file was read */
    struct dn_daemon_status status;
};

/* The programs, their tasks, slurmctld, both plugins, and three files. */
#define PARTS_MAX (N_PROGRAMS * (DN_DAEMON_TASKS_MAX + 1) + 6)

/* What limits follow now. */
enum limits {
    LIMITS_KEPT,     /* they are not changed */
    LIMITS_SOFT,     /* --time-min, where Slurm lets a job run on */
    LIMITS_GUARDED,  /* GuardedQuantile: the guard extends them */
    LIMITS_QUANTILE, /* TimeQuantile */
};

struct health {
    int64_t now_s;
    struct part parts[PARTS_MAX];
    int n_parts;
    struct program programs[N_PROGRAMS];
    bool has_counts;
    int64_t counts[N_COUNTS];
    enum limits limits;
    int64_t n_users;      /* that the guard has tallies of */
    int64_t n_distrusted; /* of these: their limits follow TimeQuantile */
    struct dn_seen seen;
};

/* Bytes of the file of counters, at most. */
#define COUNTS_MAX 65536

/* A counter of a process does not get there. */
#define COUNT_MAX INT64_C (1000000000000000)

static const struct {
    const char *name;
    const char *key; /* in JSON */
} metrics[N_COUNTS] = {
    [COUNT_STARTED] = {"dnnest_start_time_seconds", "started"},
    [COUNT_SUBMISSIONS] = {"dnnest_submissions_total", "submissions"},
    [COUNT_DESCRIBED] = {"dnnest_described_total", "described"},
    [COUNT_CHANGED] = {"dnnest_changed_total", "changed"},
    [COUNT_ERRORS] = {"dnnest_errors_total", "errors"},
};

/* "NAME VALUE" or "NAME{LABELS} VALUE"; values of one name are added. */
static int read_line (struct dn_span line, int64_t counts[N_COUNTS], struct dn_err *err)
{
    struct dn_span rest = line;
    const struct dn_span name = dn_span_cut (&rest, " {");
    int64_t value = 0;
    size_t from = line.len;
    int i = 0;

    while (i < N_COUNTS && !dn_span_is (name, metrics[i].name))
        i++;
    if (i == N_COUNTS)
        return 0;
    while (from > 0 && line.text[from - 1] != ' ')
        from--;
    if (dn_int_read ((struct dn_span){line.text + from, line.len - from},
                     "counter",
                     0,
                     COUNT_MAX,
                     &value,
                     err)
        < 0)
        return -1;
    if (value > COUNT_MAX - counts[i])
        return dn_err_set (err, DN_E_RANGE, "counter: the sum is too large");
    counts[i] += value;
    return 0;
}

/* -1 with 'err', which names 'file'. */
static int read_counts (struct dn_span text,
                        const char *file,
                        int64_t counts[N_COUNTS],
                        struct dn_err *err)
{
    struct dn_span line;
    int n = 0;

    while ((line = dn_span_cut (&text, "\n")).text) {
        n++;
        if (line.len > 0 && line.text[0] != '#' && read_line (line, counts, err) < 0)
            return dn_err_wrap (err, "%s: line %d", file, n);
    }
    if (counts[COUNT_STARTED] == 0)
        return dn_err_set (
            err, DN_E_SYNTAX, "%s: no dnnest_start_time_seconds: not of dnnest", file);
    return 0;
}

/* A task is late after so many intervals, and what a run may take. */
#define LATE  3
#define RUN_S 30

/* Clocks of two hosts may differ by that much. */
#define SKEW_S 60

/* The plugin writes its counters every five seconds. */
#define COUNTERS_S 60

#define NEXT_TRUST                                                                     \
    "the file must belong to root or SlurmUser and be whole: its program replaces it"

static const struct {
    const char *name;
    const char *key;
    const char *start;
    const char *log;
} programs[] = {
    [DNNESTD] = {"dnnestd",
                 "dnnestd",
                 "start it: systemctl enable --now dnnestd",
                 "see why: systemctl status dnnestd; journalctl -u dnnestd"},
    [GUARD] = {"dnnest-guard",
               "dnnest_guard",
               "start it: systemctl enable --now dnnest-guard dnnest-restore.timer",
               "see why: systemctl status dnnest-guard; journalctl -u dnnest-guard"},
};

static const char *const states[] = {
    [IS_FRESH] = "fresh",
    [IS_OFF] = "off",
    [IS_NONE] = "none",
    [IS_OLD] = "old",
    [IS_BROKEN] = "broken",
    [IS_ENDED] = "ended",
    [IS_DOWN] = "down",
    [IS_FAILED] = "failed",
};

static const char *const limits_names[] = {
    [LIMITS_KEPT] = "kept",
    [LIMITS_SOFT] = "soft",
    [LIMITS_GUARDED] = "guarded",
    [LIMITS_QUANTILE] = "quantile",
};

/* --- parts ------------------------------------------------------------------------ */

/* There is room: a status has a bounded number of tasks. */
static struct part *add_part (struct health *health,
                              const char *name,
                              enum state state,
                              const char *next)
{
    struct part *part = &health->parts[health->n_parts++];

    *part = (struct part){.state = state, .age_s = DN_UNSET, .next = next};
    snprintf (part->name, sizeof (part->name), "%s", name);
    return part;
}

static void set_error (struct part *part, const char *text)
{
    snprintf (part->error, sizeof (part->error), "%s", text);
}

static bool is_running (const struct health *health, int program)
{
    const struct program *status = &health->programs[program];

    return status->found && dn_daemon_status_is_alive (&status->status, health->now_s)
           && status->status.written_s <= health->now_s + SKEW_S;
}

static void read_status (struct health *health, const struct dn_site *site, int program)
{
    struct dn_daemon_status *status = &health->programs[program].status;
    const char *name = programs[program].name;
    struct part *part = add_part (health, name, IS_FRESH, NULL);
    char file[DN_NAME_MAX];
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct dn_err err = {0};
    size_t len = 0;
    int rc;

    snprintf (file, sizeof (file), "%s.status", name);
    part->path = dn_view_path (site->state_dir, file);
    rc = dn_view_text (
        part->path.text, DN_VIEW_THEIRS, DN_STATE_FILE_MAX, &text, &len, &err);
    if (rc == 0 && !text) {
        part->state = IS_NONE;
        part->next = programs[program].start;
        return;
    }
    if (rc < 0
        || dn_daemon_status_read (
               (struct dn_span){text, len}, part->path.text, status, &err)
               < 0) {
        part->state = IS_BROKEN;
        part->next = NEXT_TRUST;
        set_error (part, err.text);
        return;
    }
    health->programs[program].found = true;
    part->age_s = health->now_s - status->written_s;
    if (is_running (health, program))
        return;
    part->state = status->ended_s > 0 ? IS_ENDED : IS_OLD;
    part->next = status->ended_s > 0 ? programs[program].start : programs[program].log;
    if (part->age_s < 0)
        part->next = "written in the future: set the clocks of the hosts";
}

static void judge_task (struct health *health,
                        const struct dn_daemon_task *task,
                        int program)
{
    struct part *part = add_part (health, task->name, IS_FRESH, NULL);

    if (task->last_s > 0)
        part->age_s = health->now_s - task->last_s;
    set_error (part, task->error);
    if (task->error[0] != '\0')
        part->state = IS_FAILED;
    else if (task->last_s == 0)
        part->state = IS_NONE;
    else if (part->age_s > LATE * task->interval_s + RUN_S || part->age_s < -SKEW_S)
        part->state = IS_OLD;
    if (part->state != IS_FRESH)
        part->next = programs[program].log;
}

/* What a program says about slurmctld counts while it runs. */
static void judge_slurmctld (struct health *health)
{
    struct part *part;
    const char *down = NULL;
    bool known = false;
    char text[64];

    for (int i = 0; i < N_PROGRAMS; i++) {
        known = known || is_running (health, i);
        if (is_running (health, i) && !health->programs[i].status.up)
            down = programs[i].name;
    }
    if (!known)
        return;
    part = add_part (health, "slurmctld", down ? IS_DOWN : IS_FRESH, NULL);
    if (down) {
        part->next = "try scontrol ping; dnnest reconnects by itself";
        snprintf (text, sizeof (text), "does not answer %s", down);
        set_error (part, text);
    }
}

/* --- files ------------------------------------------------------------------------ */

static void judge_file (struct health *health,
                        const char *name,
                        const struct dn_seen_file *file,
                        const char *without)
{
    struct part *part = add_part (health, name, IS_FRESH, NULL);

    part->path = file->path;
    if (file->state == DN_SEEN_USED || file->state == DN_SEEN_OLD)
        part->age_s = file->age_s;
    if (file->state == DN_SEEN_NONE)
        part->state = IS_NONE;
    if (file->state == DN_SEEN_OLD)
        part->state = IS_OLD;
    if (file->state == DN_SEEN_BROKEN) {
        part->state = IS_BROKEN;
        part->next = NEXT_TRUST;
        set_error (part, file->err.text);
    } else if (part->state != IS_FRESH) {
        part->next = without;
    }
}

static void read_counters (struct health *health, const struct dn_site *site)
{
    struct part *part = add_part (health, "counters", IS_FRESH, NULL);
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct dn_err err = {0};
    struct stat st;

    if (site->counters[0] == '\0') {
        part->state = IS_OFF;
        return;
    }
    snprintf (part->path.text, sizeof (part->path.text), "%s", site->counters);
    if (stat (site->counters, &st) < 0 && errno == ENOENT) {
        part->state = IS_NONE;
        part->next = "load the plugin: JobSubmitPlugins=dnnest in slurm.conf";
        return;
    }
    if (dn_file_read (site->counters, COUNTS_MAX, &text, &err) < 0
        || read_counts (dn_span_of (text), site->counters, health->counts, &err) < 0) {
        part->state = IS_BROKEN;
        part->next = "Counters= must name a file of the plugin that you can read";
        set_error (part, err.text);
        return;
    }
    health->has_counts = true;
    part->age_s = health->now_s - (int64_t) st.st_mtime;
    if (part->age_s <= COUNTERS_S && part->age_s >= -SKEW_S)
        return;
    part->state = IS_OLD;
    part->next = "the plugin does not write: is slurmctld running, with the plugin?";
}

/* --- slurm.conf ------------------------------------------------------------------- */

/* Without --dnnest users have comments and #DNNEST lines: no SPANK plugin is no error.
 */
static void judge_slurm_conf (struct health *health, const char *file)
{
    dn_cleanup (dn_free_ptr) struct dn_slurm_conf *conf = malloc (sizeof (*conf));
    struct part *part;
    struct dn_err err = {0};
    int rc = conf ? dn_slurm_conf_read (file, conf, &err) : 0;

    if (!conf || (rc == 0 && !conf->found))
        return;
    part = add_part (health, "plugin", IS_FRESH, NULL);
    snprintf (part->path.text, sizeof (part->path.text), "%.500s", conf->path);
    if (rc < 0 || !dn_slurm_conf_submits (conf)) {
        part->state = rc < 0 ? IS_BROKEN : IS_NONE;
        part->next = "slurm.conf needs JobSubmitPlugins=dnnest; then restart slurmctld";
        set_error (part, rc < 0 ? err.text : "JobSubmitPlugins does not name dnnest");
    }
    part = add_part (health, "spank", IS_FRESH, NULL);
    if (rc < 0 || !dn_slurm_conf_spank (conf))
        part->state = IS_OFF;
}

/* --- limits ----------------------------------------------------------------------- */

static void judge_limits (struct health *health, const struct dn_site *site)
{
    const struct dn_submitter anyone = {.user_id = DN_UNSET, .group_id = DN_UNSET};
    const struct dn_rules rules = dn_site_rules_in_force (site, &anyone);
    const struct dn_guarded *guarded = health->seen.content.guarded;

    for (int64_t i = 0; guarded && i < guarded->n_tallies; i++) {
        if (guarded->tallies[i].app != 0)
            continue;
        health->n_users++;
        health->n_distrusted +=
            !dn_guarded_trusts (guarded, guarded->tallies[i].user_id);
    }
    if (rules.time_limit == DN_TIME_TIME_MIN)
        health->limits = LIMITS_SOFT;
    else if (rules.time_limit != DN_TIME_LIMIT)
        health->limits = LIMITS_KEPT;
    else
        health->limits = health->seen.guarded.state == DN_SEEN_USED ? LIMITS_GUARDED
                                                                    : LIMITS_QUANTILE;
}

/* Look at the files of the site, and at the slurm.conf beside 'conf', if there is one
 * (NULL: none).
 */
static void read_health (struct health *health,
                         const struct dn_site *site,
                         const char *conf)
{
    memset (health, 0, sizeof (*health));
    dn_seen_read (&health->seen, site, NULL);
    health->now_s = health->seen.view.now_s;
    for (int i = 0; i < N_PROGRAMS; i++)
        read_status (health, site, i);
    judge_slurmctld (health);
    for (int i = 0; i < N_PROGRAMS; i++)
        for (int task = 0; task < health->programs[i].status.n_tasks; task++)
            judge_task (health, &health->programs[i].status.tasks[task], i);
    judge_file (
        health,
        "snapshot",
        &health->seen.cluster,
        "decisions see no queue, nodes or limits until dnnestd watch writes it");
    judge_file (health,
                "heartbeat",
                &health->seen.guarded,
                "limits are not extended until dnnest-guard runs");
    judge_slurm_conf (health, conf);
    read_counters (health, site);
    judge_limits (health, site);
}

/* Are all parts fresh, or off? */
static bool is_fresh (const struct health *health)
{
    for (int i = 0; i < health->n_parts; i++)
        if (health->parts[i].state != IS_FRESH && health->parts[i].state != IS_OFF)
            return false;
    return true;
}

/* --- JSON ------------------------------------------------------------------------- */

/* A time since 1970, or null for never. */
static void add_time (struct json_object *to, const char *key, int64_t time_s)
{
    dn_json_add_count (to, key, time_s > 0 ? time_s : -1);
}

static struct json_object *parts_of (const struct health *health)
{
    struct json_object *array = json_object_new_array ();

    for (int i = 0; i < health->n_parts; i++) {
        const struct part *part = &health->parts[i];
        struct json_object *row = dn_json_append_object (array);

        dn_json_add_text (row, "part", part->name);
        dn_json_add_text (row, "state", states[part->state]);
        /* of what is from the future it is negative */
        json_object_object_add (
            row,
            "age_s",
            part->age_s == DN_UNSET ? NULL : json_object_new_int64 (part->age_s));
        dn_json_add_name (row, "file", part->path.text);
        dn_json_add_name (row, "error", part->error);
        dn_json_add_text (row, "next", part->next);
    }
    return array;
}

static void add_program (struct json_object *json, const struct health *health, int i)
{
    const struct dn_daemon_status *status = &health->programs[i].status;
    struct json_object *to;

    if (!health->programs[i].found) {
        json_object_object_add (json, programs[i].key, NULL);
        return;
    }
    to = dn_json_add_object (json, programs[i].key);

    dn_json_add_text (to, "version", status->version);
    dn_json_add_count (to, "pid", status->pid);
    add_time (to, "started", status->started_s);
    add_time (to, "written", status->written_s);
    add_time (to, "ended", status->ended_s);
    dn_json_add_bool (to, "up", status->up);
    add_time (to, "up_since", status->up_since_s);
    dn_json_add_name (to, "cluster", status->cluster);
    add_time (to, "slurm", status->slurm);
    dn_json_add_bool (to, "soft_time_min", status->soft_time_min);
    dn_json_add_name (to, "last_error", status->error);
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
        dn_json_add_name (row, "error", task->error);
    }
}

/* What both programs have counted. */
static int64_t of_day (const struct health *health, enum dn_tick tick)
{
    int64_t sum = 0;

    for (int i = 0; i < N_PROGRAMS; i++)
        if (health->programs[i].found)
            sum +=
                dn_daemon_status_day (&health->programs[i].status, tick, health->now_s);
    return sum;
}

static void add_day (struct json_object *json, const struct health *health)
{
    struct json_object *day = dn_json_add_object (json, "day");

    for (int i = 0; i < DN_N_TICKS; i++)
        dn_json_add_count (
            day, dn_names_get (&dn_tick_names, i), of_day (health, (enum dn_tick) i));
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

static void print_json (const struct health *health, bool paused)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    struct json_object *to = NULL;
    struct json_object *tasks;

    dn_json_add_bool (json, "fresh", is_fresh (health));
    dn_json_add_bool (json, "paused", paused);
    dn_json_add_text (json, "limits", limits_names[health->limits]);
    dn_json_add_count (json, "users", health->n_users);
    dn_json_add_count (json, "distrusted", health->n_distrusted);
    json_object_object_add (json, "parts", parts_of (health));
    for (int i = 0; i < N_PROGRAMS; i++)
        add_program (json, health, i);
    tasks = dn_json_add_array (json, "tasks");
    for (int i = 0; i < N_PROGRAMS; i++)
        add_tasks (tasks, &health->programs[i].status);
    add_day (json, health);
    if (health->has_counts)
        to = dn_json_add_object (json, "plugin");
    else
        json_object_object_add (json, "plugin", NULL);
    for (int i = 0; to && i < N_COUNTS; i++)
        dn_json_add_count (to, metrics[i].key, health->counts[i]);
    dn_json_print (json);
}

/* --- text ------------------------------------------------------------------------- */

/* "00:01:10"; "-" when unknown, or from the future. */
static const char *age_text (int64_t age_s, struct dn_time_text *text)
{
    *text = dn_time_write (age_s >= 0 ? age_s : 0);
    return age_s >= 0 ? text->text : "-";
}

/* Release 2411 is "24.11". */
static void print_program (const struct health *health, int program)
{
    const struct dn_daemon_status *status = &health->programs[program].status;
    struct dn_time_text age;

    if (!health->programs[program].found)
        return;
    printf ("\n%s %s, pid %" PRId64 ", started %s ago",
            programs[program].name,
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

static void print_limits (const struct health *health)
{
    static const char *const words[] = {
        [LIMITS_KEPT] = "those of the users (TimeLimit=keep)",
        [LIMITS_SOFT] = "soft (--time-min, which Slurm 24.11 lets jobs exceed)",
        [LIMITS_GUARDED] = "guarded (GuardedQuantile; dnnest-guard extends them)",
        [LIMITS_QUANTILE] = "TimeQuantile (no guard extends them)",
    };

    printf ("\nlimits: %s\n", words[health->limits]);
    if (health->n_users > 0)
        printf ("users with guarded jobs: %" PRId64 ", of these %" PRId64
                " with TimeQuantile because their jobs needed more too often\n",
                health->n_users,
                health->n_distrusted);
}

static void print_day (const struct health *health)
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
                health->counts[COUNT_SUBMISSIONS],
                health->counts[COUNT_DESCRIBED],
                health->counts[COUNT_CHANGED],
                health->counts[COUNT_ERRORS]);
}

static void print_next (const struct health *health)
{
    bool any = false;

    for (int i = 0; i < health->n_parts; i++) {
        const struct part *part = &health->parts[i];

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

static int print_text (const struct health *health, bool paused)
{
    int rc = dn_rows_print (
        parts_of (health), "PART=part|STATE=state|AGE>=age_s time|FILE=file", NULL);

    if (rc != DN_EXIT_DONE)
        return rc;
    for (int i = 0; i < N_PROGRAMS; i++)
        print_program (health, i);
    print_limits (health);
    if (paused)
        printf ("paused, for all jobs or some: " DN_PAUSE_FILE
                " beside dnnest.conf says\n");
    print_day (health);
    print_next (health);
    return DN_EXIT_DONE;
}

/* --- the command ------------------------------------------------------------------ */

struct call {
    const char *db;
};

static const struct dn_option options[] = {
    DN_OPT_TEXT ("db", "FILE", "the store of finished jobs (StateDir/records.db)", db),
    DN_OPT_END,
};

static int run (struct dn_options *given)
{
    struct health health;
    struct call call = {.db = NULL};
    int rc = DN_EXIT_DONE;

    if (!dn_options_all (given, &call, 0, 1))
        return given->exit_code;
    if (call.db && given->n_args == 0)
        return dn_options_misuse (given, "--db needs a JOBID");
    if (given->n_args == 1 && !dn_is_job_number (given->args[0]))
        return dn_options_misuse (
            given,
            "JOBID: '%s' is not the number of a job, expected "
            "one such as 12 or 12_3",
            dn_quote (given->args[0], strlen (given->args[0])).text);
    if (!dn_options_site (given, NULL))
        return given->exit_code;
    if (given->n_args == 1)
        return dn_job_story (given->site, call.db, given->args[0], given->json);
    read_health (&health, given->site, given->paths.conf);
    if (given->json)
        print_json (&health, is_paused (given));
    else
        rc = print_text (&health, is_paused (given));
    if (rc == DN_EXIT_DONE && !is_fresh (&health))
        rc = DN_EXIT_ABSTAINED;
    dn_seen_free (&health.seen);
    return rc;
}

const struct dn_command dn_cmd_status = {
    .name = "status",
    .summary = "Show what dnnestd and the plugin do, or did to a finished job",
    .arguments = "[JOBID]",
    .options = options,
    .run = run,
};
