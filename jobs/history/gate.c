/* gate.c - may a new history be installed?
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/history/gate.h"

#include <math.h>
#include <stdlib.h>

#include "base/messages.h"

/* Runs that are judged, at most: an even sample of them. */
#define SAMPLE_MAX 20000

/* Errors of some runs. */
struct errors {
    double *list; /* |ln|; SAMPLE_MAX, owned */
    int64_t n_list;
    int64_t n;
    int64_t covered;
};

struct judging {
    const struct dn_build *build;
    struct dn_apps *apps;
    struct errors before;
    struct errors after;
    struct errors alone;
    int64_t n_runs;
    int64_t nth; /* the run that begins the newest fifth */
    int64_t since_s;
    uint64_t random;
};

static bool is_exact (const struct judging *j,
                      const struct dn_finished *job,
                      enum dn_work_unit *unit,
                      struct dn_fit_run *run)
{
    return dn_build_key (job, j->build->by_account) != 0
           && dn_build_run (j->build, job, unit, run) && run->exact;
}

/* --- the newest fifth --------------------------------------------------------------
 */

/* The base of old jobs need not be computed to count them. */
static bool counts (const struct judging *j, const struct dn_finished *job)
{
    struct dn_finished plain = *job;
    enum dn_work_unit unit;
    struct dn_fit_run run;

    plain.work_unit = "run";
    return is_exact (j, &plain, &unit, &run);
}

static int count_run (void *to, const struct dn_finished *job)
{
    struct judging *j = to;

    if (!counts (j, job))
        return 0;
    j->n_runs++;
    if (j->nth > 0 && j->n_runs == j->nth) {
        j->since_s = job->end_s;
        return 1;
    }
    return 0;
}

static int find_newest (struct dn_store *store, struct judging *j, struct dn_err *err)
{
    struct dn_store_filter filter = dn_store_all ();

    filter.order = DN_STORE_BY_END;
    if (dn_store_read (store, &filter, count_run, j, err) < 0)
        return -1;
    j->nth = j->n_runs - j->n_runs / 5 + 1;
    j->n_runs = 0;
    return dn_store_read (store, &filter, count_run, j, err) < 0 ? -1 : 0;
}

/* --- errors ------------------------------------------------------------------------
 */

static void note (struct judging *j,
                  struct errors *errors,
                  double ran_s,
                  double p50,
                  double p95)
{
    double error = fabs (log (ran_s / p50));

    errors->n++;
    errors->covered += ran_s <= p95;
    if (errors->n_list < SAMPLE_MAX) {
        errors->list[errors->n_list++] = error;
        return;
    }
    /* a reservoir (Vitter 1985, algorithm R) */
    j->random = j->random * UINT64_C (6364136223846793005) + 1442695040888963407;
    if ((j->random >> 11) % (uint64_t) errors->n < SAMPLE_MAX)
        errors->list[(j->random >> 11) % SAMPLE_MAX] = error;
}

static int judge_run (void *to, const struct dn_finished *job)
{
    struct judging *j = to;
    enum dn_work_unit unit;
    struct dn_fit_run run;
    const struct dn_app_row *row;
    struct dn_range law;

    if (!is_exact (j, job, &unit, &run))
        return 0;
    row = dn_apps_find (
        j->apps, dn_build_key (job, j->build->by_account), job->gpu, job->gpus);
    if (!row || row->unit != unit)
        return 0;
    law = dn_app_row_time (row, run.work);
    if (job->likely_s > 0 && job->p95_s > 0) {
        note (j, &j->before, run.ran_s, job->likely_s, job->p95_s);
        note (j, &j->after, run.ran_s, law.p50, dn_range_at (law, DN_GATE_QUANTILE));
    } else {
        note (j, &j->alone, run.ran_s, law.p50, dn_range_at (law, DN_GATE_QUANTILE));
    }
    return 0;
}

static int ascending (const void *a, const void *b)
{
    double x = *(const double *) a;
    double y = *(const double *) b;

    return x < y ? -1 : x > y;
}

static struct dn_judged judged_of (struct errors *errors)
{
    if (errors->n == 0)
        return (struct dn_judged){0, NAN, NAN};
    qsort (errors->list, (size_t) errors->n_list, sizeof (double), ascending);
    return (struct dn_judged){.runs = errors->n,
                              .error = errors->list[errors->n_list / 2],
                              .coverage =
                                  (double) errors->covered / (double) errors->n};
}

/* --- the verdict -------------------------------------------------------------------
 */

static bool is_worse (const struct dn_gate *gate)
{
    const struct dn_judged *before = &gate->before;
    const struct dn_judged *after = &gate->after;
    double enough = fmin (before->coverage, DN_GATE_QUANTILE) - DN_GATE_COVERAGE;

    if (before->runs < DN_GATE_RUNS_MIN)
        return false;
    return after->error > before->error * (1 + DN_GATE_ERROR_SHARE) + DN_GATE_ERROR_MORE
           || after->coverage < enough;
}

static bool covers_too_little (const struct dn_gate *gate)
{
    return gate->alone.runs >= DN_GATE_RUNS_MIN
           && gate->alone.coverage < DN_GATE_QUANTILE - DN_GATE_BELOW;
}

static void give_verdict (struct dn_gate *gate)
{
    struct dn_buf why = dn_buf_on (gate->why, sizeof (gate->why));
    int64_t n = gate->before.runs + gate->alone.runs;

    gate->passed = !is_worse (gate) && !covers_too_little (gate);
    if (n < DN_GATE_RUNS_MIN) {
        dn_buf_add (&why, dn_say_gate_few, (long long) n);
        return;
    }
    if (gate->before.runs > 0)
        dn_buf_add (&why,
                    dn_say_gate_errors,
                    100 * gate->before.error,
                    100 * gate->after.error,
                    100 * gate->before.coverage,
                    100 * gate->after.coverage,
                    (long long) gate->before.runs);
    if (gate->alone.runs > 0)
        dn_buf_add (&why,
                    dn_say_gate_alone,
                    gate->before.runs > 0 ? "; " : "",
                    (long long) gate->alone.runs,
                    100 * gate->alone.error,
                    100 * gate->alone.coverage);
}

static void free_judging (struct judging *j)
{
    dn_apps_free (j->apps);
    free (j->before.list);
    free (j->after.list);
    free (j->alone.list);
}

int dn_gate_judge (struct dn_store *store,
                   const struct dn_build *build,
                   struct dn_gate *gate,
                   struct dn_err *err)
{
    dn_cleanup (free_judging) struct judging j = {.build = build, .random = 1};
    struct dn_build older = *build;
    struct dn_store_filter filter = dn_store_all ();

    *gate = (struct dn_gate){.passed = false};
    j.before.list = calloc (SAMPLE_MAX, sizeof (double));
    j.after.list = calloc (SAMPLE_MAX, sizeof (double));
    j.alone.list = calloc (SAMPLE_MAX, sizeof (double));
    if (!j.before.list || !j.after.list || !j.alone.list)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory);
    if (find_newest (store, &j, err) < 0)
        return -1;
    if (j.since_s > 0) {
        older.until_s = filter.since_s = j.since_s;
        filter.order = DN_STORE_BY_END;
        j.apps = dn_build_apps (store, &older, err);
        if (!j.apps || dn_store_read (store, &filter, judge_run, &j, err) < 0)
            return -1;
    }
    gate->since_s = j.since_s;
    gate->before = judged_of (&j.before);
    gate->after = judged_of (&j.after);
    gate->alone = judged_of (&j.alone);
    give_verdict (gate);
    return 0;
}
