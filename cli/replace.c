/* replace.c - replaces a file only when the new one is complete
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "common.h"

/* The permissions of an ordinary new file; mkstemp () gives fewer. */
static mode_t new_file_mode (void)
{
    mode_t mask = umask (0);

    umask (mask);
    return 0666 & ~mask;
}

/* Find the file to replace: symbolic links are followed, and devices are refused. */
static int find_place (const char *path, char place[PATH_MAX], struct dn_err *err)
{
    struct stat st;
    struct dn_buf buf = dn_buf_on (place, PATH_MAX);

    if (stat (path, &st) == 0) {
        if (!S_ISREG (st.st_mode))
            return dn_err_set (err, DN_E_IO, "%s: not a regular file", path);
        return realpath (path, place) ? 0 : dn_err_errno (path, err);
    }
    dn_buf_add (&buf, "%s", path);
    return buf.cut ? dn_err_set (err, DN_E_LIMIT, "%s: path too long", path) : 0;
}

int dn_replace_open (struct dn_replace *replace, const char *path, struct dn_err *err)
{
    struct dn_buf buf = dn_buf_on (replace->temporary, PATH_MAX);
    int fd;

    replace->file = NULL;
    if (find_place (path, replace->path, err) < 0)
        return -1;
    dn_buf_add (&buf, "%s.XXXXXX", replace->path);
    if (buf.cut)
        return dn_err_set (err, DN_E_LIMIT, "%s: path too long", path);
    fd = mkostemp (replace->temporary, O_CLOEXEC);
    if (fd < 0)
        return dn_err_errno (path, err);
    if (fchmod (fd, new_file_mode ()) == 0)
        replace->file = fdopen (fd, "w");
    if (replace->file)
        return 0;
    dn_err_errno (path, err);
    close (fd);
    unlink (replace->temporary);
    return -1;
}

int dn_replace_finish (struct dn_replace *replace, struct dn_err *err)
{
    FILE *file = replace->file;
    bool failed;

    errno = 0;
    failed = fflush (file) != 0 || ferror (file) || fsync (fileno (file)) != 0;
    if (failed || rename (replace->temporary, replace->path) != 0)
        return errno ? dn_err_errno (replace->path, err)
                     : dn_err_set (err, DN_E_IO, "%s: write error", replace->path);
    replace->file = NULL;
    fclose (file);
    return 0;
}

void dn_replace_free (struct dn_replace *replace)
{
    if (!replace || !replace->file)
        return;
    fclose (replace->file);
    unlink (replace->temporary);
    replace->file = NULL;
}
