/* decide.c - whether to change a job, and to what
 *
 * The order: is a decision possible; can the job run on the type that it requests, and
 * if not, on which; the GPU type; the CPUs on it; the time limit on it; what the user
 * must know. Each step either finds a value that is not above the requested one or
 * keeps the field, and gives the reason. Nothing is raised, unless NeverRaise=no: then
 * a time limit and CPUs that do not suffice are raised, within TimeMax, CpusPerGpuMax
 * and the node.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/choices.h"
#include "base/messages.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const struct dn_names dn_verdict_names = DN_NAMES_OF (VERDICTS);
const struct dn_names dn_abstain_names = DN_NAMES_OF (ABSTAIN);

/* The candidate that the job runs on as submitted: the requested type, or the slowest
 * of those that an untyped request may get; those that cannot run it count only if none
 * can. -1 when none is mapped.
 */
static int find_base (const struct dn_deciding *d)
{
    int base = -1;
    bool able = false;

    for (int i = 0; i < d->candidates->n_candidates; i++) {
        struct dn_reason why = DN_NO_REASON;
        bool can;

        dn_deciding_unable (d, i, &why);
        can = !dn_given (why);
        if (!d->candidates->list[i].requested || (able && !can))
            continue;
        if (base < 0 || (can && !able)
            || d->estimates[i].step_s.p50 > d->estimates[base].step_s.p50)
            base = i;
        able = able || can;
    }
    return base;
}

static bool abstain (const struct dn_deciding *d, enum dn_abstain why)
{
    d->decision->abstain = why;
    return false;
}

/* The requested type has no Gpu line. Slurm distinguishes capital letters. */
static void say_unmapped (const struct dn_deciding *d)
{
    const char *type = d->request->gpu_type;

    for (int i = 0; i < d->candidates->n_candidates; i++) {
        struct dn_arg other = dn_deciding_type (d, i);

        if (dn_span_is (dn_span_of (type), other.text)) {
            dn_deciding_say (d, &DN_REASON (unmapped_case, dn_arg_word (type), other));
            return;
        }
    }
    dn_deciding_say (d, &DN_REASON (unmapped, dn_arg_word (type)));
}

/* Is there a prediction for what the job requests? If not, the reason is recorded. */
static bool is_predicted (const struct dn_deciding *d)
{
    const struct dn_request *request = d->request;

    if (request->n_gpus == 0) {
        dn_deciding_say (d, &DN_REASON (no_gpu));
        return abstain (d, DN_ABSTAIN_NO_GPU);
    }
    if (d->base < 0) {
        say_unmapped (d);
        return abstain (d, DN_ABSTAIN_UNMAPPED);
    }
    if (!dn_policy_reads_network (d->spec, &d->estimates[d->base], d->decision))
        return abstain (d, DN_ABSTAIN_UNREAD_KEY);
    dn_warn_of_request (d);
    if (request->n_gpus != DN_UNSET && d->spec->gpus > request->n_gpus)
        return abstain (d, DN_ABSTAIN_GPUS);
    return true;
}

/* Reals are written as whole numbers, because the decimal point depends on the locale:
 * what a run needs rounded up, and what a device has down.
 */
static void say_failure (const struct dn_deciding *d, enum dn_failure failure)
{
    const struct dn_estimate *estimate = &d->estimates[d->base];
    struct dn_arg type = dn_deciding_type (d, d->base);

    if (failure == DN_FAILURE_PRECISION)
        dn_deciding_say_of (d, DN_REASON_gpu_precision, d->base);
    else
        dn_deciding_say (
            d,
            &DN_REASON (
                gpu_memory,
                dn_arg_count ((int64_t) ceil (estimate->gpu_mem.p50 / DN_GIB)),
                type,
                dn_arg_count ((int64_t) floor (estimate->device->memory / DN_GIB))));
}

/* The job runs on candidate 'i' in place of the requested one. */
static void move_to (const struct dn_deciding *d, int i)
{
    struct dn_decision *decision = d->decision;

    decision->chosen = i;
    if (i == d->base)
        return;
    decision->gpu = d->candidates->list[i].gpu;
    decision->from = d->candidates->list[d->base].gpu;
    decision->feature = d->candidates->list[i].feature;
    decision->from_feature = d->candidates->list[d->base].feature;
    decision->cost = d->candidates->list[i].cost;
    decision->from_cost = d->candidates->list[d->base].cost;
    decision->starts_now = d->options[i].starts_now && !d->options[d->base].starts_now;
}

/* The job may start on other types that it does not name, and on which it cannot run.
 */
static void say_unable (const struct dn_deciding *d)
{
    struct dn_deciding there = *d;
    const struct dn_other base = {d->base, d->candidates->keep};

    for (int i = 0; i < d->candidates->n_candidates; i++) {
        struct dn_reason why = DN_NO_REASON;

        dn_deciding_unable (d, i, &why);
        if (i == d->base || !d->candidates->list[i].requested || !dn_given (why))
            continue;
        dn_deciding_say_not (d, i, &why);
        there.base = i;
        if (there.decision->n_warnings == 0 && dn_deciding_failure (d, i))
            dn_warn_of_failure (&there, dn_deciding_failure (d, i), &base);
    }
}

/* Can the job run on the type that it requests, or on another one, to which it is moved
 * then?
 */
static bool can_run (const struct dn_deciding *d)
{
    enum dn_failure failure = dn_deciding_failure (d, d->base);
    struct dn_other other;

    if (d->estimates[d->base].device->slice && d->request->n_gpus != 1) {
        dn_deciding_say_of (d, DN_REASON_gpu_slices, d->base);
        return abstain (d, DN_ABSTAIN_GPUS);
    }
    if (failure == DN_FAILURE_NONE) {
        say_unable (d);
        return true;
    }
    say_failure (d, failure);
    dn_find_rescue (d, &other);
    dn_warn_of_failure (d, failure, &other);
    if (other.index < 0 || dn_given (other.why))
        return abstain (d,
                        failure == DN_FAILURE_PRECISION ? DN_ABSTAIN_UNSUPPORTED
                                                        : DN_ABSTAIN_MEMORY);
    move_to (d, other.index);
    d->decision->rescued = true;
    dn_deciding_say_of (d, DN_REASON_gpu_rescued, other.index);
    return true;
}

static bool is_sure (const struct dn_deciding *d)
{
    double confidence = d->estimates[d->decision->chosen].confidence;

    if (dn_deciding_is_sure (d, d->decision->chosen))
        return true;
    dn_deciding_say (d,
                     &DN_REASON (unsure,
                                 dn_arg_share (confidence),
                                 dn_arg_share (d->rules->min_confidence)));
    return abstain (d, DN_ABSTAIN_CONFIDENCE);
}

/* Does the job with fewer GPUs than its user's keep the limits that it has kept? */
static bool may_have_fewer (const struct dn_deciding *d)
{
    struct dn_reason why = DN_NO_REASON;

    if (d->request->asked_gpus != DN_UNSET)
        dn_broken_limit (d, d->decision->chosen, DN_UNSET, &why);
    if (!dn_given (why))
        return true;
    dn_deciding_say_kept (d, DN_REASON_gpu_kept, &why);
    return abstain (d, DN_ABSTAIN_GPUS);
}

void dn_policy_begin (struct dn_decision *decision)
{
    memset (decision, 0, offsetof (struct dn_decision, reasons));
    decision->time_limit_s = decision->time_min_s = DN_UNSET;
    decision->cpus_per_task = decision->cpus_each_gpu = DN_UNSET;
    decision->gpus = decision->mem_mb = DN_UNSET;
    decision->cost = decision->from_cost = DN_UNSET;
    decision->base = decision->chosen = -1;
    decision->factor = 1;
    decision->wait_s = decision->own_wait_s = DN_UNSET;
}

void dn_policy_abstain (struct dn_decision *decision,
                        enum dn_abstain why,
                        const struct dn_reason *reason)
{
    decision->verdict = DN_VERDICT_ABSTAIN;
    decision->abstain = why;
    decision->abstained = decision->n_reasons;
    dn_decision_say (decision, reason);
}

static bool changes_any (const struct dn_decision *decision)
{
    return decision->gpu || decision->n_open > 0 || decision->cpus_per_task != DN_UNSET
           || decision->cpus_each_gpu != DN_UNSET || decision->gpus != DN_UNSET
           || decision->mem_mb != DN_UNSET || decision->time_limit_s != DN_UNSET
           || decision->time_min_s != DN_UNSET;
}

/* What the runs of the application say of the chosen type. */
static void say_history (const struct dn_deciding *d)
{
    int chosen = d->decision->chosen;
    const struct dn_estimate *estimate = &d->estimates[chosen];
    struct dn_reason reason = DN_REASON (
        history_says,
        dn_arg_count (estimate->history_runs),
        dn_arg_text (estimate->history_runs == 1 ? "" : "s"),
        dn_deciding_type (d, chosen),
        dn_arg_text (estimate->history_shared ? dn_say_history_account : ""));

    if (estimate->history_from)
        dn_deciding_say (
            d, &DN_REASON (history_translated, dn_arg_text (estimate->history_from)));
    if (estimate->history_runs == 0)
        return;
    if (estimate->base_s > 0) {
        reason.code = DN_REASON_history_corrects;
        reason.args[4] = dn_arg_time ((int64_t) estimate->base_s);
    }
    dn_deciding_say (d, &reason);
}

/* The request is about fewer GPUs than the user's (dn_policy_lower_gpus ()). */
static void lower_gpus (const struct dn_deciding *d)
{
    const struct dn_request *request = d->request;

    if (request->asked_gpus == DN_UNSET)
        return;
    d->decision->gpus = request->n_gpus;
    dn_deciding_say (d,
                     &DN_REASON (gpus_fewer,
                                 dn_arg_count (request->n_gpus),
                                 dn_arg_count (request->asked_gpus)));
}

/* When the job is expected to start, by the snapshot. */
static void forecast (const struct dn_deciding *d)
{
    struct dn_decision *decision = d->decision;

    decision->own_wait_s = d->options[d->base].wait_s;
    decision->wait_s = d->options[decision->chosen].wait_s;
    for (int i = 0; i < d->candidates->n_candidates; i++)
        if (dn_deciding_is_open (d, i) && d->options[i].wait_s != DN_UNSET
            && decision->wait_s > d->options[i].wait_s)
            decision->wait_s = d->options[i].wait_s;
}

static void choose (const struct dn_deciding *d)
{
    if (!d->decision->rescued)
        move_to (d, dn_choose_gpu (d));
    say_history (d);
    lower_gpus (d);
    dn_choose_cpus (d);
    dn_choose_memory (d);
    dn_choose_time (d);
    forecast (d);
}

void dn_policy_decide (const struct dn_rules *rules,
                       const struct dn_request *request,
                       const struct dn_spec *spec,
                       const struct dn_candidates *candidates,
                       const struct dn_estimate *estimates,
                       const struct dn_view *view,
                       struct dn_decision *decision)
{
    struct dn_option options[DN_CANDIDATES_MAX];
    struct dn_standing standings[DN_PARTITIONS_MAX];
    struct dn_deciding d = {.rules = rules,
                            .request = request,
                            .spec = spec,
                            .candidates = candidates,
                            .estimates = estimates,
                            .view = view,
                            .decision = decision,
                            .base = -1,
                            .options = options,
                            .standings = standings};

    d.base = find_base (&d);
    decision->base = decision->chosen = d.base;
    if (!is_predicted (&d)) {
        decision->verdict = DN_VERDICT_ABSTAIN;
        return;
    }
    dn_deciding_look_at_limits (&d);
    dn_deciding_look_at_cpus (&d);
    dn_deciding_look_at_waits (&d);
    dn_warn_of_nodes (&d);
    if (can_run (&d) && is_sure (&d) && may_have_fewer (&d)) {
        choose (&d);
        decision->verdict =
            changes_any (decision) ? DN_VERDICT_CHANGE : DN_VERDICT_KEEP;
        dn_warn_of_time (&d);
    } else {
        decision->verdict = DN_VERDICT_ABSTAIN;
    }
    dn_warn_of_need (&d);
}
