/* folds.c - predict the runs that are left out from those that are kept
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/boost.h"
#include "learn/parts.h"

/* Larger targets are cut off. Trees cannot learn them: they are errors of a table, or
 * sites limited by their input. */
#define TARGET_MAX DN_TRAIN_LIMIT

#define RANDOM_FOLDS 10

static const char *const scheme_text[] = {
    [DN_SCHEME_RUN] = "run",
    [DN_SCHEME_MODEL] = "model",
    [DN_SCHEME_SOURCE] = "source",
    [DN_SCHEME_GPU] = "gpu",
};

const struct dn_names dn_scheme_names = DN_NAMES (scheme_text, DN_N_SCHEMES);

/* The label whose values a scheme leaves out. */
static int label_of (int scheme)
{
    return scheme == DN_SCHEME_MODEL    ? DN_LABEL_MODEL
           : scheme == DN_SCHEME_SOURCE ? DN_LABEL_SOURCE
                                        : DN_LABEL_GPU;
}

/* --- the cases ------------------------------------------------------------------- */

static void scale_to_mean_one (double *values, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += values[i];
    for (int i = 0; i < n; i++)
        values[i] *= (double) n / sum;
}

/* Runs of one model from one source are similar, and their number is arbitrary. */
static int weigh (struct dn_case_set *set, const struct dn_runs *runs)
{
    size_t n_models = (size_t) runs->labels[DN_LABEL_MODEL].n;
    size_t n_sources = (size_t) runs->labels[DN_LABEL_SOURCE].n;
    dn_cleanup (dn_free_ptr) int *counts = calloc (n_models * n_sources, sizeof (int));

    if (!counts)
        return -1;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < set->n; i++) {
            const int *label = runs->runs[set->index[i]].label;
            int *count = &counts[(size_t) label[DN_LABEL_MODEL] * n_sources
                                 + (size_t) label[DN_LABEL_SOURCE]];

            *count += pass == 0;
            if (pass == 0)
                continue;
            set->vote[i] = 1.0 / *count;
            set->weight[i] = sqrt (set->vote[i]);
        }
    scale_to_mean_one (set->vote, set->n);
    scale_to_mean_one (set->weight, set->n);
    return 0;
}

int dn_case_set_init (struct dn_case_set *set,
                      const struct dn_runs *runs,
                      enum dn_quantity quantity,
                      struct dn_err *err)
{
    size_t n;

    memset (set, 0, sizeof (*set));
    set->index = dn_runs_with (runs, quantity, &set->n);
    n = (size_t) (set->n > 0 ? set->n : 1);
    set->vote = calloc (n, sizeof (double));
    set->weight = calloc (n, sizeof (double));
    set->residual = calloc (n * DN_N_SCHEMES, sizeof (double));
    set->distance = calloc (n * DN_N_SCHEMES, sizeof (double));
    set->ratio = calloc (n * DN_N_SCHEMES, sizeof (double));
    if (set->index && set->vote && set->weight && set->residual && set->distance
        && set->ratio && (set->n == 0 || weigh (set, runs) == 0)) {
        for (int i = 0; i < set->n * DN_N_SCHEMES; i++)
            set->ratio[i] = runs->runs[set->index[i % set->n]].ratio[quantity];
        return 0;
    }
    dn_case_set_free (set);
    return dn_err_set (err, DN_E_NOMEM, "out of memory");
}

void dn_case_set_free (struct dn_case_set *set)
{
    free (set->index);
    free (set->vote);
    free (set->weight);
    free (set->residual);
    free (set->distance);
    free (set->ratio);
    memset (set, 0, sizeof (*set));
}

/* --- trees ----------------------------------------------------------------------- */

/* The input of libxgboost for some runs. */
struct table {
    float *features;
    float *targets;
    float *weights;
    bool *floor;
};

static void free_table (struct table *table)
{
    free (table->features);
    free (table->targets);
    free (table->weights);
    free (table->floor);
}

static int fill_table (const struct dn_runs *runs,
                       const int *index,
                       const double *weight,
                       int n,
                       struct table *table,
                       struct dn_err *err)
{
    size_t rows = (size_t) (n > 0 ? n : 1);

    table->features = malloc (rows * DN_N_FEATURES * sizeof (float));
    table->targets = malloc (rows * sizeof (float));
    table->weights = malloc (rows * sizeof (float));
    table->floor = malloc (rows * sizeof (bool));
    if (!table->features || !table->targets || !table->weights || !table->floor)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int i = 0; i < n; i++) {
        const struct dn_example *run = &runs->runs[index[i]];
        double target = run->ratio[DN_QUANTITY_STEP];

        memcpy (table->features + (size_t) i * DN_N_FEATURES,
                run->features,
                sizeof (run->features));
        table->targets[i] = (float) fmin (fmax (target, -TARGET_MAX), TARGET_MAX);
        table->weights[i] = weight ? (float) weight[i] : 1;
        table->floor[i] = run->censored;
    }
    return 0;
}

struct dn_boost *dn_train_trees (const struct dn_runs *runs,
                                 const int *index,
                                 const double *weight,
                                 int n,
                                 uint64_t seed,
                                 struct dn_err *err)
{
    dn_cleanup (free_table) struct table table = {0};

    if (fill_table (runs, index, weight, n, &table, err) < 0)
        return NULL;
    return dn_boost_train (table.features,
                           n,
                           DN_N_FEATURES,
                           table.targets,
                           table.weights,
                           table.floor,
                           seed,
                           err);
}

/* --- one fold -------------------------------------------------------------------- */

/* The cases of a set, with those that are left out at the end. */
struct split {
    int *place;     /* in the set */
    int *index;     /* in the runs */
    double *weight; /* of those that are kept, with mean 1 */
    float *sums;    /* of those that are left out */
    int n_kept;
    int n;
};

static void free_split (struct split *split)
{
    free (split->place);
    free (split->index);
    free (split->weight);
    free (split->sums);
}

static int split_set (const struct dn_case_set *set,
                      const int *fold_of,
                      int fold,
                      struct split *split,
                      struct dn_err *err)
{
    size_t n = (size_t) set->n;

    split->place = malloc (n * sizeof (int));
    split->index = malloc (n * sizeof (int));
    split->weight = malloc (n * sizeof (double));
    split->sums = malloc (n * sizeof (float));
    if (!split->place || !split->index || !split->weight || !split->sums)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int out = 0; out <= 1; out++)
        for (int i = 0; i < set->n; i++) {
            if ((fold_of[i] == fold) != (out == 1))
                continue;
            split->place[split->n] = i;
            split->index[split->n] = set->index[i];
            split->weight[split->n++] = set->weight[i];
            split->n_kept += out == 0;
        }
    if (split->n_kept > 0)
        scale_to_mean_one (split->weight, split->n_kept);
    return 0;
}

static int predict_split (const struct dn_runs *runs,
                          const struct dn_boost *trees,
                          const struct split *split,
                          struct dn_err *err)
{
    dn_cleanup (free_table) struct table table = {0};
    int n = split->n - split->n_kept;

    if (fill_table (runs, split->index + split->n_kept, NULL, n, &table, err) < 0)
        return -1;
    return dn_boost_predict (trees, table.features, n, DN_N_FEATURES, split->sums, err);
}

static void domain_free (struct dn_domain *domain)
{
    free (domain->points);
}

static void boost_free (struct dn_boost **boost)
{
    dn_boost_free (*boost);
}

static int judge_fold (struct dn_training *training,
                       struct dn_case_set *set,
                       int scheme,
                       const struct split *split,
                       struct dn_err *err)
{
    const struct dn_runs *runs = &training->runs;
    dn_cleanup (domain_free) struct dn_domain domain = {.n_knots = 0};
    dn_cleanup (boost_free) struct dn_boost *trees = dn_train_trees (
        runs, split->index, split->weight, split->n_kept, training->seed, err);

    if (!trees || dn_domain_fit (runs, split->index, split->n_kept, &domain, err) < 0
        || predict_split (runs, trees, split, err) < 0)
        return -1;
    for (int i = split->n_kept; i < split->n; i++) {
        size_t at = (size_t) scheme * (size_t) set->n + (size_t) split->place[i];
        const struct dn_example *run = &runs->runs[split->index[i]];

        set->residual[at] = (double) split->sums[i - split->n_kept];
        set->distance[at] = dn_domain_distance (&domain, run->features);
        set->ratio[at] = run->ratio[DN_QUANTITY_STEP];
    }
    return 0;
}

/* Refit the white box without the runs that are left out. */
static int refit (struct dn_training *training,
                  const struct split *split,
                  struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) bool *left_out =
        calloc ((size_t) training->runs.n, sizeof (bool));

    if (!left_out)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int i = split->n_kept; i < split->n; i++)
        left_out[split->index[i]] = true;
    return training->refit (training->context, left_out, &training->runs, err);
}

static int run_fold (struct dn_training *training,
                     struct dn_case_set *set,
                     int scheme,
                     const int *fold_of,
                     int fold,
                     struct dn_err *err)
{
    dn_cleanup (free_split) struct split split = {0};
    struct dn_runs *runs = &training->runs;
    size_t bytes = (size_t) runs->n * sizeof (*runs->runs);
    dn_cleanup (dn_free_ptr) struct dn_example *before = NULL;
    int rc;

    if (split_set (set, fold_of, fold, &split, err) < 0)
        return -1;
    if (!training->refit || scheme == DN_SCHEME_RUN)
        return judge_fold (training, set, scheme, &split, err);
    before = malloc (bytes);
    if (!before)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    memcpy (before, runs->runs, bytes);
    rc = refit (training, &split, err) < 0
             ? -1
             : judge_fold (training, set, scheme, &split, err);
    memcpy (runs->runs, before, bytes);
    return rc;
}

/* --- all folds ------------------------------------------------------------------- */

/* Assign the values of a label to folds. The largest remaining value goes to the
 * emptiest fold. Return the number of folds.
 */
static int assign_values (const int *counts, int n_values, int max, int *fold)
{
    dn_cleanup (dn_free_ptr) int *load = calloc ((size_t) max, sizeof (int));
    int n = 0;

    if (!load)
        return -1;
    for (int i = 0; i < n_values; i++)
        fold[i] = -1;
    for (;;) {
        int largest = -1;
        int emptiest = 0;

        for (int i = 0; i < n_values; i++)
            if (fold[i] < 0 && counts[i] > 0
                && (largest < 0 || counts[i] > counts[largest]))
                largest = i;
        if (largest < 0)
            return n < max ? n : max;
        for (int i = 1; i < max; i++)
            if (load[i] < load[emptiest])
                emptiest = i;
        fold[largest] = emptiest;
        load[emptiest] += counts[largest];
        n++;
    }
}

/* Assign every case to a fold. Return the number of folds; -1 without memory. */
static int assign_folds (const struct dn_training *training,
                         const struct dn_case_set *set,
                         int scheme,
                         int *fold_of)
{
    const struct dn_runs *runs = &training->runs;
    int label = label_of (scheme);
    size_t n_values = (size_t) runs->labels[label].n;
    dn_cleanup (dn_free_ptr) int *counts = calloc (n_values, sizeof (int));
    dn_cleanup (dn_free_ptr) int *folds = calloc (n_values, sizeof (int));
    uint64_t state = training->seed;
    int n = RANDOM_FOLDS;

    if (!counts || !folds)
        return -1;
    if (scheme == DN_SCHEME_RUN) {
        for (int i = 0; i < set->n; i++)
            fold_of[i] = (int) (dn_random (&state) % RANDOM_FOLDS);
        return set->n >= RANDOM_FOLDS ? n : 0;
    }
    for (int i = 0; i < set->n; i++)
        counts[runs->runs[set->index[i]].label[label]]++;
    n = assign_values (counts, (int) n_values, training->max_folds, folds);
    for (int i = 0; i < set->n; i++)
        fold_of[i] = folds[runs->runs[set->index[i]].label[label]];
    return n;
}

int dn_cross_validate (struct dn_training *training,
                       struct dn_case_set *set,
                       struct dn_err *err)
{
    size_t n = (size_t) set->n;
    dn_cleanup (dn_free_ptr) int *fold_of = malloc (n * DN_N_SCHEMES * sizeof (int));
    int n_folds[DN_N_SCHEMES];
    int total = 1; /* the trees of the bundle */
    int done = 0;

    if (!fold_of)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int s = 0; s < DN_N_SCHEMES; s++) {
        n_folds[s] = assign_folds (training, set, s, fold_of + (size_t) s * n);
        if (n_folds[s] < 0)
            return dn_err_set (err, DN_E_NOMEM, "out of memory");
        set->done[s] = n_folds[s] > 1;
        total += set->done[s] ? n_folds[s] : 0;
    }
    for (int s = 0; s < DN_N_SCHEMES; s++)
        for (int f = 0; set->done[s] && f < n_folds[s]; f++) {
            if (run_fold (training, set, s, fold_of + (size_t) s * n, f, err) < 0)
                return -1;
            done++;
            if (training->progress)
                training->progress (training->context, done, (double) done / total);
        }
    return 0;
}
