/* history.h - what a site's own runs say of another run: the more alike, the more
 *
 * In: how alike runs are (struct dn_kernel), and up to DN_ANCHORS_MAX of the site's
 * runs with what they teach (learn/site_history.h, through site.json). Out: a factor on
 * the time of another run and the spread that is left. Const after reading, shared by
 * all threads; nothing is allocated to predict.
 *
 * What the constants and scales of a site leave over is taken as a Gaussian process
 * (Rasmussen and Williams 2006, 2.2): the errors of two runs have the covariance
 *
 *   smooth^2 * exp (-distance of their features) [* shared, of two applications]
 *   + the squares of the spreads of those effects that they share: site, device, ...
 *
 * The scales hold the means of the effects, the anchors' weights that of the smooth
 * part, and the anchors' matrix the variance of all of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_HISTORY_H
#define DN_HISTORY_H

#include "predict/features.h"

struct json_object;

/* Parts of a run's logarithm that runs with the same label share. */
enum dn_effect {
    DN_EFFECT_SITE,
    DN_EFFECT_DEVICE,
    DN_EFFECT_APPLICATION,
    DN_EFFECT_APPLICATION_GPUS, /* per doubling of the GPUs */
    DN_EFFECT_PRECISION,
    DN_EFFECT_APPLICATION_DEVICE,
    DN_EFFECT_APPLICATION_PRECISION,
    DN_EFFECT_CELL, /* of application, device and precision */
    DN_N_EFFECTS
};

extern const struct dn_names dn_effect_names;

/* Standard deviations of logarithms, and the features that tell how alike runs are. */
struct dn_kernel {
    double effects[DN_N_EFFECTS];
    double smooth;
    double shared;             /* of the smooth part: with other applications */
    double noise;              /* of one run, all else known */
    int used[DN_N_FEATURES];   /* feature of each coordinate */
    float rate[DN_N_FEATURES]; /* one over the length at which it makes a difference */
    int n_used;
};

/* A run as the kernel sees it. */
struct dn_trace {
    char application[DN_NAME_MAX];
    char device[DN_NAME_MAX];
    char precision[DN_NAME_MAX];
    double doublings;        /* log2 of the GPUs */
    float at[DN_N_FEATURES]; /* coordinates: features times their rates */
};

struct dn_history {
    struct dn_kernel kernel;
    struct dn_trace *anchors; /* owned, as are the next two */
    double *weight;
    double *matrix; /* lower triangle by rows: what the anchors take off the variance */
    int n;
    double constants; /* spread of predictions by what is not known of them */
    double level;     /* factor on all spreads, by the site's own runs */
    /* Of errors in units of the stated spread: of applications that are among the
     * anchors, and of others. */
    struct dn_quantiles seen;
    struct dn_quantiles unseen;
};

/* What the spec is to the kernel: names and GPUs, then coordinates. */
void dn_trace_name (const struct dn_spec *spec,
                    const struct dn_device *device,
                    struct dn_trace *trace);
void dn_trace_place (const struct dn_kernel *kernel,
                     const float features[DN_N_FEATURES],
                     struct dn_trace *trace);

/* Covariance of two runs: its smooth part, and all of it. */
double dn_kernel_smooth (const struct dn_kernel *kernel,
                         const struct dn_trace *a,
                         const struct dn_trace *b);
double dn_kernel_all (const struct dn_kernel *kernel,
                      const struct dn_trace *a,
                      const struct dn_trace *b);

/* Variance of a run that nothing is known of, noise left aside. */
double dn_kernel_variance (const struct dn_kernel *kernel,
                           const struct dn_trace *trace);

/* By what the smooth part multiplies the time of a run, and the spread of its logarithm
 * that all effects leave.
 */
struct dn_range dn_history_at (const struct dn_history *history,
                               const struct dn_trace *trace);

/* Room for 'n' anchors, all else 0. NULL without memory. */
struct dn_history *dn_history_new (int n);

/* NULL-safe. */
void dn_history_free (struct dn_history *history);

/* Read the member "history" of a site.json. NULL with 'err'. */
struct dn_history *dn_history_read (struct json_object *json, struct dn_err *err);

/* The same as an object; NULL without memory. */
struct json_object *dn_history_write (const struct dn_history *history);

#endif
