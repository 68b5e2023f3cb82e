/* bundle.c - the learned part: reading a manifest and the files that it names
 *
 * Members that no prediction needs ("data", "training", "metrics") are for readers and
 * are ignored. Trees and points are in binary files (flat.h): as JSON they took most of
 * the load time of a bundle.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/bundle.h"

#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/limits.h"
#include "base/messages.h"
#include "predict/flat.h"
#include "predict/tuning.h"

static const char *const quantity_text[] = {"step", "memory", "power"};

const struct dn_names dn_quantity_names = {quantity_text,
                                           (int) DN_N_ELEMENTS (quantity_text)};

const struct dn_names dn_validated_level_names = DN_NAMES_OF (VALIDATED_LEVELS);

static const char tuning_file[] = "site.json";
static const char points_file[] = "domain.points";
static const char trees_suffix[] = ".trees";

/* Maximum bytes: headers, and the data after them (flat.h). */
#define TREES_MAX  (DN_FLAT_HEADER + 8 + 4 * DN_TREES_MAX + 8 * DN_TREE_NODES_MAX)
#define POINTS_MAX (DN_FLAT_HEADER + 4 * DN_N_FEATURES * DN_PROTOTYPES_MAX)

/* --- the parts of a manifest ----------------------------------------------------- */

static int check_version (const struct json_object *manifest, struct dn_err *err)
{
    int64_t version;

    if (dn_json_need_int (manifest, "dnnest_bundle", 0, INT64_MAX, &version, err) < 0)
        return -1;
    if (version != DN_BUNDLE_FORMAT)
        return dn_refuse (err, bundle_format, (long long) version, DN_BUNDLE_FORMAT);
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
        return dn_refuse (err, features_name, at, DN_QUOTED (name), key->name);
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
        return dn_refuse (
            err, features_version, (long long) version, DN_FEATURES_VERSION);
    names = dn_json_need_array (features, "names", DN_N_FEATURES, DN_N_FEATURES, err);
    if (!names)
        return dn_err_wrap (err, "features");
    for (int i = 0; i < DN_N_FEATURES; i++)
        if (check_feature (names, &dn_feature_keys ()[i], i, err) < 0)
            return -1;
    return 0;
}

static bool is_trees_file (const char *name)
{
    for (int i = 0; i < DN_N_QUANTITIES; i++)
        if (strncmp (name, quantity_text[i], strlen (quantity_text[i])) == 0
            && strcmp (name + strlen (quantity_text[i]), trees_suffix) == 0)
            return true;
    return false;
}

int64_t dn_bundle_file_max (const char *name)
{
    if (strcmp (name, DN_BUNDLE_MANIFEST) == 0)
        return DN_MANIFEST_MAX;
    if (strcmp (name, tuning_file) == 0)
        return DN_TUNING_MAX;
    if (strcmp (name, points_file) == 0)
        return POINTS_MAX;
    return is_trees_file (name) ? TREES_MAX : -1;
}

static int read_file (const char *name,
                      const struct json_object *entry,
                      struct dn_bundle_file *file,
                      struct dn_err *err)
{
    int64_t max = dn_bundle_file_max (name);

    if (max < 0 || strcmp (name, DN_BUNDLE_MANIFEST) == 0)
        return dn_refuse (err, bundle_name);
    if (!json_object_is_type (entry, json_type_object))
        return dn_refuse (err, bundle_object);
    if (dn_span_copy (dn_span_of (name), file->name, sizeof (file->name), "name", err)
            < 0
        || dn_json_need_int (entry, "bytes", 1, max, &file->bytes, err) < 0
        || dn_json_need_text (
               entry, "sha256", file->digest.hex, sizeof (file->digest.hex), err)
               < 0)
        return -1;
    if (strlen (file->digest.hex) != DN_DIGEST_LEN)
        return dn_refuse (err, bundle_digits, DN_DIGEST_LEN);
    return 0;
}

static int read_files (const struct json_object *manifest,
                       struct dn_bundle *bundle,
                       struct dn_err *err)
{
    struct json_object *files = dn_json_need_object (manifest, "files", err);

    if (!files)
        return -1;
    json_object_object_foreach (files, name, entry)
    {
        if (bundle->n_files == DN_BUNDLE_FILES_MAX)
            return dn_refuse (err, bundle_files, DN_BUNDLE_FILES_MAX);
        if (read_file (name, entry, &bundle->files[bundle->n_files++], err) < 0)
            return dn_err_wrap (err, dn_say_at_bundle_file, DN_QUOTED (name));
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

/* libxgboost must have confirmed the trees of this very file. */
static int check_confirmed (const struct json_object *entry,
                            const struct dn_bundle_file *file,
                            struct dn_err *err)
{
    const struct json_object *json = dn_json_member (entry, "confirmed");
    char version[DN_NAME_MAX];
    char digest[DN_DIGEST_LEN + 1];
    double difference;
    int64_t n_rows;

    if (!json)
        return dn_refuse (err, unconfirmed, file->name);
    json = dn_json_need_object (entry, "confirmed", err);
    if (!json)
        return -1;
    if (dn_json_need_text (json, "xgboost", version, sizeof (version), err) < 0
        || dn_json_need_text (json, "sha256", digest, sizeof (digest), err) < 0
        || dn_json_need_int (json, "rows", 1, INT64_MAX, &n_rows, err) < 0
        || dn_json_need_real (
               json, "difference", 0, DN_CONFIRM_TOLERANCE, &difference, err)
               < 0)
        return dn_err_wrap (err, "confirmed");
    if (strcmp (digest, file->digest.hex) != 0)
        return dn_refuse (err, confirmed_other, file->name);
    return 0;
}

static int read_correction (const struct json_object *residuals,
                            enum dn_quantity quantity,
                            struct dn_bundle *bundle,
                            struct dn_err *err)
{
    struct dn_correction *correction = &bundle->corrections[quantity];
    const char *name = dn_names_get (&dn_quantity_names, (int) quantity);
    const struct dn_bundle_file *file;
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
    file =
        is_trees_file (correction->file) ? find_file (bundle, correction->file) : NULL;
    if (!file)
        return dn_refuse (err, no_trees, name, DN_QUOTED (correction->file));
    return check_confirmed (entry, file, err) < 0
               ? dn_err_wrap (err, "residuals: %s", name)
               : 0;
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

/* Coordinates with a weight, and their scale; those of the device last. */
static int read_axes (const struct json_object *json,
                      struct dn_domain *domain,
                      struct dn_err *err)
{
    double scale[DN_N_FEATURES];
    double weight[DN_N_FEATURES];
    double sum = 0;

    if (dn_json_need_reals (json, "scale", 1e-9, 1e9, scale, DN_N_FEATURES, err) < 0
        || dn_json_need_reals (json, "weight", 0, 1e9, weight, DN_N_FEATURES, err) < 0)
        return -1;
    for (int i = 0; i < DN_N_FEATURES; i++)
        sum += weight[i];
    for (int device = 0; device < 2; device++) {
        for (int i = 0; i < DN_N_FEATURES; i++) {
            if (weight[i] <= 0
                || dn_feature_is_of_device ((enum dn_feature) i) != device)
                continue;
            domain->used[domain->n_used] = i;
            domain->scale[domain->n_used++] =
                (float) (sqrt (weight[i] / sum) / scale[i]);
        }
        while (domain->n_used % DN_AXES_GROUP > 0)
            domain->n_used++;
        if (!device)
            domain->n_network = domain->n_used;
    }
    if (domain->n_used == 0)
        return dn_refuse (err, weights);
    return 0;
}

static int read_knot (const struct json_object *entry,
                      double least,
                      struct dn_knot *knot,
                      struct dn_err *err)
{
    if (!json_object_is_type (entry, json_type_object))
        return dn_refuse (err, bundle_object);
    if (dn_json_need_real (
            entry, "distance", least, DN_FEATURE_MAX, &knot->distance, err)
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
            return dn_err_wrap (err, dn_say_at_knot, i);
        least = domain->knots[i].distance;
    }
    return 0;
}

static int read_crumbs (const struct json_object *json,
                        struct dn_crumbs *crumbs,
                        struct dn_err *err)
{
    const struct json_object *entry;

    if (!dn_json_member (json, "crumbs"))
        return 0;
    entry = dn_json_need_object (json, "crumbs", err);
    return !entry || dn_json_need_real (entry, "slope", 0, 1, &crumbs->slope, err) < 0
                   || dn_json_need_real (entry, "low", -1e3, 1e3, &crumbs->low, err) < 0
                   || dn_json_need_real (
                          entry, "high", crumbs->low, 1e3, &crumbs->high, err)
                          < 0
                   || dn_json_need_real (
                          entry, "at", crumbs->low, crumbs->high, &crumbs->at, err)
                          < 0
               ? -1
               : 0;
}

static int read_domain (const struct json_object *manifest,
                        struct dn_bundle *bundle,
                        struct dn_err *err)
{
    const struct json_object *json = dn_json_need_object (manifest, "domain", err);
    char name[DN_NAME_MAX];

    if (!json)
        return -1;
    if (dn_json_need_text (json, "file", name, sizeof (name), err) < 0
        || read_axes (json, &bundle->domain, err) < 0
        || read_knots (json, &bundle->domain, err) < 0
        || read_crumbs (json, &bundle->domain.crumbs, err) < 0)
        return dn_err_wrap (err, "domain");
    if (strcmp (name, points_file) != 0 || !find_file (bundle, name))
        return dn_refuse (err, no_points, DN_QUOTED (name));
    return 0;
}

static int read_groups (const struct json_object *json,
                        struct dn_bounds *bounds,
                        struct dn_err *err)
{
    struct json_object *groups = dn_json_need_object (json, "groups", err);

    if (!groups)
        return -1;
    json_object_object_foreach (groups, name, values)
    {
        struct dn_bound_group *group = &bounds->groups[bounds->n_groups];

        (void) values;
        if (bounds->n_groups == DN_BOUND_GROUPS_MAX)
            return dn_refuse (err, groups, DN_BOUND_GROUPS_MAX);
        group->quantiles = bounds->all;
        if (dn_name_copy (
                dn_span_of (name), group->name, sizeof (group->name), "groups", err)
                < 0
            || dn_quantiles_read (groups, name, &group->quantiles, err) < 0)
            return -1;
        bounds->n_groups++;
    }
    return 0;
}

/* Laws that have the levels of 'bounds->all'. */
static int read_laws (const struct json_object *json,
                      struct dn_bounds *bounds,
                      struct dn_err *err)
{
    return dn_quantiles_read (json, "all", &bounds->all, err) < 0
                   || (dn_json_member (json, "groups")
                       && read_groups (json, bounds, err) < 0)
               ? -1
               : 0;
}

static int read_within (const struct json_object *json,
                        struct dn_bounds *within,
                        struct dn_err *err)
{
    const struct json_object *entry;

    if (!dn_json_member (json, "within"))
        return 0;
    entry = dn_json_need_object (json, "within", err);
    return !entry || dn_levels_read (entry, &within->all, err) < 0
                   || read_laws (entry, within, err) < 0
               ? dn_err_wrap (err, "bounds: %s", "within")
               : 0;
}

static int read_bounds (const struct json_object *manifest,
                        struct dn_bundle *bundle,
                        struct dn_err *err)
{
    const struct json_object *json = dn_json_need_object (manifest, "bounds", err);
    struct dn_quantiles levels = {.n = 0};

    if (!json)
        return -1;
    if (dn_levels_read (json, &levels, err) < 0)
        return dn_err_wrap (err, "bounds");
    for (int i = 0; i < DN_N_QUANTITIES; i++) {
        const char *name = quantity_text[i];
        const struct json_object *entry;
        struct dn_bounds *bounds = &bundle->bounds[i];

        if (!dn_json_member (json, name))
            continue;
        bounds->all = levels;
        entry = dn_json_need_object (json, name, err);
        if (!entry || read_laws (entry, bounds, err) < 0)
            return dn_err_wrap (err, "bounds: %s", name);
    }
    if (read_within (json, &bundle->within, err) < 0)
        return -1;
    if (bundle->within.all.n > 0)
        dn_bounds_link (&bundle->bounds[DN_QUANTITY_STEP], &bundle->within);
    return 0;
}

static int read_validated_entry (const struct json_object *entry,
                                 struct dn_validated *validated,
                                 struct dn_err *err)
{
    if (!json_object_is_type (entry, json_type_object))
        return dn_refuse (err, bundle_object);
    if (dn_json_need_text (
            entry, "kind", validated->kind, sizeof (validated->kind), err)
            < 0
        || dn_json_need_text (
               entry, "stack", validated->stack, sizeof (validated->stack), err)
               < 0
        || dn_json_read_bool (entry, "corrected", &validated->corrected, err) < 0)
        return -1;
    return 0;
}

/* Bundles that were made before the residual was limited to what it helps have none. */
static int read_validated (const struct json_object *manifest,
                           struct dn_bundle *bundle,
                           struct dn_err *err)
{
    struct json_object *list;

    if (!dn_json_member (manifest, "validated"))
        return 0;
    list = dn_json_need_array (manifest, "validated", 1, DN_VALIDATED_MAX, err);
    if (!list)
        return -1;
    bundle->n_validated = (int) json_object_array_length (list);
    for (int i = 0; i < bundle->n_validated; i++)
        if (read_validated_entry (json_object_array_get_idx (list, (size_t) i),
                                  &bundle->validated[i],
                                  err)
            < 0)
            return dn_err_wrap (err, dn_say_at_validated, i);
    return 0;
}

/* --- the bundle ------------------------------------------------------------------ */

static int read_manifest (struct dn_span text,
                          struct dn_bundle *bundle,
                          struct dn_err *err)
{
    dn_cleanup (dn_json_free) struct json_object *manifest = NULL;

    if (text.len > DN_MANIFEST_MAX)
        return dn_refuse (err, bundle_size, text.len, DN_MANIFEST_MAX);
    manifest = dn_json_read (text, DN_BUNDLE_DEPTH_MAX, DN_MANIFEST_VALUES_MAX, err);
    if (!manifest || check_version (manifest, err) < 0
        || dn_json_need_text (
               manifest, "name", bundle->name, sizeof (bundle->name), err)
               < 0
        || check_features (manifest, err) < 0 || read_files (manifest, bundle, err) < 0
        || read_corrections (manifest, bundle, err) < 0
        || read_domain (manifest, bundle, err) < 0
        || read_validated (manifest, bundle, err) < 0)
        return -1;
    return read_bounds (manifest, bundle, err);
}

struct dn_bundle *dn_bundle_open (struct dn_span manifest, struct dn_err *err)
{
    struct dn_bundle *bundle = calloc (1, sizeof (*bundle));

    if (!bundle)
        return DN_NULL (dn_refuse (err, no_memory));
    if (read_manifest (manifest, bundle, err) == 0)
        return bundle;
    dn_err_wrap (err, "%s", DN_BUNDLE_MANIFEST);
    dn_bundle_free (bundle);
    return NULL;
}

/* Parse a file whose size and checksum have been checked. */
static int take_file (struct dn_bundle *bundle,
                      const char *name,
                      struct dn_span text,
                      struct dn_err *err)
{
    if (strcmp (name, tuning_file) == 0) {
        bundle->tuning = dn_tuning_read (text, err);
        return bundle->tuning ? 0 : -1;
    }
    if (strcmp (name, points_file) == 0)
        return dn_domain_read (text, &bundle->domain, err);
    for (int i = 0; i < DN_N_QUANTITIES; i++) {
        struct dn_correction *correction = &bundle->corrections[i];

        if (strcmp (name, correction->file) != 0 || correction->trees)
            continue;
        correction->trees = dn_trees_read (text, DN_N_FEATURES, err);
        if (!correction->trees)
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
        return dn_refuse (err, bundle_unlisted, DN_QUOTED (name));
    if ((int64_t) text.len != file->bytes)
        return dn_refuse (err, bundle_bytes, name, text.len, (long long) file->bytes);
    if (strcmp (dn_digest_of (text).hex, file->digest.hex) != 0)
        return dn_refuse (err, bundle_digest, name);
    if (file->added)
        return dn_refuse (err, bundle_twice, name);
    file->added = true;
    return take_file (bundle, name, text, err) < 0 ? dn_err_wrap (err, "%s", name) : 0;
}

int dn_bundle_close (struct dn_bundle *bundle, struct dn_err *err)
{
    for (int i = 0; i < bundle->n_files; i++)
        if (!bundle->files[i].added)
            return dn_refuse (err, bundle_missing, bundle->files[i].name);
    return 0;
}

void dn_bundle_free (struct dn_bundle *bundle)
{
    if (!bundle)
        return;
    for (int i = 0; i < DN_N_QUANTITIES; i++)
        dn_trees_free (bundle->corrections[i].trees);
    dn_tuning_free (bundle->tuning);
    dn_domain_free (&bundle->domain);
    free (bundle);
}

struct dn_validation dn_bundle_validation (const struct dn_bundle *bundle,
                                           const char *kind,
                                           const char *stack)
{
    struct dn_validation validation = {.unknown = bundle->n_validated == 0,
                                       .level = DN_VALIDATED_NOTHING,
                                       .corrected = bundle->n_validated == 0};
    bool unstated = strcmp (stack, DN_STACK_UNSTATED) == 0;

    for (int i = 0; i < bundle->n_validated; i++) {
        const struct dn_validated *validated = &bundle->validated[i];

        if (strcmp (validated->kind, kind) != 0)
            continue;
        if (validation.level == DN_VALIDATED_NOTHING)
            validation.level = unstated ? DN_VALIDATED_STACK : DN_VALIDATED_KIND;
        if (strcmp (validated->stack, stack) != 0)
            continue;
        validation.level = DN_VALIDATED_STACK;
        validation.corrected = validated->corrected;
    }
    return validation;
}

static const struct dn_quantiles *find_group (const struct dn_bounds *bounds,
                                              const char *name)
{
    for (int i = 0; i < bounds->n_groups; i++)
        if (strcmp (bounds->groups[i].name, name) == 0)
            return &bounds->groups[i].quantiles;
    return NULL;
}

const struct dn_quantiles *dn_bounds_at (const struct dn_bounds *bounds,
                                         const char *kind,
                                         const struct dn_validation *validation)
{
    const char *level =
        dn_names_get (&dn_validated_level_names, (int) validation->level);
    const struct dn_quantiles *found;
    char name[DN_NAME_MAX];

    if (validation->unknown)
        return dn_bounds_of (bounds, kind);
    if (validation->level == DN_VALIDATED_NOTHING)
        return dn_bounds_of (bounds, "");
    snprintf (name, sizeof (name), "%s.%s", kind, level);
    found = find_group (bounds, name);
    return found ? found : dn_bounds_of (bounds, level);
}

const struct dn_quantiles *dn_bounds_of (const struct dn_bounds *bounds,
                                         const char *group)
{
    const struct dn_quantiles *found = find_group (bounds, group);

    if (found)
        return found;
    return bounds->all.n > 0 ? &bounds->all : NULL;
}

void dn_bounds_link (struct dn_bounds *bounds, const struct dn_bounds *within)
{
    bounds->all.within = &within->all;
    for (int i = 0; i < bounds->n_groups; i++)
        bounds->groups[i].quantiles.within =
            dn_bounds_of (within, bounds->groups[i].name);
}
