/* records.c - the store of measured runs: adding, reading
 *
 * A piece of rows is read into memory before any of them is passed on. Predicting a
 * piece may take seconds, and a process that adds must not wait for it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/records.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/messages.h"
#include "learn/records_db.h"
#include "learn/run_spec.h"

/* The maximum rows and bytes of a piece. */
#define PIECE_ROWS 256
#define PIECE_LEN  ((size_t) 4 * 1024 * 1024)

#define COLUMNS_MAX 48

_Static_assert(DN_N_RUN_COLUMNS <= COLUMNS_MAX, "room for all columns");

struct dn_records {
    struct dn_records_db db;
    sqlite3_stmt *add; /* each NULL until it is used */
    sqlite3_stmt *add_sidecar;
    sqlite3_stmt *find_sidecar;
    sqlite3_stmt *select;
};

static int fail (const struct dn_records *records, struct dn_err *err)
{
    return dn_sql_fail (records->db.sql, err);
}

/* --- open and close -------------------------------------------------------------- */

bool dn_records_is (const char *path)
{
    return dn_records_db_is (path);
}

int dn_records_open (const char *path,
                     enum dn_records_use use,
                     struct dn_records **out,
                     struct dn_err *err)
{
    struct dn_records *records = calloc (1, sizeof (*records));

    *out = NULL;
    if (!records)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory);
    if (dn_records_db_open (&records->db, path, use == DN_RECORDS_ADD, err) < 0) {
        dn_records_close (records);
        return dn_err_wrap (err, "%s", path);
    }
    *out = records;
    return 0;
}

int dn_records_commit (struct dn_records *records, struct dn_err *err)
{
    return dn_records_db_commit (&records->db, err);
}

void dn_records_close (struct dn_records *records)
{
    if (!records)
        return;
    sqlite3_finalize (records->add);
    sqlite3_finalize (records->add_sidecar);
    sqlite3_finalize (records->find_sidecar);
    sqlite3_finalize (records->select);
    dn_records_db_close (&records->db);
    free (records);
}

void dn_records_cleanup (struct dn_records **records)
{
    dn_records_close (*records);
}

/* --- adding ---------------------------------------------------------------------- */

static int prepare (struct dn_records *records,
                    const char *sql,
                    sqlite3_stmt **statement,
                    struct dn_err *err)
{
    if (*statement)
        return 0;
    return sqlite3_prepare_v2 (records->db.sql, sql, -1, statement, NULL) == SQLITE_OK
               ? 0
               : fail (records, err);
}

static int prepare_adding (struct dn_records *records, struct dn_err *err)
{
    char sql[2048];
    struct dn_buf buf = dn_buf_on (sql, sizeof (sql));

    if (records->find_sidecar)
        return 0;
    dn_buf_add (&buf, "INSERT INTO records (");
    for (int i = 0; i < DN_N_RUN_COLUMNS; i++)
        dn_buf_add (&buf, "%s\"%s\"", i > 0 ? ", " : "", dn_run_columns[i].name);
    dn_buf_add (&buf, ") VALUES (?");
    for (int i = 1; i < DN_N_RUN_COLUMNS; i++)
        dn_buf_add (&buf, ", ?");
    dn_buf_add (&buf, ")");
    if (prepare (records, sql, &records->add, err) < 0
        || prepare (records,
                    "INSERT OR IGNORE INTO sidecars (sha256, text) VALUES (?1, ?2)",
                    &records->add_sidecar,
                    err)
               < 0)
        return -1;
    return prepare (records,
                    "SELECT id FROM sidecars WHERE sha256 = ?1",
                    &records->find_sidecar,
                    err);
}

/* The id of a sidecar's text. Equal texts are stored once. */
static int keep_sidecar (struct dn_records *records,
                         const char *text,
                         int64_t *id,
                         struct dn_err *err)
{
    struct dn_digest digest = dn_digest_of (dn_span_of (text));
    sqlite3_stmt *find = records->find_sidecar;
    int rc;

    if (sqlite3_bind_text (records->add_sidecar, 1, digest.hex, -1, SQLITE_TRANSIENT)
            != SQLITE_OK
        || sqlite3_bind_text (records->add_sidecar, 2, text, -1, SQLITE_TRANSIENT)
               != SQLITE_OK
        || sqlite3_bind_text (find, 1, digest.hex, -1, SQLITE_TRANSIENT) != SQLITE_OK)
        return fail (records, err);
    if (dn_sql_finish (records->add_sidecar, err) < 0)
        return -1;
    rc = sqlite3_step (find);
    if (rc == SQLITE_ROW)
        *id = sqlite3_column_int64 (find, 0);
    else
        fail (records, err);
    sqlite3_reset (find);
    return rc == SQLITE_ROW ? 0 : -1;
}

static int bind_sidecar (struct dn_records *records,
                         int at,
                         const struct dn_run *run,
                         struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    dn_cleanup (dn_free_ptr) char *json = NULL;
    int64_t id = 0;

    if (dn_run_sidecar (run, &text, err) < 0)
        return -1;
    if (!text)
        return 0;
    if (dn_sidecar_compact (dn_span_of (text), DN_RECORD_SIDECAR_MAX, &json, err) < 0)
        return dn_err_wrap (err, "sidecar");
    if (keep_sidecar (records, json, &id, err) < 0)
        return -1;
    return dn_sql_bind_count (records->add, at, id, err);
}

/* An unknown value is not bound, which makes it NULL. */
static int bind_column (struct dn_records *records,
                        int i,
                        const struct dn_run *run,
                        struct dn_err *err)
{
    const struct dn_run_column *column = &dn_run_columns[i];
    const void *member = dn_run_member (run, column);

    switch (column->type) {
    case DN_RUN_MEASURED:
    case DN_RUN_REAL:
        return dn_sql_bind_real (
            records->add, i + 1, column->name, *(const double *) member, err);
    case DN_RUN_COUNT:
    case DN_RUN_FLAG:
        return *(const int64_t *) member == DN_UNSET
                   ? 0
                   : dn_sql_bind_count (
                       records->add, i + 1, *(const int64_t *) member, err);
    case DN_RUN_SIDECAR:
        return bind_sidecar (records, i + 1, run, err);
    default:
        return dn_sql_bind_text (records->add,
                                 i + 1,
                                 column->name,
                                 *(const char *const *) member,
                                 false,
                                 err);
    }
}

int dn_records_add (struct dn_records *records,
                    const struct dn_run *run,
                    struct dn_err *err)
{
    if (prepare_adding (records, err) < 0)
        return -1;
    sqlite3_clear_bindings (records->add);
    for (int i = 0; i < DN_N_RUN_COLUMNS; i++)
        if (bind_column (records, i, run, err) < 0)
            return -1;
    return dn_sql_finish (records->add, err);
}

/* --- reading --------------------------------------------------------------------- */

/* Rows in memory, with all their texts in one buffer. */
struct piece {
    struct dn_sql_texts texts;
    int n;
    int64_t id[PIECE_ROWS];
    size_t start[PIECE_ROWS][COLUMNS_MAX];
};

static void free_piece (struct piece **piece)
{
    if (*piece)
        free ((*piece)->texts.text);
    free (*piece);
}

/* Is the value of a type that the column may have? CHECK ensures this for rows that
 * were added, but not for a file that was edited.
 */
static bool is_right (sqlite3_stmt *select, int at, enum dn_run_type column)
{
    int type = sqlite3_column_type (select, at);
    double value;

    if (type == SQLITE_NULL)
        return true;
    if (column == DN_RUN_TEXT || column == DN_RUN_SIDECAR)
        return type == SQLITE_TEXT;
    if (column == DN_RUN_COUNT || column == DN_RUN_FLAG)
        return type == SQLITE_INTEGER;
    value = sqlite3_column_double (select, at);
    return (type == SQLITE_FLOAT || type == SQLITE_INTEGER) && isfinite (value);
}

static int add_cell (struct dn_records *records,
                     struct piece *piece,
                     int i,
                     struct dn_err *err)
{
    const struct dn_run_column *column = &dn_run_columns[i];
    bool sidecar = column->type == DN_RUN_SIDECAR;
    int max = sidecar ? DN_RECORD_SIDECAR_MAX : DN_RECORD_TEXT_MAX;

    piece->start[piece->n][i] = piece->texts.len;
    if (!is_right (records->select, i + 1, column->type))
        return dn_err_set (err, DN_E_SYNTAX, dn_say_err_cell_type);
    return dn_sql_texts_add (&piece->texts, records->select, i + 1, max, err);
}

static int add_row (struct dn_records *records,
                    struct piece *piece,
                    int64_t after,
                    struct dn_err *err)
{
    int64_t id = sqlite3_column_int64 (records->select, 0);

    /* In a damaged file a page may occur several times, which gives rows without end.
     */
    if (id <= after)
        return dn_err_set (err, DN_E_SYNTAX, "the records are not in order");
    piece->id[piece->n] = id;
    for (int i = 0; i < DN_N_RUN_COLUMNS; i++)
        if (add_cell (records, piece, i, err) < 0)
            return dn_err_wrap (
                err, "record %lld: %s", (long long) id, dn_run_columns[i].name);
    piece->n++;
    return 0;
}

/* Columns that the file's version does not have are NULL. */
static int prepare_reading (struct dn_records *records, struct dn_err *err)
{
    const struct dn_records_db *db = &records->db;
    char sql[2048];
    struct dn_buf buf = dn_buf_on (sql, sizeof (sql));

    dn_buf_add (&buf, "SELECT r.id");
    for (int i = 0; i < DN_N_RUN_COLUMNS; i++) {
        const struct dn_run_column *column = &dn_run_columns[i];

        if (column->since > db->version)
            dn_buf_add (&buf, ", NULL");
        else if (column->type == DN_RUN_SIDECAR)
            dn_buf_add (&buf, ", s.text");
        else
            dn_buf_add (&buf, ", r.\"%s\"", column->name);
    }
    dn_buf_add (&buf,
                " FROM records AS r LEFT JOIN sidecars AS s"
                " ON s.id = r.sidecar WHERE r.id > ?1 AND r.id <= ?2"
                " AND (?3 IS NULL OR r.\"group\" = ?3)"
                " AND (?4 IS NULL OR r.gpu = ?4)"
                " AND (?5 IS NULL OR r.source = ?5) ORDER BY r.id LIMIT %d",
                PIECE_ROWS);
    return prepare (records, sql, &records->select, err);
}

/* Bind the texts of a filter to ?3, ?4 and ?5. Return SQLite's code. */
static int bind_filter (sqlite3_stmt *statement, const struct dn_records_filter *filter)
{
    const char *const texts[] = {filter->group, filter->gpu, filter->source};
    int rc = SQLITE_OK;

    for (int i = 0; i < (int) DN_N_ELEMENTS (texts) && rc == SQLITE_OK; i++)
        if (texts[i])
            rc = sqlite3_bind_text (statement, i + 3, texts[i], -1, SQLITE_TRANSIENT);
    return rc;
}

/* The id after which the newest 'filter->last' records begin; 0: before all. */
static int find_first (struct dn_records *records,
                       const struct dn_records_filter *filter,
                       int64_t *first,
                       struct dn_err *err)
{
    static const char sql[] =
        "SELECT id FROM records WHERE (?3 IS NULL OR \"group\" = ?3)"
        " AND (?4 IS NULL OR gpu = ?4) AND (?5 IS NULL OR source = ?5)"
        " ORDER BY id DESC LIMIT 1 OFFSET ?1";
    sqlite3_stmt *question = NULL;
    int rc = sqlite3_prepare_v2 (records->db.sql, sql, -1, &question, NULL);

    if (rc == SQLITE_OK)
        rc = bind_filter (question, filter);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64 (question, 1, filter->last);
    if (rc == SQLITE_OK)
        rc = sqlite3_step (question);
    *first = rc == SQLITE_ROW ? sqlite3_column_int64 (question, 0) : 0;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        fail (records, err);
    sqlite3_finalize (question);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : -1;
}

/* The id after which reading begins, and the last id. */
static int find_ends (struct dn_records *records,
                      const struct dn_records_filter *filter,
                      int64_t *first,
                      int64_t *last,
                      struct dn_err *err)
{
    *first = 0;
    if (dn_sql_ask (records->db.sql, "SELECT max (id) FROM records", last, err) < 0)
        return -1;
    return filter->last > 0 ? find_first (records, filter, first, err) : 0;
}

/* Fill a piece with the rows after 'after'. Sets 'end' if it is the last. */
static int fill (struct dn_records *records,
                 struct piece *piece,
                 int64_t after,
                 int64_t last,
                 bool *end,
                 struct dn_err *err)
{
    sqlite3_stmt *select = records->select;
    int rc = SQLITE_OK;

    piece->n = 0;
    piece->texts.len = 0;
    *end = false;
    if (sqlite3_bind_int64 (select, 1, after) != SQLITE_OK
        || sqlite3_bind_int64 (select, 2, last) != SQLITE_OK)
        return fail (records, err);
    while (piece->n < PIECE_ROWS && piece->texts.len < PIECE_LEN
           && (rc = sqlite3_step (select)) == SQLITE_ROW) {
        if (add_row (records, piece, after, err) < 0) {
            sqlite3_reset (select);
            return -1;
        }
        after = piece->id[piece->n - 1];
    }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        fail (records, err);
    sqlite3_reset (select);
    *end = rc == SQLITE_DONE;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : -1;
}

static int hand_on (const struct piece *piece,
                    dn_row_f row,
                    void *context,
                    struct dn_err *err)
{
    const char *names[COLUMNS_MAX];
    const char *values[COLUMNS_MAX];
    struct dn_row given = {
        .n_columns = DN_N_RUN_COLUMNS, .names = names, .values = values};

    for (int i = 0; i < DN_N_RUN_COLUMNS; i++)
        names[i] = dn_run_columns[i].name;
    for (int at = 0; at < piece->n; at++) {
        for (int i = 0; i < DN_N_RUN_COLUMNS; i++)
            values[i] = piece->texts.text + piece->start[at][i];
        given.line = piece->id[at];
        if (row (&given, context, err) < 0)
            return dn_err_wrap (err, "record %lld", (long long) given.line);
    }
    return 0;
}

int dn_records_read (struct dn_records *records,
                     const struct dn_records_filter *filter,
                     dn_row_f row,
                     dn_records_piece_f piece_f,
                     void *context,
                     struct dn_err *err)
{
    static const struct dn_records_filter all = {.last = 0};
    dn_cleanup (free_piece) struct piece *piece = calloc (1, sizeof (*piece));
    bool end = false;
    int64_t last;
    int64_t at;

    if (!piece)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory);
    filter = filter ? filter : &all;
    if (find_ends (records, filter, &at, &last, err) < 0
        || prepare_reading (records, err) < 0)
        return -1;
    if (bind_filter (records->select, filter) != SQLITE_OK)
        return fail (records, err);
    while (!end) {
        if (fill (records, piece, at, last, &end, err) < 0
            || hand_on (piece, row, context, err) < 0)
            return -1;
        if (piece->n > 0)
            at = piece->id[piece->n - 1];
        if (piece_f && piece->n > 0)
            piece_f ((struct dn_span){piece->texts.text, piece->texts.len},
                     (double) at / (double) last,
                     context);
    }
    return 0;
}
