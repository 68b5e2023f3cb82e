/* choose_gpu.c - the GPU type to run on
 *
 * A job that can run on the type that it requests moves to another one for a gain by
 * the objective; one that cannot moves to a type on which it can (a rescue). Neither
 * moves to a type of higher Cost, unless the rule Upgrade allows it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/choices.h"
#include "base/messages.h"

#include <inttypes.h>
#include <math.h>

/* What the choice of a GPU type saves, per objective. */
static const char *const saved_text[] = {
    [DN_OBJECTIVE_UNKNOWN] = "cost",
    [DN_OBJECTIVE_COST] = "cost",
    [DN_OBJECTIVE_TIME] = "time",
    [DN_OBJECTIVE_ENERGY] = "energy",
    [DN_OBJECTIVE_FINISH] = dn_say_saved_wait_and_run,
};

static const char *const objective_text[] = DN_OBJECTIVE_WORDS;

enum dn_objective dn_scene_objective (const struct dn_scene *scene)
{
    return scene->spec->objective != DN_OBJECTIVE_UNKNOWN
                   && scene->rules->user_objective == DN_YES_YES
               ? scene->spec->objective
               : scene->rules->objective;
}

static double time_on (const struct dn_scene *scene, int i)
{
    return dn_estimate_time (&scene->estimates[i]);
}

static double slowdown_on (const struct dn_scene *scene, int i)
{
    return time_on (scene, i) / time_on (scene, scene->base);
}

/* Wait and run; the time of a step where the amount of work is unknown. */
static double finish_of (const struct dn_scene *scene, int i)
{
    bool waits = scene->estimates[i].train_s.p50 >= 0 && scene->sight->waits_known;

    return time_on (scene, i) + (waits ? (double) scene->sight->wait_s[i] : 0);
}

double dn_scene_price (const struct dn_scene *scene, int i)
{
    const struct dn_estimate *estimate = &scene->estimates[i];

    switch (dn_scene_objective (scene)) {
    case DN_OBJECTIVE_TIME:
        return time_on (scene, i);
    case DN_OBJECTIVE_ENERGY:
        return time_on (scene, i) * estimate->power_w;
    case DN_OBJECTIVE_FINISH:
        return finish_of (scene, i);
    default:
        return time_on (scene, i) * scene->candidates->list[i].cost;
    }
}

/* Is an hour on candidate 'i' more expensive than on the requested type? */
static bool is_more_expensive (const struct dn_scene *scene, int i)
{
    return scene->candidates->list[i].cost > scene->candidates->list[scene->base].cost;
}

static void say_more_expensive (const struct dn_scene *scene, struct dn_reason *why)
{
    *why = DN_REASON (
        other_more_expensive,
        dn_arg_text (scene->rules->upgrade == DN_UPGRADE_NO ? "no" : "rescue"));
}

bool dn_scene_lacks (const struct dn_scene *scene, int i)
{
    const struct dn_device *device = scene->estimates[i].device;

    switch (scene->request->need) {
    case DN_NEED_BF16:
        return device->bf16 <= 0;
    case DN_NEED_FP8:
        return device->fp8 <= 0;
    case DN_NEED_NONE:
    case DN_N_NEEDS:
        break;
    }
    return false;
}

enum dn_failure dn_scene_failure (const struct dn_scene *scene, int i)
{
    const struct dn_estimate *estimate = &scene->estimates[i];

    if (!estimate->supported)
        return DN_FAILURE_PRECISION;
    return estimate->fits ? DN_FAILURE_NONE : DN_FAILURE_MEMORY;
}

bool dn_scene_holds (const struct dn_scene *scene, int i, struct dn_reason *why)
{
    const struct dn_request *request = scene->request;
    const struct dn_estimate *estimate = &scene->estimates[i];
    double memory = dn_policy_memory (scene->rules, estimate);

    if (!estimate->supported)
        *why = DN_REASON (other_precision);
    else if (!dn_device_has_kernels (estimate->device, scene->spec))
        *why = DN_REASON (other_kernels);
    else if (dn_scene_lacks (scene, i))
        *why = request->need_why;
    else if (scene->spec->precision == DN_PRECISION_UNKNOWN
             && scene->estimates[scene->base].device->bf16 > 0
             && estimate->device->bf16 <= 0)
        *why = DN_REASON (other_no_bf16);
    else if (memory > estimate->device->memory)
        *why = DN_REASON (
            other_memory,
            dn_arg_count ((int64_t) ceil (memory / DN_GIB)),
            dn_arg_count ((int64_t) floor (estimate->device->memory / DN_GIB)));
    else if (estimate->confidence < scene->rules->min_confidence)
        *why = DN_REASON (other_unsure, dn_arg_share (estimate->confidence));
    else
        return true;
    return false;
}

/* Do the nodes of candidate 'i' have room for the request? */
static bool has_room (const struct dn_scene *scene, int i, struct dn_reason *why)
{
    const struct dn_candidate *candidate = &scene->candidates->list[i];
    struct dn_reason keep_cpus;
    int64_t each = dn_needed_cpus (scene, i, &keep_cpus);
    int64_t cpus = dn_cpus_on_node (scene->request, each);

    if (candidate->blocked.code != DN_REASON_NONE)
        *why = candidate->blocked;
    else if (cpus != DN_UNSET && cpus > candidate->node_cpus)
        *why = DN_REASON (
            other_cpus, dn_arg_count (cpus), dn_arg_count (candidate->node_cpus));
    else
        return dn_keeps_limits (scene, i, dn_all_cpus (scene->request, each), why);
    return false;
}

/* Would the run on candidate 'i' end within the requested limit and the deadline? */
static bool within_time (const struct dn_scene *scene, int i, struct dn_reason *why)
{
    bool slower = slowdown_on (scene, i) > 1;
    int64_t needed = dn_needed_time (scene, i);
    int64_t limit = scene->request->time_limit_s;

    if (slower && needed == DN_UNSET)
        *why = DN_REASON (other_no_work);
    else if (needed == DN_UNSET)
        return true;
    else if (slower && limit == DN_UNSET)
        *why = DN_REASON (other_no_limit);
    else if (limit > 0 && needed > limit)
        *why = DN_REASON (other_over_limit, dn_arg_time (needed));
    else if (!dn_keeps_deadline (scene, needed))
        *why = DN_REASON (other_over_deadline, dn_arg_time (needed));
    else
        return true;
    return false;
}

/* Is the likely cost of the run on candidate 'i' within the job's budget? */
static bool within_budget (const struct dn_scene *scene, int i, struct dn_reason *why)
{
    double cost = dn_estimate_cost (
        &scene->estimates[i], scene->spec->gpus, scene->candidates->list[i].cost);

    if (scene->spec->budget < 0 || cost <= scene->spec->budget)
        return true;
    *why = DN_REASON (
        other_over_budget, dn_arg_cents (cost), dn_arg_cents (scene->spec->budget));
    return false;
}

/* May the job move to candidate 'i' for a gain? If not, 'why' gets the reason. */
static bool may_move (const struct dn_scene *scene, int i, struct dn_reason *why)
{
    const struct dn_estimate *estimates = scene->estimates;
    double slowdown = estimates[i].step_s.p50 / estimates[scene->base].step_s.p50;

    if (scene->candidates->list[i].blocked.code != DN_REASON_NONE)
        return has_room (scene, i, why);
    if (!dn_scene_holds (scene, i, why))
        return false;
    if (is_more_expensive (scene, i) && scene->rules->upgrade != DN_UPGRADE_YES) {
        say_more_expensive (scene, why);
        return false;
    }
    if (slowdown > scene->rules->max_slowdown) {
        *why = DN_REASON (other_slow, dn_arg_share (slowdown));
        return false;
    }
    return has_room (scene, i, why) && within_time (scene, i, why)
           && within_budget (scene, i, why)
           && !dn_scene_waits_too_long (scene, i, scene->base, why);
}

/* Why the job stays on its type whatever the others offer; none if it need not. */
static struct dn_reason keeps_gpu (const struct dn_scene *scene)
{
    if (scene->rules->gpu_type != DN_CHOICE_CHOOSE)
        return DN_REASON (policy_keeps_gpu);
    return scene->request->keep_gpu.code != DN_REASON_NONE ? scene->request->keep_gpu
                                                           : scene->candidates->keep;
}

static void say_not (const struct dn_scene *scene, int i, struct dn_reason why)
{
    dn_scene_say (
        scene,
        dn_reason_in (DN_REASON (gpu_not, dn_arg_text (dn_scene_type (scene, i))),
                      why));
}

static void say_choice (const struct dn_scene *scene, int best)
{
    if (best == scene->base)
        dn_scene_say (scene,
                      DN_REASON (gpu_right, dn_arg_text (dn_scene_type (scene, best))));
    else
        dn_scene_say (scene,
                      DN_REASON (gpu_better,
                                 dn_arg_text (dn_scene_type (scene, best)),
                                 dn_arg_share (slowdown_on (scene, best)),
                                 dn_arg_text (dn_scene_type (scene, scene->base)),
                                 dn_arg_share (dn_scene_price (scene, best)
                                               / dn_scene_price (scene, scene->base)),
                                 dn_arg_text (saved_text[dn_scene_objective (scene)])));
}

/* An objective of the job that the rules do not heed. */
static void say_objective (const struct dn_scene *scene)
{
    enum dn_objective objective = scene->spec->objective;

    if (objective != DN_OBJECTIVE_UNKNOWN && objective != dn_scene_objective (scene))
        dn_scene_say (
            scene, DN_REASON (gpu_objective, dn_arg_text (objective_text[objective])));
}

/* Is candidate 'i' better than 'best', another one to which the job may move? */
static bool is_better (const struct dn_scene *scene, int i, int best)
{
    if (dn_scene_waits_too_long (scene, i, best, NULL))
        return false;
    return dn_scene_price (scene, i) < dn_scene_price (scene, best)
           || dn_scene_waits_too_long (scene, best, i, NULL);
}

int dn_choose_gpu (const struct dn_scene *scene)
{
    struct dn_reason keep = keeps_gpu (scene);
    double limit = dn_scene_price (scene, scene->base) * (1 - scene->rules->min_gain);
    int best = scene->base;

    if (keep.code != DN_REASON_NONE) {
        dn_scene_say (scene, dn_reason_in (DN_REASON (gpu_kept), keep));
        return best;
    }
    say_objective (scene);
    if (scene->candidates->prices.code != DN_REASON_NONE)
        dn_scene_say (scene,
                      dn_reason_in (DN_REASON (gpu_prices), scene->candidates->prices));
    for (int i = 0; i < scene->candidates->n_candidates; i++) {
        struct dn_reason why;

        if (i == scene->base)
            continue;
        if (!may_move (scene, i, &why))
            say_not (scene, i, why);
        else if (dn_scene_price (scene, i) > limit)
            dn_scene_say (
                scene, DN_REASON (gpu_no_gain, dn_arg_text (dn_scene_type (scene, i))));
        else if (best == scene->base || is_better (scene, i, best))
            best = i;
    }
    say_choice (scene, best);
    return best;
}

/* Is the likely time on candidate 'i' within the limit and the deadline? The requested
 * type fails for certain, so the bound need not be.
 */
static bool likely_within_time (const struct dn_scene *scene,
                                int i,
                                struct dn_reason *why)
{
    double likely = scene->estimates[i].train_s.p50;
    int64_t limit = scene->request->time_limit_s;

    if (likely < 0
        || ((limit < 0
             || likely <= (double) dn_time_before_signal (scene->request, limit))
            && dn_keeps_deadline (scene, (int64_t) likely)))
        return true;
    *why = DN_REASON (other_over_either, dn_arg_time ((int64_t) ceil (likely)));
    return false;
}

/* May a job that cannot run on its type move to candidate 'i', which holds it? */
static bool may_rescue (const struct dn_scene *scene, int i, struct dn_reason *why)
{
    struct dn_reason keep = keeps_gpu (scene);

    if (keep.code != DN_REASON_NONE)
        *why = keep;
    else if (is_more_expensive (scene, i) && scene->rules->upgrade == DN_UPGRADE_NO)
        say_more_expensive (scene, why);
    else if (has_room (scene, i, why) && likely_within_time (scene, i, why)) {
        *why = DN_NO_REASON;
        return true;
    }
    return false;
}

void dn_find_rescue (const struct dn_scene *scene, struct dn_other *other)
{
    other->index = -1;
    other->why = DN_NO_REASON;
    for (int i = 0; i < scene->candidates->n_candidates; i++) {
        struct dn_other next = {.index = i};
        bool allowed;
        bool was_allowed = other->index >= 0 && other->why.code == DN_REASON_NONE;

        if (i == scene->base)
            continue;
        if (!dn_scene_holds (scene, i, &next.why)) {
            say_not (scene, i, next.why);
            continue;
        }
        allowed = may_rescue (scene, i, &next.why);
        if (!allowed)
            say_not (scene, i, next.why);
        if (other->index < 0 || (allowed && !was_allowed)
            || (allowed == was_allowed
                && dn_scene_price (scene, i) < dn_scene_price (scene, other->index)))
            *other = next;
    }
}
