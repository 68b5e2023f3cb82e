/* waits.h - how long a job on a GPU type is expected to wait
 *
 * For each type, and each shape of jobs (one GPU, a node, several nodes, which are
 * taken as two), the wait of a job that would be submitted now is estimated:
 *
 * 1. 0, if GPUs for it are idle now and no queued job of that type and shape waits.
 * 2. Else by the mean of what is known of these two:
 *    - the latest start that backfill expects for a queued job of that type and shape,
 *      times the share of them that backfill looked at: the new job comes last;
 *    - the median wait (start - eligible) of jobs of that type and shape that started
 *      in the last two hours after they had waited half a minute or more, if there are
 *      three such jobs.
 * 3. Else until running jobs of that type that reach their limits have freed enough for
 *    the queued jobs and the new one.
 * 4. Else by one or two of such recent waits.
 * 5. Else unknown: DN_UNSET. So is the wait on a type that is up nowhere.
 *
 * What it does not see: partitions and features (a type is one pool), priorities, fair
 * shares, dependencies and limits of the user, sizes between the shapes (a job of more
 * than half a node counts as a node), tasks of an array that are still one record, and
 * that jobs mostly end before their limits (the second source allows for that). A
 * queued job that names no type counts for all types of its partitions, but a job with
 * a list of constraints, too. will-run of Slurm is not used: it is no estimate of
 * backfill, and each call consumes a job id.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_WAITS_H
#define DN_WAITS_H

#include "slurm/slurm_link.h"
#include "watch/lists.h"

/* GPU types with a wait of their own. */
#define DN_WAIT_TYPES_MAX 64

/* Jobs that started before, or at once, are not looked at. */
#define DN_WAIT_RECENT_S  7200
#define DN_WAIT_AT_ONCE_S 30

/* No wait is expected to be longer. */
#define DN_WAIT_MAX_S (INT64_C (30) * 86400)

/* Names of GPU types. */
struct dn_type_list {
    char names[DN_WAIT_TYPES_MAX][DN_NAME_MAX];
    int n;
};

/* The number of a type, added where it is new; -1: the list is full. */
int dn_type_put (struct dn_type_list *types, const char *name);
int dn_type_find (const struct dn_type_list *types, const char *name);

#define DN_QUEUE_ANY (-1) /* type of a job that names none */

/* First the nodes, then the jobs, then the waits. NULL without memory; the free is
 * NULL-safe.
 */
struct dn_waits *dn_waits_new (void);
void dn_waits_free (struct dn_waits *waits);

/* Note a node. -1 with 'err' without memory, here and below. */
int dn_waits_add_node (struct dn_waits *waits,
                       const struct dn_link_node *node,
                       struct dn_err *err);

/* Note a job of the table that was read at 'now_s'; 'cluster' has the groups of all
 * nodes.
 */
int dn_waits_add_job (struct dn_waits *waits,
                      const struct dn_cluster *cluster,
                      const struct dn_link_job *job,
                      int64_t now_s,
                      struct dn_err *err);

/* Set the waits of 'cluster', which has none. */
int dn_waits_fill (struct dn_waits *waits,
                   int64_t now_s,
                   struct dn_cluster *cluster,
                   struct dn_err *err);

#endif
