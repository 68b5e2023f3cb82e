/* run_program.c - run a program until it has described itself, and end all its
 * processes
 *
 * The hook ends a program with SystemExit when it has measured all steps. One that goes
 * on, or has no hook, gets SIGTERM and then SIGKILL, each after a grace time. The
 * program's own process stays a zombie until all others have ended, so that its PID,
 * which is also the process group's, is not reused. Processes whose parents have ended
 * become our children (PR_SET_CHILD_SUBREAPER).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "run_program.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "common.h"
#include "rewrite/rewrite.h"

/* Of a fork bomb, the others show when these have ended. */
#define CHILDREN_MAX 1024

#define TICK_MS 20
#define LOOK_S  0.5

/* Seconds for processes that are left when the program has ended: until they are
 * killed, and until they are given up. */
#define LEAVE_S 1.0
#define KILL_S  10.0

/* The stages of ending the program. */
enum stage {
    STAGE_RUNNING,
    STAGE_ASKED, /* the hook ends it */
    STAGE_TERMINATED,
    STAGE_KILLED
};

struct children {
    pid_t list[CHILDREN_MAX];
    int n;
};

struct runner {
    const struct dn_program_task *task;
    struct dn_program_run *run;
    struct children before; /* when the program started */
    pid_t pid;
    double start_s;
    double look_s; /* when the next look is due */
    bool has_enough;
    enum stage stage;
    double deadline_s; /* end of the stage */
};

static double now_s (void)
{
    struct timespec now;

    clock_gettime (CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

static void list_children (struct children *children)
{
    dn_cleanup (dn_close_input) FILE *file = fopen ("/proc/thread-self/children", "re");
    char word[24];
    int64_t pid;

    children->n = 0;
    while (file && children->n < CHILDREN_MAX && fscanf (file, "%23s", word) == 1)
        if (dn_int_read (dn_span_of (word), "", 1, INT32_MAX, &pid, NULL) == 0)
            children->list[children->n++] = (pid_t) pid;
}

static bool has (const struct children *children, pid_t pid)
{
    for (int i = 0; i < children->n; i++)
        if (children->list[i] == pid)
            return true;
    return false;
}

/* --- signals -----------------------------------------------------------------------
 */

static const int signals[] = {SIGHUP, SIGINT, SIGTERM};

static struct sigaction before[DN_N_ELEMENTS (signals)];
static volatile sig_atomic_t came;

static void note (int number)
{
    if (!came)
        came = number;
}

void dn_interrupt_hold (void)
{
    struct sigaction action = {.sa_handler = note};

    came = 0;
    sigemptyset (&action.sa_mask);
    for (size_t i = 0; i < DN_N_ELEMENTS (signals); i++) {
        sigaction (signals[i], NULL, &before[i]);
        /* a signal that is ignored, as by nohup, stays ignored */
        if (before[i].sa_handler != SIG_IGN)
            sigaction (signals[i], &action, NULL);
    }
}

bool dn_interrupted (void)
{
    return came != 0;
}

void dn_interrupt_release (void)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (signals); i++)
        sigaction (signals[i], &before[i], NULL);
    if (!came)
        return;
    fflush (stdout);
    raise (came);
}

/* --- starting -------------------------------------------------------------------- */

/* In the child: put the hook first in PYTHONPATH. */
static int set_path (const char *hook_dir)
{
    dn_cleanup (dn_free_ptr) char *path = NULL;

    errno = 0;
    path = dn_dirs_with (hook_dir, getenv (DN_PYTHON_PATH));
    if (!path)
        return errno == 0 ? 0 : -1; /* it is first, or there is no memory */
    return setenv (DN_PYTHON_PATH, path, 1);
}

/* In the child: the program describes itself as if it were a job. */
static int set_environment (const struct dn_program_task *task)
{
    char steps[32];

    snprintf (steps, sizeof (steps), "%" PRId64, task->steps);
    return set_path (task->hook_dir) < 0
                   || setenv (DN_CAPTURE_HOOK, task->hook_dir, 1) < 0
                   || setenv (DN_CAPTURE_STEPS, steps, 1) < 0
                   || setenv (DN_PROGRESS_DIR, task->place->dir, 1) < 0
                   || setenv ("SLURM_JOB_ID", task->place->job, 1) < 0
               ? -1
               : 0;
}

/* A background process group is stopped when it reads the terminal: use /dev/null. */
static int set_files (void)
{
    if (isatty (STDIN_FILENO)) {
        int null = open ("/dev/null", O_RDONLY | O_CLOEXEC);

        if (null < 0 || dup2 (null, STDIN_FILENO) < 0)
            return -1;
    }
    return dup2 (STDERR_FILENO, STDOUT_FILENO) < 0 ? -1 : 0;
}

static void reset_signals (void)
{
    static const int ours[] = {SIGHUP, SIGINT, SIGTERM, SIGPIPE};
    struct sigaction action;

    for (size_t i = 0; i < DN_N_ELEMENTS (ours); i++) {
        sigaction (ours[i], NULL, &action);
        if (ours[i] == SIGPIPE || action.sa_handler != SIG_IGN)
            signal (ours[i], SIG_DFL);
    }
}

/* In the child: exec the program. On failure the parent gets errno through 'report'. */
static void become (const struct runner *runner, pid_t parent, int report)
{
    int why;

    setpgid (0, 0);
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    reset_signals ();
    if (getppid () == parent && set_files () == 0
        && set_environment (runner->task) == 0)
        execvp (runner->task->argv[0], runner->task->argv);
    why = errno;
    if (write (report, &why, sizeof (why)) < 0)
        why = EIO;
    _exit (127);
}

/* Wait for exec to happen or to fail. */
static int hear (struct runner *runner, int report, struct dn_err *err)
{
    const char *name = runner->task->argv[0];
    int why = 0;
    ssize_t n;

    do
        n = read (report, &why, sizeof (why));
    while (n < 0 && errno == EINTR);
    if (n == 0)
        return 0;
    waitpid (runner->pid, &runner->run->status, 0);
    runner->pid = -1;
    runner->run->unable = true;
    runner->run->status = (why == ENOENT ? 127 : 126) << 8;
    return dn_err_set (err,
                       DN_E_IO,
                       "%s: cannot be run: %s",
                       dn_quote (name, strlen (name)).text,
                       strerror (why));
}

static int start (struct runner *runner, struct dn_err *err)
{
    int report[2];
    const pid_t self = getpid ();
    int rc;

    if (pipe2 (report, O_CLOEXEC) < 0)
        return dn_err_set (err, DN_E_IO, "pipe: %s", strerror (errno));
    fflush (stdout);
    list_children (&runner->before);
    runner->start_s = now_s ();
    runner->pid = fork ();
    if (runner->pid == 0)
        become (runner, self, report[1]);
    close (report[1]);
    if (runner->pid < 0)
        rc = dn_err_set (err, DN_E_IO, "fork: %s", strerror (errno));
    else
        rc = hear (runner, report[0], err);
    close (report[0]);
    if (rc == 0)
        setpgid (runner->pid, runner->pid);
    return rc;
}

/* --- watching -------------------------------------------------------------------- */

/* CPU time of the children that have been waited for. */
static double reaped_cpu (void)
{
    struct rusage usage;

    if (getrusage (RUSAGE_CHILDREN, &usage) < 0)
        return 0;
    return (double) usage.ru_utime.tv_sec + 1e-6 * (double) usage.ru_utime.tv_usec
           + (double) usage.ru_stime.tv_sec + 1e-6 * (double) usage.ru_stime.tv_usec;
}

static void pause_tick (void)
{
    const struct timespec tick = {.tv_nsec = TICK_MS * 1000000L};

    nanosleep (&tick, NULL);
}

/* Reap what has become our child and has ended, count the others, and kill them if
 * 'end' is set. The program itself, and children that we had before it, do not count.
 */
static int count_left (const struct runner *runner, bool end)
{
    struct children children;
    int n = 0;

    list_children (&children);
    for (int i = 0; i < children.n; i++) {
        pid_t pid = children.list[i];

        if (pid == runner->pid || has (&runner->before, pid)
            || waitpid (pid, NULL, WNOHANG) == pid)
            continue;
        n++;
        if (end)
            kill (pid, SIGKILL);
    }
    return n;
}

/* Look from time to time whether the program has measured all steps. */
static void look (struct runner *runner)
{
    const struct dn_described_place *place = runner->task->place;
    struct dn_described described;

    if (now_s () < runner->look_s)
        return;
    runner->look_s = now_s () + LOOK_S;
    count_left (runner, false);
    if (dn_described_read (place->dir, place->job, geteuid (), &described, NULL) < 0)
        return;
    runner->has_enough = described.capture.steps_measured >= runner->task->steps;
    dn_described_free (&described);
}

/* --- ending ---------------------------------------------------------------------- */

static bool is_done (const struct runner *runner)
{
    siginfo_t info = {.si_pid = 0};

    while (waitid (P_PID, (id_t) runner->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
        if (errno != EINTR)
            return true;
    return info.si_pid == runner->pid;
}

static void go_to (struct runner *runner, enum stage stage)
{
    runner->stage = stage;
    runner->deadline_s = now_s () + runner->task->grace_s;
    if (stage == STAGE_TERMINATED) {
        kill (-runner->pid, SIGTERM);
        kill (-runner->pid, SIGCONT); /* a stopped process does not handle SIGTERM */
    } else if (stage == STAGE_KILLED) {
        kill (-runner->pid, SIGKILL);
    }
}

/* End the program if there is a reason to. */
static void judge (struct runner *runner)
{
    if (dn_interrupted ()) {
        runner->run->end = DN_PROGRAM_INTERRUPTED;
        go_to (runner, STAGE_TERMINATED);
    } else if (runner->has_enough) {
        runner->run->end = DN_PROGRAM_STEPS;
        go_to (runner, STAGE_ASKED);
    } else if (now_s () - runner->start_s > runner->task->seconds) {
        runner->run->end = DN_PROGRAM_TIME;
        go_to (runner, STAGE_TERMINATED);
    }
}

static void advance (struct runner *runner)
{
    if (runner->stage == STAGE_RUNNING)
        judge (runner);
    else if (runner->stage == STAGE_ASKED
             && (dn_interrupted () || now_s () > runner->deadline_s))
        go_to (runner, STAGE_TERMINATED);
    else if (runner->stage == STAGE_TERMINATED && now_s () > runner->deadline_s)
        go_to (runner, STAGE_KILLED);
}

/* Give the processes that the program has left a short time to end, then kill them and
 * the descendants that become our children. */
static void sweep (struct runner *runner)
{
    double leave_s = now_s () + LEAVE_S;
    double give_up_s = leave_s + KILL_S;
    int n_left;

    while ((n_left = count_left (runner, now_s () > leave_s)) > 0
           && now_s () < give_up_s) {
        if (now_s () > leave_s)
            kill (-runner->pid, SIGKILL);
        pause_tick ();
    }
    runner->run->n_left = n_left;
    while (waitpid (runner->pid, &runner->run->status, 0) < 0)
        if (errno != EINTR)
            break;
}

int dn_run_program (const struct dn_program_task *task,
                    struct dn_program_run *run,
                    struct dn_err *err)
{
    struct runner runner = {.task = task, .run = run, .pid = -1};
    double before_s = reaped_cpu ();
    int rc;

    memset (run, 0, sizeof (*run));
    signal (SIGCHLD, SIG_DFL); /* our parent may have ignored it */
    prctl (PR_SET_CHILD_SUBREAPER, 1);
    rc = start (&runner, err);
    if (rc == 0) {
        while (!is_done (&runner)) {
            pause_tick ();
            look (&runner);
            advance (&runner);
        }
        run->wall_s = now_s () - runner.start_s;
        sweep (&runner);
        run->cpu_s = reaped_cpu () - before_s;
    }
    prctl (PR_SET_CHILD_SUBREAPER, 0);
    return rc;
}
