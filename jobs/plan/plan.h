/* plan.h - when jobs can start on nodes whose running jobs use up their limits
 *
 * In: nodes with what is idle on them and what runs there until when. Out: for a job,
 * the earliest time at which enough nodes of a type have room for it, and these nodes.
 * Jobs that are planned one after the other reserve their nodes: the whole nodes, as
 * Slurm's backfill does (slurm.conf, "the backfill scheduler reserves whole nodes").
 *
 * All times are seconds of one clock of the caller; INFINITY is never. A need of 0 is
 * met by each node: a caller that does not know the CPUs or the memory of nodes leaves
 * them at 0 everywhere. A running job past its limit ends a second from now.
 *
 * Cost: dn_plan_when () looks at each node of the type, and there at what runs and what
 * is reserved, once for one node, at most DN_PLAN_TRIES times for several.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PLAN_H
#define DN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

/* Types are numbers from 0 to below it. */
#define DN_PLAN_TYPES_MAX 64

/* Times that are tried for a job of several nodes. If no gap is found in them, it is
 * planned behind all that runs and is reserved on its type.
 */
#define DN_PLAN_TRIES 32

/* What a job needs: so many nodes, and the rest of each of them. */
struct dn_plan_need {
    int32_t nodes; /* at least 1 */
    int32_t gpus;
    int32_t cpus;
    int64_t mem_mb;
};

struct dn_plan;

/* NULL without memory. dn_plan_free () is NULL-safe. */
struct dn_plan *dn_plan_new (void);
void dn_plan_free (struct dn_plan *plan);

/* Add a node with what is idle on it now. Its index, from 0; -1 without memory. */
int32_t dn_plan_node (struct dn_plan *plan,
                      int type,
                      int32_t gpus,
                      int32_t cpus,
                      int64_t mem_mb);

/* A running job holds that on the node, beside what is idle, until by_s. A job on
 * several nodes is added on each. -1 without memory.
 */
int dn_plan_run (struct dn_plan *plan,
                 int32_t node,
                 double by_s,
                 int32_t gpus,
                 int32_t cpus,
                 int64_t mem_mb,
                 int64_t job);

/* The earliest start, from now_s on, of a job of length_s on nodes of that type, which
 * leaves the reservations; INFINITY: never. at[] gets its need->nodes nodes. Of nodes
 * that are free equally early, a job of one node gets that with the fewest idle GPUs,
 * then CPUs.
 */
double dn_plan_when (struct dn_plan *plan,
                     const struct dn_plan_need *need,
                     int type,
                     double now_s,
                     double length_s,
                     int32_t *at);

/* Reserve the whole nodes at[] from at_s to at_s + length_s. -1 without memory. */
int dn_plan_reserve (struct dn_plan *plan,
                     const struct dn_plan_need *need,
                     const int32_t *at,
                     double at_s,
                     double length_s);

/* Drop all reservations. */
void dn_plan_forget (struct dn_plan *plan);

/* The idle GPUs of a type. */
int64_t dn_plan_idle (const struct dn_plan *plan, int type);

/* A job starts on nodes that have room for it; ends; or gets another limit. A job is
 * found by its type and number. -1 without memory.
 */
int dn_plan_start (struct dn_plan *plan,
                   const struct dn_plan_need *need,
                   const int32_t *at,
                   double by_s,
                   int64_t job);
void dn_plan_end (struct dn_plan *plan, int type, int64_t job);
void dn_plan_extend (struct dn_plan *plan, int type, int64_t job, double by_s);

#endif
