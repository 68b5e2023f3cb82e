/* task.h - what dnnestd and dnnest-guard do, one task after the other
 *
 * A task runs to its end in some hundred milliseconds; the loop calls it
 * again after its interval. 'dnnestd TASK --once' calls it once and ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TASK_H
#define DN_TASK_H

#include "base/err.h"
#include "host/daemon_status.h"
#include "site.h"
#include "slurm/slurm_link.h"

/* What the tasks share. */
struct dn_daemon {
    const struct dn_site *site; /* the configuration in force */
    struct dn_link *link;
    int64_t now_s;    /* of the round, seconds since 1970, by slurmctld's clock */
    bool dry_run;     /* change nothing; say what would be changed */
    const char *conf; /* dnnest.conf; NULL: the default */
    const char *out;  /* file to write in place of that in StateDir; NULL; "-" stdout */
    void *jobs;       /* of round.h: the table of jobs, kept for a round; NULL */
    bool once;        /* a command waits for the end of all work */
    bool json;        /* print what was done as JSON */
    const char *store; /* of finished jobs, in place of that in StateDir; NULL */
    int64_t since_s;   /* collect jobs that ended from then on; DN_UNSET: go on */
};

struct dn_task {
    const char *name; /* "guard" */
    const char *help;
    /* The interval is a key of dnnest.conf: its offset in struct dn_site, a double in
     * seconds. */
    size_t interval_offset;
    bool alone;    /* needs no slurmctld */
    size_t memory; /* bytes that it has between calls, first all 0 */
    /* 0, or 1 where it has more to do and wants to be called again soon. */
    int (*run) (void *memory, struct dn_daemon *d, struct dn_err *err);
    /* Before an orderly end, while slurmctld answers; NULL: nothing. */
    int (*leave) (void *memory, struct dn_daemon *d, struct dn_err *err);
    void (*end) (void *memory); /* frees what these point to; NULL: nothing */
};

extern const struct dn_task dn_task_watch;
extern const struct dn_task dn_task_rescue;
extern const struct dn_task dn_task_collect;
extern const struct dn_task dn_task_learn;
extern const struct dn_task dn_task_revise;
extern const struct dn_task dn_task_steer;

/* Of dnnest-guard: extend limits again and again, and give all of them back before the
 * end; give all back once; the same only where no guard is alive.
 */
extern const struct dn_task dn_task_guard;
extern const struct dn_task dn_task_restore;
extern const struct dn_task dn_task_restore_if_silent;

/* A line for the log of dnnestd (journal or stderr), with its level. */
enum dn_log_level {
    DN_LOG_ERROR,
    DN_LOG_INFO,
    DN_LOG_DEBUG
};
void dn_log (enum dn_log_level level, const char *format, ...) DN_PRINTF (2, 3);

/* Count it (host/daemon_status.h). */
void dn_tick (enum dn_tick what);

#endif
