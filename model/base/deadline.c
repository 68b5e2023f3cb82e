/* deadline.c - the time limit of a call
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "base/deadline.h"
#include "base/messages.h"

bool dn_deadline_passed (const struct dn_deadline *deadline)
{
    return deadline && deadline->limit_ms > 0
           && deadline->spent_ms (deadline) > deadline->limit_ms;
}

int dn_deadline_check (const struct dn_deadline *deadline,
                       const char *stage,
                       struct dn_err *err)
{
    return dn_deadline_passed (deadline)
               ? dn_refuse (err, deadline, deadline->limit_ms, stage)
               : 0;
}
