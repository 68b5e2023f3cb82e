/* files.c - reads files of users, in commands and in slurmctld
 *
 * All checks are on the opened file, so that it cannot be replaced between check and
 * use. With O_NONBLOCK, open () does not hang on FIFOs, devices and files with a lease;
 * on a regular file it has no other effect.
 *
 * Below a directory of users' files the kernel resolves the path (openat2, Linux 5.6).
 * Opening component by component would access file systems that a user has mounted
 * there, and a FUSE that does not answer would block slurmctld with its locks held.
 * Without openat2 no such file is read.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "host/files.h"
#include "base/messages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__has_include)
#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#define HAVE_OPENAT2
#endif
#endif

void dn_fd_cleanup (const int *fd)
{
    if (*fd >= 0)
        close (*fd);
}

int dn_file_fail (const char *path, const char *what, struct dn_err *err)
{
    return dn_err_set (
        err, DN_E_IO, dn_say_err_file_errno, path, what, dn_errno_text (errno).text);
}

int dn_file_fill (int fd, char *text, size_t size, size_t *len)
{
    *len = 0;
    while (*len < size) {
        ssize_t got = read (fd, text + *len, size - *len);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        *len += (size_t) got;
    }
    text[*len] = '\0';
    return 0;
}

static int fail_errno (struct dn_err *err)
{
    return dn_err_set (err, DN_E_IO, "%s", dn_errno_text (errno).text);
}

/* Check an open file; its size in *size. 'owner' is NULL where any owner is accepted.
 */
static int check_file (int fd,
                       const uid_t *owner,
                       size_t max,
                       size_t *size,
                       struct dn_err *err)
{
    struct stat st;

    if (fstat (fd, &st) < 0)
        return fail_errno (err);
    if (!S_ISREG (st.st_mode))
        return dn_err_set (err, DN_E_IO, dn_say_err_user_file_kind);
    if (owner && st.st_uid != *owner)
        return dn_err_set (err,
                           DN_E_IO,
                           dn_say_err_user_file_owner,
                           (unsigned long) st.st_uid,
                           (unsigned long) *owner);
    if (owner && (st.st_mode & (S_IWGRP | S_IWOTH)))
        return dn_err_set (
            err, DN_E_IO, dn_say_err_user_file_mode, (unsigned) (st.st_mode & 07777));
    if (st.st_size < 0 || (uintmax_t) st.st_size > max)
        return dn_err_set (
            err, DN_E_LIMIT, dn_say_err_user_file_size, (long long) st.st_size, max);
    *size = (size_t) st.st_size;
    return 0;
}

/* Read an open file as text: whole, or with 'tail' the end of a file of any size, which
 * need not be text.
 */
static int read_open (int fd,
                      const uid_t *owner,
                      size_t max,
                      bool tail,
                      char **text,
                      struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *buf = NULL;
    size_t size = 0;
    size_t len;

    *text = NULL;
    if (fd < 0)
        return fail_errno (err);
    if (check_file (fd, owner, tail ? SIZE_MAX : max, &size, err) < 0)
        return -1;
    if (size > max && lseek (fd, (off_t) (size - max), SEEK_SET) < 0)
        return fail_errno (err);
    if (size > max)
        size = max;
    buf = malloc (size + 1);
    if (!buf)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory);
    if (dn_file_fill (fd, buf, size, &len) < 0)
        return fail_errno (err);
    if (!tail && memchr (buf, '\0', len))
        return dn_err_set (err, DN_E_SYNTAX, dn_say_err_user_file_nul);
    for (size_t i = 0; i < len; i++)
        if (buf[i] == '\0')
            buf[i] = ' ';
    *text = buf;
    buf = NULL;
    return 0;
}

int dn_file_read (const char *path, size_t max, char **text, struct dn_err *err)
{
    dn_cleanup (dn_fd_cleanup) int fd =
        open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (read_open (fd, NULL, max, false, text, err) == 0)
        return 0;
    return dn_err_wrap (err, "%s", dn_quote (path, strlen (path)).text);
}

#ifdef HAVE_OPENAT2
static int open_below (int dir, const char *name)
{
    const struct open_how how = {.flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
                                          | O_NOCTTY,
                                 .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS
                                            | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV};

    return (int) syscall (SYS_openat2, dir, name, &how, sizeof (how));
}
#else
static int open_below (int dir, const char *name)
{
    (void) dir;
    (void) name;
    errno = ENOSYS;
    return -1;
}
#endif

/* The errors of openat2 () for a path that it refuses. */
static int fail_open (struct dn_err *err)
{
    switch (errno) {
    case ENOSYS:
        return dn_err_set (err, DN_E_IO, dn_say_err_user_file_kernel);
    case ELOOP:
        return dn_err_set (err, DN_E_IO, dn_say_err_user_file_link);
    case EXDEV:
        return dn_err_set (err, DN_E_IO, dn_say_err_user_file_out);
    case EAGAIN:
        return dn_err_set (err, DN_E_IO, dn_say_err_user_file_busy);
    default:
        return fail_errno (err);
    }
}

/* Read the file 'name' below 'dir': whole, or its end. */
static int read_below (const char *dir,
                       const char *name,
                       uid_t owner,
                       size_t max,
                       bool tail,
                       char **text,
                       struct dn_err *err)
{
    dn_cleanup (dn_fd_cleanup) int dir_fd =
        open (dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    dn_cleanup (dn_fd_cleanup) int fd = -1;
    int rc;

    *text = NULL;
    if (dir_fd < 0) {
        fail_errno (err);
        return dn_err_wrap (err, dn_say_err_folder, dir);
    }
    fd = open_below (dir_fd, name);
    rc = fd < 0 ? fail_open (err) : read_open (fd, &owner, max, tail, text, err);
    return rc < 0 ? dn_err_wrap (err, "%s", dn_quote (name, strlen (name)).text) : 0;
}

int dn_file_read_below (const char *dir,
                        const char *name,
                        uid_t owner,
                        size_t max,
                        char **text,
                        struct dn_err *err)
{
    return read_below (dir, name, owner, max, false, text, err);
}

int dn_file_tail_below (const char *dir,
                        const char *name,
                        uid_t owner,
                        size_t max,
                        char **text,
                        struct dn_err *err)
{
    return read_below (dir, name, owner, max, true, text, err);
}
