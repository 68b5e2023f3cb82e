/* simulate.c - tests of the simulated queue
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "jobs/replay/simulate.h"

/* A job of 'gpus' on pool 0, with a limit. */
#define JOB(submit, n, run, limit)                                                     \
    {                                                                                  \
        .submit_s = (submit), .pools = 1, .gpus = (n), .run_s = (run),                 \
        .limits_s = {limit}, .n_limits = 1                                             \
    }

static struct dn_sim_job job (double submit, int64_t gpus, double run, double limit)
{
    return (struct dn_sim_job) JOB (submit, gpus, run, limit);
}

static struct dn_sim cluster (int64_t nodes, int64_t gpus)
{
    return (struct dn_sim){.pools = {{.type = "a100", .nodes = nodes, .gpus = gpus}},
                           .n_pools = 1};
}

static void simulate (const struct dn_sim *sim, struct dn_sim_job *jobs, int64_t n)
{
    assert_done (dn_simulate (sim, jobs, n, &unit_err));
}

/* The jobs start then, and a job that never starts at NAN. */
static void simulate_to (const struct dn_sim *sim,
                         struct dn_sim_job *jobs,
                         int n,
                         const double starts_s[],
                         const char *says)
{
    simulate (sim, jobs, n);
    for (int i = 0; i < n; i++)
        if (isnan (starts_s[i]) ? !isnan (jobs[i].start_s)
                                : !(fabs (jobs[i].start_s - starts_s[i]) <= 1e-6))
            fail_msg ("%s: job %d starts at %g", says, i, jobs[i].start_s);
}

#define SIMULATE(...)                                                                  \
    simulate_to (&sim,                                                                 \
                 jobs,                                                                 \
                 DN_N_ELEMENTS (jobs),                                                 \
                 (const double[DN_N_ELEMENTS (jobs)]){__VA_ARGS__},                    \
                 unit_text ("line %d", __LINE__))

static struct dn_sim_sums sum (const struct dn_sim *sim,
                               struct dn_sim_job *jobs,
                               int64_t n)
{
    struct dn_sim_sums sums;

    assert_done (dn_sim_sum (sim, jobs, n, -1, &sums, &unit_err));
    return sums;
}

#define assert_ends(job, end) assert_float_equal ((job).end_s, (end), 1e-6)

static struct {
    const char *says;
    int64_t nodes;
    int64_t gpus;
    struct dn_sim_job jobs[4];
    double starts_s[4];
} starts[] = {
    {"jobs start in order of age",
     1,
     4,
     {JOB (0, 4, 100, 200), JOB (1, 4, 50, 60), JOB (2, 4, 10, 20)},
     {0, 100, 150}},
    /* Two of four GPUs are busy until their limit at 200; the second job needs
     * four. A pass at 30 starts a job of two GPUs before it only if its limit ends
     * by then.
     */
    {"short jobs are backfilled",
     1,
     4,
     {JOB (0, 2, 150, 200),
      JOB (1, 4, 10, 20),
      JOB (2, 2, 10, 171),
      JOB (3, 2, 10, 170)},
     {0, 150, 160, 30}},
    {"a reservation keeps whole nodes, also GPUs that its job does not need",
     1,
     8,
     {JOB (0, 5, 100, 100), JOB (1, 6, 10, 10), JOB (2, 1, 500, 500)},
     {0, 100, 100}},
    {"a job sits on one node", /* at 2 two GPUs are idle, on two nodes */
     2,
     4,
     {JOB (0, 3, 100, 100), JOB (0, 3, 50, 50), JOB (1, 2, 10, 10), JOB (2, 1, 10, 10)},
     {0, 0, 50, 30}},
    {"the tightest node is taken",
     2,
     4,
     {JOB (0, 2, 100, 100), JOB (1, 1, 100, 100), JOB (2, 4, 10, 10)},
     {0, 1, 2}},
    {"large jobs get whole nodes", /* the second has all of two */
     3,
     4,
     {JOB (0, 1, 100, 100), JOB (1, 6, 50, 50), JOB (2, 4, 10, 200), JOB (3, 12, 5, 5)},
     {0, 1, 51, 100}},
};

TEST ("jobs start where and when they fit")
{
    for (size_t i = 0; i < DN_N_ELEMENTS (starts); i++) {
        struct dn_sim sim = cluster (starts[i].nodes, starts[i].gpus);
        int n = starts[i].jobs[3].gpus > 0 ? 4 : 3;

        simulate_to (&sim, starts[i].jobs, n, starts[i].starts_s, starts[i].says);
        for (const struct dn_sim_job *ran = starts[i].jobs; ran < starts[i].jobs + n;
             ran++)
            assert_ends (*ran, ran->start_s + ran->run_s);
    }
}

TEST ("a job that states its nodes takes a share of each")
{
    struct dn_sim sim = cluster (2, 4);
    struct dn_sim_job jobs[] = {job (0, 6, 100, 100), job (1, 1, 10, 10)};

    jobs[0].nodes = 2;
    SIMULATE (0, 1);
    jobs[0].nodes = 0;
    SIMULATE (0, 100);
}

TEST ("memory is a bound")
{
    struct dn_sim sim = cluster (1, 4);
    struct dn_sim_job jobs[] = {job (0, 1, 100, 100), job (1, 1, 10, 10)};

    jobs[0].mem_mb = 700;
    jobs[1].mem_mb = 400;
    SIMULATE (0, 1);
    sim.pools[0].mem_mb = 1000;
    SIMULATE (0, 100);
}

TEST ("cpus are a bound")
{
    struct dn_sim sim = cluster (1, 4);
    struct dn_sim_job jobs[] = {job (0, 1, 100, 100), job (1, 1, 10, 10)};

    sim.pools[0].cpus = 16;
    jobs[0].cpus = 12;
    jobs[1].cpus = 5;
    SIMULATE (0, 100);
    jobs[1].cpus = 4;
    SIMULATE (0, 1);
    jobs[1].cpus = 17;
    SIMULATE (0, NAN);
}

TEST ("limits end jobs")
{
    struct dn_sim sim = cluster (1, 1);
    struct dn_sim_job jobs[] = {job (0, 1, 100, 60), job (0, 1, 60, 60)};
    struct dn_sim_sums sums;

    simulate (&sim, jobs, 2);
    assert_true (jobs[0].killed);
    assert_ends (jobs[0], 60);
    assert_false (jobs[1].killed);
    assert_ends (jobs[1], 120);
    sums = sum (&sim, jobs, 2);
    assert_int_equal (sums.killed, 1);
    assert_float_equal (sums.lost_gpu_hours, 60.0 / 3600, 1e-9);
}

/* The limit 100 is extended at 75, 200 at 150; a plan made before then is void. */
TEST ("the guard extends")
{
    struct dn_sim sim = cluster (1, 2);
    struct dn_sim_job jobs[] = {job (0, 1, 160, 100),
                                job (1, 2, 10, 10),
                                job (2, 1, 60, 70),
                                job (80, 1, 5, 80)};

    jobs[0].limits_s[1] = 200;
    jobs[0].limits_s[2] = 1000;
    jobs[0].n_limits = 3;
    SIMULATE (0, 160, 30, 120); /* the last ends by 200, the limit then */
    assert_int_equal (jobs[0].extended, 2);
    assert_false (jobs[0].killed);
    assert_ends (jobs[0], 160);
    jobs[0].run_s = 60;
    simulate (&sim, jobs, 4);
    assert_int_equal (jobs[0].extended, 0);
}

TEST ("pools do not block each other")
{
    struct dn_sim sim = cluster (1, 1);
    struct dn_sim_job jobs[] = {
        job (0, 1, 100, 100), job (1, 1, 10, 10), job (2, 1, 10, 10), job (3, 1, 9, 9)};

    sim.n_pools = 2;
    sim.pools[1] = (struct dn_sim_pool){.type = "v100", .nodes = 1, .gpus = 1};
    jobs[2].pools = 2;
    jobs[3].pools = 3;
    SIMULATE (0, 100, 2, 12);
    assert_int_equal (jobs[3].pool, 1);
}

TEST ("impossible jobs are counted")
{
    struct dn_sim sim = cluster (2, 4);
    struct dn_sim_job jobs[] = {job (0, 9, 10, 10), job (1, 1, 10, 10)};
    struct dn_sim_sums sums;

    simulate (&sim, jobs, 2);
    sums = sum (&sim, jobs, 2);
    assert_numbers ("1 1", sums.impossible, sums.jobs);
}

TEST ("the depth is a bound")
{
    struct dn_sim sim = cluster (1, 2);
    struct dn_sim_job jobs[] = {job (0, 1, 100, 100),
                                job (1, 2, 10, 10),
                                job (2, 1, 300, 300),
                                job (3, 1, 5, 5)};

    sim.depth = 2;
    SIMULATE (0, 100, 110, 110);
    sim.depth = 3;
    SIMULATE (0, 100, 110, 30);
}

TEST ("sums")
{
    struct dn_sim sim = cluster (1, 2);
    struct dn_sim_job jobs[] = {
        job (0, 2, 100, 100), job (50, 1, 5, 100), job (100, 1, 20, 50)};
    struct dn_sim_sums sums;

    simulate (&sim, jobs, 3);
    sums = sum (&sim, jobs, 3);
    assert_float_equal (sums.wait_mean_s, 50.0 / 3, 1e-9);
    assert_float_equal (sums.end_mean_s, 175.0 / 3, 1e-9);
    assert_float_equal (sums.wait_median_s, 0, 1e-9);
    assert_float_equal (sums.wait_p95_s, 50, 1e-9);
    assert_float_equal (sums.slowdown, (1 + 55.0 / 10 + 1) / 3, 1e-9);
    assert_float_equal (sums.utilisation, 1, 1e-9);
    assert_float_equal (sums.gpu_hours, 225.0 / 3600, 1e-9);
}

TEST ("wrong input is refused")
{
    struct dn_sim sim = cluster (1, 2);
    struct dn_sim_job wrong[] = {JOB (4, 1, 1, 1),
                                 JOB (6, 1, 1, 0),
                                 JOB (6, 1, 1, NAN),
                                 JOB (6, 1, NAN, 1),
                                 JOB (6, 1, 1, 1)};

    wrong[4].n_others = 1;
    for (size_t i = 0; i < DN_N_ELEMENTS (wrong); i++) {
        struct dn_sim_job jobs[] = {job (5, 1, 1, 1), wrong[i]};

        assert_error (dn_simulate (&sim, jobs, 2, &unit_err), "job 1");
    }
    wrong[4].n_others = 0;
    for (; sim.n_pools >= 0; sim.n_pools--) {
        sim.pools[0].gpus = 0;
        assert_int_equal (dn_simulate (&sim, &wrong[4], 1, &unit_err), -1);
    }
}

/* --- steering --------------------------------------------------------------------- */

/* Two a100, of which a job holds both until 1000, and four v100. */
static struct dn_sim two_types (struct dn_sim_job *holder)
{
    struct dn_sim sim = cluster (1, 2);

    sim.n_pools = 2;
    sim.pools[1] = (struct dn_sim_pool){.type = "v100", .nodes = 1, .gpus = 4};
    *holder = job (0, 2, 1000, 1000);
    return sim;
}

/* A job for an a100 that may get a v100, on which it needs twice the time. */
static struct dn_sim_job open_job (double submit, double run, double limit)
{
    struct dn_sim_job opened = job (submit, 1, run, limit);

    opened.likely_s = run;
    opened.others[0] = (struct dn_sim_other){2, 2 * run, 2};
    opened.n_others = 1;
    return opened;
}

TEST ("an open job that would wait starts on another type, and has its time there")
{
    struct dn_sim_job jobs[2] = {{0}, open_job (10, 98, 100)};
    struct dn_sim sim = two_types (&jobs[0]);

    SIMULATE (0, 60);
    assert_int_equal (jobs[1].pool, 1);
    assert_ends (jobs[1], 60 + 196);
    assert_false (jobs[1].killed);
    assert_int_equal (sum (&sim, jobs, 2).steered, 1);
}

TEST ("a job on a type that was predicted to be as fast has time for the error of that")
{
    struct dn_sim_job jobs[2] = {{0}, open_job (10, 98, 100)};
    struct dn_sim sim = two_types (&jobs[0]);

    jobs[1].others[0] = (struct dn_sim_other){2, 103, 0.97};
    simulate (&sim, jobs, 2);
    assert_ends (jobs[1], 60 + 103);
    assert_false (jobs[1].killed);
}

TEST ("an open job with a start on its own type stays there")
{
    struct dn_sim_job jobs[2] = {{0}, open_job (10, 98, 100)};
    struct dn_sim sim = two_types (&jobs[0]);

    jobs[0].gpus = 1;
    SIMULATE (0, 10);
    assert_int_equal (jobs[1].pool, 0);
}

TEST ("an open job stays if it ends no earlier elsewhere")
{
    struct dn_sim_job jobs[2] = {{0}, open_job (10, 1100, 1200)};
    struct dn_sim sim = two_types (&jobs[0]);

    SIMULATE (0, 1000);
    assert_int_equal (jobs[1].other, -1);
}

TEST ("steering leaves half of the type to its own jobs")
{
    struct dn_sim_job jobs[5];
    struct dn_sim sim = two_types (&jobs[0]);

    sim.keep = 0.85;
    for (int i = 1; i < 4; i++)
        jobs[i] = open_job (10, 98, 100);
    jobs[4] = job (100, 1, 10, 10);  /* a cause for the next pass */
    SIMULATE (0, 60, 60, 300, 1000); /* at 300 two of four GPUs are free again */
}

TEST ("steering delays no job of the other type")
{
    struct dn_sim_job jobs[4];
    struct dn_sim sim = two_types (&jobs[0]);

    jobs[1] = job (0, 3, 400, 400);
    jobs[2] = job (1, 4, 10, 10);
    jobs[1].pools = jobs[2].pools = 2;
    jobs[3] = open_job (10, 130, 131); /* 60 + 131 x 2.6 is 400.6 */
    SIMULATE (0, 0, 400, 420);
    jobs[3] = open_job (10, 130, 130);
    SIMULATE (0, 0, 400, 60);
}

/* --- any queue -------------------------------------------------------------------- */

#define N_JOBS 3000

static double draw (uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double) (*seed >> 11) / 9007199254740992.0;
}

static void draw_jobs (struct dn_sim_job *jobs, int64_t n, uint64_t seed)
{
    double now = 0;

    for (int64_t i = 0; i < n; i++) {
        int64_t gpus = (int64_t) pow (2, floor (5.2 * draw (&seed)));
        double run = floor (pow (10, 1 + 3 * draw (&seed)));

        now += floor (-log (1 - draw (&seed)) * 700);
        jobs[i] = job (now, gpus, run, run * (1 + floor (6 * draw (&seed))));
        jobs[i].pools = draw (&seed) < 0.7 ? 1 : 2;
        jobs[i].cpus = (int64_t) (4 * draw (&seed)) * gpus;
    }
}

/* No job starts before its submission, and no pool has more GPUs in use than it has, at
 * the starts of some jobs.
 */
static void check_capacity (const struct dn_sim *sim, const struct dn_sim_job *jobs)
{
    for (int i = 0; i < N_JOBS; i++)
        assert_true (isnan (jobs[i].start_s) || jobs[i].start_s >= jobs[i].submit_s);
    for (int i = 0; i < N_JOBS; i += 7) {
        int64_t used = 0;

        for (int k = 0; k < N_JOBS; k++)
            if (jobs[k].pool == jobs[i].pool && jobs[k].start_s <= jobs[i].start_s
                && jobs[k].end_s > jobs[i].start_s)
                used += jobs[k].gpus;
        if (jobs[i].pool >= 0)
            assert_true (used <= sim->pools[jobs[i].pool].nodes
                                     * sim->pools[jobs[i].pool].gpus);
    }
}

TEST ("a pool never has more jobs than GPUs, also with open jobs")
{
    struct dn_sim sim = cluster (4, 8);
    struct dn_sim_job *jobs = unit_keep (calloc (N_JOBS, sizeof (*jobs)), free);
    int64_t steered = 0;

    sim.n_pools = 2;
    sim.pools[0].cpus = 40;
    sim.pools[1] =
        (struct dn_sim_pool){.type = "v100", .nodes = 8, .gpus = 4, .cpus = 16};
    for (uint64_t seed = 1; seed <= 10; seed++) {
        draw_jobs (jobs, N_JOBS, seed);
        for (int i = 0; i < N_JOBS; i += 2) {
            jobs[i].likely_s = jobs[i].run_s;
            jobs[i].others[0] =
                (struct dn_sim_other){3 - jobs[i].pools, 1.5 * jobs[i].run_s, 1.4};
            jobs[i].n_others = 1;
        }
        simulate (&sim, jobs, N_JOBS);
        check_capacity (&sim, jobs);
        for (int i = 0; i < N_JOBS; i++)
            steered += jobs[i].other >= 0;
    }
    assert_true (steered > 100);
}

/* In order of age on equal GPUs with limits that let nothing pass: the next GPU that is
 * free takes the next job, as in a queue with 8 servers.
 */
TEST ("a queue without backfill is that of theory")
{
    struct dn_sim sim = cluster (2, 4);
    struct dn_sim_job *jobs = unit_keep (calloc (N_JOBS, sizeof (*jobs)), free);
    double free_s[8] = {0};

    draw_jobs (jobs, N_JOBS, 5);
    for (int i = 0; i < N_JOBS; i++)
        jobs[i] = job (jobs[i].submit_s / 2, 1, jobs[i].run_s, 1e6);
    simulate (&sim, jobs, N_JOBS);
    for (int i = 0; i < N_JOBS; i++) {
        int first = 0;

        for (int k = 1; k < 8; k++)
            if (free_s[k] < free_s[first])
                first = k;
        free_s[first] = fmax (free_s[first], jobs[i].submit_s);
        assert_float_equal (jobs[i].start_s, free_s[first], 1e-6);
        free_s[first] += jobs[i].run_s;
    }
}

/* Limits change when jobs run, not what they use. */
TEST ("limits change no work")
{
    struct dn_sim sim = cluster (4, 8);
    struct dn_sim_job *jobs = unit_keep (calloc (N_JOBS, sizeof (*jobs)), free);
    struct dn_sim_sums loose, exact;

    draw_jobs (jobs, N_JOBS, 3);
    for (int i = 0; i < N_JOBS; i++) {
        jobs[i].pools = 1;
        jobs[i].limits_s[0] = jobs[i].run_s * 20;
    }
    simulate (&sim, jobs, N_JOBS);
    loose = sum (&sim, jobs, N_JOBS);
    for (int i = 0; i < N_JOBS; i++)
        jobs[i].limits_s[0] = jobs[i].run_s;
    simulate (&sim, jobs, N_JOBS);
    exact = sum (&sim, jobs, N_JOBS);
    assert_int_equal (exact.killed, 0);
    assert_float_equal (exact.gpu_hours, loose.gpu_hours, 1e-6);
}
