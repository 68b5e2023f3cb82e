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
#include "host/view_files.h"
#include "predict/tuning.h"

/* The folder of the catalogue with the site's own measurements. */
static const char site_folder[] = "site";

void dn_dir_cleanup (DIR *const *dir)
{
    if (*dir)
        closedir (*dir);
}

/* Who may own what is loaded, beside root and the caller: SlurmUser, to whom root has
 * given the directory of dnnestd. Else root could not look at a bundle of SlurmUser's.
 */
static uid_t site_owner (void)
{
    struct stat st;

    return fstatat (AT_FDCWD, DNNEST_STATE_DIR, &st, AT_SYMLINK_NOFOLLOW) == 0
               ? st.st_uid
               : 0;
}

/* Read the file 'name' of the open directory 'dir'; 'path' names it in errors. */
static int load_at (int dir,
                    const char *name,
                    const char *path,
                    size_t max,
                    char **text,
                    size_t *len,
                    struct dn_err *err)
{
    dn_cleanup (dn_fd_cleanup) int fd = dn_file_open (dir, name);

    *text = NULL;
    if (fd < 0)
        return dn_file_fail (path, dn_say_file_opened, err);
    return dn_file_take (fd, path, max, site_owner (), text, len, err);
}

int dn_load_file (const char *path, char **text, size_t *len, struct dn_err *err)
{
    if (dn_view_text (path, DN_VIEW_OURS, DN_FILE_MAX, text, len, err) < 0)
        return -1;
    errno = ENOENT;
    return *text ? 0 : dn_file_fail (path, dn_say_file_opened, err);
}

/* --- folders --------------------------------------------------------------------- */

/* Open the directory 'name' of the directory 'dir' (AT_FDCWD: a path). Return a
 * descriptor, or -1 with errno and 'err'.
 */
static int open_folder (int dir, const char *name, const char *path, struct dn_err *err)
{
    int fd = openat (dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return dn_file_fail (path, dn_say_file_folder, err);
    if (fstat (fd, &st) < 0)
        dn_file_fail (path, dn_say_file_examined, err);
    else if (dn_file_trust (&st, site_owner (), path, err) == 0)
        return fd;
    close (fd);
    errno = 0;
    return -1;
}

/* The same of a path. With a slash behind its name a symbolic link would be followed.
 */
static int open_trusted (const char *path, struct dn_err *err)
{
    struct dn_span span = dn_span_of (path);
    char name[PATH_MAX];

    while (span.len > 1 && path[span.len - 1] == '/')
        span.len--;
    if (path[0] != '/')
        return dn_refuse (err, file_relative, path);
    if (dn_span_copy (span, name, sizeof (name), "directory", err) < 0
        || dn_trust_parents (name, err) < 0)
        return -1;
    return open_folder (AT_FDCWD, name, path, err);
}

/* What is done with the files of a folder whose names end with 'suffix'. */
struct files {
    const char *suffix;
    int n_max;
    size_t size_max;
    /* Takes the text of a file over, which is freed with free (). */
    int (*take) (const struct files *self,
                 const char *path,
                 char *text,
                 size_t len,
                 struct dn_err *err);
    /* NULL: the first error ends the reading. */
    void (*refuse) (const struct files *self, const struct dn_err *err);
    struct dn_site *site;
    struct dn_catalogue *catalogue;
    struct dn_problems *problems;
    bool own; /* of the site, not of the installation */
};

/* Their names, sorted, so that messages and candidates do not depend on the file
 * system's order.
 */
struct names {
    char (*list)[NAME_MAX + 1]; /* owned */
    int n;
};

static void free_names (const struct names *names)
{
    free (names->list);
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
                        const struct files *files,
                        struct names *names,
                        struct dn_err *err)
{
    const struct dirent *entry;

    names->list = calloc ((size_t) files->n_max, sizeof (names->list[0]));
    if (!names->list)
        return dn_refuse (err, no_memory_for, path);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this stream */
    while ((errno = 0, entry = readdir (dir))) {
        if (!ends_with (entry->d_name, files->suffix))
            continue;
        if (names->n == files->n_max)
            return dn_refuse (err, file_many, path, files->n_max);
        snprintf (names->list[names->n++], NAME_MAX + 1, "%s", entry->d_name);
    }
    if (errno != 0)
        return dn_file_fail (path, dn_say_file_read, err);
    qsort (names->list, (size_t) names->n, sizeof (names->list[0]), compare_names);
    return 0;
}

static int load_one (int dir,
                     const char *dir_path,
                     const char *name,
                     const struct files *files,
                     struct dn_err *err)
{
    char path[DN_SITE_PATH_MAX + NAME_MAX + sizeof (site_folder) + 2];
    char *text = NULL;
    size_t len = 0;

    snprintf (path, sizeof (path), "%s/%s", dir_path, name);
    if (load_at (dir, name, path, files->size_max, &text, &len, err) < 0)
        return -1;
    return files->take (files, path, text, len, err);
}

/* Read the folder that is open as 'fd', which is closed. */
static int load_folder (int fd,
                        const char *path,
                        const struct files *files,
                        struct dn_err *err)
{
    dn_cleanup (free_names) struct names names = {.n = 0};
    dn_cleanup (dn_dir_cleanup) DIR *dir = fdopendir (fd);

    if (!dir) {
        dn_file_fail (path, dn_say_file_read, err);
        close (fd);
        return -1;
    }
    if (list_folder (dir, path, files, &names, err) < 0)
        return -1;
    for (int i = 0; i < names.n; i++) {
        if (load_one (fd, path, names.list[i], files, err) == 0)
            continue;
        if (!files->refuse)
            return -1;
        files->refuse (files, err);
    }
    return 0;
}

/* --- the catalogue and the tables ------------------------------------------------ */

static int take_device (const struct files *files,
                        const char *path,
                        char *text,
                        size_t len,
                        struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *owned = text;

    return dn_catalogue_add (
        files->catalogue, (struct dn_span){owned, len}, path, files->own, err);
}

int dn_load_catalogue (const char *path,
                       struct dn_catalogue *catalogue,
                       struct dn_err *err)
{
    struct files files = {.suffix = ".conf",
                          .n_max = DN_DEVICES_MAX,
                          .size_max = DN_FILE_MAX,
                          .take = take_device,
                          .catalogue = catalogue};
    char own[DN_SITE_PATH_MAX + sizeof (site_folder) + 1];
    int fd = open_trusted (path, err);

    if (fd < 0 || load_folder (fd, path, &files, err) < 0
        || dn_catalogue_slice (catalogue, err) < 0)
        return -1;
    /* The site's own measurements. */
    snprintf (own, sizeof (own), "%s/%s", path, site_folder);
    files.own = true;
    fd = open_folder (AT_FDCWD, own, own, err);
    if ((fd < 0 && errno != ENOENT)
        || (fd >= 0 && load_folder (fd, own, &files, err) < 0))
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

static DN_COLD int take_network (const struct files *files,
                                 const char *path,
                                 char *text,
                                 size_t len,
                                 struct dn_err *err)
{
    const char *file = strrchr (path, '/') + 1;
    char network[NAME_MAX + 1];

    snprintf (network,
              sizeof (network),
              "%.*s",
              (int) (strlen (file) - strlen (DN_NETWORK_SUFFIX)),
              file);
    if (dn_zoo_has (network)) {
        free (text);
        return dn_refuse (err, network_twice, path, network);
    }
    if (dn_networks_add (&files->site->networks, file, text, len, files->own, err) < 0)
        return dn_err_wrap (err, "%.*s", (int) (file - 1 - path), path);
    return 0;
}

/* A file that cannot be used is reported, and the others are loaded. */
static DN_COLD void refuse_network (const struct files *files, const struct dn_err *err)
{
    if (files->problems)
        dn_problems_take (files->problems, err);
    else if (files->site->n_networks_err++ == 0)
        files->site->networks_err = *err;
}

/* Load the networks in a folder that need not exist. The tests of an installation have
 * read the files of its own.
 */
static void load_networks (const char *path,
                           bool own,
                           struct dn_problems *problems,
                           struct dn_site *site)
{
    const struct files files = {.suffix = DN_NETWORK_SUFFIX,
                                .n_max = DN_NETWORKS_MAX,
                                .size_max = DN_NETWORK_FILE_MAX,
                                .take = take_network,
                                .refuse = refuse_network,
                                .site = site,
                                .problems = problems,
                                .own = own};
    struct dn_err err;
    int fd;

    if (access (path, F_OK) < 0 && errno == ENOENT)
        return;
    fd = open_trusted (path, &err);
    if (fd < 0 || load_folder (fd, path, &files, &err) < 0)
        refuse_network (&files, &err);
}

void dn_load_beside (const char *conf, const char *name, char path[DN_SITE_PATH_MAX])
{
    const char *slash = strrchr (conf, '/');

    snprintf (path,
              DN_SITE_PATH_MAX,
              "%.*s/%s",
              slash ? (int) (slash - conf) : 0,
              conf,
              name);
}

static void load_zoo (const struct dn_load_paths *paths,
                      struct dn_problems *problems,
                      struct dn_site *site)
{
    char own[DN_SITE_PATH_MAX];

    load_networks (site->zoo_dir, false, problems, site);
    if (!paths->conf)
        return;
    dn_load_beside (paths->conf, DN_OWN_NETWORKS, own);
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

/* The bundle in DataDir, if there is one, stands for the packaged one. */
static int set_data_bundle (struct dn_site *site, struct dn_err *err)
{
    char path[DN_SITE_PATH_MAX + sizeof ("/bundle")];

    snprintf (path, sizeof (path), "%s/bundle", site->data_dir);
    return site->data_dir[0] == '\0'
                   || strcmp (site->bundle_dir, DNNEST_BUNDLE_DIR) != 0
                   || access (path, F_OK) < 0
               ? 0
               : set_bundle_dir (site, path, err);
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
    return context->cluster ? dn_site_set_cluster (site, context->cluster, err) : 0;
}

/* What 'dnnest pause' has written: Policy lines, or one line that stops all. */
static int load_pause (const struct dn_load_paths *paths,
                       const struct dn_site_reading *reading,
                       struct dn_site *site,
                       struct dn_err *err)
{
    static const char all[] = DN_PAUSE_RULE;
    dn_cleanup (dn_free_ptr) char *text = NULL;
    char path[DN_SITE_PATH_MAX];
    size_t len;

    if (!paths->conf)
        return 0;
    dn_load_beside (paths->conf, DN_PAUSE_FILE, path);
    if (dn_view_text (path, DN_VIEW_OURS, DN_FILE_MAX, &text, &len, err) < 0)
        return -1;
    if (!text)
        return 0;
    if (strncmp (text, all, sizeof (all) - 1) == 0)
        return dn_site_override (site, "dnnest_mode=observe", err);
    return dn_site_read (site, (struct dn_span){text, len}, path, reading, err);
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
        || set_data_bundle (site, err) < 0
        || set_bundle_dir (site, paths->model, err) < 0
        || load_tables (context, site, &reading.gpus, err) < 0
        || dn_site_read (site, conf, file, &reading, err) < 0
        || follow_slurm (context, site, err) < 0
        || load_pause (paths, &reading, site, err) < 0)
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
    static const struct dn_load_context nothing = {.cluster = ""};
    struct dn_site *site = calloc (1, sizeof (*site));

    if (!site)
        return DN_NULL (dn_refuse (err, site_memory));
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
