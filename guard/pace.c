/* pace.c - how long a job needs, by what it has reported
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "guard/pace.h"

#include <math.h>

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

/* No limit is longer (a year). */
#define LONGEST_S 31536000.0

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
    if (!(needed < LONGEST_S))
        return unknown;
    return (struct dn_pace){(int64_t) ceil (needed),
                            pieces.n >= STEADY_PIECES && margin <= STEADY_MARGIN
                                && (double) run.last->done
                                       >= STEADY_SHARE * (double) run.last->total};
}
