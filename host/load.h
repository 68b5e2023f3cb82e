/* load.h - the site's files, opened safely and handed to the pure parsers
 *
 * A trusted file has an absolute path without a symbolic link at its end. It is a
 * regular file, owned by root or by the caller's own user, not writable by group or
 * others, and no larger than limits.h says. It is read whole and parsed from memory.
 * Used by the plugin and by the command line.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_LOAD_H
#define DN_LOAD_H

#include <dirent.h>

#include "site.h"

/* Read a trusted file whole. '*text' is terminated, owned by the caller and freed with
 * free (). Return -1 with 'err' naming the path and what is wrong with it.
 */
int dn_load_file (const char *path, char **text, size_t *len, struct dn_err *err);

/* Where an installation keeps its files; what a configuration does not override. */
struct dn_load_paths {
    const char *conf;     /* dnnest.conf; NULL: none, all defaults */
    const char *hardware; /* directory of catalogue files */
    const char *datasets;
    const char *bundle; /* directory of the model bundle, or "none" */
    /* The directory of a bundle that is used whatever the configuration says, or
     * "none"; NULL: the configuration's. */
    const char *model;
};

/* The paths chosen at configure time. */
struct dn_load_paths dn_load_default_paths (void);

/* What a site depends on besides its own files. All may be NULL or 0. */
struct dn_load_context {
    const char *slurmctld_parameters; /* of slurm.conf: "dnnest_<key>=<value>" */
    const char *scheduler_parameters; /* of slurm.conf */
    int slurm_version;                /* 2411 for 24.11 */
    const char *settings;             /* "key=value,...", over everything */
    const struct dn_people *people;   /* NULL: those of the system */
    struct dn_problems *problems;     /* NULL: the first error ends it */
};

/* Load a site: configuration, catalogue, data sets, then what 'context' says (NULL:
 * nothing). A missing dnnest.conf is an error when 'paths->conf' is given. Return NULL
 * with 'err'; nothing is kept open. Free with dn_load_free ().
 *
 * A bundle that is missing or broken leaves a site without one, and the reason in its
 * 'bundle_err'. None at all in the directory of 'paths->bundle' is in order.
 */
struct dn_site *dn_load_site (const struct dn_load_paths *paths,
                              const struct dn_load_context *context,
                              struct dn_err *err);
void dn_load_free (struct dn_site *site);

/* Load the catalogue in a directory and what the site has of its own in the folder
 * site/ below, which need not be there. -1 with 'err', and the catalogue holds what was
 * read until then.
 */
int dn_load_catalogue (const char *path,
                       struct dn_catalogue *catalogue,
                       struct dn_err *err);

/* Load the bundle in the directory 'path'. NULL with 'err'; freed with dn_bundle_free
 * (). */
struct dn_bundle *dn_load_bundle (const char *path, struct dn_err *err);

/* Read one file of the bundle in 'dir_path' as dn_load_file () does. */
int dn_load_member (const char *dir_path,
                    const char *name,
                    char **text,
                    size_t *len,
                    struct dn_err *err);

/* closedir () for dn_cleanup. */
void dn_dir_cleanup (DIR *const *dir);

#endif
