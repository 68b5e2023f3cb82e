/* files.c - reads files of users and of the site
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
    if (errno == ELOOP)
        return dn_refuse (err, file_link, path);
    return dn_refuse (err, file_errno, path, what, dn_errno_text (errno).text);
}

static int fail_errno (struct dn_err *err)
{
    return dn_err_set (err, DN_E_IO, "%s", dn_errno_text (errno).text);
}

int dn_file_trust (const struct stat *st,
                   uid_t also,
                   const char *path,
                   struct dn_err *err)
{
    if (st->st_uid != 0 && st->st_uid != geteuid () && st->st_uid != also)
        return dn_refuse (err,
                          trust_owner,
                          path,
                          (unsigned long) st->st_uid,
                          (unsigned long) geteuid ());
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return dn_refuse (err, trust_mode, path, (unsigned) (st->st_mode & 07777));
    return 0;
}

/* What is required of a file. */
struct rule {
    enum {
        OF_ANYONE,
        OF_SITE, /* trusted, or of 'uid' */
        OF_USER  /* of 'uid' alone, and text */
    } owner;
    uid_t uid;
    size_t max;
    bool tail; /* the last 'max' bytes of a file of any size, which need not be text */
};

static int check (const struct stat *st,
                  const struct rule *rule,
                  const char *path,
                  struct dn_err *err)
{
    if (!S_ISREG (st->st_mode))
        return dn_refuse (err, file_kind, path);
    if (rule->owner == OF_USER && st->st_uid != rule->uid)
        return dn_refuse (err,
                          file_of_other,
                          path,
                          (unsigned long) st->st_uid,
                          (unsigned long) rule->uid);
    if (rule->owner != OF_ANYONE && dn_file_trust (st, rule->uid, path, err) < 0)
        return -1;
    if (!rule->tail && (st->st_size < 0 || (uintmax_t) st->st_size > rule->max))
        return dn_refuse (err, file_size, path, (long long) st->st_size, rule->max);
    return 0;
}

/* Read 'size' bytes of an open file into 'text', or fewer if it has become shorter, and
 * terminate them. Return -1 with errno.
 */
static int fill (int fd, char *text, size_t size, size_t *len)
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

static int read_open (int fd,
                      const struct rule *rule,
                      const char *path,
                      char **text,
                      size_t *len,
                      struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *buf = NULL;
    struct stat st;
    size_t size;

    if (fstat (fd, &st) < 0)
        return dn_file_fail (path, dn_say_file_examined, err);
    if (check (&st, rule, path, err) < 0)
        return -1;
    size = (size_t) st.st_size;
    if (size > rule->max && lseek (fd, (off_t) (size - rule->max), SEEK_SET) < 0)
        return dn_file_fail (path, dn_say_file_read, err);
    if (size > rule->max)
        size = rule->max;
    buf = malloc (size + 1);
    if (!buf)
        return dn_refuse (err, no_memory_for, path);
    if (fill (fd, buf, size, len) < 0)
        return dn_file_fail (path, dn_say_file_read, err);
    if (rule->owner != OF_SITE && !rule->tail && memchr (buf, '\0', *len))
        return dn_refuse (err, file_nul, path);
    for (size_t i = 0; rule->tail && i < *len; i++)
        if (buf[i] == '\0')
            buf[i] = ' ';
    *text = buf;
    buf = NULL;
    return 0;
}

int dn_file_open (int dir, const char *name)
{
    return openat (dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
}

int dn_file_take (int fd,
                  const char *path,
                  size_t max,
                  uid_t also,
                  char **text,
                  size_t *len,
                  struct dn_err *err)
{
    const struct rule rule = {OF_SITE, also, max, false};

    *text = NULL;
    *len = 0;
    return read_open (fd, &rule, path, text, len, err);
}

int dn_file_read (const char *path, size_t max, char **text, struct dn_err *err)
{
    const struct rule rule = {OF_ANYONE, 0, max, false};
    const struct dn_quoted quoted = dn_quote (path, strlen (path));
    dn_cleanup (dn_fd_cleanup) int fd =
        open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    size_t len;

    *text = NULL;
    if (fd >= 0)
        return read_open (fd, &rule, quoted.text, text, &len, err);
    fail_errno (err);
    return dn_err_wrap (err, "%s", quoted.text);
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
        return dn_refuse (err, user_file_kernel);
    case ELOOP:
        return dn_refuse (err, user_file_link);
    case EXDEV:
        return dn_refuse (err, user_file_out);
    case EAGAIN:
        return dn_refuse (err, user_file_busy);
    default:
        return fail_errno (err);
    }
}

static int read_below (const char *dir,
                       const char *name,
                       const struct rule *rule,
                       char **text,
                       struct dn_err *err)
{
    const struct dn_quoted quoted = dn_quote (name, strlen (name));
    dn_cleanup (dn_fd_cleanup) int dir_fd =
        open (dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    dn_cleanup (dn_fd_cleanup) int fd = -1;
    size_t len;

    *text = NULL;
    if (dir_fd < 0) {
        fail_errno (err);
        return dn_err_wrap (err, dn_say_err_folder, dir);
    }
    fd = open_below (dir_fd, name);
    if (fd >= 0)
        return read_open (fd, rule, quoted.text, text, &len, err);
    fail_open (err);
    return dn_err_wrap (err, "%s", quoted.text);
}

int dn_file_read_below (const char *dir,
                        const char *name,
                        uid_t owner,
                        size_t max,
                        char **text,
                        struct dn_err *err)
{
    return read_below (
        dir, name, &(struct rule){OF_USER, owner, max, false}, text, err);
}

int dn_file_tail_below (const char *dir,
                        const char *name,
                        uid_t owner,
                        size_t max,
                        char **text,
                        struct dn_err *err)
{
    return read_below (dir, name, &(struct rule){OF_USER, owner, max, true}, text, err);
}
