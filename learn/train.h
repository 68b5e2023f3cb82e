/* train.h - train a model bundle from measured runs
 *
 * In: runs (runs.h). Out: the bytes of a bundle's files (dnnest(1)):
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
#include "learn/score.h"

/* What is left out. Each value of it is left out in turn and predicted from the rest.
 */
enum dn_scheme {
    DN_SCHEME_RUN, /* a tenth of the runs, at random: the same models and sources stay
                    */
    DN_SCHEME_MODEL,
    DN_SCHEME_SOURCE,
    DN_SCHEME_GPU,
    DN_SCHEME_CODE,   /* a family of sources; the models stay */
    DN_SCHEME_FAMILY, /* a family of sources and a family of models: both are left out,
                         and the runs of both are judged */
    DN_N_SCHEMES
};

extern const struct dn_names dn_scheme_names;

/* Accuracy on unseen runs. Fractions. */
struct dn_errors {
    double mean;
    double median;
    double per_model; /* mean over models of the model's median */
};

/* The levels of the bounds that are judged. */
enum {
    DN_JUDGED_P80,
    DN_JUDGED_P90,
    DN_JUDGED_P95,
    DN_JUDGED_P99,
    DN_N_JUDGED
};
extern const double dn_judged_levels[DN_N_JUDGED];

/* Fewer runs of a family of sources do not tell its coverage. */
#define DN_FAMILY_RUNS 20

/* One run that was left out. */
struct dn_judged {
    int run;                   /* in the runs */
    float white_box;           /* ln (measured / predicted) */
    float learned;             /* the same with the residual */
    float bounds[DN_N_JUDGED]; /* ln (bound / predicted) */
    float confidence;          /* that |learned| is at most ln DN_CONFIDENCE_FACTOR */
    double vote;               /* a pair of families of sources and models has one */
    enum dn_validated_level level;
};

struct dn_judgement {
    int n; /* runs; 0: nothing could be left out */
    int n_models;
    struct dn_errors white_box;
    struct dn_errors learned;
    double coverage[DN_N_JUDGED];  /* of the bounds at dn_judged_levels */
    double tightness[DN_N_JUDGED]; /* median of bound / measured */
    double models[DN_N_JUDGED];    /* share of the models of which .9 are covered */
    /* The least coverage of the bound at .95 among families of sources of which at
     * least DN_FAMILY_RUNS runs were judged; NaN: none. */
    double worst_family;
    double votes_covered; /* share of the votes that are below the bound at .95 */
    /* Of the bound at .95, by what the runs that were kept validate. */
    struct dn_width {
        int n;
        double coverage;
        double width; /* median of bound / median of the prediction */
    } widths[DN_N_VALIDATED_LEVELS];
    struct dn_reliability reliability[DN_RELIABILITY_BINS];
    struct dn_judged *runs; /* n of them; owned */
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
    uint64_t seed;
    int max_folds;    /* maximum number of groups that are left out in turn */
    double margin;    /* factor on the bounds, for what the runs do not cover */
    bool bounds_only; /* no trees: the bounds of the white box */
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
    struct dn_validated validated[DN_VALIDATED_MAX];
    int n_validated;
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
