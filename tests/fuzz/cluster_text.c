/* cluster_text.c - fuzz target: the snapshot of the cluster
 *
 * What is read is consistent, and what is written of it is read as the same.
 *
 * Aims at: model/hardware/cluster.c model/base/fields.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "text_file.h"

#include "hardware/cluster.h"

/* Every index that a reader follows. */
static void check (const struct dn_cluster *cluster)
{
    for (int64_t i = 0; i < cluster->n_assocs; i++) {
        const struct dn_limited *assoc = &cluster->assocs[i];
        int depth = 0;

        expect (assoc->first_limit >= 0
                    && assoc->first_limit + assoc->n_limits <= cluster->n_limits,
                "the limits of an association");
        for (int64_t at = i; at != DN_UNSET; at = cluster->assocs[at].parent)
            expect (at < cluster->n_assocs && ++depth <= DN_ASSOC_DEPTH_MAX,
                    "the parents of an association");
    }
    for (int64_t i = 0; i < cluster->n_groups; i++)
        expect (is_printable (cluster->groups[i].features)
                    && cluster->groups[i].n_up <= cluster->groups[i].n_nodes,
                "a group");
    dn_cluster_partition (cluster, "gpu");
    dn_cluster_wait (cluster, "a100");
}

TEXT_FILE (cluster, check)
