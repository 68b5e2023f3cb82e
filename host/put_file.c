/* put_file.c - replaces a file that another program reads, whole or not at all
 *
 * The name of the new file has the number of the process: two processes that write the
 * same file do not mix their texts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "host/put_file.h"

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
#include "host/trust.h"

static int write_all (int fd, struct dn_span text)
{
    size_t done = 0;

    while (done < text.len) {
        ssize_t written = write (fd, text.text + done, text.len - done);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -1;
        done += (size_t) written;
    }
    return 0;
}

/* A file that is written by pieces of any length. */
struct sink {
    int fd;
    size_t len;
    char held[65536];
};

static int flush (struct sink *sink)
{
    struct dn_span held = {sink->held, sink->len};

    sink->len = 0;
    return write_all (sink->fd, held);
}

static int put_piece (void *to, const char *piece, size_t len)
{
    struct sink *sink = to;

    if (sink->len + len > sizeof (sink->held) && flush (sink) < 0)
        return -1;
    if (len > sizeof (sink->held))
        return write_all (sink->fd, (struct dn_span){piece, len});
    memcpy (sink->held + sink->len, piece, len);
    sink->len += len;
    return 0;
}

/* Write the new file 'beside'; errors name 'path'. */
static int write_new (const char *beside,
                      const char *path,
                      dn_put_pieces_f write_pieces,
                      const void *from,
                      struct dn_err *err)
{
    dn_cleanup (dn_fd_cleanup) int fd = -1;
    struct sink sink;

    if (unlink (beside) < 0 && errno != ENOENT)
        return dn_file_fail (path, dn_say_file_written, err);
    fd = open (beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    sink.fd = fd;
    sink.len = 0;
    if (fd < 0 || fchmod (fd, 0644) < 0 || write_pieces (from, put_piece, &sink) != 0
        || flush (&sink) < 0 || fsync (fd) < 0)
        return dn_file_fail (path, dn_say_file_written, err);
    return 0;
}

int dn_put_pieces (const char *path,
                   dn_put_pieces_f write_pieces,
                   const void *from,
                   struct dn_err *err)
{
    char beside[PATH_MAX];
    struct dn_buf buf = dn_buf_on (beside, sizeof (beside));

    dn_buf_add (&buf, "%s.new-%ld", path, (long) getpid ());
    if (buf.cut)
        return dn_refuse (err, file_path, DN_QUOTED (path));
    if (write_new (beside, path, write_pieces, from, err) < 0) {
        unlink (beside);
        return -1;
    }
    if (rename (beside, path) < 0) {
        dn_file_fail (path, dn_say_file_replaced, err);
        unlink (beside);
        return -1;
    }
    return 0;
}

static int put_span (const void *from, dn_put_f put, void *to)
{
    const struct dn_span *text = from;

    return put (to, text->text, text->len);
}

int dn_put_file (const char *path, struct dn_span text, struct dn_err *err)
{
    return dn_put_pieces (path, put_span, &text, err);
}

int dn_put_append (const char *path,
                   const char *dir,
                   struct dn_span text,
                   struct dn_err *err)
{
    int fd = open (path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
    ssize_t written = -1;
    struct stat st;

    if (fd >= 0 && geteuid () == 0 && stat (dir, &st) == 0)
        (void) !fchown (fd, st.st_uid, (gid_t) -1);
    if (fd >= 0)
        written = write (fd, text.text, text.len);
    if (fd >= 0 && close (fd) == 0 && written == (ssize_t) text.len)
        return 0;
    return dn_file_fail (path, dn_say_file_written, err);
}

int dn_put_dir (const char *path, struct dn_err *err)
{
    struct stat st;

    if (mkdir (path, 0755) == 0) {
        /* With any umask. */
        if (chmod (path, 0755) < 0)
            return dn_file_fail (path, dn_say_file_readable, err);
    } else if (errno != EEXIST) {
        return dn_file_fail (path, dn_say_file_created, err);
    }
    if (dn_trust_parents (path, err) < 0)
        return -1;
    if (stat (path, &st) < 0)
        return dn_file_fail (path, dn_say_file_examined, err);
    if (!S_ISDIR (st.st_mode))
        return dn_refuse (err, file_no_folder, path);
    if (dn_file_trust (&st, geteuid (), path, err) < 0)
        return -1;
    if (access (path, W_OK | X_OK) < 0)
        return dn_file_fail (path, dn_say_file_no_files, err);
    return 0;
}

int dn_put_state_dir (const char *path, const char *parent, struct dn_err *err)
{
    size_t len = strlen (parent);
    bool below = strncmp (path, parent, len) == 0 && path[len] == '/';

    if (below && access (parent, F_OK) < 0 && dn_put_dir (parent, err) < 0)
        return -1;
    return dn_put_dir (path, err);
}

int dn_put_text_add (void *to, const char *piece, size_t len)
{
    struct dn_put_text *text = to;

    if (text->len + len > text->size) {
        size_t size = 2 * (text->len + len) + 4096;
        char *larger = realloc (text->text, size);

        if (!larger)
            return -1;
        text->text = larger;
        text->size = size;
    }
    memcpy (text->text + text->len, piece, len);
    text->len += len;
    return 0;
}

void dn_put_text_free (struct dn_put_text *text)
{
    free (text->text);
    *text = (struct dn_put_text){.text = NULL};
}
