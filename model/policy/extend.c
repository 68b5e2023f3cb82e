/* extend.c - what is under a lowered limit: the guard, and evidence
 *
 * A limit that the guard extends may follow a lower quantile than one that ends the
 * job. So each case in which the guard would leave the job alone, or could not give it
 * the requested limit, must be found here, before the limit is set. The only cap of the
 * guard is that limit, but for a deadline, which is the user's, too, and a reservation.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/choices.h"
#include "predict/learned.h"

bool dn_deciding_has_guard (const struct dn_deciding *d)
{
    const struct dn_view *view = d->view;

    /* A limit that the user is told of, and may set by hand, is not extended. */
    return d->rules->mode != DN_MODE_ADVISE && d->rules->time_limit == DN_TIME_LIMIT
           && dn_guarded_is_alive (view->guarded, view->now_s);
}

enum dn_reason_code dn_deciding_unguarded (const struct dn_deciding *d)
{
    const struct dn_job *job = d->request->job;
    int64_t limit = d->request->time_limit_s;

    if (limit < 0)
        return DN_REASON_no_limit;
    if (job->time_min_min != DN_UNSET)
        return DN_REASON_has_time_min;
    if (job->deadline_s != DN_UNSET && job->deadline_s < limit)
        return DN_REASON_guard_deadline;
    if (job->reservation && job->reservation[0] != '\0')
        return DN_REASON_guard_reservation;
    if (d->rules->record == DN_RECORD_NONE)
        return DN_REASON_record_none;
    return DN_REASON_NONE;
}

int64_t dn_deciding_least_guarded (const struct dn_deciding *d)
{
    return 2 * dn_guarded_lead (d->view->guarded->interval_s);
}

bool dn_deciding_is_open (const struct dn_deciding *d, int i)
{
    for (int k = 1; k < d->decision->n_open; k++)
        if (d->decision->open[k].gpu == d->candidates->list[i].gpu)
            return true;
    return false;
}

int64_t dn_deciding_runs (const struct dn_deciding *d, int i)
{
    const struct dn_estimate *estimate = &d->estimates[i];

    return estimate->history_shared ? 0 : estimate->history_runs;
}

void dn_lacks_evidence (enum dn_needs needs,
                        int64_t runs,
                        const char *key,
                        struct dn_reason *why)
{
    int64_t least =
        needs == DN_NEEDS_ENOUGH ? DN_LEARNED_RUNS_MIN : needs == DN_NEEDS_SOME;

    if (runs < least)
        *why = DN_REASON (evidence_lacks,
                          dn_arg_text (key),
                          dn_arg_count (least),
                          dn_arg_text (least == 1 ? "" : "s"),
                          dn_arg_count (runs));
}
