/* evaluate.c - predictions against measured runs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/evaluate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/row_spec.h"

#define GIB (1024.0 * 1024 * 1024)

static const char *const metric_text[] = {"step_time", "gpu_memory", "power"};
static const char *const grouping_text[] =
    {"all", "gpu", "model", "group", "source", "precision"};

const struct dn_names dn_metric_names = {metric_text,
                                         (int) DN_N_ELEMENTS (metric_text)};

const struct dn_names dn_grouping_names = {grouping_text,
                                           (int) DN_N_ELEMENTS (grouping_text)};

struct dn_evaluation dn_evaluation_start (const struct dn_predictor *predictor,
                                          const struct dn_rules *rules,
                                          const struct dn_catalogue *catalogue,
                                          const struct dn_datasets *datasets)
{
    return (struct dn_evaluation){.predictor = *predictor,
                                  .rules = rules,
                                  .catalogue = catalogue,
                                  .datasets = datasets};
}

void dn_evaluation_free (struct dn_evaluation *evaluation)
{
    if (!evaluation)
        return;
    for (int m = 0; m < DN_N_METRICS; m++)
        for (int g = 0; g < DN_N_GROUPINGS; g++)
            dn_score_free (&evaluation->scores[m][g]);
    dn_score_free (&evaluation->white_box);
    free (evaluation->skipped);
    memset (evaluation, 0, sizeof (*evaluation));
}

/* Everything that the table says of one run. */
struct run {
    const struct dn_device *device;
    struct dn_spec spec;
    double measured[DN_N_METRICS]; /* in the units of the table; 0: not */
    double cores;                  /* per GPU; 0 unknown */
    bool oom;
};

static int read_run (const struct dn_evaluation *evaluation,
                     const struct dn_row *row,
                     struct run *run,
                     struct dn_graph *graph,
                     struct dn_err *err)
{
    static const char *const columns[DN_N_METRICS] = {
        "step_ms", "peak_mem_gb", "power_w"};
    const char *gpu = dn_row_get (row, "gpu");
    const char *oom = dn_row_get (row, "oom");

    run->oom = oom && strcmp (oom, "1") == 0;
    run->device = dn_catalogue_find (evaluation->catalogue, gpu);
    if (!run->device)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "gpu: '%s' is not in the hardware catalogue",
                           dn_quote (gpu, strlen (gpu)).text);
    for (int i = 0; i < DN_N_METRICS; i++)
        if (dn_row_measured (row, columns[i], &run->measured[i], err) < 0)
            return -1;
    /* 0 where the table does not tell: dn_predict () assumes the usual number then. */
    if (dn_row_measured (row, "cores_per_gpu", &run->cores, err) < 0
        || dn_row_spec (row, evaluation->datasets, &run->spec, graph, err) < 0)
        return -1;
    if (!dn_device_supports (run->device, run->spec.precision))
        return dn_err_set (
            err, DN_E_RANGE, "gpu: %s cannot run this precision", run->device->name);
    return 0;
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
                     double predicted,
                     const double bounds[DN_N_BOUNDS],
                     double measured,
                     struct dn_err *err)
{
    for (int i = 0; i < DN_N_GROUPINGS; i++)
        if (names[i] && names[i][0] != '\0'
            && dn_score_add (&scores[i], names[i], predicted, bounds, measured, err)
                   < 0)
            return -1;
    return 0;
}

static void judge_fit (struct dn_evaluation *evaluation,
                       const struct run *run,
                       const struct dn_estimate *estimate)
{
    bool fitted = run->measured[DN_METRIC_GPU_MEMORY] * GIB <= run->device->memory;
    bool moves = dn_policy_memory (evaluation->rules, estimate) <= run->device->memory;

    if (!run->oom && run->measured[DN_METRIC_GPU_MEMORY] <= 0)
        return;
    fitted = fitted && !run->oom;
    evaluation->n_judged++;
    evaluation->n_oom += !fitted;
    evaluation->n_false_fit += estimate->fits && !fitted;
    evaluation->n_false_no_fit += !estimate->fits && fitted;
    evaluation->n_false_move += moves && !fitted;
    evaluation->n_false_stay += !moves && fitted;
}

static int add_run (struct dn_evaluation *evaluation,
                    const struct dn_row *row,
                    const struct run *run,
                    const struct dn_estimate *estimate,
                    struct dn_err *err)
{
    const char *names[DN_N_GROUPINGS];
    char precision[DN_VALUE_MAX];
    struct dn_range step = estimate->step_s;
    struct dn_range memory = estimate->gpu_mem;
    /* In the units of the table. No bound of the power is predicted. */
    const double predicted[DN_N_METRICS] = {
        step.p50 * 1000, memory.p50 / GIB, estimate->power_w};
    const double bounds[DN_N_METRICS][DN_N_BOUNDS] = {
        {dn_range_at (step, 0.95) * 1000, dn_range_at (step, 0.99) * 1000},
        {dn_range_at (memory, 0.95) / GIB, dn_range_at (memory, 0.99) / GIB},
        {NAN, NAN}};

    name_groups (row, run, precision, names);
    judge_fit (evaluation, run, estimate);
    if (run->measured[DN_METRIC_STEP_TIME] > 0
        && dn_score_add (&evaluation->white_box,
                         names[DN_BY_ALL],
                         estimate->white_step_s * 1000,
                         NULL,
                         run->measured[DN_METRIC_STEP_TIME],
                         err)
               < 0)
        return -1;
    for (int i = 0; i < DN_N_METRICS; i++)
        if (run->measured[i] > 0
            && add_pair (evaluation->scores[i],
                         names,
                         predicted[i],
                         bounds[i],
                         run->measured[i],
                         err)
                   < 0)
            return -1;
    return 0;
}

static bool is_sound (const struct dn_estimate *estimate)
{
    return isfinite (estimate->step_s.p50) && estimate->step_s.p50 > 0
           && isfinite (estimate->gpu_mem.p50) && estimate->gpu_mem.p50 > 0
           && isfinite (estimate->power_w) && estimate->power_w > 0;
}

/* Return -1 with the reason why nothing can be predicted. */
static int predict_run (const struct dn_evaluation *evaluation,
                        const struct dn_row *row,
                        struct run *run,
                        struct dn_estimate *estimate,
                        struct dn_err *err)
{
    dn_cleanup (dn_graph_free) struct dn_graph graph = {0};
    struct dn_case c = {.spec = &run->spec, .graph = &graph};

    if (read_run (evaluation, row, run, &graph, err) < 0)
        return -1;
    c.cpus_per_gpu = run->cores;
    if (dn_predict (&evaluation->predictor,
                    &c,
                    &(const struct dn_device *){run->device},
                    1,
                    estimate,
                    err)
        < 0)
        return -1;
    if (!is_sound (estimate))
        return dn_err_set (err, DN_E_BUG, "the prediction is not a positive number");
    return 0;
}

int dn_evaluation_add (struct dn_evaluation *evaluation,
                       const struct dn_row *row,
                       struct dn_row_result *result,
                       struct dn_err *err)
{
    struct dn_err why = {0};
    struct run run;

    memset (result, 0, sizeof (*result));
    if (!dn_row_get (row, "spec") || !dn_row_get (row, "gpu"))
        return dn_err_set (
            err, DN_E_SYNTAX, "the table needs the columns spec and gpu");
    evaluation->n_rows++;
    if (predict_run (evaluation, row, &run, &result->estimate, &why) == 0) {
        result->predicted = true;
        memcpy (result->measured, run.measured, sizeof (result->measured));
        evaluation->n_predicted++;
        return add_run (evaluation, row, &run, &result->estimate, err);
    }
    if (why.code == DN_E_NOMEM)
        return dn_err_set (err, DN_E_NOMEM, "%s", why.text);
    memcpy (result->reason, why.text, sizeof (result->reason));
    return skip (evaluation, row->line, why.text, err);
}
