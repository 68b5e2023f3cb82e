/* predict.c - the only path to a prediction: white box and residual
 *
 * prediction = white box (site's constants)
 *              * exp (residual (features at the shipped constants)) * site's scales
 *
 * The residual was trained on the shipped constants. Features are computed with them
 * even where a site has its own, so that the two do not correct the same error twice.
 * The weight of the residual, and the spread of the error, depend on the distance from
 * the training runs. Far away the residual has no weight and the bound is wide.
 *
 * Rates that a site has measured on its devices serve runs far from the training runs.
 * Close to these the residual has learned, from data sheets, what such devices reach.
 * The prediction by the data sheet has the weight of the residual, the one by measured
 * rates the rest.
 *
 * The residual corrects a whole step, because it cannot determine which stage is wrong.
 * All stages are scaled by the same factor, so that their shares are unchanged.
 *
 * What other users have measured moves the median, but no upper bound below that of the
 * shipped constants, corrected by the user's own runs, and no number of CPUs below that
 * of the shipped constants. So what others report cannot lower a limit too far.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/messages.h"
#include "predict/stages.h"
#include "predict/tuning.h"

/* Rows of one call of a residual. A decision never has more. */
#define ROWS_MAX DN_CANDIDATES_MAX

/* A row per device: 30 KiB, on the heap. */
struct rows {
    float features[ROWS_MAX * DN_N_FEATURES];
    float sums[DN_N_QUANTITIES][ROWS_MAX];
    double distances[ROWS_MAX];
    /* By data sheets, with the constants of the case. */
    struct dn_estimate sheets[ROWS_MAX];
    /* By the shipped constants, where those of the case are others. */
    struct dn_estimate shipped[ROWS_MAX];
    struct dn_estimate shipped_sheets[ROWS_MAX];
};

/* The devices of one call of a residual. */
struct batch {
    const struct dn_predictor *predictor;
    struct dn_case
        any; /* the case of the call, with the predictor's constants; any device */
    const struct dn_device *const *devices;
    int n;
    struct dn_estimate *estimates;
    /* Only with a bundle: */
    const char *kind; /* of network */
    struct dn_validation validation;
    const struct dn_quantiles *step_bounds;
    struct dn_common common; /* of the features */
};

static bool is_same (const struct dn_constants *a, const struct dn_constants *b)
{
    /* Compare bytes: constants that were not learned are copies.
     * NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
    return memcmp (a, b, sizeof (*a)) == 0;
}

static struct dn_case case_on (const struct batch *batch,
                               const struct dn_device *device)
{
    struct dn_case c = batch->any;

    c.device = device;
    return c;
}

static const struct dn_constants *made_with (const struct batch *batch)
{
    const struct dn_predictor *predictor = batch->predictor;

    return predictor->shipped ? predictor->shipped : &dn_constants_default;
}

/* Do constants count that were learned from runs? */
static bool is_learned (const struct batch *batch)
{
    const struct dn_tuning *tuning = batch->predictor->bundle->tuning;

    return tuning && tuning->history
           && !is_same (batch->any.constants, made_with (batch));
}

/* The white box on the batch's devices by 'constants'. */
static int predict_white (const struct batch *batch,
                          const struct dn_constants *constants,
                          struct dn_estimate estimates[],
                          struct dn_estimate sheets[],
                          struct dn_err *err)
{
    const struct dn_deadline *deadline = batch->predictor->deadline;
    struct dn_case any = batch->any;

    any.constants = constants;
    if (dn_deadline_check (deadline, "estimate", err) < 0
        || dn_whitebox_all (
               &any, batch->devices, batch->n, deadline, estimates, sheets, err)
               < 0)
        return -1;
    return dn_deadline_check (deadline, "residual", err);
}

/* The features of the residual: by shipped constants and data sheets. */
static int find_features (const struct batch *batch,
                          struct rows *rows,
                          struct dn_err *err)
{
    const struct dn_constants *shipped = made_with (batch);
    const struct dn_estimate *sheets = rows->sheets;

    if (!is_same (batch->any.constants, shipped)) {
        sheets = rows->shipped_sheets;
        if (predict_white (batch, shipped, rows->shipped, rows->shipped_sheets, err)
            < 0)
            return -1;
    }
    for (int i = 0; i < batch->n; i++) {
        struct dn_case c = case_on (batch, batch->devices[i]);
        struct dn_estimate *estimate = &batch->estimates[i];

        dn_features_of (&batch->common,
                        &c,
                        &sheets[i],
                        rows->features + (ptrdiff_t) i * DN_N_FEATURES);
        estimate->white_step_s = sheets[i].white_step_s;
        if (is_learned (batch) && estimate->cpus_per_gpu < sheets[i].cpus_per_gpu)
            estimate->cpus_per_gpu = sheets[i].cpus_per_gpu;
    }
    return 0;
}

/* The factor on the quantity. */
static double factor_of (const struct dn_correction *correction,
                         double known,
                         double sum)
{
    double moved = known * correction->shrink * sum;

    if (!correction->trees || !isfinite (moved))
        return 1;
    return exp (dn_min (dn_max (moved, -correction->limit), correction->limit));
}

/* No correction lifts it above the board's limit. */
static void scale_power (struct dn_estimate *estimate, double factor)
{
    double limit = dn_max (estimate->device->tdp_w, estimate->power_w);

    estimate->power_w = dn_min (estimate->power_w * factor, limit);
    estimate->power_w_p95 = dn_min (estimate->power_w_p95 * factor, limit);
}

static void scale_all (double *values, int n, double factor)
{
    for (int i = 0; i < n; i++)
        values[i] *= factor;
}

/* What a step time of the white box is multiplied with. */
struct factors {
    double step; /* by the bundle */
    double
        shipped; /* by the shipped constants and the bundle, over the site's and it */
};

static void correct_step (const struct batch *batch,
                          const struct dn_case *c,
                          const struct dn_knot *at,
                          const float *features,
                          struct factors factors,
                          struct dn_estimate *estimate)
{
    const struct dn_bundle *bundle = batch->predictor->bundle;
    const struct dn_domain *domain = &bundle->domain;
    const struct dn_tuning *tuning = bundle->tuning;
    struct dn_outlook site =
        dn_tuning_step (tuning, batch->predictor->user, c->spec, c->device, features);
    double factor = factors.step * site.site.p50;
    double doubt = dn_whitebox_doubt (c, estimate, true);
    double edge = domain->knots[domain->n_knots - 1].distance;
    struct dn_range base = {
        .p50 = 1, .sigma = at->sigma, .quantiles = batch->step_bounds};
    struct dn_range spread = dn_tuning_spread (tuning, &site, base);

    if (estimate->white_step_s > 0)
        estimate->site = estimate->step_s.p50 * site.site.p50 / estimate->white_step_s;
    estimate->step_s.p50 *= factor;
    scale_all (estimate->stage_s, DN_N_STAGES, factor);
    estimate->step_s.sigma = sqrt (spread.sigma * spread.sigma + doubt);
    estimate->step_s.quantiles = spread.quantiles;
    estimate->step_s.floor = dn_tuning_floor (
        tuning, &site, base, factors.shipped * site.own / site.site.p50);
    estimate->step_s.floor.sigma =
        sqrt (estimate->step_s.floor.sigma * estimate->step_s.floor.sigma + doubt);
    estimate->confidence = dn_range_within (estimate->step_s, DN_CONFIDENCE_FACTOR);
    /* Beyond the last knot only the site's runs are known: the spread is a guess. */
    if (edge > 0 && at->distance > edge && !(spread.sigma < at->sigma))
        estimate->confidence *= edge / at->distance;
}

/* The factor on the step time of an estimate with measured rates, of which the one by
 * the data sheet has the weight 'known' of the residual.
 */
static double sheet_factor (const struct batch *batch,
                            double sheet_s,
                            double step_s,
                            double known)
{
    if (!batch->predictor->bundle->corrections[DN_QUANTITY_STEP].trees)
        return 1;
    return pow (sheet_s / step_s, dn_min (dn_max (known, 0), 1));
}

/* Where it was not shown to help, the residual does not count. */
static struct dn_knot knot_at (const struct batch *batch,
                               const float *features,
                               double distance)
{
    const struct dn_domain *domain = &batch->predictor->bundle->domain;
    struct dn_knot at = dn_domain_at (domain, distance);

    at.sigma *= dn_crumbs_factor (&domain->crumbs, features);
    if (!batch->validation.corrected)
        at.residual = 0;
    return at;
}

static void correct_one (const struct batch *batch, const struct rows *rows, int i)
{
    const struct dn_bundle *bundle = batch->predictor->bundle;
    const float *features = rows->features + (ptrdiff_t) i * DN_N_FEATURES;
    struct dn_estimate *estimate = &batch->estimates[i];
    struct dn_case c = case_on (batch, batch->devices[i]);
    struct dn_knot at = knot_at (batch, features, rows->distances[i]);
    double step_s = estimate->step_s.p50;
    double sheet =
        sheet_factor (batch, rows->sheets[i].step_s.p50, step_s, at.residual);
    double shipped = 1;
    double factors[DN_N_QUANTITIES] = {0};

    if (is_learned (batch)) {
        double shipped_s = rows->shipped[i].step_s.p50;

        shipped = sheet_factor (batch, estimate->white_step_s, shipped_s, at.residual)
                  / sheet * shipped_s / step_s;
    }
    for (int q = 0; q < DN_N_QUANTITIES; q++)
        factors[q] =
            factor_of (&bundle->corrections[q], at.residual, (double) rows->sums[q][i]);
    factors[DN_QUANTITY_STEP] *= sheet;
    if (bundle->tuning) {
        factors[DN_QUANTITY_MEMORY] *= bundle->tuning->memory.scale;
        factors[DN_QUANTITY_POWER] *= bundle->tuning->power.scale;
    }
    correct_step (batch,
                  &c,
                  &at,
                  features,
                  (struct factors){factors[DN_QUANTITY_STEP], shipped},
                  estimate);
    estimate->known = at.residual;
    estimate->bundle = bundle->name;
    estimate->gpu_mem.p50 *= factors[DN_QUANTITY_MEMORY];
    scale_all (estimate->memory, DN_N_MEMORY_CLASSES, factors[DN_QUANTITY_MEMORY]);
    estimate->gpu_mem.quantiles =
        dn_bounds_of (&bundle->bounds[DN_QUANTITY_MEMORY], batch->kind);
    /* A bundle does not narrow what held for runs whose networks were left out. */
    estimate->gpu_mem.floor =
        (struct dn_range_floor){.ratio = 1, .sigma = estimate->gpu_mem.sigma};
    estimate->fits = dn_estimate_may_fit (estimate);
    scale_power (estimate, factors[DN_QUANTITY_POWER]);
    dn_run_fill (&c, estimate);
}

/* The sum of a quantity without a residual is 0: the white box is unchanged. */
static int predict_sums (const struct batch *batch,
                         const float *features,
                         float sums[DN_N_QUANTITIES][ROWS_MAX],
                         struct dn_err *err)
{
    const struct dn_predictor *predictor = batch->predictor;

    for (int q = 0; q < DN_N_QUANTITIES; q++) {
        const struct dn_trees *trees = predictor->bundle->corrections[q].trees;

        if (trees
            && (dn_deadline_check (predictor->deadline, "residual", err) < 0
                || dn_trees_predict (trees, features, batch->n, sums[q], err) < 0))
            return -1;
    }
    return dn_deadline_check (predictor->deadline, dn_say_refined_estimate, err);
}

static int predict_batch (const struct batch *batch, struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) struct rows *rows = malloc (sizeof (*rows));

    if (!rows)
        return dn_refuse (err, no_memory);
    memset (rows->sums, 0, sizeof (rows->sums));
    if (predict_white (batch, batch->any.constants, batch->estimates, rows->sheets, err)
            < 0
        || find_features (batch, rows, err) < 0
        || predict_sums (batch, rows->features, rows->sums, err) < 0)
        return -1;
    dn_domain_distances (&batch->predictor->bundle->domain,
                         rows->features,
                         batch->n,
                         batch->predictor->deadline,
                         rows->distances);
    for (int i = 0; i < batch->n; i++) {
        if (dn_deadline_check (batch->predictor->deadline, dn_say_refined_estimate, err)
            < 0)
            return -1;
        correct_one (batch, rows, i);
    }
    return dn_deadline_check (batch->predictor->deadline, dn_say_end_of_estimate, err);
}

int dn_predict (const struct dn_predictor *predictor,
                const struct dn_case *c,
                const struct dn_device *const devices[],
                int n_devices,
                struct dn_estimate estimates[],
                struct dn_err *err)
{
    struct batch batch = {.predictor = predictor,
                          .any = *c,
                          .devices = devices,
                          .n = n_devices,
                          .estimates = estimates};
    char stack[DN_NAME_MAX];

    batch.any.constants = predictor->constants;
    if (predictor->bundle) {
        batch.kind = dn_network_kind (c->graph);
        dn_stack_name (c->spec, stack);
        batch.validation = dn_bundle_validation (predictor->bundle, batch.kind, stack);
        batch.step_bounds = dn_bounds_at (&predictor->bundle->bounds[DN_QUANTITY_STEP],
                                          batch.kind,
                                          &batch.validation);
        dn_common_init (&batch.common, c);
    }
    for (int i = 0; i < n_devices; i += ROWS_MAX) {
        batch.devices = devices + i;
        batch.estimates = estimates + i;
        batch.n = n_devices - i < ROWS_MAX ? n_devices - i : ROWS_MAX;
        if (predictor->bundle
                ? predict_batch (&batch, err) < 0
                : predict_white (
                      &batch, predictor->constants, batch.estimates, NULL, err)
                      < 0)
            return -1;
    }
    return 0;
}
