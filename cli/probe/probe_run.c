/* probe_run.c - run a program for a number of steps, watch it, and end all its
 * processes
 *
 * With the hook, the program ends with SystemExit after its last step. A program that
 * does not, or has no hook, gets SIGTERM and then SIGKILL, each after a grace time. The
 * program's own process stays a zombie until all others have ended, so that its PID,
 * which is also the process group's, is not reused.
 *
 * The hook writes to a file instead of a pipe: launchers close descriptors that they do
 * not know, and a write to a file does not block.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "probe_run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
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
#include "host/files.h"
#include "process/interrupt.h"
#include "process/proc_tree.h"

#define TICK_MS    20
#define LOOK_CPU_S 0.5
#define LOOK_GPU_S 0.25
#define LOOKS_MAX  8192

/* Seconds for processes that are left when the program has ended: until they are
 * killed, and until they are given up. */
#define LEAVE_S 1.0
#define KILL_S  10.0

#define PIECE 65536

/* The stages of ending the program. */
enum stage {
    STAGE_RUNNING,
    STAGE_ASKED, /* the hook ends it */
    STAGE_TERMINATED,
    STAGE_KILLED
};

struct runner {
    const struct dn_probe_task *task;
    struct dn_probe_run *run;
    struct dn_processes before; /* when the program started */
    struct dn_processes processes;
    char path[256]; /* of the hook's file; "" none */
    int hook_fd;
    int pipes[2]; /* its stdout and stderr if there is a pattern, else -1 */
    struct dn_feed_line lines[2];
    pid_t pid;
    double start_s;
    double cpu_look_s;
    double gpu_look_s;
    enum stage stage;
    double deadline_s; /* end of the stage */
};

static double now_s (void)
{
    struct timespec now;

    clock_gettime (CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

/* --- starting -------------------------------------------------------------------- */

/* Create a new private file in TMPDIR. */
static int open_hook_file (struct runner *runner, struct dn_err *err)
{
    const char *dir = getenv ("TMPDIR");
    struct dn_buf buf = dn_buf_on (runner->path, sizeof (runner->path));

    if (!dir || dir[0] != '/' || strlen (dir) > sizeof (runner->path) / 2)
        dir = "/tmp";
    dn_buf_add (&buf, "%s/dnnest-probe.XXXXXX", dir);
    runner->hook_fd = mkostemp (runner->path, O_CLOEXEC);
    if (runner->hook_fd >= 0)
        return 0;
    dn_err_set (err, DN_E_IO, "%s: %s", runner->path, strerror (errno));
    runner->path[0] = '\0';
    return -1;
}

/* The hook describes what runs in a job. */
static int set_place (const struct dn_described_place *place)
{
    if (!place)
        return 0;
    return setenv ("DNNEST_PROGRESS_DIR", place->dir, 1) < 0
                   || setenv ("SLURM_JOB_ID", place->job, 1) < 0
               ? -1
               : 0;
}

/* In the child: set the environment variables that the hook needs. */
static int set_environment (const struct runner *runner)
{
    const struct dn_probe_task *task = runner->task;
    const char *path = getenv ("PYTHONPATH");
    char number[32];
    char *joined;
    int rc;

    if (set_place (task->place) < 0)
        return -1;
    if (task->pattern) /* so that lines come when they are printed */
        return setenv ("PYTHONUNBUFFERED", "1", 1);
    rc = asprintf (&joined,
                   "%s%s%s",
                   task->hook_dir,
                   path && path[0] ? ":" : "",
                   path ? path : "");
    if (rc < 0)
        return -1;
    rc = setenv ("PYTHONPATH", joined, 1);
    free (joined);
    if (rc < 0 || setenv ("DNNEST_PROBE_FILE", runner->path, 1) < 0)
        return -1;
    snprintf (number, sizeof (number), "%" PRId64, task->warmup);
    if (setenv ("DNNEST_PROBE_WARMUP", number, 1) < 0)
        return -1;
    snprintf (number, sizeof (number), "%" PRId64, task->warmup + task->steps);
    return setenv ("DNNEST_PROBE_STOP", number, 1);
}

/* A background process group is stopped when it reads the terminal: use /dev/null. */
static int set_files (const struct runner *runner, const int outputs[2])
{
    if (isatty (STDIN_FILENO)) {
        int null = open ("/dev/null", O_RDONLY | O_CLOEXEC);

        if (null < 0 || dup2 (null, STDIN_FILENO) < 0)
            return -1;
    }
    if (outputs[0] >= 0
        && (dup2 (outputs[0], STDOUT_FILENO) < 0
            || dup2 (outputs[1], STDERR_FILENO) < 0))
        return -1;
    if (outputs[0] < 0 && runner->task->output_to_stderr
        && dup2 (STDERR_FILENO, STDOUT_FILENO) < 0)
        return -1;
    return 0;
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
static void become (const struct runner *runner,
                    pid_t parent,
                    const int outputs[2],
                    int report)
{
    int why;

    setpgid (0, 0);
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    reset_signals ();
    if (getppid () == parent && set_files (runner, outputs) == 0
        && set_environment (runner) == 0)
        execvp (runner->task->argv[0], runner->task->argv);
    why = errno;
    if (write (report, &why, sizeof (why)) < 0)
        why = EIO;
    _exit (127);
}

static void close_fd (int *fd)
{
    if (*fd >= 0)
        close (*fd);
    *fd = -1;
}

/* Open a pipe per output of the program if there is a pattern. */
static int open_outputs (struct runner *runner, int outputs[2])
{
    int pair[2];

    for (int i = 0; i < 2 && runner->task->pattern; i++) {
        if (pipe2 (pair, O_CLOEXEC) < 0)
            return -1;
        runner->pipes[i] = pair[0];
        outputs[i] = pair[1];
    }
    return 0;
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
    int outputs[2] = {-1, -1};
    int report[2];
    const pid_t self = getpid ();
    int rc;

    if (open_outputs (runner, outputs) < 0 || pipe2 (report, O_CLOEXEC) < 0) {
        close_fd (&outputs[0]);
        close_fd (&outputs[1]);
        return dn_err_set (err, DN_E_IO, "pipe: %s", strerror (errno));
    }
    fflush (stdout);
    dn_processes_look (&runner->before, NULL);
    runner->start_s = now_s ();
    runner->pid = fork ();
    if (runner->pid == 0)
        become (runner, self, outputs, report[1]);
    close_fd (&outputs[0]);
    close_fd (&outputs[1]);
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

/* Write all bytes; false if the reader has gone. */
static bool pass_on (int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write (fd, bytes, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        len -= (size_t) n;
    }
    return true;
}

/* Forward the program's output. If our own output is closed, close the pipe, so that
 * the program gets the same error as without us. */
static void pump (struct runner *runner, int which)
{
    char bytes[PIECE];
    ssize_t n = read (runner->pipes[which], bytes, sizeof (bytes));
    bool to_stdout = which == 0 && !runner->task->output_to_stderr;

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n > 0)
        dn_feed_take (
            &runner->run->feed, &runner->lines[which], bytes, (size_t) n, now_s ());
    if (n <= 0
        || !pass_on (to_stdout ? STDOUT_FILENO : STDERR_FILENO, bytes, (size_t) n))
        close_fd (&runner->pipes[which]);
}

/* Wait a moment, or for output. Return whether there was any. */
static bool wait_for_output (struct runner *runner, int milliseconds)
{
    struct pollfd files[2] = {{runner->pipes[0], POLLIN, 0},
                              {runner->pipes[1], POLLIN, 0}};
    int n = poll (files, 2, milliseconds);

    for (int i = 0; i < 2 && n > 0; i++)
        if (runner->pipes[i] >= 0 && files[i].revents != 0)
            pump (runner, i);
    return n > 0;
}

static void read_hook (struct runner *runner)
{
    char bytes[PIECE];
    ssize_t n;

    if (runner->hook_fd < 0)
        return;
    while ((n = read (runner->hook_fd, bytes, sizeof (bytes))) > 0)
        dn_feed_take (
            &runner->run->feed, &runner->run->feed.line, bytes, (size_t) n, now_s ());
}

/* CPU time of the children that have been waited for. */
static double reaped_cpu (void)
{
    struct rusage usage;

    if (getrusage (RUSAGE_CHILDREN, &usage) < 0)
        return 0;
    return (double) usage.ru_utime.tv_sec + 1e-6 * (double) usage.ru_utime.tv_usec
           + (double) usage.ru_stime.tv_sec + 1e-6 * (double) usage.ru_stime.tv_usec;
}

/* Reap zombies that have become our children. */
static void reap (struct runner *runner)
{
    for (int i = 0; i < runner->processes.n; i++) {
        const struct dn_process *process = &runner->processes.list[i];

        if (process->below && process->zombie && process->pid != runner->pid
            && process->parent == getpid ())
            waitpid (process->pid, NULL, WNOHANG);
    }
}

static void look_at_cpu (struct runner *runner, double time_s)
{
    struct dn_probe_run *run = runner->run;
    struct dn_cpu_look *grown;

    if (dn_processes_look (&runner->processes, &runner->before) < 0)
        return;
    if (run->n_looks < LOOKS_MAX) {
        grown = realloc (run->looks, ((size_t) run->n_looks + 1) * sizeof (*grown));
        if (grown) {
            run->looks = grown;
            run->looks[run->n_looks++] = (struct dn_cpu_look){
                time_s, dn_processes_cpu (&runner->processes) + reaped_cpu ()};
        }
    }
    reap (runner);
}

static void look (struct runner *runner, bool now)
{
    double time_s = now_s () - runner->start_s;

    if (now || time_s >= runner->cpu_look_s) {
        runner->cpu_look_s = time_s + LOOK_CPU_S;
        look_at_cpu (runner, time_s);
    }
    if (runner->run->gpus && (now || time_s >= runner->gpu_look_s)) {
        runner->gpu_look_s = time_s + LOOK_GPU_S;
        dn_gpu_watch_look (runner->run->gpus, time_s);
    }
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

static bool has_enough (const struct runner *runner)
{
    const struct dn_probe_task *task = runner->task;
    const struct dn_feed_counter *best = dn_feed_best (&runner->run->feed);

    if (!best && task->place && !task->pattern)
        return access (task->place->file, R_OK) == 0;
    return best && best->n_steps >= task->warmup + task->steps;
}

/* End the program if there is a reason to. */
static void judge (struct runner *runner)
{
    const struct dn_probe_task *task = runner->task;

    if (dn_interrupted ()) {
        runner->run->end = DN_PROBE_INTERRUPTED;
        go_to (runner, STAGE_TERMINATED);
    } else if (has_enough (runner)) {
        runner->run->end = DN_PROBE_STEPS;
        go_to (runner,
               dn_feed_best (&runner->run->feed) && !task->pattern ? STAGE_ASKED
                                                                   : STAGE_TERMINATED);
    } else if (now_s () - runner->start_s > task->seconds) {
        runner->run->end = DN_PROBE_TIME;
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

static void watch (struct runner *runner)
{
    while (!is_done (runner)) {
        wait_for_output (runner, TICK_MS);
        read_hook (runner);
        look (runner, false);
        advance (runner);
    }
    runner->run->wall_s = now_s () - runner->start_s;
    look (runner, true);
    read_hook (runner);
    if (runner->stage == STAGE_RUNNING && dn_feed_best (&runner->run->feed)
        && has_enough (runner))
        runner->run->end = DN_PROBE_STEPS; /* the hook had ended it already */
}

/* Count the processes that are left, without the program itself, which has ended; kill
 * our children among them if 'end' is set. */
static int count_left (struct runner *runner, bool end)
{
    int n = 0;

    if (dn_processes_look (&runner->processes, &runner->before) < 0)
        return 0;
    reap (runner);
    for (int i = 0; i < runner->processes.n; i++) {
        const struct dn_process *process = &runner->processes.list[i];

        if (!process->below || process->zombie || process->pid == runner->pid)
            continue;
        n++;
        /* only the PIDs of our own children cannot have been reused; grandchildren
         * become our children when their parents are dead */
        if (end && process->parent == getpid ())
            kill (process->pid, SIGKILL);
    }
    return n;
}

/* Give the processes that the program has left a short time to end, then kill them and
 * the descendants that become our children. */
static void sweep (struct runner *runner)
{
    double leave_s = now_s () + LEAVE_S;
    double give_up_s = leave_s + KILL_S;
    bool more;
    int n_left;

    while ((n_left = count_left (runner, now_s () > leave_s)) > 0
           && now_s () < give_up_s) {
        if (now_s () > leave_s)
            kill (-runner->pid, SIGKILL);
        wait_for_output (runner, TICK_MS);
    }
    runner->run->n_left = n_left;
    /* read the rest of the pipes */
    for (int i = 0; i < 2; i++)
        if (runner->pipes[i] >= 0)
            fcntl (runner->pipes[i], F_SETFL, O_NONBLOCK);
    do {
        more = (runner->pipes[0] >= 0 || runner->pipes[1] >= 0)
               && wait_for_output (runner, 0);
    } while (more);
    while (waitpid (runner->pid, &runner->run->status, 0) < 0)
        if (errno != EINTR)
            break;
}

static void end_runner (struct runner *runner)
{
    close_fd (&runner->hook_fd);
    close_fd (&runner->pipes[0]);
    close_fd (&runner->pipes[1]);
    if (runner->path[0] != '\0')
        unlink (runner->path);
    dn_processes_free (&runner->processes);
    dn_processes_free (&runner->before);
    prctl (PR_SET_CHILD_SUBREAPER, 0);
}

int dn_probe_run (const struct dn_probe_task *task,
                  struct dn_probe_run *run,
                  struct dn_err *err)
{
    dn_cleanup (end_runner) struct runner runner = {
        .task = task, .run = run, .hook_fd = -1, .pipes = {-1, -1}, .pid = -1};

    memset (run, 0, sizeof (*run));
    if (!task->pattern && open_hook_file (&runner, err) < 0)
        return -1;
    run->gpus = dn_gpu_watch_new ();
    signal (SIGCHLD, SIG_DFL); /* our parent may have ignored it */
    prctl (PR_SET_CHILD_SUBREAPER, 1);
    if (start (&runner, err) < 0)
        return -1;
    dn_feed_begin (&run->feed, task->pattern, runner.start_s);
    run->feed.every = task->every;
    watch (&runner);
    sweep (&runner);
    return 0;
}

/* The CPU time at 'time_s', interpolated between two samples. */
static double cpu_at (const struct dn_probe_run *run, double time_s)
{
    int i = 1;
    const struct dn_cpu_look *a;
    const struct dn_cpu_look *b;

    while (i + 1 < run->n_looks && run->looks[i].time_s < time_s)
        i++;
    a = &run->looks[i - 1];
    b = &run->looks[i];
    return a->cpu_s
           + (b->cpu_s - a->cpu_s) * (time_s - a->time_s)
                 / fmax (b->time_s - a->time_s, 1e-9);
}

double dn_probe_cores (const struct dn_probe_run *run, double from_s, double to_s)
{
    if (run->n_looks < 2 || to_s - from_s < 0.01)
        return -1;
    return fmax (cpu_at (run, to_s) - cpu_at (run, from_s), 0) / (to_s - from_s);
}

void dn_probe_run_free (struct dn_probe_run *run)
{
    if (!run)
        return;
    dn_feed_free (&run->feed);
    dn_gpu_watch_free (run->gpus);
    free (run->looks);
    run->gpus = NULL;
    run->looks = NULL;
}
