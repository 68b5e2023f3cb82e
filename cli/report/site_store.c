/* site_store.c - opens the store of finished jobs to read it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "report/site_store.h"

#include <errno.h>
#include <unistd.h>

const char *dn_site_store_path (const struct dn_site *site,
                                const char *db,
                                char path[PATH_MAX])
{
    struct dn_buf buf = dn_buf_on (path, PATH_MAX);

    if (db)
        return db;
    dn_buf_add (&buf, "%s/%s", site->state_dir, DN_STORE_FILE);
    return path;
}

/* Say why a file cannot be read, with errno. */
static void tell_why (const char *path, struct dn_err *err)
{
    if (errno == EACCES)
        dn_err_set (err,
                    DN_E_IO,
                    "%s: permission denied; the store has the jobs of all users, and "
                    "its admin decides who may read it",
                    path);
    else if (errno == ENOENT)
        dn_err_set (err,
                    DN_E_IO,
                    "%s: no store of finished jobs; 'dnnestd collect' makes it",
                    path);
    else
        dn_err_set (err, DN_E_IO, "%s: %s", path, dn_errno_text (errno).text);
}

struct dn_store *dn_site_store_open (const char **path,
                                     const struct dn_sacct *instead,
                                     struct dn_err *err)
{
    struct dn_err why = {0};
    struct dn_store *store;

    if (access (*path, R_OK) == 0)
        return dn_store_open (*path, false, err);
    tell_why (*path, err);
    if (!instead)
        return NULL;
    store = dn_sacct_store (instead, &why);
    if (store)
        *path = "sacct";
    else
        dn_err_wrap (err, "%s", why.text);
    return store;
}
