/* store_read.c - the finished jobs of a store, a piece at a time
 *
 * A piece of rows is read into memory before any of them is passed on, each by a query
 * of its own that continues after the last key. So a reader that takes minutes never
 * holds a lock that a writer waits for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/store_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/messages.h"

/* The maximum rows and bytes of a piece. */
#define PIECE_ROWS 256
#define PIECE_LEN  ((size_t) 1024 * 1024)

static int fail (const struct dn_store *store, struct dn_err *err)
{
    return dn_sql_fail (store->db.sql, err);
}

/* --- reading --------------------------------------------------------------------- */

union cell {
    int64_t count;
    double real;
    size_t start; /* of its text */
};

/* Where the next piece begins: after the job with these values. */
struct key {
    int64_t number; /* end or submission; BY_APP the user; BY_ACCOUNT 0 */
    char account[DN_STORE_TEXT_MAX + 1]; /* BY_ACCOUNT, else "" */
    char app[DN_STORE_TEXT_MAX + 1];     /* BY_APP and BY_ACCOUNT, else "" */
    int64_t end_s;
    int64_t id;
};

/* Rows in memory, with all their texts in one buffer. */
struct piece {
    struct dn_sql_texts texts;
    int n;
    union cell cells[PIECE_ROWS][DN_N_FINISHED_COLUMNS];
    struct key last;
};

static void free_piece (struct piece **piece)
{
    if (*piece)
        free ((*piece)->texts.text);
    free (*piece);
}

struct dn_store_filter dn_store_all (void)
{
    return (struct dn_store_filter){.user = DN_UNSET};
}

/* The parameters of a query. */
enum {
    AT_NUMBER = 1,
    AT_APP,
    AT_END,
    AT_ID,
    AT_SINCE,
    AT_UNTIL,
    AT_USER,
    AT_CLUSTER,
    AT_JOB,
    AT_APP_IS,
    AT_ACCOUNT
};

static bool is_by_name (enum dn_store_order order)
{
    return order == DN_STORE_BY_APP || order == DN_STORE_BY_ACCOUNT;
}

/* The conditions of a filter. '+' keeps SQLite from an index that would have to be
 * sorted again for each piece; only few jobs have the same name.
 */
static void write_filter (struct dn_buf *sql, const struct dn_store_filter *filter)
{
    const char *plus = filter->order == DN_STORE_BY_APP ? "" : "+";

    dn_buf_add (sql, " WHERE 1");
    if (filter->since_s != 0)
        dn_buf_add (sql, " AND end_s >= ?%d", AT_SINCE);
    if (filter->until_s != 0)
        dn_buf_add (sql, " AND end_s < ?%d", AT_UNTIL);
    if (filter->user != DN_UNSET)
        dn_buf_add (sql, " AND %suser = ?%d", plus, AT_USER);
    if (filter->cluster)
        dn_buf_add (sql, " AND +cluster = ?%d", AT_CLUSTER);
    if (filter->job)
        dn_buf_add (sql, " AND job = ?%d", AT_JOB);
    if (filter->app)
        dn_buf_add (sql, " AND %sapp = ?%d", plus, AT_APP_IS);
    if (filter->unmeasured)
        dn_buf_add (sql, " AND gpus > 0 AND gpu_utilisation IS NULL");
}

static void write_order (struct dn_buf *sql, enum dn_store_order order)
{
    const char *number = order == DN_STORE_BY_SUBMIT ? "submit_s" : "end_s";

    if (order == DN_STORE_BY_APP)
        dn_buf_add (sql,
                    " AND (user, app, end_s, id) > (?%d, ?%d, ?%d, ?%d)"
                    " ORDER BY user, app, end_s, id",
                    AT_NUMBER,
                    AT_APP,
                    AT_END,
                    AT_ID);
    else if (order == DN_STORE_BY_ACCOUNT)
        dn_buf_add (sql,
                    " AND (account, app, end_s, id) > (?%d, ?%d, ?%d, ?%d)"
                    " ORDER BY account, app, end_s, id",
                    AT_ACCOUNT,
                    AT_APP,
                    AT_END,
                    AT_ID);
    else
        dn_buf_add (sql,
                    " AND (%s, id) > (?%d, ?%d) ORDER BY %s, id",
                    number,
                    AT_NUMBER,
                    AT_ID,
                    number);
    dn_buf_add (sql, " LIMIT %d", PIECE_ROWS);
}

static int bind_number (sqlite3_stmt *select, int at, int64_t number)
{
    return at <= sqlite3_bind_parameter_count (select)
               ? sqlite3_bind_int64 (select, at, number)
               : SQLITE_OK;
}

static int bind_name (sqlite3_stmt *select, int at, const char *text)
{
    return text && at <= sqlite3_bind_parameter_count (select)
               ? sqlite3_bind_text (select, at, text, -1, SQLITE_TRANSIENT)
               : SQLITE_OK;
}

static int prepare_reading (struct dn_store *store,
                            const char *sql,
                            const struct dn_store_filter *filter,
                            sqlite3_stmt **select,
                            struct dn_err *err)
{
    if (sqlite3_prepare_v2 (store->db.sql, sql, -1, select, NULL) != SQLITE_OK
        || bind_number (*select, AT_SINCE, filter->since_s) != SQLITE_OK
        || bind_number (*select, AT_UNTIL, filter->until_s) != SQLITE_OK
        || bind_number (*select, AT_USER, filter->user) != SQLITE_OK
        || bind_name (*select, AT_CLUSTER, filter->cluster) != SQLITE_OK
        || bind_name (*select, AT_JOB, filter->job) != SQLITE_OK
        || bind_name (*select, AT_APP_IS, filter->app) != SQLITE_OK)
        return fail (store, err);
    return 0;
}

static void finalize (sqlite3_stmt **statement)
{
    sqlite3_finalize (*statement);
}

static int take_text (sqlite3_stmt *select,
                      int i,
                      struct piece *piece,
                      union cell *cell,
                      struct dn_err *err)
{
    cell->start = piece->texts.len;
    return dn_sql_texts_add (&piece->texts, select, i, DN_STORE_TEXT_MAX, err);
}

/* The store may be a file that another program has edited. */
static int take_cell (sqlite3_stmt *select,
                      int i,
                      struct piece *piece,
                      union cell *cell,
                      struct dn_err *err)
{
    int type = sqlite3_column_type (select, i);
    enum dn_finished_type wanted = dn_finished_columns[i].type;

    if (wanted == DN_FINISHED_TEXT && (type == SQLITE_TEXT || type == SQLITE_NULL))
        return take_text (select, i, piece, cell, err);
    if (wanted == DN_FINISHED_COUNT && type == SQLITE_INTEGER) {
        cell->count = sqlite3_column_int64 (select, i);
        return 0;
    }
    if (wanted == DN_FINISHED_COUNT && type == SQLITE_NULL) {
        cell->count = DN_UNSET;
        return 0;
    }
    if (wanted == DN_FINISHED_REAL && type == SQLITE_NULL) {
        cell->real = NAN;
        return 0;
    }
    cell->real = wanted == DN_FINISHED_REAL && type == SQLITE_FLOAT
                     ? sqlite3_column_double (select, i)
                     : INFINITY;
    return isfinite (cell->real) ? 0
                                 : dn_err_set (err, DN_E_SYNTAX, dn_say_err_cell_type);
}

/* Is the key of a row after that of the row before? In a damaged file rows may come
 * again without end.
 */
static bool is_after (const struct key *key, const struct key *last)
{
    int by_account = strcmp (key->account, last->account);
    int by_app;

    if (key->number != last->number)
        return key->number > last->number;
    if (by_account != 0)
        return by_account > 0;
    by_app = strcmp (key->app, last->app);
    if (by_app != 0)
        return by_app > 0;
    return key->end_s != last->end_s ? key->end_s > last->end_s : key->id > last->id;
}

static void copy_text (char to[DN_STORE_TEXT_MAX + 1],
                       const struct piece *piece,
                       const union cell *cell)
{
    const char *text = piece->texts.text + cell->start;

    memcpy (to, text, strlen (text) + 1);
}

static int note_key (struct piece *piece,
                     enum dn_store_order order,
                     const union cell *cells,
                     int64_t id,
                     struct dn_err *err)
{
    struct key key = {.number = cells[DN_FINISHED_AT_end_s].count, .id = id};

    if (order == DN_STORE_BY_SUBMIT)
        key.number = cells[DN_FINISHED_AT_submit_s].count;
    if (order == DN_STORE_BY_APP)
        key.number = cells[DN_FINISHED_AT_user].count;
    if (order == DN_STORE_BY_ACCOUNT) {
        key.number = 0;
        copy_text (key.account, piece, &cells[DN_FINISHED_AT_account]);
    }
    if (is_by_name (order)) {
        key.end_s = cells[DN_FINISHED_AT_end_s].count;
        copy_text (key.app, piece, &cells[DN_FINISHED_AT_app]);
    }
    if (!is_after (&key, &piece->last))
        return dn_err_set (err, DN_E_SYNTAX, dn_say_err_jobs_order);
    piece->last = key;
    return 0;
}

static int take_row (sqlite3_stmt *select,
                     struct piece *piece,
                     enum dn_store_order order,
                     struct dn_err *err)
{
    int64_t id = sqlite3_column_int64 (select, DN_N_FINISHED_COLUMNS);
    union cell *cells = piece->cells[piece->n];

    for (int i = 0; i < DN_N_FINISHED_COLUMNS; i++)
        if (take_cell (select, i, piece, &cells[i], err) < 0)
            return dn_err_wrap (
                err, dn_say_at_job_column, (long long) id, dn_finished_columns[i].name);
    if (note_key (piece, order, cells, id, err) < 0)
        return -1;
    piece->n++;
    return 0;
}

/* Fill a piece with the jobs after its last one. Sets 'end' if there are no more. */
static int fill (struct dn_store *store,
                 sqlite3_stmt *select,
                 enum dn_store_order order,
                 struct piece *piece,
                 bool *end,
                 struct dn_err *err)
{
    int rc = SQLITE_OK;

    piece->n = 0;
    piece->texts.len = 0;
    if (bind_number (select, AT_NUMBER, piece->last.number) != SQLITE_OK
        || bind_number (select, AT_ID, piece->last.id) != SQLITE_OK
        || (order == DN_STORE_BY_ACCOUNT
            && bind_name (select, AT_ACCOUNT, piece->last.account) != SQLITE_OK)
        || (is_by_name (order)
            && (bind_name (select, AT_APP, piece->last.app) != SQLITE_OK
                || bind_number (select, AT_END, piece->last.end_s) != SQLITE_OK)))
        return fail (store, err);
    while (piece->n < PIECE_ROWS && piece->texts.len < PIECE_LEN
           && (rc = sqlite3_step (select)) == SQLITE_ROW)
        if (take_row (select, piece, order, err) < 0) {
            sqlite3_reset (select);
            return -1;
        }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        fail (store, err);
    sqlite3_reset (select);
    *end = rc == SQLITE_DONE;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : -1;
}

static int hand_on (const struct piece *piece, dn_store_job_f take, void *to)
{
    struct dn_finished job;
    int rc = 0;

    for (int at = 0; at < piece->n && rc == 0; at++) {
        for (int i = 0; i < DN_N_FINISHED_COLUMNS; i++) {
            const union cell *cell = &piece->cells[at][i];
            void *member = (char *) &job + dn_finished_columns[i].offset;

            if (dn_finished_columns[i].type == DN_FINISHED_COUNT)
                *(int64_t *) member = cell->count;
            else if (dn_finished_columns[i].type == DN_FINISHED_REAL)
                *(double *) member = cell->real;
            else
                *(const char **) member = piece->texts.text + cell->start;
        }
        rc = take (to, &job);
    }
    return rc;
}

/* Before the first job that the filter may select. */
static struct key first_key (const struct dn_store_filter *filter)
{
    struct key key = {.number = INT64_MIN, .end_s = INT64_MIN, .id = INT64_MIN};

    if (filter->order == DN_STORE_BY_END && filter->since_s > 0)
        key.number = filter->since_s;
    if (filter->order == DN_STORE_BY_APP && filter->user != DN_UNSET)
        key.number = filter->user;
    if (filter->order == DN_STORE_BY_ACCOUNT)
        key.number = 0;
    if (!is_by_name (filter->order))
        key.end_s = 0;
    return key;
}

int dn_store_read (struct dn_store *store,
                   const struct dn_store_filter *filter,
                   dn_store_job_f take,
                   void *to,
                   struct dn_err *err)
{
    dn_cleanup (free_piece) struct piece *piece = calloc (1, sizeof (*piece));
    dn_cleanup (finalize) sqlite3_stmt *select = NULL;
    char sql[DN_STORE_SQL_MAX];
    struct dn_buf buf = dn_buf_on (sql, sizeof (sql));
    bool end = false;
    int rc = 0;

    if (!piece)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory);
    dn_buf_add (&buf, "SELECT ");
    for (int i = 0; i < DN_N_FINISHED_COLUMNS; i++)
        dn_buf_add (&buf, "%s, ", dn_finished_columns[i].name);
    dn_buf_add (&buf, "id FROM jobs");
    write_filter (&buf, filter);
    write_order (&buf, filter->order);
    if (prepare_reading (store, sql, filter, &select, err) < 0)
        return -1;
    piece->last = first_key (filter);
    while (!end && rc == 0) {
        if (fill (store, select, filter->order, piece, &end, err) < 0)
            return -1;
        rc = hand_on (piece, take, to);
    }
    return rc;
}
