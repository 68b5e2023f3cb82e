/* common.c - exit codes, messages, input and output of all commands
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "graph/sidecar.h"
#include "output/terminal.h"
#include "process/child.h"

/* The largest sidecar. slurmctld refuses batch scripts of half the size
 * (max_script_size). */
#define INPUT_MAX DN_SIDECAR_CLIENT_MAX

#define NEAR_MAX    6
#define NEAR_EDITS  3
#define MESSAGE_MAX 1024

const char *dn_program = "dnnest";

void dn_complain (const char *format, ...)
{
    char text[MESSAGE_MAX];
    enum dn_tint tint;
    va_list args;

    va_start (args, format);
    vsnprintf (text, sizeof (text), format, args);
    va_end (args);
    for (char *c = text; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
    tint = strncmp (text, "warning", 7) == 0 ? DN_TINT_DOUBTFUL : DN_TINT_BAD;
    fprintf (stderr,
             "%s%s:%s %s\n",
             dn_tint_on (stderr, tint),
             dn_program,
             dn_tint_off (stderr, tint),
             text);
}

int dn_fail (enum dn_exit code, const struct dn_err *err)
{
    dn_complain ("%s", err->text);
    return err->code == DN_E_NOMEM || err->code == DN_E_BUG ? DN_EXIT_BUG : (int) code;
}

int dn_err_errno (const char *path, struct dn_err *err)
{
    return dn_err_set (err, DN_E_IO, "%s: %s", path, dn_errno_text (errno).text);
}

/* Is stdout a pipe that no process reads any more, as after "| head"? */
static bool is_unread (void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

    return poll (&out, 1, 0) > 0 && (out.revents & POLLERR) != 0;
}

int dn_finish (int exit_code)
{
    bool failed = ferror (stdout) != 0;
    bool unread = is_unread ();

    errno = 0;
    if (fclose (stdout) != 0)
        failed = true;
    if (!failed || unread || errno == EPIPE)
        return exit_code;
    dn_complain ("write error%s%s", errno ? ": " : "", errno ? strerror (errno) : "");
    return DN_EXIT_BUG;
}

const char *dn_base_name (const char *path)
{
    const char *slash = path ? strrchr (path, '/') : NULL;

    return slash ? slash + 1 : path;
}

/* What gzip makes of the file, which is closed. It says itself what is wrong with it.
 */
static FILE *unpack (FILE *packed, const char *path, struct dn_err *err)
{
    char *const argv[] = {"gzip", "-dc", NULL};
    FILE *stream = NULL;
    int ends[2];
    pid_t pid;
    int rc = pipe2 (ends, O_CLOEXEC) < 0 ? errno : 0;

    if (rc == 0) {
        const int files[3] = {fileno (packed), ends[1], -1};

        rewind (packed);
        rc = dn_child_start (argv, files, &pid);
        close (ends[1]);
        stream = rc == 0 ? fdopen (ends[0], "r") : NULL;
        if (!stream)
            close (ends[0]);
    }
    fclose (packed);
    if (!stream)
        dn_err_set (err, DN_E_IO, "%s: gzip: %s", path, dn_errno_text (rc).text);
    return stream;
}

FILE *dn_open_input (const char *path, struct dn_err *err)
{
    const char *end = strrchr (path, '.');
    FILE *stream;
    struct stat status;

    /* One that no program writes to would never end; those of a shell's <( ) are
     * symbolic links below /dev.
     */
    if (lstat (path, &status) == 0 && S_ISFIFO (status.st_mode)) {
        dn_err_set (
            err, DN_E_IO, "%s: a named pipe, expected a file, or - for stdin", path);
        return NULL;
    }
    stream = strcmp (path, "-") == 0 ? stdin : fopen (path, "re");
    if (!stream)
        dn_err_errno (path, err);
    return stream && end && strcmp (end, ".gz") == 0 ? unpack (stream, path, err)
                                                     : stream;
}

void dn_close_input (FILE **stream)
{
    if (*stream && *stream != stdin)
        fclose (*stream);
}

/* A regular file that is too large is not even read. */
static bool is_larger (FILE *stream, size_t max)
{
    struct stat status;

    return fstat (fileno (stream), &status) == 0 && S_ISREG (status.st_mode)
           && status.st_size > (off_t) max;
}

/* Double the buffer; the size that a file reports is not relied on. */
static int grow (char **bytes, size_t *size, struct dn_err *err)
{
    size_t wanted = *size ? 2 * *size : 65536;
    char *grown = realloc (*bytes, wanted);

    if (!grown)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    *bytes = grown;
    *size = wanted;
    return 0;
}

int dn_read_bytes (const char *path,
                   size_t max,
                   char **bytes,
                   size_t *len,
                   struct dn_err *err)
{
    dn_cleanup (dn_close_input) FILE *stream = dn_open_input (path, err);
    const char *name = stream == stdin ? "stdin" : path;
    size_t size = 0;

    *bytes = NULL;
    *len = 0;
    if (!stream)
        return -1;
    while (!is_larger (stream, max)) {
        if (*len == size && grow (bytes, &size, err) < 0)
            break;
        *len += fread (*bytes + *len, 1, size - *len, stream);
        if (*len > max || ferror (stream) || feof (stream))
            break;
    }
    if (feof (stream) && *len <= max && *bytes)
        return 0;
    if (ferror (stream))
        dn_err_errno (name, err);
    else if (*len > max || is_larger (stream, max))
        dn_err_set (err, DN_E_LIMIT, "%s: larger than %zu bytes", name, max);
    free (*bytes);
    *bytes = NULL;
    return -1;
    /* -Wanalyzer-file-leak, -Wanalyzer-malloc-leak: all but stdin is closed here */
}

int dn_read_large_input (const char *path, size_t max, char **text, struct dn_err *err)
{
    const char *name = strcmp (path, "-") == 0 ? "stdin" : path;
    char *grown;
    size_t len;

    if (dn_read_bytes (path, max, text, &len, err) < 0)
        return -1;
    if (memchr (*text, '\0', len)) {
        free (*text);
        *text = NULL;
        return dn_err_set (err, DN_E_SYNTAX, "%s: has a NUL byte, expected text", name);
    }
    grown = realloc (*text, len + 1);
    if (!grown) {
        free (*text);
        *text = NULL;
        return dn_err_set (err, DN_E_NOMEM, "%s: out of memory", name);
    }
    grown[len] = '\0';
    *text = grown;
    return 0;
}

int dn_read_input (const char *path, char **text, struct dn_err *err)
{
    return dn_read_large_input (path, INPUT_MAX, text, err);
}

int dn_write_output (const char *path, const char *text, struct dn_err *err)
{
    FILE *stream = fopen (path, "we");
    struct stat st;
    bool failed;

    if (!stream)
        return dn_err_errno (path, err);
    errno = 0;
    failed = fprintf (stream, "%s\n", text) < 0;
    failed = fclose (stream) != 0 || failed;
    if (!failed)
        return 0;
    dn_err_set (err, DN_E_IO, "%s: %s", path, errno ? strerror (errno) : "write error");
    /* what is half written is no use; a device, or a link to one, is not ours */
    if (lstat (path, &st) == 0 && S_ISREG (st.st_mode))
        unlink (path);
    return -1;
}

void dn_add_near (struct dn_buf *buf,
                  const char *wanted,
                  dn_name_at_f name,
                  const void *names)
{
    int n_near = 0;
    int half = (int) strnlen (wanted, 2 * NEAR_EDITS) / 2;
    int most = half < NEAR_EDITS ? half : NEAR_EDITS;
    const char *candidate;

    for (int i = 0; n_near < NEAR_MAX && (candidate = name (names, i)); i++)
        if ((*wanted && strstr (candidate, wanted))
            || dn_word_distance (dn_span_of (wanted), candidate) <= most)
            dn_buf_add (buf, "%s%s", n_near++ == 0 ? ", near: " : " ", candidate);
}

/* --- CSV ---------------------------------------------------------------------------
 */

/* A spreadsheet computes cells that begin so, unless they are numbers. */
static bool is_formula (const char *text)
{
    double number;

    return text[0] != '\0' && strchr ("=+-@\t\r", text[0])
           && dn_real_read (dn_span_of (text), "", -DBL_MAX, DBL_MAX, &number, NULL)
                  < 0;
}

/* Readers strip blanks from the ends of unquoted cells. */
static bool needs_quotes (const char *text)
{
    size_t len = strlen (text);

    return text[strcspn (text, "\",\r\n")] != '\0'
           || (len > 0 && (strchr (" \t", text[0]) || strchr (" \t", text[len - 1])));
}

/* Control bytes such as those of a terminal become '?'; texts may have lines. */
static char harmless (char c)
{
    return ((unsigned char) c < ' ' && c != '\n' && c != '\t') || c == 127 ? '?' : c;
}

void dn_csv_cell (FILE *file, const char *text)
{
    bool quotes = needs_quotes (text);

    if (quotes)
        fputc ('"', file);
    if (is_formula (text))
        fputc ('\'', file);
    for (; *text; text++) {
        if (*text == '"')
            fputc ('"', file);
        fputc (harmless (*text), file);
    }
    if (quotes)
        fputc ('"', file);
}
