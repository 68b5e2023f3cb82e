/* freed.h - GPU hours that jobs got because others held less than they had requested
 *
 * In: finished jobs in any order, and the nodes of the snapshot. Out: GPU hours, and
 * the jobs that had them. Pure. Memory: 100 bytes for each job, at most
 * DN_FREED_RUNS_MAX.
 *
 * Each node is replayed from start to end of its jobs. At every moment its jobs are put
 * onto it in the order of their starts, those that dnnest had changed with the CPUs,
 * host memory and GPUs that they had *requested*, all others with what they had. A job
 * that does not fit any more into the node could not have run there then; its GPUs
 * count for as long as that lasts. It is not put onto the node, and a changed job whose
 * own request does not fit is not counted. So the sum is of GPUs that others used, and
 * that would have been stranded, or allocated and not used.
 *
 * It is a lower bound of what was freed: of a job of several nodes only the first is
 * known (what it had there is its share); memory that is not known is none; shorter
 * limits, and moves to another type, which free GPUs of one type and take those of
 * another, are not counted. Where a type has nodes of several sizes the largest counts.
 * A moment at which even what jobs had does not fit is not counted: then the nodes were
 * others.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_FREED_H
#define DN_FREED_H

#include "hardware/cluster.h"
#include "jobs/finished.h"

#define DN_FREED_RUNS_MAX 1000000

/* What a run has of its first node. */
struct dn_freed_run {
    uint64_t host;
    int64_t start_s;
    int64_t end_s;
    double had[3]; /* GPUs, CPUs, GiB */
    double asked[3];
    double hours;                     /* GPU hours that it had by others' changes */
    bool lowered;                     /* by dnnest: it had less than it had requested */
    bool made;                        /* it made room */
    const struct dn_node_group *node; /* NULL: not known */
    char job[32];
};

struct dn_freed {
    const struct dn_cluster *cluster; /* borrowed; NULL: none */
    struct dn_freed_run *runs; /* after dn_freed_end () those with most hours first */
    int64_t n_runs;
    bool cut;         /* there were more jobs: the sum is not known */
    double gpu_hours; /* the sum, of */
    int64_t n_jobs;
    int64_t n_made;    /* changed jobs that made room */
    int64_t n_lowered; /* changed jobs that held less than they had requested */
};

/* Zeroed but for 'cluster' at first. -1 with DN_E_NOMEM. */
int dn_freed_add (struct dn_freed *freed,
                  const struct dn_finished *job,
                  struct dn_err *err);
void dn_freed_end (struct dn_freed *freed);
void dn_freed_free (struct dn_freed *freed);

#endif
