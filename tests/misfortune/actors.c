/* actors.c - dnnest on the simulated cluster: plugin, guards, and the timer's restore
 *
 * The guard and the restore are the real ones; the loop around them is that of loop.c
 * in short. Every call to slurmctld takes time, in which the others go on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "misfortune.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/files.h"
#include "policy/guarded.h"

/* The timer, and by how much systemd may be late. */
#define TIMER      60000
#define TIMER_LATE 5000

/* Of loop.c: between two tries to reach slurmctld, and how long a task that runs once
 * tries.
 */
#define RETRY_MIN  1000
#define RETRY_MAX  10000
#define RETRY_ONCE 50000

/* How long a call waits for a slurmctld that does not answer. */
#define TIMEOUT_MS 10000

#define FILE_MAX (16 << 20)

struct world *watched;
bool disk_is_full;

/* --- what the code under test calls -------------------------------------------- */

void dn_tick (enum dn_tick what)
{
    (void) what;
}

void dn_log (enum dn_log_level level, const char *format, ...)
{
    char text[1024];
    char of_job[DN_NAME_MAX + 8];
    va_list args;

    if (!watched || level == DN_LOG_DEBUG)
        return;
    snprintf (of_job, sizeof (of_job), "job %s:", watched->rows[watched->watch].name);
    va_start (args, format);
    vsnprintf (text, sizeof (text), format, args);
    va_end (args);
    if (strstr (text, of_job))
        tell (watched, watched->watch, "log: %s", text);
}

/* The heartbeat is written often, and must survive no loss of power. */
int fsync (int fd)
{
    (void) fd;
    errno = ENOSPC;
    return disk_is_full ? -1 : 0;
}

/* --- the plugin ---------------------------------------------------------------- */

/* StateDir as it is now. */
static void set_files (struct world *world)
{
    disk_is_full = lasts (world, DISK_FULL);
    snprintf (world->site.state_dir,
              sizeof (world->site.state_dir),
              "%s%s",
              world->dir,
              lasts (world, STATE_DIR_GONE) ? "/gone/away" : "");
}

static bool has_guard (struct world *world)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    char path[DN_SITE_PATH_MAX + 16];
    struct dn_guarded *guarded;
    bool alive;

    set_files (world);
    snprintf (path, sizeof (path), "%s/%s", world->site.state_dir, DN_GUARDED_FILE);
    if (dn_file_read (path, FILE_MAX, &text, NULL) < 0)
        return false;
    guarded = dn_guarded_read (dn_span_of (text), path, NULL);
    alive = dn_guarded_is_alive (guarded, slurmctld_s (world));
    dn_guarded_free (guarded);
    return alive;
}

static void add_record (const struct world *world, int i, struct dn_buf *buf)
{
    const struct drawn *drawn = &world->drawn[i];

    dn_buf_add (buf,
                "{\"dnnest\":1,\"version\":\"%s\",\"mode\":\"enforce\","
                "\"verdict\":\"change\",\"req\":{",
                world->scenario->old_record ? "0.3.0" : PACKAGE_VERSION);
    if (drawn->own_s == DN_UNLIMITED)
        dn_buf_add (buf, "\"unlimited\":1,");
    else if (!drawn->unset)
        dn_buf_add (buf, "\"time_s\":%lld,", (long long) drawn->own_s);
    if (drawn->signal_s > 0)
        dn_buf_add (buf, "\"signal_s\":%lld,", (long long) drawn->signal_s);
    dn_buf_add (buf,
                "\"gpu\":\"a100\",\"gpus\":4,\"nodes\":1,\"tasks\":1},\"set\":{"
                "\"time_s\":%lld},\"pred\":{\"train_s\":%lld",
                (long long) drawn->low_s,
                (long long) drawn->low_s / 2);
    if (drawn->p95_s > 0)
        dn_buf_add (buf,
                    ",\"p95_s\":%lld,\"p99_s\":%lld",
                    (long long) drawn->p95_s,
                    (long long) drawn->p99_s);
    dn_buf_add (buf, "},\"spec\":\"model=resnet50,batch=64,epochs=20\"}");
}

/* A limit is lowered where a guard is alive, and the snapshot shows no reservation that
 * the job would cross. The tasks of an array, and components, have one request.
 */
int64_t plugin_limit (struct world *world, int i, const char **record)
{
    static char text[2048];
    const struct drawn *drawn = &world->drawn[i];
    int first = drawn->array >= 0 ? drawn->array : drawn->leader;
    struct dn_buf buf = dn_buf_on (text, sizeof (text));
    bool lower;

    *record = NULL;
    if (world->off || drawn->low_s == 0)
        return drawn->own_s;
    lower = i != first ? world->jobs[first].lowered
                       : has_guard (world) && world->site.rules.mode != DN_MODE_OBSERVE
                             && !is_reserved (world, i, drawn->own_s, world->now);
    if (!lower)
        return drawn->own_s;
    add_record (world, i, &buf);
    *record = text;
    return drawn->low_s;
}

/* --- calls --------------------------------------------------------------------- */

static int lost (struct dn_err *err)
{
    return dn_err_set (err, DN_E_TIME, "connection lost");
}

static void tell_time (struct dn_link *link)
{
    const struct actor *actor = link->to;

    link->told_s = slurmctld_s (actor->world);
    link->told_ms = actor->world->now;
}

static bool is_timer (const struct actor *actor)
{
    return actor == &actor->world->actors[0];
}

static int before_call (struct dn_link *link,
                        enum sim_call call,
                        const struct dn_link_job *job,
                        struct dn_err *err)
{
    struct actor *actor = link->to;
    struct world *world = actor->world;
    int64_t i = job ? job - world->rows : 0;

    if (actor->dead)
        return lost (err);
    /* A table that takes long is as old as half of that. */
    advance (world,
             world->now
                 + (call == SIM_UPDATE  ? world->update_ms
                    : call == SIM_TABLE ? world->table_ms / 2
                                        : 0));
    if (actor->hung > world->now)
        advance (world, actor->hung);
    if (!actor->dead && (is_down (world) || lasts (world, UNREACHABLE)))
        advance (world, world->now + TIMEOUT_MS);
    set_files (world);
    if (actor->dead || is_down (world) || lasts (world, UNREACHABLE))
        return lost (err);
    if (call == SIM_UPDATE && lasts (world, REFUSED)
        && 100 * chance (world->scenario->seed, -2, i, 0)
               < (double) world->spells[REFUSED].share)
        return dn_err_set (err, DN_E_RANGE, "refused");
    if (call == SIM_TABLE && !is_timer (actor) && world->scenario->progress > 0)
        write_reports (world);
    return 0;
}

static int after_call (struct dn_link *link,
                       enum sim_call call,
                       const struct dn_link_job *job,
                       struct dn_err *err)
{
    struct actor *actor = link->to;
    struct world *world = actor->world;

    if (call == SIM_TABLE)
        advance (world, world->now + world->table_ms / 2);
    if (call == SIM_UPDATE && job) {
        int i = (int) (job - world->rows);
        int64_t own_s = world->drawn[i].own_s;
        bool restores = is_timer (actor) || actor->leaving;

        if (own_s != DN_UNLIMITED && job->limit_s > own_s + world->jobs[i].added_s)
            world->n_beyond++;
        world->jobs[i].restored += restores;
        world->jobs[i].extended += !restores;
        tell (world,
              i,
              "%s sets limit %s",
              restores ? "the restore" : "the guard",
              dn_time_write (job->limit_s).text);
        if (lasts (world, ANSWERS_LOST)
            && 100 * chance (world->scenario->seed, -3, world->n_calls++, 0)
                   < (double) world->spells[ANSWERS_LOST].share)
            return lost (err);
    }
    tell_time (link);
    return 0;
}

/* --- guards and restores ------------------------------------------------------- */

static int64_t clock_ms (const struct dn_link *link)
{
    const struct actor *actor = link->to;

    return actor->world->now;
}

/* Time of the host, until slurmctld states its own. */
static struct dn_link new_link (struct actor *actor)
{
    struct world *world = actor->world;
    int64_t drift = world->guard_drift * world->now / 3600;

    return (struct dn_link){.slurm = &world->slurm,
                            .told_s =
                                T0 + (world->now + world->guard_off + drift) / 1000,
                            .told_ms = world->now,
                            .clock_ms = clock_ms,
                            .before = before_call,
                            .after = after_call,
                            .to = actor};
}

/* Begin a process that runs the task. */
static void begin (struct actor *actor, struct world *world, const struct dn_task *task)
{
    *actor =
        (struct actor){.world = world, .task = task, .on = true, .next = world->now};
    actor->link = new_link (actor);
    actor->memory = calloc (1, task->memory);
    if (!actor->memory)
        abort ();
}

static void end (struct actor *actor)
{
    dn_link_jobs_drop (&actor->link);
    actor->task->end (actor->memory);
    free (actor->memory);
    actor->memory = NULL;
    actor->task = NULL;
    actor->on = false;
}

/* A round of the loop: 'f' is run () or leave () of the task. */
static void call (struct actor *actor,
                  int (*f) (void *memory, struct dn_daemon *d, struct dn_err *err))
{
    struct world *world = actor->world;
    struct dn_err err = {0};
    int rc;

    actor->busy = true;
    set_files (world);
    if (is_down (world) || lasts (world, UNREACHABLE)) {
        rc = lost (&err);
    } else {
        tell_time (&actor->link);
        actor->d = (struct dn_daemon){.site = &world->site,
                                      .link = &actor->link,
                                      .now_s = dn_link_now (&actor->link)};
        rc = f (actor->memory, &actor->d, &err);
        dn_link_jobs_drop (&actor->link);
    }
    disk_is_full = false;
    actor->busy = false;
    if (rc == 0 || !dn_link_is_lost (&err))
        actor->retry = 0;
    else
        actor->retry = actor->retry == 0              ? RETRY_MIN
                       : actor->retry * 2 > RETRY_MAX ? RETRY_MAX
                                                      : actor->retry * 2;
    if (rc < 0 && world->watch >= 0)
        tell (world, world->watch, "%s: %s", actor->task->name, err.text);
}

static void run_guard (struct actor *actor)
{
    struct world *world = actor->world;
    int64_t begun = world->now;
    double late = chance (world->scenario->seed, -4, world->n_calls++, 0) / 2;

    call (actor, actor->task->run);
    if (actor->leaving && !actor->dead)
        call (actor, actor->task->leave);
    if (actor->leaving || actor->dead)
        end (actor);
    else if (actor->retry > 0)
        actor->next =
            world->now + actor->retry + (int64_t) (late * (double) actor->retry);
    else
        actor->next = begun + world->scenario->interval_s * 1000;
}

/* A process of its own, each time. */
static void run_timer (struct world *world)
{
    struct actor *timer = &world->actors[0];
    double late = chance (world->scenario->seed, -5, timer->next, 0);
    int64_t next = timer->next + TIMER;
    int64_t until = world->now + RETRY_ONCE;

    begin (timer, world, &dn_task_restore_if_silent);
    timer->hung = world->now + (int64_t) (late * TIMER_LATE);
    if (!world->timer_off)
        call (timer, timer->task->run);
    while (timer->retry > 0 && world->now < until) {
        timer->busy = true;
        advance (world, world->now + RETRY_MIN);
        call (timer, timer->task->run);
    }
    end (timer);
    timer->on = true;
    timer->hung = 0;
    timer->next = next;
}

void guard_start (struct world *world)
{
    int i = 1;

    while (i < ACTORS_MAX && world->actors[i].task)
        i++;
    if (i == ACTORS_MAX)
        abort ();
    begin (&world->actors[i], world, &dn_task_guard);
}

void guard_kill (struct world *world)
{
    for (int i = 1; i < ACTORS_MAX; i++) {
        struct actor *actor = &world->actors[i];

        if (!actor->on)
            continue;
        actor->dead = true;
        actor->on = false;
        if (!actor->busy)
            end (actor);
    }
}

void guard_stop (struct world *world)
{
    for (int i = 1; i < ACTORS_MAX; i++) {
        struct actor *actor = &world->actors[i];

        if (!actor->on || actor->leaving)
            continue;
        actor->leaving = true;
        if (actor->busy)
            continue;
        call (actor, actor->task->leave);
        end (actor);
    }
}

void guard_hang (struct world *world, int64_t until)
{
    for (int i = 1; i < ACTORS_MAX; i++)
        if (world->actors[i].on)
            world->actors[i].hung = until;
}

int64_t actors_next (const struct world *world)
{
    int64_t next = world->guard_back;

    for (int i = 0; i < ACTORS_MAX; i++) {
        const struct actor *actor = &world->actors[i];
        int64_t at = actor->next > actor->hung || i == 0 ? actor->next : actor->hung;

        if (actor->on && !actor->busy && at < next)
            next = at;
    }
    return next;
}

void actors_run (struct world *world)
{
    int64_t at = actors_next (world);

    if (world->guard_back <= at) {
        world->guard_back = NEVER;
        guard_start (world);
        return;
    }
    for (int i = 0; i < ACTORS_MAX; i++) {
        struct actor *actor = &world->actors[i];

        if (!actor->on || actor->busy || actor->next > at
            || (i > 0 && actor->hung > at))
            continue;
        if (i == 0)
            run_timer (world);
        else
            run_guard (actor);
        return;
    }
}

void actors_begin (struct world *world)
{
    bool in_memory = access ("/dev/shm", W_OK) == 0;

    world->site.guard_interval_s = (double) world->scenario->interval_s;
    world->site.rules.time_margin = 0.1;
    world->site.rules.mode = DN_MODE_ENFORCE;
    world->site.rules.shorten = world->scenario->shorten ? DN_YES_YES : DN_YES_NO;
    if (world->off)
        return;
    snprintf (world->dir,
              sizeof (world->dir),
              "%s/dnnest-misfortune.XXXXXX",
              in_memory ? "/dev/shm" : "/tmp");
    if (!mkdtemp (world->dir))
        abort ();
    set_files (world);
    begin_reports (world);
    world->actors[0] = (struct actor){.on = true, .next = 7000};
    guard_start (world);
}

void actors_end (struct world *world)
{
    char path[128];

    if (world->off)
        return;
    guard_kill (world);
    end_reports (world);
    snprintf (path, sizeof (path), "%s/%s", world->dir, DN_GUARDED_FILE);
    unlink (path);
    rmdir (world->dir);
}
