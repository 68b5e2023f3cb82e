/* history.h - what a site's own runs of an application say of its next run
 *
 * In: how alike two runs of an application are (struct dn_likeness), and what some of
 * them took (learn/site_fit.h, through site.json). Out: a factor on the time of another
 * run and the spread that is left. Const after dn_history_close (), shared by all
 * threads; nothing is allocated to predict.
 *
 * What the constants and scales of a site leave over of an application is taken as a
 * Gaussian process (Rasmussen and Williams 2006, 2.2): the errors of two of its runs
 * have the covariance
 *
 *   spread^2 * exp (-distance)
 *
 * over the coordinates of enum dn_axis, each divided by its length. Errors of different
 * applications have none: what they share is in the constants and scales.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_HISTORY_H
#define DN_HISTORY_H

#include "predict/features.h"

struct json_object;

/* What distinguishes runs of an application: features, then names. */
enum dn_axis {
    DN_AXIS_BATCH,
    DN_AXIS_ACCUMULATION,
    DN_AXIS_GPUS,
    DN_AXIS_NODES,
    DN_AXIS_SAMPLE_FLOPS,
    DN_N_AXIS_FEATURES,
    DN_AXIS_DEVICE = DN_N_AXIS_FEATURES, /* 0 or 1: another device */
    DN_AXIS_PRECISION,                   /* the same of the precision */
    DN_N_AXES
};

extern const struct dn_names dn_axis_names;

struct dn_likeness {
    double spread; /* of an application's errors: standard deviation of logarithms */
    double noise;  /* of one run, all else known */
    double lengths[DN_N_AXES]; /* at which each makes a difference */
};

/* A run as it is compared. */
struct dn_trace {
    char application[DN_NAME_MAX];
    char device[DN_NAME_MAX];
    char precision[DN_NAME_MAX];
    float at[DN_N_AXIS_FEATURES];
};

/* A measured run. */
struct dn_past {
    struct dn_trace trace;
    double error; /* ln (measured / predicted by the site's constants and scales) */
    double noise; /* its spread, the larger the further it lies out */
};

struct dn_history {
    struct dn_likeness likeness;
    struct dn_past *runs; /* by application after dn_history_close (); owned */
    int n;
    double shared; /* spread by what is not known of the constants and scales */
    double device; /* more where the device has no scale */
    double level;  /* factor on all spreads, by the site's own runs */
    /* Of errors in units of the stated spread: of applications that are among the
     * runs, and of others. */
    struct dn_quantiles seen;
    struct dn_quantiles unseen;
    struct dn_past_group *groups; /* one per application; owned, as are the next two */
    int n_groups;
    double *factors; /* of the covariances of each application */
    double *weights; /* the inverse times the errors */
};

/* The name under which runs of an application are put together: app= if it is given,
 * else the model's; "" for neither.
 */
const char *dn_application_of (const struct dn_spec *spec);

/* The run as it is compared; 'features' are those by the constants that ship. */
void dn_trace_set (struct dn_trace *trace,
                   const struct dn_spec *spec,
                   const struct dn_device *device,
                   const float features[DN_N_FEATURES]);

/* Covariance of the errors of two runs of one application. */
double dn_likeness_of (const struct dn_likeness *likeness,
                       const struct dn_trace *a,
                       const struct dn_trace *b);

/* Room for 'n' runs, all else 0. NULL without memory. */
struct dn_history *dn_history_new (int n);

/* Sort the runs and prepare the predictions. -1 where an application has more than
 * DN_HISTORY_OWN_MAX runs, or without memory.
 */
int dn_history_close (struct dn_history *history, struct dn_err *err);

/* NULL-safe. */
void dn_history_free (struct dn_history *history);

/* By what the runs of the application multiply the time of another one, and the spread
 * of its logarithm that is left; 'scaled' where its device has a scale.
 */
struct dn_range dn_history_at (const struct dn_history *history,
                               const struct dn_trace *trace,
                               bool scaled);

/* Read the member "history" of a site.json. NULL with 'err'. */
struct dn_history *dn_history_read (struct json_object *json, struct dn_err *err);

/* The same as an object; NULL without memory. */
struct json_object *dn_history_write (const struct dn_history *history);

#endif
