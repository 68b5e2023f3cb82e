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

/* May a bundle be written to 'path'? Yes, if it does not exist, is empty, or is a
 * bundle that is not tuned to a site. -1 with 'err'.
 */
int dn_directory_check (const char *path, struct dn_err *err);

/* Write the files into a new directory next to 'path', then replace 'path' by it. On
 * failure 'path' is unchanged.
 */
int dn_directory_write (const char *path,
                        const struct dn_output *files,
                        int n_files,
                        struct dn_err *err);

#endif
