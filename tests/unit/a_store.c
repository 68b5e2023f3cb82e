/* a_store.c - a store in the folder of a test, and what SQLite sees in it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "a_store.h"

#include <sqlite3.h>

#include "scratch.h"

const char *store_path (void)
{
    static char path[256];

    if (path[0] == '\0')
        snprintf (path, sizeof (path), "%s", scratch_path ("records.db"));
    return path;
}

void store_remove (void)
{
    remove (scratch_path ("records.db-journal"));
    remove (store_path ());
}

void store_execute (const char *sql)
{
    char *why = NULL;
    sqlite3 *db;

    assert_int_equal (sqlite3_open (store_path (), &db), SQLITE_OK);
    if (sqlite3_exec (db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg ("%s: %s", sql, why);
    sqlite3_close (db);
}

int64_t store_ask (const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *question;
    int64_t answer;

    assert_int_equal (sqlite3_open (store_path (), &db), SQLITE_OK);
    assert_int_equal (sqlite3_prepare_v2 (db, sql, -1, &question, NULL), SQLITE_OK);
    assert_int_equal (sqlite3_step (question), SQLITE_ROW);
    answer = sqlite3_column_int64 (question, 0);
    sqlite3_finalize (question);
    sqlite3_close (db);
    return answer;
}
