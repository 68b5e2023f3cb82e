/* deadline.h - how long something may take
 *
 * Whoever calls model/ brings the clock, since here there is none. What takes long
 * looks at it before each of its stages, and fails where the time is up: nothing is
 * ever interrupted in the middle.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_DEADLINE_H
#define DN_DEADLINE_H

#include "base/err.h"

struct dn_deadline {
    /* Milliseconds since it began to run. */
    double (*spent_ms) (const struct dn_deadline *self);
    double limit_ms; /* 0: there is none */
};

/* 0 while 'deadline' (NULL: none) has not passed, else -1 with DN_E_TIME: 'stage' would
 * have been the next.
 */
int dn_deadline_check (const struct dn_deadline *deadline,
                       const char *stage,
                       struct dn_err *err);

#endif
