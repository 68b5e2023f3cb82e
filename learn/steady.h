/* steady.h - the step time of a program from the times at which its steps ended
 *
 * In: marks of a short run: the number of steps done at a time. Out: struct dn_steady:
 * the step time in the long run, its uncertainty, and the start-up before it. Never:
 * what the program computes, and on which device.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STEADY_H
#define DN_STEADY_H

#include "base/err.h"

/* The minimum number of intervals after the warm-up. */
#define DN_STEADY_MIN 3

struct dn_mark {
    double time_s; /* since the program was started */
    int64_t step;  /* steps that have ended by then */
};

struct dn_steady {
    int64_t steps;     /* that were measured */
    int64_t warmup;    /* steps before them: those requested, and slow ones after */
    double step_s;     /* one step */
    double sigma;      /* standard deviation of its logarithm */
    double median_s;   /* of single intervals */
    double start_s;    /* until the steps were steady, without the steps */
    double drift;      /* ln (second half / first half) */
    int64_t outliers;  /* single long intervals that were left out */
    double confidence; /* 0..1 */
};

/* Find the steady state of 'marks', which are in order, after 'warmup' steps. Return -1
 * with 'err' if there are too few of them.
 */
int dn_steady_find (const struct dn_mark marks[],
                    int n_marks,
                    int64_t warmup,
                    struct dn_steady *steady,
                    struct dn_err *err);

#endif
