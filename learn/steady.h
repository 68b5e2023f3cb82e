/* steady.h - the step time of a program out of the times at which its steps ended
 *
 * In: marks of a short run: so many steps were done at that time. Out: struct
 * dn_steady: what a step takes in the long run, how sure that is, and what came before.
 * Never: what the program computes, or on what.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STEADY_H
#define DN_STEADY_H

#include "base/err.h"

/* Intervals behind the warm-up without which nothing can be told. */
#define DN_STEADY_MIN 3

struct dn_mark {
    double time_s; /* since the program was started */
    int64_t step;  /* steps that have ended by then */
};

struct dn_steady {
    int64_t steps;     /* that were measured */
    int64_t warmup;    /* steps before them: those asked for, and slow ones behind */
    double step_s;     /* one step */
    double sigma;      /* standard deviation of its logarithm: how well it is known */
    double median_s;   /* of single intervals */
    double start_s;    /* until the steps were steady, but for the steps themselves */
    double drift;      /* ln (second half / first half) */
    int64_t outliers;  /* single long intervals that were left out */
    double confidence; /* 0..1 */
};

/* Find the steady state of 'marks', which are in order, behind 'warmup' steps. Return
 * -1 with 'err' when there are too few of them.
 */
int dn_steady_find (const struct dn_mark marks[],
                    int n_marks,
                    int64_t warmup,
                    struct dn_steady *steady,
                    struct dn_err *err);

#endif
