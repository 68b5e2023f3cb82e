/* gate.h - may the new row of an application be installed?
 *
 * In: the runs of an application of a user, oldest first. Each of the newest is
 * predicted from those before it, as learning would have, and beside it is what was
 * predicted when it was submitted, which is what was in force. Out: is the row worse?
 * Then the one in force stays. Each application of a user is judged by itself, so that
 * no runs of others change what it gets. Pure: no store, no clock.
 *
 * A run that was submitted without a prediction is compared with nothing; the bound
 * must hold as stated. With too few new runs nothing is judged: the row is installed,
 * since its bounds are wide.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_GATE_H
#define DN_GATE_H

#include "jobs/history/fit_apps.h"

/* The newest fifth of the runs, within these numbers; what is before are two at least.
 */
#define DN_GATE_RUNS_MIN 3
#define DN_GATE_RUNS_MAX 5

/* How much worse the error may be, as a share of it and in addition, and how many more
 * runs may exceed the bound. Less is chance.
 */
#define DN_GATE_ERROR_SHARE 0.05
#define DN_GATE_ERROR_MORE  0.05
#define DN_GATE_BEYOND      1

/* How many of the runs without a prediction may exceed the bound. */
#define DN_GATE_BEYOND_ALONE 2

#define DN_GATE_QUANTILE 0.95

/* How well runs were predicted: means over applications, one vote each. */
struct dn_judged {
    int64_t votes;
    int64_t runs;
    double error;    /* of |ln (run time / predicted)|; NaN without runs */
    double coverage; /* share of runs within the 95 % bound; NaN without runs */
};

struct dn_gate {
    struct dn_judged before; /* what was in force */
    struct dn_judged after;  /* the history, of the same runs */
    struct dn_judged alone;  /* the history, of runs without a prediction */
    int64_t n_rows;          /* that were to be installed */
    int64_t n_judged;
    int64_t n_worse;
    bool passed;             /* not all rows are worse */
    char why[DN_REASON_MAX]; /* in figures */
};

/* Count a row in a gate that begins zeroed. True if it is not worse. */
bool dn_gate_row (struct dn_gate *gate,
                  const struct dn_fit_run runs[],
                  int n,
                  enum dn_work_unit unit,
                  const struct dn_fit_prior *prior);

/* After the last row: make means of sums, and say why. */
void dn_gate_end (struct dn_gate *gate);

#endif
