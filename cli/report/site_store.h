/* site_store.h - opens the store of finished jobs to read it
 *
 * The permissions of the file decide who may: its rows are of all users. Users of a
 * login node have no such file; of their own jobs, accounting serves.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SITE_STORE_H
#define DN_SITE_STORE_H

#include <limits.h>

#include "host/load.h"
#include "process/sacct.h"

/* 'db', or if it is NULL the store in StateDir, written to 'path'. */
const char *dn_site_store_path (const struct dn_site *site,
                                const char *db,
                                char path[PATH_MAX]);

/* Open the store '*path'. Where it does not exist, or may not be read, and 'instead' is
 * not NULL, those jobs of accounting, and '*path' becomes "sacct". NULL with 'err',
 * which says what to do.
 */
struct dn_store *dn_site_store_open (const char **path,
                                     const struct dn_sacct *instead,
                                     struct dn_err *err);

#endif
