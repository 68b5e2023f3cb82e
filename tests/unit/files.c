/* files.c - tests of reading users' files: no read hangs or leaves the directory
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "host/carry.h"
#include "host/files.h"
#include "host/trust.h"

#define MAX 1024

static char dir[] = "/tmp/dnnest-files.XXXXXX";

/* "DIR/name", in one of two buffers in turn. */
static const char *path_of (const char *name)
{
    static char paths[2][256];
    static int next;

    next = 1 - next;
    snprintf (paths[next], sizeof (paths[next]), "%s/%s", dir, name);
    return paths[next];
}

static void put (const char *name, const char *text)
{
    FILE *file = fopen (path_of (name), "w");

    assert_non_null (file);
    assert_true (fputs (text, file) >= 0);
    assert_int_equal (fclose (file), 0);
}

static void expect_own (const char *name, const char *says)
{
    struct dn_err err = {.text = ""};
    char *text = dir;
    int rc = dn_file_read (name[0] == '/' ? name : path_of (name), MAX, &text, &err);

    if (!says) {
        assert_int_equal (rc, 0);
        assert_string_equal (text, "hello");
        free (text);
        return;
    }
    assert_int_equal (rc, -1);
    assert_null (text);
    assert_contains (err.text, says);
}

static void expect_below (const char *name, uid_t owner, const char *says)
{
    struct dn_err err = {.text = ""};
    char *text = dir;
    int rc = dn_file_read_below (dir, name, owner, MAX, &text, &err);

    if (rc < 0 && strstr (err.text, "openat2"))
        skip ();
    if (!says) {
        if (rc < 0)
            fail_msg ("%s", err.text);
        assert_string_equal (text, "hello");
        free (text);
        return;
    }
    assert_int_equal (rc, -1);
    assert_null (text);
    assert_contains (err.text, says);
}

TEST ("own files are read through links")
{
    expect_own ("file", NULL);
    expect_own ("link", NULL);
    expect_own ("none", "No such file");
}

TEST ("what is no file is told and nothing hangs")
{
    time_t begin = time (NULL);

    expect_own ("fifo", "not a regular file");
    expect_own (dir, "not a regular file");
    expect_own ("/dev/zero", "not a regular file");
    expect_below ("fifo", getuid (), "not a regular file");
    expect_below ("sub", getuid (), "not a regular file");
    assert_true (time (NULL) - begin < 5);
}

TEST ("large files and binaries are refused")
{
    assert_int_equal (truncate (path_of ("sparse"), 1 << 30), 0);
    expect_own ("sparse", "1073741824 bytes, expected at most 1024");
    expect_below ("sparse", getuid (), "1073741824 bytes");
    assert_int_equal (truncate (path_of ("sparse"), MAX), 0);
    expect_own ("sparse", "NUL byte");
    expect_below ("sparse", getuid (), "NUL byte");
}

TEST ("a file below is its owner's alone")
{
    expect_below ("file", getuid (), NULL);
    expect_below ("sub/file", getuid (), NULL);
    expect_below ("./sub/../file", getuid (), NULL);
    expect_below ("file", getuid () + 1, "owned by uid");
    assert_int_equal (chmod (path_of ("file"), 0664), 0);
    expect_below ("file", getuid (), "writable by group or others (mode 0664)");
    assert_int_equal (chmod (path_of ("file"), 0646), 0);
    expect_below ("file", getuid (), "writable by group or others");
    assert_int_equal (chmod (path_of ("file"), 0644), 0);
}

TEST ("no path leads out of the directory")
{
    char above[512];

    snprintf (above, sizeof (above), "..%s/file", strrchr (dir, '/'));
    expect_below (above, getuid (), "out of its directory");
    expect_below (path_of ("file"), getuid (), "out of its directory");
    expect_below ("/etc/passwd", 0, "out of its directory");
    expect_below ("../../etc/passwd", 0, "out of its directory");
    expect_below ("link", getuid (), "symbolic link");
    expect_below ("dirlink/file", getuid (), "symbolic link");
    expect_below ("", getuid (), "No such file");
    expect_below ("none", getuid (), "No such file");
}

TEST ("the directory itself is no link")
{
    struct dn_err err = {.text = ""};
    char *text;

    assert_int_equal (
        dn_file_read_below (path_of ("dirlink"), "file", getuid (), MAX, &text, &err),
        -1);
    assert_contains (err.text, "directory /tmp/");
}

TEST ("comments name files only where a directory is set")
{
    struct dn_job job = dn_job_empty ();
    struct dn_err err = {.text = ""};
    char *text;

    job.comment = "dnnest:@file,batch=4";
    job.user_id = (int64_t) getuid ();
    assert_int_equal (dn_carry_comment (&job, "", &text, &err), -1);
    assert_contains (err.text, "comment: '@file': sidecars of comments are not read");
    assert_null (text);
    if (dn_carry_comment (&job, dir, &text, &err) < 0)
        assert_contains (err.text, "openat2");
    free (text);
    job.user_id = DN_UNSET;
    assert_int_equal (dn_carry_comment (&job, dir, &text, &err), -1);
    assert_contains (err.text, "no owner");
    job.option = "off";
    assert_int_equal (dn_carry_comment (&job, "", &text, &err), 0);
    assert_null (text);
    job.option = NULL;
    job.sidecar = "{}";
    assert_int_equal (dn_carry_comment (&job, "", &text, &err), 0);
    assert_null (text);
    job.sidecar = NULL;
    job.comment = "dnnest:batch=4";
    assert_int_equal (dn_carry_comment (&job, "", &text, &err), 0);
    assert_null (text);
}

TEST ("options name files of the client")
{
    char option[300];
    struct dn_err err = {.text = ""};
    char *text;

    put ("good.json", "{\"dnnest\": 1,\n \"spec\": {\"batch\": 4}}\n");
    snprintf (option, sizeof (option), "@%s,steps=4", path_of ("good.json"));
    assert_int_equal (dn_carry_option (option, NULL, &text, &err), 0);
    assert_string_equal (text, "{\"dnnest\":1,\"spec\":{\"batch\":\"4\"}}");
    free (text);
    assert_int_equal (dn_carry_option (path_of ("file"), NULL, &text, &err), -1);
    assert_null (text);
    assert_contains (err.text, "sidecar: line 1, column 1: not JSON");
    assert_int_equal (dn_carry_option ("resnet50", NULL, &text, &err), -1);
    assert_contains (err.text, "--dnnest: resnet50: No such file");
    assert_int_equal (dn_carry_option ("batch=4", NULL, &text, &err), 0);
    assert_null (text);
    assert_int_equal (dn_carry_option (NULL, NULL, &text, &err), 0);
    assert_null (text);
}

int before_tests (void **state)
{
    if (!mkdtemp (dir))
        return -1;
    umask (022);
    mkdir (path_of ("sub"), 0755);
    put ("file", "hello");
    put ("sub/file", "hello");
    put ("sparse", "");
    return symlink ("file", path_of ("link")) < 0
                   || symlink ("sub", path_of ("dirlink")) < 0
                   || mkfifo (path_of ("fifo"), 0600) < 0
               ? -1
               : 0;
}

static void expect_trust (const char *name, const char *says)
{
    struct dn_err err = {.text = ""};
    int rc = dn_trust_parents (path_of (name), &err);

    if (says)
        assert_contains (err.text, says);
    assert_int_equal (rc, says ? -1 : 0);
}

TEST ("no directory on the path may be writable by others")
{
    expect_trust ("sub/file", NULL);
    chmod (path_of ("sub"), 0757);
    expect_trust ("sub/file", "/sub: writable by others (mode 0757)");
    expect_trust ("sub/deeper/file", "/sub: writable by others");
    expect_trust ("dirlink/file", "/sub: writable by others");
    expect_trust ("sub/../file", "/sub: writable by others");
    expect_trust ("sub", NULL); /* itself is what is opened and checked */
    chmod (path_of ("sub"), 0775);
    expect_trust ("sub/file", NULL);
    chmod (path_of ("sub"), 0755);
    expect_trust ("dirlink/file", NULL);
    expect_trust ("nothing/file", NULL); /* for open () to report */
    expect_trust ("file/file", NULL);
}

TEST ("a sticky directory may only be above that of the file")
{
    assert_int_equal (mkdir (path_of ("sub/inner"), 0755), 0);
    chmod (path_of ("sub"), 01777);
    expect_trust (
        "sub/file",
        "/sub: writable by others (mode 1777), where files of the site must not be");
    expect_trust ("sub/inner/file", NULL);
    if (chown (path_of ("sub/inner"), 65534, (gid_t) -1) == 0)
        expect_trust ("sub/inner/file", "inner: owned by uid 65534, expected root or");
    if (lchown (path_of ("dirlink"), 65534, (gid_t) -1) == 0)
        expect_trust ("dirlink/inner/file", "inner: owned by uid 65534");
    chmod (path_of ("sub"), 0755);
    expect_trust ("sub/inner/file", NULL);
    rmdir (path_of ("sub/inner"));
}

TEST ("links that do not end are an error")
{
    assert_int_equal (symlink ("loop", path_of ("loop")), 0);
    expect_trust ("loop/file", "too many or too long symbolic links");
    unlink (path_of ("loop"));
}

int after_tests (void **state)
{
    static const char *const names[] = {
        "sub/file", "sub", "file", "link", "dirlink", "fifo", "sparse", "good.json"};

    for (size_t i = 0; i < DN_N_ELEMENTS (names); i++)
        remove (path_of (names[i]));
    return rmdir (dir);
}
