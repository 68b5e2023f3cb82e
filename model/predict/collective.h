/* collective.h - rates of links, and the time of collectives; private to predict/
 *
 * An all-reduce is a reduce-scatter and an all-gather, each of which sends (n-1)/n of
 * the bytes once around a ring (Patarasuk and Yuan 2009), after a start and n-1 hops.
 * Across nodes it is hierarchical: the devices of a node reduce and scatter, every
 * device reduces its share with those of its rank in the other nodes, and the node
 * gathers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_COLLECTIVE_H
#define DN_COLLECTIVE_H

#include "predict/setup.h"

/* Devices that take part, and their nodes. */
struct dn_ring {
    double n;
    double nodes;
    double sharing; /* rings of the same job that share a node's network */
};

/* The ring of n devices of which every 'stride'-th of the job is one. */
struct dn_ring dn_ring_of (const struct dn_setup *c, double n, double stride);

/* The devices of one node in that ring, as a ring. */
struct dn_ring dn_ring_in_node (const struct dn_ring *ring);

/* Do the devices of a node have links of their own, faster than those to the host, and
 * does the job use them?
 */
bool dn_has_links (const struct dn_setup *c);

/* Byte/s that a ring of n devices of one node carries. */
double dn_link_rate (const struct dn_setup *c, double n);

/* Byte/s between a node and the others for 'devices' of it together. */
double dn_node_rate (const struct dn_setup *c, double devices);

/* Seconds of a reduce-scatter or an all-gather of 'bytes', half an all-reduce; of the
 * part of it between nodes; and of the same in messages of about 'bucket' bytes.
 */
double dn_half_reduce (const struct dn_setup *c,
                       double bytes,
                       const struct dn_ring *ring);
double dn_half_between (const struct dn_setup *c,
                        double bytes,
                        const struct dn_ring *ring);
double dn_half_buckets (const struct dn_setup *c,
                        double bytes,
                        double bucket,
                        const struct dn_ring *ring);

/* Seconds of an all-to-all in which each device has 'bytes' for all devices together,
 * itself among them.
 */
double dn_all_to_all (const struct dn_setup *c,
                      double bytes,
                      const struct dn_ring *ring);

/* Seconds in which each device sends 'bytes' to the next one. */
double dn_pass_on (const struct dn_setup *c, double bytes, const struct dn_ring *ring);

#endif
