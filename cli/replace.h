/* replace.h - a file that appears under its name when it is whole, and not before
 *
 * Until then it is a temporary one beside it, so that a rename puts it in its place.
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
    FILE *file;          /* to be written to; NULL: none is being written */
    char path[PATH_MAX]; /* at the end of symbolic links */
    char temporary[PATH_MAX];
};

/* Begin the file 'path'; -1 with 'err' and nothing left behind. What is there and no
 * regular file, such as a device, is refused. Free with dn_replace_free ().
 */
int dn_replace_open (struct dn_replace *replace, const char *path, struct dn_err *err);

/* Put the file in its place; errors of writing are told here. On failure the old file
 * stays.
 */
int dn_replace_finish (struct dn_replace *replace, struct dn_err *err);

/* Take away what is not finished. NULL-safe. */
void dn_replace_free (struct dn_replace *replace);

#endif
