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
    double born_s; /* since boot */
};

struct dn_processes {
    struct dn_process *list; /* owned */
    int n;
    int size;
};

/* Replace the list by all visible processes. Those in 'before', an earlier list or
 * NULL, are not descendants. -1 without /proc, or if out of memory.
 */
int dn_processes_look (struct dn_processes *processes,
                       const struct dn_processes *before);

/* NULL-safe. */
void dn_processes_free (struct dn_processes *processes);

#endif
