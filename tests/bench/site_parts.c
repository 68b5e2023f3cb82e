/* site_parts.c - what the errors of one site's runs have in common, part by part
 *
 * The parameters are those under which the errors of samples of runs are most probable,
 * found by coordinate descent in their logarithms. Each is drawn to where it starts by
 * a normal law of width 1, which decides where the runs tell nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "site_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cholesky.h"

#define ERROR_MAX 1.0  /* what is further off is no error of the model's form */
#define JITTER    1e-6 /* on diagonals */
#define STUDENT   2.5  /* degrees of freedom: far runs count less */
#define SHARED    0.25 /* of the smooth part: what applications have in common */

/* Axes that have one length; a group's distance is the mean over it. */
static const struct group {
    double start;
    int n;
    enum dn_feature features[10];
} groups[N_LENGTHS] = {
    {2, 2, {DN_FEATURE_BATCH, DN_FEATURE_ACCUMULATION}},
    {2, 2, {DN_FEATURE_GPUS, DN_FEATURE_NODES}},
    {2, 1, {DN_FEATURE_SAMPLE_FLOPS}},
    {2, 0, {0}}, /* another device */
    {2, 0, {0}}, /* another precision */
    {1,
     4,
     {DN_FEATURE_DEVICE_SHARE,
      DN_FEATURE_HOST_SHARE,
      DN_FEATURE_INPUT_SHARE,
      DN_FEATURE_COMMUNICATION_SHARE}},
    /* End of the history's */
    {0.6,
     10,
     {DN_FEATURE_CONV_FLOPS,
      DN_FEATURE_POINTWISE_FLOPS,
      DN_FEATURE_GROUPED_FLOPS,
      DN_FEATURE_LINEAR_FLOPS,
      DN_FEATURE_MATMUL_FLOPS,
      DN_FEATURE_RECURRENT_FLOPS,
      DN_FEATURE_NORM_TRAFFIC,
      DN_FEATURE_POINT_TRAFFIC,
      DN_FEATURE_SOFTMAX_TRAFFIC,
      DN_FEATURE_EMBEDDING_PARAMS}},
    {2, 3, {DN_FEATURE_SAMPLE_FLOPS, DN_FEATURE_PARAMS, DN_FEATURE_KERNELS}},
    {2, 3, {DN_FEATURE_BATCH, DN_FEATURE_ACCUMULATION, DN_FEATURE_KERNEL_TRAFFIC}},
    {2,
     4,
     {DN_FEATURE_GPUS,
      DN_FEATURE_NODES,
      DN_FEATURE_TENSOR_PARALLEL,
      DN_FEATURE_PIPELINE_PARALLEL}},
    {0.6, 2, {DN_FEATURE_COMMUNICATION_SHARE, DN_FEATURE_EXPOSED_SHARE}},
    {2,
     4,
     {DN_FEATURE_PEAK, DN_FEATURE_BANDWIDTH, DN_FEATURE_MEMORY, DN_FEATURE_GENERATION}},
    {0.6, 3, {DN_FEATURE_DEVICE_SHARE, DN_FEATURE_HOST_SHARE, DN_FEATURE_INPUT_SHARE}},
    {2, 1, {DN_FEATURE_KERNEL_RATE}},
    {2, 3, {DN_FEATURE_ELEMENT_BYTES, DN_FEATURE_MATRIX_UNITS, DN_FEATURE_TF32}},
};

#define AT_OTHER_DEVICE    3
#define AT_OTHER_PRECISION 4
#define AT_SHARES          5

/* What two runs have in common: squares of distances, factors of the linear parts. */
struct bench_pair {
    float square[N_LENGTHS];
    float linear[N_LINEAR_PARTS];
};

static void *room (size_t n, size_t size)
{
    void *place = calloc (n + 1, size);

    if (!place)
        bench_die ("site parts", "out of memory");
    return place;
}

void bench_point_set (const struct bench_run *run,
                      const struct dn_constants *constants,
                      struct bench_point *point)
{
    const double stride = 0.02;
    const struct dn_case c = {constants, &run->spec, &run->graph, run->device, 0};
    struct dn_estimate e;
    double error;

    dn_whitebox (&c, &e);
    dn_features (&c, &e, point->features);
    error = log (run->step_s / e.step_s.p50);
    point->run = run;
    point->error = fmin (fmax (error, -ERROR_MAX), ERROR_MAX);
    point->doubt =
        e.step_s.sigma * e.step_s.sigma - constants->sigma_step * constants->sigma_step;
    point->doublings = log2 (fmax ((double) run->spec.gpus, 1));
    for (int i = 0; i < DN_CONSTANT_FIELDS; i++) {
        double spread = dn_constant_fields[i].spread;
        struct dn_constants moved = *constants;

        if (spread > 0) {
            dn_constant_set (&moved, i, dn_constant_get (constants, i) * exp (stride));
            point->slopes[i] = (float) (log (bench_predict (&moved, run) / e.step_s.p50)
                                        / stride * spread);
        }
    }
}

static bool same_group (const struct bench_point *a, const struct bench_point *b)
{
    return strcmp (a->run->model, b->run->model) == 0;
}

static void set_linear (const struct bench_point *a,
                        const struct bench_point *b,
                        float linear[N_LINEAR_PARTS])
{
    float application = same_group (a, b);
    float device = a->run->device == b->run->device;
    float precision = a->run->spec.precision == b->run->spec.precision;
    double constants = 0;

    for (int i = 0; i < DN_CONSTANT_FIELDS; i++)
        constants += (double) (a->slopes[i] * b->slopes[i]);
    linear[PART_SITE] = 1;
    linear[PART_DEVICE] = device;
    linear[PART_APPLICATION] = application;
    linear[PART_APPLICATION_GPUS] = application * (float) (a->doublings * b->doublings);
    linear[PART_PRECISION] = precision;
    linear[PART_APPLICATION_DEVICE] = application * device;
    linear[PART_APPLICATION_PRECISION] = application * precision;
    linear[PART_CELL] = application * device * precision;
    linear[PART_CONSTANTS] = (float) constants;
}

static struct bench_pair pair_of (const struct bench_point *a,
                                  const struct bench_point *b)
{
    struct bench_pair pair;

    set_linear (a, b, pair.linear);
    for (int g = 0; g < N_LENGTHS; g++) {
        double sum = 0;

        for (int k = 0; k < groups[g].n; k++) {
            enum dn_feature feature = groups[g].features[k];
            double apart = (double) (a->features[feature] - b->features[feature]);

            /* Bytes per element are 2 or 4, the others of its group 0 or 1. */
            apart /= feature == DN_FEATURE_ELEMENT_BYTES ? 2 : 1;
            sum += apart * apart;
        }
        pair.square[g] = (float) (sum / fmax (groups[g].n, 1));
    }
    pair.square[AT_OTHER_DEVICE] = a->run->device != b->run->device;
    pair.square[AT_OTHER_PRECISION] = a->run->spec.precision != b->run->spec.precision;
    return pair;
}

/* The parameters as they are used: variances, and one over squares of lengths. */
struct kernel {
    double variance[N_PARTS];
    double noise;
    double rate[N_LENGTHS];
};

static struct kernel kernel_of (const struct bench_way *way)
{
    struct kernel kernel;

    for (int i = 0; i < N_PARTS; i++)
        kernel.variance[i] = way->parts & 1U << i ? exp (2 * way->parameters[i]) : 0;
    kernel.noise = exp (2 * way->parameters[AT_NOISE]);
    for (int g = 0; g < N_LENGTHS; g++)
        kernel.rate[g] = exp (-2 * way->parameters[AT_LENGTHS + g]);
    return kernel;
}

/* exp (-distance) over some of the groups. */
static double closeness (const struct kernel *kernel,
                         const struct bench_pair *pair,
                         int from,
                         int to)
{
    double apart = 0;

    for (int g = from; g < to; g++)
        apart += (double) pair->square[g] * kernel->rate[g];
    return exp (-sqrt (apart));
}

static double covariance (const struct kernel *kernel, const struct bench_pair *pair)
{
    bool application = pair->linear[PART_APPLICATION] > 0;
    double sum = 0;

    for (int i = 0; i < N_LINEAR_PARTS; i++)
        sum += kernel->variance[i] * (double) pair->linear[i];
    if (kernel->variance[PART_HISTORY] > 0 && application)
        sum += kernel->variance[PART_HISTORY]
               * closeness (kernel, pair, 0, N_HISTORY_LENGTHS);
    if (kernel->variance[PART_SMOOTH] > 0)
        sum += kernel->variance[PART_SMOOTH] * (application ? 1 : SHARED)
               * closeness (kernel, pair, N_HISTORY_LENGTHS, N_LENGTHS);
    return sum;
}

struct dn_likeness bench_likeness (const struct bench_way *way)
{
    static const int group_of[DN_N_AXES] = {[DN_AXIS_BATCH] = 0,
                                            [DN_AXIS_ACCUMULATION] = 0,
                                            [DN_AXIS_GPUS] = 1,
                                            [DN_AXIS_NODES] = 1,
                                            [DN_AXIS_SAMPLE_FLOPS] = 2,
                                            [DN_AXIS_DEVICE_SHARE] = AT_SHARES,
                                            [DN_AXIS_HOST_SHARE] = AT_SHARES,
                                            [DN_AXIS_INPUT_SHARE] = AT_SHARES,
                                            [DN_AXIS_COMMUNICATION_SHARE] = AT_SHARES,
                                            [DN_AXIS_DEVICE] = AT_OTHER_DEVICE,
                                            [DN_AXIS_PRECISION] = AT_OTHER_PRECISION};
    struct dn_likeness likeness = {.spread = exp (way->parameters[PART_HISTORY]),
                                   .noise = exp (way->parameters[AT_NOISE])};

    for (int i = 0; i < DN_N_AXES; i++)
        likeness.lengths[i] = exp (way->parameters[AT_LENGTHS + group_of[i]])
                              * sqrt (fmax (groups[group_of[i]].n, 1));
    return likeness;
}

/* --- the parameters --------------------------------------------------------------- */

void bench_sample_set (struct bench_sample *sample)
{
    struct bench_pair *pair =
        room ((size_t) (sample->n * (sample->n + 1) / 2), sizeof (*pair));

    sample->pairs = pair;
    for (int i = 0; i < sample->n; i++)
        for (int j = 0; j <= i; j++)
            *pair++ = pair_of (sample->points[i], sample->points[j]);
}

static void set_covariance (const struct bench_sample *sample,
                            const struct kernel *kernel,
                            double *m)
{
    int n = sample->n * (sample->n + 1) / 2;

    for (int i = 0; i < n; i++)
        m[i] = covariance (kernel, &sample->pairs[i]);
    for (int i = 0; i < sample->n; i++)
        m[i * (i + 3) / 2] += kernel->noise + JITTER;
}

static double start_of (int parameter)
{
    if (parameter >= AT_LENGTHS)
        return log (groups[parameter - AT_LENGTHS].start);
    if (parameter == PART_CONSTANTS)
        return 0;
    if (parameter == PART_SMOOTH || parameter == PART_HISTORY)
        return log (0.3);
    return log (parameter == AT_NOISE ? 0.1 : 0.15);
}

/* Spreads of constants are those of dn_constant_fields. */
static bool is_fitted (unsigned parts, int parameter)
{
    if (parameter == PART_CONSTANTS)
        return false;
    if (parameter < N_PARTS)
        return parts & 1U << parameter;
    if (parameter == AT_NOISE)
        return true;
    return parts
           & (parameter < AT_LENGTHS + N_HISTORY_LENGTHS ? WITH (HISTORY)
                                                         : WITH (SMOOTH));
}

struct evidence {
    const struct bench_sample *samples;
    int n;
    const char *without;
};

/* Minus the logarithm of the posterior; the samples of one source count as one. */
static double loss (const struct evidence *evidence, const struct bench_way *way)
{
    struct kernel kernel = kernel_of (way);
    double sum = 0;

    for (int s = 0; s < evidence->n; s++) {
        const struct bench_sample *sample = &evidence->samples[s];
        double m[SAMPLE_RUNS * (SAMPLE_RUNS + 1) / 2];
        double x[SAMPLE_RUNS];

        if (strcmp (sample->family, evidence->without) == 0)
            continue;
        for (int i = 0; i < sample->n; i++)
            x[i] = sample->points[i]->error;
        set_covariance (sample, &kernel, m);
        if (!dn_cholesky (m, sample->n))
            return INFINITY;
        dn_cholesky_lower (m, x, sample->n);
        for (int i = 0; i < sample->n; i++)
            sum += x[i] * x[i] / 2 + log (m[i * (i + 3) / 2]);
    }
    sum /= SAMPLES_OF_A_SOURCE;
    for (int i = 0; i < N_PARAMETERS; i++) {
        double apart = way->parameters[i] - start_of (i);

        sum += apart * apart / 2;
    }
    return sum;
}

static void descend (const struct evidence *evidence, struct bench_way *way)
{
    const int sweeps = 12;
    double *parameters = way->parameters;
    double stride[N_PARAMETERS];
    double best = loss (evidence, way);

    for (int i = 0; i < N_PARAMETERS; i++)
        stride[i] = 0.3;
    for (int turn = 0; turn < sweeps * N_PARAMETERS; turn++) {
        int i = turn % N_PARAMETERS;
        double before = parameters[i];
        bool better = false;

        for (int sign = 1; sign >= -1 && !better && is_fitted (way->parts, i);
             sign -= 2) {
            double found;

            parameters[i] = before + sign * stride[i];
            found = loss (evidence, way);
            better = found < best - 1e-7;
            best = better ? found : best;
        }
        if (!better)
            parameters[i] = before;
        stride[i] *= better ? 1.5 : 1.0 / 3;
    }
}

/* --- learning --------------------------------------------------------------------- */

struct bench_learned {
    struct kernel kernel;
    int n;
    const struct bench_point **points;
    double *factor;
    double *weights;
    double level;
};

/* How far off the runs are in units of the spread that is stated of them when they are
 * left out; n_level runs say 1 (learn/site_solve.c).
 */
static double level_of (const struct bench_learned *learned, const double *noise)
{
    const double n_level = 20;
    const double far = 9;
    double sum = n_level;
    double *x = room ((size_t) learned->n, sizeof (*x));

    for (int i = 0; i < learned->n; i++) {
        double variance = 0;
        double error;

        memset (x, 0, (size_t) learned->n * sizeof (*x));
        x[i] = 1;
        dn_cholesky_lower (learned->factor, x, learned->n);
        for (int k = i; k < learned->n; k++)
            variance += x[k] * x[k];
        variance = 1 / variance;
        error = learned->weights[i] * variance;
        variance = fmax (variance - noise[i], 0) + learned->kernel.noise;
        sum += fmin (error * error / variance, far);
    }
    free (x);
    return sqrt (sum / (n_level + learned->n));
}

/* Solve for the weights of the runs at these variances of noise. */
static void solve (struct bench_learned *learned,
                   const double *all,
                   const double *noise)
{
    int n = learned->n;

    memcpy (learned->factor, all, (size_t) (n * (n + 1) / 2) * sizeof (*all));
    for (int i = 0; i < n; i++) {
        learned->factor[i * (i + 3) / 2] += noise[i] + JITTER;
        learned->weights[i] = learned->points[i]->error;
    }
    if (!dn_cholesky (learned->factor, n))
        bench_die ("site parts", "the runs have no covariance");
    dn_cholesky_lower (learned->factor, learned->weights, n);
    dn_cholesky_upper (learned->factor, learned->weights, n);
}

struct bench_learned *bench_learn (const struct bench_way *way,
                                   const struct bench_point *const *points,
                                   int n)
{
    const int turns = 4;
    struct bench_learned *learned = room (1, sizeof (*learned));
    size_t size = (size_t) (n * (n + 1) / 2);
    double *all = room (size, sizeof (*all));
    double *noise = room ((size_t) n, sizeof (*noise));
    double *at = all;

    learned->kernel = kernel_of (way);
    learned->n = n;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers are meant */
    learned->points = room ((size_t) n, sizeof (*points));
    learned->factor = room (size, sizeof (double));
    learned->weights = room ((size_t) n, sizeof (double));
    for (int i = 0; i < n; i++) {
        learned->points[i] = points[i];
        noise[i] = learned->kernel.noise;
        for (int j = 0; j <= i; j++) {
            struct bench_pair pair = pair_of (points[i], points[j]);

            *at++ = covariance (&learned->kernel, &pair);
        }
    }
    for (int turn = 0; turn < turns; turn++) {
        for (int i = 0; turn > 0 && i < n; i++) {
            double left = noise[i] * learned->weights[i];

            noise[i] = learned->kernel.noise
                       * (STUDENT + left * left / learned->kernel.noise)
                       / (STUDENT + 1);
        }
        solve (learned, all, noise);
    }
    learned->level = level_of (learned, noise);
    free (all);
    free (noise);
    return learned;
}

double bench_level (const struct bench_learned *learned)
{
    return learned->level;
}

void bench_learned_free (struct bench_learned *learned)
{
    free (learned->points);
    free (learned->factor);
    free (learned->weights);
    free (learned);
}

double bench_expect (const struct bench_learned *learned,
                     const struct bench_point *point,
                     double *spread)
{
    struct bench_pair self = pair_of (point, point);
    double *x = room ((size_t) learned->n, sizeof (*x));
    double variance = covariance (&learned->kernel, &self);
    double mean = 0;

    for (int i = 0; i < learned->n; i++) {
        struct bench_pair pair = pair_of (learned->points[i], point);

        x[i] = covariance (&learned->kernel, &pair);
        mean += learned->weights[i] * x[i];
    }
    dn_cholesky_lower (learned->factor, x, learned->n);
    for (int i = 0; i < learned->n; i++)
        variance -= x[i] * x[i];
    *spread = learned->level * sqrt (fmax (variance, 0) + learned->kernel.noise);
    free (x);
    return mean;
}

/* --- the law of errors ------------------------------------------------------------ */

/* Errors of the sample in units of the stated spread, when each run is left out or with
 * 'application' all of its application is. Return how many there are.
 */
static int add_scores (const struct bench_sample *sample,
                       const struct bench_way *way,
                       bool application,
                       double *scores)
{
    int n_scores = 0;

    for (int at = 0; at < sample->n; at++) {
        const struct bench_point *kept[SAMPLE_RUNS];
        struct bench_learned *learned;
        double spread;
        double mean;
        int n = 0;

        for (int i = 0; i < sample->n; i++)
            if (i != at
                && !(application && same_group (sample->points[i], sample->points[at])))
                kept[n++] = sample->points[i];
        if (n == 0)
            continue;
        learned = bench_learn (way, kept, n);
        mean = bench_expect (learned, sample->points[at], &spread);
        scores[n_scores++] = (sample->points[at]->error - mean) / spread;
        bench_learned_free (learned);
    }
    return n_scores;
}

/* The quantiles of scores, never less than the normal law's. */
static void find_law (const struct evidence *evidence,
                      const struct bench_way *way,
                      bool application,
                      struct dn_quantiles *law)
{
    static const double levels[] = {0.5, 0.8, 0.9, 0.95, 0.975, 0.99, 0.995};
    double *scores = room ((size_t) (evidence->n * SAMPLE_RUNS), sizeof (*scores));
    int n = 0;

    /* A quarter of the samples: each run takes a fit of its own. */
    for (int s = 0; s < evidence->n; s += 4)
        if (strcmp (evidence->samples[s].family, evidence->without) != 0)
            n += add_scores (&evidence->samples[s], way, application, scores + n);
    qsort (scores, (size_t) n, sizeof (*scores), bench_compare);
    law->n = (int) DN_N_ELEMENTS (levels);
    for (int i = 0; i < law->n; i++) {
        int at = (int) fmin (ceil (levels[i] * (n + 1)), n) - 1;

        law->scores[i] = law->values[i] =
            levels[i] > 0.5 ? dn_normal_score (levels[i]) : 0;
        if (levels[i] > 0.5 && n > 0)
            law->values[i] = fmax (law->values[i], scores[at]);
    }
    free (scores);
}

void bench_way_fit (const struct bench_sample *samples,
                    int n_samples,
                    const char *without,
                    struct bench_way *way)
{
    struct evidence evidence = {samples, n_samples, without};

    for (int i = 0; i < N_PARAMETERS; i++)
        way->parameters[i] = start_of (i);
    descend (&evidence, way);
    find_law (&evidence, way, false, &way->seen);
    find_law (&evidence, way, true, &way->unseen);
}
