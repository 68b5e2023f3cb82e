/* guard.h - the tasks of dnnest-guard
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_GUARD_H
#define DN_GUARD_H

#include "task.h"

/* Extend limits again and again, and give all of them back before the end. */
extern const struct dn_task dn_task_guard;

/* Give all limits back once; the other one only where no guard is alive. */
extern const struct dn_task dn_task_restore;
extern const struct dn_task dn_task_restore_if_silent;

#endif
