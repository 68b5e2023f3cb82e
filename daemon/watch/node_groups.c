/* node_groups.c - nodes one by one become groups of like nodes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "watch/node_groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/messages.h"
#include "request/request.h"

#define LIST_MAX (DN_NAME_MAX * 4)

static int64_t least (int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* GPUs of the type that are neither used nor drained, of a node that takes jobs. */
static int64_t unused_gpus (const struct dn_link_node *node,
                            const struct dn_gres_gpus *gpus)
{
    struct dn_gres used;
    struct dn_gres drained;
    int64_t idle;

    if (!node->up || node->busy)
        return 0;
    used = dn_gres_read (node->gres_used);
    drained = dn_gres_read (node->gres_drain);
    idle = gpus->count - dn_gres_count (&used, gpus->type)
           - dn_gres_count (&drained, gpus->type);
    /* GPUs in use whose type is not told may be of any. */
    if (gpus->type[0] != '\0')
        idle -= dn_gres_count (&used, "") + dn_gres_count (&drained, "");
    return idle > 0 ? idle : 0;
}

int64_t dn_node_idle_gpus (const struct dn_link_node *node,
                           const struct dn_gres_gpus *gpus)
{
    int64_t idle = least (unused_gpus (node, gpus), node->idle_cpus);

    return idle > 0 && node->idle_mem_mb > 0 ? idle : 0;
}

/* Of 'idle' GPUs those that have not so much of a resource each. */
static int64_t stranded (int64_t idle, int64_t have, int64_t each)
{
    int64_t served = have > 0 ? have / (each > 0 ? each : 1) : 0;

    return served < idle ? idle - served : 0;
}

/* --- lists of names --------------------------------------------------------------- */

/* A name that can be written into a snapshot. */
static bool is_name (struct dn_span name)
{
    for (size_t i = 0; i < name.len; i++)
        if (name.text[i] <= ' ' || name.text[i] > '~' || name.text[i] == '"'
            || name.text[i] == '\\' || name.text[i] == '#')
            return false;
    return name.len > 0 && name.len < DN_NAME_MAX;
}

/* Append the name, unless it does not fit. */
static void add_name (char list[LIST_MAX], struct dn_span name)
{
    size_t len = strlen (list);

    if (len + name.len + 2 > LIST_MAX)
        return;
    if (len > 0)
        list[len++] = ',';
    memcpy (list + len, name.text, name.len);
    list[len + name.len] = '\0';
}

/* Copy the names that fit into 'out', which is zeroed. */
static void copy_list (char out[LIST_MAX], const char *from)
{
    struct dn_span rest = dn_span_of (from ? from : "");
    struct dn_span name;

    while ((name = dn_span_cut (&rest, ",")).text)
        if (is_name (name))
            add_name (out, name);
}

/* Leave the names of 'list' that are in 'other', too. */
static void intersect (char list[LIST_MAX], const char *other)
{
    char copy[LIST_MAX];
    struct dn_span rest;
    struct dn_span name;

    if (strcmp (list, other) == 0)
        return;
    memcpy (copy, list, sizeof (copy));
    memset (list, 0, LIST_MAX);
    rest = dn_span_of (copy);
    while ((name = dn_span_cut (&rest, ",")).text)
        if (name.len > 0 && dn_list_has (other, name))
            add_name (list, name);
}

/* --- groups ----------------------------------------------------------------------- */

/* The group of a node, without counts. All of its bytes are set. */
static void describe (struct dn_node_group *group,
                      const struct dn_link_node *node,
                      const struct dn_gres_gpus *gpus)
{
    memset (group, 0, sizeof (*group));
    memcpy (group->type, gpus->type, strlen (gpus->type));
    group->gpus = least (gpus->count, DN_NODE_GPUS_MAX);
    group->cpus = node->cpus;
    group->mem_mb = node->mem_mb;
    group->tmp_mb = node->tmp_mb;
    group->threads_per_core = node->threads_per_core;
    group->reserved_from = node->reserved_from;
    group->reserved_until = node->reserved_until;
    copy_list (group->features, node->features);
    copy_list (group->partitions, node->partitions);
}

static bool alike (const struct dn_node_group *a, const struct dn_node_group *b)
{
    return memcmp (a, b, offsetof (struct dn_node_group, n_nodes)) == 0;
}

static uint64_t hash_of (const struct dn_node_group *group)
{
    const int64_t numbers[] = {group->gpus,
                               group->cpus,
                               group->mem_mb,
                               group->tmp_mb,
                               group->reserved_from,
                               group->reserved_until};
    uint64_t hash = dn_hash_bytes (DN_HASH_SEED, numbers, sizeof (numbers));

    hash = dn_hash_text (hash, group->type);
    hash = dn_hash_text (hash, group->features);
    return dn_hash_text (hash, group->partitions);
}

/* Add a group like 'wanted'. NULL with 'err'. */
static struct dn_node_group *append (struct dn_node_groups *groups,
                                     const struct dn_node_group *wanted,
                                     struct dn_err *err)
{
    if (dn_rows_grow (&groups->groups, groups->n_groups, sizeof (*groups->groups), err)
        < 0)
        return NULL;
    groups->groups[groups->n_groups] = *wanted;
    return &groups->groups[groups->n_groups++];
}

/* What both have: 'group' is merged, or becomes so. */
static void merge (struct dn_node_group *group, const struct dn_node_group *other)
{
    group->cpus = least (group->cpus, other->cpus);
    group->mem_mb = least (group->mem_mb, other->mem_mb);
    group->tmp_mb = least (group->tmp_mb, other->tmp_mb);
    if (group->threads_per_core != other->threads_per_core)
        group->threads_per_core = DN_UNSET;
    intersect (group->features, other->features);
    intersect (group->partitions, other->partitions);
    if (other->reserved_from == 0)
        return;
    if (group->reserved_from == 0 || other->reserved_from < group->reserved_from)
        group->reserved_from = other->reserved_from;
    if (other->reserved_until > group->reserved_until)
        group->reserved_until = other->reserved_until;
}

/* The merged group for that kind of node; '*out' NULL: none is left. */
static int merged (struct dn_node_groups *groups,
                   const struct dn_node_group *wanted,
                   struct dn_node_group **out,
                   struct dn_err *err)
{
    *out = NULL;
    for (int64_t i = groups->n_plain; i < groups->n_groups; i++) {
        struct dn_node_group *group = &groups->groups[i];

        if (group->gpus == wanted->gpus && strcmp (group->type, wanted->type) == 0) {
            merge (group, wanted);
            *out = group;
            return 0;
        }
    }
    if (groups->n_groups == DN_NODE_KINDS_MAX)
        return 0;
    *out = append (groups, wanted, err);
    return *out ? 0 : -1;
}

/* The group for that kind of node; '*out' NULL: none is left. */
static int group_of (struct dn_node_groups *groups,
                     const struct dn_node_group *wanted,
                     struct dn_node_group **out,
                     struct dn_err *err)
{
    const uint32_t n_slots = DN_N_ELEMENTS (groups->slots);
    uint64_t at = hash_of (wanted) % n_slots;

    for (; groups->slots[at]; at = (at + 1) % n_slots) {
        *out = &groups->groups[groups->slots[at] - 1];
        if (alike (*out, wanted))
            return 0;
    }
    if (groups->n_plain >= DN_NODE_KINDS_MAX - DN_NODE_KINDS_MERGED)
        return merged (groups, wanted, out, err);
    *out = append (groups, wanted, err);
    if (!*out)
        return -1;
    groups->n_plain++;
    groups->slots[at] = (int32_t) groups->n_groups;
    return 0;
}

int dn_node_groups_add (struct dn_node_groups *groups,
                        const struct dn_link_node *node,
                        struct dn_err *err)
{
    struct dn_gres gres = dn_gres_read (node->gres);

    for (int i = 0; i < gres.n_gpus; i++) {
        struct dn_node_group wanted;
        struct dn_node_group *group;
        int64_t unused;

        if (gres.gpus[i].count <= 0)
            continue;
        describe (&wanted, node, &gres.gpus[i]);
        if (group_of (groups, &wanted, &group, err) < 0)
            return -1;
        if (!group) {
            groups->n_left_out++;
            continue;
        }
        group->n_nodes++;
        if (!node->up)
            continue;
        group->n_up++;
        group->n_idle[least (dn_node_idle_gpus (node, &gres.gpus[i]), group->gpus)]++;
        unused = unused_gpus (node, &gres.gpus[i]);
        group->stranded_cpus +=
            stranded (unused, node->idle_cpus, groups->cpus_per_gpu);
        group->stranded_mem +=
            stranded (unused, node->idle_mem_mb, groups->mem_per_gpu_mb);
    }
    return 0;
}

static int by_type (const void *a, const void *b)
{
    return memcmp (a, b, offsetof (struct dn_node_group, n_nodes));
}

void dn_node_groups_move (struct dn_node_groups *groups, struct dn_cluster *cluster)
{
    if (groups->n_groups > 1)
        qsort (groups->groups,
               (size_t) groups->n_groups,
               sizeof (groups->groups[0]),
               by_type);
    cluster->groups = groups->groups;
    cluster->n_groups = groups->n_groups;
    memset (groups, 0, sizeof (*groups));
}

void dn_node_groups_free (struct dn_node_groups *groups)
{
    if (!groups)
        return;
    free (groups->groups);
    memset (groups, 0, sizeof (*groups));
}

/* Does a constraint read it as one name? Slurm does not check names in slurm.conf. */
static bool is_plain (struct dn_span feature)
{
    char text[DN_NAME_MAX];
    struct dn_features features;

    return feature.len > 0 && dn_span_copy (feature, text, sizeof (text), "", NULL) == 0
           && dn_features_read (text, &features) && features.n_names == 1;
}

/* Have all nodes of the type that feature, and no others? */
static bool is_own (const struct dn_cluster *cluster,
                    const char *type,
                    struct dn_span feature)
{
    for (int64_t i = 0; i < cluster->n_groups; i++) {
        const struct dn_node_group *group = &cluster->groups[i];

        if (dn_list_has (group->features, feature) != (strcmp (group->type, type) == 0))
            return false;
    }
    return true;
}

static void name (const struct dn_cluster *cluster, struct dn_wait *wait)
{
    const struct dn_node_group *group = cluster->groups;
    const struct dn_node_group *end = group + cluster->n_groups;
    struct dn_span rest;

    while (group < end && strcmp (group->type, wait->type) != 0)
        group++;
    if (group == end)
        return;
    rest = dn_span_of (group->features);
    while (rest.text) {
        struct dn_span feature = dn_span_trim (dn_span_cut (&rest, ","));
        bool is_first = wait->feature[0] == '\0';

        if ((is_first || dn_span_is (feature, wait->type))
            && feature.len < sizeof (wait->feature) && is_plain (feature)
            && is_own (cluster, wait->type, feature))
            dn_span_copy (feature, wait->feature, sizeof (wait->feature), "", NULL);
    }
}

void dn_node_groups_name (struct dn_cluster *cluster)
{
    for (int64_t i = 0; i < cluster->n_waits; i++)
        name (cluster, &cluster->waits[i]);
}
