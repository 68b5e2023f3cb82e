/* store_parts.h - what the files of the store share; private to them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STORE_PARTS_H
#define DN_STORE_PARTS_H

#include "jobs/store.h"
#include "jobs/store_db.h"

#define DN_STORE_SQL_MAX 8192

struct dn_store {
    struct dn_store_db db;
    sqlite3_stmt *add; /* NULL until it is used */
};

#endif
