/* calibrate_steps.c - fit the constants of the step time to measured training steps
 *
 * usage: calibrate_steps HARDWARE-FOLDER FAMILIES.csv ROUNDS COLUMN ONLY CONSTANTS
 *        RUNS.csv...
 *
 * The fit is that of step_fit.c. With COLUMN (model, source or gpu) every value of it
 * is left out once, or ONLY that one, the constants are fitted to the rest, and the
 * errors are those of the rows that were left out. The COLUMN families leaves out every
 * pair of a family of sources and one of models: the fit sees neither, and the errors
 * are those of the rows that are of both. With CONSTANTS, names separated by commas,
 * only these are fitted, each to all rows; without COLUMN, ONLY is the source whose
 * rows are used. Empty words are ignored.
 *
 * Constants go to stdout as initialisers, errors to stderr.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fields.h"
#include "learn/score.h"
#include "learn/reals.h"
#include "step_fit.h"

/* Errors of one group of rows, over all rows and by model. */
struct scores {
    struct dn_score all;
    struct dn_score votes; /* by family of source and of model */
    double *ratios;        /* measured / predicted */
    size_t n_ratios;
};

/* Runs that have a line of their own. */
enum kind {
    ONE,
    SEVERAL,
    BOTH,
    LANGUAGE,
    VTRAIN,
    N_KINDS
};

static const char *const kinds[N_KINDS] = {"one GPU",
                                           "several GPUs",
                                           "all",
                                           "language models of 2023 and later",
                                           "vTrain"};

/* Their code is of 2023 and later; rows of other code state since=. */
static const char *const recent[] = {"FlagOpen/FlagPerf",
                                     "Lightning-AI/litgpt",
                                     "QwenLM/Qwen",
                                     "foundation-model-stack/fms-fsdp",
                                     "jzhang38/TinyLlama",
                                     "karpathy/llm.c",
                                     "mosaicml/llm-foundry",
                                     "pytorch/torchtitan"};

static bool is_recent (const struct bench_set *set, const struct bench_run *run)
{
    const char *source = bench_name (set, run, DN_LABEL_SOURCE);

    for (size_t i = 0; i < DN_N_ELEMENTS (recent); i++)
        if (strcmp (source, recent[i]) == 0)
            return true;
    return run->spec.since >= 2023;
}

static bool is_of_kind (const struct bench_set *set,
                        const struct bench_run *run,
                        enum kind kind)
{
    switch (kind) {
    case ONE:
        return !run->several;
    case SEVERAL:
        return run->several;
    case LANGUAGE:
        return is_recent (set, run)
               && strcmp (bench_name (set, run, DN_LABEL_FAMILY), "decoder") == 0;
    case VTRAIN:
        return strcmp (bench_name (set, run, DN_LABEL_SOURCE), "VIA-Research/vTrain")
               == 0;
    default:
        return true;
    }
}

static void add_error (struct scores *scores,
                       const struct bench_set *set,
                       const struct bench_run *run,
                       double predicted)
{
    char vote[2 * DN_NAME_MAX];
    struct dn_err err;

    snprintf (vote,
              sizeof (vote),
              "%s %s",
              bench_name (set, run, DN_LABEL_CODE),
              bench_name (set, run, DN_LABEL_FAMILY));
    if (dn_score_add (&scores->all, "all", predicted, NULL, run->step_s, &err) < 0
        || dn_score_add (&scores->votes, vote, predicted, NULL, run->step_s, &err) < 0)
        bench_die ("scores", err.text);
    if (dn_rows_grow (
            &scores->ratios, (int64_t) scores->n_ratios, sizeof (double), NULL)
        < 0)
        bench_die ("scores", "out of memory");
    scores->ratios[scores->n_ratios++] = run->step_s / predicted;
}

/* The factor on the prediction that this share of the runs stays below. */
static double factor_at (const struct scores *scores, double share)
{
    return scores->ratios[(size_t) (share * (double) (scores->n_ratios - 1))];
}

static void add_errors (const struct bench_set *set,
                        const struct dn_constants *constants,
                        bool only_judged,
                        struct scores scores[N_KINDS])
{
    for (int i = 0; i < set->n_runs; i++) {
        const struct bench_run *run = &set->runs[i];
        double predicted;

        if (only_judged && !run->judged)
            continue;
        predicted = bench_predict (constants, run);
        for (enum kind kind = ONE; kind < N_KINDS; kind++)
            if (is_of_kind (set, run, kind))
                add_error (&scores[kind], set, run, predicted);
    }
}

/* The errors of each pair of families. */
static void print_votes (const struct dn_score *votes)
{
    for (int i = 0; i < votes->n_groups; i++) {
        struct dn_figures figures = dn_pairs_figures (&votes->groups[i]);

        fprintf (stderr,
                 "  %-48s %5zu rows, median %5.1f %%, bias %+5.1f %%\n",
                 votes->groups[i].name,
                 figures.n,
                 100 * figures.median_ape,
                 100 * expm1 (figures.bias));
    }
}

static void print_scores (const char *what, struct scores scores[N_KINDS])
{
    for (int i = 0; i < N_KINDS; i++) {
        struct dn_figures figures;

        if (scores[i].all.n_groups == 0)
            continue;
        figures = dn_pairs_figures (scores[i].all.groups);
        fprintf (stderr,
                 "%s, %s: %zu rows, mean %.1f %%, median %.1f %%, per family and "
                 "model %.1f %%\n",
                 what,
                 kinds[i],
                 figures.n,
                 100 * figures.mape,
                 100 * figures.median_ape,
                 100 * dn_score_macro (&scores[i].votes));
        qsort (scores[i].ratios, scores[i].n_ratios, sizeof (double), dn_reals_compare);
        fprintf (stderr,
                 "%s, %s: 95 %% of the rows within a factor of %.2f, 99 %% %.2f\n",
                 what,
                 kinds[i],
                 factor_at (&scores[i], 0.95),
                 factor_at (&scores[i], 0.99));
        free (scores[i].ratios);
        dn_score_free (&scores[i].all);
        dn_score_free (&scores[i].votes);
    }
}

/* The label that a column is of. */
static enum dn_label label_of (const char *column)
{
    if (strcmp (column, "families") == 0)
        return DN_LABEL_CODE;
    if (strcmp (column, "model") == 0)
        return DN_LABEL_MODEL;
    return strcmp (column, "source") == 0 ? DN_LABEL_SOURCE : DN_LABEL_GPU;
}

/* Mark the rows that the fit must not see, and those that it is judged by. Returns
 * whether an earlier row was judged with them.
 */
static bool mark_fold (struct bench_set *set, int first, enum dn_label label)
{
    const int *of = set->runs[first].label;
    bool seen = false;

    for (int i = 0; i < set->n_runs; i++) {
        struct bench_run *run = &set->runs[i];
        bool same = of[label] == run->label[label];
        bool kind = of[DN_LABEL_FAMILY] == run->label[DN_LABEL_FAMILY];

        run->left_out = same || (label == DN_LABEL_CODE && kind);
        run->judged = same && (label != DN_LABEL_CODE || kind);
        seen = seen || (i < first && run->judged);
    }
    return seen;
}

/* Leave every value of the column out once, or 'only' that one. */
static void cross_validate (struct bench_set *set,
                            const char *column,
                            const char *only,
                            int rounds)
{
    enum dn_label label = label_of (column);
    struct scores scores[N_KINDS];
    char title[DN_NAME_MAX + 16];

    memset (scores, 0, sizeof (scores));
    for (int first = 0; first < set->n_runs; first++) {
        const char *fold = bench_name (set, &set->runs[first], label);
        struct dn_constants constants;

        if (mark_fold (set, first, label)
            || (only[0] != '\0' && strcmp (fold, only) != 0))
            continue;
        bench_fit (set, rounds, &constants);
        add_errors (set, &constants, true, scores);
    }
    snprintf (title, sizeof (title), "%s left out", only[0] != '\0' ? only : column);
    print_votes (&scores[BOTH].votes);
    print_scores (title, scores);
}

static void keep_source (struct bench_set *set, const char *source)
{
    int n = 0;

    for (int i = 0; i < set->n_runs; i++)
        if (strcmp (bench_name (set, &set->runs[i], DN_LABEL_SOURCE), source) == 0)
            set->runs[n++] = set->runs[i];
        else
            dn_graph_free (&set->runs[i].graph);
    set->n_runs = n;
}

int main (int argc, char *argv[])
{
    struct dn_constants constants;
    struct scores scores[N_KINDS];
    struct dn_runs examples = dn_runs_start (DN_RUNS_MAX, 1);
    struct bench_set set;
    int rounds;

    memset (scores, 0, sizeof (scores));
    memset (&set, 0, sizeof (set));
    if (argc < 8)
        bench_die ("usage",
                   "calibrate_steps HARDWARE FAMILIES.csv ROUNDS COLUMN ONLY CONSTANTS "
                   "RUNS.csv...");
    rounds = (int) strtol (argv[3], NULL, 10);
    bench_read (&set, &examples, argv[1], argv[2], argv + 7);
    if (argv[4][0] != '\0') {
        bench_weigh (&set);
        cross_validate (&set, argv[4], argv[5], rounds);
        return 0;
    }
    if (argv[5][0] != '\0')
        keep_source (&set, argv[5]);
    bench_weigh (&set);
    if (argv[6][0] != '\0')
        set.constants = argv[6];
    bench_fit (&set, rounds, &constants);
    bench_print_constants (&set, &constants);
    add_errors (&set, &constants, false, scores);
    print_votes (&scores[BOTH].votes);
    print_scores ("in sample", scores);
    return 0;
}
