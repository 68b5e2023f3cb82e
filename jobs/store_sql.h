/* store_sql.h - queries to SQLite, and its errors as ours; private to the stores
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STORE_SQL_H
#define DN_STORE_SQL_H

#include <sqlite3.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/text.h"

/* About a second for each task of a sweep whose tasks all end at the same moment. */
#define DN_SQL_BUSY_MS 60000

/* Limit of SQLite's own memory. */
#define DN_SQL_MEMORY_MAX (INT64_C (64) << 20)

/* The limits of a row's texts and numbers. */
#define DN_STORE_TEXT_MAX 8192
#define DN_STORE_REAL_MAX 1e15

/* Set 'err' to the last error of the connection; -1. */
int dn_sql_fail (sqlite3 *db, struct dn_err *err);

/* Run statements that return no rows. */
int dn_sql_run (sqlite3 *db, const char *sql, struct dn_err *err);

/* The number in the first column of the first row. */
int dn_sql_ask (sqlite3 *db, const char *sql, int64_t *answer, struct dn_err *err);

/* Bind a value to ?AT of a statement, 'name' being its column. An unknown real (NaN)
 * and an empty text are not bound, which makes them NULL; a text that 'always' is.
 */
int dn_sql_bind_text (sqlite3_stmt *statement,
                      int at,
                      const char *name,
                      const char *text,
                      bool always,
                      struct dn_err *err);
int dn_sql_bind_real (sqlite3_stmt *statement,
                      int at,
                      const char *name,
                      double value,
                      struct dn_err *err);
int dn_sql_bind_count (sqlite3_stmt *statement,
                       int at,
                       int64_t count,
                       struct dn_err *err);

/* Run a statement to its end, and reset it. */
int dn_sql_finish (sqlite3_stmt *statement, struct dn_err *err);

/* The texts of rows, one after the other, each with its NUL. */
struct dn_sql_texts {
    char *text; /* owned */
    size_t len;
    size_t size;
};

/* Append the text of a column, of at most 'max' bytes; "" of NULL. The file may be one
 * that another program has edited.
 */
int dn_sql_texts_add (struct dn_sql_texts *texts,
                      sqlite3_stmt *select,
                      int column,
                      int max,
                      struct dn_err *err);

#endif
