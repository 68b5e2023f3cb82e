/* learn_task.c - starts 'dnnest learn' at its interval
 *
 * Learning may take minutes where there are 10^6 jobs, and the guard must not wait for
 * it. So it is a process of its own, at a low priority, one at a time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "task.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/messages.h"

/* Niceness of the process. */
#define NICE 10

struct learn {
    pid_t child; /* 0: none */
};

/* Beside this program, as in a tree where it was built; else where it is installed. */
static void find_program (char program[PATH_MAX])
{
    struct dn_buf buf = dn_buf_on (program, PATH_MAX);
    char own[PATH_MAX];
    ssize_t len = readlink ("/proc/self/exe", own, sizeof (own) - 1);
    char *slash;

    own[len > 0 ? len : 0] = '\0';
    slash = strrchr (own, '/');
    if (slash) {
        dn_buf_add (&buf, "%.*s/dnnest", (int) (slash - own), own);
        if (!buf.cut && access (program, X_OK) == 0)
            return;
    }
    buf = dn_buf_on (program, PATH_MAX);
    dn_buf_add (&buf, "%s/dnnest", DNNEST_BINDIR);
}

/* In the child: only what is allowed after fork () is called. */
static void become (const char *program, const char *conf, bool dry_run)
{
    const char *args[6] = {program, "learn", "--paced"};
    int n = 3;

    if (dry_run)
        args[n++] = "--dry-run";
    if (conf) {
        args[n++] = "--conf";
        args[n++] = conf;
    }
    setpriority (PRIO_PROCESS, 0, NICE);
    execv (program, (char *const *) (void *) args);
    _exit (127);
}

static void report (int status)
{
    if (WIFEXITED (status) && WEXITSTATUS (status) <= 1)
        return;
    if (WIFEXITED (status) && WEXITSTATUS (status) == 127)
        dn_log (DN_LOG_ERROR, dn_say_learn_no_program, DNNEST_BINDIR);
    else if (WIFEXITED (status))
        dn_log (DN_LOG_ERROR, dn_say_learn_exit, WEXITSTATUS (status));
    else
        dn_log (DN_LOG_ERROR, dn_say_learn_signal, WTERMSIG (status));
}

/* Does the process still run? */
static bool is_busy (struct learn *learn, bool wait)
{
    int status = 0;
    pid_t ended;

    if (learn->child == 0)
        return false;
    do
        ended = waitpid (learn->child, &status, wait ? 0 : WNOHANG);
    while (ended < 0 && errno == EINTR);
    if (ended == 0)
        return true;
    if (ended == learn->child)
        report (status);
    learn->child = 0;
    return false;
}

static bool has_store (const struct dn_daemon *d)
{
    char path[PATH_MAX];
    struct dn_buf buf = dn_buf_on (path, sizeof (path));

    dn_buf_add (&buf, "%s/records.db", d->site->state_dir);
    return !buf.cut && access (path, R_OK) == 0;
}

static int run_learn (void *memory, struct dn_daemon *d, struct dn_err *err)
{
    struct learn *learn = memory;
    char program[PATH_MAX];

    if (is_busy (learn, false)) {
        dn_log (DN_LOG_INFO, dn_say_learn_busy);
        return 0;
    }
    if (!has_store (d)) {
        dn_log (DN_LOG_DEBUG, dn_say_learn_no_store);
        return 0;
    }
    find_program (program);
    learn->child = fork ();
    if (learn->child == 0)
        become (program, d->conf, d->dry_run);
    if (learn->child < 0) {
        learn->child = 0;
        return dn_err_set (err, DN_E_IO, "learn: %s", dn_errno_text (errno).text);
    }
    is_busy (learn, d->once);
    return 0;
}

const struct dn_task dn_task_learn = {
    .name = "learn",
    .help = "learn the history of applications from finished jobs",
    .interval_offset = offsetof (struct dn_site, learn_interval_s),
    .memory = sizeof (struct learn),
    .run = run_learn,
    .alone = true,
};
