/* gpus.c - the GPUs of a submission: which type, how many
 *
 * The same GPUs may be counted in several fields ("--gpus=8 --gpus-per-node=4"). That
 * is one request as long as all name the same type, or none does, and the counts agree.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/nodes.h"

#include <stdio.h>
#include <string.h>

#include "base/messages.h"

/* The GPUs in the fields. */
struct found {
    int64_t count[DN_N_GPU_FIELDS]; /* DN_UNSET where there is no GPU */
    struct dn_span type;            /* of the first one */
    int n_entries;
    bool several; /* entries of one field, or types */
};

static void take_gpu (struct found *found, int field, const struct dn_tres *entry)
{
    if (found->n_entries++ == 0)
        found->type = entry->type;
    else if (entry->type.len != found->type.len
             || (entry->type.len > 0
                 && memcmp (entry->type.text, found->type.text, entry->type.len) != 0))
        found->several = true;
    if (found->count[field] != DN_UNSET)
        found->several = true;
    found->count[field] = entry->count;
}

static int read_field (struct dn_request *request,
                       int field,
                       struct found *found,
                       struct dn_err *err)
{
    struct dn_tres_list list;

    found->count[field] = DN_UNSET;
    if (dn_tres_read (request->job->tres[field], &list, err) < 0)
        return -1;
    for (int i = 0; i < list.n_entries; i++) {
        const struct dn_tres *entry = &list.entries[i];

        if (dn_span_is (entry->name, "shard") || dn_span_is (entry->name, "mps"))
            dn_reason_keep_code (&request->keep_gpu, DN_REASON_req_shares);
        if (entry->gpu)
            take_gpu (found, field, entry);
        else if (!entry->cpu)
            dn_reason_keep_code (&request->keep_gpu, DN_REASON_req_other_gres);
    }
    return 0;
}

/* How many times the count of 'field' applies to the whole job; DN_UNSET if unknown. */
static int64_t field_multiplier (const struct dn_request *request, int field)
{
    switch (field) {
    case DN_GPU_PER_JOB:
        return 1;
    case DN_GPU_PER_NODE:
        return request->n_nodes;
    case DN_GPU_PER_TASK:
        return request->n_tasks;
    default:
        return request->job->sockets_per_node > 0 ? dn_request_product (
                   request->job->sockets_per_node, request->n_nodes)
                                                  : DN_UNSET;
    }
}

/* The GPUs of the whole job, from all fields that give their number. */
static void count_gpus (struct dn_request *request, const struct found *found)
{
    for (int f = DN_GPU_PER_JOB; f < DN_N_GPU_FIELDS; f++) {
        int64_t all =
            found->count[f] == DN_UNSET
                ? DN_UNSET
                : dn_request_product (found->count[f], field_multiplier (request, f));

        if (found->count[f] != DN_UNSET && request->gpu_field == DN_GPU_NONE)
            request->gpu_field = (enum dn_gpu_field) f;
        if (all == DN_UNSET)
            continue;
        if (request->n_gpus == DN_UNSET) {
            request->n_gpus = all;
            request->gpu_field = (enum dn_gpu_field) f;
        } else if (request->n_gpus != all) {
            dn_reason_keep_code (&request->keep_gpu, DN_REASON_req_gpus_differ);
            dn_reason_keep_code (&request->keep_cpus, DN_REASON_req_gpus_differ);
        }
    }
}

/* Maximum number of GPUs on one node, also if they are spread unevenly. If the number
 * of nodes is unknown, one node may have all GPUs.
 */
static void count_on_node (struct dn_request *request, const struct found *found)
{
    if (found->count[DN_GPU_PER_NODE] != DN_UNSET)
        request->gpus_per_node = found->count[DN_GPU_PER_NODE];
    else if (request->n_gpus != DN_UNSET)
        request->gpus_per_node =
            request->n_nodes > 0
                ? (request->n_gpus + request->n_nodes - 1) / request->n_nodes
                : request->n_gpus;
}

int dn_request_read_gpus (struct dn_request *request, struct dn_err *err)
{
    struct found found = {.n_entries = 0};

    for (int f = DN_GPU_PER_JOB; f < DN_N_GPU_FIELDS; f++)
        if (read_field (request, f, &found, err) < 0)
            return -1;
    dn_request_read_nodes (request, found.count[DN_GPU_PER_JOB]);
    if (found.n_entries == 0) {
        request->n_gpus = 0;
        request->gpus_per_node = 0;
        request->open_why = DN_NO_REASON;
        dn_reason_keep_code (&request->keep_gpu, DN_REASON_no_gpu);
        return 0;
    }
    if (found.several) {
        dn_reason_keep_code (&request->keep_gpu, DN_REASON_req_gpus_entries);
        return 0;
    }
    count_gpus (request, &found);
    count_on_node (request, &found);
    dn_request_bound_nodes (request);
    return dn_span_copy (found.type,
                         request->gpu_type,
                         sizeof (request->gpu_type),
                         dn_say_tres_type,
                         err);
}
