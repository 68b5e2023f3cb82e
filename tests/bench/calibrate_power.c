/* calibrate_power.c - fit the constants of the mean power to measured runs
 *
 * usage: calibrate_power HARDWARE-FOLDER SWEEPS LEAVE-OUT TABLE.csv...
 *
 * Least absolute error of ln (measured / predicted), one vote per network and board,
 * by coordinate descent in the logarithm of each constant. With LEAVE-OUT (network or
 * gpu) every value of it is left out once, the constants are fitted to the rest, and
 * the errors are those of the rows that were left out. An empty word is ignored.
 *
 * Constants go to stdout as initialisers, errors to stderr.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "predict/whitebox.h"

#define RUNS_MAX 4096

struct run {
    struct dn_spec spec;
    struct dn_graph graph;
    const struct dn_device *device;
    char network[DN_NAME_MAX];
    double power_w;
    double weight;
    bool left_out;
    double predicted; /* by a fit that has not seen it */
};

struct set {
    struct dn_catalogue catalogue;
    struct run *runs;
    int n_runs;
};

static const struct {
    const char *name;
    size_t offset;
    double min;
    double max;
} knobs[] = {
#define KNOB(member, min, max)                                                         \
    {                                                                                  \
#member, offsetof(struct dn_constants, member), min, max                       \
    }
    KNOB (power_floor, 0.05, 0.4),
    KNOB (power_pin, 1e-11, 1e-10),
    KNOB (power_traffic, 0.3, 1.5),
    KNOB (power_work, 0.01, 1.5),
    KNOB (power_old, 0.4, 1),
    KNOB (power_regulated, 0.9, 1),
    KNOB (power_half, 0.05, 1),
};

static int add_run (const struct dn_row *row, void *context, struct dn_err *err)
{
    static const struct dn_datasets no_datasets;
    struct set *set = context;
    struct run *run = &set->runs[set->n_runs];

    if (set->n_runs == RUNS_MAX)
        bench_die ("runs", "too many");
    memset (run, 0, sizeof (*run));
    run->spec = dn_spec_empty ();
    run->device = dn_catalogue_find (&set->catalogue, dn_row_get (row, "gpu"));
    run->power_w = strtod (dn_row_get (row, "power_w"), NULL);
    snprintf (run->network, sizeof (run->network), "%s", dn_row_get (row, "group"));
    if (!run->device || run->power_w <= 0)
        return 0;
    if (dn_spec_read (dn_span_of (dn_row_get (row, "spec")), &run->spec, err) < 0
        || dn_spec_resolve (&run->spec, &no_datasets, DN_UNSET, err) < 0
        || dn_graph_build (&run->spec, &run->graph, err) < 0) {
        fprintf (stderr, "line %lld: %s\n", (long long) row->line, err->text);
        return 0;
    }
    set->n_runs++;
    return 0;
}

static bool is_pair (const struct run *a, const struct run *b)
{
    return a->device == b->device && strcmp (a->network, b->network) == 0;
}

static void weigh (struct set *set)
{
    for (int i = 0; i < set->n_runs; i++) {
        int n = 0;

        for (int j = 0; j < set->n_runs; j++)
            n += is_pair (&set->runs[i], &set->runs[j]);
        set->runs[i].weight = 1 / (double) n;
    }
}

static double predict (const struct dn_constants *constants, const struct run *run)
{
    struct dn_estimate estimate;

    dn_whitebox (&(struct dn_case){constants, &run->spec, &run->graph, run->device, 0},
                 &estimate);
    return estimate.power_w;
}

static double loss (const struct set *set, const struct dn_constants *constants)
{
    double sum = 0;
    double weights = 0;

    for (int i = 0; i < set->n_runs; i++) {
        const struct run *run = &set->runs[i];

        if (run->left_out)
            continue;
        sum += run->weight * fabs (log (run->power_w / predict (constants, run)));
        weights += run->weight;
    }
    return weights > 0 ? sum / weights : 0;
}

/* Try a factor on one constant, and keep it if the loss decreases. */
static bool improve (const struct set *set,
                     size_t knob,
                     double factor,
                     struct dn_constants *constants,
                     double *best)
{
    struct dn_constants changed = *constants;
    double value;
    double result;

    memcpy (&value, (char *) &changed + knobs[knob].offset, sizeof (value));
    value = fmin (fmax (value * factor, knobs[knob].min), knobs[knob].max);
    memcpy ((char *) &changed + knobs[knob].offset, &value, sizeof (value));
    result = loss (set, &changed);
    if (!(result < *best - 1e-7))
        return false;
    *constants = changed;
    *best = result;
    return true;
}

static void fit (const struct set *set, int sweeps, struct dn_constants *constants)
{
    double stride[DN_N_ELEMENTS (knobs)];
    double best = loss (set, constants);

    for (size_t i = 0; i < DN_N_ELEMENTS (knobs); i++)
        stride[i] = 0.15;
    for (int sweep = 0; sweep < sweeps; sweep++)
        for (size_t i = 0; i < DN_N_ELEMENTS (knobs); i++) {
            if (improve (set, i, exp (stride[i]), constants, &best)
                || improve (set, i, exp (-stride[i]), constants, &best))
                stride[i] *= 1.5;
            else
                stride[i] /= 3;
        }
}

static const char *fold_of (const struct run *run, bool by_network)
{
    return by_network ? run->network : run->device->name;
}

/* Predict every run by constants that were fitted without its fold. */
static void leave_out (struct set *set, bool by_network, int sweeps)
{
    for (int first = 0; first < set->n_runs; first++) {
        const char *fold = fold_of (&set->runs[first], by_network);
        struct dn_constants constants = dn_constants_default;

        if (set->runs[first].predicted > 0)
            continue;
        for (int i = 0; i < set->n_runs; i++)
            set->runs[i].left_out =
                strcmp (fold_of (&set->runs[i], by_network), fold) == 0;
        fit (set, sweeps, &constants);
        for (int i = 0; i < set->n_runs; i++)
            if (set->runs[i].left_out)
                set->runs[i].predicted = predict (&constants, &set->runs[i]);
    }
}

static double error_of (const struct run *run)
{
    return 100 * fabs (run->predicted / run->power_w - 1);
}

/* One line per network and board, then over all; the spread and the share of runs below
 * the bound with one vote per network and board.
 */
static void print_errors (const struct set *set)
{
    static double errors[RUNS_MAX];
    static double ratios[RUNS_MAX];
    double pairs = 0;
    double sum = 0;
    double variance = 0;
    double mean = 0;
    double covered = 0;
    int n_pairs = 0;

    for (int first = 0; first < set->n_runs; first++) {
        const struct run *run = &set->runs[first];
        int n = 0;
        bool seen = false;

        for (int i = 0; i < set->n_runs; i++) {
            const struct run *other = &set->runs[i];

            if (!is_pair (run, other))
                continue;
            seen = seen || i < first;
            ratios[n] = other->predicted / other->power_w;
            errors[n++] = error_of (other);
        }
        mean += error_of (run) / set->n_runs;
        variance += run->weight * pow (log (run->power_w / run->predicted), 2);
        if (seen)
            continue;
        sum = bench_median (errors, n);
        pairs += sum;
        n_pairs++;
        fprintf (stderr,
                 "%-20s %-22s %3d runs, median error %5.1f %%, ratio %.2f\n",
                 run->network,
                 run->device->name,
                 n,
                 sum,
                 bench_median (ratios, n));
    }
    for (int i = 0; i < set->n_runs; i++) {
        const struct run *run = &set->runs[i];
        struct dn_range range = {.p50 = run->predicted,
                                 .sigma = dn_constants_default.sigma_power};

        errors[i] = error_of (run);
        covered += run->weight * (run->power_w <= dn_range_at (range, 0.95)) / n_pairs;
    }
    fprintf (stderr,
             "%d runs: mean %.1f %%, median %.1f %%; mean over networks and boards of "
             "the median %.1f %%; spread of the logarithm %.3f; bound holds %.1f %%\n",
             set->n_runs,
             mean,
             bench_median (errors, set->n_runs),
             pairs / n_pairs,
             sqrt (variance / n_pairs),
             100 * covered);
}

static void print_constants (const struct dn_constants *constants)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (knobs); i++) {
        double value;

        memcpy (&value, (const char *) constants + knobs[i].offset, sizeof (value));
        printf ("    .%s = %.4g,\n", knobs[i].name, value);
    }
}

int main (int argc, char *argv[])
{
    static struct run runs[RUNS_MAX];
    struct set set = {.runs = runs};
    struct dn_constants constants = dn_constants_default;
    int sweeps;

    if (argc < 5)
        bench_die ("usage", "calibrate_power HARDWARE SWEEPS LEAVE-OUT TABLE.csv...");
    sweeps = (int) strtol (argv[2], NULL, 10);
    bench_read_catalogue (argv[1], &set.catalogue);
    for (int i = 4; i < argc; i++)
        bench_read_table (argv[i], add_run, &set);
    weigh (&set);
    if (argv[3][0] != '\0') {
        leave_out (&set, strcmp (argv[3], "network") == 0, sweeps);
    } else {
        fit (&set, sweeps, &constants);
        print_constants (&constants);
        for (int i = 0; i < set.n_runs; i++)
            runs[i].predicted = predict (&constants, &runs[i]);
    }
    print_errors (&set);
    for (int i = 0; i < set.n_runs; i++)
        dn_graph_free (&runs[i].graph);
    dn_catalogue_free (&set.catalogue);
    return 0;
}
