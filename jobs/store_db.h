/* store_db.h - the store's file and its connection to SQLite, private to
 * the store
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STORE_DB_H
#define DN_STORE_DB_H

#include "jobs/store_schema.h"

/* Bytes of a store: 10^8 rows. */
#define DN_STORE_FILE_MAX (INT64_C (64) << 30)

struct dn_store_db {
    sqlite3 *sql;
    bool adding; /* in a transaction */
};

/* Open a store, either to add to it ('adding') or to read it unchanged. To add, it is
 * created if there is none. 'path' NULL: a new one in memory, to add to and to read. -1
 * with 'err'. Closed with dn_store_db_close () in all cases.
 */
int dn_store_db_open (struct dn_store_db *db,
                      const char *path,
                      bool adding,
                      struct dn_err *err);

/* Begin another transaction that adds, after dn_store_db_commit (). */
int dn_store_db_begin (struct dn_store_db *db, struct dn_err *err);

/* Make the added records permanent. */
int dn_store_db_commit (struct dn_store_db *db, struct dn_err *err);

void dn_store_db_close (struct dn_store_db *db);

#endif
