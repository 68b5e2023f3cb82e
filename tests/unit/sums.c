/* sums.c - tests of the sums of a report
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <inttypes.h>

#include "jobs/worth/own_runs.h"
#include "jobs/worth/sums.h"

#define HOUR 3600

static double price (const void *prices, const char *type)
{
    return strcmp (type, "a100") == 0 ? 4 : 1;
}

static struct dn_sums *sums;   /* of the test */
static struct dn_finished job; /* that it adds */

static void add (void)
{
    assert_done (dn_sums_add (sums, &job, &unit_err));
}

/* Two hours of two GPUs and eight CPUs, after a wait of ten minutes. */
static void usual_job (void)
{
    dn_finished_clear (&job);
    job.cluster = "c1";
    job.user = 7;
    job.user_name = "ann";
    job.submit_s = job.eligible_s = 1767571200;
    job.start_s = job.submit_s + 600;
    job.end_s = job.start_s + 2 * HOUR;
    job.state = "COMPLETED";
    job.outcome = "completed";
    job.gpu = "v100";
    job.gpus = 2;
    job.cpus = 8;
    job.limit_s = 3 * HOUR;
    job.app = "net";
}

/* The same, changed from ten hours on another type. */
static void changed_job (void)
{
    usual_job ();
    job.mode = "enforce";
    job.verdict = "change";
    job.asked_limit_s = 10 * HOUR;
    job.asked_gpu = "a100";
    job.asked_cpus = 16;
    job.set_limit_s = 3 * HOUR;
    job.likely_s = 1.5 * HOUR;
    job.bound_s = 2 * HOUR;
    job.bound_bp = 9500;
    job.p95_s = 1.9 * HOUR;
}

/* Sums of no job, and the changed one. */
static void begin (void)
{
    dn_sums_cleanup (&sums);
    sums = dn_sums_new (DN_GROUPED_BY_APP, price, NULL);
    assert_non_null (sums);
    changed_job ();
}

int before_test (void **state)
{
    begin ();
    return 0;
}

int after_tests (void **state)
{
    dn_sums_free (sums);
    return 0;
}

static void assert_amount (enum dn_measure which,
                           double requested,
                           double granted,
                           double used,
                           double saved)
{
    const struct dn_amount *amount = &sums->all.amounts[which];

    assert_near (amount->requested, requested);
    assert_near (amount->granted, granted);
    assert_near (amount->used, used);
    assert_near (amount->saved, saved);
}

TEST ("a changed job saves what is not reserved")
{
    add ();
    assert_int_equal (sums->all.changed, 1);
    assert_amount (DN_MEASURE_HOURS, 10, 3, 2, 7);
    assert_amount (DN_MEASURE_GPU_HOURS, 20, 6, 4, 14);
    assert_amount (DN_MEASURE_CPU_HOURS, 160, 24, 16, 136);
    assert_near (sums->all.wasted[DN_WASTE_TIME], 16);
}

TEST ("money is what runs were charged, and would have been as requested")
{
    static const struct {
        double said_slow;
        int64_t asked_gpus;
        int64_t rescued;
        double requested;
    } cases[] = {{2, 2, 0, 8}, {2, 4, 0, 16}, {NAN, 2, 0, 4}, {2, 2, 1, 4}};

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        begin ();
        job.said_slow = cases[i].said_slow;
        job.asked_gpus = cases[i].asked_gpus;
        job.rescued = cases[i].rescued;
        add ();
        assert_amount (
            DN_MEASURE_MONEY, cases[i].requested, 4, 4, cases[i].requested - 4);
        job.limit_s *= 2; /* of no charge */
        job.verdict = "control";
        add ();
        assert_near (sums->all.amounts[DN_MEASURE_MONEY].saved, cases[i].requested - 4);
    }
}

TEST ("GPUs are stranded by the CPUs and the memory that a job has beyond its share")
{
    struct dn_node_group groups[] = {
        {.type = "v100", .gpus = 4, .cpus = 8, .mem_mb = 65536, .n_nodes = 3},
        {.type = "a100", .gpus = 8, .cpus = 32, .mem_mb = 262144, .n_nodes = 1},
    };
    struct dn_cluster cluster = {.groups = groups, .n_groups = 2};

    job.mem_gb = 40;
    job.asked_mem_gb = 128;
    add ();
    assert_amount (DN_MEASURE_BY_CPUS, 0, 0, 0, 0);
    sums->cluster = &cluster;
    add ();
    /* 16 CPUs and 128 GiB are 4 of 8 GPUs, 8 and 40 are 4 and 2.5 of 4, for 2 hours. */
    assert_amount (DN_MEASURE_BY_CPUS, 4, 4, 4, 0);
    assert_amount (DN_MEASURE_BY_MEMORY, 4, 1, 1, 3);
    job.asked_mem_gb = NAN;
    job.gpus = 0;
    add ();
    job.gpus = 4;
    add ();
    assert_amount (DN_MEASURE_BY_MEMORY, 4, 1, 1, 3);
}

TEST ("GPUs that were given back are saved")
{
    job.asked_gpus = 8;
    add ();
    assert_amount (DN_MEASURE_GPU_HOURS, 80, 6, 4, 74);
}

/* Waits below five minutes are as good as none. */
TEST ("a wait is expected well within a factor of two")
{
    static const struct {
        int64_t expected_s;
        int64_t wait_s;
        int near;
    } cases[] = {{1000, 500, 1},
                 {1000, 499, 0},
                 {1000, 2000, 1},
                 {1000, 2001, 0},
                 {0, 600, 1},
                 {0, 601, 0},
                 {DN_UNSET, 0, 0}};

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        begin ();
        job.eligible_s = job.start_s - cases[i].wait_s;
        job.pred_wait_s = cases[i].expected_s;
        add ();
        assert_int_equal (sums->all.forecasts, cases[i].expected_s != DN_UNSET);
        assert_int_equal (sums->all.forecasts_near, cases[i].near);
    }
}

TEST ("jobs that dnnest did not change save nothing")
{
    job.verdict = "control";
    add ();
    job.verdict = "change";
    job.mode = "observe";
    add ();
    usual_job ();
    add ();
    assert_numbers ("0 2", sums->all.changed, sums->all.described);
    assert_amount (DN_MEASURE_HOURS, 23, 9, 6, 0);
    assert_int_equal (sums->n_kept, 3);
    assert_string_equal (sums->kept[0].why, "control group");
    assert_int_equal (sums->sides.of[DN_SIDE_CONTROL][DN_EFFECT_WAIT].n, 1);
}

TEST ("unknown limits save nothing")
{
    usual_job ();
    job.limit_s = DN_UNLIMITED;
    add ();
    assert_amount (DN_MEASURE_HOURS, 2, 2, 2, 0);
    job.start_s = job.end_s; /* never ran */
    job.outcome = "cancelled";
    add ();
    assert_numbers ("2 1", sums->all.seen, sums->all.ran);
    assert_amount (DN_MEASURE_HOURS, 2, 2, 2, 0);
}

TEST ("predictions are judged by all whose time is known to be longer or is known")
{
    add ();
    job.outcome = "failed"; /* its time says nothing */
    add ();
    job.history_runs = 4;
    job.outcome = "limit_ours"; /* 2 hours of 1.5 that were likely, 2 of the bound */
    add ();
    job.likely_s = 3 * HOUR; /* killed before it: nothing */
    add ();
    job.outcome = "completed";
    add ();
    assert_int_equal (sums->judged[DN_SUMS_OF_NEW].predicted, 2);
    assert_int_equal (sums->judged[DN_SUMS_OF_NEW].n, 1);
    assert_int_equal (sums->judged[DN_SUMS_OF_KNOWN].n, 2);
    assert_int_equal (sums->judged[DN_SUMS_OF_ALL].predicted, 5);
    assert_int_equal (sums->judged[DN_SUMS_OF_ALL].n, 3);
    assert_int_equal (sums->judged[DN_SUMS_OF_ALL].n_bound, 2);
    assert_int_equal (sums->judged[DN_SUMS_OF_ALL].within_bound, 2);
    assert_int_equal (sums->judged[DN_SUMS_OF_ALL].n_p95, 4);
    assert_int_equal (sums->judged[DN_SUMS_OF_ALL].within_p95, 0);
    assert_near (dn_spread_quantile (&sums->judged[DN_SUMS_OF_ALL].error, 0),
                 (double) (float) log (2 / 1.5));
    assert_int_equal (sums->n_points, 3);
    assert_numbers ("1 1767571200", sums->n_weeks, sums->weeks[0].start_s);
    assert_int_equal (sums->weeks[0].within_bound, 2);
}

TEST ("reasons without numbers and quotes are classes")
{
    usual_job ();
    job.verdict = "abstain";
    job.mode = "enforce";
    job.why = "confidence 0.12 of 'a b' is below 0.30";
    add ();
    job.why = "confidence 0.2 of 'c' is below 0.30";
    add ();
    assert_numbers ("1 2", sums->n_kept, sums->kept[0].jobs);
    assert_string_equal (sums->kept[0].why, "confidence N of '...' is below N");
    job.why = "no history of this application yet (0 of 3 runs on v100)";
    add ();
    job.why = "no history of this application yet (2 of 3 runs on a100)";
    add ();
    assert_numbers ("2 2", sums->n_kept, sums->kept[1].jobs);
    assert_string_equal (sums->kept[1].why, "no history of this application yet");
    for (int i = 0; i < 100; i++) {
        char why[] = {(char) ('a' + i % 26), (char) ('a' + i / 26), '\0'};

        job.why = why;
        add ();
    }
    assert_int_equal (sums->n_kept, DN_SUMS_REASONS_MAX);
    assert_string_equal (sums->kept[DN_SUMS_REASONS_MAX - 1].why, DN_SUMS_OTHERS);
}

TEST ("groups are bounded")
{
    char name[300] = "";

    usual_job ();
    memset (name, 'x', sizeof (name) - 1);
    for (int i = 0; i < DN_SUMS_GROUPS_MAX + 50; i++) {
        name[snprintf (name, sizeof (name), "%d", i)] = 'x';
        job.app = name;
        add ();
    }
    assert_int_equal (sums->groups.n, DN_SUMS_GROUPS_MAX + 1);
    assert_string_equal (sums->groups.groups[0].name, DN_SUMS_OTHERS);
    assert_numbers ("50 2", sums->groups.groups[0].part.seen, sums->users.n);
    job.gpus = 64;
    job.app = "0x";
    dn_groups_sort (&sums->groups, dn_sums_part_gpu_hours, 0);
    assert_int_equal (sums->groups.groups[1].part.seen, 1);
}

TEST ("the newest weeks are kept")
{
    usual_job ();
    for (int i = 0; i < 300; i++) {
        int64_t at = INT64_C (1767571200) + (int64_t) (i * 7919 % 300) * 604800;

        job.start_s = at;
        job.end_s = at + HOUR;
        add ();
    }
    assert_int_equal (sums->n_weeks, DN_SUMS_WEEKS_MAX);
    for (int i = 0; i < sums->n_weeks; i++)
        assert_int_equal (sums->weeks[i].start_s,
                          INT64_C (1767571200)
                              + (int64_t) (300 - DN_SUMS_WEEKS_MAX + i) * 604800);
}

/* Ten users, each with as many jobs on both sides and waits of its own: the spread
 * between users cancels, and that within them is the same for all.
 */
TEST ("the effect has an interval by applications")
{
    struct dn_effect effect;
    char user[16];

    job.user_name = user;
    for (int i = 0; i < 200; i++) {
        bool control = i % 2;
        int owner = i / 2 % 10;

        snprintf (user, sizeof (user), "u%d", owner);
        job.verdict = control ? "control" : "change";
        job.limit_s = (control ? 8 : 3) * HOUR;
        job.start_s = job.eligible_s + 1000 * owner
                      + (control ? 1000 : 400 + (owner % 2 ? 50 : -50));
        job.end_s = job.start_s + 2 * HOUR;
        add ();
        if (i == 10)
            assert_false (dn_sums_effect (sums, DN_EFFECT_WAIT).known);
    }
    effect = dn_sums_effect (sums, DN_EFFECT_WAIT);
    assert_true (effect.known);
    assert_numbers ("10 -600", effect.n_clusters, effect.value);
    /* 50 s of each of ten users, t of 9 degrees between those of 95 and 99 % */
    assert_true (effect.high - effect.value > 2.262 * 50 / 3
                 && effect.high - effect.value < 2.35 * 50 / 3);
    assert_near (dn_sums_effect (sums, DN_EFFECT_TURNAROUND).value, -600);
    assert_near (dn_sums_effect (sums, DN_EFFECT_FAILED).value, 0);
    effect = dn_sums_effect (sums, DN_EFFECT_ACCURACY);
    assert_near (effect.control, 4);
    assert_near (effect.value, 3.0 / 8);
    effect = dn_sums_effect (sums, DN_EFFECT_HELD);
    assert_near (effect.changed, 1.5);
    assert_near (effect.value, 3.0 / 8);
}

/* --- a placebo -------------------------------------------------------------------- */

static uint64_t drawn = 1;

/* Uniform from 0 to 1, the same in every run (xorshift64*, Vigna 2016). */
static double draw (void)
{
    drawn ^= drawn >> 12;
    drawn ^= drawn << 25;
    drawn ^= drawn >> 27;
    return (double) (drawn * UINT64_C (2685821657736338717) >> 11) / 9007199254740992.0;
}

/* Normal (Box and Muller 1958). */
static double normal (void)
{
    return sqrt (-2 * log (1 - draw ())) * cos (6.283185307 * draw ());
}

/* 40 users with 3 to some hundred jobs of 1 to 5 applications each; waits and run times
 * differ by user, application and job, and nothing was changed. 'by_app': all jobs of
 * an application are on one side.
 */
static void placebo (double share, bool by_app, double effect)
{
    char user[16];
    char name[] = "a";

    begin ();
    job.user_name = user;
    job.app = name;
    for (int owner = 0; owner < 40; owner++) {
        int apps = 1 + (int) (5 * draw ());
        int jobs = (int) (3 * exp (1.3 * fabs (normal ())));
        double his = normal ();

        snprintf (user, sizeof (user), "u%d", owner);
        for (int app = 0; app < apps; app++) {
            double its = his + normal ();
            bool side = draw () < share;

            name[0] = (char) ('a' + app);
            for (int i = 0; i < jobs; i++) {
                bool control = by_app ? side : draw () < share;
                double wait =
                    600 * exp (0.7 * its + normal ()) * (control ? 1 : effect);

                job.verdict = control ? "control" : "change";
                job.outcome = draw () < 0.1 ? "failed" : "completed";
                job.start_s = job.eligible_s + (int64_t) wait;
                job.end_s = job.start_s + (int64_t) (3600 * exp (0.5 * its));
                job.limit_s = (int64_t) (7200 * exp (0.5 * its + 0.5 * normal ()));
                add ();
            }
        }
    }
    usual_job (); /* of texts that stay */
}

TEST ("without an effect, few intervals of 95 % exclude none")
{
    static const struct {
        double share;
        bool by_app;
    } ways[] = {{0.5, false}, {0.1, false}, {0.5, true}, {0.2, true}};

    for (size_t w = 0; w < sizeof (ways) / sizeof (*ways); w++) {
        int excluded[DN_N_EFFECTS] = {0};

        for (int i = 0; i < 400; i++) {
            placebo (ways[w].share, ways[w].by_app, 1);
            for (int e = 0; e < DN_N_EFFECTS; e++) {
                struct dn_effect effect = dn_sums_effect (sums, (enum dn_effect_of) e);
                double none = dn_effect_is_difference ((enum dn_effect_of) e) ? 0 : 1;

                excluded[e] +=
                    effect.known && (effect.low > none || effect.high < none);
            }
        }
        for (int e = 0; e < DN_N_EFFECTS; e++)
            assert_in_range (excluded[e], 0, 32);
    }
}

TEST ("an effect on the wait is seen in most draws")
{
    int seen = 0;

    for (int i = 0; i < 100; i++) {
        placebo (0.5, false, 0.5);
        seen += dn_sums_effect (sums, DN_EFFECT_WAIT).high < 0;
    }
    assert_in_range (seen, 60, 100);
}

/* --- what to request next time ---------------------------------------------------- */

static int keep_app (void *to, const struct dn_own_app *app)
{
    struct dn_own_app *apps = to;

    apps[app->name[0] - 'a'] = *app;
    return 0;
}

TEST ("own runs name the next limit")
{
    struct dn_own_app apps[2] = {{.n = 0}};
    struct dn_own_runs own = {.take = keep_app, .to = apps};

    job.app = "a";
    for (int i = 0; i < 10; i++) {
        job.end_s = job.start_s + HOUR + i * 60;
        job.cpu_s = 2.0 * (double) (job.end_s - job.start_s);
        assert_int_equal (dn_own_runs_add (&own, &job), 0);
    }
    job.app = "b";
    assert_int_equal (dn_own_runs_add (&own, &job), 0);
    assert_int_equal (dn_own_runs_end (&own), 0);
    assert_int_equal (apps[0].runs, 10);
    assert_int_equal (apps[0].n, DN_OWN_RUNS);
    assert_near (apps[0].shortest_s, HOUR + 180);
    assert_near (apps[0].longest_s, HOUR + 540);
    assert_int_equal (apps[0].limit_s, 5400); /* 1.25 * 4140 in steps of 300 */
    assert_numbers ("3 0", apps[0].request_cpus, apps[1].limit_s);
}

/* --- GPUs that are idle ----------------------------------------------------------- */

static void add_use (const char *app, int64_t number, int64_t used)
{
    usual_job ();
    job.job = unit_text ("%" PRId64, number);
    job.app = app;
    job.gpus = 4;
    job.gpus_used = used;
    add ();
}

TEST ("applications whose last two runs left GPUs idle are listed, the worst first")
{
    add_use ("once", 1, 1);
    add_use ("some", 2, 3);
    add_use ("some", 3, 3);
    add_use ("most", 4, 2);
    add_use ("most", 5, 1);
    add_use ("better", 6, 1);
    add_use ("better", 7, 1);
    add_use ("better", 8, 4);
    add_use ("better", 9, 1);
    add_use ("unknown", 10, DN_UNSET);
    usual_job ();
    job.gpus_used = 1;
    job.outcome = "failed";
    add ();
    add ();
    assert_int_equal (dn_idle_end (&sums->idle), 2);
    assert_string_equal (sums->idle.apps[0].app, "most");
    assert_string_equal (sums->idle.apps[0].user, "ann");
    assert_string_equal (sums->idle.apps[0].job, "5");
    assert_numbers ("1 4", sums->idle.apps[0].used, sums->idle.apps[0].gpus);
    assert_numbers ("2 10", sums->idle.apps[0].runs, sums->idle.apps[0].gpu_hours);
    assert_string_equal (sums->idle.apps[1].app, "some");
    assert_near (sums->idle.apps[1].gpu_hours, 4);
}

TEST ("the applications that leave GPUs idle are bounded")
{
    for (int64_t i = 0; i < 2 * (DN_IDLE_APPS_MAX + 100); i++) {
        add_use (unit_text ("a%" PRId64, i / 2), i, 0);
    }
    assert_int_equal (dn_idle_end (&sums->idle), DN_IDLE_APPS_MAX);
}
