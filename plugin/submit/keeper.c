/* keeper.c - the one thread of the plugin
 *
 * Up to 23.02 slurmctld reads slurm.conf again without loading its plugins again, and
 * calls no function of a plugin. We detect it by a changed slurm_conf.last_update, or
 * by other SlurmctldParameters or SchedulerParameters. Only a caller of job_submit ()
 * may read them, because it has Slurm's lock on the configuration. So that caller
 * copies them, wakes the keeper, and waits until the site has been loaded, at most
 * PATIENCE_MS and once per change. After that time it uses the site in force. From
 * 23.11 on slurmctld starts a new process, and init () is called again.
 *
 * The keeper detects all other changes alone. It waits until two checks have seen the
 * same change, because an editor or an installation may not have finished.
 *
 * What no file shows, it finds by another try: a name service that answers again, or a
 * user who was not known.
 *
 * The keeper takes no lock of Slurm except that of the log, and reads no data of Slurm.
 * It blocks all signals, because they are for slurmctld. slurmctld forks only to run
 * another program immediately. The child has no keeper and does not need one, but it
 * may call exit (), which must not wait for a thread that the child does not have.
 *
 * slurmctld may end through exit () without calling fini (). So an exit handler stops
 * the keeper as well, and the keeper writes the lines that wait for the decision log.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "submit/keeper.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/messages.h"
#include "host/files.h"
#include "host/watch.h"
#include "submit/host.h"
#include "submit/state.h"
#include "submit/versions.h"
#include "trace/trace.h"

#define TICK_MS        1000
#define WATCH_TICKS    2 /* ticks between two checks of the files */
#define COUNTERS_TICKS 5
#define RETRY_TICKS    20

/* How long one caller waits for a reconfiguration. A load takes about 10 ms. */
#define PATIENCE_MS 100

/* How long slurmctld waits when it starts, and when it ends. */
#define START_MS 10000
#define STOP_MS  5000

/* Our own code needs 64 KiB. getpwnam_r () and getgrnam_r () run modules of the name
 * service, which may need more.
 */
#define STACK_SIZE (1024 * 1024)

static char conf_name[] = "dnnest.conf";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed; /* to the keeper: look at 'ordered' and 'stop' */
static pthread_cond_t loaded;  /* from the keeper: look at 'done' and 'ended' */

/* The parts of slurm.conf that a site depends on. NULL without memory for a copy. */
struct texts {
    char *slurmctld_parameters;
    char *scheduler_parameters;
    char *cluster;
};

/* The parts of slurm.conf in force, and the loads ordered. Under the lock. */
static struct {
    time_t last_update;
    struct texts texts;
    unsigned ordered; /* number of loads ordered */
    unsigned done;
    bool patience; /* no caller has timed out waiting for the last load */
    bool stop;
    bool ended; /* the keeper has done all that it does */
} order;

/* Set up by the one thread that calls init () and fini (). */
static char *conf;
static pthread_t thread;
static bool running;
static bool stuck; /* the last keeper did not end in time */
static pid_t owner;
static int64_t started_s;

static char *copy_of (const char *text)
{
    return text ? strdup (text) : NULL;
}

static bool is_same_text (const char *a, const char *b)
{
    return a && b ? strcmp (a, b) == 0 : !a && !b;
}

/* Replace 'texts' by copies of the others. */
static void set_texts (struct texts *texts,
                       const char *slurmctld,
                       const char *scheduler,
                       const char *cluster)
{
    free (texts->slurmctld_parameters);
    free (texts->scheduler_parameters);
    free (texts->cluster);
    texts->slurmctld_parameters = copy_of (slurmctld);
    texts->scheduler_parameters = copy_of (scheduler);
    texts->cluster = copy_of (cluster);
}

static struct timespec in_ms (long ms)
{
    struct timespec at;

    clock_gettime (CLOCK_MONOTONIC, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += ms % 1000 * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

/* --- the thread ------------------------------------------------------------------ */

/* Data of the keeper's thread only. */
struct keeper {
    struct texts texts; /* of the last order */
    struct dn_watch watch;
    uint64_t identity;  /* of the files that were loaded */
    uint64_t candidate; /* of those seen at the last check */
    int retry;          /* ticks until the next try of a load in doubt; 0: none */
    struct dn_writer writer;
};

static struct dn_load_context context_of (const struct texts *texts)
{
    return (struct dn_load_context){
        .slurmctld_parameters = texts->slurmctld_parameters,
        .scheduler_parameters = texts->scheduler_parameters,
        .slurm_version = DN_SLURM_RELEASE,
        .cluster = texts->cluster ? texts->cluster : "",
    };
}

/* A file that changes while it is read is loaded again at the next check: the identity
 * is taken before the load. It is 0 if dnnest.conf names other files after the load.
 */
static void load (struct keeper *keeper, enum dn_load_cause cause)
{
    const struct dn_load_context context = context_of (&keeper->texts);
    struct dn_watch after;

    dn_watch_conf (&keeper->watch, conf);
    keeper->identity = dn_watch_identity (&keeper->watch);
    keeper->retry = dn_state_load (conf, &context, cause) ? RETRY_TICKS : 0;
    dn_watch_conf (&after, conf);
    if (memcmp (&after, &keeper->watch, sizeof (after)) != 0)
        keeper->identity = 0;
    keeper->candidate = keeper->identity;
}

static void look (struct keeper *keeper)
{
    uint64_t identity = dn_watch_identity (&keeper->watch);

    if (identity != keeper->identity && identity == keeper->candidate)
        load (keeper, DN_LOAD_CHANGED);
    else
        keeper->candidate = identity;
}

/* Sleep for a tick, or until a load is ordered. Return the number of the order, 0 for
 * none. Set '*more' to false when the thread must end.
 */
static unsigned wait_for_order (struct keeper *keeper, bool *more)
{
    const struct timespec end = in_ms (TICK_MS);
    unsigned number = 0;
    int rc = 0;

    pthread_mutex_lock (&lock);
    while (!order.stop && order.ordered == order.done && rc == 0)
        rc = pthread_cond_timedwait (&changed, &lock, &end);
    *more = !order.stop;
    if (order.ordered != order.done && !order.stop) {
        number = order.ordered;
        set_texts (&keeper->texts,
                   order.texts.slurmctld_parameters,
                   order.texts.scheduler_parameters,
                   order.texts.cluster);
    }
    pthread_mutex_unlock (&lock);
    return number;
}

static void fulfil (unsigned number)
{
    pthread_mutex_lock (&lock);
    order.done = number;
    pthread_cond_broadcast (&loaded);
    pthread_mutex_unlock (&lock);
}

/* Without a configuration in force, no file is named, and nothing is written. */
static void write_traces (struct dn_writer *writer, bool counters)
{
    char version[DN_SLURM_VERSION_MAX];
    struct dn_gauges gauges = {.slurm = dn_slurm_version (version),
                               .started_s = started_s};
    struct dn_state state;

    dn_state_take (&state);
    gauges.configured_s = state.since_s;
    if (state.site)
        dn_writer_log (writer, state.site->decision_log, dn_state_log);
    if (state.site && counters)
        dn_writer_counters (writer, state.site->counters, &gauges, dn_state_log);
    dn_state_give (&state);
}

static DN_COLD void *keep (void *unused)
{
    struct keeper keeper = {.writer = dn_writer_empty ()};
    unsigned ticks = 0;
    bool more = true;

    pthread_setname_np (pthread_self (), "dnnest");
    while (more) {
        unsigned number = wait_for_order (&keeper, &more);

        if (number != 0) {
            load (&keeper, DN_LOAD_ORDERED);
            dn_state_look ();
            fulfil (number);
        } else if (more && keeper.retry > 0 && --keeper.retry == 0) {
            load (&keeper, DN_LOAD_RETRIED);
        } else if (more && ticks % WATCH_TICKS == 0) {
            look (&keeper);
        }
        if (more && ticks % WATCH_TICKS == 0)
            dn_state_look ();
        write_traces (&keeper.writer, !more || ticks % COUNTERS_TICKS == 0);
        ticks++;
    }
    dn_writer_end (&keeper.writer);
    set_texts (&keeper.texts, NULL, NULL, NULL);
    pthread_mutex_lock (&lock);
    order.ended = true;
    pthread_cond_broadcast (&loaded);
    pthread_mutex_unlock (&lock);
    return unused;
}

/* --- calls from other threads ---------------------------------------------------- */

/* Copy the parameters that slurm.conf has now, and order a load. Under the lock. */
static void place_order (void)
{
    set_texts (&order.texts,
               slurm_conf.slurmctld_params,
               slurm_conf.sched_params,
               slurm_conf.cluster_name);
    order.last_update = slurm_conf.last_update;
    order.ordered++;
    order.patience = true;
    pthread_cond_signal (&changed);
}

/* Wait until all ordered loads are done; false on a timeout. Under the lock. */
static bool wait_until_loaded (long ms)
{
    const struct timespec end = in_ms (ms);
    int rc = 0;

    while (order.ordered != order.done && rc == 0)
        rc = pthread_cond_timedwait (&loaded, &lock, &end);
    return order.ordered == order.done;
}

/* Under the lock. */
static bool is_news (void)
{
    return order.last_update != slurm_conf.last_update
           || !is_same_text (order.texts.slurmctld_parameters,
                             slurm_conf.slurmctld_params)
           || !is_same_text (order.texts.scheduler_parameters, slurm_conf.sched_params);
}

void dn_keeper_notice (void)
{
    if (!running)
        return;
    pthread_mutex_lock (&lock);
    if (is_news ())
        place_order ();
    if (order.ordered != order.done && order.patience)
        order.patience = wait_until_loaded (PATIENCE_MS);
    pthread_mutex_unlock (&lock);
}

static void init_conditions (void)
{
    pthread_condattr_t attr;

    pthread_condattr_init (&attr);
    pthread_condattr_setclock (&attr, CLOCK_MONOTONIC);
    pthread_cond_init (&changed, &attr);
    pthread_cond_init (&loaded, &attr);
    pthread_condattr_destroy (&attr);
}

/* With all signals blocked, and with STACK_SIZE if the system allows it. */
static int start_thread (void)
{
    pthread_attr_t attr;
    sigset_t all;
    sigset_t before;
    int rc;

    pthread_attr_init (&attr);
    pthread_attr_setstacksize (&attr, STACK_SIZE);
    sigfillset (&all);
    pthread_sigmask (SIG_SETMASK, &all, &before);
    rc = pthread_create (&thread, &attr, keep, NULL);
    pthread_sigmask (SIG_SETMASK, &before, NULL);
    pthread_attr_destroy (&attr);
    return rc;
}

/* Ask the thread to end, and wait for it, but not for long: it may itself wait for a
 * file system that hangs. Its last lines are written before 'ended'.
 */
static DN_COLD bool end_thread (void)
{
    const struct timespec end = in_ms (STOP_MS);
    bool ended;
    int rc = 0;

    pthread_mutex_lock (&lock);
    order.stop = true;
    pthread_cond_signal (&changed);
    while (!order.ended && rc == 0)
        rc = pthread_cond_timedwait (&loaded, &lock, &end);
    ended = order.ended;
    pthread_mutex_unlock (&lock);
    return ended && pthread_join (thread, NULL) == 0;
}

bool dn_keeper_is_missing (void)
{
    return owner != getpid ();
}

static bool is_ours (void)
{
    return running && !dn_keeper_is_missing ();
}

/* Other threads may still submit: free nothing. */
static void stop_at_exit (void)
{
    if (is_ours ())
        end_thread ();
}

/* Without a thread, the site does not change until slurmctld ends. */
static void go_without (const char *why)
{
    const struct dn_load_context context = context_of (&order.texts);

    slurm_error (dn_say_log_no_thread, why);
    dn_state_load (conf, &context, DN_LOAD_ORDERED);
}

static void start (void)
{
    char late[DN_ERR_TEXT_MAX];
    int rc;

    snprintf (late, sizeof (late), dn_say_log_late, START_MS / 1000);
    pthread_mutex_lock (&lock);
    order.stop = order.ended = false;
    place_order ();
    rc = start_thread ();
    running = rc == 0;
    if (running && !wait_until_loaded (START_MS))
        dn_state_log (true, late);
    pthread_mutex_unlock (&lock);
    if (!running)
        go_without (dn_errno_text (rc).text);
}

void dn_keeper_start (void)
{
    static bool prepared;
    char *path;

    dn_keeper_stop ();
    if (stuck) {
        dn_state_log (true, dn_say_log_stuck);
        return;
    }
    if (!prepared) {
        init_conditions ();
        atexit (stop_at_exit);
        prepared = true;
    }
    path = slurm_get_extra_conf_path (conf_name);
    conf = path ? strdup (path) : NULL;
    dn_host_free (&path);
    if (!conf) {
        dn_state_log (true, dn_say_log_no_memory);
        return;
    }
    owner = getpid ();
    started_s = time (NULL);
    dn_trace_start ();
    start ();
}

void dn_keeper_stop (void)
{
    if (is_ours ())
        stuck = !end_thread ();
    running = false;
    if (stuck) {
        pthread_detach (thread);
        dn_state_log (true, dn_say_log_abandoned);
        return;
    }
    dn_state_forget ();
    set_texts (&order.texts, NULL, NULL, NULL);
    free (conf);
    conf = NULL;
}
