/* evaluate.c - compare predictions with measured runs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/evaluate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fields.h"

static const char *const metric_text[] = {
    [DN_METRIC_STEP_TIME] = "step_time",
    [DN_METRIC_GPU_MEMORY] = "gpu_memory",
    [DN_METRIC_POWER] = "power",
};

static const char *const grouping_text[] = {
    [DN_BY_ALL] = "all",
    [DN_BY_GPU] = "gpu",
    [DN_BY_MODEL] = "model",
    [DN_BY_GROUP] = "group",
    [DN_BY_SOURCE] = "source",
    [DN_BY_PRECISION] = "precision",
};

const struct dn_names dn_metric_names = DN_NAMES (metric_text, DN_N_METRICS);
const struct dn_names dn_grouping_names = DN_NAMES (grouping_text, DN_N_GROUPINGS);

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

static int skip (struct dn_evaluation *evaluation,
                 int64_t line,
                 const char *reason,
                 struct dn_err *err)
{
    int64_t n = evaluation->n_skipped++;

    if (n >= DN_SKIPPED_MAX)
        return 0;
    if (dn_rows_grow (&evaluation->skipped, n, sizeof (*evaluation->skipped), err) < 0)
        return -1;
    evaluation->skipped[n].line = line;
    snprintf (evaluation->skipped[n].reason,
              sizeof (evaluation->skipped[n].reason),
              "%s",
              reason);
    return 0;
}

/* The names of the groups that a row belongs to; "" if it is in none of that kind. */
static void name_groups (const struct dn_run_case *run,
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
    names[DN_BY_GROUP] = run->run.group;
    names[DN_BY_SOURCE] = run->run.source;
    names[DN_BY_PRECISION] = precision[0] != '\0' ? precision : "unknown";
}

static void judge_fit (struct dn_evaluation *evaluation,
                       const struct dn_run_case *run,
                       const struct dn_estimate *estimate)
{
    double room = run->device->memory;
    double used = run->run.peak_mem_gb * DN_GIB;
    bool oom = run->run.oom == 1;
    bool fitted = !oom && used <= room;
    bool fits = dn_estimate_surely_fits (estimate);
    bool moves = dn_policy_memory (evaluation->rules, estimate) <= room;

    if (!oom && isnan (used))
        return;
    evaluation->n_judged++;
    evaluation->n_oom += !fitted;
    evaluation->n_false_fit += fits && !fitted;
    evaluation->n_false_no_fit += !estimate->fits && fitted;
    evaluation->n_false_move += moves && !fitted;
    evaluation->n_false_stay += !moves && fitted;
}

static int add_run (struct dn_evaluation *evaluation,
                    const struct dn_run_case *run,
                    struct dn_row_result *result,
                    struct dn_err *err)
{
    const struct dn_estimate *estimate = &result->estimate;
    const char *names[DN_N_GROUPINGS];
    char precision[DN_VALUE_MAX];
    struct dn_range step = estimate->step_s;
    struct dn_range memory = result->memory =
        dn_estimate_memory (estimate, dn_run_memory_count (&run->run));
    /* In the units of the table. Power has one bound. */
    const double predicted[DN_N_METRICS] = {
        step.p50 * 1000, memory.p50 / DN_GIB, estimate->power_w};
    const double bounds[DN_N_METRICS][DN_N_BOUNDS] = {
        {dn_range_at (step, 0.95) * 1000, dn_range_at (step, 0.99) * 1000},
        {dn_range_at (memory, 0.95) / DN_GIB, dn_range_at (memory, 0.99) / DN_GIB},
        {estimate->power_w_p95, NAN}};

    name_groups (run, precision, names);
    judge_fit (evaluation, run, estimate);
    if (result->measured[DN_METRIC_STEP_TIME] > 0
        && dn_score_add (&evaluation->white_box,
                         names[DN_BY_ALL],
                         estimate->white_step_s * 1000,
                         NULL,
                         result->measured[DN_METRIC_STEP_TIME],
                         err)
               < 0)
        return -1;
    for (int i = 0; i < DN_N_METRICS; i++)
        for (int g = 0; g < DN_N_GROUPINGS; g++)
            if (result->measured[i] > 0 && names[g][0] != '\0'
                && dn_score_add (&evaluation->scores[i][g],
                                 names[g],
                                 predicted[i],
                                 bounds[i],
                                 result->measured[i],
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

/* Return -1 with 'err', the reason why nothing can be predicted. */
static int predict_run (const struct dn_evaluation *evaluation,
                        const struct dn_row *row,
                        struct dn_run_case *run,
                        struct dn_estimate *estimate,
                        struct dn_err *err)
{
    struct dn_case c = {.spec = &run->spec, .graph = &run->graph};
    struct dn_predictor predictor = evaluation->predictor;

    if (dn_run_case_read (row, DN_RUN_JUDGE, &evaluation->tables, run, err) < 0)
        return -1;
    /* If the table states no number of CPUs, the usual number is assumed. */
    c.cpus_per_gpu = dn_run_known (run->run.cores_per_gpu);
    predictor.user = dn_run_user (run->run.user, evaluation->people);
    if (dn_predict (
            &predictor, &c, &(const struct dn_device *){run->device}, 1, estimate, err)
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
    dn_cleanup (dn_run_case_free) struct dn_run_case run = {.device = NULL};

    memset (result, 0, sizeof (*result));
    if (dn_run_check (row, err) < 0)
        return -1;
    evaluation->n_rows++;
    if (predict_run (evaluation, row, &run, &result->estimate, &why) == 0) {
        result->predicted = true;
        result->measured[DN_METRIC_STEP_TIME] = dn_run_known (run.run.step_ms);
        result->measured[DN_METRIC_GPU_MEMORY] = dn_run_known (run.run.peak_mem_gb);
        result->measured[DN_METRIC_POWER] = dn_run_known (run.run.power_w);
        evaluation->n_predicted++;
        return add_run (evaluation, &run, result, err);
    }
    if (why.code == DN_E_NOMEM)
        return dn_err_set (err, DN_E_NOMEM, "%s", why.text);
    memcpy (result->reason, why.text, sizeof (result->reason));
    return skip (evaluation, row->line, why.text, err);
}
