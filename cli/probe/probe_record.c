/* probe_record.c - the history of probes: one row of a table for each
 *
 * Tasks of a job array append to one file, perhaps from several nodes. So a row is
 * written by one write to a file opened with O_APPEND, under a lock that NFS knows as
 * well (fcntl, not flock).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "probe_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "conf/files.h"

#define LINE_MAX_LEN 16384

int dn_record_usual_path (char *path, size_t size, struct dn_err *err)
{
    const char *data = getenv ("XDG_DATA_HOME");
    const char *home = getenv ("HOME");
    struct dn_buf buf = dn_buf_on (path, size);

    /* a relative one is to be passed over (XDG base directory specification) */
    if (data && data[0] == '/')
        dn_buf_add (&buf, "%s/dnnest/probes.csv", data);
    else if (home && home[0] == '/')
        dn_buf_add (&buf, "%s/.local/share/dnnest/probes.csv", home);
    else
        return dn_err_set (err,
                           DN_E_RANGE,
                           "neither XDG_DATA_HOME nor HOME tells where to keep the "
                           "history, expected --record=FILE");
    if (buf.cut)
        return dn_err_set (err, DN_E_LIMIT, "the path of the history is too long");
    return 0;
}

/* Make the folders that lead to a file, as mkdir -p does. */
static int make_folders (const char *path, struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *copy = strdup (path);

    if (!copy)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (char *slash = strchr (copy + 1, '/'); slash; slash = strchr (slash + 1, '/')) {
        *slash = '\0';
        if (mkdir (copy, 0777) < 0 && errno != EEXIST)
            return dn_err_set (err, DN_E_IO, "%s: %s", copy, strerror (errno));
        *slash = '/';
    }
    return 0;
}

/* RFC 4180: whatever could mean something stands in quotes. */
static void add_field (struct dn_buf *line, const char *text, bool first)
{
    if (!first)
        dn_buf_add (line, ",");
    if (!strpbrk (text, ",\"\r\n ")) {
        dn_buf_add (line, "%s", text);
        return;
    }
    dn_buf_add (line, "\"");
    for (; *text; text++)
        dn_buf_add (line, *text == '"' ? "\"\"" : "%c", *text);
    dn_buf_add (line, "\"");
}

static int lock (int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    while (fcntl (fd, F_SETLKW, &whole) < 0)
        if (errno != EINTR)
            return -1;
    return 0;
}

/* What is to be written into the open and locked file: heading and row, or the row
 * alone, which begins a line also where somebody has left the last one unfinished.
 */
static int choose (int fd,
                   const char *head,
                   const char *row,
                   struct dn_buf *text,
                   struct dn_err *err)
{
    char begin[LINE_MAX_LEN];
    struct stat status;
    ssize_t n;
    char last = '\n';

    if (fstat (fd, &status) < 0 || !S_ISREG (status.st_mode))
        return dn_err_set (err, DN_E_IO, "not a regular file");
    if (status.st_size == 0) {
        dn_buf_add (text, "%s\n%s\n", head, row);
        return 0;
    }
    n = pread (fd, begin, strlen (head) + 1, 0);
    if (n != (ssize_t) strlen (head) + 1 || memcmp (begin, head, (size_t) n - 1) != 0
        || (begin[n - 1] != '\n' && begin[n - 1] != '\r'))
        return dn_err_set (
            err, DN_E_RANGE, "is no table of probes, or one of another version");
    if (pread (fd, &last, 1, status.st_size - 1) == 1 && last != '\n')
        dn_buf_add (text, "\n");
    dn_buf_add (text, "%s\n", row);
    return 0;
}

static int append (int fd, const char *head, const char *row, struct dn_err *err)
{
    char bytes[2 * LINE_MAX_LEN + 4];
    struct dn_buf text = dn_buf_on (bytes, sizeof (bytes));
    ssize_t n;

    if (lock (fd) < 0)
        return dn_err_set (err, DN_E_IO, "cannot be locked: %s", strerror (errno));
    if (choose (fd, head, row, &text, err) < 0)
        return -1;
    n = write (fd, text.text, text.len);
    if (n == (ssize_t) text.len)
        return 0;
    return dn_err_set (
        err, DN_E_IO, "%s", n < 0 ? strerror (errno) : "cannot be written whole");
}

int dn_record_add (const char *path,
                   const struct dn_cell cells[],
                   int n,
                   struct dn_err *err)
{
    char head_text[LINE_MAX_LEN];
    char row_text[LINE_MAX_LEN];
    struct dn_buf head = dn_buf_on (head_text, sizeof (head_text));
    struct dn_buf row = dn_buf_on (row_text, sizeof (row_text));
    dn_cleanup (dn_fd_cleanup) int fd = -1;

    for (int i = 0; i < n; i++) {
        add_field (&head, cells[i].column, i == 0);
        add_field (&row, cells[i].text, i == 0);
    }
    if (head.cut || row.cut)
        return dn_err_set (
            err, DN_E_LIMIT, "%s: a row of more than %d bytes", path, LINE_MAX_LEN);
    if (make_folders (path, err) < 0)
        return -1;
    fd = open (path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd < 0)
        return dn_err_set (err, DN_E_IO, "%s: %s", path, strerror (errno));
    return append (fd, head.text, row.text, err) < 0 ? dn_err_wrap (err, "%s", path)
                                                     : 0;
}
