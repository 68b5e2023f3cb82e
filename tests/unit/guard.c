/* guard.c - tests of the guard's passes over a table of jobs, with a slurmctld that is
 * made up
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <sys/resource.h>
#include <unistd.h>

#include "round.h"
#include "policy/guarded.h"
#include "rewrite/recorded.h"
#include "scratch.h"
#include "tests/sim/sim_daemon.h"
#include "tests/sim/sim_link.h"

#define NOW      INT64_C (1700000000)
#define JOBS_MAX 20000

static struct dn_link_job jobs[JOBS_MAX];
static struct sim_slurm cluster;
static struct dn_link slurm;

static bool lose;              /* changes are made, but the answer is lost */
static int refuse;             /* that job is refused */
static bool no_cluster;        /* its tables cannot be read */
static void (*between) (void); /* called before a job is read again */

static int before_call (struct dn_link *link,
                        enum sim_call call,
                        const struct dn_link_job *job,
                        struct dn_err *err)
{
    if (call == SIM_JOB && between)
        between ();
    if (call == SIM_CLUSTER && no_cluster)
        return dn_err_set (err, DN_E_LIMIT, "too many partitions");
    return call == SIM_UPDATE && refuse == job->raw_id
               ? dn_err_set (err, DN_E_RANGE, "job %s: refused", job->name)
               : 0;
}

static int after_call (struct dn_link *link,
                       enum sim_call call,
                       const struct dn_link_job *job,
                       struct dn_err *err)
{
    if (call == SIM_UPDATE)
        assert_int_equal (job->limit_s % 60, 0);
    return call == SIM_UPDATE && lose ? dn_err_set (err, DN_E_TIME, "connection lost")
                                      : 0;
}

/* --- scenes -------------------------------------------------------------------- */

static const char record[] =
    "{\"dnnest\":1,\"version\":\"" PACKAGE_VERSION
    "\",\"mode\":\"enforce\",\"verdict\":\"change\","
    "\"req\":{\"time_s\":36000,\"gpu\":\"a100\",\"gpus\":4,\"nodes\":1,\"tasks\":1,"
    "\"cpus_per_task\":80,\"mem_mb\":400000},\"set\":{\"time_s\":3600,\"gpu\":\"v100\","
    "\"cpus_per_task\":24},\"pred\":{\"gpu\":\"v100_sxm2_16gb\",\"step_us\":228000,"
    "\"train_s\":3000,\"bound_s\":3200,\"bound_bp\":8000,\"p95_s\":7200,"
    "\"p99_s\":10800,\"mem_mb\":13000,\"cpus_per_gpu\":6,\"conf\":65,"
    "\"bundle\":\"2026-11\"},\"spec\":\"model=resnet50,batch=64,precision=fp16,"
    "epochs=20,dataset=imagenet\"}";

/* Other ones: as requested, what was set, and more. */
#define MODE(mode, verdict)                                                            \
    "{\"dnnest\":1,\"mode\":\"" mode "\",\"verdict\":\"" verdict "\","
#define LIMITS(asked, set) "\"req\":{" asked "},\"set\":{" set "}"
#define CHANGE             MODE ("enforce", "change")
#define OPEN                                                                           \
    ",\"open\":[{\"gpu\":\"a100\",\"features\":\"a\",\"slow\":100},{\"gpu\":\"v100\"," \
    "\"features\":\"v\",\"slow\":200}],\"steer\":{\"gpu\":\"v100\","

static void set_comment (struct dn_link_job *job, const char *comment)
{
    job->admin_comment = sim_text (&cluster, comment);
}

/* A running job of one hour with 'left_s' to go, which had asked for ten. */
static struct dn_link_job *add_job (int64_t id, int64_t left_s)
{
    struct dn_link_job *job = &jobs[cluster.n_jobs++];

    *job = (struct dn_link_job){.job_id = id,
                                .raw_id = id,
                                .user_id = 1000 + id % 7,
                                .phase = DN_PHASE_RUNNING,
                                .state = "RUNNING",
                                .limit_s = 3600,
                                .start = NOW + left_s - 3600,
                                .end = NOW + left_s,
                                .partition = "gpu",
                                .account = "research",
                                .qos = "normal",
                                .nodes = "n1"};
    snprintf (job->name, sizeof (job->name), "%lld", (long long) id);
    set_comment (job, record);
    return job;
}

static void end_job (struct dn_link_job *job, const char *state, int64_t end_s)
{
    job->phase = DN_PHASE_ENDED;
    job->state = state;
    job->end = end_s;
}

static struct dn_site site;
static struct dn_daemon dnnestd;
static void *memory; /* of the guard */

/* The guard ends, and another process goes on. */
static void restart (void)
{
    dn_task_guard.end (memory);
    free (memory);
    memory = calloc (1, dn_task_guard.memory);
}

int after_tests (void **state)
{
    dn_link_jobs_drop (&slurm);
    sim_free (&cluster);
    return 0;
}

int before_test (void **state)
{
    after_tests (state);
    cluster = (struct sim_slurm){
        .jobs = jobs, .max_time_s = 7200, .default_time_s = DN_UNSET};
    slurm = (struct dn_link){
        .slurm = &cluster, .told_s = NOW, .before = before_call, .after = after_call};
    lose = no_cluster = false;
    refuse = 0;
    between = NULL;
    sim_daemon_forget ();
    site = (struct dn_site){.guard_interval_s = 60,
                            .rules = {.time_margin = 0.1, .mode = DN_MODE_ENFORCE}};
    snprintf (site.state_dir, sizeof (site.state_dir), "%s", scratch_path (""));
    dnnestd = (struct dn_daemon){.site = &site, .link = &slurm, .now_s = NOW};
    memory = calloc (1, dn_task_guard.memory);
    return 0;
}

int after_test (void **state)
{
    dn_task_guard.end (memory);
    free (memory);
    unlink (scratch_path ("guard"));
    return 0;
}

/* One round. */
static int pass (void)
{
    int rc = dn_task_guard.run (memory, &dnnestd, &unit_err);

    dn_jobs_drop (&dnnestd);
    return rc;
}

/* So many rounds, after which the limit of a job is this, or so much was changed. */
#define PASS(n)                                                                        \
    for (int pass_ = 0; pass_ < (n); pass_++)                                          \
    assert_int_equal (pass (), 0)
#define PASS_LIMIT(job, limit)                                                         \
    do {                                                                               \
        PASS (1);                                                                      \
        assert_int_equal ((job)->limit_s, limit);                                      \
    } while (0)
#define PASS_CHANGES(n)                                                                \
    do {                                                                               \
        PASS (1);                                                                      \
        assert_int_equal (slurm.n_changes, n);                                         \
    } while (0)

static void wait_s (int64_t seconds)
{
    slurm.told_s += seconds;
}

TEST ("a job is extended and its record says so")
{
    struct dn_link_job *job = add_job (12, 800);
    struct dn_recorded r;

    add_job (13, 2000);
    PASS_CHANGES (1);
    assert_int_equal (dn_record_read (job->admin_comment, &r, NULL), 1);
    assert_numbers ("7920 1 7920", job->limit_s, r.n_later, r.later_s[0]);
    assert_numbers ("2 1", sim_ticks[DN_TICK_GUARDED], sim_ticks[DN_TICK_EXTENSIONS]);
    PASS_CHANGES (1);
    wait_s (7920 - 2800 - 500);
    PASS_LIMIT (job, 11880);
    wait_s (11880 - 7920);
    PASS_LIMIT (job, 36000);
    wait_s (36000 - 11880);
    PASS_LIMIT (job, 36000);
    assert_numbers ("2 2", sim_ticks[DN_TICK_AT_OWN_LIMIT], sim_ticks[DN_TICK_GUARDED]);
}

TEST ("a job whose record has no room for it is extended")
{
    static const char head[] = CHANGE "\"req\":{\"time_s\":36000,\"features\":\"";
    static const char tail[] = "\"},\"set\":{\"time_s\":3600}}";
    char full[1024];
    struct dn_link_job *job = add_job (12, 800);

    memset (full, 'x', sizeof (full));
    memcpy (full, head, sizeof (head) - 1);
    memcpy (full + sizeof (full) - sizeof (tail), tail, sizeof (tail));
    set_comment (job, full);
    PASS_LIMIT (job, 36000);
    assert_string_equal (job->admin_comment, full);
    PASS (1);
    assert_int_equal (sim_ticks[DN_TICK_REFUSED], 0);
}

TEST ("the most urgent job comes first")
{
    add_job (1, 500);
    add_job (2, 100);
    add_job (3, -20);
    add_job (4, 300);
    PASS_CHANGES (4);
    for (int i = 0; i < 4; i++)
        assert_int_equal (slurm.changed[i][0], "3241"[i]);
}

TEST ("a human is obeyed for good")
{
    struct dn_link_job *job = add_job (12, 800);

    sim_limit (job, 3540);
    PASS (1);
    assert_int_equal (sim_ticks[DN_TICK_HANDS_OFF], 1);
    sim_limit (job, 3600);
    PASS_CHANGES (0);
    assert_int_equal (sim_ticks[DN_TICK_HANDS_OFF], 1);
}

static void human_in_between (void)
{
    sim_limit (&jobs[0], 3540);
}

static void end_in_between (void)
{
    jobs[0].phase = DN_PHASE_ENDING;
}

TEST ("to what a human adds the guard adds what dnnest had taken")
{
    struct dn_link_job *job = add_job (12, 3000);
    struct dn_link_job *before = add_job (13, 3000);

    sim_limit (before, 3600 + 600);
    PASS (1);
    sim_limit (job, 3600 + 600);
    job->end = before->end = NOW + 300;
    for (int i = 0; i < 3; i++)
        PASS_LIMIT (job, 36000 + 600);
    /* Who has done that is not known: it may have been the user, while it waited. */
    assert_numbers ("36000 0", before->limit_s, sim_ticks[DN_TICK_HANDS_OFF]);
}

/* Such as another program that writes AdminComment. */
TEST ("a record that is lost or damaged still holds")
{
    static const char *const comments[] = {"note", "{\"dnnest\":1,", ""};

    for (size_t i = 0; i < DN_N_ELEMENTS (comments); i++) {
        struct dn_link_job *job = add_job (12, 3000);

        PASS (1);
        set_comment (job, comments[i]);
        PASS (1);
        PASS (3);
        assert_int_equal (job->limit_s, 36000);
        assert_string_equal (job->admin_comment, comments[i]);
        after_test (state);
        before_test (state);
    }
}

TEST ("a job that changed since the table is left alone")
{
    static void (*const changes[]) (void) = {human_in_between, end_in_between};

    for (size_t i = 0; i < DN_N_ELEMENTS (changes); i++) {
        add_job (12, 800);
        between = changes[i];
        PASS (2);
        assert_int_equal (slurm.n_changes, 0);
        after_test (state);
        before_test (state);
    }
}

TEST ("a job that Slurm shortened is left alone")
{
    struct dn_link_job *job = add_job (12, 800);

    job->time_min_s = 1800;
    sim_limit (job, 3000);
    PASS_CHANGES (0);
    assert_int_equal (sim_ticks[DN_TICK_HANDS_OFF], 0);
    assert_contains (sim_said,
                     "its limit is 00:50:00, and dnnest had set 01:00:00 (Slurm "
                     "shortened it, --time-min)");
}

TEST ("jobs that are not lowered are left alone")
{
    static const char *const comments[] = {
        "",
        "note",
        "{\"dnnest\":1,\"mode\":\"enforce\",\"verdict\":\"change\"}",
        MODE ("advise", "change") LIMITS ("\"time_s\":36000", "\"time_s\":3600") "}",
        MODE ("enforce", "control") LIMITS ("\"time_s\":36000", "\"time_s\":3600") "}",
        CHANGE LIMITS ("\"time_s\":36000", "\"time_min_s\":3600") "}",
        CHANGE LIMITS ("\"time_s\":1800", "\"time_s\":3600") "}",
        CHANGE,
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (comments); i++)
        set_comment (add_job ((int64_t) i + 1, 100), comments[i]);
    add_job (100, 100)->admin_comment = NULL;
    add_job (101, 100)->phase = DN_PHASE_PENDING;
    add_job (102, 100)->phase = DN_PHASE_ENDED;
    add_job (103, 100)->phase = DN_PHASE_ENDING;
    PASS_CHANGES (0);
    assert_int_equal (sim_ticks[DN_TICK_GUARDED], 0);
}

TEST ("a suspended job keeps its room")
{
    struct dn_link_job *job = add_job (12, -5000);

    job->phase = DN_PHASE_SUSPENDED;
    job->ran_s = 1000;
    PASS_CHANGES (0);
    job->ran_s = 3590;
    PASS_LIMIT (job, 7920);
}

static void free_guarded (void *guarded)
{
    dn_guarded_free (guarded);
}

/* It is kept for the test. */
static struct dn_guarded *read_heartbeat (void)
{
    char *text = unit_keep (scratch_read ("guard", NULL), free);

    return unit_keep (
        assert_made (dn_guarded_read (dn_span_of (text), "guard", &unit_err)),
        free_guarded);
}

TEST (
    "a request without a limit gets what that of its partition amounts to on its type")
{
    struct dn_link_job *job = add_job (12, 800);

    set_comment (job,
                 CHANGE LIMITS ("\"gpu\":\"a100\"", "\"time_s\":1800") OPEN
                 "\"time_s\":3600}}");
    PASS_LIMIT (job, 7200 * 26 / 10);
}

TEST ("partitions that cannot be read keep no job from its limit")
{
    struct dn_link_job *unset = add_job (12, 800);
    struct dn_link_job *job = add_job (13, 890);
    char *without = unit_text ("%s", record);
    char *limit = strstr (without, "\"time_s\":36000,");

    memmove (limit, limit + 15, strlen (limit + 15) + 1);
    set_comment (unset, without);
    no_cluster = true;
    PASS (1);
    assert_int_equal (unset->limit_s, 7920); /* their first step */
    assert_int_equal (job->limit_s, 7920);
}

static void reserve (int64_t from, int64_t changed_s)
{
    cluster.reservations[0] =
        (struct dn_link_reservation){"service", from, NOW + 900000, "n1", 0};
    cluster.n_reservations = 1;
    cluster.reservations_changed_s = changed_s;
}

TEST ("a reservation that the requested limit would have crossed ends the job")
{
    struct dn_link_job *job = add_job (12, 800);

    reserve (NOW + 1400, job->start);
    PASS_LIMIT (job, 3600 + 600);
    assert_int_equal (slurm.n_notices, 1);
    assert_string_equal (slurm.notice,
                         "dnnest: warning: the time limit is 01:10:00, not 10:00:00 as "
                         "requested: reservation service begins on a node of this job");
    wait_s (800);
    PASS (1);
    assert_int_equal (slurm.n_notices, 1);
    assert_int_equal (job->limit_s, 3600 + 600);
    job->reservation = "service";
    PASS_LIMIT (job, 7920);
}

TEST ("a reservation of a later time, or behind the requested limit, does not")
{
    struct dn_link_job *job = add_job (12, 800);

    reserve (NOW + 1400, job->start + 1);
    PASS_LIMIT (job, 7920);
    /* The table changes: the reservation is as old as before. */
    reserve (NOW + 1400, NOW);
    job->start = NOW - 100;
    set_comment (job, record);
    job->limit_s = 3600;
    job->end = NOW + 300;
    PASS_LIMIT (job, 3600 + 1080);
    /* One that moves is another one. */
    reserve (NOW + 1500, NOW);
    job->end = NOW + 300;
    PASS (1);
    assert_true (job->limit_s > 3600 + 1080);
    assert_int_equal (slurm.n_notices, 1);
}

TEST ("of a list of tasks that is cut what is whole is named")
{
    static const struct {
        const char *tasks;
        const char *named;
    } lists[] = {
        {NULL, "12_3"},
        {"1,3-5", "12_[1,3-5]"},
        {"1,3-5%4", "12_[1,3-5]"},
        {"1,3,5,7,...", "12_[1,3,5,7]"},
        {"1,3,5,17...", "12_[1,3,5]"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (lists); i++) {
        struct dn_link_job job = {
            .job_id = 12, .name = "12_3", .pending_tasks = lists[i].tasks};
        char *name = unit_keep (dn_job_pending_name (&job), free);

        assert_string_equal (name, lists[i].named);
        assert_int_equal (dn_job_is_cut (&job), i > 2);
    }
}

TEST ("a guard that leaves gives all limits back")
{
    struct dn_link_job *running = add_job (1, 3000);
    struct dn_link_job *pending = add_job (2, 3600);
    struct dn_link_job *array = add_job (3, 3600);
    struct dn_link_job *human = add_job (4, 3000);
    struct dn_link_job *over = add_job (5, 3000);
    struct dn_guarded *guarded;

    pending->phase = array->phase = DN_PHASE_PENDING;
    array->pending_tasks = "3,5-9%2";
    strcpy (array->name, "3_[3,5-9]");
    over->phase = DN_PHASE_ENDED;
    sim_limit (human, 3540);
    PASS_CHANGES (0);
    assert_int_equal (dn_task_guard.leave (memory, &dnnestd, &unit_err), 0);
    dn_jobs_drop (&dnnestd);
    assert_numbers (
        "36000 36000 36000", running->limit_s, pending->limit_s, array->limit_s);
    assert_numbers (
        "3540 3600 3", human->limit_s, over->limit_s, sim_ticks[DN_TICK_RESTORED]);
    guarded = read_heartbeat ();
    assert_int_equal (guarded->time_s, 0);
    assert_false (dn_guarded_is_alive (guarded, NOW));
    /* Nothing is left to be given back. */
    assert_int_equal (dn_task_restore.run (memory, &dnnestd, &unit_err), 0);
    assert_int_equal (slurm.n_changes, 3);
}

/* dnnestd gives the first task of an array another GPU type, with a limit of its own.
 */
static void move_task (void)
{
    struct dn_link_job *task = &jobs[1];

    if (jobs[0].pending_tasks[0] != '3')
        return;
    jobs[0].pending_tasks = "5-9";
    strcpy (jobs[0].name, "1_[5-9]");
    *task = jobs[0];
    task->raw_id = 2;
    task->pending_tasks = NULL;
    strcpy (task->name, "1_3");
    sim_limit (task, 7200);
    set_comment (task,
                 CHANGE LIMITS ("\"time_s\":36000,\"gpu\":\"a100\"", "\"time_s\":3600")
                     OPEN "\"time_s\":7200,\"cap_s\":93600}}");
    cluster.n_jobs = 2;
}

TEST ("a task that was moved while limits are given back has the limit of its type")
{
    struct dn_link_job *array = add_job (1, 3600);

    array->phase = DN_PHASE_PENDING;
    array->pending_tasks = "3,5-9";
    strcpy (array->name, "1_[3,5-9]");
    between = move_task;
    assert_int_equal (dn_task_restore.run (memory, &dnnestd, &unit_err), 0);
    assert_string_equal (slurm.changed[0], "1_[5-9]");
    assert_string_equal (slurm.changed[1], "1_3");
    assert_numbers ("2 36000 93600", slurm.n_changes, array->limit_s, jobs[1].limit_s);
}

TEST ("limits are given back where the guard is silent")
{
    struct dn_link_job *job = add_job (1, 3000);
    const struct dn_task *task = &dn_task_restore_if_silent;
    void *own = unit_keep (calloc (1, task->memory), free);
    static const struct {
        int64_t wait_s, now_s, limit_s;
    } looks[] = {
        {0, -1, 3600}, /* the pass ended after this one has looked at the clock */
        {4 * 60, 4 * 60, 3600},
        {1, 4 * 60 + 1, 36000}};

    PASS (1);
    for (size_t i = 0; i < DN_N_ELEMENTS (looks); i++) {
        wait_s (looks[i].wait_s);
        dnnestd.now_s = NOW + looks[i].now_s;
        assert_int_equal (task->run (own, &dnnestd, NULL), 0);
        assert_int_equal (job->limit_s, looks[i].limit_s);
    }
    task->end (own);
}

TEST ("limits are given back where the mode is observe")
{
    struct dn_link_job *job = add_job (1, 3000);

    site.rules.mode = DN_MODE_OBSERVE;
    PASS_LIMIT (job, 36000);
    assert_contains (sim_said, "given back");
}

TEST ("a StateDir that cannot be written does not matter")
{
    struct dn_link_job *job = add_job (12, 800);

    snprintf (site.state_dir, sizeof (site.state_dir), "/proc/none");
    assert_int_equal (pass (), -1);
    assert_int_equal (job->limit_s, 7920);
    assert_int_equal (pass (), -1);
    assert_int_equal (slurm.n_changes, 1);
}

TEST ("a refusal concerns one job")
{
    add_job (1, 100);
    add_job (2, 200);
    refuse = 1;
    PASS (1);
    PASS_CHANGES (1);
    assert_string_equal (slurm.changed[0], "2");
    assert_int_equal (sim_ticks[DN_TICK_REFUSED], 1);
    assert_contains (sim_said, "guard: job 1: refused: its limit stays as it is");
}

/* The change was made, although its answer was lost: it is not made again. */
TEST ("a lost connection ends the pass")
{
    add_job (1, 100);
    add_job (2, 200);
    lose = true;
    assert_int_equal (pass (), -1);
    assert_int_equal (slurm.n_changes, 1);
    assert_int_equal (access (scratch_path ("guard"), F_OK), -1);
    lose = false;
    PASS_CHANGES (2);
    assert_string_equal (slurm.changed[1], "2");
    assert_int_equal (access (scratch_path ("guard"), F_OK), 0);
}

TEST ("a dry run changes nothing")
{
    add_job (1, 100);
    reserve (NOW + 1400, 0);
    dnnestd.dry_run = true;
    PASS_CHANGES (0);
    assert_int_equal (slurm.n_notices, 0);
    assert_int_equal (access (scratch_path ("guard"), F_OK), -1);
}

TEST ("two guards do what one does")
{
    void *other = unit_keep (calloc (1, dn_task_guard.memory), free);
    void *own = memory;
    struct dn_link_job *job = add_job (12, 800);

    for (int i = 0; i < 10; i++) {
        memory = i % 2 ? other : own;
        PASS (1);
        wait_s (30);
    }
    assert_numbers (
        "1 7920 0", slurm.n_changes, job->limit_s, sim_ticks[DN_TICK_HANDS_OFF]);
    memory = own;
    dn_task_guard.end (other);
}

TEST ("jobs are tallied and the heart beats")
{
    struct dn_link_job *done = add_job (7, 100);
    struct dn_link_job *longer = add_job (14, 100);
    struct dn_link_job *failed = add_job (21, 100);
    struct dn_guarded *guarded;
    const struct dn_tally *tally;

    PASS (1);
    wait_s (200);
    end_job (done, "COMPLETED", NOW);
    end_job (failed, "FAILED", NOW);
    PASS (1);
    restart ();
    end_job (longer, "COMPLETED", NOW + 200);
    PASS (1);
    guarded = read_heartbeat ();
    assert_int_equal (guarded->time_s, NOW + 200);
    assert_int_equal (guarded->interval_s, 60);
    tally = dn_guarded_find (guarded, 1000, 0);
    assert_non_null (tally);
    assert_numbers ("2 14 1", tally->n_jobs, tally->jobs[0], tally->needed);
    assert_true (dn_guarded_is_alive (guarded, NOW + 300));
}

static const struct dn_tally *tally (void)
{
    return dn_guarded_find (read_heartbeat (), 1000, 0);
}

TEST ("what a job runs beyond its first limit is a debt, once")
{
    struct dn_link_job *longer = add_job (14, 100);

    PASS (1);
    assert_null (tally ());
    wait_s (140);
    PASS (1);
    assert_int_equal (tally ()->debt_s, 4 * 40);
    wait_s (60);
    PASS (1);
    assert_int_equal (tally ()->debt_s, 4 * 100);
    /* Another process goes on. */
    restart ();
    wait_s (60);
    end_job (longer, "COMPLETED", NOW + 230);
    for (int i = 0; i < 3; i++) {
        PASS (1);
        assert_int_equal (tally ()->debt_s, 4 * 130);
        wait_s (60);
    }
}

/* CPU time, and the largest memory. */
static double cpu_ms (long *peak_kb)
{
    struct rusage usage;

    getrusage (RUSAGE_SELF, &usage);
    *peak_kb = usage.ru_maxrss;
    return (double) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3
           + (double) (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
}

TEST ("twenty thousand jobs cost little")
{
    const char *sanitizers = getenv ("DNNEST_SANITIZERS");
    double ms[3];
    long before;
    long peak;

    for (int i = 0; i < JOBS_MAX; i++)
        add_job (i + 1, 3500);
    assert_int_equal (dn_link_jobs (&slurm, NULL), 0);
    ms[0] = cpu_ms (&before);
    for (int i = 1; i < 3; i++) {
        PASS_CHANGES (0);
        ms[i] = cpu_ms (&peak);
    }
    assert_int_equal (sim_ticks[DN_TICK_GUARDED], JOBS_MAX);
    print_message ("# %d jobs: first pass %.0f ms, next %.0f ms, %ld KB more\n",
                   JOBS_MAX,
                   ms[1] - ms[0],
                   ms[2] - ms[1],
                   peak - before);
    /* On a busy machine. */
    assert_true (ms[2] - ms[1] < 2000);
    if (!sanitizers || sanitizers[0] == '\0')
        assert_true (peak - before < 10000);
}
