/* history.h - what a user's own runs of an application say of its next run
 *
 * In: how alike two runs of an application are (struct dn_likeness), and what some of
 * them took (learn/site_fit.h, through site.json). Out: factors on the time of another
 * run and the spread that is left. Const after dn_history_close (), shared by all
 * threads; nothing is allocated to predict.
 *
 * A history is of one user and one application: runs of another user are not looked at,
 * whatever the name of their application. What a prediction leaves over of them is
 * taken as a Gaussian process (Rasmussen and Williams 2006, 2.2): the errors of two of
 * the runs have the covariance
 *
 *   common^2 + (spread^2 - common^2) * exp (-distance)
 *
 * over the coordinates of enum dn_axis, each divided by its length. Two errors of each
 * run are known: that of the site's prediction, which other users have a share in, and
 * that of the shipped one. The second, and the spread, depend on the user's own runs
 * alone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_HISTORY_H
#define DN_HISTORY_H

#include "predict/features.h"

struct json_object;

/* What distinguishes runs of an application: features, then names. */
/* clang-format off */
#define DN_AXES(ROW)                                                                   \
    ROW (AXIS_BATCH, "batch", BATCH)                                                   \
    ROW (AXIS_ACCUMULATION, "accumulation", ACCUMULATION)                              \
    ROW (AXIS_GPUS, "gpus", GPUS)                                                      \
    ROW (AXIS_NODES, "nodes", NODES)                                                   \
    ROW (AXIS_SAMPLE_FLOPS, "sample_flops", SAMPLE_FLOPS)                              \
    /* What the step waits for; files of earlier versions lack these. */               \
    ROW (AXIS_DEVICE_SHARE, "device_share", DEVICE_SHARE)                              \
    ROW (AXIS_HOST_SHARE, "host_share", HOST_SHARE)                                    \
    ROW (AXIS_INPUT_SHARE, "input_share", INPUT_SHARE)                                 \
    ROW (AXIS_COMMUNICATION_SHARE, "communication_share", COMMUNICATION_SHARE)
enum dn_axis {
    DN_AXES (DN_ENUM_CONSTANT) DN_N_AXIS_FEATURES,
    DN_AXIS_DEVICE = DN_N_AXIS_FEATURES, /* 0 or 1: another device */
    DN_AXIS_PRECISION,                   /* the same of the precision */
    DN_N_AXES
};
/* clang-format on */

extern const struct dn_names dn_axis_names;

struct dn_likeness {
    double spread; /* of an application's errors: standard deviation of logarithms */
    double common; /* the part of it that all runs of the application have */
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
    int64_t user; /* numeric id; DN_UNSET: unknown, as of all such runs */
    struct dn_trace trace;
    double error; /* ln (measured / predicted by the site's constants and scales) */
    double own;   /* ln (measured / predicted by what ships) */
    double noise; /* its spread, the larger the further it lies out */
    double level; /* factor on the spread, by the user's runs of the application */
};

struct dn_history {
    struct dn_likeness likeness;
    double alone; /* spread of errors of what ships, instead of the likeness's */
    struct dn_past *runs; /* by user, application after dn_history_close (); owned */
    int n;
    double shared; /* spread by what is not known of the constants and scales */
    double device; /* more where the device has no scale */
    double level;  /* factor on the spreads of others, by the site's own runs */
    /* Of errors in units of the stated spread: of applications that are among the
     * runs, and of others. */
    struct dn_quantiles seen;
    struct dn_quantiles unseen;
    struct dn_past_group *groups; /* one per user and application; owned */
    int n_groups;
    double *factors; /* of the covariances of each group; owned, as are the next two */
    double *weights; /* the inverse times the errors */
    double *own_weights;
};

/* What a history says of a run. */
struct dn_outlook {
    struct dn_range site; /* factor on the site's prediction, and the spread */
    double own;           /* factor on what ships; 1 where the user has not run it */
    double level;         /* that is in the spread */
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

/* Sort the runs and prepare the predictions. -1 where an application of a user has more
 * than DN_HISTORY_OWN_MAX runs, or without memory.
 */
int dn_history_close (struct dn_history *history, struct dn_err *err) DN_COLD;

/* NULL-safe. */
void dn_history_free (struct dn_history *history) DN_COLD;

/* Has the user runs of any application? NULL-safe. */
bool dn_history_knows (const struct dn_history *history, int64_t user);

/* By what the user's runs of the application multiply the time of another one, and the
 * spread of its logarithm that is left; 'scaled' where its device has a scale.
 */
struct dn_outlook dn_history_at (const struct dn_history *history,
                                 int64_t user,
                                 const struct dn_trace *trace,
                                 bool scaled);

/* The name of the unknown user in a site.json. */
#define DN_HISTORY_UNKNOWN "unknown"

/* Read "levels", which ascend from .5, as normal scores, and then the quantiles at
 * them, which do not descend.
 */
int dn_levels_read (const struct json_object *json,
                    struct dn_quantiles *q,
                    struct dn_err *err) DN_COLD;
int dn_quantiles_read (const struct json_object *json,
                       const char *key,
                       struct dn_quantiles *q,
                       struct dn_err *err) DN_COLD;

/* Read the member "history" of a site.json. NULL with 'err'. */
struct dn_history *dn_history_read (struct json_object *json,
                                    struct dn_err *err) DN_COLD;

#endif
