/* files.h - files of users, read by their commands and by slurmctld
 *
 * On the client the file is read with the rights of whoever submits, who could as well
 * print it: what is kept off is only what hangs or fills the memory. In slurmctld,
 * which is root, the file lies below one directory that the admin has named, and is the
 * submitting user's own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_FILES_H
#define DN_FILES_H

#include <sys/types.h>

#include "base/text.h"

/* Read a file as the user that we are: a regular file, links followed, at most 'max'
 * bytes and no NUL among them. '*text' is terminated and freed with free (). Return -1
 * with 'err', which names the path.
 */
int dn_file_read (const char *path, size_t max, char **text, struct dn_err *err);

/* Read the file 'name' below the directory 'dir' (an absolute path): no part of the
 * name leads out of it, through a symbolic link or into another file system; a regular
 * file of 'owner', not writable by others, at most 'max' bytes and no NUL among them.
 * Never waits for another process.
 */
int dn_file_read_below (const char *dir,
                        const char *name,
                        uid_t owner,
                        size_t max,
                        char **text,
                        struct dn_err *err);

/* close () for dn_cleanup. */
void dn_fd_cleanup (const int *fd);

#endif
