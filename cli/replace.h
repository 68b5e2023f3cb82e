/* replace.h - replaces a file only when the new one is complete
 *
 * The new file is written under a temporary name in the same directory, then renamed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_REPLACE_H
#define DN_REPLACE_H

#include <limits.h>
#include <stdio.h>

#include "base/err.h"

/* Empty when zeroed. */
struct dn_replace {
    FILE *file;          /* write to it; NULL: no file is open */
    char path[PATH_MAX]; /* with symbolic links resolved */
    char temporary[PATH_MAX];
};

/* Begin to write the file 'path'. -1 with 'err' and no temporary file left. An existing
 * file that is not regular, such as a device, is refused. Free with dn_replace_free ().
 */
int dn_replace_open (struct dn_replace *replace, const char *path, struct dn_err *err);

/* Rename the file to its name. Earlier write errors are also returned here. On failure
 * the old file is unchanged.
 */
int dn_replace_finish (struct dn_replace *replace, struct dn_err *err);

/* Remove an unfinished file. NULL-safe. */
void dn_replace_free (struct dn_replace *replace);

#endif
