/* site_curve.c - what a site gains by its own runs
 *
 * usage: site_curve HARDWARE-FOLDER RUNS.csv SWEEPS DRAWS
 *
 * With DRAWS 0 the prior of a site is fitted to all sources and printed (site_prior.h).
 *
 * Every source of the table is once a site that nobody has seen: it starts from
 * constants that were fitted to the other sources (step_fit.h), and what is known of
 * sites is what the other sources show, each against constants without either. Then 0,
 * 3, 10, 20 and 50 of its runs, drawn at random, are given to the fit of the site
 * (learn/site_fit.h), and all runs of a model that is not among them are judged; so
 * with every model of the source, DRAWS times. Sources of a single model cannot be
 * judged.
 *
 * A second curve draws from all runs of the source and judges those that were not
 * drawn, so that most applications are known. Then all runs of each source are fitted:
 * how far its constants are from those of the others is what the prior's spreads rest
 * on.
 *
 * A chapter of learn/ACCURACY.md goes to stdout.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/score.h"
#include "learn/site_fit.h"
#include "predict/predict.h"
#include "site_prior.h"

static const int given[] = {0, 3, 10, 20, 50};

#define N_GIVEN ((int) DN_N_ELEMENTS (given))

/* The measured runs, and which of them the site has been given: they are not judged. */
struct curve {
    struct bench_set set;
    struct bench_fits fits;
    bool *given;
    int draws;
};

/* Errors at one number of runs: all, by source, by model. */
struct scores {
    struct dn_score all;
    struct dn_score sources;
    struct dn_score models;
};

/* What a site starts from that nobody has seen. */
struct start {
    const struct dn_constants *constants;
    struct dn_site_prior prior;
};

static struct start start_without (struct curve *curve, const char *source)
{
    int at = bench_fits_source (&curve->fits, source);
    struct start start = {bench_fits_without (&curve->fits, at, at),
                          dn_site_prior_default ()};

    bench_prior_fit (&curve->fits, at, &start.prior);
    return start;
}

/* A source's runs, of all models but one or (model NULL) of all, in random order
 * (Fisher and Yates).
 */
static int draw (const struct bench_set *set,
                 const char *source,
                 const char *model,
                 uint64_t *random,
                 int *out)
{
    int n = 0;

    for (int i = 0; i < set->n_runs; i++) {
        const struct bench_run *run = &set->runs[i];
        int at;

        if (strcmp (run->source, source) != 0
            || (model && strcmp (run->model, model) == 0))
            continue;
        /* xorshift64 (Marsaglia 2003) */
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        at = (int) (*random % (uint64_t) (n + 1));
        out[n++] = out[at];
        out[at] = i;
    }
    return n;
}

/* The site's tuning by the first 'n' runs; the fit owns its runs' graphs. */
static struct dn_tuning *fit_site (const struct bench_set *set,
                                   const struct start *start,
                                   const int *runs,
                                   int n)
{
    struct dn_site_fit *fit = dn_site_fit_new (start->constants, &start->prior);
    struct dn_tuning *tuning;
    struct dn_err err;

    if (!fit)
        bench_die ("fit", "out of memory");
    for (int i = 0; i < n; i++) {
        const struct bench_run *from = &set->runs[runs[i]];
        struct dn_site_run run = {
            .spec = from->spec, .device = from->device, .step_s = from->step_s};

        if (dn_graph_build (&run.spec, &run.graph, &err) < 0
            || dn_site_fit_add (fit, &run, &err) < 0)
            bench_die ("fit", err.text);
    }
    tuning = dn_site_fit_solve (fit, &err);
    if (!tuning)
        bench_die ("fit", err.text);
    dn_site_fit_free (fit);
    return tuning;
}

/* A bundle that has nothing but this tuning, which it borrows. */
static struct dn_bundle bundle_of (struct dn_tuning *tuning)
{
    return (struct dn_bundle){
        .domain = {.knots = {{0, 0, dn_constants_default.sigma_step}}, .n_knots = 1},
        .tuning = tuning};
}

static void judge (const struct curve *curve,
                   const char *source,
                   const char *model,
                   const struct start *start,
                   struct dn_tuning *tuning,
                   struct scores *scores)
{
    struct dn_bundle bundle = bundle_of (tuning);
    struct dn_predictor predictor = {.constants =
                                         tuning ? &tuning->constants : start->constants,
                                     .bundle = &bundle,
                                     .shipped = start->constants};

    for (int i = 0; i < curve->set.n_runs; i++) {
        const struct bench_run *run = &curve->set.runs[i];
        struct dn_estimate e;
        double bounds[DN_N_BOUNDS];
        struct dn_err err;

        if (curve->given[i] || strcmp (run->source, source) != 0
            || (model && strcmp (run->model, model) != 0))
            continue;
        if (dn_predict (&predictor,
                        &(struct dn_case){.spec = &run->spec,
                                          .graph = &run->graph,
                                          .cpus_per_gpu = 0},
                        &run->device,
                        1,
                        &e,
                        &err)
            < 0)
            bench_die ("predict", err.text);
        bounds[DN_BOUND_P95] = dn_range_at (e.step_s, 0.95);
        bounds[DN_BOUND_P99] = dn_range_at (e.step_s, 0.99);
        if (dn_score_add (&scores->all, "all", e.step_s.p50, bounds, run->step_s, &err)
                < 0
            || dn_score_add (
                   &scores->sources, source, e.step_s.p50, bounds, run->step_s, &err)
                   < 0
            || dn_score_add (
                   &scores->models, run->model, e.step_s.p50, bounds, run->step_s, &err)
                   < 0)
            bench_die ("scores", err.text);
    }
}

/* Is this the first run of its source, or with 'model' of its model in its source? */
static bool is_first (const struct bench_set *set, int at, bool model)
{
    for (int i = 0; i < at; i++)
        if (strcmp (set->runs[i].source, set->runs[at].source) == 0
            && (!model || strcmp (set->runs[i].model, set->runs[at].model) == 0))
            return false;
    return true;
}

/* Judge a model by runs of the others or (model NULL) all runs by some of them. */
static void judge_draws (struct curve *curve,
                         const char *source,
                         const char *model,
                         const struct start *start,
                         int draws,
                         struct scores scores[N_GIVEN])
{
    int *runs = calloc ((size_t) curve->set.n_runs, sizeof (*runs));
    uint64_t random = 88172645463325252u;

    if (!runs)
        bench_die ("runs", "out of memory");
    for (const char *at = model ? model : source; *at != '\0'; at++)
        random = (random ^ (uint64_t) *at) * 0x100000001b3u;
    for (int d = 0; d < draws; d++) {
        int n = draw (&curve->set, source, model, &random, runs);

        for (int g = 0; g < N_GIVEN && n > 0; g++) {
            int n_given = given[g] < n ? given[g] : n;
            struct dn_tuning *tuning =
                n_given > 0 ? fit_site (&curve->set, start, runs, n_given) : NULL;

            for (int i = 0; i < n; i++)
                curve->given[runs[i]] = i < n_given;
            judge (curve, source, model, start, tuning, &scores[g]);
            dn_tuning_free (tuning);
        }
        for (int i = 0; i < n; i++)
            curve->given[runs[i]] = false;
    }
    free (runs);
}

/* How far the constants of whole sources are from those of all others. */
struct width {
    double square;
    int n;
};

static void measure_widths (const struct bench_set *set,
                            const char *source,
                            const struct start *start,
                            struct width widths[DN_CONSTANT_FIELDS])
{
    int *runs = calloc ((size_t) set->n_runs, sizeof (*runs));
    uint64_t random = 1;
    struct dn_tuning *tuning;

    if (!runs)
        bench_die ("runs", "out of memory");
    tuning = fit_site (set, start, runs, draw (set, source, NULL, &random, runs));
    for (int i = 0; i < DN_CONSTANT_FIELDS; i++) {
        const struct dn_tuned_constant *tuned = &tuning->tuned[i];
        double moved;

        /* The runs must tell more than the prior does. */
        if (!tuned->set || tuned->sigma > 0.5 * dn_constant_fields[i].spread)
            continue;
        moved = log (dn_constant_get (&tuning->constants, i) / tuned->shipped);
        widths[i].square += moved * moved + tuned->sigma * tuned->sigma;
        widths[i].n++;
    }
    dn_tuning_free (tuning);
    free (runs);
}

static void print_widths (const struct width widths[DN_CONSTANT_FIELDS])
{
    printf ("| constant | spread in use | between sources | sources that tell |\n"
            "|---|---:|---:|---:|\n");
    for (int i = 0; i < DN_CONSTANT_FIELDS; i++)
        if (dn_constant_fields[i].spread > 0 && widths[i].n > 0)
            printf ("| %s | %.2f | %.2f | %d |\n",
                    dn_constant_fields[i].name,
                    dn_constant_fields[i].spread,
                    sqrt (widths[i].square / widths[i].n),
                    widths[i].n);
}

static void print_line (struct dn_pairs *pairs, double per_model)
{
    struct dn_figures figures = dn_pairs_figures (pairs);

    printf (" %.1f | %.1f |", 100 * figures.mape, 100 * figures.median_ape);
    if (isfinite (per_model))
        printf (" %.1f |", 100 * per_model);
    printf (" %.1f | %.2f |\n",
            100 * figures.coverage[DN_BOUND_P95],
            figures.tightness[DN_BOUND_P95]);
}

static void print_scores (struct scores scores[N_GIVEN], bool sources)
{
    printf (
        "| runs of the site | mean %% | median %% | per model %% | below p95 %% | p95 "
        "/ measured |\n|---:|---:|---:|---:|---:|---:|\n");
    for (int g = 0; g < N_GIVEN; g++) {
        printf ("| %d |", given[g]);
        print_line (scores[g].all.groups, dn_score_macro (&scores[g].models));
    }
    printf ("\n");
    if (!sources)
        return;
    printf ("| source | runs of the site | mean %% | median %% | below p95 %% | p95 / "
            "measured |\n|---|---:|---:|---:|---:|---:|\n");
    for (int s = 0; s < scores[0].sources.n_groups; s++)
        for (int g = 0; g < N_GIVEN; g++) {
            printf ("| %s | %d |", scores[0].sources.groups[s].name, given[g]);
            print_line (&scores[g].sources.groups[s], NAN);
        }
    printf ("\n");
}

static const char head[] =
    "## A site's own runs (training_runs.csv)\n\n"
    "Every source is left out of the constants once, then 0 to 50 of its runs are given\n"
    "to `dnnest train --site` (tests/bench/site-curve). How alike runs of one site are,\n"
    "and how far off they are then, is fitted to the other sources too, each against\n"
    "constants without it and without the one that is left out. No learned residual is\n"
    "applied.\n";
static const char others[] =
    "### Judged on models that are not among the runs\n\n"
    "Every model of every source that has several; the runs are drawn from the\n"
    "source's other models, %d times.\n\n";
static const char known[] =
    "### Judged on all other runs of the source\n\n"
    "Models and devices may be among the runs; drawn %d times.\n\n";
static const char between[] =
    "### How far sites are from one another\n\n"
    "All runs of each source against the constants of the others: root mean square of\n"
    "the logarithm of the ratio, over the sources whose runs tell it.\n\n";

/* All of one source: its constants are those of the others. */
static void judge_source (struct curve *curve,
                          const char *source,
                          struct scores scores[2][N_GIVEN],
                          struct width widths[DN_CONSTANT_FIELDS])
{
    const struct bench_set *set = &curve->set;
    struct start start = start_without (curve, source);

    for (int i = 0; i < set->n_runs; i++)
        if (strcmp (set->runs[i].source, source) == 0 && is_first (set, i, true))
            judge_draws (
                curve, source, set->runs[i].model, &start, curve->draws, scores[0]);
    judge_draws (curve, source, NULL, &start, 4 * curve->draws, scores[1]);
    measure_widths (set, source, &start, widths);
}

int main (int argc, char *argv[])
{
    struct width widths[DN_CONSTANT_FIELDS];
    struct scores scores[2][N_GIVEN];
    struct curve curve;

    memset (widths, 0, sizeof (widths));
    memset (scores, 0, sizeof (scores));
    memset (&curve, 0, sizeof (curve));
    if (argc != 5)
        bench_die ("usage", "site_curve HARDWARE-FOLDER RUNS.csv SWEEPS DRAWS");
    curve.draws = (int) strtol (argv[4], NULL, 10);
    bench_read_catalogue (argv[1], &curve.set.catalogue);
    bench_read_table (argv[2], bench_add_run, &curve.set);
    bench_weigh (&curve.set);
    bench_fits_start (&curve.fits, &curve.set, (int) strtol (argv[3], NULL, 10));
    if (curve.draws == 0) {
        struct dn_site_prior prior = dn_site_prior_default ();

        bench_prior_fit (&curve.fits, -1, &prior);
        bench_prior_print (&prior);
        return 0;
    }
    curve.given = calloc ((size_t) curve.set.n_runs + 1, sizeof (*curve.given));
    if (!curve.given)
        bench_die ("runs", "out of memory");
    for (int i = 0; i < curve.set.n_runs; i++)
        if (is_first (&curve.set, i, false))
            judge_source (&curve, curve.set.runs[i].source, scores, widths);
    printf ("%s\n", head);
    printf (others, curve.draws);
    print_scores (scores[0], true);
    printf (known, 4 * curve.draws);
    print_scores (scores[1], false);
    printf ("%s", between);
    print_widths (widths);
    return 0;
}
