/* watch.h - whether the files of a site are still what they were
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_WATCH_H
#define DN_WATCH_H

#include "site.h"

/* A file, or a directory with all files in it. */
#define DN_WATCH_PATHS_MAX 8

struct dn_watch {
    char paths[DN_WATCH_PATHS_MAX][DN_SITE_PATH_MAX];
    int n_paths;
};

/* The files that a site is made of: 'conf', and those that it names. */
void dn_watch_conf (struct dn_watch *watch, const char *conf);

/* A number that is another as soon as one of the files is: has been written, replaced,
 * removed, or has another owner or mode. It costs a look at each file; none is opened.
 */
uint64_t dn_watch_identity (const struct dn_watch *watch);

#endif
