/* loop.h - runs the tasks: one of them once, or all again and again
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_LOOP_H
#define DN_LOOP_H

#include "task.h"

enum dn_daemon_exit {
    DN_DAEMON_DONE,
    DN_DAEMON_UNREACHED, /* slurmctld does not answer */
    DN_DAEMON_USAGE,
    DN_DAEMON_CONF, /* dnnest.conf, what it names, or StateDir */
    DN_DAEMON_DATA, /* what was read or written */
    DN_DAEMON_BUG   /* memory, or a bug */
};

/* Print an error of the command line of either program. Return DN_DAEMON_USAGE. */
enum dn_daemon_exit dn_loop_usage (const char *what,
                                   const char *value,
                                   const char *expected);

struct dn_loop_options {
    const char *name; /* of the program, and of its files in StateDir: "dnnestd" */
    /* A configuration or a StateDir that cannot be used does not end the program: it
     * goes on with the last good ones, first with the defaults. */
    bool goes_on;
    int leave_s;             /* seconds that the tasks have for leaving after SIGTERM */
    struct dn_daemon daemon; /* what a command line sets of it */
};

/* Run one task once, and print errors. */
enum dn_daemon_exit dn_loop_once (const struct dn_loop_options *options,
                                  const struct dn_task *task);

/* Run the tasks, which end with NULL, each after its interval, until a signal ends it.
 * While slurmctld does not answer, wait for it.
 */
enum dn_daemon_exit dn_loop_run (const struct dn_loop_options *options,
                                 const struct dn_task *const *tasks);

#endif
