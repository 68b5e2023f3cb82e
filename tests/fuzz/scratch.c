/* scratch.c - files for targets that read from the file system
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "scratch.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[PATH_MAX];

static void give_up (const char *path)
{
    perror (path);
    abort ();
}

static int remove_one (const char *path,
                       const struct stat *st,
                       int kind,
                       struct FTW *at)
{
    (void) st;
    (void) kind;
    (void) at;
    return remove (path);
}

static void remove_all (void)
{
    nftw (dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void make_dir (void)
{
    const char *tmp = getenv ("TMPDIR");

    umask (022);
    if (snprintf (dir, sizeof (dir), "%s/dnnest-fuzz.XXXXXX", tmp ? tmp : "/tmp")
            >= (int) sizeof (dir)
        || !mkdtemp (dir))
        give_up (dir);
    atexit (remove_all);
}

const char *scratch_path (const char *name)
{
    static char path[PATH_MAX];

    if (dir[0] == '\0')
        make_dir ();
    if (snprintf (path, sizeof (path), "%s%s%s", dir, *name ? "/" : "", name)
        >= (int) sizeof (path))
        give_up (name);
    return path;
}

void scratch_write (const char *name, const void *bytes, size_t size)
{
    const char *path = scratch_path (name);
    FILE *file = fopen (path, "w");

    if (!file || fwrite (bytes, 1, size, file) != size || fclose (file) != 0)
        give_up (path);
}

void scratch_folder (const char *name)
{
    const char *path = scratch_path (name);

    if (mkdir (path, 0755) < 0)
        give_up (path);
}
