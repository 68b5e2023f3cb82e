/* fit_apps.h - the law of an application's run time, from its finished runs
 *
 * In: the runs of one application on one GPU type with one number of GPUs, in the order
 * of their ends. Out: a row of the history (predict/apps.h). Pure: no store, no clock.
 *
 * - Exact runs are fitted. A run that was killed counts only where it lasted longer
 * than the fit says: then it is taken as what is expected of a run beyond that time
 *   (expectation maximisation for a censored normal law; Dempster, Laird and Rubin
 * 1977, 4.3). Runs that say nothing of the time must be left out by the caller.
 * - The newest runs weigh most: a weight halves every DN_FIT_APPS_HALF_LIFE runs. Where
 * the newest two or three lie outside the 95 % range of those before them, all on the
 * same side, the application has changed: what was before is forgotten.
 * - A bound covers the longest of the last DN_FIT_MODE_RUNS runs, too, also where the
 *   application has changed since: it may be a smoke test and a full run in turn. Where
 *   work is known, that is the run which took longest for its work, among those with at
 *   least half of the most work.
 * - Start-up and work are told apart where the work of the runs differs by
 *   DN_FIT_WORK_RATIO; then both are fitted by weighted least squares of relative
 *   errors, the start-up with a prior. Else one factor is fitted.
 * - The spread is the posterior one of a scaled inverse chi-squared prior, which stands
 *   for the spread between runs of applications alike (Gelman et al., Bayesian Data
 *   Analysis, 3.2), so the bound of a next run is that of Student's t-distribution.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_FIT_APPS_H
#define DN_FIT_APPS_H

#include "predict/apps.h"

/* Runs that are looked at, the newest. */
#define DN_FIT_RUNS_MAX 40

#define DN_FIT_MODE_RUNS      20
#define DN_FIT_APPS_HALF_LIFE 8.0
#define DN_FIT_WORK_RATIO     1.3

struct dn_fit_run {
    int64_t end_s;          /* seconds since 1970 */
    double ran_s;           /* positive */
    double work;            /* in the unit of the row, positive; of DN_WORK_RUN 1 */
    bool exact;             /* else it would have taken longer */
    double cores;           /* CPUs busy per GPU; NaN unknown */
    double gpu_mem_gb;      /* peak of one GPU; NaN unknown */
    double said_gpu_mem_gb; /* the same, and of a step and before the first one, as */
    double step_s;          /* the job says of itself; NaN unknown */
    double start_up_s;
    double mem_gb;   /* peak of host memory on all nodes; NaN unknown */
    double likely_s; /* what was in force when it was submitted; 0: nothing */
    double p95_s;
};

/* The newest runs; all zeroes at first. */
struct dn_fit_runs {
    enum dn_work_unit unit; /* of all of them */
    int n;
    struct dn_fit_run runs[DN_FIT_RUNS_MAX];
};

/* Add a run. Those of another unit of work than the newest one are forgotten: the user
 * describes the application in another way now.
 */
void dn_fit_add (struct dn_fit_runs *runs,
                 enum dn_work_unit unit,
                 const struct dn_fit_run *run);

struct dn_fit_prior {
    double sigma;   /* spread of ln (run time) between runs of an application */
    double freedom; /* how many runs this spread is worth */
    double start_s; /* start-up, as far as it is known, and its spread */
};

/* What ships: the spread of runs of one application on one type within the measured
 * tables is 0.05 to 0.3; the wide end is taken.
 */
extern const struct dn_fit_prior dn_fit_prior_default;

/* Fit 'n' runs. The key, type and gpus of 'row' are kept, all else is set. False, with
 * no runs in the row, where no run is exact.
 */
bool dn_fit_row (const struct dn_fit_run runs[],
                 int n,
                 enum dn_work_unit unit,
                 const struct dn_fit_prior *prior,
                 struct dn_app_row *row);

/* The spread that is left of the runs themselves: variance of ln (run time) around the
 * fit and its degrees of freedom, without the prior. False where there are fewer than
 * three exact runs. The priors of a site are pooled from it.
 */
bool dn_fit_scatter (const struct dn_fit_run runs[],
                     int n,
                     enum dn_work_unit unit,
                     double *variance,
                     double *freedom);

#endif
