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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/messages.h"

/* The maximum rows and bytes of a piece. */
#define PIECE_ROWS 256
#define PIECE_LEN  ((size_t) 1024 * 1024)

/* --- reading --------------------------------------------------------------------- */

/* The columns of an order, before the id: counts and texts. */
#define ORDER_MAX 3

struct order {
    int columns[ORDER_MAX];
    int n;
};
static const struct order orders[] = {
    [DN_STORE_BY_END] = {{DN_FINISHED_AT_end_s}, 1},
    [DN_STORE_BY_APP] =
        {{DN_FINISHED_AT_user, DN_FINISHED_AT_app, DN_FINISHED_AT_end_s}, 3},
    [DN_STORE_BY_SUBMIT] = {{DN_FINISHED_AT_submit_s}, 1},
    [DN_STORE_BY_ACCOUNT] =
        {{DN_FINISHED_AT_account, DN_FINISHED_AT_app, DN_FINISHED_AT_end_s}, 3},
};

/* Where the next piece begins: after the job with these values of an order. */
struct key {
    int64_t counts[ORDER_MAX];
    char texts[ORDER_MAX][DN_STORE_TEXT_MAX + 1];
    int64_t id;
};

/* Rows in memory, with all their texts in one buffer, which has room for those of one
 * more row behind PIECE_LEN.
 */
struct piece {
    const struct order *order;
    struct dn_finished jobs[PIECE_ROWS];
    int n;
    struct key last;
    size_t len; /* of the texts */
    char texts[PIECE_LEN + DN_N_FINISHED_COLUMNS * (DN_STORE_TEXT_MAX + 1)];
};

/* The member of the next row. */
static void *member_of (struct piece *piece, int column)
{
    return (char *) &piece->jobs[piece->n] + dn_finished_columns[column].offset;
}

static bool is_text (int column)
{
    return dn_finished_columns[column].type == DN_FINISHED_TEXT;
}

struct dn_store_filter dn_store_all (void)
{
    return (struct dn_store_filter){.user = DN_UNSET};
}

/* The parameters of a query; those of a key are the last. */
enum {
    AT_SINCE = 1,
    AT_UNTIL,
    AT_USER,
    AT_CLUSTER,
    AT_JOB,
    AT_APP_IS,
    AT_KEY,
    AT_ID = AT_KEY + ORDER_MAX
};

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

static void write_order (struct dn_buf *sql, const struct order *order)
{
    char names[128];
    struct dn_buf buf = dn_buf_on (names, sizeof (names));

    for (int i = 0; i < order->n; i++)
        dn_buf_add (&buf, "%s, ", dn_finished_columns[order->columns[i]].name);
    dn_buf_add (sql, " AND (%sid) > (", names);
    for (int i = 0; i < order->n; i++)
        dn_buf_add (sql, "?%d, ", AT_KEY + i);
    dn_buf_add (sql, "?%d) ORDER BY %sid LIMIT %d", AT_ID, names, PIECE_ROWS);
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
        return dn_store_fail (store->db.sql, err);
    return 0;
}

static void finalize (sqlite3_stmt **statement)
{
    sqlite3_finalize (*statement);
}

/* The file may be one that another program has edited. */
static int take_text (sqlite3_stmt *select,
                      int i,
                      struct piece *piece,
                      const char **member,
                      struct dn_err *err)
{
    const char *text = (const char *) sqlite3_column_text (select, i);
    size_t len = text ? (size_t) sqlite3_column_bytes (select, i) : 0;

    if (!text && sqlite3_errcode (sqlite3_db_handle (select)) == SQLITE_NOMEM)
        return dn_sql_fail (sqlite3_db_handle (select), err);
    if (len > DN_STORE_TEXT_MAX)
        return dn_refuse (err, cell_long, len, DN_STORE_TEXT_MAX);
    if (len > 0 && memchr (text, '\0', len))
        return dn_refuse (err, cell_nul);
    *member = memcpy (piece->texts + piece->len, text ? text : "", len + 1);
    piece->len += len + 1;
    return 0;
}

static int take_cell (sqlite3_stmt *select,
                      int i,
                      struct piece *piece,
                      struct dn_err *err)
{
    void *member = member_of (piece, i);
    int64_t *count = member;
    double *real = member;
    int type = sqlite3_column_type (select, i);
    enum dn_finished_type wanted = dn_finished_columns[i].type;

    if (wanted == DN_FINISHED_TEXT && (type == SQLITE_TEXT || type == SQLITE_NULL))
        return take_text (select, i, piece, member, err);
    if (wanted == DN_FINISHED_COUNT
        && (type == SQLITE_INTEGER || type == SQLITE_NULL)) {
        *count = type == SQLITE_NULL ? DN_UNSET : sqlite3_column_int64 (select, i);
        return 0;
    }
    if (wanted == DN_FINISHED_REAL && type == SQLITE_NULL) {
        *real = NAN;
        return 0;
    }
    if (wanted == DN_FINISHED_REAL && type == SQLITE_FLOAT)
        *real = sqlite3_column_double (select, i);
    return wanted == DN_FINISHED_REAL && type == SQLITE_FLOAT && isfinite (*real)
               ? 0
               : dn_refuse (err, cell_type);
}

/* Is the key of a row after that of the row before? In a damaged file rows may come
 * again without end.
 */
static bool is_after (const struct order *order,
                      const struct key *key,
                      const struct key *last)
{
    for (int i = 0; i < order->n; i++) {
        int by_text = strcmp (key->texts[i], last->texts[i]);

        if (key->counts[i] != last->counts[i])
            return key->counts[i] > last->counts[i];
        if (by_text != 0)
            return by_text > 0;
    }
    return key->id > last->id;
}

static int note_key (struct piece *piece, int64_t id, struct dn_err *err)
{
    const struct order *order = piece->order;
    struct key key = {.id = id};

    for (int i = 0; i < order->n; i++) {
        const void *member = member_of (piece, order->columns[i]);

        if (is_text (order->columns[i]))
            snprintf (key.texts[i],
                      sizeof (key.texts[i]),
                      "%s",
                      *(const char *const *) member);
        else
            key.counts[i] = *(const int64_t *) member;
    }
    if (!is_after (order, &key, &piece->last))
        return dn_refuse (err, jobs_order);
    piece->last = key;
    return 0;
}

static int take_row (sqlite3_stmt *select, struct piece *piece, struct dn_err *err)
{
    int64_t id = sqlite3_column_int64 (select, DN_N_FINISHED_COLUMNS);

    for (int i = 0; i < DN_N_FINISHED_COLUMNS; i++)
        if (take_cell (select, i, piece, err) < 0)
            return dn_err_wrap (
                err, dn_say_at_job_column, (long long) id, dn_finished_columns[i].name);
    if (note_key (piece, id, err) < 0)
        return -1;
    piece->n++;
    return 0;
}

/* Fill a piece with the jobs after its last one. Sets 'end' if there are no more. */
static int fill (struct dn_store *store,
                 sqlite3_stmt *select,
                 struct piece *piece,
                 bool *end,
                 struct dn_err *err)
{
    int rc = SQLITE_OK;

    piece->n = 0;
    piece->len = 0;
    for (int i = 0; i < piece->order->n && rc == SQLITE_OK; i++)
        rc = is_text (piece->order->columns[i])
                 ? bind_name (select, AT_KEY + i, piece->last.texts[i])
                 : bind_number (select, AT_KEY + i, piece->last.counts[i]);
    if (rc != SQLITE_OK || bind_number (select, AT_ID, piece->last.id) != SQLITE_OK)
        return dn_store_fail (store->db.sql, err);
    while (piece->n < PIECE_ROWS && piece->len < PIECE_LEN
           && (rc = sqlite3_step (select)) == SQLITE_ROW)
        if (take_row (select, piece, err) < 0) {
            sqlite3_reset (select);
            return dn_store_name (store->db.sql, err);
        }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        dn_store_fail (store->db.sql, err);
    sqlite3_reset (select);
    *end = rc == SQLITE_DONE;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : -1;
}

static int hand_on (const struct piece *piece, dn_store_job_f take, void *to)
{
    int rc = 0;

    for (int i = 0; i < piece->n && rc == 0; i++)
        rc = take (to, &piece->jobs[i]);
    return rc;
}

/* Begin before the first job that the filter may select. */
static void begin (struct piece *piece, const struct dn_store_filter *filter)
{
    struct key *last = &piece->last;

    piece->order = &orders[filter->order];
    for (int i = 0; i < piece->order->n; i++)
        last->counts[i] = is_text (piece->order->columns[i]) ? 0 : INT64_MIN;
    last->id = INT64_MIN;
    if (filter->order == DN_STORE_BY_END && filter->since_s > 0)
        last->counts[0] = filter->since_s;
    if (filter->order == DN_STORE_BY_APP && filter->user != DN_UNSET)
        last->counts[0] = filter->user;
}

int dn_store_read (struct dn_store *store,
                   const struct dn_store_filter *filter,
                   dn_store_job_f take,
                   void *to,
                   struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) struct piece *piece = calloc (1, sizeof (*piece));
    dn_cleanup (finalize) sqlite3_stmt *select = NULL;
    char sql[DN_STORE_SQL_MAX];
    struct dn_buf buf = dn_buf_on (sql, sizeof (sql));
    bool end = false;
    int rc = 0;

    if (!piece)
        return dn_refuse (err, no_memory);
    dn_buf_add (&buf, "SELECT ");
    for (int i = 0; i < DN_N_FINISHED_COLUMNS; i++)
        dn_buf_add (&buf, "%s, ", dn_finished_columns[i].name);
    dn_buf_add (&buf, "id FROM jobs");
    write_filter (&buf, filter);
    begin (piece, filter);
    write_order (&buf, piece->order);
    if (prepare_reading (store, sql, filter, &select, err) < 0)
        return -1;
    while (!end && rc == 0) {
        if (fill (store, select, piece, &end, err) < 0)
            return -1;
        rc = hand_on (piece, take, to);
    }
    return rc;
}
