/* steer.c - tests of the passes over pending open jobs, with a slurmctld that is made
 * up
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <math.h>
#include <time.h>

#include "guard/guard_plan.h"
#include "jobs/plan/plan.h"
#include "round.h"
#include "rewrite/recorded.h"
#include "steer/steer_queue.h"
#include "tests/sim/sim_daemon.h"
#include "tests/sim/sim_link.h"

#define NOW      INT64_C (1700000000)
#define JOBS_MAX 25010
#define HOUR     3600

/* Two nodes a1 a2 of four a100, two v1 v2 of four v100, in partition gpu. */
static struct dn_link_node nodes[4];
static struct dn_link_job jobs[JOBS_MAX];
static struct sim_slurm cluster;
static struct dn_link slurm;
static void (*between) (void); /* called before a job is read again */

static int before_call (struct dn_link *link,
                        enum sim_call call,
                        const struct dn_link_job *job,
                        struct dn_err *err)
{
    if (call == SIM_JOB && between)
        between ();
    return 0;
}

static void set_comment (struct dn_link_job *job, const char *comment)
{
    job->admin_comment = sim_text (&cluster, comment);
}

/* --- scenes --------------------------------------------------------------------- */

#define OPEN                                                                           \
    "\"open\":[{\"gpu\":\"a100\",\"features\":\"a100\",\"slow\":100},"                 \
    "{\"gpu\":\"v100\",\"features\":\"v100\",\"slow\":162}]"
#define HEAD                                                                           \
    "{\"dnnest\":1,\"version\":\"1\",\"mode\":\"enforce\",\"verdict\":\"change\","     \
    "\"req\":{\"time_s\":36000,\"gpu\":\"a100\",\"gpus\":1},"

static const char opened[] = HEAD "\"set\":{\"features\":\"a100\"}," OPEN
                                  ",\"pred\":{\"gpu\":\"x\",\"train_s\":18000}}";
static const char lowered[] =
    HEAD "\"set\":{\"time_s\":21600,\"features\":\"a100\"}," OPEN
         ",\"pred\":{\"gpu\":\"x\",\"train_s\":18000,\"p95_s\":20000}}";
static const char either[] = HEAD
    "\"set\":{\"features\":\"a100\\u007cv100\",\"time_s\":75840},\"either\":1," OPEN
    "}";
static const char of_v100[] = HEAD
    "\"set\":{\"features\":\"v100\"},\"open\":[{\"gpu\":\"v100\",\"features\":\"v100\","
    "\"slow\":100},{\"gpu\":\"a100\",\"features\":\"a100\",\"slow\":62}],"
    "\"pred\":{\"gpu\":\"x\",\"train_s\":18000}}";

/* 36,000 s x 1.62 x 1.3, in whole minutes. */
#define CAP_V100 75840

struct scene {
    struct dn_site site;
    struct dn_daemon d;
    void *memory;
    struct dn_err err;
};

static struct scene *scene; /* of the test */

static void set_idle (const char *type, int idle)
{
    static char used[4][32];

    for (int i = 0; i < 4; i++) {
        struct dn_link_node *node = &nodes[i];

        if (!strstr (node->gres, type))
            continue;
        snprintf (used[i], sizeof (used[i]), "gpu:%s:%d(IDX:0)", type, 4 - idle);
        node->gres_used = used[i];
        node->idle_cpus = 24 * idle;
    }
}

int before_test (void **state)
{
    static const char *const names[] = {"a1", "a2", "v1", "v2"};

    scene = calloc (1, sizeof (*scene));
    dn_link_jobs_drop (&slurm);
    sim_free (&cluster);
    cluster = (struct sim_slurm){.jobs = jobs,
                                 .max_time_s = DN_UNLIMITED,
                                 .default_time_s = DN_UNSET,
                                 .max_wall_s = DN_UNLIMITED,
                                 .nodes = nodes,
                                 .n_nodes = 4};
    slurm = (struct dn_link){.slurm = &cluster, .before = before_call};
    sim_daemon_forget ();
    between = NULL;
    for (int i = 0; i < 4; i++)
        nodes[i] = (struct dn_link_node){.name = names[i],
                                         .gres = i < 2 ? "gpu:a100:4" : "gpu:v100:4",
                                         .features = i < 2 ? "a100,ib" : "v100,ib",
                                         .partitions = "gpu",
                                         .cpus = 96,
                                         .mem_mb = 1000,
                                         .idle_mem_mb = 1000,
                                         .up = true};
    set_idle ("a100", 0);
    set_idle ("v100", 4);
    scene->site.rules = dn_rules_default ();
    scene->site.rules.mode = DN_MODE_ENFORCE;
    scene->site.steer_interval_s = 60;
    scene->site.gpu_types.n_types = 2;
    strcpy (scene->site.gpu_types.types[0].type, "a100");
    strcpy (scene->site.gpu_types.types[1].type, "v100");
    scene->site.gpu_types.types[0].cost = 4;
    scene->site.gpu_types.types[1].cost = 1;
    scene->d = (struct dn_daemon){
        .site = &scene->site, .link = &slurm, .now_s = NOW, .once = true};
    scene->memory = calloc (1, dn_task_steer.memory);
    return 0;
}

int after_test (void **state)
{
    free (scene->memory);
    free (scene);
    return 0;
}

static struct dn_link_job *add_job (const char *features, const char *comment)
{
    struct dn_link_job *job = &jobs[cluster.n_jobs++];

    *job = (struct dn_link_job){.job_id = cluster.n_jobs,
                                .raw_id = cluster.n_jobs,
                                .array_task = DN_UNSET,
                                .het_offset = DN_UNSET,
                                .phase = DN_PHASE_PENDING,
                                .limit_s = (comment == lowered ? 6 : 10) * HOUR,
                                .submit = NOW - 100,
                                .eligible = NOW - 100,
                                .n_nodes = 1,
                                .n_cpus = 4,
                                .n_tasks = 1,
                                .priority = 10000000 - cluster.n_jobs,
                                .queued = true,
                                .partition = "gpu",
                                .account = "research",
                                .qos = "normal",
                                .features = features,
                                .tres_per = {[DN_TRES_PER_NODE] = "gres:gpu:1"}};
    snprintf (job->name, sizeof (job->name), "%d", cluster.n_jobs);
    if (comment)
        set_comment (job, comment);
    return job;
}

/* It holds a whole node for 'hours'. */
static struct dn_link_job *add_running (const char *node, int hours)
{
    struct dn_link_job *job = add_job (NULL, NULL);

    job->phase = DN_PHASE_RUNNING;
    job->queued = false;
    job->start = NOW - 60;
    job->end = NOW + hours * HOUR;
    job->n_cpus = 96;
    job->tres_per[DN_TRES_PER_NODE] = "gres:gpu:4";
    job->nodes = node;
    return job;
}

/* Jobs that hold all a100 for 20 hours. */
static void fill_a100 (void)
{
    add_running ("a1", 20);
    add_running ("a2", 20);
}

/* The v100 are full instead, and all a100 are idle. */
static void fill_v100 (void)
{
    set_idle ("a100", 4);
    set_idle ("v100", 0);
    add_running ("v1", 20);
    add_running ("v2", 20);
}

/* A job for an a100, all of which are full. */
static struct dn_link_job *waiting (const char *comment)
{
    fill_a100 ();
    return add_job ("a100", comment);
}

/* One round. Return the number of changes. */
static int pass (void)
{
    int first = slurm.n_changes;

    slurm.told_s = scene->d.now_s;
    assert_int_equal (dn_task_steer.run (scene->memory, &scene->d, &scene->err), 0);
    dn_jobs_drop (&scene->d);
    return slurm.n_changes - first;
}

static int pass_after (int64_t seconds)
{
    scene->d.now_s += seconds;
    return pass ();
}

/* Where it may run, and how long. */
static void assert_runs (const struct dn_link_job *job, const char *on, int64_t limit_s)
{
    assert_string_equal (job->features, on);
    assert_int_equal (job->limit_s, limit_s);
}

/* Slurm has chosen the type of a job and started it. */
static void start (struct dn_link_job *job,
                   const char *comment,
                   int64_t limit_s,
                   int64_t ago_s,
                   const char *node)
{
    set_comment (job, comment);
    job->phase = DN_PHASE_RUNNING;
    job->queued = false;
    job->limit_s = limit_s;
    job->start = NOW - ago_s;
    job->nodes = node;
}

static struct dn_recorded record_of (const struct dn_link_job *job)
{
    struct dn_recorded recorded;

    assert_int_equal (dn_record_read (job->admin_comment, &recorded, NULL), 1);
    return recorded;
}

/* After a change a round changes so many jobs. */
#define PASS(change, n)                                                                \
    do {                                                                               \
        change;                                                                        \
        assert_int_equal (pass (), n);                                                 \
    } while (0)

/* --- moves ------------------------------------------------------------------------ */

TEST ("a job whose type is full gets another one, in one request")
{
    struct dn_link_job *job = waiting (opened);
    struct dn_recorded recorded;

    assert_int_equal (pass (), 1);
    assert_runs (job, "v100", CAP_V100);
    recorded = record_of (job);
    assert_string_equal (recorded.steer_gpu, "v100");
    assert_int_equal (recorded.steer_s, CAP_V100);
    assert_int_equal (recorded.cap_s, CAP_V100);
    assert_int_equal (recorded.steered_at_s, NOW);
    assert_int_equal (sim_ticks[DN_TICK_STEERED], 1);
    assert_contains (sim_said,
                     "steer: job 3: a100 -> v100, limit 10:00:00 -> 21:04:00");
    assert_int_equal (pass (), 0);
}

TEST ("a lowered limit is scaled, and the cap is that of the user")
{
    struct dn_link_job *job = waiting (lowered);
    struct dn_promise promise;
    struct dn_recorded recorded;

    assert_int_equal (pass (), 1);
    assert_int_equal (job->limit_s, 45540); /* 21,600 x 2.106, up to a minute */
    recorded = record_of (job);
    promise = dn_promise_of (&recorded);
    assert_int_equal (promise.asked_s, CAP_V100);
    assert_int_equal (promise.set_s, 45540);
    assert_numbers ("45540 32400", promise.written_s, promise.p95_s);
}

TEST ("a job that can start on its own type stays")
{
    add_running ("a1", 20);
    set_idle ("a100", 4);
    PASS (add_job ("a100", opened), 0);
}

TEST ("a job that starts on its own type soon enough stays")
{
    add_running ("a1", 2);
    add_running ("a2", 2);
    PASS (add_job ("a100", opened), 0); /* 2 + 5 hours here, 8.1 there */
}

TEST ("a job that asked for the slower type gets the faster one, with its limit")
{
    struct dn_link_job *job;

    fill_v100 ();
    PASS (job = add_job ("v100", of_v100), 1);
    assert_runs (job, "a100", 10 * HOUR);
}

TEST ("Steer=cheaper and Steer=no are kept")
{
    struct dn_link_job *job;

    scene->site.rules.steer = DN_STEER_CHEAPER;
    fill_v100 ();
    PASS (job = add_job ("v100", of_v100), 0);
    PASS (scene->site.gpu_types.types[0].cost = 0.5, 1);
    assert_string_equal (job->features, "a100");
    scene->site.rules.steer = DN_STEER_NO;
    PASS (add_job ("v100", of_v100), 0);
    scene->site.rules.steer = DN_STEER_BOTH;
    PASS (scene->site.rules.mode = DN_MODE_ADVISE, 0);
}

TEST ("guests leave half of the other type, less than what is idle")
{
    fill_a100 ();
    for (int i = 0; i < 8; i++)
        add_job ("a100", opened);
    assert_int_equal (pass (), 4); /* half of eight GPUs, which no job requests */
    assert_int_equal (pass (), 0);
    PASS (scene->site.rules.keep = 0, 4);
}

/* It holds a GPU of v1 for 'hours'. */
static struct dn_link_job *add_guest (int hours)
{
    struct dn_link_job *guest = add_running ("v1", hours);

    guest->tres_per[DN_TRES_PER_NODE] = "gres:gpu:1";
    set_comment (guest, opened);
    return guest;
}

TEST (
    "guests count by what is left of their limits, the other jobs by their mean limit")
{
    struct dn_link_job *own = add_running ("v1", 20);
    struct dn_link_job *guest = add_guest (20);

    own->tres_per[DN_TRES_PER_NODE] = "gres:gpu:1";
    nodes[2].gres_used = "gpu:v100:2";
    own->limit_s = 29 * HOUR;
    PASS (waiting (opened), 0); /* 41 h of at most 8 x 29 h x 0.15 / 0.85 */
    PASS (own->limit_s = 30 * HOUR, 1);
    waiting (opened);
    PASS (guest->end = NOW + HOUR, 0); /* 2 x 21 h and 1 h of at most 42.4 h */
    PASS (guest->end = NOW + HOUR / 10, 1);
}

TEST ("a first guest may come whatever the other jobs' limits")
{
    add_running ("v1", 20)->limit_s = HOUR;
    nodes[2].gres_used = "gpu:v100:4";
    nodes[2].idle_cpus = 0;
    PASS (waiting (opened), 1);
    PASS (waiting (opened), 0);
}

TEST ("jobs that wait for the other type count by their limits, too")
{
    add_guest (1);
    nodes[2].gres_used = "gpu:v100:1";
    waiting (opened);
    PASS (add_job ("v100", NULL)->limit_s = HOUR, 0);
    PASS (jobs[cluster.n_jobs - 1].limit_s = 20 * HOUR, 1);
}

TEST ("jobs of the other type that wait are planned first, whatever their priority")
{
    fill_a100 ();
    add_running ("v1", 1);
    nodes[2].gres_used = "gpu:v100:4";
    nodes[2].idle_cpus = 0;
    add_job ("a100", opened);
    add_job ("v100", NULL)->n_nodes = 2;
    jobs[cluster.n_jobs - 1].tres_per[DN_TRES_PER_NODE] = "gres:gpu:4";
    PASS (scene->site.rules.keep = 0, 0); /* v2 is reserved in an hour */
    jobs[cluster.n_jobs - 1].queued = false;
    PASS (jobs[cluster.n_jobs - 1].unseen = true, 0);
    PASS (jobs[cluster.n_jobs - 1].priority = 0, 1); /* held */
}

TEST ("of two open jobs the one of higher priority is moved")
{
    struct dn_link_job *low;
    struct dn_link_job *high;

    fill_a100 ();
    low = add_job ("a100", opened);
    high = add_job ("a100", opened);
    high->priority = low->priority + 1;
    set_idle ("v100", 1);
    PASS (nodes[2].gres_used = "gpu:v100:4", 1);
    assert_string_equal (high->features, "v100");
}

TEST ("an untyped job waits on the type that comes first")
{
    struct dn_link_job *any;

    fill_a100 ();
    any = add_job (NULL, NULL);
    any->tres_per[DN_TRES_PER_NODE] = "gres:gpu:4";
    any->n_cpus = 96;
    add_job ("a100", opened)->n_nodes = 2;
    jobs[cluster.n_jobs - 1].tres_per[DN_TRES_PER_NODE] = "gres:gpu:4";
    PASS (scene->site.rules.keep = 0, 0); /* the other job starts on v1 */
    PASS (any->features = "ib&[a100|v100]", 0);
    PASS (any->features = "ib&a100", 1);
}

TEST ("a job that was moved at its submission may come back")
{
    struct dn_link_job *job;

    fill_v100 ();
    job = add_job (
        "v100",
        HEAD
        "\"set\":{\"features\":\"v100\",\"gpu\":\"v100\",\"cap_s\":75840,\"time_s\":"
        "45540}," OPEN ",\"pred\":{\"gpu\":\"x\",\"train_s\":29160}}");
    job->limit_s = 45540;
    PASS (scene->site.rules.keep = 1, 1);
    assert_runs (job, "a100", 6 * HOUR);
    assert_int_equal (pass_after (120), 1);
    assert_runs (job, "v100", 45540);
}

/* --- what is left alone ----------------------------------------------------------- */

TEST ("what a human has changed stays")
{
    fill_a100 ();
    add_job ("a100&ib", opened);
    add_job ("a100", opened)->limit_s = 9 * HOUR;
    add_job ("a100", "{\"dnnest\":1,\"open\":[]}");
    PASS (add_job ("a100", "mine"), 0);
}

TEST ("a job has its own type again whatever keeps it from the other one")
{
    struct dn_link_job *job = waiting (opened);

    assert_int_equal (pass (), 1);
    job->queued = false; /* PartitionTimeLimit, ReqNodeNotAvail, BadConstraints */
    assert_int_equal (pass_after (59), 0);
    assert_int_equal (pass_after (1), 1);
    assert_runs (job, "a100", 10 * HOUR);
    job->queued = true;
    assert_int_equal (pass_after (HOUR), 0); /* it would not start there later, too */
}

TEST ("a job whose user has lowered the limit meanwhile keeps that on its own type")
{
    struct dn_link_job *job = waiting (opened);

    assert_int_equal (pass (), 1);
    job->limit_s = HOUR;
    assert_int_equal (pass_after (120), 1);
    assert_runs (job, "a100", HOUR);
    assert_int_equal (pass_after (1300), 0);
}

static void change_features (void)
{
    jobs[cluster.n_jobs - 1].features = "a100&ib";
}

TEST ("a change between the table and the request stops it")
{
    waiting (opened);
    PASS (between = change_features, 0);
    assert_int_equal (sim_ticks[DN_TICK_STEERED], 0);
}

TEST ("held, later, dependent, heterogeneous, federated and reserved jobs stay")
{
    waiting (opened)->priority = 0;
    add_job ("a100", opened)->eligible = NOW + 60;
    add_job ("a100", opened)->queued = false;
    add_job ("a100", opened)->het_offset = 0;
    add_job ("a100", opened)->federated = true;
    add_job ("a100", opened)->reservation = "course";
    PASS (add_job ("a100", opened)->deadline = NOW + CAP_V100 - 1, 0);
}

TEST ("a lowered limit gets no job to where its user's would run into a reservation")
{
    waiting (lowered);
    /* 45,540 s there, and up to CAP_V100 */
    nodes[3].reserved_from = NOW + CAP_V100 - 60;
    PASS (nodes[3].reserved_until = NOW + 2 * CAP_V100, 0);
    PASS (nodes[3].reserved_from = NOW + CAP_V100, 1);
}

TEST ("a reservation after its own limit, or of another type, keeps no job")
{
    struct dn_link_job *job = waiting (opened);

    scene->site.rules.keep = 0;
    nodes[3].reserved_from = NOW + CAP_V100 - 60;
    PASS (nodes[3].reserved_until = NOW + 2 * CAP_V100, 1); /* on v1 */
    assert_int_equal (job->limit_s, CAP_V100);
    add_job ("a100", lowered);
    nodes[0].reserved_from = nodes[3].reserved_from;
    nodes[0].reserved_until = nodes[3].reserved_until;
    PASS (nodes[3].reserved_from = nodes[3].reserved_until = 0, 1);
}

TEST ("a lowered limit gets no job to where its user's would end after its deadline")
{
    struct dn_link_job *job = waiting (lowered);

    PASS (job->deadline = NOW + CAP_V100 - 1, 0);
    PASS (job->deadline = NOW + CAP_V100, 1);
}

TEST ("memory and CPUs per GPU need room, too")
{
    struct dn_link_job *job = waiting (opened);

    PASS (job->mem_per_gpu_mb = 1001, 0);
    job->mem_per_gpu_mb = 1000;
    PASS (job->cpus_per_gpu = 97, 0);
    PASS (job->cpus_per_gpu = 96, 1);
}

TEST ("a job that asks for nodes by their names is not moved")
{
    PASS (waiting (opened)->on_nodes = true, 0);
}

TEST ("no limit is set above MaxTime")
{
    waiting (opened);
    PASS (cluster.max_time_s = CAP_V100 - 60, 0);
    PASS (cluster.max_time_s = CAP_V100, 1);
}

TEST ("nodes that are down, planned or reserved are no room")
{
    waiting (opened);
    PASS (nodes[2].up = nodes[3].up = false, 0);
    nodes[2].up = nodes[3].up = true;
    PASS (nodes[2].busy = nodes[3].busy = true, 0);
    nodes[2].busy = nodes[3].busy = false;
    for (int i = 2; i < 4; i++) {
        nodes[i].reserved_from = NOW + HOUR;
        nodes[i].reserved_until = NOW + 2 * HOUR;
    }
    assert_int_equal (pass (), 0);
    PASS (nodes[2].reserved_until = nodes[2].reserved_from = 0, 1);
}

/* --- what follows ----------------------------------------------------------------- */

TEST ("a job that did not start there has its own type again, and rests")
{
    struct dn_link_job *job = waiting (lowered);

    assert_int_equal (pass (), 1);
    assert_int_equal (pass_after (119), 0);
    assert_int_equal (pass_after (1), 1);
    assert_runs (job, "a100", 6 * HOUR);
    assert_string_equal (record_of (job).steer_gpu, "");
    assert_int_equal (sim_ticks[DN_TICK_STEERED_BACK], 1);
    assert_int_equal (pass_after (600), 0);
    assert_int_equal (pass_after (601), 1);
    assert_string_equal (job->features, "v100");
}

TEST ("a moved job that a human has changed is not moved back")
{
    struct dn_link_job *job = waiting (opened);

    assert_int_equal (pass (), 1);
    job->features = "v100&ib";
    assert_int_equal (pass_after (300), 0);
}

TEST ("of an array the first pending task is moved, one in a pass")
{
    struct dn_link_job *job = waiting (opened);

    PASS (job->pending_tasks = "3,5-9%4", 1);
    assert_string_equal (slurm.changed[0], "3_3");
    assert_string_equal (job->features, "v100");
}

TEST ("a pass makes 50 changes at most, and after a start as many as StartChanges")
{
    int lines = 0;

    fill_a100 ();
    for (int i = 0; i < 60; i++)
        add_job ("a100", opened);
    nodes[2].gres = nodes[3].gres = "gpu:v100:1000";
    nodes[2].gres_used = nodes[3].gres_used = NULL;
    nodes[2].idle_cpus = nodes[3].idle_cpus = 10000;
    scene->site.start_changes = 2;
    scene->d.once = false;
    PASS (scene->d.dry_run = true, 0);
    for (const char *at = sim_said; (at = strstr (at, "would change")); at++)
        lines++;
    assert_int_equal (lines, 50);
    PASS (scene->d.dry_run = false, 2);
    assert_int_equal (pass (), 0);
    assert_int_equal (pass_after (HOUR),
                      2 + 4); /* the two have not started: they are moved back */
    assert_int_equal (pass (), 0);
}

TEST ("a started job of which Slurm chose the type has the limit of that type, once")
{
    struct dn_link_job *job = add_job ("a100|v100", either);
    struct dn_recorded recorded;

    PASS (start (job, either, CAP_V100, 100, "a2"), 1);
    assert_runs (job, "a100|v100", 36000);
    recorded = record_of (job);
    assert_string_equal (recorded.steer_gpu, "a100");
    assert_int_equal (recorded.cap_s, 36000);
    assert_string_equal (dn_recorded_gpu (&recorded), "a100");
    assert_int_equal (sim_ticks[DN_TICK_FITTED], 1);
    assert_int_equal (pass (), 0);
    PASS (start (job, either, CAP_V100, 20000, "a2"), 0);
    PASS (start (job, either, CAP_V100 + 60, 100, "a2"), 0);
}

/* 2,220 s of v100 are 1,020 s of a100; 600 s before the end comes a signal. */
static const char signals[] =
    "{\"dnnest\":1,\"version\":\"1\",\"mode\":\"enforce\",\"verdict\":\"change\","
    "\"req\":{\"time_s\":36000,\"gpu\":\"a100\",\"signal_s\":600},\"set\":{"
    "\"features\":\"a100\\u007cv100\",\"time_s\":2220,\"cap_s\":75840},"
    "\"either\":1," OPEN "}";

TEST ("a limit that is fitted to a faster type leaves the guard its time")
{
    struct dn_link_job *job = add_job ("a100|v100", signals);

    scene->site.guard_interval_s = 30;
    PASS (start (job, signals, 2220, 60, "a2"), 1);
    assert_int_equal (job->limit_s, 1800); /* 2 x (7 x 30 + 30 + 660) */
    PASS (start (job, signals, 2220, 899, "a2"), 1);
    PASS (start (job, signals, 2220, 901, "a2"), 0);
}

TEST ("a job that is started again on a slower type has the limit of that")
{
    struct dn_link_job *job = add_job ("a100|v100", either);

    PASS (start (job, either, CAP_V100, 100, "a2"), 1);
    assert_int_equal (job->limit_s, 36000);
    job->nodes = "v1";
    PASS (job->start = NOW - 30000, 1);
    assert_int_equal (job->limit_s, CAP_V100);
    assert_string_equal (record_of (job).steer_gpu, "v100");
    assert_int_equal (record_of (job).cap_s, CAP_V100);
    assert_int_equal (pass (), 0);
}

TEST ("a requeued job of which Slurm chooses the type has the limit of the slowest")
{
    struct dn_link_job *job = add_job ("a100|v100", either);

    fill_a100 ();
    PASS (start (job, either, CAP_V100, 100, "a2"), 1);
    job->phase = DN_PHASE_PENDING;
    job->queued = true;
    PASS (job->nodes = NULL, 1);
    assert_runs (job, "a100|v100", CAP_V100);
    assert_string_equal (record_of (job).steer_gpu, "");
    assert_int_equal (pass (), 0);
}

TEST ("where jobs are no longer changed a moved one has its own type again")
{
    struct dn_link_job *job = waiting (opened);

    assert_int_equal (pass (), 1);
    scene->site.rules.mode = DN_MODE_OBSERVE;
    assert_int_equal (pass_after (119), 0);
    assert_int_equal (pass_after (1), 1);
    assert_runs (job, "a100", 10 * HOUR);
    assert_int_equal (pass_after (24 * HOUR), 0);
}

TEST ("before dnnestd ends a moved job that waits has its own type again")
{
    struct dn_link_job *job = waiting (opened);

    assert_int_equal (pass (), 1);
    assert_int_equal (dn_task_steer.leave (scene->memory, &scene->d, &scene->err), 0);
    dn_jobs_drop (&scene->d);
    assert_runs (job, "a100", 10 * HOUR);
    assert_int_equal (sim_ticks[DN_TICK_STEERED_BACK], 1);
}

/* --- sizes ------------------------------------------------------------------------ */

TEST ("of 20,000 pending jobs 500 of each type are planned")
{
    struct dn_steer_queue *queue = dn_steer_queue_new (NOW, NULL);
    int planned = 0;

    fill_a100 ();
    for (int i = 0; i < 20000; i++)
        add_job (i % 2 ? "a100" : "v100", i % 2 ? opened : of_v100);
    for (int i = 0; i < 4; i++)
        assert_int_equal (dn_steer_add_node (queue, &nodes[i], NULL), 0);
    for (int i = 0; i < cluster.n_jobs; i++)
        assert_int_equal (dn_steer_add_job (queue, &jobs[i], false, NULL), 0);
    assert_int_equal (dn_steer_lay (queue, NULL), 0);
    for (int64_t i = 0; i < queue->n_jobs; i++)
        planned += !isnan (queue->jobs[i].start_s);
    assert_int_equal (planned, 2 * DN_STEER_DEPTH);
    assert_int_equal (queue->n_calls, 2 * DN_STEER_DEPTH);
    dn_steer_queue_free (queue);
}

TEST ("a pass over 20,000 pending jobs and 5,000 guests costs little")
{
    clock_t begin;
    double ms;

    fill_a100 ();
    for (int i = 0; i < 20000; i++)
        add_job ("a100", opened)->limit_s = 9 * HOUR; /* a human's: none is moved */
    for (int i = 0; i < 5000; i++)
        add_guest (20);
    PASS (begin = clock (), 0);
    ms = 1e3 * (double) (clock () - begin) / CLOCKS_PER_SEC;
    print_message ("# a pass over 20000 pending jobs, 5000 guests: %.0f ms\n", ms);
    assert_true (ms < 2000); /* on a busy machine, with sanitizers */
}
