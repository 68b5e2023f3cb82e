/* bundle_show.c - the contents of a bundle, as JSON and as tables
 *
 * Only the names and sizes of files were checked in a manifest. Any other member that
 * is missing or of another type is shown as unknown.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "bundle_show.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common.h"
#include "output/grid.h"
#include "output/json.h"
#include "output/show.h"

/* Text cells of the tables. */
#define CELL_MAX 160

static const char site_name[] = "site.json";

/* These members of the manifest are copied to the JSON output unchanged. */
static const char *const parts[] = {"data",
                                    "training",
                                    "residuals",
                                    "bounds",
                                    "metrics"};

static const struct dn_grid_column metric_columns[] = {{"METRIC", false},
                                                       {"VALUE", true}};
static const struct dn_grid_column bound_columns[] = {{"BOUNDS OF", false},
                                                      {"GROUPS", true},
                                                      {"QUANTILES", false}};
static const struct dn_grid_column file_columns[] = {{"FILE", false},
                                                     {"BYTES", true},
                                                     {"SHA-256", false}};

int64_t dn_bundle_show_count (const struct dn_manifest *manifest,
                              const char *object,
                              const char *key)
{
    struct json_object *count =
        dn_json_member (dn_json_member (manifest->json, object), key);

    return json_object_is_type (count, json_type_int) ? json_object_get_int64 (count)
                                                      : -1;
}

int64_t dn_bundle_show_bytes (const struct dn_parcel *parcel)
{
    int64_t sum = 0;

    for (int i = 0; i < parcel->manifest.n_files; i++)
        sum += parcel->manifest.files[i].size;
    return sum;
}

/* The number of members or elements; -1 for any other type. */
static int64_t count_of (const struct json_object *json)
{
    if (json_object_is_type (json, json_type_object))
        return json_object_object_length (json);
    if (json_object_is_type (json, json_type_array))
        return (int64_t) json_object_array_length (json);
    return -1;
}

/* The part of the bundle that was learned at the site. json_object_put () it; NULL if
 * it is absent or cannot be read. */
static struct json_object *read_site (const struct dn_parcel *parcel)
{
    const struct dn_manifest_file *file =
        dn_manifest_find (&parcel->manifest, site_name);

    if (!file)
        return NULL;
    return dn_json_read (dn_blob_span (&parcel->files[file - parcel->manifest.files]),
                         DN_BUNDLE_DEPTH_MAX,
                         DN_MANIFEST_VALUES_MAX,
                         NULL);
}

static int64_t site_runs (const struct json_object *site)
{
    struct json_object *runs = dn_json_member (site, "runs");

    return json_object_is_type (runs, json_type_int) ? json_object_get_int64 (runs)
                                                     : -1;
}

static int64_t site_count (const struct json_object *site, const char *key)
{
    return count_of (dn_json_member (site, key));
}

/* Of all users. Before version 4 of site.json there were none. */
static int64_t site_applications (const struct json_object *site)
{
    struct json_object *history = dn_json_member (site, "history");
    struct json_object *users = dn_json_member (history, "users");
    struct json_object_iterator it;
    struct json_object_iterator end;
    int64_t n = 0;

    if (!json_object_is_type (users, json_type_object)) {
        n = count_of (dn_json_member (history, "applications"));
        return n > 0 ? n : 0;
    }
    it = json_object_iter_begin (users);
    end = json_object_iter_end (users);
    for (; !json_object_iter_equal (&it, &end); json_object_iter_next (&it)) {
        int64_t own = count_of (json_object_iter_peek_value (&it));

        n += own > 0 ? own : 0;
    }
    return n;
}

static void add_site (struct json_object *json, const struct dn_parcel *parcel)
{
    dn_cleanup (dn_json_free) struct json_object *site = read_site (parcel);
    struct json_object *to;

    if (!site) {
        json_object_object_add (json, "site", NULL);
        return;
    }
    to = dn_json_add_object (json, "site");
    dn_json_add_count (to, "runs", site_runs (site));
    dn_json_add_count (to, "n_constants", site_count (site, "constants"));
    dn_json_add_count (to, "n_devices", site_count (site, "devices"));
    dn_json_add_count (to, "n_applications", site_applications (site));
}

void dn_bundle_show_files (struct json_object *json, const struct dn_parcel *parcel)
{
    struct json_object *files = dn_json_add_array (json, "files");

    for (int i = 0; i < parcel->manifest.n_files; i++) {
        const struct dn_manifest_file *file = &parcel->manifest.files[i];
        struct json_object *row = dn_json_append_object (files);

        dn_json_add_text (row, "file", file->name);
        dn_json_add_count (row, "bytes", file->size);
        dn_json_add_text (row, "sha256", file->digest.hex);
    }
}

static void add_features (struct json_object *json, const struct dn_manifest *manifest)
{
    struct json_object *features = dn_json_member (manifest->json, "features");
    struct json_object *to = dn_json_add_object (json, "features");

    dn_json_add_count (
        to, "version", dn_bundle_show_count (manifest, "features", "version"));
    dn_json_add_count (to, "count", count_of (dn_json_member (features, "names")));
}

struct json_object *dn_bundle_show_json (const char *path,
                                         const struct dn_parcel *parcel)
{
    struct json_object *json = json_object_new_object ();

    dn_json_add_text (json, "dir", path);
    dn_json_add_count (json, "format", DN_BUNDLE_FORMAT);
    dn_json_add_text (json, "name", parcel->manifest.name);
    dn_json_add_count (
        json, "serial", parcel->manifest.serial > 0 ? parcel->manifest.serial : -1);
    dn_json_add_text (json, "id", dn_parcel_id (parcel).hex);
    dn_json_add_bool (json, "signed", parcel->signature.data != NULL);
    add_features (json, &parcel->manifest);
    for (size_t i = 0; i < DN_N_ELEMENTS (parts); i++)
        json_object_object_add (
            json,
            parts[i],
            json_object_get (dn_json_member (parcel->manifest.json, parts[i])));
    dn_bundle_show_files (json, parcel);
    add_site (json, parcel);
    return json;
}

/* "4812 rows, 140 models, ..."; missing counts are left out. */
static void print_counts (const char *title, const struct json_object *json)
{
    const char *between = " ";

    printf ("%-10s", title);
    if (json_object_is_type (json, json_type_object)) {
        json_object_object_foreach (json, key, value)
        {
            if (!json_object_is_type (value, json_type_int))
                continue;
            printf ("%s%" PRId64 " %s",
                    between,
                    json_object_get_int64 (value),
                    dn_quote (key, strlen (key)).text);
            between = ", ";
        }
    }
    printf ("%s\n", between[0] == ' ' ? " -" : "");
}

static struct dn_shown number_text (struct json_object *json)
{
    struct dn_shown out = {"-"};

    if (json_object_is_type (json, json_type_int)
        || json_object_is_type (json, json_type_double))
        snprintf (out.text, sizeof (out.text), "%.4g", json_object_get_double (json));
    return out;
}

/* Every number below 'json', under its path: "step.mape". */
/* NOLINTNEXTLINE(misc-no-recursion): the manifest's reader limits the depth */
static void add_metrics (struct dn_grid *grid,
                         const char *path,
                         struct json_object *json)
{
    if (!json_object_is_type (json, json_type_object)) {
        dn_grid_add (grid, "%s", path);
        if (json_object_is_type (json, json_type_string))
            dn_grid_add (grid,
                         "%s",
                         dn_quote (json_object_get_string (json),
                                   strlen (json_object_get_string (json)))
                             .text);
        else
            dn_grid_add (grid, "%s", number_text (json).text);
        return;
    }
    json_object_object_foreach (json, key, value)
    {
        char text[CELL_MAX];
        struct dn_buf buf = dn_buf_on (text, sizeof (text));

        dn_buf_add (&buf,
                    "%s%s%s",
                    path,
                    path[0] ? "." : "",
                    dn_quote (key, strlen (key)).text);
        add_metrics (grid, text, value);
    }
}

static int print_metrics (const struct dn_manifest *manifest)
{
    struct json_object *metrics = dn_json_member (manifest->json, "metrics");
    dn_cleanup (dn_grid_free) struct dn_grid grid = dn_grid_of (metric_columns, 2);

    if (count_of (metrics) <= 0)
        return DN_EXIT_DONE;
    printf ("\n");
    add_metrics (&grid, "", metrics);
    return dn_grid_print (&grid);
}

static void add_quantiles (struct dn_grid *grid,
                           struct json_object *levels,
                           struct json_object *quantiles)
{
    int64_t n = count_of (levels);
    char text[CELL_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    if (!json_object_is_type (quantiles, json_type_array))
        n = 0;
    for (int64_t i = 0; i < n; i++)
        dn_buf_add (
            &buf,
            "%s%s: %s",
            i > 0 ? ", " : "",
            number_text (json_object_array_get_idx (levels, (size_t) i)).text,
            number_text (json_object_array_get_idx (quantiles, (size_t) i)).text);
    dn_grid_add (grid, "%s", n > 0 ? text : "-");
}

/* The calibration: how far measured values lie from predicted ones. */
static int print_bounds (const struct dn_manifest *manifest)
{
    struct json_object *bounds = dn_json_member (manifest->json, "bounds");
    struct json_object *levels = dn_json_member (bounds, "levels");
    dn_cleanup (dn_grid_free) struct dn_grid grid = dn_grid_of (bound_columns, 3);

    if (!json_object_is_type (levels, json_type_array) || count_of (bounds) < 2)
        return DN_EXIT_DONE;
    printf ("\n");
    json_object_object_foreach (bounds, key, value)
    {
        int64_t n_groups = count_of (dn_json_member (value, "groups"));

        if (!json_object_is_type (value, json_type_object))
            continue;
        dn_grid_add (&grid, "%s", dn_quote (key, strlen (key)).text);
        dn_grid_add (&grid, "%" PRId64, n_groups < 0 ? 0 : n_groups);
        add_quantiles (&grid, levels, dn_json_member (value, "all"));
    }
    return dn_grid_print (&grid);
}

static int print_files (const struct dn_manifest *manifest)
{
    dn_cleanup (dn_grid_free) struct dn_grid grid = dn_grid_of (file_columns, 3);

    printf ("\n");
    for (int i = 0; i < manifest->n_files; i++) {
        dn_grid_add (&grid, "%s", manifest->files[i].name);
        dn_grid_add (&grid, "%" PRId64, manifest->files[i].size);
        dn_grid_add (&grid, "%s", manifest->files[i].digest.hex);
    }
    return dn_grid_print (&grid);
}

/* Print the spread of the predictions' errors at this site. */
static void print_history (const struct json_object *history)
{
    struct json_object *level = dn_json_member (history, "level");
    double value = 1;

    if (!level)
        return;
    (void) dn_json_number (level, &value);
    printf ("history    the site's spreads times %.2f\n", value);
}

static void print_site (const struct dn_parcel *parcel)
{
    dn_cleanup (dn_json_free) struct json_object *site = read_site (parcel);

    if (!site) {
        printf ("site       not tuned to a site\n");
        return;
    }
    printf ("site       %" PRId64 " runs, %" PRId64 " constants, %" PRId64
            " devices, %" PRId64 " applications\n",
            site_runs (site),
            site_count (site, "constants"),
            site_count (site, "devices"),
            site_applications (site));
    print_history (dn_json_member (site, "history"));
}

static void print_features (const struct dn_manifest *manifest)
{
    struct json_object *features = dn_json_member (manifest->json, "features");
    int64_t version = dn_bundle_show_count (manifest, "features", "version");
    int64_t n_names = count_of (dn_json_member (features, "names"));

    if (version < 0 || n_names < 0)
        printf ("features   -\n");
    else
        printf (
            "features   version %" PRId64 ", %" PRId64 " of them\n", version, n_names);
}

int dn_bundle_show (const char *path, const struct dn_parcel *parcel)
{
    const struct dn_manifest *manifest = &parcel->manifest;

    printf ("bundle     %s\n", path);
    printf ("name       %s\n", manifest->name);
    printf ("id         %s\n", dn_parcel_id (parcel).hex);
    printf ("format     %d%s\n",
            DN_BUNDLE_FORMAT,
            parcel->signature.data ? ", signed" : "");
    print_features (manifest);
    print_counts ("data", dn_json_member (manifest->json, "data"));
    print_site (parcel);
    if (print_metrics (manifest) != DN_EXIT_DONE
        || print_bounds (manifest) != DN_EXIT_DONE)
        return DN_EXIT_BUG;
    return print_files (manifest);
}
