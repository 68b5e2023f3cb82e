/* history.c - what a site's own runs say of another run
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict/tuning.h"

/* No error of a white box is larger, nor may a file make one. */
#define MOVED_MAX 3.0

static const char *const effect_text[] = {"site",
                                          "device",
                                          "application",
                                          "application_gpus",
                                          "precision",
                                          "application_device",
                                          "application_precision",
                                          "cell"};

const struct dn_names dn_effect_names = {effect_text, DN_N_EFFECTS};

struct dn_history *dn_history_new (int n)
{
    struct dn_history *history = calloc (1, sizeof (*history));
    size_t size = (size_t) n + 1;

    if (!history)
        return NULL;
    history->n = n;
    history->level = 1;
    history->anchors = calloc (size, sizeof (*history->anchors));
    history->weight = calloc (size, sizeof (*history->weight));
    history->matrix = calloc (size * size / 2 + size, sizeof (*history->matrix));
    if (history->anchors && history->weight && history->matrix)
        return history;
    dn_history_free (history);
    return NULL;
}

void dn_history_free (struct dn_history *history)
{
    if (!history)
        return;
    free (history->anchors);
    free (history->weight);
    free (history->matrix);
    free (history);
}

static void copy_name (char to[DN_NAME_MAX], const char *from)
{
    size_t len = strnlen (from, DN_NAME_MAX - 1);

    memcpy (to, from, len);
    to[len] = '\0';
}

void dn_trace_name (const struct dn_spec *spec,
                    const struct dn_device *device,
                    struct dn_trace *trace)
{
    copy_name (trace->application, dn_tuning_application (spec));
    copy_name (trace->device, device->name);
    dn_tuning_precision (spec, trace->precision);
    trace->doublings = log2 (fmax ((double) spec->gpus, 1));
}

void dn_trace_place (const struct dn_kernel *kernel,
                     const float features[DN_N_FEATURES],
                     struct dn_trace *trace)
{
    for (int i = 0; i < kernel->n_used; i++)
        trace->at[i] = features[kernel->used[i]] * kernel->rate[i];
}

/* Lanes of a sum that do not wait for each other, as in domain.c. */
#define LANES  4
#define FLOATS 8

static double distance (const struct dn_kernel *kernel,
                        const struct dn_trace *a,
                        const struct dn_trace *b)
{
    float sums[FLOATS] = {0};
    int n = kernel->n_used;
    int i = 0;

    for (; i + FLOATS <= n; i += FLOATS)
        for (int j = 0; j < FLOATS; j++) {
            float apart = a->at[i + j] - b->at[i + j];

            sums[j] += apart * apart;
        }
    for (; i < n; i++)
        sums[i % FLOATS] += (a->at[i] - b->at[i]) * (a->at[i] - b->at[i]);
    return sqrt ((double) ((sums[0] + sums[1]) + (sums[2] + sums[3])
                           + ((sums[4] + sums[5]) + (sums[6] + sums[7]))));
}

static double square (double value)
{
    return value * value;
}

static double smooth_variance (const struct dn_kernel *kernel,
                               bool application,
                               double apart)
{
    return square (kernel->smooth) * (application ? 1 : kernel->shared) * exp (-apart);
}

double dn_kernel_smooth (const struct dn_kernel *kernel,
                         const struct dn_trace *a,
                         const struct dn_trace *b)
{
    return smooth_variance (
        kernel, strcmp (a->application, b->application) == 0, distance (kernel, a, b));
}

/* What two runs have in common by their labels. */
static double labels_variance (const struct dn_kernel *kernel,
                               bool device,
                               bool application,
                               bool precision,
                               double doublings)
{
    const double *effects = kernel->effects;
    double sum = square (effects[DN_EFFECT_SITE]);

    if (device)
        sum += square (effects[DN_EFFECT_DEVICE]);
    if (precision)
        sum += square (effects[DN_EFFECT_PRECISION]);
    if (!application)
        return sum;
    sum += square (effects[DN_EFFECT_APPLICATION])
           + square (effects[DN_EFFECT_APPLICATION_GPUS]) * doublings;
    if (device)
        sum += square (effects[DN_EFFECT_APPLICATION_DEVICE]);
    if (precision)
        sum += square (effects[DN_EFFECT_APPLICATION_PRECISION]);
    return device && precision ? sum + square (effects[DN_EFFECT_CELL]) : sum;
}

double dn_kernel_all (const struct dn_kernel *kernel,
                      const struct dn_trace *a,
                      const struct dn_trace *b)
{
    return dn_kernel_smooth (kernel, a, b)
           + labels_variance (kernel,
                              strcmp (a->device, b->device) == 0,
                              strcmp (a->application, b->application) == 0,
                              strcmp (a->precision, b->precision) == 0,
                              a->doublings * b->doublings);
}

double dn_kernel_variance (const struct dn_kernel *kernel, const struct dn_trace *trace)
{
    return square (kernel->smooth)
           + labels_variance (
               kernel, true, true, true, trace->doublings * trace->doublings);
}

/* The sum of n products. */
static double dot (const double *a, const double *b, int n)
{
    double sums[LANES] = {0};
    int i = 0;

    for (; i + LANES <= n; i += LANES)
        for (int j = 0; j < LANES; j++)
            sums[j] += a[i + j] * b[i + j];
    for (; i < n; i++)
        sums[i % LANES] += a[i] * b[i];
    return sums[0] + sums[1] + (sums[2] + sums[3]);
}

/* x' M x of a symmetric matrix of which the lower triangle is kept. */
static double product (const double *matrix, const double *x, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++) {
        sum += x[i] * (2 * dot (matrix, x, i) + matrix[i] * x[i]);
        matrix += i + 1;
    }
    return sum;
}

struct dn_range dn_history_at (const struct dn_history *history,
                               const struct dn_trace *trace)
{
    const struct dn_kernel *kernel = &history->kernel;
    double alike[DN_ANCHORS_MAX];
    double before = dn_kernel_variance (kernel, trace);
    double moved = 0;
    bool seen = false;
    double left;

    for (int i = 0; i < history->n; i++) {
        const struct dn_trace *anchor = &history->anchors[i];
        bool application = strcmp (trace->application, anchor->application) == 0;
        double smooth =
            smooth_variance (kernel, application, distance (kernel, trace, anchor));

        seen = seen || application;
        moved += history->weight[i] * smooth;
        alike[i] = smooth
                   + labels_variance (kernel,
                                      strcmp (trace->device, anchor->device) == 0,
                                      application,
                                      strcmp (trace->precision, anchor->precision) == 0,
                                      trace->doublings * anchor->doublings);
    }
    left = before - product (history->matrix, alike, history->n);
    left = fmin (fmax (left, 0), before);
    /* The constants are as little known as all else of a run. */
    left += before > 0 ? square (history->constants) * left / before : 0;
    left += square (kernel->noise);
    return (struct dn_range){
        .p50 = exp (fmin (fmax (moved, -MOVED_MAX), MOVED_MAX)),
        .sigma = history->level * sqrt (left),
        .quantiles = seen ? &history->seen : &history->unseen,
    };
}
