/* stopwatch.c - measures how long a decision computes; model/ itself reads no clock
 *
 * The limit is on the CPU time of the thread. A decision takes less than one
 * millisecond. When 5 have passed in wall time, most probably the thread waited for a
 * CPU or a page. Giving up then would save only a fraction of a millisecond, and the
 * result would depend on the load of the host. A decision that has used so much CPU
 * time has an unusual description, and the later stages would take longest. (A
 * submission that takes long in wall time is reported, see plugin/submit/submit.c.)
 *
 * Reading the CPU time of a thread is a system call, and on some kernels it advances in
 * steps of ten milliseconds. So it is read only when the wall time, which is cheap to
 * read, exceeds the limit; the smaller of the two counts. Neither clock can be set.
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

int64_t dn_monotonic_ms (void)
{
    struct timespec now = {0, 0};

    clock_gettime (CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
