/* errand.c - the work of a task in a process of its own, which may be killed
 *
 * libslurm has threads: after fork () only what a signal handler may do is done, and
 * then another program runs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "errand.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/messages.h"
#include "host/stopwatch.h"

/* Niceness of the process. */
#define NICE 10

/* The shadow of AddressSanitizer counts as data. */
#ifdef __SANITIZE_ADDRESS__
#define BOUNDED false
#else
#define BOUNDED true
#endif

/* Of a process that could not run its program. */
#define NOT_FOUND 127

/* In the child: only what is allowed after fork () is called. */
static void become (const struct dn_errand *errand, int out)
{
    const struct rlimit memory = {(rlim_t) errand->memory_max,
                                  (rlim_t) errand->memory_max};
    const struct rlimit none = {0, 0};

    prctl (PR_SET_PDEATHSIG, SIGKILL);
    setpriority (PRIO_PROCESS, 0, NICE);
    if (BOUNDED && errand->memory_max > 0
        && (setrlimit (RLIMIT_DATA, &memory) < 0 || setrlimit (RLIMIT_CORE, &none) < 0))
        _exit (NOT_FOUND);
    if (out >= 0)
        dup2 (out, STDERR_FILENO);
    execv (errand->args[0], (char *const *) (void *) errand->args);
    _exit (NOT_FOUND);
}

static int start (struct dn_child *child,
                  const struct dn_errand *errand,
                  struct dn_err *err)
{
    int pipes[2];

    *child = (struct dn_child){.pid = 0};
    if (pipe2 (pipes, O_CLOEXEC) < 0)
        return dn_err_set (
            err, DN_E_IO, "%s: %s", errand->name, dn_errno_text (errno).text);
    fcntl (pipes[0], F_SETFL, O_NONBLOCK);
    child->out = pipes[0];
    child->end_ms = dn_monotonic_ms () + errand->limit_s * 1000;
    child->pid = fork ();
    if (child->pid == 0)
        become (errand, pipes[1]);
    close (pipes[1]);
    if (child->pid > 0)
        return 0;
    dn_err_set (err, DN_E_IO, "%s: %s", errand->name, dn_errno_text (errno).text);
    close (child->out);
    child->pid = 0;
    return -1;
}

/* Keep the last line of what it has written, without the program's name. */
static void listen_to (struct dn_child *child)
{
    char text[4096];
    ssize_t len;

    while ((len = read (child->out, text, sizeof (text) - 1)) > 0) {
        char *line = text;
        char *end;

        while (len > 0 && text[len - 1] == '\n')
            len--;
        text[len] = '\0';
        if ((end = strrchr (line, '\n')))
            line = end + 1;
        if (strncmp (line, "dnnest", 6) == 0 && (end = strstr (line, ": ")))
            line = end + 2;
        if (line[0] != '\0')
            snprintf (child->said,
                      sizeof (child->said),
                      "%.*s",
                      (int) sizeof (child->said) - 1,
                      line);
    }
}

/* What its end means. */
static int judge (const struct dn_child *child,
                  const struct dn_errand *errand,
                  int status,
                  struct dn_err *err)
{
    int code = WIFEXITED (status) ? WEXITSTATUS (status) : 0;

    if (child->late)
        return dn_err_set (
            err, DN_E_IO, dn_say_child_late, errand->name, (long long) errand->limit_s);
    if (!WIFEXITED (status))
        return dn_err_set (
            err, DN_E_IO, dn_say_child_signal, errand->name, WTERMSIG (status));
    if (code <= errand->good_exit)
        return 0;
    if (code == NOT_FOUND)
        return dn_err_set (
            err, DN_E_IO, dn_say_child_no_program, errand->name, errand->args[0]);
    if (child->said[0] != '\0')
        return dn_err_set (err, DN_E_IO, "%s", child->said);
    return dn_err_set (err, DN_E_IO, dn_say_child_exit, errand->name, code);
}

/* Its pid when it has ended, 0 while it runs. */
static pid_t reap (pid_t pid, int *status, int flags)
{
    pid_t ended;

    do
        ended = waitpid (pid, status, flags);
    while (ended < 0 && errno == EINTR);
    return ended;
}

int dn_child_run (struct dn_child *child,
                  const struct dn_errand *errand,
                  struct dn_err *err)
{
    int status = 0;

    if (child->pid == 0)
        return start (child, errand, err) < 0 ? -1 : 1;
    if (reap (child->pid, &status, WNOHANG) == 0) {
        listen_to (child);
        child->late = child->late || dn_monotonic_ms () >= child->end_ms;
        if (child->late)
            kill (child->pid, SIGKILL);
        return 1;
    }
    listen_to (child);
    close (child->out);
    child->pid = 0;
    return judge (child, errand, status, err);
}

int dn_child_wait (const struct dn_errand *errand, struct dn_err *err)
{
    struct dn_child child = {.pid = fork ()};
    int status = 0;

    if (child.pid == 0)
        become (errand, -1);
    if (child.pid < 0 || reap (child.pid, &status, 0) < 0)
        return dn_err_set (
            err, DN_E_IO, "%s: %s", errand->name, dn_errno_text (errno).text);
    return judge (&child, errand, status, err);
}

void dn_child_end (void *memory)
{
    struct dn_child *child = memory;

    if (child->pid == 0)
        return;
    kill (child->pid, SIGKILL);
    close (child->out);
    child->pid = 0;
}
