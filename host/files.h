/* files.h - reads files of users and of the site, in commands, slurmctld and dnnestd
 *
 * On the client the file is read with the rights of the submitting user. Only files
 * that would hang the reader or exhaust memory are refused. In slurmctld, which is
 * root, the file must be below one directory that the admin has configured, and the
 * submitting user must own it. A file of the site belongs to root or to the user of the
 * process; host/load.h and host/view_files.h check its path.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_FILES_H
#define DN_FILES_H

#include <sys/stat.h>

#include "base/text.h"

/* Read a file with the rights of the process: a regular file, links followed, at most
 * 'max' bytes without a NUL. '*text' is terminated and freed with free (). Return -1
 * with 'err', which names the path.
 */
int dn_file_read (const char *path, size_t max, char **text, struct dn_err *err);

/* Read the file 'name' below the directory 'dir' (an absolute path). No part of the
 * name may lead out of it, through a symbolic link or into another file system. The
 * file must be a regular file of 'owner', not writable by group or others, with at most
 * 'max' bytes and no NUL. Never waits for another process.
 */
int dn_file_read_below (const char *dir,
                        const char *name,
                        uid_t owner,
                        size_t max,
                        char **text,
                        struct dn_err *err);

/* Read the last 'max' bytes of such a file, whatever its size; NULs are replaced by
 * spaces.
 */
int dn_file_tail_below (const char *dir,
                        const char *name,
                        uid_t owner,
                        size_t max,
                        char **text,
                        struct dn_err *err);

/* Check owner and mode of a file or directory of the site: it belongs to root, to the
 * user of this process or to 'also', and neither group nor others may write it. 'path'
 * names it in 'err'.
 */
int dn_file_trust (const struct stat *st,
                   uid_t also,
                   const char *path,
                   struct dn_err *err) DN_COLD;

/* Open the file 'name' of the directory 'dir' for reading, not through a symbolic link
 * at its end. Return a descriptor, or -1 with errno.
 */
int dn_file_open (int dir, const char *name);

/* Read the open file whole, if it is a regular file of at most 'max' bytes that is
 * trusted, or belongs to the user 'also'; for files whose path was checked.
 */
int dn_file_take (int fd,
                  const char *path,
                  size_t max,
                  uid_t also,
                  char **text,
                  size_t *len,
                  struct dn_err *err) DN_COLD;

/* Set 'err' to the present errno: what of the file at 'path' has failed. Return -1. */
int dn_file_fail (const char *path, const char *what, struct dn_err *err) DN_COLD;

/* close () for dn_cleanup. */
void dn_fd_cleanup (const int *fd);

#endif
