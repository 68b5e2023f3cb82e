/* simulate.c - tests of the simulated queue
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <math.h>
#include <stdlib.h>

#include "jobs/replay/simulate.h"

/* A job of 'gpus' on pool 0, with the limit 'limit'. */
static struct dn_sim_job job (double submit, int64_t gpus, double run, double limit)
{
    return (struct dn_sim_job){.submit_s = submit,
                               .pools = 1,
                               .gpus = gpus,
                               .run_s = run,
                               .limits_s = {limit},
                               .n_limits = 1};
}

static struct dn_sim cluster (int64_t nodes, int64_t gpus)
{
    return (struct dn_sim){.pools = {{.type = "a100", .nodes = nodes, .gpus = gpus}},
                           .n_pools = 1};
}

static void simulate (const struct dn_sim *sim, struct dn_sim_job *jobs, int64_t n)
{
    struct dn_err err = {0};

    assert_int_equal (dn_simulate (sim, jobs, n, &err), 0);
}

#define assert_starts(job, start) assert_float_equal ((job).start_s, (start), 1e-6)
#define assert_ends(job, end)     assert_float_equal ((job).end_s, (end), 1e-6)

TEST ("jobs start in order of age")
{
    struct dn_sim sim = cluster (1, 4);
    struct dn_sim_job jobs[] = {
        job (0, 4, 100, 200), job (1, 4, 50, 60), job (2, 4, 10, 20)};

    simulate (&sim, jobs, 3);
    assert_starts (jobs[0], 0);
    assert_starts (jobs[1], 100);
    assert_starts (jobs[2], 150);
    assert_ends (jobs[2], 160);
}

/* Two of four GPUs are busy until their limit at 200; the second job needs four. A job
 * of two GPUs may run before it only if its limit ends by then.
 */
TEST ("short jobs are backfilled")
{
    struct dn_sim sim = cluster (1, 4);
    struct dn_sim_job jobs[] = {job (0, 2, 150, 200),
                                job (1, 4, 10, 20),
                                job (2, 2, 10, 199),
                                job (3, 2, 10, 198),
                                job (12.5, 2, 10, 187.5)};

    simulate (&sim, jobs, 5);
    assert_starts (jobs[0], 0);
    assert_starts (jobs[1], 150);
    assert_starts (jobs[2], 160); /* its limit would have ended at 201 */
    assert_starts (jobs[3], 160); /* its limit would have ended at 201 */
    assert_starts (jobs[4], 12.5);
}

/* On the node of a reservation, GPUs that the reserved job does not need are free. */
TEST ("spare gpus are used")
{
    struct dn_sim sim = cluster (1, 8);
    struct dn_sim_job jobs[] = {job (0, 5, 100, 100),
                                job (1, 6, 10, 10),
                                job (2, 1, 500, 500),
                                job (3, 1, 500, 500),
                                job (4, 1, 500, 500)};

    simulate (&sim, jobs, 5);
    assert_starts (jobs[1], 100);
    assert_starts (jobs[2], 2);
    assert_starts (jobs[3], 3);
    assert_starts (jobs[4], 110); /* a third would delay the six */
}

TEST ("a job sits on one node")
{
    struct dn_sim sim = cluster (2, 4);
    struct dn_sim_job jobs[] = {job (0, 3, 100, 100),
                                job (0, 3, 50, 50),
                                job (1, 2, 10, 10),
                                job (2, 1, 10, 10)};

    simulate (&sim, jobs, 4);
    assert_starts (jobs[1], 0);
    assert_starts (jobs[2], 50); /* two GPUs are idle, on two nodes */
    assert_starts (jobs[3], 2);
}

TEST ("the tightest node is taken")
{
    struct dn_sim sim = cluster (2, 4);
    struct dn_sim_job jobs[] = {
        job (0, 2, 100, 100), job (1, 1, 100, 100), job (2, 4, 10, 10)};

    simulate (&sim, jobs, 3);
    assert_starts (jobs[2], 2);
}

TEST ("large jobs get whole nodes")
{
    struct dn_sim sim = cluster (3, 4);
    struct dn_sim_job jobs[] = {job (0, 1, 100, 100),
                                job (1, 6, 50, 50), /* two nodes, all of them */
                                job (2, 4, 10, 200),
                                job (3, 12, 5, 5)};

    simulate (&sim, jobs, 4);
    assert_starts (jobs[1], 1);
    assert_starts (jobs[2], 51);
    assert_starts (jobs[3], 100);
}

TEST ("cpus are a bound")
{
    struct dn_sim sim = cluster (1, 4);
    struct dn_sim_job jobs[] = {job (0, 1, 100, 100), job (1, 1, 10, 10)};

    sim.pools[0].cpus = 16;
    jobs[0].cpus = 12;
    jobs[1].cpus = 5;
    simulate (&sim, jobs, 2);
    assert_starts (jobs[1], 100);
    jobs[1].cpus = 4;
    simulate (&sim, jobs, 2);
    assert_starts (jobs[1], 1);
    jobs[1].cpus = 17;
    simulate (&sim, jobs, 2);
    assert_true (isnan (jobs[1].start_s));
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
    assert_int_equal (dn_sim_sum (&sim, jobs, 2, -1, &sums, NULL), 0);
    assert_int_equal (sums.killed, 1);
    assert_float_equal (sums.lost_gpu_hours, 60.0 / 3600, 1e-9);
}

/* The limit 100 is extended at 75, 200 at 150; a plan made before then is void. */
TEST ("the guard extends")
{
    struct dn_sim sim = cluster (1, 2);
    struct dn_sim_job jobs[] = {job (0, 1, 160, 100),
                                job (1, 2, 10, 10),
                                job (2, 1, 90, 98),
                                job (80, 1, 5, 99)};

    jobs[0].limits_s[1] = 200;
    jobs[0].limits_s[2] = 1000;
    jobs[0].n_limits = 3;
    simulate (&sim, jobs, 4);
    assert_int_equal (jobs[0].extended, 2);
    assert_false (jobs[0].killed);
    assert_ends (jobs[0], 160);
    assert_starts (jobs[2], 2);
    assert_starts (jobs[3], 92); /* ends by 200, the limit then */
    assert_starts (jobs[1], 160);
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
    simulate (&sim, jobs, 4);
    assert_starts (jobs[1], 100);
    assert_starts (jobs[2], 2);
    assert_starts (jobs[3], 12);
    assert_int_equal (jobs[3].pool, 1);
}

TEST ("impossible jobs are counted")
{
    struct dn_sim sim = cluster (2, 4);
    struct dn_sim_job jobs[] = {job (0, 9, 10, 10), job (1, 1, 10, 10)};
    struct dn_sim_sums sums;

    simulate (&sim, jobs, 2);
    assert_int_equal (dn_sim_sum (&sim, jobs, 2, -1, &sums, NULL), 0);
    assert_int_equal (sums.impossible, 1);
    assert_int_equal (sums.jobs, 1);
}

TEST ("the depth is a bound")
{
    struct dn_sim sim = cluster (1, 2);
    struct dn_sim_job jobs[] = {job (0, 1, 100, 100),
                                job (1, 2, 10, 10),
                                job (2, 1, 300, 300),
                                job (3, 1, 5, 5)};

    sim.depth = 2;
    simulate (&sim, jobs, 4);
    assert_starts (jobs[3], 110);
    sim.depth = 3;
    simulate (&sim, jobs, 4);
    assert_starts (jobs[3], 3);
}

TEST ("sums")
{
    struct dn_sim sim = cluster (1, 2);
    struct dn_sim_job jobs[] = {
        job (0, 2, 100, 100), job (50, 1, 5, 100), job (100, 1, 20, 50)};
    struct dn_sim_sums sums;

    simulate (&sim, jobs, 3);
    assert_int_equal (dn_sim_sum (&sim, jobs, 3, -1, &sums, NULL), 0);
    assert_float_equal (sums.wait_mean_s, 50.0 / 3, 1e-9);
    assert_float_equal (sums.wait_median_s, 0, 1e-9);
    assert_float_equal (sums.wait_p95_s, 50, 1e-9);
    assert_float_equal (sums.slowdown, (1 + 55.0 / 10 + 1) / 3, 1e-9);
    assert_float_equal (sums.utilisation, 1, 1e-9);
    assert_float_equal (sums.gpu_hours, 225.0 / 3600, 1e-9);
}

TEST ("wrong input is refused")
{
    struct dn_sim sim = cluster (1, 2);
    struct dn_sim_job jobs[] = {job (5, 1, 1, 1), job (4, 1, 1, 1)};
    struct dn_err err = {0};

    assert_int_equal (dn_simulate (&sim, jobs, 2, &err), -1);
    assert_non_null (strstr (err.text, "job 1"));
    jobs[1].submit_s = 6;
    jobs[1].limits_s[0] = 0;
    assert_int_equal (dn_simulate (&sim, jobs, 2, &err), -1);
    jobs[1].limits_s[0] = NAN;
    assert_int_equal (dn_simulate (&sim, jobs, 2, &err), -1);
    jobs[1] = job (6, 1, NAN, 1);
    assert_int_equal (dn_simulate (&sim, jobs, 2, &err), -1);
    jobs[1] = job (6, 1, 1, 1);
    sim.pools[0].gpus = 0;
    assert_int_equal (dn_simulate (&sim, jobs, 2, &err), -1);
    sim.n_pools = 0;
    assert_int_equal (dn_simulate (&sim, jobs, 2, &err), -1);
}

/* --- any queue -------------------------------------------------------------------- */

#define N_JOBS 3000

/* The last reservation of each job. */
struct promises {
    double at_s[N_JOBS];
    double first_s[N_JOBS];
    int n;
    int later; /* reservations that moved to a later time */
};

static void note (void *to, int64_t i, int pool, double at_s)
{
    struct promises *promises = to;

    (void) pool;
    if (isnan (promises->at_s[i]))
        promises->n++;
    else if (at_s > promises->at_s[i] + 1e-6)
        promises->later++;
    promises->at_s[i] = at_s;
}

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

/* No pool has more GPUs in use than it has, at the starts of some jobs. */
static void check_capacity (const struct dn_sim *sim, const struct dn_sim_job *jobs)
{
    for (int i = 0; i < N_JOBS; i += 7) {
        int64_t used = 0;

        for (int k = 0; k < N_JOBS; k++)
            if (jobs[k].pool == jobs[i].pool && jobs[k].start_s <= jobs[i].start_s
                && jobs[k].end_s > jobs[i].start_s)
                used += jobs[k].gpus;
        assert_true (used
                     <= sim->pools[jobs[i].pool].nodes * sim->pools[jobs[i].pool].gpus);
    }
}

TEST ("backfill delays no reservation")
{
    struct dn_sim sim = cluster (4, 8);
    struct dn_sim_job *jobs = calloc (N_JOBS, sizeof (*jobs));
    struct promises *promises = calloc (1, sizeof (*promises));

    assert_true (jobs && promises);
    sim.n_pools = 2;
    sim.pools[0].cpus = 40;
    sim.pools[1] =
        (struct dn_sim_pool){.type = "v100", .nodes = 8, .gpus = 4, .cpus = 16};
    sim.watch.reserved = note;
    sim.watch.to = promises;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        promises->n = 0;
        for (int i = 0; i < N_JOBS; i++)
            promises->at_s[i] = NAN;
        draw_jobs (jobs, N_JOBS, seed);
        simulate (&sim, jobs, N_JOBS);
        assert_true (promises->n > 100);
        assert_int_equal (promises->later, 0);
        for (int i = 0; i < N_JOBS; i++)
            if (!isnan (promises->at_s[i]))
                assert_true (jobs[i].start_s <= promises->at_s[i] + 1e-6);
        check_capacity (&sim, jobs);
    }
    free (promises);
    free (jobs);
}

/* Limits change when jobs run, not what they use. */
TEST ("limits change no work")
{
    struct dn_sim sim = cluster (4, 8);
    struct dn_sim_job *jobs = calloc (N_JOBS, sizeof (*jobs));
    struct dn_sim_sums loose, exact;

    assert_non_null (jobs);
    draw_jobs (jobs, N_JOBS, 3);
    for (int i = 0; i < N_JOBS; i++) {
        jobs[i].pools = 1;
        jobs[i].limits_s[0] = jobs[i].run_s * 20;
    }
    simulate (&sim, jobs, N_JOBS);
    assert_int_equal (dn_sim_sum (&sim, jobs, N_JOBS, -1, &loose, NULL), 0);
    for (int i = 0; i < N_JOBS; i++)
        jobs[i].limits_s[0] = jobs[i].run_s;
    simulate (&sim, jobs, N_JOBS);
    assert_int_equal (dn_sim_sum (&sim, jobs, N_JOBS, -1, &exact, NULL), 0);
    assert_int_equal (exact.killed, 0);
    assert_float_equal (exact.gpu_hours, loose.gpu_hours, 1e-6);
    free (jobs);
}
