/* scratch.c - files that tests write and read
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "scratch.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[PATH_MAX];
static pid_t maker;

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
    if (getpid () == maker)
        nftw (dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void make_dir (void)
{
    const char *tmp = getenv ("TMPDIR");

    umask (022);
    if (snprintf (dir, sizeof (dir), "%s/dnnest-test.XXXXXX", tmp ? tmp : "/tmp")
            >= (int) sizeof (dir)
        || !mkdtemp (dir))
        give_up (dir);
    maker = getpid ();
    atexit (remove_all);
}

const char *scratch_path (const char *name)
{
    static char paths[64][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 64];

    if (dir[0] == '\0')
        make_dir ();
    if (snprintf (path, PATH_MAX, "%s%s%s", dir, *name ? "/" : "", name) >= PATH_MAX)
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

void scratch_put (const char *name, const char *text)
{
    scratch_write (name, text, strlen (text));
}

void scratch_folder (const char *name)
{
    const char *path = scratch_path (name);

    if (mkdir (path, 0755) < 0)
        give_up (path);
}

/* All of a file, with a NUL behind it. */
static char *read_all (FILE *file, const char *name, size_t *len)
{
    char *text = NULL;
    size_t room = 0;
    size_t n = 0;

    do {
        room += 65536;
        text = realloc (text, room);
        if (!text)
            give_up (name);
        n += fread (text + n, 1, room - 1 - n, file);
    } while (n == room - 1);
    text[n] = '\0';
    fclose (file);
    if (len)
        *len = n;
    return text;
}

char *scratch_read (const char *name, size_t *len)
{
    FILE *file = fopen (scratch_path (name), "r");

    if (!file)
        give_up (name);
    return read_all (file, name, len);
}

FILE *tree_open (const char *name)
{
    const char *dir_of_check = getenv ("srcdir");
    const char *top = dir_of_check ? dir_of_check : getenv ("abs_top_srcdir");
    char path[PATH_MAX];
    FILE *file;

    snprintf (path, sizeof (path), "%s/%s", top ? top : ".", name);
    file = fopen (path, "r");
    if (!file)
        give_up (path);
    return file;
}

char *tree_text (const char *name)
{
    return read_all (tree_open (name), name, NULL);
}
