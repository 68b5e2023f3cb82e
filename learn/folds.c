/* folds.c - predict the runs that are left out from those that are kept
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/boost.h"
#include "learn/parts.h"
#include "learn/reals.h"
#include "predict/features.h"

/* Larger targets are cut off. Trees cannot learn them: they are errors of a table, or
 * sites limited by their input. */
#define TARGET_MAX DN_TRAIN_LIMIT

#define RANDOM_FOLDS 10

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

static int compare_reals (const void *a, const void *b)
{
    float x = *(const float *) a;
    float y = *(const float *) b;

    return (x > y) - (x < y);
}

static float median_of (float *values, int n)
{
    qsort (values, (size_t) n, sizeof (*values), compare_reals);
    return values[n / 2];
}

/* How fast a source is with a family of models is a matter of that source: what carries
 * over is how its runs differ from one another. So the median of each unit is moved to
 * the mean of these medians.
 */
static int centre (const struct dn_case_set *set,
                   const int *place,
                   struct table *table,
                   int n,
                   struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) float *work = malloc ((size_t) n * sizeof (*work));
    dn_cleanup (dn_free_ptr) float *medians =
        calloc ((size_t) set->n_units, sizeof (*medians));
    float mean = 0;
    int n_units = 0;

    if (!work || !medians)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int u = 0; u < set->n_units; u++) {
        int own = 0;

        for (int i = 0; i < n; i++)
            if (set->unit[place[i]] == u && !table->floor[i])
                work[own++] = table->targets[i];
        if (own == 0)
            continue;
        medians[u] = median_of (work, own);
        mean += medians[u];
        n_units++;
    }
    for (int i = 0; i < n && n_units > 0; i++)
        table->targets[i] += mean / (float) n_units - medians[set->unit[place[i]]];
    return 0;
}

struct dn_boost *dn_train_trees (const struct dn_runs *runs,
                                 const struct dn_case_set *set,
                                 const int *place,
                                 const double *weight,
                                 int n,
                                 uint64_t seed,
                                 struct dn_err *err)
{
    dn_cleanup (free_table) struct table table = {0};
    dn_cleanup (dn_free_ptr) int *index =
        malloc ((size_t) (n > 0 ? n : 1) * sizeof (*index));

    if (!index) {
        dn_err_set (err, DN_E_NOMEM, "out of memory");
        return NULL;
    }
    for (int i = 0; i < n; i++)
        index[i] = set->index[place[i]];
    if (fill_table (runs, index, weight, n, &table, err) < 0
        || centre (set, place, &table, n, err) < 0)
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

/* The parts that a scheme divides the cases into, by one label or by two. A fold is a
 * part of each label: the cases in both parts are judged, and those in neither are
 * kept.
 */
struct folds {
    int *part[2]; /* of each case; NULL: not by a second label; owned */
    int n[2];     /* parts; 1 without a second label */
};

static void free_folds (struct folds *folds)
{
    free (folds->part[0]);
    free (folds->part[1]);
}

static int n_folds (const struct folds *folds)
{
    return folds->n[0] * folds->n[1];
}

static bool is_in (const struct folds *folds, int label, int fold, int i)
{
    int part = label == 0 ? fold / folds->n[1] : fold % folds->n[1];

    return folds->part[label] && folds->part[label][i] == part;
}

static bool is_judged (const struct folds *folds, int fold, int i)
{
    return is_in (folds, 0, fold, i) && (!folds->part[1] || is_in (folds, 1, fold, i));
}

static bool is_kept (const struct folds *folds, int fold, int i)
{
    return !is_in (folds, 0, fold, i) && !is_in (folds, 1, fold, i);
}

/* The cases of a set that are kept, then those that are judged. */
struct split {
    int *place;     /* in the set */
    int *index;     /* in the runs */
    double *weight; /* of those that are kept, with mean 1 */
    float *sums;    /* of those that are judged */
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
                      const struct folds *folds,
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
            if (out == 1 ? !is_judged (folds, fold, i) : !is_kept (folds, fold, i))
                continue;
            split->place[split->n] = i;
            split->index[split->n] = set->index[i];
            split->weight[split->n++] = set->weight[i];
            split->n_kept += out == 0;
        }
    if (split->n_kept > 0)
        dn_weights_scale (split->weight, split->n_kept);
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

/* Which kinds of networks were kept, in each stack; the last entry of a row is any
 * stack. NULL without memory.
 */
static bool *find_seen (const struct dn_runs *runs, const struct split *split)
{
    size_t n_stacks = (size_t) runs->labels[DN_LABEL_STACK].n + 1;
    bool *seen =
        calloc ((size_t) runs->labels[DN_LABEL_KIND].n * n_stacks, sizeof (bool));

    for (int i = 0; seen && i < split->n_kept; i++) {
        const int *label = runs->runs[split->index[i]].label;
        bool *row = seen + (size_t) label[DN_LABEL_KIND] * n_stacks;

        row[label[DN_LABEL_STACK]] = row[n_stacks - 1] = true;
    }
    return seen;
}

static enum dn_validated_level level_of (const struct dn_runs *runs,
                                         const bool *seen,
                                         const struct dn_example *run)
{
    size_t n_stacks = (size_t) runs->labels[DN_LABEL_STACK].n + 1;
    const bool *row = seen + (size_t) run->label[DN_LABEL_KIND] * n_stacks;

    const char *stack = runs->labels[DN_LABEL_STACK].names[run->label[DN_LABEL_STACK]];

    if (!row[n_stacks - 1])
        return DN_VALIDATED_NOTHING;
    return row[run->label[DN_LABEL_STACK]] || strcmp (stack, DN_STACK_UNSTATED) == 0
               ? DN_VALIDATED_STACK
               : DN_VALIDATED_KIND;
}

/* The sums of trees that the runs which were kept make, of the others. */
static int find_residuals (const struct dn_training *training,
                           const struct dn_case_set *set,
                           const struct split *split,
                           struct dn_err *err)
{
    const struct dn_runs *runs = &training->runs;
    dn_cleanup (boost_free) struct dn_boost *trees = NULL;

    if (training->bounds_only) {
        for (int i = 0; i < split->n - split->n_kept; i++)
            split->sums[i] = 0;
        return 0;
    }
    trees = dn_train_trees (
        runs, set, split->place, split->weight, split->n_kept, training->seed, err);
    return trees ? predict_split (runs, trees, split, err) : -1;
}

static int judge_fold (struct dn_training *training,
                       struct dn_case_set *set,
                       int scheme,
                       const struct split *split,
                       struct dn_err *err)
{
    const struct dn_runs *runs = &training->runs;
    dn_cleanup (domain_free) struct dn_domain domain = {.n_knots = 0};
    dn_cleanup (dn_free_ptr) bool *seen = find_seen (runs, split);

    if (!seen)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    if (dn_domain_fit (runs, split->index, split->n_kept, &domain, err) < 0
        || find_residuals (training, set, split, err) < 0)
        return -1;
    for (int i = split->n_kept; i < split->n; i++) {
        struct dn_left_out *out = dn_left_out_by (set, scheme) + split->place[i];

        out->residual = (double) split->sums[i - split->n_kept];
        out->distance = dn_domain_distance (&domain, out->run->features);
        out->ratio = out->run->ratio[DN_QUANTITY_STEP];
        out->judged = true;
        out->level = level_of (runs, seen, out->run);
    }
    return 0;
}

/* Refit the white box without the runs that are not kept. */
static int refit (struct dn_training *training,
                  const struct split *split,
                  struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) bool *left_out =
        malloc ((size_t) training->runs.n * sizeof (bool));

    if (!left_out)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    memset (left_out, true, (size_t) training->runs.n * sizeof (bool));
    for (int i = 0; i < split->n_kept; i++)
        left_out[split->index[i]] = false;
    return training->refit (training->context, left_out, &training->runs, err);
}

static int run_fold (struct dn_training *training,
                     struct dn_case_set *set,
                     int scheme,
                     const struct folds *folds,
                     int fold,
                     struct dn_err *err)
{
    dn_cleanup (free_split) struct split split = {0};
    struct dn_runs *runs = &training->runs;
    size_t bytes = (size_t) runs->n * sizeof (*runs->runs);
    dn_cleanup (dn_free_ptr) struct dn_example *before = NULL;
    int rc;

    if (split_set (set, folds, fold, &split, err) < 0)
        return -1;
    if (split.n == split.n_kept || split.n_kept == 0)
        return 0; /* nothing to judge, or nothing to judge it by */
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

/* Divide the cases into at most 'max' parts by a label. Return their number; -1 without
 * memory.
 */
static int divide (const struct dn_runs *runs,
                   const struct dn_case_set *set,
                   enum dn_label label,
                   int max,
                   int *part)
{
    size_t n_values = (size_t) runs->labels[label].n;
    dn_cleanup (dn_free_ptr) int *counts = calloc (n_values, sizeof (int));
    dn_cleanup (dn_free_ptr) int *parts = calloc (n_values, sizeof (int));
    int n;

    if (!counts || !parts)
        return -1;
    for (int i = 0; i < set->n; i++)
        counts[runs->runs[set->index[i]].label[label]]++;
    n = assign_values (counts, (int) n_values, max, parts);
    for (int i = 0; i < set->n; i++)
        part[i] = parts[runs->runs[set->index[i]].label[label]];
    return n;
}

/* The folds that have cases to judge. */
static int count_folds (const struct folds *folds, int n_cases)
{
    int n = 0;

    for (int fold = 0; fold < n_folds (folds); fold++)
        for (int i = 0; i < n_cases; i++)
            if (is_judged (folds, fold, i)) {
                n++;
                break;
            }
    return n;
}

/* Divide by two labels, into fewer parts until there are at most 'max' folds. */
static int divide_twice (const struct dn_training *training,
                         const struct dn_case_set *set,
                         const enum dn_label labels[2],
                         struct folds *folds)
{
    for (int max = training->max_folds;; max -= (max + 7) / 8) {
        for (int i = 0; i < 2; i++) {
            folds->n[i] = divide (&training->runs, set, labels[i], max, folds->part[i]);
            if (folds->n[i] < 0)
                return -1;
        }
        if (max <= 2 || count_folds (folds, set->n) <= training->max_folds)
            return 0;
    }
}

/* Assign every case to a fold. -1 without memory. */
static int assign_folds (const struct dn_training *training,
                         const struct dn_case_set *set,
                         int scheme,
                         struct folds *folds)
{
    size_t bytes = (size_t) set->n * sizeof (int);
    const enum dn_label *labels = dn_scheme_labels[scheme];
    bool twice = scheme == DN_SCHEME_FAMILY;
    uint64_t state = training->seed;

    folds->n[1] = 1;
    folds->part[0] = malloc (bytes);
    if (twice)
        folds->part[1] = malloc (bytes);
    if (!folds->part[0] || (twice && !folds->part[1]))
        return -1;
    if (twice)
        return divide_twice (training, set, labels, folds);
    if (scheme == DN_SCHEME_RUN) {
        for (int i = 0; i < set->n; i++)
            folds->part[0][i] = (int) (dn_random (&state) % RANDOM_FOLDS);
        folds->n[0] = set->n >= RANDOM_FOLDS ? RANDOM_FOLDS : 0;
        return 0;
    }
    folds->n[0] =
        divide (&training->runs, set, labels[0], training->max_folds, folds->part[0]);
    return folds->n[0] < 0 ? -1 : 0;
}

static void free_all_folds (struct folds (*folds)[DN_N_SCHEMES])
{
    for (int s = 0; s < DN_N_SCHEMES; s++)
        free_folds (&(*folds)[s]);
}

int dn_cross_validate (struct dn_training *training,
                       struct dn_case_set *set,
                       struct dn_err *err)
{
    dn_cleanup (free_all_folds) struct folds folds[DN_N_SCHEMES] = {0};
    int total = 1; /* the trees of the bundle */
    int done = 0;

    for (int s = 0; s < DN_N_SCHEMES; s++) {
        if (assign_folds (training, set, s, &folds[s]) < 0)
            return dn_err_set (err, DN_E_NOMEM, "out of memory");
        set->done[s] =
            folds[s].n[0] > 1 && (s != DN_SCHEME_FAMILY || folds[s].n[1] > 1);
        total += set->done[s] ? n_folds (&folds[s]) : 0;
    }
    for (int s = 0; s < DN_N_SCHEMES; s++)
        for (int f = 0; set->done[s] && f < n_folds (&folds[s]); f++) {
            if (run_fold (training, set, s, &folds[s], f, err) < 0)
                return -1;
            done++;
            if (training->progress)
                training->progress (training->context, done, (double) done / total);
        }
    dn_unseen_list (set);
    return 0;
}
