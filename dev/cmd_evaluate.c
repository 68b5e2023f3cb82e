/* cmd_evaluate.c - predictions against measured runs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "dev_commands.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/people.h"
#include "learn/evaluate.h"
#include "common.h"
#include "output/rows.h"
#include "output/show.h"
#include "read_runs.h"
#include "replace.h"

struct predictions {
    struct dn_replace out;
    bool begun; /* the header line is written */
};

static const char *const columns[] = {"predicted_step_ms",
                                      "predicted_step_ms_p95",
                                      "predicted_mem_gb",
                                      "predicted_power_w",
                                      "confidence",
                                      "skipped_reason"};

static bool is_ours (const char *name)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (columns); i++)
        if (strcmp (columns[i], name) == 0)
            return true;
    return false;
}

static void write_head (struct predictions *predictions, const struct dn_row *row)
{
    for (int i = 0; i < row->n_columns; i++)
        if (!is_ours (row->names[i])) {
            dn_csv_cell (predictions->out.file, row->names[i]);
            fputc (',', predictions->out.file);
        }
    for (size_t i = 0; i < DN_N_ELEMENTS (columns); i++)
        fprintf (predictions->out.file, "%s%s", i > 0 ? "," : "", columns[i]);
    fputc ('\n', predictions->out.file);
}

/* Add a row: its own columns, then ours. Columns of the table with the names of ours
 * are left out. dn_replace_finish () reports write errors.
 */
static void add_prediction (struct predictions *predictions,
                            const struct dn_row *row,
                            const struct dn_row_result *result)
{
    const struct dn_estimate *estimate = &result->estimate;
    FILE *file = predictions->out.file;

    if (!predictions->begun)
        write_head (predictions, row);
    predictions->begun = true;
    for (int i = 0; i < row->n_columns; i++)
        if (!is_ours (row->names[i])) {
            dn_csv_cell (file, row->values[i]);
            fputc (',', file);
        }
    if (result->predicted)
        fprintf (file,
                 "%.6g,%.6g,%.6g,%.4g,%.3g,",
                 estimate->step_s.p50 * 1000,
                 dn_shown_upper (estimate->step_s) * 1000,
                 result->memory.p50 / DN_GIB,
                 estimate->power_w,
                 estimate->confidence);
    else
        fputs (",,,,,", file);
    dn_csv_cell (file, result->reason);
    fputc ('\n', file);
}

/* --- scores ----------------------------------------------------------------------- */

/* Skipped rows that the tables show; the JSON has all that are kept. */
#define SKIPPED_SHOWN 10

/* The group of all rows; NULL if nothing was measured. */
static struct dn_pairs *all_pairs (struct dn_evaluation *evaluation, int metric)
{
    struct dn_score *score = &evaluation->scores[metric][DN_BY_ALL];

    return score->n_groups > 0 ? &score->groups[0] : NULL;
}

/* Mean over models, or over the table's own groups if it has them. */
static double macro (struct dn_evaluation *evaluation, int metric)
{
    struct dn_score *scores = evaluation->scores[metric];
    bool grouped = scores[DN_BY_GROUP].n_groups > 0;

    return dn_score_macro (&scores[grouped ? DN_BY_GROUP : DN_BY_MODEL]);
}

/* The metric of the tables of groups: the first that the table of runs has. */
static int first_metric (struct dn_evaluation *evaluation)
{
    int metric = 0;

    while (metric < DN_N_METRICS - 1 && !all_pairs (evaluation, metric))
        metric++;
    return metric;
}

static double share (int64_t part, int64_t whole)
{
    return whole > 0 ? (double) part / (double) whole : NAN;
}

static struct json_object *figures_json (const struct dn_figures *figures)
{
    struct json_object *json = json_object_new_object ();

    dn_json_add_count (json, "n", (int64_t) figures->n);
    dn_json_add_signed (json, "mape", figures->mape);
    dn_json_add_signed (json, "median_ape", figures->median_ape);
    dn_json_add_signed (json, "bias", figures->bias);
    dn_json_add_signed (json, "under", figures->under);
    dn_json_add_signed (json, "under_mape", figures->under_mape);
    dn_json_add_signed (json, "over_mape", figures->over_mape);
    dn_json_add_signed (json, "coverage_p95", figures->coverage[DN_BOUND_P95]);
    dn_json_add_signed (json, "tightness_p95", figures->tightness[DN_BOUND_P95]);
    dn_json_add_signed (json, "coverage_p99", figures->coverage[DN_BOUND_P99]);
    dn_json_add_signed (json, "tightness_p99", figures->tightness[DN_BOUND_P99]);
    return json;
}

static void add_fits (struct json_object *json, const struct dn_evaluation *evaluation)
{
    int64_t n = evaluation->n_judged;

    dn_json_add_count (json, "n_judged", n);
    dn_json_add_count (json, "n_oom", evaluation->n_oom);
    dn_json_add_signed (json, "false_fit", share (evaluation->n_false_fit, n));
    dn_json_add_signed (json, "false_no_fit", share (evaluation->n_false_no_fit, n));
    dn_json_add_signed (json, "false_move", share (evaluation->n_false_move, n));
    dn_json_add_signed (json, "false_stay", share (evaluation->n_false_stay, n));
}

/* A metric without rows is null. */
static void add_metric (struct json_object *json,
                        struct dn_evaluation *evaluation,
                        int metric)
{
    bool fits = metric == DN_METRIC_GPU_MEMORY && evaluation->n_judged > 0;
    struct dn_figures figures = dn_pairs_figures (all_pairs (evaluation, metric));
    struct json_object *member = NULL;

    if (figures.n > 0 || fits) {
        member = figures_json (&figures);
        dn_json_add_signed (member, "macro_median_ape", macro (evaluation, metric));
    }
    if (fits)
        add_fits (member, evaluation);
    json_object_object_add (json, dn_names_get (&dn_metric_names, metric), member);
}

static void add_groups (struct json_object *json, struct dn_score *score)
{
    for (int i = 0; i < score->n_groups; i++) {
        struct dn_figures figures = dn_pairs_figures (&score->groups[i]);
        dn_cleanup (dn_json_free) struct json_object *name =
            dn_json_text (score->groups[i].name);

        json_object_object_add (
            json, json_object_get_string (name), figures_json (&figures));
    }
}

/* The document of 'dnnest-dev evaluate --json' (dnnest.1), with the groupings of 'by'.
 * Sorts the scores.
 */
static struct json_object *scores_json (struct dn_evaluation *evaluation,
                                        const bool by[DN_N_GROUPINGS])
{
    struct json_object *json = json_object_new_object ();
    /* of the step time without the learned residual */
    struct dn_figures white_box = dn_pairs_figures (evaluation->white_box.groups);
    int metric = first_metric (evaluation);
    int64_t n_kept = evaluation->n_skipped;
    struct json_object *member;
    struct json_object *skipped;
    struct json_object *groupings;

    dn_json_add_count (json, "rows", evaluation->n_rows);
    dn_json_add_count (json, "predicted", evaluation->n_predicted);
    dn_json_add_count (json, "n_skipped", evaluation->n_skipped);
    skipped = dn_json_add_array (json, "skipped");
    if (n_kept > DN_SKIPPED_MAX)
        n_kept = DN_SKIPPED_MAX;
    for (int64_t i = 0; i < n_kept; i++) {
        struct json_object *row = dn_json_append_object (skipped);

        dn_json_add_count (row, "line", evaluation->skipped[i].line);
        dn_json_add_text (row, "reason", evaluation->skipped[i].reason);
    }
    for (int i = 0; i < DN_N_METRICS; i++)
        add_metric (json, evaluation, i);
    member = dn_json_add_object (json, "white_box");
    dn_json_add_signed (member, "mape", white_box.mape);
    dn_json_add_signed (member, "median_ape", white_box.median_ape);
    groupings = dn_json_add_object (json, "by");
    for (int g = DN_BY_GPU; g < DN_N_GROUPINGS; g++)
        if (by[g])
            add_groups (
                dn_json_add_object (groupings, dn_names_get (&dn_grouping_names, g)),
                &evaluation->scores[metric][g]);
    return json;
}

#define FIGURES                                                                        \
    "ROWS>=n|MEAN %>=mape %.1|MEDIAN %>=median_ape %.1|BIAS %>=bias %.1+|"             \
    "TOO LOW %>=under %.1|BELOW P95 %>=coverage_p95 %.1|"                              \
    "P95 / MEASURED>=tightness_p95 .2"

static void add_line (struct json_object *rows,
                      const char *name,
                      struct json_object *row)
{
    dn_json_add_text (row, "name", name);
    json_object_array_add (rows, row);
}

static int print_metrics (struct dn_evaluation *evaluation)
{
    struct json_object *rows = json_object_new_array ();

    for (int i = 0; i < DN_N_METRICS; i++) {
        struct dn_figures figures = dn_pairs_figures (all_pairs (evaluation, i));
        struct json_object *row;

        if (figures.n == 0)
            continue;
        row = figures_json (&figures);
        dn_json_add_signed (row, "macro_median_ape", macro (evaluation, i));
        add_line (rows, dn_names_get (&dn_metric_names, i), row);
    }
    return dn_rows_print_any (
        rows,
        "METRIC=name|" FIGURES
        "|BELOW P99 %>=coverage_p99 %.1|P99 / MEASURED>=tightness_p99 .2|"
        "LOW BY %>=under_mape %.1|HIGH BY %>=over_mape %.1|"
        "PER MODEL %>=macro_median_ape %.1");
}

/* One line of a table of groups. */
struct line {
    struct dn_quoted name;
    struct dn_figures figures;
};

static int compare_lines (const void *a, const void *b)
{
    const struct line *x = a;
    const struct line *y = b;

    if (x->figures.median_ape != y->figures.median_ape)
        return x->figures.median_ape > y->figures.median_ape ? -1 : 1;
    return strcmp (x->name.text, y->name.text);
}

static int print_groups (struct dn_score *score, const char *metric, const char *by)
{
    dn_cleanup (dn_free_ptr) struct line *lines = NULL;
    struct json_object *rows;

    if (score->n_groups == 0)
        return DN_EXIT_DONE;
    lines = calloc ((size_t) score->n_groups, sizeof (*lines));
    if (!lines) {
        dn_complain ("out of memory");
        return DN_EXIT_BUG;
    }
    for (int i = 0; i < score->n_groups; i++) {
        const char *name = score->groups[i].name;

        lines[i].name = dn_quote (name, strlen (name));
        lines[i].figures = dn_pairs_figures (&score->groups[i]);
    }
    qsort (lines, (size_t) score->n_groups, sizeof (*lines), compare_lines);
    printf ("\n%s by %s, the worst first:\n", metric, by);
    rows = json_object_new_array ();
    for (int i = 0; i < score->n_groups; i++)
        add_line (rows, lines[i].name.text, figures_json (&lines[i].figures));
    return dn_rows_print (rows, "NAME=name|" FIGURES, NULL);
}

static void print_rows (const struct dn_evaluation *evaluation)
{
    int64_t n = evaluation->n_skipped;

    printf ("%" PRId64 " rows, %" PRId64 " predicted, %" PRId64 " skipped\n",
            evaluation->n_rows,
            evaluation->n_predicted,
            n);
    for (int64_t i = 0; i < n && i < SKIPPED_SHOWN; i++)
        printf ("  line %" PRId64 ": %s\n",
                evaluation->skipped[i].line,
                evaluation->skipped[i].reason);
    if (n > SKIPPED_SHOWN)
        printf ("  and %" PRId64 " more (see --json, --predictions)\n",
                n - SKIPPED_SHOWN);
}

static void print_fits (const struct dn_evaluation *evaluation)
{
    if (evaluation->n_judged == 0)
        return;
    printf ("\nOf %" PRId64 " runs whose memory was measured, %" PRId64
            " did not fit: %" PRId64 " of them were predicted to,\n"
            "and %" PRId64
            " by the policy's bound and head room. Of those that fitted, "
            "%" PRId64 " were predicted not to,\nand %" PRId64 " by the policy's.\n",
            evaluation->n_judged,
            evaluation->n_oom,
            evaluation->n_false_fit,
            evaluation->n_false_move,
            evaluation->n_false_no_fit,
            evaluation->n_false_stay);
}

/* Print the figures of every metric, then those of the groups, worst first. Return
 * an enum dn_exit.
 */
static int print_scores (struct dn_evaluation *evaluation,
                         const bool by[DN_N_GROUPINGS])
{
    int metric = first_metric (evaluation);
    int exit_code;

    print_rows (evaluation);
    exit_code = print_metrics (evaluation);
    print_fits (evaluation);
    for (int g = DN_BY_GPU; g < DN_N_GROUPINGS && exit_code == DN_EXIT_DONE; g++)
        if (by[g])
            exit_code = print_groups (&evaluation->scores[metric][g],
                                      dn_names_get (&dn_metric_names, metric),
                                      dn_names_get (&dn_grouping_names, g));
    return exit_code;
}

/* --- the command ------------------------------------------------------------------ */

/* The options of a call. */
struct call {
    struct dn_evaluation evaluation;
    struct predictions predictions;
    const char *out; /* NULL: no predictions are written */
    bool by[DN_N_GROUPINGS];
    bool by_given;
};

static void free_call (struct call *call)
{
    dn_evaluation_free (&call->evaluation);
    dn_replace_free (&call->predictions.out);
}

static int take_key (struct dn_options *given, void *to)
{
    struct call *call = to;
    const char *key = given->argument;
    int grouping = dn_names_find (&dn_grouping_names, key, strlen (key));

    if (grouping <= DN_BY_ALL)
        return dn_options_misuse (
            given,
            "--by: '%s', expected gpu, model, group, source or precision",
            dn_quote (key, strlen (key)).text);
    call->by[grouping] = true;
    call->by_given = true;
    return DN_EXIT_DONE;
}

static const struct dn_option options[] = {
    DN_OPT_TEXT ("predictions", "OUT.csv", "write every row with its prediction", out),
    DN_OPT_TAKE ("by",
                 "KEY",
                 "by gpu, model, group, source or precision; repeatable",
                 take_key),
    DN_OPT_END,
};

static bool take_options (struct dn_options *given, struct call *call)
{
    if (!dn_options_all (given, call, 1, 1))
        return false;
    /* By default the tables group by model, and the JSON has all groupings. */
    for (int g = DN_BY_GPU; g < DN_N_GROUPINGS && !call->by_given; g++)
        call->by[g] = given->json || g == DN_BY_MODEL;
    return true;
}

static int take_row (const struct dn_row *row, void *context, struct dn_err *err)
{
    struct call *call = context;
    struct dn_row_result result;

    if (dn_evaluation_add (&call->evaluation, row, &result, err) < 0)
        return -1;
    if (call->predictions.out.file)
        add_prediction (&call->predictions, row, &result);
    return 0;
}

static int show (const struct dn_options *given, struct call *call)
{
    dn_cleanup (dn_json_free) struct json_object *json = NULL;
    int exit_code = DN_EXIT_DONE;

    if (given->json) {
        json = scores_json (&call->evaluation, call->by);
        dn_json_print (json);
    } else {
        exit_code = print_scores (&call->evaluation, call->by);
    }
    if (exit_code == DN_EXIT_DONE && call->evaluation.n_predicted == 0)
        return DN_EXIT_ABSTAINED;
    return exit_code;
}

static int run (struct dn_options *given)
{
    struct dn_err err = {0};
    const struct dn_site *site;
    dn_cleanup (free_call) struct call call = {.out = NULL};
    struct dn_reading reading = {.row = take_row,
                                 .context = &call,
                                 .unit = "rows",
                                 .n = &call.evaluation.n_rows};

    if (!take_options (given, &call) || !dn_options_site (given, NULL))
        return given->exit_code;
    site = given->site;
    call.evaluation = (struct dn_evaluation){
        .predictor = dn_site_predictor (site),
        .rules = &site->rules,
        .tables = {&site->catalogue, &site->datasets, &site->networks},
        .people = &dn_people_of_system,
    };
    /* Opened before the input is read, so that a bad name is reported first. */
    if ((call.out && dn_replace_open (&call.predictions.out, call.out, &err) < 0)
        || dn_read_runs (given->args[0], &reading, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    if (call.out && dn_replace_finish (&call.predictions.out, &err) < 0)
        return dn_fail (DN_EXIT_BUG, &err);
    return show (given, &call);
}

const struct dn_command dn_cmd_evaluate = {
    .name = "evaluate",
    .summary = "Compare predictions with measured runs",
    .arguments = "FILE",
    .options = options,
    .run = run,
};
