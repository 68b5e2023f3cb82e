/* journal.c - the file of the decision log
 *
 * When slurmctld restarts itself (23.11 and later), two processes write for a short
 * time. O_APPEND and one write () per line keep their lines apart.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "trace/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/messages.h"
#include "host/files.h"

struct dn_journal dn_journal_empty (void)
{
    return (struct dn_journal){
        .fd = -1, .size_max = DN_JOURNAL_SIZE_MAX, .keep = DN_JOURNAL_KEEP};
}

void dn_journal_close (struct dn_journal *journal)
{
    if (journal->fd >= 0)
        close (journal->fd);
    journal->fd = -1;
}

/* Refuse a file of another user, and one with more than one hard link. */
static int check_file (int fd, const char *path, struct dn_err *err)
{
    struct stat st;

    if (fstat (fd, &st) < 0)
        return dn_file_fail (path, dn_say_file_examined, err);
    if (!S_ISREG (st.st_mode))
        return dn_refuse (err, file_kind, path);
    if (st.st_uid != geteuid ())
        return dn_refuse (err,
                          file_owner,
                          path,
                          (unsigned long) st.st_uid,
                          (unsigned long) geteuid ());
    if (st.st_nlink > 1)
        return dn_refuse (err, file_links, path);
    return 0;
}

/* O_NONBLOCK: open () must not wait if the path is a FIFO. */
static int open_file (struct dn_journal *journal, struct dn_err *err)
{
    int fd = open (journal->path,
                   O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
                       | O_NOCTTY,
                   0640);

    if (fd < 0)
        return dn_file_fail (journal->path, dn_say_file_opened, err);
    if (check_file (fd, journal->path, err) < 0) {
        close (fd);
        return -1;
    }
    journal->fd = fd;
    return 0;
}

/* Does the path name another file than the open one? */
static bool is_moved (const struct dn_journal *journal)
{
    struct stat at_path;
    struct stat at_fd;

    return lstat (journal->path, &at_path) < 0 || fstat (journal->fd, &at_fd) < 0
           || at_path.st_dev != at_fd.st_dev || at_path.st_ino != at_fd.st_ino;
}

static bool is_large (const struct dn_journal *journal)
{
    struct stat st;

    return fstat (journal->fd, &st) == 0 && st.st_size >= journal->size_max;
}

/* Rename PATH to PATH.1, that to PATH.2, and so on; the last one is lost. If PATH
 * cannot be renamed, it grows.
 */
static void move_away (struct dn_journal *journal)
{
    char from[DN_JOURNAL_PATH_MAX + 16];
    char to[DN_JOURNAL_PATH_MAX + 16];

    for (int i = journal->keep; i > 0; i--) {
        snprintf (to, sizeof (to), "%s.%d", journal->path, i);
        if (i > 1)
            snprintf (from, sizeof (from), "%s.%d", journal->path, i - 1);
        else
            snprintf (from, sizeof (from), "%s", journal->path);
        rename (from, to);
    }
    dn_journal_close (journal);
}

int dn_journal_ready (struct dn_journal *journal, const char *path, struct dn_err *err)
{
    if (strcmp (journal->path, path) != 0) {
        dn_journal_close (journal);
        if (dn_span_copy (dn_span_of (path),
                          journal->path,
                          sizeof (journal->path),
                          "DecisionLog",
                          err)
            < 0)
            return -1;
    }
    if (journal->fd >= 0 && is_moved (journal))
        dn_journal_close (journal);
    if (journal->fd < 0 && open_file (journal, err) < 0)
        return -1;
    if (!is_large (journal))
        return 0;
    move_away (journal);
    return open_file (journal, err);
}

int dn_journal_append (struct dn_journal *journal, const char *line, struct dn_err *err)
{
    size_t len = strlen (line);
    ssize_t written;
    struct stat st;

    do
        written = write (journal->fd, line, len);
    while (written < 0 && errno == EINTR);
    if (written == (ssize_t) len)
        return 0;
    if (written < 0)
        return dn_file_fail (journal->path, dn_say_file_written, err);
    /* The disk is full. Remove the part of the line that was written. */
    if (fstat (journal->fd, &st) < 0 || st.st_size < written
        || ftruncate (journal->fd, st.st_size - written) < 0)
        return dn_file_fail (journal->path, dn_say_file_remains, err);
    return dn_refuse (err, file_full, journal->path);
}
