/* waits.c - how long a job on a GPU type is expected to wait
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "watch/waits.h"

#include <stdlib.h>
#include <string.h>

#include "base/fields.h"
#include "base/messages.h"
#include "watch/node_groups.h"

/* Several nodes are taken as two: the smallest such job. */
#define SEVERAL 2

/* A job past its limit ends so much later, at a guess. */
#define OVER_TIME_S 60

/* With fewer, the median of recent waits counts only where nothing else is known. */
#define RECENT_MIN 3

/* Lists of partitions that are told apart; a job with a further one may be anywhere. */
#define LISTS_MAX 256

/* The GPUs of one type in a node. */
struct slot {
    int32_t type;
    int32_t gpus;
    int32_t idle;
    bool up;
    int64_t free_at; /* when the last of its jobs ends; 0: it has none */
};

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

struct dn_waits {
    struct dn_type_list types;
    struct dn_interned names; /* of nodes */
    struct slot *slots;       /* owned */
    int32_t n_slots;
    int32_t *first; /* slot of each node; the end of the last one behind them; owned */
    struct pool pools[DN_WAIT_TYPES_MAX];
    struct release *releases; /* owned */
    int64_t n_releases;
    struct recent *recents; /* owned */
    int64_t n_recents;
    struct dn_interned lists;  /* of partitions that jobs name */
    uint64_t masks[LISTS_MAX]; /* the types in each of them */
};

/* GPUs that a job has, or waits for. */
struct asked {
    char type[DN_NAME_MAX]; /* "": any */
    int64_t n;
};

struct dn_waits *dn_waits_new (void)
{
    return calloc (1, sizeof (struct dn_waits));
}

void dn_waits_free (struct dn_waits *waits)
{
    if (!waits)
        return;
    dn_interned_free (&waits->names);
    dn_interned_free (&waits->lists);
    free (waits->slots);
    free (waits->first);
    free (waits->releases);
    free (waits->recents);
    free (waits);
}

static int no_memory (struct dn_err *err)
{
    return dn_refuse (err, no_memory_for, "waits");
}

/* --- types ------------------------------------------------------------------------ */

int dn_type_find (const struct dn_type_list *types, const char *name)
{
    for (int i = 0; i < types->n; i++)
        if (strcmp (types->names[i], name) == 0)
            return i;
    return -1;
}

int dn_type_put (struct dn_type_list *types, const char *name)
{
    int i = dn_type_find (types, name);
    struct dn_buf buf;

    if (i >= 0 || types->n == DN_WAIT_TYPES_MAX)
        return i;
    buf = dn_buf_on (types->names[types->n], DN_NAME_MAX);
    dn_buf_add (&buf, "%s", name);
    return types->n++;
}

/* The types in a list of partitions. */
static uint64_t mask_of (const struct dn_waits *waits,
                         const struct dn_cluster *cluster,
                         const char *partitions)
{
    uint64_t mask = 0;

    for (int64_t i = 0; i < cluster->n_groups; i++) {
        const struct dn_node_group *group = &cluster->groups[i];
        int type = dn_type_find (&waits->types, group->type);

        if (type >= 0 && (mask >> type & 1) == 0
            && dn_lists_meet (partitions, group->partitions))
            mask |= UINT64_C (1) << type;
    }
    return mask;
}

/* The types on which a job may start, as bits. */
static uint64_t types_of (struct dn_waits *waits,
                          const struct dn_cluster *cluster,
                          const struct dn_link_job *job,
                          const char *named)
{
    int type = dn_type_find (&waits->types, named);
    int32_t n = waits->lists.n;
    int32_t list = -1;

    if (named[0] != '\0')
        return type < 0 ? 0 : UINT64_C (1) << type;
    if (job->partition && job->partition[0] != '\0')
        list = n < LISTS_MAX ? dn_interned_put (&waits->lists, job->partition)
                             : dn_interned_find (&waits->lists, job->partition);
    if (list < 0)
        return waits->types.n == 64 ? UINT64_MAX : (UINT64_C (1) << waits->types.n) - 1;
    if (list == n)
        waits->masks[list] = mask_of (waits, cluster, job->partition);
    return waits->masks[list];
}

/* --- nodes ------------------------------------------------------------------------ */

/* Note the GPUs of one type; -1 without memory. */
static int add_slot (struct dn_waits *waits,
                     const struct dn_link_node *node,
                     const struct dn_gres_gpus *gpus)
{
    int type = dn_type_put (&waits->types, gpus->type);
    struct slot slot = {.type = type,
                        .gpus = (int32_t) gpus->count,
                        .idle = (int32_t) dn_node_idle_gpus (node, gpus),
                        .up = node->up};
    struct pool *pool = &waits->pools[type < 0 ? 0 : type];

    if (type < 0 || gpus->count <= 0)
        return 0;
    if (dn_rows_add (waits->slots, waits->n_slots, slot, NULL) < 0)
        return -1;
    if (slot.gpus > pool->per_node)
        pool->per_node = slot.gpus;
    pool->up = pool->up || slot.up;
    pool->idle += slot.up ? slot.idle : 0;
    pool->idle_nodes += slot.up && slot.idle >= slot.gpus;
    return 0;
}

int dn_waits_add_node (struct dn_waits *waits,
                       const struct dn_link_node *node,
                       struct dn_err *err)
{
    struct dn_gres gres = dn_gres_read (node->gres);
    int32_t n_names = waits->names.n;
    int failed;

    if (gres.n_gpus == 0 || !node->name)
        return 0;
    failed = dn_interned_put (&waits->names, node->name) < 0;
    if (waits->names.n == n_names && !failed)
        return 0; /* a second time */
    if (n_names == 0)
        failed = failed || dn_rows_grow (&waits->first, 0, sizeof (int32_t), NULL) < 0;
    failed =
        failed || dn_rows_grow (&waits->first, n_names + 1, sizeof (int32_t), NULL) < 0;
    if (!failed)
        waits->first[n_names] = waits->n_slots;
    for (int i = 0; i < gres.n_gpus && !failed; i++)
        failed = add_slot (waits, node, &gres.gpus[i]) < 0;
    if (failed)
        return dn_refuse (err, no_memory_for, "nodes");
    waits->first[waits->names.n] = waits->n_slots;
    return 0;
}

/* --- jobs ------------------------------------------------------------------------- */

static bool runs (const struct dn_link_job *job)
{
    return job->phase == DN_PHASE_RUNNING || job->phase == DN_PHASE_SUSPENDED;
}

static enum dn_job_shape shape_of (const struct dn_link_job *job,
                                   int64_t gpus,
                                   const struct pool *pool)
{
    if (job->n_nodes > 1)
        return DN_SHAPE_NODES;
    return gpus > 1 && 2 * gpus > pool->per_node ? DN_SHAPE_NODE : DN_SHAPE_GPU;
}

/* Type and number of the job's GPUs; of several types the one with most. TRES name a
 * type only where the site tracks it.
 */
static struct asked find_gpus (const struct dn_link_job *job)
{
    const char *const texts[] = {job->tres, job->gres};
    struct asked asked = {.n = 0};
    int64_t most = 0;

    for (size_t i = 0; i < DN_N_ELEMENTS (texts); i++) {
        const struct dn_gres gres = dn_gres_read (texts[i]);

        for (int j = 0; j < gres.n_gpus; j++) {
            const struct dn_gres_gpus *gpus = &gres.gpus[j];

            asked.n = gpus->count > asked.n ? gpus->count : asked.n;
            if (gpus->type[0] == '\0' || (asked.type[0] != '\0' && gpus->count <= most))
                continue;
            most = gpus->count;
            memcpy (asked.type, gpus->type, sizeof (asked.type));
        }
    }
    return asked;
}

static int64_t recent_of (const struct dn_link_job *job, int64_t now_s)
{
    int64_t wait_s = job->start - job->eligible;

    if (job->phase == DN_PHASE_PENDING || job->start <= 0 || job->eligible <= 0
        || job->start < now_s - DN_WAIT_RECENT_S || job->start > now_s
        || wait_s < DN_WAIT_AT_ONCE_S)
        return -1;
    return wait_s < DN_WAIT_MAX_S ? wait_s : DN_WAIT_MAX_S;
}

static void add_queued (struct dn_waits *waits,
                        const struct dn_link_job *job,
                        int64_t gpus,
                        uint64_t types,
                        int64_t now_s)
{
    for (int type = 0; type < DN_WAIT_TYPES_MAX; type++) {
        struct pool *pool = &waits->pools[type];
        struct line *line = &pool->lines[shape_of (job, gpus, pool)];

        if ((types >> type & 1) == 0)
            continue;
        line->n_queued++;
        if (job->start <= now_s)
            continue;
        line->n_expected++;
        if (job->start > line->latest)
            line->latest = job->start;
    }
}

/* A job that runs, or has started lately and has waited 'wait_s' (-1: not so), on one
 * node.
 */
static int add_on_node (struct dn_waits *waits,
                        const struct dn_link_job *job,
                        const struct asked *asked,
                        int32_t node,
                        int64_t wait_s,
                        int64_t now_s)
{
    int64_t gpus = asked->n / (job->n_nodes > 0 ? job->n_nodes : 1);
    int64_t end = job->end > now_s ? job->end : now_s + OVER_TIME_S;
    int32_t i = waits->first[node];
    struct slot *slot;
    struct recent recent;
    struct release release;

    while (i < waits->first[node + 1] && asked->type[0] != '\0'
           && strcmp (asked->type, waits->types.names[waits->slots[i].type]) != 0)
        i++;
    if (i == waits->first[node + 1])
        return 0;
    slot = &waits->slots[i];
    release = (struct release){slot->type, gpus > 0 ? (int32_t) gpus : 1, end};
    recent =
        (struct recent){slot->type,
                        (int32_t) shape_of (job, asked->n, &waits->pools[slot->type]),
                        (int32_t) wait_s};
    if (wait_s >= 0 && dn_rows_add (waits->recents, waits->n_recents, recent, NULL) < 0)
        return -1;
    if (!runs (job) || !slot->up)
        return 0;
    if (end > slot->free_at)
        slot->free_at = end;
    return dn_rows_add (waits->releases, waits->n_releases, release, NULL);
}

/* A job with nodes, on each of them. A job that names a type has the GPUs of that type,
 * another one those of the first type of the node.
 */
static int add_started (struct dn_waits *waits,
                        const struct dn_link_job *job,
                        const struct asked *asked,
                        int64_t wait_s,
                        int64_t now_s)
{
    struct dn_hosts hosts = dn_hosts_of (job->nodes);
    char name[DN_NAME_MAX];

    while (dn_hosts_next (&hosts, name)) {
        int32_t node = dn_interned_find (&waits->names, name);

        if (node >= 0 && add_on_node (waits, job, asked, node, wait_s, now_s) < 0)
            return -1;
        wait_s = -1;
        if (!runs (job))
            break;
    }
    return 0;
}

int dn_waits_add_job (struct dn_waits *waits,
                      const struct dn_cluster *cluster,
                      const struct dn_link_job *job,
                      int64_t now_s,
                      struct dn_err *err)
{
    bool queued = job->phase == DN_PHASE_PENDING && job->queued;
    int64_t wait_s = recent_of (job, now_s);
    struct asked asked;

    if (!queued && !runs (job) && wait_s < 0)
        return 0;
    asked = find_gpus (job);
    if (asked.n <= 0)
        return 0;
    if (!queued)
        return add_started (waits, job, &asked, wait_s, now_s) < 0 ? no_memory (err)
                                                                   : 0;
    add_queued (waits, job, asked.n, types_of (waits, cluster, job, asked.type), now_s);
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
static int64_t recent_wait (const struct dn_waits *waits,
                            int type,
                            int shape,
                            int64_t *n)
{
    int64_t from = 0;
    int64_t to;

    while (
        from < waits->n_recents
        && (waits->recents[from].type != type || waits->recents[from].shape != shape))
        from++;
    for (to = from; to < waits->n_recents && waits->recents[to].type == type
                    && waits->recents[to].shape == shape;)
        to++;
    *n = to - from;
    return *n > 0 ? waits->recents[from + *n / 2].wait_s : DN_UNSET;
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
static struct release *whole_nodes (const struct dn_waits *waits,
                                    int64_t now_s,
                                    int64_t *n)
{
    struct release *out = calloc ((size_t) waits->n_slots + 1, sizeof (*out));

    *n = 0;
    for (int32_t i = 0; out && i < waits->n_slots; i++) {
        const struct slot *slot = &waits->slots[i];

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
static int64_t wait_of (const struct dn_waits *waits,
                        int type,
                        enum dn_job_shape shape,
                        const struct release *releases,
                        int64_t n_releases,
                        int64_t now_s)
{
    const struct pool *pool = &waits->pools[type];
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
    recent = recent_wait (waits, type, (int) shape, &n_recent);
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

int dn_waits_fill (struct dn_waits *waits,
                   int64_t now_s,
                   struct dn_cluster *cluster,
                   struct dn_err *err)
{
    int64_t n_whole;
    dn_cleanup (dn_free_ptr) struct release *whole =
        whole_nodes (waits, now_s, &n_whole);

    cluster->waits = calloc ((size_t) waits->types.n + 1, sizeof (cluster->waits[0]));
    if (!whole || !cluster->waits)
        return no_memory (err);
    cluster->n_waits = waits->types.n;
    if (waits->n_releases > 0)
        qsort (waits->releases,
               (size_t) waits->n_releases,
               sizeof (waits->releases[0]),
               by_time);
    if (waits->n_recents > 0)
        qsort (waits->recents,
               (size_t) waits->n_recents,
               sizeof (waits->recents[0]),
               by_wait);
    for (int type = 0; type < waits->types.n; type++) {
        struct dn_wait *wait = &cluster->waits[type];

        memcpy (wait->type, waits->types.names[type], sizeof (wait->type));
        for (int shape = 0; shape < DN_N_SHAPES; shape++)
            wait->wait_s[shape] =
                wait_of (waits,
                         type,
                         (enum dn_job_shape) shape,
                         shape == DN_SHAPE_GPU ? waits->releases : whole,
                         shape == DN_SHAPE_GPU ? waits->n_releases : n_whole,
                         now_s);
        even_single (wait, waits->pools[type].per_node);
    }
    return 0;
}
