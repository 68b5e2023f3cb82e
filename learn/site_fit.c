/* site_fit.c - the most probable constants and scales of one site
 *
 * Levenberg and Marquardt on the sum of Student's t of the errors and the prior's
 * squares; the constants' slopes are differences, those of the scales are 1. The
 * curvature at the end gives what is still not known (Laplace). The spreads of noise
 * and effects are updated between descents, with the prior's as so many runs more.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/site_fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/site_history.h"

/* Parameters: constants that may move, then the values of the anchors, then scales.
 * What comes beyond, in order of the effects, has no scale of its own: cells of very
 * mixed sites. */
#define PARAMETERS_MAX (768 + DN_ANCHORS_MAX)
#define TERMS_MAX      (DN_CONSTANT_FIELDS + DN_N_EFFECTS + DN_ANCHORS_MAX)
#define LABEL_MAX      DN_SCALE_NAME_MAX

/* Degrees of freedom of Student's t: at three standard deviations a run counts 0.3. */
#define STUDENT 2.5

struct parameter {
    int field;  /* of a constant, or -1 */
    int effect; /* of a scale, or -1 */
    char label[LABEL_MAX];
    double spread;
    double value; /* logarithm, relative to what is shipped */
    double variance;
    int64_t runs;
};

/* A run's logarithm as a sum over few parameters, constants first. */
struct terms {
    int n;
    int at[TERMS_MAX];
    double slope[TERMS_MAX];
    double error; /* measured - predicted */
    double rest;  /* variance of the smooth part that the anchors do not tell */
};

struct dn_site_fit {
    struct dn_constants base;
    struct dn_site_prior prior;
    struct dn_site_run *runs;
    int n_runs;
    int size;
    int64_t n_seen;
    uint64_t random;
    /* of one solution */
    struct parameter *parameters;
    int n_parameters;
    int n_constants;
    struct terms *terms;
    struct dn_trace *traces;
    const struct dn_trace **known; /* of runs with a time, NULL of others */
    struct dn_anchors anchors;
    double *normal; /* lower triangle */
    double *chol;
    double *step;
};

/* How alike two runs are, by the features that tell it: the length at which each makes
 * a difference. Most probable on the sources of training_runs.csv, each against the
 * constants of the others (tests/bench/site-curve --prior), as are the spreads below.
 */
static const struct length {
    enum dn_feature feature;
    double length;
} lengths[] = {
    {DN_FEATURE_CONV_FLOPS, 3.51},
    {DN_FEATURE_POINTWISE_FLOPS, 3.51},
    {DN_FEATURE_GROUPED_FLOPS, 3.51},
    {DN_FEATURE_LINEAR_FLOPS, 3.51},
    {DN_FEATURE_MATMUL_FLOPS, 3.51},
    {DN_FEATURE_RECURRENT_FLOPS, 3.51},
    {DN_FEATURE_NORM_TRAFFIC, 3.51},
    {DN_FEATURE_POINT_TRAFFIC, 3.51},
    {DN_FEATURE_SOFTMAX_TRAFFIC, 3.51},
    {DN_FEATURE_EMBEDDING_PARAMS, 3.51},
    {DN_FEATURE_SAMPLE_FLOPS, 11.3},
    {DN_FEATURE_PARAMS, 11.3},
    {DN_FEATURE_KERNELS, 11.3},
    {DN_FEATURE_BATCH, 4.01},
    {DN_FEATURE_ACCUMULATION, 4.01},
    {DN_FEATURE_KERNEL_TRAFFIC, 4.01},
    {DN_FEATURE_GPUS, 5.04},
    {DN_FEATURE_NODES, 5.04},
    {DN_FEATURE_TENSOR_PARALLEL, 5.04},
    {DN_FEATURE_PIPELINE_PARALLEL, 5.04},
    {DN_FEATURE_COMMUNICATION_SHARE, 0.461},
    {DN_FEATURE_EXPOSED_SHARE, 0.461},
    {DN_FEATURE_PEAK, 8.83},
    {DN_FEATURE_BANDWIDTH, 8.83},
    {DN_FEATURE_MEMORY, 8.83},
    {DN_FEATURE_GENERATION, 8.83},
    {DN_FEATURE_DEVICE_SHARE, 0.973},
    {DN_FEATURE_HOST_SHARE, 0.973},
    {DN_FEATURE_INPUT_SHARE, 0.973},
    {DN_FEATURE_KERNEL_RATE, 4.27},
    {DN_FEATURE_ELEMENT_BYTES, 11.5},
    {DN_FEATURE_MATRIX_UNITS, 5.77},
    {DN_FEATURE_TF32, 5.77},
};

/* Errors in units of the stated spread (tests/bench/site-curve --prior): when a run is
 * left out of a site's, and when all of its application is; not below the normal law.
 */
static const struct law {
    double level;
    double seen;
    double unseen;
} laws[] = {
    {0.5, 0, 0},
    {0.8, 0.841, 0.841},
    {0.9, 1.28, 1.28},
    {0.95, 1.66, 1.83},
    {0.975, 2.2, 2.31},
    {0.99, 2.71, 3.06},
    {0.995, 3.16, 3.56},
};

static struct dn_kernel kernel_default (void)
{
    struct dn_kernel kernel = {
        .effects = {[DN_EFFECT_SITE] = 0.138,
                    [DN_EFFECT_DEVICE] = 0.126,
                    [DN_EFFECT_APPLICATION] = 0.0458,
                    [DN_EFFECT_APPLICATION_GPUS] = 0.0431,
                    [DN_EFFECT_PRECISION] = 0.0765,
                    [DN_EFFECT_APPLICATION_DEVICE] = 0.118,
                    [DN_EFFECT_APPLICATION_PRECISION] = 0.0411,
                    [DN_EFFECT_CELL] = 0.063},
        .smooth = 0.258,
        /* Judged: more of it serves applications that the site runs already, less of it
         * those that it does not. */
        .shared = 0.25,
        .noise = 0.043,
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (lengths); i++) {
        kernel.used[i] = (int) lengths[i].feature;
        kernel.rate[i] = (float) (1 / lengths[i].length);
    }
    kernel.n_used = (int) DN_N_ELEMENTS (lengths);
    return kernel;
}

struct dn_site_prior dn_site_prior_default (void)
{
    struct dn_site_prior prior = {
        .kernel = kernel_default (),
        .n_effect = 6,
        .n_level = 20,
        .memory = 0.15,
        .power = 0.15,
    };

    prior.seen.n = prior.unseen.n = (int) DN_N_ELEMENTS (laws);
    for (int i = 0; i < prior.seen.n; i++) {
        prior.seen.scores[i] = prior.unseen.scores[i] =
            laws[i].level > 0.5 ? dn_normal_score (laws[i].level) : 0;
        prior.seen.values[i] = laws[i].seen;
        prior.unseen.values[i] = laws[i].unseen;
    }
    for (int i = 0; i < DN_CONSTANT_FIELDS; i++)
        prior.constants[i] = dn_constant_fields[i].spread;
    return prior;
}

struct dn_site_fit *dn_site_fit_new (const struct dn_constants *constants,
                                     const struct dn_site_prior *prior)
{
    struct dn_site_fit *fit = calloc (1, sizeof (*fit));

    if (!fit)
        return NULL;
    fit->base = *constants;
    fit->prior = prior ? *prior : dn_site_prior_default ();
    fit->random = 88172645463325252u;
    return fit;
}

static void free_solution (struct dn_site_fit *fit)
{
    free (fit->parameters);
    free (fit->terms);
    free (fit->traces);
    free (fit->known);
    dn_anchors_free (&fit->anchors);
    free (fit->normal);
    free (fit->chol);
    free (fit->step);
    fit->parameters = NULL;
    fit->terms = NULL;
    fit->traces = NULL;
    fit->known = NULL;
    fit->normal = fit->chol = fit->step = NULL;
    fit->n_parameters = 0;
}

void dn_site_fit_free (struct dn_site_fit *fit)
{
    if (!fit)
        return;
    free_solution (fit);
    for (int i = 0; i < fit->n_runs; i++)
        dn_graph_free (&fit->runs[i].graph);
    free (fit->runs);
    free (fit);
}

/* xorshift64 (Marsaglia 2003): the same runs give the same bundle. */
static uint64_t next_random (struct dn_site_fit *fit)
{
    fit->random ^= fit->random << 13;
    fit->random ^= fit->random >> 7;
    fit->random ^= fit->random << 17;
    return fit->random;
}

int dn_site_fit_add (struct dn_site_fit *fit,
                     struct dn_site_run *run,
                     struct dn_err *err)
{
    int at = fit->n_runs;

    fit->n_seen++;
    if (at == DN_SITE_RUNS_MAX) { /* Vitter 1985, algorithm R */
        uint64_t place = next_random (fit) % (uint64_t) fit->n_seen;

        if (place >= DN_SITE_RUNS_MAX) {
            dn_graph_free (&run->graph);
            return 0;
        }
        at = (int) place;
        dn_graph_free (&fit->runs[at].graph);
        fit->n_runs--;
    } else if (at == fit->size) {
        int size = at > 0 ? 2 * at : 64;
        struct dn_site_run *grown =
            realloc (fit->runs, (size_t) size * sizeof (*grown));

        if (!grown)
            return dn_err_set (err, DN_E_NOMEM, "out of memory");
        fit->runs = grown;
        fit->size = size;
    }
    fit->runs[at] = *run;
    fit->n_runs++;
    memset (&run->graph, 0, sizeof (run->graph));
    return 0;
}

/* What the run shares this effect with, and how much of it it has; 0: nothing. */
static double label_of (const struct dn_trace *trace, int effect, char label[LABEL_MAX])
{
    dn_tuning_label ((enum dn_effect) effect, trace, label);
    return effect == DN_EFFECT_APPLICATION_GPUS ? trace->doublings : 1;
}

static int find_parameter (struct dn_site_fit *fit, int effect, const char *label)
{
    struct parameter *parameter;

    for (int i = fit->n_parameters; i-- > 0;)
        if (fit->parameters[i].effect == effect
            && strcmp (fit->parameters[i].label, label) == 0)
            return i;
    if (fit->n_parameters == PARAMETERS_MAX)
        return -1;
    parameter = &fit->parameters[fit->n_parameters];
    memset (parameter, 0, sizeof (*parameter));
    parameter->field = -1;
    parameter->effect = effect;
    parameter->spread = fit->prior.kernel.effects[effect];
    snprintf (parameter->label, sizeof (parameter->label), "%s", label);
    return fit->n_parameters++;
}

static void add_constants (struct dn_site_fit *fit)
{
    for (int i = 0; i < DN_CONSTANT_FIELDS; i++)
        if (fit->prior.constants[i] > 0)
            fit->parameters[fit->n_parameters++] = (struct parameter){
                .field = i, .effect = -1, .spread = fit->prior.constants[i]};
    fit->n_constants = fit->n_parameters;
}

/* The values that the smooth part is a sum of: of every run the same ones. */
static void add_anchors (struct dn_site_fit *fit)
{
    int first = fit->n_parameters;

    for (int k = 0; k < fit->anchors.n; k++)
        fit->parameters[fit->n_parameters++] =
            (struct parameter){.field = -1, .effect = -1, .spread = 1};
    for (int i = 0; i < fit->n_runs; i++) {
        struct terms *terms = &fit->terms[i];
        const double *row = fit->anchors.rows + (ptrdiff_t) i * DN_ANCHORS_MAX;

        if (!fit->known[i])
            continue;
        terms->rest = fit->anchors.rest[i];
        for (int k = 0; k < fit->anchors.n; k++) {
            terms->at[terms->n] = first + k;
            terms->slope[terms->n++] = row[k];
        }
    }
}

static void add_scales (struct dn_site_fit *fit, int effect)
{
    for (int i = 0; i < fit->n_runs; i++) {
        struct terms *terms = &fit->terms[i];
        char label[LABEL_MAX];
        double slope;
        int at;

        if (!fit->known[i])
            continue;
        slope = label_of (fit->known[i], effect, label);
        if (slope == 0)
            continue;
        at = find_parameter (fit, effect, label);
        if (at < 0)
            continue;
        fit->parameters[at].runs++;
        terms->at[terms->n] = at;
        terms->slope[terms->n++] = slope;
    }
}

/* The site's constants: those that are shipped, moved by the parameters. */
static struct dn_constants site_constants (const struct dn_site_fit *fit)
{
    struct dn_constants constants = fit->base;

    for (int i = 0; i < fit->n_constants; i++) {
        int field = fit->parameters[i].field;
        double value = dn_constant_get (&fit->base, field);

        if (fit->parameters[i].value != 0)
            dn_constant_set (&constants,
                             field,
                             fmin (fmax (value * exp (fit->parameters[i].value),
                                         dn_constant_fields[field].min),
                                   dn_constant_fields[field].max));
    }
    return constants;
}

static struct dn_case case_of (const struct dn_constants *constants,
                               const struct dn_site_run *run)
{
    return (struct dn_case){.constants = constants,
                            .spec = &run->spec,
                            .graph = &run->graph,
                            .device = run->device,
                            .cpus_per_gpu = run->cpus_per_gpu};
}

static double predict (const struct dn_constants *constants,
                       const struct dn_site_run *run)
{
    const struct dn_case c = case_of (constants, run);
    struct dn_estimate estimate;

    dn_whitebox (&c, &estimate);
    return log (estimate.step_s.p50);
}

/* How the predicted logarithm of a run changes with the constants'. */
static void find_slopes (const struct dn_site_fit *fit,
                         const struct dn_constants *constants,
                         const struct dn_site_run *run,
                         double predicted,
                         double *slopes)
{
    const double stride = 0.02;

    for (int i = 0; i < fit->n_constants; i++) {
        int field = fit->parameters[i].field;
        struct dn_constants moved = *constants;

        dn_constant_set (
            &moved, field, dn_constant_get (constants, field) * exp (stride));
        slopes[i] = (predict (&moved, run) - predicted) / stride;
    }
}

/* Errors at the present parameters, and on demand the slopes of the constants. */
static void look (struct dn_site_fit *fit, bool slopes)
{
    struct dn_constants constants = site_constants (fit);

    for (int i = 0; i < fit->n_runs; i++) {
        struct terms *terms = &fit->terms[i];
        const struct dn_site_run *run = &fit->runs[i];
        double predicted;

        if (run->step_s <= 0)
            continue;
        predicted = predict (&constants, run);
        terms->error = log (run->step_s) - run->step_residual - predicted;
        for (int t = fit->n_constants; t < terms->n; t++)
            terms->error -= terms->slope[t] * fit->parameters[terms->at[t]].value;
        if (slopes)
            find_slopes (fit, &constants, run, predicted, terms->slope);
    }
}

/* Variance of a run that no parameter tells. */
static double noise_of (const struct dn_site_fit *fit, const struct terms *terms)
{
    return fit->prior.kernel.noise * fit->prior.kernel.noise + terms->rest;
}

static double objective (const struct dn_site_fit *fit)
{
    double sum = 0;

    for (int i = 0; i < fit->n_runs; i++) {
        double error;

        if (fit->terms[i].n == 0)
            continue;
        error = fit->terms[i].error / sqrt (noise_of (fit, &fit->terms[i]));
        sum += (STUDENT + 1) / 2 * log1p (error * error / STUDENT);
    }
    for (int i = 0; i < fit->n_parameters; i++) {
        double value = fit->parameters[i].value / fit->parameters[i].spread;

        sum += value * value / 2;
    }
    return sum;
}

static double weight_of (const struct dn_site_fit *fit, const struct terms *terms)
{
    double noise = noise_of (fit, terms);

    return (STUDENT + 1) / (STUDENT + terms->error * terms->error / noise) / noise;
}

/* Curvature of the objective, and its gradient in 'step'. */
static void set_normal (struct dn_site_fit *fit)
{
    size_t n = (size_t) fit->n_parameters;

    memset (fit->normal, 0, n * n * sizeof (*fit->normal));
    for (size_t i = 0; i < n; i++) {
        double spread = fit->parameters[i].spread;

        fit->normal[i * n + i] = 1 / (spread * spread);
        fit->step[i] = -fit->parameters[i].value / (spread * spread);
    }
    for (int i = 0; i < fit->n_runs; i++) {
        const struct terms *terms = &fit->terms[i];
        double weight = weight_of (fit, terms);

        for (int a = 0; a < terms->n; a++) {
            size_t row = (size_t) terms->at[a];
            double slope = weight * terms->slope[a];

            if (slope == 0)
                continue;
            fit->step[row] += slope * terms->error;
            for (int b = 0; b < terms->n; b++)
                if (terms->at[b] <= terms->at[a])
                    fit->normal[row * n + (size_t) terms->at[b]] +=
                        slope * terms->slope[b];
        }
    }
}

/* Lower Cholesky factor of normal + damping * diagonal; false if it has none. */
static bool factor (struct dn_site_fit *fit, double damping)
{
    size_t n = (size_t) fit->n_parameters;
    double *l = fit->chol;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = fit->normal[i * n + j] * (i == j ? 1 + damping : 1);

            for (size_t k = 0; k < j; k++)
                sum -= l[i * n + k] * l[j * n + k];
            if (i == j && !(sum > 0))
                return false;
            l[i * n + j] = i == j ? sqrt (sum) : sum / l[j * n + j];
        }
    return true;
}

static void solve (const struct dn_site_fit *fit, double *x)
{
    size_t n = (size_t) fit->n_parameters;
    const double *l = fit->chol;

    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            x[i] -= l[i * n + k] * x[k];
        x[i] /= l[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++)
            x[i] -= l[k * n + i] * x[k];
        x[i] /= l[i * n + i];
    }
}

static void move (struct dn_site_fit *fit, double sign)
{
    for (int i = 0; i < fit->n_parameters; i++)
        fit->parameters[i].value += sign * fit->step[i];
}

/* One damped step; false, and nothing moved, if it does not lead down. */
static bool descend_once (struct dn_site_fit *fit, double damping, double *best)
{
    double found;

    set_normal (fit);
    if (!factor (fit, damping))
        return false;
    solve (fit, fit->step);
    move (fit, 1);
    look (fit, false);
    found = objective (fit);
    if (found < *best) {
        *best = found;
        look (fit, true);
        return true;
    }
    move (fit, -1);
    look (fit, false);
    return false;
}

/* Levenberg and Marquardt, at one level of noise. */
static void descend (struct dn_site_fit *fit)
{
    const int turns = 40;
    double damping = 1e-3;
    double best;

    look (fit, true);
    best = objective (fit);
    for (int turn = 0; turn < turns && damping < 1e6; turn++) {
        double before = best;

        if (!descend_once (fit, damping, &best)) {
            damping *= 6;
            continue;
        }
        damping = fmax (damping / 5, 1e-6);
        if (before - best < 1e-3)
            break;
    }
}

/* Curvature where the descent has ended, and from it how sure each parameter is. */
static bool find_variances (struct dn_site_fit *fit)
{
    size_t n = (size_t) fit->n_parameters;

    set_normal (fit);
    if (!factor (fit, 0))
        return false;
    for (size_t i = 0; i < n; i++) {
        memset (fit->step, 0, n * sizeof (*fit->step));
        fit->step[i] = 1;
        solve (fit, fit->step);
        fit->parameters[i].variance = fit->step[i];
    }
    return true;
}

/* The spread of an effect that its labels show, with the prior's. */
static double find_spread (const struct dn_site_fit *fit, int effect)
{
    double n = fit->prior.n_effect;
    double prior = fit->prior.kernel.effects[effect];
    double sum = n * prior * prior;

    for (int i = fit->n_constants; i < fit->n_parameters; i++) {
        const struct parameter *parameter = &fit->parameters[i];

        if (parameter->effect != effect)
            continue;
        sum += parameter->value * parameter->value + parameter->variance;
        n++;
    }
    return sqrt (sum / n);
}

static void update_spreads (struct dn_site_fit *fit)
{
    for (int effect = 0; effect < DN_N_EFFECTS; effect++) {
        double spread = find_spread (fit, effect);

        for (int i = fit->n_constants; i < fit->n_parameters; i++)
            if (fit->parameters[i].effect == effect)
                fit->parameters[i].spread = spread;
    }
}

/* The runs as the kernel sees them, by the constants that ship. */
static int find_traces (struct dn_site_fit *fit, struct dn_err *err)
{
    size_t n = (size_t) fit->n_runs + 1;

    fit->traces = calloc (n, sizeof (*fit->traces));
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers are meant */
    fit->known = calloc (n, sizeof (*fit->known));
    if (!fit->traces || !fit->known)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (int i = 0; i < fit->n_runs; i++) {
        const struct dn_site_run *run = &fit->runs[i];
        const struct dn_case c = case_of (&fit->base, run);
        struct dn_estimate estimate;
        float features[DN_N_FEATURES];

        if (run->step_s <= 0)
            continue;
        dn_whitebox (&c, &estimate);
        dn_features (&c, &estimate, features);
        dn_trace_name (&run->spec, run->device, &fit->traces[i]);
        dn_trace_place (&fit->prior.kernel, features, &fit->traces[i]);
        fit->known[i] = &fit->traces[i];
    }
    return dn_anchors_choose (
        &fit->prior.kernel, fit->known, fit->n_runs, &fit->anchors, err);
}

static int begin_solution (struct dn_site_fit *fit, struct dn_err *err)
{
    size_t n;

    free_solution (fit);
    fit->parameters = calloc (PARAMETERS_MAX, sizeof (*fit->parameters));
    fit->terms = calloc ((size_t) fit->n_runs + 1, sizeof (*fit->terms));
    if (!fit->parameters || !fit->terms)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    if (find_traces (fit, err) < 0)
        return -1;
    add_constants (fit);
    for (int i = 0; i < fit->n_runs; i++) {
        if (fit->runs[i].step_s <= 0)
            continue;
        fit->terms[i].n = fit->n_constants;
        for (int t = 0; t < fit->n_constants; t++)
            fit->terms[i].at[t] = t;
    }
    add_anchors (fit);
    for (int effect = 0; effect < DN_N_EFFECTS; effect++)
        if (fit->prior.kernel.effects[effect] > 0)
            add_scales (fit, effect);
    n = (size_t) fit->n_parameters;
    fit->normal = calloc (n * n + 1, sizeof (*fit->normal));
    fit->chol = calloc (n * n + 1, sizeof (*fit->chol));
    fit->step = calloc (n + 1, sizeof (*fit->step));
    if (!fit->normal || !fit->chol || !fit->step)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    return 0;
}

/* Variance of a run's logarithm by those parameters that 'take' is true of. */
static double variance_by (struct dn_site_fit *fit,
                           const struct terms *terms,
                           bool (*take) (const struct dn_site_fit *fit, int parameter))
{
    double variance = 0;

    memset (fit->step, 0, (size_t) fit->n_parameters * sizeof (*fit->step));
    for (int t = 0; t < terms->n; t++)
        if (take (fit, terms->at[t]))
            fit->step[terms->at[t]] = terms->slope[t];
    solve (fit, fit->step);
    for (int t = 0; t < terms->n; t++)
        if (take (fit, terms->at[t]))
            variance += terms->slope[t] * fit->step[terms->at[t]];
    return variance;
}

static bool is_constant (const struct dn_site_fit *fit, int parameter)
{
    return parameter < fit->n_constants;
}

static bool is_shared (const struct dn_site_fit *fit, int parameter)
{
    return is_constant (fit, parameter)
           || fit->parameters[parameter].effect == DN_EFFECT_SITE;
}

static bool is_any (const struct dn_site_fit *fit, int parameter)
{
    (void) fit;
    (void) parameter;
    return true;
}

/* Mean variance of the runs' logarithms by some of the parameters. */
static double mean_variance (struct dn_site_fit *fit,
                             bool (*take) (const struct dn_site_fit *fit,
                                           int parameter))
{
    double sum = 0;
    int n = 0;

    for (int i = 0; i < fit->n_runs; i++)
        if (fit->terms[i].n > 0) {
            sum += variance_by (fit, &fit->terms[i], take);
            n++;
        }
    return n > 0 ? sum / n : 0;
}

/* How far off a prediction is in units of the spread that is stated: the site's runs,
 * each left out, count as n, what was found on other sites as n_level. A run is left
 * out by its share in its own prediction; one that lies far out counts as three
 * spreads.
 */
static double find_level (struct dn_site_fit *fit)
{
    const double far = 9;
    double n = fit->prior.n_level;
    double sum = n;

    for (int i = 0; i < fit->n_runs; i++) {
        const struct terms *terms = &fit->terms[i];
        double noise = noise_of (fit, terms);
        double variance;
        double others;
        double error;

        if (terms->n == 0)
            continue;
        variance = variance_by (fit, terms, is_any);
        others = 1 - fmin (variance * weight_of (fit, terms), 0.999);
        error = terms->error / others;
        sum += fmin (error * error / (variance / others + noise), far);
        n++;
    }
    return sqrt (sum / n);
}

static struct dn_history *find_history (struct dn_site_fit *fit, struct dn_err *err)
{
    size_t n = (size_t) fit->n_runs + 1;
    dn_cleanup (dn_free_ptr) double *noise = calloc (n, sizeof (*noise));
    double values[DN_ANCHORS_MAX] = {0};
    struct dn_kernel kernel = fit->prior.kernel;
    struct dn_history *history;

    if (!noise) {
        dn_err_set (err, DN_E_NOMEM, "out of memory");
        return NULL;
    }
    for (int i = 0; i < fit->n_runs; i++)
        if (fit->terms[i].n > 0)
            noise[i] = fmax (1 / weight_of (fit, &fit->terms[i]) - fit->terms[i].rest,
                             kernel.noise * kernel.noise / 2);
    for (int k = 0; k < fit->anchors.n; k++)
        values[k] = fit->parameters[fit->n_constants + k].value;
    for (int effect = 0; effect < DN_N_EFFECTS; effect++)
        kernel.effects[effect] = find_spread (fit, effect);
    history = dn_history_make (
        &kernel, fit->known, fit->n_runs, &fit->anchors, values, noise, err);
    if (!history)
        return NULL;
    history->constants = sqrt (fmax (mean_variance (fit, is_constant), 0));
    history->level = find_level (fit);
    history->seen = fit->prior.seen;
    history->unseen = fit->prior.unseen;
    return history;
}

/* Mean square of the doublings of GPUs, over the runs. */
static double mean_doublings (const struct dn_site_fit *fit)
{
    double sum = 0;

    for (int i = 0; i < fit->n_runs; i++) {
        double doublings = log2 ((double) fit->runs[i].spec.gpus);

        sum += doublings * doublings;
    }
    return sum / fit->n_runs;
}

static void write_spread (struct dn_site_fit *fit, struct dn_tuning *tuning)
{
    double spread[DN_N_EFFECTS];
    const struct dn_kernel *kernel = &fit->prior.kernel;
    double variance = kernel->noise * kernel->noise + mean_variance (fit, is_shared);

    for (int effect = 0; effect < DN_N_EFFECTS; effect++)
        spread[effect] = find_spread (fit, effect);
    tuning->cell = sqrt (variance);
    for (int effect = DN_EFFECT_PRECISION; effect <= DN_EFFECT_CELL; effect++)
        variance += spread[effect] * spread[effect];
    tuning->known = sqrt (variance);
    variance += spread[DN_EFFECT_APPLICATION] * spread[DN_EFFECT_APPLICATION];
    variance += spread[DN_EFFECT_APPLICATION_GPUS] * spread[DN_EFFECT_APPLICATION_GPUS]
                * mean_doublings (fit);
    tuning->device = sqrt (variance);
    variance += spread[DN_EFFECT_DEVICE] * spread[DN_EFFECT_DEVICE]
                + kernel->smooth * kernel->smooth;
    tuning->none = sqrt (variance);
}

static int write_scale (const struct parameter *parameter,
                        struct dn_tuning *tuning,
                        struct dn_err *err)
{
    struct dn_scale scale = {.scale = exp (parameter->value),
                             .doubling = 1,
                             .sigma = sqrt (parameter->variance),
                             .runs = parameter->runs};

    if (parameter->effect == DN_EFFECT_SITE) {
        tuning->step = scale;
        return 0;
    }
    snprintf (scale.name, sizeof (scale.name), "%s", parameter->label);
    if (parameter->effect == DN_EFFECT_DEVICE)
        return dn_scales_add (&tuning->devices, &scale, err);
    if (parameter->effect == DN_EFFECT_APPLICATION && scale.name[0] != '\0')
        return dn_scales_add (&tuning->applications, &scale, err);
    if (parameter->effect >= DN_EFFECT_PRECISION)
        return dn_scales_add (&tuning->cells, &scale, err);
    return 0;
}

/* What an application's time does per doubling of its GPUs stands with its scale. */
static void write_doublings (const struct dn_site_fit *fit, struct dn_tuning *tuning)
{
    for (int i = fit->n_constants; i < fit->n_parameters; i++) {
        const struct parameter *parameter = &fit->parameters[i];

        if (parameter->effect != DN_EFFECT_APPLICATION_GPUS)
            continue;
        for (int k = 0; k < tuning->applications.n_rows; k++)
            if (strcmp (tuning->applications.rows[k].name, parameter->label) == 0)
                tuning->applications.rows[k].doubling = exp (parameter->value);
    }
}

/* A constant that has hardly moved and is hardly better known stays the shipped one. */
static bool is_learned (const struct parameter *parameter)
{
    return fabs (parameter->value) > 0.01
           || parameter->variance < 0.9 * parameter->spread * parameter->spread;
}

static int write_tuning (struct dn_site_fit *fit,
                         struct dn_tuning *tuning,
                         struct dn_err *err)
{
    struct dn_constants constants = site_constants (fit);

    tuning->runs = fit->n_seen;
    tuning->constants = fit->base;
    for (int i = 0; i < fit->n_constants; i++) {
        const struct parameter *parameter = &fit->parameters[i];
        int field = parameter->field;

        if (!is_learned (parameter))
            continue;
        tuning->tuned[field].set = true;
        tuning->tuned[field].shipped = dn_constant_get (&fit->base, field);
        tuning->tuned[field].sigma = sqrt (parameter->variance);
        dn_constant_set (
            &tuning->constants, field, dn_constant_get (&constants, field));
    }
    for (int i = fit->n_constants; i < fit->n_parameters; i++)
        if (write_scale (&fit->parameters[i], tuning, err) < 0)
            return -1;
    write_doublings (fit, tuning);
    if (fit->anchors.n == 0)
        return 0;
    write_spread (fit, tuning);
    tuning->history = find_history (fit, err);
    return tuning->history ? 0 : -1;
}

/* Memory and power: one scale, most probable under Student's t. */
struct evidence {
    double *errors;
    int n;
};

static struct dn_scale find_scale (const struct evidence *evidence, double spread)
{
    const double noise = 0.2;
    const int turns = 20;
    double value = 0;
    double weights = 0;

    for (int turn = 0; turn < turns; turn++) {
        double sum = 0;

        weights = 1 / (spread * spread);
        for (int i = 0; i < evidence->n; i++) {
            double error = (evidence->errors[i] - value) / noise;
            double weight = (STUDENT + 1) / (STUDENT + error * error) / (noise * noise);

            /* Runs of one site are alike: four count as two. */
            weight /= sqrt (evidence->n);
            weights += weight;
            sum += weight * evidence->errors[i];
        }
        value = sum / weights;
    }
    return (struct dn_scale){.scale = exp (value),
                             .doubling = 1,
                             .sigma = sqrt (1 / weights),
                             .runs = evidence->n};
}

static int find_resources (struct dn_site_fit *fit,
                           struct dn_tuning *tuning,
                           struct dn_err *err)
{
    size_t n = (size_t) fit->n_runs + 1;
    struct evidence memory = {calloc (n, sizeof (double)), 0};
    struct evidence power = {calloc (n, sizeof (double)), 0};
    bool ready = memory.errors && power.errors;

    for (int i = 0; ready && i < fit->n_runs; i++) {
        const struct dn_site_run *run = &fit->runs[i];
        const struct dn_case c = case_of (&tuning->constants, run);
        struct dn_estimate estimate;

        dn_whitebox (&c, &estimate);
        if (run->gpu_mem > 0)
            memory.errors[memory.n++] =
                log (run->gpu_mem / estimate.gpu_mem.p50) - run->memory_residual;
        if (run->power_w > 0)
            power.errors[power.n++] =
                log (run->power_w / estimate.power_w) - run->power_residual;
    }
    if (ready && memory.n > 0)
        tuning->memory = find_scale (&memory, fit->prior.memory);
    if (ready && power.n > 0)
        tuning->power = find_scale (&power, fit->prior.power);
    free (memory.errors);
    free (power.errors);
    return ready ? 0 : dn_err_set (err, DN_E_NOMEM, "out of memory");
}

static int find_solution (struct dn_site_fit *fit, struct dn_err *err)
{
    const int turns = 3;

    if (begin_solution (fit, err) < 0)
        return -1;
    for (int turn = 0; turn < turns; turn++) {
        descend (fit);
        if (!find_variances (fit))
            return dn_err_set (err, DN_E_BUG, "the fit has no curvature");
        if (turn < turns - 1)
            update_spreads (fit);
    }
    return 0;
}

struct dn_tuning *dn_site_fit_solve (struct dn_site_fit *fit, struct dn_err *err)
{
    struct dn_tuning *tuning = dn_tuning_new ();

    if (!tuning) {
        dn_err_set (err, DN_E_NOMEM, "out of memory");
        return NULL;
    }
    if (find_solution (fit, err) == 0 && write_tuning (fit, tuning, err) == 0
        && find_resources (fit, tuning, err) == 0)
        return tuning;
    dn_tuning_free (tuning);
    return NULL;
}
