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
#define FEATURE_MAX 1e6
#define WEIGHT_MAX  1e6
#define MATRIX_MAX  1e9
#define SCORE_MAX   50.0

/* --- reading --------------------------------------------------------------------- */

static int read_effects (struct json_object *json,
                         struct dn_kernel *kernel,
                         struct dn_err *err)
{
    const char *known[DN_N_EFFECTS + 1] = {NULL};
    struct json_object *object = dn_json_need_object (json, "effects", err);

    if (!object)
        return -1;
    for (int i = 0; i < DN_N_EFFECTS; i++)
        known[i] = dn_names_get (&dn_effect_names, i);
    if (dn_json_read_keys (object, known, err) < 0)
        return dn_err_wrap (err, "effects");
    for (int i = 0; i < DN_N_EFFECTS; i++)
        if (dn_json_need_real (
                object, known[i], 0, SPREAD_MAX, &kernel->effects[i], err)
            < 0)
            return dn_err_wrap (err, "effects");
    return 0;
}

static int find_feature (const char *name)
{
    const struct dn_feature_key *keys = dn_feature_keys ();

    for (int i = 0; i < DN_N_FEATURES; i++)
        if (strcmp (keys[i].name, name) == 0)
            return i;
    return -1;
}

/* The order of the members is that of the anchors' numbers. */
static int read_lengths (struct json_object *json,
                         struct dn_kernel *kernel,
                         struct dn_err *err)
{
    struct json_object *object = dn_json_need_object (json, "lengths", err);
    struct json_object_iterator it;
    struct json_object_iterator end;

    if (!object)
        return -1;
    it = json_object_iter_begin (object);
    end = json_object_iter_end (object);
    for (; !json_object_iter_equal (&it, &end); json_object_iter_next (&it)) {
        const char *name = json_object_iter_peek_name (&it);
        int feature = find_feature (name);
        double length;

        if (feature < 0)
            return dn_err_set (err,
                               DN_E_RANGE,
                               "lengths: '%s': no feature",
                               dn_quote (name, strlen (name)).text);
        if (dn_json_need_real (object, name, 1e-3, 1e6, &length, err) < 0)
            return dn_err_wrap (err, "lengths");
        kernel->used[kernel->n_used] = feature;
        kernel->rate[kernel->n_used++] = (float) (1 / length);
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

static int read_anchor (struct json_object *json,
                        const struct dn_kernel *kernel,
                        struct dn_trace *trace,
                        double *weight,
                        struct dn_err *err)
{
    static const char *const known[] = {
        "application", "device", "precision", "gpus", "weight", "at", NULL};
    double at[DN_N_FEATURES];
    int64_t gpus;

    if (dn_json_read_keys (json, known, err) < 0
        || dn_json_need_text (json, "application", trace->application, DN_NAME_MAX, err)
               < 0
        || dn_json_need_text (json, "device", trace->device, DN_NAME_MAX, err) < 0
        || dn_json_need_text (json, "precision", trace->precision, DN_NAME_MAX, err) < 0
        || dn_json_need_int (json, "gpus", 1, DN_COUNT_MAX, &gpus, err) < 0
        || dn_json_need_real (json, "weight", -WEIGHT_MAX, WEIGHT_MAX, weight, err) < 0
        || dn_json_need_reals (
               json, "at", -FEATURE_MAX, FEATURE_MAX, at, kernel->n_used, err)
               < 0)
        return -1;
    trace->doublings = log2 ((double) gpus);
    for (int i = 0; i < kernel->n_used; i++)
        trace->at[i] = (float) at[i] * kernel->rate[i];
    return 0;
}

static int read_matrix (struct json_object *json,
                        struct dn_history *history,
                        struct dn_err *err)
{
    size_t n = (size_t) history->n * ((size_t) history->n + 1) / 2;
    struct json_object *array = dn_json_need_array (json, "matrix", n, n, err);

    if (!array)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (!dn_json_number (json_object_array_get_idx (array, i), &history->matrix[i])
            || fabs (history->matrix[i]) > MATRIX_MAX)
            return dn_err_set (err,
                               DN_E_RANGE,
                               "matrix: value %zu is no number of %g..%g",
                               i,
                               -MATRIX_MAX,
                               MATRIX_MAX);
    return 0;
}

/* All but the anchors and what is made of them. */
static int read_head (struct json_object *json,
                      struct dn_history *history,
                      struct dn_err *err)
{
    static const char *const known[] = {"noise",
                                        "smooth",
                                        "shared",
                                        "effects",
                                        "lengths",
                                        "constants",
                                        "level",
                                        "law",
                                        "anchors",
                                        "matrix",
                                        NULL};
    struct dn_kernel *kernel = &history->kernel;

    if (dn_json_read_keys (json, known, err) < 0
        || dn_json_need_real (json, "noise", 1e-3, SPREAD_MAX, &kernel->noise, err) < 0
        || dn_json_need_real (json, "smooth", 0, SPREAD_MAX, &kernel->smooth, err) < 0
        || dn_json_need_real (json, "shared", 0, 1, &kernel->shared, err) < 0
        || dn_json_need_real (
               json, "constants", 0, SPREAD_MAX, &history->constants, err)
               < 0
        || dn_json_need_real (json, "level", 0.1, 10, &history->level, err) < 0
        || read_effects (json, kernel, err) < 0 || read_lengths (json, kernel, err) < 0)
        return -1;
    return read_law (json, history, err);
}

static int read_body (struct json_object *json,
                      struct json_object *anchors,
                      struct dn_history *history,
                      struct dn_err *err)
{
    if (read_head (json, history, err) < 0)
        return -1;
    for (int i = 0; i < history->n; i++)
        if (read_anchor (json_object_array_get_idx (anchors, (size_t) i),
                         &history->kernel,
                         &history->anchors[i],
                         &history->weight[i],
                         err)
            < 0)
            return dn_err_wrap (err, "anchor %d", i);
    return read_matrix (json, history, err);
}

struct dn_history *dn_history_read (struct json_object *json, struct dn_err *err)
{
    struct json_object *anchors =
        dn_json_need_array (json, "anchors", 0, DN_ANCHORS_MAX, err);
    struct dn_history *history =
        anchors ? dn_history_new ((int) json_object_array_length (anchors)) : NULL;

    if (anchors && !history)
        dn_err_set (err, DN_E_NOMEM, "out of memory");
    if (history && read_body (json, anchors, history, err) < 0) {
        dn_history_free (history);
        history = NULL;
    }
    if (!history)
        dn_err_wrap (err, "history");
    return history;
}

/* --- writing --------------------------------------------------------------------- */

/* Weights of runs that are alike cancel one another: nine digits, as features have. */
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

static struct json_object *anchor_of (const struct dn_kernel *kernel,
                                      const struct dn_trace *trace,
                                      double weight)
{
    struct json_object *object = json_object_new_object ();
    struct json_object *at = json_object_new_array ();

    json_object_object_add (
        object, "application", json_object_new_string (trace->application));
    json_object_object_add (object, "device", json_object_new_string (trace->device));
    json_object_object_add (
        object, "precision", json_object_new_string (trace->precision));
    json_object_object_add (
        object, "gpus", json_object_new_int64 (llround (exp2 (trace->doublings))));
    json_object_object_add (object, "weight", real_of (weight));
    for (int i = 0; i < kernel->n_used; i++)
        json_object_array_add (
            at, real_of ((double) trace->at[i] / (double) kernel->rate[i]));
    json_object_object_add (object, "at", at);
    return object;
}

struct json_object *dn_history_write (const struct dn_history *history)
{
    const struct dn_kernel *kernel = &history->kernel;
    const struct dn_feature_key *keys = dn_feature_keys ();
    struct json_object *json = json_object_new_object ();
    struct json_object *array;
    struct json_object *object;

    json_object_object_add (json, "noise", real_of (kernel->noise));
    json_object_object_add (json, "smooth", real_of (kernel->smooth));
    json_object_object_add (json, "shared", real_of (kernel->shared));
    object = dn_json_put_object (json, "effects");
    for (int i = 0; i < DN_N_EFFECTS; i++)
        json_object_object_add (
            object, dn_names_get (&dn_effect_names, i), real_of (kernel->effects[i]));
    object = dn_json_put_object (json, "lengths");
    for (int i = 0; i < kernel->n_used; i++)
        json_object_object_add (
            object, keys[kernel->used[i]].name, real_of (1 / (double) kernel->rate[i]));
    json_object_object_add (json, "constants", real_of (history->constants));
    json_object_object_add (json, "level", real_of (history->level));
    add_law (json, history);
    array = json_object_new_array ();
    for (int i = 0; i < history->n; i++)
        json_object_array_add (
            array, anchor_of (kernel, &history->anchors[i], history->weight[i]));
    json_object_object_add (json, "anchors", array);
    array = json_object_new_array ();
    for (int i = 0; i < history->n * (history->n + 1) / 2; i++)
        json_object_array_add (array, real_of (history->matrix[i]));
    json_object_object_add (json, "matrix", array);
    return json;
}
