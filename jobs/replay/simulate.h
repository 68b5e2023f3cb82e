/* simulate.h - a queue of jobs on a cluster, with priority by age and EASY backfill
 *
 * In: pools of like nodes, and jobs in the order of their submission, with the run time
 * that each needs and its time limit. Out: when each starts and ends, and on which
 * pool.
 *
 * What is modelled. Jobs start in the order of their submission. The first job that
 * cannot start in a pool gets a reservation: the earliest time at which its nodes are
 * free if all running jobs use up their limits. Jobs behind it start earlier if they do
 * not delay that reservation (EASY backfill: Lifka 1995; Feitelson and Weil 1998). A
 * pool has at most one reservation. A job of k GPUs that fit on one node gets one node,
 * that with the fewest idle GPUs that suffice; a larger one gets whole nodes of one
 * pool. A job ends after its run time, or at its limit. Where it has several limits, a
 * guard replaces one by the next as dnnestd does: when less than a quarter of it, or 30
 * minutes, is left.
 *
 * What is not: shares, QOS, reservations, preemption, failing nodes, features, memory,
 * the intervals of Slurm's scheduler and the time that a job takes to start and end.
 *
 * Cost: a pass over the queue tests 'depth' jobs; one without need is left out, and a
 * request like one that has just failed is not tested.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SIMULATE_H
#define DN_SIMULATE_H

#include "base/err.h"
#include "base/limits.h"

#define DN_SIM_POOLS_MAX  64
#define DN_SIM_LIMITS_MAX 6
#define DN_SIM_NODES_MAX  100000

/* Waiting jobs that a pass tests, as bf_max_job_test of Slurm. */
#define DN_SIM_DEPTH 500

/* Below that run time the bounded slowdown counts as if the job had run so long,
 * seconds (Feitelson and Rudolph 1998).
 */
#define DN_SIM_SLOWDOWN_S 10

/* Like nodes. */
struct dn_sim_pool {
    char type[DN_NAME_MAX];
    int64_t nodes;
    int64_t gpus; /* of a node */
    int64_t cpus; /* of a node; 0: not modelled */
};

struct dn_sim_job {
    double submit_s;
    uint64_t pools;                     /* bit i: it may run in pool i */
    int64_t gpus;                       /* of the job, at least 1 */
    int64_t nodes;                      /* at least so many; 0: as few as hold it */
    int64_t cpus;                       /* of the job; 0: not modelled */
    double run_s;                       /* that it needs */
    double limits_s[DN_SIM_LIMITS_MAX]; /* ascending; INFINITY: none */
    int n_limits;                       /* at least 1 */
    /* Set by dn_simulate (). */
    double start_s; /* NaN: no pool can ever run it */
    double end_s;
    int pool;
    int extended; /* how often its limit was */
    bool killed;  /* at its limit */
};

/* What happened at the reservations, for tests: 'reserved' is called when a job gets or
 * moves one.
 */
struct dn_sim_watch {
    void (*reserved) (void *to, int64_t job, int pool, double at_s);
    void *to;
};

struct dn_sim {
    struct dn_sim_pool pools[DN_SIM_POOLS_MAX];
    int n_pools;
    int64_t depth; /* 0: DN_SIM_DEPTH */
    struct dn_sim_watch watch;
};

/* Run the jobs. They must be sorted by submit_s. -1 with 'err' without memory, or if
 * the jobs or pools are not as stated above; it names the job by its index.
 */
int dn_simulate (const struct dn_sim *sim,
                 struct dn_sim_job *jobs,
                 int64_t n_jobs,
                 struct dn_err *err);

/* What became of jobs that have run. */
struct dn_sim_sums {
    int64_t jobs;       /* that ran */
    int64_t impossible; /* that no pool can run */
    int64_t killed;
    int64_t extended; /* jobs whose limit was */
    double wait_mean_s;
    double wait_median_s;
    double wait_p95_s;
    double slowdown; /* mean of the bounded slowdown */
    double
        utilisation;  /* share of the GPU time from the first submission to the last */
    double gpu_hours; /* that they used */
    double lost_gpu_hours; /* of those that were killed */
};

/* The sums of all jobs (pool -1), or of those that ran in pools of the type of 'pool';
 * of that type are the GPUs, too. -1 with 'err' without memory.
 */
int dn_sim_sum (const struct dn_sim *sim,
                const struct dn_sim_job *jobs,
                int64_t n_jobs,
                int pool,
                struct dn_sim_sums *sums,
                struct dn_err *err);

#endif
