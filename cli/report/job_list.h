/* job_list.h - the user's own jobs, and how much of what they had they used
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_JOB_LIST_H
#define DN_JOB_LIST_H

#include "process/sacct.h"

/* Print those jobs of accounting in the order of their numbers, the tasks of an array
 * and the starts of a job summed, as JSON or text. Return an enum dn_exit.
 */
int dn_job_list (const struct dn_sacct *which, bool as_json);

#endif
