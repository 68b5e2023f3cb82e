/* step_fit.h - measured runs, and the fit of the white box's constants to them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STEP_FIT_H
#define DN_STEP_FIT_H

#include "bench.h"
#include "predict/whitebox.h"

/* One measured run, ready to be predicted. */
struct bench_run {
    struct dn_spec spec;
    struct dn_graph graph;
    const struct dn_device *device;
    char model[DN_NAME_MAX];
    char source[DN_NAME_MAX];
    double step_s;
    double weight;
    bool several;
    bool fitted; /* quality A or B: rough rows are judged, not fitted */
    bool left_out;
};

struct bench_set {
    struct dn_catalogue catalogue;
    struct bench_run *runs;
    int n_runs;
    int size;
    const char *constants; /* to fit, NULL for all */
};

/* For bench_read_table (), with a set as context: keeps the run of a row, if it has
 * what the fit needs.
 */
int bench_add_run (const struct dn_row *row, void *context, struct dn_err *err);

/* When all runs have been read: one vote per pair of model and source. */
void bench_weigh (struct bench_set *set);

/* Seconds of one step. */
double bench_predict (const struct dn_constants *constants,
                      const struct bench_run *run);

/* Fit the constants to the runs that are not left out. */
void bench_fit (const struct bench_set *set,
                int sweeps,
                struct dn_constants *constants);

/* Print the fitted constants as initialisers. */
void bench_print_constants (const struct bench_set *set,
                            const struct dn_constants *constants);

#endif
