/* ablation.c - what white box and trees give alone and together, by the rows they saw
 *
 * usage: ablation HARDWARE-FOLDER RUNS.csv
 *
 * Rows are held out in three ways, FOLDS times each, and each way to predict learns
 * from ever more of the others, drawn by a fixed seed. The tables go to stdout, in
 * Markdown.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xgboost/c_api.h>

#include "base/fields.h"
#include "learn/boost.h"
#include "learn/reals.h"
#include "step_fit.h"

#define FOLDS 5
#define DRAWS 5 /* of the rows to learn from, in each fold; all rows are one */
#define SEED  1

#define PLAIN_ROUNDS 100

/* Beyond this a ratio is no longer learned, as in 'dnnest-dev train' (learn/parts.h).
 */
#define RATIO_LIMIT 1.0

/* 0: all that are not held out. */
static const int sizes[] = {20, 50, 100, 500, 0};
#define N_SIZES ((int) DN_N_ELEMENTS (sizes))

enum held_out {
    HELD_ROWS,
    HELD_MODELS,
    HELD_GPUS,
    N_HELD
};

static const char *const held_text[N_HELD] = {"A tenth of the rows (in distribution)",
                                              "Unseen models",
                                              "Unseen GPUs"};

/* The vector that trees are given. */
enum vector {
    VECTOR_NONE, /* no trees */
    VECTOR_TABULAR,
    VECTOR_FED, /* tabular, and the white box's time of a step */
    VECTOR_FULL
};

struct learner {
    const char *name;
    enum vector vector;
    bool ratio; /* learns ln (measured / white box), limited as in 'dnnest-dev train'
                   and with its settings; else ln (measured), with XGBoost's own */
};

static const struct learner learners[] = {
    {"black box", VECTOR_TABULAR, false},
    {"white box", VECTOR_NONE, true},
    {"fed", VECTOR_FED, false},
    {"hybrid", VECTOR_FULL, true},
};
#define N_LEARNERS ((int) DN_N_ELEMENTS (learners))

/* What a form can state of a job, the device's data sheet, and the usual two figures of
 * a network: its parameters and the FLOPs of a sample.
 */
static const enum dn_feature tabular[] = {
    DN_FEATURE_PARAMS,
    DN_FEATURE_SAMPLE_FLOPS,
    DN_FEATURE_SAMPLE_SIZE,
    DN_FEATURE_SEQUENCE,
    DN_FEATURE_BATCH,
    DN_FEATURE_ACCUMULATION,
    DN_FEATURE_ELEMENT_BYTES,
    DN_FEATURE_MATRIX_UNITS,
    DN_FEATURE_TF32,
    DN_FEATURE_OPTIMIZER_STATES,
    DN_FEATURE_FRAMEWORK_PYTORCH,
    DN_FEATURE_FRAMEWORK_GRAPH,
    DN_FEATURE_TUNED,
    DN_FEATURE_COMPILED,
    DN_FEATURE_CHECKPOINTING,
    DN_FEATURE_REAL_INPUT,
    DN_FEATURE_NO_OPTIMIZER,
    DN_FEATURE_POWER_LIMIT,
    DN_FEATURE_GPUS,
    DN_FEATURE_NODES,
    DN_FEATURE_TENSOR_PARALLEL,
    DN_FEATURE_PIPELINE_PARALLEL,
    DN_FEATURE_SHARDING,
    DN_FEATURE_PEAK,
    DN_FEATURE_VECTOR_PEAK,
    DN_FEATURE_BANDWIDTH,
    DN_FEATURE_BALANCE,
    DN_FEATURE_MEMORY,
    DN_FEATURE_L2,
    DN_FEATURE_MULTIPROCESSORS,
    DN_FEATURE_LINK,
    DN_FEATURE_GENERATION,
    DN_FEATURE_BOARD_POWER,
    /* End of tabular */
};
#define N_TABULAR ((int) DN_N_ELEMENTS (tabular))

/* Errors of one learner with one number of rows, over all folds and draws. */
struct errors {
    double *value;
    int *model;
    int n;
};

struct bench {
    struct bench_set set;
    struct dn_runs runs;
    double *measured; /* ln s */
    struct errors errors[N_HELD][N_SIZES][N_LEARNERS];
    double n_rows[N_HELD][N_SIZES]; /* learned from, mean over the folds */
};

/* --- the rows -------------------------------------------------------------------- */

static void *allocate (int n, size_t size)
{
    void *made = calloc ((size_t) (n > 0 ? n : 1), size);

    if (!made)
        bench_die ("rows", "out of memory");
    return made;
}

/* --- one learner ----------------------------------------------------------------- */

static int width_of (enum vector vector)
{
    return vector == VECTOR_FULL ? DN_N_FEATURES : N_TABULAR + (vector == VECTOR_FED);
}

static float *fill_vectors (const struct dn_example *runs,
                            enum vector vector,
                            const int *index,
                            int n)
{
    int width = width_of (vector);
    float *filled = allocate (n * width, sizeof (*filled));

    for (int i = 0; i < n; i++) {
        const float *features = runs[index[i]].features;
        float *out = filled + (size_t) i * (size_t) width;

        if (vector == VECTOR_FULL) {
            memcpy (out, features, sizeof (runs->features));
            continue;
        }
        for (int f = 0; f < N_TABULAR; f++)
            out[f] = features[tabular[f]];
        if (vector == VECTOR_FED)
            out[N_TABULAR] = features[DN_FEATURE_STEP_TIME];
    }
    return filled;
}

static void add_error (struct errors *errors, double value, int model)
{
    if (dn_rows_grow (&errors->value, errors->n, sizeof (*errors->value), NULL) < 0
        || dn_rows_grow (&errors->model, errors->n, sizeof (*errors->model), NULL) < 0)
        bench_die ("errors", "out of memory");
    errors->value[errors->n] = value;
    errors->model[errors->n++] = model;
}

/* ln of what is learned of run 'i'. */
static double target_of (const struct bench *bench,
                         const struct learner *learner,
                         int i)
{
    double ratio = bench->runs.runs[i].ratio[DN_QUANTITY_STEP];

    return learner->ratio ? fmin (fmax (ratio, -RATIO_LIMIT), RATIO_LIMIT)
                          : bench->measured[i];
}

/* Trees as XGBoost makes them when it is told nothing but the number of them: those of
 * 'dnnest-dev train' see few features each, which mends small corrections and spoils
 * the time itself.
 */
static int learn_plain (const struct dn_boost_table *table,
                        const float *tests,
                        int n_test,
                        float *sums)
{
    static const char *const parameters[][2] = {{"base_score", "0"},
                                                {"tree_method", "hist"},
                                                {"nthread", "1"},
                                                {"verbosity", "0"}};
    DMatrixHandle data[2];
    BoosterHandle trees;
    bst_ulong n = (bst_ulong) table->n;
    bst_ulong width = (bst_ulong) table->n_features;
    bst_ulong len;
    const float *out;
    int rc = XGDMatrixCreateFromMat (table->features, n, width, NAN, &data[0]);

    rc |= XGDMatrixCreateFromMat (tests, (bst_ulong) n_test, width, NAN, &data[1]);
    if (rc != 0 || XGDMatrixSetFloatInfo (data[0], "label", table->targets, n) != 0
        || XGBoosterCreate (data, 1, &trees) != 0)
        return -1;
    for (size_t i = 0; i < DN_N_ELEMENTS (parameters); i++)
        rc |= XGBoosterSetParam (trees, parameters[i][0], parameters[i][1]);
    for (int i = 0; i < PLAIN_ROUNDS; i++)
        rc |= XGBoosterUpdateOneIter (trees, i, data[0]);
    rc |= XGBoosterPredict (trees, data[1], 0, 0, 0, &len, &out);
    if (rc != 0 || len != (bst_ulong) n_test)
        return -1;
    memcpy (sums, out, (size_t) n_test * sizeof (*sums));
    XGBoosterFree (trees);
    XGDMatrixFree (data[0]);
    XGDMatrixFree (data[1]);
    return 0;
}

static void learn_tuned (struct dn_boost_table *table,
                         const float *tests,
                         int n_test,
                         float *sums)
{
    struct dn_err err = {0};
    struct dn_boost *trees;

    table->weights = allocate (table->n, sizeof (*table->weights));
    for (int i = 0; i < table->n; i++)
        table->weights[i] = 1;
    trees = dn_boost_train (table, SEED, &err);
    if (!trees
        || dn_boost_predict (trees, tests, n_test, table->n_features, sums, &err) < 0)
        bench_die ("trees", err.text);
    dn_boost_free (trees);
    free (table->weights);
}

/* Trees on the first 'n' runs of the index, summed up for the 'n_test' of 'test'. Trees
 * shrink towards 0; only of a ratio that is a good guess, a time gets the mean
 * back.
 */
static void learn (const struct bench *bench,
                   const struct learner *learner,
                   const int *index,
                   int n,
                   const int *test,
                   int n_test,
                   float *sums)
{
    struct dn_boost_table table = {
        .features = fill_vectors (bench->runs.runs, learner->vector, index, n),
        .targets = allocate (n, sizeof (*table.targets)),
        .n = n,
        .n_features = width_of (learner->vector),
    };
    float *tests = fill_vectors (bench->runs.runs, learner->vector, test, n_test);
    double mean = 0;

    for (int i = 0; i < n && !learner->ratio; i++)
        mean += target_of (bench, learner, index[i]) / n;
    for (int i = 0; i < n; i++)
        table.targets[i] = (float) (target_of (bench, learner, index[i]) - mean);
    if (learner->ratio)
        learn_tuned (&table, tests, n_test, sums);
    else if (learn_plain (&table, tests, n_test, sums) < 0)
        bench_die ("trees", XGBGetLastError ());
    for (int i = 0; i < n_test; i++)
        sums[i] += (float) mean;
    free (table.features);
    free (table.targets);
    free (tests);
}

static void judge (const struct bench *bench,
                   const struct learner *learner,
                   const int *index,
                   int n,
                   const int *test,
                   int n_test,
                   struct errors *errors)
{
    float *sums = allocate (n_test, sizeof (*sums));

    if (learner->vector != VECTOR_NONE)
        learn (bench, learner, index, n, test, n_test, sums);
    for (int i = 0; i < n_test; i++) {
        const struct dn_example *run = &bench->runs.runs[test[i]];
        double truth =
            learner->ratio ? run->ratio[DN_QUANTITY_STEP] : bench->measured[test[i]];

        add_error (errors,
                   fabs (exp ((double) sums[i] - truth) - 1),
                   run->label[DN_LABEL_MODEL]);
    }
    free (sums);
}

/* --- folds and draws ------------------------------------------------------------- */

static void shuffle (int *values, int n, uint64_t *state)
{
    for (int i = n - 1; i > 0; i--) {
        int j = (int) (dn_random (state) % (uint64_t) (i + 1));
        int kept = values[i];

        values[i] = values[j];
        values[j] = kept;
    }
}

/* The fold of every run. Of single rows there are ten folds, and FOLDS are used. */
static int *assign_folds (const struct bench *bench, enum held_out held)
{
    const struct dn_runs *runs = &bench->runs;
    enum dn_label label = held == HELD_MODELS ? DN_LABEL_MODEL : DN_LABEL_GPU;
    int n = held == HELD_ROWS ? runs->n : runs->labels[label].n;
    int n_folds = held == HELD_ROWS ? 10 : FOLDS;
    int *order = allocate (n, sizeof (*order));
    int *fold = allocate (n, sizeof (*fold));
    int *fold_of = allocate (runs->n, sizeof (*fold_of));
    uint64_t state = SEED;

    for (int i = 0; i < n; i++)
        order[i] = i;
    shuffle (order, n, &state);
    for (int i = 0; i < n; i++)
        fold[order[i]] = i % n_folds;
    for (int i = 0; i < runs->n; i++)
        fold_of[i] = fold[held == HELD_ROWS ? i : runs->runs[i].label[label]];
    free (order);
    free (fold);
    return fold_of;
}

static void run_fold (struct bench *bench,
                      enum held_out held,
                      const int *fold_of,
                      int fold,
                      uint64_t *state)
{
    int *kept = allocate (bench->runs.n, sizeof (*kept));
    int *test = allocate (bench->runs.n, sizeof (*test));
    int n_kept = 0;
    int n_test = 0;

    for (int i = 0; i < bench->runs.n; i++)
        if (fold_of[i] == fold)
            test[n_test++] = i;
        else
            kept[n_kept++] = i;
    for (int draw = 0; draw < DRAWS; draw++) {
        shuffle (kept, n_kept, state);
        for (int s = 0; s < N_SIZES; s++) {
            int n = sizes[s] > 0 && sizes[s] < n_kept ? sizes[s] : n_kept;

            if (sizes[s] == 0 && draw > 0)
                continue;
            if (draw == 0)
                bench->n_rows[held][s] += (double) n / FOLDS;
            for (int l = 0; l < N_LEARNERS; l++)
                judge (bench,
                       &learners[l],
                       kept,
                       n,
                       test,
                       n_test,
                       &bench->errors[held][s][l]);
        }
    }
    free (kept);
    free (test);
}

/* --- figures --------------------------------------------------------------------- */

/* The median over the errors of a model; of all for -1. NaN without any. */
static double median_error (const struct errors *errors, int model)
{
    double *values = allocate (errors->n, sizeof (*values));
    double median;
    int n = 0;

    for (int i = 0; i < errors->n; i++)
        if (model < 0 || errors->model[i] == model)
            values[n++] = errors->value[i];
    median = dn_reals_median (values, n);
    free (values);
    return median;
}

/* One vote per model. */
static double per_model (const struct errors *errors, int n_models)
{
    double sum = 0;
    int n = 0;

    for (int i = 0; i < n_models; i++) {
        double median = median_error (errors, i);

        if (isnan (median))
            continue;
        sum += median;
        n++;
    }
    return sum / n;
}

static void print_table (const struct bench *bench, enum held_out held)
{
    printf ("## %s\n\n| rows to learn from |", held_text[held]);
    for (int l = 0; l < N_LEARNERS; l++)
        printf (" %s |", learners[l].name);
    printf ("\n|---:|");
    for (int l = 0; l < N_LEARNERS; l++)
        printf ("---:|");
    printf ("\n");
    for (int s = 0; s < N_SIZES; s++) {
        printf (sizes[s] == 0 ? "| all (%.0f) |" : "| %.0f |", bench->n_rows[held][s]);
        for (int l = 0; l < N_LEARNERS; l++) {
            const struct errors *errors = &bench->errors[held][s][l];
            double sum = 0;

            for (int i = 0; i < errors->n; i++)
                sum += errors->value[i];
            printf (" %.1f / %.1f / %.1f |",
                    100 * (sum / errors->n),
                    100 * median_error (errors, -1),
                    100 * per_model (errors, bench->runs.labels[DN_LABEL_MODEL].n));
        }
        printf ("\n");
    }
    printf ("\n");
}

int main (int argc, char *argv[])
{
    static struct bench bench;

    if (argc != 3)
        bench_die ("usage", "ablation HARDWARE-FOLDER RUNS.csv");
    bench.runs = dn_runs_start (DN_RUNS_MAX, SEED);
    bench_read (&bench.set, &bench.runs, argv[1], "", argv + 2);
    bench.measured = allocate (bench.runs.n, sizeof (*bench.measured));
    for (int i = 0; i < bench.runs.n; i++)
        bench.measured[i] = log (bench.set.runs[i].step_s);
    for (int h = 0; h < N_HELD; h++) {
        int *fold_of = assign_folds (&bench, (enum held_out) h);
        uint64_t state = SEED;

        for (int fold = 0; fold < FOLDS; fold++)
            run_fold (&bench, (enum held_out) h, fold_of, fold, &state);
        free (fold_of);
        print_table (&bench, (enum held_out) h);
        fflush (stdout);
    }
    return 0;
}
