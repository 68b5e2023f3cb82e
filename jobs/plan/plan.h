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

/* What a job needs: so many nodes, and the rest of each of them; or what is idle or
 * held on one.
 */
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
int32_t dn_plan_node (struct dn_plan *plan, int type, const struct dn_plan_need *idle);

/* A running job holds that on the node, beside what is idle, until by_s. A job on
 * several nodes is added on each. -1 without memory.
 */
int dn_plan_run (struct dn_plan *plan,
                 int32_t node,
                 double by_s,
                 const struct dn_plan_need *held,
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

/* How much jobs of other GPU types may hold of a type. A guest runs on a type that it
 * did not request. Jobs that request the type may come at once, and then some of them
 * wait for a guest. If all GPUs of the type were shared evenly, each would wait for the
 * GPU seconds that guests still hold, over the GPUs: so this is what is bounded, by a
 * share of the mean time limit of those jobs. Short guests and those that end soon
 * count little.
 *
 * On few GPUs that alone would leave all of them idle while others wait, so a first
 * guest may come, and all where no job requests the type; but never to more than half.
 */

/* Of the jobs that run or wait on a pool of nodes. */
struct dn_guests {
    double gpus;      /* of its nodes, whether idle or not */
    double held_gpus; /* of guests */
    double held_s;    /* the same, times what is left of their limits */
    double own_s;     /* GPUs of the others, times their limits */
    double own_gpus;  /* of the others that have a limit */
};

/* 'limit_s': 0 or INFINITY: none. 'left_s' of it counts for a guest. */
void dn_guests_add (struct dn_guests *guests,
                    bool guest,
                    double gpus,
                    double limit_s,
                    double left_s);

/* May another guest come to a type that has these pools (as bits)? With it guests hold
 * at most half of the GPUs. If there are other guests, and others: of the GPU time of
 * guests and that of all GPUs for the mean limit of the others together, the latter
 * must be the share 'keep'. 'keep' 0: in any case; 1: in none.
 */
bool dn_guests_may (const struct dn_guests *guests,
                    uint64_t pools,
                    double keep,
                    double gpus,
                    double limit_s);

#endif
