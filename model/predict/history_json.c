/* history_json.c - a site's history in its site.json
 *
 * {"users": {"1000": {"APPLICATION": {"level": .., "runs": [..]}}}}; the name of the
 * unknown user is "unknown". In format 3: {"applications": {"APPLICATION": [..]}}.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/json_write.h"
#include "base/messages.h"
#include "predict/history.h"

#define SPREAD_MAX  5.0
#define LENGTH_MIN  1e-3
#define LENGTH_MAX  1e6
#define FEATURE_MAX 1e6
#define RATIO_MAX   1000.0
#define NOISE_MIN   1e-3
#define NOISE_MAX   20.0
#define SCORE_MAX   50.0
#define LEVEL_MIN   0.1
#define LEVEL_MAX   10.0

/* --- reading --------------------------------------------------------------------- */

/* An axis that a file may lack. */
static bool is_share (int axis)
{
    return axis >= DN_AXIS_DEVICE_SHARE && axis < DN_N_AXIS_FEATURES;
}

/* '*shares': the file has all axes. Where it lacks some, these make no difference. */
static int read_lengths (struct json_object *json,
                         struct dn_likeness *likeness,
                         bool *shares,
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
    *shares = dn_json_member (object, known[DN_AXIS_DEVICE_SHARE]) != NULL;
    for (int i = 0; i < DN_N_AXES; i++) {
        likeness->lengths[i] = LENGTH_MAX;
        if ((*shares || !is_share (i))
            && dn_json_need_real (
                   object, known[i], LENGTH_MIN, LENGTH_MAX, &likeness->lengths[i], err)
                   < 0)
            return dn_err_wrap (err, "lengths");
    }
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
            return dn_err_set (err, DN_E_RANGE, dn_say_err_law_order, key);
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
        return dn_err_set (err, DN_E_SYNTAX, dn_say_err_law_levels);
    if (read_values (object, "seen", levels, n, &history->seen, err) < 0
        || read_values (object, "unseen", levels, n, &history->unseen, err) < 0)
        return dn_err_wrap (err, "law");
    return 0;
}

/* The history that is read, and how far. */
struct reading {
    struct dn_history *history;
    int format;
    bool shares;  /* the runs have all axes */
    int64_t user; /* whose runs are read */
};

static const char unknown_user[] = "unknown";

static int read_run (const struct reading *reading,
                     struct json_object *json,
                     struct dn_past *run,
                     struct dn_err *err)
{
    static const char *const known[] = {
        "device", "precision", "ratio", "noise", "at", "own", NULL};
    bool is_old = reading->format == DN_HISTORY_FORMAT_OLD;
    struct dn_trace *trace = &run->trace;
    double at[DN_N_AXIS_FEATURES] = {0};
    double ratio;
    double own;

    if (dn_json_read_keys (json, known, err) < 0
        || dn_json_need_text (json, "device", trace->device, DN_NAME_MAX, err) < 0
        || dn_json_need_text (json, "precision", trace->precision, DN_NAME_MAX, err) < 0
        || dn_json_need_real (json, "ratio", 1 / RATIO_MAX, RATIO_MAX, &ratio, err) < 0
        || dn_json_need_real (json, "noise", NOISE_MIN, NOISE_MAX, &run->noise, err) < 0
        || dn_json_need_reals (json,
                               "at",
                               -FEATURE_MAX,
                               FEATURE_MAX,
                               at,
                               reading->shares ? DN_N_AXIS_FEATURES
                                               : DN_AXIS_DEVICE_SHARE,
                               err)
               < 0)
        return -1;
    own = ratio;
    if (!is_old
        && dn_json_need_real (json, "own", 1 / RATIO_MAX, RATIO_MAX, &own, err) < 0)
        return -1;
    run->error = log (ratio);
    run->own = log (own);
    for (int i = 0; i < DN_N_AXIS_FEATURES; i++)
        trace->at[i] = (float) at[i];
    return 0;
}

/* Take over the runs of one application. */
static int read_runs (const struct reading *reading,
                      const char *name,
                      double level,
                      struct json_object *array,
                      struct dn_err *err)
{
    struct dn_history *history = reading->history;
    size_t n = json_object_array_length (array);

    if (n > DN_HISTORY_OWN_MAX)
        return dn_err_set (err, DN_E_LIMIT, dn_say_err_runs, DN_HISTORY_OWN_MAX);
    for (size_t i = 0; i < n; i++) {
        struct dn_past *run = &history->runs[history->n];

        if (history->n == DN_HISTORY_MAX)
            return dn_err_set (err, DN_E_LIMIT, dn_say_err_runs, DN_HISTORY_MAX);
        run->user = reading->user;
        run->level = level;
        if (dn_name_copy (
                dn_span_of (name), run->trace.application, DN_NAME_MAX, "name", err)
                < 0
            || read_run (reading, json_object_array_get_idx (array, i), run, err) < 0)
            return dn_err_wrap (err, dn_say_at_run, i);
        history->n++;
    }
    return 0;
}

/* An application: an object of its level and runs, or in the old format an array of
 * runs.
 */
static int read_application (const struct reading *reading,
                             const char *name,
                             struct json_object *json,
                             struct dn_err *err)
{
    static const char *const known[] = {"level", "runs", NULL};
    struct json_object *array = json;
    double level = reading->history->level;

    if (reading->format != DN_HISTORY_FORMAT_OLD) {
        if (dn_json_read_keys (json, known, err) < 0
            || dn_json_need_real (json, "level", LEVEL_MIN, LEVEL_MAX, &level, err) < 0)
            return -1;
        array = dn_json_member (json, "runs");
    }
    if (!json_object_is_type (array, json_type_array))
        return dn_err_set (err,
                           DN_E_SYNTAX,
                           dn_say_err_found,
                           json_type_to_name (json_object_get_type (array)),
                           dn_say_json_array);
    return read_runs (reading, name, level, array, err);
}

static int read_applications (const struct reading *reading,
                              struct json_object *applications,
                              struct dn_err *err)
{
    struct json_object_iterator it = json_object_iter_begin (applications);
    struct json_object_iterator end = json_object_iter_end (applications);

    for (; !json_object_iter_equal (&it, &end); json_object_iter_next (&it)) {
        const char *name = json_object_iter_peek_name (&it);

        if (read_application (reading, name, json_object_iter_peek_value (&it), err)
            < 0)
            return dn_err_wrap (err, "'%s'", dn_quote (name, strlen (name)).text);
    }
    return 0;
}

static int read_user (struct reading *reading,
                      const char *name,
                      struct json_object *json,
                      struct dn_err *err)
{
    reading->user = DN_UNSET;
    if (strcmp (name, unknown_user) != 0
        && dn_int_read (dn_span_of (name), "user", 0, UINT32_MAX, &reading->user, err)
               < 0)
        return -1;
    if (!json_object_is_type (json, json_type_object))
        return dn_err_set (err,
                           DN_E_SYNTAX,
                           dn_say_err_found,
                           json_type_to_name (json_object_get_type (json)),
                           dn_say_json_map);
    return read_applications (reading, json, err);
}

static int read_users (struct reading *reading,
                       struct json_object *users,
                       struct dn_err *err)
{
    struct json_object_iterator it = json_object_iter_begin (users);
    struct json_object_iterator end = json_object_iter_end (users);

    for (; !json_object_iter_equal (&it, &end); json_object_iter_next (&it)) {
        const char *name = json_object_iter_peek_name (&it);

        if (read_user (reading, name, json_object_iter_peek_value (&it), err) < 0)
            return dn_err_wrap (
                err, dn_say_at_user, dn_quote (name, strlen (name)).text);
    }
    return 0;
}

/* All but the runs. */
static int read_head (struct json_object *json,
                      struct reading *reading,
                      struct dn_err *err)
{
    static const char *const keys[] = {"noise",
                                       "spread",
                                       "lengths",
                                       "shared",
                                       "device",
                                       "level",
                                       "law",
                                       "users",
                                       "alone",
                                       "common",
                                       NULL};
    static const char *const old_keys[] = {"noise",
                                           "spread",
                                           "lengths",
                                           "shared",
                                           "device",
                                           "level",
                                           "law",
                                           "applications",
                                           NULL};
    bool is_old = reading->format == DN_HISTORY_FORMAT_OLD;
    struct dn_history *history = reading->history;
    struct dn_likeness *likeness = &history->likeness;

    if (dn_json_read_keys (json, is_old ? old_keys : keys, err) < 0
        || dn_json_need_real (
               json, "noise", NOISE_MIN, SPREAD_MAX, &likeness->noise, err)
               < 0
        || dn_json_need_real (json, "spread", 0, SPREAD_MAX, &likeness->spread, err) < 0
        || dn_json_need_real (json, "shared", 0, SPREAD_MAX, &history->shared, err) < 0
        || dn_json_need_real (json, "device", 0, SPREAD_MAX, &history->device, err) < 0
        || dn_json_need_real (json, "level", LEVEL_MIN, LEVEL_MAX, &history->level, err)
               < 0
        || read_lengths (json, likeness, &reading->shares, err) < 0)
        return -1;
    history->alone = likeness->spread;
    if (!is_old
        && dn_json_need_real (json, "alone", 0, SPREAD_MAX, &history->alone, err) < 0)
        return -1;
    if (dn_json_member (json, "common")
        && dn_json_need_real (json, "common", 0, SPREAD_MAX, &likeness->common, err)
               < 0)
        return -1;
    return read_law (json, history, err);
}

static int read_history (struct json_object *json,
                         struct reading *reading,
                         struct dn_err *err)
{
    bool is_old = reading->format == DN_HISTORY_FORMAT_OLD;
    struct json_object *runs =
        dn_json_need_object (json, is_old ? "applications" : "users", err);

    if (!runs || read_head (json, reading, err) < 0)
        return -1;
    if ((is_old ? read_applications (reading, runs, err)
                : read_users (reading, runs, err))
        < 0)
        return -1;
    return dn_history_close (reading->history, err);
}

struct dn_history *dn_history_read (struct json_object *json,
                                    int format,
                                    struct dn_err *err)
{
    struct dn_history *history = dn_history_new (DN_HISTORY_MAX);
    struct reading reading = {.history = history, .format = format, .user = DN_UNSET};

    if (!history) {
        dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory);
        return NULL;
    }
    history->n = 0;
    if (read_history (json, &reading, err) == 0)
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
    json_object_object_add (object, "own", real_of (exp (run->own)));
    json_object_object_add (object, "noise", real_of (run->noise));
    for (int i = 0; i < DN_N_AXIS_FEATURES; i++)
        json_object_array_add (at, real_of ((double) run->trace.at[i]));
    json_object_object_add (object, "at", at);
    return object;
}

/* The member of that name, an object, which is added where it is missing. */
static struct json_object *object_of (struct json_object *to, const char *name)
{
    struct json_object *object = dn_json_member (to, name);

    return object ? object : dn_json_put_object (to, name);
}

static struct json_object *runs_of (struct json_object *users,
                                    const struct dn_past *run)
{
    char text[32];
    struct dn_buf name = dn_buf_on (text, sizeof (text));
    struct json_object *application;
    struct json_object *array;

    if (run->user >= 0)
        dn_buf_add (&name, "%lld", (long long) run->user);
    application = object_of (object_of (users, run->user >= 0 ? text : unknown_user),
                             run->trace.application);
    array = dn_json_member (application, "runs");
    if (array)
        return array;
    array = json_object_new_array ();
    json_object_object_add (application, "level", real_of (run->level));
    json_object_object_add (application, "runs", array);
    return array;
}

static void add_users (struct json_object *json, const struct dn_history *history)
{
    struct json_object *users = dn_json_put_object (json, "users");

    for (int i = 0; i < history->n; i++)
        json_object_array_add (runs_of (users, &history->runs[i]),
                               run_of (&history->runs[i]));
}

struct json_object *dn_history_write (const struct dn_history *history)
{
    const struct dn_likeness *likeness = &history->likeness;
    struct json_object *json = json_object_new_object ();
    struct json_object *object;

    json_object_object_add (json, "noise", real_of (likeness->noise));
    json_object_object_add (json, "common", real_of (likeness->common));
    json_object_object_add (json, "spread", real_of (likeness->spread));
    json_object_object_add (json, "alone", real_of (history->alone));
    object = dn_json_put_object (json, "lengths");
    for (int i = 0; i < DN_N_AXES; i++)
        json_object_object_add (
            object, dn_names_get (&dn_axis_names, i), real_of (likeness->lengths[i]));
    json_object_object_add (json, "shared", real_of (history->shared));
    json_object_object_add (json, "device", real_of (history->device));
    json_object_object_add (json, "level", real_of (history->level));
    add_law (json, history);
    add_users (json, history);
    return json;
}
