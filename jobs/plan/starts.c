/* starts.c - when jobs can start on nodes whose running jobs use up their limits
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/plan/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fields.h"
#include "learn/reals.h"

struct run {
    double by_s;
    struct dn_plan_need held;
    int64_t job;
};

struct period {
    double from_s;
    double to_s;
};

struct node {
    struct dn_plan_need idle;
    int32_t gpus;        /* idle and held */
    int32_t next;        /* of the type, -1: none */
    struct run *runs;    /* by by_s; owned */
    struct period *kept; /* reservations by from_s; owned */
    int32_t n_runs;
    int32_t n_kept;
};

struct dn_plan {
    struct node *nodes; /* owned */
    int32_t n_nodes;
    int32_t first[DN_PLAN_TYPES_MAX]; /* node of each type, -1: none */
    int32_t last[DN_PLAN_TYPES_MAX];
    double *free_s; /* of each node: the earliest time; owned */
    double *sorted; /* the same in order; owned */
};

/* --- nodes ------------------------------------------------------------------------ */

struct dn_plan *dn_plan_new (void)
{
    struct dn_plan *plan = calloc (1, sizeof (*plan));

    if (!plan)
        return NULL;
    memset (plan->first, -1, sizeof (plan->first));
    memset (plan->last, -1, sizeof (plan->last));
    return plan;
}

void dn_plan_free (struct dn_plan *plan)
{
    if (!plan)
        return;
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        free (plan->nodes[i].runs);
        free (plan->nodes[i].kept);
    }
    free (plan->nodes);
    free (plan->free_s);
    free (plan->sorted);
    free (plan);
}

int32_t dn_plan_node (struct dn_plan *plan, int type, const struct dn_plan_need *idle)
{
    int32_t i = plan->n_nodes;
    struct dn_err err;

    if (dn_rows_grow (&plan->nodes, i, sizeof (*plan->nodes), &err) < 0
        || dn_rows_grow (&plan->free_s, i, sizeof (*plan->free_s), &err) < 0
        || dn_rows_grow (&plan->sorted, i, sizeof (*plan->sorted), &err) < 0)
        return -1;
    plan->nodes[i] = (struct node){.idle = *idle, .gpus = idle->gpus, .next = -1};
    if (plan->last[type] >= 0)
        plan->nodes[plan->last[type]].next = i;
    else
        plan->first[type] = i;
    plan->last[type] = i;
    plan->n_nodes++;
    return i;
}

static bool has_room (const struct dn_plan_need *idle, const struct dn_plan_need *need)
{
    return idle->gpus >= need->gpus && (need->cpus == 0 || idle->cpus >= need->cpus)
           && (need->mem_mb == 0 || idle->mem_mb >= need->mem_mb);
}

/* Add an amount 'times' to what is idle. */
static void add (struct dn_plan_need *idle, const struct dn_plan_need *held, int times)
{
    idle->gpus += times * held->gpus;
    idle->cpus += times * held->cpus;
    idle->mem_mb += times * held->mem_mb;
}

/* --- what runs -------------------------------------------------------------------- */

static int insert_run (struct node *node, const struct run *run)
{
    struct dn_err err;
    int32_t i = node->n_runs;

    if (dn_rows_grow (&node->runs, i, sizeof (*run), &err) < 0)
        return -1;
    for (; i > 0 && node->runs[i - 1].by_s > run->by_s; i--)
        node->runs[i] = node->runs[i - 1];
    node->runs[i] = *run;
    node->n_runs++;
    return 0;
}

static void remove_run (struct node *node, int32_t i)
{
    node->n_runs--;
    memmove (&node->runs[i],
             &node->runs[i + 1],
             (size_t) (node->n_runs - i) * sizeof (*node->runs));
}

int dn_plan_run (struct dn_plan *plan,
                 int32_t node,
                 double by_s,
                 const struct dn_plan_need *held,
                 int64_t job)
{
    struct run run = {by_s, *held, job};

    plan->nodes[node].gpus += held->gpus;
    return insert_run (&plan->nodes[node], &run);
}

int dn_plan_start (struct dn_plan *plan,
                   const struct dn_plan_need *need,
                   const int32_t *at,
                   double by_s,
                   int64_t job)
{
    struct run run = {by_s, *need, job};

    for (int32_t i = 0; i < need->nodes; i++) {
        if (insert_run (&plan->nodes[at[i]], &run) < 0)
            return -1;
        add (&plan->nodes[at[i]].idle, &run.held, -1);
    }
    return 0;
}

void dn_plan_end (struct dn_plan *plan, int type, int64_t job)
{
    for (int32_t i = plan->first[type]; i >= 0; i = plan->nodes[i].next) {
        struct node *node = &plan->nodes[i];

        for (int32_t k = node->n_runs - 1; k >= 0; k--)
            if (node->runs[k].job == job) {
                add (&node->idle, &node->runs[k].held, 1);
                remove_run (node, k);
            }
    }
}

void dn_plan_extend (struct dn_plan *plan, int type, int64_t job, double by_s)
{
    for (int32_t i = plan->first[type]; i >= 0; i = plan->nodes[i].next) {
        struct node *node = &plan->nodes[i];

        for (int32_t k = 0; k < node->n_runs; k++)
            if (node->runs[k].job == job) {
                struct run run = node->runs[k];

                /* There is room for the row that has just gone. */
                remove_run (node, k);
                run.by_s = by_s;
                (void) insert_run (node, &run);
                break;
            }
    }
}

int64_t dn_plan_idle (const struct dn_plan *plan, int type)
{
    int64_t idle = 0;

    for (int32_t i = plan->first[type]; i >= 0; i = plan->nodes[i].next)
        idle += plan->nodes[i].idle.gpus;
    return idle;
}

/* --- the earliest start ----------------------------------------------------------- */

/* The earliest start on that node from from_s on; INFINITY if it is after until_s. */
static double node_when (const struct node *node,
                         const struct dn_plan_need *need,
                         double now_s,
                         double from_s,
                         double until_s,
                         double length_s)
{
    struct dn_plan_need idle = node->idle;
    double at_s = from_s;

    if (node->gpus < need->gpus)
        return INFINITY;
    for (int32_t i = 0; !has_room (&idle, need); i++) {
        if (i == node->n_runs || at_s > until_s)
            return INFINITY;
        add (&idle, &node->runs[i].held, 1);
        at_s = fmax (at_s, fmax (node->runs[i].by_s, now_s + 1));
    }
    for (int32_t i = 0; i < node->n_kept; i++)
        if (node->kept[i].from_s < at_s + length_s && node->kept[i].to_s > at_s)
            at_s = node->kept[i].to_s;
    return at_s;
}

static double when_one (const struct dn_plan *plan,
                        const struct dn_plan_need *need,
                        int type,
                        double now_s,
                        double length_s,
                        int32_t *at)
{
    const struct node *best = NULL;
    double best_s = INFINITY;

    for (int32_t i = plan->first[type]; i >= 0; i = plan->nodes[i].next) {
        const struct node *node = &plan->nodes[i];
        double at_s = node_when (node, need, now_s, now_s, best_s, length_s);

        if (at_s < best_s
            || (best && at_s == best_s
                && (node->idle.gpus < best->idle.gpus
                    || (node->idle.gpus == best->idle.gpus
                        && node->idle.cpus < best->idle.cpus)))) {
            best_s = at_s;
            best = node;
            at[0] = i;
        }
    }
    return best_s;
}

/* The time at which so many nodes of the type are free, one after the other. */
static double when_enough (struct dn_plan *plan, int type, int32_t nodes)
{
    size_t n = 0;

    for (int32_t i = plan->first[type]; i >= 0; i = plan->nodes[i].next)
        if (plan->free_s[i] < INFINITY)
            plan->sorted[n++] = plan->free_s[i];
    if (n < (size_t) nodes)
        return INFINITY;
    qsort (plan->sorted, n, sizeof (*plan->sorted), dn_reals_compare);
    return plan->sorted[nodes - 1];
}

/* The time at which all that runs and is reserved on the type has ended. */
static double when_empty (const struct dn_plan *plan, int type, double now_s)
{
    double at_s = now_s;

    for (int32_t i = plan->first[type]; i >= 0; i = plan->nodes[i].next) {
        const struct node *node = &plan->nodes[i];

        for (int32_t k = 0; k < node->n_kept; k++)
            at_s = fmax (at_s, node->kept[k].to_s);
        if (node->n_runs > 0)
            at_s = fmax (at_s, node->runs[node->n_runs - 1].by_s);
    }
    return at_s;
}

double dn_plan_when (struct dn_plan *plan,
                     const struct dn_plan_need *need,
                     int type,
                     double now_s,
                     double length_s,
                     int32_t *at)
{
    double at_s = now_s;

    if (need->nodes == 1)
        return when_one (plan, need, type, now_s, length_s, at);
    for (int32_t i = plan->first[type]; i >= 0; i = plan->nodes[i].next)
        plan->free_s[i] = now_s;
    for (int tries = 0; tries <= DN_PLAN_TRIES; tries++) {
        int32_t n = 0;

        if (tries == DN_PLAN_TRIES)
            at_s = fmax (at_s, when_empty (plan, type, now_s));
        /* A node that was free before may not be free as long from then on. */
        for (int32_t i = plan->first[type]; i >= 0; i = plan->nodes[i].next) {
            if (tries == 0 || plan->free_s[i] < at_s)
                plan->free_s[i] =
                    node_when (&plan->nodes[i], need, now_s, at_s, INFINITY, length_s);
            if (plan->free_s[i] <= at_s && n < need->nodes)
                at[n++] = i;
        }
        if (n == need->nodes)
            return at_s;
        at_s = when_enough (plan, type, need->nodes);
        if (!(at_s < INFINITY))
            break;
    }
    return INFINITY;
}

/* --- reservations ----------------------------------------------------------------- */

int dn_plan_reserve (struct dn_plan *plan,
                     const struct dn_plan_need *need,
                     const int32_t *at,
                     double at_s,
                     double length_s)
{
    struct period period = {at_s, at_s + length_s};
    struct dn_err err;

    for (int32_t i = 0; i < need->nodes; i++) {
        struct node *node = &plan->nodes[at[i]];
        int32_t k = node->n_kept;

        if (dn_rows_grow (&node->kept, k, sizeof (period), &err) < 0)
            return -1;
        for (; k > 0 && node->kept[k - 1].from_s > at_s; k--)
            node->kept[k] = node->kept[k - 1];
        node->kept[k] = period;
        node->n_kept++;
    }
    return 0;
}

void dn_plan_forget (struct dn_plan *plan)
{
    for (int32_t i = 0; i < plan->n_nodes; i++)
        plan->nodes[i].n_kept = 0;
}

/* --- guests ----------------------------------------------------------------------- */

/* Of the GPUs of a type, that guests hold at most. */
#define MOST 0.5

void dn_guests_add (struct dn_guests *guests,
                    bool guest,
                    double gpus,
                    double limit_s,
                    double left_s)
{
    if (guest) {
        guests->held_gpus += gpus;
        guests->held_s += gpus * left_s;
    } else if (limit_s > 0 && isfinite (limit_s)) {
        guests->own_s += gpus * limit_s;
        guests->own_gpus += gpus;
    }
}

bool dn_guests_may (const struct dn_guests *guests,
                    uint64_t pools,
                    double keep,
                    double gpus,
                    double limit_s)
{
    struct dn_guests sum = {0};

    for (int i = 0; pools >> i != 0; i++)
        if (pools >> i & 1) {
            sum.gpus += guests[i].gpus;
            sum.held_gpus += guests[i].held_gpus;
            sum.held_s += guests[i].held_s;
            sum.own_s += guests[i].own_s;
            sum.own_gpus += guests[i].own_gpus;
        }
    if (keep <= 0)
        return true;
    if (keep >= 1 || sum.held_gpus + gpus > MOST * sum.gpus)
        return false;
    if (sum.held_gpus <= 0 || sum.own_gpus <= 0)
        return true;
    return keep * (sum.held_s + gpus * limit_s)
           <= (1 - keep) * sum.gpus * (sum.own_s / sum.own_gpus) * (1 + 1e-9);
}
