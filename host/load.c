/* load.c - opens the site's files safely and passes them to the pure parsers
 *
 * The checks are on the opened file, not on its name, so that it cannot be replaced
 * between check and use. With O_NONBLOCK a FIFO in place of a file does not hang
 * slurmctld; on a regular file it has no effect.
 *
 * An installation has one configuration, some 40 catalogue files of 1 KB and one table
 * of data sets. Loading takes about a millisecond, at start and at a reconfiguration. A
 * bundle takes about ten.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "host/load.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/messages.h"
#include "host/files.h"
#include "host/people.h"
#include "host/trust.h"
#include "predict/tuning.h"

/* The folder of the catalogue with the site's own measurements. */
static const char site_folder[] = "site";
static const char catalogue_suffix[] = ".conf";

void dn_dir_cleanup (DIR *const *dir)
{
    if (*dir)
        closedir (*dir);
}

static int check_file (int fd,
                       const char *path,
                       size_t max,
                       uid_t also,
                       size_t *size,
                       struct dn_err *err)
{
    struct stat st;

    if (fstat (fd, &st) < 0)
        return dn_file_fail (path, dn_say_file_examined, err);
    if (!S_ISREG (st.st_mode))
        return dn_err_set (err, DN_E_IO, dn_say_err_file_kind, path);
    if (dn_trust_file_of (&st, also, path, err) < 0)
        return -1;
    if (st.st_size < 0 || (uint64_t) st.st_size > max)
        return dn_err_set (
            err, DN_E_LIMIT, dn_say_err_file_size, path, (long long) st.st_size, max);
    *size = (size_t) st.st_size;
    return 0;
}

int dn_load_open (int fd,
                  const char *path,
                  size_t max,
                  uid_t also,
                  char **text,
                  size_t *len,
                  struct dn_err *err)
{
    size_t size = 0;
    char *buf;

    *text = NULL;
    *len = 0;
    if (check_file (fd, path, max, also, &size, err) < 0)
        return -1;
    buf = malloc (size + 1);
    if (!buf)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory_for, path);
    if (dn_file_fill (fd, buf, size, len) < 0) {
        free (buf);
        *len = 0;
        return dn_file_fail (path, dn_say_file_read, err);
    }
    *text = buf;
    return 0;
}

/* Read the file 'name' below the open directory 'dir'; 'path' names it in errors. */
static int load_at (int dir,
                    const char *name,
                    const char *path,
                    size_t max,
                    char **text,
                    size_t *len,
                    struct dn_err *err)
{
    dn_cleanup (dn_fd_cleanup) int fd = -1;

    *text = NULL;
    *len = 0;
    fd = openat (dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ELOOP)
        return dn_err_set (err, DN_E_IO, dn_say_err_file_link, path);
    if (fd < 0)
        return dn_file_fail (path, dn_say_file_opened, err);
    return dn_load_open (fd, path, max, geteuid (), text, len, err);
}

static int check_absolute (const char *path, struct dn_err *err)
{
    if (path[0] != '/')
        return dn_err_set (err, DN_E_IO, dn_say_err_file_relative, path);
    return 0;
}

int dn_load_file (const char *path, char **text, size_t *len, struct dn_err *err)
{
    *text = NULL;
    *len = 0;
    if (check_absolute (path, err) < 0 || dn_trust_parents (path, err) < 0)
        return -1;
    return load_at (AT_FDCWD, path, path, DN_FILE_MAX, text, len, err);
}

/* File names of a folder that end with 'suffix', sorted, so that messages and
 * candidates do not depend on the file system's order.
 */
struct name_list {
    const char *suffix;
    int max;
    char (*names)[NAME_MAX + 1]; /* owned */
    int n_names;
};

static void free_names (const struct name_list *list)
{
    free (list->names);
}

static int compare_names (const void *a, const void *b)
{
    return strcmp (a, b);
}

static bool ends_with (const char *name, const char *suffix)
{
    size_t len = strlen (name);
    size_t suffix_len = strlen (suffix);

    return name[0] != '.' && len > suffix_len
           && strcmp (name + len - suffix_len, suffix) == 0;
}

static int list_folder (DIR *dir,
                        const char *path,
                        struct name_list *list,
                        struct dn_err *err)
{
    const struct dirent *entry;

    list->names = calloc ((size_t) list->max, sizeof (list->names[0]));
    if (!list->names)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory_for, path);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this stream */
    while ((errno = 0, entry = readdir (dir))) {
        if (!ends_with (entry->d_name, list->suffix))
            continue;
        if (list->n_names == list->max)
            return dn_err_set (err, DN_E_LIMIT, dn_say_err_file_many, path, list->max);
        snprintf (list->names[list->n_names++], NAME_MAX + 1, "%s", entry->d_name);
    }
    if (errno != 0)
        return dn_file_fail (path, dn_say_file_read, err);
    qsort (list->names, (size_t) list->n_names, sizeof (list->names[0]), compare_names);
    return 0;
}

/* Return a descriptor, or -1 with 'err'. With a slash behind its name a symbolic link
 * would be followed.
 */
static int open_trusted (const char *path, struct dn_err *err)
{
    char name[PATH_MAX];
    size_t len = strlen (path);
    struct stat st;
    int fd;

    while (len > 1 && path[len - 1] == '/')
        len--;
    if (check_absolute (path, err) < 0
        || dn_span_copy (
               (struct dn_span){path, len}, name, sizeof (name), "directory", err)
               < 0
        || dn_trust_parents (name, err) < 0)
        return -1;
    fd = open (name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return dn_file_fail (path, dn_say_file_folder, err);
    if (fstat (fd, &st) < 0)
        dn_file_fail (path, dn_say_file_examined, err);
    else if (dn_trust_file (&st, path, err) == 0)
        return fd;
    close (fd);
    return -1;
}

static DIR *open_trusted_dir (const char *path, struct dn_err *err)
{
    int fd = open_trusted (path, err);
    DIR *dir = fd < 0 ? NULL : fdopendir (fd);

    if (fd >= 0 && !dir) {
        dn_file_fail (path, dn_say_file_read, err);
        close (fd);
    }
    return dir;
}

static int load_device (int dir,
                        const char *dir_path,
                        const char *name,
                        bool amends,
                        struct dn_catalogue *catalogue,
                        struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    char path[DN_SITE_PATH_MAX + NAME_MAX + sizeof (site_folder) + 2];
    size_t len;

    snprintf (path, sizeof (path), "%s/%s", dir_path, name);
    if (load_at (dir, name, path, DN_FILE_MAX, &text, &len, err) < 0)
        return -1;
    return dn_catalogue_add (catalogue, (struct dn_span){text, len}, path, amends, err);
}

static int load_folder (DIR *dir,
                        const char *path,
                        bool amends,
                        struct dn_catalogue *catalogue,
                        struct dn_err *err)
{
    dn_cleanup (free_names) struct name_list list = {.suffix = catalogue_suffix,
                                                     .max = DN_DEVICES_MAX};

    if (list_folder (dir, path, &list, err) < 0)
        return -1;
    for (int i = 0; i < list.n_names; i++)
        if (load_device (dirfd (dir), path, list.names[i], amends, catalogue, err) < 0)
            return -1;
    return 0;
}

/* Load the site's own values of devices from a folder of the catalogue, which is
 * optional.
 */
static int load_own (int parent,
                     const char *parent_path,
                     struct dn_catalogue *catalogue,
                     struct dn_err *err)
{
    char path[DN_SITE_PATH_MAX + sizeof (site_folder) + 1];
    dn_cleanup (dn_dir_cleanup) DIR *dir = NULL;
    struct stat st;
    int fd =
        openat (parent, site_folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    snprintf (path, sizeof (path), "%s/%s", parent_path, site_folder);
    if (fd < 0)
        return errno == ENOENT ? 0 : dn_file_fail (path, dn_say_file_folder, err);
    dir = fdopendir (fd);
    if (!dir) {
        dn_file_fail (path, dn_say_file_read, err);
        close (fd);
        return -1;
    }
    if (fstat (fd, &st) < 0)
        return dn_file_fail (path, dn_say_file_examined, err);
    if (dn_trust_file (&st, path, err) < 0)
        return -1;
    return load_folder (dir, path, true, catalogue, err);
}

int dn_load_catalogue (const char *path,
                       struct dn_catalogue *catalogue,
                       struct dn_err *err)
{
    dn_cleanup (dn_dir_cleanup) DIR *dir = open_trusted_dir (path, err);

    if (!dir || load_folder (dir, path, false, catalogue, err) < 0
        || load_own (dirfd (dir), path, catalogue, err) < 0)
        return -1;
    return dn_catalogue_link (catalogue, err);
}

static int load_datasets (const char *path,
                          struct dn_datasets *datasets,
                          struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    size_t len;

    if (dn_load_file (path, &text, &len, err) < 0)
        return -1;
    return dn_datasets_read ((struct dn_span){text, len}, path, datasets, err);
}

static int load_network (int dir,
                         const char *dir_path,
                         const char *name,
                         bool check,
                         struct dn_networks *networks,
                         struct dn_err *err)
{
    size_t n = strlen (name) - strlen (DN_NETWORK_SUFFIX);
    char path[DN_SITE_PATH_MAX + NAME_MAX + 2];
    char network[NAME_MAX + 1];
    char *text = NULL;
    size_t len;

    snprintf (path, sizeof (path), "%s/%s", dir_path, name);
    snprintf (network, sizeof (network), "%.*s", (int) n, name);
    if (dn_zoo_has (network))
        return dn_err_set (err, DN_E_RANGE, dn_say_err_network_twice, path, network);
    if (load_at (dir, name, path, DN_NETWORK_FILE_MAX, &text, &len, err) < 0)
        return -1;
    if (dn_networks_add (networks, name, text, len, check, err) < 0)
        return dn_err_wrap (err, "%s", dir_path);
    return 0;
}

/* A file that cannot be used is reported, and the others are loaded. */
static void refuse_network (struct dn_problems *problems,
                            struct dn_site *site,
                            const struct dn_err *err)
{
    if (problems)
        dn_problems_take (problems, err);
    else if (site->n_networks_err++ == 0)
        site->networks_err = *err;
}

/* Load the networks in a folder that need not exist. */
static void load_networks (const char *path,
                           bool check,
                           struct dn_problems *problems,
                           struct dn_site *site)
{
    dn_cleanup (free_names) struct name_list list = {.suffix = DN_NETWORK_SUFFIX,
                                                     .max = DN_NETWORKS_MAX};
    dn_cleanup (dn_dir_cleanup) DIR *dir = NULL;
    struct dn_err err;

    if (access (path, F_OK) < 0 && errno == ENOENT)
        return;
    dir = open_trusted_dir (path, &err);
    if (!dir || list_folder (dir, path, &list, &err) < 0) {
        refuse_network (problems, site, &err);
        return;
    }
    for (int i = 0; i < list.n_names; i++)
        if (load_network (
                dirfd (dir), path, list.names[i], check, &site->networks, &err)
            < 0)
            refuse_network (problems, site, &err);
}

void dn_load_own_networks_path (const char *conf, char path[DN_SITE_PATH_MAX])
{
    const char *slash = conf ? strrchr (conf, '/') : NULL;

    snprintf (path,
              DN_SITE_PATH_MAX,
              "%.*s/dnnest.zoo.d",
              slash ? (int) (slash - conf) : 0,
              slash ? conf : "");
}

/* The networks of the installation, whose files its tests have read, and the site's. */
static void load_zoo (const struct dn_load_paths *paths,
                      struct dn_problems *problems,
                      struct dn_site *site)
{
    char own[DN_SITE_PATH_MAX];

    load_networks (site->zoo_dir, false, problems, site);
    if (!paths->conf)
        return;
    dn_load_own_networks_path (paths->conf, own);
    load_networks (own, true, problems, site);
}

/* A file of the bundle whose directory is open as 'dir'. */
static int load_member (int dir,
                        const char *dir_path,
                        const char *name,
                        char **text,
                        struct dn_span *span,
                        struct dn_err *err)
{
    char path[DN_SITE_PATH_MAX + DN_NAME_MAX + 2];

    snprintf (path, sizeof (path), "%s/%s", dir_path, name);
    if (load_at (
            dir, name, path, (size_t) dn_bundle_file_max (name), text, &span->len, err)
        < 0)
        return -1;
    span->text = *text;
    return 0;
}

static struct dn_bundle *open_bundle (int dir, const char *path, struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct dn_span span;
    struct dn_bundle *bundle;

    if (load_member (dir, path, DN_BUNDLE_MANIFEST, &text, &span, err) < 0)
        return NULL;
    bundle = dn_bundle_open (span, err);
    if (!bundle)
        dn_err_wrap (err, "%s", path);
    return bundle;
}

static int fill_bundle (int dir,
                        const char *path,
                        struct dn_bundle *bundle,
                        struct dn_err *err)
{
    for (int i = 0; i < bundle->n_files; i++) {
        dn_cleanup (dn_free_ptr) char *text = NULL;
        const char *name = bundle->files[i].name;
        struct dn_span span;

        if (load_member (dir, path, name, &text, &span, err) < 0)
            return -1;
        if (dn_bundle_add (bundle, name, span, err) < 0)
            return dn_err_wrap (err, "%s", path);
    }
    return dn_bundle_close (bundle, err) < 0 ? dn_err_wrap (err, "%s", path) : 0;
}

struct dn_bundle *dn_load_bundle (const char *path, struct dn_err *err)
{
    dn_cleanup (dn_fd_cleanup) int dir = open_trusted (path, err);
    struct dn_bundle *bundle = dir < 0 ? NULL : open_bundle (dir, path, err);

    if (bundle && fill_bundle (dir, path, bundle, err) == 0)
        return bundle;
    dn_bundle_free (bundle);
    return NULL;
}

int dn_load_member (const char *dir_path,
                    const char *name,
                    char **text,
                    size_t *len,
                    struct dn_err *err)
{
    dn_cleanup (dn_fd_cleanup) int dir = open_trusted (dir_path, err);
    struct dn_span span = {NULL, 0};

    *text = NULL;
    if (dir < 0 || load_member (dir, dir_path, name, text, &span, err) < 0)
        return -1;
    *len = span.len;
    return 0;
}

/* Fail open: a site without a bundle predicts with the white box only. */
static void load_site_bundle (const struct dn_load_paths *paths, struct dn_site *site)
{
    if (strcmp (site->bundle_dir, DN_SITE_NONE) == 0
        || (!paths->model && paths->bundle
            && strcmp (site->bundle_dir, paths->bundle) == 0
            && access (site->bundle_dir, F_OK) < 0 && errno == ENOENT))
        return;
    site->bundle = dn_load_bundle (site->bundle_dir, &site->bundle_err);
    if (site->bundle)
        site->constants = *dn_tuning_constants (site->bundle->tuning);
}

static int set_bundle_dir (struct dn_site *site, const char *path, struct dn_err *err)
{
    if (!path)
        return 0;
    return dn_span_copy (
        dn_span_of (path), site->bundle_dir, sizeof (site->bundle_dir), "Bundle", err);
}

/* A bundle that 'dnnest-dev train' has installed takes precedence over the packaged
 * one. */
static const char *default_bundle (void)
{
    return access (DNNEST_MODEL_DIR, F_OK) == 0 ? DNNEST_MODEL_DIR : DNNEST_BUNDLE_DIR;
}

struct dn_load_paths dn_load_default_paths (void)
{
    return (struct dn_load_paths){.conf = DNNEST_CONF,
                                  .hardware = DNNEST_HARDWARE_DIR,
                                  .datasets = DNNEST_DATASETS,
                                  .bundle = default_bundle ()};
}

/* Report the error of a step, if all problems are reported; else -1. */
static int take (const struct dn_load_context *context, const struct dn_err *err)
{
    return dn_problems_take (context->problems, err);
}

static int load_tables (const struct dn_load_context *context,
                        struct dn_site *site,
                        bool *catalogue,
                        struct dn_err *err)
{
    *catalogue = dn_load_catalogue (site->hardware_dir, &site->catalogue, err) == 0;
    if (!*catalogue && take (context, err) < 0)
        return -1;
    if (load_datasets (site->datasets_file, &site->datasets, err) < 0)
        return take (context, err);
    return 0;
}

static int follow_slurm (const struct dn_load_context *context,
                         struct dn_site *site,
                         struct dn_err *err)
{
    if (dn_site_override (site, context->slurmctld_parameters, err) < 0) {
        dn_err_wrap (err, "slurm.conf");
        if (take (context, err) < 0)
            return -1;
    }
    if (dn_site_set (site, context->settings, err) < 0) {
        dn_err_wrap (err, "--set");
        if (take (context, err) < 0)
            return -1;
    }
    site->time_min_is_soft = dn_site_time_min_is_soft (context->slurm_version,
                                                       context->scheduler_parameters);
    if (!site->time_min_is_soft)
        dn_site_refuse_time_min (site);
    return 0;
}

/* The order matters: the configuration has the path of the catalogue, and its Gpu lines
 * name the catalogue's devices.
 */
static int fill_site (const struct dn_load_paths *paths,
                      const struct dn_load_context *context,
                      struct dn_site *site,
                      struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    const char *file = paths->conf ? paths->conf : "defaults";
    struct dn_span conf = dn_span_of ("");
    struct dn_site_reading reading = {.people = context->people ? context->people
                                                                : &dn_people_of_system,
                                      .problems = context->problems};
    size_t len;

    if (paths->conf) {
        if (dn_load_file (paths->conf, &text, &len, err) < 0)
            return -1;
        conf = (struct dn_span){text, len};
    }
    if (set_bundle_dir (site, paths->bundle, err) < 0
        || (paths->zoo
            && dn_span_copy (dn_span_of (paths->zoo),
                             site->zoo_dir,
                             DN_SITE_PATH_MAX,
                             "ZooDir",
                             err)
                   < 0)
        || dn_site_read_paths (site, conf, file, context->problems, err) < 0
        || set_bundle_dir (site, paths->model, err) < 0
        || load_tables (context, site, &reading.gpus, err) < 0
        || dn_site_read (site, conf, file, &reading, err) < 0
        || follow_slurm (context, site, err) < 0)
        return -1;
    load_site_bundle (paths, site);
    load_zoo (paths, context->problems, site);
    dn_site_set_loaders (site);
    return 0;
}

struct dn_site *dn_load_site (const struct dn_load_paths *paths,
                              const struct dn_load_context *context,
                              struct dn_err *err)
{
    static const struct dn_load_context nothing = {.problems = NULL};
    struct dn_site *site = calloc (1, sizeof (*site));

    if (!site) {
        dn_err_set (err, DN_E_NOMEM, dn_say_err_site_memory);
        return NULL;
    }
    if (dn_site_init (site, paths->hardware, paths->datasets, err) < 0
        || fill_site (paths, context ? context : &nothing, site, err) < 0) {
        dn_load_free (site);
        return NULL;
    }
    return site;
}

void dn_load_free (struct dn_site *site)
{
    dn_site_free (site);
    free (site);
}
