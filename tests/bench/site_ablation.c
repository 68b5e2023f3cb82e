/* site_ablation.c - what each part of a site's fit earns
 *
 * usage: site_ablation HARDWARE-FOLDER FAMILIES.csv SWEEPS DRAWS RUNS.csv...
 *
 * Every source of the table with several models is once a site that was not learned
 * from: constants and the parts' spreads are those of the other sources. Of every model
 * the runs are judged, after learning from runs of other models, and of some of its
 * own. All ways to learn see the same runs. Tables in Markdown go to stdout, a part of
 * learn/ABLATION.md; what they mean is told there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "site_sources.h"

#define PAIRS_MAX    128 /* of source and model */
#define RUNS_GIVEN   8   /* of another model */
#define OTHERS_KNOWN 3   /* other models, where some runs are the model's own */
#define TARGETS      24  /* runs that are judged, of a model and a draw */
#define OWN_MAX      10
#define VALUES_MAX   512 /* of a pair of source and model in one setting */

#define SITE      WITH (SITE)
#define DEVICE    WITH (DEVICE)
#define CONSTANTS WITH (CONSTANTS)
#define HISTORY   WITH (HISTORY)
#define SMOOTH    WITH (SMOOTH)
#define EFFECTS                                                                        \
    (SITE | DEVICE | WITH (APPLICATION) | WITH (APPLICATION_GPUS) | WITH (PRECISION)   \
     | WITH (APPLICATION_DEVICE) | WITH (APPLICATION_PRECISION) | WITH (CELL))

static const struct variant {
    const char *name;
    unsigned parts;
    bool careful; /* learn/site_fit.h: two applications, no narrower bound for others */
} variants[] = {
    {"nothing: as shipped", 0, false},
    {"site", SITE, false},
    {"site, device", SITE | DEVICE, false},
    {"site, constants", SITE | CONSTANTS, false},
    {"site, application", SITE | WITH (APPLICATION), false},
    {"site, device, application, constants",
     SITE | DEVICE | WITH (APPLICATION) | CONSTANTS,
     false},
    {"eight effects, constants", EFFECTS | CONSTANTS, false},
    {"site, device, history", SITE | DEVICE | HISTORY, false},
    {"site, device, constants, history", SITE | DEVICE | CONSTANTS | HISTORY, false},
    {"**the same, careful**", SITE | DEVICE | CONSTANTS | HISTORY, true},
    {"site, constants, smooth", SITE | CONSTANTS | SMOOTH, false},
    {"eight effects, constants, smooth", EFFECTS | CONSTANTS | SMOOTH, false},
};
#define N_VARIANTS ((int) DN_N_ELEMENTS (variants))

/* Other models that runs are of, then runs of the model itself beside OTHERS_KNOWN. */
static const int others[] = {1, 2, 3, 5, BENCH_MODELS_MAX};
static const int own[] = {1, 3, OWN_MAX};
#define N_OTHERS   ((int) DN_N_ELEMENTS (others))
#define N_OWN      ((int) DN_N_ELEMENTS (own))
#define N_SETTINGS (N_OTHERS + N_OWN)

/* What was predicted of one model of one source in one setting. */
struct tally {
    double errors[VALUES_MAX]; /* |predicted / measured - 1| */
    double widths[VALUES_MAX]; /* bound / predicted */
    int n_covered;
    int n;
};

struct pair {
    struct tally tallies[N_SETTINGS][N_VARIANTS];
};

struct ablation {
    struct bench_sources sources;
    struct pair *pairs; /* owned */
    int n_pairs;
    int draws;
    uint64_t random;
};

/* The runs of one draw: of the model, and of each of the others in random order. */
struct drawn {
    const struct bench_point *own[TARGETS + OWN_MAX];
    int n_own;
    const struct bench_point *others[BENCH_MODELS_MAX][RUNS_GIVEN];
    int n_others[BENCH_MODELS_MAX];
    int n_models;
};

/* What is learned from, and what is judged. */
struct task {
    const struct bench_point *given[BENCH_MODELS_MAX * RUNS_GIVEN + OWN_MAX];
    int n_given;
    int n_models;
    bool seen; /* some of the given are of the model that is judged */
    const struct bench_point *const *targets;
    int n_targets;
};

/* Up to n runs of a model, in random order. */
static int draw_runs (struct ablation *ablation,
                      const struct bench_source *source,
                      const char *model,
                      int n,
                      const struct bench_point **out)
{
    int *order = calloc ((size_t) source->n, sizeof (*order));
    int found = 0;

    if (!order)
        bench_die (source->name, "out of memory");
    bench_shuffle (&ablation->random, source->n, order);
    for (int i = 0; i < source->n && found < n; i++)
        if (strcmp (source->points[order[i]].run->model, model) == 0)
            out[found++] = &source->points[order[i]];
    free (order);
    return found;
}

static void draw (struct ablation *ablation,
                  const struct bench_source *source,
                  int model,
                  struct drawn *drawn)
{
    int order[BENCH_MODELS_MAX];

    memset (drawn, 0, sizeof (*drawn));
    drawn->n_own = draw_runs (
        ablation, source, source->models[model], TARGETS + OWN_MAX, drawn->own);
    bench_shuffle (&ablation->random, source->n_models, order);
    for (int i = 0; i < source->n_models; i++) {
        if (order[i] == model)
            continue;
        drawn->n_others[drawn->n_models] = draw_runs (ablation,
                                                      source,
                                                      source->models[order[i]],
                                                      RUNS_GIVEN,
                                                      drawn->others[drawn->n_models]);
        drawn->n_models++;
    }
}

static struct task task_of (const struct drawn *drawn, int setting)
{
    struct task task = {.seen = setting >= N_OTHERS};
    int n_models = task.seen ? OTHERS_KNOWN : others[setting];
    int n_own = task.seen ? own[setting - N_OTHERS] : 0;

    n_own = n_own < drawn->n_own ? n_own : drawn->n_own - 1;
    for (int m = 0; m < drawn->n_models && m < n_models; m++) {
        task.n_models++;
        for (int i = 0; i < drawn->n_others[m]; i++)
            task.given[task.n_given++] = drawn->others[m][i];
    }
    for (int i = 0; i < n_own; i++)
        task.given[task.n_given++] = drawn->own[i];
    if (task.seen && n_own == 0)
        return task; /* of a model with one run */
    task.targets = drawn->own + n_own;
    task.n_targets = drawn->n_own - n_own < TARGETS ? drawn->n_own - n_own : TARGETS;
    return task;
}

/* The bound's logarithm over the prediction's, as dn_tuning_spread () has it. */
static double bound_of (const struct task *task,
                        const struct bench_way *way,
                        bool careful,
                        const struct bench_learned *learned,
                        double spread,
                        double doubt)
{
    const double at = 0.95;
    struct dn_range base = {.p50 = 1, .sigma = dn_constants_default.sigma_step};
    struct dn_range site = {
        .p50 = 1, .sigma = spread, .quantiles = task->seen ? &way->seen : &way->unseen};

    if (learned) {
        bool closer = dn_range_at (site, at) < dn_range_at (base, at);

        if (careful && !task->seen ? !closer : closer || bench_level (learned) > 1)
            base = site;
    }
    base.sigma = sqrt (base.sigma * base.sigma + doubt);
    return log (dn_range_at (base, at));
}

static void judge (const struct task *task,
                   const struct variant *variant,
                   const struct bench_way *way,
                   struct tally *tally)
{
    bool learns =
        variant->parts != 0 && (!variant->careful || task->seen || task->n_models > 1);
    struct bench_learned *learned =
        learns ? bench_learn (way, task->given, task->n_given) : NULL;

    for (int i = 0; i < task->n_targets; i++) {
        const struct bench_point *point = task->targets[i];
        double spread = 0;
        double mean = learned ? bench_expect (learned, point, &spread) : 0;
        double bound =
            bound_of (task, way, variant->careful, learned, spread, point->doubt);

        if (tally->n == VALUES_MAX)
            bench_die ("draws", "too many");
        tally->errors[tally->n] = fabs (expm1 (mean - point->error));
        tally->widths[tally->n++] = exp (bound);
        tally->n_covered += point->error <= mean + bound;
    }
    if (learned)
        bench_learned_free (learned);
}

static void judge_source (struct ablation *ablation, const struct bench_source *source)
{
    struct bench_way ways[N_VARIANTS];

    for (int v = 0; v < N_VARIANTS; v++) {
        ways[v].parts = variants[v].parts;
        bench_sources_fit (&ablation->sources, source, &ways[v]);
    }
    for (int m = 0; m < source->n_models; m++) {
        struct pair *pair = &ablation->pairs[ablation->n_pairs++];

        if (ablation->n_pairs > PAIRS_MAX)
            bench_die ("models", "too many");
        for (int d = 0; d < ablation->draws; d++) {
            struct drawn drawn;

            draw (ablation, source, m, &drawn);
            for (int s = 0; s < N_SETTINGS; s++) {
                struct task task = task_of (&drawn, s);

                for (int v = 0; v < N_VARIANTS; v++)
                    judge (&task, &variants[v], &ways[v], &pair->tallies[s][v]);
            }
        }
    }
}

/* --- tables ----------------------------------------------------------------------- */

/* Means over the pairs of source and model. */
struct cell {
    double mean;
    double median;
    double covered;
    double width;
};

static struct cell cell_of (struct ablation *ablation, int setting, int variant)
{
    struct cell cell = {0};
    int n = 0;

    for (int p = 0; p < ablation->n_pairs; p++) {
        struct tally *tally = &ablation->pairs[p].tallies[setting][variant];
        double sum = 0;

        if (tally->n == 0)
            continue;
        for (int i = 0; i < tally->n; i++)
            sum += tally->errors[i];
        cell.mean += sum / tally->n;
        cell.median += bench_median (tally->errors, tally->n);
        cell.width += bench_median (tally->widths, tally->n);
        cell.covered += (double) tally->n_covered / tally->n;
        n++;
    }
    cell.mean *= 100.0 / n;
    cell.median *= 100.0 / n;
    cell.covered *= 100.0 / n;
    cell.width /= n;
    return cell;
}

/* One row per way to learn; 'bounds' instead of errors. */
static void print_rows (struct ablation *ablation, int first, int n, bool bounds)
{
    for (int v = 0; v < N_VARIANTS; v++) {
        printf ("| %s |", variants[v].name);
        for (int s = first; s < first + n; s++) {
            struct cell cell = cell_of (ablation, s, v);

            if (bounds)
                printf (" %.1f / %.2f |", cell.covered, cell.width);
            else
                printf (" %.1f / %.1f |", cell.mean, cell.median);
        }
        printf ("\n");
    }
    printf ("\n");
}

static void print_tables (struct ablation *ablation)
{
    static const char *const heads[2][2] = {
        {"### Models that are not among the runs: mean / median error\n\n",
         "### Models that are not among the runs: below p95 / width of the bound\n\n"},
        {"### Models that are among the runs: mean / median error\n\n",
         "### Models that are among the runs: below p95 / width of the bound\n\n"},
    };

    for (int seen = 0; seen <= 1; seen++)
        for (int bounds = 0; bounds <= 1; bounds++) {
            int first = seen ? N_OTHERS : 0;
            int n = seen ? N_OWN : N_OTHERS;

            printf ("%s| learned |", heads[seen][bounds]);
            for (int i = 0; i < n; i++) {
                int count = seen ? own[i] : others[i];

                if (count == BENCH_MODELS_MAX)
                    printf (" all others |");
                else
                    printf (" %d %s%s |",
                            count,
                            seen ? "run" : "model",
                            count > 1 ? "s" : "");
            }
            printf ("\n|---|");
            for (int i = 0; i < n; i++)
                printf ("---:|");
            printf ("\n");
            print_rows (ablation, first, n, bounds);
        }
}

int main (int argc, char *argv[])
{
    static struct ablation ablation = {.random = 88172645463325252u};

    if (argc < 6)
        bench_die ("usage",
                   "site_ablation HARDWARE-FOLDER FAMILIES.csv SWEEPS DRAWS "
                   "RUNS.csv...");
    ablation.draws = (int) strtol (argv[4], NULL, 10);
    ablation.pairs = calloc (PAIRS_MAX, sizeof (*ablation.pairs));
    if (!ablation.pairs)
        bench_die ("models", "out of memory");
    bench_sources_read (&ablation.sources,
                        argv[1],
                        argv[2],
                        argv + 5,
                        argc - 5,
                        (int) strtol (argv[3], NULL, 10));
    for (int s = 0; s < ablation.sources.n; s++)
        if (ablation.sources.sources[s].n_models > 1)
            judge_source (&ablation, &ablation.sources.sources[s]);
    print_tables (&ablation);
    return 0;
}
