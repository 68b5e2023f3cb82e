/* history_build.c - tests of the history that is built from finished jobs, and its gate
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <sys/stat.h>
#include <unistd.h>

#include "a_store.h"
#include "jobs/history/apps_build.h"
#include "jobs/history/known_build.h"
#include "predict/learned.h"
#include "unit.h"

#define NOW   1700000000
#define ALICE 1000
#define BOB   1001
#define CAROL 1002

static int64_t next_id;

static struct dn_store *store_open (bool adding)
{
    struct dn_store *store =
        assert_made (dn_store_open (store_path (), adding, &unit_err));

    return store;
}

static void store_end (struct dn_store *store)
{
    assert_int_equal (dn_store_commit (store, NULL), 0);
    dn_store_close (store);
}

int before_test (void **state)
{
    store_remove ();
    next_id = 1;
    return 0;
}

/* A completed job that ran so long, one a minute. */
static struct dn_finished job_of (int64_t user, const char *app, double ran_s)
{
    struct dn_finished job;

    dn_finished_clear (&job);
    job.cluster = "test";
    job.raw_id = next_id++;
    job.end_s = NOW - 86400 + job.raw_id * 60;
    job.start_s = job.end_s - (int64_t) ran_s;
    job.submit_s = job.start_s;
    job.user = user;
    job.app = app;
    job.state = "COMPLETED";
    job.outcome = "completed";
    job.gpu = "a100";
    job.gpus = 2;
    job.work_unit = "run";
    job.work = 1;
    return job;
}

static void add (struct dn_store *store, const struct dn_finished *job)
{
    assert_done (dn_store_add (store, job, &unit_err));
}

static void add_runs (int64_t user, const char *app, double ran_s, int n)
{
    struct dn_store *store = store_open (true);

    for (int i = 0; i < n; i++) {
        struct dn_finished job = job_of (user, app, ran_s * (1 + 0.01 * (i % 3)));

        add (store, &job);
    }
    store_end (store);
}

static struct dn_gate gate;

static void free_apps (void *apps)
{
    dn_apps_free (apps);
}

/* They are kept for the test. */
static struct dn_apps *apps_of (const struct dn_build *build)
{
    struct dn_store *store = store_open (false);
    struct dn_apps *apps = assert_made (dn_build_apps (store, build, &gate, &unit_err));

    dn_store_close (store);
    return unit_keep (apps, free_apps);
}

static const struct dn_build plain = {.now_s = NOW, .bundle = "here"};

static const struct dn_app_row *row_of (const struct dn_apps *apps,
                                        int64_t user,
                                        const char *app)
{
    return dn_apps_find (apps, dn_app_key_of_user (user, app), "a100", 2);
}

static double bound (const struct dn_app_row *row)
{
    return dn_range_at (dn_app_row_time (row, 1), 0.95);
}

TEST ("each owner application and type has a row")
{
    struct dn_store *store;
    struct dn_finished job;
    struct dn_apps *apps;

    add_runs (ALICE, "train", 1000, 5);
    add_runs (BOB, "train", 9000, 2);
    store = store_open (true);
    job = job_of (ALICE, "train", 2000);
    job.gpu = "v100";
    add (store, &job);
    store_end (store);
    apps = apps_of (&plain);
    assert_int_equal (apps->n_rows, 3);
    assert_int_equal (row_of (apps, ALICE, "train")->runs, 5);
    assert_float_equal (row_of (apps, BOB, "train")->unit_s, 9045, 60);
    assert_int_equal (
        dn_apps_find (apps, dn_app_key_of_user (ALICE, "train"), "v100", 2)->runs, 1);
    assert_null (row_of (apps, BOB, "other"));
}

TEST ("host memory is learned, and that a job was killed when it was lowered")
{
    struct dn_store *store = store_open (true);
    struct dn_finished job;
    struct dn_apps *apps;

    for (int i = 0; i < 3; i++) {
        job = job_of (ALICE, "train", 1000);
        job.host_mem_gb = 10 + i;
        job.nodes = 2;
        if (i == 0)
            job.host_mem_gb = NAN;
        add (store, &job);
        job = job_of (BOB, "train", 1000);
        job.host_mem_gb = 5;
        add (store, &job);
    }
    job = job_of (BOB, "train", 100);
    job.mode = "enforce";
    job.verdict = "change";
    job.set_mem_gb = 12;
    job.state = "OUT_OF_MEMORY";
    job.outcome = "out_of_memory";
    add (store, &job);
    store_end (store);
    apps = apps_of (&plain);
    /* 12 GiB on each of two nodes. */
    assert_float_equal (row_of (apps, ALICE, "train")->mem_gb, 24, 1e-3);
    assert_int_equal (row_of (apps, ALICE, "train")->mem_runs, 2);
    assert_false (row_of (apps, ALICE, "train")->mem_kept);
    assert_float_equal (row_of (apps, BOB, "train")->mem_gb, 5, 1e-3);
    assert_int_equal (row_of (apps, BOB, "train")->mem_runs, 3);
    assert_true (row_of (apps, BOB, "train")->mem_kept);
}

TEST ("what says nothing is left out")
{
    static const struct {
        const char *state;
        const char *outcome;
    } classes[] = {
        {"FAILED", "failed"},
        {"FAILED", "failed_early"},
        {"OUT_OF_MEMORY", "out_of_memory"},
        {"NODE_FAIL", "node_failure"},
        {"REQUEUED", "requeued"},
        {"CANCELLED", "cancelled"},
        {"TIMEOUT", "limit_user"},
    };
    struct dn_store *store = store_open (true);
    struct dn_apps *apps;

    for (size_t i = 0; i < DN_N_ELEMENTS (classes); i++) {
        struct dn_finished job = job_of (ALICE, classes[i].outcome, 1000);

        job.state = classes[i].state;
        job.outcome = classes[i].outcome;
        add (store, &job);
    }
    store_end (store);
    apps = apps_of (&plain);
    assert_int_equal (apps->n_rows, 0);
}

/* 500 absurd runs of another user under the same name, and 300 other applications. */
TEST ("no user moves the bound of another")
{
    struct dn_apps *before;
    struct dn_apps *after;
    double bound_before;

    add_runs (BOB, "train", 10000, 3);
    before = apps_of (&plain);
    bound_before = bound (row_of (before, BOB, "train"));
    add_runs (ALICE, "train", 1, 500);
    for (int i = 0; i < 300; i++) {
        add_runs (ALICE, unit_text ("fast%d", i), 5, 3);
    }
    after = apps_of (&plain);
    assert_float_equal (bound (row_of (after, BOB, "train")), bound_before, 1e-3);
}

TEST ("an owner has a bounded number of rows")
{
    struct dn_store *store = store_open (true);
    struct dn_apps *apps;
    int64_t own = 0;

    for (int i = 0; i < DN_BUILD_OWNER_MAX + 200; i++) {
        struct dn_finished job = job_of (ALICE, unit_text ("a%d", i), 500);

        add (store, &job);
    }
    store_end (store);
    add_runs (BOB, "train", 10000, 1);
    apps = apps_of (&plain);
    for (int64_t i = 0; i < apps->n_rows; i++)
        own += apps->rows[i].unit_s < 5000;
    assert_int_equal (own, DN_BUILD_OWNER_MAX);
    assert_non_null (row_of (apps, BOB, "train"));
}

/* Runs of several users of an account are one row there; a job without an account is in
 * that of its user only.
 */
TEST ("an account may have rows beside those of its users")
{
    static const struct {
        int64_t user;
        const char *account;
    } owners[] = {{ALICE, "lab"}, {BOB, "other"}, {BOB + 1, "lab"}, {BOB, ""}};
    struct dn_store *store = store_open (true);
    struct dn_build build = plain;
    struct dn_apps *apps;

    build.by_account = true;
    for (int i = 0; i < 12; i++) {
        struct dn_finished job = job_of (owners[i % 4].user, "train", 1000);

        job.account = owners[i % 4].account;
        add (store, &job);
    }
    store_end (store);
    apps = apps_of (&build);
    assert_int_equal (apps->n_rows, 5);
    assert_int_equal (row_of (apps, BOB, "train")->runs, 6);
    assert_int_equal (
        dn_apps_find (apps, dn_app_key_of_account ("lab", "train"), "a100", 2)->runs,
        6);
    assert_int_equal (
        dn_apps_find (apps, dn_app_key_of_account ("other", "train"), "a100", 2)->runs,
        3);
}

static double base_of_today (void *to, const struct dn_finished *job)
{
    (void) job;
    return *(const double *) to;
}

TEST ("other bundles count by what is predicted today")
{
    struct dn_store *store = store_open (true);
    struct dn_build build = plain;
    double today = 500;
    struct dn_apps *apps;

    for (int i = 0; i < 4; i++) {
        struct dn_finished job = job_of (ALICE, "train", 1000);

        job.work_unit = "predicted";
        job.work = job.base_s = 2000;
        job.bundle = i < 2 ? "here" : "older";
        add (store, &job);
    }
    store_end (store);
    apps = apps_of (&plain);
    assert_int_equal (row_of (apps, ALICE, "train")->runs, 2);
    assert_float_equal (row_of (apps, ALICE, "train")->unit_s, 0.5, 0.01);
    build.base = base_of_today;
    build.base_to = &today;
    apps = apps_of (&build);
    assert_int_equal (row_of (apps, ALICE, "train")->runs, 4);
}

TEST ("the rows survive their file")
{
    struct dn_apps *apps;

    for (int user = 0; user < 50; user++)
        add_runs (user, "train", 100 + user, 3);
    apps = apps_of (&plain);
    for (int64_t i = 1; i < apps->n_rows; i++)
        assert_true (apps->rows[i - 1].key < apps->rows[i].key);
}

/* --- the gate ----------------------------------------------------------------------
 */

/* A run that was predicted to take 'likely_s'. */
static void add_one (struct dn_store *store,
                     int64_t user,
                     const char *app,
                     double ran_s,
                     double likely_s)
{
    struct dn_finished job = job_of (user, app, ran_s);

    if (likely_s > 0) {
        job.likely_s = likely_s;
        job.p95_s = 1.5 * likely_s;
    }
    add (store, &job);
}

/* What is in force does not know them; or it knows each of them, and the runs differ by
 * a factor of ten that their history cannot see.
 */
static void add_well (struct dn_store *store, int64_t user, const char *app)
{
    for (int i = 0; i < 20; i++)
        add_one (store, user, app, 1000 * (1 + 0.02 * (i % 5 - 2)), 600);
}
static void add_badly (struct dn_store *store, int64_t user, const char *app)
{
    for (int i = 0; i < 20; i++)
        add_one (store, user, app, i % 2 ? 1000 : 100, i % 2 ? 1000 : 100);
}

static void close_added (struct dn_store *store)
{
    store_end (store);
}

TEST ("a better history passes")
{
    struct dn_store *store = store_open (true);

    add_well (store, ALICE, "train");
    close_added (store);
    apps_of (&plain);
    assert_int_equal (gate.before.runs, 4);
    assert_float_equal (gate.before.error, 0.5, 0.05);
    assert_true (gate.after.error < 0.05);
    assert_true (gate.passed && gate.n_judged == 1 && gate.n_worse == 0);
}

TEST ("a row that is worse keeps what is in force, the others are installed")
{
    struct dn_store *store = store_open (true);
    struct dn_build build = plain;
    struct dn_apps *old;
    struct dn_apps *apps;

    add_well (store, ALICE, "train");
    add_well (store, BOB, "train");
    add_badly (store, BOB, "odd");
    for (int i = 0; i < 30; i++) {
        add_badly (store, BOB, unit_text ("odd%d", i));
    }
    close_added (store);
    apps = apps_of (&plain);
    assert_int_equal (gate.n_judged, 33);
    assert_int_equal (gate.n_worse, 31);
    assert_true (gate.passed);
    assert_non_null (strstr (gate.why, "31 of them worse"));
    assert_non_null (row_of (apps, ALICE, "train"));
    assert_non_null (row_of (apps, BOB, "train"));
    assert_null (row_of (apps, BOB, "odd"));
    /* what is in force: another row of it */
    old = apps_of (&plain);
    for (int64_t i = 0; i < old->n_rows; i++)
        old->rows[i].unit_s = 77;
    old->rows[0].key = dn_app_key_of_user (BOB, "odd");
    old->n_rows = 1;
    build.in_force = old;
    apps = apps_of (&build);
    assert_float_equal (row_of (apps, BOB, "odd")->unit_s, 77, 0);
    assert_true (row_of (apps, ALICE, "train")->unit_s > 900);
}

TEST ("a history of nothing but worse rows is refused")
{
    struct dn_store *store = store_open (true);

    add_badly (store, BOB, "odd");
    close_added (store);
    apps_of (&plain);
    assert_false (gate.passed);
}

/* Twelve jobs of 20 s after many of 2 s, of an application that has changed. */
TEST ("an application that has changed is learned")
{
    struct dn_store *store = store_open (true);
    struct dn_apps *apps;

    for (int i = 0; i < 40; i++)
        add_one (store, ALICE, "train", i < 28 ? 2 : 20, i < 28 ? 2 : 3);
    add_well (store, BOB, "train");
    close_added (store);
    apps = apps_of (&plain);
    assert_int_equal (gate.n_worse, 0);
    assert_float_equal (row_of (apps, ALICE, "train")->unit_s, 20, 1);
}

/* They end last. */
TEST ("applications with one run neither pass nor block")
{
    struct dn_store *store = store_open (true);

    add_well (store, ALICE, "train");
    add_badly (store, BOB, "odd");
    for (int i = 0; i < 2000; i++) {
        add_one (
            store, BOB + 1 + i / 500, unit_text ("once%d", i), 100, i % 2 ? 100 : 5000);
    }
    close_added (store);
    apps_of (&plain);
    assert_int_equal (gate.n_rows, 2002);
    assert_int_equal (gate.n_judged, 2);
    assert_int_equal (gate.n_worse, 1);
}

TEST ("runs without a prediction must keep the stated bound")
{
    struct dn_store *store;

    add_runs (BOB, "train", 100, 25);
    store = store_open (true);
    for (int i = 0; i < 25; i++)
        add_one (store, ALICE, "train", i < 20 ? 100 : 100 * pow (10, i - 19), 0);
    close_added (store);
    apps_of (&plain);
    assert_int_equal (gate.alone.votes, 2);
    assert_int_equal (gate.n_worse, 1);
}

TEST ("an empty store is no error")
{
    struct dn_apps *apps;

    add_runs (ALICE, "", 100, 1);
    apps = apps_of (&plain);
    assert_true (gate.passed);
    assert_int_equal (apps->n_rows, 0);
}

/* --- what runs have described ------------------------------------------------------
 */

/* A completed job with a capture: its description, and GPUs used of two. */
static void add_captured (struct dn_store *store,
                          int64_t user,
                          const char *app,
                          const char *sidecar,
                          int64_t used)
{
    struct dn_finished job = job_of (user, app, 1000);

    job.captured = unit_text (
        "{\"dnnest_capture\":1,\"time\":5,\"software\":{\"framework\":\"pytorch\","
        "\"version\":\"2.4.0+cu121\",\"arch\":[\"sm_70\",\"sm_80\"]},\"run\":{"
        "\"workers\":4,\"steps\":5000,\"loader_share\":0.25},\"sidecar\":%s}",
        sidecar);
    job.job = "12_3";
    job.kin = "fp:0123456789abcdef/64";
    job.gpus_used = used;
    job.step_ms = 0.001;
    job.start_up_s = 12;
    job.said_gpu_mem_gb = 3;
    add (store, &job);
}

#define GRAPH                                                                          \
    "\"graph\":{\"name\":\"%s\",\"ops\":[{\"op\":\"linear\",\"in\":[[1,100]],"         \
    "\"out\":[[1,50]],\"params\":5050}]}"

static const struct dn_app_known *known_of (const struct dn_apps *apps,
                                            int64_t user,
                                            const char *app)
{
    return dn_apps_known (apps, dn_app_key_of_user (user, app));
}

TEST ("an application is known by its newest completed run with a capture")
{
    struct dn_store *store = store_open (true);
    struct dn_finished failed;
    struct dn_apps *apps;
    const struct dn_app_known *known;

    add_captured (store, ALICE, "train", "{\"dnnest\":1,\"spec\":{\"batch\":64}}", 2);
    add_captured (store,
                  ALICE,
                  "train",
                  "{\"dnnest\":1,\"spec\":{\"model\":\"resnet50\",\"batch\":256,"
                  "\"epochs\":90,\"gpus\":2,\"deadline\":\"1:00:00\"}}",
                  1);
    failed = job_of (ALICE, "train", 1000);
    failed.outcome = "failed";
    failed.captured = "{\"dnnest_capture\":1,\"time\":5,\"sidecar\":{\"dnnest\":1,"
                      "\"spec\":{\"batch\":1}}}";
    add (store, &failed);
    store_end (store);
    apps = apps_of (&plain);
    assert_int_equal (apps->n_known, 1);
    known = known_of (apps, ALICE, "train");
    assert_non_null (known);
    assert_string_equal (known->spec,
                         "model=resnet50,batch=256,framework=pytorch,torch=2.4,"
                         "workers=4");
    assert_string_equal (known->arch, "sm_70,sm_80");
    assert_null (dn_apps_network (apps, known));
    assert_string_equal (known->job, "12_3");
    assert_int_equal (known->batch, 64);
    assert_true (known->kin == dn_app_key_of_user (ALICE, "fp:0123456789abcdef"));
    assert_true (known->steps == 5000 && known->workers == 4
                 && known->loader_share == 0.25F);
    assert_true (known->gpus == 2 && known->gpus_used == 2 && known->gpus_runs == 2);
    assert_null (known_of (apps, BOB, "train"));
}

/* 'runs' runs of one that describes nothing, on two GPUs of which it used 'used'. */
static void add_idle (struct dn_store *store, int64_t user, int runs, int64_t used)
{
    while (runs-- > 0) {
        struct dn_finished job = job_of (user, "train", 1000);

        job.gpus_used = used;
        add (store, &job);
    }
}

TEST ("GPUs that two runs left idle are known without a capture")
{
    struct dn_store *store = store_open (true);
    struct dn_apps *apps;
    const struct dn_app_known *known;

    add_idle (store, ALICE, 2, 1);
    add_idle (store, BOB, 1, 1);
    add_idle (store, CAROL, 2, 2);
    store_end (store);
    apps = apps_of (&plain);
    assert_int_equal (apps->n_known, 1);
    known = known_of (apps, ALICE, "train");
    assert_non_null (known);
    assert_true (known->gpus == 2 && known->gpus_used == 1 && known->gpus_runs == 2);
    assert_true (known->workers == -1 && known->loader_share == -1
                 && known->network == -1 && known->kin == 0);
    assert_string_equal (known->spec, "");
    assert_string_equal (known->arch, "");
    assert_string_equal (known->job, "");
}

TEST ("a capture changes no run time, and its words of GPU memory lower nothing")
{
    struct dn_store *store;
    struct dn_apps *apps;
    struct dn_app_row without;
    struct dn_app_row row;

    add_runs (ALICE, "train", 1000, 4);
    apps = apps_of (&plain);
    without = *row_of (apps, ALICE, "train");
    assert_true (without.step_s == 0 && without.gpu_mem_gb == 0);
    before_test (NULL);
    store = store_open (true);
    for (int i = 0; i < 4; i++) {
        struct dn_finished job = job_of (ALICE, "train", 1000 * (1 + 0.01 * (i % 3)));

        job.step_ms = 1e-9;
        job.step_p95_ms = 1e-9;
        job.start_up_s = 5;
        job.said_gpu_mem_gb = i == 3 ? 3 : 1;
        job.captured = "{\"dnnest_capture\":1,\"time\":5}";
        add (store, &job);
    }
    assert_int_equal (dn_store_commit (store, NULL), 0);
    apps = apps_of (&plain);
    row = *row_of (apps, ALICE, "train");
    assert_true (row.gpu_mem_said && row.gpu_mem_gb == 3 && row.start_up_s == 5);
    assert_true (row.start_s == without.start_s && row.unit_s == without.unit_s
                 && row.sigma == without.sigma && row.longest_s == without.longest_s);
    {
        struct dn_finished job = job_of (ALICE, "train", 1000);

        job.gpu_mem_gb = 2;
        add (store, &job);
    }
    store_end (store);
    apps = apps_of (&plain);
    row = *row_of (apps, ALICE, "train");
    assert_true (!row.gpu_mem_said && row.gpu_mem_gb == 3);
}

TEST ("equal networks are kept once, under any name")
{
    struct dn_store *store = store_open (true);
    struct dn_apps *apps;
    char sidecar[512];

    for (int i = 0; i < 6; i++) {
        struct dn_buf buf = dn_buf_on (sidecar, sizeof (sidecar));
        char *app = unit_text ("app%d", i);

        dn_buf_add (&buf,
                    "{\"dnnest\":1,\"spec\":{\"batch\":%d}," GRAPH "}",
                    i + 1,
                    unit_text ("net%d", i));
        add_captured (store, ALICE + i, app, sidecar, 2);
    }
    store_end (store);
    apps = apps_of (&plain);
    assert_int_equal (apps->n_known, 6);
    assert_int_equal (apps->n_networks, 1);
    for (int64_t i = 0; i < 6; i++) {
        assert_true (i == 0 || apps->known[i - 1].key < apps->known[i].key);
        assert_contains (dn_apps_network (apps, &apps->known[i]), "\"params\":5050");
        assert_contains (apps->known[i].spec, "model=net");
    }
}

/* So many applications, each with a network of its own; the later ones ran later. */
static void note_many (struct dn_known_list *list, int n)
{
    for (int i = 0; i < n; i++) {
        struct dn_finished job = job_of (ALICE, "", 1000);
        char *text = unit_text (
            "{\"dnnest_capture\":1,\"time\":5,\"software\":{\"arch\":[\"sm_70\"]},"
            "\"sidecar\":{\"dnnest\":1,\"spec\":{\"batch\":%d,\"precision\":"
            "\"bf16\"},\"graph\":{\"ops\":[{\"op\":\"linear\",\"in\":[[1,%d]],"
            "\"out\":[[1,50]],\"params\":%d}]}}}",
            i + 1,
            i + 1,
            50 * (i + 1));

        job.captured = text;
        job.end_s = (int64_t) i * 86400;
        assert_done (
            dn_known_note (list, (dn_app_key) (i + 1) * 12345677, &job, &unit_err));
    }
}

TEST ("of too many applications those of the latest runs are kept")
{
    struct dn_known_list *list = dn_known_list_new ();
    struct dn_apps *apps = unit_keep (calloc (1, sizeof (*apps)), free_apps);

    note_many (list, 2 * DN_APPS_KNOWN_MAX + 4);
    assert_done (dn_known_end (list, apps, &unit_err));
    assert_int_equal (apps->n_known, DN_APPS_KNOWN_MAX);
    assert_true (apps->n_text <= DN_APPS_TEXTS_MAX);
    assert_true (apps->n_networks > 0);
    assert_null (dn_apps_known (apps, 12345677));
    assert_non_null (
        dn_apps_known (apps, (dn_app_key) (DN_APPS_KNOWN_MAX + 5) * 12345677));
    assert_non_null (
        dn_apps_known (apps, (dn_app_key) (2 * DN_APPS_KNOWN_MAX + 4) * 12345677));
    assert_null (dn_apps_known (apps, (dn_app_key) (DN_APPS_KNOWN_MAX + 4) * 12345677));
    dn_known_list_free (list);
}

TEST ("a hostile capture changes no row of 45 other users")
{
    struct dn_store *store;
    struct dn_finished job;
    struct dn_apps *before;
    struct dn_apps *after;

    for (int i = 0; i < 45; i++)
        add_runs (BOB + i, "train", 1000 + 10 * i, 3);
    before = apps_of (&plain);
    store = store_open (true);
    job = job_of (ALICE, "train", 1000);
    job.captured =
        "{\"dnnest_capture\":1,\"time\":5,\"sidecar\":{\"dnnest\":1,\"spec\":"
        "{\"app\":\"other\",\"batch\":1}}}";
    job.step_ms = 1e-12;
    job.start_up_s = 1e9;
    job.said_gpu_mem_gb = 1e6;
    job.gpus_used = INT64_MAX / 2;
    add (store, &job);
    store_end (store);
    after = apps_of (&plain);
    assert_int_equal (after->n_rows, before->n_rows + 1);
    assert_int_equal (after->n_known, 1);
    assert_string_equal (after->known[0].spec, "batch=1");
    assert_int_equal (after->known[0].gpus_used, 2);
    for (int i = 0; i < 45; i++) {
        struct dn_app_row a = *row_of (before, BOB + i, "train");
        struct dn_app_row b = *row_of (after, BOB + i, "train");

        assert_memory_equal (&a, &b, sizeof (a));
    }
}
