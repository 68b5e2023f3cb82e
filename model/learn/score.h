/* score.h - how good predictions are: errors, bias, coverage, by group
 *
 * In: pairs of predicted and measured values with a group's name. Out: the figures of
 * 'dnnest evaluate'. A pair is kept in 16 bytes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SCORE_H
#define DN_SCORE_H

#include "base/err.h"
#include "base/limits.h"

/* Pairs of one group. */
struct dn_pairs {
    char name[DN_NAME_MAX];
    double *ratios; /* predicted / measured; owned */
    double *bounds; /* 95 % bound / measured; owned */
    size_t n;
    size_t size;
};

struct dn_score {
    struct dn_pairs *groups; /* in order of first sight; owned */
    int n_groups;
};

/* Fractions, not percent. */
struct dn_figures {
    size_t n;
    double mape;          /* mean of |predicted / measured - 1| */
    double median_ape;    /* median of it */
    double bias;          /* mean of ln (predicted / measured) */
    double coverage_p95;  /* share of measured values at or below the bound */
    double tightness_p95; /* median of bound / measured */
    double under;         /* share of predictions below the measured value */
};

/* Add a pair to the group; all values are positive. -1 with DN_E_NOMEM. */
int dn_score_add (struct dn_score *score,
                  const char *group,
                  double predicted,
                  double bound,
                  double measured,
                  struct dn_err *err);

/* Figures of one group. Sorts its pairs. */
struct dn_figures dn_pairs_figures (struct dn_pairs *pairs);

/* Mean over groups of the group's median error: one vote per model. */
double dn_score_macro (struct dn_score *score);

/* NULL-safe, leaves an empty score. */
void dn_score_free (struct dn_score *score);

#endif
