/* tuning.c - site.json: read, written, applied
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/tuning.h"

#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fields.h"
#include "base/json_read.h"
#include "base/messages.h"

/* Members of a document that is as large as it may be. */
#define VALUES_MAX 16384

/* No machine is a hundred times faster than another one with the same device. */
#define SCALE_MAX 100.0
#define SIGMA_MAX 5.0
#define RUNS_MAX  1e12

struct dn_tuning *dn_tuning_new (void)
{
    struct dn_tuning *tuning = calloc (1, sizeof (*tuning));

    if (!tuning)
        return NULL;
    tuning->constants = dn_constants_default;
    tuning->step.scale = tuning->memory.scale = tuning->power.scale = 1;
    return tuning;
}

void dn_tuning_free (struct dn_tuning *tuning)
{
    if (!tuning)
        return;
    free (tuning->devices.rows);
    dn_history_free (tuning->history);
    free (tuning);
}

int dn_scales_add (struct dn_scales *scales,
                   const struct dn_scale *scale,
                   struct dn_err *err)
{
    int at = scales->n_rows;

    if (at == DN_TUNING_SCALES_MAX)
        return dn_refuse (err, scales, DN_TUNING_SCALES_MAX);
    if (dn_rows_grow (&scales->rows, at, sizeof (*scales->rows), err) < 0)
        return -1;
    for (; at > 0 && strcmp (scales->rows[at - 1].name, scale->name) > 0; at--)
        scales->rows[at] = scales->rows[at - 1];
    scales->rows[at] = *scale;
    scales->n_rows++;
    return 0;
}

const struct dn_scale *dn_scales_find (const struct dn_scales *scales, const char *name)
{
    for (int i = 0; i < scales->n_rows; i++)
        if (strcmp (scales->rows[i].name, name) == 0)
            return &scales->rows[i];
    return NULL;
}

static int read_scale (struct json_object *object,
                       struct dn_scale *scale,
                       struct dn_err *err)
{
    if (dn_json_read_keys (object, "scale runs sigma", err) < 0
        || dn_json_need_real (
               object, "scale", 1 / SCALE_MAX, SCALE_MAX, &scale->scale, err)
               < 0
        || dn_json_need_int (object, "runs", 0, (int64_t) RUNS_MAX, &scale->runs, err)
               < 0)
        return -1;
    return dn_json_need_real (object, "sigma", 0, SIGMA_MAX, &scale->sigma, err);
}

/* A scale that may be missing. */
static int read_one (struct json_object *document,
                     const char *key,
                     struct dn_scale *scale,
                     struct dn_err *err)
{
    struct json_object *object = dn_json_member (document, key);

    if (!object || read_scale (object, scale, err) == 0)
        return 0;
    return dn_err_wrap (err, "%s", key);
}

static int read_scales (struct json_object *document,
                        const char *key,
                        struct dn_scales *scales,
                        struct dn_err *err)
{
    struct json_object *object = NULL;

    if (dn_json_read_object (document, key, &object, err) < 0)
        return -1;
    if (!object)
        return 0;
    json_object_object_foreach (object, name, value)
    {
        struct dn_scale scale = {.runs = 0};

        if (dn_name_copy (
                dn_span_of (name), scale.name, sizeof (scale.name), "name", err)
                < 0
            || read_scale (value, &scale, err) < 0
            || dn_scales_add (scales, &scale, err) < 0)
            return dn_err_wrap (err, "%s: '%s'", key, DN_QUOTED (name));
    }
    return 0;
}

static int read_constant (const char *name,
                          struct json_object *object,
                          struct dn_tuning *tuning,
                          struct dn_err *err)
{
    int field = dn_constant_find (name, strlen (name));
    struct dn_tuned_constant *tuned;
    double value;

    if (field < 0)
        return dn_refuse (err, no_constant);
    tuned = &tuning->tuned[field];
    if (dn_json_read_keys (object, "value shipped sigma", err) < 0
        || dn_json_need_real (object,
                              "value",
                              dn_constant_fields[field].min,
                              dn_constant_fields[field].max,
                              &value,
                              err)
               < 0
        || dn_json_need_real (object, "shipped", 0, 1e18, &tuned->shipped, err) < 0
        || dn_json_need_real (object, "sigma", 0, SIGMA_MAX, &tuned->sigma, err) < 0)
        return -1;
    tuned->set = true;
    dn_constant_set (&tuning->constants, field, value);
    return 0;
}

static int read_constants (struct json_object *document,
                           struct dn_tuning *tuning,
                           struct dn_err *err)
{
    struct json_object *object = NULL;

    if (dn_json_read_object (document, "constants", &object, err) < 0)
        return -1;
    if (!object)
        return 0;
    json_object_object_foreach (object, name, value)
    {
        if (read_constant (name, value, tuning, err) < 0)
            return dn_err_wrap (err, dn_say_at_constant, DN_QUOTED (name));
    }
    return 0;
}

static int read_document (struct json_object *document,
                          struct dn_tuning *tuning,
                          struct dn_err *err)
{
    static const char known[] =
        DN_TUNING_KEY " runs constants step memory power devices history";
    struct json_object *history = dn_json_member (document, "history");
    int64_t format;

    if (dn_json_need_int (document, DN_TUNING_KEY, 0, INT64_MAX, &format, err) < 0)
        return -1;
    if (format != DN_TUNING_FORMAT)
        return dn_refuse (
            err, site_format, DN_TUNING_KEY, (long long) format, DN_TUNING_FORMAT);
    if (dn_json_read_keys (document, known, err) < 0
        || dn_json_need_int (
               document, "runs", 0, (int64_t) RUNS_MAX, &tuning->runs, err)
               < 0
        || read_constants (document, tuning, err) < 0
        || read_one (document, "step", &tuning->step, err) < 0
        || read_one (document, "memory", &tuning->memory, err) < 0
        || read_one (document, "power", &tuning->power, err) < 0
        || read_scales (document, "devices", &tuning->devices, err) < 0)
        return -1;
    if (history)
        tuning->history = dn_history_read (history, err);
    return history && !tuning->history ? -1 : 0;
}

struct dn_tuning *dn_tuning_read (struct dn_span text, struct dn_err *err)
{
    dn_cleanup (dn_json_free) struct json_object *document = NULL;
    struct dn_tuning *tuning;

    if (text.len > DN_TUNING_MAX)
        return DN_NULL (dn_refuse (err, bundle_size, text.len, DN_TUNING_MAX));
    document = dn_json_read (text, DN_BUNDLE_DEPTH_MAX, VALUES_MAX, err);
    if (!document)
        return NULL;
    tuning = dn_tuning_new ();
    if (!tuning)
        return DN_NULL (dn_refuse (err, no_memory));
    if (read_document (document, tuning, err) == 0)
        return tuning;
    dn_tuning_free (tuning);
    return NULL;
}

const struct dn_constants *dn_tuning_constants (const struct dn_tuning *tuning)
{
    return tuning ? &tuning->constants : &dn_constants_default;
}

struct dn_outlook dn_tuning_step (const struct dn_tuning *tuning,
                                  int64_t user,
                                  const struct dn_spec *spec,
                                  const struct dn_device *device,
                                  const float features[DN_N_FEATURES])
{
    struct dn_outlook step = {.site = {.p50 = 1}, .own = 1};
    const struct dn_scale *scale;
    struct dn_trace trace;

    if (!tuning)
        return step;
    scale = dn_scales_find (&tuning->devices, device->name);
    if (tuning->history) {
        dn_trace_set (&trace, spec, device, features);
        step = dn_history_at (tuning->history, user, &trace, scale != NULL);
    }
    step.site.p50 *= tuning->step.scale * (scale ? scale->scale : 1);
    return step;
}

static bool is_seen (const struct dn_tuning *tuning, const struct dn_outlook *step)
{
    return step->site.quantiles == &tuning->history->seen;
}

struct dn_range dn_tuning_spread (const struct dn_tuning *tuning,
                                  const struct dn_outlook *step,
                                  struct dn_range base)
{
    const double level = 0.95;
    struct dn_range own = step->site;
    double difference;

    if (!tuning || !tuning->history)
        return base;
    own.p50 = base.p50 = 1;
    difference = dn_range_at (own, level) - dn_range_at (base, level);
    if (!is_seen (tuning, step))
        return difference > 0 ? own : base;
    return difference < 0 || step->level > 1 ? own : base;
}

struct dn_range_floor dn_tuning_floor (const struct dn_tuning *tuning,
                                       const struct dn_outlook *step,
                                       struct dn_range base,
                                       double ratio)
{
    if (!tuning || !tuning->history)
        return (struct dn_range_floor){.ratio = 0};
    if (is_seen (tuning, step))
        base = dn_tuning_spread (tuning, step, base);
    return (struct dn_range_floor){
        .ratio = ratio, .sigma = base.sigma, .quantiles = base.quantiles};
}
