/* waiting.c - how long a job waits for a GPU type, by the snapshot
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/choices.h"
#include "base/messages.h"

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

    if (d->options[i].starts_now)
        return 0;
    if (candidate->unavailable)
        return DN_UNSET;
    wait = dn_cluster_wait (d->view->cluster, candidate->gpu->type);
    return wait ? wait->wait_s[shape_of (d->request)] : DN_UNSET;
}

void dn_deciding_look_at_waits (struct dn_deciding *d)
{
    d->waits_known = d->view->cluster != NULL;
    for (int i = 0; i < d->candidates->n_candidates; i++) {
        const struct dn_candidate *candidate = &d->candidates->list[i];
        struct dn_option *option = &d->options[i];

        option->starts_now =
            candidate->idle_cpus != DN_UNSET
            && dn_cpus_on_node (d->request, option->cpus) <= candidate->idle_cpus;
        option->wait_s = d->view->cluster ? wait_for (d, i) : DN_UNSET;
        if (option->wait_s == DN_UNSET
            && (i == d->base || !dn_given (candidate->blocked)))
            d->waits_known = false;
    }
}

/* 'than' starts now. */
static struct dn_reason leaves_idle (const struct dn_deciding *d,
                                     int i,
                                     int than,
                                     int64_t wait_s)
{
    struct dn_arg type = dn_deciding_type (d, than);
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
    int64_t wait_s = d->options[i].wait_s;
    int64_t than_s = d->options[than].wait_s;
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
                      dn_deciding_type (d, than),
                      dn_arg_time (than_s));
}
