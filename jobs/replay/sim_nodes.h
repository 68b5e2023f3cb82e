/* sim_nodes.h - the nodes of a simulated cluster; private to jobs/replay
 *
 * In: requests for GPUs and CPUs of some nodes of a pool. Out: nodes that hold them
 * now, or the earliest time at which some will, by the limits of the running jobs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SIM_NODES_H
#define DN_SIM_NODES_H

#include "jobs/replay/simulate.h"

struct dn_sim_node {
    int64_t gpus; /* idle */
    int64_t cpus;
    bool reserved;      /* for the reservation of its pool */
    int64_t spare_gpus; /* of a reserved node: beyond the reservation, at its time */
    int64_t spare_cpus;
};

/* A running job. */
struct dn_sim_run {
    int64_t job;
    double by_s;    /* its end by its limit */
    int32_t *nodes; /* owned */
    int32_t n_nodes;
    int64_t gpus; /* of each node */
    int64_t cpus;
};

/* Of like nodes: what is idle, and what runs, by the ends of their limits. */
struct dn_sim_space {
    struct dn_sim_node *nodes; /* owned */
    struct dn_sim_node *later; /* the same at a later time; owned */
    int32_t n_nodes;
    int64_t gpus;            /* of a node */
    int64_t cpus;            /* 0: any number */
    struct dn_sim_run *runs; /* by by_s; owned */
    int64_t n_runs;
    int64_t room;
    int64_t reserved; /* job with the reservation, -1: none */
    double shadow_s;  /* time of the reservation */
};

/* What a job needs of the nodes of a pool. */
struct dn_sim_need {
    int32_t nodes;
    int64_t gpus; /* of each */
    int64_t cpus;
};

int dn_sim_space_begin (struct dn_sim_space *space,
                        const struct dn_sim_pool *pool,
                        struct dn_err *err);
void dn_sim_space_end (struct dn_sim_space *space);

/* What the job needs there; false if the pool cannot hold it, even when idle. */
bool dn_sim_space_need (const struct dn_sim_space *space,
                        const struct dn_sim_job *job,
                        struct dn_sim_need *need);

/* Start job number 'job' on nodes that are idle now, if it keeps the reservation: its
 * limit ends at by_s. Return 1 if it was started, 0 if it does not fit, -1 with 'err'
 * without memory.
 */
int dn_sim_space_start (struct dn_sim_space *space,
                        const struct dn_sim_need *need,
                        int64_t job,
                        double by_s,
                        struct dn_err *err);

/* A running job ended, or its limit ends at another time. */
void dn_sim_space_finish (struct dn_sim_space *space, int64_t job, double by_s);
void dn_sim_space_extend (struct dn_sim_space *space,
                          int64_t job,
                          double by_s,
                          double new_s);

/* The earliest time at which the nodes are free, if all jobs use up their limits. */
double dn_sim_space_when (struct dn_sim_space *space,
                          const struct dn_sim_need *need,
                          double now_s);

/* Reserve nodes for a job at that time, which dn_sim_space_when () has just returned;
 * or drop the reservation.
 */
void dn_sim_space_reserve (struct dn_sim_space *space,
                           const struct dn_sim_need *need,
                           int64_t job,
                           double at_s);
void dn_sim_space_release (struct dn_sim_space *space);

#endif
