/* records_db.h - the store's connection to SQLite, private to learn/
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_RECORDS_DB_H
#define DN_RECORDS_DB_H

#include <sqlite3.h>

#include "learn/records.h"

struct dn_records {
    sqlite3 *db;
    bool adding;       /* in a transaction */
    sqlite3_stmt *add; /* each NULL until it is needed */
    sqlite3_stmt *add_sidecar;
    sqlite3_stmt *find_sidecar;
    sqlite3_stmt *select;
};

/* Set 'err' to what SQLite has just complained of; -1. */
int dn_records_fail (const struct dn_records *records, struct dn_err *err);

/* Bind the texts of a filter to ?3, ?4 and ?5. Return SQLite's code. */
int dn_records_bind (sqlite3_stmt *statement, const struct dn_records_filter *filter);

#endif
