/* records_sql.c - queries to SQLite, and its errors as ours
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/records_sql.h"

int dn_sql_fail (sqlite3 *db, struct dn_err *err)
{
    const char *text = sqlite3_errmsg (db);

    switch (sqlite3_errcode (db) & 0xff) {
    case SQLITE_NOMEM:
        return dn_err_set (err,
                           DN_E_LIMIT,
                           "takes more than %lld MiB of memory",
                           (long long) (DN_SQL_MEMORY_MAX >> 20));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return dn_err_set (err,
                           DN_E_IO,
                           "another process has been using it for %d s",
                           DN_SQL_BUSY_MS / 1000);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return dn_err_set (err, DN_E_SYNTAX, "damaged (%s)", text);
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
