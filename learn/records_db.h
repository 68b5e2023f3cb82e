/* records_db.h - the store's file and its connection to SQLite, private to learn/
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
    const struct dn_records_schema *schema;
    int version; /* of the file; of one that is added to, the newest */
    bool adding; /* in a transaction */
};

/* Is the file a store, by its first bytes? False where it cannot be read. */
bool dn_records_db_is (const char *path);

/* Open a store, to add to it ('adding'; it is made where there is none, and one of an
 * older version becomes the newest) or to read it as it is. -1 with 'err'; closed with
 * dn_records_db_close () in both cases.
 */
int dn_records_db_open (struct dn_records_db *db,
                        const char *path,
                        bool adding,
                        const struct dn_records_schema *schema,
                        struct dn_err *err);

/* Make what was added, and a new version, last. */
int dn_records_db_commit (struct dn_records_db *db, struct dn_err *err);

void dn_records_db_close (struct dn_records_db *db);

#endif
