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
#include "host/trust.h"

const char *const dn_view_names[DN_N_VIEW_FILES] = {
    [DN_VIEW_CLUSTER] = DN_CLUSTER_FILE,
    [DN_VIEW_GUARDED] = DN_GUARDED_FILE,
    [DN_VIEW_APPS] = DN_APPS_FILE,
};

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
        return dn_refuse (err, file_relative, path);
    if (dn_trust_parents (path, err) < 0)
        return -1;
    dir = open_parent (path);
    if (dir >= 0)
        fd = dn_file_open (dir, strrchr (path, '/') + 1);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 || fstat (dir, &st) < 0)
        return dn_file_fail (path, dn_say_file_opened, err);
    return dn_file_take (fd,
                         path,
                         max,
                         trust == DN_VIEW_THEIRS ? st.st_uid : geteuid (),
                         text,
                         len,
                         err);
}

/* The name of the cluster in the file, which is read; NULL with 'err'. */
static const char *read_content (enum dn_view_file file,
                                 struct dn_span text,
                                 const char *path,
                                 struct dn_view_content *content,
                                 struct dn_err *err)
{
    switch (file) {
    case DN_VIEW_CLUSTER:
        content->cluster = dn_cluster_read (text, path, err);
        return content->cluster ? content->cluster->name : NULL;
    case DN_VIEW_GUARDED:
        content->guarded = dn_guarded_read (text, path, err);
        return content->guarded ? content->guarded->cluster : NULL;
    default:
        content->apps = dn_apps_read (text, path, err);
        return content->apps ? content->apps->cluster : NULL;
    }
}

int dn_view_read (enum dn_view_file file,
                  const char *path,
                  enum dn_view_trust trust,
                  const char *cluster,
                  struct dn_view_content *content,
                  struct dn_err *err)
{
    size_t max = file == DN_VIEW_APPS ? DN_APPS_FILE_MAX : DN_STATE_FILE_MAX;
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct dn_view_content read = {.cluster = NULL};
    const char *named;
    size_t len;

    if (dn_view_text (path, trust, max, &text, &len, err) < 0)
        return -1;
    if (!text)
        return 0;
    named = read_content (file, (struct dn_span){text, len}, path, &read, err);
    if (!named)
        return -1;
    if (named[0] == '\0' || cluster[0] == '\0'
        || dn_span_is (dn_span_of (named), cluster)) {
        content->cluster = read.cluster ? read.cluster : content->cluster;
        content->guarded = read.guarded ? read.guarded : content->guarded;
        content->apps = read.apps ? read.apps : content->apps;
        return 0;
    }
    dn_refuse (err, other_cluster, path, DN_QUOTED (named), DN_QUOTED (cluster));
    dn_view_free (&read);
    return -1;
}

void dn_view_show (const struct dn_view_content *content, struct dn_view *view)
{
    if (content->cluster)
        view->cluster = content->cluster;
    if (content->guarded)
        view->guarded = content->guarded;
    if (content->apps)
        view->apps = content->apps;
}

void dn_view_free (const struct dn_view_content *content)
{
    dn_cluster_free (content->cluster);
    dn_guarded_free (content->guarded);
    dn_apps_free (content->apps);
}
