/* site_history.h - the runs of a site that others are compared with
 *
 * In: the site's runs as the kernel sees them (predict/history.h). Out: the few that
 * stand for all, each run's smooth part as a sum over them, and from the solved sum
 * struct dn_history.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SITE_HISTORY_H
#define DN_SITE_HISTORY_H

#include "predict/history.h"

/* The runs that stand for all, and the factor of the smooth covariance by them: the
 * smooth part of run i is the sum over k of rows[i * n + k] times independent standard
 * normal variables, and 'rest' is the variance that these leave out.
 */
struct dn_anchors {
    int at[DN_ANCHORS_MAX]; /* of the runs */
    int n;
    double *rows; /* owned, as is the next; DN_ANCHORS_MAX per run */
    double *rest;
};

/* Choose the anchors among 'n' traces: always the one of which the others tell least,
 * until nothing is left or the room is full (pivoted Cholesky factor). NULL traces are
 * left out.
 */
int dn_anchors_choose (const struct dn_kernel *kernel,
                       const struct dn_trace *const *traces,
                       int n,
                       struct dn_anchors *anchors,
                       struct dn_err *err);
void dn_anchors_free (struct dn_anchors *anchors);

/* What the runs say of others: 'values' are those of the standard normal variables,
 * 'noise' the variance of each run's own. NULL with 'err'.
 */
struct dn_history *dn_history_make (const struct dn_kernel *kernel,
                                    const struct dn_trace *const *traces,
                                    int n,
                                    const struct dn_anchors *anchors,
                                    const double *values,
                                    const double *noise,
                                    struct dn_err *err);

#endif
