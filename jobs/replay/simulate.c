/* simulate.c - the events of a simulated queue, and what it does at each
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "simulate.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/messages.h"
#include "learn/reals.h"
#include "policy/policy.h"

/* When less than a quarter of the limit, and than this, is left, it is extended. */
#define LEAD_MAX_S 1800.0

/* A steered job must end before this share of its expected time on its own type. */
#define GAIN 0.9

/* Seconds between passes of steering, a multiple of the interval of backfill. */
#define STEER_S 60.0

/* The expected wait of a job that has no start in sight is at most that. */
#define WAIT_MAX_S (30 * 86400.0)

/* A time at which a running job ends or its limit is extended. */
struct event {
    double at_s;
    int64_t job;
};

/* Where and when a job can start. */
struct slot {
    double at_s;
    int pool; /* -1: nowhere */
    struct dn_plan_need need;
    int32_t *nodes;
};

struct state {
    const struct dn_sim *sim;
    struct dn_sim_job *jobs;
    int64_t n_jobs;
    struct dn_plan *plan; /* its types are the pools; owned */
    int32_t *nodes[2];    /* of a slot, and of one that is tried; owned */
    struct event *heap;   /* one per running job, at most; owned */
    int64_t n_heap;
    double *planned_s; /* start of each job by the last pass; owned */
    int64_t *next;     /* waiting job behind each, -1: none; owned */
    int64_t first;     /* waiting job; -1: none */
    int64_t last;
    int64_t n_open; /* waiting jobs */
    struct dn_guests guests[DN_SIM_POOLS_MAX];
    int64_t depth;
    bool changed; /* since the last pass of backfill */
    double due_s; /* the next one */
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
    return job->limits_s[job->extended]
           * (job->other < 0 ? 1 : dn_open_factor (job->others[job->other].slow));
}

static double run_of (const struct dn_sim_job *job)
{
    return job->other < 0 ? job->run_s : job->others[job->other].run_s;
}

/* The next event of a running job: its end, or before it the extension of its limit. */
static struct event next_event (const struct state *state, int64_t i)
{
    const struct dn_sim_job *job = &state->jobs[i];
    double limit_s = limit_of (job);

    if (job->extended + 1 < job->n_limits) {
        double due_s = limit_s - fmin (limit_s / 4, LEAD_MAX_S);

        if (due_s < run_of (job))
            return (struct event){job->start_s + due_s, i};
    }
    return (struct event){job->start_s + fmin (run_of (job), limit_s), i};
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
    state->n_open += state->jobs[i].n_others > 0;
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
    state->n_open -= state->jobs[i].n_others > 0;
}

/* What the job needs there; false if the pool cannot hold it, even when idle. A job
 * that is larger than a node and states no number of nodes gets whole nodes.
 */
static bool need_of (const struct dn_sim_pool *pool,
                     const struct dn_sim_job *job,
                     struct dn_plan_need *need)
{
    int64_t nodes = (job->gpus + pool->gpus - 1) / pool->gpus;
    int64_t gpus = pool->gpus, cpus = 0;

    if (nodes <= 1 || nodes <= job->nodes) {
        nodes = job->nodes > 1 ? job->nodes : 1;
        gpus = (job->gpus + nodes - 1) / nodes;
    }
    if (pool->cpus > 0)
        cpus = (job->cpus + nodes - 1) / nodes;
    *need = (struct dn_plan_need){
        (int32_t) nodes,
        (int32_t) gpus,
        (int32_t) cpus,
        pool->mem_mb > 0 ? job->mem_mb : 0,
    };
    return nodes <= pool->nodes && cpus <= pool->cpus && need->mem_mb <= pool->mem_mb;
}

/* The earliest start of the job in some pools. Valid until the next call. */
static struct slot find (struct state *state,
                         const struct dn_sim_job *job,
                         uint64_t pools,
                         double now_s,
                         double length_s)
{
    struct slot best = {INFINITY, -1, {0}, NULL};
    int used = 0;

    for (int pool = 0; pool < state->sim->n_pools && best.at_s > now_s; pool++) {
        struct slot slot = {.pool = pool, .nodes = state->nodes[used]};

        if (!(pools >> pool & 1)
            || !need_of (&state->sim->pools[pool], job, &slot.need))
            continue;
        slot.at_s =
            dn_plan_when (state->plan, &slot.need, pool, now_s, length_s, slot.nodes);
        if (slot.at_s < best.at_s) {
            best = slot;
            used = 1 - used;
        }
    }
    return best;
}

/* Start the job behind 'previous' now; its member 'other' is set. */
static int start (struct state *state,
                  int64_t previous,
                  const struct slot *slot,
                  double now_s)
{
    int64_t i = previous < 0 ? state->first : state->next[previous];
    struct dn_sim_job *job = &state->jobs[i];

    job->start_s = now_s;
    job->pool = slot->pool;
    if (dn_plan_start (state->plan, &slot->need, slot->nodes, now_s + limit_of (job), i)
        < 0)
        return dn_refuse (state->err, no_memory);
    push (state, next_event (state, i));
    unlink_after (state, previous);
    return 0;
}

/* The main scheduler: behind the first job that must wait none starts in its pools. */
static int start_first (struct state *state, double now_s)
{
    uint64_t open = UINT64_MAX >> (64 - state->sim->n_pools);
    int64_t previous = -1, i = state->first;

    dn_plan_forget (state->plan);
    for (int64_t n = 0; i >= 0 && n < state->depth && open != 0; n++) {
        const struct dn_sim_job *job = &state->jobs[i];
        int64_t behind = state->next[i];
        struct slot slot = find (state, job, job->pools & open, now_s, limit_of (job));

        if (slot.at_s > now_s) {
            open &= ~job->pools;
            previous = i;
        } else if (start (state, previous, &slot, now_s) < 0) {
            return -1;
        }
        i = behind;
    }
    return 0;
}

/* Pools with idle GPUs. */
static uint64_t idle_pools (const struct state *state)
{
    uint64_t pools = 0;

    for (int pool = 0; pool < state->sim->n_pools; pool++)
        if (dn_plan_idle (state->plan, pool) > 0)
            pools |= UINT64_C (1) << pool;
    return pools;
}

/* Plan the first jobs in order, and start those that can. Only a job that may be
 * steered has a use for a plan in a pool without idle GPUs.
 */
static int backfill (struct state *state, double now_s, bool all)
{
    uint64_t idle = idle_pools (state);
    int64_t previous = -1, i = state->first;

    dn_plan_forget (state->plan);
    for (int64_t n = 0; i >= 0 && n < state->depth && idle != 0; n++) {
        const struct dn_sim_job *job = &state->jobs[i];
        int64_t behind = state->next[i];
        struct slot slot = {.at_s = INFINITY};

        if (all || (job->pools & idle) != 0)
            slot = find (state, job, job->pools, now_s, limit_of (job));
        state->planned_s[i] = slot.at_s;
        if (slot.at_s <= now_s) {
            if (start (state, previous, &slot, now_s) < 0)
                return -1;
        } else {
            if (slot.at_s < now_s + DN_SIM_WINDOW_S
                && dn_plan_reserve (
                       state->plan, &slot.need, slot.nodes, slot.at_s, limit_of (job))
                       < 0)
                return dn_refuse (state->err, no_memory);
            previous = i;
        }
        i = behind;
    }
    return 0;
}

/* What runs and waits on each pool; what waits, on the first of its pools. */
static void count_guests (struct state *state, double now_s)
{
    for (int pool = 0; pool < state->sim->n_pools; pool++) {
        const struct dn_sim_pool *of = &state->sim->pools[pool];

        state->guests[pool] =
            (struct dn_guests){.gpus = (double) of->nodes * (double) of->gpus};
    }
    for (int64_t i = 0; i < state->n_heap; i++) {
        const struct dn_sim_job *job = &state->jobs[state->heap[i].job];

        dn_guests_add (&state->guests[job->pool],
                       job->other >= 0,
                       (double) job->gpus,
                       limit_of (job),
                       job->start_s + limit_of (job) - now_s);
    }
    for (int64_t i = state->first; i >= 0; i = state->next[i])
        dn_guests_add (&state->guests[__builtin_ctzll (state->jobs[i].pools)],
                       false,
                       (double) state->jobs[i].gpus,
                       limit_of (&state->jobs[i]),
                       0);
}

/* Set another type that the job can start on now and ends on early enough. */
static bool choose_other (struct state *state,
                          int64_t i,
                          double now_s,
                          struct slot *slot)
{
    struct dn_sim_job *job = &state->jobs[i];
    double here_s = fmin (state->planned_s[i] - now_s, WAIT_MAX_S) + job->likely_s;

    for (job->other = 0; job->other < job->n_others; job->other++) {
        const struct dn_sim_other *other = &job->others[job->other];

        if (job->likely_s * other->slow >= GAIN * here_s
            || !dn_guests_may (state->guests,
                               other->pools,
                               state->sim->keep,
                               (double) job->gpus,
                               limit_of (job)))
            continue;
        *slot = find (state, job, other->pools, now_s, limit_of (job));
        if (slot->at_s > now_s)
            continue;
        dn_guests_add (&state->guests[slot->pool],
                       true,
                       (double) job->gpus,
                       limit_of (job),
                       limit_of (job));
        return true;
    }
    job->other = -1;
    return false;
}

static int steer (struct state *state, double now_s)
{
    int64_t previous = -1, i = state->first;

    count_guests (state, now_s);
    for (int64_t n = 0; i >= 0 && n < state->depth; n++) {
        int64_t behind = state->next[i];
        struct slot slot;

        if (!choose_other (state, i, now_s, &slot))
            previous = i;
        else if (start (state, previous, &slot, now_s) < 0)
            return -1;
        i = behind;
    }
    return 0;
}

/* A pass of backfill; each minute with steering. */
static int pass (struct state *state)
{
    double now_s = state->due_s;
    bool steers = state->n_open > 0 && fmod (now_s, STEER_S) == 0;

    state->changed = state->n_open > 0 && !steers;
    state->due_s += DN_SIM_INTERVAL_S;
    if (backfill (state, now_s, steers) < 0)
        return -1;
    return steers ? steer (state, now_s) : 0;
}

/* The job of an event ends, or its limit is extended. */
static void happen (struct state *state, const struct event *event)
{
    struct dn_sim_job *job = &state->jobs[event->job];
    double limit_s = limit_of (job);

    if (event->at_s >= job->start_s + fmin (run_of (job), limit_s)) {
        job->end_s = event->at_s;
        job->killed = limit_s < run_of (job);
        dn_plan_end (state->plan, job->pool, event->job);
    } else {
        job->extended++;
        dn_plan_extend (
            state->plan, job->pool, event->job, job->start_s + limit_of (job));
        push (state, next_event (state, event->job));
    }
}

/* --- all of it -------------------------------------------------------------------- */

static int check_pools (const struct dn_sim *sim, struct dn_err *err)
{
    if (sim->n_pools < 1 || sim->n_pools > DN_SIM_POOLS_MAX)
        return dn_refuse (err, replay_pools, sim->n_pools);
    for (int i = 0; i < sim->n_pools; i++) {
        const struct dn_sim_pool *pool = &sim->pools[i];

        if (pool->nodes < 1 || pool->nodes > DN_SIM_NODES_MAX || pool->gpus < 1
            || pool->gpus > INT32_MAX || pool->cpus < 0 || pool->cpus > INT32_MAX
            || pool->mem_mb < 0)
            return dn_refuse (err, replay_pool, i);
    }
    return 0;
}

static bool is_valid (const struct dn_sim_job *job)
{
    if (!isfinite (job->submit_s) || !(job->run_s >= 0) || !isfinite (job->run_s)
        || job->gpus < 1 || job->nodes < 0 || job->cpus < 0 || job->mem_mb < 0
        || job->n_limits < 1 || job->n_limits > DN_SIM_LIMITS_MAX
        || !(job->limits_s[0] > 0))
        return false;
    for (int i = 1; i < job->n_limits; i++)
        if (!(job->limits_s[i] > job->limits_s[i - 1]))
            return false;
    for (int i = 0; i < job->n_others; i++)
        if (!(job->others[i].run_s >= 0) || !(job->others[i].slow > 0)
            || !(job->likely_s > 0))
            return false;
    return true;
}

static int check_jobs (const struct dn_sim_job *jobs, int64_t n, struct dn_err *err)
{
    for (int64_t i = 0; i < n; i++)
        if (!is_valid (&jobs[i]) || (i > 0 && jobs[i].submit_s < jobs[i - 1].submit_s))
            return dn_refuse (err, replay_job, i);
    return 0;
}

static bool is_possible (const struct state *state, const struct dn_sim_job *job)
{
    struct dn_plan_need need;

    for (int pool = 0; pool < state->sim->n_pools; pool++)
        if (job->pools >> pool & 1 && need_of (&state->sim->pools[pool], job, &need))
            return true;
    return false;
}

static void clear (struct dn_sim_job *job)
{
    job->start_s = job->end_s = NAN;
    job->pool = job->other = -1;
    job->extended = 0;
    job->killed = false;
}

/* Something has changed at that time. */
static int react (struct state *state, double now_s)
{
    state->due_s =
        fmax (state->due_s, DN_SIM_INTERVAL_S * ceil (now_s / DN_SIM_INTERVAL_S));
    state->changed = true;
    return start_first (state, now_s);
}

static int run (struct state *state)
{
    for (int64_t i = 0;;) {
        double submit_s = i < state->n_jobs ? state->jobs[i].submit_s : INFINITY;
        double end_s = state->n_heap > 0 ? state->heap[0].at_s : INFINITY;
        double now_s = fmin (submit_s, end_s);
        int rc = 0;

        if (state->changed && state->due_s <= now_s && state->first >= 0) {
            rc = pass (state);
        } else if (isinf (now_s)) {
            return 0;
        } else if (submit_s < end_s) {
            clear (&state->jobs[i]);
            if (is_possible (state, &state->jobs[i])) {
                append (state, i);
                rc = react (state, now_s);
            }
            i++;
        } else {
            while (state->n_heap > 0 && state->heap[0].at_s <= now_s) {
                struct event event = pop (state);

                happen (state, &event);
            }
            rc = react (state, now_s);
        }
        if (rc < 0)
            return -1;
    }
}

static int begin (struct state *state)
{
    size_t n = (size_t) state->n_jobs + 1, nodes = 0;
    bool failed;

    for (int pool = 0; pool < state->sim->n_pools; pool++)
        nodes += (size_t) state->sim->pools[pool].nodes;
    state->plan = dn_plan_new ();
    state->nodes[0] = calloc (nodes, sizeof (int32_t));
    state->nodes[1] = calloc (nodes, sizeof (int32_t));
    state->heap = calloc (n, sizeof (*state->heap));
    state->next = calloc (n, sizeof (*state->next));
    state->planned_s = calloc (n, sizeof (*state->planned_s));
    failed = !state->plan || !state->nodes[0] || !state->nodes[1] || !state->heap
             || !state->next || !state->planned_s;
    for (int i = 0; i < state->sim->n_pools && !failed; i++) {
        const struct dn_sim_pool *pool = &state->sim->pools[i];
        const struct dn_plan_need idle = {
            1, (int32_t) pool->gpus, (int32_t) pool->cpus, pool->mem_mb};

        for (int64_t k = 0; k < pool->nodes && !failed; k++)
            failed = dn_plan_node (state->plan, i, &idle) < 0;
    }
    return failed ? dn_refuse (state->err, no_memory) : 0;
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
        return dn_refuse (err, no_memory);
    state->sim = sim;
    state->jobs = jobs;
    state->n_jobs = n_jobs;
    state->depth = sim->depth > 0 ? sim->depth : DN_SIM_DEPTH;
    state->first = state->last = -1;
    state->err = err;
    rc = begin (state);
    if (rc == 0)
        rc = run (state);
    dn_plan_free (state->plan);
    free (state->nodes[0]);
    free (state->nodes[1]);
    free (state->planned_s);
    free (state->heap);
    free (state->next);
    free (state);
    return rc;
}

/* --- sums ------------------------------------------------------------------------- */

/* The quantile of sorted values: the smallest with that share at or below it. */
static double quantile (const double *values, int64_t n, double share)
{
    int64_t i = (int64_t) ceil (share * (double) n) - 1;

    return n > 0 ? values[i < 0 ? 0 : i] : NAN;
}

static bool is_of (const struct dn_sim *sim, int pool, int wanted)
{
    return wanted < 0
           || (pool >= 0
               && strcasecmp (sim->pools[pool].type, sim->pools[wanted].type) == 0);
}

static double slowdown (const struct dn_sim_job *job)
{
    double took = job->end_s - job->submit_s, ran = job->end_s - job->start_s;

    return fmax (1, took / fmax (ran, DN_SIM_SLOWDOWN_S));
}

/* GPU seconds of the job in the period. */
static double within (const struct dn_sim_job *job, double since_s, double until_s)
{
    double from = fmax (job->start_s, since_s), to = fmin (job->end_s, until_s);

    return to > from ? (to - from) * (double) job->gpus : 0;
}

static double gpus_of (const struct dn_sim *sim, int wanted)
{
    double gpus = 0;

    for (int i = 0; i < sim->n_pools; i++)
        if (is_of (sim, i, wanted))
            gpus += (double) (sim->pools[i].nodes * sim->pools[i].gpus);
    return gpus;
}

static void count (const struct dn_sim_job *job, struct dn_sim_sums *sums)
{
    double hours = (job->end_s - job->start_s) * (double) job->gpus / 3600;

    sums->jobs++;
    sums->killed += job->killed;
    sums->extended += job->extended > 0;
    sums->steered += job->other >= 0;
    sums->end_mean_s += job->end_s - job->submit_s;
    sums->wait_mean_s += job->start_s - job->submit_s;
    sums->slowdown += slowdown (job);
    sums->gpu_hours += hours;
    if (job->killed)
        sums->lost_gpu_hours += hours;
}

int dn_sim_sum (const struct dn_sim *sim,
                const struct dn_sim_job *jobs,
                int64_t n_jobs,
                int pool,
                struct dn_sim_sums *sums,
                struct dn_err *err)
{
    double since_s = n_jobs > 0 ? jobs[0].submit_s : 0;
    double until_s = n_jobs > 0 ? jobs[n_jobs - 1].submit_s : 0;
    double busy = 0, *waits = calloc ((size_t) n_jobs + 1, sizeof (*waits));

    *sums = (struct dn_sim_sums){0};
    if (!waits)
        return dn_refuse (err, no_memory);
    for (int64_t i = 0; i < n_jobs; i++) {
        if (!is_of (sim, jobs[i].pool, pool))
            continue;
        if (isnan (jobs[i].start_s)) {
            sums->impossible++;
            continue;
        }
        waits[sums->jobs] = jobs[i].start_s - jobs[i].submit_s;
        count (&jobs[i], sums);
        busy += within (&jobs[i], since_s, until_s);
    }
    qsort (waits, (size_t) sums->jobs, sizeof (*waits), dn_reals_compare);
    sums->wait_median_s = quantile (waits, sums->jobs, 0.5);
    sums->wait_p95_s = quantile (waits, sums->jobs, 0.95);
    sums->wait_mean_s = sums->jobs > 0 ? sums->wait_mean_s / (double) sums->jobs : NAN;
    sums->end_mean_s = sums->jobs > 0 ? sums->end_mean_s / (double) sums->jobs : NAN;
    sums->slowdown = sums->jobs > 0 ? sums->slowdown / (double) sums->jobs : NAN;
    if (until_s > since_s)
        sums->utilisation = busy / (gpus_of (sim, pool) * (until_s - since_s));
    free (waits);
    return 0;
}
