/* table.c - a CSV file with named columns, on libcsv
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/table.h"

#include <csv.h>
#include <stdlib.h>
#include <string.h>

struct dn_table {
    struct csv_parser parser;
    dn_row_f row;
    void *context;
    struct dn_err *err; /* of the feed that runs */
    int status;
    int64_t line;
    char *names[DN_COLUMNS_MAX]; /* owned */
    int n_names;
    char *text;  /* the fields of the present row, one behind the other, terminated */
    size_t size; /* of 'text' */
    size_t used;
    size_t starts[DN_COLUMNS_MAX]; /* of the fields in 'text' */
    int n_fields;
};

const char *dn_row_get (const struct dn_row *row, const char *column)
{
    for (int i = 0; i < row->n_columns; i++)
        if (strcmp (row->names[i], column) == 0)
            return row->values[i];
    return NULL;
}

struct dn_table *dn_table_new (dn_row_f row, void *context)
{
    struct dn_table *table = calloc (1, sizeof (*table));

    if (!table)
        return NULL;
    table->row = row;
    table->context = context;
    table->line = 1;
    if (csv_init (&table->parser, CSV_STRICT | CSV_STRICT_FINI) != 0) {
        free (table);
        return NULL;
    }
    return table;
}

void dn_table_free (struct dn_table *table)
{
    if (!table)
        return;
    csv_free (&table->parser);
    for (int i = 0; i < table->n_names; i++)
        free (table->names[i]);
    free (table->text);
    free (table);
}

static void fail (struct dn_table *table, enum dn_errc code, const char *text)
{
    if (table->status == 0)
        table->status = dn_err_set (table->err, code, "%s", text);
}

static bool grow (struct dn_table *table, size_t len)
{
    size_t needed = table->used + len + 1;
    char *grown;

    if (needed > DN_FILE_MAX) {
        fail (table, DN_E_LIMIT, "a row is too long");
        return false;
    }
    if (needed <= table->size)
        return true;
    grown = realloc (table->text, 2 * needed);
    if (!grown) {
        fail (table, DN_E_NOMEM, "out of memory");
        return false;
    }
    table->text = grown;
    table->size = 2 * needed;
    return true;
}

/* libcsv's callback: one field is complete. */
static void on_field (void *field, size_t len, void *context)
{
    struct dn_table *table = context;

    if (table->status < 0)
        return;
    if (table->n_fields == DN_COLUMNS_MAX) {
        fail (table, DN_E_LIMIT, "more than 64 columns");
        return;
    }
    if (!grow (table, len))
        return;
    table->starts[table->n_fields++] = table->used;
    if (len > 0)
        memcpy (table->text + table->used, field, len);
    table->text[table->used + len] = '\0';
    table->used += len + 1;
}

static void take_head (struct dn_table *table)
{
    for (int i = 0; i < table->n_fields; i++) {
        table->names[i] = strdup (table->text + table->starts[i]);
        if (!table->names[i]) {
            fail (table, DN_E_NOMEM, "out of memory");
            return;
        }
        table->n_names = i + 1;
    }
}

static void give_row (struct dn_table *table)
{
    const char *values[DN_COLUMNS_MAX];
    struct dn_row row = {
        table->line, table->n_names, (const char *const *) table->names, values};

    if (table->n_fields > table->n_names) {
        fail (table, DN_E_SYNTAX, "more fields than the head has columns");
        return;
    }
    for (int i = 0; i < table->n_names; i++)
        values[i] = i < table->n_fields ? table->text + table->starts[i] : "";
    if (table->row (&row, table->context, table->err) < 0)
        table->status = -1;
}

/* libcsv's callback: one row is complete. */
static void on_row (int end, void *context)
{
    struct dn_table *table = context;

    (void) end;
    if (table->status < 0)
        return;
    if (table->n_names == 0)
        take_head (table);
    else
        give_row (table);
    /* Breaks inside of quotes count, too. */
    for (size_t i = 0; i < table->used; i++)
        table->line += table->text[i] == '\n';
    table->line++;
    table->n_fields = 0;
    table->used = 0;
}

int dn_table_feed (struct dn_table *table,
                   const char *text,
                   size_t len,
                   struct dn_err *err)
{
    table->err = err;
    if (table->status == 0) {
        bool broken =
            len > 0
                ? csv_parse (&table->parser, text, len, on_field, on_row, table) != len
                : csv_fini (&table->parser, on_field, on_row, table) != 0;

        if (broken)
            fail (table, DN_E_SYNTAX, "a quote is misplaced or not closed");
    }
    if (table->status < 0)
        return dn_err_wrap (err, "line %lld", (long long) table->line);
    return 0;
}
