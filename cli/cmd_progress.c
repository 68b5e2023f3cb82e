/* cmd_progress.c - a job says how far it is
 *
 * The reports go into the file DNNEST_PROGRESS_DIR/SLURM_JOB_ID (host/progress_file.h).
 * Where there is no such directory, because the site has none or dnnest has not changed
 * the job, nothing is written, and that is no error. Within a job an error is a line on
 * stderr, and the exit code is 0.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/files.h"
#include "host/progress_file.h"
#include "host/put_file.h"
#include "output/json.h"
#include "rewrite/rewrite.h"

/* With --follow the file is written at most that often. */
#define PAUSE_S 10

/* The part of a line that is searched. */
#define LINE_MAX_BYTES 512

struct call {
    const char *dir; /* NULL: nothing is written */
    bool follow;
    bool out_of_memory;
    bool reported; /* 'report' is given */
    struct dn_progress_report report;
    char path[PATH_MAX]; /* of the file; "": none */
    char name[DN_NAME_MAX];
    struct dn_progress progress;
    int64_t written_s; /* 0: not yet */
    bool failed;       /* to write, and told */
};

/* --- the file ------------------------------------------------------------------ */

/* Name the file; "" where there is nothing to write to: of the tasks of a step only the
 * first one reports.
 */
static void find_file (struct call *call)
{
    const char *dir = call->dir ? call->dir : getenv (DN_PROGRESS_DIR);
    struct dn_buf buf = dn_buf_on (call->path, sizeof (call->path));
    int64_t id;
    const char *job = getenv ("SLURM_JOB_ID");
    const char *task = getenv ("SLURM_PROCID");

    call->dir = dir;
    if (!dir || dir[0] == '\0' || (task && strcmp (task, "0") != 0) || !job
        || dn_int_read (dn_span_of (job), "SLURM_JOB_ID", 1, UINT32_MAX, &id, NULL) < 0)
        return;
    snprintf (call->name, sizeof (call->name), "%" PRId64, id);
    dn_buf_add (&buf, "%s/%s", dir, call->name);
    if (buf.cut)
        call->path[0] = '\0';
}

/* What the job has reported before; a file that is not valid is replaced. */
static void read_file (struct call *call)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;

    if (call->path[0] != '\0'
        && dn_file_read_below (
               call->dir, call->name, geteuid (), DN_PROGRESS_BYTES_MAX, &text, NULL)
               == 0)
        dn_progress_read (dn_span_of (text), call->name, &call->progress, NULL);
}

static void write_file (struct call *call, int64_t now_s)
{
    char text[DN_PROGRESS_BYTES_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));
    struct dn_err err = {0};

    if (call->path[0] == '\0')
        return;
    dn_progress_write (&call->progress, &buf);
    if (dn_put_file (call->path, (struct dn_span){text, buf.len}, &err) < 0
        && !call->failed) {
        dn_complain ("%s", err.text);
        call->failed = true;
    }
    call->written_s = now_s;
}

/* --- --follow ------------------------------------------------------------------ */

/* A line of the program; one that is longer is known by its beginning. */
struct line {
    char text[LINE_MAX_BYTES];
    size_t len;
};

static void take_report (struct call *call, struct dn_span rest)
{
    struct dn_progress_report report;
    int64_t now_s = (int64_t) time (NULL);

    if (dn_progress_parse (rest, &report, NULL) < 0)
        return;
    report.time_s = now_s;
    dn_progress_add (&call->progress, &report);
    if (now_s - call->written_s >= PAUSE_S || report.done == report.total)
        write_file (call, now_s);
}

static void take_line (struct call *call, struct line *line)
{
    const size_t word = strlen (DN_PROGRESS_WORD);
    struct dn_span text = dn_span_trim ((struct dn_span){line->text, line->len});

    line->len = 0;
    if (text.len > word && memcmp (text.text, DN_PROGRESS_WORD, word) == 0
        && text.text[word] == ' ') {
        take_report (call, (struct dn_span){text.text + word, text.len - word});
    } else if (dn_says_out_of_memory (text)) {
        call->progress.out_of_memory_s = (int64_t) time (NULL);
        write_file (call, call->progress.out_of_memory_s);
    }
}

static void scan (struct call *call, struct line *line, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[i] == '\n' || bytes[i] == '\r')
            take_line (call, line);
        else if (line->len < sizeof (line->text))
            line->text[line->len++] = bytes[i];
}

/* After an error of read () or write () on 'fd': can it be tried again? The program may
 * have made a file that it shares with this one non-blocking.
 */
static bool can_retry (int fd, short events)
{
    struct pollfd file = {.fd = fd, .events = events};

    if (errno == EAGAIN)
        poll (&file, 1, -1);
    return errno == EAGAIN || errno == EINTR;
}

static bool copy (const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t written = write (STDOUT_FILENO, bytes, len);

        if (written < 0 && can_retry (STDOUT_FILENO, POLLOUT))
            continue;
        if (written < 0)
            return false;
        bytes += written;
        len -= (size_t) written;
    }
    return true;
}

/* Output that cannot be written is lost, as when the disk is full, but the program goes
 * on. If no process reads the output, the program ends as it would without the filter.
 */
static int follow (struct call *call)
{
    static char bytes[65536];
    struct line line = {.len = 0};
    bool lost = false;
    ssize_t got;

    while ((got = read (STDIN_FILENO, bytes, sizeof (bytes))) != 0) {
        bool bad = got < 0 && !can_retry (STDIN_FILENO, POLLIN);
        bool ends = bad;

        if (got > 0 && !copy (bytes, (size_t) got)) {
            bad = true;
            ends = errno == EPIPE;
        }
        if (bad && !lost)
            dn_complain ("--follow: %s", dn_errno_text (errno).text);
        lost |= bad;
        if (ends)
            break;
        scan (call, &line, bytes, got > 0 ? (size_t) got : 0);
    }
    take_line (call, &line);
    if (call->progress.n_reports > 0)
        write_file (call, (int64_t) time (NULL));
    return lost ? DN_EXIT_BUG : DN_EXIT_DONE;
}

/* --- the command --------------------------------------------------------------- */

static int take_percent (struct dn_options *given, void *to)
{
    struct call *call = to;
    char percent[DN_NAME_MAX];
    struct dn_err err = {0};

    snprintf (percent, sizeof (percent), "%s%%", given->argument);
    call->reported = true;
    return dn_progress_parse (dn_span_of (percent), &call->report, &err) < 0
               ? dn_options_misuse (given, "--percent: %s", err.text)
               : DN_EXIT_DONE;
}

static const struct dn_option options[] = {
    DN_OPT_TAKE ("percent", "X", "instead of DONE/TOTAL", take_percent),
    DN_OPT_FLAG ("follow", "copy stdin to stdout; report what its lines say", follow),
    DN_OPT_FLAG ("out-of-memory", "the program ran out of GPU memory", out_of_memory),
    DN_OPT_TEXT ("dir", "DIR", "write there, not to $" DN_PROGRESS_DIR, dir),
    DN_OPT_END,
};

static int take_argument (struct dn_options *given, struct call *call)
{
    struct dn_err err = {0};
    int said = call->reported + call->follow + call->out_of_memory + given->n_args;

    if (said != 1)
        return dn_options_misuse (
            given, "expected one of DONE/TOTAL, --percent, --follow, --out-of-memory");
    if (given->n_args == 0)
        return DN_EXIT_DONE;
    call->reported = true;
    return dn_progress_parse (dn_span_of (given->args[0]), &call->report, &err) < 0
               ? dn_options_misuse (given, "%s", err.text)
               : DN_EXIT_DONE;
}

static void print_result (const struct call *call)
{
    struct json_object *result = json_object_new_object ();

    dn_json_add_bool (result, "written", call->path[0] != '\0' && !call->failed);
    if (call->reported) {
        dn_json_add_count (result, "done", call->report.done);
        dn_json_add_count (result, "total", call->report.total);
    }
    dn_json_print (result);
    json_object_put (result);
}

static int report (struct call *call, bool json)
{
    int64_t now_s = (int64_t) time (NULL);

    call->report.time_s = now_s;
    if (call->reported)
        dn_progress_add (&call->progress, &call->report);
    else
        call->progress.out_of_memory_s = now_s;
    write_file (call, now_s);
    if (json)
        print_result (call);
    return call->failed ? DN_EXIT_DATA : DN_EXIT_DONE;
}

static int run_progress (struct dn_options *given)
{
    struct call call = {.dir = NULL};

    /* A file beyond 'ulimit -f' is an error of write (). */
    signal (SIGXFSZ, SIG_IGN);
    if (dn_options_take (given, &call) != DN_OPTION_END)
        return given->exit_code;
    given->exit_code = take_argument (given, &call);
    if (given->exit_code != DN_EXIT_DONE)
        return given->exit_code;
    find_file (&call);
    read_file (&call);
    return call.follow ? follow (&call) : report (&call, given->json);
}

const struct dn_command dn_cmd_progress = {
    .name = "progress",
    .summary = "Report from within a job how far it is",
    .arguments = "[DONE/TOTAL]",
    .options = options,
    .never_fails_in_job = true,
    .run = run_progress,
};
