/* store_schema.c - the versions of the store, and the upgrade to the newest
 *
 * The schema that a version must have is made by running the steps on an empty database
 * in memory. The statements that SQLite keeps for its tables are compared with those of
 * the file, but for two tables that stores had up to version 8 and no query reads. A
 * step is never changed once a program with it was released.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/store_schema.h"

#include <string.h>

#include "base/messages.h"

/* "dnst" in the file's header. */
#define APPLICATION_ID 0x646e7374

/* The upgrade from version i to i + 1. */
static const char *const steps[DN_STORE_VERSION] = {
    "PRAGMA application_id = 1684960116",
    "",
    "CREATE TABLE jobs (id INTEGER PRIMARY KEY, cluster TEXT NOT NULL, raw_id "
    "INTEGER NOT NULL, submit_s INTEGER NOT NULL, start_s INTEGER NOT NULL, job "
    "TEXT, user INTEGER NOT NULL, user_name TEXT, account TEXT, partition TEXT, qos "
    "TEXT, name TEXT, eligible_s INTEGER, end_s INTEGER NOT NULL, suspended_s "
    "INTEGER, state TEXT, outcome TEXT, exit_code INTEGER, restarts INTEGER, nodes "
    "INTEGER, host TEXT, cpus INTEGER, gpu TEXT, gpus INTEGER, limit_s INTEGER, mode "
    "TEXT, verdict TEXT, why TEXT, warn TEXT, asked_limit_s INTEGER, asked_gpu TEXT, "
    "asked_cpus INTEGER, set_limit_s INTEGER, set_gpu TEXT, set_cpus INTEGER, "
    "extensions INTEGER, rescued INTEGER, spec TEXT, app TEXT NOT NULL, work REAL, "
    "work_unit TEXT, base_s REAL, likely_s REAL, bound_s REAL, bound_bp REAL, p95_s "
    "REAL, pred_gpu TEXT, pred_mem_gb REAL, pred_cpus REAL, confidence REAL, bundle "
    "TEXT, history_runs INTEGER, cpu_s REAL, host_mem_gb REAL, gpu_mem_gb REAL, "
    "gpu_utilisation REAL, power_w REAL, energy_j REAL, step_ms REAL, source TEXT); "
    "CREATE UNIQUE INDEX jobs_key ON jobs (cluster, raw_id, submit_s, start_s); "
    "CREATE INDEX jobs_end ON jobs (end_s); "
    "CREATE INDEX jobs_app ON jobs (user, app, end_s); "
    "CREATE INDEX jobs_account ON jobs (account, app, end_s); "
    "CREATE INDEX jobs_submit ON jobs (submit_s); "
    "CREATE INDEX jobs_name ON jobs (job); "
    "CREATE TABLE collected (source TEXT PRIMARY KEY, until_s INTEGER NOT NULL)",
    "ALTER TABLE jobs ADD COLUMN asked_gpus INTEGER; "
    "ALTER TABLE jobs ADD COLUMN set_mem_gb REAL; "
    "ALTER TABLE jobs ADD COLUMN pred_wait_s INTEGER",
    "ALTER TABLE jobs ADD COLUMN step_p95_ms REAL; "
    "ALTER TABLE jobs ADD COLUMN start_up_s REAL; "
    "ALTER TABLE jobs ADD COLUMN loader_share REAL; "
    "ALTER TABLE jobs ADD COLUMN said_gpu_mem_gb REAL; "
    "ALTER TABLE jobs ADD COLUMN gpus_used INTEGER; "
    "ALTER TABLE jobs ADD COLUMN captured TEXT",
    "ALTER TABLE jobs ADD COLUMN kin TEXT",
    "ALTER TABLE jobs ADD COLUMN mem_gb REAL; "
    "ALTER TABLE jobs ADD COLUMN asked_mem_gb REAL",
    "ALTER TABLE jobs ADD COLUMN said_slow REAL",
    "DROP TABLE IF EXISTS records; DROP TABLE IF EXISTS sidecars",
};

/* --- making ---------------------------------------------------------------------- */

static int make_versions (sqlite3 *db, int from, int to, struct dn_err *err)
{
    char sql[8192];

    for (int version = from + 1; version <= to; version++) {
        struct dn_buf buf = dn_buf_on (sql, sizeof (sql));

        dn_buf_add (&buf, "%s; PRAGMA user_version = %d", steps[version - 1], version);
        if (buf.cut)
            return dn_err_set (err, DN_E_BUG, dn_say_err_store_much, version);
        if (dn_sql_run (db, sql, err) < 0)
            return dn_err_wrap (err, dn_say_at_store_from, version - 1, version);
    }
    return 0;
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
    static const char sql[] = "SELECT type, name, sql FROM sqlite_master "
                              "WHERE tbl_name NOT IN ('records', 'sidecars')";
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

static int check_tables (sqlite3 *db, int version, struct dn_err *err)
{
    sqlite3 *made = NULL;
    int rc;

    if (sqlite3_open (":memory:", &made) != SQLITE_OK) {
        dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory);
        rc = -1;
    } else {
        rc = make_versions (made, 0, version, err);
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
    if (version < 1 || version > DN_STORE_VERSION)
        return dn_err_set (err,
                           DN_E_VERSION,
                           dn_say_err_store_version,
                           (long long) version,
                           DN_STORE_VERSION);
    return check_tables (db, (int) version, err) < 0 ? -1 : (int) version;
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

int dn_store_schema_upgrade (sqlite3 *db, struct dn_err *err)
{
    int version = 0;
    bool empty;

    if (is_empty (db, &empty, err) < 0)
        return -1;
    if (!empty)
        version = dn_store_schema_check (db, err);
    if (version < 0 || make_versions (db, version, DN_STORE_VERSION, err) < 0)
        return -1;
    return DN_STORE_VERSION;
}
