/* sacct.c - jobs from Slurm's accounting, where there is no file of dnnestd
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "process/sacct.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "host/files.h"
#include "host/stopwatch.h"
#include "process/child.h"
#include "rewrite/recorded.h"

#define MONTH_S    (30 * 86400)
#define PATIENCE_S 60
#define PIECE_LEN  65536

struct dn_sacct dn_sacct_mine (void)
{
    return (struct dn_sacct){.user = (int64_t) geteuid (),
                             .since_s = (int64_t) time (NULL) - MONTH_S,
                             .patience_s = PATIENCE_S};
}

bool dn_is_job_number (const char *text)
{
    return dn_is_digit (text[0]) && strspn (text, "0123456789_+") == strlen (text);
}

int dn_sacct_too_many (struct dn_err *err)
{
    return dn_err_set (err,
                       DN_E_LIMIT,
                       "more than %d jobs, expected a later --since",
                       DN_SACCT_JOBS_MAX);
}

/* --- the command ------------------------------------------------------------------ */

#define WORDS_MAX 14
#define WORD_MAX  96

/* Bytes of the names of all columns. */
#define COLUMNS_MAX 512

struct command {
    char delimiter[WORD_MAX]; /* of many bits, so that no name of a job has it */
    char text[4][WORD_MAX];
    char columns[COLUMNS_MAX];
    const char *argv[WORDS_MAX + 1];
    int n;
};

static void add_word (struct command *c, const char *word)
{
    c->argv[c->n++] = word;
    c->argv[c->n] = NULL;
}

static void add_time (struct command *c, int i, const char *option, int64_t time_s)
{
    const time_t at = (time_t) time_s;
    struct tm tm;

    if (!localtime_r (&at, &tm)
        || strftime (c->text[i], sizeof (c->text[i]), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
        return;
    add_word (c, option);
    add_word (c, c->text[i]);
}

static int write_command (struct command *c,
                          const struct dn_sacct *which,
                          struct dn_err *err)
{
    struct dn_buf columns = dn_buf_on (c->columns, sizeof (c->columns));
    uint64_t random[2];

    c->n = 0;
    if (getrandom (random, sizeof (random), 0) != (ssize_t) sizeof (random))
        return dn_err_set (err, DN_E_IO, "%s", dn_errno_text (errno).text);
    snprintf (c->delimiter,
              sizeof (c->delimiter),
              "--delimiter=<%016llx%016llx>",
              (unsigned long long) random[0],
              (unsigned long long) random[1]);
    add_word (c, "sacct");
    add_word (c, "-nPD");
    add_word (c, "--noconvert");
    add_word (c, c->delimiter);
    add_word (c, "-o");
    dn_accounting_columns (which->what, &columns);
    add_word (c, c->columns);
    if (which->job) {
        add_word (c, "-j");
        add_word (c, which->job);
        return 0;
    }
    snprintf (c->text[2], sizeof (c->text[2]), "%lld", (long long) which->user);
    add_word (c, which->everyone ? "-a" : "-u");
    if (!which->everyone)
        add_word (c, c->text[2]);
    add_time (c, 0, "-S", which->since_s);
    if (which->until_s > 0)
        add_time (c, 1, "-E", which->until_s);
    return 0;
}

/* --- its output ------------------------------------------------------------------- */

/* Feed until the end of the output, or of the patience. */
static int feed (int fd,
                 int64_t patience_s,
                 struct dn_accounting *to,
                 struct dn_err *err)
{
    const int64_t end_ms = dn_monotonic_ms () + 1000 * patience_s;
    char piece[PIECE_LEN];

    while (true) {
        struct pollfd on = {.fd = fd, .events = POLLIN};
        int64_t left_ms = end_ms - dn_monotonic_ms ();
        int ready = left_ms > 0 ? poll (&on, 1, (int) left_ms) : 0;
        ssize_t n = ready > 0 ? read (fd, piece, sizeof (piece)) : -1;
        int rc;

        if (ready == 0)
            return dn_err_set (err,
                               DN_E_TIME,
                               "sacct does not answer within %lld s",
                               (long long) patience_s);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return dn_err_set (err, DN_E_IO, "sacct: %s", dn_errno_text (errno).text);
        if (n == 0)
            return dn_accounting_end (to);
        rc = dn_accounting_feed (to, (struct dn_span){piece, (size_t) n}, err);
        if (rc != 0)
            return rc;
    }
}

/* The last line that it wrote to stderr. */
static void tell_failure (int said, struct dn_err *err)
{
    char text[512];
    ssize_t n = pread (said, text, sizeof (text) - 1, 0);
    char *line;

    while (n > 0 && text[n - 1] == '\n')
        n--;
    text[n > 0 ? n : 0] = '\0';
    line = strrchr (text, '\n');
    line = line ? line + 1 : text;
    if (strncmp (line, "sacct: ", 7) == 0)
        line += 7;
    dn_err_set (err,
                DN_E_IO,
                "sacct failed%s%s",
                line[0] != '\0' ? ": " : "",
                dn_quote (line, strlen (line)).text);
}

static int run (const struct command *c,
                const struct dn_sacct *which,
                struct dn_accounting *accounting,
                struct dn_err *err)
{
    dn_cleanup (dn_fd_cleanup) int said = dn_child_file ("", 0);
    dn_cleanup (dn_fd_cleanup) int from = -1;
    int pipe_of[2];
    int status = 0;
    pid_t pid = -1;
    int rc;

    if (said < 0 || pipe2 (pipe_of, O_CLOEXEC) < 0)
        return dn_err_set (err, DN_E_IO, "sacct: %s", dn_errno_text (errno).text);
    from = pipe_of[0];
    setenv ("SLURM_TIME_FORMAT", "%s", 1);
    rc = dn_child_start (
        (char *const *) c->argv, (const int[]){-1, pipe_of[1], said}, &pid);
    close (pipe_of[1]);
    if (rc != 0)
        return dn_err_set (err, DN_E_IO, "sacct: %s", dn_errno_text (rc).text);
    rc = feed (from, which->patience_s, accounting, err);
    if (rc != 0)
        kill (pid, SIGKILL);
    if (dn_child_wait (pid, &status) < 0 || rc != 0)
        return rc != 0 ? rc : -1;
    if (WIFEXITED (status) && WEXITSTATUS (status) == 0)
        return 0;
    tell_failure (said, err);
    return -1;
}

int dn_sacct_read (const struct dn_sacct *which,
                   dn_accounted_f take,
                   void *to,
                   struct dn_err *err)
{
    struct command command;
    struct dn_accounting *accounting;
    int rc;

    if (which->job && !dn_is_job_number (which->job))
        return dn_err_set (err,
                           DN_E_SYNTAX,
                           "'%s' is not the number of a job",
                           dn_quote (which->job, strlen (which->job)).text);
    if (write_command (&command, which, err) < 0)
        return -1;
    accounting =
        dn_accounting_new (which->what, strchr (command.delimiter, '<'), take, to);
    if (!accounting)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    rc = run (&command, which, accounting, err);
    dn_accounting_free (accounting);
    return rc;
}

/* --- a store in memory ------------------------------------------------------------ */

struct filling {
    struct dn_store *store;
    int64_t n;
    struct dn_err *err;
};

static int keep (void *to, const struct dn_accounted *accounted)
{
    struct filling *filling = to;
    struct dn_finished job = accounted->job;
    struct dn_recorded recorded;

    if (job.end_s == DN_UNSET)
        return 0;
    if (filling->n++ == DN_SACCT_JOBS_MAX)
        return dn_sacct_too_many (filling->err);
    dn_finished_from_record (&job, accounted->admin_comment, &recorded);
    return dn_store_add (filling->store, &job, filling->err);
}

struct dn_store *dn_sacct_store (const struct dn_sacct *which, struct dn_err *err)
{
    struct filling filling = {.store = dn_store_open (NULL, true, err), .err = err};

    if (!filling.store)
        return NULL;
    if (dn_sacct_read (which, keep, &filling, err) == 0
        && dn_store_commit (filling.store, err) == 0)
        return filling.store;
    dn_store_close (filling.store);
    return NULL;
}

const char *dn_site_store_path (const struct dn_site *site,
                                const char *db,
                                char path[PATH_MAX])
{
    struct dn_buf buf = dn_buf_on (path, PATH_MAX);

    if (db)
        return db;
    dn_buf_add (&buf, "%s/%s", site->state_dir, DN_STORE_FILE);
    return path;
}

/* Say why a file cannot be read, with errno. */
static void tell_why (const char *path, struct dn_err *err)
{
    if (errno == EACCES)
        dn_err_set (err,
                    DN_E_IO,
                    "%s: permission denied; the store has the jobs of all users, and "
                    "its admin decides who may read it",
                    path);
    else if (errno == ENOENT)
        dn_err_set (err,
                    DN_E_IO,
                    "%s: no store of finished jobs; 'dnnestd collect' makes it",
                    path);
    else
        dn_err_errno (path, err);
}

struct dn_store *dn_site_store_open (const char **path,
                                     const struct dn_sacct *instead,
                                     struct dn_err *err)
{
    struct dn_err why = {0};
    struct dn_store *store;

    if (access (*path, R_OK) == 0)
        return dn_store_open (*path, false, err);
    tell_why (*path, err);
    if (!instead)
        return NULL;
    store = dn_sacct_store (instead, &why);
    if (store)
        *path = "sacct";
    else
        dn_err_wrap (err, "%s", why.text);
    return store;
}
