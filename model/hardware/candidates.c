/* candidates.c - which of the site's GPU types can run a request
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hardware/hardware.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/messages.h"
#include "hardware/billing.h"
#include "hardware/offers.h"
#include "hardware/standing.h"

static bool names_partition (const char *list, const char *name)
{
    return name[0] != '\0' && dn_list_has (list, dn_span_of (name));
}

/* Does the constraint, or the partition, name this type? */
static bool is_named (const struct dn_gpu_type *type,
                      const struct dn_request *request,
                      const struct dn_features *features)
{
    for (int i = 0; i < features->n_names; i++)
        if (dn_gpu_by_feature (type, features->names[i]))
            return true;
    return dn_gpu_by_partition (type, request->job);
}

/* Mark the types that the request names: by the gres type, else by partition and
 * constraint, else all. Where a request names two types, they contradict each other or
 * leave the choice to Slurm.
 */
static void find_named (const struct dn_gpu_types *types,
                        const struct dn_request *request,
                        const struct dn_features *features,
                        struct dn_candidates *candidates)
{
    const struct dn_gpu_type *named = dn_gpu_types_find (types, request->gpu_type);
    bool typed = request->gpu_type[0] != '\0';
    bool any = typed;

    candidates->named = named;
    for (int i = 0; i < types->n_types; i++) {
        const struct dn_gpu_type *type = &types->types[i];
        struct dn_candidate *candidate = &candidates->list[i];
        bool is = is_named (type, request, features);

        candidate->requested = typed ? type == named : is;
        if (!is)
            continue;
        any = true;
        if (candidates->named && candidates->named != type)
            candidates->keep = DN_REASON (named_twice,
                                          dn_arg_text (candidates->named->type),
                                          dn_arg_text (type->type));
        if (!candidates->named)
            candidates->named = type;
    }
    for (int i = 0; i < types->n_types && !any; i++)
        candidates->list[i].requested = true;
    if (!any)
        candidates->keep = DN_REASON (named_none);
}

/* A job that names several partitions starts in any of them: a partition of one type
 * then leaves the type to Slurm.
 */
static void keep_several (const struct dn_gpu_types *types,
                          const struct dn_request *request,
                          struct dn_candidates *candidates)
{
    const char *list = request->job->partition;
    int n = 1;

    if (!list || !memchr (list, ',', strnlen (list, DN_PARTITIONS_TEXT_MAX + 1)))
        return;
    if (strnlen (list, DN_PARTITIONS_TEXT_MAX + 1) > DN_PARTITIONS_TEXT_MAX)
        n = DN_PARTITIONS_MAX + 1;
    for (const char *c = list; n <= DN_PARTITIONS_MAX && (c = strchr (c, ',')); c++)
        n++;
    if (n > DN_PARTITIONS_MAX) {
        candidates->keep =
            DN_REASON (named_partitions, dn_arg_count (DN_PARTITIONS_MAX));
        return;
    }
    for (int i = 0; i < types->n_types; i++)
        if (names_partition (list, types->types[i].by_partition))
            candidates->keep = DN_REASON (named_partition,
                                          dn_arg_text (types->types[i].by_partition),
                                          dn_arg_text (types->types[i].type));
}

/* The longest limit in the partition that selects the type; DN_UNSET if unknown. */
static int64_t max_time (const struct dn_gpu_type *type,
                         const struct dn_partition *partition)
{
    return type->max_time_s != DN_UNSET || !partition ? type->max_time_s
                                                      : partition->max_time_s;
}

/* Does a job that requests no memory get the same in both partitions? */
static bool same_memory (const struct dn_partition *a, const struct dn_partition *b)
{
    return a && b && a->def_mem_per_cpu_mb == b->def_mem_per_cpu_mb
           && a->def_mem_per_node_mb == b->def_mem_per_node_mb;
}

/* Block a move to a partition that the snapshot says would not take the job. */
static void block_standing (const struct dn_cluster *cluster,
                            const struct dn_partition *from,
                            const struct dn_gpu_type *type,
                            const struct dn_request *request,
                            struct dn_reason *reason)
{
    struct dn_standing standing =
        dn_standing_of (cluster, request->job, type->by_partition);
    const struct dn_partition *partition = standing.partition;
    int64_t mem_mb = request->mem_per_node_mb;

    if (!partition)
        *reason = DN_REASON (move_no_partition);
    else if (!partition->up)
        *reason = DN_REASON (move_down);
    else if (!dn_standing_is_admitted (&standing))
        *reason = DN_REASON (move_admission);
    else if (partition->max_nodes >= 0
             && (request->most_nodes == DN_UNSET
                 || request->most_nodes > partition->max_nodes))
        *reason = DN_REASON (move_max_nodes);
    else if ((partition->max_mem_per_cpu_mb >= 0
              && (!from || from->max_mem_per_cpu_mb != partition->max_mem_per_cpu_mb))
             || (partition->max_mem_per_node_mb >= 0
                 && (mem_mb == DN_UNSET || mem_mb > partition->max_mem_per_node_mb)))
        *reason = DN_REASON (move_max_mem);
}

/* A move to another partition: options that the user did not set would take that
 * partition's defaults, and its limits would apply.
 */
static void block_partition (const struct dn_cluster *cluster,
                             const struct dn_gpu_type *type,
                             const struct dn_request *request,
                             struct dn_reason *reason)
{
    const struct dn_job *job = request->job;
    const struct dn_partition *to =
        cluster ? dn_cluster_partition (cluster, type->by_partition) : NULL;
    const struct dn_partition *from =
        cluster ? dn_cluster_partition (cluster, job->partition) : NULL;
    int64_t max_time_s = max_time (type, to);

    if (type->by_partition[0] == '\0' || max_time_s == DN_UNSET)
        *reason = DN_REASON (move_line_partition);
    else if (request->time_limit_s == DN_UNSET)
        *reason = DN_REASON (move_default_time);
    else if (max_time_s != DN_UNLIMITED
             && (request->time_limit_s == DN_UNLIMITED
                 || request->time_limit_s > max_time_s))
        *reason = DN_REASON (move_max_time);
    else if (job->memory_default && !same_memory (from, to))
        *reason = DN_REASON (move_default_mem);
    else if (cluster)
        block_standing (cluster, from, type, request, reason);
}

/* Block a type whose nodes may not meet the constraint. A snapshot has the features of
 * its nodes, but not which of them selects the type.
 */
static void block_features (const struct dn_cluster *cluster,
                            const struct dn_gpu_type *type,
                            const struct dn_features *features,
                            const struct dn_gpu_type *named,
                            struct dn_reason *reason)
{
    for (int i = 0; i < features->n_names; i++) {
        struct dn_span name = features->names[i];

        if (dn_gpu_by_feature (named, name) && type->by_feature[0] == '\0')
            *reason = DN_REASON (move_line_feature);
        else if (!cluster && !dn_gpu_by_feature (named, name)
                 && !dn_list_has (type->features, name))
            *reason = DN_REASON (move_feature, dn_arg_span (name));
    }
}

/* Are all partitions that the job names among the type's? */
static bool has_partitions (const struct dn_gpu_type *type, const struct dn_job *job)
{
    return strcmp (type->partitions, "ALL") == 0
           || dn_list_has_partitions (type->partitions, job->partition);
}

/* Block a type that the job cannot reach from its partition, or by its constraint. */
static void block_place (const struct dn_gpu_type *type,
                         const struct dn_request *request,
                         const struct dn_cluster *cluster,
                         const struct dn_features *features,
                         const struct dn_gpu_type *named,
                         struct dn_reason *reason)
{
    if (dn_gpu_by_partition (named, request->job))
        block_partition (cluster, type, request, reason);
    else if (!cluster && type->partitions[0] == '\0')
        *reason = DN_REASON (move_line_partitions);
    else if (!cluster && !has_partitions (type, request->job))
        *reason = DN_REASON (move_partition);
    if (reason->code == DN_REASON_NONE)
        block_features (cluster, type, features, named, reason);
}

/* Can jobs be moved to nodes of this type now? This is the only place that decides it:
 * by what the admin states (MoveTo) and what a snapshot says of its nodes.
 */
static bool is_available (const struct dn_candidate *candidate,
                          const struct dn_reason *away,
                          struct dn_reason *reason)
{
    if (candidate->gpu->no_moves)
        *reason = DN_REASON (move_off);
    else if (candidate->unavailable)
        *reason = *away;
    return reason->code == DN_REASON_NONE;
}

/* Block a type that may not have enough nodes. All excluded nodes may be of it. */
static void block_count (const struct dn_gpu_type *type,
                         const struct dn_request *request,
                         struct dn_reason *reason)
{
    bool excludes = request->n_excluded != 0;
    int64_t needed = excludes ? request->most_nodes : request->job->min_nodes;

    if (excludes && (type->n_nodes == DN_UNSET || request->n_excluded == DN_UNSET))
        *reason = DN_REASON (move_line_nodes);
    else if (excludes
             && (needed == DN_UNSET || needed > type->n_nodes - request->n_excluded))
        *reason = DN_REASON (move_excluded,
                             dn_arg_count (request->n_excluded),
                             dn_arg_count (type->n_nodes));
    else if (type->n_nodes != DN_UNSET && needed > type->n_nodes)
        *reason =
            DN_REASON (move_nodes, dn_arg_count (needed), dn_arg_count (type->n_nodes));
}

/* Block a type whose nodes may lack parts that the request specifies. */
static void block_parts (const struct dn_gpu_type *type,
                         const struct dn_job *job,
                         struct dn_reason *reason)
{
    if (job->whole_cores && type->threads_per_core == DN_UNSET)
        *reason = DN_REASON (move_line_threads);
    else if (job->tmp_disk_mb > 0 && type->node_tmp_mb == DN_UNSET)
        *reason = DN_REASON (move_line_tmp);
    else if (job->tmp_disk_mb > type->node_tmp_mb)
        *reason = DN_REASON (move_shape,
                             dn_arg_count (job->tmp_disk_mb),
                             dn_arg_text (dn_say_node_disk),
                             dn_arg_count (type->node_tmp_mb));
}

/* A job that requests whole cores gets all threads of each, and uses one. */
static int64_t usable_cpus (const struct dn_gpu_type *type, const struct dn_job *job)
{
    if (!job->whole_cores || type->node_cpus == DN_UNSET)
        return type->node_cpus;
    return type->threads_per_core > 0 ? type->node_cpus / type->threads_per_core
                                      : DN_UNSET;
}

/* Why the request cannot run on nodes of this type; none when it can. */
static void find_block (const struct dn_gpu_type *type,
                        const struct dn_request *request,
                        struct dn_reason *reason)
{
    if (type->per_node == DN_UNSET || type->node_cpus == DN_UNSET
        || type->node_mem_mb == DN_UNSET)
        *reason = DN_REASON (move_line);
    else if (request->gpus_per_node == DN_UNSET)
        *reason = DN_REASON (move_unknown_gpus);
    else if (request->gpus_per_node > type->per_node)
        *reason = DN_REASON (move_shape,
                             dn_arg_count (request->gpus_per_node),
                             dn_arg_text (dn_say_node_gpus),
                             dn_arg_count (type->per_node));
    else if (request->mem_per_node_mb > type->node_mem_mb)
        *reason = DN_REASON (move_shape,
                             dn_arg_count (request->mem_per_node_mb),
                             dn_arg_text (dn_say_node_memory),
                             dn_arg_count (type->node_mem_mb));
    else
        block_parts (type, request->job, reason);
    if (reason->code == DN_REASON_NONE)
        block_count (type, request, reason);
}

/* What is known of the nodes, and why they cannot run the request. */
static void fill_candidate (const struct dn_cluster *cluster,
                            const struct dn_request *request,
                            const struct dn_features *features,
                            const struct dn_gpu_type *named,
                            struct dn_candidate *candidate)
{
    const struct dn_gpu_type *type = candidate->gpu;
    struct dn_reason room = DN_NO_REASON;

    candidate->node_cpus = usable_cpus (type, request->job);
    candidate->node_mem_mb = type->node_mem_mb;
    candidate->idle_cpus = DN_UNSET;
    if (cluster) {
        struct dn_asking asking = dn_asking_of (cluster, request, features, named);

        dn_offer_fill (&asking, candidate, &room);
    }
    if (is_available (candidate, &room, &candidate->blocked)) {
        if (!cluster)
            find_block (type, request, &candidate->blocked);
        else if (request->gpus_per_node == DN_UNSET)
            candidate->blocked = DN_REASON (move_unknown_gpus);
    }
    if (candidate->blocked.code == DN_REASON_NONE)
        block_place (type, request, cluster, features, named, &candidate->blocked);
    if (candidate->blocked.code == DN_REASON_NONE)
        candidate->blocked = room;
}

/* The weights of the partition that a job on that type would be in. */
static const char *weights_of (const struct dn_cluster *cluster,
                               const struct dn_job *job,
                               const struct dn_candidates *candidates,
                               const struct dn_gpu_type *type)
{
    const char *name =
        dn_gpu_by_partition (candidates->named, job) && type->by_partition[0] != '\0'
            ? type->by_partition
            : job->partition;
    const struct dn_partition *partition =
        name ? dn_cluster_partition (cluster, name) : NULL;

    return partition ? partition->weights : "";
}

/* Where no Gpu line states a Cost, the TRESBillingWeights of the partition are prices,
 * if all types have one: weights and the costs of the catalogue have no common unit.
 */
static void price (const struct dn_cluster *cluster,
                   const struct dn_job *job,
                   struct dn_candidates *candidates)
{
    double prices[DN_CANDIDATES_MAX] = {0};
    int n = 0;

    for (int i = 0; i < candidates->n_candidates; i++) {
        const struct dn_gpu_type *type = candidates->list[i].gpu;

        if (type->cost_stated)
            return;
        prices[i] =
            dn_billing_gpu (weights_of (cluster, job, candidates, type), type->type);
        n += prices[i] >= 0;
    }
    if (n > 0 && n < candidates->n_candidates)
        candidates->prices = DN_REASON (
            prices_some, dn_arg_count (n), dn_arg_count (candidates->n_candidates));
    for (int i = 0; n == candidates->n_candidates && i < n; i++)
        candidates->list[i].cost = prices[i];
}

void dn_hardware_candidates (const struct dn_gpu_types *types,
                             const struct dn_request *request,
                             const struct dn_cluster *cluster,
                             struct dn_candidates *candidates)
{
    struct dn_features features;
    bool plain = dn_features_read (request->job->features, &features);

    memset (candidates, 0, offsetof (struct dn_candidates, list[types->n_types]));
    candidates->n_candidates = types->n_types;
    find_named (types, request, &features, candidates);
    keep_several (types, request, candidates);
    if (!plain)
        candidates->keep = DN_REASON (named_constraint);
    else if (candidates->named && candidates->named->by_feature[0] != '\0'
             && dn_script_has (&request->script, candidates->named->by_feature))
        candidates->keep =
            DN_REASON (script_feature, dn_arg_text (candidates->named->by_feature));
    for (int i = 0; i < types->n_types; i++) {
        struct dn_candidate *candidate = &candidates->list[i];

        candidate->gpu = &types->types[i];
        candidate->cost = candidate->gpu->cost;
        fill_candidate (cluster, request, &features, candidates->named, candidate);
    }
    if (cluster)
        price (cluster, request->job, candidates);
}
