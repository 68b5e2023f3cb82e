/* warn.c - what the user must know about the job as it was written
 *
 * Wrong warnings are ignored, and later the right ones too: so a job that may not fit
 * is no reason for one, only a job whose likely memory or time is above what it has.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/choices.h"
#include "base/messages.h"
#include "predict/learned.h"

#include <math.h>

/* With this share of a step for its samples, loaders may set the pace. */
#define INPUT_SHARE 0.9

/* Without Gpus=choose only the user can correct the number of GPUs. */
void dn_warn_of_request (const struct dn_deciding *d)
{
    const struct dn_request *request = d->request;
    bool fewer = d->spec->gpus < request->n_gpus;
    struct dn_warning *warning;

    if (request->n_gpus != DN_UNSET && d->spec->gpus != DN_UNSET
        && d->spec->gpus != request->n_gpus
        && !(fewer && d->rules->gpus == DN_GPUS_KEEP)) {
        struct dn_reason differ = DN_REASON (
            warn_gpus, dn_arg_count (d->spec->gpus), dn_arg_count (request->n_gpus));

        warning = dn_decision_warn (d->decision, DN_WARNING_METADATA, &differ);
        if (fewer)
            dn_warning_add (warning,
                            &DN_REASON (warn_fewer, dn_arg_count (d->spec->gpus)));
        dn_deciding_say (d, &differ);
    }
    if (request->used_gpus != DN_UNSET && d->rules->gpus != DN_GPUS_KEEP
        && (d->spec->gpus == DN_UNSET || d->spec->gpus >= request->n_gpus))
        dn_decision_warn (d->decision,
                          DN_WARNING_IDLE,
                          &DN_REASON (warn_idle,
                                      dn_arg_count (DN_LEARNED_RUNS_MIN),
                                      dn_arg_count (request->used_gpus),
                                      dn_arg_count (request->n_gpus)));
    if (dn_given (request->open_why))
        dn_decision_warn (d->decision, DN_WARNING_OPEN, &request->open_why);
}

/* A type on which the run likely does not fail; -1: none. */
static int runs_on (const struct dn_deciding *d)
{
    for (int i = 0; i < d->candidates->n_candidates; i++)
        if (dn_deciding_failure (d, i) == DN_FAILURE_NONE)
            return i;
    return -1;
}

/* "; moved to a100", "; a100 can run it (not moved: nodes were named)" */
static struct dn_reason name_other (const struct dn_deciding *d,
                                    const struct dn_other *other)
{
    int doubtful = runs_on (d);
    struct dn_arg type;

    if (other->index < 0 && doubtful >= 0)
        return DN_REASON (warn_doubtful, dn_deciding_type (d, doubtful));
    if (other->index < 0)
        return DN_REASON (warn_no_other);
    type = dn_deciding_type (d, other->index);
    if (dn_given (other->why))
        return dn_reason_in (&DN_REASON (warn_not_moved, type), &other->why);
    return d->rules->mode == DN_MODE_ENFORCE ? DN_REASON (warn_moved, type)
                                             : DN_REASON (warn_certain, type);
}

void dn_warn_of_failure (const struct dn_deciding *d,
                         enum dn_failure failure,
                         const struct dn_other *other)
{
    const struct dn_estimate *estimate = &d->estimates[d->base];
    struct dn_arg type = dn_deciding_type (d, d->base);
    struct dn_reason fails =
        DN_REASON (warn_memory,
                   dn_arg_count ((int64_t) ceil (estimate->gpu_mem.p50 / DN_GIB)),
                   type,
                   dn_arg_count ((int64_t) floor (estimate->device->memory / DN_GIB)));
    const struct dn_reason moves = name_other (d, other);
    enum dn_warning_kind kind = DN_WARNING_MEMORY;

    if (failure == DN_FAILURE_PRECISION) {
        kind = DN_WARNING_PRECISION;
        fails = DN_REASON (
            warn_precision, type, dn_arg_text (dn_precision_text[d->spec->precision]));
    }
    dn_warning_add (dn_decision_warn (d->decision, kind, &fails), &moves);
}

/* The candidate on which the job will run: the chosen one, unless the job stays as it
 * is; that on which it cannot run does not count.
 */
static int running_on (const struct dn_deciding *d)
{
    const struct dn_decision *decision = d->decision;

    return d->rules->mode == DN_MODE_ENFORCE || decision->rescued ? decision->chosen
                                                                  : d->base;
}

void dn_warn_of_need (const struct dn_deciding *d)
{
    int i = running_on (d);
    struct dn_arg having = {.kind = DN_ARG_NONE};

    if (!dn_deciding_lacks (d, i)
        || dn_decision_warning (d->decision, DN_WARNING_PRECISION))
        return;
    for (int k = 0; k < d->candidates->n_candidates && having.kind == DN_ARG_NONE; k++)
        if (!dn_deciding_lacks (d, k))
            having = dn_deciding_type (d, k);
    /* The word of the script is the first part. */
    dn_warning_add (
        dn_decision_warn (d->decision, DN_WARNING_PRECISION, &d->request->need_why),
        &DN_REASON (warn_unit,
                    dn_deciding_type (d, i),
                    having.kind == DN_ARG_NONE ? dn_arg_text (dn_say_warn_no_other_unit)
                                               : having));
}

/* May the job move to candidate 'i', and does that hold it? */
static bool can_move (const struct dn_deciding *d, int i)
{
    struct dn_reason why = d->candidates->list[i].blocked;

    if (!dn_given (why))
        dn_deciding_unfit (d, i, &why);
    return !dn_given (why);
}

/* The job will wait until its nodes are back; nodes of other types are there. */
void dn_warn_of_nodes (const struct dn_deciding *d)
{
    const struct dn_candidate *base = &d->candidates->list[d->base];
    struct dn_arg type = dn_deciding_type (d, d->base);
    struct dn_reason why;

    if (!base->unavailable)
        return;
    for (int i = 0; i < d->candidates->n_candidates; i++) {
        if (i == d->base || !can_move (d, i))
            continue;
        why = base->gpu->no_moves
                  ? DN_REASON (warn_nodes, type)
                  : dn_reason_in (&DN_REASON (warn_nodes_for, type), &base->blocked);
        dn_warning_add (
            dn_decision_warn (d->decision, DN_WARNING_NODES, &why),
            &DN_REASON (warn_has,
                        dn_deciding_type (d, i),
                        dn_arg_text (d->options[i].starts_now ? dn_say_warn_has_idle
                                                              : dn_say_warn_has_some)));
        return;
    }
}

/* The limit that the job will have; DN_UNSET or DN_UNLIMITED. */
static int64_t limit_of (const struct dn_deciding *d)
{
    const struct dn_decision *decision = d->decision;

    return d->rules->mode == DN_MODE_ENFORCE && decision->time_limit_s != DN_UNSET
               ? decision->time_limit_s
               : d->request->time_limit_s;
}

static void warn_of_limit (const struct dn_deciding *d, int i)
{
    double likely = d->estimates[i].train_s.p50;
    int64_t limit = limit_of (d);
    int64_t left = dn_time_before_signal (d->request, limit);

    if (limit < 0 || likely <= (double) left)
        return;
    dn_decision_warn (d->decision,
                      DN_WARNING_LIMIT,
                      likely > (double) limit ? &DN_REASON (
                          warn_limit, dn_arg_time (limit), dn_arg_duration (likely))
                                              : &DN_REASON (warn_signal,
                                                            dn_arg_time (limit),
                                                            dn_arg_time (left),
                                                            dn_arg_duration (likely)));
}

/* The cheapest other type that holds the job, can be had, and likely meets the
 * deadline; -1: none.
 */
static int meeting_deadline (const struct dn_deciding *d, int i)
{
    int best = -1;

    for (int k = 0; k < d->candidates->n_candidates; k++) {
        double likely = d->estimates[k].train_s.p50;

        if (k != i && likely >= 0 && can_move (d, k)
            && dn_keeps_deadline (d, (int64_t) likely)
            && (best < 0 || dn_deciding_price (d, k) < dn_deciding_price (d, best)))
            best = k;
    }
    return best;
}

static void warn_of_deadline (const struct dn_deciding *d, int i)
{
    const struct dn_spec *spec = d->spec;
    double likely = d->estimates[i].train_s.p50;
    bool own = spec->deadline > 0 && likely > (double) spec->deadline;
    int64_t deadline_s = own ? spec->deadline : d->request->job->deadline_s;
    struct dn_warning *warning;
    int best;

    if (dn_keeps_deadline (d, (int64_t) likely))
        return;
    warning = dn_decision_warn (
        d->decision,
        DN_WARNING_DEADLINE,
        &(struct dn_reason){own ? DN_REASON_warn_deadline_own : DN_REASON_warn_deadline,
                            DN_REASON_NONE,
                            {dn_deciding_type (d, i),
                             dn_arg_time (deadline_s),
                             dn_arg_duration (likely)}});
    best = meeting_deadline (d, i);
    if (best >= 0)
        dn_warning_add (warning,
                        &DN_REASON (warn_would_meet,
                                    dn_deciding_type (d, best),
                                    dn_arg_duration (d->estimates[best].train_s.p50)));
}

/* Is so much of the run's time or memory that of its optimizer? */
#define OPTIMIZER_SHARE 0.1

static bool optimizer_matters (const struct dn_estimate *e)
{
    return e->memory[DN_MEMORY_OPTIMIZER] > OPTIMIZER_SHARE * e->gpu_mem.p50
           || e->stage_s[DN_STAGE_OPTIMIZER] > OPTIMIZER_SHARE * e->step_s.p50;
}

/* A key without a value, if it is open. */
static void add_open (bool open, const char *key, struct dn_buf *buf)
{
    if (open)
        dn_buf_add (buf, "%s%s", buf->len > 0 ? ", " : "", key);
}

/* "precision=fp32 (if it trains with AMP, say precision=bf16), seq_len=1024" */
static void write_assumed (const struct dn_spec *spec,
                           const struct dn_estimate *e,
                           bool input,
                           struct dn_buf *buf)
{
    if (spec->precision == DN_PRECISION_UNKNOWN)
        dn_buf_add (buf, dn_say_assumed_amp, e->device->bf16 > 0 ? "bf16" : "fp16");
    if (e->tokens > 0)
        dn_buf_add (buf, "%sseq_len=%d", buf->len > 0 ? ", " : "", e->tokens);
    add_open (spec->optimizer == DN_OPTIMIZER_UNKNOWN && optimizer_matters (e),
              "optimizer=",
              buf);
    add_open (e->attention_open, "attention=", buf);
    add_open (input && spec->decode == DN_DECODE_UNKNOWN, "dataset=", buf);
    add_open (input && spec->workers == DN_UNSET && spec->input != DN_INPUT_GPU,
              "workers=",
              buf);
}

void dn_policy_say_assumed (const struct dn_spec *spec,
                            const struct dn_estimate *e,
                            struct dn_decision *decision)
{
    struct dn_buf plain = dn_buf_on (decision->assumed, sizeof (decision->assumed));
    struct dn_buf all =
        dn_buf_on (decision->assumed_input, sizeof (decision->assumed_input));
    bool input =
        e->cpus_per_gpu >= 0
        && (decision->cpus_per_task != DN_UNSET || decision->cpus_each_gpu != DN_UNSET
            || e->stage_s[DN_STAGE_INPUT] > INPUT_SHARE * e->step_s.p50);

    if (e->by_history)
        return;
    write_assumed (spec, e, false, &plain);
    write_assumed (spec, e, input, &all);
    if (plain.len > 0)
        dn_warning_add (dn_decision_warning (decision, DN_WARNING_MEMORY),
                        &DN_REASON (warn_assumed, dn_arg_text (decision->assumed)));
    if (all.len == 0)
        return;
    for (int kind = DN_WARNING_LIMIT; kind <= DN_WARNING_DEADLINE; kind++)
        dn_warning_add (
            dn_decision_warning (decision, (enum dn_warning_kind) kind),
            &DN_REASON (warn_assumed, dn_arg_text (decision->assumed_input)));
}

void dn_warn_of_time (const struct dn_deciding *d)
{
    int i = running_on (d);

    if (d->estimates[i].train_s.p50 < 0 || d->request->time_unknown)
        return;
    warn_of_limit (d, i);
    warn_of_deadline (d, i);
}
