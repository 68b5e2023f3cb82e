/* waiting.c - how long a job waits for a GPU type, by the snapshot
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/choices.h"
#include "base/messages.h"

bool dn_scene_starts_now (const struct dn_scene *scene, int i)
{
    const struct dn_candidate *candidate = &scene->candidates->list[i];
    struct dn_reason keep;
    int64_t cpus;

    if (candidate->idle_cpus == DN_UNSET)
        return false;
    cpus = dn_cpus_on_node (scene->request, dn_needed_cpus (scene, i, &keep));
    return cpus <= candidate->idle_cpus;
}

/* One GPU, about a node of them, or several nodes. */
static enum dn_job_shape shape_of (const struct dn_request *request)
{
    if (request->n_nodes > 1 || request->job->min_nodes > 1)
        return DN_SHAPE_NODES;
    return request->gpus_per_node > 1 ? DN_SHAPE_NODE : DN_SHAPE_GPU;
}

static int64_t wait_for (const struct dn_scene *scene, int i)
{
    const struct dn_candidate *candidate = &scene->candidates->list[i];
    const struct dn_wait *wait;

    if (dn_scene_starts_now (scene, i))
        return 0;
    if (candidate->unavailable)
        return DN_UNSET;
    wait = dn_cluster_wait (scene->view->cluster, candidate->gpu->type);
    return wait ? wait->wait_s[shape_of (scene->request)] : DN_UNSET;
}

void dn_scene_look_at_waits (struct dn_scene *scene)
{
    struct dn_sight *sight = scene->sight;

    sight->waits_known = scene->view->cluster != NULL;
    for (int i = 0; i < scene->candidates->n_candidates; i++) {
        sight->wait_s[i] = scene->view->cluster ? wait_for (scene, i) : DN_UNSET;
        if (sight->wait_s[i] == DN_UNSET
            && (i == scene->base
                || scene->candidates->list[i].blocked.code == DN_REASON_NONE))
            sight->waits_known = false;
    }
}

static bool say (struct dn_reason *why, struct dn_reason reason)
{
    if (why)
        *why = reason;
    return true;
}

/* 'than' starts now. */
static bool leaves_idle (const struct dn_scene *scene,
                         int i,
                         int than,
                         int64_t wait_s,
                         struct dn_reason *why)
{
    double run_s = scene->estimates[i].train_s.p50;
    double now_s = scene->estimates[than].train_s.p50;

    if (wait_s == DN_UNSET || run_s < 0 || now_s < 0) {
        return say (why,
                    DN_REASON (other_busy, dn_arg_text (dn_scene_type (scene, than))));
    }
    if ((double) wait_s <= now_s
        && (double) wait_s + run_s <= scene->rules->max_slowdown * now_s)
        return false;
    return say (why,
                DN_REASON (other_wait,
                           dn_arg_time (wait_s),
                           dn_arg_text (dn_scene_type (scene, than))));
}

bool dn_scene_waits_too_long (const struct dn_scene *scene,
                              int i,
                              int than,
                              struct dn_reason *why)
{
    int64_t wait_s = scene->sight->wait_s[i];
    int64_t than_s = scene->sight->wait_s[than];
    double run_s = scene->estimates[i].train_s.p50;
    double than_run_s = scene->estimates[than].train_s.p50;

    if (!scene->view->cluster || wait_s == 0)
        return false;
    if (than_s == 0)
        return leaves_idle (scene, i, than, wait_s, why);
    if (wait_s == DN_UNSET || than_s == DN_UNSET || run_s < 0 || than_run_s < 0
        || (double) wait_s + run_s
               <= scene->rules->max_slowdown * ((double) than_s + than_run_s))
        return false;
    return say (why,
                DN_REASON (other_longer_wait,
                           dn_arg_time (wait_s),
                           dn_arg_text (dn_scene_type (scene, than)),
                           dn_arg_time (than_s)));
}
