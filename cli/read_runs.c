/* read_runs.c - measured runs, or other rows, from a table (CSV)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "read_runs.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common.h"
#include "output/progress.h"

#define PIECE_LEN 65536

struct table_place {
    const char *path;
};

/* Paths of sidecars are relative to the table's folder. */
static int read_sidecar (const char *path,
                         void *context,
                         char **text,
                         struct dn_err *err)
{
    const struct table_place *place = context;
    const char *table = place->path;
    const char *slash = strrchr (table, '/');
    size_t folder = slash && path[0] != '/' ? (size_t) (slash - table) + 1 : 0;
    char whole[PATH_MAX];
    struct dn_buf buf = dn_buf_on (whole, sizeof (whole));

    dn_buf_add (&buf, "%.*s%s", (int) folder, table, path);
    if (buf.cut)
        return dn_err_set (err, DN_E_LIMIT, "path too long");
    return dn_read_input (whole, text, err);
}

/* Bytes of the file; 0 if unknown, as for a pipe. */
static double size_of (FILE *stream)
{
    struct stat st;

    return fstat (fileno (stream), &st) == 0 && S_ISREG (st.st_mode)
               ? (double) st.st_size
               : 0;
}

static int feed (FILE *stream,
                 struct dn_table *table,
                 const struct dn_reading *reading,
                 struct dn_err *err)
{
    dn_cleanup (dn_progress_end) struct dn_progress progress =
        dn_progress_begin (reading->unit);
    char text[PIECE_LEN];
    double size = size_of (stream);
    double done = 0;
    size_t len = 1;

    while (len > 0) {
        len = fread (text, 1, sizeof (text), stream);
        if (ferror (stream))
            return dn_err_set (err, DN_E_IO, "%s", strerror (errno));
        if (dn_table_feed (table, text, len, err) < 0)
            return -1;
        done += (double) len;
        if (reading->piece)
            reading->piece ((struct dn_span){text, len}, reading->context);
        if (reading->unit)
            dn_progress_show (&progress, *reading->n, size > 0 ? done / size : -1);
    }
    return 0;
}

static void find_user (FILE *stream, const char *path, struct dn_reading *reading)
{
    struct dn_buf text = dn_buf_on (reading->user_text, sizeof (reading->user_text));
    struct stat st;

    reading->user = NULL;
    reading->user_text[0] = '\0';
    if (fstat (fileno (stream), &st) < 0 || !S_ISREG (st.st_mode))
        return;
    if (st.st_mode & (S_IWGRP | S_IWOTH)) {
        dn_complain (
            "warning: %s: writable by group or others (mode %04o), so its runs "
            "are those of an unknown user",
            path,
            (unsigned) (st.st_mode & 07777));
        dn_buf_add (&text, "%s", "");
        reading->user = reading->user_text;
    } else if (st.st_uid != geteuid () && st.st_uid != 0) {
        dn_buf_add (&text, "%lu", (unsigned long) st.st_uid);
        reading->user = reading->user_text;
    }
}

/* A table of runs, or of any rows. */
static int read_table (const char *path,
                       const struct dn_reading *reading,
                       struct dn_reading *of_runs,
                       struct dn_err *err)
{
    dn_cleanup (dn_close_input) FILE *stream = dn_open_input (path, err);
    dn_cleanup (dn_table_cleanup) struct dn_table *table =
        dn_table_new (reading->row, reading->context);
    struct table_place place = {path};
    const struct dn_row_files files = {read_sidecar, &place};

    if (!stream)
        return -1;
    if (!table)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    if (of_runs) {
        dn_table_set_files (table, &files);
        find_user (stream, path, of_runs);
    }
    if (feed (stream, table, reading, err) < 0)
        return dn_err_wrap (err, "%s", stream == stdin ? "stdin" : path);
    return 0;
}

int dn_read_table (const char *path,
                   const struct dn_reading *reading,
                   struct dn_err *err)
{
    return read_table (path, reading, NULL, err);
}

int dn_read_runs (const char *path, struct dn_reading *reading, struct dn_err *err)
{
    return read_table (path, reading, reading, err);
}
