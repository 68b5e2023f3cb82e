/* tuning_write.c - write site.json
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <json-c/json.h>
#include <math.h>
#include <string.h>

#include "base/json_read.h"
#include "base/json_write.h"
#include "predict/tuning.h"

double dn_constant_get (const struct dn_constants *constants, int field)
{
    double value;

    memcpy (&value,
            (const char *) constants + dn_constant_fields[field].offset,
            sizeof (value));
    return value;
}

/* --- the history ----------------------------------------------------------------- */

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
    application =
        object_of (object_of (users, run->user >= 0 ? text : DN_HISTORY_UNKNOWN),
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

static struct json_object *write_history (const struct dn_history *history)
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

/* --- the document ---------------------------------------------------------------- */

/* Six digits: more than is known, and the same everywhere. */
static void add_real (struct json_object *to, const char *key, double value)
{
    char text[32];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    dn_buf_add (&buf, "%.6g", value);
    json_object_object_add (to, key, json_object_new_double_s (value, text));
}

static void add_scale (struct json_object *to,
                       const char *key,
                       const struct dn_scale *scale)
{
    struct json_object *object = dn_json_put_object (to, key);

    add_real (object, "scale", scale->scale);
    json_object_object_add (object, "runs", json_object_new_int64 (scale->runs));
    add_real (object, "sigma", scale->sigma);
}

static void add_scales (struct json_object *to,
                        const char *key,
                        const struct dn_scales *scales)
{
    struct json_object *object = dn_json_put_object (to, key);

    for (int i = 0; i < scales->n_rows; i++)
        add_scale (object, scales->rows[i].name, &scales->rows[i]);
}

struct json_object *dn_tuning_write (const struct dn_tuning *tuning)
{
    struct json_object *document = json_object_new_object ();
    struct json_object *object;

    if (!document)
        return NULL;
    json_object_object_add (
        document, DN_TUNING_KEY, json_object_new_int (DN_TUNING_FORMAT));
    json_object_object_add (document, "runs", json_object_new_int64 (tuning->runs));
    object = dn_json_put_object (document, "constants");
    for (int i = 0; i < DN_CONSTANT_FIELDS; i++) {
        struct json_object *constant;

        if (!tuning->tuned[i].set)
            continue;
        constant = dn_json_put_object (object, dn_constant_fields[i].name);
        add_real (constant, "value", dn_constant_get (&tuning->constants, i));
        add_real (constant, "shipped", tuning->tuned[i].shipped);
        add_real (constant, "sigma", tuning->tuned[i].sigma);
    }
    add_scale (document, "step", &tuning->step);
    if (tuning->memory.runs > 0)
        add_scale (document, "memory", &tuning->memory);
    if (tuning->power.runs > 0)
        add_scale (document, "power", &tuning->power);
    add_scales (document, "devices", &tuning->devices);
    if (tuning->history)
        json_object_object_add (document, "history", write_history (tuning->history));
    return document;
}
