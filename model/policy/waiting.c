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

/* The snapshot does not have the jobs of its last minute: those that were moved must
 * not all be sent to the same idle GPUs.
 */
static bool has_idle_gpus (const struct dn_deciding *d, int i)
{
    const struct dn_candidate *candidate = &d->candidates->list[i];
    const struct dn_wait *wait =
        d->view->cluster ? dn_cluster_wait (d->view->cluster, candidate->gpu->type)
                         : NULL;
    int64_t moved = wait && i != d->base
                        ? __atomic_load_n (&wait->moved_gpus, __ATOMIC_RELAXED)
                        : 0;

    return candidate->idle_gpus - moved >= d->request->n_gpus;
}

void dn_deciding_note_move (const struct dn_deciding *d, int i)
{
    const struct dn_cluster *cluster = d->view->cluster;
    const struct dn_wait *wait =
        dn_cluster_wait (cluster, d->candidates->list[i].gpu->type);

    if (wait && d->rules->mode == DN_MODE_ENFORCE)
        __atomic_fetch_add (&cluster->waits[wait - cluster->waits].moved_gpus,
                            d->request->n_gpus,
                            __ATOMIC_RELAXED);
}

void dn_deciding_look_at_waits (struct dn_deciding *d)
{
    d->waits_known = d->view->cluster != NULL;
    for (int i = 0; i < d->candidates->n_candidates; i++) {
        const struct dn_candidate *candidate = &d->candidates->list[i];
        struct dn_option *option = &d->options[i];

        option->starts_now =
            candidate->idle_cpus != DN_UNSET && has_idle_gpus (d, i)
            && dn_cpus_on_node (d->request, option->cpus) <= candidate->idle_cpus;
        option->wait_s = d->view->cluster ? wait_for (d, i) : DN_UNSET;
        if (option->wait_s == DN_UNSET
            && (i == d->base || !dn_given (candidate->blocked)))
            d->waits_known = false;
    }
}
