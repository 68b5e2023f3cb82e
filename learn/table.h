/* table.h - read a CSV file with named columns row by row
 *
 * In: the bytes of the file, in pieces of any size. Out: a call per row, so that a file
 * of any length is read in the memory of one row. RFC 4180: quotes, doubled quotes,
 * line breaks inside quotes. Blanks around an unquoted field, empty lines and a byte
 * order mark are skipped, and a quote (') before one of =+-@. Lines end in LF or CRLF.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TABLE_H
#define DN_TABLE_H

#include "base/limits.h"
#include "base/text.h"

#define DN_COLUMNS_MAX 128

struct dn_table;

/* Reads the files that cells name. The caller frees the text; -1 with 'err' if it
 * cannot be read.
 */
struct dn_row_files {
    int (*text) (const char *path, void *context, char **text, struct dn_err *err);
    void *context;
};

/* One row. All strings live until the call ends. */
struct dn_row {
    int64_t line; /* where it begins, from 1 */
    int n_columns;
    const char *const *names;
    const char *const *values;        /* "" where the row is short */
    const struct dn_row_files *files; /* NULL: none are read */
};

/* The value of a column, or NULL when the table has no such column. */
const char *dn_row_get (const struct dn_row *row, const char *column);

/* The same for a reader of many columns. Most tables have their columns in the order of
 * the reader, so the search begins after the column that was found last: '*next', 0 at
 * first.
 */
const char *dn_row_next (const struct dn_row *row, const char *column, int *next);

/* Called for every row. -1 with 'err' ends the reading. */
typedef int (*dn_row_f) (const struct dn_row *row, void *context, struct dn_err *err);

/* A reader, or NULL without memory. Freed with dn_table_free (). */
struct dn_table *dn_table_new (dn_row_f row, void *context);

/* Use these files for the rows from now on. Borrowed. */
void dn_table_set_files (struct dn_table *table, const struct dn_row_files *files);

void dn_table_free (struct dn_table *table);

/* dn_table_free () for dn_cleanup. */
void dn_table_cleanup (struct dn_table **table);

/* Pass the next 'len' bytes; 0 bytes mark the end of the file. Return -1 with 'err',
 * naming the line on which the row begins, for a file that is no table (no head, a
 * quote that is misplaced or not closed, a NUL byte, more fields than columns, more
 * than DN_COLUMNS_MAX of them, a row of more than DN_FILE_MAX bytes), or the callback's
 * error. After an error nothing more can be read.
 */
int dn_table_feed (struct dn_table *table,
                   const char *text,
                   size_t len,
                   struct dn_err *err);

#endif
