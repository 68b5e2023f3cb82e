/* health.c - what runs and what is stale around dnnestd and dnnest-guard, read from its
 * files
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "health.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "host/files.h"
#include "slurm_conf.h"

/* Bytes of the file of counters, at most. */
#define COUNTS_MAX 65536

/* A counter of a process does not get there. */
#define COUNT_MAX INT64_C (1000000000000000)

struct metric {
    const char *name;
    size_t offset; /* in struct dn_plugin_counts */
};

#define MEMBER(member) offsetof (struct dn_plugin_counts, member)

static const struct metric metrics[] = {
    {"dnnest_start_time_seconds", MEMBER (started_s)},
    {"dnnest_submissions_total", MEMBER (submissions)},
    {"dnnest_described_total", MEMBER (described)},
    {"dnnest_changed_total", MEMBER (changed)},
    {"dnnest_errors_total", MEMBER (errors)},
};

static int64_t *find (struct dn_plugin_counts *counts, struct dn_span name)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (metrics); i++)
        if (dn_span_is (name, metrics[i].name))
            return (int64_t *) (void *) ((char *) counts + metrics[i].offset);
    return NULL;
}

/* "NAME VALUE" or "NAME{LABELS} VALUE"; values of one name are added. */
static int read_line (struct dn_span line,
                      struct dn_plugin_counts *counts,
                      struct dn_err *err)
{
    struct dn_span rest = line;
    int64_t *sum = find (counts, dn_span_cut (&rest, " {"));
    int64_t value = 0;
    size_t from = line.len;

    if (!sum)
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
    if (value > COUNT_MAX - *sum)
        return dn_err_set (err, DN_E_RANGE, "counter: the sum is too large");
    *sum += value;
    return 0;
}

/* -1 with 'err', which names 'file'. */
static int read_counts (struct dn_span text,
                        const char *file,
                        struct dn_plugin_counts *counts,
                        struct dn_err *err)
{
    struct dn_span line;
    int n = 0;

    memset (counts, 0, sizeof (*counts));
    while ((line = dn_span_cut (&text, "\n")).text) {
        n++;
        if (line.len > 0 && line.text[0] != '#' && read_line (line, counts, err) < 0)
            return dn_err_wrap (err, "%s: line %d", file, n);
    }
    if (counts->started_s == 0)
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
    [DN_HEALTH_DNNESTD] = {"dnnestd",
                           "dnnestd",
                           "start it: systemctl enable --now dnnestd",
                           "see why: systemctl status dnnestd; journalctl -u dnnestd"},
    [DN_HEALTH_GUARD] =
        {"dnnest-guard",
         "dnnest_guard",
         "start it: systemctl enable --now dnnest-guard dnnest-restore.timer",
         "see why: systemctl status dnnest-guard; journalctl -u dnnest-guard"},
};

static const char *const state_text[] = {
    [DN_HEALTH_FRESH] = "fresh",
    [DN_HEALTH_OFF] = "off",
    [DN_HEALTH_NONE] = "none",
    [DN_HEALTH_OLD] = "old",
    [DN_HEALTH_BROKEN] = "broken",
    [DN_HEALTH_ENDED] = "ended",
    [DN_HEALTH_DOWN] = "down",
    [DN_HEALTH_FAILED] = "failed",
};

const char *dn_health_state_name (enum dn_health_state state)
{
    static const struct dn_names names = DN_NAMES (state_text, DN_N_HEALTH_STATES);

    return dn_names_get (&names, (int) state);
}

static const char *const limits_text[] = {
    [DN_LIMITS_KEPT] = "kept",
    [DN_LIMITS_SOFT] = "soft",
    [DN_LIMITS_GUARDED] = "guarded",
    [DN_LIMITS_QUANTILE] = "quantile",
};

const char *dn_limits_kind_name (enum dn_limits_kind kind)
{
    static const struct dn_names names = DN_NAMES (limits_text, DN_N_LIMITS_KINDS);

    return dn_names_get (&names, (int) kind);
}

/* --- parts -------------------------------------------------------------------------
 */

/* There is room: a status has a bounded number of tasks. */
static struct dn_health_part *add_part (struct dn_health *health,
                                        const char *name,
                                        enum dn_health_state state,
                                        const char *next)
{
    struct dn_health_part *part = &health->parts[health->n_parts++];

    *part = (struct dn_health_part){.state = state, .age_s = DN_UNSET, .next = next};
    snprintf (part->name, sizeof (part->name), "%s", name);
    return part;
}

static void set_error (struct dn_health_part *part, const char *text)
{
    snprintf (part->error, sizeof (part->error), "%s", text);
}

static bool is_running (const struct dn_health *health, int program)
{
    const struct dn_health_status *status = &health->programs[program];

    return status->found && dn_daemon_status_is_alive (&status->status, health->now_s)
           && status->status.written_s <= health->now_s + SKEW_S;
}

static void read_status (struct dn_health *health,
                         const struct dn_site *site,
                         int program)
{
    struct dn_daemon_status *status = &health->programs[program].status;
    const char *name = programs[program].name;
    struct dn_health_part *part = add_part (health, name, DN_HEALTH_FRESH, NULL);
    char file[DN_NAME_MAX];
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct dn_err err = {0};
    size_t len = 0;
    int rc;

    health->programs[program].name = name;
    health->programs[program].key = programs[program].key;
    snprintf (file, sizeof (file), "%s.status", name);
    part->path = dn_view_path (site->state_dir, file);
    rc = dn_view_text (
        part->path.text, DN_VIEW_THEIRS, DN_STATE_FILE_MAX, &text, &len, &err);
    if (rc == 0 && !text) {
        part->state = DN_HEALTH_NONE;
        part->next = programs[program].start;
        return;
    }
    if (rc < 0
        || dn_daemon_status_read (
               (struct dn_span){text, len}, part->path.text, status, &err)
               < 0) {
        part->state = DN_HEALTH_BROKEN;
        part->next = NEXT_TRUST;
        set_error (part, err.text);
        return;
    }
    health->programs[program].found = true;
    part->age_s = health->now_s - status->written_s;
    if (is_running (health, program))
        return;
    part->state = status->ended_s > 0 ? DN_HEALTH_ENDED : DN_HEALTH_OLD;
    part->next = status->ended_s > 0 ? programs[program].start : programs[program].log;
    if (part->age_s < 0)
        part->next = "written in the future: set the clocks of the hosts";
}

static void judge_task (struct dn_health *health,
                        const struct dn_daemon_task *task,
                        int program)
{
    struct dn_health_part *part = add_part (health, task->name, DN_HEALTH_FRESH, NULL);

    if (task->last_s > 0)
        part->age_s = health->now_s - task->last_s;
    set_error (part, task->error);
    if (task->error[0] != '\0')
        part->state = DN_HEALTH_FAILED;
    else if (task->last_s == 0)
        part->state = DN_HEALTH_NONE;
    else if (part->age_s > LATE * task->interval_s + RUN_S || part->age_s < -SKEW_S)
        part->state = DN_HEALTH_OLD;
    if (part->state != DN_HEALTH_FRESH)
        part->next = programs[program].log;
}

/* What a program says about slurmctld counts while it runs. */
static void judge_slurmctld (struct dn_health *health)
{
    struct dn_health_part *part;
    const char *down = NULL;
    bool known = false;
    char text[64];

    for (int i = 0; i < DN_N_HEALTH_PROGRAMS; i++) {
        known = known || is_running (health, i);
        if (is_running (health, i) && !health->programs[i].status.up)
            down = programs[i].name;
    }
    if (!known)
        return;
    part =
        add_part (health, "slurmctld", down ? DN_HEALTH_DOWN : DN_HEALTH_FRESH, NULL);
    if (down) {
        part->next = "try scontrol ping; dnnest reconnects by itself";
        snprintf (text, sizeof (text), "does not answer %s", down);
        set_error (part, text);
    }
}

/* --- files -------------------------------------------------------------------------
 */

static void judge_file (struct dn_health *health,
                        const char *name,
                        const struct dn_seen_file *file,
                        const char *without)
{
    struct dn_health_part *part = add_part (health, name, DN_HEALTH_FRESH, NULL);

    part->path = file->path;
    if (file->state == DN_SEEN_USED || file->state == DN_SEEN_OLD)
        part->age_s = file->age_s;
    if (file->state == DN_SEEN_NONE)
        part->state = DN_HEALTH_NONE;
    if (file->state == DN_SEEN_OLD)
        part->state = DN_HEALTH_OLD;
    if (file->state == DN_SEEN_BROKEN) {
        part->state = DN_HEALTH_BROKEN;
        part->next = NEXT_TRUST;
        set_error (part, file->err.text);
    } else if (part->state != DN_HEALTH_FRESH) {
        part->next = without;
    }
}

static void read_counters (struct dn_health *health, const struct dn_site *site)
{
    struct dn_health_part *part = add_part (health, "counters", DN_HEALTH_FRESH, NULL);
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct dn_err err = {0};
    struct stat st;

    if (site->counters[0] == '\0') {
        part->state = DN_HEALTH_OFF;
        return;
    }
    snprintf (part->path.text, sizeof (part->path.text), "%s", site->counters);
    if (stat (site->counters, &st) < 0 && errno == ENOENT) {
        part->state = DN_HEALTH_NONE;
        part->next = "load the plugin: JobSubmitPlugins=dnnest in slurm.conf";
        return;
    }
    if (dn_file_read (site->counters, COUNTS_MAX, &text, &err) < 0
        || read_counts (dn_span_of (text), site->counters, &health->counts, &err) < 0) {
        part->state = DN_HEALTH_BROKEN;
        part->next = "Counters= must name a file of the plugin that you can read";
        set_error (part, err.text);
        return;
    }
    health->has_counts = true;
    part->age_s = health->now_s - (int64_t) st.st_mtime;
    if (part->age_s <= COUNTERS_S && part->age_s >= -SKEW_S)
        return;
    part->state = DN_HEALTH_OLD;
    part->next = "the plugin does not write: is slurmctld running, with the plugin?";
}

/* --- slurm.conf --------------------------------------------------------------------
 */

/* Without --dnnest users have comments and #DNNEST lines: no SPANK plugin is no error.
 */
static void judge_slurm_conf (struct dn_health *health, const char *file)
{
    dn_cleanup (dn_free_ptr) struct dn_slurm_conf *conf = malloc (sizeof (*conf));
    struct dn_health_part *part;
    struct dn_err err = {0};
    int rc = conf ? dn_slurm_conf_read (file, conf, &err) : 0;

    if (!conf || (rc == 0 && !conf->found))
        return;
    part = add_part (health, "plugin", DN_HEALTH_FRESH, NULL);
    snprintf (part->path.text, sizeof (part->path.text), "%.500s", conf->path);
    if (rc < 0 || !dn_slurm_conf_submits (conf)) {
        part->state = rc < 0 ? DN_HEALTH_BROKEN : DN_HEALTH_NONE;
        part->next = "slurm.conf needs JobSubmitPlugins=dnnest; then restart slurmctld";
        set_error (part, rc < 0 ? err.text : "JobSubmitPlugins does not name dnnest");
    }
    part = add_part (health, "spank", DN_HEALTH_FRESH, NULL);
    if (rc < 0 || !dn_slurm_conf_spank (conf))
        part->state = DN_HEALTH_OFF;
}

/* --- limits ------------------------------------------------------------------------
 */

static void judge_limits (struct dn_health *health, const struct dn_site *site)
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
        health->limits = DN_LIMITS_SOFT;
    else if (rules.time_limit != DN_TIME_LIMIT)
        health->limits = DN_LIMITS_KEPT;
    else
        health->limits = health->seen.guarded.state == DN_SEEN_USED
                             ? DN_LIMITS_GUARDED
                             : DN_LIMITS_QUANTILE;
}

/* --- interface ---------------------------------------------------------------------
 */

void dn_health_read (struct dn_health *health,
                     const struct dn_site *site,
                     const char *conf)
{
    memset (health, 0, sizeof (*health));
    dn_seen_read (&health->seen, site, NULL);
    health->now_s = health->seen.view.now_s;
    for (int i = 0; i < DN_N_HEALTH_PROGRAMS; i++)
        read_status (health, site, i);
    judge_slurmctld (health);
    for (int i = 0; i < DN_N_HEALTH_PROGRAMS; i++)
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

void dn_health_free (struct dn_health *health)
{
    dn_seen_free (&health->seen);
}

bool dn_health_is_fresh (const struct dn_health *health)
{
    for (int i = 0; i < health->n_parts; i++)
        if (health->parts[i].state != DN_HEALTH_FRESH
            && health->parts[i].state != DN_HEALTH_OFF)
            return false;
    return true;
}
