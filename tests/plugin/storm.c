/* storm.c - sixteen threads submit while everything under them is replaced
 *
 * The site is loaded again because of reconfigurations and because its files change,
 * sometimes to broken ones; so are the files of dnnestd; the decision log is renamed.
 * Every job must be rewritten completely as one of the sites requires; every decision
 * is in the log or counted as lost.
 *
 * With --enable-tsan, the thread sanitizer checks it; packaging/check does that.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "fake_site.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum {
    N_THREADS = 16,
    N_JOBS = 400, /* per thread, at least */
    STORM_S = 6
};

/* Otherwise sixteen readers without a pause would block the writer forever. */
static pthread_rwlock_t conf_lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static atomic_bool over;

enum fate {
    MOVED,
    KEPT,
    TORN,
    N_FATES
};

struct tally {
    int n_jobs;
    int n[N_FATES];
};

static void judge (const job_desc_msg_t *desc, struct tally *tally)
{
    bool moved = strcmp (desc->tres_per_node, GPU "4") == 0;
    bool shorter = desc->time_limit < 1440;
    bool fewer = desc->cpus_per_task < 80;

    tally->n_jobs++;
    tally->n[moved != shorter || moved != fewer ? TORN : moved ? MOVED : KEPT]++;
}

/* cmocka's assertions work only in its own thread: count here, assert there. slurmctld
 * has its configuration locked for reading meanwhile.
 */
static void *submit_until_over (void *of)
{
    struct tally *tally = of;

    while (tally->n_jobs < N_JOBS || !atomic_load (&over)) {
        job_desc_msg_t desc;
        char *message = NULL;

        make_job (&desc, SHORT_RESNET);
        pthread_rwlock_rdlock (&conf_lock);
        plugin.job_submit (&desc, 0, &message);
        pthread_rwlock_unlock (&conf_lock);
        judge (&desc, tally);
        slurm_text_free (&message);
        job_free (&desc);
    }
    return NULL;
}

static void bump (char *parameters)
{
    pthread_rwlock_wrlock (&conf_lock);
    slurm_conf.last_update++;
    slurm_conf.slurmctld_params = parameters;
    pthread_rwlock_unlock (&conf_lock);
}

/* Atomically, as an admin's editor and dnnestd do. */
static void replace (const char *name, const char *above, const char *text)
{
    write_file ("new.conf", above, text);
    assert_int_equal (rename (scratch_path ("new.conf"), scratch_path (name)), 0);
}

static void replace_conf (const char *more)
{
    char *text =
        unit_text ("DataDir=%s Bundle=%s DecisionTime=1000\n"
                   "DecisionLog=%s/log.jsonl Counters=%s/dnnest.prom StateDir=%s\n%s",
                   scratch_path (""),
                   bundle_dir,
                   scratch_path (""),
                   scratch_path (""),
                   scratch_path (""),
                   more);

    replace ("dnnest.conf", ENFORCE, text);
}

/* Both files with their present times, or cut. */
static void change_news (int i)
{
    long long now = time (NULL);

    replace (
        "cluster.snapshot",
        "",
        unit_text (
            "Cluster Version=1 Name=c Time=%lld Slurm=2411 SoftTimeMin=no Enforces=no\n"
            "Group Type=v100 Gpus=4 Features=v100 Nodes=4 Up=4 Idle=0,0,0,0,%d\n"
            "Group Type=a100 Gpus=4 Features=a100 Nodes=4 Up=4 Idle=4\n"
            "Wait Type=a100 Gpu=%d\n"
            "%s",
            now,
            i % 5,
            i,
            i % 3 == 2 ? "" : "End Rows=3\n"));
    replace (
        "guard",
        "",
        unit_text ("Guard Version=2 Time=%lld Interval=1\nUser Id=1000 Jobs=%d+\n%s",
                   now,
                   i + 1,
                   i % 4 == 3 ? "" : "End Users=1\n"));
}

static void make_weather (void)
{
    static char observe[] = "dnnest_mode=observe";
    static char broken[] = "dnnest_mode=sideways";
    const time_t end = time (NULL) + STORM_S;
    int lines = 0;

    for (int i = 0; time (NULL) < end; i++) {
        usleep (20000);
        bump (i % 5 == 1 ? observe : i % 5 == 3 ? broken : NULL);
        if (i % 7 == 0)
            replace_conf (i % 2 == 0 ? "" : "Cpus=sideways\n");
        change_news (i);
        if (i % 50 == 10) {
            lines += count_lines ("log.moved", "");
            rename (scratch_path ("log.jsonl"), scratch_path ("log.moved"));
        }
    }
    print_message ("%d lines in logs moved away before the last\n", lines);
}

TEST ("jobs are whole, and every decision is accounted for")
{
    static struct tally tallies[N_THREADS];
    pthread_t threads[N_THREADS];
    struct tally all = {0};

    make_bundle ();
    start_plugin (ENFORCE);
    replace_conf ("");
    reconfigure ();
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal (
            pthread_create (&threads[i], NULL, submit_until_over, &tallies[i]), 0);
    make_weather ();
    atomic_store (&over, true);
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join (threads[i], NULL);
        all.n_jobs += tallies[i].n_jobs;
        for (int fate = 0; fate < N_FATES; fate++)
            all.n[fate] += tallies[i].n[fate];
    }
    replace_conf ("");
    bump (NULL);
    reconfigure ();
    stop_plugin ();
    print_message (
        "%d jobs, %d moved, %d kept\n", all.n_jobs, all.n[MOVED], all.n[KEPT]);
    assert_int_equal (all.n[TORN], 0);
    assert_true (all.n[MOVED] > 0 && all.n[KEPT] > 0);
    /* The job that opts out in reconfigure () causes no decision. */
    assert_int_equal (counter ("dnnest_described_total "), all.n_jobs);
    assert_int_equal (counter ("dnnest_submission_seconds_count "), all.n_jobs + 2);
    assert_int_equal (
        counter ("dnnest_decision_log_lines_total ")
            + counter ("dnnest_decision_log_dropped_total{reason=\"full\"}"),
        all.n_jobs);
    assert_true (counter ("dnnest_config_loads_total{result=\"failure\"}") > 0);
    remove_bundle ();
}

int before_tests (void **state)
{
    return load_plugin (state);
}
