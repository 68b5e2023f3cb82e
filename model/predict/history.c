/* history.c - what a user's own runs of an application say of its next run
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cholesky.h"
#include "base/messages.h"

/* No error of a white box is larger, nor may a file make one. */
#define MOVED_MAX 3.0

/* clang-format off */
static const char *const axis_text[] = {DN_AXES (DN_ENUM_WORD)
                                        [DN_AXIS_DEVICE] = "device",
                                        [DN_AXIS_PRECISION] = "precision"};
/* clang-format on */
const struct dn_names dn_axis_names = DN_NAMES (axis_text, DN_N_AXES);

#define FEATURE(axis, word, feature) [DN_##axis] = DN_FEATURE_##feature,
static const enum dn_feature axis_features[] = {DN_AXES (FEATURE)};

/* The runs of one application of one user. */
struct dn_past_group {
    int first;
    int n;
    size_t factor; /* where its own begins */
};

struct dn_history *dn_history_new (int n)
{
    struct dn_history *history = calloc (1, sizeof (*history));

    if (!history)
        return NULL;
    history->n = n;
    history->level = 1;
    history->runs = calloc ((size_t) n + 1, sizeof (*history->runs));
    if (history->runs)
        return history;
    free (history);
    return NULL;
}

void dn_history_free (struct dn_history *history)
{
    if (!history)
        return;
    free (history->runs);
    free (history->groups);
    free (history->factors);
    free (history->weights);
    free (history->own_weights);
    free (history);
}

const char *dn_application_of (const struct dn_spec *spec)
{
    return spec->app[0] != '\0' ? spec->app : spec->model;
}

static void copy_name (char to[DN_NAME_MAX], const char *from)
{
    size_t len = strnlen (from, DN_NAME_MAX - 1);

    memcpy (to, from, len);
    to[len] = '\0';
}

/* The name of the precision that was asked for, or "unknown". */
static void name_precision (const struct dn_spec *spec, char name[DN_NAME_MAX])
{
    char precision[DN_VALUE_MAX] = "";
    int n_keys;
    const struct dn_key *keys = dn_spec_keys (&n_keys);

    for (int i = 0; i < n_keys; i++)
        if (strcmp (keys[i].name, "precision") == 0) {
            dn_spec_write_value (spec, &keys[i], precision);
            break;
        }
    copy_name (name, precision[0] != '\0' ? precision : "unknown");
}

void dn_trace_set (struct dn_trace *trace,
                   const struct dn_spec *spec,
                   const struct dn_device *device,
                   const float features[DN_N_FEATURES])
{
    copy_name (trace->application, dn_application_of (spec));
    copy_name (trace->device, device->name);
    name_precision (spec, trace->precision);
    for (int i = 0; i < DN_N_AXIS_FEATURES; i++)
        trace->at[i] = features[axis_features[i]];
}

static double square (double value)
{
    return value * value;
}

/* The correlation of the errors of two runs. */
static double likeness_of (const double *lengths,
                           const struct dn_trace *a,
                           const struct dn_trace *b)
{
    double apart = 0;

    for (int i = 0; i < DN_N_AXIS_FEATURES; i++)
        apart += square ((double) (a->at[i] - b->at[i]) / lengths[i]);
    if (strcmp (a->device, b->device) != 0)
        apart += square (1 / lengths[DN_AXIS_DEVICE]);
    if (strcmp (a->precision, b->precision) != 0)
        apart += square (1 / lengths[DN_AXIS_PRECISION]);
    return exp (-sqrt (apart));
}

/* The same as a covariance, where errors have this spread. */
static double covariance_of (const struct dn_likeness *likeness,
                             double spread,
                             const struct dn_trace *a,
                             const struct dn_trace *b)
{
    double common = square (dn_min (likeness->common, spread));

    return common + (square (spread) - common) * likeness_of (likeness->lengths, a, b);
}

double dn_likeness_of (const struct dn_likeness *likeness,
                       const struct dn_trace *a,
                       const struct dn_trace *b)
{
    return covariance_of (likeness, likeness->spread, a, b);
}

/* The order of a run and those of a user's application. */
static int compare_to (const struct dn_past *run, int64_t user, const char *application)
{
    if (run->user != user)
        return run->user < user ? -1 : 1;
    return strcmp (run->trace.application, application);
}

static int compare_runs (const void *a, const void *b)
{
    const struct dn_past *y = b;

    return compare_to (a, y->user, y->trace.application);
}

/* Group the sorted runs; return the numbers that all factors take. */
static size_t set_groups (struct dn_history *history)
{
    size_t size = 0;

    for (int i = 0; i < history->n; i++) {
        if (i == 0 || compare_runs (&history->runs[i - 1], &history->runs[i]) != 0)
            history->groups[history->n_groups++] =
                (struct dn_past_group){.first = i, .factor = size};
        size += (size_t) ++history->groups[history->n_groups - 1].n;
    }
    return size;
}

/* Covariance of the errors of two runs of a group. */
static double alike (const struct dn_history *history,
                     const struct dn_trace *a,
                     const struct dn_trace *b)
{
    return covariance_of (&history->likeness, history->alone, a, b);
}

static int solve_group (struct dn_history *history,
                        const struct dn_past_group *group,
                        struct dn_err *err)
{
    const struct dn_past *runs = history->runs + group->first;
    double *factor = history->factors + group->factor;
    double *weights = history->weights + group->first;
    double *own_weights = history->own_weights + group->first;
    double *at = factor;

    if (group->n > DN_HISTORY_OWN_MAX)
        return dn_refuse (err, runs_of, runs->trace.application, DN_HISTORY_OWN_MAX);
    for (int i = 0; i < group->n; i++) {
        for (int j = 0; j <= i; j++)
            *at++ = alike (history, &runs[i].trace, &runs[j].trace);
        at[-1] += square (runs[i].noise);
        weights[i] = runs[i].error;
        own_weights[i] = runs[i].own;
    }
    if (!dn_cholesky (factor, group->n))
        return dn_refuse (err, covariance, runs->trace.application);
    dn_cholesky_lower (factor, weights, group->n);
    dn_cholesky_upper (factor, weights, group->n);
    dn_cholesky_lower (factor, own_weights, group->n);
    dn_cholesky_upper (factor, own_weights, group->n);
    return 0;
}

int dn_history_close (struct dn_history *history, struct dn_err *err)
{
    size_t n = (size_t) history->n;

    if (n > 0)
        qsort (history->runs, n, sizeof (*history->runs), compare_runs);
    history->groups = calloc (n + 1, sizeof (*history->groups));
    history->weights = calloc (n + 1, sizeof (*history->weights));
    history->own_weights = calloc (n + 1, sizeof (*history->own_weights));
    if (!history->groups || !history->weights || !history->own_weights)
        return dn_refuse (err, no_memory);
    history->factors = calloc (set_groups (history) + 1, sizeof (*history->factors));
    if (!history->factors)
        return dn_refuse (err, no_memory);
    for (int i = 0; i < history->n_groups; i++)
        if (solve_group (history, &history->groups[i], err) < 0)
            return -1;
    return 0;
}

/* The first group that is not before the user's application. */
static int place_of (const struct dn_history *history,
                     int64_t user,
                     const char *application)
{
    int low = 0;
    int high = history->n_groups;

    while (low < high) {
        int middle = (low + high) / 2;
        const struct dn_past *run = &history->runs[history->groups[middle].first];

        if (compare_to (run, user, application) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The runs of the user's application; NULL: none. */
static const struct dn_past_group *find_group (const struct dn_history *history,
                                               int64_t user,
                                               const char *application)
{
    int at = place_of (history, user, application);

    if (at == history->n_groups
        || compare_to (&history->runs[history->groups[at].first], user, application)
               != 0)
        return NULL;
    return &history->groups[at];
}

bool dn_history_knows (const struct dn_history *history, int64_t user)
{
    int at = history ? place_of (history, user, "") : 0;

    return history && at < history->n_groups
           && history->runs[history->groups[at].first].user == user;
}

/* What the user's runs of the application expect of another one. */
static struct dn_outlook expect (const struct dn_history *history,
                                 const struct dn_past_group *group,
                                 const struct dn_trace *trace)
{
    const struct dn_past *runs = history->runs + group->first;
    double alike_to[DN_HISTORY_OWN_MAX];
    double left = square (history->alone);
    double site = 0;
    double own = 0;

    for (int i = 0; i < group->n; i++) {
        alike_to[i] = alike (history, trace, &runs[i].trace);
        site += history->weights[group->first + i] * alike_to[i];
        own += history->own_weights[group->first + i] * alike_to[i];
    }
    dn_cholesky_lower (history->factors + group->factor, alike_to, group->n);
    for (int i = 0; i < group->n; i++)
        left -= square (alike_to[i]);
    left = dn_max (left, 0) + square (history->likeness.noise);
    return (struct dn_outlook){
        .site = {.p50 = exp (dn_min (dn_max (site, -MOVED_MAX), MOVED_MAX)),
                 .sigma = runs->level * sqrt (left),
                 .quantiles = &history->seen},
        .own = exp (dn_min (dn_max (own, -MOVED_MAX), MOVED_MAX)),
        .level = runs->level,
    };
}

struct dn_outlook dn_history_at (const struct dn_history *history,
                                 int64_t user,
                                 const struct dn_trace *trace,
                                 bool scaled)
{
    const struct dn_past_group *group = find_group (history, user, trace->application);
    double left = square (history->likeness.spread) + square (history->shared)
                  + square (history->likeness.noise);

    if (group)
        return expect (history, group, trace);
    left += scaled ? 0 : square (history->device);
    return (struct dn_outlook){.site = {.p50 = 1,
                                        .sigma = history->level * sqrt (left),
                                        .quantiles = &history->unseen},
                               .own = 1,
                               .level = history->level};
}
