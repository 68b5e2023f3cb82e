/* gate.c - may the new row of an application be installed?
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/history/gate.h"

#include <math.h>

#include "base/messages.h"
#include "predict/learned.h"

/* Sums over some runs. */
struct sums {
    int64_t runs;
    int64_t beyond; /* the bound */
    double error;
};

static void add (struct sums *sums, double ran_s, double p50, double p95)
{
    sums->runs++;
    sums->beyond += ran_s > p95;
    sums->error += fabs (log (ran_s / p50));
}

static void vote (struct dn_judged *judged, const struct sums *sums)
{
    if (sums->runs == 0)
        return;
    judged->votes++;
    judged->runs += sums->runs;
    judged->error += sums->error / (double) sums->runs;
    judged->coverage += 1 - (double) sums->beyond / (double) sums->runs;
}

static bool is_worse (const struct sums *before,
                      const struct sums *after,
                      const struct sums *alone)
{
    double most = before->error * (1 + DN_GATE_ERROR_SHARE)
                  + DN_GATE_ERROR_MORE * (double) before->runs;

    return (before->runs >= DN_GATE_RUNS_MIN
            && (after->error > most || after->beyond > before->beyond + DN_GATE_BEYOND))
           || alone->beyond > DN_GATE_BEYOND_ALONE;
}

bool dn_gate_row (struct dn_gate *gate,
                  const struct dn_fit_run runs[],
                  int n,
                  enum dn_work_unit unit,
                  const struct dn_fit_prior *prior)
{
    struct sums before = {0};
    struct sums after = {0};
    struct sums alone = {0};
    int newest = n / 5;
    bool worse;

    newest = newest < DN_GATE_RUNS_MIN ? DN_GATE_RUNS_MIN : newest;
    newest = newest > DN_GATE_RUNS_MAX ? DN_GATE_RUNS_MAX : newest;
    gate->n_rows++;
    for (int i = n - newest; i < n; i++) {
        struct dn_app_row row = {.type = 0};
        struct dn_range law;
        double p95;

        if (i < 2 || !runs[i].exact || !dn_fit_row (runs, i, unit, prior, &row))
            continue;
        law = dn_app_row_law (&row, runs[i].work);
        p95 = dn_range_at (law, DN_GATE_QUANTILE);
        if (runs[i].likely_s > 0 && runs[i].p95_s > 0) {
            add (&before, runs[i].ran_s, runs[i].likely_s, runs[i].p95_s);
            add (&after, runs[i].ran_s, law.p50, p95);
        } else {
            add (&alone, runs[i].ran_s, law.p50, p95);
        }
    }
    if (before.runs + alone.runs < DN_GATE_RUNS_MIN)
        return true;
    vote (&gate->before, &before);
    vote (&gate->after, &after);
    vote (&gate->alone, &alone);
    worse = is_worse (&before, &after, &alone);
    gate->n_judged++;
    gate->n_worse += worse;
    return !worse;
}

static void end_judged (struct dn_judged *judged)
{
    judged->error /= (double) judged->votes; /* NaN without */
    judged->coverage /= (double) judged->votes;
}

void dn_gate_end (struct dn_gate *gate)
{
    struct dn_buf why = dn_buf_on (gate->why, sizeof (gate->why));

    end_judged (&gate->before);
    end_judged (&gate->after);
    end_judged (&gate->alone);
    gate->passed = gate->n_worse == 0 || gate->n_worse < gate->n_rows;
    dn_buf_add (&why,
                dn_say_gate_votes,
                (long long) gate->n_judged,
                (long long) gate->n_rows,
                (long long) gate->n_worse);
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
                    (long long) gate->alone.runs,
                    100 * gate->alone.error,
                    100 * gate->alone.coverage);
}
