/* store_schema.h - the versions of the store, and the upgrade to the newest
 *
 * A new store is an empty database, version 0, that takes the same steps as an older
 * store, so both end with the same tables. To add a column of finished jobs: raise the
 * version here and add a step, and the version to version_of () of store.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STORE_SCHEMA_H
#define DN_STORE_SCHEMA_H

#include "jobs/store_sql.h"

#define DN_STORE_VERSION 9

/* The version of an open database. -1 with 'err' if its schema is not, letter by
 * letter, that of a version up to the newest.
 */
int dn_store_schema_check (sqlite3 *db, struct dn_err *err);

/* Upgrade an older version, or an empty database, to the newest. Any other database is
 * an error. The caller must run it in a transaction, so that all steps or none take
 * effect. Return the version, or -1 with 'err'.
 */
int dn_store_schema_upgrade (sqlite3 *db, struct dn_err *err);

#endif
