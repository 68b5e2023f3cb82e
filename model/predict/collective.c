/* collective.c - rates of links, and the time of collectives
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/collective.h"

#include <math.h>

bool dn_has_nvlink (const struct dn_setup *c)
{
    return c->device->link == DN_LINK_NVLINK && c->spec->link != DN_LINK_PCIE;
}

/* Up to NVLink 2 the boards of a node are wired to one another, 8 of them with 6 links
 * each: the table has the links that carry a ring of n. Only nodes of 16 have switches;
 * since NVLink 3 all nodes do.
 */
static double mesh_links (const struct dn_setup *c, double n)
{
    static const double links[] = {6, 6, 1, 2, 4, 2, 2, 4, 6};
    const double last_mesh = 150e9; /* byte/s per direction, NVLink 2 */

    if (c->device->link_bw > last_mesh || c->device->per_node > 8 || n > 8)
        return 0;
    return links[(int) n];
}

/* Was an all-reduce measured, over the link that the job uses? */
static bool is_measured (const struct dn_setup *c)
{
    return c->device->measured.ring > 0
           && (c->device->link == DN_LINK_NVLINK) == dn_has_nvlink (c);
}

static double start_time (const struct dn_setup *c)
{
    if (is_measured (c) && c->device->measured.ring_start_s > 0)
        return c->device->measured.ring_start_s;
    return dn_has_nvlink (c) ? c->constants->nvlink_start_s
                             : c->constants->pcie_start_s;
}

/* The measured rate is of all devices of a node; fewer devices without switches may
 * have fewer links.
 */
double dn_link_rate (const struct dn_setup *c, double n)
{
    const struct dn_constants *k = c->constants;
    double links = mesh_links (c, n);
    double all = mesh_links (c, (double) c->device->per_node);

    if (is_measured (c))
        return c->device->measured.ring
               * (dn_has_nvlink (c) && links > 0 && all > 0 ? links / all : 1);
    if (!dn_has_nvlink (c))
        return c->device->pcie_bw * k->pcie_eff;
    return c->device->link_bw * (links > 0 ? links / 6 * k->mesh_eff : k->nvlink_eff);
}

/* Nodes with NVLink have a network adapter per device or two, others one adapter,
 * unless net= says more. A device uses one adapter at a time.
 */
double dn_node_rate (const struct dn_setup *c, double devices)
{
    const struct dn_constants *k = c->constants;
    double share = c->net.rdma ? k->net_rdma : k->net_sockets;

    if (c->net.rate > 0)
        return c->net.rate * share * fmin (c->net.adapters, ceil (devices));
    return dn_has_nvlink (c) ? k->node_bw * devices : k->node_bw_pcie;
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

double dn_half_between (const struct dn_setup *c,
                        double bytes,
                        const struct dn_ring *ring)
{
    const struct dn_constants *k = c->constants;
    double n = ring->nodes;
    double rate = dn_node_rate (c, ring->n / n * ring->sharing) / ring->sharing;

    if (n <= 1)
        return 0;
    return k->pcie_start_s / 2 + (n - 1) * k->hop_s + (n - 1) / n * bytes / rate;
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
