/* parts.h - the parts of training, private to learn/
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PARTS_H
#define DN_PARTS_H

#include "learn/train.h"

/* A run of a set, as a scheme has left it out. */
struct dn_left_out {
    const struct dn_example *run;
    int at;          /* in the set */
    double vote;     /* its share */
    double residual; /* sum of the trees */
    double distance;
    double ratio; /* ln (measured / white box); each fold may have its own white box */
    bool judged;  /* false: no run was left to judge it by */
    bool corrected;                /* the residual counts (gates.c) */
    enum dn_validated_level level; /* by the runs that were kept */
};

/* The runs of one quantity. Each has a weight and the prediction that was made for it
 * when it was left out.
 */
struct dn_case_set {
    enum dn_quantity quantity;
    int *index; /* in the runs; owned, as are the other arrays */
    int n;
    int *unit; /* the pair of a family of sources and one of models, of memory that of
                  source and model; its runs are alike, so it has one vote */
    int n_units;
    double *vote;   /* of its unit's vote: mean 1 */
    double *weight; /* the square root of its share of the vote of its model and source,
                       scaled to mean 1 */
    struct dn_left_out *left_out; /* n for each scheme in turn */
    bool done[DN_N_SCHEMES];
    /* Those that were judged in the schemes that stand for unseen runs */
    const struct dn_left_out **unseen;
    int n_unseen;
};

/* The labels whose values a scheme leaves out; DN_N_LABELS: none. */
extern const enum dn_label dn_scheme_labels[DN_N_SCHEMES][2];

/* The runs as the scheme has left them out. */
struct dn_left_out *dn_left_out_by (const struct dn_case_set *set, int scheme);

/* Does the scheme stand for the runs that a bundle will meet? They are from sources
 * that it has not seen; of a table of one source, from models that it has not seen.
 */
bool dn_scheme_is_unseen (const struct dn_case_set *set, int scheme);

/* List the unseen runs, when all schemes are done. */
void dn_unseen_list (struct dn_case_set *set);

int dn_case_set_init (struct dn_case_set *set,
                      const struct dn_runs *runs,
                      enum dn_quantity quantity,
                      struct dn_err *err);
void dn_case_set_free (struct dn_case_set *set);

/* Multiply the values so that their mean is 1. */
void dn_weights_scale (double *values, int n);

/* Some cases of a set. */
struct dn_cases {
    const struct dn_case_set *set;
    const int *place; /* of each in the set; NULL: the first ones */
    const double *weight;
    int n;
};

static inline int dn_cases_place (const struct dn_cases *cases, int i)
{
    return cases->place ? cases->place[i] : i;
}

static inline const struct dn_example *dn_cases_run (const struct dn_cases *cases,
                                                     int i)
{
    return cases->set->left_out[dn_cases_place (cases, i)].run;
}

/* Fit scale and points of the domain to these. */
int dn_domain_fit (const struct dn_cases *cases,
                   struct dn_domain *domain,
                   struct dn_err *err);

/* Train trees on these. */
struct dn_boost *dn_train_trees (const struct dn_cases *cases,
                                 uint64_t seed,
                                 struct dn_err *err);

/* Leave out the values of every scheme in turn, and list what was unseen. */
int dn_cross_validate (struct dn_training *training,
                       struct dn_case_set *set,
                       struct dn_err *err);

/* Fit the knots of the domain to the predictions of the runs that were left out. */
int dn_knots_fit (const struct dn_case_set *set,
                  struct dn_domain *domain,
                  struct dn_err *err);

/* Decide where the residual counts, by the errors of the runs that were left out, and
 * list what the runs validate. Of a run whose source was left out, its own errors
 * decide nothing.
 */
int dn_gates_fit (struct dn_training *training,
                  const struct dn_case_set *set,
                  const struct dn_domain *domain,
                  struct dn_err *err);

/* Fit the spread at each knot to the same predictions. */
int dn_spread_fit (const struct dn_case_set *set,
                   struct dn_domain *domain,
                   struct dn_err *err);

/* Levels of the bounds in a manifest, and of the laws of confidence. */
#define DN_TRAIN_LEVELS        7
#define DN_TRAIN_WITHIN_LEVELS 12
extern const double dn_train_levels[DN_TRAIN_LEVELS];
extern const double dn_train_within_levels[DN_TRAIN_WITHIN_LEVELS];

/* A value in units of the spread. The true value is at least a censored one. */
struct dn_scored {
    double value;
    double weight;
    bool censored;
    const struct dn_left_out *left_out;
    int voter; /* the unit of the run: one vote, whatever the scheme */
};

/* The value below which a share 'level' of all values lies, by the Kaplan-Meier
 * estimate, with the correction for a finite sample.
 */
double dn_scores_quantile (const struct dn_scored *sorted, int n, double level);

/* What is fitted to the scores. */
enum dn_law {
    DN_LAW_BOUNDS, /* upper bounds, no narrower than few votes allow */
    DN_LAW_WITHIN, /* quantiles of the absolute score, as they are */
};

/* The scores that the laws of a quantity are fitted to: those of runs that were left
 * out, in all schemes that stand for unseen runs.
 */
struct dn_pool {
    enum dn_law law;
    enum dn_quantity quantity;
    const struct dn_runs *runs;
    struct dn_scored *sorted; /* owned, as are the other arrays */
    int n;
    int n_voters;
    /* working values per voter */
    int *counts;
    double *means;
    double *means_sorted;
};

int dn_pool_make (const struct dn_runs *runs,
                  const struct dn_case_set *set,
                  const struct dn_domain *domain,
                  enum dn_law law,
                  struct dn_pool *pool,
                  struct dn_err *err);
void dn_pool_free (struct dn_pool *pool);

/* Fit the laws to a pool without the runs that have one of these labels, -1: any. */
void dn_bounds_fit (struct dn_pool *pool,
                    double margin,
                    const int skip[DN_N_LABELS],
                    struct dn_bounds *bounds);

/* The quantile of Student's law with 'freedom' degrees. */
double dn_student_score (double quantile, double freedom);

/* Compute the judgement of every scheme. */
int dn_judge (struct dn_training *training,
              const struct dn_case_set *set,
              const struct dn_domain *domain,
              struct dn_err *err);

/* Write the manifest of a training that has its files and its record of confirmation.
 */
int dn_manifest_write (struct dn_training *training,
                       const struct dn_domain *domain,
                       const struct dn_bounds bounds[DN_N_QUANTITIES],
                       const struct dn_bounds *within,
                       struct dn_err *err);

/* The trees change the natural logarithm of a prediction by at most this. Measured runs
 * rarely differ by more, and those that do may be wrong. */
#define DN_TRAIN_LIMIT 1.0

/* ln (measured / learned), and the spread stated for it. */
double dn_left_out_error (const struct dn_left_out *left_out,
                          const struct dn_domain *domain);
double dn_left_out_sigma (const struct dn_left_out *left_out,
                          const struct dn_domain *domain);

#endif
