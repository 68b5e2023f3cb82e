/* evaluate.c - predictions against measured runs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/evaluate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIB (1024.0 * 1024 * 1024)

static const char *const grouping_text[] =
    {"all", "gpu", "model", "group", "source", "precision"};

const struct dn_names dn_grouping_names = {grouping_text,
                                           (int) DN_N_ELEMENTS (grouping_text)};

struct dn_evaluation dn_evaluation_start (const struct dn_constants *constants,
                                          const struct dn_catalogue *catalogue,
                                          const struct dn_datasets *datasets)
{
    return (struct dn_evaluation){
        .constants = constants, .catalogue = catalogue, .datasets = datasets};
}

void dn_evaluation_free (struct dn_evaluation *evaluation)
{
    if (!evaluation)
        return;
    for (int i = 0; i < DN_N_GROUPINGS; i++) {
        dn_score_free (&evaluation->step[i]);
        dn_score_free (&evaluation->memory[i]);
        dn_score_free (&evaluation->power[i]);
    }
    free (evaluation->skipped);
    memset (evaluation, 0, sizeof (*evaluation));
}

/* A measured value: 0 where the cell is empty or the column is missing. */
static int read_measured (const struct dn_row *row,
                          const char *column,
                          double *value,
                          struct dn_err *err)
{
    const char *text = dn_row_get (row, column);

    *value = 0;
    if (!text || text[0] == '\0')
        return 0;
    return dn_real_read (dn_span_of (text), column, 1e-9, 1e15, value, err);
}

/* Everything that the table says of one run. */
struct run {
    const struct dn_device *device;
    struct dn_spec spec;
    double step_ms;
    double memory_gb;
    double power_w;
    bool oom;
};

static int read_run (const struct dn_evaluation *evaluation,
                     const struct dn_row *row,
                     struct run *run,
                     struct dn_graph *graph,
                     struct dn_err *err)
{
    const char *gpu = dn_row_get (row, "gpu");
    const char *oom = dn_row_get (row, "oom");

    run->device = dn_catalogue_find (evaluation->catalogue, gpu);
    if (!run->device)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "gpu: '%s' is not in the hardware catalogue",
                           dn_quote (gpu, strlen (gpu)).text);
    run->spec = dn_spec_empty ();
    run->oom = oom && strcmp (oom, "1") == 0;
    if (dn_spec_read (dn_span_of (dn_row_get (row, "spec")), &run->spec, err) < 0
        || dn_spec_resolve (&run->spec, evaluation->datasets, DN_UNSET, err) < 0
        || read_measured (row, "step_ms", &run->step_ms, err) < 0
        || read_measured (row, "peak_mem_gb", &run->memory_gb, err) < 0
        || read_measured (row, "power_w", &run->power_w, err) < 0)
        return -1;
    return dn_graph_build (&run->spec, graph, err);
}

static int skip (struct dn_evaluation *evaluation,
                 int64_t line,
                 const char *reason,
                 struct dn_err *err)
{
    struct dn_skipped *grown;

    if (evaluation->n_skipped++ >= DN_SKIPPED_MAX)
        return 0;
    grown = realloc (evaluation->skipped,
                     (size_t) evaluation->n_skipped * sizeof (*evaluation->skipped));
    if (!grown)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    evaluation->skipped = grown;
    grown += evaluation->n_skipped - 1;
    grown->line = line;
    snprintf (grown->reason, sizeof (grown->reason), "%s", reason);
    return 0;
}

/* The names of the groups that a row belongs to; NULL: of none of that kind. */
static void name_groups (const struct dn_row *row,
                         const struct run *run,
                         char precision[DN_VALUE_MAX],
                         const char *names[DN_N_GROUPINGS])
{
    int n_keys;
    const struct dn_key *keys = dn_spec_keys (&n_keys);

    precision[0] = '\0';
    for (int i = 0; i < n_keys; i++)
        if (strcmp (keys[i].name, "precision") == 0)
            dn_spec_write_value (&run->spec, &keys[i], precision);
    names[DN_BY_ALL] = "all";
    names[DN_BY_GPU] = run->device->name;
    names[DN_BY_MODEL] = run->spec.model[0] != '\0' ? run->spec.model : "unnamed";
    names[DN_BY_GROUP] = dn_row_get (row, "group");
    names[DN_BY_SOURCE] = dn_row_get (row, "source");
    names[DN_BY_PRECISION] = precision[0] != '\0' ? precision : "unknown";
}

static int add_pair (struct dn_score scores[DN_N_GROUPINGS],
                     const char *const names[DN_N_GROUPINGS],
                     struct dn_range predicted,
                     double measured,
                     struct dn_err *err)
{
    if (measured <= 0)
        return 0;
    for (int i = 0; i < DN_N_GROUPINGS; i++)
        if (names[i] && names[i][0] != '\0'
            && dn_score_add (&scores[i],
                             names[i],
                             predicted.p50,
                             dn_range_at (predicted, 0.95),
                             measured,
                             err)
                   < 0)
            return -1;
    return 0;
}

static int add_run (struct dn_evaluation *evaluation,
                    const struct dn_row *row,
                    const struct run *run,
                    const struct dn_estimate *estimate,
                    struct dn_err *err)
{
    const char *names[DN_N_GROUPINGS];
    char precision[DN_VALUE_MAX];
    struct dn_range power = {estimate->power_w, 0};
    bool fitted = !run->oom && run->memory_gb * GIB <= run->device->memory;

    name_groups (row, run, precision, names);
    if (run->oom || run->memory_gb > 0) {
        evaluation->n_memory++;
        evaluation->n_false_fit += estimate->fits && !fitted;
    }
    if (add_pair (evaluation->step, names, estimate->step_s, run->step_ms / 1000, err)
            < 0
        || add_pair (
               evaluation->memory, names, estimate->gpu_mem, run->memory_gb * GIB, err)
               < 0
        || add_pair (evaluation->power, names, power, run->power_w, err) < 0)
        return -1;
    return 0;
}

int dn_evaluation_add (struct dn_evaluation *evaluation,
                       const struct dn_row *row,
                       struct dn_row_result *result,
                       struct dn_err *err)
{
    dn_cleanup (dn_graph_free) struct dn_graph graph = {0};
    struct dn_err why = {0};
    struct run run;

    memset (result, 0, sizeof (*result));
    if (!dn_row_get (row, "spec") || !dn_row_get (row, "gpu"))
        return dn_err_set (
            err, DN_E_SYNTAX, "the table needs the columns spec and gpu");
    evaluation->n_rows++;
    if (read_run (evaluation, row, &run, &graph, &why) < 0) {
        memcpy (result->reason, why.text, sizeof (result->reason));
        return skip (evaluation, row->line, why.text, err);
    }
    dn_predict (
        evaluation->constants, &run.spec, &graph, run.device, 0, &result->estimate);
    result->predicted = true;
    evaluation->n_predicted++;
    return add_run (evaluation, row, &run, &result->estimate, err);
}
