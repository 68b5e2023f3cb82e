/* bundle.c - what was learned: reading a manifest and the files that it names
 *
 * Members that no prediction needs ("data", "training", "metrics") are for people and
 * passed over. Files are JSON, so a bundle can be read, compared and kept in git.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/bundle.h"

#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_lean.h"
#include "base/json_read.h"
#include "base/limits.h"
#include "predict/tuning.h"

/* Bounds on numbers, wide: they keep sums finite, the checks of sense are others. */
#define FEATURE_MAX  1e6
#define QUANTILE_MAX 50

static const char *const quantity_text[] = {"step", "memory", "power"};

const struct dn_names dn_quantity_names = {quantity_text,
                                           (int) DN_N_ELEMENTS (quantity_text)};

static const char tuning_file[] = "site.json";

/* --- the parts of a manifest ----------------------------------------------------- */

static int check_version (const struct json_object *manifest, struct dn_err *err)
{
    int64_t version;

    if (dn_json_need_int (manifest, "dnnest_bundle", 0, INT64_MAX, &version, err) < 0)
        return -1;
    if (version != DN_BUNDLE_FORMAT)
        return dn_err_set (err,
                           DN_E_VERSION,
                           "dnnest_bundle: format %lld, this program reads %d",
                           (long long) version,
                           DN_BUNDLE_FORMAT);
    return 0;
}

static int check_feature (const struct json_object *names,
                          const struct dn_feature_key *key,
                          int at,
                          struct dn_err *err)
{
    const struct json_object *value = json_object_array_get_idx (names, (size_t) at);
    const char *name = json_object_is_type (value, json_type_string)
                           ? json_object_get_string ((struct json_object *) value)
                           : "";

    if (strcmp (name, key->name) != 0)
        return dn_err_set (err,
                           DN_E_VERSION,
                           "features: number %d is '%s', expected '%s'",
                           at,
                           dn_quote (name, strlen (name)).text,
                           key->name);
    return 0;
}

static int check_features (const struct json_object *manifest, struct dn_err *err)
{
    const struct json_object *features =
        dn_json_need_object (manifest, "features", err);
    const struct json_object *names;
    int64_t version;

    if (!features
        || dn_json_need_int (features, "version", 0, INT64_MAX, &version, err) < 0)
        return -1;
    if (version != DN_FEATURES_VERSION)
        return dn_err_set (err,
                           DN_E_VERSION,
                           "features: version %lld, this program has %d",
                           (long long) version,
                           DN_FEATURES_VERSION);
    names = dn_json_need_array (features, "names", DN_N_FEATURES, DN_N_FEATURES, err);
    if (!names)
        return dn_err_wrap (err, "features");
    for (int i = 0; i < DN_N_FEATURES; i++)
        if (check_feature (names, &dn_feature_keys ()[i], i, err) < 0)
            return -1;
    return 0;
}

int64_t dn_bundle_file_max (const char *name)
{
    if (strcmp (name, DN_BUNDLE_MANIFEST) == 0)
        return DN_MANIFEST_MAX;
    if (strcmp (name, tuning_file) == 0)
        return DN_TUNING_MAX;
    for (int i = 0; i < DN_N_QUANTITIES; i++)
        if (strncmp (name, quantity_text[i], strlen (quantity_text[i])) == 0
            && strcmp (name + strlen (quantity_text[i]), ".json") == 0)
            return DN_BOOSTER_MAX;
    return -1;
}

static int read_file (const char *name,
                      const struct json_object *entry,
                      struct dn_bundle_file *file,
                      struct dn_err *err)
{
    int64_t max = dn_bundle_file_max (name);

    if (max < 0 || strcmp (name, DN_BUNDLE_MANIFEST) == 0)
        return dn_err_set (err, DN_E_RANGE, "no file of a bundle has this name");
    if (!json_object_is_type (entry, json_type_object))
        return dn_err_set (err, DN_E_SYNTAX, "expected an object");
    if (dn_span_copy (dn_span_of (name), file->name, sizeof (file->name), "name", err)
            < 0
        || dn_json_need_int (entry, "bytes", 1, max, &file->bytes, err) < 0
        || dn_json_need_text (
               entry, "sha256", file->digest.hex, sizeof (file->digest.hex), err)
               < 0)
        return -1;
    if (strlen (file->digest.hex) != DN_DIGEST_LEN)
        return dn_err_set (
            err, DN_E_SYNTAX, "sha256: expected %d digits", DN_DIGEST_LEN);
    return 0;
}

static int read_files (const struct json_object *manifest,
                       struct dn_bundle *bundle,
                       struct dn_err *err)
{
    struct json_object *files = dn_json_need_object (manifest, "files", err);
    struct json_object_iterator at;
    struct json_object_iterator end;

    if (!files)
        return -1;
    at = json_object_iter_begin (files);
    end = json_object_iter_end (files);
    for (; !json_object_iter_equal (&at, &end); json_object_iter_next (&at)) {
        const char *name = json_object_iter_peek_name (&at);

        if (bundle->n_files == DN_BUNDLE_FILES_MAX)
            return dn_err_set (
                err, DN_E_LIMIT, "files: more than %d", DN_BUNDLE_FILES_MAX);
        if (read_file (name,
                       json_object_iter_peek_value (&at),
                       &bundle->files[bundle->n_files++],
                       err)
            < 0)
            return dn_err_wrap (
                err, "files: '%s'", dn_quote (name, strlen (name)).text);
    }
    return 0;
}

static struct dn_bundle_file *find_file (struct dn_bundle *bundle, const char *name)
{
    for (int i = 0; i < bundle->n_files; i++)
        if (strcmp (bundle->files[i].name, name) == 0)
            return &bundle->files[i];
    return NULL;
}

static int read_correction (const struct json_object *residuals,
                            enum dn_quantity quantity,
                            struct dn_bundle *bundle,
                            struct dn_err *err)
{
    struct dn_correction *correction = &bundle->corrections[quantity];
    const char *name = dn_names_get (&dn_quantity_names, (int) quantity);
    const struct json_object *entry;

    if (!dn_json_member (residuals, name))
        return 0;
    entry = dn_json_need_object (residuals, name, err);
    if (!entry
        || dn_json_need_text (
               entry, "file", correction->file, sizeof (correction->file), err)
               < 0
        || dn_json_need_real (entry, "shrink", 0, 1, &correction->shrink, err) < 0
        || dn_json_need_real (entry, "limit", 0, 3, &correction->limit, err) < 0)
        return dn_err_wrap (err, "residuals: %s", name);
    if (dn_bundle_file_max (correction->file) != DN_BOOSTER_MAX
        || !find_file (bundle, correction->file))
        return dn_err_set (err,
                           DN_E_RANGE,
                           "residuals: %s: file '%s' is no booster among the files",
                           name,
                           dn_quote (correction->file, strlen (correction->file)).text);
    return 0;
}

static int read_corrections (const struct json_object *manifest,
                             struct dn_bundle *bundle,
                             struct dn_err *err)
{
    const struct json_object *residuals =
        dn_json_need_object (manifest, "residuals", err);

    for (int i = 0; residuals && i < DN_N_QUANTITIES; i++)
        if (read_correction (residuals, (enum dn_quantity) i, bundle, err) < 0)
            return -1;
    return residuals ? 0 : -1;
}

/* A number within min..max for each feature. */
static int read_features (const struct json_object *json,
                          const struct dn_json_lean *lean,
                          const char *key,
                          double min,
                          double max,
                          double out[DN_N_FEATURES],
                          struct dn_err *err)
{
    size_t n;
    const struct json_object *array =
        dn_json_lean_need (lean, json, key, DN_N_FEATURES, DN_N_FEATURES, &n, err);

    if (!array)
        return -1;
    dn_json_lean_read (lean, array, out, n);
    for (size_t i = 0; i < n; i++)
        if (!(out[i] >= min && out[i] <= max))
            return dn_err_set (err,
                               DN_E_RANGE,
                               "%s: value %zu is no number of %g..%g",
                               key,
                               i,
                               min,
                               max);
    return 0;
}

/* Coordinates with a weight, and their scale. */
static int read_axes (const struct json_object *json,
                      const struct dn_json_lean *lean,
                      struct dn_domain *domain,
                      struct dn_err *err)
{
    double scale[DN_N_FEATURES];
    double weight[DN_N_FEATURES];
    double sum = 0;

    if (read_features (json, lean, "scale", 1e-9, 1e9, scale, err) < 0
        || read_features (json, lean, "weight", 0, 1e9, weight, err) < 0)
        return -1;
    for (int i = 0; i < DN_N_FEATURES; i++)
        sum += weight[i];
    for (int i = 0; i < DN_N_FEATURES; i++) {
        if (weight[i] <= 0)
            continue;
        domain->used[domain->n_used] = i;
        domain->scale[domain->n_used++] = (float) (sqrt (weight[i] / sum) / scale[i]);
    }
    if (domain->n_used == 0)
        return dn_err_set (err, DN_E_RANGE, "weight: all are 0");
    return 0;
}

static int read_point (const struct json_object *row,
                       const struct dn_json_lean *lean,
                       const struct dn_domain *domain,
                       float *point,
                       struct dn_err *err)
{
    double values[DN_N_FEATURES];

    if (dn_json_lean_count (lean, row) != DN_N_FEATURES)
        return dn_err_set (
            err, DN_E_SYNTAX, "expected an array of %d numbers", DN_N_FEATURES);
    dn_json_lean_read (lean, row, values, DN_N_FEATURES);
    for (int i = 0; i < domain->n_used; i++) {
        double value = values[domain->used[i]];

        if (!(fabs (value) <= FEATURE_MAX))
            return dn_err_set (err,
                               DN_E_RANGE,
                               "value %d is no number of %g..%g",
                               domain->used[i],
                               -FEATURE_MAX,
                               FEATURE_MAX);
        point[i] = (float) value * domain->scale[i];
    }
    return 0;
}

static int read_points (const struct json_object *json,
                        const struct dn_json_lean *lean,
                        struct dn_domain *domain,
                        struct dn_err *err)
{
    struct json_object *rows =
        dn_json_need_array (json, "prototypes", 1, DN_PROTOTYPES_MAX, err);
    size_t n = rows ? json_object_array_length (rows) : 0;

    if (!rows)
        return -1;
    domain->points = calloc (n * (size_t) domain->n_used, sizeof (*domain->points));
    if (!domain->points)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (; domain->n_points < (int) n; domain->n_points++)
        if (read_point (json_object_array_get_idx (rows, (size_t) domain->n_points),
                        lean,
                        domain,
                        domain->points + (ptrdiff_t) domain->n_points * domain->n_used,
                        err)
            < 0)
            return dn_err_wrap (err, "prototype %d", domain->n_points);
    return dn_domain_sketch (domain, err);
}

static int read_knot (const struct json_object *entry,
                      double least,
                      struct dn_knot *knot,
                      struct dn_err *err)
{
    if (!json_object_is_type (entry, json_type_object))
        return dn_err_set (err, DN_E_SYNTAX, "expected an object");
    if (dn_json_need_real (entry, "distance", least, FEATURE_MAX, &knot->distance, err)
            < 0
        || dn_json_need_real (entry, "residual", 0, 1, &knot->residual, err) < 0
        || dn_json_need_real (entry, "sigma", 1e-3, 10, &knot->sigma, err) < 0)
        return -1;
    return 0;
}

static int read_knots (const struct json_object *json,
                       struct dn_domain *domain,
                       struct dn_err *err)
{
    struct json_object *knots =
        dn_json_need_array (json, "knots", 1, DN_KNOTS_MAX, err);
    double least = 0;

    if (!knots)
        return -1;
    domain->n_knots = (int) json_object_array_length (knots);
    for (int i = 0; i < domain->n_knots; i++) {
        if (read_knot (json_object_array_get_idx (knots, (size_t) i),
                       least,
                       &domain->knots[i],
                       err)
            < 0)
            return dn_err_wrap (err, "knot %d", i);
        least = domain->knots[i].distance;
    }
    return 0;
}

static int read_domain (const struct json_object *manifest,
                        const struct dn_json_lean *lean,
                        struct dn_domain *domain,
                        struct dn_err *err)
{
    const struct json_object *json = dn_json_need_object (manifest, "domain", err);

    if (!json)
        return -1;
    if (read_axes (json, lean, domain, err) < 0
        || read_points (json, lean, domain, err) < 0
        || read_knots (json, domain, err) < 0)
        return dn_err_wrap (err, "domain");
    return 0;
}

/* Quantiles at the levels whose scores stand in 'q'. */
static int read_quantiles (const struct json_object *json,
                           const char *key,
                           struct dn_quantiles *q,
                           struct dn_err *err)
{
    if (dn_json_need_reals (
            json, key, -QUANTILE_MAX, QUANTILE_MAX, q->values, q->n, err)
        < 0)
        return -1;
    for (int i = 1; i < q->n; i++)
        if (q->values[i] < q->values[i - 1])
            return dn_err_set (err,
                               DN_E_RANGE,
                               "%s: value %d is less than the one before it",
                               dn_quote (key, strlen (key)).text,
                               i);
    return 0;
}

static int read_groups (const struct json_object *json,
                        struct dn_bounds *bounds,
                        struct dn_err *err)
{
    struct json_object *groups = dn_json_need_object (json, "groups", err);
    struct json_object_iterator at;
    struct json_object_iterator end;

    if (!groups)
        return -1;
    at = json_object_iter_begin (groups);
    end = json_object_iter_end (groups);
    for (; !json_object_iter_equal (&at, &end); json_object_iter_next (&at)) {
        const char *name = json_object_iter_peek_name (&at);
        struct dn_bound_group *group = &bounds->groups[bounds->n_groups];

        if (bounds->n_groups == DN_BOUND_GROUPS_MAX)
            return dn_err_set (
                err, DN_E_LIMIT, "groups: more than %d", DN_BOUND_GROUPS_MAX);
        group->quantiles = bounds->all;
        if (dn_name_copy (
                dn_span_of (name), group->name, sizeof (group->name), "groups", err)
                < 0
            || read_quantiles (groups, name, &group->quantiles, err) < 0)
            return -1;
        bounds->n_groups++;
    }
    return 0;
}

static int read_levels (const struct json_object *json,
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
            return dn_err_set (err, DN_E_RANGE, "levels: expected ascending values");
        q->scores[i] = values[i] > 0.5 ? dn_normal_score (values[i]) : 0;
    }
    return 0;
}

static int read_bounds (const struct json_object *manifest,
                        struct dn_bundle *bundle,
                        struct dn_err *err)
{
    const struct json_object *json = dn_json_need_object (manifest, "bounds", err);
    struct dn_quantiles levels = {.n = 0};

    if (!json)
        return -1;
    if (read_levels (json, &levels, err) < 0)
        return dn_err_wrap (err, "bounds");
    for (int i = 0; i < DN_N_QUANTITIES; i++) {
        const char *name = quantity_text[i];
        const struct json_object *entry;
        struct dn_bounds *bounds = &bundle->bounds[i];

        if (!dn_json_member (json, name))
            continue;
        bounds->all = levels;
        entry = dn_json_need_object (json, name, err);
        if (!entry || read_quantiles (entry, "all", &bounds->all, err) < 0
            || (dn_json_member (entry, "groups")
                && read_groups (entry, bounds, err) < 0))
            return dn_err_wrap (err, "bounds: %s", name);
    }
    return 0;
}

/* --- the bundle ------------------------------------------------------------------ */

static int read_manifest (struct dn_span text,
                          struct dn_bundle *bundle,
                          struct dn_err *err)
{
    dn_cleanup (dn_json_free) struct json_object *manifest = NULL;
    dn_cleanup (dn_json_lean_free) struct dn_json_lean lean = {.text = NULL};

    if (text.len > DN_MANIFEST_MAX)
        return dn_err_set (err,
                           DN_E_LIMIT,
                           "%zu bytes, at most %d expected",
                           text.len,
                           DN_MANIFEST_MAX);
    if (dn_json_lean_make (text, &lean, err) < 0)
        return -1;
    manifest = dn_json_read ((struct dn_span){lean.text, lean.len},
                             DN_BUNDLE_DEPTH_MAX,
                             DN_MANIFEST_VALUES_MAX,
                             err);
    if (!manifest || check_version (manifest, err) < 0
        || dn_json_need_text (
               manifest, "name", bundle->name, sizeof (bundle->name), err)
               < 0
        || check_features (manifest, err) < 0 || read_files (manifest, bundle, err) < 0
        || read_corrections (manifest, bundle, err) < 0
        || read_domain (manifest, &lean, &bundle->domain, err) < 0)
        return -1;
    return read_bounds (manifest, bundle, err);
}

struct dn_bundle *dn_bundle_open (struct dn_span manifest, struct dn_err *err)
{
    struct dn_bundle *bundle = calloc (1, sizeof (*bundle));

    if (!bundle) {
        dn_err_set (err, DN_E_NOMEM, "out of memory");
        return NULL;
    }
    if (read_manifest (manifest, bundle, err) == 0)
        return bundle;
    dn_err_wrap (err, "%s", DN_BUNDLE_MANIFEST);
    dn_bundle_free (bundle);
    return NULL;
}

/* The file's bytes are those that were written: make of them what they are. */
static int take_file (struct dn_bundle *bundle,
                      const char *name,
                      struct dn_span text,
                      struct dn_err *err)
{
    if (strcmp (name, tuning_file) == 0) {
        bundle->tuning = dn_tuning_read (text, err);
        return bundle->tuning ? 0 : -1;
    }
    for (int i = 0; i < DN_N_QUANTITIES; i++) {
        struct dn_correction *correction = &bundle->corrections[i];

        if (strcmp (name, correction->file) != 0 || correction->residual)
            continue;
        correction->residual = dn_residual_new (text, DN_N_FEATURES, err);
        if (!correction->residual)
            return -1;
    }
    return 0;
}

int dn_bundle_add (struct dn_bundle *bundle,
                   const char *name,
                   struct dn_span text,
                   struct dn_err *err)
{
    struct dn_bundle_file *file = find_file (bundle, name);

    if (!file)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "'%s' is not among the manifest's files",
                           dn_quote (name, strlen (name)).text);
    if ((int64_t) text.len != file->bytes)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "%s: %zu bytes, the manifest says %lld",
                           name,
                           text.len,
                           (long long) file->bytes);
    if (strcmp (dn_digest_of (text).hex, file->digest.hex) != 0)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "%s: its SHA-256 is not the one that the manifest says",
                           name);
    if (file->added)
        return dn_err_set (err, DN_E_BUG, "%s: added twice", name);
    file->added = true;
    return take_file (bundle, name, text, err) < 0 ? dn_err_wrap (err, "%s", name) : 0;
}

int dn_bundle_close (struct dn_bundle *bundle, struct dn_err *err)
{
    for (int i = 0; i < bundle->n_files; i++)
        if (!bundle->files[i].added)
            return dn_err_set (
                err, DN_E_IO, "%s: missing from the bundle", bundle->files[i].name);
    return 0;
}

void dn_bundle_free (struct dn_bundle *bundle)
{
    if (!bundle)
        return;
    for (int i = 0; i < DN_N_QUANTITIES; i++)
        dn_residual_free (bundle->corrections[i].residual);
    dn_tuning_free (bundle->tuning);
    dn_domain_free (&bundle->domain);
    free (bundle);
}

const struct dn_quantiles *dn_bounds_of (const struct dn_bounds *bounds,
                                         const char *group)
{
    for (int i = 0; i < bounds->n_groups; i++)
        if (strcmp (bounds->groups[i].name, group) == 0)
            return &bounds->groups[i].quantiles;
    return bounds->all.n > 0 ? &bounds->all : NULL;
}
