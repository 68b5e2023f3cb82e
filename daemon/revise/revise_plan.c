/* revise_plan.c - the new limit of a pending job whose application has run meanwhile
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "revise/revise_plan.h"

#include <math.h>
#include <string.h>

#include "policy/guarded.h"
#include "predict/learned.h"

/* Work outside that of the runs by more than this factor is not known enough. */
#define NEAR 2.0

static int64_t minutes_up (double seconds)
{
    return (int64_t) ceil (seconds / 60) * 60;
}

/* Would dnnest have set this limit at the submission, had it known the history? Of a
 * job that was given another GPU type the limit is for that one, until it starts, which
 * is soon, or has its own type again.
 */
static bool is_ours (const struct dn_revise_case *c)
{
    const struct dn_rules *rules = c->rules;

    return rules->revise == DN_YES_YES && rules->mode == DN_MODE_ENFORCE
           && rules->time_limit == DN_TIME_LIMIT && rules->record != DN_RECORD_NONE
           && strcmp (c->recorded->mode, "enforce") == 0
           && strcmp (c->recorded->verdict, "control") != 0 && c->time_min_s <= 0
           && !c->recorded->either && c->recorded->steer_gpu[0] == '\0';
}

/* Work in the unit of the row; -1: it is not known. */
static double work_of (const struct dn_revise_case *c, const struct dn_app_row *row)
{
    int unit = dn_names_find (
        &dn_work_unit_names, c->recorded->work_unit, strlen (c->recorded->work_unit));

    if (row->unit == DN_WORK_RUN)
        return 1;
    return unit == row->unit && c->recorded->work > 0 ? c->recorded->work : -1;
}

static bool has_news (const struct dn_revise_case *c)
{
    const struct dn_app_row *row = c->row;
    double work;

    if (!row || row->runs < DN_LEARNED_RUNS_MIN || row->last_s <= c->submit_s)
        return false;
    work = work_of (c, row);
    return work > 0 && work <= NEAR * (double) row->work_max
           && work >= (double) row->work_min / NEAR;
}

/* Would the job, with a lower limit, start where the guard could not extend it? */
static bool is_reserved (const struct dn_revise_case *c)
{
    int64_t own_s = dn_recorded_cap (c->recorded);

    return c->reserved_from > 0 && (own_s <= 0 || c->now_s + own_s > c->reserved_from);
}

/* The limit by the law and the rules; one that is guarded leaves the guard its time. */
static int64_t limit_of (const struct dn_revise_case *c, struct dn_range law)
{
    const struct dn_rules *rules = c->rules;
    double quantile = c->guarded ? fmin (rules->guarded_quantile, rules->time_quantile)
                                 : rules->time_quantile;
    double signal_s = (double) dn_signal_lead (c->recorded->signal_s);
    double limit_s = dn_range_at (law, quantile) * (1 + rules->time_margin) + signal_s;

    if (c->guarded)
        limit_s = fmax (limit_s,
                        2 * (double) dn_guarded_lead (c->guard_interval_s) + signal_s);
    return minutes_up (fmax (limit_s, (double) rules->time_min_s));
}

enum dn_revise_verdict dn_revise_plan (const struct dn_revise_case *c,
                                       struct dn_revision *revision)
{
    int64_t written = dn_recorded_written (c->recorded);
    struct dn_range law;

    if (!is_ours (c))
        return DN_REVISE_MODE;
    if (written == DN_UNSET || c->limit_s != written)
        return DN_REVISE_HANDS_OFF;
    if (!has_news (c))
        return DN_REVISE_NO_NEWS;
    if (is_reserved (c))
        return DN_REVISE_RESERVED;
    law = dn_app_row_law (c->row, work_of (c, c->row));
    if (c->others)
        dn_learned_widen (c->others, work_of (c, c->others), &law);
    *revision = (struct dn_revision){.limit_s = limit_of (c, law),
                                     .likely_s = (int64_t) law.p50,
                                     .p95_s = (int64_t) dn_range_at (law, 0.95),
                                     .p99_s = (int64_t) dn_range_at (law, 0.99),
                                     .runs = c->row->runs};
    if (c->limit_s != DN_UNLIMITED
        && (double) revision->limit_s > (1 - DN_REVISE_GAIN) * (double) c->limit_s)
        return DN_REVISE_NO_GAIN;
    return DN_REVISE_LOWER;
}

bool dn_shares_take (struct dn_shares *shares, int64_t user)
{
    int at = 0;

    if (shares->total == DN_REVISE_CHANGES)
        return false;
    while (at < shares->n_users && shares->users[at].user != user)
        at++;
    if (at == shares->n_users) {
        shares->users[at].user = user;
        shares->n_users++;
    }
    if (shares->users[at].n == DN_REVISE_SHARE)
        return false;
    shares->users[at].n++;
    shares->total++;
    return true;
}
