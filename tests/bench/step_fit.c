/* step_fit.c - the fit of the white box's constants to measured steps
 *
 * Least absolute error of ln (measured / predicted), one vote per pair of model and
 * source damped by a square root, by coordinate descent in the logarithm of each
 * constant: first those of one device on rows of one GPU, then those of communication
 * on the others.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "step_fit.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A constant to fit, within physical bounds. */
struct knob {
    const char *name;
    size_t offset;
    double min;
    double max;
    bool several; /* fitted on rows of several GPUs */
    bool judged;  /* fitted only on request */
};

#define KNOB(member, min, max, several)                                                \
    {                                                                                  \
#member, offsetof(struct dn_constants, member), min, max, several, false       \
    }
#define JUDGED(member, min, max)                                                       \
    {                                                                                  \
#member, offsetof(struct dn_constants, member), min, max, false, true          \
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
    KNOB (kernel_s, 1e-6, 5e-5, false),
    KNOB (launch_s, 3e-6, 1.5e-4, false),
    KNOB (step_s, 1e-4, 2e-2, false),
    KNOB (optimizer, 1, 4, false),
    KNOB (optimizer_launches, 0.05, 10, false),
    KNOB (ngc_tensor, 0.5, 1.5, false),
    KNOB (ngc_memory, 0.5, 4, false),
    KNOB (ngc_grouped, 0.5, 8, false),
    KNOB (ngc_launch, 0.1, 3, false),
    KNOB (ngc_step, 0.05, 2, false),
    KNOB (pcie_eff, 0.05, 0.9, true),
    KNOB (pcie_start_s, 1e-5, 2e-2, true),
    KNOB (node_bw, 1e9, 2.5e10, true),
    KNOB (node_bw_pcie, 3e8, 1e11, true),
    KNOB (overlap, 0.05, 1, true),
    KNOB (straggler, 0.001, 0.1, true),
    JUDGED (nvlink_eff, 0.1, 1),
    JUDGED (nvlink_start_s, 1e-6, 1e-3),
    JUDGED (fused_bytes, 0.1, 1),
    JUDGED (fused_launch, 0.1, 1),
    /* End of knobs */
};

int bench_add_run (const struct dn_row *row, void *context, struct dn_err *err)
{
    static const struct dn_datasets no_datasets;
    struct bench_set *set = context;
    const char *quality = dn_row_get (row, "quality");
    struct bench_run *run;

    if (set->n_runs == set->size) {
        set->size = set->size > 0 ? 2 * set->size : 1024;
        set->runs = realloc (set->runs, (size_t) set->size * sizeof (*set->runs));
        if (!set->runs)
            bench_die ("runs", "out of memory");
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

void bench_weigh (struct bench_set *set)
{
    for (int i = 0; i < set->n_runs; i++) {
        const struct bench_run *run = &set->runs[i];
        int n = 0;

        for (int j = 0; j < set->n_runs; j++)
            n += set->runs[j].several == run->several
                 && strcmp (set->runs[j].model, run->model) == 0
                 && strcmp (set->runs[j].source, run->source) == 0;
        set->runs[i].weight = 1 / sqrt (n);
    }
}

double bench_predict (const struct dn_constants *constants, const struct bench_run *run)
{
    struct dn_estimate estimate;

    dn_whitebox (&(struct dn_case){constants, &run->spec, &run->graph, run->device, 0},
                 &estimate);
    return estimate.step_s.p50;
}

/* Is 'name' in a list separated by commas? */
static bool in_list (const char *list, const char *name)
{
    size_t len = strlen (name);

    for (const char *at = strstr (list, name); at; at = strstr (at + 1, name))
        if ((at == list || at[-1] == ',') && (at[len] == ',' || at[len] == '\0'))
            return true;
    return false;
}

/* Mean weighted error over the usable rows of one kind. */
static double loss (const struct bench_set *set,
                    const struct dn_constants *constants,
                    bool several)
{
    double sum = 0;
    double weights = 0;

    for (int i = 0; i < set->n_runs; i++) {
        const struct bench_run *run = &set->runs[i];

        if ((!set->constants && run->several != several) || !run->fitted
            || run->left_out)
            continue;
        sum += run->weight * fabs (log (run->step_s / bench_predict (constants, run)));
        weights += run->weight;
    }
    return weights > 0 ? sum / weights : 0;
}

/* Try a factor on one constant, and keep it if the loss decreases. */
static bool improve (const struct bench_set *set,
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

/* Is this constant fitted in that turn? */
static bool has_turn (const struct bench_set *set,
                      const struct knob *knob,
                      bool several)
{
    if (set->constants)
        return !several && in_list (set->constants, knob->name);
    return !knob->judged && knob->several == several;
}

void bench_fit (const struct bench_set *set, int sweeps, struct dn_constants *constants)
{
    double stride[DN_N_ELEMENTS (knobs)];

    for (int several = 0; several <= 1; several++) {
        double best = loss (set, constants, several);

        for (size_t i = 0; i < DN_N_ELEMENTS (knobs); i++)
            stride[i] = 0.15;
        for (int sweep = 0; sweep < sweeps; sweep++)
            for (size_t i = 0; i < DN_N_ELEMENTS (knobs); i++) {
                if (!has_turn (set, &knobs[i], several))
                    continue;
                if (improve (set, &knobs[i], exp (stride[i]), constants, &best)
                    || improve (set, &knobs[i], exp (-stride[i]), constants, &best))
                    stride[i] *= 1.5;
                else
                    stride[i] /= 3;
            }
    }
}

void bench_print_constants (const struct bench_set *set,
                            const struct dn_constants *constants)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (knobs); i++) {
        double value;

        if (!has_turn (set, &knobs[i], false) && !has_turn (set, &knobs[i], true))
            continue;
        memcpy (&value, (const char *) constants + knobs[i].offset, sizeof (value));
        printf ("    .%s = %.4g,\n", knobs[i].name, value);
    }
}
