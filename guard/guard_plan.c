/* guard_plan.c - what the guard does with the time limit of one job
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "guard/guard_plan.h"

#include <math.h>

#include "base/messages.h"
#include "policy/guarded.h"

static const char *const holder_texts[] = {
    [DN_HOLDER_NONE] = "none",
    [DN_HOLDER_DEADLINE] = dn_say_held_deadline,
    [DN_HOLDER_RESERVATION] = dn_say_held_reservation,
};
static const struct dn_names holder_names = DN_NAMES (holder_texts, DN_N_HOLDERS);

const char *dn_guard_holder_text (enum dn_guard_holder holder)
{
    return dn_names_get (&holder_names, (int) holder);
}

/* The longest limit that is set: Slurm counts a job without a limit as this long. */
#define LONGEST_S (INT64_C (365) * 86400)

#define LEAD_MAX_S (30 * 60)

/* A limit is lowered by its tenth at least, and by that much. */
#define SAVED_MIN_S (10 * 60)

static int64_t min_of (int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t minutes_down (int64_t seconds)
{
    return seconds - seconds % 60;
}

static int64_t minutes_up (int64_t seconds)
{
    return minutes_down (seconds + 59);
}

static int64_t there (const struct dn_recorded *recorded, int64_t seconds)
{
    return seconds > 0 ? (int64_t) dn_recorded_there (recorded, (double) seconds)
                       : seconds;
}

struct dn_promise dn_promise_of (const struct dn_recorded *recorded)
{
    struct dn_promise promise = {.asked_s = dn_recorded_cap (recorded),
                                 .set_s = DN_UNSET,
                                 .written_s = DN_UNSET,
                                 .p95_s = there (recorded, recorded->p95_s),
                                 .p99_s = there (recorded, recorded->p99_s),
                                 .signal_s = recorded->signal_s,
                                 .gpus = recorded->gpus > 0 ? recorded->gpus : 1};
    int64_t set_s = dn_recorded_set (recorded);
    int n = recorded->n_later;

    if (!recorded->changed || set_s < 60
        || (promise.asked_s >= 0 && promise.asked_s <= set_s))
        return promise;
    promise.set_s = minutes_up (set_s);
    promise.written_s = minutes_up (n > 0 ? recorded->later_s[n - 1] : set_s);
    return promise;
}

int64_t dn_guard_lead (const struct dn_guard_case *c, int64_t limit_s)
{
    int64_t lead = min_of (limit_s / 4, LEAD_MAX_S);
    int64_t least = dn_guarded_lead (c->interval_s);

    if (lead < least)
        lead = least;
    return lead + dn_signal_lead (c->promise.signal_s);
}

/* In whole minutes. */
static int64_t requested (const struct dn_guard_case *c)
{
    int64_t own = c->promise.asked_s;

    if (own == DN_UNSET)
        own = c->default_s;
    if (own < 0 || own > LONGEST_S)
        own = LONGEST_S;
    return minutes_down (own);
}

/* What a human has added while the job runs to a limit that was below the user's own.
 * Without dnnest it would have been added to that: what dnnest had taken is given back.
 */
static int64_t added (const struct dn_guard_case *c)
{
    int64_t more_s = c->base_s > 0 ? c->limit_s - c->base_s : 0;

    return more_s > 0 && c->base_s < requested (c) ? more_s : 0;
}

int64_t dn_guard_own (const struct dn_guard_case *c)
{
    return min_of (requested (c) + added (c), LONGEST_S);
}

/* A job that was requeued may be back at its first limit. One with a higher limit,
 * which is still below its user's own, is no worse off with that.
 */
static bool is_ours (const struct dn_guard_case *c)
{
    return c->limit_s == c->promise.written_s
           || (c->restarts > 0 && c->limit_s == c->promise.set_s)
           || (c->limit_s > c->promise.written_s && c->limit_s < requested (c))
           || added (c) > 0;
}

bool dn_guard_is_due (const struct dn_guard_case *c)
{
    return c->promise.set_s != DN_UNSET && is_ours (c)
           && (c->restore || added (c) > 0
               || c->end_s - c->now_s < dn_guard_lead (c, c->limit_s));
}

struct cap {
    int64_t limit_s;
    enum dn_guard_holder holder;
};

static void lower_cap (struct cap *cap, int64_t limit_s, enum dn_guard_holder holder)
{
    if (limit_s < cap->limit_s)
        *cap = (struct cap){limit_s > 0 ? minutes_down (limit_s) : 0, holder};
}

/* What ends the job before its user's limit, as a limit of it. A time of day at which
 * it must end is compared with its present end, which has its suspensions in it.
 */
static struct cap cap_of (const struct dn_guard_case *c)
{
    struct cap cap = {LONGEST_S, DN_HOLDER_NONE};

    /* Without dnnest a job whose limit crosses its deadline would not have started. */
    if (c->deadline > 0 && c->start_s + requested (c) > c->deadline)
        lower_cap (&cap, c->limit_s + c->deadline - c->end_s, DN_HOLDER_DEADLINE);
    if (c->reserved_from > 0)
        lower_cap (
            &cap, c->limit_s + c->reserved_from - c->end_s, DN_HOLDER_RESERVATION);
    return cap;
}

/* What the job needs by its reports, never less than it has run plus a lead of room. */
static int64_t need_of (const struct dn_guard_case *c)
{
    int64_t ran = c->limit_s - (c->end_s - c->now_s);
    int64_t need = c->pace_s + dn_signal_lead (c->promise.signal_s);
    int64_t least = ran + dn_guard_lead (c, need > ran ? need : ran) + c->interval_s;

    return minutes_up (need > least ? need : least);
}

/* A lower limit, if it saves enough to be worth it; 0: none. */
static int64_t shorter (const struct dn_guard_case *c)
{
    int64_t need = c->shorten && c->pace_s > 0 ? need_of (c) : c->limit_s;
    int64_t saved = c->limit_s - need;

    return saved >= SAVED_MIN_S && saved >= c->limit_s / 10 ? need : 0;
}

/* The next step: the first that gives a lead of room. */
static int64_t step_of (const struct dn_guard_case *c, int64_t own)
{
    const int64_t needs[] = {c->promise.p95_s, c->promise.p99_s};
    int64_t ran = c->limit_s - (c->end_s - c->now_s);
    int64_t signal = dn_signal_lead (c->promise.signal_s);

    if (c->limit_s > c->promise.written_s)
        return own;
    if (c->pace_s > 0)
        return min_of (need_of (c), own);
    for (size_t i = 0; i < DN_N_ELEMENTS (needs); i++) {
        double need = (double) needs[i] * (1 + c->margin) + (double) signal;
        int64_t limit;

        if (needs[i] <= 0 || need >= (double) own)
            continue;
        limit = minutes_up ((int64_t) ceil (need - 1e-6));
        if (limit > c->limit_s && limit < own
            && limit - ran >= dn_guard_lead (c, limit))
            return limit;
    }
    return own;
}

struct dn_guard_plan dn_guard_plan (const struct dn_guard_case *c)
{
    struct dn_guard_plan plan = {.verdict = DN_GUARD_NONE};
    struct cap cap;
    int64_t own;
    int64_t step;

    if (c->promise.set_s == DN_UNSET)
        return plan;
    plan.verdict = DN_GUARD_HANDS_OFF;
    if (!is_ours (c))
        return plan;
    own = dn_guard_own (c);
    if (c->restore && own > c->limit_s)
        return (struct dn_guard_plan){.verdict = DN_GUARD_EXTEND, .limit_s = own};
    if (c->restore)
        return (struct dn_guard_plan){.verdict = DN_GUARD_OWN};
    plan.verdict = DN_GUARD_KEEP;
    plan.limit_s = shorter (c);
    if (plan.limit_s > 0)
        plan.verdict = DN_GUARD_SHORTEN;
    if (!dn_guard_is_due (c))
        return plan;
    plan.limit_s = 0;
    plan.verdict = DN_GUARD_OWN;
    if (own <= c->limit_s)
        return plan;
    step = step_of (c, own);
    cap = cap_of (c);
    if (cap.limit_s < step) {
        plan.holder = cap.holder;
        step = cap.limit_s;
    }
    if (step > c->limit_s) {
        plan.verdict = DN_GUARD_EXTEND;
        plan.limit_s = step;
    } else {
        /* By its reports the job may end in time. */
        plan.verdict = plan.holder == DN_HOLDER_NONE ? DN_GUARD_KEEP : DN_GUARD_HELD;
    }
    return plan;
}

/* --- how long a job needs, by what it has reported -------------------------------- */

/* The reports come by the clock of a node, which differs from that of slurmctld. */
#define SKEW_S 60

/* The pace of each of up to so many pieces of the run is compared. */
#define PIECES 16

/* A piece that is that many times as fast as another one is no pace. */
#define JUMP 10

/* Of what is left: margins, at least and at most. */
#define MARGIN_MIN 0.1
#define MARGIN_MAX 1.0

/* To save the last checkpoint and to end. */
#define END_S 120

/* Time is given back after that share of the work, in so many pieces. */
#define STEADY_SHARE  0.02
#define STEADY_PIECES 3
#define STEADY_MARGIN 0.5

/* Reports are late after so many times the longest time between two of them. */
#define LATE 3

/* The reports of the present run. */
struct run {
    const struct dn_progress_report *reports;
    int n;
    const struct dn_progress_report *last;
};

/* Seconds per unit of work, piece by piece. */
struct pieces {
    double pace[PIECES];
    double done[PIECES];
    int n;
};

static struct run run_of (const struct dn_progress *progress,
                          const struct dn_pace_job *job)
{
    struct run run = {progress->reports, progress->n_reports, NULL};

    while (run.n > 0 && run.reports->time_s < job->start_s - SKEW_S) {
        run.reports++;
        run.n--;
    }
    if (run.n > 0)
        run.last = &run.reports[run.n - 1];
    return run;
}

static bool is_plausible (const struct run *run, const struct dn_pace_job *job)
{
    int64_t longest = job->interval_s;

    for (int i = 0; i < run->n; i++) {
        const struct dn_progress_report *report = &run->reports[i];

        if (report->done < 0 || report->done > report->total
            || report->time_s > job->now_s + SKEW_S)
            return false;
        if (i == 0)
            continue;
        if (report->time_s < report[-1].time_s || report->done < report[-1].done
            || report->total != report[-1].total)
            return false;
        if (report->time_s - report[-1].time_s > longest)
            longest = report->time_s - report[-1].time_s;
    }
    return run->n >= 2 && run->last->done > run->reports->done
           && run->last->time_s - run->reports->time_s >= job->interval_s
           && job->now_s - run->last->time_s <= LATE * longest + SKEW_S;
}

/* Cut the run into pieces of about the same time, each with some progress. */
static struct pieces cut (const struct run *run)
{
    struct pieces pieces = {.n = 0};
    const struct dn_progress_report *from = run->reports;
    double least = (double) (run->last->time_s - from->time_s) / PIECES;

    for (int i = 1; i < run->n && pieces.n < PIECES; i++) {
        const struct dn_progress_report *to = &run->reports[i];
        double time_s = (double) (to->time_s - from->time_s);

        if (to->done == from->done || time_s < 1 || time_s < least)
            continue;
        pieces.done[pieces.n] = (double) (to->done - from->done);
        pieces.pace[pieces.n] = time_s / pieces.done[pieces.n];
        pieces.n++;
        from = to;
    }
    return pieces;
}

static bool is_jumping (const struct pieces *pieces)
{
    double least = pieces->pace[0];
    double most = pieces->pace[0];

    for (int i = 1; i < pieces->n; i++) {
        least = fmin (least, pieces->pace[i]);
        most = fmax (most, pieces->pace[i]);
    }
    return most > JUMP * least;
}

/* The mean pace from the 'first' piece on, by work. */
static double mean_from (const struct pieces *pieces, int first)
{
    double time_s = 0;
    double done = 0;

    for (int i = first; i < pieces->n; i++) {
        time_s += pieces->pace[i] * pieces->done[i];
        done += pieces->done[i];
    }
    return time_s / done;
}

/* Twice the spread of the pace, as a share of it. */
static double margin_of (const struct pieces *pieces, double mean)
{
    double sum = 0;
    double done = 0;

    for (int i = 0; i < pieces->n; i++) {
        double off = pieces->pace[i] / mean - 1;

        sum += pieces->done[i] * off * off;
        done += pieces->done[i];
    }
    return fmin (fmax (2 * sqrt (sum / done), MARGIN_MIN), MARGIN_MAX);
}

struct dn_pace dn_pace_needed (const struct dn_progress *progress,
                               const struct dn_pace_job *job)
{
    const struct dn_pace unknown = {DN_UNSET, false};
    struct run run = run_of (progress, job);
    struct pieces pieces;
    double mean, margin, left, since, needed;

    if (!is_plausible (&run, job))
        return unknown;
    pieces = cut (&run);
    if (pieces.n == 0 || is_jumping (&pieces))
        return unknown;
    mean = mean_from (&pieces, 0);
    margin = margin_of (&pieces, mean);
    /* A run that becomes slower goes on as its second half. */
    mean = fmax (mean, mean_from (&pieces, pieces.n / 2));
    left = (double) (run.last->total - run.last->done) * mean * (1 + margin);
    since = (double) (job->now_s - run.last->time_s);
    needed = (double) job->ran_s + fmax (left - fmax (since, 0), 0) + END_S;
    if (!(needed < (double) LONGEST_S))
        return unknown;
    return (struct dn_pace){(int64_t) ceil (needed),
                            pieces.n >= STEADY_PIECES && margin <= STEADY_MARGIN
                                && (double) run.last->done
                                       >= STEADY_SHARE * (double) run.last->total};
}
