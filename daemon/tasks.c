/* tasks.c - the table of the tasks
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "tasks.h"

#include <string.h>

const struct dn_task *const dn_tasks[] = {
    &dn_task_watch,
    &dn_task_guard,
    &dn_task_rescue,
    &dn_task_collect,
    &dn_task_learn,
    &dn_task_revise,
    &dn_task_steer,
    NULL,
    /* End of dn_tasks */
};

_Static_assert(DN_N_ELEMENTS (dn_tasks) <= DN_TASKS_MAX + 1, "too many tasks");

const struct dn_task *dn_task_find (const char *name)
{
    for (int i = 0; dn_tasks[i]; i++)
        if (strcmp (dn_tasks[i]->name, name) == 0)
            return dn_tasks[i];
    return NULL;
}

double dn_task_interval (const struct dn_task *task, const struct dn_site *site)
{
    double interval_s;

    memcpy (
        &interval_s, (const char *) site + task->interval_offset, sizeof (interval_s));
    return interval_s;
}
