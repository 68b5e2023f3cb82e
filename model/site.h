/* site.h - everything an installation has configured, read once and const ever after
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SITE_H
#define DN_SITE_H

#include "hardware/hardware.h"
#include "policy/policy.h"
#include "predict/refine.h"
#include "spec/spec.h"

#define DN_SITE_PATH_MAX 512

struct dn_site {
    struct dn_rules rules;
    struct dn_constants constants;
    struct dn_catalogue catalogue; /* owned */
    struct dn_gpu_types gpu_types; /* points into the catalogue */
    struct dn_datasets datasets;
    struct dn_bundle *bundle; /* NULL: none, the white box alone; owned */
    /* Why there is none, where one was meant to be; or empty. A broken bundle does not
     * make a site unusable. */
    struct dn_err bundle_err;
    double carbon_g_per_kwh; /* Carbon=, -1 unset */
    double pue;              /* PUE= */
    double core_jpeg;        /* CoreJpeg=, images/s; -1 unset, as the next two */
    double core_tokens;      /* CoreTokens=, 1/s */
    double core_bytes;       /* CoreBytes=, byte/s */
    char hardware_dir[DN_SITE_PATH_MAX];  /* HardwareDir= */
    char datasets_file[DN_SITE_PATH_MAX]; /* Datasets= */
    char bundle_dir[DN_SITE_PATH_MAX];    /* Bundle=; "none" */
    char bundle_keys[DN_SITE_PATH_MAX];   /* BundleKeys=; "none" */
    char sidecar_dir[DN_SITE_PATH_MAX]; /* SidecarDir=; "": no file of users is read */
};

enum dn_site_key_type {
    DN_SITE_PATH,
    DN_SITE_PATH_OR_NONE, /* "none": there is none */
    DN_SITE_REAL
};

/* Keys of dnnest.conf that are neither rules nor Gpu lines. */
struct dn_site_key {
    const char *name;
    size_t offset; /* in struct dn_site */
    const char *help;
    enum dn_site_key_type type;
    double min; /* of a real */
    double max;
};
const struct dn_site_key *dn_site_keys (int *n_keys);

/* The value of a path that is optional and not there. */
#define DN_SITE_NONE "none"

/* An empty site with all defaults, and where its catalogue and data sets are read from
 * unless dnnest.conf says otherwise.
 */
int dn_site_init (struct dn_site *site,
                  const char *hardware_dir,
                  const char *datasets_file,
                  struct dn_err *err);

/* Read the paths out of the text of dnnest.conf; everything else in it is left for
 * dn_site_read (). */
int dn_site_read_paths (struct dn_site *site,
                        struct dn_span text,
                        const char *file,
                        struct dn_err *err);

/* Read dnnest.conf. The catalogue must have been read before: "Gpu" lines name its
 * devices. Errors name file and line.
 */
int dn_site_read (struct dn_site *site,
                  struct dn_span text,
                  const char *file,
                  struct dn_err *err);

/* Apply the "dnnest_<key>=<value>" entries of SlurmctldParameters; others are passed
 * over. 'parameters' may be NULL.
 */
int dn_site_override (struct dn_site *site, const char *parameters, struct dn_err *err);

/* Put what was measured of the site's loaders over the constants, whose last change it
 * has to be.
 */
void dn_site_set_loaders (struct dn_site *site);

/* What the site predicts with. Borrows from it. */
struct dn_predictor dn_site_predictor (const struct dn_site *site);

/* NULL-safe. */
void dn_site_free (struct dn_site *site);

#endif
