/* predictions.c - a table of runs with what was predicted for each, as CSV
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predictions.h"

#include <csv.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GIB 1073741824.0

#define UPPER_QUANTILE 0.95

static const char *const columns[] = {"predicted_step_ms",
                                      "predicted_step_ms_p95",
                                      "predicted_mem_gb",
                                      "predicted_power_w",
                                      "confidence",
                                      "skipped_reason"};

static bool is_ours (const char *name)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (columns); i++)
        if (strcmp (columns[i], name) == 0)
            return true;
    return false;
}

/* The permissions that an ordinary new file gets; mkstemp () gives fewer. */
static mode_t new_file_mode (void)
{
    mode_t mask = umask (0);

    umask (mask);
    return 0666 & ~mask;
}

static int fail (const char *path, enum dn_errc code, struct dn_err *err)
{
    return dn_err_set (err, code, "%s: %s", path, strerror (errno));
}

/* Where a file is to be replaced: at the end of symbolic links, and never a device. */
static int find_place (const char *path, char place[PATH_MAX], struct dn_err *err)
{
    struct stat st;
    struct dn_buf buf = dn_buf_on (place, PATH_MAX);

    if (stat (path, &st) == 0) {
        if (!S_ISREG (st.st_mode))
            return dn_err_set (err, DN_E_IO, "%s: not a regular file", path);
        return realpath (path, place) ? 0 : fail (path, DN_E_IO, err);
    }
    dn_buf_add (&buf, "%s", path);
    return buf.cut ? dn_err_set (err, DN_E_LIMIT, "%s: path too long", path) : 0;
}

int dn_predictions_open (struct dn_predictions *predictions,
                         const char *path,
                         struct dn_err *err)
{
    struct dn_buf buf = dn_buf_on (predictions->temporary, PATH_MAX);
    int fd;

    if (find_place (path, predictions->path, err) < 0)
        return -1;
    dn_buf_add (&buf, "%s.XXXXXX", predictions->path);
    if (buf.cut)
        return dn_err_set (err, DN_E_LIMIT, "%s: path too long", path);
    fd = mkostemp (predictions->temporary, O_CLOEXEC);
    if (fd < 0)
        return fail (path, DN_E_IO, err);
    predictions->file = fdopen (fd, "w");
    if (predictions->file && fchmod (fd, new_file_mode ()) == 0)
        return 0;
    fail (path, DN_E_IO, err);
    if (!predictions->file) {
        close (fd);
        unlink (predictions->temporary);
    }
    return -1;
}

/* Readers strip blanks from the ends of what is not quoted. */
static bool needs_quotes (const char *text)
{
    size_t len = strlen (text);

    return text[strcspn (text, "\",\r\n")] != '\0'
           || (len > 0 && (strchr (" \t", text[0]) || strchr (" \t", text[len - 1])));
}

static void write_text (FILE *file, const char *text)
{
    if (needs_quotes (text))
        csv_fwrite (file, text, strlen (text));
    else
        fputs (text, file);
}

static void write_head (struct dn_predictions *predictions, const struct dn_row *row)
{
    for (int i = 0; i < row->n_columns; i++)
        if (!is_ours (row->names[i])) {
            write_text (predictions->file, row->names[i]);
            fputc (',', predictions->file);
        }
    for (size_t i = 0; i < DN_N_ELEMENTS (columns); i++)
        fprintf (predictions->file, "%s%s", i > 0 ? "," : "", columns[i]);
    fputc ('\n', predictions->file);
}

void dn_predictions_add (struct dn_predictions *predictions,
                         const struct dn_row *row,
                         const struct dn_row_result *result)
{
    const struct dn_estimate *estimate = &result->estimate;
    FILE *file = predictions->file;

    if (!predictions->begun)
        write_head (predictions, row);
    predictions->begun = true;
    for (int i = 0; i < row->n_columns; i++)
        if (!is_ours (row->names[i])) {
            write_text (file, row->values[i]);
            fputc (',', file);
        }
    if (result->predicted)
        fprintf (file,
                 "%.6g,%.6g,%.6g,%.4g,%.3g,",
                 estimate->step_s.p50 * 1000,
                 dn_range_at (estimate->step_s, UPPER_QUANTILE) * 1000,
                 estimate->gpu_mem.p50 / GIB,
                 estimate->power_w,
                 estimate->confidence);
    else
        fputs (",,,,,", file);
    write_text (file, result->reason);
    fputc ('\n', file);
}

int dn_predictions_finish (struct dn_predictions *predictions, struct dn_err *err)
{
    FILE *file = predictions->file;
    bool failed;

    errno = 0;
    failed = fflush (file) != 0 || ferror (file) || fsync (fileno (file)) != 0;
    if (failed || rename (predictions->temporary, predictions->path) != 0)
        return errno ? fail (predictions->path, DN_E_IO, err)
                     : dn_err_set (err, DN_E_IO, "%s: write error", predictions->path);
    predictions->file = NULL;
    fclose (file);
    return 0;
}

void dn_predictions_free (struct dn_predictions *predictions)
{
    if (!predictions || !predictions->file)
        return;
    fclose (predictions->file);
    unlink (predictions->temporary);
    predictions->file = NULL;
}
