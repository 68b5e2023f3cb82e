/* deadline.h - the time limit of a call
 *
 * The caller supplies the clock, since model/ reads none. A function that may take long
 * checks the deadline before each of its stages, and fails when the time is up. No
 * stage is interrupted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_DEADLINE_H
#define DN_DEADLINE_H

#include "base/err.h"

struct dn_deadline {
    /* Milliseconds since it began to run. */
    double (*spent_ms) (const struct dn_deadline *self);
    double limit_ms; /* 0: no limit */
};

/* Return 0 while 'deadline' (NULL: none) has not passed, else -1 with DN_E_TIME.
 * 'stage' names the stage that is not run.
 */
int dn_deadline_check (const struct dn_deadline *deadline,
                       const char *stage,
                       struct dn_err *err);

#endif
