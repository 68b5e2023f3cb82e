/* site_curve.c - what a site gains by its own runs
 *
 * usage: site_curve HARDWARE-FOLDER FAMILIES.csv SWEEPS DRAWS USERS RUNS.csv...
 *
 * With DRAWS 0 the prior of a site is fitted to all sources and printed.
 *
 * Every source of every table is once a site that was not learned from: what is known
 * of sites is what the sources of other families of code show (site_sources.h), and
 * with SWEEPS above 0 so are the constants; with 0 they are those that ship. Then 0 to
 * 50 of its runs, drawn at random, are given to the fit of the site (learn/site_fit.h):
 *
 * - of one model; other runs of this model are judged,
 * - of all other models of the source, as many of each as there are; runs of the model
 *   are judged. Sources of a single model cannot be judged so.
 *
 * The law of errors after runs of the same application is that of the sources of other
 * families: the errors of this very procedure, in units of the spread that it states.
 *
 * Then all runs of each source are fitted: how far its constants are from those of the
 * others is what the prior's spreads rest on.
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

static const int given[] = {0, 1, 3, 10, 20, 50};

#define N_GIVEN    ((int) DN_N_ELEMENTS (given))
#define GIVEN_MAX  50
#define JUDGED     24 /* runs that are judged, of a model and a draw */
#define JUDGED_MIN 3
#define AT_SUMMARY 4 /* of given: whose coverage is shown by source */
#define TABLES_MAX 4
#define ERRORS_MAX 65536

/* Whose runs are given. */
enum whose {
    OWN,
    OTHERS,
    N_WHOSE
};

/* Errors at one number of runs. */
struct scores {
    struct dn_score all;
    struct dn_score before; /* of the same runs, as shipped */
    struct dn_score pairs;  /* of source and model */
    struct dn_score sources;
    struct dn_score sources_before;
    struct dn_score widths; /* of bounds over medians */
};

/* Of a run that was judged, in units of the stated spread. */
struct error {
    const char *family; /* of its source */
    double value;
    double weight; /* the runs of a model at one number of runs are one vote */
};

struct curve {
    struct bench_sources sources;
    struct error errors[ERRORS_MAX];
    int n_errors;
    struct scores scores[N_WHOSE][TABLES_MAX][N_GIVEN];
    int n_tables;
    int draws;
    int users;
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

/* The runs of a model of a source, in random order (Fisher and Yates). */
static int draw_model (const struct bench_set *set,
                       const struct bench_source *source,
                       const char *model,
                       uint64_t *random,
                       int *out)
{
    int n = 0;

    for (int i = 0; i < set->n_runs; i++) {
        int at;

        if (!bench_source_has (source, &set->runs[i])
            || strcmp (set->runs[i].model, model) != 0)
            continue;
        at = bench_below (random, n + 1);
        out[n++] = out[at];
        out[at] = i;
    }
    return n;
}

/* At most 'n' runs of all models but one (NULL: of all), in turns. */
static int draw_others (const struct bench_set *set,
                        const struct bench_source *source,
                        const char *model,
                        uint64_t *random,
                        int n,
                        int *out)
{
    int *drawn = calloc ((size_t) set->n_runs + 1, sizeof (*drawn));
    int found = 0;

    if (!drawn)
        bench_die ("runs", "out of memory");
    for (int turn = 0, before = -1; found < n && found != before; turn++) {
        before = found;
        for (int m = 0; m < source->n_models && found < n; m++) {
            uint64_t same = *random + (uint64_t) m;

            if (model && strcmp (source->models[m], model) == 0)
                continue;
            if (draw_model (set, source, source->models[m], &same, drawn) > turn)
                out[found++] = drawn[turn];
        }
    }
    (void) bench_below (random, 2);
    free (drawn);
    return found;
}

/* The user of a model's runs: FNV-1a of its name. */
static int64_t user_of (const struct curve *curve, const char *model)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (; *model != '\0'; model++)
        hash = (hash ^ (uint64_t) *model) * 0x100000001b3u;
    return (int64_t) (hash >> 16) % curve->users;
}

/* The site's tuning by these runs; the fit owns their graphs. NULL for none. */
static struct dn_tuning *fit_site (const struct curve *curve,
                                   const struct start *start,
                                   const int *runs,
                                   int n)
{
    const struct bench_set *set = &curve->sources.set;
    struct dn_site_fit *fit;
    struct dn_tuning *tuning;
    struct dn_err err;

    if (n == 0)
        return NULL;
    fit = dn_site_fit_new (start->constants, &start->prior);
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

/* What a site with this tuning is told of a run. */
static struct dn_range predict (const struct curve *curve,
                                const struct start *start,
                                struct dn_tuning *tuning,
                                const struct bench_run *run)
{
    struct dn_bundle bundle = bundle_of (tuning);
    struct dn_predictor predictor = {.constants =
                                         tuning ? &tuning->constants : start->constants,
                                     .bundle = &bundle,
                                     .shipped = start->constants,
                                     .user = user_of (curve, run->model)};
    struct dn_estimate e;
    struct dn_err err;

    if (dn_predict (&predictor,
                    &(struct dn_case){.spec = &run->spec, .graph = &run->graph},
                    &run->device,
                    1,
                    &e,
                    &err)
        < 0)
        bench_die ("predict", err.text);
    return e.step_s;
}

static void add (struct dn_score *score,
                 const char *group,
                 const struct dn_range *range,
                 double measured)
{
    const double bounds[DN_N_BOUNDS] = {[DN_BOUND_P95] = dn_range_at (*range, 0.95),
                                        [DN_BOUND_P99] = dn_range_at (*range, 0.99)};
    struct dn_err err;

    if (dn_score_add (score, group, range->p50, bounds, measured, &err) < 0)
        bench_die ("scores", err.text);
}

static void judge (const struct curve *curve,
                   const struct bench_source *source,
                   const struct start *start,
                   struct dn_tuning *tuning,
                   const struct bench_run *run,
                   struct scores *scores)
{
    struct dn_range before = predict (curve, start, NULL, run);
    struct dn_range after = predict (curve, start, tuning, run);
    char pair[DN_NAME_MAX + 16];

    snprintf (pair,
              sizeof (pair),
              "%d %s",
              (int) (source - curve->sources.sources),
              run->model);
    add (&scores->all, "all", &after, run->step_s);
    add (&scores->before, "all", &before, run->step_s);
    add (&scores->pairs, pair, &after, run->step_s);
    add (&scores->sources, source->name, &after, run->step_s);
    add (&scores->sources_before, source->name, &before, run->step_s);
    add (&scores->widths, "all", &after, after.p50);
}

/* Keep the error of a run for the law of errors. */
static void note_error (struct curve *curve,
                        const struct bench_source *source,
                        const struct start *start,
                        struct dn_tuning *tuning,
                        const struct bench_run *run,
                        double weight)
{
    struct dn_range range = predict (curve, start, tuning, run);

    if (curve->n_errors == ERRORS_MAX)
        bench_die ("errors", "too many");
    curve->errors[curve->n_errors++] =
        (struct error){.family = source->family,
                       .value = log (run->step_s / range.p50) / range.sigma,
                       .weight = weight};
}

/* Judge a model of a source by runs of its own or of the others; or keep the errors by
 * its own ones.
 */
static void judge_model (struct curve *curve,
                         const struct bench_source *source,
                         const char *model,
                         const struct start *start,
                         enum whose whose,
                         bool keep,
                         uint64_t *random)
{
    const struct bench_set *set = &curve->sources.set;
    int *runs = calloc ((size_t) set->n_runs + 1, sizeof (*runs));
    int others[GIVEN_MAX];
    int n_others;
    int n;

    if (!runs)
        bench_die ("runs", "out of memory");
    n = draw_model (set, source, model, random, runs);
    n_others = draw_others (set, source, model, random, GIVEN_MAX, others);
    for (int g = keep ? 1 : 0; g < N_GIVEN; g++) {
        int n_own = whose == OWN ? given[g] : 0;
        int n_given = whose == OWN || given[g] < n_others ? given[g] : n_others;
        struct dn_tuning *tuning;
        int end;

        if (n < n_own + (whose == OWN ? JUDGED_MIN : 1)
            || (whose == OTHERS && n_others == 0))
            break;
        tuning = fit_site (curve, start, whose == OWN ? runs : others, n_given);
        end = n < n_own + JUDGED ? n : n_own + JUDGED;
        for (int i = n_own; i < end; i++) {
            const struct bench_run *run = &set->runs[runs[i]];

            if (keep)
                note_error (curve, source, start, tuning, run, 1.0 / (end - n_own));
            else
                judge (curve,
                       source,
                       start,
                       tuning,
                       run,
                       &curve->scores[whose][source->table][g]);
        }
        dn_tuning_free (tuning);
    }
    free (runs);
}

/* --- the law of errors ------------------------------------------------------------ */

static int compare_errors (const void *a, const void *b)
{
    const struct error *x = a;
    const struct error *y = b;

    return (x->value > y->value) - (x->value < y->value);
}

/* The errors of all models of a source by runs of their own. The bound is the site's
 * own, however narrow, so that the spread is.
 */
static void keep_errors (struct curve *curve,
                         const struct bench_source *source,
                         const struct dn_site_prior *prior)
{
    struct start start = {&source->constants, *prior};
    uint64_t random = 2463534242u;

    for (int i = 0; i < start.prior.seen.n; i++)
        start.prior.seen.values[i] *= 1e-3;
    for (int m = 0; m < source->n_models; m++)
        judge_model (curve, source, source->models[m], &start, OWN, true, &random);
}

/* The quantiles of the errors of other families ("": of all), which are sorted; never
 * less than the normal law's.
 */
static void find_law (const struct curve *curve,
                      const char *without,
                      struct dn_quantiles *law)
{
    double total = 0;
    double sum = 0;
    int at = 0;

    for (int i = 0; i < curve->n_errors; i++)
        total += strcmp (curve->errors[i].family, without) != 0
                     ? curve->errors[i].weight
                     : 0;
    for (int k = 0; k < law->n; k++) {
        double level = 0.5 * erfc (-law->scores[k] / sqrt (2));

        law->values[k] = law->scores[k];
        for (; at < curve->n_errors && sum <= level * total; at++)
            sum += strcmp (curve->errors[at].family, without) != 0
                       ? curve->errors[at].weight
                       : 0;
        if (law->scores[k] > 0 && at > 0)
            law->values[k] = fmax (law->scores[k], curve->errors[at - 1].value);
    }
}

/* By the errors of the other families under their priors. */
static void find_laws (struct curve *curve, struct dn_site_prior *priors)
{
    for (int i = 0; i < curve->sources.n; i++)
        keep_errors (curve, &curve->sources.sources[i], &priors[i]);
    qsort (curve->errors,
           (size_t) curve->n_errors,
           sizeof (*curve->errors),
           compare_errors);
    for (int i = 0; i < curve->sources.n; i++)
        find_law (curve, curve->sources.sources[i].family, &priors[i].seen);
}

/* --- constants of sites ----------------------------------------------------------- */

/* How far the constants of whole sources are from those of all others. */
#define MOST 128 /* runs of a source */
struct width {
    double square;
    int n;
};

static void measure_widths (const struct curve *curve,
                            const struct bench_source *source,
                            const struct start *start,
                            struct width widths[DN_CONSTANT_FIELDS])
{
    int runs[DN_SITE_RUNS_MAX];
    uint64_t random = 1;
    struct dn_tuning *tuning =
        fit_site (curve,
                  start,
                  runs,
                  draw_others (&curve->sources.set, source, NULL, &random, MOST, runs));

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
}

static void print_widths (const struct width widths[DN_CONSTANT_FIELDS])
{
    printf (
        "| constant | spread in use | between sources | sources with enough runs |\n"
        "|---|---:|---:|---:|\n");
    for (int i = 0; i < DN_CONSTANT_FIELDS; i++)
        if (dn_constant_fields[i].spread > 0 && widths[i].n > 0)
            printf ("| %s | %.2f | %.2f | %d |\n",
                    dn_constant_fields[i].name,
                    dn_constant_fields[i].spread,
                    sqrt (widths[i].square / widths[i].n),
                    widths[i].n);
}

static double median (const struct dn_score *score, int group)
{
    return 100 * dn_pairs_figures (&score->groups[group]).median_ape;
}

static void print_scores (struct scores scores[N_GIVEN])
{
    printf (
        "| runs | judged | mean %% | median %% | per model %% | as shipped: median %% "
        "| below p95 %% | p95 / median |\n"
        "|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for (int g = 0; g < N_GIVEN && scores[g].all.n_groups > 0; g++) {
        struct dn_figures all = dn_pairs_figures (scores[g].all.groups);

        printf ("| %d | %zu | %.1f | %.1f | %.1f | %.1f | %.1f | %.2f |\n",
                given[g],
                all.n,
                100 * all.mape,
                100 * all.median_ape,
                100 * dn_score_macro (&scores[g].pairs),
                median (&scores[g].before, 0),
                100 * all.coverage[DN_BOUND_P95],
                dn_pairs_figures (scores[g].widths.groups).tightness[DN_BOUND_P95]);
    }
    printf ("\n");
}

/* The place of a source's group, or -1. */
static int find_source (const struct dn_score *score, const char *name)
{
    for (int i = 0; i < score->n_groups; i++)
        if (strcmp (score->groups[i].name, name) == 0)
            return i;
    return -1;
}

/* Of each source: median errors, then coverage. */
static void print_sources (struct scores scores[N_GIVEN])
{
    printf ("| source | as shipped: median %% |");
    for (int g = 1; g < N_GIVEN; g++)
        printf (" %d |", given[g]);
    printf (
        " below p95 %% at %d | at %d |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
        given[0],
        given[AT_SUMMARY]);
    for (int s = 0; s < scores[0].sources.n_groups; s++) {
        const char *name = scores[0].sources.groups[s].name;

        printf ("| %s | %.1f |", name, median (&scores[0].sources, s));
        for (int g = 1; g < N_GIVEN; g++) {
            int at = find_source (&scores[g].sources, name);

            printf (at < 0 ? " - |" : " %.1f |",
                    at < 0 ? 0 : median (&scores[g].sources, at));
        }
        for (int g = 0; g <= AT_SUMMARY; g += AT_SUMMARY) {
            int at = find_source (&scores[g].sources, name);

            printf (at < 0 ? " - |" : " %.1f |",
                    at < 0 ? 0
                           : 100
                                 * dn_pairs_figures (&scores[g].sources.groups[at])
                                       .coverage[DN_BOUND_P95]);
        }
        printf ("\n");
    }
    printf ("\n");
}

static const char head[] =
    "## A site's own runs\n\n"
    "Every source is once a site: 0 to 50 of its runs are given to `dnnest train --site`\n"
    "(tests/bench/site-curve), and others of its runs are judged, %d times. How far sites\n"
    "are from each other and how alike the runs of an application are is fitted to the\n"
    "sources of other families of code (learn/data/families.csv). %s\n"
    "No learned residual is applied. No source names its users: each is a site with %d,\n"
    "and all runs of a model are those of one of them. At each number of runs those\n"
    "models are judged that have as many and some more; *as shipped* is the error of the\n"
    "same runs without the site's.\n\n";
static const char *const constants_text[] = {
    "The constants are those that ship, and have seen the runs of the first table.",
    "The constants are fitted to the sources of other families too.",
};
static const char between[] =
    "### How far sites are from each other\n\n"
    "All runs of each source against the constants it starts from: root mean square of\n"
    "the logarithm of the ratio, over the sources whose runs show it.\n\n";

static void print_tables (struct curve *curve, char *const tables[])
{
    static const char *const titles[] = {
        [OWN] = "after runs of the same application",
        [OTHERS] = "after runs of other applications of the site",
    };

    for (int t = 0; t < curve->n_tables; t++)
        for (int w = 0; w < N_WHOSE; w++) {
            const char *slash = strrchr (tables[t], '/');

            printf ("### %s: %s\n\n", slash ? slash + 1 : tables[t], titles[w]);
            print_scores (curve->scores[w][t]);
            print_sources (curve->scores[w][t]);
        }
}

/* What is known of sites by the other families: of an earlier source of the family, or
 * fitted.
 */
static void find_prior (struct curve *curve, int s, struct dn_site_prior *priors)
{
    const struct bench_source *sources = curve->sources.sources;

    for (int i = 0; i < s; i++)
        if (strcmp (sources[i].family, sources[s].family) == 0) {
            priors[s] = priors[i];
            return;
        }
    priors[s] = prior_without (curve, &sources[s]);
}

static void judge_source (struct curve *curve,
                          const struct bench_source *source,
                          const struct dn_site_prior *prior,
                          struct width widths[DN_CONSTANT_FIELDS])
{
    const struct start start = {&source->constants, *prior};
    uint64_t random = 88172645463325252u;

    for (int m = 0; m < source->n_models; m++)
        for (int d = 0; d < curve->draws; d++)
            for (int w = 0; w < N_WHOSE; w++)
                judge_model (curve,
                             source,
                             source->models[m],
                             &start,
                             (enum whose) w,
                             false,
                             &random);
    measure_widths (curve, source, &start, widths);
}

/* The prior of all sources, whose law is that of the errors under it. */
static void print_all (struct curve *curve, struct dn_site_prior *priors)
{
    struct dn_site_prior prior = prior_without (curve, NULL);

    for (int i = 0; i < curve->sources.n; i++)
        priors[i] = prior;
    find_laws (curve, priors);
    find_law (curve, "", &prior.seen);
    print_prior (&prior);
}

int main (int argc, char *argv[])
{
    static struct curve curve;
    static struct dn_site_prior priors[BENCH_SOURCES_MAX];
    struct width widths[DN_CONSTANT_FIELDS];
    int sweeps;

    memset (widths, 0, sizeof (widths));
    if (argc < 7 || argc > 6 + TABLES_MAX)
        bench_die ("usage",
                   "site_curve HARDWARE-FOLDER FAMILIES.csv SWEEPS DRAWS USERS "
                   "RUNS.csv...");
    sweeps = (int) strtol (argv[3], NULL, 10);
    curve.draws = (int) strtol (argv[4], NULL, 10);
    curve.users = (int) strtol (argv[5], NULL, 10);
    curve.n_tables = argc - 6;
    if (curve.users < 1)
        bench_die ("USERS", "expected at least one");
    bench_sources_read (
        &curve.sources, argv[1], argv[2], argv + 6, curve.n_tables, sweeps);
    if (curve.draws == 0) {
        print_all (&curve, priors);
        return 0;
    }
    for (int i = 0; i < curve.sources.n; i++)
        find_prior (&curve, i, priors);
    find_laws (&curve, priors);
    for (int i = 0; i < curve.sources.n; i++)
        judge_source (&curve, &curve.sources.sources[i], &priors[i], widths);
    printf (head, curve.draws, constants_text[sweeps > 0], curve.users);
    print_tables (&curve, argv + 6);
    printf ("%s", between);
    print_widths (widths);
    return 0;
}
