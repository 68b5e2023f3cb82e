/* gate.h - may a new history be installed?
 *
 * In: the store. Out: what a history that was learned from the older four fifths of the
 * runs says of the newest fifth, beside what was predicted for those runs when they
 * were submitted, which is what was in force. It passes if neither its error nor its
 * coverage is worse.
 *
 * A job that was submitted without a prediction is compared with nothing; its coverage
 * must be what is stated. Applications that are left out keep the prediction that they
 * have: a history says nothing of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_GATE_H
#define DN_GATE_H

#include "jobs/history/apps_build.h"

/* Fewer runs than this judge nothing: the history passes, since its bounds are wide. */
#define DN_GATE_RUNS_MIN 10

/* How much worse the error (as a share of it, and in addition) and the coverage may be:
 * less than that is chance with some hundred runs.
 */
#define DN_GATE_ERROR_SHARE 0.05
#define DN_GATE_ERROR_MORE  0.005
#define DN_GATE_COVERAGE    0.02

/* The stated coverage, and how far coverage may be below it where nothing was in force.
 */
#define DN_GATE_QUANTILE 0.95
#define DN_GATE_BELOW    0.05

/* How well runs were predicted. */
struct dn_judged {
    int64_t runs;
    double error;    /* median of |ln (run time / predicted)|; NaN without runs */
    double coverage; /* share of runs within the 95 % bound; NaN without runs */
};

struct dn_gate {
    int64_t since_s;         /* end of the first of the newest runs */
    struct dn_judged before; /* what was in force */
    struct dn_judged after;  /* the history, of the same runs */
    struct dn_judged alone;  /* the history, of runs without a prediction */
    bool passed;
    char why[DN_REASON_MAX]; /* in figures */
};

/* Judge. 'build' is as for dn_build_apps (). -1 with 'err'. */
int dn_gate_judge (struct dn_store *store,
                   const struct dn_build *build,
                   struct dn_gate *gate,
                   struct dn_err *err);

#endif
