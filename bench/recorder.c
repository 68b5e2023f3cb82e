/* recorder.c - appends samples, and continues where an earlier run ended
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "bench/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail (const struct dn_recorder *recorder,
                 const char *what,
                 struct dn_err *err)
{
    return dn_err_set (
        err, DN_E_IO, "%s: %s: %s", recorder->path, what, strerror (errno));
}

static int write_all (struct dn_recorder *recorder,
                      const char *text,
                      size_t len,
                      struct dn_err *err)
{
    while (len > 0) {
        ssize_t n = write (recorder->fd, text, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fail (recorder, "cannot be written", err);
        text += n;
        len -= (size_t) n;
    }
    return 0;
}

/* Read the file into memory that the caller owns. */
static int read_whole (struct dn_recorder *recorder,
                       char **text,
                       size_t *len,
                       struct dn_err *err)
{
    struct stat st;
    size_t size;

    *text = NULL;
    *len = 0;
    if (fstat (recorder->fd, &st) < 0)
        return fail (recorder, "cannot be examined", err);
    if (!S_ISREG (st.st_mode))
        return dn_err_set (err, DN_E_IO, "%s: not a regular file", recorder->path);
    if (st.st_size > DN_SAMPLES_TEXT_MAX)
        return dn_err_set (err,
                           DN_E_LIMIT,
                           "%s: larger than %d bytes",
                           recorder->path,
                           DN_SAMPLES_TEXT_MAX);
    size = (size_t) st.st_size;
    *text = malloc (size + 1);
    if (!*text)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    while (*len < size) {
        ssize_t n = pread (recorder->fd, *text + *len, size - *len, (off_t) *len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail (recorder, "cannot be read", err);
        if (n == 0)
            break;
        *len += (size_t) n;
    }
    return 0;
}

/* Is it a samples file? Any other file must not be truncated or appended to. */
static bool has_head (const char *text, size_t len)
{
    size_t head = strlen (dn_samples_head);

    return len >= head && memcmp (text, dn_samples_head, head) == 0;
}

static int take_contents (struct dn_recorder *recorder, struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    size_t len;

    if (read_whole (recorder, &text, &len, err) < 0)
        return -1;
    if (len == 0)
        return write_all (recorder, dn_samples_head, strlen (dn_samples_head), err);
    if (!has_head (text, len))
        return dn_err_set (
            err, DN_E_SYNTAX, "%s: not a samples file of dnnest-bench", recorder->path);
    if (dn_samples_read ((struct dn_span){text, len}, &recorder->samples, err) < 0)
        return dn_err_wrap (err, "%s", recorder->path);
    if (recorder->samples.whole < len
        && ftruncate (recorder->fd, (off_t) recorder->samples.whole) < 0)
        return fail (recorder, "cannot be truncated", err);
    return 0;
}

int dn_recorder_open (struct dn_recorder *recorder,
                      const char *path,
                      struct dn_err *err)
{
    memset (recorder, 0, sizeof (*recorder));
    recorder->path = path;
    recorder->fd =
        open (path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (recorder->fd < 0)
        return fail (recorder, "cannot be opened", err);
    if (flock (recorder->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
        dn_err_set (err, DN_E_IO, "%s: another dnnest-bench writes to it", path);
    } else if (take_contents (recorder, err) == 0)
        return 0;
    dn_recorder_close (recorder);
    return -1;
}

int dn_recorder_put (struct dn_recorder *recorder,
                     const struct dn_sample *row,
                     struct dn_err *err)
{
    char line[DN_SAMPLE_LINE_MAX];

    dn_sample_write (row, line);
    if (write_all (recorder, line, strlen (line), err) < 0)
        return -1;
    return dn_samples_add (&recorder->samples, row, err);
}

int dn_recorder_fact (struct dn_recorder *recorder,
                      const char *key,
                      const char *value,
                      bool identity,
                      struct dn_err *err)
{
    struct dn_sample row = {.op = DN_SAMPLE_FACT};
    const char *known = dn_samples_fact (&recorder->samples, key);
    struct dn_buf buf = dn_buf_on (row.shape, sizeof (row.shape));

    dn_buf_add (&buf, "%s=%s", key, value);
    dn_sample_tidy (row.shape);
    if (!known)
        return dn_recorder_put (recorder, &row, err);
    if (identity && strcmp (known, row.shape + strlen (key) + 1) != 0)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "%s: has samples of %s '%s', this is '%s'",
                           recorder->path,
                           key,
                           known,
                           row.shape + strlen (key) + 1);
    return 0;
}

void dn_recorder_close (struct dn_recorder *recorder)
{
    if (recorder->fd >= 0)
        close (recorder->fd);
    recorder->fd = -1;
    dn_samples_free (&recorder->samples);
}
