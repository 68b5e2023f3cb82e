/* waiting.c - how long a job waits for a GPU type, by the snapshot
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/choices.h"
#include "base/messages.h"

bool dn_deciding_starts_now (const struct dn_deciding *d, int i)
{
    const struct dn_candidate *candidate = &d->candidates->list[i];
    struct dn_reason keep;
    int64_t cpus;

    if (candidate->idle_cpus == DN_UNSET)
        return false;
    cpus = dn_cpus_on_node (d->request, dn_needed_cpus (d, i, &keep));
    return cpus <= candidate->idle_cpus;
}

/* One GPU, about a node of them, or several nodes. */
static enum dn_job_shape shape_of (const struct dn_request *request)
{
    if (request->n_nodes > 1 || request->job->min_nodes > 1)
        return DN_SHAPE_NODES;
    return request->gpus_per_node > 1 ? DN_SHAPE_NODE : DN_SHAPE_GPU;
}

static int64_t wait_for (const struct dn_deciding *d, int i)
{
    const struct dn_candidate *candidate = &d->candidates->list[i];
    const struct dn_wait *wait;

    if (dn_deciding_starts_now (d, i))
        return 0;
    if (candidate->unavailable)
        return DN_UNSET;
    wait = dn_cluster_wait (d->view->cluster, candidate->gpu->type);
    return wait ? wait->wait_s[shape_of (d->request)] : DN_UNSET;
}

void dn_deciding_look_at_waits (struct dn_deciding *d)
{
    struct dn_snapshot_of_job *snapshot = d->snapshot;

    snapshot->waits_known = d->view->cluster != NULL;
    for (int i = 0; i < d->candidates->n_candidates; i++) {
        snapshot->wait_s[i] = d->view->cluster ? wait_for (d, i) : DN_UNSET;
        if (snapshot->wait_s[i] == DN_UNSET
            && (i == d->base || !dn_given (d->candidates->list[i].blocked)))
            snapshot->waits_known = false;
    }
}

/* 'than' starts now. */
static struct dn_reason leaves_idle (const struct dn_deciding *d,
                                     int i,
                                     int than,
                                     int64_t wait_s)
{
    struct dn_arg type = dn_arg_text (dn_deciding_type (d, than));
    double run_s = d->estimates[i].train_s.p50;
    double now_s = d->estimates[than].train_s.p50;

    if (wait_s == DN_UNSET || run_s < 0 || now_s < 0)
        return DN_REASON (other_busy, type);
    if ((double) wait_s <= now_s
        && (double) wait_s + run_s <= d->rules->max_slowdown * now_s)
        return DN_NO_REASON;
    return DN_REASON (other_wait, dn_arg_time (wait_s), type);
}

struct dn_reason dn_deciding_waits_too_long (const struct dn_deciding *d,
                                             int i,
                                             int than)
{
    int64_t wait_s = d->snapshot->wait_s[i];
    int64_t than_s = d->snapshot->wait_s[than];
    double run_s = d->estimates[i].train_s.p50;
    double than_run_s = d->estimates[than].train_s.p50;

    if (!d->view->cluster || wait_s == 0)
        return DN_NO_REASON;
    if (than_s == 0)
        return leaves_idle (d, i, than, wait_s);
    if (wait_s == DN_UNSET || than_s == DN_UNSET || run_s < 0 || than_run_s < 0
        || (double) wait_s + run_s
               <= d->rules->max_slowdown * ((double) than_s + than_run_s))
        return DN_NO_REASON;
    return DN_REASON (other_longer_wait,
                      dn_arg_time (wait_s),
                      dn_arg_text (dn_deciding_type (d, than)),
                      dn_arg_time (than_s));
}
