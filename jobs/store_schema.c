/* store_schema.c - the tables of the store
 *
 * They are made by the table of columns. The statements that SQLite keeps for the
 * tables of a file are compared with those of an empty database in memory in which they
 * were made.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/store_schema.h"

#include <string.h>

#include "base/messages.h"
#include "jobs/finished.h"

/* "dnst" in the file's header. */
#define APPLICATION_ID 0x646e7374

bool dn_store_is_key (int i)
{
    return i == DN_FINISHED_AT_cluster || i == DN_FINISHED_AT_raw_id
           || i == DN_FINISHED_AT_submit_s || i == DN_FINISHED_AT_start_s;
}

bool dn_store_is_never_null (int i)
{
    return dn_store_is_key (i) || i == DN_FINISHED_AT_end_s || i == DN_FINISHED_AT_user
           || i == DN_FINISHED_AT_app;
}

static int make_tables (sqlite3 *db, struct dn_err *err)
{
    static const char *const types[] = {[DN_FINISHED_TEXT] = "TEXT",
                                        [DN_FINISHED_COUNT] = "INTEGER",
                                        [DN_FINISHED_REAL] = "REAL"};
    char sql[8192];
    struct dn_buf buf = dn_buf_on (sql, sizeof (sql));

    dn_buf_add (&buf,
                "PRAGMA application_id = %d; PRAGMA user_version = %d; "
                "CREATE TABLE jobs (id INTEGER PRIMARY KEY",
                APPLICATION_ID,
                DN_STORE_VERSION);
    for (int i = 0; i < DN_N_FINISHED_COLUMNS; i++)
        dn_buf_add (&buf,
                    ", %s %s%s",
                    dn_finished_columns[i].name,
                    types[dn_finished_columns[i].type],
                    dn_store_is_never_null (i) ? " NOT NULL" : "");
    dn_buf_add (
        &buf,
        "); CREATE UNIQUE INDEX jobs_key ON jobs (cluster, raw_id, submit_s, start_s); "
        "CREATE INDEX jobs_end ON jobs (end_s); "
        "CREATE INDEX jobs_app ON jobs (user, app, end_s); "
        "CREATE INDEX jobs_account ON jobs (account, app, end_s); "
        "CREATE INDEX jobs_submit ON jobs (submit_s); "
        "CREATE INDEX jobs_name ON jobs (job); "
        "CREATE TABLE collected (source TEXT PRIMARY KEY, until_s INTEGER NOT NULL)");
    if (buf.cut)
        return dn_err_set (err, DN_E_BUG, dn_say_err_sql_long);
    return dn_sql_run (db, sql, err);
}

/* --- checking -------------------------------------------------------------------- */

static bool same_text (sqlite3_stmt *a, sqlite3_stmt *b, int i)
{
    const char *x = (const char *) sqlite3_column_text (a, i);
    const char *y = (const char *) sqlite3_column_text (b, i);

    return x && y ? strcmp (x, y) == 0 : x == y;
}

/* Does the file have exactly the required tables? */
static int compare (sqlite3 *db, sqlite3 *made, struct dn_err *err)
{
    static const char sql[] = "SELECT type, name, sql FROM sqlite_master";
    sqlite3_stmt *list = NULL;
    sqlite3_stmt *want = NULL;
    int rc = sqlite3_prepare_v2 (db, sql, -1, &list, NULL);
    int rc_want = sqlite3_prepare_v2 (made, sql, -1, &want, NULL);
    bool same = true;

    while (same && rc == SQLITE_OK && rc_want == SQLITE_OK) {
        rc = sqlite3_step (list);
        rc_want = sqlite3_step (want);
        same = rc == rc_want && same_text (list, want, 0) && same_text (list, want, 1)
               && same_text (list, want, 2);
        if (rc == SQLITE_ROW && rc_want == SQLITE_ROW)
            rc = rc_want = SQLITE_OK;
    }
    if (rc != SQLITE_OK && rc != SQLITE_ROW && rc != SQLITE_DONE)
        dn_sql_fail (db, err);
    else if (rc_want != SQLITE_OK && rc_want != SQLITE_ROW && rc_want != SQLITE_DONE)
        dn_sql_fail (made, err);
    else if (!same)
        dn_err_set (err, DN_E_SYNTAX, dn_say_err_store_tables);
    sqlite3_finalize (list);
    sqlite3_finalize (want);
    return same && rc == SQLITE_DONE && rc_want == SQLITE_DONE ? 0 : -1;
}

static int check_tables (sqlite3 *db, struct dn_err *err)
{
    sqlite3 *made = NULL;
    int rc;

    if (sqlite3_open (":memory:", &made) != SQLITE_OK) {
        dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory);
        rc = -1;
    } else {
        rc = make_tables (made, err);
    }
    if (rc == 0)
        rc = compare (db, made, err);
    sqlite3_close (made);
    return rc;
}

int dn_store_schema_check (sqlite3 *db, struct dn_err *err)
{
    int64_t application;
    int64_t version;

    if (dn_sql_ask (db, "PRAGMA application_id", &application, err) < 0
        || dn_sql_ask (db, "; PRAGMA user_version", &version, err) < 0)
        return -1;
    if (application != APPLICATION_ID)
        return dn_err_set (err, DN_E_SYNTAX, dn_say_err_store_program);
    if (version != DN_STORE_VERSION)
        return dn_err_set (err,
                           DN_E_VERSION,
                           dn_say_err_store_version,
                           (long long) version,
                           DN_STORE_VERSION);
    return check_tables (db, err);
}

static int is_empty (sqlite3 *db, bool *empty, struct dn_err *err)
{
    int64_t application;
    int64_t version;
    int64_t n_objects;

    if (dn_sql_ask (db, "PRAGMA application_id", &application, err) < 0
        || dn_sql_ask (db, "; PRAGMA user_version", &version, err) < 0
        || dn_sql_ask (db, "SELECT count (*) FROM sqlite_master", &n_objects, err) < 0)
        return -1;
    *empty = application == 0 && version == 0 && n_objects == 0;
    return 0;
}

int dn_store_schema_make (sqlite3 *db, struct dn_err *err)
{
    bool empty;

    if (is_empty (db, &empty, err) < 0)
        return -1;
    return empty ? make_tables (db, err) : dn_store_schema_check (db, err);
}
