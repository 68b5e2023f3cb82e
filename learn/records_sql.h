/* records_sql.h - queries to SQLite, and its errors as ours; private to the stores
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_RECORDS_SQL_H
#define DN_RECORDS_SQL_H

#include <sqlite3.h>

#include "base/err.h"

/* About a second for each task of a sweep whose tasks all end at the same moment. */
#define DN_SQL_BUSY_MS 60000

/* Limit of SQLite's own memory. */
#define DN_SQL_MEMORY_MAX (INT64_C (64) << 20)

/* Set 'err' to the last error of the connection; -1. */
int dn_sql_fail (sqlite3 *db, struct dn_err *err);

/* Run statements that return no rows. */
int dn_sql_run (sqlite3 *db, const char *sql, struct dn_err *err);

/* The number in the first column of the first row. */
int dn_sql_ask (sqlite3 *db, const char *sql, int64_t *answer, struct dn_err *err);

#endif
