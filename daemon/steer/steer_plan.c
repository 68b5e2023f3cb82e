/* steer_plan.c - whether an open job gets another GPU type
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "steer/steer_plan.h"

#include <math.h>

#include "policy/guarded.h"

/* Passes after which a job that has not started has its own type again, and of one that
 * waits for something else than room.
 */
#define PASSES      2
#define KEPT_PASSES 1

static bool has_our_limit (const struct dn_steer_case *c, const struct dn_link_job *job)
{
    int64_t written = dn_recorded_written (c->recorded);

    return written == DN_UNSET || job->limit_s == written;
}

/* Has the job the type that dnnest gave it? Where Slurm chooses it at each start, the
 * constraint stays that of all types.
 */
static bool has_our_type (const struct dn_steer_case *c, const struct dn_link_job *job)
{
    const struct dn_recorded *recorded = c->recorded;
    int now = dn_open_now (recorded);

    if (now < 0 || recorded->rescued || !recorded->changed)
        return false;
    return recorded->either
           || dn_open_is_place (&recorded->open[now], job->features, job->partition);
}

/* May it get another type, or the limit of its own? */
static bool may_change (const struct dn_steer_case *c)
{
    return c->rules->mode == DN_MODE_ENFORCE && c->rules->record != DN_RECORD_NONE;
}

/* So much of a lowered limit must be left that the guard extends it before
 * --signal= is due or, if the guard dies, its silence is noticed.
 */
static int64_t lead_of (const struct dn_steer_case *c)
{
    return dn_guarded_lead (c->guard_interval_s)
           + dn_signal_lead (c->recorded->signal_s);
}

/* Is the limit below what its user's amounts to there? */
static bool is_lowered (const struct dn_steer_case *c,
                        const struct dn_steer_change *change)
{
    return change->cap_s > 0 ? change->limit_s < change->cap_s : c->recorded->set_s > 0;
}

static struct dn_steer_change change_to (const struct dn_steer_case *c,
                                         const struct dn_link_job *job,
                                         int to)
{
    const struct dn_recorded *recorded = c->recorded;
    int from = dn_open_now (recorded);

    return (struct dn_steer_change){
        .from = from,
        .to = to,
        .limit_s = dn_open_limit (recorded, job->limit_s, from, to),
        .cap_s = dn_open_limit (recorded, recorded->asked_s, 0, to)};
}

/* A lowered limit of a faster type is no shorter than those of the submission. */
static void lengthen (const struct dn_steer_case *c, struct dn_steer_change *change)
{
    int64_t least_s = (2 * lead_of (c) + 59) / 60 * 60;

    if (!is_lowered (c, change) || change->limit_s >= least_s)
        return;
    change->limit_s =
        change->cap_s > 0 && change->cap_s < least_s ? change->cap_s : least_s;
}

enum dn_steer_verdict dn_steer_pending (const struct dn_steer_case *c,
                                        const struct dn_steer_job *job,
                                        struct dn_steer_change *change)
{
    const struct dn_recorded *recorded = c->recorded;
    bool ours = has_our_limit (c, &job->link);
    int passes = recorded->either                       ? 0
                 : job->link.queued || job->link.unseen ? PASSES
                                                        : KEPT_PASSES;

    if (!has_our_type (c, &job->link) || dn_open_home (recorded) < 0
        || (!ours && recorded->steer_gpu[0] == '\0'))
        return DN_STEER_HANDS_OFF;
    *change = change_to (c, &job->link, dn_open_home (recorded));
    if (!ours)
        change->limit_s = job->link.limit_s > 0 ? job->link.limit_s : 0;
    if (recorded->steer_gpu[0] != '\0')
        return c->leaves || c->now_s >= recorded->steered_at_s + passes * c->interval_s
                   ? DN_STEER_UNDO
                   : DN_STEER_STAYS;
    if (!may_change (c) || c->rules->steer <= DN_STEER_NO || c->rests
        || recorded->either || job->link.on_nodes || job->link.limit_s < 60
        || !(job->start_s > (double) c->now_s) || isinf (job->start_s))
        return DN_STEER_STAYS;
    return DN_STEER_MOVE;
}

/* Predicted seconds on the type of an entry, of those on the present one; without a
 * prediction, of a job that takes its limit.
 */
static double run_on (const struct dn_steer_case *c,
                      const struct dn_link_job *job,
                      int entry)
{
    const struct dn_recorded *recorded = c->recorded;
    double here_s = recorded->likely_s > 0
                        ? dn_recorded_there (recorded, (double) recorded->likely_s)
                        : (double) job->limit_s;

    return here_s * (double) recorded->open[entry].slow
           / (double) recorded->open[dn_open_now (recorded)].slow;
}

/* Would what its user's limit amounts to in these pools run into a reservation or
 * beyond the deadline? Then a lower limit lets the job start where the guard cannot
 * extend it.
 */
static bool is_held (const struct dn_steer_case *c,
                     const struct dn_steer_queue *queue,
                     const struct dn_link_job *job,
                     const struct dn_steer_change *change,
                     uint64_t pools)
{
    bool lowered = is_lowered (c, change);
    int64_t until_s = !lowered            ? c->now_s + change->limit_s
                      : change->cap_s > 0 ? c->now_s + change->cap_s
                                          : INT64_MAX;

    if (job->deadline > 0 && until_s > job->deadline)
        return true;
    for (int i = 0; i < queue->n_pools && lowered; i++)
        if ((pools >> i & 1) != 0 && queue->pools[i].reserved_from > 0
            && queue->pools[i].reserved_from < until_s)
            return true;
    return false;
}

/* Is enough of the type kept from the job and other guests? */
static bool keeps_share (const struct dn_steer_case *c,
                         const struct dn_steer_queue *queue,
                         const struct dn_steer_job *job,
                         int type,
                         int64_t limit_s)
{
    int64_t gpus = job->need.gpus;
    uint64_t pools = 0;

    for (int i = 0; i < queue->n_pools; i++) {
        if (queue->pools[i].type != type)
            continue;
        pools |= UINT64_C (1) << i;
        if (job->link.whole && queue->pools[i].max_gpus > gpus)
            gpus = queue->pools[i].max_gpus;
    }
    return dn_guests_may (queue->guests,
                          pools,
                          c->rules->keep,
                          (double) (gpus * job->need.nodes),
                          (double) limit_s);
}

bool dn_steer_may_move (const struct dn_steer_case *c,
                        struct dn_steer_queue *queue,
                        const struct dn_steer_job *job,
                        int to,
                        int64_t longest_s,
                        struct dn_steer_change *change)
{
    const struct dn_open_type *open = &c->recorded->open[to];
    const struct dn_link_job *link = &job->link;
    int type = dn_type_find (&queue->types, open->gpu);
    uint64_t pools;
    double end_here;
    double end_there;

    *change = change_to (c, link, to);
    lengthen (c, change);
    if (type < 0 || to == change->from
        || (c->rules->steer == DN_STEER_CHEAPER && !(c->costs[to] <= c->costs[0]))
        || (longest_s != DN_UNLIMITED
            && (change->limit_s > longest_s || change->cap_s > longest_s)))
        return false;
    pools =
        dn_steer_pools (queue,
                        type,
                        open->features[0] != '\0' ? open->features : link->features,
                        open->partition[0] != '\0' ? open->partition : link->partition);
    if (is_held (c, queue, link, change, pools))
        return false;
    end_here = job->start_s - (double) c->now_s + run_on (c, link, change->from);
    end_there = run_on (c, link, to);
    return end_there < DN_STEER_GAIN * end_here
           && (to == 0 || keeps_share (c, queue, job, type, change->limit_s))
           && dn_steer_when (queue, job, pools, (double) change->limit_s, &change->pool)
                  <= (double) c->now_s;
}

/* Once in a run, and only where most of the limit is left: a job that runs is not ended
 * by it. A run after a requeue may be on a slower type than the one before.
 */
enum dn_steer_verdict dn_steer_running (const struct dn_steer_case *c,
                                        const struct dn_link_job *job,
                                        const char *type,
                                        struct dn_steer_change *change)
{
    const struct dn_recorded *recorded = c->recorded;
    int to = type ? dn_open_find (recorded, type) : -1;
    bool again = recorded->steer_gpu[0] != '\0';

    if (!recorded->either || !may_change (c) || !has_our_limit (c, job)
        || !has_our_type (c, job))
        return DN_STEER_HANDS_OFF;
    if (to < 0 || job->limit_s < 60 || (again && to == dn_open_now (recorded)))
        return DN_STEER_STAYS;
    *change = change_to (c, job, to);
    if (again && change->limit_s > job->limit_s)
        return DN_STEER_FIT;
    if (recorded->n_later > 0)
        return DN_STEER_STAYS;
    lengthen (c, change);
    if (change->limit_s > job->limit_s)
        change->limit_s = job->limit_s;
    return 2 * (c->now_s - job->start) > change->limit_s
                   || (is_lowered (c, change)
                       && change->limit_s - (c->now_s - job->start) < lead_of (c))
               ? DN_STEER_STAYS
               : DN_STEER_FIT;
}
