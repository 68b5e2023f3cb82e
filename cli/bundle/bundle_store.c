/* bundle_store.c - the directory of the installed bundle, and the previous bundles
 *
 * Every change is a sequence of steps; a kill after any of them does no harm:
 *
 *   1. the new bundle is written to .PLACE.tmp-X and synced to disk;
 *   2. a copy of the installed bundle is written to .PLACE.tmp-Y;
 *   3. the slots move up, the oldest is removed, and the copy becomes PLACE.1;
 *   4. .PLACE.tmp-X and PLACE are exchanged atomically by one system call;
 *   5. .PLACE.tmp-X, now the old bundle, of which PLACE.1 is a copy, is removed.
 *
 * The copy costs some megabytes but makes a journal unnecessary: .PLACE.tmp-* is never
 * needed after a kill, so the next command may remove it. A kill between 3 and 4 leaves
 * PLACE.1 equal to PLACE, one during 3 a gap between the slots. Both are repaired
 * before the next change. The directory itself is locked, so there is no lock file.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "bundle_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "host/files.h"
#include "host/load.h"
#include "host/trust.h"
#include "process/interrupt.h"

#define LOCK_TRIES  100
#define LOCK_WAIT_S 0.1

/* Leaves room for ".tmp-12345678" after the name, and for the dot before it. */
#define BASE_MAX (NAME_MAX - 16)

static int fail_errno (const struct dn_bundle_store *store,
                       const char *what,
                       struct dn_err *err)
{
    return dn_err_set (err, DN_E_IO, "%s: %s: %s", store->path, what, strerror (errno));
}

struct dn_slot_name dn_bundle_store_slot (const struct dn_bundle_store *store, int slot)
{
    struct dn_slot_name out = {""};
    struct dn_buf buf = dn_buf_on (out.text, sizeof (out.text));

    dn_buf_add (&buf, "%s", store->base);
    if (slot == DN_SLOT_ASIDE)
        dn_buf_add (&buf, ".aside");
    else if (slot != DN_SLOT_CURRENT)
        dn_buf_add (&buf, ".%d", slot);
    return out;
}

/* ".PLACE.tmp-", the prefix of temporary directories. */
static struct dn_slot_name temporary_prefix (const struct dn_bundle_store *store)
{
    struct dn_slot_name out = {""};
    struct dn_buf buf = dn_buf_on (out.text, sizeof (out.text));

    dn_buf_add (&buf, ".%s.tmp-", store->base);
    return out;
}

static struct dn_slot_name temporary_name (const struct dn_bundle_store *store)
{
    struct dn_slot_name out = temporary_prefix (store);
    size_t len = strlen (out.text);
    struct dn_buf buf = dn_buf_on (out.text + len, sizeof (out.text) - len);

    dn_buf_add (&buf, "%08x", (unsigned) randombytes_random ());
    return out;
}

/* Split "/var/lib/dnnest/model/" into the directory around it and its last component.
 */
static int split_path (const char *path,
                       struct dn_bundle_store *store,
                       char parent[PATH_MAX],
                       struct dn_err *err)
{
    struct dn_span rest = dn_span_of (path);
    size_t base = 0;

    while (rest.len > 1 && rest.text[rest.len - 1] == '/')
        rest.len--;
    if (dn_span_copy (rest, store->path, sizeof (store->path), "path", err) < 0)
        return -1;
    for (size_t i = 0; i < rest.len; i++)
        if (rest.text[i] == '/')
            base = i + 1;
    if (base == rest.len || store->path[base] == '.' || rest.len - base > BASE_MAX)
        return dn_err_set (err, DN_E_RANGE, "%s: expected a directory name", path);
    memcpy (store->base, store->path + base, rest.len - base + 1);
    if (base == 0)
        return dn_span_copy (dn_span_of ("."), parent, PATH_MAX, "path", err);
    return dn_span_copy (
        (struct dn_span){path, base > 1 ? base - 1 : 1}, parent, PATH_MAX, "path", err);
}

static int open_parent (struct dn_bundle_store *store, const char *parent)
{
    store->parent = open (parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return store->parent;
}

int dn_bundle_store_open (const char *path,
                          struct dn_bundle_store *store,
                          struct dn_err *err)
{
    char parent[PATH_MAX];

    memset (store, 0, sizeof (*store));
    store->parent = -1;
    if (split_path (path, store, parent, err) < 0)
        return -1;
    if (open_parent (store, parent) >= 0)
        return 0;
    fail_errno (store, "cannot be examined", err);
    return errno == ENOENT ? 1 : -1;
}

void dn_bundle_store_close (struct dn_bundle_store *store)
{
    dn_fd_cleanup (&store->parent);
    store->parent = -1;
}

/* A user who can write to the parent directory could replace the bundle, also where it
 * is sticky: by an older one that the store has put aside.
 */
static int check_parent (const struct dn_bundle_store *store,
                         const char *parent,
                         struct dn_err *err)
{
    char place[PATH_MAX + sizeof (store->base) + 1];
    struct stat st;
    size_t len;

    if (fstat (store->parent, &st) < 0)
        return fail_errno (store, "cannot be examined", err);
    if (dn_trust_file (&st, parent, err) < 0)
        return -1;
    if (!realpath (parent, place))
        return fail_errno (store, "cannot be resolved", err);
    len = strlen (place);
    snprintf (place + len, sizeof (place) - len, "/%s", store->base);
    return dn_trust_parents (place, err);
}

static int take_lock (const struct dn_bundle_store *store,
                      const char *parent,
                      struct dn_err *err)
{
    const struct timespec wait = {0, (long) (LOCK_WAIT_S * 1e9)};

    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock (store->parent, LOCK_EX | LOCK_NB) == 0)
            return 0;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return fail_errno (store, "cannot be locked", err);
        nanosleep (&wait, NULL);
        if (dn_interrupted ())
            return dn_err_set (err, DN_E_IO, "%s: interrupted", parent);
    }
    return dn_err_set (
        err, DN_E_IO, "%s: another 'dnnest model' is running there", parent);
}

static int sweep (const struct dn_bundle_store *store, struct dn_err *err)
{
    struct dn_slot_name prefix = temporary_prefix (store);
    int fd = openat (store->parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    dn_cleanup (dn_dir_cleanup) DIR *list = fd >= 0 ? fdopendir (fd) : NULL;
    const struct dirent *entry;

    if (!list) {
        fail_errno (store, "cannot be examined", err);
        dn_fd_cleanup (&fd);
        return -1;
    }
    while ((entry = readdir (list)))
        if (strncmp (entry->d_name, prefix.text, strlen (prefix.text)) == 0
            && dn_parcel_remove (store->parent, entry->d_name, err) < 0)
            return -1;
    return 0;
}

int dn_bundle_store_lock (const char *path,
                          struct dn_bundle_store *store,
                          struct dn_err *err)
{
    char parent[PATH_MAX];

    memset (store, 0, sizeof (*store));
    store->parent = -1;
    if (split_path (path, store, parent, err) < 0)
        return -1;
    if (mkdir (parent, 0755) < 0 && errno != EEXIST)
        return fail_errno (store, "its parent directory cannot be created", err);
    if (open_parent (store, parent) < 0)
        return fail_errno (store, "its parent directory cannot be opened", err);
    if (check_parent (store, parent, err) == 0 && take_lock (store, parent, err) == 0
        && sweep (store, err) == 0)
        return 0;
    dn_bundle_store_close (store);
    return -1;
}

int dn_bundle_store_read (const struct dn_bundle_store *store,
                          int slot,
                          struct dn_parcel *parcel,
                          struct dn_err *err)
{
    struct dn_slot_name name = dn_bundle_store_slot (store, slot);
    const char *suffix = name.text + strlen (store->base);
    char path[PATH_MAX + 16];
    struct dn_buf buf = dn_buf_on (path, sizeof (path));
    dn_cleanup (dn_fd_cleanup) int dir = openat (
        store->parent, name.text, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int error = errno;

    memset (parcel, 0, sizeof (*parcel));
    dn_buf_add (&buf, "%s%s", store->path, suffix);
    if (dir >= 0)
        return dn_parcel_read_at (dir, path, parcel, err);
    dn_err_set (err, DN_E_IO, "%s: %s", path, strerror (error));
    return error == ENOENT ? 1 : -1;
}

static bool exists (const struct dn_bundle_store *store, const char *name)
{
    struct stat st;

    return fstatat (store->parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int move (const struct dn_bundle_store *store,
                 const char *from,
                 const char *to,
                 unsigned flags,
                 struct dn_err *err)
{
    if (renameat2 (store->parent, from, store->parent, to, flags) == 0)
        return 0;
    if (errno == EINVAL && flags == RENAME_EXCHANGE)
        return dn_err_set (err,
                           DN_E_IO,
                           "%s: this file system cannot exchange directories",
                           store->path);
    return dn_err_set (
        err, DN_E_IO, "%s: rename to %s: %s", from, to, strerror (errno));
}

static int sync_parent (const struct dn_bundle_store *store, struct dn_err *err)
{
    return fsync (store->parent) == 0 ? 0 : fail_errno (store, "fsync", err);
}

/* The slot is renamed to a temporary name first, so that it is never half removed. */
static int discard (const struct dn_bundle_store *store, int slot, struct dn_err *err)
{
    struct dn_slot_name name = dn_bundle_store_slot (store, slot);
    struct dn_slot_name rubbish = temporary_name (store);

    if (!exists (store, name.text))
        return 0;
    if (move (store, name.text, rubbish.text, RENAME_NOREPLACE, err) < 0)
        return -1;
    return dn_parcel_remove (store->parent, rubbish.text, err);
}

static int move_slot (const struct dn_bundle_store *store,
                      int from,
                      int to,
                      struct dn_err *err)
{
    struct dn_slot_name from_name = dn_bundle_store_slot (store, from);
    struct dn_slot_name to_name = dn_bundle_store_slot (store, to);

    if (!exists (store, from_name.text))
        return 0;
    return move (store, from_name.text, to_name.text, RENAME_NOREPLACE, err);
}

/* Close gaps between the slots, keeping their order. */
static int compact (const struct dn_bundle_store *store, struct dn_err *err)
{
    int n = 0;

    for (int slot = 1; slot <= DN_STORE_KEPT; slot++) {
        if (!exists (store, dn_bundle_store_slot (store, slot).text))
            continue;
        if (++n != slot && move_slot (store, slot, n, err) < 0)
            return -1;
    }
    return 0;
}

/* What PLACE contains. */
enum current {
    CURRENT_NONE,
    CURRENT_GOOD,
    CURRENT_DAMAGED, /* a bundle that does not match its manifest */
    CURRENT_FOREIGN  /* something else, which must not be moved */
};

/* Is it a directory with a manifest? Then this program has installed it. */
static bool has_manifest (const struct dn_bundle_store *store)
{
    dn_cleanup (dn_fd_cleanup) int dir = openat (
        store->parent, store->base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    return dir >= 0 && fstatat (dir, DN_MANIFEST_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static enum current read_current (const struct dn_bundle_store *store,
                                  struct dn_parcel *parcel,
                                  struct dn_err *err)
{
    int found = dn_bundle_store_read (store, DN_SLOT_CURRENT, parcel, err);

    if (found == 0)
        return CURRENT_GOOD;
    if (found > 0)
        return CURRENT_NONE;
    if (has_manifest (store))
        return CURRENT_DAMAGED;
    /* An empty directory may have been made by a package. */
    if (unlinkat (store->parent, store->base, AT_REMOVEDIR) == 0)
        return CURRENT_NONE;
    return CURRENT_FOREIGN;
}

/* Repair what a kill may have left, and read the installed bundle. */
static int prepare (const struct dn_bundle_store *store,
                    struct dn_parcel *current,
                    enum current *state,
                    struct dn_err *err)
{
    dn_cleanup (dn_parcel_free) struct dn_parcel first = {.text = {NULL, 0}};

    *state = read_current (store, current, err);
    if (*state == CURRENT_FOREIGN)
        return dn_err_wrap (err, "not a bundle, so not replaced");
    if (compact (store, err) < 0)
        return -1;
    if (*state != CURRENT_GOOD || dn_bundle_store_read (store, 1, &first, NULL) != 0
        || !dn_parcel_same (current, &first))
        return 0;
    return discard (store, 1, err) < 0 ? -1 : compact (store, err);
}

/* Keep a copy of the installed bundle as the newest of the previous ones. */
static int keep (const struct dn_bundle_store *store,
                 const struct dn_parcel *current,
                 struct dn_err *err)
{
    struct dn_slot_name copy = temporary_name (store);

    if (dn_parcel_write (store->parent, copy.text, current, err) < 0)
        return -1;
    if (discard (store, DN_STORE_KEPT, err) < 0)
        return -1;
    for (int slot = DN_STORE_KEPT - 1; slot >= 1; slot--)
        if (move_slot (store, slot, slot + 1, err) < 0)
            return -1;
    return move (
        store, copy.text, dn_bundle_store_slot (store, 1).text, RENAME_NOREPLACE, err);
}

/* Exchange the new bundle 'name' with PLACE. 'name' is then the previous bundle, if
 * there was one. */
static int bring (const struct dn_bundle_store *store,
                  const char *name,
                  enum current before,
                  struct dn_err *err)
{
    unsigned flags = before == CURRENT_NONE ? RENAME_NOREPLACE : RENAME_EXCHANGE;

    if (sync_parent (store, err) < 0 || move (store, name, store->base, flags, err) < 0
        || sync_parent (store, err) < 0)
        return -1;
    return 0;
}

static int put_aside (const struct dn_bundle_store *store,
                      const char *name,
                      struct dn_err *err)
{
    if (!exists (store, name))
        return 0;
    if (discard (store, DN_SLOT_ASIDE, err) < 0)
        return -1;
    return move (store,
                 name,
                 dn_bundle_store_slot (store, DN_SLOT_ASIDE).text,
                 RENAME_NOREPLACE,
                 err);
}

static int check_serial (const struct dn_manifest *current,
                         const struct dn_manifest *new,
                         struct dn_err *err)
{
    if (new->serial >= current->serial || strcmp (new->name, current->name) != 0)
        return 0;
    return dn_err_set (err,
                       DN_E_RANGE,
                       "%s: serial %" PRId64 ", and %" PRId64
                       " is installed; --downgrade installs it nevertheless",
                       new->name,
                       new->serial,
                       current->serial);
}

int dn_bundle_store_install (const struct dn_bundle_store *store,
                             const struct dn_parcel *parcel,
                             bool downgrade,
                             enum dn_bundle_stored *stored,
                             struct dn_err *err)
{
    dn_cleanup (dn_parcel_free) struct dn_parcel current = {.text = {NULL, 0}};
    struct dn_slot_name name = temporary_name (store);
    enum current state;

    *stored = DN_STORED_BEFORE;
    if (prepare (store, &current, &state, err) < 0)
        return -1;
    if (state == CURRENT_GOOD && dn_parcel_same (&current, parcel))
        return 0;
    if (state == CURRENT_GOOD && !downgrade
        && check_serial (&current.manifest, &parcel->manifest, err) < 0)
        return -1;
    *stored = state == CURRENT_DAMAGED ? DN_STORED_ASIDE : DN_STORED;
    if (dn_parcel_write (store->parent, name.text, parcel, err) < 0)
        return -1;
    if ((state == CURRENT_GOOD && keep (store, &current, err) < 0)
        || bring (store, name.text, state, err) < 0) {
        sweep (store, NULL);
        return -1;
    }
    return state == CURRENT_DAMAGED ? put_aside (store, name.text, err)
                                    : dn_parcel_remove (store->parent, name.text, err);
}

/* The newest previous bundle that is whole; 'err' is about the last one that is not. */
static int find_older (const struct dn_bundle_store *store,
                       struct dn_parcel *parcel,
                       struct dn_err *err)
{
    struct dn_err none = {0};

    dn_err_set (&none, DN_E_IO, "%s: no older bundle is kept", store->path);
    for (int slot = 1; slot <= DN_STORE_KEPT; slot++) {
        int found = dn_bundle_store_read (store, slot, parcel, err);

        if (found == 0)
            return slot;
        if (found < 0)
            none = *err;
    }
    *err = none;
    return 0;
}

int dn_bundle_store_rollback (const struct dn_bundle_store *store,
                              struct dn_parcel *parcel,
                              struct dn_err *err)
{
    dn_cleanup (dn_parcel_free) struct dn_parcel current = {.text = {NULL, 0}};
    struct dn_slot_name name = temporary_name (store);
    enum current state;
    int slot;

    memset (parcel, 0, sizeof (*parcel));
    if (prepare (store, &current, &state, err) < 0)
        return -1;
    slot = find_older (store, parcel, err);
    if (slot == 0)
        return 1;
    if (dn_parcel_write (store->parent, name.text, parcel, err) < 0)
        return -1;
    if (bring (store, name.text, state, err) < 0) {
        sweep (store, NULL);
        return -1;
    }
    if (put_aside (store, name.text, err) < 0)
        return -1;
    for (int i = 1; i <= slot; i++)
        if (discard (store, i, err) < 0)
            return -1;
    return compact (store, err);
}

int dn_bundle_store_export (const char *path,
                            const struct dn_parcel *parcel,
                            struct dn_err *err)
{
    struct dn_bundle_store store;
    struct dn_slot_name name;
    int status = -1;

    if (dn_bundle_store_open (path, &store, err) != 0)
        return -1;
    name = temporary_name (&store);
    if (dn_parcel_write (store.parent, name.text, parcel, err) == 0) {
        status = move (&store, name.text, store.base, RENAME_NOREPLACE, err);
        if (status < 0)
            dn_parcel_remove (store.parent, name.text, NULL);
        else
            status = sync_parent (&store, err);
    }
    dn_bundle_store_close (&store);
    return status;
}
