/* bounds.c - upper bounds that hold for unseen models, sources and GPUs
 *
 * Split conformal prediction (Vovk, Gammerman, Shafer 2005) on ln (measured /
 * predicted) in units of the stated spread. The calibration runs were predicted by
 * trees that had not seen their model, their source, or their GPU. A bound must hold
 * for all three, so the largest of the three quantiles is taken. For runs that were
 * killed at their limit only a lower limit is known; the Kaplan-Meier estimate (1958)
 * moves their weight to the longer runs. In addition, at level 0.95 nine tenths of the
 * runs of nine tenths of the models must stay below the bound, and accordingly at other
 * levels: half of the share that may be missed is whole models, half is runs of one
 * model.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/parts.h"

const double dn_train_levels[DN_TRAIN_LEVELS] =
    {0.5, 0.8, 0.9, 0.95, 0.975, 0.99, 0.995};

/* A kind of network has separate bounds only with at least this many runs, models and
 * sources. With fewer, its quantile is random. */
#define GROUP_RUNS    200
#define GROUP_MODELS  8
#define GROUP_SOURCES 3

/* --- quantiles ------------------------------------------------------------------- */

struct score {
    double value;
    double weight;
    bool censored;
    int place;
};

static int compare (const void *a, const void *b)
{
    const struct score *x = a;
    const struct score *y = b;

    /* A measured value sorts before a censored one of the same size. */
    if (x->value < y->value || x->value > y->value)
        return x->value < y->value ? -1 : 1;
    if (x->censored != y->censored)
        return x->censored ? 1 : -1;
    return x->place - y->place;
}

double dn_scores_quantile (const struct dn_scores *sorted,
                           double level,
                           const bool *skip)
{
    double at_risk = 0;
    double squares = 0;
    double survive = 1;
    double last = 0;

    for (int i = 0; i < sorted->n; i++)
        if (!skip || !skip[i]) {
            at_risk += sorted->weight[i];
            squares += sorted->weight[i] * sorted->weight[i];
        }
    /* Vovk's (n + 1) / n, where n is the number of equal weights with this variance. */
    if (at_risk > 0)
        level *= 1 + squares / (at_risk * at_risk);
    for (int i = 0; i < sorted->n; i++) {
        if (skip && skip[i])
            continue;
        last = sorted->value[i];
        if (!sorted->censored[i] && at_risk > 0)
            survive *= fmax (1 - sorted->weight[i] / at_risk, 0);
        at_risk -= sorted->weight[i];
        if (1 - survive >= level - 1e-12)
            return last;
    }
    return last;
}

static void free_scores (struct dn_scores *scores)
{
    free (scores->value);
    free (scores->weight);
    free (scores->censored);
}

/* Sort the scores; 'place' receives the previous index of each. */
static int sort_scores (struct score *list,
                        int n,
                        struct dn_scores *sorted,
                        int *place,
                        struct dn_err *err)
{
    size_t size = (size_t) (n > 0 ? n : 1);

    sorted->value = malloc (size * sizeof (double));
    sorted->weight = malloc (size * sizeof (double));
    sorted->censored = malloc (size * sizeof (bool));
    if (!sorted->value || !sorted->weight || !sorted->censored)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    qsort (list, (size_t) n, sizeof (*list), compare);
    sorted->n = n;
    for (int i = 0; i < n; i++) {
        sorted->value[i] = list[i].value;
        sorted->weight[i] = list[i].weight;
        sorted->censored[i] = list[i].censored;
        if (place)
            place[i] = list[i].place;
    }
    return 0;
}

/* The scores of a scheme; with 'kind' (may be NULL) only those of one kind of network.
 */
static int list_scores (const struct dn_training *training,
                        const struct dn_case_set *set,
                        const struct dn_domain *domain,
                        enum dn_quantity quantity,
                        int scheme,
                        const char *kind,
                        struct score *list)
{
    const struct dn_runs *runs = &training->runs;
    int n = 0;

    for (int i = 0; i < set->n; i++) {
        const struct dn_example *run = &runs->runs[set->index[i]];
        double error = run->ratio[quantity];
        double sigma = run->memory_sigma;

        if (kind && strcmp (run->kind, kind) != 0)
            continue;
        if (quantity == DN_QUANTITY_STEP) {
            error = dn_case_error (set, domain, scheme, i);
            sigma = dn_case_sigma (set, runs, domain, scheme, i);
        }
        list[n++] = (struct score){error / sigma,
                                   set->weight[i],
                                   quantity == DN_QUANTITY_STEP && run->censored,
                                   i};
    }
    return n;
}

static int compare_reals (const void *a, const void *b)
{
    double x = *(const double *) a;
    double y = *(const double *) b;

    return (x > y) - (x < y);
}

/* --- quantiles over models ------------------------------------------------------- */

/* Fewer models do not determine the quantile for nine tenths of them. */
#define MODELS_MIN 10

/* The share of models, and of the runs of one, that must stay below the bound at
 * 'level'. Not positive at low levels.
 */
static double share_of (double level)
{
    return 1 - 2 * (1 - level);
}

/* The quantile of each model's own scores, NaN for models without any. NULL without
 * memory. */
static double *model_quantiles (const struct dn_runs *runs,
                                const struct dn_case_set *set,
                                const struct dn_scores *sorted,
                                const int *place,
                                double share)
{
    size_t n = (size_t) runs->labels[DN_LABEL_MODEL].n + 1;
    dn_cleanup (dn_free_ptr) double *left = calloc (n, sizeof (*left));
    double *values = malloc (n * sizeof (*values));

    if (!left || !values) {
        free (values);
        return NULL;
    }
    for (size_t m = 0; m < n; m++)
        values[m] = NAN;
    for (int i = 0; i < sorted->n; i++)
        left[runs->runs[set->index[place[i]]].label[DN_LABEL_MODEL]] +=
            share * sorted->weight[i];
    for (int i = 0; i < sorted->n; i++) {
        int m = runs->runs[set->index[place[i]]].label[DN_LABEL_MODEL];

        left[m] -= sorted->weight[i];
        if (isnan (values[m]) && left[m] <= 1e-12)
            values[m] = sorted->value[i];
    }
    return values;
}

/* The value that this share of the models stays below, without model 'skip'. -INFINITY
 * with too few models. 'work' has room for all of them.
 */
static double quantile_of_models (const double *values,
                                  int n_models,
                                  double share,
                                  int skip,
                                  double *work)
{
    int n = 0;

    for (int m = 0; m < n_models; m++)
        if (m != skip && !isnan (values[m]))
            work[n++] = values[m];
    if (n < MODELS_MIN || share < 0.5)
        return -INFINITY;
    qsort (work, (size_t) n, sizeof (*work), compare_reals);
    return work[(int) fmin (ceil (share * (n + 1)), n) - 1];
}

static int fit_scheme (const struct dn_training *training,
                       const struct dn_case_set *set,
                       const struct dn_domain *domain,
                       enum dn_quantity quantity,
                       int scheme,
                       const char *kind,
                       struct dn_quantiles *q,
                       struct dn_err *err)
{
    dn_cleanup (free_scores) struct dn_scores sorted = {0};
    size_t size = (size_t) (set->n > 0 ? set->n : 1);
    int n_models = training->runs.labels[DN_LABEL_MODEL].n;
    dn_cleanup (dn_free_ptr) struct score *list = malloc (size * sizeof (*list));
    dn_cleanup (dn_free_ptr) int *place = malloc (size * sizeof (*place));
    dn_cleanup (dn_free_ptr) double *work =
        malloc (((size_t) n_models + 1) * sizeof (*work));
    int n;

    if (!list || !place || !work)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    n = list_scores (training, set, domain, quantity, scheme, kind, list);
    if (sort_scores (list, n, &sorted, place, err) < 0)
        return -1;
    for (int i = 0; i < DN_TRAIN_LEVELS; i++) {
        double share = share_of (dn_train_levels[i]);
        dn_cleanup (dn_free_ptr) double *models =
            model_quantiles (&training->runs, set, &sorted, place, share);
        double value = dn_scores_quantile (&sorted, dn_train_levels[i], NULL);

        if (!models)
            return dn_err_set (err, DN_E_NOMEM, "out of memory");
        value = fmax (value, quantile_of_models (models, n_models, share, -1, work));
        if (value > 0)
            value *= training->margin;
        q->values[i] = fmax (q->values[i], value);
    }
    return 0;
}

/* The largest of the quantiles of the schemes. */
static int fit_quantiles (const struct dn_training *training,
                          const struct dn_case_set *set,
                          const struct dn_domain *domain,
                          enum dn_quantity quantity,
                          const char *kind,
                          struct dn_quantiles *q,
                          struct dn_err *err)
{
    bool any = false;

    q->n = DN_TRAIN_LEVELS;
    for (int i = 0; i < q->n; i++) {
        q->scores[i] =
            dn_train_levels[i] > 0.5 ? dn_normal_score (dn_train_levels[i]) : 0;
        q->values[i] = -INFINITY;
    }
    if (quantity != DN_QUANTITY_STEP)
        return fit_scheme (training, set, domain, quantity, 0, kind, q, err);
    for (int s = DN_SCHEME_MODEL; s < DN_N_SCHEMES; s++) {
        if (!set->done[s])
            continue;
        any = true;
        if (fit_scheme (training, set, domain, quantity, s, kind, q, err) < 0)
            return -1;
    }
    return any ? 0
               : fit_scheme (
                   training, set, domain, quantity, DN_SCHEME_RUN, kind, q, err);
}

static int count_values (const struct dn_training *training,
                         const struct dn_case_set *set,
                         enum dn_label label,
                         const char *kind,
                         int *n_runs)
{
    const struct dn_runs *runs = &training->runs;
    dn_cleanup (dn_free_ptr) bool *seen =
        calloc ((size_t) runs->labels[label].n + 1, sizeof (bool));
    int n = 0;

    *n_runs = 0;
    for (int i = 0; seen && i < set->n; i++) {
        const struct dn_example *run = &runs->runs[set->index[i]];

        if (strcmp (run->kind, kind) != 0)
            continue;
        n += !seen[run->label[label]];
        seen[run->label[label]] = true;
        (*n_runs)++;
    }
    return n;
}

int dn_bounds_fit (const struct dn_training *training,
                   const struct dn_case_set *set,
                   const struct dn_domain *domain,
                   enum dn_quantity quantity,
                   struct dn_bounds *bounds,
                   struct dn_err *err)
{
    static const char *const kinds[] = {"conv", "attention", "recurrent", "other"};

    memset (bounds, 0, sizeof (*bounds));
    if (set->n == 0)
        return 0;
    if (fit_quantiles (training, set, domain, quantity, NULL, &bounds->all, err) < 0)
        return -1;
    for (size_t k = 0; k < DN_N_ELEMENTS (kinds); k++) {
        struct dn_bound_group *group = &bounds->groups[bounds->n_groups];
        int n;

        if (count_values (training, set, DN_LABEL_MODEL, kinds[k], &n) < GROUP_MODELS
            || count_values (training, set, DN_LABEL_SOURCE, kinds[k], &n)
                   < GROUP_SOURCES
            || n < GROUP_RUNS)
            continue;
        snprintf (group->name, sizeof (group->name), "%s", kinds[k]);
        if (fit_quantiles (
                training, set, domain, quantity, kinds[k], &group->quantiles, err)
            < 0)
            return -1;
        bounds->n_groups++;
    }
    return 0;
}

/* --- judging --------------------------------------------------------------------- */

static double median (double *values, int n)
{
    if (n == 0)
        return NAN;
    qsort (values, (size_t) n, sizeof (*values), compare_reals);
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Group one value per case by model. Return the mean over models of 'of' their values.
 */
static double over_models (const struct dn_runs *runs,
                           const struct dn_case_set *set,
                           const double *values,
                           double *work,
                           double (*of) (double *values, int n),
                           int *n_models)
{
    double sum = 0;

    *n_models = 0;
    for (int m = 0; m < runs->labels[DN_LABEL_MODEL].n; m++) {
        int n = 0;

        for (int i = 0; i < set->n; i++) {
            const struct dn_example *run = &runs->runs[set->index[i]];

            if (run->label[DN_LABEL_MODEL] == m && !run->censored)
                work[n++] = values[i];
        }
        if (n == 0)
            continue;
        sum += of (work, n);
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

/* Fill the error figures from |predicted / measured - 1| of each case. */
static void sum_up (const struct dn_runs *runs,
                    const struct dn_case_set *set,
                    double *off,
                    double *work,
                    struct dn_errors *errors)
{
    int n_models;
    int n = 0;
    double sum = 0;

    errors->per_model = over_models (runs, set, off, work, median, &n_models);
    for (int i = 0; i < set->n; i++)
        if (!runs->runs[set->index[i]].censored) {
            work[n++] = off[i];
            sum += off[i];
        }
    errors->mean = n > 0 ? sum / n : NAN;
    errors->median = median (work, n);
}

/* Working values per case for judging one scheme. */
struct bench {
    struct score *list;
    int *place;
    bool *skip;
    double *bound;   /* ln of the bound over the prediction */
    double *covered; /* 1 or 0 */
    double *wide;    /* bound / measured */
    double *work;
};

static void free_bench (struct bench *bench)
{
    free (bench->list);
    free (bench->place);
    free (bench->skip);
    free (bench->bound);
    free (bench->covered);
    free (bench->wide);
    free (bench->work);
}

static int make_bench (int n, struct bench *bench, struct dn_err *err)
{
    size_t size = (size_t) (n > 0 ? n : 1);

    bench->list = malloc (size * sizeof (*bench->list));
    bench->place = malloc (size * sizeof (int));
    bench->skip = malloc (size * sizeof (bool));
    bench->bound = calloc (size, sizeof (double));
    bench->covered = malloc (size * sizeof (double));
    bench->wide = malloc (size * sizeof (double));
    bench->work = malloc (size * sizeof (double));
    if (!bench->list || !bench->place || !bench->skip || !bench->bound
        || !bench->covered || !bench->wide || !bench->work)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    return 0;
}

/* The bound of every case, computed from cases of other models, so that no case
 * calibrates its own bound. Only the scheme's own quantile is used, since those of the
 * other schemes would hide its accuracy.
 */
static int bound_cases (const struct dn_training *training,
                        const struct dn_case_set *set,
                        const struct dn_domain *domain,
                        int scheme,
                        double level,
                        struct bench *bench,
                        struct dn_err *err)
{
    const struct dn_runs *runs = &training->runs;
    dn_cleanup (free_scores) struct dn_scores sorted = {0};
    int n = list_scores (
        training, set, domain, DN_QUANTITY_STEP, scheme, NULL, bench->list);
    double share = share_of (level);
    int n_models = runs->labels[DN_LABEL_MODEL].n;
    dn_cleanup (dn_free_ptr) double *models = NULL;
    dn_cleanup (dn_free_ptr) double *work =
        malloc (((size_t) n_models + 1) * sizeof (*work));
    double all;

    if (!work || sort_scores (bench->list, n, &sorted, bench->place, err) < 0)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    models = model_quantiles (runs, set, &sorted, bench->place, share);
    if (!models)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    all = fmax (dn_scores_quantile (&sorted, level, NULL),
                quantile_of_models (models, n_models, share, -1, work));
    for (int i = 0; i < n; i++)
        bench->bound[i] = all * dn_case_sigma (set, runs, domain, scheme, i);
    for (int m = 0; m < n_models && n * m < 100000000; m++) {
        double others;
        int n_skipped = 0;

        for (int i = 0; i < n; i++) {
            const struct dn_example *run = &runs->runs[set->index[bench->place[i]]];

            bench->skip[i] = run->label[DN_LABEL_MODEL] == m;
            n_skipped += bench->skip[i];
        }
        if (n_skipped == 0 || n_skipped == n)
            continue;
        others = fmax (dn_scores_quantile (&sorted, level, bench->skip),
                       quantile_of_models (models, n_models, share, m, work));
        for (int i = 0; i < n; i++)
            if (bench->skip[i]) {
                int at = bench->place[i];

                bench->bound[at] =
                    others * dn_case_sigma (set, runs, domain, scheme, at);
            }
    }
    return 0;
}

static int judge_bounds (const struct dn_training *training,
                         const struct dn_case_set *set,
                         const struct dn_domain *domain,
                         int scheme,
                         struct bench *bench,
                         struct dn_judgement *judgement,
                         struct dn_err *err)
{
    static const double levels[2] = {0.95, 0.99};
    const struct dn_runs *runs = &training->runs;

    for (int l = 0; l < 2; l++) {
        double covered = 0;

        if (bound_cases (training, set, domain, scheme, levels[l], bench, err) < 0)
            return -1;
        judgement->n = 0;
        for (int i = 0; i < set->n; i++) {
            double error = dn_case_error (set, domain, scheme, i);

            bench->covered[i] = error <= bench->bound[i] ? 1 : 0;
            if (runs->runs[set->index[i]].censored)
                continue;
            covered += bench->covered[i];
            bench->wide[judgement->n++] =
                exp (training->margin * fmax (bench->bound[i], 0)
                     + fmin (bench->bound[i], 0) - error);
        }
        judgement->coverage[l] = covered / judgement->n;
        judgement->tightness[l] = median (bench->wide, judgement->n);
        judgement->models[l] = over_models (
            runs, set, bench->covered, bench->work, nine_tenths, &judgement->n_models);
    }
    return 0;
}

int dn_judge (struct dn_training *training,
              const struct dn_case_set *set,
              const struct dn_domain *domain,
              struct dn_err *err)
{
    const struct dn_runs *runs = &training->runs;
    dn_cleanup (free_bench) struct bench bench = {0};

    if (make_bench (set->n, &bench, err) < 0)
        return -1;
    for (int s = 0; s < DN_N_SCHEMES; s++) {
        struct dn_judgement *judgement = &training->judgements[s];

        memset (judgement, 0, sizeof (*judgement));
        if (!set->done[s])
            continue;
        for (int i = 0; i < set->n; i++)
            bench.bound[i] = fabs (expm1 (-dn_case_error (set, domain, s, i)));
        sum_up (runs, set, bench.bound, bench.work, &judgement->learned);
        for (int i = 0; i < set->n; i++)
            bench.bound[i] = fabs (expm1 (-set->ratio[s * set->n + i]));
        sum_up (runs, set, bench.bound, bench.work, &judgement->white_box);
        if (judge_bounds (training, set, domain, s, &bench, judgement, err) < 0)
            return -1;
    }
    return 0;
}
