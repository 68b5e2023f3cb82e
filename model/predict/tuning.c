/* tuning.c - site.json: read, written, applied
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/tuning.h"

#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/json_write.h"

/* Members of a document that is as large as it may be. */
#define VALUES_MAX 16384

/* Nobody's machine is a hundred times faster than another of its kind. */
#define SCALE_MAX 100.0
#define SIGMA_MAX 5.0
#define RUNS_MAX  1e12

static const char format_key[] = "dnnest_site";

struct dn_tuning *dn_tuning_new (void)
{
    struct dn_tuning *tuning = calloc (1, sizeof (*tuning));

    if (!tuning)
        return NULL;
    tuning->constants = dn_constants_default;
    tuning->step.scale = tuning->memory.scale = tuning->power.scale = 1;
    tuning->step.doubling = tuning->memory.doubling = tuning->power.doubling = 1;
    tuning->cell = tuning->known = tuning->device = tuning->none =
        dn_constants_default.sigma_step;
    return tuning;
}

void dn_tuning_free (struct dn_tuning *tuning)
{
    if (!tuning)
        return;
    free (tuning->devices.rows);
    free (tuning->applications.rows);
    free (tuning->cells.rows);
    dn_history_free (tuning->history);
    free (tuning);
}

/* Place of the first name that is not before this one. */
static int place_of (const struct dn_scales *scales, const char *name)
{
    int low = 0;
    int high = scales->n_rows;

    while (low < high) {
        int middle = (low + high) / 2;

        if (strcmp (scales->rows[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int dn_scales_add (struct dn_scales *scales,
                   const struct dn_scale *scale,
                   struct dn_err *err)
{
    int at = place_of (scales, scale->name);
    struct dn_scale *grown;

    if (scales->n_rows == DN_TUNING_SCALES_MAX)
        return dn_err_set (
            err, DN_E_LIMIT, "more than %d scales", DN_TUNING_SCALES_MAX);
    grown = realloc (scales->rows, ((size_t) scales->n_rows + 1) * sizeof (*grown));
    if (!grown)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    memmove (
        grown + at + 1, grown + at, (size_t) (scales->n_rows - at) * sizeof (*grown));
    grown[at] = *scale;
    scales->rows = grown;
    scales->n_rows++;
    return 0;
}

const struct dn_scale *dn_scales_find (const struct dn_scales *scales, const char *name)
{
    int at = place_of (scales, name);

    return at < scales->n_rows && strcmp (scales->rows[at].name, name) == 0
               ? &scales->rows[at]
               : NULL;
}

static int read_scale (struct json_object *object,
                       struct dn_scale *scale,
                       struct dn_err *err)
{
    static const char *const known[] = {"scale", "doubling", "runs", "sigma", NULL};

    scale->doubling = 1;
    if (dn_json_read_keys (object, known, err) < 0
        || dn_json_read_real (
               object, "doubling", 1 / SCALE_MAX, SCALE_MAX, &scale->doubling, err)
               < 0
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
    struct json_object *object;
    struct json_object_iterator it;
    struct json_object_iterator end;

    if (!dn_json_member (document, key))
        return 0;
    object = dn_json_need_object (document, key, err);
    if (!object)
        return -1;
    it = json_object_iter_begin (object);
    end = json_object_iter_end (object);
    for (; !json_object_iter_equal (&it, &end); json_object_iter_next (&it)) {
        const char *name = json_object_iter_peek_name (&it);
        struct dn_scale scale;

        memset (&scale, 0, sizeof (scale));
        if (dn_name_copy (
                dn_span_of (name), scale.name, sizeof (scale.name), "name", err)
                < 0
            || read_scale (json_object_iter_peek_value (&it), &scale, err) < 0
            || dn_scales_add (scales, &scale, err) < 0)
            return dn_err_wrap (
                err, "%s: '%s'", key, dn_quote (name, strlen (name)).text);
    }
    return 0;
}

static int read_constant (const char *name,
                          struct json_object *object,
                          struct dn_tuning *tuning,
                          struct dn_err *err)
{
    static const char *const known[] = {"value", "shipped", "sigma", NULL};
    int field = dn_constant_find (name, strlen (name));
    struct dn_tuned_constant *tuned;
    double value;

    if (field < 0)
        return dn_err_set (err, DN_E_RANGE, "no constant that a site may set");
    tuned = &tuning->tuned[field];
    if (dn_json_read_keys (object, known, err) < 0
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
    struct json_object *object;
    struct json_object_iterator it;
    struct json_object_iterator end;

    if (!dn_json_member (document, "constants"))
        return 0;
    object = dn_json_need_object (document, "constants", err);
    if (!object)
        return -1;
    it = json_object_iter_begin (object);
    end = json_object_iter_end (object);
    for (; !json_object_iter_equal (&it, &end); json_object_iter_next (&it)) {
        const char *name = json_object_iter_peek_name (&it);

        if (read_constant (name, json_object_iter_peek_value (&it), tuning, err) < 0)
            return dn_err_wrap (
                err, "constants: '%s'", dn_quote (name, strlen (name)).text);
    }
    return 0;
}

static int read_spread (struct json_object *document,
                        struct dn_tuning *tuning,
                        struct dn_err *err)
{
    static const char *const known[] = {"cell", "known", "device", "none", NULL};
    struct json_object *object = dn_json_need_object (document, "spread", err);

    if (!object)
        return -1;
    if (dn_json_read_keys (object, known, err) < 0
        || dn_json_need_real (object, "cell", 0.001, SIGMA_MAX, &tuning->cell, err) < 0
        || dn_json_need_real (
               object, "known", tuning->cell, SIGMA_MAX, &tuning->known, err)
               < 0
        || dn_json_need_real (
               object, "device", tuning->known, SIGMA_MAX, &tuning->device, err)
               < 0
        || dn_json_need_real (
               object, "none", tuning->device, SIGMA_MAX, &tuning->none, err)
               < 0)
        return dn_err_wrap (err, "spread");
    return 0;
}

static int read_document (struct json_object *document,
                          struct dn_tuning *tuning,
                          struct dn_err *err)
{
    static const char *const known[] = {format_key,
                                        "runs",
                                        "constants",
                                        "step",
                                        "memory",
                                        "power",
                                        "devices",
                                        "applications",
                                        "cells",
                                        "spread",
                                        "history",
                                        NULL};
    struct json_object *history = dn_json_member (document, "history");
    int64_t format;

    if (dn_json_need_int (document, format_key, 0, INT64_MAX, &format, err) < 0)
        return -1;
    if (format < 1 || format > DN_TUNING_FORMAT || (format == 1 && history))
        return dn_err_set (err,
                           DN_E_VERSION,
                           "%s: version %lld, expected %d",
                           format_key,
                           (long long) format,
                           DN_TUNING_FORMAT);
    if (dn_json_read_keys (document, known, err) < 0
        || dn_json_need_int (
               document, "runs", 0, (int64_t) RUNS_MAX, &tuning->runs, err)
               < 0
        || read_constants (document, tuning, err) < 0
        || read_one (document, "step", &tuning->step, err) < 0
        || read_one (document, "memory", &tuning->memory, err) < 0
        || read_one (document, "power", &tuning->power, err) < 0
        || read_scales (document, "devices", &tuning->devices, err) < 0
        || read_scales (document, "applications", &tuning->applications, err) < 0
        || read_scales (document, "cells", &tuning->cells, err) < 0
        || read_spread (document, tuning, err) < 0)
        return -1;
    if (history)
        tuning->history = dn_history_read (history, err);
    return history && !tuning->history ? -1 : 0;
}

struct dn_tuning *dn_tuning_read (struct dn_span text, struct dn_err *err)
{
    dn_cleanup (dn_json_free) struct json_object *document = NULL;
    struct dn_tuning *tuning;

    if (text.len > DN_TUNING_MAX) {
        dn_err_set (err, DN_E_LIMIT, "larger than %d bytes", DN_TUNING_MAX);
        return NULL;
    }
    document = dn_json_read (text, DN_BUNDLE_DEPTH_MAX, VALUES_MAX, err);
    if (!document)
        return NULL;
    tuning = dn_tuning_new ();
    if (!tuning) {
        dn_err_set (err, DN_E_NOMEM, "out of memory");
        return NULL;
    }
    if (read_document (document, tuning, err) == 0)
        return tuning;
    dn_tuning_free (tuning);
    return NULL;
}

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
    if (scale->doubling < 1 || scale->doubling > 1)
        add_real (object, "doubling", scale->doubling);
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
        document, format_key, json_object_new_int (DN_TUNING_FORMAT));
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
    add_scales (document, "applications", &tuning->applications);
    add_scales (document, "cells", &tuning->cells);
    object = dn_json_put_object (document, "spread");
    add_real (object, "cell", tuning->cell);
    add_real (object, "known", tuning->known);
    add_real (object, "device", tuning->device);
    add_real (object, "none", tuning->none);
    if (tuning->history)
        json_object_object_add (
            document, "history", dn_history_write (tuning->history));
    return document;
}

const char *dn_tuning_application (const struct dn_spec *spec)
{
    return spec->app[0] != '\0' ? spec->app : spec->model;
}

void dn_tuning_precision (const struct dn_spec *spec, char name[DN_NAME_MAX])
{
    struct dn_buf buf = dn_buf_on (name, DN_NAME_MAX);
    char precision[DN_VALUE_MAX] = "";
    int n_keys;
    const struct dn_key *keys = dn_spec_keys (&n_keys);

    for (int i = 0; i < n_keys; i++)
        if (strcmp (keys[i].name, "precision") == 0) {
            dn_spec_write_value (spec, &keys[i], precision);
            break;
        }
    dn_buf_add (&buf, "%s", precision[0] != '\0' ? precision : "unknown");
}

/* A decision makes some thirty of these names: no printf. */
static char *append (char *at, const char *text, char end)
{
    size_t len = strnlen (text, DN_NAME_MAX - 1);

    memcpy (at, text, len);
    at[len] = end;
    return at + len + 1;
}

void dn_tuning_label (enum dn_effect effect,
                      const struct dn_trace *trace,
                      char name[DN_SCALE_NAME_MAX])
{
    bool alone = effect == DN_EFFECT_PRECISION;
    bool on_any = alone || effect == DN_EFFECT_APPLICATION_PRECISION;
    bool in_any = effect == DN_EFFECT_APPLICATION_DEVICE;
    char *at = name;

    if (effect == DN_EFFECT_SITE) {
        name[0] = '\0';
    } else if (effect == DN_EFFECT_DEVICE) {
        append (at, trace->device, '\0');
    } else if (effect == DN_EFFECT_APPLICATION
               || effect == DN_EFFECT_APPLICATION_GPUS) {
        append (at, trace->application, '\0');
    } else {
        at = append (at, alone ? "*" : trace->application, ' ');
        at = append (at, on_any ? "*" : trace->device, ' ');
        append (at, in_any ? "*" : trace->precision, '\0');
    }
}

const struct dn_constants *dn_tuning_constants (const struct dn_tuning *tuning)
{
    return tuning ? &tuning->constants : &dn_constants_default;
}

/* Multiply a scale in; NULL if there is none. What it does not know of itself stands in
 * for not knowing it at all, by which the spread would be 'wide' instead of 'narrow'.
 */
static const struct dn_scale *put_in (const struct dn_scales *scales,
                                      const char *name,
                                      double narrow,
                                      double wide,
                                      struct dn_range *range)
{
    const struct dn_scale *scale = dn_scales_find (scales, name);

    if (scale)
        range->p50 *= scale->scale;
    range->sigma += scale ? scale->sigma * scale->sigma : wide * wide - narrow * narrow;
    return scale;
}

/* The scales of an application on a device in a precision, without spread. */
static double multiply (const struct dn_tuning *tuning, const struct dn_trace *trace)
{
    double product = 1;

    for (int effect = 0; effect < DN_N_EFFECTS; effect++) {
        const struct dn_scale *scale;
        char name[DN_SCALE_NAME_MAX];

        if (effect <= DN_EFFECT_APPLICATION_GPUS || effect == DN_EFFECT_CELL)
            continue;
        dn_tuning_label ((enum dn_effect) effect, trace, name);
        scale = dn_scales_find (&tuning->cells, name);
        product *= scale ? scale->scale : 1;
    }
    return product;
}

/* What runs that are alike add, and how sure all of it is. */
static void put_history (const struct dn_tuning *tuning,
                         const float features[DN_N_FEATURES],
                         struct dn_trace *trace,
                         struct dn_range *range)
{
    struct dn_range alike;

    dn_trace_place (&tuning->history->kernel, features, trace);
    alike = dn_history_at (tuning->history, trace);
    range->p50 *= alike.p50;
    range->sigma = alike.sigma;
    range->quantiles = alike.quantiles;
}

struct dn_range dn_tuning_step (const struct dn_tuning *tuning,
                                const struct dn_spec *spec,
                                const struct dn_device *device,
                                const float features[DN_N_FEATURES])
{
    struct dn_range range = {.p50 = 1};
    const struct dn_scale *scale;
    struct dn_trace trace;
    char cell[DN_SCALE_NAME_MAX];

    if (!tuning)
        return range;
    dn_trace_name (spec, device, &trace);
    dn_tuning_label (DN_EFFECT_CELL, &trace, cell);
    range.p50 = tuning->step.scale * multiply (tuning, &trace);
    range.sigma = tuning->cell * tuning->cell; /* squared until the end */
    put_in (&tuning->cells, cell, tuning->cell, tuning->known, &range);
    scale = put_in (&tuning->applications,
                    dn_tuning_application (spec),
                    tuning->known,
                    tuning->device,
                    &range);
    put_in (&tuning->devices, device->name, tuning->device, tuning->none, &range);
    if (scale && spec->gpus > 1)
        range.p50 *= pow (scale->doubling, log2 ((double) spec->gpus));
    range.sigma = sqrt (fmax (range.sigma, 0));
    if (tuning->history)
        put_history (tuning, features, &trace, &range);
    return range;
}

/* How much of the site's own spread takes the place of the other. */
static double mix (const struct dn_tuning *tuning,
                   const struct dn_range *step,
                   double sigma)
{
    /* So many runs of the site count as much as what was known before. */
    const double half = 5;
    double site = step->sigma;
    double known;

    if (site > sigma)
        site = fmax (sigma, tuning->cell);
    known = (double) tuning->runs / ((double) tuning->runs + half);
    return sqrt (sigma * sigma + known * (site * site - sigma * sigma));
}

struct dn_range dn_tuning_spread (const struct dn_tuning *tuning,
                                  const struct dn_range *step,
                                  struct dn_range base)
{
    const double level = 0.95;
    struct dn_range own = {1, step->sigma, step->quantiles};

    if (!tuning)
        return base;
    base.p50 = 1;
    if (!tuning->history)
        base.sigma = mix (tuning, step, base.sigma);
    else if (tuning->history->level > 1
             || dn_range_at (own, level) < dn_range_at (base, level))
        return own;
    return base;
}
