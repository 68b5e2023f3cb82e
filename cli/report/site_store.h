/* site_store.h - opens the store of finished jobs to read it
 *
 * The permissions of the file decide who may: its rows are of all users.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SITE_STORE_H
#define DN_SITE_STORE_H

#include <limits.h>

#include "host/load.h"
#include "jobs/store.h"

/* 'db', or if it is NULL the store in StateDir, written to 'path'. */
const char *dn_site_store_path (const struct dn_site *site,
                                const char *db,
                                char path[PATH_MAX]);

/* NULL with 'err', which says what to do where there is no store or no permission. */
struct dn_store *dn_site_store_open (const char *path, struct dn_err *err);

#endif
