/* trust.c - the directories on the path of a file of the site
 *
 * The path is walked as the kernel does it, with O_PATH and O_NOFOLLOW, so that the
 * directory of every symbolic link is seen. The walk fails if a user who is not trusted
 * could change the path before the file is opened.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "host/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/messages.h"
#include "base/text.h"
#include "host/files.h"

/* As many as the kernel follows. */
#define LINKS_MAX 40

/* The state of a walk. */
struct walk {
    char text[PATH_MAX];
    const char *rest;  /* what is left to walk, in 'text' */
    char at[PATH_MAX]; /* the directory reached, for messages */
    int fd;            /* the same, open */
    bool is_open;      /* others may write it: it is sticky */
    int n_links;
};

static void walk_cleanup (struct walk *walk)
{
    dn_fd_cleanup (&walk->fd);
}

/* Check the directory reached; 'last': the file is in it. */
static int check_directory (struct walk *walk, bool last, struct dn_err *err)
{
    const char *at = walk->at[0] ? walk->at : "/";
    struct stat st;

    walk->is_open = false;
    if (fstat (walk->fd, &st) < 0)
        return dn_refuse (err, trust_examined, at, dn_errno_text (errno).text);
    walk->is_open = st.st_mode & S_IWOTH;
    if (!walk->is_open || ((st.st_mode & S_ISVTX) && !last))
        return 0;
    return dn_refuse (err,
                      trust_folder,
                      at,
                      (unsigned) (st.st_mode & 07777),
                      (st.st_mode & S_ISVTX) ? dn_say_trust_sticky : "");
}

/* Go to the root of the file system. */
static int start_over (struct walk *walk, struct dn_err *err)
{
    dn_fd_cleanup (&walk->fd);
    walk->at[0] = '\0';
    walk->fd = open ("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (walk->fd >= 0)
        return check_directory (walk, false, err);
    return dn_err_set (err, DN_E_IO, "/: %s", dn_errno_text (errno).text);
}

/* Cut the first component off 'rest' into 'name'. False if nothing is left after it,
 * which makes it the last one.
 */
static bool cut_component (struct walk *walk, char name[NAME_MAX + 1])
{
    const char *begin = walk->rest + strspn (walk->rest, "/");
    size_t len = strcspn (begin, "/");
    const char *after = begin + len + strspn (begin + len, "/");

    snprintf (name, NAME_MAX + 1, "%.*s", (int) len, begin);
    if (*after == '\0')
        return false;
    walk->rest = after;
    return true;
}

/* Put the target of the symbolic link, which is open as 'fd', in front of the rest. */
static int follow (struct walk *walk, int fd, struct dn_err *err)
{
    char target[PATH_MAX];
    char rest[PATH_MAX];
    struct dn_buf buf = dn_buf_on (rest, sizeof (rest));
    ssize_t len = readlinkat (fd, "", target, sizeof (target) - 1);

    if (len < 0)
        return dn_err_set (err, DN_E_IO, "%s", dn_errno_text (errno).text);
    target[len] = '\0';
    dn_buf_add (&buf, "%s/%s", target, walk->rest);
    if (++walk->n_links > LINKS_MAX || buf.cut)
        return dn_refuse (err, trust_links);
    memcpy (walk->text, rest, sizeof (rest));
    walk->rest = walk->text;
    return target[0] == '/' ? start_over (walk, err) : 0;
}

/* Go into the component that is open as 'fd', which becomes walk->fd if it is a
 * directory. Return 1 if it is none.
 */
static int step_into (struct walk *walk, int fd, const char *name, struct dn_err *err)
{
    size_t len = strlen (walk->at);
    struct stat st;

    if (fstat (fd, &st) < 0)
        return dn_err_set (err, DN_E_IO, "%s: %s", name, dn_errno_text (errno).text);
    if (walk->is_open && st.st_uid != 0 && st.st_uid != geteuid ())
        return dn_refuse (err,
                          trust_owner,
                          name,
                          (unsigned long) st.st_uid,
                          (unsigned long) geteuid ());
    if (S_ISLNK (st.st_mode))
        return follow (walk, fd, err);
    if (!S_ISDIR (st.st_mode))
        return 1;
    snprintf (walk->at + len, sizeof (walk->at) - len, "/%s", name);
    dn_fd_cleanup (&walk->fd);
    walk->fd = fd;
    return check_directory (walk, false, err);
}

/* Go into the component. Return 1 if it cannot be opened, so that the file cannot be
 * opened either.
 */
static int enter (struct walk *walk, const char *name, struct dn_err *err)
{
    int fd = openat (walk->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    int rc;

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
        return 1;
    if (fd < 0)
        return dn_err_set (err, DN_E_IO, "%s: %s", name, dn_errno_text (errno).text);
    rc = step_into (walk, fd, name, err);
    if (walk->fd != fd)
        dn_fd_cleanup (&fd);
    return rc;
}

int dn_trust_parents (const char *path, struct dn_err *err)
{
    dn_cleanup (walk_cleanup) struct walk walk = {.fd = -1};
    char name[NAME_MAX + 1];
    int rc;

    if (dn_span_copy (dn_span_of (path), walk.text, sizeof (walk.text), "path", err)
        < 0)
        return -1;
    walk.rest = walk.text;
    rc = start_over (&walk, err);
    while (rc == 0 && cut_component (&walk, name))
        rc = enter (&walk, name, err);
    if (rc == 0)
        rc = check_directory (&walk, true, err);
    return rc < 0 ? dn_err_wrap (err, "%s", path) : 0;
}
