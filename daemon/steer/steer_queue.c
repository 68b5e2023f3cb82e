/* steer_queue.c - when the pending jobs start on their GPU types
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "steer/steer_queue.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/messages.h"
#include "hardware/offers.h"
#include "watch/lists.h"
#include "watch/node_groups.h"

/* A job without a limit, and one past it. */
#define FOREVER_S (INT64_C (365) * 86400)
#define OVER_S    60

/* A node that takes no job at once does so after this time. */
#define BUSY_S 300

/* Brackets in a constraint. */
#define DEPTH_MAX 4

#define KEY_MAX 2048

struct dn_steer_queue *dn_steer_queue_new (int64_t now_s, struct dn_err *err)
{
    struct dn_steer_queue *queue = calloc (1, sizeof (*queue));

    if (queue)
        queue->plan = dn_plan_new ();
    if (queue && queue->plan) {
        queue->now_s = now_s;
        return queue;
    }
    free (queue);
    dn_refuse (err, no_memory_for, "steer");
    return NULL;
}

void dn_steer_queue_free (struct dn_steer_queue *queue)
{
    if (!queue)
        return;
    for (int64_t i = 0; i < queue->n_kinds; i++) {
        free (queue->kinds[i].partitions);
        free (queue->kinds[i].features);
    }
    dn_plan_free (queue->plan);
    dn_interned_free (&queue->pool_names);
    dn_interned_free (&queue->kind_names);
    dn_interned_free (&queue->node_names);
    free (queue->kinds);
    free (queue->node_pools);
    free (queue->jobs);
    free (queue->at[0]);
    free (queue->at[1]);
    free (queue);
}

static int no_memory (struct dn_err *err)
{
    return dn_refuse (err, no_memory_for, "steer");
}

/* --- nodes ------------------------------------------------------------------------ */

/* The number of a text that is made of a type and two lists, and whether it is new; -1
 * without memory, or if it is too long.
 */
static int32_t number_of (struct dn_interned *names,
                          int type,
                          const char *a,
                          const char *b,
                          bool *fresh)
{
    char text[KEY_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));
    int32_t n = names->n;
    int32_t number;

    dn_buf_add (&buf, "%d\n%s\n%s", type, a ? a : "", b ? b : "");
    number = buf.cut ? -1 : dn_interned_put (names, text);
    *fresh = names->n > n;
    return number;
}

/* The pool of a node; -1: it has none. */
static int pool_of (struct dn_steer_queue *queue,
                    const struct dn_link_node *node,
                    const struct dn_gres_gpus *gpus)
{
    int type = dn_type_put (&queue->types, gpus->type);
    struct dn_steer_pool *pool;
    bool fresh;
    int32_t i;

    if (type < 0)
        return -1;
    i = number_of (&queue->pool_names, type, node->partitions, NULL, &fresh);
    if (i < 0 || i >= DN_PLAN_TYPES_MAX)
        return -1;
    pool = &queue->pools[i];
    if (fresh)
        *pool = (struct dn_steer_pool){.type = type};
    if (i >= queue->n_pools)
        queue->n_pools = i + 1;
    if (gpus->count > pool->max_gpus)
        pool->max_gpus = (int32_t) gpus->count;
    if (node->cpus > pool->max_cpus)
        pool->max_cpus = (int32_t) node->cpus;
    if (node->reserved_from > 0
        && (pool->reserved_from == 0 || node->reserved_from < pool->reserved_from))
        pool->reserved_from = node->reserved_from;
    return i;
}

static int note_kind (struct dn_steer_queue *queue,
                      const struct dn_link_node *node,
                      int pool,
                      struct dn_err *err)
{
    struct dn_steer_kind *kind;
    bool fresh;

    number_of (&queue->kind_names, pool, node->features, NULL, &fresh);
    if (!fresh)
        return 0;
    if (dn_rows_grow (&queue->kinds, queue->n_kinds, sizeof (*queue->kinds), err) < 0)
        return -1;
    kind = &queue->kinds[queue->n_kinds++];
    kind->pool = pool;
    kind->features = strdup (node->features ? node->features : "");
    kind->partitions = strdup (node->partitions ? node->partitions : "");
    return kind->features && kind->partitions ? 0 : no_memory (err);
}

/* No other job gets a node while it is reserved. */
static int put_node (struct dn_steer_queue *queue,
                     const struct dn_link_node *node,
                     const struct dn_gres_gpus *gpus,
                     int pool)
{
    const struct dn_plan_need none = {.nodes = 1};
    struct dn_plan_need idle = none;
    struct dn_link_node awake = *node;
    int32_t at;

    awake.busy = false;
    idle.gpus = (int32_t) dn_node_idle_gpus (&awake, gpus);
    idle.cpus = (int32_t) node->idle_cpus;
    idle.mem_mb = node->idle_mem_mb;
    at = dn_plan_node (queue->plan, pool, node->busy ? &none : &idle);
    if (at < 0
        || (node->busy
            && dn_plan_run (queue->plan, at, (double) (queue->now_s + BUSY_S), &idle, 0)
                   < 0)
        || (node->reserved_until > queue->now_s
            && dn_plan_reserve (queue->plan,
                                &none,
                                &at,
                                (double) node->reserved_from,
                                (double) (node->reserved_until - node->reserved_from))
                   < 0))
        return -1;
    return at;
}

/* A node with GPUs of several types counts with the first. */
int dn_steer_add_node (struct dn_steer_queue *queue,
                       const struct dn_link_node *node,
                       struct dn_err *err)
{
    struct dn_gres gres = dn_gres_read (node->gres);
    int32_t n_names = queue->node_names.n;
    int pool;

    if (gres.n_gpus == 0 || !node->name || !node->up || gres.gpus[0].count <= 0)
        return 0;
    pool = pool_of (queue, node, &gres.gpus[0]);
    if (pool < 0)
        return 0;
    if (note_kind (queue, node, pool, err) < 0
        || dn_rows_grow (
               &queue->node_pools, queue->n_nodes, sizeof (*queue->node_pools), err)
               < 0)
        return -1;
    if (dn_interned_put (&queue->node_names, node->name) != n_names)
        return 0; /* a second time */
    if (put_node (queue, node, &gres.gpus[0], pool) < 0)
        return no_memory (err);
    queue->guests[pool].gpus += (double) gres.gpus[0].count;
    queue->node_pools[queue->n_nodes++] = pool;
    return 0;
}

/* --- what a job asks for ---------------------------------------------------------- */

/* Do nodes with these features meet the constraint? Of several nodes all are taken to
 * be alike. Operators count from left to right, as in Slurm.
 */
/* NOLINTNEXTLINE(misc-no-recursion): at most DEPTH_MAX deep */
static bool meets (const char **at, const char *features, int depth)
{
    bool value = true;
    char with = '&';

    for (;;) {
        bool one = false;
        size_t len = strcspn (*at, "&|()[]*");

        if ((**at == '(' || **at == '[') && depth < DEPTH_MAX) {
            (*at)++;
            one = meets (at, features, depth + 1);
            if (**at != '\0')
                (*at)++;
        } else {
            one = dn_list_has (features, (struct dn_span){*at, len});
            *at += len;
        }
        if (**at == '*')
            *at += 1 + strspn (*at + 1, "0123456789");
        value = with == '&' ? value && one : value || one;
        if (**at != '&' && **at != '|')
            return value;
        with = *(*at)++;
    }
}

static bool kind_meets (const struct dn_steer_kind *kind,
                        const char *features,
                        const char *partitions)
{
    return dn_lists_meet (partitions ? partitions : "", kind->partitions)
           && (!features || features[0] == '\0'
               || meets (&features, kind->features, 0));
}

uint64_t dn_steer_pools (const struct dn_steer_queue *queue,
                         int type,
                         const char *features,
                         const char *partitions)
{
    uint64_t pools = 0;

    for (int64_t i = 0; i < queue->n_kinds; i++) {
        const struct dn_steer_kind *kind = &queue->kinds[i];
        uint64_t bit = UINT64_C (1) << kind->pool;

        if ((pools & bit) == 0
            && (type == DN_QUEUE_ANY || queue->pools[kind->pool].type == type)
            && kind_meets (kind, features, partitions))
            pools |= bit;
    }
    return pools;
}

static int32_t share (int64_t n, int64_t nodes)
{
    return n > 0 && n < INT32_MAX ? (int32_t) ((n + nodes - 1) / nodes) : 0;
}

/* What a job needs on each node, and the type that it names. */
static void set_need (struct dn_steer_queue *queue, struct dn_steer_job *job)
{
    const struct dn_link_job *link = &job->link;
    int64_t nodes = link->n_nodes > 0 ? link->n_nodes : 1;
    int64_t total = 0;

    job->need = (struct dn_plan_need){.nodes = (int32_t) nodes,
                                      .cpus = share (link->n_cpus, nodes),
                                      .mem_mb = link->node_mem_mb};
    if (link->node_cpus > job->need.cpus)
        job->need.cpus = (int32_t) link->node_cpus;
    job->type = DN_QUEUE_ANY;
    for (int i = 0; i < DN_N_TRES_PER && total == 0; i++) {
        struct dn_gres gres = dn_gres_read (link->tres_per[i]);

        for (int j = 0; j < gres.n_gpus; j++) {
            total += gres.gpus[j].count;
            if (gres.gpus[j].type[0] != '\0')
                job->type = dn_type_put (&queue->types, gres.gpus[j].type);
        }
        if (i == DN_TRES_PER_NODE || i == DN_TRES_PER_SOCKET)
            total *= nodes;
        else if (i == DN_TRES_PER_TASK)
            total *= link->n_tasks > 0 ? link->n_tasks : 1;
    }
    job->need.gpus = share (total, nodes);
    if (link->cpus_per_gpu * job->need.gpus > job->need.cpus)
        job->need.cpus = share (link->cpus_per_gpu * job->need.gpus, 1);
    if (link->mem_per_cpu_mb > 0)
        job->need.mem_mb = link->mem_per_cpu_mb * job->need.cpus;
    if (link->mem_per_gpu_mb > 0)
        job->need.mem_mb = link->mem_per_gpu_mb * job->need.gpus;
}

/* --- jobs ------------------------------------------------------------------------- */

static int add_running (struct dn_steer_queue *queue, struct dn_steer_job *job)
{
    struct dn_hosts hosts = dn_hosts_of (job->link.nodes);
    int64_t end = job->link.end > queue->now_s ? job->link.end : queue->now_s + OVER_S;
    char name[DN_NAME_MAX];

    if (job->link.phase == DN_PHASE_SUSPENDED)
        end = queue->now_s + FOREVER_S;
    while (dn_hosts_next (&hosts, name)) {
        int32_t node = dn_interned_find (&queue->node_names, name);

        if (node < 0)
            continue;
        dn_guests_add (&queue->guests[queue->node_pools[node]],
                       job->guest,
                       job->need.gpus,
                       (double) job->link.limit_s,
                       (double) (end - queue->now_s));
        if (dn_plan_run (queue->plan, node, (double) end, &job->need, job->link.raw_id)
            < 0)
            return -1;
    }
    return 0;
}

/* Those of "3,5-9,20-40:10%2" that may run at the same time. */
static int32_t count_tasks (const char *tasks)
{
    struct dn_span rest = dn_span_of (tasks);
    struct dn_span list = dn_span_cut (&rest, "%");
    struct dn_span piece;
    int64_t most = DN_STEER_DEPTH;
    int64_t n = 0;

    if (rest.text)
        dn_int_read (rest, "tasks", 1, DN_STEER_DEPTH, &most, NULL);
    while ((piece = dn_span_cut (&list, ",")).text) {
        struct dn_span first = dn_span_cut (&piece, "-");
        struct dn_span last = piece.text ? dn_span_cut (&piece, ":") : first;
        int64_t from = 0;
        int64_t to = 0;
        int64_t step = 1;

        if (dn_int_read (first, "tasks", 0, INT32_MAX, &from, NULL) < 0
            || dn_int_read (last, "tasks", from, INT32_MAX, &to, NULL) < 0)
            continue;
        if (piece.text)
            dn_int_read (piece, "tasks", 1, INT32_MAX, &step, NULL);
        n += (to - from) / step + 1;
    }
    n = n < most ? n : most;
    return n > 0 ? (int32_t) n : 1;
}

int dn_steer_add_job (struct dn_steer_queue *queue,
                      const struct dn_link_job *job,
                      bool guest,
                      struct dn_err *err)
{
    struct dn_steer_job kept = {
        .link = *job, .tasks = 1, .guest = guest, .start_s = NAN};
    bool pending = job->phase == DN_PHASE_PENDING;

    if (pending ? (!job->queued && !job->unseen) || job->priority == 0
                      || job->eligible > queue->now_s
                : job->phase != DN_PHASE_RUNNING && job->phase != DN_PHASE_SUSPENDED)
        return 0;
    set_need (queue, &kept);
    if (!pending)
        return add_running (queue, &kept) < 0 ? no_memory (err) : 0;
    if (kept.need.gpus == 0)
        return 0;
    if (job->pending_tasks)
        kept.tasks = count_tasks (job->pending_tasks);
    return dn_rows_add (queue->jobs, queue->n_jobs, kept, err);
}

const char *dn_steer_type_of (const struct dn_steer_queue *queue,
                              const struct dn_link_job *job)
{
    struct dn_hosts hosts = dn_hosts_of (job->nodes);
    char name[DN_NAME_MAX];
    int32_t node = -1;

    if (dn_hosts_next (&hosts, name))
        node = dn_interned_find (&queue->node_names, name);
    return node < 0 ? NULL
                    : queue->types.names[queue->pools[queue->node_pools[node]].type];
}

/* --- the plan --------------------------------------------------------------------- */

/* Slurm starts the older of two jobs of one priority. */
static int by_priority (const void *a, const void *b)
{
    const struct dn_link_job *x = &((const struct dn_steer_job *) a)->link;
    const struct dn_link_job *y = &((const struct dn_steer_job *) b)->link;

    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    return (x->raw_id > y->raw_id) - (x->raw_id < y->raw_id);
}

/* A job that has its nodes to itself needs the largest. */
static struct dn_plan_need need_in (const struct dn_steer_queue *queue,
                                    const struct dn_steer_job *job,
                                    int pool)
{
    struct dn_plan_need need = job->need;

    if (job->link.whole) {
        need.gpus = queue->pools[pool].max_gpus;
        need.cpus = queue->pools[pool].max_cpus;
    }
    return need;
}

double dn_steer_when (struct dn_steer_queue *queue,
                      const struct dn_steer_job *job,
                      uint64_t pools,
                      double length_s,
                      int *pool)
{
    double best = INFINITY;

    if (job->need.nodes > queue->n_nodes)
        return best;
    for (int i = 0; i < queue->n_pools && best > (double) queue->now_s; i++) {
        struct dn_plan_need need = need_in (queue, job, i);
        double start;

        if ((pools >> i & 1) == 0)
            continue;
        queue->n_calls++;
        start = dn_plan_when (
            queue->plan, &need, i, (double) queue->now_s, length_s, queue->at[0]);
        if (start < best) {
            int32_t *at = queue->at[1];

            best = start;
            *pool = i;
            queue->at[1] = queue->at[0];
            queue->at[0] = at;
        }
    }
    return best;
}

int dn_steer_put (struct dn_steer_queue *queue,
                  const struct dn_steer_job *job,
                  int pool,
                  double start_s,
                  double length_s)
{
    struct dn_plan_need need = need_in (queue, job, pool);

    dn_guests_add (&queue->guests[pool],
                   job->guest,
                   (double) need.gpus * need.nodes,
                   (double) job->link.limit_s,
                   length_s);
    if (start_s <= (double) queue->now_s)
        return dn_plan_start (
            queue->plan, &need, queue->at[1], start_s + length_s, job->link.raw_id);
    return dn_plan_reserve (queue->plan, &need, queue->at[1], start_s, length_s);
}

/* Pools of these in which not yet enough jobs are planned. */
static uint64_t not_full (const struct dn_steer_queue *queue, uint64_t pools)
{
    for (int i = 0; i < queue->n_pools; i++)
        if (queue->pools[i].n_planned >= DN_STEER_DEPTH)
            pools &= ~(UINT64_C (1) << i);
    return pools;
}

static int lay_job (struct dn_steer_queue *queue, struct dn_steer_job *job)
{
    uint64_t pools =
        dn_steer_pools (queue, job->type, job->link.features, job->link.partition);
    double length_s = (double) (job->link.limit_s > 0 ? job->link.limit_s : FOREVER_S);

    for (int32_t i = 0; i < job->tasks && pools != 0 && not_full (queue, pools); i++) {
        int pool = 0;
        double start = dn_steer_when (queue, job, pools, length_s, &pool);

        if (i == 0)
            job->start_s = start;
        if (isinf (start))
            break;
        queue->pools[pool].n_planned++;
        if (dn_steer_put (queue, job, pool, start, length_s) < 0)
            return -1;
    }
    return 0;
}

int dn_steer_lay (struct dn_steer_queue *queue, struct dn_err *err)
{
    size_t size = ((size_t) queue->n_nodes + 1) * sizeof (int32_t);

    queue->at[0] = malloc (size);
    queue->at[1] = malloc (size);
    if (!queue->at[0] || !queue->at[1])
        return no_memory (err);
    if (queue->n_jobs > 1)
        qsort (queue->jobs, (size_t) queue->n_jobs, sizeof (*queue->jobs), by_priority);
    for (int64_t i = 0; i < queue->n_jobs; i++)
        if (lay_job (queue, &queue->jobs[i]) < 0)
            return no_memory (err);
    return 0;
}
