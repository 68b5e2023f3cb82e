/* finished.c - a finished job: its columns, its row of a table, its decision record
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/finished.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* The largest numbers that a cell may have. */
#define REAL_MAX  1e15
#define COUNT_MAX (INT64_C (1) << 53)

const struct dn_finished_column dn_finished_columns[DN_N_FINISHED_COLUMNS] = {
#define DN_FINISHED_COLUMN(name, type, help)                                           \
    {#name, DN_FINISHED_##type, offsetof (struct dn_finished, name), help},
#include "jobs/finished_columns.inc"
#undef DN_FINISHED_COLUMN
};

static void *member_of (struct dn_finished *job,
                        const struct dn_finished_column *column)
{
    return (char *) job + column->offset;
}

void dn_finished_clear (struct dn_finished *job)
{
    for (int i = 0; i < DN_N_FINISHED_COLUMNS; i++) {
        void *member = member_of (job, &dn_finished_columns[i]);

        switch (dn_finished_columns[i].type) {
        case DN_FINISHED_COUNT:
            *(int64_t *) member = DN_UNSET;
            break;
        case DN_FINISHED_REAL:
            *(double *) member = NAN;
            break;
        default:
            *(const char **) member = "";
            break;
        }
    }
}

#define DAY_S 86400

void dn_finished_settle_times (struct dn_finished *job)
{
    if (job->start_s <= 0 || job->start_s > job->end_s)
        job->start_s = job->end_s;
    if (job->eligible_s <= 0 || job->eligible_s >= job->end_s + DAY_S)
        job->eligible_s = DN_UNSET;
}

double dn_finished_ran_s (const struct dn_finished *job)
{
    int64_t suspended_s = job->suspended_s > 0 ? job->suspended_s : 0;

    if (job->start_s <= 0 || job->end_s - job->start_s <= suspended_s)
        return 0;
    return (double) (job->end_s - job->start_s - suspended_s);
}

void dn_first_host (const char *nodes, struct dn_buf *host)
{
    size_t prefix = strcspn (nodes, "[,");
    const char *rest = nodes + prefix;

    if (strcmp (nodes, "None assigned") == 0)
        return;
    dn_buf_put (host, nodes, prefix < 128 ? prefix : 128);
    if (*rest != '[')
        return;
    dn_buf_put (host, rest + 1, strspn (rest + 1, "0123456789"));
    rest += strcspn (rest, "]");
    if (*rest == ']')
        dn_buf_put (host, rest + 1, strcspn (rest + 1, "[,"));
}

bool dn_finished_changed (const struct dn_finished *job)
{
    return strcmp (job->mode, "enforce") == 0 && strcmp (job->verdict, "change") == 0;
}

/* A job that was started again for GPU memory had been moved to another type. */
bool dn_finished_memory_killed (const struct dn_finished *job)
{
    return dn_finished_changed (job) && job->set_mem_gb > 0
           && (strcmp (job->outcome, "out_of_memory") == 0
               || (job->rescued == 1 && job->set_gpu[0] == '\0'));
}

/* --- tables ---------------------------------------------------------------------- */

static bool is_limit (const struct dn_finished_column *column)
{
    return column->offset == offsetof (struct dn_finished, limit_s)
           || column->offset == offsetof (struct dn_finished, asked_limit_s)
           || column->offset == offsetof (struct dn_finished, set_limit_s);
}

/* Read a cell that is not empty. */
static int read_cell (const struct dn_finished_column *column,
                      const char *cell,
                      void *member,
                      struct dn_err *err)
{
    static const char unlimited[] = "UNLIMITED";

    switch (column->type) {
    case DN_FINISHED_COUNT:
        if (is_limit (column)
            && dn_word_equal (cell, strlen (cell), unlimited, strlen (unlimited))) {
            *(int64_t *) member = DN_UNLIMITED;
            return 0;
        }
        return dn_int_read (dn_span_of (cell), column->name, 0, COUNT_MAX, member, err);
    case DN_FINISHED_REAL:
        return dn_real_read (dn_span_of (cell), column->name, 0, REAL_MAX, member, err);
    default:
        *(const char **) member = cell;
        return 0;
    }
}

int dn_finished_read (const struct dn_row *row,
                      struct dn_finished *job,
                      struct dn_err *err)
{
    int next = 0;

    dn_finished_clear (job);
    for (int i = 0; i < DN_N_FINISHED_COLUMNS; i++) {
        const struct dn_finished_column *column = &dn_finished_columns[i];
        const char *cell = dn_row_next (row, column->name, &next);

        if (cell && cell[0] != '\0'
            && read_cell (column, cell, member_of (job, column), err) < 0)
            return -1;
    }
    return 0;
}
