/* world.c - the simulated cluster: jobs start, run, end, and are killed at their limits
 *
 * slurmctld looks every 30 s for jobs beyond their limits, and 30 s after its own start
 * for the first time. It starts no job that would cross a reservation of its node, and
 * ends none for a reservation. The table has a job until five minutes after its end.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "misfortune.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PERIOD      30000
#define MIN_JOB_AGE 300000
#define LONGEST     (INT64_C (40) * 86400000)

/* Slurm may send the signal of --signal that much early. */
#define SIGNAL_EARLY_S 60

int64_t slurmctld_s (const struct world *world)
{
    return T0 + (world->now + world->step) / 1000;
}

bool is_down (const struct world *world)
{
    return world->now >= world->down_from && world->now < world->down_until;
}

bool lasts (const struct world *world, enum what what)
{
    return world->now < world->spells[what].until;
}

static int n_jobs (const struct world *world)
{
    return (int) world->scenario->jobs;
}

/* --- names, as in slurm_link.h ------------------------------------------------- */

static int64_t id_of (const struct world *world, int i)
{
    return 1000 + i
           + (chance (1, i, 0, 0) * 100 < (double) world->scenario->federated
                  ? INT64_C (1) << 26
                  : 0);
}

static bool is_component (const struct world *world, int i)
{
    const struct drawn *drawn = world->drawn;

    return drawn[i].leader != i || (i + 1 < n_jobs (world) && drawn[i + 1].leader == i);
}

/* The pending tasks of an array are one record, under the array's own id. */
static void show_array (struct world *world, int array)
{
    bool shown = false;

    for (int i = array; i < n_jobs (world) && world->drawn[i].array == array; i++) {
        struct dn_link_job *row = &world->rows[i];

        if (world->jobs[i].state != PENDING || world->jobs[i].split)
            continue;
        row->raw_id = row->job_id;
        row->array_task = DN_UNSET;
        row->pending_tasks = "0-9";
        row->name[0] = '\0';
        if (!shown)
            snprintf (row->name, sizeof (row->name), "%" PRId64, row->job_id);
        shown = true;
    }
}

/* A task that starts gets an id of its own, and the last one that of the array. */
static void split (struct world *world, int i)
{
    int array = world->drawn[i].array;
    struct dn_link_job *row = &world->rows[i];
    bool last = true;

    world->jobs[i].split = true;
    for (int k = array; k < n_jobs (world) && world->drawn[k].array == array; k++)
        if (world->jobs[k].state <= PENDING && !world->jobs[k].split)
            last = false;
    row->raw_id = last ? row->job_id : 1000000 + i;
    row->array_task = i - array;
    row->pending_tasks = NULL;
    snprintf (row->name, sizeof (row->name), "%" PRId64 "_%d", row->job_id, i - array);
    show_array (world, array);
}

/* --- one job ------------------------------------------------------------------- */

static void submit (struct world *world, int i)
{
    const struct drawn *drawn = &world->drawn[i];
    struct dn_link_job *row = &world->rows[i];
    struct job *job = &world->jobs[i];
    int64_t id = id_of (world, drawn->array >= 0 ? drawn->array : drawn->leader);
    const char *record;
    char node[16];

    job->state = PENDING;
    job->again = drawn->start;
    *row = (struct dn_link_job){.job_id = id,
                                .raw_id = id + i - drawn->leader,
                                .array_task = DN_UNSET,
                                .het_offset = DN_UNSET,
                                .user_id = drawn->progress ? (int64_t) getuid ()
                                                           : 1000 + id % 50,
                                .phase = DN_PHASE_PENDING,
                                .state = "PENDING",
                                .time_min_s = drawn->time_min_s,
                                .deadline = drawn->deadline_s,
                                .submit = slurmctld_s (world),
                                .n_nodes = 1,
                                .federated = id > 1 << 26,
                                .batch = true,
                                .partition = "gpu",
                                .account = "research",
                                .qos = "normal"};
    snprintf (row->name, sizeof (row->name), "%" PRId64, id);
    if (is_component (world, i)) {
        row->het_offset = i - drawn->leader;
        snprintf (
            row->name, sizeof (row->name), "%" PRId64 "+%" PRId64, id, row->het_offset);
    }
    snprintf (node, sizeof (node), "n%d", drawn->node);
    row->nodes = sim_text (&world->slurm, node);
    row->limit_s = plugin_limit (world, i, &record);
    job->lowered = record;
    job->first_limit_s = row->limit_s;
    if (record)
        row->admin_comment = sim_text (&world->slurm, record);
    if (drawn->array >= 0)
        show_array (world, drawn->array);
    tell (world, i, "submitted, limit %s", dn_time_write (row->limit_s).text);
}

static void begin (struct world *world, int i, int64_t at)
{
    const struct drawn *drawn = &world->drawn[i];
    struct dn_link_job *row = &world->rows[i];
    struct job *job = &world->jobs[i];

    job->state = RUNNING;
    job->start = at;
    job->suspended = 0;
    job->signalled = false;
    if (drawn->array >= 0 && !job->split)
        split (world, i);
    row->phase = DN_PHASE_RUNNING;
    row->state = "RUNNING";
    row->start = T0 + (at + world->step) / 1000;
    row->suspended_s = 0;
    if (drawn->time_min_s > 0 && drawn->by_backfill)
        sim_limit (row, drawn->time_min_s);
    row->end = row->start + (row->limit_s == DN_UNLIMITED ? 365 * 86400 : row->limit_s);
    tell (world,
          i,
          "starts on %s, limit %s, needs %s",
          row->nodes,
          dn_time_write (row->limit_s).text,
          dn_time_write (drawn->need / 1000).text);
}

void job_end (struct world *world, int i, enum outcome outcome, int64_t at)
{
    static const char *const states[] = {
        [COMPLETED] = "COMPLETED",
        [TIMEOUT] = "TIMEOUT",
        [SIGNALED] = "COMPLETED",
        [CANCELLED] = "CANCELLED",
    };
    int leader = world->drawn[i].leader;

    for (int k = leader; k < n_jobs (world) && world->drawn[k].leader == leader; k++) {
        struct dn_link_job *row = &world->rows[k];
        struct job *job = &world->jobs[k];

        if (job->state == WAITING || job->state == DONE)
            continue;
        if (job->state == PENDING)
            job->start = at;
        if (job->state == SUSPENDED)
            job->suspended += at - job->since;
        if (world->drawn[k].array >= 0 && !job->split)
            split (world, k);
        tell (world,
              k,
              "%s",
              outcome == SIGNALED ? "ends by its signal" : states[outcome]);
        job->state = DONE;
        job->outcome = outcome;
        job->since = at;
        row->phase = DN_PHASE_ENDED;
        row->state = states[outcome];
        row->end = T0 + (at + world->step) / 1000;
    }
    world->change = 0;
}

void job_requeue (struct world *world, int i, int64_t after)
{
    struct dn_link_job *row = &world->rows[i];
    struct job *job = &world->jobs[i];

    job->state = PENDING;
    job->again = world->now + after;
    row->phase = DN_PHASE_PENDING;
    row->state = "PENDING";
    row->start = row->end = 0;
    row->restarts++;
    world->change = 0;
    tell (world, i, "requeued, limit %s", dn_time_write (row->limit_s).text);
}

bool is_reserved (const struct world *world, int i, int64_t limit_s, int64_t at)
{
    const struct sim_slurm *slurm = &world->slurm;
    int64_t start = T0 + (at + world->step) / 1000;
    int64_t end = start + (limit_s == DN_UNLIMITED ? 365 * 86400 : limit_s);

    for (int k = 0; k < slurm->n_reservations; k++)
        if (slurm->reservations[k].from < end && slurm->reservations[k].until > start
            && dn_link_share_node (world->rows[i].nodes, slurm->reservations[k].nodes))
            return true;
    return false;
}

/* While slurmctld is down, nothing is submitted or started. */
static int64_t later (const struct world *world, int64_t at)
{
    return at >= world->down_from && at < world->down_until ? world->down_until : at;
}

/* Slurm cancels a pending job that cannot end by then. */
static bool misses_deadline (const struct world *world, int i)
{
    const struct dn_link_job *row = &world->rows[i];
    int64_t least_s = row->time_min_s > 0 ? row->time_min_s : row->limit_s;
    int64_t start_s = T0 + (world->jobs[i].again + world->step) / 1000;

    return row->deadline > 0 && start_s + least_s > row->deadline;
}

static int64_t try_start (struct world *world, int i)
{
    struct job *job = &world->jobs[i];
    int leader = world->drawn[i].leader;

    if (leader != i) {
        if (world->jobs[leader].state != RUNNING)
            return world->jobs[leader].again;
        job->again = world->jobs[leader].start;
    }
    job->again = later (world, job->again);
    while (job->again <= world->now && leader == i
           && is_reserved (world, i, world->rows[i].limit_s, job->again))
        job->again = later (world, job->again + PERIOD);
    if (job->again > world->now)
        return job->again;
    if (misses_deadline (world, i)) {
        job_end (world, i, CANCELLED, job->again);
        return job->again + MIN_JOB_AGE;
    }
    begin (world, i, job->again);
    return job->start + world->drawn[i].need;
}

static void resume (struct world *world, int i)
{
    struct dn_link_job *row = &world->rows[i];
    struct job *job = &world->jobs[i];
    int64_t for_ms = world->now - job->since;

    job->state = RUNNING;
    job->suspended += for_ms;
    row->phase = DN_PHASE_RUNNING;
    row->state = "RUNNING";
    row->suspended_s += for_ms / 1000;
    row->end += for_ms / 1000;
    tell (world, i, "resumed");
}

/* What a job does by itself until now. Return when it does something next. */
static int64_t live (struct world *world, int i)
{
    const struct drawn *drawn = &world->drawn[i];
    struct job *job = &world->jobs[i];

    if (job->state == WAITING) {
        if (later (world, drawn->submit) > world->now)
            return later (world, drawn->submit);
        submit (world, i);
    }
    if (job->state == PENDING)
        return try_start (world, i);
    if (job->state == SUSPENDED) {
        if (job->resume > world->now)
            return job->resume;
        resume (world, i);
    }
    if (job->state == RUNNING) {
        int64_t end = job->start + drawn->need + job->suspended;

        if (end > world->now)
            return end;
        job_end (world, i, COMPLETED, end);
    }
    if (job->since + MIN_JOB_AGE > world->now)
        return job->since + MIN_JOB_AGE;
    world->rows[i].name[0] = '\0';
    return NEVER;
}

static int64_t min_of (int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void live_all (struct world *world)
{
    int64_t next = NEVER;

    for (int i = 0; i < n_jobs (world); i++)
        next = min_of (next, live (world, i));
    world->change = next;
}

/* --- time ---------------------------------------------------------------------- */

static void enforce (struct world *world)
{
    int64_t now_s = slurmctld_s (world);

    world->kill += PERIOD;
    if (is_down (world)) {
        world->kill = world->down_until + PERIOD;
        return;
    }
    for (int i = 0; i < n_jobs (world); i++) {
        const struct drawn *drawn = &world->drawn[i];
        struct job *job = &world->jobs[i];
        int64_t end = world->rows[i].end;

        if (job->state != RUNNING)
            continue;
        if (drawn->signal_s > 0 && !job->signalled
            && end - drawn->signal_s - SIGNAL_EARLY_S <= now_s) {
            job->signalled = true;
            tell (world, i, "gets its signal");
            if (drawn->heeds_signal)
                job_end (world, i, SIGNALED, world->now);
        }
        if (job->state == RUNNING && end <= now_s)
            job_end (world, i, TIMEOUT, world->now);
    }
}

static int64_t next_happening (const struct world *world)
{
    return world->next_happening < world->n_happenings
               ? world->happenings[world->next_happening].at
               : NEVER;
}

static int64_t next_of (const struct world *world)
{
    return min_of (min_of (world->change, world->kill),
                   min_of (next_happening (world), actors_next (world)));
}

static void do_next (struct world *world, int64_t at)
{
    if (at > world->now)
        world->now = at;
    if (world->change <= at)
        live_all (world);
    else if (next_happening (world) <= at)
        happen (world, &world->happenings[world->next_happening++]);
    else if (world->kill <= at)
        enforce (world);
    else
        actors_run (world);
}

void advance (struct world *world, int64_t until)
{
    int64_t at;

    while ((at = next_of (world)) <= until)
        do_next (world, at);
    if (until > world->now)
        world->now = until;
}

static bool is_over (const struct world *world)
{
    for (int i = 0; i < n_jobs (world); i++)
        if (world->jobs[i].state != DONE)
            return false;
    return true;
}

static int by_time (const void *a, const void *b)
{
    int64_t x = ((const struct happening *) a)->at;
    int64_t y = ((const struct happening *) b)->at;

    return (x > y) - (x < y);
}

static void plan_happenings (struct world *world)
{
    const struct scenario *scenario = world->scenario;

    for (int e = 0; e < scenario->n_events; e++) {
        const struct event *event = &scenario->events[e];

        for (int64_t k = 0; k < event->times; k++) {
            int n = world->n_happenings++;
            double late = chance (scenario->seed, e, k, 1) * (double) event->random_s;

            if (n == (int) DN_N_ELEMENTS (world->happenings))
                abort ();
            world->happenings[n] = (struct happening){
                (event->time_s + k * event->every_s) * 1000 + (int64_t) (late * 1000),
                n,
                event};
        }
    }
    qsort (world->happenings,
           (size_t) world->n_happenings,
           sizeof (*world->happenings),
           by_time);
}

void world_run (struct world *world,
                const struct scenario *scenario,
                const struct drawn *drawn,
                bool off,
                int watch)
{
    memset (world, 0, sizeof (*world));
    world->scenario = scenario;
    world->drawn = drawn;
    world->off = off;
    world->watch = watch;
    world->table_ms = world->update_ms = 1;
    world->guard_back = NEVER;
    world->slurm = (struct sim_slurm){.jobs = world->rows,
                                      .n_jobs = n_jobs (world),
                                      .max_time_s = DN_UNLIMITED,
                                      .default_time_s = 6 * 3600,
                                      .max_wall_s = DN_UNLIMITED};
    for (int i = 0; i < n_jobs (world); i++)
        world->rows[i].phase = DN_PHASE_ENDED;
    world->kill = (int64_t) (chance (scenario->seed, -1, 0, 0) * PERIOD);
    plan_happenings (world);
    actors_begin (world);
    watched = watch >= 0 ? world : NULL;
    while (!is_over (world) && world->now < LONGEST)
        do_next (world, next_of (world));
    watched = NULL;
}

void world_end (struct world *world)
{
    actors_end (world);
    sim_free (&world->slurm);
}
