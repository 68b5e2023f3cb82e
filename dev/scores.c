/* scores.c - the accuracy of predictions, as JSON and as tables
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "scores.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "output/grid.h"
#include "output/show.h"

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

/* The accuracy of the step time without the learned residual. */
static void add_white_box (struct json_object *json, struct dn_evaluation *evaluation)
{
    struct dn_figures figures = dn_pairs_figures (evaluation->white_box.groups);
    struct json_object *member = dn_json_add_object (json, "white_box");

    dn_json_add_signed (member, "mape", figures.mape);
    dn_json_add_signed (member, "median_ape", figures.median_ape);
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

struct json_object *dn_scores_json (struct dn_evaluation *evaluation,
                                    const bool by[DN_N_GROUPINGS])
{
    struct json_object *json = json_object_new_object ();
    int metric = first_metric (evaluation);
    int64_t n_kept = evaluation->n_skipped;
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
    add_white_box (json, evaluation);
    groupings = dn_json_add_object (json, "by");
    for (int g = DN_BY_GPU; g < DN_N_GROUPINGS; g++)
        if (by[g])
            add_groups (
                dn_json_add_object (groupings, dn_names_get (&dn_grouping_names, g)),
                &evaluation->scores[metric][g]);
    return json;
}

/* A fraction in percent, with its sign if 'sign' is set. */
static void add_percent (struct dn_grid *grid, double fraction, bool sign)
{
    if (isnan (fraction))
        dn_grid_add (grid, "-");
    else
        dn_grid_add (grid, sign ? "%+.1f" : "%.1f", 100 * fraction);
}

static void add_bound (struct dn_grid *grid,
                       const struct dn_figures *figures,
                       enum dn_bound bound)
{
    add_percent (grid, figures->coverage[bound], false);
    dn_grid_add (grid, "%s", dn_show_real (figures->tightness[bound], 2).text);
}

static void add_figures (struct dn_grid *grid, const struct dn_figures *figures)
{
    add_percent (grid, figures->mape, false);
    add_percent (grid, figures->median_ape, false);
    add_percent (grid, figures->bias, true);
    add_percent (grid, figures->under, false);
    add_bound (grid, figures, DN_BOUND_P95);
}

static int print_metrics (struct dn_evaluation *evaluation)
{
    dn_cleanup (dn_grid_free) struct dn_grid grid = dn_grid_of (
        "METRIC|ROWS>|MEAN %>|MEDIAN %>|BIAS %>|TOO LOW %>|BELOW P95 %>|P95 / MEASURED>|BELOW P99 %>|P99 / MEASURED>|LOW BY %>|HIGH BY %>|PER MODEL %>");

    for (int i = 0; i < DN_N_METRICS; i++) {
        struct dn_figures figures = dn_pairs_figures (all_pairs (evaluation, i));

        if (figures.n == 0)
            continue;
        dn_grid_add (&grid, "%s", dn_names_get (&dn_metric_names, i));
        dn_grid_add (&grid, "%zu", figures.n);
        add_figures (&grid, &figures);
        add_bound (&grid, &figures, DN_BOUND_P99);
        add_percent (&grid, figures.under_mape, false);
        add_percent (&grid, figures.over_mape, false);
        add_percent (&grid, macro (evaluation, i), false);
    }
    if (dn_grid_is_empty (&grid))
        return DN_EXIT_DONE;
    printf ("\n");
    return dn_grid_print (&grid);
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
    dn_cleanup (dn_grid_free) struct dn_grid grid = dn_grid_of (
        "NAME|ROWS>|MEAN %>|MEDIAN %>|BIAS %>|TOO LOW %>|BELOW P95 %>|P95 / MEASURED>");
    dn_cleanup (dn_free_ptr) struct line *lines = NULL;

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
    for (int i = 0; i < score->n_groups; i++) {
        dn_grid_add (&grid, "%s", lines[i].name.text);
        dn_grid_add (&grid, "%zu", lines[i].figures.n);
        add_figures (&grid, &lines[i].figures);
    }
    return dn_grid_print (&grid);
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

int dn_scores_print (struct dn_evaluation *evaluation, const bool by[DN_N_GROUPINGS])
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
