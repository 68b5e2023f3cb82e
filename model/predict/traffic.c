/* traffic.c - communication between the devices of one job
 *
 * An all-reduce is a reduce-scatter and an all-gather, each of which sends (n-1)/n of
 * the bytes once around a ring (Patarasuk and Yuan 2009), after a start and n-1 hops.
 * Across nodes it is hierarchical: the devices of a node reduce and scatter, every
 * device reduces its share with those of its rank in the other nodes, and the node
 * gathers. Gradients are sent in buckets while the backward pass computes others, as in
 * DistributedDataParallel; nothing overlaps the last bucket.
 *
 * Volumes of sharded training, per optimizer step and in units of an all-reduce
 * (Rajbhandari et al. 2020, sections 5 and 7): 1 with ZeRO-1 and ZeRO-2, whose second
 * half gathers the new weights after the optimizer; 1.5 with ZeRO-3 and FSDP, which
 * gather the weights in every forward and backward pass.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/stages.h"

#include <math.h>

/* Devices that take part, and their nodes. */
struct ring {
    double n;
    double nodes;
    double sharing; /* rings of the same job that share a node's network */
};

static bool has_nvlink (const struct dn_setup *c)
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
           && (c->device->link == DN_LINK_NVLINK) == has_nvlink (c);
}

static double start_time (const struct dn_setup *c)
{
    if (is_measured (c) && c->device->measured.ring_start_s > 0)
        return c->device->measured.ring_start_s;
    return has_nvlink (c) ? c->constants->nvlink_start_s : c->constants->pcie_start_s;
}

/* Byte/s that a ring of n devices of one node carries. The measured rate is of all
 * devices of a node; fewer devices without switches may have fewer links.
 */
static double ring_rate (const struct dn_setup *c, double n)
{
    const struct dn_constants *k = c->constants;
    double links = mesh_links (c, n);
    double all = mesh_links (c, (double) c->device->per_node);

    if (is_measured (c))
        return c->device->measured.ring
               * (has_nvlink (c) && links > 0 && all > 0 ? links / all : 1);
    if (!has_nvlink (c))
        return c->device->pcie_bw * k->pcie_eff;
    return c->device->link_bw * (links > 0 ? links / 6 * k->mesh_eff : k->nvlink_eff);
}

/* Seconds of a reduce-scatter or an all-gather of 'bytes' among n devices of a node. */
static double half_ring (const struct dn_setup *c, double bytes, double n)
{
    const struct dn_constants *k = c->constants;

    if (n <= 1 || bytes <= 0)
        return 0;
    return start_time (c) / 2 + (n - 1) * k->hop_s
           + (n - 1) / n * bytes / ring_rate (c, n);
}

/* The middle part of a hierarchical all-reduce, half of it. Nodes with NVLink have a
 * network adapter per device or two, others one adapter.
 */
static double half_between (const struct dn_setup *c,
                            double bytes,
                            const struct ring *ring)
{
    const struct dn_constants *k = c->constants;
    double n = ring->nodes;
    double rate =
        has_nvlink (c) ? k->node_bw * ring->n / n * ring->sharing : k->node_bw_pcie;

    if (n <= 1)
        return 0;
    rate /= ring->sharing;
    return k->pcie_start_s / 2 + (n - 1) * k->hop_s + (n - 1) / n * bytes / rate;
}

static double half_reduce (const struct dn_setup *c,
                           double bytes,
                           const struct ring *ring)
{
    if (ring->n <= 1 || bytes <= 0)
        return 0;
    return half_ring (c, bytes, ceil (ring->n / ring->nodes))
           + half_between (c, bytes, ring);
}

/* The same sent in buckets. */
static double half_buckets (const struct dn_setup *c,
                            double bytes,
                            double bucket,
                            const struct ring *ring)
{
    double n = ceil (bytes / bucket);

    return n > 0 ? n * half_reduce (c, bytes / n, ring) : 0;
}

/* The copies of one model; devices that share a copy are next to each other. */
static struct ring find_copies (const struct dn_setup *c)
{
    double in_node = (double) c->spec->gpus / c->nodes;
    double copies = fmax (in_node / c->model_parallel, 1);

    return (struct ring){.n = c->replicas,
                         .nodes = fmax (ceil (c->replicas / copies), 1),
                         .sharing = fmin (c->model_parallel, in_node)};
}

/* Bytes of a gradient: native mixed precision keeps weights and gradients in fp32, the
 * containers and Megatron-LM reduce the gradients of their fp16 weights. Without an
 * optimizer nothing needs fp32: such runs convert the whole network to half precision.
 */
static double gradient_bytes (const struct dn_setup *c)
{
    bool tuned = dn_has_habit (c, DN_HABIT_SHORT_GRADIENTS);

    return tuned || c->spec->optimizer == DN_OPTIMIZER_NONE ? c->traits->activation
                                                            : c->traits->gradients;
}

/* nn.DataParallel: before each step the weights are copied from the first device to all
 * others, along a ring, and the gradients are copied back when all are complete; frozen
 * weights have none. Over
 * PCIe they flow in only one direction, and therefore faster than around a ring of
 * all-reduces.
 */
static struct dn_traffic data_parallel (const struct dn_setup *c,
                                        double bytes,
                                        double frozen)
{
    double rate = has_nvlink (c) ? ring_rate (c, c->replicas)
                                 : c->constants->dataparallel_pcie * c->device->pcie_bw;

    return (struct dn_traffic){.open = (2 * bytes + frozen) / rate};
}

struct dn_traffic dn_data_traffic (const struct dn_setup *c)
{
    const double bucket = 25e6; /* DistributedDataParallel */
    struct ring copies = find_copies (c);
    double params = c->dense_params / c->model_parallel;
    double bytes = params * gradient_bytes (c);
    double frozen = c->frozen_params / c->model_parallel;
    double updated = params * c->traits->activation;
    double weights = updated + frozen * c->traits->activation;
    double accum = (double) c->spec->grad_accum;
    double layers = fmax ((double) c->graph->block_layers, 1);
    double scatter = half_buckets (c, bytes, bucket, &copies);
    double last = half_reduce (c, fmin (bytes, bucket), &copies);

    if (c->replicas <= 1 || params + frozen <= 0)
        return (struct dn_traffic){0};
    switch (c->parallel) {
    case DN_PARALLEL_DATAPARALLEL:
        return data_parallel (c, bytes, frozen * gradient_bytes (c));
    case DN_PARALLEL_ZERO2: /* gradients are sent in every pass, to free memory */
        scatter *= accum;   /* fall through */
    case DN_PARALLEL_ZERO1:
        return (struct dn_traffic){.behind = scatter,
                                   .last = last,
                                   .open = half_reduce (c, updated, &copies),
                                   .passes = c->parallel == DN_PARALLEL_ZERO2};
    case DN_PARALLEL_ZERO3:
    case DN_PARALLEL_FSDP: /* block by block; the device waits for the first one */
        return (struct dn_traffic){
            .behind =
                accum
                * (scatter + 2 * half_buckets (c, weights, weights / layers, &copies)),
            .last = last + half_reduce (c, weights / layers, &copies),
            .passes = true};
    default:
        return (struct dn_traffic){.behind = 2 * scatter, .last = 2 * last};
    }
}

/* The block's output is reduced after the attention and after the feed-forward part,
 * forward and backward (Megatron-LM).
 */
double dn_split_calls (const struct dn_setup *c)
{
    return c->spec->tp > 1 ? 2 * (double) c->graph->block_layers : 0;
}

double dn_split_traffic (const struct dn_setup *c)
{
    double in_node = (double) c->spec->gpus / c->nodes;
    double n = (double) c->spec->tp;
    struct ring ring = {.n = n, .nodes = fmax (ceil (n / in_node), 1), .sharing = 1};
    double bytes = c->graph->block_boundary * c->batch * c->traits->activation;

    return dn_split_calls (c) * 2 * half_reduce (c, bytes, &ring);
}

double dn_split_passes (const struct dn_setup *c)
{
    return c->spec->checkpointing == DN_CHECKPOINTING_FULL ? 3 : 2;
}

double dn_handing_time (const struct dn_setup *c)
{
    const struct dn_constants *k = c->constants;
    double bytes = c->graph->block_boundary * c->batch * c->traits->activation;
    double rate = ring_rate (c, DN_PER_NODE);

    if (c->nodes > 1)
        rate = fmin (rate, has_nvlink (c) ? k->node_bw : k->node_bw_pcie);
    return 2 * (k->nvlink_start_s + bytes / rate);
}
