/* link_tables.h - the tables that tables.c has loaded, private to this folder
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_LINK_TABLES_H
#define DN_LINK_TABLES_H

#include "slurm/link_parts.h"

#include <slurm/slurmdb.h>

/* Replies of slurmctld; NULL: not loaded yet. */
struct dn_link_tables {
    node_info_msg_t *nodes;
    partition_info_msg_t *partitions;
    reserve_info_msg_t *reservations;
    assoc_mgr_info_msg_t *limits;
    time_t limits_at; /* when they were loaded */
};

/* CPUs and MB of a node that jobs have. */
void dn_link_allocated (const node_info_t *node, int64_t *cpus, int64_t *mem_mb);

/* Fill the partitions of 'cluster'; 'conf' has the defaults of the cluster. -1 with
 * 'err'.
 */
int dn_link_fill_partitions (const partition_info_msg_t *from,
                             const slurm_conf_t *conf,
                             struct dn_cluster *cluster,
                             struct dn_err *err);

/* Fill QOS, associations and limits. */
int dn_link_fill_limits (const assoc_mgr_info_msg_t *from,
                         struct dn_cluster *cluster,
                         struct dn_err *err);

#endif
