/* finished_text.c - finished jobs as texts
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "finished_text.h"

/* Cut the next column off 'rest', and read its value into a job. NULL: there is none.
 */
static const struct dn_finished_column *next_of (struct dn_span *rest,
                                                 struct dn_finished *job)
{
    struct dn_span value = dn_span_cut (rest, " ");
    struct dn_span key = dn_span_cut (&value, "=");
    const char *name = unit_text ("%.*s", (int) key.len, key.text);
    const char *cell =
        unit_text ("%.*s", (int) value.len, value.text ? value.text : "");
    const struct dn_row row = {.n_columns = 1, .names = &name, .values = &cell};

    if (key.len == 0)
        return NULL;
    assert_done (dn_finished_read (&row, job, &unit_err));
    for (int i = 0; i < DN_N_FINISHED_COLUMNS; i++)
        if (strcmp (dn_finished_columns[i].name, name) == 0)
            return &dn_finished_columns[i];
    fail_msg ("no column %s", name);
    return NULL;
}

void finished_set (struct dn_finished *job, const char *text)
{
    struct dn_span rest = dn_span_of (text);
    const struct dn_finished_column *column;
    struct dn_finished one;

    while ((column = next_of (&rest, &one)))
        memcpy ((char *) job + column->offset,
                (char *) &one + column->offset,
                column->type == DN_FINISHED_TEXT ? sizeof (char *) : sizeof (int64_t));
}

struct dn_finished finished_of (const char *text)
{
    struct dn_finished job;

    dn_finished_clear (&job);
    finished_set (&job, text);
    return job;
}

/* The value of a column, as a text that is kept. */
static const char *shown (const struct dn_finished *job,
                          const struct dn_finished_column *column)
{
    const void *member = (const char *) job + column->offset;
    long double number;

    if (column->type == DN_FINISHED_TEXT)
        return *(const char *const *) member;
    number = column->type == DN_FINISHED_REAL ? (long double) *(const double *) member
                                              : (long double) *(const int64_t *) member;
    return unit_numbers (&number, 1);
}

void finished_is (const struct dn_finished *job,
                  const char *text,
                  const char *file,
                  int line)
{
    struct dn_span rest = dn_span_of (text);
    const struct dn_finished_column *column;
    struct dn_finished one;

    while ((column = next_of (&rest, &one)))
        if (strcmp (shown (job, column), shown (&one, column)) != 0)
            fail_msg ("%s:%d: %s is '%s', expected '%s'",
                      file,
                      line,
                      column->name,
                      shown (job, column),
                      shown (&one, column));
}
