/* stopwatch.h - how long a decision computes: the clock that model/ does without
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STOPWATCH_H
#define DN_STOPWATCH_H

#include "base/deadline.h"

struct dn_stopwatch {
    struct dn_deadline deadline; /* the first member: hand its address over */
    double wall_ms;
    double computing_ms;
};

/* Begin to run in this thread, which alone may look at it. 'limit_ms' 0: no limit. */
void dn_stopwatch_start (struct dn_stopwatch *watch, double limit_ms);

/* Milliseconds that this thread has computed since then, and never more than have
 * passed.
 */
double dn_stopwatch_ms (const struct dn_stopwatch *watch);

#endif
