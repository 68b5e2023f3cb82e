/* nodes_past.h - what past jobs left of their nodes
 *
 * In: jobs that ran, with GPUs or without, each with its node; the nodes of each type.
 * Out: GPU hours idle, and of these those for which there was no CPU (no GiB of memory)
 * left beside. Of a job of several nodes only the first is known, so that these are the
 * least that there were.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_NODES_PAST_H
#define DN_NODES_PAST_H

#include "jobs/finished.h"
#include "replay/replay_queue.h"

/* A job that begins or ends on a node. */
struct dn_node_event {
    uint64_t node; /* its name, hashed */
    int64_t at_s;
    float mem_gb;
    int32_t cpus;
    int16_t gpus;
    int16_t type; /* -1: no GPU */
};

struct dn_nodes_past {
    struct dn_node_event *events; /* owned */
    int64_t n;
};

struct dn_idle_hours {
    double idle; /* from the first to the last event of each node with GPUs */
    double without_cpus;
    double without_memory;
};

/* Add a job; 'type' is the index of its GPU type, -1 without GPUs. One whose node is
 * not known is left out. -1 with 'err'.
 */
int dn_nodes_past_add (struct dn_nodes_past *nodes,
                       const struct dn_finished *job,
                       int type,
                       struct dn_err *err);

/* Replay the nodes. 'pools' has that of each type, NULL where it is not known. */
struct dn_idle_hours dn_nodes_past_idle (struct dn_nodes_past *nodes,
                                         const struct dn_sim_pool *const pools[]);

void dn_nodes_past_free (struct dn_nodes_past *nodes);

#endif
