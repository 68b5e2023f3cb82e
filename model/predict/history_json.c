/* history_json.c - a site's history in its site.json
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/json_write.h"
#include "predict/history.h"

#define SPREAD_MAX  5.0
#define LENGTH_MIN  1e-3
#define LENGTH_MAX  1e6
#define FEATURE_MAX 1e6
#define RATIO_MAX   1000.0
#define NOISE_MIN   1e-3
#define NOISE_MAX   20.0
#define SCORE_MAX   50.0

/* --- reading --------------------------------------------------------------------- */

static int read_lengths (struct json_object *json,
                         struct dn_likeness *likeness,
                         struct dn_err *err)
{
    const char *known[DN_N_AXES + 1] = {NULL};
    struct json_object *object = dn_json_need_object (json, "lengths", err);

    if (!object)
        return -1;
    for (int i = 0; i < DN_N_AXES; i++)
        known[i] = dn_names_get (&dn_axis_names, i);
    if (dn_json_read_keys (object, known, err) < 0)
        return dn_err_wrap (err, "lengths");
    for (int i = 0; i < DN_N_AXES; i++)
        if (dn_json_need_real (
                object, known[i], LENGTH_MIN, LENGTH_MAX, &likeness->lengths[i], err)
            < 0)
            return dn_err_wrap (err, "lengths");
    return 0;
}

/* One of the laws; '*levels' are those of both. */
static int read_values (struct json_object *json,
                        const char *key,
                        const double *levels,
                        int n,
                        struct dn_quantiles *law,
                        struct dn_err *err)
{
    if (dn_json_need_reals (json, key, -SCORE_MAX, SCORE_MAX, law->values, n, err) < 0)
        return -1;
    law->n = n;
    for (int i = 0; i < n; i++) {
        if (i > 0
            && (levels[i] <= levels[i - 1] || law->values[i] < law->values[i - 1]))
            return dn_err_set (
                err, DN_E_RANGE, "%s: levels or values do not ascend", key);
        law->scores[i] = levels[i] > 0.5 ? dn_normal_score (levels[i]) : 0;
    }
    return 0;
}

static int read_law (struct json_object *json,
                     struct dn_history *history,
                     struct dn_err *err)
{
    static const char *const known[] = {"levels", "seen", "unseen", NULL};
    struct json_object *object = dn_json_need_object (json, "law", err);
    double levels[DN_LEVELS_MAX];
    int n = 0;

    if (!object)
        return -1;
    if (dn_json_read_keys (object, known, err) < 0
        || dn_json_read_reals (
               object, "levels", 0.5, 0.9999, 1, DN_LEVELS_MAX, levels, &n, err)
               < 0)
        return dn_err_wrap (err, "law");
    if (n == 0)
        return dn_err_set (err, DN_E_SYNTAX, "law: levels: missing");
    if (read_values (object, "seen", levels, n, &history->seen, err) < 0
        || read_values (object, "unseen", levels, n, &history->unseen, err) < 0)
        return dn_err_wrap (err, "law");
    return 0;
}

static int read_run (struct json_object *json, struct dn_past *run, struct dn_err *err)
{
    static const char *const known[] = {
        "device", "precision", "ratio", "noise", "at", NULL};
    struct dn_trace *trace = &run->trace;
    double at[DN_N_AXIS_FEATURES];
    double ratio;

    if (dn_json_read_keys (json, known, err) < 0
        || dn_json_need_text (json, "device", trace->device, DN_NAME_MAX, err) < 0
        || dn_json_need_text (json, "precision", trace->precision, DN_NAME_MAX, err) < 0
        || dn_json_need_real (json, "ratio", 1 / RATIO_MAX, RATIO_MAX, &ratio, err) < 0
        || dn_json_need_real (json, "noise", NOISE_MIN, NOISE_MAX, &run->noise, err) < 0
        || dn_json_need_reals (
               json, "at", -FEATURE_MAX, FEATURE_MAX, at, DN_N_AXIS_FEATURES, err)
               < 0)
        return -1;
    run->error = log (ratio);
    for (int i = 0; i < DN_N_AXIS_FEATURES; i++)
        trace->at[i] = (float) at[i];
    return 0;
}

/* The runs of one application, from 'runs' on. */
static int read_application (const char *name,
                             struct json_object *array,
                             struct dn_past *runs,
                             struct dn_err *err)
{
    for (size_t i = 0; i < json_object_array_length (array); i++)
        if (dn_name_copy (
                dn_span_of (name), runs[i].trace.application, DN_NAME_MAX, "name", err)
                < 0
            || read_run (json_object_array_get_idx (array, i), &runs[i], err) < 0)
            return dn_err_wrap (
                err, "'%s': run %zu", dn_quote (name, strlen (name)).text, i);
    return 0;
}

/* How many runs an application has; -1 if that is no list, or too long. */
static int count_runs (const char *name,
                       const struct json_object *array,
                       struct dn_err *err)
{
    size_t n;

    if (!json_object_is_type (array, json_type_array))
        return dn_err_set (err,
                           DN_E_SYNTAX,
                           "'%s': found %s, expected an array",
                           dn_quote (name, strlen (name)).text,
                           json_type_to_name (json_object_get_type (array)));
    n = json_object_array_length (array);
    if (n > DN_HISTORY_OWN_MAX)
        return dn_err_set (err,
                           DN_E_LIMIT,
                           "'%s': more than %d runs",
                           dn_quote (name, strlen (name)).text,
                           DN_HISTORY_OWN_MAX);
    return (int) n;
}

/* Room for the runs of all applications. NULL with 'err'. */
static struct dn_history *make_room (struct json_object *applications,
                                     struct dn_err *err)
{
    struct json_object_iterator it = json_object_iter_begin (applications);
    struct json_object_iterator end = json_object_iter_end (applications);
    struct dn_history *history;
    int64_t n = 0;

    for (; !json_object_iter_equal (&it, &end); json_object_iter_next (&it)) {
        int own = count_runs (
            json_object_iter_peek_name (&it), json_object_iter_peek_value (&it), err);

        if (own < 0)
            return NULL;
        n += own;
    }
    if (n > DN_HISTORY_MAX) {
        dn_err_set (err, DN_E_LIMIT, "more than %d runs", DN_HISTORY_MAX);
        return NULL;
    }
    history = dn_history_new ((int) n);
    if (!history)
        dn_err_set (err, DN_E_NOMEM, "out of memory");
    return history;
}

static int read_applications (struct json_object *applications,
                              struct dn_history *history,
                              struct dn_err *err)
{
    struct json_object_iterator it = json_object_iter_begin (applications);
    struct json_object_iterator end = json_object_iter_end (applications);
    struct dn_past *runs = history->runs;

    for (; !json_object_iter_equal (&it, &end); json_object_iter_next (&it)) {
        struct json_object *array = json_object_iter_peek_value (&it);

        if (read_application (json_object_iter_peek_name (&it), array, runs, err) < 0)
            return -1;
        runs += json_object_array_length (array);
    }
    return dn_history_close (history, err);
}

/* All but the runs. */
static int read_head (struct json_object *json,
                      struct dn_history *history,
                      struct dn_err *err)
{
    static const char *const known[] = {"noise",
                                        "spread",
                                        "lengths",
                                        "shared",
                                        "device",
                                        "level",
                                        "law",
                                        "applications",
                                        NULL};
    struct dn_likeness *likeness = &history->likeness;

    if (dn_json_read_keys (json, known, err) < 0
        || dn_json_need_real (
               json, "noise", NOISE_MIN, SPREAD_MAX, &likeness->noise, err)
               < 0
        || dn_json_need_real (json, "spread", 0, SPREAD_MAX, &likeness->spread, err) < 0
        || dn_json_need_real (json, "shared", 0, SPREAD_MAX, &history->shared, err) < 0
        || dn_json_need_real (json, "device", 0, SPREAD_MAX, &history->device, err) < 0
        || dn_json_need_real (json, "level", 0.1, 10, &history->level, err) < 0
        || read_lengths (json, likeness, err) < 0)
        return -1;
    return read_law (json, history, err);
}

struct dn_history *dn_history_read (struct json_object *json, struct dn_err *err)
{
    struct json_object *applications = dn_json_need_object (json, "applications", err);
    struct dn_history *history = applications ? make_room (applications, err) : NULL;

    if (history && read_head (json, history, err) == 0
        && read_applications (applications, history, err) == 0)
        return history;
    dn_history_free (history);
    dn_err_wrap (err, "history");
    return NULL;
}

/* --- writing --------------------------------------------------------------------- */

/* Nine digits, as features have. */
static struct json_object *real_of (double value)
{
    char text[32];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    dn_buf_add (&buf, "%.9g", value);
    return json_object_new_double_s (value, text);
}

static void add_values (struct json_object *to,
                        const char *key,
                        const struct dn_quantiles *law)
{
    struct json_object *values = json_object_new_array ();

    for (int i = 0; i < law->n; i++)
        json_object_array_add (values, real_of (law->values[i]));
    json_object_object_add (to, key, values);
}

/* The level of a normal score, which has at most four digits. */
static double level_of (double score)
{
    double best = 0.5;

    for (int i = 5001; i < 10000 && score > 0; i++) {
        double level = i / 1e4;

        if (fabs (dn_normal_score (level) - score)
            < fabs (dn_normal_score (best) - score))
            best = level;
    }
    return best;
}

static void add_law (struct json_object *json, const struct dn_history *history)
{
    const struct dn_quantiles *law = &history->seen;
    struct json_object *object = dn_json_put_object (json, "law");
    struct json_object *levels = json_object_new_array ();

    for (int i = 0; i < law->n; i++) {
        json_object_array_add (levels, real_of (level_of (law->scores[i])));
    }
    json_object_object_add (object, "levels", levels);
    add_values (object, "seen", &history->seen);
    add_values (object, "unseen", &history->unseen);
}

static struct json_object *run_of (const struct dn_past *run)
{
    struct json_object *object = json_object_new_object ();
    struct json_object *at = json_object_new_array ();

    json_object_object_add (
        object, "device", json_object_new_string (run->trace.device));
    json_object_object_add (
        object, "precision", json_object_new_string (run->trace.precision));
    json_object_object_add (object, "ratio", real_of (exp (run->error)));
    json_object_object_add (object, "noise", real_of (run->noise));
    for (int i = 0; i < DN_N_AXIS_FEATURES; i++)
        json_object_array_add (at, real_of ((double) run->trace.at[i]));
    json_object_object_add (object, "at", at);
    return object;
}

/* The runs stand together by application. */
static void add_applications (struct json_object *json,
                              const struct dn_history *history)
{
    struct json_object *object = dn_json_put_object (json, "applications");

    for (int i = 0; i < history->n; i++) {
        const struct dn_past *run = &history->runs[i];
        struct json_object *array = dn_json_member (object, run->trace.application);

        if (!array) {
            array = json_object_new_array ();
            json_object_object_add (object, run->trace.application, array);
        }
        json_object_array_add (array, run_of (run));
    }
}

struct json_object *dn_history_write (const struct dn_history *history)
{
    const struct dn_likeness *likeness = &history->likeness;
    struct json_object *json = json_object_new_object ();
    struct json_object *object;

    json_object_object_add (json, "noise", real_of (likeness->noise));
    json_object_object_add (json, "spread", real_of (likeness->spread));
    object = dn_json_put_object (json, "lengths");
    for (int i = 0; i < DN_N_AXES; i++)
        json_object_object_add (
            object, dn_names_get (&dn_axis_names, i), real_of (likeness->lengths[i]));
    json_object_object_add (json, "shared", real_of (history->shared));
    json_object_object_add (json, "device", real_of (history->device));
    json_object_object_add (json, "level", real_of (history->level));
    add_law (json, history);
    add_applications (json, history);
    return json;
}
