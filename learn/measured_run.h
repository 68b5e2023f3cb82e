/* measured_run.h - one measured run, and the one table of its columns
 *
 * In: a row of a CSV table or of a store of records (table.h). Out: struct dn_run, a
 * member for each column of run_columns.inc. Everything that reads, keeps or prints a
 * measured run goes through that table.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_MEASURED_RUN_H
#define DN_MEASURED_RUN_H

#include "learn/table.h"

enum dn_run_type {
    DN_RUN_TEXT,     /* "" unknown */
    DN_RUN_MEASURED, /* what predictions are made from or compared with; NaN unknown */
    DN_RUN_REAL,     /* NaN unknown */
    DN_RUN_COUNT,    /* DN_UNSET unknown */
    DN_RUN_FLAG,     /* 0 or 1, DN_UNSET unknown */
    DN_RUN_SIDECAR,  /* text of a JSON document, "" none */
    DN_N_RUN_TYPES
};

/* C types of the members. */
#define DN_RUN_TEXT_MEMBER     const char *
#define DN_RUN_MEASURED_MEMBER double
#define DN_RUN_REAL_MEMBER     double
#define DN_RUN_COUNT_MEMBER    int64_t
#define DN_RUN_FLAG_MEMBER     int64_t
#define DN_RUN_SIDECAR_MEMBER  const char *

/* Numbers are in the units of the columns. Texts are borrowed, of a row until the next
 * one is read.
 */
struct dn_run {
    const struct dn_row_files *files; /* where @FILE is looked for; NULL: nowhere */
#define DN_RUN_COLUMN(name, type, since, help) DN_RUN_##type##_MEMBER name;
#include "learn/run_columns.inc"
#undef DN_RUN_COLUMN
};

struct dn_run_column {
    const char *name;
    enum dn_run_type type;
    int since;        /* version of the store that has it first */
    size_t offset;    /* in struct dn_run */
    const char *help; /* with its unit */
};

enum {
#define DN_RUN_COLUMN(name, type, since, help) DN_RUN_AT_##name,
#include "learn/run_columns.inc"
#undef DN_RUN_COLUMN
    DN_N_RUN_COLUMNS
};

/* In order. */
extern const struct dn_run_column dn_run_columns[DN_N_RUN_COLUMNS];

/* The largest number of a cell. */
#define DN_RUN_REAL_MAX  1e15
#define DN_RUN_COUNT_MAX (INT64_C (1) << 53)

/* The column of that name, or NULL. */
const struct dn_run_column *dn_run_column_find (const char *name);

/* The member of a run that a column is: of the C type above. */
const void *dn_run_member (const struct dn_run *run,
                           const struct dn_run_column *column);

/* Nothing is known of the run. */
void dn_run_clear (struct dn_run *run);

/* Which cells have to be readable: those of other columns that are not are unknown. */
enum dn_run_use {
    DN_RUN_SHOW,  /* none */
    DN_RUN_JUDGE, /* what was measured, from 1e-9 on */
    DN_RUN_LEARN, /* that, and the flags */
    DN_RUN_KEEP   /* all; 0 is a number too */
};

/* Has the row the columns without which it is no run? -1 with DN_E_SYNTAX. */
int dn_run_check (const struct dn_row *row, struct dn_err *err);

/* Read a row. -1 with 'err', which names the first column whose cell cannot be read;
 * the others are read all the same.
 */
int dn_run_read (const struct dn_row *row,
                 enum dn_run_use use,
                 struct dn_run *run,
                 struct dn_err *err);

/* A number that was measured; 0 where it is unknown. */
double dn_run_known (double value);

#endif
