/* errand.h - the work of a task in a process of its own, which may be killed
 *
 * Work that takes long, asks daemons that may hang, or needs memory that grows is done
 * by another program, one process a task, at a low priority, with a limit of memory and
 * of time. The loop of dnnestd never waits for it. It ends with dnnestd.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ERRAND_H
#define DN_ERRAND_H

#include <sys/types.h>

#include "base/err.h"

/* Memory of a task that has such a process; zeroed: there is none. */
struct dn_child {
    pid_t pid;                  /* 0: none */
    int out;                    /* its standard error */
    int64_t end_ms;             /* when it is killed, monotonic */
    bool late;                  /* it was */
    char said[DN_ERR_TEXT_MAX]; /* the last line that it wrote there */
};

struct dn_errand {
    const char *name;        /* of the task */
    const char *const *args; /* the program and its arguments, up to NULL */
    int64_t limit_s;         /* seconds until it is killed */
    int64_t memory_max;      /* bytes; 0: no limit */
    int good_exit;           /* the largest status of success */
};

/* Start the process where there is none, else look after it. 1 while it runs: call this
 * again soon; 0 when it has done its work, -1 with 'err' where it has not.
 */
int dn_child_run (struct dn_child *child,
                  const struct dn_errand *errand,
                  struct dn_err *err);

/* The same, and wait for its end; it writes to standard error itself. */
int dn_child_wait (const struct dn_errand *errand, struct dn_err *err);

/* Kill it, if there is one. 'memory' is a struct dn_child. */
void dn_child_end (void *memory);

#endif
