/* stopwatch.c - how long a decision computes: the clock that model/ does without
 *
 * What counts is the time that the thread itself has computed. A decision takes less
 * than one millisecond; where 5 have passed on the clock on the wall, it was most
 * probably not the decision that took them: the kernel had the thread wait for a CPU or
 * a page. That time is lost whatever we do next, the rest would take a fraction of a
 * millisecond, and to give up would make what happens to a job a matter of how busy the
 * computer is. What has computed for so long, on the other hand, has a description that
 * is out of the ordinary, and it is the stages to come that would take the longest. (A
 * submission that takes long on the wall is reported, see plugin/submit/submit.c.)
 *
 * The CPU time of a thread is a system call, and on some kernels it moves on by ten
 * milliseconds at a time, so it is only asked for when the other clock, which costs
 * nothing, says that the limit is near; the smaller of the two counts. Neither can be
 * set by anybody.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "host/stopwatch.h"

#include <time.h>

static double clock_ms (clockid_t clock)
{
    struct timespec now;

    if (clock_gettime (clock, &now) < 0)
        return 0;
    return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

double dn_stopwatch_ms (const struct dn_stopwatch *watch)
{
    double wall_ms = clock_ms (CLOCK_MONOTONIC) - watch->wall_ms;
    double computing_ms;

    if (wall_ms <= watch->deadline.limit_ms)
        return wall_ms;
    computing_ms = clock_ms (CLOCK_THREAD_CPUTIME_ID) - watch->computing_ms;
    return computing_ms < wall_ms ? computing_ms : wall_ms;
}

static double spent_ms (const struct dn_deadline *deadline)
{
    return dn_stopwatch_ms ((const struct dn_stopwatch *) (const void *) deadline);
}

void dn_stopwatch_start (struct dn_stopwatch *watch, double limit_ms)
{
    watch->deadline = (struct dn_deadline){spent_ms, limit_ms};
    watch->wall_ms = clock_ms (CLOCK_MONOTONIC);
    watch->computing_ms = clock_ms (CLOCK_THREAD_CPUTIME_ID);
}
