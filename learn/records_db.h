/* records_db.h - the store's file and its connection to SQLite, private to
 * the stores
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_RECORDS_DB_H
#define DN_RECORDS_DB_H

#include "learn/records_schema.h"

/* Bytes of a store: 10^8 rows. */
#define DN_RECORDS_FILE_MAX (INT64_C (64) << 30)

struct dn_records_db {
    sqlite3 *sql;
    int version; /* of the file; the newest when adding */
    bool adding; /* in a transaction */
};

/* Check by its first bytes whether a file is a store. False if it cannot be read. */
bool dn_records_db_is (const char *path);

/* Open a store, either to add to it ('adding') or to read it unchanged. To add, it is
 * created if there is none, and an older version is upgraded to the newest. 'path'
 * NULL: a new one in memory, to add to and to read. -1 with 'err'. Closed with
 * dn_records_db_close () in all cases.
 */
int dn_records_db_open (struct dn_records_db *db,
                        const char *path,
                        bool adding,
                        struct dn_err *err);

/* Begin another transaction that adds, after dn_records_db_commit (). */
int dn_records_db_begin (struct dn_records_db *db, struct dn_err *err);

/* Make the added records, and a new version, permanent. */
int dn_records_db_commit (struct dn_records_db *db, struct dn_err *err);

void dn_records_db_close (struct dn_records_db *db);

#endif
