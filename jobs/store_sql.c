/* store_sql.c - queries to SQLite, and its errors as ours
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/store_sql.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/messages.h"

int dn_sql_fail (sqlite3 *db, struct dn_err *err)
{
    const char *text = sqlite3_errmsg (db);

    switch (sqlite3_errcode (db) & 0xff) {
    case SQLITE_NOMEM:
        return dn_err_set (err,
                           DN_E_LIMIT,
                           dn_say_err_store_heap,
                           (long long) (DN_SQL_MEMORY_MAX >> 20));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return dn_err_set (err, DN_E_IO, dn_say_err_store_busy, DN_SQL_BUSY_MS / 1000);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return dn_err_set (err, DN_E_SYNTAX, dn_say_err_store_damaged, text);
    default:
        return dn_err_set (err, DN_E_IO, "%s", text);
    }
}

int dn_sql_run (sqlite3 *db, const char *sql, struct dn_err *err)
{
    return sqlite3_exec (db, sql, NULL, NULL, NULL) == SQLITE_OK
               ? 0
               : dn_sql_fail (db, err);
}

int dn_sql_ask (sqlite3 *db, const char *sql, int64_t *answer, struct dn_err *err)
{
    sqlite3_stmt *question = NULL;
    int rc = sqlite3_prepare_v2 (db, sql, -1, &question, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_step (question);
    *answer = rc == SQLITE_ROW ? sqlite3_column_int64 (question, 0) : 0;
    if (rc != SQLITE_ROW)
        dn_sql_fail (db, err);
    sqlite3_finalize (question);
    return rc == SQLITE_ROW ? 0 : -1;
}

static int done (sqlite3_stmt *statement, int rc, struct dn_err *err)
{
    return rc == SQLITE_OK ? 0 : dn_sql_fail (sqlite3_db_handle (statement), err);
}

int dn_sql_bind_text (sqlite3_stmt *statement,
                      int at,
                      const char *name,
                      const char *text,
                      bool always,
                      struct dn_err *err)
{
    size_t len = strlen (text);

    if (len == 0 && !always)
        return 0;
    if (len > DN_STORE_TEXT_MAX)
        return dn_err_set (
            err, DN_E_LIMIT, dn_say_err_column_long, name, len, DN_STORE_TEXT_MAX);
    return done (statement,
                 sqlite3_bind_text (statement, at, text, (int) len, SQLITE_TRANSIENT),
                 err);
}

int dn_sql_bind_real (sqlite3_stmt *statement,
                      int at,
                      const char *name,
                      double value,
                      struct dn_err *err)
{
    if (isnan (value))
        return 0;
    if (value < 0 || value > DN_STORE_REAL_MAX)
        return dn_err_set (
            err, DN_E_RANGE, dn_say_err_column_range, name, value, DN_STORE_REAL_MAX);
    return done (statement, sqlite3_bind_double (statement, at, value), err);
}

int dn_sql_bind_count (sqlite3_stmt *statement,
                       int at,
                       int64_t count,
                       struct dn_err *err)
{
    return done (statement, sqlite3_bind_int64 (statement, at, count), err);
}

int dn_sql_finish (sqlite3_stmt *statement, struct dn_err *err)
{
    int rc = sqlite3_step (statement);

    if (rc != SQLITE_DONE)
        dn_sql_fail (sqlite3_db_handle (statement), err);
    sqlite3_reset (statement);
    return rc == SQLITE_DONE ? 0 : -1;
}

int dn_sql_texts_add (struct dn_sql_texts *texts,
                      sqlite3_stmt *select,
                      int column,
                      int max,
                      struct dn_err *err)
{
    const char *text = (const char *) sqlite3_column_text (select, column);
    size_t len = text ? (size_t) sqlite3_column_bytes (select, column) : 0;
    size_t needed = texts->len + len + 1;

    if (!text && sqlite3_errcode (sqlite3_db_handle (select)) == SQLITE_NOMEM)
        return dn_sql_fail (sqlite3_db_handle (select), err);
    if (len > (size_t) max)
        return dn_err_set (err, DN_E_LIMIT, dn_say_err_cell_long, len, max);
    if (len > 0 && memchr (text, '\0', len))
        return dn_err_set (err, DN_E_SYNTAX, dn_say_err_cell_nul);
    if (needed > texts->size) {
        char *grown = realloc (texts->text, 2 * needed);

        if (!grown)
            return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory);
        texts->text = grown;
        texts->size = 2 * needed;
    }
    if (len > 0)
        memcpy (texts->text + texts->len, text, len);
    texts->text[needed - 1] = '\0';
    texts->len = needed;
    return 0;
}
