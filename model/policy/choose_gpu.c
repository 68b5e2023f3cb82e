/* choose_gpu.c - the GPU types to run on
 *
 * A job that can run on the type that it requests is left open to others: its request
 * becomes the same without the type, with the feature or in the partition of that type.
 * Nothing has changed for it, but the type can be decided when one can start it
 * (dnnestd steer). One that cannot run there moves to a type on which it can (a
 * rescue), but to none of higher Cost, unless the rule Upgrade allows it.
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

bool dn_deciding_is_sure (const struct dn_deciding *d, int i)
{
    const struct dn_estimate *estimate = &d->estimates[i];
    bool known = !estimate->by_history || dn_spec_key_of (d->spec->by_run, 0) != NULL;

    return estimate->confidence >= d->rules->min_confidence
           || (known && estimate->history_runs > 0);
}

static void lacks_memory (const struct dn_deciding *d, int i, struct dn_reason *why)
{
    const struct dn_estimate *estimate = &d->estimates[i];
    double memory = dn_policy_memory (d->rules, estimate);

    *why =
        DN_REASON (other_memory,
                   dn_arg_count ((int64_t) ceil (memory / DN_GIB)),
                   dn_arg_count ((int64_t) floor (estimate->device->memory / DN_GIB)));
}

void dn_deciding_unable (const struct dn_deciding *d, int i, struct dn_reason *why)
{
    const struct dn_estimate *estimate = &d->estimates[i];
    const struct dn_script *script = &d->request->script;
    enum dn_software without = dn_device_without (estimate->device, script);

    if (!estimate->supported)
        why->code = DN_REASON_other_precision;
    else if (without < DN_N_SOFTWARE)
        *why = dn_script_reason (&script->versions[without].at);
    else if (!dn_device_has_kernels (estimate->device, d->spec))
        why->code = DN_REASON_other_kernels;
    else if (estimate->no_kernels)
        why->code = DN_REASON_other_arch;
    else if (dn_deciding_lacks (d, i))
        *why = d->request->need_why;
    else if (estimate->device->slice && d->request->n_gpus != 1)
        why->code = DN_REASON_other_slice;
    else if (!estimate->fits)
        lacks_memory (d, i, why);
}

void dn_deciding_unfit (const struct dn_deciding *d, int i, struct dn_reason *why)
{
    const struct dn_estimate *estimate = &d->estimates[i];
    const struct dn_device *device = estimate->device;

    dn_deciding_unable (d, i, why);
    if (dn_given (*why))
        return;
    if (d->spec->precision == DN_PRECISION_UNKNOWN && device->bf16 <= 0
        && d->estimates[d->base].device->bf16 > 0)
        why->code = DN_REASON_other_no_bf16;
    else if (dn_policy_memory (d->rules, estimate) > device->memory)
        lacks_memory (d, i, why);
    else if (!dn_deciding_is_sure (d, i))
        *why = DN_REASON (other_unsure, dn_arg_share (estimate->confidence));
}

/* Why the nodes of candidate 'i' have no room for the request. */
static void lacks_room (const struct dn_deciding *d, int i, struct dn_reason *why)
{
    const struct dn_candidate *candidate = &d->candidates->list[i];
    int64_t each = d->options[i].cpus;
    int64_t cpus = dn_cpus_on_node (d->request, each);

    if (cpus != DN_UNSET && cpus > candidate->node_cpus)
        *why = DN_REASON (
            other_cpus, dn_arg_count (cpus), dn_arg_count (candidate->node_cpus));
    else
        dn_broken_limit (d, i, dn_all_cpus (d->request, each), why);
}

/* The requested limit means work: on candidate 'i' it is that much longer, and that
 * must be allowed. Without a snapshot nothing is known to be allowed but the requested
 * limit: one that is lowered anyway may be longer there. The run must also meet the
 * deadline.
 */
static void exceeds_limit (const struct dn_deciding *d, int i, struct dn_reason *why)
{
    double factor = dn_open_factor (slowdown_on (d, i));
    int64_t limit = d->request->time_limit_s;
    int64_t needed = dn_needed_time (d, i);
    int64_t longest = d->view->cluster ? dn_longest_limit (d, i) : limit;
    int64_t least = d->view->cluster ? limit : dn_lowered_limit (d);
    double there = (double) least * factor;

    if (factor > 1 && limit == DN_UNSET && !d->view->cluster)
        why->code = DN_REASON_other_no_limit;
    else if (factor > 1)
        dn_deciding_minutes (d, i, why);
    if (dn_given (*why))
        return;
    /* Slurm may lower the limit to that, which means less work there. */
    if (factor > 1 && d->request->job->time_min_min != DN_UNSET)
        why->code = DN_REASON_has_time_min;
    else if (least > 0 && there > (double) longest)
        *why = DN_REASON (other_over_limit, dn_arg_time ((int64_t) there));
    else if (needed == DN_UNSET ? factor > 1 && !dn_keeps_deadline (d, INT64_MAX)
                                : !dn_keeps_deadline (d, needed))
        why->code = DN_REASON_other_over_deadline;
}

/* The likely cost of the run on candidate 'i' is above the job's budget. */
static void exceeds_budget (const struct dn_deciding *d, int i, struct dn_reason *why)
{
    double cost =
        dn_estimate_cost (&d->estimates[i], d->spec->gpus, d->candidates->list[i].cost);

    if (d->spec->budget >= 0 && cost > d->spec->budget)
        *why = DN_REASON (
            other_over_budget, dn_arg_cents (cost), dn_arg_cents (d->spec->budget));
}

/* An hour on candidate 'i' is more expensive than on the requested type; the rules
 * allow that with Upgrade=yes, and for a job that cannot run there with rescue.
 */
static bool is_too_expensive (const struct dn_deciding *d, int i)
{
    enum dn_upgrade upgrade = d->rules->upgrade;

    return d->candidates->list[i].cost > d->candidates->list[d->base].cost
           && upgrade != DN_UPGRADE_YES
           && (upgrade != DN_UPGRADE_RESCUE || !dn_deciding_failure (d, d->base));
}

static void exceeds_cost (const struct dn_deciding *d, int i, struct dn_reason *why)
{
    if (is_too_expensive (d, i))
        *why = DN_REASON (
            other_more_expensive,
            dn_arg_text (d->rules->upgrade == DN_UPGRADE_NO ? "no" : "rescue"));
}

static void is_too_slow (const struct dn_deciding *d, int i, struct dn_reason *why)
{
    double slowdown = d->estimates[i].step_s.p50 / d->estimates[d->base].step_s.p50;

    if (slowdown > d->rules->max_slowdown)
        *why = DN_REASON (other_slow, dn_arg_share (slowdown));
}

static void is_blocked (const struct dn_deciding *d, int i, struct dn_reason *why)
{
    *why = d->candidates->list[i].blocked;
}

/* Cost forbids an open type only if the admin says so. */
static void is_forbidden (const struct dn_deciding *d, int i, struct dn_reason *why)
{
    const struct dn_rules *rules = d->rules;

    if (d->candidates->list[i].cost <= d->candidates->list[d->base].cost)
        return;
    if (rules->upgrade == DN_UPGRADE_NO)
        *why = DN_REASON (other_more_expensive, dn_arg_text ("no"));
    else if (rules->steer == DN_STEER_CHEAPER)
        why->code = DN_REASON_other_steer;
}

/* Can the job ask for candidate 'i' without naming its type? */
static void lacks_name (const struct dn_deciding *d, int i, struct dn_reason *why)
{
    if (!d->candidates->list[i].feature
        && !dn_gpu_by_partition (d->candidates->list[d->base].gpu, d->request->job))
        why->code = DN_REASON_other_no_feature;
}

/* Why the job stays on its type whatever the others offer; none if it need not. */
static void keeps_gpu (const struct dn_deciding *d, int i, struct dn_reason *why)
{
    (void) i;
    if (d->rules->gpu_type <= DN_TYPE_KEEP)
        why->code = DN_REASON_policy_keeps_gpu;
    dn_reason_keep (why, &d->request->keep_gpu);
    dn_reason_keep (why, &d->candidates->keep);
}

/* Why the job cannot ask for its type in another way, or must not. */
static void keeps_closed (const struct dn_deciding *d, int base, struct dn_reason *why)
{
    const struct dn_request *request = d->request;
    struct dn_features features;

    keeps_gpu (d, base, why);
    /* dnnestd finds open jobs by their records. */
    if (d->view->cluster && d->rules->record == DN_RECORD_NONE)
        dn_reason_keep_code (why, DN_REASON_record_none);
    if (d->rules->steer == DN_STEER_NO)
        dn_reason_keep_code (why, DN_REASON_policy_keeps_gpu);
    if (!dn_given (*why))
        dn_deciding_typed_limit (d, base, why);
    /* srun of the script would wait for the constraint of the submission. */
    if (dn_job_getenv (request->job, "SLURM_CONSTRAINT"))
        dn_reason_keep_code (why, DN_REASON_req_env_constraint);
    if (dn_given (*why))
        return;
    lacks_name (d, base, why);
    /* Alternatives are of plain features, without others. */
    dn_features_read (request->job->features, &features);
    if (!d->view->cluster
        && (!d->candidates->list[base].feature || features.n_names > 1
            || (features.n_names == 1
                && !dn_is_feature (d->candidates->list[base].feature,
                                   features.names[0]))))
        dn_reason_keep_code (why, DN_REASON_open_blind);
}

/* The likely time on candidate 'i' is above the limit or the deadline. The requested
 * type fails for certain, so the bound may be.
 */
static void likely_exceeds_time (const struct dn_deciding *d,
                                 int i,
                                 struct dn_reason *why)
{
    double likely = d->estimates[i].train_s.p50;
    int64_t limit = d->request->time_limit_s;

    if (likely >= 0
        && ((limit >= 0 && likely > (double) dn_time_before_signal (d->request, limit))
            || !dn_keeps_deadline (d, (int64_t) likely)))
        *why = DN_REASON (other_over_either, dn_arg_time ((int64_t) ceil (likely)));
}

/* Sets '*why', which is none, if it speaks against candidate 'i'. */
typedef void (*check_f) (const struct dn_deciding *d, int i, struct dn_reason *why);

/* What speaks against a candidate, the most important first: for a job that can run on
 * its type, and for one that cannot, of a candidate that holds it.
 */
static const check_f open_checks[] = {is_blocked,
                                      dn_deciding_unfit,
                                      is_forbidden,
                                      is_too_slow,
                                      lacks_room,
                                      exceeds_limit,
                                      exceeds_budget,
                                      dn_deciding_typed_limit,
                                      lacks_name,
                                      NULL};
static const check_f rescue_checks[] =
    {keeps_gpu, exceeds_cost, is_blocked, lacks_room, likely_exceeds_time, NULL};

/* Does anything speak against a move to candidate 'i'? '*why', which is none, becomes
 * the first reason, which is recorded.
 */
static bool refuses (const struct dn_deciding *d,
                     int i,
                     const check_f *checks,
                     struct dn_reason *why)
{
    for (; *checks && !dn_given (*why); checks++)
        (*checks) (d, i, why);
    if (!dn_given (*why))
        return false;
    dn_deciding_say_not (d, i, why);
    return true;
}

static void say_choice (const struct dn_deciding *d, int best)
{
    if (best == d->base)
        dn_deciding_say_of (d, DN_REASON_gpu_right, best);
    else
        dn_deciding_say (d,
                         &DN_REASON (gpu_better,
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
            d, &DN_REASON (gpu_objective, dn_arg_text (objective_text[objective])));
}

/* Add candidate 'i', by its time; the slowest has no place beyond DN_OPEN_MAX. */
static void open_to (const struct dn_deciding *d, int i)
{
    struct dn_decision *decision = d->decision;
    const struct dn_candidate *candidate = &d->candidates->list[i];
    double slow = slowdown_on (d, i);
    int n = decision->n_open;
    int at = n > 0 ? 1 : 0;

    while (at < n && decision->open[at].slow <= slow)
        at++;
    if (at == DN_OPEN_MAX)
        return;
    if (n < DN_OPEN_MAX)
        decision->n_open = ++n;
    for (int k = n - 1; k > at; k--)
        decision->open[k] = decision->open[k - 1];
    decision->open[at] = (struct dn_open){candidate->gpu, candidate->feature, slow};
}

/* Fill the open types: the requested one and others, or none. */
static void open_types (const struct dn_deciding *d)
{
    struct dn_decision *decision = d->decision;

    open_to (d, d->base);
    for (int i = 0; i < d->candidates->n_candidates; i++) {
        struct dn_reason why = DN_NO_REASON;

        if (i == d->base || refuses (d, i, open_checks, &why))
            continue;
        open_to (d, i);
        dn_deciding_say (d,
                         &DN_REASON (gpu_open,
                                     dn_deciding_type (d, i),
                                     dn_arg_share (slowdown_on (d, i)),
                                     dn_deciding_type (d, d->base)));
    }
    if (decision->n_open == 1)
        decision->n_open = 0;
    decision->either = decision->n_open > 0 && !d->view->cluster;
    if (decision->either)
        decision->factor = dn_open_factor (decision->open[decision->n_open - 1].slow);
}

/* A smaller gain, as a share of the objective, is within the error of a ratio. */
#define MIN_GAIN 0.1

/* The open type that can start the job now and is the best by the objective. */
static int find_idle (const struct dn_deciding *d)
{
    double limit = dn_deciding_price (d, d->base) * (1 - MIN_GAIN);
    int best = d->base;

    for (int i = 0; i < d->candidates->n_candidates; i++) {
        if (!dn_deciding_is_open (d, i))
            continue;
        if (!d->options[i].starts_now)
            dn_deciding_say_not (d, i, &DN_REASON (other_busy));
        else if (slowdown_on (d, i) > 1 && d->request->time_limit_s == DN_UNSET)
            dn_deciding_say_not (d, i, &DN_REASON (other_no_limit));
        else if (dn_deciding_price (d, i) > limit)
            dn_deciding_say_of (d, DN_REASON_gpu_no_gain, i);
        else if (!is_too_expensive (d, i)
                 && (best == d->base
                     || dn_deciding_price (d, i) < dn_deciding_price (d, best)))
            best = i;
    }
    return best;
}

int dn_choose_gpu (const struct dn_deciding *d)
{
    struct dn_reason why = DN_NO_REASON;
    int best = d->base;

    keeps_closed (d, d->base, &why);
    if (dn_given (why)) {
        dn_deciding_say_kept (d, DN_REASON_gpu_kept, &why);
        return best;
    }
    say_objective (d);
    if (dn_given (d->candidates->prices))
        dn_deciding_say_kept (d, DN_REASON_gpu_prices, &d->candidates->prices);
    open_types (d);
    if (d->rules->gpu_type == DN_TYPE_CHOOSE && d->view->cluster)
        best = find_idle (d);
    if (best != d->base) {
        d->decision->factor = dn_open_factor (slowdown_on (d, best));
        dn_deciding_note_move (d, best);
    }
    if (d->decision->n_open == 0 || best != d->base)
        say_choice (d, best);
    return best;
}

void dn_find_rescue (const struct dn_deciding *d, struct dn_other *other)
{
    static const check_f holds[] = {dn_deciding_unfit, NULL};

    *other = (struct dn_other){.index = -1};
    for (int i = 0; i < d->candidates->n_candidates; i++) {
        struct dn_other next = {.index = i, .why = DN_NO_REASON};
        bool was_allowed = other->index >= 0 && !dn_given (other->why);
        bool allowed;

        if (i == d->base || refuses (d, i, holds, &next.why))
            continue;
        allowed = !refuses (d, i, rescue_checks, &next.why);
        if (other->index < 0 || (allowed && !was_allowed)
            || (allowed == was_allowed
                && dn_deciding_price (d, i) < dn_deciding_price (d, other->index)))
            *other = next;
    }
}
