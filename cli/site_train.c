/* site_train.c - fit a site's own runs and write the bundle that holds the result
 *
 * The bundle is made beside its place and renamed when it is complete.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "site_train.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/document.h"
#include "grid.h"
#include "json.h"
#include "learn/site_rows.h"
#include "progress.h"
#include "show.h"

#define PIECE_LEN 65536
#define PATH_LEN  4096

/* Reasons that are printed; the others are counted. */
#define REASONS_MAX 10

#define MANIFEST      "manifest.json"
#define TUNING        "site.json"
#define BUNDLE_FORMAT 1

/* Files of a base that are taken over, and their largest size. */
static const char *const base_files[] = {"step.json", "memory.json", "power.json"};

#define BASE_FILE_MAX   ((size_t) 8 * 1024 * 1024)
#define BASE_VALUES_MAX ((size_t) 1024 * 1024)

struct work {
    const struct dn_site *site;
    const struct dn_site_train *train;
    struct dn_site_fit *fit;
    int64_t n_rows;
    int64_t n_skipped;
};

static void free_work (struct work *work)
{
    dn_site_fit_free (work->fit);
}

static void free_tuning (struct dn_tuning **tuning)
{
    dn_tuning_free (*tuning);
}

static int take_row (const struct dn_row *row, void *context, struct dn_err *err)
{
    struct work *work = context;
    struct dn_site_run run;
    struct dn_err why = {0};

    if (!dn_row_get (row, "spec") || !dn_row_get (row, "gpu"))
        return dn_err_set (
            err, DN_E_SYNTAX, "the table needs the columns spec and gpu");
    work->n_rows++;
    if (dn_site_run_read (
            row, &work->site->catalogue, &work->site->datasets, &run, &why)
        == 0)
        return dn_site_fit_add (work->fit, &run, err);
    if (why.code == DN_E_NOMEM)
        return dn_err_set (err, DN_E_NOMEM, "%s", why.text);
    if (work->n_skipped++ < REASONS_MAX)
        dn_complain ("line %lld is left out: %s", (long long) row->line, why.text);
    return 0;
}

static int read_records (FILE *stream, struct work *work, struct dn_err *err)
{
    char piece[PIECE_LEN];
    dn_cleanup (dn_table_cleanup) struct dn_table *table =
        dn_table_new (take_row, work);
    struct dn_progress progress = dn_progress_begin ("rows");
    int rc = table ? 0 : dn_err_set (err, DN_E_NOMEM, "out of memory");
    size_t len = 1;

    while (rc == 0 && len > 0) {
        len = fread (piece, 1, sizeof (piece), stream);
        if (ferror (stream)) {
            rc = dn_err_set (err, DN_E_IO, "%s", strerror (errno));
            break;
        }
        rc = dn_table_feed (table, piece, len, err);
        dn_progress_show (&progress, work->n_rows, -1);
    }
    dn_progress_end (&progress);
    if (work->n_skipped > REASONS_MAX)
        dn_complain ("%lld more rows are left out",
                     (long long) (work->n_skipped - REASONS_MAX));
    if (rc == 0 && work->n_skipped == work->n_rows)
        return dn_err_set (err, DN_E_RANGE, "no row is a run that can be used");
    return rc;
}

static void join (char path[PATH_LEN], const char *folder, const char *name)
{
    struct dn_buf buf = dn_buf_on (path, PATH_LEN);

    dn_buf_add (&buf, "%s/%s", folder, name);
}

/* Read a file of the base whole; '*text' is owned by the caller. */
static int read_file (const char *folder,
                      const char *name,
                      char **text,
                      size_t *len,
                      struct dn_err *err)
{
    char path[PATH_LEN];
    FILE *file;
    int rc = 0;

    join (path, folder, name);
    file = fopen (path, "rb");
    *text = malloc (BASE_FILE_MAX + 1);
    if (!file)
        rc = dn_err_set (err, DN_E_IO, "%s: %s", path, strerror (errno));
    else if (!*text)
        rc = dn_err_set (err, DN_E_NOMEM, "out of memory");
    if (rc == 0) {
        *len = fread (*text, 1, BASE_FILE_MAX + 1, file);
        if (ferror (file))
            rc = dn_err_set (err, DN_E_IO, "%s: %s", path, strerror (errno));
        else if (*len > BASE_FILE_MAX)
            rc = dn_err_set (
                err, DN_E_LIMIT, "%s: larger than %zu bytes", path, BASE_FILE_MAX);
    }
    if (file)
        fclose (file);
    if (rc < 0) {
        free (*text);
        *text = NULL;
    }
    return rc;
}

static int write_file (const char *folder,
                       const char *name,
                       const char *text,
                       size_t len,
                       struct dn_err *err)
{
    char path[PATH_LEN];
    FILE *file;
    bool good;

    join (path, folder, name);
    file = fopen (path, "wb");
    if (!file)
        return dn_err_set (err, DN_E_IO, "%s: %s", path, strerror (errno));
    good = fwrite (text, 1, len, file) == len;
    good = fclose (file) == 0 && good;
    return good ? 0 : dn_err_set (err, DN_E_IO, "%s: %s", path, strerror (errno));
}

/* Write a file of the bundle and enter it in the manifest. */
static int add_file (struct json_object *manifest,
                     const char *folder,
                     const char *name,
                     struct dn_span text,
                     struct dn_err *err)
{
    struct json_object *files = dn_document_find (manifest, "files");
    struct json_object *entry = json_object_new_object ();

    json_object_object_add (entry, "bytes", json_object_new_int64 ((int64_t) text.len));
    json_object_object_add (
        entry, "sha256", json_object_new_string (dn_digest_of (text).hex));
    json_object_object_add (files, name, entry);
    return write_file (folder, name, text.text, text.len, err);
}

static int add_document (struct json_object *manifest,
                         const char *folder,
                         const char *name,
                         struct json_object *document,
                         struct dn_err *err)
{
    static const int flags = JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED;
    struct dn_span text = dn_span_of (json_object_to_json_string_ext (document, flags));

    return manifest ? add_file (manifest, folder, name, text, err)
                    : write_file (folder, name, text.text, text.len, err);
}

/* Take over the base's files; its manifest stays as it is but for their entries. */
static int copy_base (struct json_object *manifest,
                      const char *base,
                      const char *folder,
                      struct dn_err *err)
{
    struct json_object *files = dn_document_object (manifest, "files", err);

    if (!files)
        return dn_err_wrap (err, "%s/" MANIFEST, base);
    for (size_t i = 0; i < DN_N_ELEMENTS (base_files); i++) {
        struct json_object *entry = dn_document_find (files, base_files[i]);
        char digest[DN_DIGEST_LEN + 1];
        dn_cleanup (dn_free_ptr) char *text = NULL;
        struct dn_span span = {NULL, 0};

        if (!entry)
            continue;
        if (dn_document_text (entry, "sha256", digest, sizeof (digest), err) < 0)
            return dn_err_wrap (err, "%s/" MANIFEST ": %s", base, base_files[i]);
        if (read_file (base, base_files[i], &text, &span.len, err) < 0)
            return -1;
        span.text = text;
        if (strcmp (digest, dn_digest_of (span).hex) != 0)
            return dn_err_set (err,
                               DN_E_SYNTAX,
                               "%s/%s: not the file that its manifest describes",
                               base,
                               base_files[i]);
        if (add_file (manifest, folder, base_files[i], span, err) < 0)
            return -1;
    }
    return 0;
}

static struct json_object *read_manifest (const char *base, struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct json_object *manifest;
    struct dn_span span;
    int64_t format;

    if (read_file (base, MANIFEST, &text, &span.len, err) < 0)
        return NULL;
    span.text = text;
    manifest = dn_document_parse (span, BASE_VALUES_MAX, err);
    if (!manifest
        || dn_document_count (
               manifest, "dnnest_bundle", BUNDLE_FORMAT, BUNDLE_FORMAT, &format, err)
               < 0) {
        dn_err_wrap (err, "%s/" MANIFEST, base);
        json_object_put (manifest);
        return NULL;
    }
    return manifest;
}

/* A bundle that has a site's constants and nothing else. */
static struct json_object *new_manifest (void)
{
    struct json_object *manifest = json_object_new_object ();

    json_object_object_add (
        manifest, "dnnest_bundle", json_object_new_int (BUNDLE_FORMAT));
    json_object_object_add (manifest, "name", json_object_new_string ("site"));
    json_object_object_add (manifest, "files", json_object_new_object ());
    return manifest;
}

static int fill_bundle (const struct dn_site_train *train,
                        const char *folder,
                        struct json_object *tuning,
                        struct dn_err *err)
{
    dn_cleanup (dn_json_cleanup) struct json_object *manifest =
        train->base ? read_manifest (train->base, err) : new_manifest ();

    if (!manifest || (train->base && copy_base (manifest, train->base, folder, err) < 0)
        || add_document (manifest, folder, TUNING, tuning, err) < 0)
        return -1;
    return add_document (NULL, folder, MANIFEST, manifest, err);
}

static void remove_folder (const char *folder)
{
    char path[PATH_LEN];

    for (size_t i = 0; i < DN_N_ELEMENTS (base_files); i++) {
        join (path, folder, base_files[i]);
        unlink (path);
    }
    join (path, folder, TUNING);
    unlink (path);
    join (path, folder, MANIFEST);
    unlink (path);
    rmdir (folder);
}

static int write_bundle (const struct dn_site_train *train,
                         struct json_object *tuning,
                         struct dn_err *err)
{
    char folder[PATH_LEN];
    struct dn_buf buf = dn_buf_on (folder, sizeof (folder));
    struct stat st;

    dn_buf_add (&buf, "%s.new", train->out);
    if (buf.cut)
        return dn_err_set (err, DN_E_LIMIT, "--out: the path is too long");
    if (lstat (train->out, &st) == 0)
        return dn_err_set (
            err, DN_E_IO, "%s: exists, expected a new folder", train->out);
    if (mkdir (folder, 0755) < 0)
        return dn_err_set (err, DN_E_IO, "%s: %s", folder, strerror (errno));
    if (fill_bundle (train, folder, tuning, err) == 0) {
        if (rename (folder, train->out) == 0)
            return 0;
        dn_err_set (err, DN_E_IO, "%s: %s", train->out, strerror (errno));
    }
    remove_folder (folder);
    return -1;
}

static void add_scale_rows (struct dn_grid *grid,
                            const char *kind,
                            const struct dn_scales *scales)
{
    for (int i = 0; i < scales->n_rows; i++) {
        const struct dn_scale *scale = &scales->rows[i];

        dn_grid_add (grid, "%s %s", kind, scale->name);
        dn_grid_add (grid, "%.3f", scale->scale);
        dn_grid_add (grid, "1");
        dn_grid_add (grid, "%.0f %%", 100 * scale->sigma);
        dn_grid_add (grid, "%lld", (long long) scale->runs);
    }
}

static int print_tuning (const struct dn_tuning *tuning)
{
    static const struct dn_grid_column columns[] = {{"LEARNED", false},
                                                    {"VALUE", true},
                                                    {"SHIPPED", true},
                                                    {"SURE TO", true},
                                                    {"RUNS", true}};
    dn_cleanup (dn_grid_free) struct dn_grid grid =
        dn_grid_of (columns, (int) DN_N_ELEMENTS (columns));
    int exit_code;

    for (int i = 0; i < DN_CONSTANT_FIELDS; i++) {
        if (!tuning->tuned[i].set)
            continue;
        dn_grid_add (&grid, "%s", dn_constant_fields[i].name);
        dn_grid_add (&grid, "%.4g", dn_constant_get (&tuning->constants, i));
        dn_grid_add (&grid, "%.4g", tuning->tuned[i].shipped);
        dn_grid_add (&grid, "%.0f %%", 100 * tuning->tuned[i].sigma);
        dn_grid_add (&grid, "-");
    }
    add_scale_rows (&grid, "device", &tuning->devices);
    add_scale_rows (&grid, "application", &tuning->applications);
    exit_code = dn_grid_print (&grid);
    printf ("\nSpread left: %.0f %% where the application has been seen on the device, "
            "%.0f %% where both have,\n%.0f %% where only the device has, %.0f %% "
            "elsewhere\n",
            100 * tuning->cell,
            100 * tuning->known,
            100 * tuning->device,
            100 * tuning->none);
    return exit_code;
}

static void print_json (const struct work *work, struct json_object *tuning)
{
    dn_cleanup (dn_json_cleanup) struct json_object *document =
        json_object_new_object ();

    dn_json_add_text (document, "bundle", work->train->out);
    dn_json_add_count (document, "rows", work->n_rows);
    dn_json_add_count (document, "used", work->n_rows - work->n_skipped);
    json_object_object_add (document, "site", json_object_get (tuning));
    dn_json_print (document);
}

int dn_site_train (const struct dn_site *site, const struct dn_site_train *train)
{
    dn_cleanup (free_work) struct work work = {.site = site, .train = train};
    dn_cleanup (dn_close_input) FILE *stream = NULL;
    dn_cleanup (free_tuning) struct dn_tuning *tuning = NULL;
    dn_cleanup (dn_json_cleanup) struct json_object *document = NULL;
    struct dn_err err = {0};

    work.fit = dn_site_fit_new (&site->constants, NULL);
    if (!work.fit) {
        dn_err_set (&err, DN_E_NOMEM, "out of memory");
        return dn_fail (DN_EXIT_BUG, &err);
    }
    stream = dn_open_input (train->records, &err);
    if (!stream)
        return dn_fail (DN_EXIT_DATA, &err);
    if (read_records (stream, &work, &err) < 0) {
        dn_err_wrap (&err, "%s", stream == stdin ? "stdin" : train->records);
        return dn_fail (DN_EXIT_DATA, &err);
    }
    tuning = dn_site_fit_solve (work.fit, &err);
    document = tuning ? dn_tuning_write (tuning) : NULL;
    if (!document || write_bundle (train, document, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    if (!train->json)
        return print_tuning (tuning);
    print_json (&work, document);
    return DN_EXIT_DONE;
}
