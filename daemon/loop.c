/* loop.c - runs the tasks: one of them once, or all again and again
 *
 * A round runs the tasks that are due, so that they share one table of jobs. Where
 * slurmctld does not answer, the waits between two tries become longer, and each try
 * costs a ping alone.
 *
 * SIGTERM and SIGINT end it. A handler adds to an eventfd, which ends the waiting, here
 * alone, in whatever thread of libslurm it ran. A request to slurmctld that waits for
 * an answer does not see the signal: a second later, and what its tasks have for
 * leaving, the process ends all the same. Its files are replaced whole, so that none is
 * left half written.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "loop.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/messages.h"
#include "host/load.h"
#include "host/put_file.h"
#include "host/stopwatch.h"
#include "host/watch.h"
#include "round.h"
#include "ticks.h"

#ifdef DN_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

/* Errors that are known to be in the log, and for how long one is not said again. */
#define SAID_MAX   16
#define SAID_FOR_S 86400

/* Between two tries to reach slurmctld; a random part is added to each. */
#define RETRY_MIN_MS 1000
#define RETRY_MAX_MS 10000

/* Between two checks of the files of the configuration. */
#define CHECK_MS 5000

/* Before a task that has more to do is called again: others come first. */
#define MORE_MS 1000

/* A task that is due so soon runs in this round. */
#define TOGETHER_MS 500

/* Tasks, at most. */
#define TASKS_MAX 8

/* One task in the loop. */
struct turn {
    const struct dn_task *task;
    void *memory;
    int64_t next_ms; /* monotonic */
};

/* What of slurm.conf the rules depend on. */
struct slurm_rules {
    int version;
    char *slurmctld_parameters; /* owned; NULL: not known */
    char *scheduler_parameters;
};

struct loop {
    const struct dn_loop_options *options;
    struct dn_site *site; /* in force; owned; NULL: nothing loaded yet */
    bool has_conf;        /* it is of dnnest.conf, and not of the defaults */
    const char *cluster;  /* borrowed; NULL: dn_link_open () was not called yet */
    struct slurm_rules slurm;
    struct dn_watch watch;
    uint64_t identity; /* of the files when they were last loaded, or refused */
    struct dn_daemon daemon;
    struct turn turns[TASKS_MAX];
    int n_turns;
    int64_t retry_ms; /* 0: slurmctld answered the last time */
    bool said_down;
    /* The last errors in the log, by the hashes of their texts, each said once a day:
     * those of all tasks and of the files of a full disk come in turn. */
    struct {
        uint64_t hash;
        int64_t at_s;
    } said[SAID_MAX];
    int n_said; /* of all times */
};

/* --- signals ---------------------------------------------------------------------- */

/* Seconds after SIGTERM in which a round may come to its own end. */
#define ROUND_S 1

/* Longest wait: poll () takes an int. */
#define WAIT_MAX_MS 3600000

static int wake_fd = -1;
static unsigned grace_s;
static volatile sig_atomic_t end_asked;
static volatile sig_atomic_t reload_asked;

static void on_signal (int number)
{
    const int saved = errno;
    const uint64_t one = 1;

    if (number == SIGHUP) {
        reload_asked = 1;
    } else {
        end_asked = 1;
        alarm (grace_s);
    }
    /* It cannot fail but where it has been woken already. */
    (void) !write (wake_fd, &one, sizeof (one));
    errno = saved;
}

static void on_alarm (int number)
{
    (void) number;
    _exit (0);
}

static int handle (int number, void (*handler) (int), struct dn_err *err)
{
    struct sigaction action;

    memset (&action, 0, sizeof (action));
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset (&action.sa_mask);
    if (sigaction (number, &action, NULL) < 0)
        return dn_err_set (
            err, DN_E_IO, dn_say_err_signal, number, dn_errno_text (errno).text);
    return 0;
}

/* Install the handlers; the tasks have 'leave_s' for leaving. */
static int signals_begin (int leave_s, struct dn_err *err)
{
    grace_s = ROUND_S + (unsigned) leave_s;
    end_asked = reload_asked = 0;
    wake_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_fd < 0)
        return dn_err_set (err, DN_E_IO, "eventfd: %s", dn_errno_text (errno).text);
    if (handle (SIGTERM, on_signal, err) < 0 || handle (SIGINT, on_signal, err) < 0
        || handle (SIGHUP, on_signal, err) < 0 || handle (SIGALRM, on_alarm, err) < 0
        || handle (SIGPIPE, SIG_IGN, err) < 0)
        return -1;
    return 0;
}

/* Wait for a signal, at most 'ms'. */
static void signals_wait (int64_t ms)
{
    struct pollfd wait_for = {.fd = wake_fd, .events = POLLIN};
    uint64_t n;

    if (ms > WAIT_MAX_MS)
        ms = WAIT_MAX_MS;
    if (poll (&wait_for, 1, ms < 0 ? 0 : (int) ms) > 0
        && read (wake_fd, &n, sizeof (n)) < 0)
        return;
}

/* --- systemd (sd_notify), if there is libsystemd ---------------------------------- */

#define STATE_MAX 512

/* 'key' is what the text is of: "STATUS=" is the line that systemctl status shows. */
DN_PRINTF (2, 3) static void tell (const char *key, const char *format, ...)
{
#ifdef DN_SYSTEMD
    char state[STATE_MAX];
    struct dn_buf buf = dn_buf_on (state, sizeof (state));
    va_list args;

    dn_buf_add (&buf, "%s", key);
    va_start (args, format);
    vsnprintf (state + buf.len, sizeof (state) - buf.len, format, args);
    va_end (args);
    sd_notify (0, state);
#else
    (void) key;
    (void) format;
#endif
}

/* How long a wait may last: the watchdog wants to hear that the process is alive. */
static int64_t step_ms (void)
{
    int64_t step = CHECK_MS;
#ifdef DN_SYSTEMD
    uint64_t us;

    if (sd_watchdog_enabled (0, &us) > 0 && us >= 2000 && us / 2000 < CHECK_MS)
        step = (int64_t) (us / 2000);
#endif
    return step;
}

/* --- errors ----------------------------------------------------------------------- */

static enum dn_daemon_exit exit_of (const struct dn_err *err)
{
    if (dn_link_is_lost (err))
        return DN_DAEMON_UNREACHED;
    return err->code == DN_E_NOMEM || err->code == DN_E_BUG ? DN_DAEMON_BUG
                                                            : DN_DAEMON_DATA;
}

/* Note and log an error, but not the same one again and again. */
static void complain (struct loop *loop, const struct dn_err *err)
{
    uint64_t hash = dn_hash_text (DN_HASH_SEED, err->text);
    int64_t now_s = (int64_t) time (NULL);
    int at;

    dn_ticks_error (err->text, now_s);
    for (int i = 0; i < SAID_MAX && i < loop->n_said; i++)
        if (loop->said[i].hash == hash && now_s < loop->said[i].at_s + SAID_FOR_S)
            return;
    at = loop->n_said++ % SAID_MAX;
    loop->said[at].hash = hash;
    loop->said[at].at_s = now_s;
    dn_log (DN_LOG_ERROR, "%s", err->text);
}

/* --- the configuration ------------------------------------------------------------ */

static void free_rules (struct slurm_rules *rules)
{
    free (rules->slurmctld_parameters);
    free (rules->scheduler_parameters);
    *rules = (struct slurm_rules){.version = 0};
}

static int copy_rules (const struct dn_link_conf *conf,
                       struct slurm_rules *rules,
                       struct dn_err *err)
{
    *rules = (struct slurm_rules){.version = conf->slurm};
    rules->slurmctld_parameters = strdup (conf->slurmctld_parameters);
    rules->scheduler_parameters = strdup (conf->scheduler_parameters);
    if (rules->slurmctld_parameters && rules->scheduler_parameters)
        return 0;
    free_rules (rules);
    return dn_refuse (err, no_memory_for, "site");
}

static bool is_same (const struct slurm_rules *rules, const struct dn_link_conf *conf)
{
    return rules->slurmctld_parameters && rules->version == conf->slurm
           && strcmp (rules->slurmctld_parameters, conf->slurmctld_parameters) == 0
           && strcmp (rules->scheduler_parameters, conf->scheduler_parameters) == 0;
}

/* An installation without dnnest.conf works with the defaults. */
static const char *conf_path (const struct loop *loop)
{
    if (loop->options->daemon.conf)
        return loop->options->daemon.conf;
    return access (DNNEST_CONF, F_OK) < 0 && errno == ENOENT ? NULL : DNNEST_CONF;
}

/* Load the site; 'conf' is that of slurmctld, NULL where it is not known. On failure
 * return -1 with 'err', and the site in force stays.
 */
static int load_site (struct loop *loop,
                      const struct dn_link_conf *conf,
                      struct dn_err *err)
{
    struct dn_load_paths paths = dn_load_default_paths ();
    struct dn_load_context context = {.cluster = loop->cluster};
    struct dn_site *site;

    paths.conf = conf_path (loop);
    paths.model = loop->options->goes_on ? DN_SITE_NONE : NULL;
    if (conf && !is_same (&loop->slurm, conf)) {
        free_rules (&loop->slurm);
        if (copy_rules (conf, &loop->slurm, err) < 0)
            return -1;
    }
    dn_watch_conf (&loop->watch, paths.conf ? paths.conf : DNNEST_CONF);
    loop->identity = dn_watch_identity (&loop->watch);
    context.slurm_version = loop->slurm.version;
    context.slurmctld_parameters = loop->slurm.slurmctld_parameters;
    context.scheduler_parameters = loop->slurm.scheduler_parameters;
    site = dn_load_site (&paths, &context, err);
    if (!site)
        return -1;
    dn_load_free (loop->site);
    loop->daemon.site = loop->site = site;
    loop->has_conf = true;
    return 0;
}

static void ignore (void *to, const struct dn_err *err)
{
    (void) to;
    (void) err;
}

/* Load the defaults, with the paths of dnnest.conf if it can be read. -1: no memory. */
static int load_defaults (struct loop *loop)
{
    const struct dn_load_paths paths = dn_load_default_paths ();
    const char *conf = conf_path (loop);
    struct dn_problems problems = {.report = ignore};
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct dn_site *site = calloc (1, sizeof (*site));
    size_t len;

    if (!site || dn_site_init (site, paths.hardware, paths.datasets, NULL) < 0) {
        dn_load_free (site);
        return -1;
    }
    if (conf && dn_load_file (conf, &text, &len, NULL) == 0)
        dn_site_read_paths (site, (struct dn_span){text, len}, conf, &problems, NULL);
    dn_load_free (loop->site);
    loop->daemon.site = loop->site = site;
    return 0;
}

/* Have the files changed since the last load, or with 'conf' (NULL: not known) what
 * the rules depend on?
 */
static bool is_old (const struct loop *loop, const struct dn_link_conf *conf)
{
    return (conf && !is_same (&loop->slurm, conf))
           || dn_watch_identity (&loop->watch) != loop->identity;
}

/* --- start and end ---------------------------------------------------------------- */

static int add_turn (struct loop *loop, const struct dn_task *task, struct dn_err *err)
{
    struct turn *turn = &loop->turns[loop->n_turns];

    turn->task = task;
    turn->next_ms = 0;
    turn->memory = calloc (1, task->memory);
    if (!turn->memory)
        return dn_refuse (err, no_memory_for, task->name);
    loop->n_turns++;
    return 0;
}

static void end_loop (struct loop *loop)
{
    for (int i = 0; i < loop->n_turns; i++) {
        if (loop->turns[i].task->end)
            loop->turns[i].task->end (loop->turns[i].memory);
        free (loop->turns[i].memory);
    }
    if (loop->daemon.link) {
        dn_jobs_drop (&loop->daemon);
        dn_link_close (loop->daemon.link);
    }
    dn_load_free (loop->site);
    free_rules (&loop->slurm);
}

/* Files are written into StateDir, unless nothing or another file is written. */
static bool needs_state_dir (const struct dn_daemon *d)
{
    return !d->out && !d->store && !d->dry_run;
}

static int make_state_dir (const struct loop *loop, struct dn_err *err)
{
    if (!needs_state_dir (&loop->daemon)
        || dn_put_state_dir (loop->site->state_dir, DNNEST_STATE_DIR, err) == 0)
        return 0;
    if (!loop->options->goes_on)
        return -1;
    dn_log (DN_LOG_ERROR, "%s", err->text);
    return 0;
}

/* Load the configuration, and what both ways of running need. */
static enum dn_daemon_exit begin_loop (struct loop *loop,
                                       const struct dn_loop_options *options,
                                       const struct dn_task *const *tasks,
                                       struct dn_err *err)
{
    loop->options = options;
    loop->daemon = options->daemon;
    if (load_site (loop, NULL, err) < 0) {
        if (!options->goes_on || load_defaults (loop) < 0)
            return DN_DAEMON_CONF;
        dn_log (DN_LOG_ERROR, dn_say_daemon_conf_none, err->text);
    }
    loop->daemon.link = dn_link_open (err);
    if (!loop->daemon.link)
        return DN_DAEMON_CONF;
    loop->cluster = dn_link_cluster_name ();
    if (dn_site_set_cluster (loop->site, loop->cluster, err) < 0) {
        if (!options->goes_on)
            return DN_DAEMON_CONF;
        dn_log (DN_LOG_ERROR, "%s", err->text);
    }
    for (int i = 0; i < TASKS_MAX && tasks[i]; i++)
        if (add_turn (loop, tasks[i], err) < 0)
            return DN_DAEMON_BUG;
    return make_state_dir (loop, err) < 0 ? DN_DAEMON_CONF : DN_DAEMON_DONE;
}

/* --- a new configuration ---------------------------------------------------------- */

/* Load it again; a broken one leaves that in force. */
static void reload (struct loop *loop, const struct dn_link_conf *conf)
{
    struct dn_err err = {.code = DN_E_NONE};
    struct timespec now = {0, 0};

    /* A manager that started it waits for READY=1 with a later time than this. */
    clock_gettime (CLOCK_MONOTONIC, &now);
    tell ("RELOADING=1\nMONOTONIC_USEC=",
          "%" PRId64,
          (int64_t) now.tv_sec * 1000000 + now.tv_nsec / 1000);
    if (load_site (loop, conf, &err) < 0) {
        dn_ticks_error (err.text, (int64_t) time (NULL));
        dn_log (DN_LOG_ERROR,
                loop->has_conf ? dn_say_daemon_conf_kept : dn_say_daemon_conf_none,
                err.text);
    } else {
        dn_log (DN_LOG_INFO, dn_say_daemon_conf_loaded);
    }
    tell ("READY=", "1");
}

/* Read what slurmctld says about itself, and reload where the rules depend on it. */
static int meet_slurmctld (struct loop *loop, struct dn_err *err)
{
    struct dn_daemon_status *status = &dn_ticks.status;
    struct dn_link_conf conf;

    if (dn_link_conf (loop->daemon.link, &conf, err) < 0)
        return -1;
    snprintf (status->cluster, sizeof (status->cluster), "%.63s", conf.cluster);
    status->slurm = conf.slurm;
    status->soft_time_min = conf.soft_time_min;
    if (is_old (loop, &conf))
        reload (loop, &conf);
    return 0;
}

/* --- rounds ----------------------------------------------------------------------- */

static struct dn_daemon_task *status_of (const struct turn *turn, int i)
{
    struct dn_daemon_task *task = &dn_ticks.status.tasks[i];

    if (i >= dn_ticks.status.n_tasks)
        dn_ticks.status.n_tasks = i + 1;
    snprintf (task->name, sizeof (task->name), "%s", turn->task->name);
    return task;
}

/* Seconds between two runs, as the site has it. */
static double interval_of (const struct dn_task *task, const struct dn_site *site)
{
    double interval_s;

    memcpy (
        &interval_s, (const char *) site + task->interval_offset, sizeof (interval_s));
    return interval_s;
}

static int run_turn (struct loop *loop, int i, struct dn_err *err)
{
    struct turn *turn = &loop->turns[i];
    struct dn_daemon_task *task = status_of (turn, i);
    int64_t from_ms = dn_monotonic_ms ();
    int rc;

    *err = (struct dn_err){.code = DN_E_NONE};
    rc = turn->task->run (turn->memory, &loop->daemon, err);
    task->interval_s = (int64_t) (interval_of (turn->task, loop->site) + 0.5);
    task->took_ms = dn_monotonic_ms () - from_ms;
    task->error[0] = '\0';
    if (rc == 0)
        task->last_s = loop->daemon.now_s;
    else if (rc < 0)
        dn_ticks_quote (task->error, err->text);
    return rc;
}

/* Run the tasks that are due. -1 where the connection was lost. */
static int run_due (struct loop *loop)
{
    int64_t now_ms = dn_monotonic_ms ();
    bool lost = false;

    for (int i = 0; i < loop->n_turns && !lost; i++) {
        struct turn *turn = &loop->turns[i];
        struct dn_err err;
        double interval_s = interval_of (turn->task, loop->site);
        int rc;

        if (turn->next_ms > now_ms + TOGETHER_MS)
            continue;
        rc = run_turn (loop, i, &err);
        if (rc < 0) {
            complain (loop, &err);
            lost = dn_link_is_lost (&err);
        }
        if (!lost)
            turn->next_ms = now_ms + (rc > 0 ? MORE_MS : (int64_t) (interval_s * 1000));
    }
    dn_jobs_drop (&loop->daemon);
    return lost ? -1 : 0;
}

static void say_down (struct loop *loop)
{
    dn_tick (DN_TICK_FAILURES);
    dn_ticks.status.up = false;
    if (!loop->said_down)
        dn_log (DN_LOG_ERROR, dn_say_daemon_down);
    loop->said_down = true;
    loop->retry_ms = loop->retry_ms == 0 ? RETRY_MIN_MS : loop->retry_ms * 2;
    if (loop->retry_ms > RETRY_MAX_MS)
        loop->retry_ms = RETRY_MAX_MS;
    tell ("STATUS=", dn_say_daemon_status_down);
}

static void say_up (struct loop *loop)
{
    if (loop->said_down)
        dn_log (DN_LOG_INFO, dn_say_daemon_up);
    if (!dn_ticks.status.up)
        dn_ticks.status.up_since_s = loop->daemon.now_s;
    loop->said_down = false;
    loop->retry_ms = 0;
    dn_ticks.status.up = true;
    tell ("STATUS=", dn_say_daemon_status_up, dn_ticks.total[DN_TICK_EXTENSIONS]);
}

static void do_round (struct loop *loop)
{
    struct dn_err err = {.code = DN_E_NONE};

    loop->daemon.now_s = dn_link_now (loop->daemon.link);
    dn_tick (DN_TICK_ROUNDS);
    if (!dn_link_is_up (loop->daemon.link)) {
        say_down (loop);
    } else if (meet_slurmctld (loop, &err) < 0) {
        complain (loop, &err);
        say_down (loop);
    } else if (run_due (loop) < 0) {
        say_down (loop);
    } else {
        say_up (loop);
    }
    dn_ticks.status.every_s = RETRY_MAX_MS / 1000;
    for (int i = 0; i < dn_ticks.status.n_tasks; i++)
        if (dn_ticks.status.tasks[i].interval_s > dn_ticks.status.every_s)
            dn_ticks.status.every_s = dn_ticks.status.tasks[i].interval_s;
    if (needs_state_dir (&loop->daemon)
        && dn_ticks_write (loop->site->state_dir, loop->daemon.now_s, &err) < 0)
        complain (loop, &err);
}

/* Milliseconds until the next task is due, or slurmctld is tried again. */
static int64_t time_to_round (const struct loop *loop)
{
    int64_t next_ms = INT64_MAX;
    int64_t now_ms = dn_monotonic_ms ();

    /* The jitter need not be unpredictable. */
    if (loop->retry_ms > 0)
        return loop->retry_ms + now_ms % (loop->retry_ms / 2 + 1);
    for (int i = 0; i < loop->n_turns; i++)
        if (loop->turns[i].next_ms < next_ms)
            next_ms = loop->turns[i].next_ms;
    return next_ms > now_ms ? next_ms - now_ms : 0;
}

/* Wait for the next round; meanwhile tell the watchdog, and look at the files. */
static void wait_for_round (struct loop *loop)
{
    int64_t end_ms = dn_monotonic_ms () + time_to_round (loop);
    int64_t step = step_ms ();

    while (!end_asked) {
        int64_t left_ms = end_ms - dn_monotonic_ms ();

        tell ("WATCHDOG=", "1");
        if (reload_asked || is_old (loop, NULL)) {
            reload_asked = 0;
            reload (loop, NULL);
        }
        if (left_ms <= 0)
            return;
        signals_wait (left_ms < step ? left_ms : step);
    }
}

/* --- interface -------------------------------------------------------------------- */

enum dn_daemon_exit dn_loop_usage (const char *what,
                                   const char *value,
                                   const char *expected)
{
    fprintf (stderr, dn_say_err_usage, what, value, expected);
    fprintf (stderr, "\n");
    return DN_DAEMON_USAGE;
}

/* Orderly: the tasks leave. What they could not do is said. */
static void leave (struct loop *loop)
{
    struct dn_err err = {.code = DN_E_NONE};

    tell ("STOPPING=", "1");
    loop->daemon.now_s = dn_link_now (loop->daemon.link);
    for (int i = 0; i < loop->n_turns; i++)
        if (loop->turns[i].task->leave
            && loop->turns[i].task->leave (loop->turns[i].memory, &loop->daemon, &err)
                   < 0)
            dn_log (DN_LOG_ERROR, "%s", err.text);
    dn_ticks.status.ended_s = (int64_t) time (NULL);
    if (needs_state_dir (&loop->daemon))
        dn_ticks_write (loop->site->state_dir, dn_ticks.status.ended_s, NULL);
}

enum dn_daemon_exit dn_loop_run (const struct dn_loop_options *options,
                                 const struct dn_task *const *tasks)
{
    dn_cleanup (end_loop) struct loop loop = {.retry_ms = 0};
    struct dn_err err = {.code = DN_E_NONE};
    enum dn_daemon_exit rc = begin_loop (&loop, options, tasks, &err);

    if (rc == DN_DAEMON_DONE && signals_begin (options->leave_s, &err) < 0)
        rc = DN_DAEMON_BUG;
    if (rc != DN_DAEMON_DONE) {
        dn_log (DN_LOG_ERROR, "%s", err.text);
        return rc;
    }
    dn_ticks_begin (options->name, loop.site->state_dir, (int64_t) time (NULL));
    dn_log (DN_LOG_INFO, dn_say_daemon_started, options->name, PACKAGE_VERSION);
    tell ("READY=", "1");
    while (!end_asked) {
        do_round (&loop);
        wait_for_round (&loop);
    }
    leave (&loop);
    dn_log (DN_LOG_INFO, dn_say_daemon_ended, options->name);
    return DN_DAEMON_DONE;
}

enum dn_daemon_exit dn_loop_once (const struct dn_loop_options *options,
                                  const struct dn_task *task)
{
    dn_cleanup (end_loop) struct loop loop = {.retry_ms = 0};
    struct dn_err err = {.code = DN_E_NONE};
    const struct dn_task *const tasks[] = {task, NULL};
    enum dn_daemon_exit rc = begin_loop (&loop, options, tasks, &err);
    bool alone = task->alone;

    loop.daemon.once = true;
    if (rc == DN_DAEMON_DONE && !alone && !dn_link_is_up (loop.daemon.link)) {
        dn_err_set (&err, DN_E_TIME, dn_say_err_down);
        rc = DN_DAEMON_UNREACHED;
    }
    if (rc == DN_DAEMON_DONE) {
        if (!alone && meet_slurmctld (&loop, &err) < 0)
            rc = exit_of (&err);
        loop.daemon.now_s = dn_link_now (loop.daemon.link);
        if (rc == DN_DAEMON_DONE && run_turn (&loop, 0, &err) < 0)
            rc = exit_of (&err);
    }
    if (rc != DN_DAEMON_DONE)
        dn_log (DN_LOG_ERROR, "%s", err.text);
    return rc;
}
