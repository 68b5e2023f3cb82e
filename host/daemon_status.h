/* daemon_status.h - what dnnestd and dnnest-guard leave about themselves
 *
 * A small JSON object in the file dnnestd.status or dnnest-guard.status, replaced after
 * each round. The text may come from anywhere: numbers, texts and counts have bounds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_DAEMON_STATUS_H
#define DN_DAEMON_STATUS_H

#include "base/limits.h"
#include "base/text.h"

/* Version of the format that this program writes, and the only one that it reads. */
#define DN_DAEMON_STATUS_VERSION 1

/* Bytes of the file, at most. */
#define DN_DAEMON_STATUS_MAX 32768

/* What dnnestd and dnnest-guard count, for Prometheus and 'dnnest status': its name,
 * also that of the counter and of the member, and a sentence about it.
 */
/* clang-format off */
#define DN_TICKS(ROW)                                                                  \
    ROW (TICK_ROUNDS, "rounds", "Rounds of all tasks.")                                \
    ROW (TICK_FAILURES, "failures",                                                    \
         "Rounds that failed because slurmctld did not answer.")                       \
    ROW (TICK_SNAPSHOTS, "snapshots", "Snapshots of the cluster written.")             \
    ROW (TICK_JOB_TABLES, "job_tables", "Full replies with the table of jobs.")        \
    ROW (TICK_GUARDED, "guarded",                                                      \
         "Running jobs with a limit lowered by dnnest that the guard found.")          \
    ROW (TICK_EXTENSIONS, "extensions", "Time limits extended.")                       \
    ROW (TICK_REFUSED, "refused", "Extensions that Slurm refused.")                    \
    ROW (TICK_AT_OWN_LIMIT, "at_own_limit",                                            \
         "Jobs extended up to the limit of their user.")                               \
    ROW (TICK_HANDS_OFF, "hands_off",                                                  \
         "Jobs left alone because their limit was changed by others.")                 \
    ROW (TICK_HELD, "held",                                                            \
         "Jobs that a deadline or a reservation kept from an extension.")              \
    ROW (TICK_SHORTENED, "shortened",                                                  \
         "Time limits shortened by the progress of the job.")                          \
    ROW (TICK_RESTORED, "restored",                                                    \
         "Lowered limits given back to their users because the guard leaves.")         \
    ROW (TICK_REVISED, "revised", "Time limits of pending jobs lowered by history.")   \
    ROW (TICK_RESCUED, "rescued", "Jobs started again with their original request.")   \
    ROW (TICK_FALSE_FITS, "false_fits",                                                \
         "Jobs that ran out of memory on GPUs that dnnest chose.")                     \
    ROW (TICK_NOT_RESCUED, "not_rescued",                                              \
         "Such jobs that could not be started again.")                                 \
    ROW (TICK_STEERED, "steered",                                                      \
         "Pending jobs given another GPU type that could start them.")                 \
    ROW (TICK_STEERED_BACK, "steered_back",                                            \
         "Such jobs that did not start there, given their own again.")                 \
    ROW (TICK_FITTED, "fitted",                                                        \
         "Limits of started jobs fitted to the GPU type that they got.")               \
    /* End of DN_TICKS */
/* clang-format on */
DN_ENUM (dn_tick, TICKS);

extern const struct dn_names dn_tick_names;

/* One sentence about each, for the file of counters and 'dnnest status'. */
const char *dn_tick_help (enum dn_tick tick);

/* Is it a counter of dnnest-guard, or of dnnestd? Some are of both. */
bool dn_tick_is_of (enum dn_tick tick, bool guard);

/* Hours that are kept: the last day, and the one that has begun. */
#define DN_DAEMON_HOURS 25

struct dn_daemon_hour {
    int64_t from_s; /* a multiple of 3600, seconds since 1970 */
    int64_t n[DN_N_TICKS];
};

#define DN_DAEMON_TASKS_MAX 8

struct dn_daemon_task {
    char name[DN_NAME_MAX];
    int64_t interval_s;
    int64_t last_s; /* start of the last run that was complete; 0: none */
    int64_t took_ms;
    char error[DN_ERR_TEXT_MAX]; /* of the last run; "": none */
};

/* Times are seconds since 1970; 0: never. */
struct dn_daemon_status {
    char version[DN_NAME_MAX];
    int64_t pid;
    int64_t started_s;
    int64_t written_s; /* when this was written */
    int64_t every_s;   /* and is to be written again within that time */
    int64_t ended_s;   /* the process has ended */
    bool up;           /* does slurmctld answer? */
    int64_t up_since_s;
    char cluster[DN_NAME_MAX];
    int64_t slurm;      /* 2411 for 24.11; 0: not known yet */
    bool soft_time_min; /* SchedulerParameters=time_min_as_soft_limit */
    int64_t error_s;    /* the last error, of whatever kind */
    char error[DN_ERR_TEXT_MAX];
    struct dn_daemon_task tasks[DN_DAEMON_TASKS_MAX];
    int n_tasks;
    struct dn_daemon_hour hours[DN_DAEMON_HOURS]; /* the newest first */
    int n_hours;
};

/* Read the file's text. -1 with 'err', which names 'file'. */
int dn_daemon_status_read (struct dn_span text,
                           const char *file,
                           struct dn_daemon_status *status,
                           struct dn_err *err);

/* The text of the file; NULL without memory. Free it with free (). */
char *dn_daemon_status_text (const struct dn_daemon_status *status);

/* Is the daemon that wrote it alive at 'now_s'? */
bool dn_daemon_status_is_alive (const struct dn_daemon_status *status, int64_t now_s);

/* Count in the hour of 'now_s'; hours that are older than a day are dropped. */
void dn_daemon_status_count (struct dn_daemon_status *status,
                             enum dn_tick tick,
                             int64_t now_s);

/* What was counted in the last 24 hours before 'now_s'. */
int64_t dn_daemon_status_day (const struct dn_daemon_status *status,
                              enum dn_tick tick,
                              int64_t now_s);

#endif
