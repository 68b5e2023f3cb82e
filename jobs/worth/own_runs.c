/* own_runs.c - what a user's own runs say that the next job should request
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/worth/own_runs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define STEP_S  300
#define EXTRA_S 600

static int64_t limit_for (const struct dn_own_app *app)
{
    double least = app->longest_s + EXTRA_S;
    double limit = (app->exact ? 1.25 : 2) * app->longest_s;

    return (int64_t) ceil (fmax (limit, least) / STEP_S) * STEP_S;
}

static int64_t cpus_for (const struct dn_own_app *app)
{
    double need = ceil (1.25 * app->busy_cpus);

    if (!isfinite (need) || need * 2 > (double) app->cpus)
        return 0;
    return need < 1 ? 1 : (int64_t) need;
}

/* Sum up the ring. */
static void close_own (struct dn_own_runs *own)
{
    struct dn_own_app *app = &own->app;
    int n = own->n_runs < DN_OWN_RUNS ? (int) own->n_runs : DN_OWN_RUNS;

    app->n = n;
    app->exact = true;
    app->shortest_s = INFINITY;
    app->busy_cpus = NAN;
    app->busy_gpus = NAN;
    for (int i = 0; i < n; i++) {
        app->exact = app->exact && own->runs[i].exact;
        app->shortest_s = fmin (app->shortest_s, own->runs[i].ran_s);
        app->longest_s = fmax (app->longest_s, own->runs[i].ran_s);
        app->busy_cpus = fmax (app->busy_cpus, own->runs[i].busy_cpus);
        app->busy_gpus = fmax (app->busy_gpus, own->runs[i].busy_gpus);
    }
    if (own->n_exact < 2)
        return;
    app->limit_s = limit_for (app);
    app->request_cpus = cpus_for (app);
}

int dn_own_runs_end (struct dn_own_runs *own)
{
    if (own->app.runs == 0)
        return 0;
    close_own (own);
    return own->take (own->to, &own->app);
}

static void begin (struct dn_own_runs *own, const char *app)
{
    own->app = (struct dn_own_app){.runs = 0};
    own->n_runs = 0;
    own->n_exact = 0;
    snprintf (own->app.name, DN_NAME_MAX, "%s", app);
}

static void take_run (struct dn_own_runs *own,
                      const struct dn_finished *job,
                      enum dn_evidence evidence)
{
    int at = (int) (own->n_runs++ % DN_OWN_RUNS);
    double ran_s = dn_finished_ran_s (job);

    own->runs[at].ran_s = ran_s;
    own->runs[at].busy_cpus = job->cpu_s > 0 ? job->cpu_s / ran_s : NAN;
    own->runs[at].busy_gpus = job->gpu_utilisation;
    own->runs[at].exact = evidence == DN_EVIDENCE_EXACT;
    own->n_exact += evidence == DN_EVIDENCE_EXACT;
}

int dn_own_runs_add (struct dn_own_runs *own, const struct dn_finished *job)
{
    enum dn_evidence evidence = dn_outcome_evidence (dn_outcome_of (job));
    int rc = 0;

    if (job->app[0] == '\0')
        return 0;
    if (own->app.runs == 0 || strncmp (own->app.name, job->app, DN_NAME_MAX - 1) != 0) {
        rc = dn_own_runs_end (own);
        begin (own, job->app);
    }
    own->app.runs++;
    own->app.asked_s = job->asked_limit_s > 0 ? job->asked_limit_s : job->limit_s;
    own->app.cpus = job->cpus;
    own->app.gpus = job->gpus;
    snprintf (own->app.job, DN_NAME_MAX, "%s", job->name);
    /* A user who cancels a job says little: of those that were killed, limits count. */
    if (dn_finished_ran_s (job) > 0
        && (evidence == DN_EVIDENCE_EXACT
            || dn_outcome_of (job) == DN_OUTCOME_LIMIT_USER
            || dn_outcome_of (job) == DN_OUTCOME_LIMIT_OURS))
        take_run (own, job, evidence);
    return rc;
}
