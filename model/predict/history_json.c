/* history_json.c - a site's history in its site.json
 *
 * {"users": {"1000": {"APPLICATION": {"level": .., "runs": [..]}}}}; the name of the
 * unknown user is "unknown".
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <json-c/json.h>
#include <math.h>
#include <string.h>

#include "base/json_read.h"
#include "base/messages.h"
#include "predict/history.h"

#define SPREAD_MAX  5.0
#define LENGTH_MIN  1e-3
#define LENGTH_MAX  1e6
#define FEATURE_MAX 1e6
#define RATIO_MAX   1000.0
#define NOISE_MIN   1e-3
#define NOISE_MAX   20.0
#define SCORE_MAX   50
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
    char known[DN_N_AXES * DN_NAME_MAX];
    struct dn_buf buf = dn_buf_on (known, sizeof (known));
    struct json_object *object = dn_json_need_object (json, "lengths", err);

    if (!object)
        return -1;
    for (int i = 0; i < DN_N_AXES; i++)
        dn_buf_add (&buf, "%s%s", i > 0 ? " " : "", dn_axis_names.names[i]);
    if (dn_json_read_keys (object, known, err) < 0)
        return dn_err_wrap (err, "lengths");
    *shares = dn_json_member (object, dn_axis_names.names[DN_AXIS_DEVICE_SHARE]);
    for (int i = 0; i < DN_N_AXES; i++) {
        likeness->lengths[i] = LENGTH_MAX;
        if ((*shares || !is_share (i))
            && dn_json_need_real (object,
                                  dn_axis_names.names[i],
                                  LENGTH_MIN,
                                  LENGTH_MAX,
                                  &likeness->lengths[i],
                                  err)
                   < 0)
            return dn_err_wrap (err, "lengths");
    }
    return 0;
}

int dn_levels_read (const struct json_object *json,
                    struct dn_quantiles *q,
                    struct dn_err *err)
{
    struct json_object *levels =
        dn_json_need_array (json, "levels", 1, DN_LEVELS_MAX, err);
    double values[DN_LEVELS_MAX];

    if (!levels)
        return -1;
    q->n = (int) json_object_array_length (levels);
    if (dn_json_need_reals (json, "levels", 0.5, 0.99999, values, q->n, err) < 0)
        return -1;
    for (int i = 0; i < q->n; i++) {
        if (i > 0 && values[i] <= values[i - 1])
            return dn_refuse (err, levels);
        q->scores[i] = values[i] > 0.5 ? dn_normal_score (values[i]) : 0;
    }
    return 0;
}

int dn_quantiles_read (const struct json_object *json,
                       const char *key,
                       struct dn_quantiles *q,
                       struct dn_err *err)
{
    if (dn_json_need_reals (json, key, -SCORE_MAX, SCORE_MAX, q->values, q->n, err) < 0)
        return -1;
    for (int i = 1; i < q->n; i++)
        if (q->values[i] < q->values[i - 1])
            return dn_refuse (err, quantiles, DN_QUOTED (key), i);
    return 0;
}

static int read_law (struct json_object *json,
                     struct dn_history *history,
                     struct dn_err *err)
{
    struct json_object *object = dn_json_need_object (json, "law", err);

    if (!object)
        return -1;
    if (dn_json_read_keys (object, "levels seen unseen", err) < 0
        || dn_levels_read (object, &history->seen, err) < 0)
        return dn_err_wrap (err, "law");
    history->unseen = history->seen;
    if (dn_quantiles_read (object, "seen", &history->seen, err) < 0
        || dn_quantiles_read (object, "unseen", &history->unseen, err) < 0)
        return dn_err_wrap (err, "law");
    return 0;
}

/* The history that is read, and how far. */
struct reading {
    struct dn_history *history;
    bool shares;       /* the runs have all axes */
    struct dn_past of; /* the user and the application whose runs are read */
};

static int read_run (const struct reading *reading,
                     struct json_object *json,
                     struct dn_past *run,
                     struct dn_err *err)
{
    int n = reading->shares ? DN_N_AXIS_FEATURES : DN_AXIS_DEVICE_SHARE;
    double at[DN_N_AXIS_FEATURES] = {0};
    double ratio;
    double own;

    *run = reading->of;
    if (dn_json_read_keys (json, "device precision ratio noise at own", err) < 0
        || dn_json_need_text (json, "device", run->trace.device, DN_NAME_MAX, err) < 0
        || dn_json_need_text (json, "precision", run->trace.precision, DN_NAME_MAX, err)
               < 0
        || dn_json_need_real (json, "ratio", 1 / RATIO_MAX, RATIO_MAX, &ratio, err) < 0
        || dn_json_need_real (json, "own", 1 / RATIO_MAX, RATIO_MAX, &own, err) < 0
        || dn_json_need_real (json, "noise", NOISE_MIN, NOISE_MAX, &run->noise, err) < 0
        || dn_json_need_reals (json, "at", -FEATURE_MAX, FEATURE_MAX, at, n, err) < 0)
        return -1;
    run->error = log (ratio);
    run->own = log (own);
    for (int i = 0; i < DN_N_AXIS_FEATURES; i++)
        run->trace.at[i] = (float) at[i];
    return 0;
}

/* Take over the runs of one application. */
static int read_application (struct reading *reading,
                             const char *name,
                             struct json_object *json,
                             struct dn_err *err)
{
    struct dn_history *history = reading->history;
    struct dn_past *of = &reading->of;
    struct json_object *runs;
    size_t n;

    if (dn_json_read_keys (json, "level runs", err) < 0
        || dn_json_need_real (json, "level", LEVEL_MIN, LEVEL_MAX, &of->level, err) < 0
        || dn_name_copy (
               dn_span_of (name), of->trace.application, DN_NAME_MAX, "name", err)
               < 0)
        return -1;
    runs = dn_json_need_array (json, "runs", 0, SIZE_MAX, err);
    if (!runs)
        return -1;
    n = json_object_array_length (runs);
    if (n > DN_HISTORY_OWN_MAX)
        return dn_refuse (err, runs, DN_HISTORY_OWN_MAX);
    for (size_t i = 0; i < n; i++) {
        if (history->n == DN_HISTORY_MAX)
            return dn_refuse (err, runs, DN_HISTORY_MAX);
        if (read_run (reading,
                      json_object_array_get_idx (runs, i),
                      &history->runs[history->n],
                      err)
            < 0)
            return dn_err_wrap (err, dn_say_at_run, i);
        history->n++;
    }
    return 0;
}

static int read_user (struct reading *reading,
                      const char *user,
                      struct json_object *applications,
                      struct dn_err *err)
{
    reading->of.user = DN_UNSET;
    if (strcmp (user, DN_HISTORY_UNKNOWN) != 0
        && dn_int_read (
               dn_span_of (user), "user", 0, UINT32_MAX, &reading->of.user, err)
               < 0)
        return -1;
    if (!json_object_is_type (applications, json_type_object))
        return dn_refuse (err,
                          found,
                          json_type_to_name (json_object_get_type (applications)),
                          dn_say_json_map);
    json_object_object_foreach (applications, name, json)
    {
        if (read_application (reading, name, json, err) < 0)
            return dn_err_wrap (err, "'%s'", DN_QUOTED (name));
    }
    return 0;
}

/* All but the runs. */
static int read_head (struct json_object *json,
                      struct reading *reading,
                      struct dn_err *err)
{
    static const char keys[] =
        "noise spread lengths shared device level law users alone common";
    struct dn_history *h = reading->history;
    struct dn_likeness *likeness = &h->likeness;

    if (dn_json_read_keys (json, keys, err) < 0
        || dn_json_need_real (
               json, "noise", NOISE_MIN, SPREAD_MAX, &likeness->noise, err)
               < 0
        || dn_json_need_real (json, "spread", 0, SPREAD_MAX, &likeness->spread, err) < 0
        || dn_json_need_real (json, "shared", 0, SPREAD_MAX, &h->shared, err) < 0
        || dn_json_need_real (json, "device", 0, SPREAD_MAX, &h->device, err) < 0
        || dn_json_need_real (json, "level", LEVEL_MIN, LEVEL_MAX, &h->level, err) < 0
        || dn_json_need_real (json, "alone", 0, SPREAD_MAX, &h->alone, err) < 0
        || dn_json_read_real (json, "common", 0, SPREAD_MAX, &likeness->common, err) < 0
        || read_lengths (json, likeness, &reading->shares, err) < 0)
        return -1;
    return read_law (json, h, err);
}

static int read_history (struct json_object *json,
                         struct reading *reading,
                         struct dn_err *err)
{
    struct json_object *users = dn_json_need_object (json, "users", err);

    if (!users || read_head (json, reading, err) < 0)
        return -1;
    json_object_object_foreach (users, user, applications)
    {
        if (read_user (reading, user, applications, err) < 0)
            return dn_err_wrap (err, dn_say_at_user, DN_QUOTED (user));
    }
    return dn_history_close (reading->history, err);
}

struct dn_history *dn_history_read (struct json_object *json, struct dn_err *err)
{
    struct reading reading = {.history = dn_history_new (DN_HISTORY_MAX)};

    if (!reading.history)
        return DN_NULL (dn_refuse (err, no_memory));
    reading.history->n = 0;
    if (read_history (json, &reading, err) == 0)
        return reading.history;
    dn_history_free (reading.history);
    return DN_NULL (dn_err_wrap (err, "history"));
}
