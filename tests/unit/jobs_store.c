/* jobs_store.c - tests of the store of finished jobs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "a_store.h"
#include "jobs/store.h"
#include "jobs/store_parts.h"
#include "scratch.h"

/* More than some pieces. */
#define JOBS 1000

static struct dn_finished a_job (int64_t id)
{
    struct dn_finished job;

    dn_finished_clear (&job);
    job.cluster = "c1";
    job.raw_id = id;
    job.submit_s = 5000 - id;
    job.start_s = 10000 + id;
    job.end_s = 20000 + id / 2;
    job.job = "12_3";
    job.user = id % 7;
    job.app = id % 2 ? "resnet" : "";
    job.gpus = 2;
    job.cpu_s = 0.5;
    job.state = "COMPLETED";
    return job;
}

static struct dn_store *new_store (void)
{
    store_remove ();
    return store_open (true);
}

static void add_well (struct dn_store *store, const struct dn_finished *job)
{
    assert_done (dn_store_add (store, job, &unit_err));
}

static void fill (int from, int to)
{
    dn_cleanup (dn_store_cleanup) struct dn_store *store = store_open (true);

    for (int i = from; i < to; i++) {
        struct dn_finished job = a_job (i);

        add_well (store, &job);
    }
    assert_done (dn_store_set_until (store, "x", to, &unit_err));
    assert_done (dn_store_commit (store, &unit_err));
}

/* --- adding ---------------------------------------------------------------------- */

/* A new store with the first 'n' jobs. */
static void refill (int n)
{
    store_remove ();
    fill (0, n);
}

struct copy {
    struct dn_finished job;
    char texts[DN_N_FINISHED_COLUMNS][128];
    int n;
};

static int copy_job (void *to, const struct dn_finished *job)
{
    struct copy *copy = to;

    copy->job = *job;
    copy->n++;
    for (int i = 0; i < DN_N_FINISHED_COLUMNS; i++)
        if (dn_finished_columns[i].type == DN_FINISHED_TEXT) {
            size_t at = dn_finished_columns[i].offset;

            snprintf (copy->texts[i],
                      sizeof (copy->texts[i]),
                      "%s",
                      *(const char *const *) ((const char *) job + at));
            *(const char **) ((char *) &copy->job + at) = copy->texts[i];
        }
    return 0;
}

static void read_last (struct copy *copy)
{
    dn_cleanup (dn_store_cleanup) struct dn_store *store = store_open (false);
    struct dn_store_filter all = dn_store_all ();

    copy->n = 0;
    assert_done (dn_store_read (store, &all, copy_job, copy, &unit_err));
}

/* Every column gets a value of its own, so that two that are exchanged are seen. */
TEST ("every column comes back as it was")
{
    static char texts[DN_N_FINISHED_COLUMNS][16];
    dn_cleanup (dn_store_cleanup) struct dn_store *store = new_store ();
    struct dn_finished job;
    struct copy copy;

    for (int i = 0; i < DN_N_FINISHED_COLUMNS; i++) {
        void *member = (char *) &job + dn_finished_columns[i].offset;

        snprintf (texts[i], sizeof (texts[i]), "text %d", i);
        if (dn_finished_columns[i].type == DN_FINISHED_COUNT)
            *(int64_t *) member = 1000 + i;
        else if (dn_finished_columns[i].type == DN_FINISHED_REAL)
            *(double *) member = 0.25 + i;
        else
            *(const char **) member = texts[i];
    }
    add_well (store, &job);
    assert_int_equal (dn_store_commit (store, NULL), 0);
    read_last (&copy);
    assert_int_equal (copy.n, 1);
    for (int i = 0; i < DN_N_FINISHED_COLUMNS; i++) {
        size_t at = dn_finished_columns[i].offset;
        const void *in = (const char *) &job + at;
        const void *out = (const char *) &copy.job + at;

        if (dn_finished_columns[i].type == DN_FINISHED_TEXT)
            assert_string_equal (copy.texts[i], texts[i]);
        else
            assert_memory_equal (in, out, sizeof (int64_t));
    }
}

TEST ("unknown values come back unknown")
{
    dn_cleanup (dn_store_cleanup) struct dn_store *store = new_store ();
    struct dn_finished job = a_job (1);
    struct copy copy;

    job.user = DN_UNSET;
    job.app = "";
    job.limit_s = DN_UNLIMITED;
    add_well (store, &job);
    assert_int_equal (dn_store_commit (store, NULL), 0);
    read_last (&copy);
    assert_int_equal (copy.job.user, DN_UNSET);
    assert_string_equal (copy.job.app, "");
    assert_int_equal (copy.job.limit_s, DN_UNLIMITED);
    assert_int_equal (copy.job.nodes, DN_UNSET);
    assert_string_equal (copy.job.host, "");
    assert_true (isnan (copy.job.power_w));
}

TEST ("a job that comes again replaces itself and keeps what was measured")
{
    dn_cleanup (dn_store_cleanup) struct dn_store *store = new_store ();
    struct dn_finished job = a_job (1);

    job.gpu_utilisation = 0.75;
    job.energy_j = 100;
    add_well (store, &job);
    job = a_job (1);
    job.state = "FAILED";
    job.energy_j = 200;
    job.cpu_s = NAN;
    add_well (store, &job);
    job.submit_s++; /* the same number again, years later */
    add_well (store, &job);
    job = a_job (1);
    job.start_s++; /* requeued */
    add_well (store, &job);
    job = a_job (1);
    job.cluster = "c2";
    add_well (store, &job);
    assert_int_equal (dn_store_commit (store, NULL), 0);
    assert_int_equal (store_count (NULL), 4);
    assert_int_equal (
        store_ask ("SELECT state = 'FAILED' AND gpu_utilisation = 0.75"
                   " AND energy_j = 200 AND cpu_s IS NULL FROM jobs WHERE id = 1"),
        1);
}

TEST ("a value that no store can have is an error with its column")
{
    dn_cleanup (dn_store_cleanup) struct dn_store *store = new_store ();
    char *big = unit_repeat ("x", DN_STORE_TEXT_MAX + 1);
    struct dn_finished jobs[6];
    static const char *const says[] = {
        "submit_s", "end_s", "raw_id", "power_w", "name", "limit_s"};

    for (size_t i = 0; i < DN_N_ELEMENTS (jobs); i++)
        jobs[i] = a_job (1);
    jobs[0].submit_s = DN_UNSET;
    jobs[1].end_s = DN_UNSET;
    jobs[2].raw_id = DN_UNSET;
    jobs[3].power_w = INFINITY;
    jobs[4].name = big;
    jobs[5].limit_s = -3;
    for (size_t i = 0; i < DN_N_ELEMENTS (jobs); i++)
        assert_error (dn_store_add (store, &jobs[i], &unit_err), says[i]);
}

TEST ("what is not committed is lost, with the mark")
{
    dn_cleanup (dn_store_cleanup) struct dn_store *store = NULL;
    struct dn_finished job = a_job (1);
    int64_t until;

    refill (10);
    store = store_open (true);
    job.raw_id = 99;
    add_well (store, &job);
    assert_int_equal (dn_store_set_until (store, "x", 77, NULL), 0);
    dn_store_close (store);
    store = store_open (false);
    assert_int_equal (dn_store_until (store, "x", &until, NULL), 0);
    assert_int_equal (until, 10);
    assert_int_equal (dn_store_until (store, "y", &until, NULL), 0);
    assert_int_equal (until, 0);
    assert_int_equal (store_count (NULL), 10);
}

TEST ("prune deletes what ended before")
{
    dn_cleanup (dn_store_cleanup) struct dn_store *store = NULL;
    struct dn_store_filter early = dn_store_all ();

    refill (5000);
    store = store_open (true);
    assert_int_equal (dn_store_prune (store, 22000, NULL), 0);
    assert_int_equal (store_count (NULL), 1000);
    early.until_s = 22000;
    assert_int_equal (store_count (&early), 0);
}

/* --- reading --------------------------------------------------------------------- */

struct seen {
    enum dn_store_order order;
    int64_t n;
    int64_t stop; /* after so many; 0: never */
    struct dn_finished last;
    char app[64];
    char account[64];
    bool out_of_order;
};

static int compare (int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int see (void *to, const struct dn_finished *job)
{
    struct seen *seen = to;
    int by = 0;

    if (seen->n > 0 && seen->order == DN_STORE_BY_END)
        by = compare (seen->last.end_s, job->end_s);
    if (seen->n > 0 && seen->order == DN_STORE_BY_SUBMIT)
        by = compare (seen->last.submit_s, job->submit_s);
    if (seen->n > 0 && seen->order == DN_STORE_BY_APP) {
        by = compare (seen->last.user, job->user);
        by = by ? by : strcmp (seen->app, job->app);
        by = by ? by : compare (seen->last.end_s, job->end_s);
    }
    if (seen->n > 0 && seen->order == DN_STORE_BY_ACCOUNT) {
        by = strcmp (seen->account, job->account);
        by = by ? by : strcmp (seen->app, job->app);
        by = by ? by : compare (seen->last.end_s, job->end_s);
    }
    seen->out_of_order = seen->out_of_order || by > 0;
    seen->last = *job;
    snprintf (seen->account, sizeof (seen->account), "%s", job->account);
    snprintf (seen->app, sizeof (seen->app), "%s", job->app);
    return ++seen->n == seen->stop ? 7 : 0;
}

static struct seen look (struct dn_store_filter filter)
{
    dn_cleanup (dn_store_cleanup) struct dn_store *store = store_open (false);
    struct seen seen = {.order = filter.order};

    assert_done (dn_store_read (store, &filter, see, &seen, &unit_err));
    assert_false (seen.out_of_order);
    assert_int_equal (seen.n, store_count (&filter));
    return seen;
}

TEST ("jobs are read once, in every order")
{
    refill (JOBS);
    for (int order = DN_STORE_BY_END; order <= DN_STORE_BY_SUBMIT; order++) {
        struct dn_store_filter filter = dn_store_all ();

        filter.order = (enum dn_store_order) order;
        assert_int_equal (look (filter).n, JOBS);
        filter.user = 3;
        assert_int_equal (look (filter).n, (JOBS - 3 + 6) / 7);
        filter.app = "resnet";
        assert_int_equal (look (filter).n, 72);
        filter.user = DN_UNSET;
        filter.app = "";
        assert_int_equal (look (filter).n, JOBS / 2);
        filter.app = NULL;
        filter.since_s = 20100;
        filter.until_s = 20101;
        assert_int_equal (look (filter).n, 2);
        filter.until_s = 0;
        assert_int_equal (look (filter).n, JOBS - 200);
        filter.cluster = "c2";
        assert_int_equal (look (filter).n, 0);
        filter = dn_store_all ();
        filter.order = (enum dn_store_order) order;
        filter.job = "12_3";
        filter.cluster = "c1";
        filter.unmeasured = true;
        assert_int_equal (look (filter).n, JOBS);
    }
}

/* The applications of an account come together, of all its users. */
TEST ("jobs are read by account")
{
    static const char *const accounts[] = {"lab", "", "other"};
    dn_cleanup (dn_store_cleanup) struct dn_store *store = new_store ();
    struct dn_store_filter filter = dn_store_all ();
    struct seen seen = {.order = DN_STORE_BY_ACCOUNT};

    for (int i = 0; i < 900; i++) {
        struct dn_finished job = a_job (i);

        job.account = accounts[i % 3];
        add_well (store, &job);
    }
    assert_int_equal (dn_store_commit (store, NULL), 0);
    filter.order = DN_STORE_BY_ACCOUNT;
    assert_int_equal (dn_store_read (store, &filter, see, &seen, NULL), 0);
    assert_false (seen.out_of_order);
    assert_int_equal (seen.n, 600);
}

TEST ("reading ends when the caller says so")
{
    dn_cleanup (dn_store_cleanup) struct dn_store *store = store_open (false);
    struct dn_store_filter all = dn_store_all ();
    struct seen seen = {.stop = 300};

    assert_int_equal (dn_store_read (store, &all, see, &seen, NULL), 7);
    assert_int_equal (seen.n, 300);
}

/* While the caller has a job, another process adds one. */
static int add_meanwhile (void *to, const struct dn_finished *job)
{
    int *n = to;
    int status = -1;
    pid_t pid;

    (void) job;
    if ((*n)++ > 0)
        return 0;
    pid = fork ();
    if (pid == 0) {
        fill (JOBS, JOBS + 1);
        _exit (0);
    }
    return waitpid (pid, &status, 0) == pid && status == 0 ? 0 : 1;
}

TEST ("others can add while jobs are read")
{
    dn_cleanup (dn_store_cleanup) struct dn_store *store = NULL;
    struct dn_store_filter all = dn_store_all ();
    int n = 0;

    refill (JOBS);
    store = store_open (false);
    assert_int_equal (dn_store_read (store, &all, add_meanwhile, &n, NULL), 0);
    assert_true (n >= JOBS);
    assert_int_equal (store_count (NULL), JOBS + 1);
}

static int measure (void *to, const struct dn_finished *job)
{
    struct dn_finished measured = *job;

    measured.gpu_utilisation = 0.5;
    return dn_store_add (to, &measured, NULL);
}

TEST ("jobs can be completed while they are read")
{
    dn_cleanup (dn_store_cleanup) struct dn_store *store = store_open (true);
    struct dn_store_filter filter = dn_store_all ();

    filter.unmeasured = true;
    assert_int_equal (store_count (&filter), JOBS + 1);
    assert_int_equal (dn_store_read (store, &filter, measure, store, NULL), 0);
    assert_int_equal (dn_store_commit (store, NULL), 0);
    assert_int_equal (store_count (&filter), 0);
    assert_int_equal (store_count (NULL), JOBS + 1);
}

/* --- the file -------------------------------------------------------------------- */

TEST ("a store that was edited is refused, or read up to the edit")
{
    static const struct {
        const char *sql;
        const char *says;
    } edits[] = {
        {"UPDATE jobs SET state = x'00ff' WHERE id = 900", "state: has a value"},
        {"UPDATE jobs SET state = 'a' || char (0) WHERE id = 900", "has a NUL byte"},
        {"UPDATE jobs SET name = printf ('%9000d', 1) WHERE id = 900", "at most"},
        {"UPDATE jobs SET nodes = 'many' WHERE id = 900", "nodes: has a value"},
        {"UPDATE jobs SET power_w = 9e999 WHERE id = 900", "power_w: has a value"},
        {"UPDATE jobs SET name = printf ('%.*c', 2000000, 'x')", "too big"},
        {"DROP INDEX jobs_app", "has tables that"},
        {"CREATE TRIGGER t AFTER INSERT ON jobs BEGIN DELETE FROM jobs; END",
         "has tables that"},
        {"CREATE TABLE more (x)", "has tables that"},
        {"ALTER TABLE jobs ADD COLUMN more AS (abs (id))", "has tables that"},
        {"ALTER TABLE jobs RENAME TO j2; CREATE VIEW jobs AS SELECT * FROM j2",
         "has tables that"},
        {"PRAGMA user_version = 1000", "is of version 1000, expected "},
        {"PRAGMA user_version = -7", "is of version -7, expected "},
        {"PRAGMA application_id = 1", "is a database of another program"},
        {"PRAGMA journal_mode = WAL", "is a database with a write-ahead log"},
        {"PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE VIEW "
         "jobs AS SELECT load_extension (1)', type = 'view' WHERE name = 'jobs'",
         "records.db: "},
        {"PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'nonsense'",
         "damaged (malformed database schema"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (edits); i++) {
        struct dn_store *store;
        struct dn_store_filter all = dn_store_all ();
        struct seen seen = {.n = 0};

        refill (JOBS);
        store_execute (edits[i].sql);
        store = dn_store_open (store_path (), false, &unit_err);
        if (store)
            assert_int_equal (dn_store_read (store, &all, see, &seen, &unit_err), -1);
        assert_contains (unit_err.text, edits[i].says);
        dn_store_close (store);
    }
}

static void expect_refused (const char *says)
{
    assert_null (dn_store_open (store_path (), false, &unit_err));
    assert_contains (unit_err.text, store_path ());
    assert_contains (unit_err.text, says);
}

TEST ("the file must be ours")
{
    const char *journal = scratch_path ("records.db-journal");
    const char *real = scratch_path ("records.db.real");

    store_remove ();
    expect_refused ("No such file");
    scratch_write ("records.db", "", 0);
    expect_refused ("is not a store of finished jobs");
    scratch_write ("records.db", "spec,gpu\n", 9);
    expect_refused ("is not a store of finished jobs");
    refill (1);
    chmod (store_path (), 0664);
    expect_refused ("writable by group or others (mode 0664)");
    assert_null (dn_store_open (store_path (), true, NULL));
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
    const struct dn_store_filter all = dn_store_all ();
    uint64_t random = 1;
    char *bytes;
    char *copy;
    size_t len;

    refill (40);
    bytes = scratch_read ("records.db", &len);
    copy = malloc (len);
    assert_true (copy && len > 4096);
    for (int round = 0; round < 600; round++) {
        struct dn_store *store;
        int64_t n = 0;

        memcpy (copy, bytes, len);
        for (int i = 0; i < 1 + round % 20; i++) {
            random = random * UINT64_C (6364136223846793005) + 1442695040888963407;
            /* often in the headers of pages */
            copy[(random >> 33) % (round % 3 ? len : 200)] = (char) (random >> 25);
        }
        scratch_write (
            "records.db", copy, round % 10 == 0 ? (size_t) (random >> 20) % len : len);
        unit_err.text[0] = '\0';
        store = dn_store_open (store_path (), false, &unit_err);
        if (!store || dn_store_read (store, &all, store_count_one, &n, &unit_err) < 0)
            assert_contains (unit_err.text, "records.db: ");
        assert_true (n < 100000);
        dn_store_close (store);
        store_remove ();
    }
    free (bytes);
    free (copy);
}

/* A process that adds is killed at any time: rows and mark are of the same commit. */
TEST ("who is killed leaves whole commits")
{
    refill (1);
    for (int i = 0; i < 30; i++) {
        dn_cleanup (dn_store_cleanup) struct dn_store *store = NULL;
        int64_t until;
        pid_t pid = fork ();

        assert_true (pid >= 0);
        if (pid == 0)
            for (int at = 0;; at += 5)
                fill (at, at + 5);
        usleep ((useconds_t) (3000 + 997 * i));
        kill (pid, SIGKILL);
        waitpid (pid, NULL, 0);
        store = store_open (false);
        assert_int_equal (dn_store_until (store, "x", &until, NULL), 0);
        assert_true (store_count (NULL) >= until);
        assert_true (until == 1 || until % 5 == 0);
    }
}
