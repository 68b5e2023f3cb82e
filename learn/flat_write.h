/* flat_write.h - write the binary files of a bundle that predict/flat.h describes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_FLAT_WRITE_H
#define DN_FLAT_WRITE_H

#include "predict/bundle.h"

/* The bytes of a file. */
struct dn_flat_file {
    char *data; /* owned; free () it */
    size_t len;
};

struct dn_span dn_flat_file_span (const struct dn_flat_file *file);

/* -1 with 'err' without memory. */
int dn_flat_write_trees (const struct dn_trees *trees,
                         struct dn_flat_file *file,
                         struct dn_err *err);

/* Write the points of a domain that uses all features, without its scale, rounded to
 * four digits. Distances need no more, and the last bits depend on the machine.
 */
int dn_flat_write_points (const struct dn_domain *domain,
                          struct dn_flat_file *file,
                          struct dn_err *err);

#endif
