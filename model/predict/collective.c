/* collective.c - rates of links, and the time of collectives
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/collective.h"

#include <math.h>

bool dn_has_links (const struct dn_setup *c)
{
    bool own =
        c->device->link == DN_LINK_NVLINK || c->device->link_bw > c->device->pcie_bw;

    return own && c->spec->link != DN_LINK_PCIE;
}

/* The share of a device's links that carry a ring of n, 0 where switches make all of
 * them serve any ring. Up to NVLink 2 the boards of a node are wired to one another, 8
 * of them with 6 links each: the table has the links that carry a ring of n. Only nodes
 * of 16 have switches; since NVLink 3 all nodes do. AMD's accelerators have one link to
 * each of the others.
 */
static double mesh_share (const struct dn_setup *c, double n)
{
    static const double links[] = {6, 6, 1, 2, 4, 2, 2, 4, 6};
    const double last_mesh = 150e9; /* byte/s per direction, NVLink 2 */
    double others = (double) c->device->per_node - 1;

    if (c->device->generation->link_mesh && others > 0)
        return fmin (fmax (n - 1, 1) / others, 1);
    if (c->device->link != DN_LINK_NVLINK || c->device->link_bw > last_mesh
        || c->device->per_node > 8 || n > 8)
        return 0;
    return links[(int) n] / 6;
}

/* Was an all-reduce measured, over the links that the job uses? */
static bool is_measured (const struct dn_setup *c)
{
    return c->device->measured.ring > 0
           && (c->spec->link != DN_LINK_PCIE || c->device->link == DN_LINK_PCIE);
}

static double start_time (const struct dn_setup *c)
{
    if (is_measured (c) && c->device->measured.ring_start_s > 0)
        return c->device->measured.ring_start_s;
    return dn_has_links (c) ? c->constants->nvlink_start_s : c->constants->pcie_start_s;
}

/* The measured rate is of all devices of a node; fewer devices without switches may
 * have fewer links.
 */
double dn_link_rate (const struct dn_setup *c, double n)
{
    const struct dn_constants *k = c->constants;
    double share = mesh_share (c, n);
    double all = mesh_share (c, (double) c->device->per_node);

    if (is_measured (c))
        return c->device->measured.ring
               * (dn_has_links (c) && share > 0 && all > 0 ? share / all : 1);
    if (!dn_has_links (c))
        return c->device->pcie_bw * k->pcie_eff;
    if (c->device->generation->link_ring)
        return c->device->link_bw;
    return c->device->link_bw * (share > 0 ? share * k->mesh_eff : k->nvlink_eff);
}

/* A device uses one adapter at a time. Where neither net= nor the catalogue knows them,
 * nodes with links of their own have an adapter per device, others one.
 */
double dn_node_rate (const struct dn_setup *c, double devices)
{
    const struct dn_constants *k = c->constants;
    double share = c->net.rdma ? k->net_rdma : k->net_sockets;

    if (c->net.rate > 0)
        return c->net.rate * share * fmin (c->net.adapters, ceil (devices));
    return dn_has_links (c) ? k->node_bw * devices : k->node_bw_pcie;
}

/* Devices of one node in a ring. */
static double in_node (const struct dn_ring *ring)
{
    return ceil (ring->n / ring->nodes);
}

struct dn_ring dn_ring_of (const struct dn_setup *c, double n, double stride)
{
    double devices = (double) c->spec->gpus / c->nodes;
    double members = fmax (devices / stride, 1);

    return (struct dn_ring){.n = n,
                            .nodes = fmax (ceil (n / members), 1),
                            .sharing = fmin (stride, devices)};
}

struct dn_ring dn_ring_in_node (const struct dn_ring *ring)
{
    return (struct dn_ring){in_node (ring), 1, ring->sharing};
}

/* Seconds of a reduce-scatter or an all-gather of 'bytes' among n devices of a node. */
static double half_ring (const struct dn_setup *c, double bytes, double n)
{
    const struct dn_constants *k = c->constants;

    if (n <= 1 || bytes <= 0)
        return 0;
    return start_time (c) / 2 + (n - 1) * k->hop_s
           + (n - 1) / n * bytes / dn_link_rate (c, n);
}

/* A message passes all nodes around a ring, or up and down a tree if that has fewer
 * steps.
 */
double dn_half_between (const struct dn_setup *c,
                        double bytes,
                        const struct dn_ring *ring)
{
    const struct dn_constants *k = c->constants;
    double n = ring->nodes;
    double rate = dn_node_rate (c, ring->n / n * ring->sharing) / ring->sharing;
    double steps = fmin (n - 1, ceil (log2 (fmax (n, 1))));

    if (n <= 1)
        return 0;
    return steps * k->net_hop_s + (n - 1) / n * bytes / rate;
}

double dn_half_reduce (const struct dn_setup *c,
                       double bytes,
                       const struct dn_ring *ring)
{
    if (ring->n <= 1 || bytes <= 0)
        return 0;
    return half_ring (c, bytes, in_node (ring)) + dn_half_between (c, bytes, ring);
}

double dn_half_buckets (const struct dn_setup *c,
                        double bytes,
                        double bucket,
                        const struct dn_ring *ring)
{
    double n = bytes > 0 ? ceil (bytes / bucket) : 0;

    return n > 0 ? n * dn_half_reduce (c, bytes / n, ring) : 0;
}

/* Links of a node and the network carry their parts at the same time. */
double dn_all_to_all (const struct dn_setup *c,
                      double bytes,
                      const struct dn_ring *ring)
{
    const struct dn_constants *k = c->constants;
    double near = in_node (ring);
    double far = ring->n - near;
    double within;
    double between = 0;

    if (ring->n <= 1 || bytes <= 0)
        return 0;
    within = (near - 1) / ring->n * bytes / dn_link_rate (c, near);
    if (far > 0)
        between = near * far / ring->n * bytes * ring->sharing
                  / dn_node_rate (c, near * ring->sharing);
    return start_time (c) + (ring->n - 1) * k->hop_s + fmax (within, between);
}

/* Around a ring one link of a node leads to the next one. */
double dn_pass_on (const struct dn_setup *c, double bytes, const struct dn_ring *ring)
{
    double rate = dn_link_rate (c, in_node (ring));

    if (ring->nodes > 1)
        rate = fmin (rate, dn_node_rate (c, ring->sharing) / ring->sharing);
    return start_time (c) / 2 + c->constants->hop_s + bytes / rate;
}
