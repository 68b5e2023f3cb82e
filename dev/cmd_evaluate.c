/* cmd_evaluate.c - predictions against measured runs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "dev_commands.h"

#include <string.h>

#include "host/people.h"
#include "learn/evaluate.h"
#include "common.h"
#include "output/show.h"
#include "output/progress.h"
#include "read_runs.h"
#include "replace.h"
#include "scores.h"

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

/* Begin the file 'path'. Free with free_predictions (). */
static int open_predictions (struct predictions *predictions,
                             const char *path,
                             struct dn_err *err)
{
    return dn_replace_open (&predictions->out, path, err);
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
 * are left out. finish_predictions () reports write errors.
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

/* Rename the file to its name. */
static int finish_predictions (struct predictions *predictions, struct dn_err *err)
{
    return dn_replace_finish (&predictions->out, err);
}

/* Remove an unfinished file. NULL-safe. */
static void free_predictions (struct predictions *predictions)
{
    if (predictions)
        dn_replace_free (&predictions->out);
}

/* The options of a call. */
struct call {
    struct dn_progress progress;
    struct dn_evaluation evaluation;
    struct predictions predictions;
    const char *out; /* NULL: no predictions are written */
    bool by[DN_N_GROUPINGS];
    bool by_given;
};

static void free_call (struct call *call)
{
    dn_evaluation_free (&call->evaluation);
    free_predictions (&call->predictions);
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

static void show_progress (struct dn_span piece, double share, void *context)
{
    struct call *call = context;

    (void) piece;
    dn_progress_show (&call->progress, call->evaluation.n_rows, share);
}

static int read_runs (const char *path, struct call *call, struct dn_err *err)
{
    struct dn_reading reading = {
        .row = take_row, .piece = show_progress, .context = call};
    int rc;

    call->progress = dn_progress_begin ("rows");
    rc = dn_read_runs (path, &reading, err);
    dn_progress_end (&call->progress);
    return rc;
}

static int show (const struct dn_options *given, struct call *call)
{
    dn_cleanup (dn_json_free) struct json_object *json = NULL;
    int exit_code = DN_EXIT_DONE;

    if (given->json) {
        json = dn_scores_json (&call->evaluation, call->by);
        dn_json_print (json);
    } else {
        exit_code = dn_scores_print (&call->evaluation, call->by);
    }
    if (exit_code == DN_EXIT_DONE && call->evaluation.n_predicted == 0)
        return DN_EXIT_ABSTAINED;
    return exit_code;
}

static int run (struct dn_options *given)
{
    struct dn_err err = {0};
    dn_cleanup (dn_site_cleanup) struct dn_site *site = NULL;
    struct dn_predictor predictor;
    dn_cleanup (free_call) struct call call = {.out = NULL};

    if (!take_options (given, &call))
        return given->exit_code;
    site = dn_options_site (given, NULL);
    if (!site)
        return given->exit_code;
    predictor = dn_site_predictor (site);
    call.evaluation = dn_evaluation_start (
        &predictor, &site->rules, &site->catalogue, &site->datasets, &site->networks);
    call.evaluation.people = &dn_people_of_system;
    /* Opened before the input is read, so that a bad name is reported first. */
    if ((call.out && open_predictions (&call.predictions, call.out, &err) < 0)
        || read_runs (given->args[0], &call, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    if (call.out && finish_predictions (&call.predictions, &err) < 0)
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
