/* probe_run.h - run a program for a number of steps, watch it, and end all its
 * processes
 *
 * The program has its own process group. Processes that it leaves, also daemons, become
 * our children (PR_SET_CHILD_SUBREAPER), so that dn_probe_run () ends them all before
 * it returns.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PROBE_RUN_H
#define DN_PROBE_RUN_H

#include "described.h"
#include "probe_feed.h"
#include "probe_gpu.h"

struct dn_probe_task {
    char *const *argv;
    const char *hook_dir;   /* of hook/sitecustomize.py */
    const regex_t *pattern; /* count matching lines instead; NULL: the hook */
    int64_t every;          /* steps per matching line */
    int64_t warmup;
    int64_t steps;
    double seconds;        /* maximum run time */
    double grace_s;        /* seconds between two attempts to end it */
    bool output_to_stderr; /* its stdout goes to our stderr */
    /* Where it describes itself; NULL: nowhere. One whose steps are not seen has done
     * enough when the file is there. */
    const struct dn_described_place *place;
};

/* Why the program ended. */
enum dn_probe_end {
    DN_PROBE_ENDED,       /* of its own accord */
    DN_PROBE_STEPS,       /* all steps were done */
    DN_PROBE_TIME,        /* the time was over */
    DN_PROBE_INTERRUPTED, /* this process got a signal */
    DN_N_PROBE_ENDS
};

/* CPU time that all of its processes have used, by time. */
struct dn_cpu_look {
    double time_s; /* since the start */
    double cpu_s;
};

struct dn_probe_run {
    struct dn_feed feed;
    struct dn_gpu_watch *gpus; /* NULL: unknown */
    struct dn_cpu_look *looks; /* owned */
    int n_looks;
    enum dn_probe_end end;
    int status;  /* of the program, as of wait(2) */
    bool unable; /* the program could not be started */
    double wall_s;
    int n_left; /* processes that could not be ended */
};

/* Run the program. -1 with 'err' if it could not be started. Free with
 * dn_probe_run_free ().
 */
int dn_probe_run (const struct dn_probe_task *task,
                  struct dn_probe_run *run,
                  struct dn_err *err);

/* Mean number of busy cores between two times since the start; -1 unknown. */
double dn_probe_cores (const struct dn_probe_run *run, double from_s, double to_s);

/* NULL-safe. */
void dn_probe_run_free (struct dn_probe_run *run);

#endif
