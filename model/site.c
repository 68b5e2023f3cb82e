/* site.c - dnnest.conf: rules, GPU types, paths
 *
 * A line is a rule ("Mode=enforce"), a path ("HardwareDir=/..."), or a GPU type that
 * begins with "Gpu": the word "Gpu Type=a100 Device=..." is written as one line.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "site.h"

#include <stdlib.h>
#include <string.h>

#include "base/keyline.h"

static const struct dn_site_key site_keys[] = {
    {"HardwareDir",
     offsetof (struct dn_site, hardware_dir),
     "directory of the hardware catalogue, one file per device",
     DN_SITE_PATH,
     0,
     0},
    {"Datasets",
     offsetof (struct dn_site, datasets_file),
     "table of data sets",
     DN_SITE_PATH,
     0,
     0},
    {"Bundle",
     offsetof (struct dn_site, bundle_dir),
     "directory of the model bundle, or none",
     DN_SITE_PATH_OR_NONE,
     0,
     0},
    {"BundleKeys",
     offsetof (struct dn_site, bundle_keys),
     "public keys that model bundles are signed with, a file or a directory, or none",
     DN_SITE_PATH_OR_NONE,
     0,
     0},
    {"SidecarDir",
     offsetof (struct dn_site, sidecar_dir),
     "directory of the sidecars that comments name (dnnest:@FILE)",
     DN_SITE_PATH,
     0,
     0},
    {"Carbon",
     offsetof (struct dn_site, carbon_g_per_kwh),
     "grams of CO2 per kWh of the grid",
     DN_SITE_REAL,
     0,
     2000},
    {"PUE",
     offsetof (struct dn_site, pue),
     "energy of the data centre per energy of its computers",
     DN_SITE_REAL,
     1,
     10},
    {"CoreJpeg",
     offsetof (struct dn_site, core_jpeg),
     "images that one core decodes and resizes per second",
     DN_SITE_REAL,
     20,
     10000},
    {"CoreTokens",
     offsetof (struct dn_site, core_tokens),
     "tokens of text per second from one core",
     DN_SITE_REAL,
     1000,
     1e8},
    {"CoreBytes",
     offsetof (struct dn_site, core_bytes),
     "bytes of undecoded arrays per second from one core",
     DN_SITE_REAL,
     1e6,
     1e11},
    /* End of site_keys */
};

const struct dn_site_key *dn_site_keys (int *n_keys)
{
    *n_keys = (int) DN_N_ELEMENTS (site_keys);
    return site_keys;
}

int dn_site_init (struct dn_site *site,
                  const char *hardware_dir,
                  const char *datasets_file,
                  struct dn_err *err)
{
    memset (site, 0, sizeof (*site));
    site->rules = dn_rules_default ();
    site->constants = dn_constants_default;
    site->carbon_g_per_kwh = -1;
    site->pue = 1;
    site->core_jpeg = site->core_tokens = site->core_bytes = -1;
    memcpy (site->bundle_dir, DN_SITE_NONE, sizeof (DN_SITE_NONE));
    memcpy (site->bundle_keys, DN_SITE_NONE, sizeof (DN_SITE_NONE));
    if (dn_span_copy (dn_span_of (hardware_dir),
                      site->hardware_dir,
                      sizeof (site->hardware_dir),
                      "HardwareDir",
                      err)
            < 0
        || dn_span_copy (dn_span_of (datasets_file),
                         site->datasets_file,
                         sizeof (site->datasets_file),
                         "Datasets",
                         err)
               < 0)
        return -1;
    return 0;
}

/* Is the line one of a GPU type? The keyword stands alone in front ("Gpu Type=..."). */
static bool is_gpu_line (const struct dn_keyline *line)
{
    return dn_span_is (line->word, "Gpu");
}

static const struct dn_site_key *find_key (struct dn_span key)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (site_keys); i++)
        if (dn_span_is (key, site_keys[i].name))
            return &site_keys[i];
    return NULL;
}

static int set_path (struct dn_site *site,
                     const struct dn_site_key *key,
                     struct dn_span value,
                     struct dn_err *err)
{
    bool none = key->type == DN_SITE_PATH_OR_NONE && dn_span_is (value, DN_SITE_NONE);

    if (!none && (value.len == 0 || value.text[0] != '/'))
        return dn_err_set (err,
                           DN_E_RANGE,
                           "%s: '%s' is not an absolute path%s",
                           key->name,
                           dn_quote (value.text, value.len).text,
                           key->type == DN_SITE_PATH_OR_NONE ? " or " DN_SITE_NONE
                                                             : "");
    if (none)
        value = dn_span_of (DN_SITE_NONE);
    return dn_span_copy (
        value, (char *) site + key->offset, DN_SITE_PATH_MAX, key->name, err);
}

static int set_real (struct dn_site *site,
                     const struct dn_site_key *key,
                     struct dn_span value,
                     struct dn_err *err)
{
    double real;

    if (dn_real_read (value, key->name, key->min, key->max, &real, err) < 0)
        return -1;
    memcpy ((char *) site + key->offset, &real, sizeof (real));
    return 0;
}

/* A key of the site itself: paths are set in the first pass, all else in the second. */
static int set_key (struct dn_site *site,
                    const struct dn_site_key *key,
                    struct dn_span value,
                    bool paths,
                    struct dn_err *err)
{
    if ((key->type != DN_SITE_REAL) != paths)
        return 0;
    return paths ? set_path (site, key, value, err) : set_real (site, key, value, err);
}

static int read_line (struct dn_site *site,
                      const struct dn_keyline *line,
                      bool paths,
                      struct dn_err *err)
{
    if (line->word.len > 0 && !is_gpu_line (line))
        return dn_err_set (err,
                           DN_E_SYNTAX,
                           "'%s' is not of the form Key=Value",
                           dn_quote (line->word.text, line->word.len).text);
    if (is_gpu_line (line))
        return paths ? 0
                     : dn_gpu_types_add (&site->gpu_types, line, &site->catalogue, err);
    for (int i = 0; i < line->n_pairs; i++) {
        const struct dn_pair *pair = &line->pairs[i];
        const struct dn_site_key *key = find_key (pair->key);

        if (key && set_key (site, key, pair->value, paths, err) < 0)
            return -1;
        if (!key && !paths
            && dn_rules_set (&site->rules, pair->key, pair->value, err) < 0)
            return -1;
    }
    return 0;
}

/* Both passes read the same lines; the first takes the paths, the second the rest. */
static int read_lines (struct dn_site *site,
                       struct dn_span text,
                       const char *file,
                       bool paths,
                       struct dn_err *err)
{
    struct dn_keyline line = {.words = true};
    int more;

    while ((more = dn_keyline_next (&text, &line, err)) > 0)
        if (read_line (site, &line, paths, err) < 0)
            return dn_keyline_wrap (&line, file, err);
    return more < 0 ? dn_err_wrap (err, "%s", file) : 0;
}

int dn_site_read_paths (struct dn_site *site,
                        struct dn_span text,
                        const char *file,
                        struct dn_err *err)
{
    return read_lines (site, text, file, true, err);
}

int dn_site_read (struct dn_site *site,
                  struct dn_span text,
                  const char *file,
                  struct dn_err *err)
{
    return read_lines (site, text, file, false, err);
}

int dn_site_override (struct dn_site *site, const char *parameters, struct dn_err *err)
{
    static const char prefix[] = "dnnest_";
    struct dn_span rest = dn_span_of (parameters);

    while (rest.text) {
        struct dn_span value = dn_span_trim (dn_span_cut (&rest, ","));
        struct dn_span key = dn_span_cut (&value, "=");

        if (key.len < sizeof (prefix)
            || !dn_word_equal (
                key.text, sizeof (prefix) - 1, prefix, sizeof (prefix) - 1))
            continue;
        key.text += sizeof (prefix) - 1;
        key.len -= sizeof (prefix) - 1;
        if (dn_rules_set (&site->rules, key, value, err) < 0)
            return dn_err_wrap (err, "SlurmctldParameters");
    }
    return 0;
}

void dn_site_set_loaders (struct dn_site *site)
{
    if (site->core_jpeg > 0)
        site->constants.core_jpeg = site->core_jpeg;
    if (site->core_tokens > 0)
        site->constants.core_tokens = site->core_tokens;
    if (site->core_bytes > 0)
        site->constants.core_bytes = site->core_bytes;
}

struct dn_predictor dn_site_predictor (const struct dn_site *site)
{
    return (struct dn_predictor){&site->constants, site->bundle};
}

void dn_site_free (struct dn_site *site)
{
    if (!site)
        return;
    dn_catalogue_free (&site->catalogue);
    dn_bundle_free (site->bundle);
    memset (site, 0, sizeof (*site));
}
