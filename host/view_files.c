/* view_files.c - reads the files that dnnestd writes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "host/view_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/messages.h"
#include "host/files.h"
#include "host/load.h"
#include "host/trust.h"

struct dn_view_path dn_view_path (const char *state_dir, const char *name)
{
    struct dn_view_path path;

    snprintf (path.text, sizeof (path.text), "%s/%s", state_dir, name);
    return path;
}

/* Return a descriptor of the directory of the file, or -1. dn_trust_parents () has
 * accepted its owner.
 */
static int open_parent (const char *path)
{
    char parent[sizeof (struct dn_view_path)];
    const char *slash = strrchr (path, '/');
    int len = (int) (slash - path);

    if ((size_t) len >= sizeof (parent)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    snprintf (parent, sizeof (parent), "%.*s", len, path);
    return open (len > 0 ? parent : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int dn_view_text (const char *path,
                  enum dn_view_trust trust,
                  size_t max,
                  char **text,
                  size_t *len,
                  struct dn_err *err)
{
    dn_cleanup (dn_fd_cleanup) int dir = -1;
    dn_cleanup (dn_fd_cleanup) int fd = -1;
    struct stat st;

    *text = NULL;
    if (path[0] != '/')
        return dn_err_set (err, DN_E_IO, dn_say_err_file_relative, path);
    if (dn_trust_parents (path, err) < 0)
        return -1;
    dir = open_parent (path);
    if (dir >= 0)
        fd = openat (dir,
                     strrchr (path, '/') + 1,
                     O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 || fstat (dir, &st) < 0)
        return dn_file_fail (path, dn_say_file_opened, err);
    return dn_load_open (fd,
                         path,
                         max,
                         trust == DN_VIEW_THEIRS ? st.st_uid : geteuid (),
                         text,
                         len,
                         err);
}

int dn_view_cluster (const char *path,
                     enum dn_view_trust trust,
                     struct dn_cluster **out,
                     struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    size_t len;

    *out = NULL;
    if (dn_view_text (path, trust, DN_STATE_FILE_MAX, &text, &len, err) < 0)
        return -1;
    if (!text)
        return 0;
    *out = dn_cluster_read ((struct dn_span){text, len}, path, err);
    return *out ? 0 : -1;
}

int dn_view_guarded (const char *path,
                     enum dn_view_trust trust,
                     struct dn_guarded **out,
                     struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    size_t len;

    *out = NULL;
    if (dn_view_text (path, trust, DN_STATE_FILE_MAX, &text, &len, err) < 0)
        return -1;
    if (!text)
        return 0;
    *out = dn_guarded_read ((struct dn_span){text, len}, path, err);
    return *out ? 0 : -1;
}

int dn_view_apps (const char *path,
                  enum dn_view_trust trust,
                  struct dn_apps **out,
                  struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    size_t len;

    *out = NULL;
    if (dn_view_text (path, trust, DN_APPS_FILE_MAX, &text, &len, err) < 0)
        return -1;
    if (!text)
        return 0;
    *out = dn_apps_read ((struct dn_span){text, len}, path, err);
    return *out ? 0 : -1;
}
