/* waits.c - how long a job on a GPU type is expected to wait
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "watch/waits.h"

#include <stdlib.h>
#include <string.h>

#include "base/fields.h"
#include "base/messages.h"
#include "watch/lists.h"

/* Several nodes are taken as two: the smallest such job. */
#define SEVERAL 2

/* A job past its limit ends so much later, at a guess. */
#define OVER_TIME_S 60

/* With fewer, the median of recent waits counts only where nothing else is known. */
#define RECENT_MIN 3

/* GPUs of a type that are idle from 'at' on. */
struct release {
    int32_t type;
    int32_t gpus;
    int64_t at;
};

struct recent {
    int32_t type;
    int32_t shape;
    int32_t wait_s;
};

/* What is known of a type and shape. */
struct line {
    int64_t n_queued;
    int64_t n_expected; /* of these, how many have an expected start */
    int64_t latest;     /* of them */
};

struct pool {
    bool up;
    int32_t per_node; /* the most GPUs of a node */
    int64_t idle;     /* GPUs */
    int64_t idle_nodes;
    struct line lines[DN_N_SHAPES];
};

struct estimate {
    struct pool pools[DN_WAIT_TYPES_MAX];
    struct release *releases;
    int64_t n_releases;
    struct recent *recents;
    int64_t n_recents;
    uint64_t masks[DN_QUEUE_PARTITIONS_MAX]; /* types of a list of partitions */
    uint64_t all;
    int64_t now_s;
};

static void estimate_free (struct estimate *estimate)
{
    free (estimate->releases);
    free (estimate->recents);
}

static bool add_release (struct estimate *estimate, struct release release)
{
    if (dn_rows_grow (&estimate->releases, estimate->n_releases, sizeof (release), NULL)
        < 0)
        return false;
    estimate->releases[estimate->n_releases++] = release;
    return true;
}

static enum dn_job_shape shape_of (const struct dn_queue_job *job,
                                   const struct pool *pool)
{
    if (job->n_nodes > 1)
        return DN_SHAPE_NODES;
    return job->gpus > 1 && 2 * job->gpus > pool->per_node ? DN_SHAPE_NODE
                                                           : DN_SHAPE_GPU;
}

/* --- types ------------------------------------------------------------------------ */

static bool lists_meet (const char *a, const char *b)
{
    struct dn_span rest = dn_span_of (a);
    struct dn_span one;

    while ((one = dn_span_cut (&rest, ",")).text)
        if (dn_list_has (b, one))
            return true;
    return false;
}

/* The types in each list of partitions that jobs name. */
static void set_masks (struct estimate *estimate,
                       const struct dn_queue *queue,
                       const struct dn_gpu_nodes *nodes,
                       const struct dn_cluster *cluster)
{
    estimate->all =
        nodes->types.n == 64 ? UINT64_MAX : (UINT64_C (1) << nodes->types.n) - 1;
    for (int i = 0; i < queue->n_partitions; i++)
        for (int64_t j = 0; j < cluster->n_groups; j++) {
            const struct dn_node_group *group = &cluster->groups[j];
            int type = dn_type_find (&nodes->types, group->type);

            if (type >= 0 && (estimate->masks[i] >> type & 1) == 0
                && lists_meet (queue->texts.text + queue->partitions[i],
                               group->partitions))
                estimate->masks[i] |= UINT64_C (1) << type;
        }
}

/* The types on which a job may start, as bits. */
static uint64_t types_of (const struct estimate *estimate,
                          const struct dn_queue *queue,
                          const struct dn_gpu_nodes *nodes,
                          const struct dn_queue_job *job)
{
    int type;

    if (job->type == DN_QUEUE_ANY)
        return job->partition == DN_QUEUE_ANY ? estimate->all
                                              : estimate->masks[job->partition];
    type = dn_type_find (&nodes->types, queue->types.names[job->type]);
    return type < 0 ? 0 : UINT64_C (1) << type;
}

/* --- what is known ---------------------------------------------------------------- */

static void look_at_nodes (struct estimate *estimate,
                           struct dn_gpu_nodes *nodes,
                           int64_t now_s)
{
    for (int32_t i = 0; i < nodes->n_slots; i++) {
        struct dn_gpu_slot *slot = &nodes->slots[i];
        struct pool *pool = &estimate->pools[slot->type];

        slot->free_at = now_s;
        if (slot->gpus > pool->per_node)
            pool->per_node = slot->gpus;
        if (!slot->up)
            continue;
        pool->up = true;
        pool->idle += slot->idle;
        pool->idle_nodes += slot->idle >= slot->gpus;
    }
}

static void look_at_queued (struct estimate *estimate,
                            const struct dn_queue_job *job,
                            uint64_t types,
                            int64_t now_s)
{
    for (int type = 0; type < DN_WAIT_TYPES_MAX; type++) {
        struct pool *pool = &estimate->pools[type];
        struct line *line;

        if ((types >> type & 1) == 0)
            continue;
        line = &pool->lines[shape_of (job, pool)];
        line->n_queued++;
        if (job->start <= now_s)
            continue;
        line->n_expected++;
        if (job->start > line->latest)
            line->latest = job->start;
    }
}

/* A job that runs, or has started lately, on one node. */
static bool look_at_node (struct estimate *estimate,
                          struct dn_gpu_nodes *nodes,
                          const struct dn_queue_job *job,
                          const char *type,
                          int32_t node,
                          bool first)
{
    for (int32_t i = nodes->first[node]; i < nodes->first[node + 1]; i++) {
        struct dn_gpu_slot *slot = &nodes->slots[i];
        struct pool *pool = &estimate->pools[slot->type];
        int32_t gpus = job->gpus / job->n_nodes;
        int64_t end =
            job->end > estimate->now_s ? job->end : estimate->now_s + OVER_TIME_S;

        if (type && strcmp (type, nodes->types.names[slot->type]) != 0)
            continue;
        if (first && job->wait_s >= 0)
            estimate->recents[estimate->n_recents++] = (struct recent){
                slot->type, (int32_t) shape_of (job, pool), job->wait_s};
        if (!job->runs || !slot->up)
            return true;
        if (end > slot->free_at)
            slot->free_at = end;
        return add_release (estimate,
                            (struct release){slot->type, gpus > 0 ? gpus : 1, end});
    }
    return true;
}

/* A job with nodes, on each of them. A job that names a type has the GPUs of that type,
 * another one those of the first type of the node.
 */
static bool look_at_started (struct estimate *estimate,
                             const struct dn_queue *queue,
                             struct dn_gpu_nodes *nodes,
                             const struct dn_queue_job *job)
{
    struct dn_hosts hosts =
        dn_hosts_of (job->nodes ? queue->texts.text + job->nodes : "");
    const char *type = job->type == DN_QUEUE_ANY ? NULL : queue->types.names[job->type];
    char name[DN_NAME_MAX];
    bool first = true;

    while (dn_hosts_next (&hosts, name)) {
        int32_t node = dn_interned_find (&nodes->names, name);

        if (node >= 0 && !look_at_node (estimate, nodes, job, type, node, first))
            return false;
        first = false;
        if (!job->runs)
            break;
    }
    return true;
}

static int look (struct estimate *estimate,
                 const struct dn_queue *queue,
                 struct dn_gpu_nodes *nodes,
                 const struct dn_cluster *cluster,
                 int64_t now_s)
{
    estimate->recents =
        calloc ((size_t) queue->n_jobs + 1, sizeof (estimate->recents[0]));
    if (!estimate->recents)
        return -1;
    set_masks (estimate, queue, nodes, cluster);
    look_at_nodes (estimate, nodes, now_s);
    for (int64_t i = 0; i < queue->n_jobs; i++) {
        const struct dn_queue_job *job = &queue->jobs[i];

        if (job->queued)
            look_at_queued (
                estimate, job, types_of (estimate, queue, nodes, job), now_s);
        else if (!look_at_started (estimate, queue, nodes, job))
            return -1;
    }
    return 0;
}

/* --- sources of a wait ------------------------------------------------------------ */

static int by_time (const void *a, const void *b)
{
    const struct release *one = a;
    const struct release *two = b;

    if (one->type != two->type)
        return one->type < two->type ? -1 : 1;
    return (one->at > two->at) - (one->at < two->at);
}

static int by_wait (const void *a, const void *b)
{
    const struct recent *one = a;
    const struct recent *two = b;

    if (one->type != two->type)
        return one->type < two->type ? -1 : 1;
    if (one->shape != two->shape)
        return one->shape < two->shape ? -1 : 1;
    return (one->wait_s > two->wait_s) - (one->wait_s < two->wait_s);
}

/* The start that backfill expects for the last in the line; of those that it did not
 * look at, that they follow at the same pace.
 */
static int64_t expected_wait (const struct line *line, int64_t now_s)
{
    double wait_s;

    if (line->n_expected == 0)
        return DN_UNSET;
    wait_s = (double) (line->latest - now_s) * (double) line->n_queued
             / (double) line->n_expected;
    return wait_s < (double) DN_WAIT_MAX_S ? (int64_t) wait_s : DN_WAIT_MAX_S;
}

/* The median of recent waits, and of how many. */
static int64_t recent_wait (const struct estimate *estimate,
                            int type,
                            int shape,
                            int64_t *n)
{
    int64_t from = 0;
    int64_t to;

    while (from < estimate->n_recents
           && (estimate->recents[from].type != type
               || estimate->recents[from].shape != shape))
        from++;
    for (to = from; to < estimate->n_recents && estimate->recents[to].type == type
                    && estimate->recents[to].shape == shape;)
        to++;
    *n = to - from;
    return *n > 0 ? estimate->recents[from + *n / 2].wait_s : DN_UNSET;
}

/* When running jobs have freed 'wanted' GPUs at their limits, of which 'idle' are there
 * already. The releases are sorted.
 */
static int64_t freed_wait (const struct release *releases,
                           int64_t n_releases,
                           int type,
                           int64_t idle,
                           int64_t wanted,
                           int64_t now_s)
{
    if (idle >= wanted)
        return 0;
    for (int64_t i = 0; i < n_releases; i++) {
        if (releases[i].type != type)
            continue;
        idle += releases[i].gpus;
        if (idle >= wanted)
            return releases[i].at > now_s ? releases[i].at - now_s : 0;
    }
    return DN_UNSET;
}

/* Releases of whole nodes in place of GPUs, but for nodes that no job keeps from being
 * idle. NULL without memory.
 */
static struct release *whole_nodes (const struct dn_gpu_nodes *nodes,
                                    int64_t now_s,
                                    int64_t *n)
{
    struct release *out = calloc ((size_t) nodes->n_slots + 1, sizeof (*out));

    *n = 0;
    for (int32_t i = 0; out && i < nodes->n_slots; i++) {
        const struct dn_gpu_slot *slot = &nodes->slots[i];

        if (slot->up && slot->idle < slot->gpus && slot->free_at > now_s)
            out[(*n)++] = (struct release){slot->type, 1, slot->free_at};
    }
    if (out)
        qsort (out, (size_t) *n, sizeof (out[0]), by_time);
    return out;
}

/* The sources in the order of waits.h, given how many GPUs or nodes the line and the
 * new job want. 'releases' are of such.
 */
static int64_t wait_of (const struct estimate *estimate,
                        int type,
                        enum dn_job_shape shape,
                        const struct release *releases,
                        int64_t n_releases,
                        int64_t now_s)
{
    const struct pool *pool = &estimate->pools[type];
    const struct line *line = &pool->lines[shape];
    int64_t idle = shape == DN_SHAPE_GPU ? pool->idle : pool->idle_nodes;
    int64_t each = shape == DN_SHAPE_NODES ? SEVERAL : 1;
    int64_t expected;
    int64_t recent;
    int64_t freed;
    int64_t n_recent;

    if (!pool->up)
        return DN_UNSET;
    if (idle >= each && line->n_queued == 0)
        return 0;
    expected = expected_wait (line, now_s);
    recent = recent_wait (estimate, type, (int) shape, &n_recent);
    if (expected != DN_UNSET && n_recent >= RECENT_MIN)
        return expected / 2 + recent / 2;
    if (expected != DN_UNSET)
        return expected;
    if (n_recent >= RECENT_MIN)
        return recent;
    freed = freed_wait (
        releases, n_releases, type, idle, each * (line->n_queued + 1), now_s);
    if (freed == DN_UNSET)
        return recent;
    return freed < DN_WAIT_MAX_S ? freed : DN_WAIT_MAX_S;
}

/* A node with one GPU has no other shapes than a node. */
static void even_single (struct dn_wait *wait, int32_t per_node)
{
    if (per_node == 1)
        wait->wait_s[DN_SHAPE_NODE] = wait->wait_s[DN_SHAPE_GPU];
}

static int fill (struct estimate *estimate,
                 const struct dn_gpu_nodes *nodes,
                 int64_t now_s,
                 struct dn_cluster *cluster)
{
    int64_t n_whole;
    dn_cleanup (dn_free_ptr) struct release *whole =
        whole_nodes (nodes, now_s, &n_whole);

    cluster->waits = calloc ((size_t) nodes->types.n + 1, sizeof (cluster->waits[0]));
    if (!whole || !cluster->waits)
        return -1;
    cluster->n_waits = nodes->types.n;
    if (estimate->n_releases > 0)
        qsort (estimate->releases,
               (size_t) estimate->n_releases,
               sizeof (estimate->releases[0]),
               by_time);
    qsort (estimate->recents,
           (size_t) estimate->n_recents,
           sizeof (estimate->recents[0]),
           by_wait);
    for (int type = 0; type < nodes->types.n; type++) {
        struct dn_wait *wait = &cluster->waits[type];

        memcpy (wait->type, nodes->types.names[type], sizeof (wait->type));
        for (int shape = 0; shape < DN_N_SHAPES; shape++)
            wait->wait_s[shape] =
                wait_of (estimate,
                         type,
                         (enum dn_job_shape) shape,
                         shape == DN_SHAPE_GPU ? estimate->releases : whole,
                         shape == DN_SHAPE_GPU ? estimate->n_releases : n_whole,
                         now_s);
        even_single (wait, estimate->pools[type].per_node);
    }
    return 0;
}

int dn_waits_estimate (const struct dn_queue *queue,
                       struct dn_gpu_nodes *nodes,
                       int64_t now_s,
                       struct dn_cluster *cluster,
                       struct dn_err *err)
{
    dn_cleanup (estimate_free) struct estimate estimate = {.now_s = now_s};

    if (look (&estimate, queue, nodes, cluster, now_s) < 0
        || fill (&estimate, nodes, now_s, cluster) < 0)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory_for, "waits");
    return 0;
}
