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
#include "scratch.h"

#define MAX 1024

/* What a read gave: "hello", or NULL and an error with that part. */
static void expect (int rc, char *text, const char *says)
{
    if (!says) {
        if (rc < 0)
            fail_msg ("%s", unit_err.text);
        assert_string_equal (unit_keep (text, free), "hello");
        return;
    }
    assert_int_equal (rc, -1);
    assert_null (text);
    assert_contains (unit_err.text, says);
}

static void expect_own (const char *name, const char *says)
{
    char *text = (char *) "not read";
    int rc = dn_file_read (
        name[0] == '/' ? name : scratch_path (name), MAX, &text, &unit_err);

    expect (rc, text, says);
}

static void expect_below (const char *name, uid_t owner, const char *says)
{
    char *text = (char *) "not read";
    int rc = dn_file_read_below (scratch_path (""), name, owner, MAX, &text, &unit_err);

    if (rc < 0 && strstr (unit_err.text, "openat2"))
        skip ();
    expect (rc, text, says);
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
    expect_own (scratch_path (""), "not a regular file");
    expect_own ("/dev/zero", "not a regular file");
    expect_below ("fifo", getuid (), "not a regular file");
    expect_below ("sub", getuid (), "not a regular file");
    assert_true (time (NULL) - begin < 5);
}

TEST ("large files and binaries are refused")
{
    assert_int_equal (truncate (scratch_path ("sparse"), 1 << 30), 0);
    expect_own ("sparse", "1073741824 bytes, expected at most 1024");
    expect_below ("sparse", getuid (), "1073741824 bytes");
    assert_int_equal (truncate (scratch_path ("sparse"), MAX), 0);
    expect_own ("sparse", "NUL byte");
    expect_below ("sparse", getuid (), "NUL byte");
}

TEST ("a file below is its owner's alone")
{
    expect_below ("file", getuid (), NULL);
    expect_below ("sub/file", getuid (), NULL);
    expect_below ("./sub/../file", getuid (), NULL);
    expect_below ("file", getuid () + 1, "owned by uid");
    assert_int_equal (chmod (scratch_path ("file"), 0664), 0);
    expect_below ("file", getuid (), "writable by group or others (mode 0664)");
    assert_int_equal (chmod (scratch_path ("file"), 0646), 0);
    expect_below ("file", getuid (), "writable by group or others");
    assert_int_equal (chmod (scratch_path ("file"), 0644), 0);
}

TEST ("no path leads out of the directory")
{
    expect_below (unit_text ("..%s/file", strrchr (scratch_path (""), '/')),
                  getuid (),
                  "out of its directory");
    expect_below (scratch_path ("file"), getuid (), "out of its directory");
    expect_below ("/etc/passwd", 0, "out of its directory");
    expect_below ("../../etc/passwd", 0, "out of its directory");
    expect_below ("link", getuid (), "symbolic link");
    expect_below ("dirlink/file", getuid (), "symbolic link");
    expect_below ("", getuid (), "No such file");
    expect_below ("none", getuid (), "No such file");
}

TEST ("the directory itself is no link")
{
    char *text;

    assert_error (
        dn_file_read_below (
            scratch_path ("dirlink"), "file", getuid (), MAX, &text, &unit_err),
        "directory /tmp/");
}

/* Of a comment, where that directory is set: nothing, or an error with that part. */
static void expect_comment (const struct dn_job *job, const char *dir, const char *says)
{
    char *text;
    int rc = dn_carry_comment (job, dir, &text, &unit_err);

    assert_int_equal (rc, says ? -1 : 0);
    assert_null (text);
    if (says)
        assert_contains (unit_err.text, says);
}

TEST ("comments name files only where a directory is set")
{
    struct dn_job job = dn_job_empty ();
    char *text;

    job.comment = "dnnest:@file,batch=4";
    job.user_id = (int64_t) getuid ();
    expect_comment (&job, "", "comment: '@file': sidecars of comments are not read");
    if (dn_carry_comment (&job, scratch_path (""), &text, &unit_err) < 0)
        assert_contains (unit_err.text, "openat2");
    free (text);
    job.user_id = DN_UNSET;
    expect_comment (&job, scratch_path (""), "no owner");
    job.option = "off";
    expect_comment (&job, "", NULL);
    job.option = NULL;
    job.sidecar = "{}";
    expect_comment (&job, "", NULL);
    job.sidecar = NULL;
    job.comment = "dnnest:batch=4";
    expect_comment (&job, "", NULL);
}

/* Of an option: the text, or an error with that part. */
static void expect_option (const char *option, const char *expected, const char *says)
{
    char *text;
    int rc = dn_carry_option (option, NULL, &text, &unit_err);

    assert_int_equal (rc, says ? -1 : 0);
    assert_string_equal (text ? unit_keep (text, free) : "", expected);
    if (says)
        assert_contains (unit_err.text, says);
}

TEST ("options name files of the client")
{
    scratch_put ("good.json", "{\"dnnest\": 1,\n \"spec\": {\"batch\": 4}}\n");
    expect_option (unit_text ("@%s,steps=4", scratch_path ("good.json")),
                   "{\"dnnest\":1,\"spec\":{\"batch\":\"4\"}}",
                   NULL);
    expect_option (scratch_path ("file"), "", "sidecar: line 1, column 1: not JSON");
    expect_option ("resnet50", "", "--dnnest: resnet50: No such file");
    expect_option ("batch=4", "", NULL);
    expect_option (NULL, "", NULL);
}

int before_tests (void **state)
{
    scratch_folder ("sub");
    scratch_put ("file", "hello");
    scratch_put ("sub/file", "hello");
    scratch_put ("sparse", "");
    return symlink ("file", scratch_path ("link")) < 0
                   || symlink ("sub", scratch_path ("dirlink")) < 0
                   || mkfifo (scratch_path ("fifo"), 0600) < 0
               ? -1
               : 0;
}

static void expect_trust (const char *name, const char *says)
{
    int rc = dn_trust_parents (scratch_path (name), &unit_err);

    if (says)
        assert_contains (unit_err.text, says);
    assert_int_equal (rc, says ? -1 : 0);
}

TEST ("no directory on the path may be writable by others")
{
    expect_trust ("sub/file", NULL);
    chmod (scratch_path ("sub"), 0757);
    expect_trust ("sub/file", "/sub: writable by others (mode 0757)");
    expect_trust ("sub/deeper/file", "/sub: writable by others");
    expect_trust ("dirlink/file", "/sub: writable by others");
    expect_trust ("sub/../file", "/sub: writable by others");
    expect_trust ("sub", NULL); /* itself is what is opened and checked */
    chmod (scratch_path ("sub"), 0775);
    expect_trust ("sub/file", NULL);
    chmod (scratch_path ("sub"), 0755);
    expect_trust ("dirlink/file", NULL);
    expect_trust ("nothing/file", NULL); /* for open () to report */
    expect_trust ("file/file", NULL);
}

TEST ("a sticky directory may only be above that of the file")
{
    assert_int_equal (mkdir (scratch_path ("sub/inner"), 0755), 0);
    chmod (scratch_path ("sub"), 01777);
    expect_trust (
        "sub/file",
        "/sub: writable by others (mode 1777), where files of the site must not be");
    expect_trust ("sub/inner/file", NULL);
    if (chown (scratch_path ("sub/inner"), 65534, (gid_t) -1) == 0)
        expect_trust ("sub/inner/file", "inner: owned by uid 65534, expected root or");
    if (lchown (scratch_path ("dirlink"), 65534, (gid_t) -1) == 0)
        expect_trust ("dirlink/inner/file", "inner: owned by uid 65534");
    chmod (scratch_path ("sub"), 0755);
    expect_trust ("sub/inner/file", NULL);
    rmdir (scratch_path ("sub/inner"));
}

TEST ("links that do not end are an error")
{
    assert_int_equal (symlink ("loop", scratch_path ("loop")), 0);
    expect_trust ("loop/file", "too many or too long symbolic links");
    unlink (scratch_path ("loop"));
}
