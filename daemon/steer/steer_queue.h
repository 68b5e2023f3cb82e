/* steer_queue.h - when the pending jobs start on their GPU types
 *
 * In: the nodes and jobs of slurmctld's tables. Running jobs fill the nodes until their
 * limits; then pending jobs are planned in the order of their priorities, each on the
 * types that its gres, its constraint and its partitions allow, at the first of them
 * that is free. A job that can start now has its part of the nodes, one that cannot
 * reserves whole nodes, as Slurm's backfill does. Out: their starts, and the plan, in
 * which other types are tried (steer_plan.h). No clock, no Slurm.
 *
 * What it does not see: --exclude, --nodelist, licences, limits of QOS and associations
 * that hold a job back (Slurm gives such a job another reason than priority or
 * resources, and it is not planned), and jobs of several nodes over nodes of unlike
 * partitions.
 *
 * Cost: the first DN_STEER_DEPTH jobs of each type are planned, no more.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STEER_QUEUE_H
#define DN_STEER_QUEUE_H

#include "jobs/plan/plan.h"
#include "slurm/slurm_link.h"
#include "watch/lists.h"
#include "watch/waits.h"

/* Jobs that are planned on a pool; those behind them are not looked at. */
#define DN_STEER_DEPTH 500

/* Nodes of one GPU type in the same partitions: a type of the plan. */
struct dn_steer_pool {
    int type;                   /* in 'types' */
    int32_t max_gpus, max_cpus; /* of a node */
    int64_t reserved_from;      /* the first reservation of its nodes; 0: none */
    int n_planned;
};

/* Nodes of a pool with the same features. */
struct dn_steer_kind {
    int pool;
    char *partitions; /* owned */
    char *features;   /* owned */
};

/* A pending job. Texts of 'link' belong to the table. */
struct dn_steer_job {
    struct dn_link_job link;
    struct dn_plan_need need;
    int type;       /* that its gres names; DN_QUEUE_ANY */
    int32_t tasks;  /* pending ones of an array, 1 else */
    bool guest;     /* of a type that it did not request */
    double start_s; /* of the first of them; INFINITY never; NAN: it is not planned */
};

struct dn_steer_queue {
    int64_t now_s;
    struct dn_plan *plan;
    struct dn_type_list types;
    struct dn_steer_pool pools[DN_PLAN_TYPES_MAX];
    int n_pools;
    struct dn_guests guests[DN_PLAN_TYPES_MAX]; /* by pool */
    struct dn_interned pool_names, kind_names;
    struct dn_interned node_names; /* numbers are those of the plan */
    struct dn_steer_kind *kinds;
    int64_t n_kinds;
    int *node_pools;
    int64_t n_nodes;
    struct dn_steer_job *jobs; /* pending, in the order of their priorities */
    int64_t n_jobs;
    int32_t *at[2];  /* nodes of the job that is planned, and of the best so far */
    int64_t n_calls; /* of dn_plan_when () */
};

/* Freed with dn_steer_queue_free (), NULL-safe. NULL with 'err'. */
struct dn_steer_queue *dn_steer_queue_new (int64_t now_s, struct dn_err *err);
void dn_steer_queue_free (struct dn_steer_queue *queue);

/* First the nodes, then the jobs, then the plan; -1 with 'err' without memory. */
int dn_steer_add_node (struct dn_steer_queue *queue,
                       const struct dn_link_node *node,
                       struct dn_err *err);
int dn_steer_add_job (struct dn_steer_queue *queue,
                      const struct dn_link_job *job,
                      bool guest,
                      struct dn_err *err);
int dn_steer_lay (struct dn_steer_queue *queue, struct dn_err *err);

/* The pools, as bits, in which a job may run that asks for that type (DN_QUEUE_ANY),
 * constraint and list of partitions.
 */
uint64_t dn_steer_pools (const struct dn_steer_queue *queue,
                         int type,
                         const char *features,
                         const char *partitions);

/* The earliest start in these pools, on at[1] of 'pool' then; INFINITY: never. */
double dn_steer_when (struct dn_steer_queue *queue,
                      const struct dn_steer_job *job,
                      uint64_t pools,
                      double length_s,
                      int *pool);

/* The job has the nodes at[1] from 'start_s' on, for 'length_s'. -1 without memory. */
int dn_steer_put (struct dn_steer_queue *queue,
                  const struct dn_steer_job *job,
                  int pool,
                  double start_s,
                  double length_s);

/* The name of the GPU type on which a running job is; NULL: unknown. */
const char *dn_steer_type_of (const struct dn_steer_queue *queue,
                              const struct dn_link_job *job);

#endif
