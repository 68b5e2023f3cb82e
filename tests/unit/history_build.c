/* history_build.c - tests of the history that is built from finished jobs, and its gate
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <sys/stat.h>
#include <unistd.h>

#include "a_store.h"
#include "finished_text.h"
#include "jobs/history/apps_build.h"
#include "predict/learned.h"
#include "unit.h"

#define NOW   1700000000
#define ALICE 1000
#define BOB   1001
#define CAROL 1002

static int64_t next_id;

/* That jobs are added to, and what is built of it; NULL: none yet. */
static struct dn_store *store;
static struct dn_apps *apps;
static struct dn_gate gate;

int before_test (void **state)
{
    dn_store_close (store);
    store = NULL;
    store_remove ();
    next_id = 1;
    return 0;
}

/* A completed job that ran so long, one a minute. */
static struct dn_finished job_of (int64_t user, const char *app, double ran_s)
{
    struct dn_finished job =
        finished_of ("cluster=test state=COMPLETED outcome=completed gpu=a100 gpus=2 "
                     "work_unit=run work=1");

    job.raw_id = next_id++;
    job.end_s = NOW - 86400 + job.raw_id * 60;
    job.submit_s = job.start_s = job.end_s - (int64_t) ran_s;
    job.user = user;
    job.app = app;
    return job;
}

static void add (const struct dn_finished *job)
{
    if (!store)
        store = store_open (true);
    assert_done (dn_store_add (store, job, &unit_err));
}

/* One with more columns. */
static void add_one (int64_t user, const char *app, double ran_s, const char *more)
{
    struct dn_finished job = job_of (user, app, ran_s);

    finished_set (&job, more);
    add (&job);
}

static void add_runs (int64_t user, const char *app, double ran_s, int n)
{
    for (int i = 0; i < n; i++)
        add_one (user, app, ran_s * (1 + 0.01 * (i % 3)), "");
}

static void free_apps (void *built)
{
    dn_apps_free (built);
}

/* Of what has been added. They are kept for the test. */
static struct dn_apps *apps_of (const struct dn_build *build)
{
    if (store)
        assert_done (dn_store_commit (store, &unit_err));
    dn_store_close (store);
    store = store_open (false);
    apps = assert_made (dn_build_apps (store, build, &gate, &unit_err));
    dn_store_close (store);
    store = NULL;
    return unit_keep (apps, free_apps);
}

static const struct dn_build plain = {.now_s = NOW, .bundle = "here"};

static const struct dn_app_row *row_in (const struct dn_apps *built,
                                        int64_t user,
                                        const char *app)
{
    return dn_apps_find (built, dn_app_key_of_user (user, app), "a100", 2);
}

static const struct dn_app_row *row_of (int64_t user, const char *app)
{
    return row_in (apps, user, app);
}

static double bound (const struct dn_app_row *row)
{
    return dn_range_at (dn_app_row_time (row, 1), 0.95);
}

TEST ("each owner application and type has a row")
{
    add_runs (ALICE, "train", 1000, 5);
    add_runs (BOB, "train", 9000, 2);
    add_one (ALICE, "train", 2000, "gpu=v100");
    apps_of (&plain);
    assert_int_equal (apps->n_rows, 3);
    assert_int_equal (row_of (ALICE, "train")->runs, 5);
    assert_float_equal (row_of (BOB, "train")->unit_s, 9045, 60);
    assert_int_equal (
        dn_apps_find (apps, dn_app_key_of_user (ALICE, "train"), "v100", 2)->runs, 1);
    assert_null (row_of (BOB, "other"));
}

TEST ("host memory is learned, and that a job was killed when it was lowered")
{
    static const char *const more[] = {
        "nodes=2", "nodes=2 host_mem_gb=11", "nodes=2 host_mem_gb=12"};

    for (int i = 0; i < 3; i++) {
        add_one (ALICE, "train", 1000, more[i]);
        add_one (BOB, "train", 1000, "host_mem_gb=5");
    }
    add_one (BOB,
             "train",
             100,
             "mode=enforce verdict=change set_mem_gb=12 state=OUT_OF_MEMORY "
             "outcome=out_of_memory");
    apps_of (&plain);
    /* 12 GiB on each of two nodes. */
    assert_float_equal (row_of (ALICE, "train")->mem_gb, 24, 1e-3);
    assert_int_equal (row_of (ALICE, "train")->mem_runs, 2);
    assert_false (row_of (ALICE, "train")->mem_kept);
    assert_float_equal (row_of (BOB, "train")->mem_gb, 5, 1e-3);
    assert_int_equal (row_of (BOB, "train")->mem_runs, 3);
    assert_true (row_of (BOB, "train")->mem_kept);
}

TEST ("what says nothing is left out")
{
    static const char *const ends[] = {"state=FAILED outcome=failed",
                                       "state=FAILED outcome=failed_early",
                                       "state=OUT_OF_MEMORY outcome=out_of_memory",
                                       "state=NODE_FAIL outcome=node_failure",
                                       "state=REQUEUED outcome=requeued",
                                       "state=CANCELLED outcome=cancelled",
                                       "state=TIMEOUT outcome=limit_user"};

    for (size_t i = 0; i < DN_N_ELEMENTS (ends); i++)
        add_one (ALICE, ends[i], 1000, ends[i]);
    assert_int_equal (apps_of (&plain)->n_rows, 0);
}

/* 500 absurd runs of another user under the same name, and 300 other applications. */
TEST ("no user moves the bound of another")
{
    double before;

    add_runs (BOB, "train", 10000, 3);
    apps_of (&plain);
    before = bound (row_of (BOB, "train"));
    add_runs (ALICE, "train", 1, 500);
    for (int i = 0; i < 300; i++)
        add_runs (ALICE, unit_text ("fast%d", i), 5, 3);
    apps_of (&plain);
    assert_float_equal (bound (row_of (BOB, "train")), before, 1e-3);
}

TEST ("an owner has a bounded number of rows")
{
    int64_t own = 0;

    for (int i = 0; i < DN_BUILD_OWNER_MAX + 200; i++)
        add_one (ALICE, unit_text ("a%d", i), 500, "");
    add_runs (BOB, "train", 10000, 1);
    apps_of (&plain);
    for (int64_t i = 0; i < apps->n_rows; i++)
        own += apps->rows[i].unit_s < 5000;
    assert_int_equal (own, DN_BUILD_OWNER_MAX);
    assert_non_null (row_of (BOB, "train"));
}

/* Runs of several users of an account are one row there; a job without an account is in
 * that of its user only.
 */
TEST ("an account may have rows beside those of its users")
{
    static const struct {
        int64_t user;
        const char *account;
    } owners[] = {{ALICE, "account=lab"},
                  {BOB, "account=other"},
                  {BOB + 1, "account=lab"},
                  {BOB, ""}};
    struct dn_build build = plain;
    dn_app_key keys[2];

    build.by_account = true;
    for (int i = 0; i < 12; i++)
        add_one (owners[i % 4].user, "train", 1000, owners[i % 4].account);
    apps_of (&build);
    assert_int_equal (apps->n_rows, 5);
    assert_int_equal (row_of (BOB, "train")->runs, 6);
    keys[0] = dn_app_key_of_account ("lab", "train");
    keys[1] = dn_app_key_of_account ("other", "train");
    assert_int_equal (dn_apps_find (apps, keys[0], "a100", 2)->runs, 6);
    assert_int_equal (dn_apps_find (apps, keys[1], "a100", 2)->runs, 3);
}

static double base_of_today (void *to, const struct dn_finished *job)
{
    (void) job;
    return *(const double *) to;
}

TEST ("other bundles count by what is predicted today")
{
    struct dn_build build = plain;
    double today = 500;

    for (int i = 0; i < 4; i++)
        add_one (ALICE,
                 "train",
                 1000,
                 unit_text ("work_unit=predicted work=2000 base_s=2000 bundle=%s",
                            i < 2 ? "here" : "older"));
    apps_of (&plain);
    assert_int_equal (row_of (ALICE, "train")->runs, 2);
    assert_float_equal (row_of (ALICE, "train")->unit_s, 0.5, 0.01);
    build.base = base_of_today;
    build.base_to = &today;
    apps_of (&build);
    assert_int_equal (row_of (ALICE, "train")->runs, 4);
}

TEST ("the rows survive their file")
{
    for (int user = 0; user < 50; user++)
        add_runs (user, "train", 100 + user, 3);
    apps_of (&plain);
    for (int64_t i = 1; i < apps->n_rows; i++)
        assert_true (apps->rows[i - 1].key < apps->rows[i].key);
}

/* --- the gate ----------------------------------------------------------------------
 */

/* A run that was predicted to take 'likely_s'. */
static void add_likely (int64_t user, const char *app, double ran_s, double likely_s)
{
    add_one (
        user, app, ran_s, unit_text ("likely_s=%g p95_s=%g", likely_s, 1.5 * likely_s));
}

/* What is in force does not know them; or it knows each of them, and the runs differ by
 * a factor of ten that their history cannot see.
 */
static void add_well (int64_t user, const char *app)
{
    for (int i = 0; i < 20; i++)
        add_likely (user, app, 1000 * (1 + 0.02 * (i % 5 - 2)), 600);
}
static void add_badly (int64_t user, const char *app)
{
    for (int i = 0; i < 20; i++)
        add_likely (user, app, i % 2 ? 1000 : 100, i % 2 ? 1000 : 100);
}

TEST ("a better history passes")
{
    add_well (ALICE, "train");
    apps_of (&plain);
    assert_int_equal (gate.before.runs, 4);
    assert_float_equal (gate.before.error, 0.5, 0.05);
    assert_true (gate.after.error < 0.05);
    assert_true (gate.passed && gate.n_judged == 1 && gate.n_worse == 0);
}

TEST ("a row that is worse keeps what is in force, the others are installed")
{
    struct dn_build build = plain;
    struct dn_apps *old;

    add_well (ALICE, "train");
    add_well (BOB, "train");
    add_badly (BOB, "odd");
    for (int i = 0; i < 30; i++)
        add_badly (BOB, unit_text ("odd%d", i));
    apps_of (&plain);
    assert_numbers ("33 31 1", gate.n_judged, gate.n_worse, gate.passed);
    assert_contains (gate.why, "31 of them worse");
    assert_non_null (row_of (ALICE, "train"));
    assert_non_null (row_of (BOB, "train"));
    assert_null (row_of (BOB, "odd"));
    /* what is in force: another row of it */
    old = apps_of (&plain);
    for (int64_t i = 0; i < old->n_rows; i++)
        old->rows[i].unit_s = 77;
    old->rows[0].key = dn_app_key_of_user (BOB, "odd");
    old->n_rows = 1;
    build.in_force = old;
    apps_of (&build);
    assert_float_equal (row_of (BOB, "odd")->unit_s, 77, 0);
    assert_true (row_of (ALICE, "train")->unit_s > 900);
}

TEST ("a history of nothing but worse rows is refused")
{
    add_badly (BOB, "odd");
    apps_of (&plain);
    assert_false (gate.passed);
}

/* Twelve jobs of 20 s after many of 2 s, of an application that has changed. */
TEST ("an application that has changed is learned")
{
    for (int i = 0; i < 40; i++)
        add_likely (ALICE, "train", i < 28 ? 2 : 20, i < 28 ? 2 : 3);
    add_well (BOB, "train");
    apps_of (&plain);
    assert_int_equal (gate.n_worse, 0);
    assert_float_equal (row_of (ALICE, "train")->unit_s, 20, 1);
}

/* They end last. */
TEST ("applications with one run neither pass nor block")
{
    add_well (ALICE, "train");
    add_badly (BOB, "odd");
    for (int i = 0; i < 2000; i++)
        add_likely (
            BOB + 1 + i / 500, unit_text ("once%d", i), 100, i % 2 ? 100 : 5000);
    apps_of (&plain);
    assert_numbers ("2002 2 1", gate.n_rows, gate.n_judged, gate.n_worse);
}

TEST ("runs without a prediction must keep the stated bound")
{
    add_runs (BOB, "train", 100, 25);
    for (int i = 0; i < 25; i++)
        add_one (ALICE, "train", i < 20 ? 100 : 100 * pow (10, i - 19), "");
    apps_of (&plain);
    assert_numbers ("2 1", gate.alone.votes, gate.n_worse);
}

TEST ("an empty store is no error")
{
    add_runs (ALICE, "", 100, 1);
    apps_of (&plain);
    assert_true (gate.passed);
    assert_int_equal (apps->n_rows, 0);
}

/* --- what runs have described ------------------------------------------------------
 */

/* A completed job with a capture: its description, and GPUs used of two. */
static void add_captured (int64_t user, const char *app, const char *sidecar, int used)
{
    struct dn_finished job = job_of (user, app, 1000);

    finished_set (&job,
                  "job=12_3 kin=fp:0123456789abcdef/64 step_ms=0.001 start_up_s=12 "
                  "said_gpu_mem_gb=3");
    job.captured = unit_text (
        "{\"dnnest_capture\":1,\"time\":5,\"software\":{\"framework\":\"pytorch\","
        "\"version\":\"2.4.0+cu121\",\"arch\":[\"sm_70\",\"sm_80\"]},\"run\":{"
        "\"workers\":4,\"steps\":5000,\"loader_share\":0.25},\"sidecar\":%s}",
        sidecar);
    job.gpus_used = used;
    add (&job);
}

static const struct dn_app_known *known_of (int64_t user, const char *app)
{
    return dn_apps_known (apps, dn_app_key_of_user (user, app));
}

TEST ("an application is known by its newest completed run with a capture")
{
    const struct dn_app_known *known;

    add_captured (ALICE, "train", "{\"dnnest\":1,\"spec\":{\"batch\":64}}", 2);
    add_captured (ALICE,
                  "train",
                  "{\"dnnest\":1,\"spec\":{\"model\":\"resnet50\",\"batch\":256,"
                  "\"epochs\":90,\"gpus\":2,\"deadline\":\"1:00:00\"}}",
                  1);
    add_one (ALICE,
             "train",
             1000,
             "outcome=failed captured={\"dnnest_capture\":1,\"time\":5,\"sidecar\":{"
             "\"dnnest\":1,\"spec\":{\"batch\":1}}}");
    assert_int_equal (apps_of (&plain)->n_known, 1);
    known = known_of (ALICE, "train");
    assert_non_null (known);
    assert_string_equal (known->spec,
                         "model=resnet50,batch=256,framework=pytorch,torch=2.4,"
                         "workers=4");
    assert_string_equal (known->arch, "sm_70,sm_80");
    assert_null (dn_apps_network (apps, known));
    assert_string_equal (known->job, "12_3");
    assert_int_equal (known->batch, 64);
    assert_true (known->kin == dn_app_key_of_user (ALICE, "fp:0123456789abcdef"));
    assert_numbers ("5000 4 0.25", known->steps, known->workers, known->loader_share);
    assert_numbers ("2 2 2", known->gpus, known->gpus_used, known->gpus_runs);
    assert_null (known_of (BOB, "train"));
}

/* 'runs' runs of one that describes nothing, on two GPUs. */
static void add_idle (int64_t user, int runs, const char *used)
{
    while (runs-- > 0)
        add_one (user, "train", 1000, used);
}

TEST ("GPUs that two runs left idle are known without a capture")
{
    const struct dn_app_known *known;

    add_idle (ALICE, 2, "gpus_used=1");
    add_idle (BOB, 1, "gpus_used=1");
    add_idle (CAROL, 2, "gpus_used=2");
    assert_int_equal (apps_of (&plain)->n_known, 1);
    known = known_of (ALICE, "train");
    assert_non_null (known);
    assert_numbers ("2 1 2", known->gpus, known->gpus_used, known->gpus_runs);
    assert_numbers (
        "-1 -1 -1 0", known->workers, known->loader_share, known->network, known->kin);
    assert_string_equal (unit_text ("%s%s%s", known->spec, known->arch, known->job),
                         "");
}

TEST ("a capture changes no run time, and its words of GPU memory lower nothing")
{
    struct dn_app_row without;
    struct dn_app_row row;

    add_runs (ALICE, "train", 1000, 4);
    apps_of (&plain);
    without = *row_of (ALICE, "train");
    assert_true (without.step_s == 0 && without.gpu_mem_gb == 0);
    before_test (NULL);
    for (int i = 0; i < 4; i++)
        add_one (ALICE,
                 "train",
                 1000 * (1 + 0.01 * (i % 3)),
                 unit_text ("step_ms=1e-9 step_p95_ms=1e-9 start_up_s=5 "
                            "said_gpu_mem_gb=%d captured={\"dnnest_capture\":1,"
                            "\"time\":5}",
                            i == 3 ? 3 : 1));
    apps_of (&plain);
    row = *row_of (ALICE, "train");
    assert_numbers ("1 3 5", row.gpu_mem_said, row.gpu_mem_gb, row.start_up_s);
    assert_true (row.start_s == without.start_s && row.unit_s == without.unit_s
                 && row.sigma == without.sigma && row.longest_s == without.longest_s);
    add_one (ALICE, "train", 1000, "gpu_mem_gb=2");
    apps_of (&plain);
    row = *row_of (ALICE, "train");
    assert_numbers ("0 3", row.gpu_mem_said, row.gpu_mem_gb);
}

TEST ("equal networks are kept once, under any name")
{
    for (int i = 0; i < 6; i++)
        add_captured (ALICE + i,
                      unit_text ("app%d", i),
                      unit_text ("{\"dnnest\":1,\"spec\":{\"batch\":%d},"
                                 "\"graph\":{\"name\":\"net%d\",\"ops\":[{\"op\":"
                                 "\"linear\",\"in\":[[1,100]],\"out\":[[1,50]],"
                                 "\"params\":5050}]}}",
                                 i + 1,
                                 i),
                      2);
    apps_of (&plain);
    assert_numbers ("6 1", apps->n_known, apps->n_networks);
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
        job.captured = unit_text (
            "{\"dnnest_capture\":1,\"time\":5,\"software\":{\"arch\":[\"sm_70\"]},"
            "\"sidecar\":{\"dnnest\":1,\"spec\":{\"batch\":%d,\"precision\":"
            "\"bf16\"},\"graph\":{\"ops\":[{\"op\":\"linear\",\"in\":[[1,%d]],"
            "\"out\":[[1,50]],\"params\":%d}]}}}",
            i + 1,
            i + 1,
            50 * (i + 1));
        job.end_s = (int64_t) i * 86400;
        assert_done (
            dn_known_note (list, (dn_app_key) (i + 1) * 12345677, &job, &unit_err));
    }
}

TEST ("of too many applications those of the latest runs are kept")
{
    const dn_app_key step = 12345677;
    const dn_app_key n = DN_APPS_KNOWN_MAX;
    struct dn_known_list *list = dn_known_list_new ();

    apps = unit_keep (calloc (1, sizeof (*apps)), free_apps);
    note_many (list, 2 * DN_APPS_KNOWN_MAX + 4);
    assert_done (dn_known_end (list, apps, &unit_err));
    assert_int_equal (apps->n_known, n);
    assert_true (apps->n_text <= DN_APPS_TEXTS_MAX && apps->n_networks > 0);
    assert_null (dn_apps_known (apps, step));
    assert_null (dn_apps_known (apps, (n + 4) * step));
    assert_non_null (dn_apps_known (apps, (n + 5) * step));
    assert_non_null (dn_apps_known (apps, (2 * n + 4) * step));
    dn_known_list_free (list);
}

TEST ("a hostile capture changes no row of 45 other users")
{
    struct dn_apps *before;
    struct dn_apps *after;
    struct dn_finished job;

    for (int i = 0; i < 45; i++)
        add_runs (BOB + i, "train", 1000 + 10 * i, 3);
    before = apps_of (&plain);
    job = job_of (ALICE, "train", 1000);
    finished_set (
        &job,
        "captured={\"dnnest_capture\":1,\"time\":5,\"sidecar\":{\"dnnest\":1,"
        "\"spec\":{\"app\":\"other\",\"batch\":1}}} step_ms=1e-12 start_up_s=1e9 "
        "said_gpu_mem_gb=1e6");
    job.gpus_used = INT64_MAX / 2;
    add (&job);
    after = apps_of (&plain);
    assert_int_equal (after->n_rows, before->n_rows + 1);
    assert_int_equal (after->n_known, 1);
    assert_string_equal (after->known[0].spec, "batch=1");
    assert_int_equal (after->known[0].gpus_used, 2);
    for (int i = 0; i < 45; i++) {
        struct dn_app_row a = *row_in (before, BOB + i, "train");
        struct dn_app_row b = *row_in (after, BOB + i, "train");

        assert_memory_equal (&a, &b, sizeof (a));
    }
}
