/* judge.c - the errors and the bounds of runs that were left out
 *
 * No run calibrates its own bound: the bounds are fitted again without the runs that
 * share with it what the scheme left out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/reals.h"

#include "learn/parts.h"

const double dn_judged_levels[DN_N_JUDGED] = {0.8, 0.9, 0.95, 0.99};

/* What is judged of one scheme. */
struct bench {
    const struct dn_training *training;
    const struct dn_case_set *set;
    const struct dn_domain *domain;
    int scheme;
    struct dn_pool pool;
    struct dn_pool within;
    double *values;
    double *work;
};

static void free_bench (struct bench *bench)
{
    dn_pool_free (&bench->pool);
    dn_pool_free (&bench->within);
    free (bench->values);
    free (bench->work);
}

static const struct dn_example *run_of (const struct bench *bench,
                                        const struct dn_judged *judged)
{
    return &bench->training->runs.runs[judged->run];
}

/* The number of the family of its sources and of its models. */
static int pair_of (const struct bench *bench, const struct dn_judged *judged)
{
    const int *label = run_of (bench, judged)->label;

    return label[DN_LABEL_CODE] * bench->training->runs.labels[DN_LABEL_FAMILY].n
           + label[DN_LABEL_FAMILY];
}

/* --- figures --------------------------------------------------------------------- */

/* Group one value per run by model. Return the mean over models of 'of' their values.
 */
static double over_models (struct bench *bench,
                           const struct dn_judgement *judgement,
                           double (*of) (double *values, int n),
                           int *n_models)
{
    double sum = 0;

    *n_models = 0;
    for (int m = 0; m < bench->training->runs.labels[DN_LABEL_MODEL].n; m++) {
        int n = 0;

        for (int i = 0; i < judgement->n; i++)
            if (run_of (bench, &judgement->runs[i])->label[DN_LABEL_MODEL] == m)
                bench->work[n++] = bench->values[i];
        if (n == 0)
            continue;
        sum += of (bench->work, n);
        (*n_models)++;
    }
    return *n_models > 0 ? sum / *n_models : NAN;
}

/* cppcheck-suppress constParameter ; the type is over_models ()'s */
/* NOLINTNEXTLINE(readability-non-const-parameter) */
static double nine_tenths (double *covered, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += covered[i];
    return sum >= 0.9 * n ? 1 : 0;
}

/* Fill the error figures from |predicted / measured - 1|. */
static struct dn_errors sum_up (struct bench *bench,
                                const struct dn_judgement *judgement,
                                bool learned)
{
    struct dn_errors errors = {.mean = 0};
    int n_models;

    for (int i = 0; i < judgement->n; i++) {
        const struct dn_judged *judged = &judgement->runs[i];

        bench->values[i] =
            fabs (expm1 (-(double) (learned ? judged->learned : judged->white_box)));
        errors.mean += bench->values[i] / judgement->n;
    }
    errors.per_model = over_models (bench, judgement, dn_reals_median, &n_models);
    errors.median = dn_reals_median (bench->values, judgement->n);
    return errors;
}

static void judge_level (struct bench *bench, int level, struct dn_judgement *judgement)
{
    judgement->coverage[level] = 0;
    for (int i = 0; i < judgement->n; i++) {
        const struct dn_judged *judged = &judgement->runs[i];

        bench->values[i] = judged->learned <= judged->bounds[level] ? 1 : 0;
        judgement->coverage[level] += bench->values[i] / judgement->n;
    }
    judgement->models[level] =
        over_models (bench, judgement, nine_tenths, &judgement->n_models);
    for (int i = 0; i < judgement->n; i++) {
        const struct dn_judged *judged = &judgement->runs[i];

        bench->values[i] =
            exp ((double) judged->bounds[level] - (double) judged->learned);
    }
    judgement->tightness[level] = dn_reals_median (bench->values, judgement->n);
}

static double worst_family (const struct bench *bench,
                            const struct dn_judgement *judgement)
{
    double worst = NAN;

    for (int f = 0; f < bench->training->runs.labels[DN_LABEL_CODE].n; f++) {
        int n_covered = 0;
        int n = 0;

        for (int i = 0; i < judgement->n; i++) {
            const struct dn_judged *judged = &judgement->runs[i];

            if (run_of (bench, judged)->label[DN_LABEL_CODE] != f)
                continue;
            n++;
            n_covered += judged->learned <= judged->bounds[DN_JUDGED_P95];
        }
        if (n >= DN_FAMILY_RUNS)
            worst = fmin (worst, (double) n_covered / n);
    }
    return worst;
}

static void judge_width (struct bench *bench,
                         int level,
                         const struct dn_judgement *judgement,
                         struct dn_width *width)
{
    int n_covered = 0;

    *width = (struct dn_width){.n = 0};
    for (int i = 0; i < judgement->n; i++) {
        const struct dn_judged *judged = &judgement->runs[i];

        if ((int) judged->level != level)
            continue;
        n_covered += judged->learned <= judged->bounds[DN_JUDGED_P95];
        bench->values[width->n++] = exp ((double) judged->bounds[DN_JUDGED_P95]);
    }
    if (width->n == 0)
        return;
    width->coverage = (double) n_covered / width->n;
    width->width = dn_reals_median (bench->values, width->n);
}

/* The votes of the runs, and what they say of confidence and of the bound. */
static int judge_confidence (struct bench *bench,
                             struct dn_judgement *judgement,
                             struct dn_err *err)
{
    const struct dn_label_names *labels = bench->training->runs.labels;
    dn_cleanup (dn_free_ptr) double *counts =
        calloc ((size_t) labels[DN_LABEL_CODE].n * (size_t) labels[DN_LABEL_FAMILY].n,
                sizeof (*counts));
    double votes = 0;

    if (!counts)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int i = 0; i < judgement->n; i++)
        votes += counts[pair_of (bench, &judgement->runs[i])]++ == 0;
    for (int i = 0; i < judgement->n; i++) {
        struct dn_judged *judged = &judgement->runs[i];

        judged->vote = 1 / counts[pair_of (bench, judged)];
        dn_reliability_add (judgement->reliability,
                            judged->vote,
                            (double) judged->confidence,
                            (double) judged->learned);
        if (judged->learned <= judged->bounds[DN_JUDGED_P95])
            judgement->votes_covered += judged->vote / votes;
    }
    return 0;
}

/* --- bounds ---------------------------------------------------------------------- */

/* What a scheme has left out of the training with a run. */
static void find_skip (const struct dn_example *run, int scheme, int skip[DN_N_LABELS])
{
    const enum dn_label *labels = dn_scheme_labels[scheme];

    for (int l = 0; l < DN_N_LABELS; l++)
        skip[l] = -1;
    for (int i = 0; i < 2; i++)
        if (labels[i] < DN_N_LABELS)
            skip[labels[i]] = run->label[labels[i]];
}

static void bound_run (const struct bench *bench,
                       const struct dn_bounds *bounds,
                       double sigma,
                       struct dn_judged *judged)
{
    const struct dn_validation validation = {.level = judged->level};
    struct dn_range range = {
        .p50 = 1,
        .sigma = sigma,
        .quantiles = dn_bounds_at (bounds, run_of (bench, judged)->kind, &validation)};

    for (int l = 0; l < DN_N_JUDGED; l++)
        judged->bounds[l] = (float) log (dn_range_at (range, dn_judged_levels[l]));
    judged->confidence = (float) dn_range_within (range, DN_CONFIDENCE_FACTOR);
}

/* The bounds of all runs, each time of those with the same labels left out. */
static int bound_runs (struct bench *bench,
                       struct dn_judgement *judgement,
                       struct dn_err *err)
{
    const struct dn_runs *runs = &bench->training->runs;
    size_t n = (size_t) judgement->n + 1;
    dn_cleanup (dn_free_ptr) bool *done = calloc (n, sizeof (*done));
    dn_cleanup (dn_free_ptr) struct dn_bounds *bounds = malloc (2 * sizeof (*bounds));

    if (!done || !bounds)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int i = 0; i < judgement->n; i++) {
        int skip[DN_N_LABELS];

        if (done[i])
            continue;
        find_skip (run_of (bench, &judgement->runs[i]), bench->scheme, skip);
        dn_bounds_fit (&bench->pool, bench->training->margin, skip, bounds);
        dn_bounds_fit (&bench->within, 1, skip, bounds + 1);
        dn_bounds_link (bounds, bounds + 1);
        for (int j = i; j < judgement->n; j++) {
            struct dn_judged *judged = &judgement->runs[j];
            int other[DN_N_LABELS];

            find_skip (&runs->runs[judged->run], bench->scheme, other);
            if (done[j] || memcmp (skip, other, sizeof (skip)) != 0)
                continue;
            bound_run (bench, bounds, (double) judged->bounds[0], judged);
            done[j] = true;
        }
    }
    return 0;
}

/* --- schemes --------------------------------------------------------------------- */

/* The runs that were judged, with the spread in the place of their first bound. */
static int list_runs (const struct bench *bench,
                      struct dn_judgement *judgement,
                      struct dn_err *err)
{
    const struct dn_case_set *set = bench->set;

    judgement->runs = calloc ((size_t) set->n + 1, sizeof (*judgement->runs));
    if (!judgement->runs)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int i = 0; i < set->n; i++) {
        const struct dn_left_out *out = dn_left_out_by (set, bench->scheme) + i;

        if (!out->judged || out->run->censored)
            continue;
        judgement->runs[judgement->n++] = (struct dn_judged){
            .run = set->index[i],
            .white_box = (float) out->ratio,
            .learned = (float) dn_left_out_error (out, bench->domain),
            .bounds = {(float) dn_left_out_sigma (out, bench->domain)},
            .level = out->level};
    }
    return 0;
}

static int judge_scheme (struct bench *bench,
                         struct dn_judgement *judgement,
                         struct dn_err *err)
{
    free (judgement->runs);
    memset (judgement, 0, sizeof (*judgement));
    if (!bench->set->done[bench->scheme])
        return 0;
    if (list_runs (bench, judgement, err) < 0)
        return -1;
    if (judgement->n == 0)
        return 0;
    if (bound_runs (bench, judgement, err) < 0)
        return -1;
    judgement->white_box = sum_up (bench, judgement, false);
    judgement->learned = sum_up (bench, judgement, true);
    for (int l = 0; l < DN_N_JUDGED; l++)
        judge_level (bench, l, judgement);
    judgement->worst_family = worst_family (bench, judgement);
    for (int l = 0; l < DN_N_VALIDATED_LEVELS; l++)
        judge_width (bench, l, judgement, &judgement->widths[l]);
    return 0;
}

int dn_judge (struct dn_training *training,
              const struct dn_case_set *set,
              const struct dn_domain *domain,
              struct dn_err *err)
{
    dn_cleanup (free_bench) struct bench bench = {
        .training = training, .set = set, .domain = domain};

    bench.values = malloc (((size_t) set->n + 1) * sizeof (double));
    bench.work = malloc (((size_t) set->n + 1) * sizeof (double));
    if (!bench.values || !bench.work)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    if (dn_pool_make (&training->runs, set, domain, DN_LAW_BOUNDS, &bench.pool, err) < 0
        || dn_pool_make (
               &training->runs, set, domain, DN_LAW_WITHIN, &bench.within, err)
               < 0)
        return -1;
    for (int s = 0; s < DN_N_SCHEMES; s++) {
        bench.scheme = s;
        if (judge_scheme (&bench, &training->judgements[s], err) < 0
            || judge_confidence (&bench, &training->judgements[s], err) < 0)
            return -1;
    }
    return 0;
}
