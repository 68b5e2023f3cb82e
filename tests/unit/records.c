/* records.c - tests of the store: adding, reading, and hostile files
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "a_store.h"
#include "scratch.h"
#include "learn/records.h"
#include "learn/records_schema.h"
#include "learn/run_spec.h"
#include "tests/unit/networks.h"

#define SPEC "model=resnet50,batch=64"
#define SIDECAR                                                                        \
    "{\"dnnest\": 1, \"spec\": {\"batch\": 4, \"steps\": 100}, \"graph\": {\"ops\": "  \
    "[{\"op\": \"linear\", \"in\": [[64]], \"out\": [[8]], \"params\": 520}]}}"

/* KiB. The address sanitizer keeps 256 MiB of freed memory. */
#if defined(__SANITIZE_ADDRESS__)
#define RSS_MAX (512 * 1024)
#else
#define RSS_MAX (256 * 1024)
#endif

#define WRITERS 8
#define ROWS    15

static int add (const char *spec,
                const char *step_ms,
                const char *sidecar,
                struct dn_err *err)
{
    const char *const names[] = {"spec", "gpu", "step_ms", "sidecar", "unknown"};
    const char *const values[] = {spec, "t4_16gb", step_ms, sidecar, "x"};
    const struct dn_row row = {.n_columns = 5, .names = names, .values = values};
    dn_cleanup (dn_records_cleanup) struct dn_records *records = NULL;
    struct dn_run run;

    if (dn_records_open (store_path (), DN_RECORDS_ADD, &records, err) < 0
        || dn_run_read (&row, DN_RUN_KEEP, &run, err) < 0
        || dn_records_add (records, &run, err) < 0)
        return -1;
    return dn_records_commit (records, err);
}

static void add_well (const char *spec, const char *step_ms, const char *sidecar)
{
    assert_done (add (spec, step_ms, sidecar, &unit_err));
}

/* All rows as text: spec|step_ms|sidecar; */
struct seen {
    char text[4096];
    struct dn_buf buf;
    int64_t n;
};

static int see (const struct dn_row *row, void *context, struct dn_err *err)
{
    struct seen *seen = context;

    (void) err;
    seen->n++;
    dn_buf_add (&seen->buf,
                "%s|%s|%s;",
                dn_row_get (row, "spec"),
                dn_row_get (row, "step_ms"),
                dn_row_get (row, "sidecar"));
    return 0;
}

static int look (const struct dn_records_filter *filter,
                 struct seen *seen,
                 struct dn_err *err)
{
    dn_cleanup (dn_records_cleanup) struct dn_records *records = NULL;

    memset (seen, 0, sizeof (*seen));
    seen->buf = dn_buf_on (seen->text, sizeof (seen->text));
    if (dn_records_open (store_path (), DN_RECORDS_READ, &records, err) < 0)
        return -1;
    return dn_records_read (records, filter, see, NULL, seen, err);
}

static void expect (const char *want)
{
    struct seen seen;

    assert_done (look (NULL, &seen, &unit_err));
    assert_string_equal (seen.text, want);
}

static void expect_refused (const char *says)
{
    struct seen seen;

    if (look (NULL, &seen, &unit_err) == 0)
        fail_msg ("the store is read, expected '%s'", says);
    assert_contains (unit_err.text, says);
}

TEST ("records are read as they were added")
{
    store_remove ();
    add_well (SPEC, "90.5", "");
    add_well ("model=bert_base,batch=8", "", "");
    expect (SPEC "|90.5|;model=bert_base,batch=8||;");
}

TEST ("a sidecar is kept once and describes its run")
{
    static const char json[] =
        "|90.0|{\"dnnest\":1,\"spec\":{\"model\":\"graph\",\"batch\":\"4\",";
    struct seen seen;

    store_remove ();
    add_well ("@a.json", "90", SIDECAR);
    add_well ("@b.json", "91", SIDECAR);
    assert_int_equal (look (NULL, &seen, NULL), 0);
    assert_contains (seen.text, json);
    assert_int_equal (store_ask ("SELECT count (*) FROM sidecars"), 1);
}

TEST ("the metadata override the sidecar")
{
    const struct dn_datasets datasets = {.n_rows = 0};
    struct dn_spec spec;
    struct dn_graph graph = {0};
    struct dn_run run;

    dn_run_clear (&run);
    run.spec = "batch=7";
    run.sidecar = SIDECAR;
    assert_done (
        dn_run_spec (&run, &datasets, shipped_networks (), &spec, &graph, &unit_err));
    assert_int_equal (spec.batch, 7);
    assert_int_equal (spec.steps, 100);
    assert_int_equal (graph.n_ops, 1);
    dn_graph_free (&graph);
    run.spec = "@none.json";
    assert_done (
        dn_run_spec (&run, &datasets, shipped_networks (), &spec, &graph, &unit_err));
    assert_int_equal (spec.batch, 4);
    dn_graph_free (&graph);
    run.sidecar = "";
    assert_error (
        dn_run_spec (&run, &datasets, shipped_networks (), &spec, &graph, &unit_err),
        "spec: @none.json: sidecars are not read here");
}

TEST ("a wrong cell adds nothing")
{
    static char longer[DN_RECORD_TEXT_MAX + 2];
    const struct {
        const char *spec;
        const char *step_ms;
        const char *sidecar;
        const char *says;
    } cases[] = {
        {SPEC, "nan", "", "step_ms: "},
        {SPEC, "-1", "", "step_ms: "},
        {SPEC, "1e300", "", "step_ms: "},
        {SPEC, "fast", "", "step_ms: "},
        {longer, "1", "", "spec: 8193 bytes, expected at most 8192"},
        {SPEC, "1", "{\"dnnest\": 2}", "sidecar: "},
        {"@none.json", "1", "", "sidecars are not read here"},
    };

    memset (longer, 'x', sizeof (longer) - 1);
    store_remove ();
    add_well (SPEC, "1", "");
    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        assert_error (
            add (cases[i].spec, cases[i].step_ms, cases[i].sidecar, &unit_err),
            cases[i].says);
    }
    expect (SPEC "|1.0|;");
}

static struct dn_run some_run (void)
{
    struct dn_run run;

    dn_run_clear (&run);
    run.spec = SPEC;
    run.gpu = "t4_16gb";
    return run;
}

TEST ("uncommitted records are discarded")
{
    struct dn_run run = some_run ();
    struct dn_records *records;

    store_remove ();
    add_well (SPEC, "1", "");
    assert_int_equal (dn_records_open (store_path (), DN_RECORDS_ADD, &records, NULL),
                      0);
    assert_int_equal (dn_records_add (records, &run, NULL), 0);
    dn_records_close (records);
    expect (SPEC "|1.0|;");
}

TEST ("filters select records, also the newest")
{
    const struct dn_records_filter last = {.gpu = "t4_16gb", .last = 2};
    const struct dn_records_filter other = {.gpu = "k80_12gb"};
    const struct dn_records_filter quotes = {.group = "' OR 1 --"};
    struct seen seen;

    store_remove ();
    for (int i = 1; i <= 5; i++) {
        add_well ("a", unit_text ("%d", i), "");
    }
    assert_int_equal (look (&last, &seen, NULL), 0);
    assert_string_equal (seen.text, "a|4.0|;a|5.0|;");
    assert_int_equal (look (&other, &seen, NULL), 0);
    assert_int_equal (seen.n, 0);
    assert_int_equal (look (&quotes, &seen, NULL), 0);
    assert_int_equal (seen.n, 0);
}

/* --- parallel use ---------------------------------------------------------------- */

TEST ("many writers lose no row")
{
    pid_t pids[WRITERS];
    struct seen seen;

    store_remove (); /* the first process creates it */
    for (int i = 0; i < WRITERS; i++) {
        pids[i] = fork ();
        assert_true (pids[i] >= 0);
        if (pids[i] == 0) {
            int rc = 0;

            for (int k = 0; k < ROWS; k++)
                rc |= add ("@a.json", "1", SIDECAR, NULL);
            _exit (rc == 0 ? 0 : 1);
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        int status;

        assert_int_equal (waitpid (pids[i], &status, 0), pids[i]);
        assert_int_equal (status, 0);
    }
    assert_int_equal (look (NULL, &seen, NULL), 0);
    assert_int_equal (seen.n, WRITERS * ROWS);
}

static int add_from_outside (const struct dn_row *row,
                             void *context,
                             struct dn_err *err)
{
    int *n = context;
    int status = -1;
    pid_t pid = fork ();

    (void) row;
    if (pid == 0)
        _exit (add ("during", "1", "", err) == 0 ? 0 : 1);
    (*n)++;
    if (waitpid (pid, &status, 0) == pid && status == 0)
        return 0;
    return dn_err_set (err, DN_E_BUG, "locked out");
}

TEST ("reading locks no writer out and ends")
{
    dn_cleanup (dn_records_cleanup) struct dn_records *records = NULL;
    int n = 0;

    store_remove ();
    add_well (SPEC, "1", "");
    add_well (SPEC, "2", "");
    assert_done (dn_records_open (store_path (), DN_RECORDS_READ, &records, &unit_err));
    assert_done (
        dn_records_read (records, NULL, add_from_outside, NULL, &n, &unit_err));
    assert_int_equal (n, 2);
    expect (SPEC "|1.0|;" SPEC "|2.0|;during|1.0|;during|1.0|;");
}

TEST ("a writer that was killed leaves no half row")
{
    struct dn_run run = some_run ();
    int status;
    pid_t pid;

    store_remove ();
    add_well (SPEC, "1", "");
    pid = fork ();
    if (pid == 0) {
        struct dn_records *records;

        /* so many that pages have gone to the file, and their old state to its journal
         */
        if (dn_records_open (store_path (), DN_RECORDS_ADD, &records, NULL) < 0)
            _exit (1);
        for (int i = 0; i < 100000; i++)
            if (dn_records_add (records, &run, NULL) < 0)
                _exit (1);
        kill (getpid (), SIGKILL);
    }
    assert_int_equal (waitpid (pid, &status, 0), pid);
    assert_true (WIFSIGNALED (status));
    expect (SPEC "|1.0|;");
}

/* --- hostile files --------------------------------------------------------------- */

/* The writer of a named pipe waits for a reader, and ends when the reader closes it. So
 * the pipe must not be opened.
 */
TEST ("a named pipe is not opened")
{
    int watch = inotify_init1 (IN_NONBLOCK);
    char event[sizeof (struct inotify_event)];
    const char *name = scratch_path ("records.db-pipe");

    assert_int_equal (mkfifo (name, 0600), 0);
    assert_true (watch >= 0 && inotify_add_watch (watch, name, IN_OPEN) >= 0);
    assert_false (dn_records_is (name));
    assert_int_equal (read (watch, event, sizeof (event)), -1);
    assert_int_equal (errno, EAGAIN);
    close (watch);
    remove (name);
}

TEST ("other databases are refused")
{
    static const struct {
        const char *sql;
        const char *says;
    } cases[] = {
        {"PRAGMA user_version = 1000", "is of version 1000, expected "},
        {"PRAGMA user_version = -7", "is of version -7, expected "},
        {"PRAGMA application_id = 1", "is a database of another program"},
        {"PRAGMA journal_mode = WAL", "is a database with a write-ahead log"},
        {"DROP TABLE records", "has tables that"},
        {"CREATE TABLE more (x)", "has tables that"},
        {"CREATE INDEX more ON records (gpu)", "has tables that"},
        {"CREATE TRIGGER more AFTER INSERT ON records BEGIN DELETE FROM records; END",
         "has tables that"},
        {"ALTER TABLE records RENAME TO r2; CREATE VIEW records AS SELECT * FROM r2",
         "has tables that"},
        {"ALTER TABLE records ADD COLUMN more AS (abs (id))", "has tables that"},
        {"PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE VIEW "
         "records AS SELECT load_extension (1)', type = 'view' WHERE name = 'records'",
         "records.db: "},
        {"PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'nonsense'",
         "damaged (malformed database schema"},
        {"PRAGMA writable_schema = ON; INSERT INTO sqlite_master (type, name, sql) "
         "VALUES ('table', 'x', printf ('%.*c', 2000000, 'x'))",
         "records.db: "},
        {"PRAGMA ignore_check_constraints = ON; UPDATE records SET step_ms = 'x'",
         "record 1: step_ms: has a value of another type"},
        {"PRAGMA ignore_check_constraints = ON; UPDATE records SET spec = x'6161'",
         "record 1: spec: has a value of another type"},
        {"UPDATE records SET step_ms = 9e999",
         "record 1: step_ms: has a value of another type"},
        {"UPDATE records SET spec = CAST (x'610062' AS TEXT)",
         "record 1: spec: has a NUL byte"},
        {"UPDATE records SET spec = printf ('%.*c', 100000, 'x')",
         "record 1: spec: 100000 bytes, expected at most 8192"},
        {"UPDATE records SET spec = printf ('%.*c', 2000000, 'x')", "too big"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        store_remove ();
        add_well (SPEC, "1", "");
        store_execute (cases[i].sql);
        expect_refused (cases[i].says);
    }
    store_remove ();
}

TEST ("other files are refused")
{
    const char *journal = scratch_path ("records.db-journal");
    const char *real = scratch_path ("records.db.real");

    store_remove ();
    expect_refused ("No such file");
    scratch_write ("records.db", "", 0);
    expect_refused ("is not a store of records");
    scratch_write ("records.db", "spec,gpu\n", 9);
    expect_refused (
        "is not a store of records (tables are imported with 'dnnest-dev records");
    store_remove ();
    add_well (SPEC, "1", "");
    chmod (store_path (), 0664);
    expect_refused ("writable by group or others (mode 0664)");
    chmod (store_path (), 0644);
    chmod (scratch_path (""), 0777);
    expect_refused ("in a directory that all users can write to (mode 0777)");
    chmod (scratch_path (""), 0700);
    assert_int_equal (symlink ("/etc/passwd", journal), 0);
    expect_refused ("its journal: not a regular file");
    remove (journal);
    assert_int_equal (rename (store_path (), real), 0);
    assert_int_equal (symlink (real, store_path ()), 0);
    expect_refused ("is a symbolic link");
    remove (real);
    store_remove ();
    assert_int_equal (mkfifo (store_path (), 0644), 0);
    expect_refused ("not a regular file");
    store_remove ();
}

/* For any content: an answer of bounded size, and no crash. */
TEST ("damaged files do no harm")
{
    struct rusage usage;
    uint64_t random = 1;
    char *bytes;
    char *copy;
    size_t len;

    store_remove ();
    for (int i = 0; i < 40; i++)
        add_well ("@a.json", "1", SIDECAR);
    bytes = scratch_read ("records.db", &len);
    copy = malloc (len);
    assert_true (len > 4096);
    for (int round = 0; round < 600; round++) {
        struct seen seen;
        size_t cut = len;

        memcpy (copy, bytes, len);
        for (int i = 0; i < 1 + round % 20; i++) {
            random = random * UINT64_C (6364136223846793005) + 1442695040888963407;
            /* often in the headers of pages */
            copy[(random >> 33) % (round % 3 ? len : 200)] = (char) (random >> 25);
        }
        if (round % 10 == 0)
            cut = (random >> 20) % len;
        scratch_write ("records.db", copy, cut);
        if (look (NULL, &seen, &unit_err) < 0)
            assert_true (unit_err.text[0] != '\0');
        assert_true (seen.n < 100000);
        store_remove ();
    }
    free (bytes);
    free (copy);
    assert_int_equal (getrusage (RUSAGE_SELF, &usage), 0);
    assert_true (usage.ru_maxrss < RSS_MAX);
}
