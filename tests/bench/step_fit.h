/* step_fit.h - measured runs, and the fit of the white box's constants to them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STEP_FIT_H
#define DN_STEP_FIT_H

#include "bench.h"
#include "predict/whitebox.h"

/* When all runs have been read: one vote per pair of families, damped; and which of
 * many rows of one model, source and device are fitted. Says on stderr how many rows
 * were refused.
 */
void bench_weigh (struct bench_set *set);

/* Seconds of one step. */
double bench_predict (const struct dn_constants *constants,
                      const struct bench_run *run);

/* Fit the constants, which begin as those that ship, to the runs that are not left out.
 * The first round uses the slopes at the constants that ship, the others their own,
 * which takes as many predictions of all rows as there are constants.
 */
void bench_fit (struct bench_set *set, int rounds, struct dn_constants *constants);

/* Print the fitted constants as initialisers. */
void bench_print_constants (const struct bench_set *set,
                            const struct dn_constants *constants);

#endif
