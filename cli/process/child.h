/* child.h - other programs: gnuplot, sbatch
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_CHILD_H
#define DN_CHILD_H

#include <stddef.h>
#include <sys/types.h>

/* An anonymous file with 'text' in it, at its beginning; -1 with errno. */
int dn_child_file (const char *text, size_t len);

/* Start the program of that name, found on PATH. files[i] becomes its descriptor i;
 * where it is negative the child has ours. We ignore SIGPIPE, which a child would
 * inherit: it does not. Return 0 or an errno, ENOENT where there is no such program.
 */
int dn_child_start (char *const argv[], const int files[3], pid_t *pid);

/* Wait for its end. -1 with errno. */
int dn_child_wait (pid_t pid, int *status);

#endif
