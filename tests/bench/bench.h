/* bench.h - shared by the programs of this folder: measured runs, exit
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_BENCH_H
#define DN_BENCH_H

#include "hardware/hardware.h"
#include "learn/runs.h"
#include "learn/score.h"

/* Print the error of 'what', and exit with 1. */
_Noreturn void bench_die (const char *what, const char *why);

/* One measured run, ready to be predicted. */
struct bench_run {
    struct dn_spec spec;
    struct dn_graph graph;
    const struct dn_device *device;
    int label[DN_N_LABELS]; /* as of the examples */
    double step_s;
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
    struct dn_runs *examples;    /* the same runs, as trees learn from them */
    struct bench_run *runs;
    int n_runs;
    int n_refused;               /* rows that cannot be predicted */
    struct dn_err refused;       /* the last one's reason */
    const char *constants;       /* to fit, NULL for all */
    struct bench_slopes *slopes; /* made by the first fit */
};

/* Read the catalogue, the families ("": none) and the tables up to NULL into an empty
 * set and its examples: the rows that have a step time.
 */
void bench_read (struct bench_set *set,
                 struct dn_runs *examples,
                 const char *hardware,
                 const char *families,
                 char *const *tables);

/* The name of a run's label. */
const char *bench_name (const struct bench_set *set,
                        const struct bench_run *run,
                        enum dn_label label);

/* Print the b-th tenth of confidence as cells of a table in Markdown. */
void bench_print_bin (const struct dn_reliability *bin, int b);

#endif
