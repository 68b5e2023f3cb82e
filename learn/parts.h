/* parts.h - the parts of training, private to learn/
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PARTS_H
#define DN_PARTS_H

#include "learn/train.h"

/* The runs of one quantity, each with a weight and what was predicted for it when it
 * was left out.
 */
struct dn_case_set {
    int *index; /* in the runs; owned, as are the others */
    int n;
    double *vote;     /* one vote per model and source: mean 1 */
    double *weight;   /* its square root, between that and one per run: mean 1 */
    double *residual; /* of each scheme in turn, n each: sum of the trees */
    double *distance;
    double *ratio; /* ln (measured / white box); the white box may differ by fold */
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

/* Train trees on the runs 'index' with those weights. */
struct dn_boost *dn_train_trees (const struct dn_runs *runs,
                                 const int *index,
                                 const double *weight,
                                 int n,
                                 uint64_t seed,
                                 struct dn_err *err);

/* Leave out whatever can be, and fill residual, distance and ratio. */
int dn_cross_validate (struct dn_training *training,
                       struct dn_case_set *set,
                       struct dn_err *err);

/* Fit the knots of the domain to what was predicted for the runs that were left out. */
int dn_knots_fit (const struct dn_case_set *set,
                  const struct dn_runs *runs,
                  struct dn_domain *domain,
                  struct dn_err *err);

/* Levels of the bounds in a manifest. */
#define DN_TRAIN_LEVELS 7
extern const double dn_train_levels[DN_TRAIN_LEVELS];

/* Values in units of the spread, with weights; those censored are this or more. */
struct dn_scores {
    double *value;
    double *weight;
    bool *censored;
    int n;
};

/* The value below which a share 'level' of all there is lies, by Kaplan and Meier's
 * estimate, with the correction for the finite sample. The values are sorted; 'skip'
 * (may be NULL) leaves some out.
 */
double dn_scores_quantile (const struct dn_scores *sorted,
                           double level,
                           const bool *skip);

/* Bounds of one quantity. */
int dn_bounds_fit (const struct dn_training *training,
                   const struct dn_case_set *set,
                   const struct dn_domain *domain,
                   enum dn_quantity quantity,
                   struct dn_bounds *bounds,
                   struct dn_err *err);

/* Judge every scheme. */
int dn_judge (struct dn_training *training,
              const struct dn_case_set *set,
              const struct dn_domain *domain,
              struct dn_err *err);

/* Write the manifest of a training whose files and record of confirmation are there. */
int dn_manifest_write (struct dn_training *training,
                       const struct dn_domain *domain,
                       const struct dn_bounds bounds[DN_N_QUANTITIES],
                       struct dn_err *err);

/* At most so far do the trees move a prediction, in its natural logarithm: nothing that
 * was measured is more often further off, and what is may be wrong. */
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
