/* rebase.c - what a past job would be predicted to take today
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/history/rebase.h"

#include <math.h>

#include "learn/run_spec.h"

/* CPUs per GPU that the job had. */
static double cpus_per_gpu (const struct dn_finished *job)
{
    return job->cpus > 0 && job->gpus > 0 ? (double) job->cpus / (double) job->gpus : 0;
}

static double predict (const struct dn_site *site,
                       const struct dn_finished *job,
                       const struct dn_device *device,
                       const struct dn_spec *spec,
                       const struct dn_graph *graph)
{
    struct dn_predictor predictor = dn_site_predictor (site);
    const struct dn_case c = {
        .spec = spec, .graph = graph, .cpus_per_gpu = cpus_per_gpu (job)};
    struct dn_estimate estimate;

    predictor.user = job->user;
    if (dn_predict (&predictor, &c, &device, 1, &estimate, NULL) < 0
        || !(estimate.train_s.p50 > 0))
        return NAN;
    return estimate.train_s.p50;
}

double dn_rebase (void *to, const struct dn_finished *job)
{
    const struct dn_rebase *rebase = to;
    const struct dn_site *site = rebase->site;
    struct dn_run run;
    const struct dn_device *device;
    struct dn_spec spec;
    struct dn_graph graph;
    double base_s;

    dn_run_clear (&run);
    run.spec = job->spec;
    run.gpu = job->pred_gpu;
    device = dn_run_device (&run, &site->catalogue, NULL);
    if (job->spec[0] == '\0' || !device
        || dn_run_spec (&run, &site->datasets, &site->networks, &spec, &graph, NULL)
               < 0)
        return NAN;
    base_s = predict (site, job, device, &spec, &graph);
    dn_graph_free (&graph);
    return base_s;
}
