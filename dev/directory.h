/* directory.h - writes the directory of a model bundle, whole or not at all
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_DIRECTORY_H
#define DN_DIRECTORY_H

#include "base/text.h"

struct dn_output {
    const char *name;
    struct dn_span text;
};

/* Where a bundle is written. */
struct dn_directory {
    const char *path;
    bool keep; /* the bundle that it replaces becomes PATH.1 */
};

/* May a bundle be written there? Yes, if nothing is there, or an empty directory, or a
 * bundle that is kept or not tuned to a site. -1 with 'err'.
 */
int dn_directory_check (const struct dn_directory *directory, struct dn_err *err);

/* Write the files into a new directory next to it, then replace it. On failure it is
 * unchanged. It is never absent, if the file system can exchange directories.
 */
int dn_directory_write (const struct dn_directory *directory,
                        const struct dn_output *files,
                        int n_files,
                        struct dn_err *err);

/* Exchange 'path' and PATH.1, the bundle that it had before. */
int dn_directory_rollback (const char *path, struct dn_err *err);

#endif
