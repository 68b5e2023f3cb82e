/* replay_queue.h - the queue of a replay: the same jobs as they were, and by the policy
 *
 * In: replayed jobs, pools of nodes from a snapshot or a table. Out: their sums in two
 * simulated queues (jobs/replay/simulate.h). All jobs are kept in memory, 300 bytes
 * each.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_REPLAY_QUEUE_H
#define DN_REPLAY_QUEUE_H

#include "hardware/cluster.h"
#include "jobs/replay/replay.h"
#include "jobs/replay/simulate.h"

enum dn_replay_arm {
    DN_REPLAY_BEFORE, /* as requested */
    DN_REPLAY_AFTER,  /* as the policy would have it */
    DN_N_REPLAY_ARMS
};

const char *dn_replay_arm_text (enum dn_replay_arm arm);

struct dn_replay_queue {
    struct dn_sim sim;
    struct dn_sim_job *jobs[DN_N_REPLAY_ARMS]; /* owned */
    struct dn_replay_owner {
        char job[24]; /* as the user knows it */
        int64_t user;
    } * owners; /* of jobs; owned */
    int64_t n_jobs;
    int64_t left_out; /* jobs without a start, GPUs, or of a type without nodes */
};

/* Pools from a table with the columns type, nodes, gpus, cpus, mem_mb (of a node; the
 * last two may be missing), or from the groups of a snapshot, all of their nodes. -1
 * with 'err'.
 */
int dn_replay_queue_nodes (struct dn_replay_queue *queue,
                           const char *path,
                           struct dn_err *err);
int dn_replay_queue_cluster (struct dn_replay_queue *queue,
                             const struct dn_cluster *cluster,
                             struct dn_err *err);

/* Add a job. The row of a table (NULL: none) may state more about it, in the columns
 * that dnnest(1) names.
 */
int dn_replay_queue_add (struct dn_replay_queue *queue,
                         const struct dn_finished *row,
                         const struct dn_replayed *job,
                         const struct dn_row *told,
                         struct dn_err *err);

/* Run both queues. */
int dn_replay_queue_run (struct dn_replay_queue *queue, struct dn_err *err);

/* Write a row per job: when it starts and ends in both. */
int dn_replay_queue_write (const struct dn_replay_queue *queue,
                           const char *path,
                           struct dn_err *err);

void dn_replay_queue_free (struct dn_replay_queue *queue);

#endif
