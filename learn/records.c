/* records.c - the store of measured runs: its columns, adding, reading
 *
 * Rows are read a piece at a time into memory, and only then handed on: predicting a
 * piece may take seconds, and who wants to add in the meantime must not wait.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/records_db.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/row_spec.h"
#include "learn/sha256.h"

/* A piece is full at so many rows, or bytes. */
#define PIECE_ROWS 256
#define PIECE_LEN  ((size_t) 4 * 1024 * 1024)

#define COLUMNS_MAX 40

/* dnnest probe fills all down to 'torch' but what has no GPU; the rest is for what
 * accounting knows of a job. Their order and names are version 1.
 */
static const struct dn_record_column columns[] = {
    {"spec", DN_RECORD_TEXT, "the run: metadata, or @FILE"},
    {"gpu", DN_RECORD_TEXT, "device of the catalogue"},
    {"step_ms", DN_RECORD_REAL, "wall time of an optimizer step [ms]"},
    {"peak_mem_gb", DN_RECORD_REAL, "peak memory of one GPU [GiB]"},
    {"power_w", DN_RECORD_REAL, "mean power of one GPU [W]"},
    {"cores_per_gpu", DN_RECORD_REAL, "CPUs per GPU that the run had"},
    {"group", DN_RECORD_TEXT, "application"},
    {"source", DN_RECORD_TEXT, "where the figures are from"},
    {"time", DN_RECORD_TEXT, "when it was measured, UTC"},
    {"host", DN_RECORD_TEXT, "node that it was measured on"},
    {"steps", DN_RECORD_COUNT, "steps measured"},
    {"sigma", DN_RECORD_REAL, "spread of the mean step, as a fraction"},
    {"confidence", DN_RECORD_REAL, "in the step time, 0 to 1"},
    {"start_s", DN_RECORD_REAL, "until steps were steady [s]"},
    {"loader_share", DN_RECORD_REAL, "of a step that waits for data"},
    {"loader_workers", DN_RECORD_COUNT, "workers of the loader"},
    {"cores_busy", DN_RECORD_REAL, "CPUs that worked, of the whole run"},
    {"gpu_utilisation", DN_RECORD_REAL, "share of time that the GPU worked"},
    {"torch", DN_RECORD_TEXT, "version of PyTorch"},
    {"gpus", DN_RECORD_COUNT, "GPUs of the job"},
    {"oom", DN_RECORD_FLAG, "1: failed for lack of GPU memory"},
    {"censored", DN_RECORD_FLAG, "1: killed at its limit, figures are at least these"},
    {"elapsed_s", DN_RECORD_REAL, "of the job [s]"},
    {"state", DN_RECORD_TEXT, "of the job, as Slurm names it"},
    {"cluster", DN_RECORD_TEXT, "cluster of the job"},
    {"job", DN_RECORD_TEXT, "number of the job, or ARRAY_TASK"},
    {"user", DN_RECORD_TEXT, "who ran it, or a hash of that"},
    {"sidecar", DN_RECORD_TEXT, "JSON of the sidecar"},
};

#define N_COLUMNS ((int) DN_N_ELEMENTS (columns))
#define SIDECAR   (N_COLUMNS - 1)

_Static_assert(DN_N_ELEMENTS (columns) <= COLUMNS_MAX, "room for all columns");

const struct dn_record_column *dn_record_columns (int *n_columns)
{
    *n_columns = N_COLUMNS;
    return columns;
}

/* --- adding ---------------------------------------------------------------------- */

static int prepare (struct dn_records *records,
                    const char *sql,
                    sqlite3_stmt **statement,
                    struct dn_err *err)
{
    if (*statement)
        return 0;
    return sqlite3_prepare_v2 (records->db, sql, -1, statement, NULL) == SQLITE_OK
               ? 0
               : dn_records_fail (records, err);
}

static int prepare_adding (struct dn_records *records, struct dn_err *err)
{
    char sql[2048];
    struct dn_buf buf = dn_buf_on (sql, sizeof (sql));

    dn_buf_add (&buf, "INSERT INTO records (");
    for (int i = 0; i < N_COLUMNS; i++)
        dn_buf_add (&buf, "%s\"%s\"", i > 0 ? ", " : "", columns[i].name);
    dn_buf_add (&buf, ") VALUES (?");
    for (int i = 1; i < N_COLUMNS; i++)
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

static int bind_text (struct dn_records *records,
                      int i,
                      const char *text,
                      struct dn_err *err)
{
    size_t len = strlen (text);

    if (len > DN_RECORD_TEXT_MAX)
        return dn_err_set (err,
                           DN_E_LIMIT,
                           "%s: %zu bytes, expected at most %d",
                           columns[i].name,
                           len,
                           DN_RECORD_TEXT_MAX);
    return sqlite3_bind_text (records->add, i + 1, text, (int) len, SQLITE_TRANSIENT)
                   == SQLITE_OK
               ? 0
               : dn_records_fail (records, err);
}

static int bind_cell (struct dn_records *records,
                      int i,
                      const char *text,
                      struct dn_err *err)
{
    const struct dn_record_column *column = &columns[i];
    int64_t max = column->type == DN_RECORD_FLAG ? 1 : INT64_C (1) << 53;
    int64_t count;
    double value;

    if (column->type == DN_RECORD_TEXT)
        return bind_text (records, i, text, err);
    if (column->type == DN_RECORD_REAL) {
        if (dn_real_read (dn_span_of (text), column->name, 0, 1e15, &value, err) < 0)
            return -1;
        return sqlite3_bind_double (records->add, i + 1, value) == SQLITE_OK
                   ? 0
                   : dn_records_fail (records, err);
    }
    if (dn_int_read (dn_span_of (text), column->name, 0, max, &count, err) < 0)
        return -1;
    return sqlite3_bind_int64 (records->add, i + 1, count) == SQLITE_OK
               ? 0
               : dn_records_fail (records, err);
}

/* Run a statement that gives no row. */
static int run (struct dn_records *records, sqlite3_stmt *statement, struct dn_err *err)
{
    int rc = sqlite3_step (statement);

    if (rc != SQLITE_DONE)
        dn_records_fail (records, err);
    sqlite3_reset (statement);
    return rc == SQLITE_DONE ? 0 : -1;
}

/* The number of a sidecar's text, which is kept once. */
static int keep_sidecar (struct dn_records *records,
                         const char *text,
                         int64_t *id,
                         struct dn_err *err)
{
    struct dn_digest digest = dn_sha256_of (dn_span_of (text));
    sqlite3_stmt *find = records->find_sidecar;
    int rc;

    if (sqlite3_bind_text (records->add_sidecar, 1, digest.hex, -1, SQLITE_TRANSIENT)
            != SQLITE_OK
        || sqlite3_bind_text (records->add_sidecar, 2, text, -1, SQLITE_TRANSIENT)
               != SQLITE_OK
        || sqlite3_bind_text (find, 1, digest.hex, -1, SQLITE_TRANSIENT) != SQLITE_OK)
        return dn_records_fail (records, err);
    if (run (records, records->add_sidecar, err) < 0)
        return -1;
    rc = sqlite3_step (find);
    if (rc == SQLITE_ROW)
        *id = sqlite3_column_int64 (find, 0);
    else
        dn_records_fail (records, err);
    sqlite3_reset (find);
    return rc == SQLITE_ROW ? 0 : -1;
}

static int bind_sidecar (struct dn_records *records,
                         const struct dn_row *row,
                         struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    dn_cleanup (dn_free_ptr) char *json = NULL;
    int64_t id = 0;

    if (dn_row_sidecar (row, &text, err) < 0)
        return -1;
    if (!text)
        return 0;
    if (dn_sidecar_compact (dn_span_of (text), DN_RECORD_SIDECAR_MAX, &json, err) < 0)
        return dn_err_wrap (err, "sidecar");
    if (keep_sidecar (records, json, &id, err) < 0)
        return -1;
    return sqlite3_bind_int64 (records->add, SIDECAR + 1, id) == SQLITE_OK
               ? 0
               : dn_records_fail (records, err);
}

int dn_records_add (struct dn_records *records,
                    const struct dn_row *row,
                    struct dn_err *err)
{
    if (!dn_row_get (row, "spec") || !dn_row_get (row, "gpu"))
        return dn_err_set (err, DN_E_SYNTAX, "a record needs spec and gpu");
    if (prepare_adding (records, err) < 0)
        return -1;
    sqlite3_clear_bindings (records->add);
    for (int i = 0; i < SIDECAR; i++) {
        const char *text = dn_row_get (row, columns[i].name);

        if (text && text[0] != '\0' && bind_cell (records, i, text, err) < 0)
            return -1;
    }
    if (bind_sidecar (records, row, err) < 0)
        return -1;
    return run (records, records->add, err);
}

/* --- reading --------------------------------------------------------------------- */

/* Rows in memory, with all their texts behind one another. */
struct piece {
    char *text; /* owned */
    size_t len;
    size_t size;
    int n;
    int64_t id[PIECE_ROWS];
    size_t start[PIECE_ROWS][COLUMNS_MAX];
};

static void free_piece (struct piece **piece)
{
    if (*piece)
        free ((*piece)->text);
    free (*piece);
}

static int add_text (struct piece *piece,
                     const char *text,
                     size_t len,
                     struct dn_err *err)
{
    size_t needed = piece->len + len + 1;

    if (needed > piece->size) {
        char *grown = realloc (piece->text, 2 * needed);

        if (!grown)
            return dn_err_set (err, DN_E_NOMEM, "out of memory");
        piece->text = grown;
        piece->size = 2 * needed;
    }
    if (len > 0)
        memcpy (piece->text + piece->len, text, len);
    piece->text[piece->len + len] = '\0';
    piece->len = needed;
    return 0;
}

/* Is the value of a type that the column may have? CHECK says so of what was added, and
 * nothing of what somebody has written into the file.
 */
static bool is_right (sqlite3_stmt *select, int i)
{
    int type = sqlite3_column_type (select, i + 1);
    double value;

    if (type == SQLITE_NULL)
        return true;
    if (columns[i].type == DN_RECORD_TEXT)
        return type == SQLITE_TEXT;
    if (columns[i].type != DN_RECORD_REAL)
        return type == SQLITE_INTEGER;
    value = sqlite3_column_double (select, i + 1);
    return (type == SQLITE_FLOAT || type == SQLITE_INTEGER) && isfinite (value);
}

static int add_cell (struct dn_records *records,
                     struct piece *piece,
                     int i,
                     struct dn_err *err)
{
    size_t max = i == SIDECAR ? DN_RECORD_SIDECAR_MAX : DN_RECORD_TEXT_MAX;
    const char *text;
    size_t len;

    piece->start[piece->n][i] = piece->len;
    if (!is_right (records->select, i))
        return dn_err_set (
            err, DN_E_SYNTAX, "%s has a value of another type", columns[i].name);
    text = (const char *) sqlite3_column_text (records->select, i + 1);
    if (!text && sqlite3_errcode (records->db) == SQLITE_NOMEM)
        return dn_records_fail (records, err);
    len = text ? (size_t) sqlite3_column_bytes (records->select, i + 1) : 0;
    text = text ? text : "";
    if (len > max)
        return dn_err_set (err,
                           DN_E_LIMIT,
                           "%s: %zu bytes, expected at most %zu",
                           columns[i].name,
                           len,
                           max);
    if (len > 0 && memchr (text, '\0', len))
        return dn_err_set (
            err, DN_E_SYNTAX, "%s has a NUL byte, expected text", columns[i].name);
    return add_text (piece, text, len, err);
}

static int add_row (struct dn_records *records,
                    struct piece *piece,
                    int64_t after,
                    struct dn_err *err)
{
    int64_t id = sqlite3_column_int64 (records->select, 0);

    /* In a damaged file pages may stand in several places: rows without end. */
    if (id <= after)
        return dn_err_set (err, DN_E_SYNTAX, "the records are not in order");
    piece->id[piece->n] = id;
    for (int i = 0; i < N_COLUMNS; i++)
        if (add_cell (records, piece, i, err) < 0)
            return dn_err_wrap (err, "record %lld", (long long) id);
    piece->n++;
    return 0;
}

static int prepare_reading (struct dn_records *records, struct dn_err *err)
{
    char sql[2048];
    struct dn_buf buf = dn_buf_on (sql, sizeof (sql));

    dn_buf_add (&buf, "SELECT r.id");
    for (int i = 0; i < SIDECAR; i++)
        dn_buf_add (&buf, ", r.\"%s\"", columns[i].name);
    dn_buf_add (&buf,
                ", s.text FROM records AS r LEFT JOIN sidecars AS s"
                " ON s.id = r.sidecar WHERE r.id > ?1 AND r.id <= ?2"
                " AND (?3 IS NULL OR r.\"group\" = ?3)"
                " AND (?4 IS NULL OR r.gpu = ?4)"
                " AND (?5 IS NULL OR r.source = ?5) ORDER BY r.id LIMIT %d",
                PIECE_ROWS);
    return prepare (records, sql, &records->select, err);
}

/* One number that a question has for its answer; 'none' where there is none. */
static int ask (struct dn_records *records,
                const char *sql,
                const struct dn_records_filter *filter,
                int64_t none,
                int64_t *answer,
                struct dn_err *err)
{
    sqlite3_stmt *question = NULL;
    int rc = sqlite3_prepare_v2 (records->db, sql, -1, &question, NULL);

    if (rc == SQLITE_OK && filter)
        rc = dn_records_bind (question, filter);
    if (rc == SQLITE_OK && filter)
        rc = sqlite3_bind_int64 (question, 1, filter->last);
    if (rc == SQLITE_OK)
        rc = sqlite3_step (question);
    *answer = rc == SQLITE_ROW ? sqlite3_column_int64 (question, 0) : none;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        dn_records_fail (records, err);
    sqlite3_finalize (question);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : -1;
}

/* The number of the record behind which reading begins, and of the last. */
static int find_ends (struct dn_records *records,
                      const struct dn_records_filter *filter,
                      int64_t *first,
                      int64_t *last,
                      struct dn_err *err)
{
    *first = 0;
    if (ask (records, "SELECT max (id) FROM records", NULL, 0, last, err) < 0)
        return -1;
    if (filter->last <= 0)
        return 0;
    return ask (records,
                "SELECT id FROM records WHERE (?3 IS NULL OR \"group\" = ?3)"
                " AND (?4 IS NULL OR gpu = ?4) AND (?5 IS NULL OR source = ?5)"
                " ORDER BY id DESC LIMIT 1 OFFSET ?1",
                filter,
                0,
                first,
                err);
}

/* Fill a piece with what stands behind 'after'. Fewer rows than fit: it is the last. */
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
    piece->len = 0;
    *end = false;
    if (sqlite3_bind_int64 (select, 1, after) != SQLITE_OK
        || sqlite3_bind_int64 (select, 2, last) != SQLITE_OK)
        return dn_records_fail (records, err);
    while (piece->n < PIECE_ROWS && piece->len < PIECE_LEN
           && (rc = sqlite3_step (select)) == SQLITE_ROW) {
        if (add_row (records, piece, after, err) < 0) {
            sqlite3_reset (select);
            return -1;
        }
        after = piece->id[piece->n - 1];
    }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        dn_records_fail (records, err);
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
    struct dn_row given = {.n_columns = N_COLUMNS, .names = names, .values = values};

    for (int i = 0; i < N_COLUMNS; i++)
        names[i] = columns[i].name;
    for (int at = 0; at < piece->n; at++) {
        for (int i = 0; i < N_COLUMNS; i++)
            values[i] = piece->text + piece->start[at][i];
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
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    filter = filter ? filter : &all;
    if (find_ends (records, filter, &at, &last, err) < 0
        || prepare_reading (records, err) < 0)
        return -1;
    if (dn_records_bind (records->select, filter) != SQLITE_OK)
        return dn_records_fail (records, err);
    while (!end) {
        if (fill (records, piece, at, last, &end, err) < 0
            || hand_on (piece, row, context, err) < 0)
            return -1;
        if (piece->n > 0)
            at = piece->id[piece->n - 1];
        if (piece_f && piece->n > 0)
            piece_f ((struct dn_span){piece->text, piece->len},
                     (double) at / (double) last,
                     context);
    }
    return 0;
}
