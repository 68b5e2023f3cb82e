/* site_curve.c - what a site gains by its own runs
 *
 * usage: site_curve HARDWARE-FOLDER RUNS.csv CONSTANTS-FOLDER DRAWS
 *
 * Every source of the table is once a site that nobody has seen: it starts from
 * constants that were fitted to the other sources (CONSTANTS-FOLDER/SOURCE, '/' written
 * as '_', as calibrate_steps prints them). Then 0, 3, 10, 20 and 50 of its runs, drawn
 * at random, are given to the fit of the site (learn/site_fit.h), and all runs of a
 * model that is not among them are judged; so with every model of the source, DRAWS
 * times. Sources of a single model cannot be judged.
 *
 * A second curve draws from all runs of the source and judges those that were not
 * drawn, so that most applications are known. Then all runs of each source are fitted:
 * how far its constants are from those of the others is what the prior's spreads rest
 * on.
 *
 * A chapter of model/ACCURACY.md goes to stdout.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/score.h"
#include "learn/site_rows.h"

#define SOURCES_MAX 64

static const int given[] = {0, 3, 10, 20, 50};

#define N_GIVEN ((int) DN_N_ELEMENTS (given))

struct run {
    struct dn_site_run run;
    char model[DN_NAME_MAX];
    char source[DN_NAME_MAX];
    bool given; /* to the site: not judged */
};

struct set {
    struct dn_catalogue catalogue;
    struct run *runs;
    int n_runs;
    int size;
};

/* Errors at one number of runs: all, by source, by model. */
struct scores {
    struct dn_score all;
    struct dn_score sources;
    struct dn_score models;
};

static void die (const char *what, const char *why)
{
    fprintf (stderr, "site_curve: %s: %s\n", what, why);
    exit (1);
}

static FILE *open_file (const char *path)
{
    FILE *file = fopen (path, "r");

    if (!file)
        die (path, "cannot be read");
    return file;
}

static void read_catalogue (const char *folder, struct dn_catalogue *catalogue)
{
    static char text[DN_FILE_MAX];
    struct dirent **entries;
    int n = scandir (folder, &entries, NULL, alphasort);

    for (int i = 0; i < n; i++) {
        char path[4096];
        struct dn_err err;
        FILE *file;
        size_t len;

        snprintf (path, sizeof (path), "%s/%s", folder, entries[i]->d_name);
        free (entries[i]);
        if (!strstr (path, ".conf"))
            continue;
        file = open_file (path);
        len = fread (text, 1, sizeof (text), file);
        fclose (file);
        if (dn_catalogue_add (catalogue, (struct dn_span){text, len}, path, &err) < 0)
            die (path, err.text);
    }
    free (entries);
}

static int add_run (const struct dn_row *row, void *context, struct dn_err *err)
{
    static const struct dn_datasets no_datasets;
    struct set *set = context;
    struct run *run;

    if (set->n_runs == set->size) {
        set->size = set->size > 0 ? 2 * set->size : 1024;
        set->runs = realloc (set->runs, (size_t) set->size * sizeof (*set->runs));
        if (!set->runs)
            die ("runs", "out of memory");
    }
    run = &set->runs[set->n_runs];
    if (dn_site_run_read (row, &set->catalogue, &no_datasets, &run->run, err) < 0) {
        fprintf (stderr, "line %lld: %s\n", (long long) row->line, err->text);
        return 0;
    }
    snprintf (run->model, sizeof (run->model), "%s", dn_row_get (row, "group"));
    snprintf (run->source, sizeof (run->source), "%s", dn_row_get (row, "source"));
    set->n_runs++;
    return 0;
}

static void read_runs (const char *path, struct set *set)
{
    struct dn_table *table = dn_table_new (add_run, set);
    FILE *file = open_file (path);
    struct dn_err err = {0};
    char piece[65536];
    size_t len;

    if (!table)
        die (path, "out of memory");
    do {
        len = fread (piece, 1, sizeof (piece), file);
        if (dn_table_feed (table, piece, len, &err) < 0)
            die (path, err.text);
    } while (len > 0);
    fclose (file);
    dn_table_free (table);
}

/* The constants of one source: lines of the form ".name = value,". */
static struct dn_constants read_constants (const char *folder, const char *source)
{
    struct dn_constants constants = dn_constants_default;
    char path[4096];
    char name[64];
    double value;
    FILE *file;
    int n = snprintf (path, sizeof (path), "%s/", folder);

    snprintf (path + n, sizeof (path) - (size_t) n, "%s", source);
    for (char *at = path + n; *at != '\0'; at++)
        if (*at == '/')
            *at = '_';
    file = open_file (path);
    n = 0;
    while (fscanf (file, " .%63[a-z0-9_] = %lf,", name, &value) == 2) {
        int field = dn_constant_find (name, strlen (name));

        if (field < 0)
            die (path, name);
        dn_constant_set (&constants, field, value);
        n++;
    }
    if (n == 0)
        die (path, "no constants");
    fclose (file);
    return constants;
}

/* A source's runs, of all models but one or (model NULL) of all, in random order
 * (Fisher and Yates).
 */
static int draw (const struct set *set,
                 const char *source,
                 const char *model,
                 uint64_t *random,
                 struct run **out)
{
    int n = 0;

    for (int i = 0; i < set->n_runs; i++) {
        struct run *run = &set->runs[i];
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
        out[at] = run;
    }
    return n;
}

/* The site's tuning by the first 'n' runs; the fit owns its runs' graphs. */
static struct dn_tuning *fit_site (const struct dn_constants *constants,
                                   struct run *const *runs,
                                   int n)
{
    struct dn_site_fit *fit = dn_site_fit_new (constants, NULL);
    struct dn_tuning *tuning;
    struct dn_err err;

    if (!fit)
        die ("fit", "out of memory");
    for (int i = 0; i < n; i++) {
        struct dn_site_run run = runs[i]->run;

        if (dn_graph_build (&run.spec, &run.graph, &err) < 0
            || dn_site_fit_add (fit, &run, &err) < 0)
            die ("fit", err.text);
    }
    tuning = dn_site_fit_solve (fit, &err);
    if (!tuning)
        die ("fit", err.text);
    dn_site_fit_free (fit);
    return tuning;
}

static void judge (const struct set *set,
                   const char *source,
                   const char *model,
                   const struct dn_constants *constants,
                   const struct dn_tuning *tuning,
                   struct scores *scores)
{
    for (int i = 0; i < set->n_runs; i++) {
        const struct run *run = &set->runs[i];
        struct dn_estimate estimate;
        struct dn_err err;
        double p95;

        if (run->given || strcmp (run->source, source) != 0
            || (model && strcmp (run->model, model) != 0))
            continue;
        dn_predict (tuning ? &tuning->constants : constants,
                    &run->run.spec,
                    &run->run.graph,
                    run->run.device,
                    0,
                    &estimate);
        dn_tuning_apply (tuning, &run->run.spec, &estimate);
        p95 = dn_range_at (estimate.step_s, 0.95);
        if (dn_score_add (
                &scores->all, "all", estimate.step_s.p50, p95, run->run.step_s, &err)
                < 0
            || dn_score_add (&scores->sources,
                             run->source,
                             estimate.step_s.p50,
                             p95,
                             run->run.step_s,
                             &err)
                   < 0
            || dn_score_add (&scores->models,
                             run->model,
                             estimate.step_s.p50,
                             p95,
                             run->run.step_s,
                             &err)
                   < 0)
            die ("scores", err.text);
    }
}

/* Is this the first run of its source, or with 'model' of its model in its source? */
static bool is_first (const struct set *set, int at, bool model)
{
    for (int i = 0; i < at; i++)
        if (strcmp (set->runs[i].source, set->runs[at].source) == 0
            && (!model || strcmp (set->runs[i].model, set->runs[at].model) == 0))
            return false;
    return true;
}

/* Judge a model by runs of the others or (model NULL) all runs by some of them. */
static void judge_draws (const struct set *set,
                         const char *source,
                         const char *model,
                         const struct dn_constants *constants,
                         int draws,
                         struct scores scores[N_GIVEN])
{
    struct run **runs = calloc ((size_t) set->n_runs, sizeof (void *));
    uint64_t random = 88172645463325252u;

    if (!runs)
        die ("runs", "out of memory");
    for (const char *at = model ? model : source; *at != '\0'; at++)
        random = (random ^ (uint64_t) *at) * 0x100000001b3u;
    for (int d = 0; d < draws; d++) {
        int n = draw (set, source, model, &random, runs);

        for (int g = 0; g < N_GIVEN && n > 0; g++) {
            int n_given = given[g] < n ? given[g] : n;
            struct dn_tuning *tuning =
                n_given > 0 ? fit_site (constants, runs, n_given) : NULL;

            for (int i = 0; i < n; i++)
                runs[i]->given = i < n_given;
            judge (set, source, model, constants, tuning, &scores[g]);
            dn_tuning_free (tuning);
        }
        for (int i = 0; i < n; i++)
            runs[i]->given = false;
    }
    free (runs);
}

/* How far the constants of whole sources are from those of all others. */
struct width {
    double square;
    int n;
};

static void measure_widths (const struct set *set,
                            const char *source,
                            const struct dn_constants *constants,
                            struct width widths[DN_CONSTANT_FIELDS])
{
    struct run **runs = calloc ((size_t) set->n_runs, sizeof (void *));
    uint64_t random = 1;
    struct dn_tuning *tuning;

    if (!runs)
        die ("runs", "out of memory");
    tuning = fit_site (constants, runs, draw (set, source, NULL, &random, runs));
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
    printf (" %.1f | %.2f |\n", 100 * figures.coverage_p95, figures.tightness_p95);
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
    "to `dnnest train --site` (tests/bench/site-curve). No learned residual is applied.\n";
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

int main (int argc, char *argv[])
{
    struct width widths[DN_CONSTANT_FIELDS];
    struct scores scores[2][N_GIVEN];
    struct set set;
    int draws;

    memset (widths, 0, sizeof (widths));
    memset (scores, 0, sizeof (scores));
    memset (&set, 0, sizeof (set));
    if (argc != 5)
        die ("usage", "site_curve HARDWARE-FOLDER RUNS.csv CONSTANTS-FOLDER DRAWS");
    draws = (int) strtol (argv[4], NULL, 10);
    read_catalogue (argv[1], &set.catalogue);
    read_runs (argv[2], &set);
    for (int i = 0; i < set.n_runs; i++) {
        const char *source = set.runs[i].source;
        struct dn_constants constants;

        if (!is_first (&set, i, true))
            continue;
        constants = read_constants (argv[3], source);
        judge_draws (&set, source, set.runs[i].model, &constants, draws, scores[0]);
        if (!is_first (&set, i, false))
            continue;
        judge_draws (&set, source, NULL, &constants, 4 * draws, scores[1]);
        measure_widths (&set, source, &constants, widths);
    }
    printf ("%s\n", head);
    printf (others, draws);
    print_scores (scores[0], true);
    printf (known, 4 * draws);
    print_scores (scores[1], false);
    printf ("%s", between);
    print_widths (widths);
    return 0;
}
