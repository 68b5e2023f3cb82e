/* measured_run.c - one measured run, and the table of its columns
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/measured_run.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/hash.h"

/* A smaller value is an error in the table, not a measurement. */
#define MEASURED_MIN 1e-9

#define REAL_MAX 1e15

enum type {
    TEXT,
    MEASURED,
    FLAG
};

#define COLUMN(type, name)                                                             \
    {                                                                                  \
#name, type, offsetof(struct dn_run, name)                                     \
    }

static const struct column {
    const char *name;
    enum type type;
    size_t offset;
} columns[] = {
    COLUMN (TEXT, spec),
    COLUMN (TEXT, gpu),
    COLUMN (MEASURED, step_ms),
    COLUMN (MEASURED, peak_mem_gb),
    COLUMN (MEASURED, power_w),
    COLUMN (MEASURED, cores_per_gpu),
    COLUMN (TEXT, group),
    COLUMN (TEXT, source),
    COLUMN (FLAG, oom),
    COLUMN (FLAG, censored),
    COLUMN (TEXT, user),
    COLUMN (TEXT, sidecar),
    COLUMN (TEXT, mem_metric),
};

int64_t dn_run_user (const char *text, const struct dn_people *people)
{
    int64_t user;

    if (text[0] == '\0')
        return DN_UNSET;
    if (dn_int_read (dn_span_of (text), "user", 0, UINT32_MAX, &user, NULL) == 0
        || (people && people->find_user (people->self, text, &user, NULL) == 0))
        return user;
    return -2 - (int64_t) (dn_hash_text (DN_HASH_SEED, text) >> 2);
}

enum dn_memory_count dn_run_memory_count (const struct dn_run *run)
{
    static const char framework[] = "framework ";
    const char *text = run->mem_metric;

    if (strncmp (text, framework, strlen (framework)) == 0)
        text += strlen (framework);
    if (strncmp (text, "allocated", strlen ("allocated")) == 0)
        return DN_MEMORY_ALLOCATED;
    if (strncmp (text, "reserved", strlen ("reserved")) == 0)
        return DN_MEMORY_RESERVED;
    return DN_MEMORY_OF_DEVICE;
}

double dn_run_known (double value)
{
    return isnan (value) ? 0 : value;
}

static void *member_of (struct dn_run *run, const struct column *column)
{
    return (char *) run + column->offset;
}

void dn_run_clear (struct dn_run *run)
{
    run->files = NULL;
    for (size_t i = 0; i < DN_N_ELEMENTS (columns); i++) {
        void *member = member_of (run, &columns[i]);

        if (columns[i].type == MEASURED)
            *(double *) member = NAN;
        else if (columns[i].type == FLAG)
            *(int64_t *) member = DN_UNSET;
        else
            *(const char **) member = "";
    }
}

int dn_run_check (const struct dn_row *row, struct dn_err *err)
{
    if (dn_row_get (row, "spec") && dn_row_get (row, "gpu"))
        return 0;
    return dn_err_set (err, DN_E_SYNTAX, "the table needs the columns spec and gpu");
}

static bool is_needed (const struct column *column, enum dn_run_use use)
{
    return column->type == MEASURED || (column->type == FLAG && use == DN_RUN_LEARN);
}

static int read_flag (const char *cell,
                      const char *name,
                      int64_t *flag,
                      struct dn_err *err)
{
    struct dn_span text = dn_span_of (cell);

    if (dn_int_read (text, name, 0, 1, flag, NULL) == 0)
        return 0;
    return dn_err_set (err,
                       DN_E_SYNTAX,
                       "%s: '%s', expected 0 or 1",
                       name,
                       dn_quote (text.text, text.len).text);
}

/* Read a cell that is not empty. If it cannot be read, the member is unchanged. */
static int read_cell (const struct column *column,
                      const char *cell,
                      void *member,
                      struct dn_err *err)
{
    if (column->type == MEASURED)
        return dn_real_read (
            dn_span_of (cell), column->name, MEASURED_MIN, REAL_MAX, member, err);
    if (column->type == FLAG)
        return read_flag (cell, column->name, member, err);
    *(const char **) member = cell;
    return 0;
}

int dn_run_read (const struct dn_row *row,
                 enum dn_run_use use,
                 struct dn_run *run,
                 struct dn_err *err)
{
    int next = 0;
    int rc = 0;

    dn_run_clear (run);
    run->files = row->files;
    for (size_t i = 0; i < DN_N_ELEMENTS (columns); i++) {
        const char *cell = dn_row_next (row, columns[i].name, &next);
        bool needed = rc == 0 && is_needed (&columns[i], use);
        void *member = member_of (run, &columns[i]);

        if (cell && cell[0] != '\0'
            && read_cell (&columns[i], cell, member, needed ? err : NULL) < 0 && needed)
            rc = -1;
    }
    return rc;
}
