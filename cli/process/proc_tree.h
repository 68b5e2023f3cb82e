/* proc_tree.h - the processes below this one
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

/* List all processes that can be seen; those that were 'born' before are none of ours.
 * What was in the list is replaced. -1 without /proc or memory.
 */
int dn_processes_look (struct dn_processes *processes, double born_s);

/* The CPU time of those below us. */
double dn_processes_cpu (const struct dn_processes *processes);

/* When this process was born, since boot; -1. */
double dn_process_born (pid_t pid);

/* NULL-safe. */
void dn_processes_free (struct dn_processes *processes);

#endif
