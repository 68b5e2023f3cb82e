/* read_runs.h - measured runs, or other rows, from a table (CSV)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_READ_RUNS_H
#define DN_READ_RUNS_H

#include "learn/table.h"

struct dn_reading {
    dn_row_f row;
    /* Called after the rows of every piece that was read, with its bytes. The last
     * piece may be empty. NULL: none. */
    void (*piece) (struct dn_span piece, void *context);
    void *context;    /* of both */
    const char *unit; /* of a line that shows progress, "rows"; NULL: none */
    const int64_t *n; /* how many there are */
    /* Set before the first row: whose runs all rows are (dn_run_user ()), NULL if each
     * states it. A table that another user owns has that user's runs, whatever it says:
     * so no user can write runs of another. Where others can write a table, its
     * runs are those of the unknown user, "". What root or the caller own, and what
     * comes through a pipe, is believed. */
    const char *user;
    char user_text[24];
};

/* Read the whole file, "-" being a table on stdin. Sidecars that a table names are
 * looked up in its directory. -1 with 'err', which names the file.
 */
int dn_read_runs (const char *path, struct dn_reading *reading, struct dn_err *err);

/* The same for a table of any rows, "-" for stdin: its owner does not matter. */
int dn_read_table (const char *path,
                   const struct dn_reading *reading,
                   struct dn_err *err);

#endif
