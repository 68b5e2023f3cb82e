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

struct dn_store *store_open (bool adding)
{
    return assert_made (dn_store_open (store_path (), adding, &unit_err));
}

int store_count_one (void *to, const struct dn_finished *job)
{
    ++*(int64_t *) to;
    return 0;
}

int64_t store_count (const struct dn_store_filter *filter)
{
    const struct dn_store_filter all = dn_store_all ();
    dn_cleanup (dn_store_cleanup) struct dn_store *store = store_open (false);
    int64_t n = 0;

    assert_done (
        dn_store_read (store, filter ? filter : &all, store_count_one, &n, &unit_err));
    return n;
}
