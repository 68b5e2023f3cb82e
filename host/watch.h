/* watch.h - detects changes of a site's files
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_WATCH_H
#define DN_WATCH_H

#include "site.h"

/* A path is a file, or a directory with all files in it. */
#define DN_WATCH_PATHS_MAX 10

struct dn_watch {
    char paths[DN_WATCH_PATHS_MAX][DN_SITE_PATH_MAX];
    int n_paths;
};

/* The files of a site: 'conf', and those that it names. */
void dn_watch_conf (struct dn_watch *watch, const char *conf) DN_COLD;

/* A number that changes when a file is written, replaced or removed, or its owner or
 * mode changes. It calls stat () for each file and opens no file.
 */
uint64_t dn_watch_identity (const struct dn_watch *watch) DN_COLD;

/* The same for one file. */
uint64_t dn_watch_file (const char *path) DN_COLD;

#endif
