/* store_schema.h - the tables of the store
 *
 * Another column of finished jobs, or another order, is another version, which must be
 * raised here. A store of another version is refused.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STORE_SCHEMA_H
#define DN_STORE_SCHEMA_H

#include "jobs/store_sql.h"

#define DN_STORE_VERSION 10

/* Column 'i' of finished jobs: is it one of those that identify a row? Those that
 * reading orders by have no NULL: an unknown user is DN_UNSET there, and an unknown
 * application "".
 */
bool dn_store_is_key (int i);
bool dn_store_is_never_null (int i);

/* -1 with 'err' if the schema of an open database is not, letter by letter, that of a
 * store.
 */
int dn_store_schema_check (sqlite3 *db, struct dn_err *err);

/* Make the tables of an empty database, and check those of any other. The caller must
 * run it in a transaction, so that all are made or none.
 */
int dn_store_schema_make (sqlite3 *db, struct dn_err *err);

#endif
