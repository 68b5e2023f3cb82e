/* residual.c - judge the learned residual and its bounds on unseen rows
 *
 * usage: residual HARDWARE-FOLDER FAMILIES.csv SWEEPS RUNS.csv...
 *
 * Runs are left out as in 'dnnest-dev train', but in fewer folds, and each time the
 * constants of the white box are fitted again to the rows that are kept. The constants
 * that ship were fitted to all rows, so their errors are too small. The errors are
 * those of a bundle with trees, bounds and confidence those of one without, as it
 * ships. The tables go to stdout, in Markdown. The last line is the factor by which the
 * refit increases the spread of the rows left out, for 'dnnest-dev train --margin'.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/reals.h"
#include "learn/train.h"
#include "step_fit.h"

/* Each fold of each scheme fits the constants again. */
#define FOLDS_MAX 12

/* The measured runs, both as the fit and as the training read them. */
struct bench {
    struct bench_set set;
    struct dn_training training;
    int sweeps;
};

/* Recompute all rows with a white box fitted without the rows that are left out. */
static int refit (void *context,
                  const bool *left_out,
                  struct dn_runs *runs,
                  struct dn_err *err)
{
    struct bench *bench = context;
    struct dn_constants constants = dn_constants_default;

    (void) err;
    for (int i = 0; i < bench->set.n_runs; i++)
        bench->set.runs[i].left_out = left_out[i];
    bench_fit (&bench->set, bench->sweeps, &constants);
    for (int i = 0; i < runs->n; i++) {
        const struct bench_run *run = &bench->set.runs[i];
        const struct dn_case c = {&constants, &run->spec, &run->graph, run->device, 0};
        struct dn_estimate e;

        dn_whitebox (&c, &e);
        dn_features (&c, &e, runs->runs[i].features);
        runs->runs[i].ratio[DN_QUANTITY_STEP] = log (run->step_s / e.step_s.p50);
    }
    return 0;
}

static void print_errors (const struct dn_training *training)
{
    printf ("| left out | rows | white box: mean | median | per model | learned: mean "
            "| median | per model |\n|---|---:|---:|---:|---:|---:|---:|---:|\n");
    for (int s = 0; s < DN_N_SCHEMES; s++) {
        const struct dn_judgement *j = &training->judgements[s];

        printf ("| %s | %d | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f |\n",
                s == DN_SCHEME_RUN ? "a tenth of the runs"
                                   : dn_names_get (&dn_scheme_names, s),
                j->n,
                100 * j->white_box.mean,
                100 * j->white_box.median,
                100 * j->white_box.per_model,
                100 * j->learned.mean,
                100 * j->learned.median,
                100 * j->learned.per_model);
    }
    printf ("\n");
}

/* Weighted sums over judged runs. */
struct bench_share {
    double weight;
    double covered; /* below the 95 % bound */
    double stated;  /* confidence */
    double within;  /* the factor that it is of */
};

static void bench_share_add (struct bench_share *share,
                             const struct dn_judged *judged,
                             double weight)
{
    share->weight += weight;
    share->stated += weight * (double) judged->confidence;
    if (judged->learned <= judged->bounds[DN_JUDGED_P95])
        share->covered += weight;
    if (fabs ((double) judged->learned) <= log (DN_CONFIDENCE_FACTOR))
        share->within += weight;
}

/* The bound at .95 of the runs at a level of validation. */
static void print_width (const struct dn_judgement *j, int level)
{
    if (j->widths[level].n == 0)
        printf (" - |");
    else
        printf (
            " %.1f (%.2f) |", 100 * j->widths[level].coverage, j->widths[level].width);
}

static void print_bounds (const struct dn_training *training)
{
    printf (
        "| left out | below p95 %% | in the worst family | models with 90 %% below p95 "
        "| p95 / measured | below p99 %% | stack validated: below p95 %% (p95 / p50) "
        "| kind validated | nothing validated |\n"
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for (int s = 0; s < DN_N_SCHEMES; s++) {
        const struct dn_judgement *j = &training->judgements[s];

        printf ("| %s | %.1f | %.1f | %.0f of %d | %.2f | %.1f |",
                s == DN_SCHEME_RUN ? "a tenth of the runs"
                                   : dn_names_get (&dn_scheme_names, s),
                100 * j->coverage[DN_JUDGED_P95],
                100 * j->worst_family,
                j->models[DN_JUDGED_P95] * j->n_models,
                j->n_models,
                j->tightness[DN_JUDGED_P95],
                100 * j->coverage[DN_JUDGED_P99]);
        for (int level = DN_N_VALIDATED_LEVELS - 1; level >= 0; level--)
            print_width (j, level);
        printf ("\n");
    }
    printf ("\n");
}

/* What the runs of a kind of network say, over rows and over pairs of families. */
static void print_kind (const struct dn_training *training,
                        int scheme,
                        int kind,
                        double *widths)
{
    const struct dn_judgement *j = &training->judgements[scheme];
    struct bench_share rows = {0};
    struct bench_share votes = {0};
    int n = 0;

    for (int i = 0; i < j->n; i++) {
        const struct dn_judged *judged = &j->runs[i];

        if (kind >= 0 && training->runs.runs[judged->run].label[DN_LABEL_KIND] != kind)
            continue;
        bench_share_add (&rows, judged, 1);
        bench_share_add (&votes, judged, judged->vote);
        widths[n++] = exp ((double) judged->bounds[DN_JUDGED_P95]);
    }
    if (n == 0)
        return;
    printf ("| %s | %s | %d | %.1f | %.1f | %.1f | %.2f | %.2f | %.2f |\n",
            dn_names_get (&dn_scheme_names, scheme),
            kind < 0 ? "all" : training->runs.labels[DN_LABEL_KIND].names[kind],
            n,
            votes.weight,
            100 * rows.covered / rows.weight,
            100 * votes.covered / votes.weight,
            dn_reals_median (widths, n),
            votes.stated / votes.weight,
            votes.within / votes.weight);
}

static void print_kinds (const struct dn_training *training)
{
    double *widths = calloc ((size_t) training->runs.n + 1, sizeof (*widths));

    if (!widths)
        bench_die ("kinds", "out of memory");
    printf (
        "| left out | kind | rows | votes | rows below p95 %% | votes below p95 %% | "
        "p95 / p50 | confidence | within 1.5 |\n"
        "|---|---|---:|---:|---:|---:|---:|---:|---:|\n");
    for (int s = DN_SCHEME_CODE; s <= DN_SCHEME_FAMILY; s++)
        for (int k = -1; k < training->runs.labels[DN_LABEL_KIND].n; k++)
            print_kind (training, s, k, widths);
    printf ("\n");
    free (widths);
}

static void print_reliability (const struct dn_training *training)
{
    printf ("| left out | confidence | rows | votes | stated | within 1.5 |\n"
            "|---|---|---:|---:|---:|---:|\n");
    for (int s = DN_SCHEME_CODE; s <= DN_SCHEME_FAMILY; s++)
        for (int b = 0; b < DN_RELIABILITY_BINS; b++) {
            const struct dn_reliability *bin = &training->judgements[s].reliability[b];

            if (bin->n == 0)
                continue;
            printf ("| %s ", dn_names_get (&dn_scheme_names, s));
            bench_print_bin (bin, b);
        }
    printf ("\n");
}

/* ln of the 95 % bound over the prediction, of all networks, in the bundle's units. */
static double bound_of (const struct dn_training *training)
{
    struct dn_err err = {0};
    struct dn_bundle *bundle = dn_bundle_open (dn_span_of (training->manifest), &err);
    const struct dn_domain *domain;
    double value;

    if (!bundle)
        bench_die ("manifest", err.text);
    domain = &bundle->domain;
    value = log (dn_range_at (
        (struct dn_range){.p50 = 1,
                          .sigma = domain->knots[domain->n_knots - 1].sigma,
                          .quantiles = &bundle->bounds[DN_QUANTITY_STEP].all},
        0.95));
    dn_bundle_free (bundle);
    return value;
}

/* Again, on the runs that it has. */
static void train (struct dn_training *training)
{
    struct dn_err err = {0};

    free (training->manifest);
    free (training->step.data);
    free (training->points.data);
    training->manifest = NULL;
    training->step.data = training->points.data = NULL;
    if (dn_training_run (training, &err) < 0)
        bench_die ("training", err.text);
}

int main (int argc, char *argv[])
{
    struct bench bench;
    double flattering;

    memset (&bench, 0, sizeof (bench));
    if (argc < 5)
        bench_die ("usage", "residual HARDWARE-FOLDER FAMILIES.csv SWEEPS RUNS.csv...");
    bench.sweeps = (int) strtol (argv[3], NULL, 10);
    bench.training = dn_training_start (DN_RUNS_MAX, 1);
    bench.training.max_folds = FOLDS_MAX;
    bench.training.context = &bench;
    bench_read (&bench.set, &bench.training.runs, argv[1], argv[2], argv + 4);
    bench_weigh (&bench.set);
    bench.training.bounds_only = true;
    train (&bench.training);
    flattering = bound_of (&bench.training);
    bench.training.refit = refit;
    bench.training.bounds_only = false;
    train (&bench.training);
    print_errors (&bench.training);
    bench.training.bounds_only = true;
    train (&bench.training);
    print_bounds (&bench.training);
    print_kinds (&bench.training);
    print_reliability (&bench.training);
    printf ("margin %.2f\n", bound_of (&bench.training) / flattering);
    return 0;
}
