/* choose_time.c - the time limit that a run needs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/choices.h"

#include <math.h>

#include "base/messages.h"
#include "policy/guarded.h"

/* Limits are multiples of five minutes: 03:37:00 would look more exact than it is.
 * Those below half an hour are multiples of one minute, because five would be a large
 * part of them.
 */
#define TIME_STEP_S       300
#define SHORT_S           1800
#define SHORT_TIME_STEP_S 60

int64_t dn_time_before_signal (const struct dn_request *request, int64_t limit_s)
{
    int64_t left = limit_s - dn_signal_lead (request->job->signal_s);

    return left > 0 ? left : 0;
}

static int64_t round_up (double seconds, int64_t step)
{
    return (int64_t) ceil (seconds / (double) step) * step;
}

static int64_t round_limit (double seconds)
{
    if (seconds < SHORT_S)
        return round_up (seconds, SHORT_TIME_STEP_S);
    return round_up (seconds, TIME_STEP_S);
}

/* The limit within which a run on candidate 'i' ends with probability 'quantile';
 * DN_UNSET if unknown.
 */
static int64_t time_at (const struct dn_deciding *d, int i, double quantile)
{
    const struct dn_rules *rules = d->rules;
    double bound =
        dn_range_at (d->estimates[i].train_s, quantile) * (1 + rules->time_margin);

    if (bound < 0)
        return DN_UNSET;
    bound += (double) dn_signal_lead (d->request->job->signal_s);
    bound = dn_max (bound, (double) rules->time_min_s);
    return round_limit (dn_min (bound, 1e10));
}

int64_t dn_needed_time (const struct dn_deciding *d, int i)
{
    return time_at (d, i, d->rules->time_quantile);
}

bool dn_keeps_deadline (const struct dn_deciding *d, int64_t seconds)
{
    int64_t left = d->request->job->deadline_s;

    return (d->spec->deadline <= 0 || seconds <= d->spec->deadline)
           && (left == DN_UNSET || seconds <= left);
}

/* Why the time limit is kept regardless of the bound; '*why', none, stays so if it may
 * change.
 */
static void keeps_time (const struct dn_deciding *d, struct dn_reason *why)
{
    const struct dn_request *request = d->request;
    const struct dn_job *job = request->job;

    if (d->rules->time_limit == DN_TIME_KEEP)
        why->code = DN_REASON_policy_keeps_time;
    dn_reason_keep (why, &request->keep_time);
    if (d->rules->time_limit != DN_TIME_TIME_MIN)
        return;
    /* Slurm rejects a --time-min above the limit, and a job without a limit gets that
     * of its partition. */
    if (request->time_limit_s == DN_UNSET)
        dn_reason_keep_code (why, DN_REASON_no_limit);
    if (job->time_min_min != DN_UNSET)
        dn_reason_keep_code (why, DN_REASON_has_time_min);
    if (job->deadline_s != DN_UNSET)
        dn_reason_keep_code (why, DN_REASON_has_deadline);
}

/* May the limit become 'needed', more than was requested? If not, '*why', none, gets
 * the reason.
 */
static bool may_raise_time (const struct dn_deciding *d,
                            int64_t needed,
                            struct dn_reason *why)
{
    const struct dn_rules *rules = d->rules;
    bool unset = d->request->time_limit_s == DN_UNSET;

    if (unset && rules->fill_unset != DN_YES_YES)
        why->code = DN_REASON_no_limit;
    else if (!unset && rules->never_raise != DN_YES_NO)
        why->code = DN_REASON_never_raise;
    else if (needed > rules->time_max_s)
        why->code = DN_REASON_over_time_max;
    else if (!dn_keeps_deadline (d, needed))
        why->code = DN_REASON_over_deadline;
    else if (needed > dn_longest_limit (d, d->decision->chosen))
        why->code = DN_REASON_over_max_time;
    return !dn_given (*why);
}

/* What the requested limit amounts to where the job runs or, if that is open until its
 * start, on the slowest type.
 */
static int64_t own_limit (const struct dn_deciding *d)
{
    int64_t limit = d->request->time_limit_s;

    return limit > 0 && d->decision->factor > 1
               ? round_up ((double) limit * d->decision->factor, SHORT_TIME_STEP_S)
               : limit;
}

/* The limit for 'quantile' of the runs there. */
static int64_t bound_at (const struct dn_deciding *d, double quantile)
{
    const struct dn_decision *decision = d->decision;
    int64_t bound = time_at (d, decision->chosen, quantile);

    return bound > 0 && decision->either
               ? round_limit ((double) bound * decision->factor)
               : bound;
}

/* The limit on the chosen candidate. */
struct bound {
    int64_t limit_s; /* DN_UNSET: unknown */
    double quantile;
    bool extended;        /* by the guard, up to the requested limit */
    struct dn_reason why; /* it is not GuardedQuantile's though a net is under it */
};

static struct bound bound_of (const struct dn_deciding *d, double quantile)
{
    return (struct bound){.limit_s = bound_at (d, quantile), .quantile = quantile};
}

/* The bound where a longer run has no harm: by GuardedQuantile, if the application has
 * earned it.
 */
static struct bound netted_bound (const struct dn_deciding *d)
{
    const struct dn_rules *rules = d->rules;
    int64_t runs = dn_deciding_runs (d, d->decision->chosen);
    struct dn_reason why = DN_NO_REASON;
    struct bound bound;

    dn_lacks_evidence (DN_NEEDS_ENOUGH, runs, "it", &why);
    if (!dn_given (why)
        && !dn_guarded_earned (
            d->view->guarded, d->request->job->user_id, d->decision->app))
        why.code = DN_REASON_app_in_debt;
    bound = bound_of (d,
                      dn_given (why)
                          ? rules->time_quantile
                          : dn_min (rules->guarded_quantile, rules->time_quantile));
    bound.why = why;
    return bound;
}

static struct bound find_bound (const struct dn_deciding *d)
{
    const struct dn_rules *rules = d->rules;
    struct bound safe = bound_of (d, rules->time_quantile);
    struct bound bound;
    int64_t least;

    if (rules->time_limit == DN_TIME_TIME_MIN)
        return netted_bound (d);
    if (!dn_deciding_has_guard (d) || safe.limit_s == DN_UNSET)
        return safe;
    safe.why = (struct dn_reason){.code = dn_deciding_unguarded (d)};
    if (dn_given (safe.why))
        return safe;
    bound = netted_bound (d);
    bound.extended = true;
    least = dn_deciding_least_guarded (d) + dn_signal_lead (d->request->job->signal_s);
    if (bound.limit_s < least)
        bound.limit_s = round_limit ((double) least);
    return bound.limit_s < own_limit (d) ? bound : safe;
}

/* --- what keeps a limit from being lowered ---------------------------------------- */

/* Would the requested limit run into a reservation, where the job may start? */
static bool is_reserved (const struct dn_deciding *d)
{
    for (int i = 0; i < d->candidates->n_candidates; i++)
        if (d->candidates->list[i].reserved_from > 0
            && (i == d->decision->chosen || dn_deciding_is_open (d, i)))
            return true;
    return false;
}

/* Does the bound take time from the job? */
static bool lowers (const struct dn_deciding *d, const struct bound *bound)
{
    int64_t own = own_limit (d);

    if (bound->limit_s == DN_UNSET)
        return false;
    return own == DN_UNSET ? d->rules->fill_unset == DN_YES_YES
                           : own == DN_UNLIMITED || bound->limit_s < own;
}

/* Is the evidence less than EvidenceTime? In mode advise nothing is taken. With auto
 * words suffice where a net is under the limit. Without a snapshot the limits and
 * reservations are not known that forbid it.
 */
static void lacks_evidence (const struct dn_deciding *d,
                            const struct bound *bound,
                            struct dn_reason *why)
{
    static const enum dn_needs needs[] = {[DN_TIME_NEEDS_SOME] = DN_NEEDS_SOME,
                                          [DN_TIME_NEEDS_AUTO] = DN_NEEDS_ENOUGH,
                                          [DN_TIME_NEEDS_ENOUGH] = DN_NEEDS_ENOUGH};
    const struct dn_rules *rules = d->rules;
    bool is_auto = rules->evidence_time == DN_TIME_NEEDS_AUTO;
    bool net = rules->time_limit == DN_TIME_TIME_MIN || rules->mode == DN_MODE_ADVISE
               || (bound->extended && (d->view->cluster || d->view->replayed));

    if (rules->evidence_time != DN_TIME_NEEDS_WORDS && !(is_auto && net))
        dn_lacks_evidence (needs[rules->evidence_time],
                           dn_deciding_runs (d, d->decision->chosen),
                           is_auto ? dn_say_evidence_auto : "EvidenceTime",
                           why);
}

/* Why the limit must not be lowered to the bound; none as before if it may, or is not.
 * A low limit must get the job nothing that its own would not: no start before a
 * reservation, and none below a limit of minutes or of the time itself.
 */
static void keeps_lower (const struct dn_deciding *d,
                         const struct bound *bound,
                         struct dn_reason *why)
{
    int64_t own = d->request->time_limit_s;
    int64_t longest = dn_longest_limit (d, d->decision->chosen);

    if (!lowers (d, bound))
        return;
    if (!dn_guarded_trusts (d->view->guarded, d->request->job->user_id))
        why->code = DN_REASON_distrusted;
    else
        dn_deciding_minutes (d, d->decision->chosen, why);
    if (dn_given (*why))
        return;
    if (own > longest || (own == DN_UNLIMITED && longest < INT64_MAX))
        why->code = DN_REASON_limit_too_long;
    else if (is_reserved (d))
        why->code = DN_REASON_limit_reserved;
    else
        lacks_evidence (d, bound, why);
}

int64_t dn_lowered_limit (const struct dn_deciding *d)
{
    const struct bound bound = find_bound (d);
    int64_t limit = d->request->time_limit_s;
    int64_t needed = dn_needed_time (d, d->base);
    struct dn_reason why = DN_NO_REASON;

    keeps_time (d, &why);
    if (!dn_given (why))
        keeps_lower (d, &bound, &why);
    return dn_given (why) || needed == DN_UNSET || needed > limit
                   || d->rules->time_limit == DN_TIME_TIME_MIN
               ? limit
               : needed;
}

/* The limit, the likely time, and the reason why it is not another one, if there is
 * one: 'alone' has no place for it, and 'with' has.
 */
static void say_bound (const struct dn_deciding *d,
                       int64_t limit_s,
                       enum dn_reason_code alone,
                       enum dn_reason_code with,
                       const struct dn_reason *why)
{
    /* Rounded up to a second, as the table of 'dnnest advise' has it. */
    double likely = ceil (d->estimates[d->decision->chosen].train_s.p50);
    struct dn_reason bound = {
        alone, DN_REASON_NONE, {dn_arg_time (limit_s), dn_arg_time ((int64_t) likely)}};

    if (dn_given (*why)) {
        bound.code = with;
        bound = dn_reason_in (&bound, why);
    }
    dn_deciding_say (d, &bound);
}

static void set_time (const struct dn_deciding *d, const struct bound *bound)
{
    struct dn_decision *decision = d->decision;

    if (d->rules->time_limit == DN_TIME_TIME_MIN)
        decision->time_min_s = bound->limit_s;
    else
        decision->time_limit_s = bound->limit_s;
    decision->extended = bound->extended && bound->limit_s < own_limit (d);
    if (decision->extended)
        say_bound (d,
                   bound->limit_s,
                   DN_REASON_time_extended,
                   DN_REASON_time_extended_for,
                   &bound->why);
    else
        say_bound (d,
                   bound->limit_s,
                   DN_REASON_time_bound,
                   DN_REASON_time_bound_for,
                   &bound->why);
}

/* Is the bound no lower than what the job has, so that the limit stays? */
static bool keeps_limit (const struct dn_deciding *d,
                         const struct bound *bound,
                         struct dn_reason *why)
{
    int64_t own = own_limit (d);

    return bound->limit_s == own
           || ((own == DN_UNSET || bound->limit_s > own)
               && (d->rules->time_limit == DN_TIME_TIME_MIN
                   || !may_raise_time (d, bound->limit_s, why)));
}

void dn_choose_time (const struct dn_deciding *d)
{
    const struct dn_request *request = d->request;
    struct bound bound = find_bound (d);
    struct dn_reason why = DN_NO_REASON;

    keeps_time (d, &why);
    d->decision->time_quantile = bound.quantile;
    /* The same work takes longer there. */
    if (own_limit (d) != request->time_limit_s)
        d->decision->time_limit_s = own_limit (d);
    if (!dn_given (why) && bound.limit_s == DN_UNSET)
        why.code = dn_spec_lacks_work (d->spec);
    if (dn_given (why)) {
        dn_deciding_say_kept (d, DN_REASON_time_kept, &why);
        return;
    }
    if (request->job->time_min_min > 0
        && bound.limit_s < request->job->time_min_min * 60)
        bound.limit_s = request->job->time_min_min * 60;
    keeps_lower (d, &bound, &why);
    if (dn_given (why) || keeps_limit (d, &bound, &why))
        say_bound (d,
                   bound.limit_s,
                   DN_REASON_time_kept_bound,
                   DN_REASON_time_kept_bound_for,
                   &why);
    else
        set_time (d, &bound);
}
