/* site_prior.c - how alike runs of one site are, from sources that were each a site
 *
 * The most probable spreads and lengths of the kernel (predict/history.h): of every
 * source some samples of its runs are drawn, as many as a site may have at first, and
 * the likelihood of their errors is maximised, by coordinate descent in the logarithms.
 * A source's errors are those of constants that have not seen it. Every parameter is
 * drawn to where it starts by a normal law of width 1, which decides where the runs
 * tell nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "site_prior.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_RUNS 40
#define N_SAMPLES   12 /* of a source */
#define PAIRS       (SAMPLE_RUNS * (SAMPLE_RUNS + 1) / 2)
#define ERROR_MAX   1.0 /* what is further off is no error of the model's form */

/* Features that have one length; a group's distance is the mean over it. */
struct group {
    const char *name;
    double start;
    int n;
    enum dn_feature features[10];
};

static const struct group groups[] = {
    {"networks",
     0.6,
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
    {"sizes", 2, 3, {DN_FEATURE_SAMPLE_FLOPS, DN_FEATURE_PARAMS, DN_FEATURE_KERNELS}},
    {"batches",
     2,
     3,
     {DN_FEATURE_BATCH, DN_FEATURE_ACCUMULATION, DN_FEATURE_KERNEL_TRAFFIC}},
    {"parallelism",
     2,
     4,
     {DN_FEATURE_GPUS,
      DN_FEATURE_NODES,
      DN_FEATURE_TENSOR_PARALLEL,
      DN_FEATURE_PIPELINE_PARALLEL}},
    {"communication",
     0.6,
     2,
     {DN_FEATURE_COMMUNICATION_SHARE, DN_FEATURE_EXPOSED_SHARE}},
    {"devices",
     2,
     4,
     {DN_FEATURE_PEAK, DN_FEATURE_BANDWIDTH, DN_FEATURE_MEMORY, DN_FEATURE_GENERATION}},
    {"shares",
     0.6,
     3,
     {DN_FEATURE_DEVICE_SHARE, DN_FEATURE_HOST_SHARE, DN_FEATURE_INPUT_SHARE}},
    {"kernels", 2, 1, {DN_FEATURE_KERNEL_RATE}},
    {"precisions",
     2,
     3,
     {DN_FEATURE_ELEMENT_BYTES, DN_FEATURE_MATRIX_UNITS, DN_FEATURE_TF32}},
};

#define N_GROUPS ((int) DN_N_ELEMENTS (groups))

/* The parameters: effects, smooth, noise, lengths; logarithms. */
#define AT_SMOOTH    DN_N_EFFECTS
#define AT_NOISE     (DN_N_EFFECTS + 1)
#define AT_LENGTHS   (DN_N_EFFECTS + 2)
#define N_PARAMETERS (AT_LENGTHS + N_GROUPS)

/* Bytes per element are 2 or 4, the others of the group 0 or 1. */
static double unit_of (enum dn_feature feature)
{
    return feature == DN_FEATURE_ELEMENT_BYTES ? 2 : 1;
}

/* Some runs of one source, and what their pairs have in common. */
struct sample {
    int n;
    double error[SAMPLE_RUNS];
    const char *application[SAMPLE_RUNS];
    struct pair {
        float square[DN_N_ELEMENTS (groups)];
        float effect[DN_N_EFFECTS];
    } pairs[PAIRS]; /* lower triangle by rows */
};

struct samples {
    struct sample *samples;
    int n;
};

/* --- constants -------------------------------------------------------------------- */

int bench_fits_source (const struct bench_fits *fits, const char *source)
{
    for (int i = 0; i < fits->n_sources; i++)
        if (strcmp (fits->sources[i], source) == 0)
            return i;
    return -1;
}

void bench_fits_start (struct bench_fits *fits, struct bench_set *set, int sweeps)
{
    memset (fits, 0, sizeof (*fits));
    fits->set = set;
    fits->sweeps = sweeps;
    for (int i = 0; i < set->n_runs; i++) {
        if (bench_fits_source (fits, set->runs[i].source) >= 0)
            continue;
        if (fits->n_sources == BENCH_SOURCES_MAX)
            bench_die ("sources", "too many");
        fits->sources[fits->n_sources++] = set->runs[i].source;
    }
}

const struct dn_constants *bench_fits_without (struct bench_fits *fits, int a, int b)
{
    int low = a < b ? a : b;
    int high = a < b ? b : a;
    struct dn_constants *constants = &fits->fits[low][high];

    if (fits->done[low][high])
        return constants;
    for (int i = 0; i < fits->set->n_runs; i++) {
        struct bench_run *run = &fits->set->runs[i];

        run->left_out = strcmp (run->source, fits->sources[a]) == 0
                        || strcmp (run->source, fits->sources[b]) == 0;
    }
    *constants = dn_constants_default;
    bench_fit (fits->set, fits->sweeps, constants);
    fits->done[low][high] = true;
    return constants;
}

/* --- samples ---------------------------------------------------------------------- */

/* A run as it is compared. */
struct point {
    const struct bench_run *run;
    double error;
    float features[DN_N_FEATURES];
    char labels[DN_N_EFFECTS][DN_SCALE_NAME_MAX];
};

static void set_point (const struct bench_run *run,
                       const struct dn_constants *constants,
                       struct point *point)
{
    const struct dn_case c = {constants, &run->spec, &run->graph, run->device, 0};
    struct dn_estimate e;
    struct dn_trace trace;
    double error;

    dn_whitebox (&c, &e);
    dn_features (&c, &e, point->features);
    error = log (run->step_s / e.step_s.p50);
    point->run = run;
    point->error = fmin (fmax (error, -ERROR_MAX), ERROR_MAX);
    dn_trace_name (&run->spec, run->device, &trace);
    for (int i = 0; i < DN_N_EFFECTS; i++)
        dn_tuning_label ((enum dn_effect) i, &trace, point->labels[i]);
}

static void set_pair (const struct point *a, const struct point *b, struct pair *pair)
{
    for (int g = 0; g < N_GROUPS; g++) {
        double sum = 0;

        for (int k = 0; k < groups[g].n; k++) {
            enum dn_feature feature = groups[g].features[k];
            double apart = (double) (a->features[feature] - b->features[feature])
                           / unit_of (feature);

            sum += apart * apart;
        }
        pair->square[g] = (float) (sum / groups[g].n);
    }
    for (int i = 0; i < DN_N_EFFECTS; i++)
        pair->effect[i] = strcmp (a->labels[i], b->labels[i]) == 0;
    pair->effect[DN_EFFECT_APPLICATION_GPUS] *=
        (float) (log2 ((double) a->run->spec.gpus) * log2 ((double) b->run->spec.gpus));
}

static void draw_sample (struct point *points,
                         int n,
                         uint64_t *random,
                         struct sample *sample)
{
    struct pair *pair = sample->pairs;

    sample->n = n < SAMPLE_RUNS ? n : SAMPLE_RUNS;
    for (int i = 0; i < sample->n; i++) { /* Fisher and Yates */
        struct point chosen;
        int at;

        /* xorshift64 (Marsaglia 2003) */
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        at = i + (int) (*random % (uint64_t) (n - i));
        chosen = points[at];
        points[at] = points[i];
        points[i] = chosen;
        sample->error[i] = chosen.error;
        sample->application[i] = dn_tuning_application (&chosen.run->spec);
        for (int j = 0; j <= i; j++)
            set_pair (&points[i], &points[j], pair++);
    }
}

static struct samples draw_samples (struct bench_fits *fits, int left_out)
{
    const struct bench_set *set = fits->set;
    struct samples samples = {NULL, 0};
    struct point *points = calloc ((size_t) set->n_runs + 1, sizeof (*points));
    uint64_t random = 88172645463325252u;

    samples.samples =
        calloc ((size_t) fits->n_sources * N_SAMPLES, sizeof (*samples.samples));
    if (!points || !samples.samples)
        bench_die ("samples", "out of memory");
    for (int s = 0; s < fits->n_sources; s++) {
        const struct dn_constants *constants;
        int n = 0;

        if (s == left_out)
            continue;
        constants = bench_fits_without (fits, s, left_out < 0 ? s : left_out);
        for (int i = 0; i < set->n_runs; i++)
            if (strcmp (set->runs[i].source, fits->sources[s]) == 0)
                set_point (&set->runs[i], constants, &points[n++]);
        for (int k = 0; k < N_SAMPLES; k++)
            draw_sample (points, n, &random, &samples.samples[samples.n++]);
    }
    free (points);
    return samples;
}

/* --- likelihood ------------------------------------------------------------------- */

struct square {
    double a[SAMPLE_RUNS][SAMPLE_RUNS];
};

/* What is tried, and the share that applications have in common, which stays: the
 * likelihood of samples, in which most applications have several runs, says little of
 * it.
 */
struct trial {
    double parameters[N_PARAMETERS];
    double shared;
};

/* Covariance of the sample's runs, noise included; the lower triangle. */
static void set_covariance (const struct sample *sample,
                            const struct trial *trial,
                            struct square *m)
{
    const struct pair *pair = sample->pairs;
    double variances[N_PARAMETERS];

    for (int i = 0; i < N_PARAMETERS; i++)
        variances[i] = exp (2 * trial->parameters[i]);
    for (int i = 0; i < sample->n; i++)
        for (int j = 0; j <= i; j++, pair++) {
            double apart = 0;
            double sum = i == j ? variances[AT_NOISE] + 1e-6 : 0;

            for (int g = 0; g < N_GROUPS; g++)
                apart += (double) pair->square[g] / variances[AT_LENGTHS + g];
            for (int k = 0; k < DN_N_EFFECTS; k++)
                sum += variances[k] * (double) pair->effect[k];
            m->a[i][j] =
                sum
                + variances[AT_SMOOTH] * exp (-sqrt (apart))
                      * (pair->effect[DN_EFFECT_APPLICATION] > 0 ? 1 : trial->shared);
        }
}

/* Replace the lower triangle by its Cholesky factor. */
static void factor (struct square *m, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = m->a[i][j];

            for (int k = 0; k < j; k++)
                sum -= m->a[i][k] * m->a[j][k];
            m->a[i][j] = i == j ? sqrt (fmax (sum, 1e-12)) : sum / m->a[j][j];
        }
}

/* x becomes L^-1 x. */
static void solve_lower (const struct square *l, double *x, int n)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            x[i] -= l->a[i][k] * x[k];
        x[i] /= l->a[i][i];
    }
}

static double start_of (int parameter)
{
    if (parameter >= AT_LENGTHS)
        return log (groups[parameter - AT_LENGTHS].start);
    return log (parameter == AT_SMOOTH ? 0.3 : parameter == AT_NOISE ? 0.1 : 0.15);
}

/* Minus the logarithm of the posterior; a source counts as one sample. */
static double loss (const struct samples *samples, const struct trial *trial)
{
    double sum = 0;

    for (int s = 0; s < samples->n; s++) {
        const struct sample *sample = &samples->samples[s];
        struct square m;
        double x[SAMPLE_RUNS];

        memcpy (x, sample->error, sizeof (x));
        set_covariance (sample, trial, &m);
        factor (&m, sample->n);
        solve_lower (&m, x, sample->n);
        for (int i = 0; i < sample->n; i++)
            sum += (x[i] * x[i] / 2 + log (m.a[i][i])) / N_SAMPLES;
    }
    for (int i = 0; i < N_PARAMETERS; i++) {
        double apart = trial->parameters[i] - start_of (i);

        sum += apart * apart / 2;
    }
    return sum;
}

static void descend (const struct samples *samples, struct trial *trial)
{
    const int sweeps = 12;
    double *parameters = trial->parameters;
    double stride[N_PARAMETERS];
    double best = loss (samples, trial);

    for (int i = 0; i < N_PARAMETERS; i++)
        stride[i] = 0.3;
    for (int sweep = 0; sweep < sweeps; sweep++)
        for (int i = 0; i < N_PARAMETERS; i++) {
            double before = parameters[i];
            bool better = false;

            for (int sign = 1; sign >= -1 && !better; sign -= 2) {
                double found;

                parameters[i] = before + sign * stride[i];
                found = loss (samples, trial);
                better = found < best - 1e-7;
                best = better ? found : best;
            }
            if (!better)
                parameters[i] = before;
            stride[i] *= better ? 1.5 : 1.0 / 3;
        }
}

/* --- the law of errors ------------------------------------------------------------ */

static int compare (const void *a, const void *b)
{
    double x = *(const double *) a;
    double y = *(const double *) b;

    return (x > y) - (x < y);
}

/* Error of run 'at', and its spread, by the runs that stay: all others, or with
 * 'application' those of other applications. NaN where none stays.
 */
struct miss {
    double error;
    double sigma;
};

static struct miss leave_out (const struct sample *sample,
                              const struct square *covariance,
                              int at,
                              bool application)
{
    struct square m;
    int kept[SAMPLE_RUNS];
    double x[SAMPLE_RUNS];
    double v[SAMPLE_RUNS];
    double mean = 0;
    double variance = covariance->a[at][at];
    int n = 0;

    for (int i = 0; i < sample->n; i++)
        if (i != at
            && !(application
                 && strcmp (sample->application[i], sample->application[at]) == 0))
            kept[n++] = i;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++)
            m.a[i][j] = covariance->a[kept[i]][kept[j]];
        x[i] = sample->error[kept[i]];
        v[i] = kept[i] > at ? covariance->a[kept[i]][at] : covariance->a[at][kept[i]];
    }
    factor (&m, n);
    solve_lower (&m, x, n);
    solve_lower (&m, v, n);
    for (int i = 0; i < n; i++) {
        mean += v[i] * x[i];
        variance -= v[i] * v[i];
    }
    return (struct miss){n > 0 ? sample->error[at] - mean : NAN,
                         sqrt (fmax (variance, 1e-6))};
}

/* The factor that a site of these runs would put on its spreads (learn/site_fit.c). */
static double level_of (const struct sample *sample,
                        const struct square *covariance,
                        double n_level)
{
    const double far = 9;
    double sum = n_level;

    for (int i = 0; i < sample->n; i++) {
        struct miss miss = leave_out (sample, covariance, i, false);
        double score = miss.error / miss.sigma;

        sum += fmin (score * score, far);
    }
    return sqrt (sum / (n_level + sample->n));
}

/* Errors in units of the stated spread, when each run is left out or with 'application'
 * all of its application is. Return how many there are.
 */
static int list_scores (const struct samples *samples,
                        const struct trial *trial,
                        bool application,
                        double n_level,
                        double *scores)
{
    int n = 0;

    for (int s = 0; s < samples->n; s++) {
        const struct sample *sample = &samples->samples[s];
        struct square m;
        double level;

        set_covariance (sample, trial, &m);
        level = level_of (sample, &m, n_level);
        for (int i = 0; i < sample->n; i++) {
            struct miss miss = leave_out (sample, &m, i, application);

            if (!isnan (miss.error))
                scores[n++] = miss.error / miss.sigma / level;
        }
    }
    return n;
}

/* The quantiles of scores, never less than the normal law's. */
static void find_law (const struct samples *samples,
                      const struct trial *trial,
                      bool application,
                      double n_level,
                      struct dn_quantiles *law)
{
    static const double levels[] = {0.5, 0.8, 0.9, 0.95, 0.975, 0.99, 0.995};
    double *scores = calloc ((size_t) samples->n * SAMPLE_RUNS + 1, sizeof (*scores));
    int n;

    if (!scores)
        bench_die ("law", "out of memory");
    n = list_scores (samples, trial, application, n_level, scores);
    qsort (scores, (size_t) n, sizeof (*scores), compare);
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

void bench_prior_fit (struct bench_fits *fits,
                      int left_out,
                      struct dn_site_prior *prior)
{
    struct samples samples = draw_samples (fits, left_out);
    struct dn_kernel *kernel = &prior->kernel;
    struct trial trial = {.shared = kernel->shared};
    const double *parameters = trial.parameters;

    for (int i = 0; i < N_PARAMETERS; i++)
        trial.parameters[i] = start_of (i);
    descend (&samples, &trial);
    find_law (&samples, &trial, false, prior->n_level, &prior->seen);
    find_law (&samples, &trial, true, prior->n_level, &prior->unseen);
    for (int i = 0; i < DN_N_EFFECTS; i++)
        kernel->effects[i] = exp (parameters[i]);
    kernel->smooth = exp (parameters[AT_SMOOTH]);
    kernel->noise = exp (parameters[AT_NOISE]);
    kernel->n_used = 0;
    for (int g = 0; g < N_GROUPS; g++)
        for (int k = 0; k < groups[g].n; k++) {
            enum dn_feature feature = groups[g].features[k];
            double length = exp (parameters[AT_LENGTHS + g]) * sqrt (groups[g].n)
                            * unit_of (feature);

            kernel->used[kernel->n_used] = (int) feature;
            kernel->rate[kernel->n_used++] = (float) (1 / length);
        }
    free (samples.samples);
}

void bench_prior_print (const struct dn_site_prior *prior)
{
    const struct dn_kernel *kernel = &prior->kernel;
    const struct dn_feature_key *keys = dn_feature_keys ();

    for (int i = 0; i < kernel->n_used; i++) {
        printf ("    {DN_FEATURE_");
        for (const char *at = keys[kernel->used[i]].name; *at != '\0'; at++)
            putchar (*at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at);
        printf (", %.3g},\n", 1 / (double) kernel->rate[i]);
    }
    for (int i = 0; i < prior->seen.n; i++)
        printf ("    {%.4g, %.3g, %.3g},\n",
                round (0.5 * erfc (-prior->seen.scores[i] / sqrt (2)) * 1000) / 1000,
                prior->seen.values[i],
                prior->unseen.values[i]);
    for (int i = 0; i < DN_N_EFFECTS; i++)
        printf (
            "    %s %.3g\n", dn_names_get (&dn_effect_names, i), kernel->effects[i]);
    printf ("    .smooth = %.3g,\n    .noise = %.3g,\n", kernel->smooth, kernel->noise);
}
