/* site_curve.c - what a site gains by its own runs
 *
 * usage: site_curve HARDWARE-FOLDER RUNS.csv SWEEPS DRAWS USERS
 *
 * With DRAWS 0 the prior of a site is fitted to all sources and printed.
 *
 * Every source of the table is once a site that was not learned from: it starts from
 * constants that were fitted to the other sources, and what is known of sites is what
 * the other sources show (site_sources.h). Then 0, 3, 10, 20 and 50 of its runs, drawn
 * at random, are given to the fit of the site (learn/site_fit.h), and all runs of a
 * model that is not among them are judged; so with every model of the source, DRAWS
 * times. Sources of a single model cannot be judged.
 *
 * A second curve draws from all runs of the source and judges those that were not
 * drawn, so that most applications are known. Then all runs of each source are fitted:
 * how far its constants are from those of the others is what the prior's spreads rest
 * on.
 *
 * No source names its users. Each is taken as a site with USERS users, and all runs of
 * a model as those of one of them, drawn by the model's name.
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
#include "site_sources.h"

static const int given[] = {0, 3, 10, 20, 50};

#define N_GIVEN ((int) DN_N_ELEMENTS (given))

/* The measured runs, and which of them the site has been given: they are not judged. */
struct curve {
    struct bench_sources sources;
    bool *given;
    int draws;
    int users;
};

/* Errors at one number of runs: all, by source, by model. */
struct scores {
    struct dn_score all;
    struct dn_score sources;
    struct dn_score models;
};

/* What a site starts from that was not learned from. */
struct start {
    const struct dn_constants *constants;
    struct dn_site_prior prior;
};

/* What learn/site_fit.c knows of sites, by all sources but one (NULL: by all). */
static struct dn_site_prior prior_without (const struct curve *curve,
                                           const struct bench_source *source)
{
    struct dn_site_prior prior = dn_site_prior_default ();
    struct bench_way way = {.parts = WITH (SITE) | WITH (DEVICE) | WITH (CONSTANTS)
                                     | WITH (HISTORY)};

    bench_sources_fit (&curve->sources, source, &way);
    prior.site = exp (way.parameters[PART_SITE]);
    prior.device = exp (way.parameters[PART_DEVICE]);
    prior.likeness = bench_likeness (&way);
    prior.seen = way.seen;
    prior.unseen = way.unseen;
    return prior;
}

/* As learn/site_fit.c has it. */
static void print_prior (const struct dn_site_prior *prior)
{
    const struct dn_likeness *likeness = &prior->likeness;

    for (int i = 0; i < prior->seen.n; i++)
        printf ("    {%.4g, %.3g, %.3g},\n",
                round (0.5 * erfc (-prior->seen.scores[i] / sqrt (2)) * 1000) / 1000,
                prior->seen.values[i],
                prior->unseen.values[i]);
    printf ("    .site = %.3g,\n    .device = %.3g,\n", prior->site, prior->device);
    printf (
        "    .spread = %.3g,\n    .noise = %.3g,\n", likeness->spread, likeness->noise);
    for (int i = 0; i < DN_N_AXES; i++)
        printf (
            "    %s %.3g\n", dn_names_get (&dn_axis_names, i), likeness->lengths[i]);
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
        at = bench_below (random, n + 1);
        out[n++] = out[at];
        out[at] = i;
    }
    return n;
}

/* The user of a model's runs: FNV-1a of its name. */
static int64_t user_of (const struct curve *curve, const char *model)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (; *model != '\0'; model++)
        hash = (hash ^ (uint64_t) *model) * 0x100000001b3u;
    return (int64_t) (hash >> 16) % curve->users;
}

/* The site's tuning by the first 'n' runs; the fit owns its runs' graphs. */
static struct dn_tuning *fit_site (const struct curve *curve,
                                   const struct start *start,
                                   const int *runs,
                                   int n)
{
    const struct bench_set *set = &curve->sources.set;
    struct dn_site_fit *fit = dn_site_fit_new (start->constants, &start->prior);
    struct dn_tuning *tuning;
    struct dn_err err;

    if (!fit)
        bench_die ("fit", "out of memory");
    for (int i = 0; i < n; i++) {
        const struct bench_run *from = &set->runs[runs[i]];
        struct dn_site_run run = {.user = user_of (curve, from->model),
                                  .spec = from->spec,
                                  .device = from->device,
                                  .step_s = from->step_s};

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

    for (int i = 0; i < curve->sources.set.n_runs; i++) {
        const struct bench_run *run = &curve->sources.set.runs[i];
        struct dn_estimate e;
        double bounds[DN_N_BOUNDS];
        struct dn_err err;

        if (curve->given[i] || strcmp (run->source, source) != 0
            || (model && strcmp (run->model, model) != 0))
            continue;
        predictor.user = user_of (curve, run->model);
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

/* Judge a model by runs of the others or (model NULL) all runs by some of them. */
static void judge_draws (struct curve *curve,
                         const char *source,
                         const char *model,
                         const struct start *start,
                         int draws,
                         struct scores scores[N_GIVEN])
{
    int *runs = calloc ((size_t) curve->sources.set.n_runs, sizeof (*runs));
    uint64_t random = 88172645463325252u;

    if (!runs)
        bench_die ("runs", "out of memory");
    for (const char *at = model ? model : source; *at != '\0'; at++)
        random = (random ^ (uint64_t) *at) * 0x100000001b3u;
    for (int d = 0; d < draws; d++) {
        int n = draw (&curve->sources.set, source, model, &random, runs);

        for (int g = 0; g < N_GIVEN && n > 0; g++) {
            int n_given = given[g] < n ? given[g] : n;
            struct dn_tuning *tuning =
                n_given > 0 ? fit_site (curve, start, runs, n_given) : NULL;

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

static void measure_widths (const struct curve *curve,
                            const char *source,
                            const struct start *start,
                            struct width widths[DN_CONSTANT_FIELDS])
{
    const struct bench_set *set = &curve->sources.set;
    int *runs = calloc ((size_t) set->n_runs, sizeof (*runs));
    uint64_t random = 1;
    struct dn_tuning *tuning;

    if (!runs)
        bench_die ("runs", "out of memory");
    tuning = fit_site (curve, start, runs, draw (set, source, NULL, &random, runs));
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
    "to `dnnest train --site` (tests/bench/site-curve). How far sites are from one\n"
    "another and how alike the runs of an application are is fitted to the other sources\n"
    "too, each against constants without it. No learned residual is applied. No source names\n"
    "its users: each is a site with five, and all runs of a model are those of one of them.\n";
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
                          const struct bench_source *source,
                          struct scores scores[2][N_GIVEN],
                          struct width widths[DN_CONSTANT_FIELDS])
{
    const struct start start = {&source->constants, prior_without (curve, source)};

    for (int m = 0; source->n_models > 1 && m < source->n_models; m++)
        judge_draws (
            curve, source->name, source->models[m], &start, curve->draws, scores[0]);
    judge_draws (curve, source->name, NULL, &start, 4 * curve->draws, scores[1]);
    measure_widths (curve, source->name, &start, widths);
}

int main (int argc, char *argv[])
{
    static struct curve curve;
    struct width widths[DN_CONSTANT_FIELDS];
    struct scores scores[2][N_GIVEN];

    memset (widths, 0, sizeof (widths));
    memset (scores, 0, sizeof (scores));
    if (argc != 6)
        bench_die ("usage", "site_curve HARDWARE-FOLDER RUNS.csv SWEEPS DRAWS USERS");
    curve.draws = (int) strtol (argv[4], NULL, 10);
    curve.users = (int) strtol (argv[5], NULL, 10);
    if (curve.users < 1)
        bench_die ("USERS", "expected at least one");
    bench_sources_read (
        &curve.sources, argv[1], argv[2], (int) strtol (argv[3], NULL, 10));
    if (curve.draws == 0) {
        struct dn_site_prior prior = prior_without (&curve, NULL);

        print_prior (&prior);
        return 0;
    }
    curve.given = calloc ((size_t) curve.sources.set.n_runs + 1, sizeof (*curve.given));
    if (!curve.given)
        bench_die ("runs", "out of memory");
    for (int i = 0; i < curve.sources.n; i++)
        judge_source (&curve, &curve.sources.sources[i], scores, widths);
    printf ("%s\n", head);
    printf (others, curve.draws);
    print_scores (scores[0], true);
    printf (known, 4 * curve.draws);
    print_scores (scores[1], false);
    printf ("%s", between);
    print_widths (widths);
    return 0;
}
