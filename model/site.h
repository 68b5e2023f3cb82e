/* site.h - everything an installation has configured, read once and const ever after
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SITE_H
#define DN_SITE_H

#include "hardware/hardware.h"
#include "policy/policy.h"
#include "predict/constants.h"
#include "spec/spec.h"

#define DN_SITE_PATH_MAX 512

struct dn_site {
    struct dn_rules rules;
    struct dn_constants constants;
    struct dn_catalogue catalogue; /* owned */
    struct dn_gpu_types gpu_types; /* points into the catalogue */
    struct dn_datasets datasets;
    char hardware_dir[DN_SITE_PATH_MAX];  /* HardwareDir= */
    char datasets_file[DN_SITE_PATH_MAX]; /* Datasets= */
    char sidecar_dir[DN_SITE_PATH_MAX]; /* SidecarDir=; "": no file of users is read */
};

/* Keys of dnnest.conf that are neither rules nor Gpu lines. */
struct dn_site_key {
    const char *name;
    size_t offset; /* in struct dn_site, of a path */
    const char *help;
};
const struct dn_site_key *dn_site_keys (int *n_keys);

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

/* NULL-safe. */
void dn_site_free (struct dn_site *site);

#endif
