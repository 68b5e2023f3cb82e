/* directory.c - writes the directory of a model bundle, whole or not at all
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common.h"

/* A path, and ".1". */
#define PREVIOUS_MAX (PATH_MAX + 2)

/* Files that are removed with a bundle that is replaced, including those of format 1.
 */
static const char *const bundle_files[] = {"manifest.json",
                                           "domain.points",
                                           "step.trees",
                                           "memory.trees",
                                           "power.trees",
                                           "step.json",
                                           "memory.json",
                                           "power.json",
                                           "site.json"};

/* Strip '/' at the end, because names with suffixes are made of the path. */
static int plain_path (const char *path, char plain[PATH_MAX], struct dn_err *err)
{
    size_t len = strlen (path);

    while (len > 1 && path[len - 1] == '/')
        len--;
    /* Leaves room for suffixes. */
    if (len == 0 || len > PATH_MAX - 64)
        return dn_err_set (err, DN_E_LIMIT, "--out: the path is too long or empty");
    memcpy (plain, path, len);
    plain[len] = '\0';
    return 0;
}

static bool has_file (const char *path, const char *name)
{
    char file[PATH_MAX + 64];
    struct stat st;

    snprintf (file, sizeof (file), "%s/%s", path, name);
    return lstat (file, &st) == 0;
}

static bool is_empty (const char *path)
{
    DIR *dir = opendir (path);
    int n = 0;

    while (dir && readdir (dir))
        n++;
    if (dir)
        closedir (dir);
    return dir && n <= 2; /* "." and ".." */
}

int dn_directory_check (const struct dn_directory *directory, struct dn_err *err)
{
    char plain[PATH_MAX];
    struct stat st;

    if (plain_path (directory->path, plain, err) < 0)
        return -1;
    if (lstat (plain, &st) < 0)
        return errno == ENOENT ? 0 : dn_err_errno (plain, err);
    if (!S_ISDIR (st.st_mode))
        return dn_err_set (err, DN_E_IO, "%s: exists and is not a directory", plain);
    if (!has_file (plain, "manifest.json") && !is_empty (plain))
        return dn_err_set (
            err, DN_E_IO, "%s: exists and is not a bundle, so not replaced", plain);
    if (!directory->keep && has_file (plain, "site.json"))
        return dn_err_set (
            err, DN_E_IO, "%s: has a site.json, which would be lost", plain);
    return 0;
}

static int write_all (int fd, struct dn_span text)
{
    while (text.len > 0) {
        ssize_t n = write (fd, text.text, text.len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        text.text += n;
        text.len -= (size_t) n;
    }
    return fsync (fd);
}

static int write_file (int dir, const struct dn_output *file, struct dn_err *err)
{
    int fd = openat (
        dir, file->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    int rc;

    if (fd < 0)
        return dn_err_errno (file->name, err);
    /* Readable by all users and writable by the owner, independent of the umask. */
    rc = fchmod (fd, 0644) < 0 || write_all (fd, file->text) < 0
             ? dn_err_errno (file->name, err)
             : 0;
    if (close (fd) < 0 && rc == 0)
        rc = dn_err_errno (file->name, err);
    return rc;
}

/* Remove the files of a bundle, and its directory if no other files are in it. */
static void remove_bundle (const char *path)
{
    int dir = open (path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (dir < 0)
        return;
    for (size_t i = 0; i < DN_N_ELEMENTS (bundle_files); i++)
        unlinkat (dir, bundle_files[i], 0);
    close (dir);
    rmdir (path);
}

static int fill (const char *path,
                 const struct dn_output *files,
                 int n_files,
                 struct dn_err *err)
{
    int dir = open (path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int rc = 0;

    if (dir < 0 || fchmod (dir, 0755) < 0)
        rc = dn_err_errno (path, err);
    for (int i = 0; i < n_files && rc == 0; i++)
        rc = write_file (dir, &files[i], err);
    if (rc == 0 && fsync (dir) < 0)
        rc = dn_err_errno (path, err);
    if (dir >= 0)
        close (dir);
    return rc;
}

/* Exchange two directories; one after the other where the file system cannot. */
static int exchange (const char *a, const char *b, struct dn_err *err)
{
    char aside[PATH_MAX + 64];

    if (renameat2 (AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return dn_err_errno (b, err);
    snprintf (aside, sizeof (aside), "%s.old", a);
    if (rename (b, aside) < 0)
        return dn_err_errno (b, err);
    if (rename (a, b) == 0 && rename (aside, a) == 0)
        return 0;
    dn_err_errno (b, err);
    rename (aside, b);
    return -1;
}

static void previous_path (const char *path, char previous[PREVIOUS_MAX])
{
    snprintf (previous, PREVIOUS_MAX, "%s.1", path);
}

/* Replace 'path' by 'made'. */
static int replace (const char *made, const char *path, bool keep, struct dn_err *err)
{
    char previous[PREVIOUS_MAX];
    struct stat st;

    if (lstat (path, &st) < 0)
        return rename (made, path) == 0 ? 0 : dn_err_errno (path, err);
    if (exchange (made, path, err) < 0)
        return -1;
    if (keep) {
        previous_path (path, previous);
        remove_bundle (previous);
        return rename (made, previous) == 0 ? 0 : dn_err_errno (previous, err);
    }
    remove_bundle (made);
    return 0;
}

int dn_directory_rollback (const char *path, struct dn_err *err)
{
    char previous[PREVIOUS_MAX];
    struct stat st;

    previous_path (path, previous);
    if (lstat (previous, &st) < 0)
        return dn_err_errno (previous, err);
    return exchange (previous, path, err);
}

int dn_directory_write (const struct dn_directory *directory,
                        const struct dn_output *files,
                        int n_files,
                        struct dn_err *err)
{
    char plain[PATH_MAX];
    char made[PATH_MAX + 16];

    if (plain_path (directory->path, plain, err) < 0
        || dn_directory_check (directory, err) < 0)
        return -1;
    snprintf (made, sizeof (made), "%s.XXXXXX", plain);
    if (!mkdtemp (made))
        return dn_err_set (
            err, DN_E_IO, "%s: cannot be created: %s", plain, strerror (errno));
    if (fill (made, files, n_files, err) == 0
        && replace (made, plain, directory->keep, err) == 0)
        return 0;
    remove_bundle (made);
    return -1;
}
