/* offers.h - what the nodes of a GPU type offer one request, private to hardware/
 *
 * In: the groups of like nodes of a snapshot, a request. Out: how many CPUs the request
 * can get on nodes of each type, on nodes that can be had and on idle ones, or why it
 * can have none. What the Gpu line states takes the place of what the snapshot says;
 * without a snapshot it is all that is known.
 * One pass over the groups per type; nothing is allocated.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_OFFERS_H
#define DN_OFFERS_H

#include "hardware/hardware.h"

/* What a request asks of any type. */
struct dn_asking {
    const struct dn_cluster *cluster; /* NULL: unknown */
    const struct dn_request *request;
    const struct dn_features *features;
    const struct dn_gpu_type *named; /* the type that the request names, or NULL */
    const char *named_feature;       /* the feature that selects it, or NULL */
    int64_t n_nodes;                 /* nodes needed; DN_UNSET if unknown */
    int64_t until_s; /* the end of the job if it starts now, seconds since 1970;
                        DN_UNLIMITED */
};

/* All is borrowed; of the candidates that which the request names is known. */
struct dn_asking dn_asking_of (const struct dn_cluster *cluster,
                               const struct dn_request *request,
                               const struct dn_features *features,
                               const struct dn_candidates *candidates);

/* Fill the members of 'candidate' that depend on the nodes of its type: node_cpus,
 * idle_cpus, node_mem_mb, unavailable. Return the reason where its nodes have no room
 * for the request or are not available, else none. The candidate has its 'gpu'.
 */
struct dn_reason dn_offer_fill (const struct dn_asking *asking,
                                struct dn_candidate *candidate);

#endif
