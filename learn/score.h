/* score.h - how good predictions are: errors, bias, coverage, by group
 *
 * In: pairs of predicted and measured values with a group's name. Out: the figures of
 * 'dnnest-dev evaluate'. Memory is bounded: means and shares are summed over all pairs,
 * medians are those of a sample where a group has more than DN_SAMPLE_MAX pairs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SCORE_H
#define DN_SCORE_H

#include "base/err.h"
#include "base/limits.h"

/* The median of a sample of this size is within one percentile of the median of all
 * values in 95 of 100 cases.
 */
#define DN_SAMPLE_MAX 16384

/* Groups of one score. Further groups are merged into DN_GROUP_OTHERS, so that a table
 * with a group per row does not fill the memory. */
#define DN_GROUPS_MAX   1024
#define DN_GROUP_OTHERS "(others)"

/* The bounds that a prediction may state: quantiles that the measured value stays
 * below.
 */
enum dn_bound {
    DN_BOUND_P95,
    DN_BOUND_P99,
    DN_N_BOUNDS
};

/* Values to take a median of, or a random sample of them. */
struct dn_reservoir {
    double *values; /* owned; at most DN_SAMPLE_MAX */
    size_t n;       /* of values */
    size_t n_seen;
};

/* How well one bound holds. */
struct dn_coverage {
    size_t n; /* pairs with such a bound */
    size_t n_covered;
    struct dn_reservoir tightness; /* bound / measured */
};

/* Pairs of one group. */
struct dn_pairs {
    char name[DN_NAME_MAX];
    size_t n;
    size_t n_under;
    double error;               /* sum of |predicted / measured - 1| */
    double error_under;         /* the same over predictions below the measured value */
    double log_ratio;           /* sum of ln (predicted / measured) */
    struct dn_reservoir errors; /* |predicted / measured - 1| */
    struct dn_coverage bounds[DN_N_BOUNDS];
};

struct dn_score {
    struct dn_pairs *groups; /* in order of first occurrence; owned */
    int n_groups;
    int last; /* index of the group of the last pair */
};

/* Fractions, not percent. NaN where there is no pair, or none with a bound. */
struct dn_figures {
    size_t n;
    double mape;                   /* mean of |predicted / measured - 1| */
    double median_ape;             /* median of it */
    double bias;                   /* mean of ln (predicted / measured) */
    double under;                  /* share of predictions below the measured value */
    double under_mape;             /* mean error of those; NaN without any */
    double over_mape;              /* mean error of the others; NaN without any */
    double coverage[DN_N_BOUNDS];  /* share of measured values at or below the bound */
    double tightness[DN_N_BOUNDS]; /* median of bound / measured */
};

/* Runs whose stated confidence is in a tenth of 0..1. Means are over votes. */
struct dn_reliability {
    int n;
    double votes;
    double stated; /* mean confidence */
    double within; /* share of the runs that are within DN_CONFIDENCE_FACTOR */
};
#define DN_RELIABILITY_BINS 10

/* Add a run, which has that part of a vote; 'error' is ln (measured / predicted). */
void dn_reliability_add (struct dn_reliability bins[DN_RELIABILITY_BINS],
                         double vote,
                         double confidence,
                         double error);

/* Add a pair to the group. The values are positive. A bound is NaN, or 'bounds' is
 * NULL, if none is predicted. On error -1 with DN_E_NOMEM and no change of the score.
 */
int dn_score_add (struct dn_score *score,
                  const char *group,
                  double predicted,
                  const double bounds[DN_N_BOUNDS],
                  double measured,
                  struct dn_err *err);

/* Figures of one group; those of no pairs for NULL. Sorts its samples. */
struct dn_figures dn_pairs_figures (struct dn_pairs *pairs);

/* Mean over groups of the group's median error: one vote per model. NaN without. */
double dn_score_macro (struct dn_score *score);

/* NULL-safe, leaves an empty score. */
void dn_score_free (struct dn_score *score);

#endif
