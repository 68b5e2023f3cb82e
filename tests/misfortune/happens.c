/* happens.c - what goes wrong
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "misfortune.h"

#include <stdio.h>
#include <string.h>

/* Is the job, with its other components, one of those that it concerns? The same jobs
 * with and without dnnest.
 */
static bool concerns (const struct world *world,
                      const struct happening *happening,
                      int i)
{
    int64_t seed = world->scenario->seed;

    return 100 * chance (seed, happening->number, world->drawn[i].leader, 2)
           < (double) happening->event->share;
}

static bool is_begun (const struct job *job)
{
    return job->state == RUNNING || job->state == SUSPENDED;
}

static void suspend (struct world *world, int i, int64_t for_ms)
{
    struct dn_link_job *row = &world->rows[i];
    struct job *job = &world->jobs[i];

    if (job->state != RUNNING)
        return;
    job->state = SUSPENDED;
    job->since = world->now;
    job->resume = world->now + for_ms;
    row->phase = DN_PHASE_SUSPENDED;
    row->state = "SUSPENDED";
    row->ran_s = (world->now - job->start - job->suspended) / 1000;
    world->change = 0;
    tell (world, i, "suspended");
}

static void set_limit (struct world *world, int i, int64_t limit_s)
{
    struct dn_link_job *row = &world->rows[i];

    if (row->limit_s == DN_UNLIMITED || world->drawn[i].own_s == DN_UNLIMITED)
        return;
    if (limit_s > row->limit_s)
        world->jobs[i].added_s += limit_s - row->limit_s;
    sim_limit (row, limit_s < 60 ? 60 : limit_s - limit_s % 60);
    tell (world, i, "a human sets limit %s", dn_time_write (row->limit_s).text);
}

static void lose_record (struct world *world, int i, bool all)
{
    struct dn_link_job *row = &world->rows[i];
    char text[4096];

    if (!row->admin_comment)
        return;
    snprintf (text,
              sizeof (text),
              "%.*s",
              (int) strlen (row->admin_comment) / 2,
              row->admin_comment);
    row->admin_comment = sim_text (&world->slurm, all ? "seen by the admin" : text);
    tell (world, i, "its record is lost");
}

/* What happens to a job that is in the table. */
static void happen_to (struct world *world, const struct event *event, int i)
{
    const struct drawn *drawn = &world->drawn[i];
    struct job *job = &world->jobs[i];

    if (!is_begun (job) && (job->state != PENDING || drawn->array >= 0))
        return;
    switch ((enum what) event->what) {
    case CANCEL:
        job_end (world, i, CANCELLED, world->now);
        break;
    case HUMAN_ADDS:
        if (world->rows[i].phase == DN_PHASE_RUNNING)
            set_limit (world, i, world->rows[i].limit_s + event->by * 60);
        break;
    case HUMAN_SETS:
        set_limit (world, i, drawn->own_s * event->by / 100);
        break;
    case RECORD_DAMAGED:
    case RECORD_LOST:
        lose_record (world, i, event->what == RECORD_LOST);
        break;
    case REQUEUE_AT_FIRST:
        if (is_begun (job))
            sim_limit (&world->rows[i], job->first_limit_s);
        /* fall through */
    case REQUEUE:
        if (is_begun (job))
            job_requeue (world, i, event->for_s * 1000);
        break;
    case SUSPEND:
        suspend (world, i, event->for_s * 1000);
        break;
    default:
        break;
    }
}

/* Slurm refuses a reservation of a node with a job whose limit crosses it. Each one has
 * other nodes.
 */
static void reserve (struct world *world, const struct happening *happening)
{
    const struct event *event = happening->event;
    struct sim_slurm *slurm = &world->slurm;
    struct dn_link_reservation *reservation =
        &slurm->reservations[slurm->n_reservations];
    char text[512];
    struct dn_buf nodes = dn_buf_on (text, sizeof (text));

    for (int64_t k = 0; k < event->nodes; k++)
        dn_buf_add (&nodes,
                    "%sn%d",
                    k > 0 ? "," : "",
                    (int) ((happening->number * event->nodes + k) % 64));
    reservation->from = slurmctld_s (world) + event->in_s;
    reservation->until = reservation->from + event->for_s;
    reservation->nodes = sim_text (slurm, text);
    for (int i = 0; i < slurm->n_jobs; i++)
        if (is_begun (&world->jobs[i]) && world->rows[i].end > reservation->from
            && event->what == RESERVATION
            && dn_link_share_node (world->rows[i].nodes, text))
            return;
    if (slurm->n_reservations + 1 == SIM_RESERVATIONS_MAX)
        return;
    snprintf (text, sizeof (text), "service%d", happening->number);
    reservation->name = sim_text (slurm, text);
    slurm->n_reservations++;
    slurm->reservations_changed_s = slurmctld_s (world);
    if (world->watch >= 0
        && dn_link_share_node (world->rows[world->watch].nodes, reservation->nodes))
        tell (world,
              world->watch,
              "its node is reserved in %s",
              dn_time_write (event->in_s).text);
}

/* What happens to the guard; nothing without dnnest. */
static void happen_to_guard (struct world *world,
                             const struct event *event,
                             int64_t until)
{
    switch ((enum what) event->what) {
    case GUARD_KILLED:
        guard_kill (world);
        world->guard_back = until;
        break;
    case GUARD_STOPPED:
        guard_stop (world);
        world->guard_back = until;
        break;
    case GUARD_HANGS:
        guard_hang (world, until);
        break;
    case GUARD_SECOND:
        guard_start (world);
        break;
    case OBSERVE:
        world->site.rules.mode = DN_MODE_OBSERVE;
        break;
    case TIMER_OFF:
        world->timer_off = true;
        break;
    default:
        break;
    }
}

static void happen_to_cluster (struct world *world,
                               const struct happening *happening,
                               int64_t until)
{
    const struct event *event = happening->event;

    world->spells[event->what] = (struct spell){until, event->share};
    switch ((enum what) event->what) {
    case CLOCK_GUARD:
        world->guard_off = event->by * 1000;
        break;
    case CLOCK_DRIFT:
        world->guard_drift = event->by;
        break;
    case CLOCK_SLURMCTLD:
        world->step += event->by * 1000;
        break;
    case CONTROLLER_DOWN:
        world->down_from = world->now;
        world->down_until = until;
        break;
    case PARTITION:
        world->slurm.max_time_s = event->by * 60;
        break;
    case QOS:
        world->slurm.max_wall_s = event->by * 60;
        break;
    case SLOW:
        world->table_ms = event->table_ms;
        world->update_ms = event->update_ms;
        break;
    default:
        break;
    }
}

void happen (struct world *world, const struct happening *happening)
{
    const struct event *event = happening->event;
    int64_t until = event->for_s > 0 ? world->now + event->for_s * 1000 : NEVER;

    tell (world, world->watch, "(%s)", dn_names_get (&what_names, event->what));
    if (event->what == RESERVATION || event->what == RESERVATION_FORCED)
        reserve (world, happening);
    happen_to_cluster (world, happening, until);
    if (!world->off)
        happen_to_guard (world, event, until);
    for (int i = 0; i < (int) world->scenario->jobs; i++)
        if (concerns (world, happening, i))
            happen_to (world, event, i);
}
