/* parcel.c - a bundle in memory: its manifest, its signature, its files
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "parcel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/files.h"
#include "host/load.h"
#include "learn/confirm.h"
#include "learn/sha256.h"

#define DIR_MODE  0755
#define FILE_MODE 0644

struct dn_span dn_blob_span (const struct dn_blob *blob)
{
    return (struct dn_span){blob->data, blob->len};
}

static int fail_errno (const char *name, const char *what, struct dn_err *err)
{
    return dn_err_set (err, DN_E_IO, "%s: %s: %s", name, what, strerror (errno));
}

/* Read until the end, or 'size' bytes; the caller refuses a longer file. */
static int read_whole (int fd,
                       const char *name,
                       size_t size,
                       struct dn_blob *blob,
                       struct dn_err *err)
{
    blob->data = malloc (size + 1);
    blob->len = 0;
    if (!blob->data)
        return dn_err_set (err, DN_E_NOMEM, "%s: out of memory", name);
    while (blob->len < size) {
        ssize_t got = read (fd, blob->data + blob->len, size - blob->len);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_errno (name, "cannot be read", err);
        if (got == 0)
            break;
        blob->len += (size_t) got;
    }
    blob->data[blob->len] = '\0';
    return 0;
}

/* O_NONBLOCK: opening a FIFO does not hang. Return 1 if there is no such file. */
static int read_at (int dir,
                    const char *name,
                    int64_t max,
                    struct dn_blob *blob,
                    struct dn_err *err)
{
    dn_cleanup (dn_fd_cleanup) int fd =
        openat (dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fd < 0 && errno == ENOENT) {
        dn_err_set (err, DN_E_IO, "%s: missing", name);
        return 1;
    }
    if (fd < 0 && errno == ELOOP)
        return dn_err_set (err, DN_E_IO, "%s: is a symbolic link", name);
    if (fd < 0)
        return fail_errno (name, "cannot be opened", err);
    if (fstat (fd, &st) < 0)
        return fail_errno (name, "cannot be examined", err);
    if (!S_ISREG (st.st_mode))
        return dn_err_set (err, DN_E_IO, "%s: not a regular file", name);
    if (st.st_size > max)
        return dn_err_set (err,
                           DN_E_LIMIT,
                           "%s: %lld bytes, expected at most %" PRId64,
                           name,
                           (long long) st.st_size,
                           max);
    return read_whole (fd, name, (size_t) st.st_size, blob, err);
}

static bool belongs (const struct dn_manifest *manifest, const char *name)
{
    return strcmp (name, ".") == 0 || strcmp (name, "..") == 0
           || strcmp (name, DN_MANIFEST_NAME) == 0
           || strcmp (name, DN_SIGNATURE_NAME) == 0
           || dn_manifest_find (manifest, name);
}

/* Refuse a directory with other files: the manifest's signature does not cover them. */
static int check_strangers (int dir,
                            const struct dn_manifest *manifest,
                            struct dn_err *err)
{
    int fd = openat (dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    dn_cleanup (dn_dir_cleanup) DIR *list = fd >= 0 ? fdopendir (fd) : NULL;
    const struct dirent *entry;

    if (!list) {
        fail_errno (".", "cannot be read", err);
        dn_fd_cleanup (&fd);
        return -1;
    }
    while ((errno = 0, entry = readdir (list)))
        if (!belongs (manifest, entry->d_name))
            return dn_err_set (err,
                               DN_E_RANGE,
                               "'%s' is not in the manifest",
                               dn_quote (entry->d_name, strlen (entry->d_name)).text);
    return errno == 0 ? 0 : fail_errno (".", "cannot be read", err);
}

int dn_parcel_check_file (const struct dn_parcel *parcel, int i, struct dn_err *err)
{
    const struct dn_manifest_file *file = &parcel->manifest.files[i];
    const struct dn_blob *blob = &parcel->files[i];

    if ((int64_t) blob->len != file->size)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "%s: %zu bytes, the manifest says %" PRId64,
                           file->name,
                           blob->len,
                           file->size);
    if (strcmp (dn_sha256_of (dn_blob_span (blob)).hex, file->digest.hex) != 0)
        return dn_err_set (
            err, DN_E_RANGE, "%s: its SHA-256 is not the manifest's", file->name);
    return 0;
}

int dn_parcel_open (struct dn_parcel *parcel, struct dn_err *err)
{
    if (dn_manifest_read (dn_blob_span (&parcel->text), &parcel->manifest, err) < 0)
        return dn_err_wrap (err, DN_MANIFEST_NAME);
    return 0;
}

static int read_all (int dir, struct dn_parcel *parcel, struct dn_err *err)
{
    struct dn_err missing;

    if (read_at (dir, DN_MANIFEST_NAME, DN_MANIFEST_MAX, &parcel->text, err) != 0
        || dn_parcel_open (parcel, err) < 0
        || check_strangers (dir, &parcel->manifest, err) < 0)
        return -1;
    if (read_at (dir, DN_SIGNATURE_NAME, DN_SIGNATURE_MAX, &parcel->signature, &missing)
        < 0) {
        if (err)
            *err = missing;
        return -1;
    }
    for (int i = 0; i < parcel->manifest.n_files; i++)
        if (read_at (dir,
                     parcel->manifest.files[i].name,
                     DN_BUNDLE_FILE_MAX,
                     &parcel->files[i],
                     err)
                != 0
            || dn_parcel_check_file (parcel, i, err) < 0)
            return -1;
    return 0;
}

int dn_parcel_read_at (int dir,
                       const char *path,
                       struct dn_parcel *parcel,
                       struct dn_err *err)
{
    memset (parcel, 0, sizeof (*parcel));
    if (read_all (dir, parcel, err) == 0)
        return 0;
    dn_parcel_free (parcel);
    return dn_err_wrap (err, "%s", path);
}

int dn_parcel_read (const char *path, struct dn_parcel *parcel, struct dn_err *err)
{
    dn_cleanup (dn_fd_cleanup) int dir =
        open (path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    memset (parcel, 0, sizeof (*parcel));
    if (dir < 0)
        return dn_err_set (err, DN_E_IO, "%s: %s", path, strerror (errno));
    return dn_parcel_read_at (dir, path, parcel, err);
}

static void free_bundle (struct dn_bundle **bundle)
{
    dn_bundle_free (*bundle);
}

int dn_parcel_try (const struct dn_parcel *parcel, struct dn_err *err)
{
    dn_cleanup (free_bundle) struct dn_bundle *bundle =
        dn_bundle_open (dn_blob_span (&parcel->text), err);

    for (int i = 0; bundle && i < parcel->manifest.n_files; i++)
        if (dn_bundle_add (bundle,
                           parcel->manifest.files[i].name,
                           dn_blob_span (&parcel->files[i]),
                           err)
            < 0)
            return -1;
    if (!bundle || dn_bundle_close (bundle, err) < 0)
        return -1;
    return dn_confirm_bundle (bundle, err);
}

static int write_whole (int fd, struct dn_span data)
{
    while (data.len > 0) {
        ssize_t put = write (fd, data.text, data.len);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return -1;
        data.text += put;
        data.len -= (size_t) put;
    }
    return 0;
}

static int write_at (int dir, const char *name, struct dn_span data, struct dn_err *err)
{
    dn_cleanup (dn_fd_cleanup) int fd = openat (
        dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);

    if (fd < 0 || write_whole (fd, data) < 0 || fchmod (fd, FILE_MODE) < 0
        || fsync (fd) < 0)
        return fail_errno (name, "cannot be written", err);
    return 0;
}

static int write_all (int dir, const struct dn_parcel *parcel, struct dn_err *err)
{
    for (int i = 0; i < parcel->manifest.n_files; i++)
        if (write_at (dir,
                      parcel->manifest.files[i].name,
                      dn_blob_span (&parcel->files[i]),
                      err)
            < 0)
            return -1;
    if (parcel->signature.data
        && write_at (dir, DN_SIGNATURE_NAME, dn_blob_span (&parcel->signature), err)
               < 0)
        return -1;
    if (write_at (dir, DN_MANIFEST_NAME, dn_blob_span (&parcel->text), err) < 0)
        return -1;
    return fsync (dir) == 0 ? 0 : fail_errno (".", "cannot be written", err);
}

int dn_parcel_write (int parent,
                     const char *name,
                     const struct dn_parcel *parcel,
                     struct dn_err *err)
{
    dn_cleanup (dn_fd_cleanup) int dir = -1;

    if (mkdirat (parent, name, DIR_MODE) < 0)
        return fail_errno (name, "cannot be created", err);
    dir = openat (parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0 || fchmod (dir, DIR_MODE) < 0)
        fail_errno (name, "cannot be opened", err);
    else if (write_all (dir, parcel, err) == 0)
        return 0;
    dn_parcel_remove (parent, name, NULL);
    return -1;
}

int dn_parcel_remove (int parent, const char *name, struct dn_err *err)
{
    int fd = openat (parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    dn_cleanup (dn_dir_cleanup) DIR *list = fd >= 0 ? fdopendir (fd) : NULL;
    const struct dirent *entry;

    if (!list && errno == ENOENT)
        return 0;
    if (!list) {
        fail_errno (name, "cannot be removed", err);
        dn_fd_cleanup (&fd);
        return -1;
    }
    while ((entry = readdir (list)))
        if (strcmp (entry->d_name, ".") != 0 && strcmp (entry->d_name, "..") != 0)
            unlinkat (dirfd (list), entry->d_name, 0);
    if (unlinkat (parent, name, AT_REMOVEDIR) < 0)
        return fail_errno (name, "cannot be removed", err);
    return 0;
}

struct dn_digest dn_parcel_id (const struct dn_parcel *parcel)
{
    return dn_sha256_of (dn_blob_span (&parcel->text));
}

bool dn_parcel_same (const struct dn_parcel *a, const struct dn_parcel *b)
{
    return a->text.len == b->text.len
           && memcmp (a->text.data, b->text.data, a->text.len) == 0
           && a->signature.len == b->signature.len
           && (a->signature.len == 0
               || memcmp (a->signature.data, b->signature.data, a->signature.len) == 0);
}

void dn_parcel_free (struct dn_parcel *parcel)
{
    if (!parcel)
        return;
    dn_manifest_free (&parcel->manifest);
    free (parcel->text.data);
    free (parcel->signature.data);
    for (int i = 0; i < DN_MANIFEST_FILES_MAX; i++)
        free (parcel->files[i].data);
    memset (parcel, 0, sizeof (*parcel));
}
