/* steady.c - the step time of a program from the times at which its steps ended
 *
 * The time of a whole run is determined by the mean of its steps, not their median: a
 * step in ten that writes a log or waits for a loader counts. But one long interval
 * among thirty may be a single disturbance or the first of many. So long intervals that
 * recur count in full. A few are left out, and the change that they would have made is
 * added to the spread.
 *
 * Steps are not independent, so the spread is that of the means of successive blocks.
 * Two terms are added: the difference between the first and the second half, and the
 * few percent by which equal runs on one machine differ.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/steady.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/reals.h"

/* Between two runs of the same program: of the 477 sets of rows in
 * learn/data/training_runs.csv with one source, device and specification the standard
 * deviation is 2.0 % in the median and 3.9 % in the mean. */
#define BETWEEN_RUNS 0.03

/* A block has several steps, so that its mean does not depend on one. */
#define BLOCKS_MAX 8
#define BLOCK_MIN  3

/* An interval is long if it is further from the median than this many standard
 * deviations of a normal law and is twice the median. */
#define LONG_DEVIATIONS 6.0
#define LONG_RATIO      2.0

/* Chosen by judgement: the confidence is halved at this number of intervals, and at
 * this spread of the mean. */
#define HALF_INTERVALS 5.0
#define HALF_SIGMA     0.15

/* The mean of the steps between two marks. */
struct interval {
    double each_s;
    double steps;
};

static double median_interval (const struct interval intervals[], int n, double *room)
{
    for (int i = 0; i < n; i++)
        room[i] = intervals[i].each_s;
    return dn_reals_median (room, n);
}

/* Median of the distances from 'median', scaled to a standard deviation. */
static double deviation_of (const struct interval intervals[],
                            int n,
                            double median,
                            double *room)
{
    const double normal = 1.4826;

    for (int i = 0; i < n; i++)
        room[i] = fabs (intervals[i].each_s - median);
    return normal * dn_reals_median (room, n);
}

static double mean_of (const struct interval intervals[], int n)
{
    double seconds = 0;
    double steps = 0;

    for (int i = 0; i < n; i++) {
        seconds += intervals[i].each_s * intervals[i].steps;
        steps += intervals[i].steps;
    }
    return seconds / steps;
}

/* Drop the long intervals if they are few. Return how many were dropped. */
static int drop_long (struct interval intervals[], int *n, double limit)
{
    int n_long = 0;
    int kept = 0;

    for (int i = 0; i < *n; i++)
        n_long += intervals[i].each_s > limit;
    if (n_long > 2 && 20 * n_long > *n)
        return 0;
    for (int i = 0; i < *n; i++)
        if (intervals[i].each_s <= limit)
            intervals[kept++] = intervals[i];
    *n = kept;
    return n_long;
}

/* Spread of the mean, from the means of blocks. With so few blocks Student's t is wider
 * than the normal law.
 */
static double spread_of (const struct interval intervals[], int n, double mean)
{
    int n_blocks = n / BLOCK_MIN;
    double sum = 0;

    if (n_blocks > BLOCKS_MAX)
        n_blocks = BLOCKS_MAX;
    if (n_blocks < 2)
        n_blocks = n; /* single intervals */
    for (int b = 0; b < n_blocks; b++) {
        int from = b * n / n_blocks;
        int to = (b + 1) * n / n_blocks;
        double off = mean_of (intervals + from, to - from) / mean - 1;

        sum += off * off;
    }
    return sqrt (sum / (n_blocks - 1) / n_blocks) * (1 + 2.0 / (n_blocks - 1));
}

/* Slow steps after the requested warm-up: the first steps that take more than twice as
 * long as the second half, at most half of all.
 */
static int slow_steps (const struct interval intervals[], int n, double *room)
{
    double later = median_interval (intervals + n / 2, n - n / 2, room);
    int slow = 0;

    while (slow < n / 2 && n - slow > DN_STEADY_MIN
           && intervals[slow].each_s > LONG_RATIO * later)
        slow++;
    return slow;
}

static void judge (struct interval intervals[],
                   int n,
                   double *room,
                   struct dn_steady *steady)
{
    double median = median_interval (intervals, n, room);
    double deviation = deviation_of (intervals, n, median, room);
    double limit = fmax (median + LONG_DEVIATIONS * deviation, LONG_RATIO * median);
    double all = mean_of (intervals, n);
    double noise;
    double doubt;

    steady->median_s = median;
    steady->outliers = drop_long (intervals, &n, limit);
    steady->step_s = mean_of (intervals, n);
    steady->drift = log (mean_of (intervals + n / 2, n - n / 2)
                         / mean_of (intervals, n / 2 > 0 ? n / 2 : 1));
    noise = spread_of (intervals, n, steady->step_s);
    /* the noise already covers the random difference of the halves: each half has twice
     * its variance, their difference four times */
    doubt = fmax (fabs (steady->drift) - 2 * noise, 0) / 2;
    steady->sigma =
        sqrt (noise * noise + doubt * doubt + pow (log (all / steady->step_s), 2)
              + BETWEEN_RUNS * BETWEEN_RUNS);
    steady->confidence =
        (double) n / (n + HALF_INTERVALS) / (1 + pow (steady->sigma / HALF_SIGMA, 2));
}

/* The marks from the end of the warm-up on, in order. Marks at the same time are
 * merged, since they came from a pipe that had buffered them.
 */
static int merge_marks (const struct dn_mark marks[],
                        int n_marks,
                        int64_t warmup,
                        struct dn_mark merged[])
{
    const double moment = 1e-6;
    int n = 0;

    for (int i = 0; i < n_marks; i++) {
        const struct dn_mark *last = n > 0 ? &merged[n - 1] : NULL;

        if (marks[i].step < warmup || (last && marks[i].step <= last->step))
            continue;
        if (last && marks[i].time_s - last->time_s < moment)
            merged[n - 1].step = marks[i].step;
        else
            merged[n++] = marks[i];
    }
    return n;
}

static int find_intervals (const struct dn_mark merged[],
                           int n_merged,
                           struct interval intervals[])
{
    for (int i = 0; i + 1 < n_merged; i++) {
        intervals[i].steps = (double) (merged[i + 1].step - merged[i].step);
        intervals[i].each_s =
            (merged[i + 1].time_s - merged[i].time_s) / intervals[i].steps;
    }
    return n_merged > 0 ? n_merged - 1 : 0;
}

/* Working memory: intervals, the marks around them, and numbers to sort. */
struct room {
    struct interval *intervals;
    struct dn_mark *merged;
    double *numbers;
};

static void free_room (struct room *room)
{
    free (room->intervals);
    free (room->merged);
    free (room->numbers);
}

int dn_steady_find (const struct dn_mark marks[],
                    int n_marks,
                    int64_t warmup,
                    struct dn_steady *steady,
                    struct dn_err *err)
{
    size_t size = n_marks > 0 ? (size_t) n_marks : 1;
    dn_cleanup (free_room) struct room room = {
        calloc (size, sizeof (*room.intervals)),
        calloc (size, sizeof (*room.merged)),
        calloc (size, sizeof (*room.numbers)),
    };
    int n;
    int slow;

    memset (steady, 0, sizeof (*steady));
    if (!room.intervals || !room.merged || !room.numbers)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    n = merge_marks (marks, n_marks, warmup, room.merged);
    n = find_intervals (room.merged, n, room.intervals);
    if (n < DN_STEADY_MIN)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "%d steps measured after %lld of warm-up, expected at "
                           "least %d",
                           n,
                           (long long) warmup,
                           DN_STEADY_MIN);
    slow = slow_steps (room.intervals, n, room.numbers);
    steady->warmup = room.merged[slow].step;
    steady->steps = room.merged[n].step - steady->warmup;
    judge (room.intervals + slow, n - slow, room.numbers, steady);
    steady->start_s =
        fmax (room.merged[slow].time_s - (double) steady->warmup * steady->step_s, 0);
    return 0;
}
