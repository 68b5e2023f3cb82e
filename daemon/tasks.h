/* tasks.h - the table of the tasks
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TASKS_H
#define DN_TASKS_H

#include "task.h"

/* Tasks, at most: arrays have that size. */
#define DN_TASKS_MAX 8

/* In the order of a round; ends with NULL. */
extern const struct dn_task *const dn_tasks[];

/* The task of that name, or NULL. */
const struct dn_task *dn_task_find (const char *name);

/* Seconds between two runs, as the site has it. */
double dn_task_interval (const struct dn_task *task, const struct dn_site *site);

#endif
