/* directory.h - writing a model bundle: there as a whole or not at all
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

/* May a bundle be written to 'path'? Yes, if there is nothing, or a bundle that is not
 * tuned to a site. -1 with 'err'.
 */
int dn_directory_check (const char *path, struct dn_err *err);

/* Write the files into a new directory beside 'path', then put it there in place of
 * what there is. On failure nothing is left but what was there.
 */
int dn_directory_write (const char *path,
                        const struct dn_output *files,
                        int n_files,
                        struct dn_err *err);

#endif
