/* queue.c - what the estimate of waits keeps of jobs and of nodes
 *
 * Some 50 bytes for each job with GPUs, and its list of nodes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "watch/waits.h"

#include <stdlib.h>
#include <string.h>

#include "base/fields.h"
#include "base/messages.h"
#include "watch/lists.h"
#include "watch/node_groups.h"

#define TEXTS_MAX (UINT32_C (1) << 28)

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

/* --- jobs ------------------------------------------------------------------------- */

struct dn_queue *dn_queue_new (void)
{
    return calloc (1, sizeof (struct dn_queue));
}

void dn_queue_free (struct dn_queue *queue)
{
    if (!queue)
        return;
    free (queue->jobs);
    dn_put_text_free (&queue->texts);
    free (queue);
}

/* Keep a text; 0 for NULL, an empty one, or without memory. */
static uint32_t keep_text (struct dn_queue *queue, const char *text)
{
    size_t len = text ? strlen (text) : 0;
    size_t at;

    if (queue->texts.len == 0)
        dn_put_text_add (&queue->texts, "", 1);
    at = queue->texts.len;
    if (len == 0 || len >= TEXTS_MAX - at
        || dn_put_text_add (&queue->texts, text, len + 1) < 0)
        return 0;
    return (uint32_t) at;
}

static int32_t partition_of (struct dn_queue *queue, const char *text)
{
    uint32_t at;

    if (!text)
        return DN_QUEUE_ANY;
    for (int i = 0; i < queue->n_partitions; i++)
        if (strcmp (queue->texts.text + queue->partitions[i], text) == 0)
            return i;
    if (queue->n_partitions == DN_QUEUE_PARTITIONS_MAX)
        return DN_QUEUE_ANY;
    at = keep_text (queue, text);
    if (at == 0)
        return DN_QUEUE_ANY;
    queue->partitions[queue->n_partitions] = at;
    return queue->n_partitions++;
}

/* Set type and number of the job's GPUs; of several types the one with most. False: it
 * has none. TRES name a type only where the site tracks it.
 */
static bool find_gpus (struct dn_queue *queue,
                       const struct dn_link_job *from,
                       struct dn_queue_job *job)
{
    const char *const texts[] = {from->tres, from->gres};
    const struct dn_gres_gpus *best = NULL;
    struct dn_gres gres[DN_N_ELEMENTS (texts)];
    int64_t total = 0;

    for (size_t i = 0; i < DN_N_ELEMENTS (texts); i++) {
        gres[i] = dn_gres_read (texts[i]);
        for (int j = 0; j < gres[i].n_gpus; j++) {
            const struct dn_gres_gpus *gpus = &gres[i].gpus[j];

            total = gpus->count > total ? gpus->count : total;
            if (gpus->type[0] != '\0' && (!best || gpus->count > best->count))
                best = gpus;
        }
    }
    job->gpus = (int32_t) (best && best->count > total ? best->count : total);
    job->type = best ? dn_type_put (&queue->types, best->type) : DN_QUEUE_ANY;
    return job->gpus > 0;
}

static int32_t recent_wait (const struct dn_link_job *job, int64_t now_s)
{
    int64_t wait_s = job->start - job->eligible;

    if (job->phase == DN_PHASE_PENDING || job->start <= 0 || job->eligible <= 0
        || job->start < now_s - DN_WAIT_RECENT_S || job->start > now_s)
        return -1;
    if (wait_s < DN_WAIT_AT_ONCE_S)
        return -1;
    return (int32_t) (wait_s < DN_WAIT_MAX_S ? wait_s : DN_WAIT_MAX_S);
}

int dn_queue_add (struct dn_queue *queue,
                  const struct dn_link_job *job,
                  int64_t now_s,
                  struct dn_err *err)
{
    struct dn_queue_job kept = {.start = job->start, .end = job->end};

    kept.queued = job->phase == DN_PHASE_PENDING && job->queued;
    kept.runs = job->phase == DN_PHASE_RUNNING || job->phase == DN_PHASE_SUSPENDED;
    kept.wait_s = recent_wait (job, now_s);
    if ((!kept.queued && !kept.runs && kept.wait_s < 0)
        || !find_gpus (queue, job, &kept))
        return 0;
    kept.n_nodes = job->n_nodes > 0 ? (int32_t) job->n_nodes : 1;
    kept.partition = partition_of (queue, job->partition);
    kept.nodes = kept.queued ? 0 : keep_text (queue, job->nodes);
    if (dn_rows_grow (&queue->jobs, queue->n_jobs, sizeof (kept), err) < 0)
        return -1;
    queue->jobs[queue->n_jobs++] = kept;
    return 0;
}

/* --- nodes ------------------------------------------------------------------------ */

struct dn_gpu_nodes *dn_gpu_nodes_new (void)
{
    return calloc (1, sizeof (struct dn_gpu_nodes));
}

void dn_gpu_nodes_free (struct dn_gpu_nodes *nodes)
{
    if (!nodes)
        return;
    dn_interned_free (&nodes->names);
    free (nodes->slots);
    free (nodes->first);
    free (nodes);
}

/* Note the GPUs of one type; -1 without memory. */
static int add_slot (struct dn_gpu_nodes *nodes,
                     const struct dn_link_node *node,
                     const struct dn_gres_gpus *gpus)
{
    int type = dn_type_put (&nodes->types, gpus->type);

    if (type < 0 || gpus->count <= 0)
        return 0;
    if (dn_rows_grow (&nodes->slots, nodes->n_slots, sizeof (nodes->slots[0]), NULL)
        < 0)
        return -1;
    nodes->slots[nodes->n_slots++] =
        (struct dn_gpu_slot){.type = type,
                             .gpus = (int32_t) gpus->count,
                             .idle = (int32_t) dn_node_idle_gpus (node, gpus),
                             .up = node->up};
    return 0;
}

int dn_gpu_nodes_add (struct dn_gpu_nodes *nodes,
                      const struct dn_link_node *node,
                      struct dn_err *err)
{
    struct dn_gres gres = dn_gres_read (node->gres);
    int32_t n_names = nodes->names.n;
    int failed;

    if (gres.n_gpus == 0 || !node->name)
        return 0;
    failed = dn_interned_put (&nodes->names, node->name) < 0;
    if (nodes->names.n == n_names && !failed)
        return 0; /* a second time */
    if (n_names == 0)
        failed = failed || dn_rows_grow (&nodes->first, 0, sizeof (int32_t), NULL) < 0;
    failed =
        failed || dn_rows_grow (&nodes->first, n_names + 1, sizeof (int32_t), NULL) < 0;
    if (!failed)
        nodes->first[n_names] = nodes->n_slots;
    for (int i = 0; i < gres.n_gpus && !failed; i++)
        failed = add_slot (nodes, node, &gres.gpus[i]) < 0;
    if (failed)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory_for, "nodes");
    nodes->first[nodes->names.n] = nodes->n_slots;
    return 0;
}
