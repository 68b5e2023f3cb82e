/* health.h - what runs and what is stale around dnnestd and dnnest-guard, read from its
 * files
 *
 * In: the files in StateDir and the plugin's file of counters. Out: struct dn_health, a
 * list of parts, each with its state, its age and what to do about it. All files may
 * come from anywhere.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_HEALTH_H
#define DN_HEALTH_H

#include "host/daemon_status.h"
#include "seen.h"

/* Counters of the plugin, in the file that it writes. */
struct dn_plugin_counts {
    int64_t started_s; /* start of the plugin, seconds since 1970 */
    int64_t submissions;
    int64_t described;
    int64_t changed; /* fields of jobs, of any kind */
    int64_t errors;  /* of any kind */
};

enum dn_health_state {
    DN_HEALTH_FRESH,
    DN_HEALTH_OFF,    /* not configured, which is no error */
    DN_HEALTH_NONE,   /* there is no such file, or it has never run */
    DN_HEALTH_OLD,    /* or from the future */
    DN_HEALTH_BROKEN, /* or not trusted */
    DN_HEALTH_ENDED,
    DN_HEALTH_DOWN,   /* does not answer */
    DN_HEALTH_FAILED, /* the last run */
    DN_N_HEALTH_STATES
};

/* "fresh" */
const char *dn_health_state_name (enum dn_health_state state);

struct dn_health_part {
    char name[DN_NAME_MAX];
    enum dn_health_state state;
    int64_t age_s;            /* DN_UNSET: unknown */
    struct dn_view_path path; /* "": not a file */
    char error[DN_ERR_TEXT_MAX];
    const char *next; /* what to do; NULL: nothing */
};

/* The programs beside slurmctld. */
enum dn_health_program {
    DN_HEALTH_DNNESTD,
    DN_HEALTH_GUARD,
    DN_N_HEALTH_PROGRAMS
};

struct dn_health_status {
    const char *name; /* "dnnest-guard" */
    const char *key;  /* in JSON: "dnnest_guard" */
    bool found;       /* its file was read */
    struct dn_daemon_status status;
};

/* The programs, their tasks, slurmctld, both plugins, and three files. */
#define DN_HEALTH_PARTS_MAX (DN_N_HEALTH_PROGRAMS * (DN_DAEMON_TASKS_MAX + 1) + 6)

/* What limits follow now. */
enum dn_limits_kind {
    DN_LIMITS_KEPT,     /* they are not changed */
    DN_LIMITS_SOFT,     /* --time-min, where Slurm lets a job run on */
    DN_LIMITS_GUARDED,  /* GuardedQuantile: the guard extends them */
    DN_LIMITS_QUANTILE, /* TimeQuantile */
    DN_N_LIMITS_KINDS
};

/* "guarded" */
const char *dn_limits_kind_name (enum dn_limits_kind kind);

struct dn_health {
    int64_t now_s;
    struct dn_health_part parts[DN_HEALTH_PARTS_MAX];
    int n_parts;
    struct dn_health_status programs[DN_N_HEALTH_PROGRAMS];
    bool has_counts;
    struct dn_plugin_counts counts;
    enum dn_limits_kind limits;
    int64_t n_users;      /* that the guard has tallies of */
    int64_t n_distrusted; /* of these: their limits follow TimeQuantile */
    struct dn_seen seen;
};

/* Look at the files of the site, and at the slurm.conf beside 'conf', if there is one
 * (NULL: none). Freed with dn_health_free ().
 */
void dn_health_read (struct dn_health *health,
                     const struct dn_site *site,
                     const char *conf);
void dn_health_free (struct dn_health *health);

/* Are all parts fresh, or off? */
bool dn_health_is_fresh (const struct dn_health *health);

#endif
