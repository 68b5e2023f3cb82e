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

/* Has a node of the snapshot that feature? Slurm refuses a job that requests another.
 */
static bool exists (const struct dn_cluster *cluster, const char *feature)
{
    for (int64_t i = 0; i < cluster->n_groups; i++)
        if (dn_list_has (cluster->groups[i].features, dn_span_of (feature)))
            return true;
    return false;
}

/* The feature that selects the type: as its line states it, or by the snapshot. */
static const char *feature_of (const struct dn_gpu_type *type,
                               const struct dn_cluster *cluster)
{
    const struct dn_wait *wait = cluster ? dn_cluster_wait (cluster, type->type) : NULL;

    if (type->by_feature[0] != '\0' && (!cluster || exists (cluster, type->by_feature)))
        return type->by_feature;
    return wait && wait->feature[0] != '\0' ? wait->feature : NULL;
}

/* Does the constraint, or the partition, name this type? */
static bool is_named (const struct dn_candidate *candidate,
                      const struct dn_request *request,
                      const struct dn_features *features)
{
    for (int i = 0; i < features->n_names; i++)
        if (dn_is_feature (candidate->feature, features->names[i]))
            return true;
    return dn_gpu_by_partition (candidate->gpu, request->job);
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
        bool is = is_named (candidate, request, features);

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
    for (int i = 0; i < types->n_types; i++) {
        candidates->list[i].requested = candidates->list[i].requested || !any;
        if (&types->types[i] == candidates->named)
            candidates->named_feature = candidates->list[i].feature;
    }
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
        if (types->types[i].by_partition[0] != '\0'
            && dn_list_has (list, dn_span_of (types->types[i].by_partition)))
            candidates->keep = DN_REASON (named_partition,
                                          dn_arg_text (types->types[i].by_partition),
                                          dn_arg_text (types->types[i].type));
}

/* Why the snapshot says that a partition would not take the job. */
static enum dn_reason_code refuses_job (const struct dn_asking *asking,
                                        const struct dn_partition *from,
                                        const struct dn_gpu_type *type)
{
    const struct dn_request *request = asking->request;
    struct dn_standing standing =
        dn_standing_of (asking->cluster, request->job, type->by_partition);
    const struct dn_partition *to = standing.partition;
    int64_t mem_mb = request->mem_per_node_mb;

    if (!to)
        return DN_REASON_move_no_partition;
    if (!to->up)
        return DN_REASON_move_down;
    if (!dn_standing_is_admitted (&standing))
        return DN_REASON_move_admission;
    if (to->max_nodes >= 0
        && (request->most_nodes == DN_UNSET || request->most_nodes > to->max_nodes))
        return DN_REASON_move_max_nodes;
    if ((to->max_mem_per_cpu_mb >= 0
         && (!from || from->max_mem_per_cpu_mb != to->max_mem_per_cpu_mb))
        || (to->max_mem_per_node_mb >= 0
            && (mem_mb == DN_UNSET || mem_mb > to->max_mem_per_node_mb)))
        return DN_REASON_move_max_mem;
    return DN_REASON_NONE;
}

/* Why the job cannot move to the partition of the type: options that the user did not
 * set would take that partition's defaults, and its limits would apply.
 */
static enum dn_reason_code refuses_partition (const struct dn_asking *asking,
                                              const struct dn_gpu_type *type)
{
    const struct dn_cluster *cluster = asking->cluster;
    const struct dn_request *request = asking->request;
    const struct dn_job *job = request->job;
    const struct dn_partition *to =
        cluster ? dn_cluster_partition (cluster, type->by_partition) : NULL;
    const struct dn_partition *from =
        cluster ? dn_cluster_partition (cluster, job->partition) : NULL;
    int64_t max_time_s =
        type->max_time_s == DN_UNSET && to ? to->max_time_s : type->max_time_s;

    if (type->by_partition[0] == '\0' || max_time_s == DN_UNSET)
        return DN_REASON_move_line_partition;
    if (request->time_limit_s == DN_UNSET)
        return DN_REASON_move_default_time;
    if (max_time_s != DN_UNLIMITED
        && (request->time_limit_s == DN_UNLIMITED
            || request->time_limit_s > max_time_s))
        return DN_REASON_move_max_time;
    if (job->memory_default && !(from && to && dn_partitions_same_memory (from, to)))
        return DN_REASON_move_default_mem;
    return cluster ? refuses_job (asking, from, type) : DN_REASON_NONE;
}

/* What the Gpu line lacks: a snapshot would say it, but there is none. */
static enum dn_reason_code lacks_keys (const struct dn_asking *asking,
                                       const struct dn_gpu_type *type)
{
    if (type->per_node == DN_UNSET || type->node_cpus == DN_UNSET
        || type->node_mem_mb == DN_UNSET)
        return DN_REASON_move_line;
    if (asking->request->n_excluded != 0 && type->n_nodes == DN_UNSET)
        return DN_REASON_move_line_nodes;
    if (!dn_gpu_has_partitions (type)
        && !dn_gpu_by_partition (asking->named, asking->request->job))
        return DN_REASON_move_line_partitions;
    return DN_REASON_NONE;
}

/* Why jobs cannot be moved to this type now, by what the admin states and what is known
 * of it, whatever room its nodes have.
 */
static enum dn_reason_code blocks (const struct dn_asking *asking,
                                   const struct dn_candidate *candidate)
{
    const struct dn_gpu_type *type = candidate->gpu;
    enum dn_reason_code code = DN_REASON_NONE;

    if (type->no_moves)
        return DN_REASON_move_off;
    if (candidate->unavailable)
        return DN_REASON_NONE;
    if (!asking->cluster)
        code = lacks_keys (asking, type);
    if (code == DN_REASON_NONE && asking->request->gpus_per_node == DN_UNSET)
        code = DN_REASON_move_unknown_gpus;
    if (code == DN_REASON_NONE
        && dn_gpu_by_partition (asking->named, asking->request->job))
        code = refuses_partition (asking, type);
    for (int i = 0; i < asking->features->n_names && !candidate->feature; i++)
        if (code == DN_REASON_NONE
            && dn_is_feature (asking->named_feature, asking->features->names[i]))
            code = DN_REASON_move_line_feature;
    return code;
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
    struct dn_asking asking;

    memset (candidates, 0, offsetof (struct dn_candidates, list[types->n_types]));
    candidates->n_candidates = types->n_types;
    for (int i = 0; i < types->n_types; i++) {
        candidates->list[i].gpu = &types->types[i];
        candidates->list[i].cost = types->types[i].cost;
        candidates->list[i].feature = feature_of (&types->types[i], cluster);
    }
    find_named (types, request, &features, candidates);
    keep_several (types, request, candidates);
    if (!plain)
        candidates->keep = DN_REASON (named_constraint);
    else if (candidates->named_feature
             && dn_script_has (&request->script, candidates->named_feature))
        candidates->keep =
            DN_REASON (script_feature, dn_arg_text (candidates->named_feature));
    asking = dn_asking_of (cluster, request, &features, candidates);
    for (int i = 0; i < types->n_types; i++) {
        struct dn_candidate *candidate = &candidates->list[i];
        const struct dn_reason room = dn_offer_fill (&asking, candidate);
        enum dn_reason_code code = blocks (&asking, candidate);

        candidate->blocked =
            code == DN_REASON_NONE ? room : (struct dn_reason){.code = code};
    }
    if (cluster)
        price (cluster, request->job, candidates);
}
