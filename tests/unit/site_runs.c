/* site_runs.c - runs of a site, what they take, and what a tuning predicts of them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "scene.h"
#include "site_runs.h"
#include "tests/unit/networks.h"

struct dn_site_run site_run_of (const char *device, const char *text)
{
    static const struct dn_datasets no_datasets;
    struct dn_site_run run;

    memset (&run, 0, sizeof (run));
    run.spec = dn_spec_empty ();
    run.device = dn_catalogue_find (&scene_plain ()->catalogue, device);
    assert_non_null (run.device);
    if (dn_spec_read (dn_span_of (text), &run.spec, &unit_err) < 0
        || dn_spec_resolve (&run.spec, &no_datasets, DN_UNSET, &unit_err) < 0
        || dn_graph_build (shipped_networks (), &run.spec, &run.graph, &unit_err) < 0)
        fail_msg ("%s", unit_err.text);
    return run;
}

struct dn_site_run site_run_kept (const char *device, const char *text)
{
    struct dn_site_run run = site_run_of (device, text);

    unit_keep (run.graph.ops, free);
    return run;
}

struct dn_case site_run_case (const struct dn_constants *constants,
                              const struct dn_site_run *run)
{
    return (struct dn_case){constants, &run->spec, &run->graph, run->device, 0};
}

struct dn_estimate site_run_estimate (const struct dn_constants *constants,
                                      const struct dn_site_run *run)
{
    const struct dn_case c = site_run_case (constants, run);
    struct dn_estimate estimate;

    dn_whitebox (&c, &estimate);
    return estimate;
}

double site_run_truth (const struct dn_constants *constants,
                       const struct dn_site_run *run,
                       double scale)
{
    return scale * site_run_estimate (constants, run).step_s.p50;
}

struct dn_estimate site_run_refined (struct dn_tuning *tuning,
                                     const struct dn_site_run *run)
{
    struct dn_bundle bundle = {
        .domain = {.knots = {{0, 0, dn_constants_default.sigma_step}}, .n_knots = 1},
        .tuning = tuning};
    struct dn_predictor predictor = {.constants = dn_tuning_constants (tuning),
                                     .bundle = &bundle,
                                     .user = run->user};
    struct dn_estimate estimate;

    assert_int_equal (dn_predict (&predictor,
                                  &(struct dn_case){.spec = &run->spec,
                                                    .graph = &run->graph,
                                                    .cpus_per_gpu = 0},
                                  &run->device,
                                  1,
                                  &estimate,
                                  NULL),
                      0);
    return estimate;
}

static void free_fit (void *fit)
{
    dn_site_fit_free (fit);
}

struct dn_site_fit *site_fit_new (void)
{
    return unit_keep (dn_site_fit_new (), free_fit);
}

static void free_tuning (void *tuning)
{
    dn_tuning_free (tuning);
}

struct dn_tuning *site_tuning (struct dn_tuning *tuning)
{
    return unit_keep (tuning, free_tuning);
}

struct dn_tuning *site_run_learned (struct dn_site_fit *fit)
{
    struct dn_tuning *tuning = assert_made (dn_site_fit_solve (fit, &unit_err));

    return site_tuning (tuning);
}
