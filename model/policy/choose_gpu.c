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

static const char *const objective_text[] = {DN_OBJECTIVES (DN_ENUM_WORD)};

enum dn_objective dn_deciding_objective (const struct dn_deciding *d)
{
    return d->spec->objective != DN_OBJECTIVE_UNKNOWN
                   && d->rules->user_objective == DN_YES_YES
               ? d->spec->objective
               : d->rules->objective;
}

static double time_on (const struct dn_deciding *d, int i)
{
    return dn_estimate_time (&d->estimates[i]);
}

static double slowdown_on (const struct dn_deciding *d, int i)
{
    return time_on (d, i) / time_on (d, d->base);
}

/* Wait and run; the time of a step where the amount of work is unknown. */
static double finish_of (const struct dn_deciding *d, int i)
{
    bool waits = d->estimates[i].train_s.p50 >= 0 && d->snapshot->waits_known;

    return time_on (d, i) + (waits ? (double) d->snapshot->wait_s[i] : 0);
}

double dn_deciding_price (const struct dn_deciding *d, int i)
{
    const struct dn_estimate *estimate = &d->estimates[i];

    switch (dn_deciding_objective (d)) {
    case DN_OBJECTIVE_TIME:
        return time_on (d, i);
    case DN_OBJECTIVE_ENERGY:
        return time_on (d, i) * estimate->power_w;
    case DN_OBJECTIVE_FINISH:
        return finish_of (d, i);
    default:
        return time_on (d, i) * d->candidates->list[i].cost;
    }
}

/* Is an hour on candidate 'i' more expensive than on the requested type? */
static bool is_more_expensive (const struct dn_deciding *d, int i)
{
    return d->candidates->list[i].cost > d->candidates->list[d->base].cost;
}

static void say_more_expensive (const struct dn_deciding *d, struct dn_reason *why)
{
    *why =
        DN_REASON (other_more_expensive,
                   dn_arg_text (d->rules->upgrade == DN_UPGRADE_NO ? "no" : "rescue"));
}

bool dn_deciding_lacks (const struct dn_deciding *d, int i)
{
    const struct dn_device *device = d->estimates[i].device;

    switch (d->request->need) {
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

enum dn_failure dn_deciding_failure (const struct dn_deciding *d, int i)
{
    const struct dn_estimate *estimate = &d->estimates[i];

    if (!estimate->supported)
        return DN_FAILURE_PRECISION;
    return estimate->fits ? DN_FAILURE_NONE : DN_FAILURE_MEMORY;
}

bool dn_deciding_holds (const struct dn_deciding *d, int i, struct dn_reason *why)
{
    const struct dn_request *request = d->request;
    const struct dn_estimate *estimate = &d->estimates[i];
    double memory = dn_policy_memory (d->rules, estimate);

    if (!estimate->supported)
        *why = DN_REASON (other_precision);
    else if (!dn_device_has_kernels (estimate->device, d->spec))
        *why = DN_REASON (other_kernels);
    else if (dn_deciding_lacks (d, i))
        *why = request->need_why;
    else if (d->spec->precision == DN_PRECISION_UNKNOWN
             && d->estimates[d->base].device->bf16 > 0 && estimate->device->bf16 <= 0)
        *why = DN_REASON (other_no_bf16);
    else if (memory > estimate->device->memory)
        *why = DN_REASON (
            other_memory,
            dn_arg_count ((int64_t) ceil (memory / DN_GIB)),
            dn_arg_count ((int64_t) floor (estimate->device->memory / DN_GIB)));
    else if (estimate->confidence < d->rules->min_confidence)
        *why = DN_REASON (other_unsure, dn_arg_share (estimate->confidence));
    else
        return true;
    return false;
}

/* Do the nodes of candidate 'i' have room for the request? */
static bool has_room (const struct dn_deciding *d, int i, struct dn_reason *why)
{
    const struct dn_candidate *candidate = &d->candidates->list[i];
    struct dn_reason keep_cpus;
    int64_t each = dn_needed_cpus (d, i, &keep_cpus);
    int64_t cpus = dn_cpus_on_node (d->request, each);

    if (candidate->blocked.code != DN_REASON_NONE)
        *why = candidate->blocked;
    else if (cpus != DN_UNSET && cpus > candidate->node_cpus)
        *why = DN_REASON (
            other_cpus, dn_arg_count (cpus), dn_arg_count (candidate->node_cpus));
    else
        return dn_keeps_limits (d, i, dn_all_cpus (d->request, each), why);
    return false;
}

/* Would the run on candidate 'i' end within the requested limit and the deadline? */
static bool within_time (const struct dn_deciding *d, int i, struct dn_reason *why)
{
    bool slower = slowdown_on (d, i) > 1;
    int64_t needed = dn_needed_time (d, i);
    int64_t limit = d->request->time_limit_s;

    if (slower && needed == DN_UNSET)
        *why = DN_REASON (other_no_work);
    else if (needed == DN_UNSET)
        return true;
    else if (slower && limit == DN_UNSET)
        *why = DN_REASON (other_no_limit);
    else if (limit > 0 && needed > limit)
        *why = DN_REASON (other_over_limit, dn_arg_time (needed));
    else if (!dn_keeps_deadline (d, needed))
        *why = DN_REASON (other_over_deadline, dn_arg_time (needed));
    else
        return true;
    return false;
}

/* Is the likely cost of the run on candidate 'i' within the job's budget? */
static bool within_budget (const struct dn_deciding *d, int i, struct dn_reason *why)
{
    double cost =
        dn_estimate_cost (&d->estimates[i], d->spec->gpus, d->candidates->list[i].cost);

    if (d->spec->budget < 0 || cost <= d->spec->budget)
        return true;
    *why = DN_REASON (
        other_over_budget, dn_arg_cents (cost), dn_arg_cents (d->spec->budget));
    return false;
}

/* May the job move to candidate 'i' for a gain? If not, 'why' gets the reason. */
static bool may_move (const struct dn_deciding *d, int i, struct dn_reason *why)
{
    const struct dn_estimate *estimates = d->estimates;
    double slowdown = estimates[i].step_s.p50 / estimates[d->base].step_s.p50;

    if (d->candidates->list[i].blocked.code != DN_REASON_NONE)
        return has_room (d, i, why);
    if (!dn_deciding_holds (d, i, why))
        return false;
    if (is_more_expensive (d, i) && d->rules->upgrade != DN_UPGRADE_YES) {
        say_more_expensive (d, why);
        return false;
    }
    if (slowdown > d->rules->max_slowdown) {
        *why = DN_REASON (other_slow, dn_arg_share (slowdown));
        return false;
    }
    return has_room (d, i, why) && within_time (d, i, why) && within_budget (d, i, why)
           && !dn_deciding_waits_too_long (d, i, d->base, why);
}

/* Why the job stays on its type whatever the others offer; none if it need not. */
static struct dn_reason keeps_gpu (const struct dn_deciding *d)
{
    if (d->rules->gpu_type != DN_CHOICE_CHOOSE)
        return DN_REASON (policy_keeps_gpu);
    return d->request->keep_gpu.code != DN_REASON_NONE ? d->request->keep_gpu
                                                       : d->candidates->keep;
}

static void say_not (const struct dn_deciding *d, int i, struct dn_reason why)
{
    dn_deciding_say (
        d,
        dn_reason_in (DN_REASON (gpu_not, dn_arg_text (dn_deciding_type (d, i))), why));
}

static void say_choice (const struct dn_deciding *d, int best)
{
    if (best == d->base)
        dn_deciding_say (
            d, DN_REASON (gpu_right, dn_arg_text (dn_deciding_type (d, best))));
    else
        dn_deciding_say (
            d,
            DN_REASON (gpu_better,
                       dn_arg_text (dn_deciding_type (d, best)),
                       dn_arg_share (slowdown_on (d, best)),
                       dn_arg_text (dn_deciding_type (d, d->base)),
                       dn_arg_share (dn_deciding_price (d, best)
                                     / dn_deciding_price (d, d->base)),
                       dn_arg_text (saved_text[dn_deciding_objective (d)])));
}

/* An objective of the job that the rules do not heed. */
static void say_objective (const struct dn_deciding *d)
{
    enum dn_objective objective = d->spec->objective;

    if (objective != DN_OBJECTIVE_UNKNOWN && objective != dn_deciding_objective (d))
        dn_deciding_say (
            d, DN_REASON (gpu_objective, dn_arg_text (objective_text[objective])));
}

/* Is candidate 'i' better than 'best', another one to which the job may move? */
static bool is_better (const struct dn_deciding *d, int i, int best)
{
    if (dn_deciding_waits_too_long (d, i, best, NULL))
        return false;
    return dn_deciding_price (d, i) < dn_deciding_price (d, best)
           || dn_deciding_waits_too_long (d, best, i, NULL);
}

int dn_choose_gpu (const struct dn_deciding *d)
{
    struct dn_reason keep = keeps_gpu (d);
    double limit = dn_deciding_price (d, d->base) * (1 - d->rules->min_gain);
    int best = d->base;

    if (keep.code != DN_REASON_NONE) {
        dn_deciding_say (d, dn_reason_in (DN_REASON (gpu_kept), keep));
        return best;
    }
    say_objective (d);
    if (d->candidates->prices.code != DN_REASON_NONE)
        dn_deciding_say (d,
                         dn_reason_in (DN_REASON (gpu_prices), d->candidates->prices));
    for (int i = 0; i < d->candidates->n_candidates; i++) {
        struct dn_reason why;

        if (i == d->base)
            continue;
        if (!may_move (d, i, &why))
            say_not (d, i, why);
        else if (dn_deciding_price (d, i) > limit)
            dn_deciding_say (
                d, DN_REASON (gpu_no_gain, dn_arg_text (dn_deciding_type (d, i))));
        else if (best == d->base || is_better (d, i, best))
            best = i;
    }
    say_choice (d, best);
    return best;
}

/* Is the likely time on candidate 'i' within the limit and the deadline? The requested
 * type fails for certain, so the bound need not be.
 */
static bool likely_within_time (const struct dn_deciding *d,
                                int i,
                                struct dn_reason *why)
{
    double likely = d->estimates[i].train_s.p50;
    int64_t limit = d->request->time_limit_s;

    if (likely < 0
        || ((limit < 0 || likely <= (double) dn_time_before_signal (d->request, limit))
            && dn_keeps_deadline (d, (int64_t) likely)))
        return true;
    *why = DN_REASON (other_over_either, dn_arg_time ((int64_t) ceil (likely)));
    return false;
}

/* May a job that cannot run on its type move to candidate 'i', which holds it? */
static bool may_rescue (const struct dn_deciding *d, int i, struct dn_reason *why)
{
    struct dn_reason keep = keeps_gpu (d);

    if (keep.code != DN_REASON_NONE)
        *why = keep;
    else if (is_more_expensive (d, i) && d->rules->upgrade == DN_UPGRADE_NO)
        say_more_expensive (d, why);
    else if (has_room (d, i, why) && likely_within_time (d, i, why)) {
        *why = DN_NO_REASON;
        return true;
    }
    return false;
}

void dn_find_rescue (const struct dn_deciding *d, struct dn_other *other)
{
    other->index = -1;
    other->why = DN_NO_REASON;
    for (int i = 0; i < d->candidates->n_candidates; i++) {
        struct dn_other next = {.index = i};
        bool allowed;
        bool was_allowed = other->index >= 0 && other->why.code == DN_REASON_NONE;

        if (i == d->base)
            continue;
        if (!dn_deciding_holds (d, i, &next.why)) {
            say_not (d, i, next.why);
            continue;
        }
        allowed = may_rescue (d, i, &next.why);
        if (!allowed)
            say_not (d, i, next.why);
        if (other->index < 0 || (allowed && !was_allowed)
            || (allowed == was_allowed
                && dn_deciding_price (d, i) < dn_deciding_price (d, other->index)))
            *other = next;
    }
}
