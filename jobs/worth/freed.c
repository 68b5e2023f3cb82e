/* freed.c - GPU hours that jobs got because others held less than they had requested
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/worth/freed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fields.h"
#include "base/hash.h"
#include "base/text.h"

/* Jobs of a node at one time; of more nothing is counted until some have ended. */
#define ACTIVE_MAX 512

/* Of sums of what jobs had, as a share. */
#define ROUNDING 1e-3

enum {
    GPUS,
    CPUS,
    MEMORY
};

/* The largest node with that type. */
static const struct dn_node_group *node_of (const struct dn_cluster *cluster,
                                            const char *type)
{
    const struct dn_node_group *node = NULL;

    for (int64_t i = 0; i < cluster->n_groups; i++) {
        const struct dn_node_group *group = &cluster->groups[i];

        if (strcmp (group->type, type) == 0
            && (!node || group->gpus > node->gpus
                || (group->gpus == node->gpus && group->cpus > node->cpus)))
            node = group;
    }
    return node;
}

static uint64_t host_of (const struct dn_finished *job)
{
    uint64_t hash = dn_hash_text (DN_HASH_SEED, job->cluster);

    return dn_hash_text (dn_hash_bytes (hash, " ", 1), job->host);
}

static double known (double value)
{
    return value > 0 ? value : 0; /* a NaN is not */
}

/* What was requested of one thing. More than requested is not asked for. */
static double asked_of (bool changed, double asked, double had)
{
    return changed && asked > had ? asked : had;
}

static struct dn_freed_run run_of (const struct dn_freed *freed,
                                   const struct dn_finished *job)
{
    double nodes = job->nodes > 1 ? (double) job->nodes : 1;
    bool here = job->asked_gpu[0] == '\0' || strcmp (job->asked_gpu, job->gpu) == 0;
    bool changed = dn_finished_changed (job) && here && job->rescued != 1;
    const double asked[] = {
        (double) job->asked_gpus, (double) job->asked_cpus, job->asked_mem_gb};
    const double had[] = {(double) job->gpus, (double) job->cpus, job->mem_gb};
    struct dn_freed_run run = {
        .host = host_of (job), .start_s = job->start_s, .end_s = job->end_s};

    snprintf (run.job, sizeof (run.job), "%s", job->job);
    if (job->gpus > 0)
        run.node = node_of (freed->cluster, job->gpu);
    for (int i = GPUS; i <= MEMORY; i++) {
        run.had[i] = known (had[i]) / nodes;
        run.asked[i] = asked_of (changed, asked[i] / nodes, run.had[i]);
        run.lowered |= run.asked[i] > run.had[i] * (1 + ROUNDING);
    }
    return run;
}

int dn_freed_add (struct dn_freed *freed,
                  const struct dn_finished *job,
                  struct dn_err *err)
{
    int64_t n = freed->n_runs;

    if (!freed->cluster || job->host[0] == '\0' || dn_finished_ran_s (job) <= 0)
        return 0;
    if (n == DN_FREED_RUNS_MAX) {
        freed->cut = true;
        return 0;
    }
    if (dn_rows_grow (&freed->runs, n, sizeof (*freed->runs), err) < 0)
        return -1;
    freed->runs[n] = run_of (freed, job);
    freed->n_lowered += freed->runs[n].lowered;
    freed->n_runs++;
    return 0;
}

/* --- a node ----------------------------------------------------------------------- */

struct node {
    double room[3];
    struct dn_freed_run *active[ACTIVE_MAX]; /* by start */
    int n_active;
    bool full; /* there are more */
};

static bool fits (const struct node *node, const double held[3], const double more[3])
{
    for (int i = GPUS; i <= MEMORY; i++)
        if (held[i] + more[i] > node->room[i] * (1 + ROUNDING))
            return false;
    return true;
}

static void hold (double held[3], const double more[3])
{
    for (int i = GPUS; i <= MEMORY; i++)
        held[i] += more[i];
}

/* Can anything be said of this moment: did some hold less than they had requested, and
 * did all fit as they were?
 */
static bool tells (const struct node *node)
{
    double held[3] = {0, 0, 0};
    const double none[3] = {0, 0, 0};
    bool lowered = false;

    for (int i = 0; i < node->n_active; i++) {
        hold (held, node->active[i]->had);
        lowered |= node->active[i]->lowered;
    }
    return lowered && !node->full && fits (node, held, none);
}

/* Count those that do not fit for 'hours'. */
static void count (struct node *node, double hours)
{
    double held[3] = {0, 0, 0};
    bool displaced = false;

    if (!(hours > 0) || !tells (node))
        return;
    for (int i = 0; i < node->n_active; i++) {
        struct dn_freed_run *run = node->active[i];

        if (fits (node, held, run->asked)) {
            hold (held, run->asked);
        } else if (!fits (node, held, run->had)) {
            run->hours += hours * run->had[GPUS];
            displaced |= run->had[GPUS] > 0;
        }
    }
    for (int i = 0; displaced && i < node->n_active; i++)
        node->active[i]->made |= node->active[i]->lowered;
}

/* Replay until 'to_s'. */
static void advance (struct node *node, int64_t *now_s, int64_t to_s)
{
    while (*now_s < to_s && node->n_active > 0) {
        int64_t next_s = to_s;
        int n = 0;

        for (int i = 0; i < node->n_active; i++)
            if (node->active[i]->end_s < next_s)
                next_s = node->active[i]->end_s;
        count (node, (double) (next_s - *now_s) / 3600);
        for (int i = 0; i < node->n_active; i++)
            if (node->active[i]->end_s > next_s)
                node->active[n++] = node->active[i];
        if (n < node->n_active)
            node->full = false;
        node->n_active = n;
        *now_s = next_s;
    }
    *now_s = to_s;
}

static void replay (struct dn_freed_run *runs, int64_t n)
{
    struct node node = {.n_active = 0};
    const struct dn_node_group *group = NULL;
    int64_t now_s = runs[0].start_s;

    for (int64_t i = 0; i < n && !group; i++)
        group = runs[i].node;
    if (!group)
        return;
    node.room[GPUS] = (double) group->gpus;
    node.room[CPUS] = (double) group->cpus;
    node.room[MEMORY] = (double) group->mem_mb / 1024;
    for (int64_t i = 0; i < n; i++) {
        advance (&node, &now_s, runs[i].start_s);
        if (node.n_active < ACTIVE_MAX)
            node.active[node.n_active++] = &runs[i];
        else
            node.full = true;
    }
    advance (&node, &now_s, INT64_MAX);
}

/* --- all of them ------------------------------------------------------------------ */

static int by_host (const void *a, const void *b)
{
    const struct dn_freed_run *x = a;
    const struct dn_freed_run *y = b;

    if (x->host != y->host)
        return x->host < y->host ? -1 : 1;
    if (x->start_s != y->start_s)
        return x->start_s < y->start_s ? -1 : 1;
    return strcmp (x->job, y->job);
}

static int by_hours (const void *a, const void *b)
{
    const struct dn_freed_run *x = a;
    const struct dn_freed_run *y = b;

    if (x->hours != y->hours)
        return x->hours > y->hours ? -1 : 1;
    return by_host (a, b);
}

void dn_freed_end (struct dn_freed *freed)
{
    int64_t last;

    if (freed->n_runs == 0)
        return;
    qsort (freed->runs, (size_t) freed->n_runs, sizeof (*freed->runs), by_host);
    for (int64_t first = 0; first < freed->n_runs; first = last) {
        for (last = first + 1; last < freed->n_runs; last++)
            if (freed->runs[last].host != freed->runs[first].host)
                break;
        replay (freed->runs + first, last - first);
    }
    for (int64_t i = 0; i < freed->n_runs; i++) {
        freed->gpu_hours += freed->runs[i].hours;
        freed->n_jobs += freed->runs[i].hours > 0;
        freed->n_made += freed->runs[i].made;
    }
    qsort (freed->runs, (size_t) freed->n_runs, sizeof (*freed->runs), by_hours);
}

void dn_freed_free (struct dn_freed *freed)
{
    free (freed->runs);
}
