/* records_schema.h - the versions of the store, and how an older one becomes the newest
 *
 * A new store is an empty database, version 0, that goes through the same steps as an
 * older store: both end with the same tables. To add a column: its line in
 * run_columns.inc with 'since' DN_RECORDS_VERSION + 1, that version here, and a step,
 * which is "" where the column is all that is new.
 * SQLite reads all rows once for each column that is added, for its CHECK: about two
 * seconds for 10^6 rows.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_RECORDS_SCHEMA_H
#define DN_RECORDS_SCHEMA_H

#include "learn/records_sql.h"
#include "learn/measured_run.h"

#define DN_RECORDS_VERSION 1

struct dn_records_schema {
    int version; /* the newest */
    /* SQL that begins the way from version i to i + 1. The columns of version i + 1 are
     * added after it.
     */
    const char *const *steps;
    const struct dn_run_column *columns; /* of all versions */
    int n_columns;
};

/* Of this program. */
extern const struct dn_records_schema dn_records_schema;

/* The version of an open database, or -1 with 'err' where it is no store of a version
 * up to the newest, letter by letter.
 */
int dn_records_schema_check (sqlite3 *db,
                             const struct dn_records_schema *schema,
                             struct dn_err *err);

/* Make the newest version of an older one, or of an empty database, and of nothing
 * else. It has to run in a transaction, which makes all of it or nothing. Return the
 * version, or -1 with 'err'.
 */
int dn_records_schema_upgrade (sqlite3 *db,
                               const struct dn_records_schema *schema,
                               struct dn_err *err);

#endif
