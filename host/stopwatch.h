/* stopwatch.h - measures how long a decision computes; model/ itself reads no clock
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STOPWATCH_H
#define DN_STOPWATCH_H

#include "base/deadline.h"

struct dn_stopwatch {
    struct dn_deadline deadline; /* the first member: pass its address */
    double wall_ms;
    double computing_ms;
};

/* Start in this thread; only this thread may read it. 'limit_ms' 0: no limit. */
void dn_stopwatch_start (struct dn_stopwatch *watch, double limit_ms);

/* Milliseconds of CPU time of this thread since the start, or of wall time if that is
 * less.
 */
double dn_stopwatch_ms (const struct dn_stopwatch *watch);

/* Milliseconds of the monotonic clock, for intervals of wall time. */
int64_t dn_monotonic_ms (void);

#endif
