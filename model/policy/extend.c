/* extend.c - can the guard extend the limit of this job?
 *
 * A limit that the guard extends may follow a lower quantile than one that ends the
 * job. So each case in which the guard would leave the job alone, or could not give it
 * the requested limit, must be found here, before the limit is set.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/choices.h"

/* Slurm ends a job after its limit only in passes that are this far apart. */
#define PASS_S 30

bool dn_deciding_has_guard (const struct dn_deciding *d)
{
    const struct dn_view *view = d->view;

    /* A limit that the user is told of, and may set by hand, is not extended. */
    return d->rules->mode != DN_MODE_ADVISE && d->rules->time_limit == DN_TIME_LIMIT
           && dn_guarded_is_alive (view->guarded, view->now_s);
}

/* Has a partition that the job may run in a lower MaxTime than 'seconds', by the
 * snapshot? Without one, or without a partition, the request is believed. (A move to a
 * partition below it is not made.)
 */
static bool exceeds_partition (const struct dn_deciding *d, int64_t seconds)
{
    for (int i = 0; i < d->n_standings; i++) {
        const struct dn_partition *partition = d->standings[i].partition;

        if (partition && partition->max_time_s >= 0 && partition->max_time_s < seconds)
            return true;
    }
    return false;
}

struct dn_reason dn_deciding_unguarded (const struct dn_deciding *d)
{
    const struct dn_job *job = d->request->job;
    int64_t limit = d->request->time_limit_s;

    if (limit < 0)
        return DN_REASON (no_limit);
    if (job->time_min_min != DN_UNSET)
        return DN_REASON (has_time_min);
    if (job->deadline_s != DN_UNSET && job->deadline_s < limit)
        return DN_REASON (guard_deadline);
    if (job->reservation && job->reservation[0] != '\0')
        return DN_REASON (guard_reservation);
    if (d->rules->record == DN_RECORD_NONE)
        return DN_REASON (record_none);
    if (exceeds_partition (d, limit))
        return DN_REASON (guard_partition);
    return DN_NO_REASON;
}

int64_t dn_deciding_least_guarded (const struct dn_deciding *d)
{
    return 2 * (2 * d->view->guarded->interval_s + PASS_S);
}
