/* records_versions.c - tests of the store's versions: reading and upgrading older ones
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "a_store.h"
#include "scratch.h"
#include "learn/records.h"
#include "learn/records_schema.h"

/* So many rows that they are read in several pieces. */
#define ROWS 600

/* Rows in the store of version 1 of tests/data. */
#define ROWS_V1 3

static int add (int n, struct dn_err *err)
{
    dn_cleanup (dn_records_cleanup) struct dn_records *records = NULL;
    struct dn_run run;

    dn_run_clear (&run);
    run.spec = "model=resnet50,batch=64,precision=fp16,optimizer=momentum";
    run.gpu = "t4_16gb";
    run.step_ms = 90;
    run.elapsed_s = 7;
    run.host = "n1";
    if (dn_records_open (store_path (), DN_RECORDS_ADD, &records, err) < 0)
        return -1;
    for (int i = 0; i < n; i++)
        if (dn_records_add (records, &run, err) < 0)
            return -1;
    return dn_records_commit (records, err);
}

static void add_well (int n)
{
    assert_done (add (n, &unit_err));
}

/* All rows. */
struct seen {
    int n;
    char first[1024];
};

static int see (const struct dn_row *row, void *context, struct dn_err *err)
{
    struct seen *seen = context;

    if (seen->n++ == 0) {
        struct dn_buf buf = dn_buf_on (seen->first, sizeof (seen->first));

        for (int i = 0; i < row->n_columns; i++)
            dn_buf_add (&buf, "%s|", row->values[i]);
    }
    return 0;
}

static int look (struct seen *seen, struct dn_err *err)
{
    dn_cleanup (dn_records_cleanup) struct dn_records *records = NULL;

    memset (seen, 0, sizeof (*seen));
    if (dn_records_open (store_path (), DN_RECORDS_READ, &records, err) < 0)
        return -1;
    return dn_records_read (records, NULL, see, NULL, seen, err);
}

/* Number of rows. */
static int look_well (struct seen *seen)
{
    assert_done (look (seen, &unit_err));
    return seen->n;
}

/* The same with so many rows. */
static void make_many (void)
{
    store_make_version_1 ();
    store_execute (
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 597) "
        "INSERT INTO records (spec, gpu) SELECT 'model=resnet50', 't4_16gb' FROM n");
}

/* --- the table of columns -------------------------------------------------------- */

TEST ("every column is of a version up to the newest")
{
    int n_sidecars = 0;

    for (int i = 0; i < DN_N_RUN_COLUMNS; i++) {
        const struct dn_run_column *column = &dn_run_columns[i];

        assert_in_range (column->since, 1, DN_RECORDS_VERSION);
        assert_ptr_equal (dn_run_column_find (column->name), column);
        assert_true (column->help[0] != '\0');
        n_sidecars += column->type == DN_RUN_SIDECAR;
    }
    assert_int_equal (n_sidecars, 1);
    assert_null (dn_run_column_find ("colour"));
}

TEST ("a cell is read by its type")
{
    const char *const names[] = {
        "oom", "gpus", "colour", "step_ms", "sigma", "gpu", "spec", "group"};
    const char *const values[] = {"1", "8", "red", "0", "0", "t4_16gb", "a", ""};
    const char *const wrong[] = {"maybe", "x", "red", "fast", "-1", "t4_16gb", "a", ""};
    struct dn_row row = {.n_columns = 8, .names = names, .values = values};
    struct dn_err err = {0};
    struct dn_run run;

    assert_int_equal (dn_run_read (&row, DN_RUN_KEEP, &run, &err), 0);
    assert_int_equal (run.oom, 1);
    assert_int_equal (run.gpus, 8);
    assert_true (run.step_ms == 0 && run.sigma == 0 && isnan (run.power_w));
    assert_int_equal (run.censored, DN_UNSET);
    assert_string_equal (run.gpu, "t4_16gb");
    assert_string_equal (run.group, "");
    assert_string_equal (run.job, "");
    assert_int_equal (dn_run_read (&row, DN_RUN_JUDGE, &run, &err), -1);
    assert_string_equal (err.text, "step_ms: 0 out of range 1e-09..1e+15");
    row.values = wrong;
    assert_int_equal (dn_run_read (&row, DN_RUN_SHOW, &run, &err), 0);
    assert_true (isnan (run.step_ms) && isnan (run.sigma));
    assert_int_equal (run.oom, DN_UNSET);
    assert_int_equal (dn_run_read (&row, DN_RUN_JUDGE, &run, &err), -1);
    assert_contains (err.text, "step_ms: 'fast' is not a number, expected 1e-09..");
    assert_string_equal (run.gpu, "t4_16gb");
    assert_int_equal (dn_run_read (&row, DN_RUN_KEEP, &run, &err), -1);
    assert_contains (err.text, "step_ms: 'fast' is not a number, expected 0..");
}

/* --- versions -------------------------------------------------------------------- */

static const char first_of_version_1[] =
    "model=resnet50,batch=64,precision=fp16|v100_sxm2_32gb|90.0|8.0|||cnn|ours|"
    "2026-01-02T03:04:05Z||100|0.01||||||||1|0|0|3600.0|COMPLETED||12_3|||";

TEST ("reading an older store does not change it")
{
    struct seen seen;
    size_t len;
    size_t len_after;
    char *before;
    char *after;

    store_make_version_1 ();
    before = scratch_read ("records.db", &len);
    assert_int_equal (look_well (&seen), ROWS_V1);
    after = scratch_read ("records.db", &len_after);
    assert_memory_equal (
        seen.first, first_of_version_1, sizeof (first_of_version_1) - 1);
    assert_int_equal (len, len_after);
    assert_memory_equal (before, after, len);
    free (before);
    free (after);
}

TEST ("a store that cannot be written is read in its version")
{
    const int unseen = 10;
    int status;
    pid_t pid;

    store_make_version_1 ();
    assert_int_equal (chmod (store_path (), 0444), 0);
    assert_int_equal (chmod (scratch_path (""), 0755), 0);
    pid = fork ();
    assert_true (pid >= 0);
    if (pid == 0) {
        struct dn_err err = {0};
        struct seen seen;

        /* root may write to everything; the store may be root's */
        if (geteuid () == 0 && seteuid (65534) < 0)
            _exit (1);
        /* A folder above may be root's alone, as that of a build of packages is. */
        if (open (store_path (), O_RDONLY | O_CLOEXEC) < 0)
            _exit (unseen);
        if (look (&seen, &err) < 0 || seen.n != ROWS_V1)
            _exit (2);
        if (add (1, &err) == 0 || !strstr (err.text, "records.db: from version")
            || !strstr (err.text, "attempt to write a readonly database"))
            _exit (3);
        _exit (0);
    }
    assert_int_equal (waitpid (pid, &status, 0), pid);
    assert_true (WIFEXITED (status));
    if (WEXITSTATUS (status) != unseen)
        assert_int_equal (WEXITSTATUS (status), 0);
    assert_int_equal (store_ask ("PRAGMA user_version"), 1);
    assert_int_equal (chmod (store_path (), 0644), 0);
    assert_int_equal (chmod (scratch_path (""), 0700), 0);
}

/* A hash of all statements that SQLite keeps. */
static int schema_of_store (void)
{
    int hash = 0;
    sqlite3 *db;
    sqlite3_stmt *list;

    assert_int_equal (sqlite3_open (store_path (), &db), SQLITE_OK);
    assert_int_equal (
        sqlite3_prepare_v2 (db, "SELECT sql FROM sqlite_master", -1, &list, NULL),
        SQLITE_OK);
    while (sqlite3_step (list) == SQLITE_ROW) {
        const char *text = (const char *) sqlite3_column_text (list, 0);

        for (; text && *text; text++)
            hash = (hash * 31 + *text) % 1000003;
    }
    sqlite3_finalize (list);
    sqlite3_close (db);
    return hash;
}

TEST ("adding upgrades an older store to the newest version")
{
    struct seen seen;
    int grown;

    store_make_version_1 ();
    add_well (1);
    assert_int_equal (store_ask ("PRAGMA user_version"), DN_RECORDS_VERSION);
    assert_int_equal (look_well (&seen), ROWS_V1 + 1);
    assert_memory_equal (
        seen.first, first_of_version_1, sizeof (first_of_version_1) - 1);
    assert_int_equal (store_ask ("SELECT count (*) FROM records WHERE elapsed_s = 7"),
                      1);
    grown = schema_of_store ();
    store_remove ();
    add_well (1);
    assert_int_equal (schema_of_store (), grown);
}

TEST ("a store that is opened and not committed keeps its version")
{
    struct dn_records *records;

    store_make_version_1 ();
    assert_int_equal (dn_records_open (store_path (), DN_RECORDS_ADD, &records, NULL),
                      0);
    dn_records_close (records);
    assert_int_equal (store_ask ("PRAGMA user_version"), 1);
    add_well (1);
}

/* A version number on tables that another version or program has changed. */
TEST ("a store that does not match its version is refused")
{
    static const char *const changes[] = {
        "CREATE TABLE more (x)",
        "CREATE TRIGGER more AFTER INSERT ON records BEGIN DELETE FROM records; END",
        "ALTER TABLE records ADD COLUMN a_number REAL",
        "PRAGMA user_version = 2",
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (changes); i++) {
        struct seen seen;
        int64_t version;

        store_make_version_1 ();
        store_execute (changes[i]);
        version = store_ask ("PRAGMA user_version");
        assert_error (look (&seen, &unit_err),
                      "has tables that a store of records does not have");
        assert_error (add (1, &unit_err),
                      "has tables that a store of records does not have");
        assert_int_equal (store_ask ("PRAGMA user_version"), version);
    }
}

/* --- parallel use ---------------------------------------------------------------- */

static int grow_meanwhile (const struct dn_row *row, void *context, struct dn_err *err)
{
    int *n = context;
    int status = -1;
    pid_t pid = (*n)++ == 0 ? fork () : -1;

    if (*n > 1)
        return 0;
    if (pid == 0)
        _exit (add (1, err) == 0 ? 0 : 1);
    if (waitpid (pid, &status, 0) == pid && status == 0)
        return 0;
    return dn_err_set (err, DN_E_BUG, "the other cannot add");
}

TEST ("a reader continues while another program upgrades the store")
{
    dn_cleanup (dn_records_cleanup) struct dn_records *records = NULL;
    int n = 0;

    make_many ();
    assert_done (dn_records_open (store_path (), DN_RECORDS_READ, &records, &unit_err));
    assert_done (dn_records_read (records, NULL, grow_meanwhile, NULL, &n, &unit_err));
    assert_int_equal (n, ROWS);
    assert_int_equal (store_ask ("PRAGMA user_version"), DN_RECORDS_VERSION);
}

TEST ("programs that upgrade a store at the same time lose no row")
{
    pid_t pids[8];
    struct seen seen;

    store_make_version_1 ();
    for (size_t i = 0; i < DN_N_ELEMENTS (pids); i++) {
        pids[i] = fork ();
        assert_true (pids[i] >= 0);
        if (pids[i] == 0)
            _exit (add (5, NULL) == 0 ? 0 : 1);
    }
    for (size_t i = 0; i < DN_N_ELEMENTS (pids); i++) {
        int status;

        assert_int_equal (waitpid (pids[i], &status, 0), pids[i]);
        assert_int_equal (status, 0);
    }
    assert_int_equal (look_well (&seen), ROWS_V1 + 8 * 5);
}

/* --- killed ---------------------------------------------------------------------- */

/* SQLite's own file system, but it kills the process at the n-th change of a file. */
static sqlite3_vfs deadly;
static sqlite3_vfs *usual;
static sqlite3_io_methods methods;
static const sqlite3_io_methods *usual_methods;
static int n_left;

static void count_down (void)
{
    if (n_left-- == 0)
        kill (getpid (), SIGKILL);
}

/* Write only half of the data. */
static int deadly_write (sqlite3_file *file, const void *bytes, int n, sqlite3_int64 at)
{
    if (n_left == 0)
        usual_methods->xWrite (file, bytes, n / 2, at);
    count_down ();
    return usual_methods->xWrite (file, bytes, n, at);
}

static int deadly_sync (sqlite3_file *file, int flags)
{
    count_down ();
    return usual_methods->xSync (file, flags);
}

static int deadly_truncate (sqlite3_file *file, sqlite3_int64 size)
{
    count_down ();
    return usual_methods->xTruncate (file, size);
}

static int deadly_delete (sqlite3_vfs *vfs, const char *name, int sync)
{
    (void) vfs;
    count_down ();
    return usual->xDelete (usual, name, sync);
}

static int deadly_open (sqlite3_vfs *vfs,
                        const char *name,
                        sqlite3_file *file,
                        int flags,
                        int *given)
{
    int rc = usual->xOpen (usual, name, file, flags, given);

    (void) vfs;
    if (rc != SQLITE_OK || !file->pMethods)
        return rc;
    usual_methods = file->pMethods;
    methods = *usual_methods;
    methods.xWrite = deadly_write;
    methods.xSync = deadly_sync;
    methods.xTruncate = deadly_truncate;
    file->pMethods = &methods;
    return rc;
}

/* Add a row with a program that is killed at the n-th change. Is it alive? */
static bool survives (int n)
{
    int status;
    pid_t pid = fork ();

    assert_true (pid >= 0);
    if (pid == 0) {
        usual = sqlite3_vfs_find (NULL);
        deadly = *usual;
        deadly.zName = "deadly";
        deadly.xOpen = deadly_open;
        deadly.xDelete = deadly_delete;
        n_left = n;
        _exit (sqlite3_vfs_register (&deadly, 1) == SQLITE_OK && add (1, NULL) == 0
                   ? 0
                   : 1);
    }
    assert_int_equal (waitpid (pid, &status, 0), pid);
    assert_true (WIFSIGNALED (status) || status == 0);
    return !WIFSIGNALED (status);
}

TEST ("a program that is killed leaves the old version or the new one")
{
    struct seen seen;
    size_t len;
    char *bytes;
    bool alive = false;
    int n_old = 0;
    int n;

    make_many ();
    bytes = scratch_read ("records.db", &len);
    for (n = 0; !alive; n++) {
        int rows;

        assert_in_range (n, 0, 10000);
        store_remove ();
        scratch_write ("records.db", bytes, len);
        alive = survives (n);
        rows = look_well (&seen);
        if (store_ask ("PRAGMA user_version") == 1) {
            assert_int_equal (rows, ROWS);
            n_old++;
        } else {
            assert_int_equal (store_ask ("PRAGMA user_version"), DN_RECORDS_VERSION);
            assert_int_equal (rows, ROWS + 1);
        }
        add_well (1);
        assert_int_equal (look_well (&seen), rows + 1);
    }
    free (bytes);
    /* the journal, all pages, and the end of the journal */
    assert_true (n > 20);
    assert_true (n_old > 20 && n_old < n);
}
