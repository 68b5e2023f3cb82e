/* child.h - other programs: sbatch, scontrol
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_CHILD_H
#define DN_CHILD_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* An anonymous file with the content 'text', positioned at its start; -1 with errno. */
int dn_child_file (const char *text, size_t len);

/* Start the program of that name, found on PATH. files[i] becomes its descriptor i; if
 * it is negative the child inherits ours. This process ignores SIGPIPE; the child does
 * not. Return 0 or an errno, ENOENT if there is no such program.
 */
int dn_child_start (char *const argv[], const int files[3], pid_t *pid);

/* Wait until it ends. -1 with errno. */
int dn_child_wait (pid_t pid, int *status);

/* The standard output of a program, freed with free (); NULL with 'err'. 'quiet': what
 * it writes to stderr is dropped.
 */
char *dn_child_output (char *const argv[], bool quiet, struct dn_err *err);

#endif
