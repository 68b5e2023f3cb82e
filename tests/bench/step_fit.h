/* step_fit.h - measured runs, and the fit of the white box's constants to them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STEP_FIT_H
#define DN_STEP_FIT_H

#include "bench.h"
#include "learn/families.h"
#include "predict/whitebox.h"

/* One measured run, ready to be predicted. */
struct bench_run {
    struct dn_spec spec;
    struct dn_graph graph;
    const struct dn_device *device;
    char model[DN_NAME_MAX];
    char source[DN_NAME_MAX];
    char family[DN_NAME_MAX]; /* of the source: it shares code with others */
    char kind[DN_NAME_MAX];   /* of the model: it is like others */
    int place;                /* of the family, from 0 */
    double step_s;
    int table; /* that it is of */
    double weight;
    bool several;
    bool fitted;   /* quality A or B, and not one of too many alike */
    bool left_out; /* the fit must not see it */
    bool judged;   /* it is one of those that the fit is judged by */
};

/* How the logarithm of each prediction changes with that of each constant, at the
 * constants that ship.
 */
struct bench_slopes;

struct bench_set {
    struct dn_catalogue catalogue;
    struct dn_families families; /* may be empty */
    struct bench_run *runs;
    int n_runs;
    int size;
    int n_refused;               /* rows whose network cannot have what they state */
    struct dn_err refused;       /* the last one's reason */
    int table;                   /* that is read */
    const char *constants;       /* to fit, NULL for all */
    struct bench_slopes *slopes; /* made by the first fit */
};

/* For bench_read_table (), with a set as context: keeps the run of a row, if it has
 * what the fit needs.
 */
int bench_add_run (const struct dn_row *row, void *context, struct dn_err *err);

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
