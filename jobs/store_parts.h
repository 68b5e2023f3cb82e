/* store_parts.h - what the files of the store share; private to them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STORE_PARTS_H
#define DN_STORE_PARTS_H

#include <sqlite3.h>
#include <stdbool.h>

#include "base/text.h"
#include "jobs/store.h"

/* Of the tables. Another column of finished jobs, or another order, is another version,
 * which must be raised here. A store of another version is refused.
 */
#define DN_STORE_VERSION 10

/* About a second for each task of a sweep whose tasks all end at the same moment. */
#define DN_SQL_BUSY_MS 60000

/* Limit of SQLite's own memory. */
#define DN_SQL_MEMORY_MAX (INT64_C (64) << 20)

/* Bytes of a store: 10^8 rows. */
#define DN_STORE_FILE_MAX (INT64_C (64) << 30)

/* The limits of a row's texts and numbers. */
#define DN_STORE_TEXT_MAX 8192
#define DN_STORE_REAL_MAX 1e15

#define DN_STORE_SQL_MAX 8192

/* The store's file and its connection to SQLite. */
struct dn_store_db {
    sqlite3 *sql;
    bool adding; /* in a transaction */
};

struct dn_store {
    struct dn_store_db db;
    sqlite3_stmt *add; /* NULL until it is used */
};

/* Open a store, either to add to it ('adding') or to read it unchanged. To add, it is
 * created if there is none. 'path' NULL: a new one in memory, to add to and to read. -1
 * with 'err'. Closed with dn_store_db_close () in all cases.
 */
int dn_store_db_open (struct dn_store_db *db,
                      const char *path,
                      bool adding,
                      struct dn_err *err);
void dn_store_db_close (struct dn_store_db *db);

/* Column 'i' of finished jobs: is it one of those that identify a row? Those that
 * reading orders by have no NULL: an unknown user is DN_UNSET there, and an unknown
 * application "".
 */
bool dn_store_is_key (int i);
bool dn_store_is_never_null (int i);

/* Set 'err' to the last error of the connection; -1. */
int dn_sql_fail (sqlite3 *db, struct dn_err *err);

/* Put the file of a store that is open in front of 'err'; -1. */
int dn_store_name (sqlite3 *db, struct dn_err *err);

/* Both: the last error of a store that is open; -1. */
int dn_store_fail (sqlite3 *db, struct dn_err *err);

/* Run statements that return no rows. */
int dn_sql_run (sqlite3 *db, const char *sql, struct dn_err *err);

#endif
