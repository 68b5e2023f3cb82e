/* bundle_show.c - the contents of a bundle, as JSON and as text
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

#include "base/json_read.h"
#include "base/limits.h"
#include "common.h"
#include "host/load.h"
#include "output/json.h"
#include "output/show.h"

static const char site_name[] = "site.json";

/* These members of the manifest are copied to the JSON output unchanged. */
static const char *const parts[] = {"data",
                                    "training",
                                    "residuals",
                                    "bounds",
                                    "metrics"};

static int64_t manifest_count (const struct json_object *manifest,
                               const char *object,
                               const char *key)
{
    struct json_object *count = dn_json_member (dn_json_member (manifest, object), key);

    return json_object_is_type (count, json_type_int) ? json_object_get_int64 (count)
                                                      : -1;
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

/* --- loading ------------------------------------------------------------------------
 */

static int read_member (const char *dir,
                        const char *name,
                        struct json_object **json,
                        struct dn_digest *digest,
                        struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    size_t len;

    if (dn_load_member (dir, name, &text, &len, err) < 0)
        return -1;
    if (digest)
        *digest = dn_digest_of ((struct dn_span){text, len});
    *json = dn_json_read (
        (struct dn_span){text, len}, DN_BUNDLE_DEPTH_MAX, DN_MANIFEST_VALUES_MAX, err);
    return *json ? 0 : -1;
}

int dn_bundle_shown_load (const char *dir,
                          struct dn_bundle_shown *shown,
                          struct dn_err *err)
{
    *shown = (struct dn_bundle_shown){.dir = dir};
    shown->bundle = dn_load_bundle (dir, err);
    if (!shown->bundle
        || read_member (dir, DN_BUNDLE_MANIFEST, &shown->manifest, &shown->id, err) < 0)
        return -1;
    return shown->bundle->tuning ? read_member (dir, site_name, &shown->site, NULL, err)
                                 : 0;
}

void dn_bundle_shown_free (struct dn_bundle_shown *shown)
{
    dn_bundle_free (shown->bundle);
    json_object_put (shown->manifest);
    json_object_put (shown->site);
    memset (shown, 0, sizeof (*shown));
}

/* --- JSON ---------------------------------------------------------------------------
 */

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

static void add_site (struct json_object *json, const struct json_object *site)
{
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

static void add_files (struct json_object *json, const struct dn_bundle *bundle)
{
    struct json_object *files = dn_json_add_array (json, "files");

    for (int i = 0; i < bundle->n_files; i++) {
        struct json_object *row = dn_json_append_object (files);

        dn_json_add_text (row, "file", bundle->files[i].name);
        dn_json_add_count (row, "bytes", bundle->files[i].bytes);
        dn_json_add_text (row, "sha256", bundle->files[i].digest.hex);
    }
}

static void add_features (struct json_object *json, const struct json_object *manifest)
{
    struct json_object *features = dn_json_member (manifest, "features");
    struct json_object *to = dn_json_add_object (json, "features");

    dn_json_add_count (to, "version", manifest_count (manifest, "features", "version"));
    dn_json_add_count (to, "count", count_of (dn_json_member (features, "names")));
}

struct json_object *dn_bundle_show_json (const struct dn_bundle_shown *shown)
{
    struct json_object *json = json_object_new_object ();

    dn_json_add_text (json, "dir", shown->dir);
    dn_json_add_count (json, "format", DN_BUNDLE_FORMAT);
    dn_json_add_text (json, "name", shown->bundle->name);
    dn_json_add_text (json, "id", shown->id.hex);
    add_features (json, shown->manifest);
    for (size_t i = 0; i < DN_N_ELEMENTS (parts); i++)
        json_object_object_add (
            json,
            parts[i],
            json_object_get (dn_json_member (shown->manifest, parts[i])));
    add_files (json, shown->bundle);
    add_site (json, shown->site);
    return json;
}

/* --- text -------------------------------------------------------------------------
 */

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

static void print_site (const struct json_object *site)
{
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

static void print_features (const struct json_object *manifest)
{
    struct json_object *features = dn_json_member (manifest, "features");
    int64_t version = manifest_count (manifest, "features", "version");
    int64_t n_names = count_of (dn_json_member (features, "names"));

    if (version < 0 || n_names < 0)
        printf ("features   -\n");
    else
        printf (
            "features   version %" PRId64 ", %" PRId64 " of them\n", version, n_names);
}

void dn_bundle_show (const struct dn_bundle_shown *shown)
{
    printf ("bundle     %s\n", shown->dir);
    printf ("name       %s\n", shown->bundle->name);
    printf ("id         %s\n", shown->id.hex);
    printf ("format     %d\n", DN_BUNDLE_FORMAT);
    print_features (shown->manifest);
    print_counts ("data", dn_json_member (shown->manifest, "data"));
    print_site (shown->site);
}
