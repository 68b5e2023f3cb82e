/* probe_run.h - run a program for a number of steps, watch it, and leave nothing behind
 *
 * The program is in a process group of its own, and what it leaves behind becomes our
 * child (PR_SET_CHILD_SUBREAPER), also daemons: whatever it started is ended when
 * dn_probe_run () returns.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PROBE_RUN_H
#define DN_PROBE_RUN_H

#include "probe_feed.h"
#include "probe_gpu.h"

struct dn_probe_task {
    char *const *argv;
    const char *hook_dir;   /* of hook/sitecustomize.py */
    const regex_t *pattern; /* count matching lines instead; NULL: the hook */
    int64_t every;          /* steps of a matching line */
    int64_t warmup;
    int64_t steps;
    double seconds;        /* at most */
    double grace_s;        /* between one means of ending it and the next */
    bool output_to_stderr; /* its stdout goes to our stderr */
};

/* Why it ended. */
enum dn_probe_end {
    DN_PROBE_ENDED,       /* by itself */
    DN_PROBE_STEPS,       /* enough steps */
    DN_PROBE_TIME,        /* enough time */
    DN_PROBE_INTERRUPTED, /* we were */
    DN_N_PROBE_ENDS
};

/* CPU time that all of its processes have used, by time. */
struct dn_cpu_look {
    double time_s; /* since the start */
    double cpu_s;
};

struct dn_probe_run {
    struct dn_feed feed;
    struct dn_gpu_watch *gpus; /* NULL: nothing is known */
    struct dn_cpu_look *looks; /* owned */
    int n_looks;
    enum dn_probe_end end;
    int status;  /* of the program, as of wait(2) */
    bool unable; /* it could not be started */
    double wall_s;
    int n_left; /* processes that could not be ended */
};

/* Run it. -1 with 'err' when it could not be started. Free with dn_probe_run_free ().
 */
int dn_probe_run (const struct dn_probe_task *task,
                  struct dn_probe_run *run,
                  struct dn_err *err);

/* Mean number of cores that worked between two times since the start; -1 unknown. */
double dn_probe_cores (const struct dn_probe_run *run, double from_s, double to_s);

/* NULL-safe. */
void dn_probe_run_free (struct dn_probe_run *run);

#endif
