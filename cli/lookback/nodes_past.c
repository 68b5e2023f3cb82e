/* nodes_past.c - what past jobs left of their nodes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "lookback/nodes_past.h"

#include <math.h>
#include <stdlib.h>

#include "base/fields.h"
#include "predict/apps.h"

static int add_event (struct dn_nodes_past *nodes,
                      const struct dn_node_event *event,
                      struct dn_err *err)
{
    if (dn_rows_grow (&nodes->events, nodes->n, sizeof (*nodes->events), err) < 0)
        return -1;
    nodes->events[nodes->n++] = *event;
    return 0;
}

int dn_nodes_past_add (struct dn_nodes_past *nodes,
                       const struct dn_finished *job,
                       int type,
                       struct dn_err *err)
{
    int64_t n = job->nodes > 1 ? job->nodes : 1;
    struct dn_node_event event = {.at_s = job->start_s, .type = (int16_t) type};

    if (job->host[0] == '\0' || job->start_s <= 0 || job->end_s <= job->start_s)
        return 0;
    event.node = dn_app_key_of_user (0, job->host);
    event.cpus = (int32_t) (job->cpus > 0 ? job->cpus / n : 0);
    event.gpus = (int16_t) (job->gpus > 0 ? job->gpus / n : 0);
    event.mem_gb = (float) (job->mem_gb > 0 ? job->mem_gb / (double) n : 0);
    if (add_event (nodes, &event, err) < 0)
        return -1;
    event.at_s = job->end_s;
    event.cpus = -event.cpus;
    event.gpus = (int16_t) -event.gpus;
    event.mem_gb = -event.mem_gb;
    return add_event (nodes, &event, err);
}

static int by_node (const void *left, const void *right)
{
    const struct dn_node_event *a = left;
    const struct dn_node_event *b = right;

    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return (a->at_s > b->at_s) - (a->at_s < b->at_s);
}

/* One node: each idle GPU needs at least a CPU and a GiB of memory. */
static void add_node (const struct dn_node_event *events,
                      int64_t n,
                      const struct dn_sim_pool *pool,
                      struct dn_idle_hours *hours)
{
    double cpus = 0;
    double gpus = 0;
    double mem_gb = 0;

    for (int64_t i = 0; i + 1 < n; i++) {
        double h = (double) (events[i + 1].at_s - events[i].at_s) / 3600;
        double idle;
        double free_gb;

        cpus += events[i].cpus;
        gpus += events[i].gpus;
        mem_gb += (double) events[i].mem_gb;
        idle = fmax (0, (double) pool->gpus - gpus);
        free_gb = floor (fmax (0, (double) pool->mem_mb / 1024 - mem_gb));
        hours->idle += idle * h;
        if (pool->cpus > 0)
            hours->without_cpus +=
                fmax (0, idle - fmax (0, (double) pool->cpus - cpus)) * h;
        if (pool->mem_mb > 0)
            hours->without_memory += fmax (0, idle - free_gb) * h;
    }
}

struct dn_idle_hours dn_nodes_past_idle (struct dn_nodes_past *nodes,
                                         const struct dn_sim_pool *const pools[])
{
    struct dn_idle_hours hours = {.idle = 0};

    if (nodes->n > 0)
        qsort (nodes->events, (size_t) nodes->n, sizeof (*nodes->events), by_node);
    for (int64_t from = 0, to; from < nodes->n; from = to) {
        const struct dn_node_event *events = &nodes->events[from];
        int type = -1;

        for (to = from; to < nodes->n && nodes->events[to].node == events->node; to++)
            if (type < 0)
                type = nodes->events[to].type;
        if (type >= 0 && pools[type])
            add_node (events, to - from, pools[type], &hours);
    }
    return hours;
}

void dn_nodes_past_free (struct dn_nodes_past *nodes)
{
    free (nodes->events);
}
