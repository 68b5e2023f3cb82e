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

static void free_table (struct dn_boost_table *table)
{
    free (table->features);
    free (table->targets);
    free (table->weights);
    free (table->floor);
}

/* The input of libxgboost for some cases. */
static int fill_table (const struct dn_cases *cases,
                       struct dn_boost_table *table,
                       struct dn_err *err)
{
    size_t rows = (size_t) cases->n + 1;

    table->n = cases->n;
    table->n_features = DN_N_FEATURES;
    table->features = malloc (rows * DN_N_FEATURES * sizeof (float));
    table->targets = malloc (rows * sizeof (float));
    table->weights = malloc (rows * sizeof (float));
    table->floor = malloc (rows * sizeof (bool));
    if (!table->features || !table->targets || !table->weights || !table->floor)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int i = 0; i < cases->n; i++) {
        const struct dn_example *run = dn_cases_run (cases, i);
        double target = run->ratio[DN_QUANTITY_STEP];

        memcpy (table->features + (size_t) i * DN_N_FEATURES,
                run->features,
                sizeof (run->features));
        table->targets[i] = (float) fmin (fmax (target, -TARGET_MAX), TARGET_MAX);
        table->weights[i] = cases->weight ? (float) cases->weight[i] : 1;
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

/* How fast a source is with a family of models is a matter of that source: what carries
 * over is how its runs differ from one another. So the median of each unit is moved to
 * the mean of these medians.
 */
static int centre (const struct dn_cases *cases,
                   struct dn_boost_table *table,
                   struct dn_err *err)
{
    const int *unit = cases->set->unit;
    size_t n_units = (size_t) cases->set->n_units;
    dn_cleanup (dn_free_ptr) float *work = malloc ((size_t) table->n * sizeof (*work));
    dn_cleanup (dn_free_ptr) float *medians = calloc (n_units, sizeof (*medians));
    float mean = 0;
    int n_known = 0;

    if (!work || !medians)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int u = 0; u < (int) n_units; u++) {
        int own = 0;

        for (int i = 0; i < table->n; i++)
            if (unit[dn_cases_place (cases, i)] == u && !table->floor[i])
                work[own++] = table->targets[i];
        if (own == 0)
            continue;
        qsort (work, (size_t) own, sizeof (*work), compare_reals);
        medians[u] = work[own / 2];
        mean += medians[u];
        n_known++;
    }
    for (int i = 0; i < table->n && n_known > 0; i++)
        table->targets[i] +=
            mean / (float) n_known - medians[unit[dn_cases_place (cases, i)]];
    return 0;
}

struct dn_boost *dn_train_trees (const struct dn_cases *cases,
                                 uint64_t seed,
                                 struct dn_err *err)
{
    dn_cleanup (free_table) struct dn_boost_table table = {0};

    if (fill_table (cases, &table, err) < 0 || centre (cases, &table, err) < 0)
        return NULL;
    return dn_boost_train (&table, seed, err);
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

/* The cases of a set that one fold keeps, then those that are judged. */
struct split {
    struct dn_training *training;
    struct dn_case_set *set;
    int scheme;
    int *place;     /* in the set */
    double *weight; /* of those that are kept, with mean 1 */
    float *sums;    /* of those that are judged */
    int n_kept;
    int n;
};

static void free_split (struct split *split)
{
    free (split->place);
    free (split->weight);
    free (split->sums);
}

static struct dn_cases kept (const struct split *split)
{
    return (struct dn_cases){split->set, split->place, split->weight, split->n_kept};
}

static int split_set (struct split *split,
                      const struct folds *folds,
                      int fold,
                      struct dn_err *err)
{
    const struct dn_case_set *set = split->set;
    size_t n = (size_t) set->n;

    split->place = calloc (n, sizeof (int));
    split->weight = malloc (n * sizeof (double));
    split->sums = calloc (n, sizeof (float));
    if (!split->place || !split->weight || !split->sums)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int out = 0; out <= 1; out++)
        for (int i = 0; i < set->n; i++) {
            if (out == 1 ? !is_judged (folds, fold, i)
                         : is_in (folds, 0, fold, i) || is_in (folds, 1, fold, i))
                continue;
            split->place[split->n] = i;
            split->weight[split->n++] = set->weight[i];
            split->n_kept += out == 0;
        }
    if (split->n_kept > 0)
        dn_weights_scale (split->weight, split->n_kept);
    return 0;
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
static bool *find_seen (const struct split *split)
{
    const struct dn_label_names *labels = split->training->runs.labels;
    const struct dn_cases cases = kept (split);
    size_t n_stacks = (size_t) labels[DN_LABEL_STACK].n + 1;
    bool *seen = calloc ((size_t) labels[DN_LABEL_KIND].n * n_stacks, sizeof (bool));

    for (int i = 0; seen && i < split->n_kept; i++) {
        const int *label = dn_cases_run (&cases, i)->label;
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
static int find_residuals (const struct split *split, struct dn_err *err)
{
    dn_cleanup (boost_free) struct dn_boost *trees = NULL;
    dn_cleanup (free_table) struct dn_boost_table table = {0};
    const struct dn_cases cases = kept (split);
    const struct dn_cases judged = {.set = split->set,
                                    .place = split->place + split->n_kept,
                                    .n = split->n - split->n_kept};

    if (split->training->bounds_only)
        return 0;
    trees = dn_train_trees (&cases, split->training->seed, err);
    if (!trees || fill_table (&judged, &table, err) < 0)
        return -1;
    return dn_boost_predict (
        trees, table.features, table.n, DN_N_FEATURES, split->sums, err);
}

static int judge_fold (const struct split *split, struct dn_err *err)
{
    dn_cleanup (domain_free) struct dn_domain domain = {.n_knots = 0};
    dn_cleanup (dn_free_ptr) bool *seen = find_seen (split);
    const struct dn_cases cases = kept (split);

    if (!seen)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    if (dn_domain_fit (&cases, &domain, err) < 0 || find_residuals (split, err) < 0)
        return -1;
    for (int i = split->n_kept; i < split->n; i++) {
        struct dn_left_out *out =
            dn_left_out_by (split->set, split->scheme) + split->place[i];

        out->residual = (double) split->sums[i - split->n_kept];
        out->distance = dn_domain_distance (&domain, out->run->features);
        out->ratio = out->run->ratio[DN_QUANTITY_STEP];
        out->judged = true;
        out->level = level_of (&split->training->runs, seen, out->run);
    }
    return 0;
}

/* Refit the white box without the runs that are not kept. */
static int refit (const struct split *split, struct dn_err *err)
{
    struct dn_training *training = split->training;
    size_t bytes = (size_t) training->runs.n * sizeof (bool);
    dn_cleanup (dn_free_ptr) bool *left_out = malloc (bytes);

    if (!left_out)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    memset (left_out, true, bytes);
    for (int i = 0; i < split->n_kept; i++)
        left_out[split->set->index[split->place[i]]] = false;
    return training->refit (training->context, left_out, &training->runs, err);
}

static int run_fold (struct split *split,
                     const struct folds *folds,
                     int fold,
                     struct dn_err *err)
{
    const struct dn_training *training = split->training;
    size_t bytes = (size_t) training->runs.n * sizeof (*training->runs.runs);
    dn_cleanup (dn_free_ptr) struct dn_example *before = NULL;
    int rc;

    if (split_set (split, folds, fold, err) < 0)
        return -1;
    if (split->n == split->n_kept || split->n_kept == 0)
        return 0; /* nothing to judge, or nothing to judge it by */
    if (!training->refit || split->scheme == DN_SCHEME_RUN)
        return judge_fold (split, err);
    before = malloc (bytes);
    if (!before)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    memcpy (before, training->runs.runs, bytes);
    rc = refit (split, err) < 0 ? -1 : judge_fold (split, err);
    memcpy (training->runs.runs, before, bytes);
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
            dn_cleanup (free_split) struct split split = {
                .training = training, .set = set, .scheme = s};

            if (run_fold (&split, &folds[s], f, err) < 0)
                return -1;
            done++;
            if (training->progress)
                training->progress (training->context, done, (double) done / total);
        }
    dn_unseen_list (set);
    return 0;
}
