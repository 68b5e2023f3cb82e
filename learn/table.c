/* table.c - read a CSV file with named columns
 *
 * RFC 4180, with blanks around an unquoted field left out, and empty lines skipped. The
 * splitting of a row is done here: dnnest on a node must need no library but json-c and
 * SQLite. An error names the line on which its row begins, and a quote that is never
 * closed ends the reading instead of filling the memory.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/table.h"

#include <stdlib.h>
#include <string.h>

/* UTF-8's byte order mark, with which some programs begin their tables. */
static const char mark[] = "\xef\xbb\xbf";
#define MARK_LEN (sizeof (mark) - 1)

/* Where the next byte is. */
enum place {
    PLACE_ROW,   /* before a row */
    PLACE_FIELD, /* before a field, after a comma */
    PLACE_PLAIN, /* in a field without quotes */
    PLACE_QUOTED,
    PLACE_QUOTE /* after a quote in a quoted field: its end, or a quote */
};

struct dn_table {
    enum place place;
    size_t kept; /* of the field: bytes up to its last one that is no blank */
    dn_row_f row;
    void *context;
    const struct dn_row_files *files;
    struct dn_err *err; /* of the current call */
    int status;
    size_t n_mark;    /* bytes of the mark that have been read */
    bool begun;       /* the start has been read: no mark can follow */
    int64_t line;     /* being read */
    int64_t row_line; /* on which the current row began */
    size_t row_len;   /* its bytes */
    bool in_row;
    char *names[DN_COLUMNS_MAX]; /* owned */
    int n_names;
    char *text;  /* the fields of the current row in sequence, each terminated */
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

const char *dn_row_next (const struct dn_row *row, const char *column, int *next)
{
    for (int i = 0; i < row->n_columns; i++) {
        int at = (*next + i) % row->n_columns;

        if (strcmp (row->names[at], column) == 0) {
            *next = at + 1;
            return row->values[at];
        }
    }
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
    table->row_line = 1;
    return table;
}

void dn_table_set_files (struct dn_table *table, const struct dn_row_files *files)
{
    table->files = files;
}

void dn_table_free (struct dn_table *table)
{
    if (!table)
        return;
    for (int i = 0; i < table->n_names; i++)
        free (table->names[i]);
    free (table->text);
    free (table);
}

void dn_table_cleanup (struct dn_table **table)
{
    dn_table_free (*table);
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

static void begin_field (struct dn_table *table, enum place place)
{
    table->place = place;
    table->kept = 0;
    if (table->n_fields < DN_COLUMNS_MAX)
        table->starts[table->n_fields++] = table->used;
    else if (table->status == 0)
        table->status =
            dn_err_set (table->err, DN_E_LIMIT, "more than %d fields", DN_COLUMNS_MAX);
}

static void add_byte (struct dn_table *table, char c)
{
    if (c == '\0')
        fail (table, DN_E_SYNTAX, "has a NUL byte, expected text");
    if (table->status < 0 || !grow (table, 1))
        return;
    table->text[table->used++] = c;
    if (table->place == PLACE_QUOTED || (c != ' ' && c != '\t'))
        table->kept = table->used - table->starts[table->n_fields - 1];
}

/* Our tables have "'" before a text that a spreadsheet would compute. */
static bool is_guarded (const char *field, size_t len)
{
    return len > 1 && field[0] == '\'' && strchr ("=+-@\t\r", field[1]);
}

static void end_field (struct dn_table *table)
{
    char *field;

    if (table->status < 0 || !grow (table, 1))
        return;
    field = table->text + table->starts[table->n_fields - 1];
    if (is_guarded (field, table->kept))
        memmove (field, field + 1, --table->kept);
    table->used = table->starts[table->n_fields - 1] + table->kept;
    table->text[table->used++] = '\0';
    table->place = PLACE_FIELD;
}

static bool has_name (const struct dn_table *table, const char *name)
{
    for (int i = 0; i < table->n_names; i++)
        if (strcmp (table->names[i], name) == 0)
            return true;
    return false;
}

static void take_head (struct dn_table *table)
{
    for (int i = 0; i < table->n_fields; i++) {
        const char *name = table->text + table->starts[i];

        if (name[0] != '\0' && has_name (table, name)) {
            table->status = dn_err_set (table->err,
                                        DN_E_SYNTAX,
                                        "two columns are named '%s'",
                                        dn_quote (name, strlen (name)).text);
            return;
        }
        table->names[i] = strdup (name);
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
    struct dn_row row = {table->row_line,
                         table->n_names,
                         (const char *const *) table->names,
                         values,
                         table->files};

    if (table->n_fields > table->n_names) {
        table->status = dn_err_set (table->err,
                                    DN_E_SYNTAX,
                                    "%d fields, but the head names %d columns",
                                    table->n_fields,
                                    table->n_names);
        return;
    }
    for (int i = 0; i < table->n_names; i++)
        values[i] = i < table->n_fields ? table->text + table->starts[i] : "";
    table->status = table->row (&row, table->context, table->err);
}

static void end_row (struct dn_table *table)
{
    if (table->status < 0)
        return;
    if (table->n_names == 0)
        take_head (table);
    else
        give_row (table);
    table->place = PLACE_ROW;
    table->in_row = false;
    table->n_fields = 0;
    table->used = 0;
}

/* A comma or the end of a line, outside of quotes */
static void end_part (struct dn_table *table, char c)
{
    if (table->place == PLACE_ROW && c != ',')
        return;
    if (table->place == PLACE_ROW || table->place == PLACE_FIELD)
        begin_field (table, PLACE_PLAIN);
    end_field (table);
    if (c != ',')
        end_row (table);
}

static void take_byte (struct dn_table *table, char c)
{
    bool blank = c == ' ' || c == '\t';

    switch (table->place) {
    case PLACE_QUOTED:
        if (c == '"')
            table->place = PLACE_QUOTE;
        else
            add_byte (table, c);
        return;
    case PLACE_QUOTE:
        if (c == '"') {
            table->place = PLACE_QUOTED;
            add_byte (table, c);
            return;
        }
        break;
    case PLACE_ROW:
    case PLACE_FIELD:
        if (blank)
            return;
        if (c == '"') {
            begin_field (table, PLACE_QUOTED);
            return;
        }
        break;
    case PLACE_PLAIN:
        break;
    }
    if (c == ',' || c == '\n' || c == '\r') {
        end_part (table, c);
        return;
    }
    if (c == '"' || (table->place == PLACE_QUOTE && !blank))
        fail (table, DN_E_SYNTAX, "a quote is misplaced");
    else if (table->place != PLACE_QUOTE) {
        if (table->place != PLACE_PLAIN)
            begin_field (table, PLACE_PLAIN);
        add_byte (table, c);
    }
}

static bool is_blank (const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!strchr (" \t\r\n", text[i]) || text[i] == '\0')
            return false;
    return true;
}

/* Pass at most one line to the parser. */
static void feed_line (struct dn_table *table, const char *text, size_t len)
{
    if (!table->in_row) {
        table->row_line = table->line;
        table->row_len = 0;
        table->in_row = !is_blank (text, len);
    }
    table->row_len += len;
    if (table->row_len > DN_FILE_MAX) {
        fail (
            table, DN_E_LIMIT, "a row is longer than 1 MiB, or a quote is not closed");
        return;
    }
    for (size_t i = 0; i < len && table->status == 0; i++)
        take_byte (table, text[i]);
    /* No line is empty: one ends with its newline, or with the text.
     * NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
    if (table->status == 0 && text[len - 1] == '\n')
        table->line++;
}

static void feed_lines (struct dn_table *table, const char *text, size_t len)
{
    while (len > 0 && table->status == 0) {
        const char *end = memchr (text, '\n', len);
        size_t n = end ? (size_t) (end - text) + 1 : len;

        feed_line (table, text, n);
        text += n;
        len -= n;
    }
}

/* Skip a mark at the beginning. It may arrive in pieces. Bytes that only look like the
 * start of a mark are passed on. Return the number of bytes consumed.
 */
static size_t skip_mark (struct dn_table *table, const char *text, size_t len)
{
    size_t at = 0;

    while (!table->begun && at < len && text[at] == mark[table->n_mark]) {
        at++;
        table->begun = ++table->n_mark == MARK_LEN;
    }
    if (!table->begun && (at < len || len == 0)) {
        table->begun = true;
        feed_lines (table, mark, table->n_mark);
    }
    return at;
}

static void finish (struct dn_table *table)
{
    if (table->status == 0 && table->place == PLACE_QUOTED)
        fail (table, DN_E_SYNTAX, "a quote is not closed");
    if (table->status == 0)
        end_part (table, '\n');
    if (table->status == 0 && table->n_names == 0)
        fail (table, DN_E_SYNTAX, "empty, expected a head with the names of columns");
}

int dn_table_feed (struct dn_table *table,
                   const char *text,
                   size_t len,
                   struct dn_err *err)
{
    size_t skipped;

    table->err = err;
    if (table->status < 0)
        return dn_err_set (err, DN_E_BUG, "a table is read after its error");
    skipped = skip_mark (table, text, len);
    if (len == 0)
        finish (table);
    else
        feed_lines (table, text + skipped, len - skipped);
    if (table->status < 0)
        return dn_err_wrap (err, "line %lld", (long long) table->row_line);
    return 0;
}
