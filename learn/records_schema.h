/* records_schema.h - the versions of the store, and the upgrade to the newest
 *
 * A new store is an empty database, version 0, that takes the same steps as an older
 * store, so both end with the same tables. To add a column: add its line to
 * run_columns.inc with 'since' DN_RECORDS_VERSION + 1, raise the version here, and add
 * a step, which is "" if the column is the only change. SQLite reads all rows once for
 * each column that is added, for its CHECK: about two seconds for 10^6 rows. The tables
 * of finished jobs (jobs/store.h) are made by a step, and a column of them by another.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_RECORDS_SCHEMA_H
#define DN_RECORDS_SCHEMA_H

#include "learn/records_sql.h"
#include "learn/measured_run.h"

#define DN_RECORDS_VERSION 8

/* The version of an open database. -1 with 'err' if its schema is not, letter by
 * letter, that of a version up to the newest.
 */
int dn_records_schema_check (sqlite3 *db, struct dn_err *err);

/* Upgrade an older version, or an empty database, to the newest. Any other database is
 * an error. The caller must run it in a transaction, so that all steps or none take
 * effect. Return the version, or -1 with 'err'.
 */
int dn_records_schema_upgrade (sqlite3 *db, struct dn_err *err);

#endif
