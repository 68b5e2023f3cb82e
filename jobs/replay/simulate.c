/* simulate.c - the events of a simulated queue, and what it does at each
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "simulate.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/messages.h"
#include "sim_nodes.h"

/* When less than a quarter of the limit, and than this, is left, it is extended. */
#define LEAD_MAX_S 1800.0

/* Requests that failed since nodes became idle are remembered by their GPUs. */
#define FAILED_MAX 64

/* No request of as many GPUs with this limit or a longer one fits. */
struct failed {
    bool set;
    double limit_s;
    int64_t gpus;
    int64_t nodes;
    int64_t cpus;
};

/* A time at which a running job ends or its limit is extended. */
struct event {
    double at_s;
    int64_t job;
};

struct state {
    const struct dn_sim *sim;
    struct dn_sim_job *jobs;
    int64_t n_jobs;
    struct dn_sim_space spaces[DN_SIM_POOLS_MAX];
    struct failed failed[DN_SIM_POOLS_MAX][FAILED_MAX];
    struct event *heap; /* one per running job, at most; owned */
    int64_t n_heap;
    int64_t *next; /* waiting job behind each, -1: none; owned */
    int64_t first; /* waiting job; -1: none */
    int64_t last;
    int64_t n_waiting;
    int64_t depth;
    struct dn_err *err;
};

/* --- events ----------------------------------------------------------------------- */

/* Of events at the same time, that of the older job comes first. */
static bool is_before (const struct event *a, const struct event *b)
{
    return a->at_s < b->at_s || (a->at_s == b->at_s && a->job < b->job);
}

static void push (struct state *state, struct event event)
{
    int64_t i = state->n_heap++;

    while (i > 0 && is_before (&event, &state->heap[(i - 1) / 2])) {
        state->heap[i] = state->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    state->heap[i] = event;
}

static struct event pop (struct state *state)
{
    struct event top = state->heap[0], last = state->heap[--state->n_heap];
    int64_t i = 0;

    for (;;) {
        int64_t child = 2 * i + 1;

        if (child >= state->n_heap)
            break;
        if (child + 1 < state->n_heap
            && is_before (&state->heap[child + 1], &state->heap[child]))
            child++;
        if (!is_before (&state->heap[child], &last))
            break;
        state->heap[i] = state->heap[child];
        i = child;
    }
    if (state->n_heap > 0)
        state->heap[i] = last;
    return top;
}

static double limit_of (const struct dn_sim_job *job)
{
    return job->limits_s[job->extended];
}

/* The next event of a running job: its end, or before it the extension of its limit. */
static struct event next_event (const struct state *state, int64_t i)
{
    const struct dn_sim_job *job = &state->jobs[i];
    double limit_s = limit_of (job);

    if (job->extended + 1 < job->n_limits) {
        double due_s = limit_s - fmin (limit_s / 4, LEAD_MAX_S);

        if (due_s < job->run_s)
            return (struct event){job->start_s + due_s, i};
    }
    return (struct event){job->start_s + fmin (job->run_s, limit_s), i};
}

/* --- the queue -------------------------------------------------------------------- */

static void append (struct state *state, int64_t i)
{
    state->next[i] = -1;
    if (state->last >= 0)
        state->next[state->last] = i;
    else
        state->first = i;
    state->last = i;
    state->n_waiting++;
}

/* Remove the job behind 'previous' (-1: the first one). */
static void unlink_after (struct state *state, int64_t previous)
{
    int64_t i = previous < 0 ? state->first : state->next[previous];

    if (previous < 0)
        state->first = state->next[i];
    else
        state->next[previous] = state->next[i];
    if (state->last == i)
        state->last = previous;
    state->n_waiting--;
}

static void forget_failed (struct state *state)
{
    for (int pool = 0; pool < state->sim->n_pools; pool++)
        memset (state->failed[pool], 0, sizeof (state->failed[pool]));
}

static struct failed *failed_of (struct state *state, int pool, int64_t gpus)
{
    return &state->failed[pool][gpus < FAILED_MAX ? gpus : 0];
}

static bool has_failed (struct state *state, int pool, const struct dn_sim_job *job)
{
    const struct failed *failed = failed_of (state, pool, job->gpus);

    return failed->set && job->gpus == failed->gpus && job->nodes == failed->nodes
           && job->cpus >= failed->cpus && limit_of (job) >= failed->limit_s;
}

static void note_failed (struct state *state, int pool, const struct dn_sim_job *job)
{
    *failed_of (state, pool, job->gpus) =
        (struct failed){true, limit_of (job), job->gpus, job->nodes, job->cpus};
}

/* Start a job in one of its pools. 1: started, 0: none is free. */
static int start (struct state *state, int64_t i, double now_s)
{
    struct dn_sim_job *job = &state->jobs[i];

    for (int pool = 0; pool < state->sim->n_pools; pool++) {
        struct dn_sim_need need;
        int rc;

        if (!(job->pools >> pool & 1) || has_failed (state, pool, job)
            || !dn_sim_space_need (&state->spaces[pool], job, &need))
            continue;
        rc = dn_sim_space_start (
            &state->spaces[pool], &need, i, now_s + limit_of (job), state->err);
        if (rc == 1) {
            job->start_s = now_s;
            job->pool = pool;
            push (state, next_event (state, i));
        }
        if (rc != 0)
            return rc;
        note_failed (state, pool, job);
    }
    return 0;
}

/* Reserve nodes for a job that cannot start, in that of its pools without a reservation
 * in which it can start first.
 */
static void reserve (struct state *state, int64_t i, double now_s)
{
    const struct dn_sim_watch *watch = &state->sim->watch;
    double best_s = INFINITY;
    int best = -1;
    struct dn_sim_need need;

    for (int pool = 0; pool < state->sim->n_pools; pool++) {
        struct dn_sim_space *space = &state->spaces[pool];
        double at_s;

        if (!(state->jobs[i].pools >> pool & 1) || space->reserved >= 0
            || !dn_sim_space_need (space, &state->jobs[i], &need))
            continue;
        at_s = dn_sim_space_when (space, &need, now_s);
        if (best < 0 || at_s < best_s) {
            best = pool;
            best_s = at_s;
        }
    }
    if (best < 0)
        return;
    dn_sim_space_need (&state->spaces[best], &state->jobs[i], &need);
    dn_sim_space_reserve (&state->spaces[best], &need, i, best_s);
    if (watch->reserved)
        watch->reserved (watch->to, i, best, best_s);
}

/* Test the first jobs of the queue in order. */
static int pass (struct state *state, double now_s)
{
    int64_t previous = -1, i = state->first;

    forget_failed (state);
    for (int pool = 0; pool < state->sim->n_pools; pool++)
        dn_sim_space_release (&state->spaces[pool]);
    for (int64_t n = 0; i >= 0 && n < state->depth;) {
        int64_t behind = state->next[i];
        int rc = start (state, i, now_s);

        if (rc < 0)
            return -1;
        if (rc == 1) {
            unlink_after (state, previous);
        } else {
            reserve (state, i, now_s);
            previous = i;
            n++;
        }
        i = behind;
    }
    return 0;
}

/* A job is submitted. Those that wait already cannot start: nothing became idle since
 * they were tested, and the time to their reservations is shorter.
 */
static int submit (struct state *state, int64_t i)
{
    int rc = 0;

    if (state->n_waiting < state->depth) {
        rc = start (state, i, state->jobs[i].submit_s);
        if (rc == 0)
            reserve (state, i, state->jobs[i].submit_s);
    }
    if (rc == 0)
        append (state, i);
    return rc < 0 ? -1 : 0;
}

/* The job of an event ends, or its limit is extended. */
static void happen (struct state *state, const struct event *event)
{
    struct dn_sim_job *job = &state->jobs[event->job];
    struct dn_sim_space *space = &state->spaces[job->pool];
    double limit_s = limit_of (job);

    if (event->at_s >= job->start_s + fmin (job->run_s, limit_s)) {
        job->end_s = event->at_s;
        job->killed = limit_s < job->run_s;
        dn_sim_space_finish (space, event->job, job->start_s + limit_s);
    } else {
        job->extended++;
        dn_sim_space_extend (
            space, event->job, job->start_s + limit_s, job->start_s + limit_of (job));
        push (state, next_event (state, event->job));
    }
}

/* --- all of it -------------------------------------------------------------------- */

static int check_pools (const struct dn_sim *sim, struct dn_err *err)
{
    if (sim->n_pools < 1 || sim->n_pools > DN_SIM_POOLS_MAX)
        return dn_err_set (err, DN_E_RANGE, dn_say_err_replay_pools, sim->n_pools);
    for (int i = 0; i < sim->n_pools; i++) {
        const struct dn_sim_pool *pool = &sim->pools[i];

        if (pool->nodes < 1 || pool->nodes > DN_SIM_NODES_MAX || pool->gpus < 1
            || pool->cpus < 0)
            return dn_err_set (err, DN_E_RANGE, dn_say_err_replay_pool, i);
    }
    return 0;
}

static bool is_valid (const struct dn_sim_job *job)
{
    if (!isfinite (job->submit_s) || !(job->run_s >= 0) || !isfinite (job->run_s)
        || job->gpus < 1 || job->nodes < 0 || job->cpus < 0 || job->n_limits < 1
        || job->n_limits > DN_SIM_LIMITS_MAX || !(job->limits_s[0] > 0))
        return false;
    for (int i = 1; i < job->n_limits; i++)
        if (!(job->limits_s[i] > job->limits_s[i - 1]))
            return false;
    return true;
}

static int check_jobs (const struct dn_sim_job *jobs, int64_t n, struct dn_err *err)
{
    for (int64_t i = 0; i < n; i++)
        if (!is_valid (&jobs[i]) || (i > 0 && jobs[i].submit_s < jobs[i - 1].submit_s))
            return dn_err_set (err, DN_E_RANGE, dn_say_err_replay_job, i);
    return 0;
}

static bool is_possible (const struct state *state, const struct dn_sim_job *job)
{
    struct dn_sim_need need;

    for (int pool = 0; pool < state->sim->n_pools; pool++)
        if (job->pools >> pool & 1
            && dn_sim_space_need (&state->spaces[pool], job, &need))
            return true;
    return false;
}

static void clear (struct dn_sim_job *job)
{
    job->start_s = job->end_s = NAN;
    job->pool = -1;
    job->extended = 0;
    job->killed = false;
}

static int run (struct state *state)
{
    int64_t i = 0;

    while (i < state->n_jobs || state->n_heap > 0) {
        double now_s;

        if (state->n_heap == 0
            || (i < state->n_jobs && state->jobs[i].submit_s < state->heap[0].at_s)) {
            clear (&state->jobs[i]);
            if (is_possible (state, &state->jobs[i]) && submit (state, i) < 0)
                return -1;
            i++;
            continue;
        }
        now_s = state->heap[0].at_s;
        while (state->n_heap > 0 && state->heap[0].at_s <= now_s) {
            struct event event = pop (state);

            happen (state, &event);
        }
        if (pass (state, now_s) < 0)
            return -1;
    }
    return 0;
}

static int begin (struct state *state)
{
    size_t n = (size_t) state->n_jobs + 1;

    state->heap = calloc (n, sizeof (*state->heap));
    state->next = calloc (n, sizeof (*state->next));
    if (!state->heap || !state->next)
        return dn_err_set (state->err, DN_E_NOMEM, dn_say_err_no_memory);
    for (int i = 0; i < state->sim->n_pools; i++)
        if (dn_sim_space_begin (&state->spaces[i], &state->sim->pools[i], state->err)
            < 0)
            return -1;
    return 0;
}

int dn_simulate (const struct dn_sim *sim,
                 struct dn_sim_job *jobs,
                 int64_t n_jobs,
                 struct dn_err *err)
{
    struct state *state;
    int rc;

    if (check_pools (sim, err) < 0 || check_jobs (jobs, n_jobs, err) < 0)
        return -1;
    state = calloc (1, sizeof (*state));
    if (!state)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory);
    state->sim = sim;
    state->jobs = jobs;
    state->n_jobs = n_jobs;
    state->depth = sim->depth > 0 ? sim->depth : DN_SIM_DEPTH;
    state->first = state->last = -1;
    state->err = err;
    rc = begin (state);
    if (rc == 0)
        rc = run (state);
    for (int i = 0; i < sim->n_pools; i++)
        dn_sim_space_end (&state->spaces[i]);
    free (state->heap);
    free (state->next);
    free (state);
    return rc;
}
