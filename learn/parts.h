/* parts.h - the parts of training, private to learn/
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PARTS_H
#define DN_PARTS_H

#include "learn/train.h"

/* The runs of one quantity. Each has a weight and the prediction that was made for it
 * when it was left out.
 */
struct dn_case_set {
    int *index; /* in the runs; owned, as are the other arrays */
    int n;
    double *vote;     /* one vote per model and source: mean 1 */
    double *weight;   /* the square root of 'vote', scaled to mean 1 */
    double *residual; /* sum of the trees: n values for each scheme in turn */
    double *distance;
    double *ratio; /* ln (measured / white box); each fold may have its own white box */
    bool done[DN_N_SCHEMES];
};

int dn_case_set_init (struct dn_case_set *set,
                      const struct dn_runs *runs,
                      enum dn_quantity quantity,
                      struct dn_err *err);
void dn_case_set_free (struct dn_case_set *set);

/* Fit scale and points of the domain to the runs 'index'. */
int dn_domain_fit (const struct dn_runs *runs,
                   const int *index,
                   int n,
                   struct dn_domain *domain,
                   struct dn_err *err);

/* Train trees on the runs 'index' with these weights. */
struct dn_boost *dn_train_trees (const struct dn_runs *runs,
                                 const int *index,
                                 const double *weight,
                                 int n,
                                 uint64_t seed,
                                 struct dn_err *err);

/* Leave out the values of every scheme in turn, and fill residual, distance and ratio.
 */
int dn_cross_validate (struct dn_training *training,
                       struct dn_case_set *set,
                       struct dn_err *err);

/* Fit the knots of the domain to the predictions of the runs that were left out. */
int dn_knots_fit (const struct dn_case_set *set,
                  const struct dn_runs *runs,
                  struct dn_domain *domain,
                  struct dn_err *err);

/* Levels of the bounds in a manifest. */
#define DN_TRAIN_LEVELS 7
extern const double dn_train_levels[DN_TRAIN_LEVELS];

/* Values in units of the spread, with weights. The true value is at least a censored
 * one.
 */
struct dn_scores {
    double *value;
    double *weight;
    bool *censored;
    int n;
};

/* The value below which a share 'level' of all values lies, by the Kaplan-Meier
 * estimate, with the correction for a finite sample. The values are sorted; 'skip' (may
 * be NULL) leaves some out.
 */
double dn_scores_quantile (const struct dn_scores *sorted,
                           double level,
                           const bool *skip);

/* Fit the bounds of one quantity. */
int dn_bounds_fit (const struct dn_training *training,
                   const struct dn_case_set *set,
                   const struct dn_domain *domain,
                   enum dn_quantity quantity,
                   struct dn_bounds *bounds,
                   struct dn_err *err);

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
                       struct dn_err *err);

/* The trees change the natural logarithm of a prediction by at most this. Measured runs
 * rarely differ by more, and those that do may be wrong. */
#define DN_TRAIN_LIMIT 1.0

/* ln (measured / learned) of a case in a scheme, and the spread stated for it. */
double dn_case_error (const struct dn_case_set *set,
                      const struct dn_domain *domain,
                      int scheme,
                      int i);
double dn_case_sigma (const struct dn_case_set *set,
                      const struct dn_runs *runs,
                      const struct dn_domain *domain,
                      int scheme,
                      int i);

#endif
