/* put_file.h - replaces a file that another program reads, whole or not at all
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PUT_FILE_H
#define DN_PUT_FILE_H

#include "base/text.h"

/* Replace the file 'path' by 'text', mode 0644 with any umask: written beside it as
 * "path.new-PID", flushed to the disk, renamed. A symbolic link there is replaced, not
 * followed. -1 with 'err', which names the path; the old file is then unchanged.
 */
int dn_put_file (const char *path, struct dn_span text, struct dn_err *err);

/* The same of a text that 'write_pieces' makes by calls of 'put' with 'to' and a piece,
 * so that it is never in memory as a whole. It returns what 'put' returned, if not 0.
 */
typedef int (*dn_put_pieces_f) (const void *from, dn_put_f put, void *to);
int dn_put_pieces (const char *path,
                   dn_put_pieces_f write_pieces,
                   const void *from,
                   struct dn_err *err);

/* Append 'text' to the file 'path' of the directory 'dir', which is made with mode 0644
 * and, where root makes it, for the owner of 'dir', who goes on. A symbolic link there
 * is not followed. -1 with 'err', which names the path.
 */
int dn_put_append (const char *path,
                   const char *dir,
                   struct dn_span text,
                   struct dn_err *err);

/* Create the directory 'path' with mode 0755, if it is absent, and check that this
 * process, and besides it only root, can create files in it. -1 with 'err'.
 */
int dn_put_dir (const char *path, struct dn_err *err);

/* A text that grows; zeroed when empty. */
struct dn_put_text {
    char *text; /* owned */
    size_t len;
    size_t size;
};

/* Append a piece to 'to', a struct dn_put_text. -1 without memory. */
int dn_put_text_add (void *to, const char *piece, size_t len);

void dn_put_text_free (struct dn_put_text *text);

/* Create 'path', a directory for one cluster, as dn_put_dir () does, and 'parent' if it
 * is the beginning of its path.
 */
int dn_put_state_dir (const char *path, const char *parent, struct dn_err *err);

#endif
