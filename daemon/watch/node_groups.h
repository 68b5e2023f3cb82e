/* node_groups.h - nodes one by one become groups of like nodes
 *
 * A node with GPUs of several types is in a group of each; one without GPUs is in none.
 * It counts in n_idle with the GPUs of the type that are neither used nor drained, but
 * with no more than its idle CPUs, and with none if it is busy or has no idle memory.
 *
 * Idle GPUs are stranded where a job could not have them with 'cpus_per_gpu' idle CPUs,
 * or with 'mem_per_gpu_mb' of idle memory, each.
 *
 * Memory is bounded: nodes of any number of kinds become at most DN_NODE_KINDS_MAX
 * groups. Further kinds are merged with others of the same type and number of GPUs:
 * such a group has the least CPUs and memory of its nodes, only the features and
 * partitions that all of them have, and the reservation that comes first.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_NODE_GROUPS_H
#define DN_NODE_GROUPS_H

#include "slurm/slurm_link.h"
#include "watch/lists.h"

/* Groups, and the last of them that are kept for kinds that are merged. */
#define DN_NODE_KINDS_MAX    1024
#define DN_NODE_KINDS_MERGED 256

/* Empty when zeroed. */
struct dn_node_groups {
    struct dn_node_group *groups; /* owned */
    int64_t n_groups;
    int64_t n_plain;      /* of n_groups: those before the merged ones */
    int64_t n_left_out;   /* nodes for which not even a merged group was left */
    int64_t cpus_per_gpu; /* what a job needs for a GPU; 0: any is enough */
    int64_t mem_per_gpu_mb;
    int32_t slots[4 * DN_NODE_KINDS_MAX]; /* numbers of groups by hash, plus one */
};

/* Add a node. -1 with 'err' without memory. */
int dn_node_groups_add (struct dn_node_groups *groups,
                        const struct dn_link_node *node,
                        struct dn_err *err);

/* Give the groups, sorted by type, to the cluster, which has none. Frees the rest. */
void dn_node_groups_move (struct dn_node_groups *groups, struct dn_cluster *cluster);

/* Fill the features of the waits of the cluster, which has all of its groups: one per
 * GPU type that has a feature of its own, preferably of its name.
 */
void dn_node_groups_name (struct dn_cluster *cluster);

/* NULL-safe; empty afterwards. */
void dn_node_groups_free (struct dn_node_groups *groups);

/* How many GPUs of a type are idle on the node, by the rule above. */
int64_t dn_node_idle_gpus (const struct dn_link_node *node,
                           const struct dn_gres_gpus *gpus);

#endif
