/* store.c - finished jobs in records.db: adding, and what was collected
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/store_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/messages.h"

/* Rows that are deleted at a time. */
#define PRUNE_ROWS "2000"

/* --- open and close -------------------------------------------------------------- */

struct dn_store *dn_store_open (const char *path, bool adding, struct dn_err *err)
{
    struct dn_store *store = calloc (1, sizeof (*store));

    if (!store) {
        dn_refuse (err, no_memory);
        return NULL;
    }
    /* The tables are made at once. Later transactions begin when there is a row. */
    if (dn_store_db_open (&store->db, path, adding, err) < 0)
        dn_err_wrap (err, "%s", path ? path : "memory");
    else if (!adding || dn_store_commit (store, err) == 0)
        return store;
    dn_store_close (store);
    return NULL;
}

void dn_store_close (struct dn_store *store)
{
    if (!store)
        return;
    sqlite3_finalize (store->add);
    dn_store_db_close (&store->db);
    free (store);
}

void dn_store_cleanup (struct dn_store **store)
{
    dn_store_close (*store);
}

/* Run a statement that begins or ends a transaction, unless it has. */
static int turn (struct dn_store *store, bool adding, struct dn_err *err)
{
    if (store->db.adding == adding)
        return 0;
    if (dn_sql_run (store->db.sql, adding ? "BEGIN IMMEDIATE" : "COMMIT", NULL) < 0)
        return dn_store_fail (store->db.sql, err);
    store->db.adding = adding;
    return 0;
}

static int begin (struct dn_store *store, struct dn_err *err)
{
    return turn (store, true, err);
}

int dn_store_commit (struct dn_store *store, struct dn_err *err)
{
    return turn (store, false, err);
}

/* --- adding ---------------------------------------------------------------------- */

/* What another program may have measured, or the job itself, whose file is gone when it
 * is read once more: accounting does not know it.
 */
static bool is_measured (int i)
{
    static const int measured[] = {DN_FINISHED_AT_gpu_utilisation,
                                   DN_FINISHED_AT_gpu_mem_gb,
                                   DN_FINISHED_AT_power_w,
                                   DN_FINISHED_AT_energy_j,
                                   DN_FINISHED_AT_step_ms,
                                   DN_FINISHED_AT_step_p95_ms,
                                   DN_FINISHED_AT_start_up_s,
                                   DN_FINISHED_AT_loader_share,
                                   DN_FINISHED_AT_said_gpu_mem_gb,
                                   DN_FINISHED_AT_gpus_used,
                                   DN_FINISHED_AT_captured};

    for (size_t k = 0; k < DN_N_ELEMENTS (measured); k++)
        if (measured[k] == i)
            return true;
    return false;
}

static int prepare_adding (struct dn_store *store, struct dn_err *err)
{
    char sql[DN_STORE_SQL_MAX];
    struct dn_buf buf = dn_buf_on (sql, sizeof (sql));

    if (store->add)
        return 0;
    dn_buf_add (&buf, "INSERT INTO jobs (");
    for (int i = 0; i < DN_N_FINISHED_COLUMNS; i++)
        dn_buf_add (&buf, "%s%s", i > 0 ? "," : "", dn_finished_columns[i].name);
    dn_buf_add (&buf, ") VALUES (?");
    for (int i = 1; i < DN_N_FINISHED_COLUMNS; i++)
        dn_buf_add (&buf, ",?");
    dn_buf_add (&buf, ") ON CONFLICT (cluster, raw_id, submit_s, start_s) DO UPDATE");
    for (int i = 0, n = 0; i < DN_N_FINISHED_COLUMNS; i++) {
        const char *name = dn_finished_columns[i].name;

        if (dn_store_is_key (i))
            continue;
        dn_buf_add (&buf, "%s %s = ", n++ > 0 ? "," : " SET", name);
        if (is_measured (i))
            dn_buf_add (&buf, "coalesce (excluded.%s, jobs.%s)", name, name);
        else
            dn_buf_add (&buf, "excluded.%s", name);
    }
    if (buf.cut)
        return dn_refuse (err, sql_long);
    return sqlite3_prepare_v2 (store->db.sql, sql, -1, &store->add, NULL) == SQLITE_OK
               ? 0
               : dn_store_fail (store->db.sql, err);
}

/* The value of a column, which is not bound, and so NULL, where it is unknown. */
static int bind_count (struct dn_store *store, int i, int64_t count, struct dn_err *err)
{
    const char *name = dn_finished_columns[i].name;

    if (count == DN_UNSET && !dn_store_is_never_null (i))
        return SQLITE_OK;
    if (count < 0 && (dn_store_is_key (i) || i == DN_FINISHED_AT_end_s))
        return dn_refuse (err, column_unknown, name);
    if (count < DN_UNLIMITED)
        return dn_refuse (err, column_count, name, (long long) count);
    return sqlite3_bind_int64 (store->add, i + 1, count);
}

static int bind_real (struct dn_store *store, int i, double value, struct dn_err *err)
{
    if (isnan (value))
        return SQLITE_OK;
    if (value < 0 || value > DN_STORE_REAL_MAX)
        return dn_refuse (
            err, column_range, dn_finished_columns[i].name, value, DN_STORE_REAL_MAX);
    return sqlite3_bind_double (store->add, i + 1, value);
}

static int bind_text (struct dn_store *store,
                      int i,
                      const char *text,
                      struct dn_err *err)
{
    size_t len = strlen (text);

    if (len == 0 && !dn_store_is_never_null (i))
        return SQLITE_OK;
    if (len > DN_STORE_TEXT_MAX)
        return dn_refuse (
            err, column_long, dn_finished_columns[i].name, len, DN_STORE_TEXT_MAX);
    return sqlite3_bind_text (store->add, i + 1, text, (int) len, SQLITE_TRANSIENT);
}

static int bind_column (struct dn_store *store,
                        int i,
                        const struct dn_finished *job,
                        struct dn_err *err)
{
    const void *member = (const char *) job + dn_finished_columns[i].offset;
    int rc;

    if (dn_finished_columns[i].type == DN_FINISHED_COUNT)
        rc = bind_count (store, i, *(const int64_t *) member, err);
    else if (dn_finished_columns[i].type == DN_FINISHED_REAL)
        rc = bind_real (store, i, *(const double *) member, err);
    else
        rc = bind_text (store, i, *(const char *const *) member, err);
    return rc > SQLITE_OK ? dn_store_fail (store->db.sql, err) : rc;
}

int dn_store_add (struct dn_store *store,
                  const struct dn_finished *job,
                  struct dn_err *err)
{
    int rc;

    if (begin (store, err) < 0 || prepare_adding (store, err) < 0)
        return -1;
    sqlite3_clear_bindings (store->add);
    for (int i = 0; i < DN_N_FINISHED_COLUMNS; i++)
        if (bind_column (store, i, job, err) < 0)
            return -1;
    rc = sqlite3_step (store->add);
    if (rc != SQLITE_DONE)
        dn_store_fail (store->db.sql, err);
    sqlite3_reset (store->add);
    return rc == SQLITE_DONE ? 0 : -1;
}

/* --- what was collected ---------------------------------------------------------- */

/* Run a statement with a text and a number; 'answer' is the first number of its row. */
static int run_with (struct dn_store *store,
                     const char *sql,
                     const char *text,
                     int64_t number,
                     int64_t *answer,
                     struct dn_err *err)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2 (store->db.sql, sql, -1, &statement, NULL);

    if (rc == SQLITE_OK && text)
        rc = sqlite3_bind_text (statement, 1, text, -1, SQLITE_TRANSIENT);
    if (rc == SQLITE_OK && sqlite3_bind_parameter_count (statement) > 1)
        rc = sqlite3_bind_int64 (statement, 2, number);
    if (rc == SQLITE_OK)
        rc = sqlite3_step (statement);
    if (rc == SQLITE_ROW && answer)
        *answer = sqlite3_column_int64 (statement, 0);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        dn_store_fail (store->db.sql, err);
    sqlite3_finalize (statement);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : -1;
}

int dn_store_until (struct dn_store *store,
                    const char *source,
                    int64_t *until_s,
                    struct dn_err *err)
{
    *until_s = 0;
    return run_with (store,
                     "SELECT until_s FROM collected WHERE source = ?1",
                     source,
                     0,
                     until_s,
                     err);
}

int dn_store_set_until (struct dn_store *store,
                        const char *source,
                        int64_t until_s,
                        struct dn_err *err)
{
    if (begin (store, err) < 0)
        return -1;
    return run_with (store,
                     "INSERT INTO collected (source, until_s) VALUES (?1, ?2)"
                     " ON CONFLICT (source) DO UPDATE SET until_s = excluded.until_s",
                     source,
                     until_s,
                     NULL,
                     err);
}

int dn_store_prune (struct dn_store *store, int64_t before_s, struct dn_err *err)
{
    int64_t n = 1;

    while (n > 0) {
        if (begin (store, err) < 0
            || run_with (store,
                         "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs"
                         " WHERE ?1 IS NULL AND end_s < ?2 LIMIT " PRUNE_ROWS ")",
                         NULL,
                         before_s,
                         NULL,
                         err)
                   < 0)
            return -1;
        n = sqlite3_changes (store->db.sql);
        if (dn_store_commit (store, err) < 0)
            return -1;
    }
    return 0;
}
