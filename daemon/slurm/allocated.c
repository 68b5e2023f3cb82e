/* allocated.c - what jobs have of a node, by the version of Slurm
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "slurm/link_tables.h"

#ifdef HAVE_NODE_INFO_T_ALLOC_CPUS

void dn_link_allocated (const node_info_t *node, int64_t *cpus, int64_t *mem_mb)
{
    *cpus = node->alloc_cpus;
    *mem_mb = (int64_t) node->alloc_memory;
}

#else

void dn_link_allocated (const node_info_t *node, int64_t *cpus, int64_t *mem_mb)
{
    uint16_t n_cpus = 0;
    uint64_t memory = 0; /* the header says uint32_t, scontrol and select/ 64 bits */

    slurm_get_select_nodeinfo (
        node->select_nodeinfo, SELECT_NODEDATA_SUBCNT, NODE_STATE_ALLOCATED, &n_cpus);
    slurm_get_select_nodeinfo (node->select_nodeinfo,
                               SELECT_NODEDATA_MEM_ALLOC,
                               NODE_STATE_ALLOCATED,
                               &memory);
    *cpus = n_cpus;
    *mem_mb = (int64_t) memory;
}

#endif
