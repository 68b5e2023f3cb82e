/* put_file.c - tests of replacing files: whole or not at all, with mode and owner
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/put_file.h"
#include "scratch.h"

static void put (const char *name, const char *text)
{
    assert_done (dn_put_file (scratch_path (name), dn_span_of (text), &unit_err));
}

static void expect_text (const char *name, const char *want)
{
    assert_string_equal (unit_keep (scratch_read (name, NULL), free), want);
}

static mode_t mode_of (const char *name)
{
    struct stat st;

    assert_int_equal (lstat (scratch_path (name), &st), 0);
    return st.st_mode;
}

/* Files in the directory, but "." and "..". */
static int count (void)
{
    DIR *stream = opendir (scratch_path (""));
    int n = 0;

    assert_non_null (stream);
    while (readdir (stream))
        n++;
    closedir (stream);
    return n - 2;
}

TEST ("a file is new and readable by all")
{
    mode_t umask_before = umask (0077);

    put ("new", "one\n");
    umask (umask_before);
    expect_text ("new", "one\n");
    assert_int_equal (mode_of ("new"), S_IFREG | 0644);
    put ("new", "");
    expect_text ("new", "");
    assert_int_equal (count (), 1);
    unlink (scratch_path ("new"));
}

TEST ("what was there is replaced, not changed")
{
    FILE *before;
    char line[16] = "";

    put ("file", "before\n");
    assert_int_equal (chmod (scratch_path ("file"), 0600), 0);
    before = fopen (scratch_path ("file"), "r");
    assert_non_null (before);
    put ("file", "after\n");
    expect_text ("file", "after\n");
    assert_int_equal (mode_of ("file"), S_IFREG | 0644);
    /* Who had it open still reads the whole of the earlier one. */
    assert_non_null (fgets (line, sizeof (line), before));
    assert_string_equal (line, "before\n");
    fclose (before);
    unlink (scratch_path ("file"));
}

TEST ("a link is replaced, not followed")
{
    put ("other", "of another\n");
    assert_int_equal (symlink (scratch_path ("other"), scratch_path ("link")), 0);
    put ("link", "mine\n");
    expect_text ("other", "of another\n");
    expect_text ("link", "mine\n");
    assert_int_equal (mode_of ("link"), S_IFREG | 0644);
    unlink (scratch_path ("link"));
    unlink (scratch_path ("other"));
}

/* Somebody put a link where the new file is to be written. */
TEST ("a link beside is not followed")
{
    char *beside = unit_text ("file.new-%ld", (long) getpid ());

    put ("other", "of another\n");
    assert_int_equal (symlink (scratch_path ("other"), scratch_path (beside)), 0);
    put ("file", "mine\n");
    expect_text ("other", "of another\n");
    expect_text ("file", "mine\n");
    assert_int_equal (count (), 2);
    unlink (scratch_path ("file"));
    unlink (scratch_path ("other"));
}

TEST ("large texts are written whole")
{
    const char *text = unit_repeat ("x", 1000000);

    put ("large", text);
    expect_text ("large", text);
    unlink (scratch_path ("large"));
}

static void expect_error (const char *path, const char *says)
{
    assert_error (dn_put_file (path, dn_span_of ("text"), &unit_err), says);
}

TEST ("what cannot be written is named and leaves nothing")
{
    expect_error (scratch_path ("absent/file"),
                  "absent/file: cannot be written: No such file or directory");
    assert_int_equal (mkdir (scratch_path ("folder"), 0755), 0);
    expect_error (scratch_path ("folder"),
                  "folder: cannot be replaced: Is a directory");
    assert_int_equal (count (), 1);
    assert_int_equal (rmdir (scratch_path ("folder")), 0);
    expect_error (unit_repeat ("p", PATH_MAX - 1), "path too long");
    /* The device takes no byte. */
    if (access ("/dev/full", W_OK) == 0) {
        assert_int_equal (symlink ("/dev/full", scratch_path ("full")), 0);
        put ("full", "a regular file takes its place\n");
        assert_true (S_ISREG (mode_of ("full")));
        unlink (scratch_path ("full"));
    }
    assert_int_equal (count (), 0);
}

static void expect_dir (const char *name, const char *says)
{
    if (says)
        assert_error (dn_put_dir (scratch_path (name), &unit_err), says);
    else
        assert_done (dn_put_dir (scratch_path (name), &unit_err));
}

TEST ("a cluster's directory is made with its parent")
{
    const char *path = scratch_path ("all/alpha");
    const char *parent = scratch_path ("all");

    assert_int_equal (dn_put_state_dir (path, parent, NULL), 0);
    assert_int_equal (mode_of ("all/alpha"), S_IFDIR | 0755);
    assert_int_equal (dn_put_state_dir (path, parent, NULL), 0);
    assert_int_equal (dn_put_state_dir (parent, parent, NULL), 0);
}

TEST ("the directory is created, or must be trusted")
{
    mode_t umask_before = umask (0077);

    expect_dir ("state", NULL);
    umask (umask_before);
    assert_int_equal (mode_of ("state"), S_IFDIR | 0755);
    expect_dir ("state", NULL);
    assert_int_equal (chmod (scratch_path ("state"), 0777), 0);
    expect_dir ("state", "writable by group or others");
    rmdir (scratch_path ("state"));
    put ("state", "text");
    expect_dir ("state", "state: not a directory");
    unlink (scratch_path ("state"));
    expect_dir ("absent/state", "cannot be created: No such file or directory");
}

int before_tests (void **state)
{
    return chmod (scratch_path (""), 0755);
}
