/* calibrate_steps.c - fit the constants of the step time to measured training steps
 *
 * usage: calibrate_steps HARDWARE-FOLDER RUNS.csv SWEEPS [model|source|gpu|=SOURCE]
 *
 * Least absolute error of ln (measured / predicted), one vote per pair of model and
 * source damped by a square root, by coordinate descent in the logarithm of each
 * constant: first those of one device on rows of one GPU, then those of communication
 * on the others. With a third word every model, source or GPU is left out once, the
 * constants are fitted to the rest, and the errors are those of the rows that were left
 * out. '=SOURCE' leaves out that source alone.
 *
 * Constants go to stdout as initialisers, errors to stderr.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <dirent.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/score.h"
#include "learn/table.h"
#include "predict/predict.h"

/* A constant to fit, within physical bounds. */
struct knob {
    const char *name;
    size_t offset;
    double min;
    double max;
    bool several; /* fitted on rows of several GPUs */
};

#define KNOB(member, min, max, several)                                                \
    {                                                                                  \
#member, offsetof(struct dn_constants, member), min, max, several              \
    }

static const struct knob knobs[] = {
    KNOB (eff_linear_fp32, 0.3, 1.2, false),
    KNOB (eff_conv_fp32, 0.3, 2, false),
    KNOB (eff_linear_tensor, 0.2, 1.2, false),
    KNOB (eff_conv_tensor, 0.1, 1.2, false),
    KNOB (eff_tf32, 0.5, 1.3, false),
    KNOB (eff_grouped, 0.01, 1, false),
    KNOB (eff_memory, 0.3, 1.3, false),
    KNOB (eff_light, 0.3, 1.5, false),
    KNOB (tile, 0.1, 1.5, false),
    KNOB (kernel_s, 1e-6, 3e-5, false),
    KNOB (launch_s, 3e-6, 1e-4, false),
    KNOB (host_norm, 1, 8, false),
    KNOB (step_s, 1e-4, 2e-2, false),
    KNOB (optimizer, 1, 4, false),
    KNOB (optimizer_launches, 0.05, 10, false),
    KNOB (ngc_tensor, 0.5, 1.5, false),
    KNOB (ngc_memory, 0.5, 4, false),
    KNOB (ngc_grouped, 0.5, 8, false),
    KNOB (ngc_launch, 0.1, 3, false),
    KNOB (ngc_step, 0.05, 2, false),
    KNOB (pcie_eff, 0.05, 0.9, true),
    KNOB (link_half, 1e6, 4e7, true),
    KNOB (node_bw, 1e9, 2.5e10, true),
    KNOB (overlap, 0.01, 1, true),
    KNOB (exposed, 0.001, 0.5, true),
    KNOB (straggler, 0.001, 0.1, true),
    KNOB (pipeline_s, 1e-4, 2e-2, true),
    KNOB (split_s, 1e-6, 1e-3, true),
    KNOB (fused_bytes, 0.1, 1, true),
    /* End of knobs */
};

/* One measured run, ready to be predicted. */
struct run {
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

struct set {
    struct dn_catalogue catalogue;
    struct run *runs;
    int n_runs;
    int size;
};

static void die (const char *what, const char *why)
{
    fprintf (stderr, "calibrate_steps: %s: %s\n", what, why);
    exit (1);
}

static char *read_file (const char *path, size_t *len)
{
    char *text = malloc (DN_FILE_MAX);
    FILE *file = fopen (path, "r");

    if (!text || !file)
        die (path, "cannot be read");
    *len = fread (text, 1, DN_FILE_MAX, file);
    fclose (file);
    return text;
}

static void read_catalogue (const char *folder, struct dn_catalogue *catalogue)
{
    struct dirent **entries;
    int n = scandir (folder, &entries, NULL, alphasort);

    for (int i = 0; i < n; i++) {
        char path[4096];
        struct dn_err err;
        size_t len;

        if (strstr (entries[i]->d_name, ".conf")) {
            char *text;

            snprintf (path, sizeof (path), "%s/%s", folder, entries[i]->d_name);
            text = read_file (path, &len);
            if (dn_catalogue_add (catalogue, (struct dn_span){text, len}, path, &err)
                < 0)
                die (path, err.text);
            free (text);
        }
        free (entries[i]);
    }
    free (entries);
}

static int add_run (const struct dn_row *row, void *context, struct dn_err *err)
{
    static const struct dn_datasets no_datasets;
    struct set *set = context;
    const char *quality = dn_row_get (row, "quality");
    struct run *run;

    if (set->n_runs == set->size) {
        set->size = set->size > 0 ? 2 * set->size : 1024;
        set->runs = realloc (set->runs, (size_t) set->size * sizeof (*set->runs));
        if (!set->runs)
            die ("runs", "out of memory");
    }
    run = &set->runs[set->n_runs];
    memset (run, 0, sizeof (*run));
    run->spec = dn_spec_empty ();
    run->device = dn_catalogue_find (&set->catalogue, dn_row_get (row, "gpu"));
    run->step_s = strtod (dn_row_get (row, "step_ms"), NULL) / 1000;
    snprintf (run->model, sizeof (run->model), "%s", dn_row_get (row, "group"));
    snprintf (run->source, sizeof (run->source), "%s", dn_row_get (row, "source"));
    run->fitted = quality && quality[0] != 'C';
    if (!run->device || run->step_s <= 0)
        return 0;
    if (dn_spec_read (dn_span_of (dn_row_get (row, "spec")), &run->spec, err) < 0
        || dn_spec_resolve (&run->spec, &no_datasets, DN_UNSET, err) < 0
        || dn_graph_build (&run->spec, &run->graph, err) < 0) {
        fprintf (stderr, "line %lld: %s\n", (long long) row->line, err->text);
        return 0;
    }
    run->several = run->spec.gpus > 1;
    set->n_runs++;
    return 0;
}

static void read_runs (const char *path, struct set *set)
{
    struct dn_table *table = dn_table_new (add_run, set);
    FILE *file = fopen (path, "r");
    struct dn_err err = {0};
    char piece[65536];
    size_t len;

    if (!table || !file)
        die (path, "cannot be read");
    do {
        len = fread (piece, 1, sizeof (piece), file);
        if (dn_table_feed (table, piece, len, &err) < 0)
            die (path, err.text);
    } while (len > 0);
    fclose (file);
    dn_table_free (table);
}

static void weigh (struct set *set)
{
    for (int i = 0; i < set->n_runs; i++) {
        const struct run *run = &set->runs[i];
        int n = 0;

        for (int j = 0; j < set->n_runs; j++)
            n += set->runs[j].several == run->several
                 && strcmp (set->runs[j].model, run->model) == 0
                 && strcmp (set->runs[j].source, run->source) == 0;
        set->runs[i].weight = 1 / sqrt (n);
    }
}

static double predict (const struct dn_constants *constants, const struct run *run)
{
    struct dn_estimate estimate;

    dn_predict (constants, &run->spec, &run->graph, run->device, 0, &estimate);
    return estimate.step_s.p50;
}

/* Mean weighted error over the rows of one kind that may be looked at. */
static double loss (const struct set *set,
                    const struct dn_constants *constants,
                    bool several)
{
    double sum = 0;
    double weights = 0;

    for (int i = 0; i < set->n_runs; i++) {
        const struct run *run = &set->runs[i];

        if (run->several != several || !run->fitted || run->left_out)
            continue;
        sum += run->weight * fabs (log (run->step_s / predict (constants, run)));
        weights += run->weight;
    }
    return weights > 0 ? sum / weights : 0;
}

/* Try a factor on one constant; keep it if the loss shrinks. */
static bool improve (const struct set *set,
                     const struct knob *knob,
                     double factor,
                     struct dn_constants *constants,
                     double *best)
{
    struct dn_constants changed = *constants;
    double value;
    double result;

    memcpy (&value, (char *) &changed + knob->offset, sizeof (value));
    value = fmin (fmax (value * factor, knob->min), knob->max);
    memcpy ((char *) &changed + knob->offset, &value, sizeof (value));
    result = loss (set, &changed, knob->several);
    if (!(result < *best - 1e-7))
        return false;
    *constants = changed;
    *best = result;
    return true;
}

static void fit (const struct set *set, int sweeps, struct dn_constants *constants)
{
    double stride[DN_N_ELEMENTS (knobs)];

    for (int several = 0; several <= 1; several++) {
        double best = loss (set, constants, several);

        for (size_t i = 0; i < DN_N_ELEMENTS (knobs); i++)
            stride[i] = 0.15;
        for (int sweep = 0; sweep < sweeps; sweep++)
            for (size_t i = 0; i < DN_N_ELEMENTS (knobs); i++) {
                if (knobs[i].several != several)
                    continue;
                if (improve (set, &knobs[i], exp (stride[i]), constants, &best)
                    || improve (set, &knobs[i], exp (-stride[i]), constants, &best))
                    stride[i] *= 1.5;
                else
                    stride[i] /= 3;
            }
    }
}

/* Errors of one kind of rows: of all, and by model. */
struct scores {
    struct dn_score all;
    struct dn_score models;
};

enum {
    ONE,
    SEVERAL,
    BOTH,
    N_KINDS
};

static void add_error (struct scores *scores, const struct run *run, double predicted)
{
    struct dn_err err;

    if (dn_score_add (&scores->all, "all", predicted, NAN, run->step_s, &err) < 0
        || dn_score_add (&scores->models, run->model, predicted, NAN, run->step_s, &err)
               < 0)
        die ("scores", err.text);
}

static void add_errors (const struct set *set,
                        const struct dn_constants *constants,
                        bool only_left_out,
                        struct scores scores[N_KINDS])
{
    for (int i = 0; i < set->n_runs; i++) {
        const struct run *run = &set->runs[i];
        double predicted;

        if (only_left_out && !run->left_out)
            continue;
        predicted = predict (constants, run);
        add_error (&scores[run->several ? SEVERAL : ONE], run, predicted);
        add_error (&scores[BOTH], run, predicted);
    }
}

static void print_scores (const char *what, struct scores scores[N_KINDS])
{
    static const char *const kinds[N_KINDS] = {"one GPU", "several GPUs", "all"};

    for (int i = 0; i < N_KINDS; i++) {
        struct dn_figures figures = dn_pairs_figures (scores[i].all.groups);

        fprintf (stderr,
                 "%s, %s: %zu rows, mean %.1f %%, median %.1f %%, per model %.1f %%\n",
                 what,
                 kinds[i],
                 figures.n,
                 100 * figures.mape,
                 100 * figures.median_ape,
                 100 * dn_score_macro (&scores[i].models));
        dn_score_free (&scores[i].all);
        dn_score_free (&scores[i].models);
    }
}

static const char *fold_of (const struct run *run, const char *column)
{
    if (strcmp (column, "model") == 0)
        return run->model;
    return strcmp (column, "source") == 0 ? run->source : run->device->name;
}

/* Leave every value of the column out once. */
static void cross_validate (struct set *set, const char *column, int sweeps)
{
    struct scores scores[N_KINDS];
    char title[64];

    memset (scores, 0, sizeof (scores));
    for (int first = 0; first < set->n_runs; first++) {
        const char *fold = fold_of (&set->runs[first], column);
        struct dn_constants constants = dn_constants_default;
        bool seen = false;

        for (int i = 0; i < set->n_runs; i++) {
            set->runs[i].left_out = strcmp (fold_of (&set->runs[i], column), fold) == 0;
            seen = seen || (i < first && set->runs[i].left_out);
        }
        if (seen)
            continue;
        fit (set, sweeps, &constants);
        add_errors (set, &constants, true, scores);
    }
    snprintf (title, sizeof (title), "%s left out", column);
    print_scores (title, scores);
}

int main (int argc, char *argv[])
{
    struct dn_constants constants = dn_constants_default;
    struct scores scores[N_KINDS];
    struct set set;
    int sweeps;

    memset (scores, 0, sizeof (scores));
    memset (&set, 0, sizeof (set));
    if (argc < 4)
        die ("usage", "calibrate_steps HARDWARE-FOLDER RUNS.csv SWEEPS [COLUMN]");
    sweeps = (int) strtol (argv[3], NULL, 10);
    read_catalogue (argv[1], &set.catalogue);
    read_runs (argv[2], &set);
    weigh (&set);
    for (int i = 0; argc > 4 && argv[4][0] == '=' && i < set.n_runs; i++)
        set.runs[i].left_out = strcmp (set.runs[i].source, argv[4] + 1) == 0;
    if (argc > 4 && argv[4][0] != '=') {
        cross_validate (&set, argv[4], sweeps);
        return 0;
    }
    fit (&set, sweeps, &constants);
    for (size_t i = 0; i < DN_N_ELEMENTS (knobs); i++) {
        double value;

        memcpy (&value, (char *) &constants + knobs[i].offset, sizeof (value));
        printf ("    .%s = %.4g,\n", knobs[i].name, value);
    }
    add_errors (&set, &constants, false, scores);
    print_scores ("in sample", scores);
    return 0;
}
