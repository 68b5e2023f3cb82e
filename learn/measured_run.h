/* measured_run.h - one measured run, and the single table of its columns
 *
 * In: a row of a CSV table or of a store of records (table.h). Out: struct dn_run, with
 * a member for each column of run_columns.inc. All code that reads, stores or prints a
 * measured run uses that table.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_MEASURED_RUN_H
#define DN_MEASURED_RUN_H

#include "learn/table.h"
#include "policy/scope.h"
#include "predict/estimate.h"

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

/* Numbers are in the units of the columns. Texts are borrowed from a row and valid
 * until the next one is read.
 */
struct dn_run {
    const struct dn_row_files *files; /* that @FILE may name; NULL: none */
#define DN_RUN_COLUMN(name, type, since, help) DN_RUN_##type##_MEMBER name;
#include "learn/run_columns.inc"
#undef DN_RUN_COLUMN
};

struct dn_run_column {
    const char *name;
    enum dn_run_type type;
    int since;        /* first version of the store that has it */
    size_t offset;    /* in struct dn_run */
    const char *help; /* with its unit */
};

enum {
#define DN_RUN_COLUMN(name, type, since, help) DN_RUN_AT_##name,
#include "learn/run_columns.inc"
#undef DN_RUN_COLUMN
    DN_N_RUN_COLUMNS
};

/* In the order of the store's table. */
extern const struct dn_run_column dn_run_columns[DN_N_RUN_COLUMNS];

/* The largest values that a cell may have. */
#define DN_RUN_REAL_MAX  1e15
#define DN_RUN_COUNT_MAX (INT64_C (1) << 53)

/* The column of that name, or NULL. */
const struct dn_run_column *dn_run_column_find (const char *name);

/* The member of a run that holds a column's value, of the C type above. */
const void *dn_run_member (const struct dn_run *run,
                           const struct dn_run_column *column);

/* Set all members to unknown. */
void dn_run_clear (struct dn_run *run);

/* Which cells must be readable. In the other columns, an unreadable cell is unknown. */
enum dn_run_use {
    DN_RUN_SHOW,  /* none */
    DN_RUN_JUDGE, /* what was measured, at least 1e-9 */
    DN_RUN_LEARN, /* the same, and the flags */
    DN_RUN_KEEP   /* all, and 0 is accepted */
};

/* Check that the row has the columns that every run needs. -1 with DN_E_SYNTAX. */
int dn_run_check (const struct dn_row *row, struct dn_err *err);

/* Read a row. -1 with 'err', which names the first column whose cell cannot be read.
 * The other cells are read nevertheless.
 */
int dn_run_read (const struct dn_row *row,
                 enum dn_run_use use,
                 struct dn_run *run,
                 struct dn_err *err);

/* The user that a cell of that column names: a number, or the number of a name that
 * 'people' (NULL: none) knows; DN_UNSET where it is empty. Any other text has a
 * number of its own below DN_UNSET, which no user of the system has.
 */
int64_t dn_run_user (const char *text, const struct dn_people *people);

/* What the run's memory counts, by the first word of mem_metric, after "framework" if
 * that is there: "allocated", "reserved"; anything else is the memory of the device.
 */
enum dn_memory_count dn_run_memory_count (const struct dn_run *run);

/* The number; 0 if it is unknown. */
double dn_run_known (double value);

#endif
