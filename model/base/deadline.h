/* deadline.h - the time limit of a call
 *
 * The caller supplies the clock, since model/ reads none. Every loop whose length a
 * user chooses looks at the deadline so often that less than half a millisecond passes
 * between two looks, but not more often than every few microseconds: a look takes up to
 * half a microsecond. When the time is up, the function fails; or it returns at once
 * without a result, and its caller, who looks again, fails. Once passed, a deadline
 * stays passed.
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

/* NULL: never. */
bool dn_deadline_passed (const struct dn_deadline *deadline);

/* Return 0 while 'deadline' (NULL: none) has not passed, else -1 with DN_E_TIME.
 * 'stage' names the stage that is not run.
 */
int dn_deadline_check (const struct dn_deadline *deadline,
                       const char *stage,
                       struct dn_err *err);

#endif
