/* fit_apps.c - the law of an application's run time
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/history/fit_apps.h"

#include <math.h>
#include <string.h>

/* Passes of the robust fit, and of expectation maximisation around it. */
#define PASSES 4

/* Residuals of the logarithm beyond this many spreads weigh less (Huber 1964). */
#define HUBER 1.5

/* No fitted spread is believed to be smaller than this. */
#define SIGMA_MIN 0.02
#define SIGMA_MAX 3.0

/* Fewer runs than this are not split into old and new ones, and at most so many new
 * ones show a change. */
#define CHANGE_NEW_MIN 2
#define CHANGE_NEW_MAX 3
#define CHANGE_OLD_MIN 2

const struct dn_fit_prior dn_fit_prior_default = {.sigma = 0.25,
                                                  .freedom = 3,
                                                  .start_s = 120};

/* The runs that are fitted, and the law so far. */
struct fit {
    const struct dn_fit_run *runs;
    int n;
    enum dn_work_unit unit;
    const struct dn_fit_prior *prior;
    double y[DN_FIT_RUNS_MAX];      /* run time; of a censored run what is expected */
    double weight[DN_FIT_RUNS_MAX]; /* by age; 0: not fitted */
    double start_s;
    double unit_s;
    double variance; /* of ln (run time) around the law */
    double parameters;
    double total; /* of the weights, as a number of runs */
};

static double median_of (const struct fit *fit, double work)
{
    return fmax (fit->start_s + fit->unit_s * work, 1);
}

static double residual (const struct fit *fit, int i)
{
    return log (fit->y[i] / median_of (fit, fit->runs[i].work));
}

/* --- the two parameters ----------------------------------------------------------- */

/* How much a run counts: by its age, and less where it lies far out. */
static double weight_of (const struct fit *fit, int i)
{
    double far = fabs (residual (fit, i)) / sqrt (fit->variance);

    return fit->weight[i] * (far > HUBER ? HUBER / far : 1);
}

/* Do the runs differ enough in their work to tell it from the start-up? */
static bool has_lengths (const struct fit *fit)
{
    double least = INFINITY;
    double most = 0;
    int n = 0;

    for (int i = 0; i < fit->n; i++)
        if (fit->runs[i].exact) {
            least = fmin (least, fit->runs[i].work);
            most = fmax (most, fit->runs[i].work);
            n++;
        }
    return fit->unit != DN_WORK_RUN && n >= 3 && most >= least * DN_FIT_WORK_RATIO;
}

/* Weighted geometric mean of run time over work, beside the start-up as it is. */
static void fit_factor (struct fit *fit)
{
    double sum = 0;
    double total = 0;

    for (int i = 0; i < fit->n; i++) {
        double w = weight_of (fit, i);
        double rest = fmax (fit->y[i] - fit->start_s, fit->y[i] / 10);

        sum += w * log (rest / fit->runs[i].work);
        total += w;
    }
    fit->unit_s = exp (sum / total);
}

/* Least squares, in closed form, of (start + unit * work) / y = 1 and the prior. */
static void fit_line (struct fit *fit)
{
    double prior_s = fit->unit == DN_WORK_PREDICTED ? 0 : fit->prior->start_s;
    double spread_s = fmax (fit->prior->start_s, 1);
    /* The prior weighs as one run whose relative error is the spread. */
    double a = fit->variance / (spread_s * spread_s);
    double aa = a;
    double ab = 0;
    double bb = 0;
    double ra = a * prior_s;
    double rb = 0;
    double least = INFINITY;
    double det;

    for (int i = 0; i < fit->n; i++) {
        double w = weight_of (fit, i);
        double x0 = 1 / fit->y[i];
        double x1 = fit->runs[i].work / fit->y[i];

        aa += w * x0 * x0;
        ab += w * x0 * x1;
        bb += w * x1 * x1;
        ra += w * x0;
        rb += w * x1;
        if (fit->weight[i] > 0)
            least = fmin (least, fit->y[i]);
    }
    det = aa * bb - ab * ab;
    fit->start_s = det > 0 ? (ra * bb - rb * ab) / det : prior_s;
    fit->start_s = fmin (fmax (fit->start_s, 0), 0.9 * least);
    if (bb > 0)
        fit->unit_s = (rb - fit->start_s * ab) / bb;
    if (!(fit->unit_s > 0)) {
        fit->start_s = 0;
        fit_factor (fit);
    }
}

/* --- spread and censored runs ----------------------------------------------------- */

static void fit_spread (struct fit *fit)
{
    double sum = 0;

    fit->total = 0;
    for (int i = 0; i < fit->n; i++) {
        double r = residual (fit, i);

        sum += fit->weight[i] * r * r;
        fit->total += fit->weight[i];
    }
    fit->variance = sum / fmax (fit->total - fit->parameters, 1);
    fit->variance =
        fmin (fmax (fit->variance, SIGMA_MIN * SIGMA_MIN), SIGMA_MAX * SIGMA_MAX);
}

/* Expected logarithm beyond 'z' spreads of a normal law, in spreads. */
static double beyond (double z)
{
    double tail = erfc (z / sqrt (2)) / 2;
    double density = exp (-z * z / 2) / sqrt (2 * M_PI);

    return tail > 1e-12 ? density / tail : z;
}

/* A killed run counts where it lasted longer than is likely. */
static void expect_censored (struct fit *fit, const double by_age[])
{
    double sigma = fmax (sqrt (fit->variance), fit->prior->sigma);

    for (int i = 0; i < fit->n; i++) {
        double middle = median_of (fit, fit->runs[i].work);

        if (fit->runs[i].exact)
            continue;
        fit->weight[i] = fit->runs[i].ran_s > middle ? by_age[i] : 0;
        fit->y[i] =
            middle * exp (sigma * beyond (log (fit->runs[i].ran_s / middle) / sigma));
    }
}

/* --- one fit ---------------------------------------------------------------------- */

static void begin_fit (struct fit *fit, double by_age[])
{
    double sum = 0;
    double total = 0;

    for (int i = 0; i < fit->n; i++) {
        by_age[i] = exp2 (-(double) (fit->n - 1 - i) / DN_FIT_APPS_HALF_LIFE);
        fit->y[i] = fit->runs[i].ran_s;
        fit->weight[i] = fit->runs[i].exact ? by_age[i] : 0;
        sum += fit->weight[i] * log (fit->y[i] / fit->runs[i].work);
        total += fit->weight[i];
    }
    fit->unit_s = exp (sum / total);
    fit->variance = fit->prior->sigma * fit->prior->sigma;
}

/* At least one run is exact. */
static void run_fit (struct fit *fit)
{
    double by_age[DN_FIT_RUNS_MAX];
    bool line = has_lengths (fit);

    fit->parameters = line ? 2 : 1;
    begin_fit (fit, by_age);
    for (int pass = 0; pass < PASSES; pass++) {
        if (line)
            fit_line (fit);
        else
            fit_factor (fit);
        fit_spread (fit);
        expect_censored (fit, by_age);
    }
    fit_spread (fit);
}

static bool has_exact (const struct dn_fit_run runs[], int n)
{
    for (int i = 0; i < n; i++)
        if (runs[i].exact)
            return true;
    return false;
}

/* The predictive spread, and what it is worth. */
static void set_spread (const struct fit *fit, struct dn_app_row *row)
{
    const struct dn_fit_prior *prior = fit->prior;
    double of_runs = fmax (fit->total - fit->parameters, 0);
    double freedom = prior->freedom + of_runs;
    double variance =
        (prior->freedom * prior->sigma * prior->sigma + of_runs * fit->variance)
        / freedom;

    variance *= 1 + 1 / fmax (fit->total, 1);
    row->sigma = (float) fmin (fmax (sqrt (variance), SIGMA_MIN), SIGMA_MAX);
    row->freedom = (uint8_t) fmin (fmax (floor (freedom), 1), 255);
}

static void set_law (const struct fit *fit, struct dn_app_row *row)
{
    row->unit = (uint8_t) fit->unit;
    row->start_s = (float) fit->start_s;
    row->unit_s = (float) fit->unit_s;
    set_spread (fit, row);
}

/* --- change ----------------------------------------------------------------------- */

static struct fit fit_of (const struct dn_fit_run runs[],
                          int n,
                          enum dn_work_unit unit,
                          const struct dn_fit_prior *prior)
{
    return (struct fit){.runs = runs, .n = n, .unit = unit, .prior = prior};
}

/* Do all runs from 'from' on lie outside the range of those before, on one side? */
static bool has_changed (const struct dn_fit_run runs[],
                         int n,
                         int from,
                         enum dn_work_unit unit,
                         const struct dn_fit_prior *prior)
{
    struct fit old = fit_of (runs, from, unit, prior);
    struct dn_app_row row;
    int above = 0;
    int below = 0;

    if (from < CHANGE_OLD_MIN || !has_exact (runs, from))
        return false;
    run_fit (&old);
    memset (&row, 0, sizeof (row));
    set_law (&old, &row);
    for (int i = from; i < n; i++) {
        struct dn_range law = dn_app_row_time (&row, runs[i].work);

        above += runs[i].ran_s > dn_range_at (law, 0.975);
        below += runs[i].exact && runs[i].ran_s < dn_range_at (law, 0.025);
    }
    return above == n - from || below == n - from;
}

/* The first run since the application has changed; 0: it has not. */
static int find_change (const struct dn_fit_run runs[],
                        int n,
                        enum dn_work_unit unit,
                        const struct dn_fit_prior *prior)
{
    for (int end = n; end > CHANGE_OLD_MIN; end--)
        for (int new = CHANGE_NEW_MIN; new <= CHANGE_NEW_MAX; new ++)
            if (end - new > 0 && has_changed (runs, end, end - new, unit, prior)
                && has_exact (runs + end - new, n - end + new))
                return end - new;
    return 0;
}

/* --- interface -------------------------------------------------------------------- */

void dn_fit_add (struct dn_fit_runs *runs,
                 enum dn_work_unit unit,
                 const struct dn_fit_run *run)
{
    if (runs->unit != unit)
        runs->n = 0;
    if (runs->n == DN_FIT_RUNS_MAX)
        memmove (runs->runs, runs->runs + 1, (size_t) --runs->n * sizeof (*run));
    runs->unit = unit;
    runs->runs[runs->n++] = *run;
}

static float largest (float so_far, double value)
{
    return value > so_far ? (float) value : so_far;
}

/* What is known of the runs but for the law. */
static void set_seen (const struct dn_fit_run runs[], int n, struct dn_app_row *row)
{
    float said_gb = 0;

    row->work_min = INFINITY;
    for (int i = 0; i < n; i++) {
        const struct dn_fit_run *run = &runs[i];

        row->cores = largest (row->cores, run->cores);
        row->gpu_mem_gb = largest (row->gpu_mem_gb, run->gpu_mem_gb);
        said_gb = largest (said_gb, run->said_gpu_mem_gb);
        row->step_s = run->step_s > 0 ? (float) run->step_s : row->step_s;
        row->start_up_s =
            run->start_up_s > 0 ? (float) run->start_up_s : row->start_up_s;
        row->mem_gb = largest (row->mem_gb, run->mem_gb);
        if (!run->exact)
            continue;
        row->mem_runs = (uint8_t) (row->mem_runs + (run->mem_gb > 0));
        row->runs++;
        row->last_s = (uint32_t) run->end_s;
        row->work_min = fminf (row->work_min, (float) run->work);
        row->work_max = fmaxf (row->work_max, (float) run->work);
    }
    row->gpu_mem_said = row->gpu_mem_gb <= 0 && said_gb > 0;
    row->gpu_mem_gb = largest (row->gpu_mem_gb, (double) said_gb);
}

/* What a run with the most work takes in the longest mode of the newest runs. */
static float longest_of (const struct fit *fit,
                         const struct dn_fit_run runs[],
                         int n,
                         double work_max)
{
    int from = (int) (fit->runs - runs);
    double most = 0;
    double ratio = 0;

    if (from > n - DN_FIT_MODE_RUNS)
        from = n > DN_FIT_MODE_RUNS ? n - DN_FIT_MODE_RUNS : 0;
    for (int i = from; i < n; i++)
        most = fmax (most, runs[i].work);
    for (int i = from; i < n; i++)
        if (2 * runs[i].work >= most)
            ratio = fmax (ratio, runs[i].ran_s / median_of (fit, runs[i].work));
    return (float) (ratio * median_of (fit, work_max));
}

bool dn_fit_row (const struct dn_fit_run runs[],
                 int n,
                 enum dn_work_unit unit,
                 const struct dn_fit_prior *prior,
                 struct dn_app_row *row)
{
    const struct dn_app_row same = {
        .key = row->key, .type = row->type, .gpus = row->gpus};
    struct fit fit;
    int from;

    *row = same;
    if (n > DN_FIT_RUNS_MAX) {
        runs += n - DN_FIT_RUNS_MAX;
        n = DN_FIT_RUNS_MAX;
    }
    if (!has_exact (runs, n))
        return false;
    from = find_change (runs, n, unit, prior);
    fit = fit_of (runs + from, n - from, unit, prior);
    run_fit (&fit);
    set_law (&fit, row);
    set_seen (fit.runs, fit.n, row);
    row->longest_s = longest_of (&fit, runs, n, (double) row->work_max);
    return true;
}

bool dn_fit_scatter (const struct dn_fit_run runs[],
                     int n,
                     enum dn_work_unit unit,
                     double *variance,
                     double *freedom)
{
    struct fit fit;
    int n_exact = 0;

    for (int i = 0; i < n; i++)
        n_exact += runs[i].exact;
    if (n_exact < 3 || n > DN_FIT_RUNS_MAX)
        return false;
    fit = fit_of (runs, n, unit, &dn_fit_prior_default);
    run_fit (&fit);
    *variance = fit.variance;
    *freedom = fmax (fit.total - fit.parameters, 0);
    return *freedom > 0;
}
