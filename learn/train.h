/* train.h - train a model bundle from measured runs
 *
 * In: runs (runs.h). Out: the bytes of a bundle's files (dnnest(1), dnnest model):
 * boosted trees on ln (measured / white box) of the step time, the share of the trees'
 * correction that applies at a distance from the runs, the spread there, and bounds
 * that hold for models and sources that were left out. Also the accuracy on those left
 * out. The trees have been confirmed on the features of the runs (confirm.h). The same
 * runs, seed and libxgboost give the same bytes. Never: files.
 *
 * GPU memory and power get no trees, because their rows come from two sources and one,
 * whose peculiarities trees would learn. GPU memory gets bounds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TRAIN_H
#define DN_TRAIN_H

#include "learn/confirm.h"
#include "learn/flat_write.h"
#include "learn/runs.h"

/* What is left out. Each value of it is left out in turn and predicted from the rest.
 */
enum dn_scheme {
    DN_SCHEME_RUN, /* a tenth of the runs, by chance: the same models and sources stay
                    */
    DN_SCHEME_MODEL,
    DN_SCHEME_SOURCE,
    DN_SCHEME_GPU,
    DN_N_SCHEMES
};

extern const struct dn_names dn_scheme_names;

/* Accuracy on unseen runs. Fractions. */
struct dn_errors {
    double mean;
    double median;
    double per_model; /* mean over models of the model's median */
};

struct dn_judgement {
    int n; /* runs; 0: nothing could be left out */
    int n_models;
    struct dn_errors white_box;
    struct dn_errors learned;
    double coverage[2];  /* of the bounds at .95 and .99 */
    double tightness[2]; /* median of bound / measured */
    double models[2];    /* share of the models of which .9 are covered */
};

struct dn_training_file {
    const char *name;
    int64_t rows;
    struct dn_digest digest;
};

/* Recompute the features and ratios of the runs with a white box that was fitted
 * without those left out. -1 with 'err'.
 */
typedef int (*dn_refit_f) (void *context,
                           const bool *left_out,
                           struct dn_runs *runs,
                           struct dn_err *err);

struct dn_training {
    /* in */
    struct dn_runs runs;
    const char *name; /* of the bundle */
    int64_t serial;   /* of the bundle; 0: none */
    uint64_t seed;
    int max_folds; /* maximum number of groups that are left out in turn */
    double margin; /* factor on the bounds, for what the runs do not cover */
    const struct dn_training_file *files;
    int n_files;
    dn_refit_f refit; /* NULL: the white box was not fitted to the runs */
    void (*progress) (void *context, int n, double share);
    void *context;
    /* out; owned */
    char *manifest;
    struct dn_flat_file step;
    struct dn_flat_file points;
    struct dn_confirmed confirmed; /* the trees of 'step' */
    struct dn_judgement judgements[DN_N_SCHEMES];
};

/* The names of these files in the manifest. */
#define DN_TRAIN_STEP_FILE   "step.trees"
#define DN_TRAIN_POINTS_FILE "domain.points"

struct dn_training dn_training_start (int max_runs, uint64_t seed);
void dn_training_free (struct dn_training *training);

/* Train on the runs. -1 with 'err': too few runs, or libxgboost has failed. */
int dn_training_run (struct dn_training *training, struct dn_err *err);

#endif
