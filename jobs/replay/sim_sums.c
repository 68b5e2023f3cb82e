/* sim_sums.c - waits, slowdown and utilisation of jobs that were simulated
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "simulate.h"
#include "learn/reals.h"
#include "base/messages.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

/* The quantile of sorted values: the smallest with that share at or below it. */
static double quantile (const double *values, int64_t n, double share)
{
    int64_t i = (int64_t) ceil (share * (double) n) - 1;

    return n > 0 ? values[i < 0 ? 0 : i] : NAN;
}

static bool is_of (const struct dn_sim *sim, int pool, int wanted)
{
    return wanted < 0
           || (pool >= 0
               && strcasecmp (sim->pools[pool].type, sim->pools[wanted].type) == 0);
}

static double slowdown (const struct dn_sim_job *job)
{
    double took = job->end_s - job->submit_s, ran = job->end_s - job->start_s;

    return fmax (1, took / fmax (ran, DN_SIM_SLOWDOWN_S));
}

/* GPU seconds of the job in the period. */
static double within (const struct dn_sim_job *job, double since_s, double until_s)
{
    double from = fmax (job->start_s, since_s), to = fmin (job->end_s, until_s);

    return to > from ? (to - from) * (double) job->gpus : 0;
}

static double gpus_of (const struct dn_sim *sim, int wanted)
{
    double gpus = 0;

    for (int i = 0; i < sim->n_pools; i++)
        if (is_of (sim, i, wanted))
            gpus += (double) (sim->pools[i].nodes * sim->pools[i].gpus);
    return gpus;
}

static void count (const struct dn_sim_job *job, struct dn_sim_sums *sums)
{
    double hours = (job->end_s - job->start_s) * (double) job->gpus / 3600;

    sums->jobs++;
    sums->killed += job->killed;
    sums->extended += job->extended > 0;
    sums->steered += job->other >= 0;
    sums->end_mean_s += job->end_s - job->submit_s;
    sums->wait_mean_s += job->start_s - job->submit_s;
    sums->slowdown += slowdown (job);
    sums->gpu_hours += hours;
    if (job->killed)
        sums->lost_gpu_hours += hours;
}

int dn_sim_sum (const struct dn_sim *sim,
                const struct dn_sim_job *jobs,
                int64_t n_jobs,
                int pool,
                struct dn_sim_sums *sums,
                struct dn_err *err)
{
    double since_s = n_jobs > 0 ? jobs[0].submit_s : 0;
    double until_s = n_jobs > 0 ? jobs[n_jobs - 1].submit_s : 0;
    double busy = 0, *waits = calloc ((size_t) n_jobs + 1, sizeof (*waits));

    *sums = (struct dn_sim_sums){0};
    if (!waits)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory);
    for (int64_t i = 0; i < n_jobs; i++) {
        if (!is_of (sim, jobs[i].pool, pool))
            continue;
        if (isnan (jobs[i].start_s)) {
            sums->impossible++;
            continue;
        }
        waits[sums->jobs] = jobs[i].start_s - jobs[i].submit_s;
        count (&jobs[i], sums);
        busy += within (&jobs[i], since_s, until_s);
    }
    qsort (waits, (size_t) sums->jobs, sizeof (*waits), dn_reals_compare);
    sums->wait_median_s = quantile (waits, sums->jobs, 0.5);
    sums->wait_p95_s = quantile (waits, sums->jobs, 0.95);
    sums->wait_mean_s = sums->jobs > 0 ? sums->wait_mean_s / (double) sums->jobs : NAN;
    sums->end_mean_s = sums->jobs > 0 ? sums->end_mean_s / (double) sums->jobs : NAN;
    sums->slowdown = sums->jobs > 0 ? sums->slowdown / (double) sums->jobs : NAN;
    if (until_s > since_s)
        sums->utilisation = busy / (gpus_of (sim, pool) * (until_s - since_s));
    free (waits);
    return 0;
}
