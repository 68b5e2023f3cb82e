/* probe_record.h - the history of probes: one row of a table for each
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PROBE_RECORD_H
#define DN_PROBE_RECORD_H

#include "base/err.h"

/* One cell. Columns are those of 'dnnest evaluate', and more. */
struct dn_cell {
    const char *column;
    const char *text; /* "": unknown */
};

/* Where probes are kept if nobody says otherwise: below XDG_DATA_HOME or
 * ~/.local/share. -1 with 'err' where neither is known.
 */
int dn_record_usual_path (char *path, size_t size, struct dn_err *err);

/* Append a row to the table 'path', whole or not at all, with other writers at the same
 * time; make the table, and the folders to it, where there is none. A table with other
 * columns is refused.
 */
int dn_record_add (const char *path,
                   const struct dn_cell cells[],
                   int n,
                   struct dn_err *err);

#endif
