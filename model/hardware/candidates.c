/* candidates.c - the site's GPU types, and which of them can hold a request
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hardware/hardware.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct dn_gpu_key gpu_keys[] = {
    {"Type", "gres type, as gres.conf spells it"},
    {"Device", "name in the hardware catalogue"},
    {"Cost", "price of one GPU hour in the site's unit; the catalogue's if not stated"},
    {"PerNode", "GPUs of this type on one node; needed to move jobs to it"},
    {"Nodes", "number of nodes with this type"},
    {"NodeCpus", "CPUs of one such node; needed to move jobs to it"},
    {"NodeMemory", "memory of one such node in MB; needed to move jobs to it"},
    {"Partitions",
     "partitions that have this type, separated by commas, or ALL; needed to move "
     "jobs to it"},
    /* End of gpu_keys */
};

const struct dn_gpu_key *dn_gpu_keys (int *n_keys)
{
    *n_keys = (int) DN_N_ELEMENTS (gpu_keys);
    return gpu_keys;
}

static int read_device (struct dn_span value,
                        const struct dn_catalogue *catalogue,
                        struct dn_gpu_type *type,
                        struct dn_err *err)
{
    char name[DN_NAME_MAX];

    if (dn_span_copy (value, name, sizeof (name), "Device", err) < 0)
        return -1;
    type->device = dn_catalogue_find (catalogue, name);
    if (!type->device)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "Device: '%s' is not in the hardware catalogue",
                           dn_quote (value.text, value.len).text);
    return 0;
}

static int read_pair (const struct dn_pair *pair,
                      const struct dn_catalogue *catalogue,
                      struct dn_gpu_type *type,
                      struct dn_err *err)
{
    const int64_t most = 1000000000;

    if (dn_span_is (pair->key, "Type"))
        return dn_span_copy (pair->value, type->type, sizeof (type->type), "Type", err);
    if (dn_span_is (pair->key, "Device"))
        return read_device (pair->value, catalogue, type, err);
    if (dn_span_is (pair->key, "Cost"))
        return dn_real_read (pair->value, "Cost", 0, 1e6, &type->cost, err);
    if (dn_span_is (pair->key, "PerNode"))
        return dn_int_read (pair->value, "PerNode", 1, most, &type->per_node, err);
    if (dn_span_is (pair->key, "Nodes"))
        return dn_int_read (pair->value, "Nodes", 1, most, &type->n_nodes, err);
    if (dn_span_is (pair->key, "NodeCpus"))
        return dn_int_read (pair->value, "NodeCpus", 1, most, &type->node_cpus, err);
    if (dn_span_is (pair->key, "NodeMemory"))
        return dn_int_read (
            pair->value, "NodeMemory", 1, most, &type->node_mem_mb, err);
    if (dn_span_is (pair->key, "Partitions"))
        return dn_span_copy (pair->value,
                             type->partitions,
                             sizeof (type->partitions),
                             "Partitions",
                             err);
    return dn_err_set (err,
                       DN_E_RANGE,
                       "unknown key '%s' of a Gpu line",
                       dn_quote (pair->key.text, pair->key.len).text);
}

int dn_gpu_types_add (struct dn_gpu_types *types,
                      const struct dn_keyline *line,
                      const struct dn_catalogue *catalogue,
                      struct dn_err *err)
{
    struct dn_gpu_type type = {.cost = -1,
                               .per_node = DN_UNSET,
                               .n_nodes = DN_UNSET,
                               .node_cpus = DN_UNSET,
                               .node_mem_mb = DN_UNSET};

    for (int i = 0; i < line->n_pairs; i++)
        if (read_pair (&line->pairs[i], catalogue, &type, err) < 0)
            return -1;
    if (type.type[0] == '\0' || !type.device)
        return dn_err_set (err, DN_E_SYNTAX, "a Gpu line needs Type= and Device=");
    if (dn_gpu_types_find (types, type.type))
        return dn_err_set (err, DN_E_RANGE, "Type: '%s' is mapped twice", type.type);
    if (types->n_types == DN_CANDIDATES_MAX)
        return dn_err_set (
            err, DN_E_LIMIT, "more than %d Gpu lines", DN_CANDIDATES_MAX);
    if (type.cost < 0)
        type.cost = type.device->cost;
    types->types[types->n_types++] = type;
    return 0;
}

/* Gres types are case-sensitive in Slurm. */
const struct dn_gpu_type *dn_gpu_types_find (const struct dn_gpu_types *types,
                                             const char *type)
{
    for (int i = 0; i < types->n_types; i++)
        if (strcmp (types->types[i].type, type) == 0)
            return &types->types[i];
    return NULL;
}

static bool in_list (const char *list, const char *word)
{
    struct dn_span rest = dn_span_of (list);
    size_t len = strlen (word);

    while (rest.text) {
        struct dn_span piece = dn_span_trim (dn_span_cut (&rest, ","));

        if (piece.len == len && memcmp (piece.text, word, len) == 0)
            return true;
    }
    return false;
}

/* Why the request cannot run on nodes of this type; empty when it can. */
static void find_block (const struct dn_gpu_type *type,
                        const struct dn_request *request,
                        char reason[DN_REASON_MAX])
{
    const char *partition = request->job->partition;

    reason[0] = '\0';
    if (type->per_node == DN_UNSET || type->node_cpus == DN_UNSET
        || type->node_mem_mb == DN_UNSET || type->partitions[0] == '\0')
        snprintf (reason,
                  DN_REASON_MAX,
                  "its Gpu line lacks PerNode, NodeCpus, NodeMemory or Partitions");
    else if (request->gpus_per_node == DN_UNSET)
        snprintf (reason, DN_REASON_MAX, "the GPUs per node of the request are open");
    else if (request->gpus_per_node > type->per_node)
        snprintf (reason,
                  DN_REASON_MAX,
                  "%" PRId64 " GPUs on a node, it has %" PRId64,
                  request->gpus_per_node,
                  type->per_node);
    else if (request->mem_per_node_mb > type->node_mem_mb)
        snprintf (reason,
                  DN_REASON_MAX,
                  "%" PRId64 " MB on a node, it has %" PRId64,
                  request->mem_per_node_mb,
                  type->node_mem_mb);
    else if (type->n_nodes != DN_UNSET && request->job->min_nodes > type->n_nodes)
        snprintf (reason,
                  DN_REASON_MAX,
                  "%" PRId64 " nodes, there are %" PRId64,
                  request->job->min_nodes,
                  type->n_nodes);
    else if (strcmp (type->partitions, "ALL") != 0
             && (!partition || !in_list (type->partitions, partition)))
        snprintf (reason, DN_REASON_MAX, "it is not in the job's partition");
}

void dn_hardware_candidates (const struct dn_gpu_types *types,
                             const struct dn_request *request,
                             struct dn_candidates *candidates)
{
    candidates->n_candidates = 0;
    for (int i = 0; i < types->n_types; i++) {
        struct dn_candidate *candidate = &candidates->list[candidates->n_candidates++];

        candidate->gpu = &types->types[i];
        candidate->requested = request->gpu_type[0] == '\0'
                               || strcmp (request->gpu_type, types->types[i].type) == 0;
        find_block (&types->types[i], request, candidate->blocked);
    }
}
