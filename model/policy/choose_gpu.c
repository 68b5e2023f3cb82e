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

/* The objective of the rules, or the job's own where UserObjective=yes. */
static enum dn_objective objective_of (const struct dn_deciding *d)
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
    bool waits = d->estimates[i].train_s.p50 >= 0 && d->waits_known;

    return time_on (d, i) + (waits ? (double) d->options[i].wait_s : 0);
}

double dn_deciding_price (const struct dn_deciding *d, int i)
{
    const struct dn_estimate *estimate = &d->estimates[i];

    switch (objective_of (d)) {
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

struct dn_reason dn_deciding_unfit (const struct dn_deciding *d, int i)
{
    const struct dn_estimate *estimate = &d->estimates[i];
    const struct dn_device *device = estimate->device;
    double memory = dn_policy_memory (d->rules, estimate);

    if (!estimate->supported)
        return DN_REASON (other_precision);
    if (!dn_device_has_kernels (device, d->spec))
        return DN_REASON (other_kernels);
    if (dn_deciding_lacks (d, i))
        return d->request->need_why;
    if (d->spec->precision == DN_PRECISION_UNKNOWN && device->bf16 <= 0
        && d->estimates[d->base].device->bf16 > 0)
        return DN_REASON (other_no_bf16);
    if (memory > device->memory)
        return DN_REASON (other_memory,
                          dn_arg_count ((int64_t) ceil (memory / DN_GIB)),
                          dn_arg_count ((int64_t) floor (device->memory / DN_GIB)));
    if (estimate->confidence < d->rules->min_confidence)
        return DN_REASON (other_unsure, dn_arg_share (estimate->confidence));
    return DN_NO_REASON;
}

/* Why the nodes of candidate 'i' have no room for the request. */
static struct dn_reason lacks_room (const struct dn_deciding *d, int i)
{
    const struct dn_candidate *candidate = &d->candidates->list[i];
    int64_t each = d->options[i].cpus;
    int64_t cpus = dn_cpus_on_node (d->request, each);

    if (cpus != DN_UNSET && cpus > candidate->node_cpus)
        return DN_REASON (
            other_cpus, dn_arg_count (cpus), dn_arg_count (candidate->node_cpus));
    return dn_broken_limit (d, i, dn_all_cpus (d->request, each));
}

/* Why the run on candidate 'i' would not end within the requested limit and the
 * deadline.
 */
static struct dn_reason exceeds_time (const struct dn_deciding *d, int i)
{
    bool slower = slowdown_on (d, i) > 1;
    int64_t needed = dn_needed_time (d, i);
    int64_t limit = d->request->time_limit_s;

    if (needed == DN_UNSET)
        return slower ? DN_REASON (other_no_work) : DN_NO_REASON;
    if (slower && limit == DN_UNSET)
        return DN_REASON (other_no_limit);
    if (limit > 0 && needed > limit)
        return DN_REASON (other_over_limit, dn_arg_time (needed));
    if (!dn_keeps_deadline (d, needed))
        return DN_REASON (other_over_deadline, dn_arg_time (needed));
    return DN_NO_REASON;
}

/* The likely cost of the run on candidate 'i' is above the job's budget. */
static struct dn_reason exceeds_budget (const struct dn_deciding *d, int i)
{
    double cost =
        dn_estimate_cost (&d->estimates[i], d->spec->gpus, d->candidates->list[i].cost);

    if (d->spec->budget < 0 || cost <= d->spec->budget)
        return DN_NO_REASON;
    return DN_REASON (
        other_over_budget, dn_arg_cents (cost), dn_arg_cents (d->spec->budget));
}

/* An hour on candidate 'i' is more expensive than on the requested type; the rules
 * allow that with Upgrade=yes, and for a job that cannot run there with rescue.
 */
static struct dn_reason exceeds_cost (const struct dn_deciding *d, int i)
{
    enum dn_upgrade upgrade = d->rules->upgrade;

    if (d->candidates->list[i].cost <= d->candidates->list[d->base].cost
        || upgrade == DN_UPGRADE_YES
        || (upgrade == DN_UPGRADE_RESCUE && dn_deciding_failure (d, d->base)))
        return DN_NO_REASON;
    return DN_REASON (other_more_expensive,
                      dn_arg_text (upgrade == DN_UPGRADE_NO ? "no" : "rescue"));
}

static struct dn_reason is_too_slow (const struct dn_deciding *d, int i)
{
    double slowdown = d->estimates[i].step_s.p50 / d->estimates[d->base].step_s.p50;

    return slowdown > d->rules->max_slowdown
               ? DN_REASON (other_slow, dn_arg_share (slowdown))
               : DN_NO_REASON;
}

static struct dn_reason is_blocked (const struct dn_deciding *d, int i)
{
    return d->candidates->list[i].blocked;
}

static struct dn_reason waits_longer (const struct dn_deciding *d, int i)
{
    return dn_deciding_waits_too_long (d, i, d->base);
}

/* Why the job stays on its type whatever the others offer; none if it need not. */
static struct dn_reason keeps_gpu (const struct dn_deciding *d, int i)
{
    (void) i;
    if (d->rules->gpu_type != DN_CHOICE_CHOOSE)
        return DN_REASON (policy_keeps_gpu);
    return dn_given (d->request->keep_gpu) ? d->request->keep_gpu : d->candidates->keep;
}

/* The likely time on candidate 'i' is above the limit or the deadline. The requested
 * type fails for certain, so the bound may be.
 */
static struct dn_reason likely_exceeds_time (const struct dn_deciding *d, int i)
{
    double likely = d->estimates[i].train_s.p50;
    int64_t limit = d->request->time_limit_s;

    if (likely < 0
        || ((limit < 0 || likely <= (double) dn_time_before_signal (d->request, limit))
            && dn_keeps_deadline (d, (int64_t) likely)))
        return DN_NO_REASON;
    return DN_REASON (other_over_either, dn_arg_time ((int64_t) ceil (likely)));
}

typedef struct dn_reason (*check_f) (const struct dn_deciding *d, int i);

/* What speaks against a move, the most important first: of a job that can run on its
 * type, and of one that cannot, to a candidate that holds it.
 */
static const check_f move_checks[] = {is_blocked,
                                      dn_deciding_unfit,
                                      exceeds_cost,
                                      is_too_slow,
                                      lacks_room,
                                      exceeds_time,
                                      exceeds_budget,
                                      waits_longer,
                                      NULL};
static const check_f rescue_checks[] =
    {keeps_gpu, exceeds_cost, is_blocked, lacks_room, likely_exceeds_time, NULL};

/* The first reason against a move to candidate 'i', which is recorded; none if the job
 * may move to it.
 */
static struct dn_reason refuses (const struct dn_deciding *d,
                                 int i,
                                 const check_f *checks)
{
    struct dn_reason not = DN_REASON (gpu_not, dn_deciding_type (d, i));
    struct dn_reason why = DN_NO_REASON;

    for (; *checks && !dn_given (why); checks++)
        why = (*checks) (d, i);
    if (dn_given (why))
        dn_deciding_say (d, dn_reason_in (not, why));
    return why;
}

static void say_choice (const struct dn_deciding *d, int best)
{
    if (best == d->base)
        dn_deciding_say (d, DN_REASON (gpu_right, dn_deciding_type (d, best)));
    else
        dn_deciding_say (d,
                         DN_REASON (gpu_better,
                                    dn_deciding_type (d, best),
                                    dn_arg_share (slowdown_on (d, best)),
                                    dn_deciding_type (d, d->base),
                                    dn_arg_share (dn_deciding_price (d, best)
                                                  / dn_deciding_price (d, d->base)),
                                    dn_arg_text (saved_text[objective_of (d)])));
}

/* An objective of the job that the rules do not heed. */
static void say_objective (const struct dn_deciding *d)
{
    enum dn_objective objective = d->spec->objective;

    if (objective != DN_OBJECTIVE_UNKNOWN && objective != objective_of (d))
        dn_deciding_say (
            d, DN_REASON (gpu_objective, dn_arg_text (objective_text[objective])));
}

/* Is candidate 'i' better than 'best', another one to which the job may move? */
static bool is_better (const struct dn_deciding *d, int i, int best)
{
    return !dn_given (dn_deciding_waits_too_long (d, i, best))
           && (dn_deciding_price (d, i) < dn_deciding_price (d, best)
               || dn_given (dn_deciding_waits_too_long (d, best, i)));
}

int dn_choose_gpu (const struct dn_deciding *d)
{
    struct dn_reason why = keeps_gpu (d, d->base);
    double limit = dn_deciding_price (d, d->base) * (1 - d->rules->min_gain);
    int best = d->base;

    if (dn_given (why)) {
        dn_deciding_say (d, dn_reason_in (DN_REASON (gpu_kept), why));
        return best;
    }
    say_objective (d);
    if (dn_given (d->candidates->prices))
        dn_deciding_say (d,
                         dn_reason_in (DN_REASON (gpu_prices), d->candidates->prices));
    for (int i = 0; i < d->candidates->n_candidates; i++) {
        if (i == d->base)
            continue;
        if (dn_given (refuses (d, i, move_checks)))
            continue;
        if (dn_deciding_price (d, i) > limit)
            dn_deciding_say (d, DN_REASON (gpu_no_gain, dn_deciding_type (d, i)));
        else if (best == d->base || is_better (d, i, best))
            best = i;
    }
    say_choice (d, best);
    return best;
}

void dn_find_rescue (const struct dn_deciding *d, struct dn_other *other)
{
    static const check_f holds[] = {dn_deciding_unfit, NULL};

    *other = (struct dn_other){.index = -1};
    for (int i = 0; i < d->candidates->n_candidates; i++) {
        struct dn_other next = {.index = i};
        bool was_allowed = other->index >= 0 && !dn_given (other->why);
        bool allowed;

        if (i == d->base || dn_given (refuses (d, i, holds)))
            continue;
        next.why = refuses (d, i, rescue_checks);
        allowed = !dn_given (next.why);
        if (other->index < 0 || (allowed && !was_allowed)
            || (allowed == was_allowed
                && dn_deciding_price (d, i) < dn_deciding_price (d, other->index)))
            *other = next;
    }
}
