/* simulate.h - a queue of jobs on a cluster, as Slurm and dnnestd would run it
 *
 * In: pools of like nodes, and jobs in the order of their submission, with the run time
 * that each needs and its time limit. Out: when each starts and ends, and where.
 *
 * What is modelled. The main scheduler, at each event, starts jobs in the order of
 * their submission; behind the first that cannot start in a pool none starts there.
 * Backfill, every DN_SIM_INTERVAL_S after a change, plans the first 'depth' jobs in
 * order (jobs/plan/plan.h): each starts if it can now, and reserves its nodes if it can
 * within DN_SIM_WINDOW_S. A job of k GPUs that fit on one node gets one node, a larger
 * one whole nodes of one pool. A job ends after its run time, or at its limit. Where it
 * has several limits, a guard replaces one by the next as dnnestd does: when less than
 * a quarter of it, or 30 minutes, is left.
 *
 * Steering, each minute, as dnnestd does: behind all these plans, an open job that
 * waits starts on another type that has room for it now, if its predicted end there is
 * before 0.9 of that on its own type, and if the share 'keep' of the other type is left
 * to its own jobs (jobs/plan/plan.h). Its limits are those of its own type times
 * dn_open_factor ().
 *
 * What is not: shares, QOS, preemption, failing nodes, the time that a job takes to
 * start and end, jobs that were steered and did not start.
 *
 * Cost: a pass plans at most 'depth' jobs, each on all nodes of its pools.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SIMULATE_H
#define DN_SIMULATE_H

#include "base/err.h"
#include "base/limits.h"
#include "jobs/plan/plan.h"

#define DN_SIM_POOLS_MAX  DN_PLAN_TYPES_MAX
#define DN_SIM_LIMITS_MAX 6
#define DN_SIM_OTHERS_MAX 3
#define DN_SIM_NODES_MAX  100000

/* As Slurm's bf_max_job_test (jobs that a pass tests), bf_interval and bf_window. */
#define DN_SIM_DEPTH      500
#define DN_SIM_INTERVAL_S 30.0
#define DN_SIM_WINDOW_S   (2 * 86400.0)

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
    int64_t mem_mb;
};

/* Another type that an open job may get. */
struct dn_sim_other {
    uint64_t pools;
    double run_s; /* that it needs there */
    double slow;  /* the predicted time there, of that on its own type */
};

struct dn_sim_job {
    double submit_s;
    uint64_t pools;                     /* bit i: it may run in pool i */
    int64_t gpus;                       /* of the job, at least 1 */
    int64_t nodes;                      /* at least so many; 0: as few as hold it */
    int64_t cpus;                       /* of the job; 0: not modelled */
    int64_t mem_mb;                     /* of each node; 0: not modelled */
    double run_s;                       /* that it needs */
    double limits_s[DN_SIM_LIMITS_MAX]; /* ascending; INFINITY: none */
    int n_limits;                       /* at least 1 */
    double likely_s;                    /* predicted run time; of open jobs */
    struct dn_sim_other others[DN_SIM_OTHERS_MAX];
    int n_others; /* 0: it is not open */
    /* Set by dn_simulate (). */
    double start_s; /* NaN: no pool can ever run it */
    double end_s;
    int pool;
    int other;    /* that it was steered to, -1: none */
    int extended; /* how often its limit was */
    bool killed;  /* at its limit */
};

struct dn_sim {
    struct dn_sim_pool pools[DN_SIM_POOLS_MAX];
    int n_pools;
    int64_t depth; /* 0: DN_SIM_DEPTH */
    double keep;   /* share of a type that steering leaves to its own jobs */
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
    int64_t steered;
    double end_mean_s; /* from the submission */
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
