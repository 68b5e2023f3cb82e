/* proc_tree.h - the descendants of this process
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PROC_TREE_H
#define DN_PROC_TREE_H

#include <sys/types.h>

#include "base/base.h"

struct dn_process {
    pid_t pid;
    pid_t parent;
    bool zombie;
    bool below;    /* a descendant of ours */
    double cpu_s;  /* of it and of its children that have been waited for */
    double born_s; /* since boot */
};

struct dn_processes {
    struct dn_process *list; /* owned */
    int n;
    int size;
};

/* Replace the list by all visible processes. Those that started before 'born_s' are not
 * descendants. -1 without /proc, or if out of memory.
 */
int dn_processes_look (struct dn_processes *processes, double born_s);

/* The CPU time of all descendants. */
double dn_processes_cpu (const struct dn_processes *processes);

/* When the process started, in seconds since boot; -1 if it is unknown. */
double dn_process_born (pid_t pid);

/* NULL-safe. */
void dn_processes_free (struct dn_processes *processes);

#endif
