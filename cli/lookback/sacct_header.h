/* sacct_header.h - what 'sacct -P' prints with a header, as jobs/accounting.h reads it
 *
 * In: its first line, then the others: columns in any order, with '|' between them;
 * times of any SLURM_TIME_FORMAT that ends in seconds or is ISO 8601; Timelimit in
 * place of TimelimitRaw, Elapsed in place of End, ReqTRES in place of AllocTRES. Out:
 * the same rows with all columns of dn_accounting_columns (), "" where there is none.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SACCT_HEADER_H
#define DN_SACCT_HEADER_H

#include "jobs/accounting.h"

#define DN_SACCT_COLUMNS_MAX 256

/* A column of the rows that are made. */
struct dn_sacct_made {
    const char *name;
    enum dn_sacct_form {
        DN_SACCT_AS_IT_IS,
        DN_SACCT_TIME,
        DN_SACCT_LIMIT,
        DN_SACCT_RAW_ID
    } form;
    int at; /* the column that it comes from; -1: none */
};

struct dn_sacct_header {
    char *text; /* of the first line; owned */
    const char *names[DN_SACCT_COLUMNS_MAX];
    int n;
    int start;          /* of these */
    char columns[1024]; /* of dn_accounting_columns (), the names of those made */
    struct dn_sacct_made made[DN_SACCT_COLUMNS_MAX];
    int n_made;
    char lacks[DN_ERR_TEXT_MAX]; /* what is not known without some columns; "" */
};

/* Is it such a line? */
bool dn_sacct_is_header (const char *line);

/* Read it. -1 with 'err', which names a column that must be there. Freed with
 * dn_sacct_header_free () in any case.
 */
int dn_sacct_header_read (struct dn_sacct_header *header,
                          const char *line,
                          struct dn_err *err);
void dn_sacct_header_free (struct dn_sacct_header *header);

/* Write the row of that line, whose text is cut into pieces, with 'delimiter' between
 * its columns, and a newline. -1 with 'err', which names line and value.
 */
int dn_sacct_header_row (const struct dn_sacct_header *header,
                         char *line,
                         int64_t number,
                         const char *delimiter,
                         struct dn_buf *row,
                         struct dn_err *err);

#endif
