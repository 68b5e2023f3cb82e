/* rows.c - reading the tables of tests/data
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "rows.h"
#include "scratch.h"

struct reading {
    dn_row_f row;
    void *context;
    int n_rows;
};

static int count_row (const struct dn_row *row, void *context, struct dn_err *err)
{
    struct reading *reading = context;

    reading->n_rows++;
    return reading->row (row, reading->context, err);
}

void rows_each (const char *name, dn_row_f row, void *context)
{
    struct reading reading = {row, context, 0};
    struct dn_table *table = dn_table_new (count_row, &reading);
    struct dn_err err = {0};
    char piece[4096];
    size_t len = 1;
    FILE *file;

    assert_non_null (table);
    snprintf (piece, sizeof (piece), "tests/data/%s", name);
    file = tree_open (piece);
    while (len > 0) {
        len = fread (piece, 1, sizeof (piece), file);
        if (dn_table_feed (table, piece, len, &err) < 0)
            fail_msg ("%s: %s", name, err.text);
    }
    fclose (file);
    dn_table_free (table);
    assert_true (reading.n_rows > 0);
}

const char *rows_get (const struct dn_row *row, const char *column)
{
    const char *value = dn_row_get (row, column);

    if (!value)
        fail_msg ("the table has no column %s", column);
    return value;
}
