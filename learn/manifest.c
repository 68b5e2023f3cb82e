/* manifest.c - write the manifest of a bundle
 *
 * It contains no date and no machine name, so the same runs give the same bytes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "learn/boost.h"
#include "learn/parts.h"

/* A member whose value cannot be allocated is null, which readers refuse. */

static void add_text (struct json_object *to, const char *key, const char *text)
{
    json_object_object_add (to, key, json_object_new_string (text));
}

static struct json_object *add_array (struct json_object *to, const char *key)
{
    struct json_object *made = json_object_new_array ();

    json_object_object_add (to, key, made);
    return made;
}

static struct json_object *append_object (struct json_object *array)
{
    struct json_object *made = json_object_new_object ();

    json_object_array_add (array, made);
    return made;
}

/* Six digits. */
static struct json_object *real (double value)
{
    char text[32];

    if (!isfinite (value))
        return NULL;
    snprintf (text, sizeof (text), "%.6g", value);
    return json_object_new_double_s (value, text);
}

static void add_real (struct json_object *to, const char *key, double value)
{
    json_object_object_add (to, key, real (value));
}

static void add_count (struct json_object *to, const char *key, int64_t value)
{
    json_object_object_add (to, key, json_object_new_int64 (value));
}

static void add_validated (struct json_object *manifest,
                           const struct dn_training *training)
{
    struct json_object *list = add_array (manifest, "validated");

    for (int i = 0; i < training->n_validated; i++) {
        const struct dn_validated *validated = &training->validated[i];
        struct json_object *entry = append_object (list);

        add_text (entry, "kind", validated->kind);
        add_text (entry, "stack", validated->stack);
        json_object_object_add (
            entry, "corrected", json_object_new_boolean (validated->corrected));
    }
}

static void add_features (struct json_object *manifest)
{
    struct json_object *features = dn_json_put_object (manifest, "features");
    struct json_object *names;

    add_count (features, "version", DN_FEATURES_VERSION);
    names = add_array (features, "names");
    for (int i = 0; i < DN_N_FEATURES; i++)
        json_object_array_add (names,
                               json_object_new_string (dn_feature_keys ()[i].name));
}

static void add_data (struct json_object *manifest, const struct dn_training *training)
{
    const struct dn_runs *runs = &training->runs;
    struct json_object *data = dn_json_put_object (manifest, "data");
    struct json_object *files;

    add_count (data, "rows", runs->n_rows);
    add_count (data, "used", runs->n);
    add_count (data, "censored", runs->n_censored);
    add_count (data, "models", runs->labels[DN_LABEL_MODEL].n);
    add_count (data, "sources", runs->labels[DN_LABEL_SOURCE].n);
    add_count (data, "gpus", runs->labels[DN_LABEL_GPU].n);
    files = add_array (data, "files");
    for (int i = 0; i < training->n_files; i++) {
        struct json_object *file = append_object (files);

        add_text (file, "name", training->files[i].name);
        add_count (file, "rows", training->files[i].rows);
        add_text (file, "sha256", training->files[i].digest.hex);
    }
}

static void add_training (struct json_object *manifest,
                          const struct dn_training *training)
{
    struct json_object *json = dn_json_put_object (manifest, "training");
    struct json_object *parameters;
    const struct dn_boost_parameter *parameter;
    char version[32];

    add_count (json, "seed", (int64_t) training->seed);
    add_count (json, "folds", training->max_folds);
    add_real (json, "margin", training->margin);
    if (training->bounds_only)
        return;
    dn_boost_version (version, sizeof (version));
    add_text (json, "xgboost", version);
    parameters = dn_json_put_object (json, "parameters");
    add_count (parameters, "rounds", dn_boost_rounds ());
    for (int i = 0; (parameter = dn_boost_parameter_at (i)); i++)
        add_text (parameters, parameter->name, parameter->value);
}

static void add_residuals (struct json_object *manifest,
                           const struct dn_training *training)
{
    struct json_object *residuals = dn_json_put_object (manifest, "residuals");
    struct json_object *step;
    struct json_object *confirmed;
    char version[32];

    if (training->bounds_only)
        return;
    step = dn_json_put_object (residuals, "step");
    dn_boost_version (version, sizeof (version));
    add_text (step, "file", DN_TRAIN_STEP_FILE);
    add_real (step, "shrink", 1); /* the knots of the domain do the shrinking */
    add_real (step, "limit", DN_TRAIN_LIMIT);
    confirmed = dn_json_put_object (step, "confirmed");
    add_text (confirmed, "xgboost", version);
    add_text (
        confirmed, "sha256", dn_digest_of (dn_flat_file_span (&training->step)).hex);
    add_count (confirmed, "rows", training->confirmed.n_rows);
    add_real (confirmed, "difference", training->confirmed.difference);
}

static void add_domain (struct json_object *manifest, const struct dn_domain *domain)
{
    struct json_object *json = dn_json_put_object (manifest, "domain");
    struct json_object *scale = add_array (json, "scale");
    struct json_object *weight = add_array (json, "weight");
    struct json_object *knots = add_array (json, "knots");
    struct json_object *crumbs;

    add_text (json, "file", DN_TRAIN_POINTS_FILE);
    for (int f = 0; f < DN_N_FEATURES; f++) {
        double unit = 1 / ((double) domain->scale[f] * sqrt (DN_N_FEATURES));

        json_object_array_add (scale, real (unit));
        json_object_array_add (weight, real (1));
    }
    for (int k = 0; k < domain->n_knots; k++) {
        struct json_object *knot = append_object (knots);

        add_real (knot, "distance", domain->knots[k].distance);
        add_real (knot, "residual", domain->knots[k].residual);
        add_real (knot, "sigma", domain->knots[k].sigma);
    }
    crumbs = dn_json_put_object (json, "crumbs");
    add_real (crumbs, "slope", domain->crumbs.slope);
    add_real (crumbs, "at", domain->crumbs.at);
    add_real (crumbs, "low", domain->crumbs.low);
    add_real (crumbs, "high", domain->crumbs.high);
}

static void add_reals (struct json_object *to,
                       const char *key,
                       const double *values,
                       int n)
{
    struct json_object *list = add_array (to, key);

    for (int i = 0; i < n; i++)
        json_object_array_add (list, real (values[i]));
}

static void add_laws (struct json_object *to, const struct dn_bounds *laws)
{
    struct json_object *groups;

    add_reals (to, "all", laws->all.values, laws->all.n);
    groups = dn_json_put_object (to, "groups");
    for (int g = 0; g < laws->n_groups; g++)
        add_reals (groups,
                   laws->groups[g].name,
                   laws->groups[g].quantiles.values,
                   laws->groups[g].quantiles.n);
}

static void add_bounds (struct json_object *manifest,
                        const struct dn_bounds bounds[DN_N_QUANTITIES],
                        const struct dn_bounds *within)
{
    struct json_object *json = dn_json_put_object (manifest, "bounds");
    struct json_object *entry;

    add_reals (json, "levels", dn_train_levels, DN_TRAIN_LEVELS);
    for (int q = 0; q < DN_N_QUANTITIES; q++) {
        if (bounds[q].all.n == 0)
            continue;
        entry = dn_json_put_object (json, dn_names_get (&dn_quantity_names, q));
        add_laws (entry, &bounds[q]);
    }
    if (within->all.n == 0)
        return;
    entry = dn_json_put_object (json, "within");
    add_reals (entry, "levels", dn_train_within_levels, DN_TRAIN_WITHIN_LEVELS);
    add_laws (entry, within);
}

static void add_errors (struct json_object *to,
                        const char *key,
                        const struct dn_errors *errors)
{
    struct json_object *json = dn_json_put_object (to, key);

    add_real (json, "mean", errors->mean);
    add_real (json, "median", errors->median);
    add_real (json, "per_model", errors->per_model);
}

static void add_level (struct json_object *to,
                       const struct dn_judgement *judgement,
                       int level)
{
    double percent = 100 * dn_judged_levels[level];
    char key[32];

    snprintf (key, sizeof (key), "coverage_p%.0f", percent);
    add_real (to, key, judgement->coverage[level]);
    snprintf (key, sizeof (key), "tightness_p%.0f", percent);
    add_real (to, key, judgement->tightness[level]);
    snprintf (key, sizeof (key), "models_p%.0f", percent);
    add_real (to, key, judgement->models[level]);
}

/* Of the runs at each level of validation, if there were any. */
static void add_widths (struct json_object *to, const struct dn_judgement *judgement)
{
    struct json_object *json = dn_json_put_object (to, "validated");

    for (int l = 0; l < DN_N_VALIDATED_LEVELS; l++) {
        const struct dn_width *width = &judgement->widths[l];
        struct json_object *entry;

        if (width->n == 0)
            continue;
        entry = dn_json_put_object (json, dn_names_get (&dn_validated_level_names, l));
        add_count (entry, "rows", width->n);
        add_real (entry, "coverage_p95", width->coverage);
        add_real (entry, "width_p95", width->width);
    }
}

/* By tenths of the stated confidence; those without runs are left out. */
static void add_reliability (struct json_object *to,
                             const struct dn_judgement *judgement)
{
    struct json_object *list = add_array (to, "reliability");

    for (int b = 0; b < DN_RELIABILITY_BINS; b++) {
        const struct dn_reliability *bin = &judgement->reliability[b];
        struct json_object *entry;

        if (bin->n == 0)
            continue;
        entry = append_object (list);
        add_count (entry, "rows", bin->n);
        add_real (entry, "votes", bin->votes);
        add_real (entry, "stated", bin->stated);
        add_real (entry, "within", bin->within);
    }
}

static void add_metrics (struct json_object *manifest,
                         const struct dn_training *training)
{
    struct json_object *metrics = dn_json_put_object (manifest, "metrics");

    for (int s = 0; s < DN_N_SCHEMES; s++) {
        const struct dn_judgement *j = &training->judgements[s];
        char key[40];
        struct json_object *json;

        if (j->n == 0)
            continue;
        snprintf (key, sizeof (key), "%s_left_out", dn_names_get (&dn_scheme_names, s));
        json = dn_json_put_object (metrics, key);
        add_count (json, "rows", j->n);
        add_errors (json, "white_box", &j->white_box);
        add_errors (json, "learned", &j->learned);
        for (int l = 0; l < DN_N_JUDGED; l++)
            add_level (json, j, l);
        add_real (json, "worst_family_p95", j->worst_family);
        add_real (json, "votes_p95", j->votes_covered);
        add_widths (json, j);
        add_reliability (json, j);
    }
}

static void add_file (struct json_object *files,
                      const char *name,
                      const struct dn_flat_file *file)
{
    struct json_object *entry = dn_json_put_object (files, name);

    add_count (entry, "bytes", (int64_t) file->len);
    add_text (entry, "sha256", dn_digest_of (dn_flat_file_span (file)).hex);
}

static void add_files (struct json_object *manifest, const struct dn_training *training)
{
    struct json_object *files = dn_json_put_object (manifest, "files");

    add_file (files, DN_TRAIN_POINTS_FILE, &training->points);
    if (!training->bounds_only)
        add_file (files, DN_TRAIN_STEP_FILE, &training->step);
}

int dn_manifest_write (struct dn_training *training,
                       const struct dn_domain *domain,
                       const struct dn_bounds bounds[DN_N_QUANTITIES],
                       const struct dn_bounds *within,
                       struct dn_err *err)
{
    dn_cleanup (dn_json_free) struct json_object *manifest = json_object_new_object ();
    const char *text;

    add_count (manifest, "dnnest_bundle", DN_BUNDLE_FORMAT);
    add_text (manifest, "name", "default");
    add_features (manifest);
    add_data (manifest, training);
    add_training (manifest, training);
    add_residuals (manifest, training);
    add_domain (manifest, domain);
    add_validated (manifest, training);
    add_bounds (manifest, bounds, within);
    add_metrics (manifest, training);
    add_files (manifest, training);
    text = json_object_to_json_string_ext (
        manifest, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
    training->manifest = text ? malloc (strlen (text) + 2) : NULL;
    if (!training->manifest)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    snprintf (training->manifest, strlen (text) + 2, "%s\n", text);
    return 0;
}
