/* past_jobs.h - the jobs of a site before dnnest, from its own accounting
 *
 * In: what sacct prints, asked day by day or kept in a file, or a table of jobs. Out:
 * the jobs that had GPUs and have ended, in a store in a directory of its own, which
 * goes with it; all others are counted. Each gets metadata "auto" and an application:
 * its name without its numbers, and its GPUs; one without a name, all that it
 * requested. A record of dnnest is not read.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PAST_JOBS_H
#define DN_PAST_JOBS_H

#include <limits.h>

#include "base/limits.h"
#include "jobs/finished.h"
#include "jobs/store.h"
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

/* Replay the nodes. 'pools' has that of each type, NULL where it is not known. Out: GPU
 * hours idle, and of these those for which there was no CPU (no GiB of memory) left
 * beside. Of a job of several nodes only the first is known, so that these are the
 * least that there were.
 */
struct dn_idle_hours dn_nodes_past_idle (struct dn_nodes_past *nodes,
                                         const struct dn_sim_pool *const pools[]);

struct dn_past_source {
    const char *table; /* "-": stdin; NULL: sacct */
    const char *sacct; /* a file of dn_past_sacct_command (), likewise */
    int64_t since_s;   /* that ended at or after it */
    int64_t until_s;   /* and before it */
};

/* Texts are those of the first jobs. */
struct dn_past_jobs {
    struct dn_store *store;
    char dir[PATH_MAX];
    int64_t n;           /* that were read */
    int64_t n_others;    /* without GPUs, or that never ran */
    int64_t n_refused;   /* rows of a table that cannot be read; the first is told */
    struct dn_err first; /* of them */
    char types[DN_CANDIDATES_MAX][DN_NAME_MAX]; /* gres types of GPUs */
    int n_types;
    struct dn_nodes_past nodes;
};

/* The command whose output --sacct reads. */
void dn_past_sacct_command (struct dn_buf *buf);

/* Read them. -1 with 'err'; freed with dn_past_jobs_free () in any case. */
int dn_past_jobs_read (struct dn_past_jobs *jobs,
                       const struct dn_past_source *source,
                       struct dn_err *err);
void dn_past_jobs_free (struct dn_past_jobs *jobs);

#endif
