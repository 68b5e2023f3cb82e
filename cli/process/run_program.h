/* run_program.h - run a program until it has described itself, and end all its
 * processes
 *
 * The program has its own process group. Processes that it leaves, also daemons, become
 * our children (PR_SET_CHILD_SUBREAPER), so that dn_run_program () ends them all before
 * it returns.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_RUN_PROGRAM_H
#define DN_RUN_PROGRAM_H

#include "base/base.h"
#include "describe/described.h"

struct dn_program_task {
    char *const *argv;
    const char *hook_dir;                   /* of sitecustomize.py */
    int64_t steps;                          /* that it measures before it ends */
    double seconds;                         /* maximum run time */
    double grace_s;                         /* seconds between two attempts to end it */
    const struct dn_described_place *place; /* where it describes itself */
};

/* Why the program ended. */
enum dn_program_end {
    DN_PROGRAM_ENDED,       /* of its own accord, or by the hook */
    DN_PROGRAM_STEPS,       /* it did not, when all steps were measured */
    DN_PROGRAM_TIME,        /* the time was over */
    DN_PROGRAM_INTERRUPTED, /* this process got a signal */
};

struct dn_program_run {
    enum dn_program_end end;
    int status;    /* of the program, as of wait(2) */
    bool unable;   /* the program could not be started */
    double wall_s; /* until it had ended */
    double cpu_s;  /* of it and of all its processes */
    int n_left;    /* processes that could not be ended */
};

/* Run the program; its stdout goes to our stderr. -1 with 'err' if it could not be
 * started.
 */
int dn_run_program (const struct dn_program_task *task,
                    struct dn_program_run *run,
                    struct dn_err *err);

/* From now on SIGHUP, SIGINT and SIGTERM only set a flag. */
void dn_interrupt_hold (void);

/* Has a signal come? */
bool dn_interrupted (void);

/* Restore the signals. The first signal that came ends the program now, so that its
 * parent sees which signal ended it. */
void dn_interrupt_release (void);

#endif
