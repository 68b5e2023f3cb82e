/* offers.c - what the nodes of a GPU type offer one request
 *
 * A type may have groups of nodes of different shapes, and a job runs on those that fit
 * it. How many CPUs it needs is decided later, and may be less than requested; so the
 * answer is the largest number of CPUs that enough nodes have: enough nodes have any
 * smaller number, too.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hardware/offers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/messages.h"

/* Numbers of CPUs that the fitting nodes of one type may have; nodes of further ones
 * count as nodes with fewer CPUs.
 */
#define COUNTS_MAX 16

/* Are all partitions that a job names in that list? NULL: it names none. */
static bool has_partitions (const char *list, const char *partitions)
{
    struct dn_span rest = {partitions, 0};

    if (!partitions)
        return false;
    rest.len = strnlen (partitions, DN_PARTITIONS_TEXT_MAX);
    for (int i = 0; i < DN_PARTITIONS_MAX && rest.text; i++)
        if (!dn_list_has (list, dn_span_trim (dn_span_cut (&rest, ","))))
            return false;
    return !rest.text;
}

/* Nodes by their number of CPUs, in falling order. */
struct counts {
    struct {
        int64_t cpus;
        int64_t n_nodes;
        int64_t n_idle;
    } of[COUNTS_MAX];
    int n;
};

/* The entry of 'cpus'; that of fewer where there is no room for another. */
static int entry_of (struct counts *counts, int64_t cpus)
{
    int at = 0;

    while (at < counts->n && counts->of[at].cpus > cpus)
        at++;
    if (at < counts->n && (counts->of[at].cpus == cpus || counts->n == COUNTS_MAX))
        return at;
    if (counts->n == COUNTS_MAX) {
        counts->of[at - 1].cpus = cpus;
        return at - 1;
    }
    memmove (&counts->of[at + 1],
             &counts->of[at],
             (size_t) (counts->n++ - at) * sizeof (counts->of[0]));
    counts->of[at].cpus = cpus;
    counts->of[at].n_nodes = counts->of[at].n_idle = 0;
    return at;
}

/* The largest number of CPUs that 'needed' nodes have. */
static int64_t most_cpus (const struct counts *counts, int64_t needed, bool idle)
{
    int64_t n = 0;

    for (int i = 0; i < counts->n; i++) {
        n += idle ? counts->of[i].n_idle : counts->of[i].n_nodes;
        if (n >= needed)
            return counts->of[i].cpus;
    }
    return DN_UNSET;
}

/* How far the best group comes that does not fit; what it lacks is the reason. */
enum step {
    STEP_NONE,      /* there is no group of the type */
    STEP_PARTITION, /* in the partition */
    STEP_FEATURES,
    STEP_SHAPE
};

/* The state of one pass. */
struct pass {
    const struct dn_asking *asking;
    const struct dn_gpu_type *type;
    struct counts counts;
    enum step step;
    int64_t n_all; /* nodes that fit */
    int64_t n_up;
    int64_t reserved_from; /* the first reservation that a job would run into */
    int64_t mem_mb;        /* the most of a node */
    int64_t idle_gpus;
    struct dn_reason why;
};

static int64_t stated (int64_t line, int64_t group)
{
    return line != DN_UNSET ? line : group;
}

/* Where gres have no types, partition or feature tell the type of a node. */
bool dn_gpu_is_on (const struct dn_gpu_type *type, const struct dn_node_group *group)
{
    if (group->type[0] != '\0')
        return strcmp (group->type, type->type) == 0;
    return (type->by_partition[0] != '\0'
            && dn_list_has (group->partitions, dn_span_of (type->by_partition)))
           || (type->by_feature[0] != '\0'
               && dn_list_has (group->features, dn_span_of (type->by_feature)));
}

/* Are the nodes in all partitions that the job names, or in that of the type? */
static bool is_in_partition (const struct pass *pass, const struct dn_node_group *group)
{
    const struct dn_job *job = pass->asking->request->job;
    const struct dn_gpu_type *type = pass->type;

    /* Without a snapshot ByPartition= is believed. */
    if (dn_gpu_by_partition (pass->asking->named, job))
        return !pass->asking->cluster
               || dn_list_has (group->partitions, dn_span_of (type->by_partition));
    return has_partitions (dn_gpu_has_partitions (type) ? type->partitions
                                                        : group->partitions,
                           job->partition);
}

/* Have the nodes the features that the constraint names, besides that of the type? */
static bool has_features (const struct pass *pass,
                          const struct dn_node_group *group,
                          struct dn_span *missing)
{
    const struct dn_features *features = pass->asking->features;
    const char *list =
        pass->type->features[0] != '\0' ? pass->type->features : group->features;

    for (int i = 0; i < features->n_names; i++) {
        *missing = features->names[i];
        if (!dn_is_feature (pass->asking->named_feature, *missing)
            && !dn_list_has (list, *missing))
            return false;
    }
    return true;
}

/* Does one node have the parts that the request needs? */
static bool has_shape (const struct pass *pass,
                       const struct dn_node_group *group,
                       struct dn_reason *why)
{
    const struct dn_request *request = pass->asking->request;
    const struct dn_job *job = request->job;
    const struct dn_gpu_type *type = pass->type;
    const struct {
        const char *what;
        int64_t needed;
        int64_t has;
    } parts[] = {
        {dn_say_node_gpus,
         request->gpus_per_node,
         stated (type->per_node, group->gpus)},
        {dn_say_node_memory,
         request->mem_per_node_mb,
         stated (type->node_mem_mb, group->mem_mb)},
        {dn_say_node_disk, job->tmp_disk_mb, stated (type->node_tmp_mb, group->tmp_mb)},
        {dn_say_node_cpus, 1, stated (type->node_cpus, group->cpus)},
        {dn_say_node_threads,
         job->whole_cores ? 1 : 0,
         stated (type->threads_per_core, group->threads_per_core)},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (parts); i++) {
        if (parts[i].needed <= 0 || parts[i].needed <= parts[i].has)
            continue;
        if (parts[i].has == DN_UNSET)
            *why = DN_REASON (move_shape_unknown, dn_arg_text (parts[i].what));
        else
            *why = DN_REASON (move_shape,
                              dn_arg_count (parts[i].needed),
                              dn_arg_text (parts[i].what),
                              dn_arg_count (parts[i].has));
        return false;
    }
    return true;
}

/* The CPUs of a node that the request can get. A job that requests whole cores gets all
 * threads of each, and uses one.
 */
static int64_t usable_cpus (const struct pass *pass, const struct dn_node_group *group)
{
    int64_t cpus = stated (pass->type->node_cpus, group->cpus);
    int64_t threads = stated (pass->type->threads_per_core, group->threads_per_core);

    return pass->asking->request->job->whole_cores ? cpus / threads : cpus;
}

/* Nodes of the group on which the request finds its GPUs idle, and their idle GPUs. */
static int64_t idle_nodes (const struct pass *pass,
                           const struct dn_node_group *group,
                           int64_t *idle_gpus)
{
    int64_t gpus = pass->asking->request->gpus_per_node;
    int64_t n = 0;

    *idle_gpus = 0;
    for (int64_t i = gpus > 0 ? gpus : 1; i <= DN_NODE_GPUS_MAX; i++) {
        n += group->n_idle[i];
        *idle_gpus += i * group->n_idle[i];
    }
    return n;
}

/* Would a job that starts now still run when the nodes are reserved? */
static bool is_reserved (const struct pass *pass, const struct dn_node_group *group)
{
    int64_t until = pass->asking->until_s;

    return group->reserved_from > 0
           && (until == DN_UNLIMITED || until > group->reserved_from);
}

/* Does a group come further than those before? */
static bool reach (struct pass *pass, enum step step)
{
    if (step <= pass->step)
        return false;
    pass->step = step;
    return true;
}

/* What a group that fits offers. */
static void take_nodes (struct pass *pass, const struct dn_node_group *group)
{
    int64_t idle_gpus;
    int at;

    pass->n_all += group->n_nodes;
    if (group->n_up <= 0)
        return;
    pass->n_up += group->n_up;
    if (is_reserved (pass, group)) {
        if (pass->reserved_from == 0 || group->reserved_from < pass->reserved_from)
            pass->reserved_from = group->reserved_from;
        return;
    }
    at = entry_of (&pass->counts, usable_cpus (pass, group));
    pass->counts.of[at].n_nodes += group->n_up;
    pass->counts.of[at].n_idle += idle_nodes (pass, group, &idle_gpus);
    pass->idle_gpus += idle_gpus;
}

static void look_at (struct pass *pass, const struct dn_node_group *group)
{
    struct dn_reason why;
    struct dn_span missing = {NULL, 0};
    int64_t mem_mb = stated (pass->type->node_mem_mb, group->mem_mb);

    if (mem_mb > pass->mem_mb)
        pass->mem_mb = mem_mb;
    if (!is_in_partition (pass, group)) {
        if (reach (pass, STEP_PARTITION))
            pass->why = DN_REASON (move_partition);
        return;
    }
    if (!has_features (pass, group, &missing)) {
        if (reach (pass, STEP_FEATURES))
            pass->why = DN_REASON (move_feature, dn_arg_span (missing));
        return;
    }
    if (has_shape (pass, group, &why))
        take_nodes (pass, group);
    else if (reach (pass, STEP_SHAPE))
        pass->why = why;
}

/* Why the nodes that fit cannot be had. */
static struct dn_reason away (const struct pass *pass, int64_t needed)
{
    const struct dn_cluster *cluster = pass->asking->cluster;
    int64_t in_s = cluster ? pass->reserved_from - cluster->time_s : 0;

    if (pass->n_up == 0)
        return DN_REASON (
            move_away,
            dn_arg_count (pass->n_all),
            dn_arg_text (pass->n_all == 1 ? dn_say_one_is : dn_say_several_are));
    if (pass->n_up >= needed)
        return DN_REASON (move_reserved, dn_arg_time (in_s > 0 ? in_s : 0));
    return DN_REASON (move_few,
                      dn_arg_count (needed),
                      dn_arg_text (needed == 1 ? dn_say_one_is : dn_say_several_are),
                      dn_arg_count (pass->n_up),
                      dn_arg_count (pass->n_all));
}

static struct dn_reason conclude (const struct pass *pass,
                                  struct dn_candidate *candidate)
{
    int64_t needed = pass->asking->n_nodes;

    candidate->reserved_from = pass->reserved_from;
    candidate->node_mem_mb = stated (pass->type->node_mem_mb, pass->mem_mb);
    candidate->unavailable = pass->step == STEP_NONE && pass->n_all == 0;
    if (candidate->unavailable)
        return DN_REASON (move_none);
    if (pass->n_all == 0)
        return pass->why;
    if (needed == DN_UNSET)
        return DN_REASON (move_unknown_nodes);
    candidate->node_cpus = most_cpus (&pass->counts, needed, false);
    candidate->idle_cpus = most_cpus (&pass->counts, needed, true);
    candidate->idle_gpus = pass->idle_gpus;
    if (candidate->node_cpus != DN_UNSET)
        return DN_NO_REASON;
    candidate->unavailable = pass->asking->cluster != NULL;
    return away (pass, needed);
}

/* The limit of a job that gives none; DN_UNLIMITED if unknown. */
static int64_t default_limit (const struct dn_cluster *cluster, const char *partition)
{
    const struct dn_partition *found =
        partition ? dn_cluster_partition (cluster, partition) : NULL;

    if (!found)
        return DN_UNLIMITED;
    return found->default_time_s != DN_UNSET ? found->default_time_s
                                             : found->max_time_s;
}

struct dn_asking dn_asking_of (const struct dn_cluster *cluster,
                               const struct dn_request *request,
                               const struct dn_features *features,
                               const struct dn_candidates *candidates)
{
    struct dn_asking asking = {.cluster = cluster,
                               .request = request,
                               .features = features,
                               .named = candidates->named,
                               .named_feature = candidates->named_feature,
                               .n_nodes = request->job->min_nodes,
                               .until_s = DN_UNLIMITED};
    int64_t limit_s = request->time_limit_s;

    if (request->n_excluded != 0)
        asking.n_nodes =
            request->most_nodes == DN_UNSET || request->n_excluded == DN_UNSET
                ? DN_UNSET
                : request->most_nodes + request->n_excluded;
    else if (asking.n_nodes < 1)
        asking.n_nodes = 1;
    if (!cluster)
        return asking;
    if (limit_s == DN_UNSET)
        limit_s = default_limit (cluster, request->job->partition);
    if (limit_s >= 0 && limit_s < INT64_MAX - cluster->time_s)
        asking.until_s = cluster->time_s + limit_s;
    return asking;
}

/* Without a snapshot the nodes are what the Gpu line says, and all can be had. */
static struct dn_node_group group_of (const struct dn_gpu_type *type)
{
    int64_t n_nodes = stated (type->n_nodes, INT32_MAX);

    return (struct dn_node_group){.gpus = DN_UNSET,
                                  .cpus = DN_UNSET,
                                  .mem_mb = DN_UNSET,
                                  .tmp_mb = DN_UNSET,
                                  .threads_per_core = DN_UNSET,
                                  .n_nodes = n_nodes,
                                  .n_up = n_nodes};
}

struct dn_reason dn_offer_fill (const struct dn_asking *asking,
                                struct dn_candidate *candidate)
{
    const struct dn_cluster *cluster = asking->cluster;
    struct pass pass = {.asking = asking, .type = candidate->gpu, .mem_mb = DN_UNSET};

    candidate->node_cpus = candidate->idle_cpus = DN_UNSET;
    for (int64_t i = 0; cluster && i < cluster->n_groups; i++)
        if (dn_gpu_is_on (candidate->gpu, &cluster->groups[i]))
            look_at (&pass, &cluster->groups[i]);
    if (!cluster) {
        struct dn_node_group group = group_of (candidate->gpu);

        look_at (&pass, &group);
    }
    return conclude (&pass, candidate);
}
