/* jobs_table.c - the table of jobs, read once for all tasks of a round
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs_table.h"

int dn_jobs_each (struct dn_daemon *d, dn_link_job_f take, void *to, struct dn_err *err)
{
    if (!d->jobs) {
        if (dn_link_jobs (d->link, err) < 0)
            return -1;
        d->jobs = d->link;
        dn_tick (DN_TICK_JOB_TABLES);
    }
    return dn_link_jobs_each (d->link, take, to);
}

void dn_jobs_drop (struct dn_daemon *d)
{
    if (d->jobs)
        dn_link_jobs_drop (d->link);
    d->jobs = NULL;
}
