/* load.h - opens the site's files safely and passes them to the pure parsers
 *
 * A trusted file has an absolute path without a symbolic link at its end, whose
 * directories are trusted (host/trust.h). It is a regular file, owned by root or by the
 * user of the process, not writable by group or others, and no larger than the limit in
 * limits.h. It is read whole and parsed from
 * memory. The plugin and the command line use this.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_LOAD_H
#define DN_LOAD_H

#include <dirent.h>

#include "site.h"

/* Read a trusted file whole. '*text' is terminated, owned by the caller and freed with
 * free (). Return -1 with 'err', which names the path and the error.
 */
int dn_load_file (const char *path,
                  char **text,
                  size_t *len,
                  struct dn_err *err) DN_COLD;

/* The files of an installation, unless the configuration sets others. */
struct dn_load_paths {
    const char *conf;     /* dnnest.conf; NULL: none, all defaults */
    const char *hardware; /* directory of catalogue files */
    const char *datasets;
    const char *zoo;    /* directory of networks; NULL: the usual one */
    const char *bundle; /* directory of the model bundle, or "none" */
    /* The directory of a bundle that overrides the configuration, or "none"; NULL: the
     * configured one. */
    const char *model;
};

/* The paths chosen at configure time. */
struct dn_load_paths dn_load_default_paths (void) DN_COLD;

/* What a site depends on apart from its files. All may be NULL or 0. */
struct dn_load_context {
    const char *slurmctld_parameters; /* of slurm.conf: "dnnest_<key>=<value>" */
    const char *scheduler_parameters; /* of slurm.conf */
    int slurm_version;                /* 2411 for 24.11 */
    const char *cluster;  /* "": not known; NULL: dn_site_set_cluster () follows */
    const char *settings; /* "key=value,...", overrides everything */
    const struct dn_people *people; /* NULL: those of the system */
    struct dn_problems *problems;   /* NULL: the first error ends the loading */
};

/* Load a site: configuration, catalogue, data sets, then apply 'context' (may be NULL).
 * A missing dnnest.conf is an error when 'paths->conf' is given. Return NULL with
 * 'err'; nothing is kept open. Free with dn_load_free ().
 *
 * If the bundle is missing or broken, the site has none, and 'bundle_err' has the
 * reason. It is no error if the default 'paths->bundle' does not exist.
 */
struct dn_site *dn_load_site (const struct dn_load_paths *paths,
                              const struct dn_load_context *context,
                              struct dn_err *err) DN_COLD;
void dn_load_free (struct dn_site *site) DN_COLD;

/* Load the catalogue in a directory and the site's own values in its optional folder
 * site/. -1 with 'err'; the catalogue then has what was read before.
 */
int dn_load_catalogue (const char *path,
                       struct dn_catalogue *catalogue,
                       struct dn_err *err) DN_COLD;

/* What is beside dnnest.conf: the site's own networks; and what 'dnnest pause' stopped,
 * Policy lines, or a line DN_PAUSE_RULE, which no other line and no parameter relaxes.
 */
#define DN_OWN_NETWORKS "dnnest.zoo.d"
#define DN_PAUSE_FILE   "dnnest.paused"
#define DN_PAUSE_RULE   "Mode=observe"
void dn_load_beside (const char *conf,
                     const char *name,
                     char path[DN_SITE_PATH_MAX]) DN_COLD;

/* Load the bundle in the directory 'path'. NULL with 'err'; freed with dn_bundle_free
 * (). */
struct dn_bundle *dn_load_bundle (const char *path, struct dn_err *err) DN_COLD;

/* Read one file of the bundle in 'dir_path' as dn_load_file () does. */
int dn_load_member (const char *dir_path,
                    const char *name,
                    char **text,
                    size_t *len,
                    struct dn_err *err) DN_COLD;

/* closedir () for dn_cleanup. */
void dn_dir_cleanup (DIR *const *dir);

#endif
