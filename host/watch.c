/* watch.c - detects changes of a site's files
 *
 * The results of stat (), times with nanoseconds, are hashed to one number. ctime
 * changes with chmod () and chown (), and when a writer resets mtime.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "host/watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "host/load.h"

/* Entries of one directory; a catalogue has at most DN_DEVICES_MAX. */
#define ENTRIES_MAX 1024

static uint64_t add_number (uint64_t hash, uint64_t number)
{
    return dn_hash_bytes (hash, &number, sizeof (number));
}

static uint64_t add_time (uint64_t hash, struct timespec time)
{
    return add_number (add_number (hash, (uint64_t) time.tv_sec),
                       (uint64_t) time.tv_nsec);
}

/* The entry 'name' of the open directory 'dir'. */
static uint64_t identify (int dir, const char *name)
{
    uint64_t hash = dn_hash_text (DN_HASH_SEED, name);
    struct stat st;

    if (fstatat (dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return add_number (hash, (uint64_t) errno);
    hash = add_number (hash, (uint64_t) st.st_dev);
    hash = add_number (hash, (uint64_t) st.st_ino);
    hash = add_number (hash, (uint64_t) st.st_mode);
    hash = add_number (hash, (uint64_t) st.st_uid);
    hash = add_number (hash, (uint64_t) st.st_size);
    return add_time (add_time (hash, st.st_mtim), st.st_ctim);
}

/* The entries of a directory; a sum, because their order may vary. 0 if it is not one.
 */
static uint64_t identify_entries (const char *path)
{
    dn_cleanup (dn_dir_cleanup) DIR *dir = opendir (path);
    const struct dirent *entry;
    uint64_t sum = 0;

    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this stream */
    for (int i = 0; dir && i < ENTRIES_MAX && (entry = readdir (dir)); i++)
        if (entry->d_name[0] != '.')
            sum += identify (dirfd (dir), entry->d_name);
    return sum;
}

uint64_t dn_watch_identity (const struct dn_watch *watch)
{
    uint64_t hash = DN_HASH_SEED;

    for (int i = 0; i < watch->n_paths; i++) {
        hash = add_number (hash, identify (AT_FDCWD, watch->paths[i]));
        hash = add_number (hash, identify_entries (watch->paths[i]));
    }
    return hash;
}

uint64_t dn_watch_file (const char *path)
{
    return identify (AT_FDCWD, path);
}

static void add_path (struct dn_watch *watch, const char *path)
{
    if (path[0] != '/' || watch->n_paths == DN_WATCH_PATHS_MAX)
        return;
    if (dn_span_copy (dn_span_of (path),
                      watch->paths[watch->n_paths],
                      DN_SITE_PATH_MAX,
                      "path",
                      NULL)
        == 0)
        watch->n_paths++;
}

/* Add the paths in 'conf' up to its first error; later ones have no effect until 'conf'
 * itself changes.
 */
static void add_named_paths (struct dn_watch *watch,
                             const char *conf,
                             const struct dn_load_paths *defaults)
{
    struct dn_site *site = calloc (1, sizeof (*site));
    dn_cleanup (dn_free_ptr) char *text = NULL;
    size_t len;

    if (site && dn_site_init (site, defaults->hardware, defaults->datasets, NULL) == 0
        && dn_load_file (conf, &text, &len, NULL) == 0) {
        dn_site_read_paths (site, (struct dn_span){text, len}, conf, NULL, NULL);
        add_path (watch, site->hardware_dir);
        add_path (watch, site->datasets_file);
        add_path (watch, site->zoo_dir);
        add_path (watch, site->bundle_dir);
    }
    dn_load_free (site);
}

void dn_watch_conf (struct dn_watch *watch, const char *conf)
{
    const struct dn_load_paths defaults = dn_load_default_paths ();

    char beside[DN_SITE_PATH_MAX];

    memset (watch, 0, sizeof (*watch));
    add_path (watch, conf);
    dn_load_beside (conf, DN_OWN_NETWORKS, beside);
    add_path (watch, beside);
    dn_load_beside (conf, DN_PAUSE_FILE, beside);
    add_path (watch, beside);
    /* The default bundle depends on whether this directory exists. */
    add_path (watch, DNNEST_MODEL_DIR);
    add_path (watch, defaults.bundle);
    add_named_paths (watch, conf, &defaults);
}
