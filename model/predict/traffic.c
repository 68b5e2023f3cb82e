/* traffic.c - communication: links and collectives, the copies of a model, devices that
 * share its work, and the memory of the host
 *
 * An all-reduce is a reduce-scatter and an all-gather, each of which sends (n-1)/n of
 * the bytes once around a ring (Patarasuk and Yuan 2009), after a start and n-1 hops.
 * Across nodes it is hierarchical: the devices of a node reduce and scatter, every
 * device reduces its share with those of its rank in the other nodes, and the node
 * gathers. Where links join devices over nodes (LinkDomain=), "node" below is such a
 * domain.
 *
 * Gradients are sent in buckets while the backward pass computes others, as in
 * DistributedDataParallel; nothing overlaps the last bucket. It has the gradients of
 * the first layer, and those of an embedding are one tensor, however large. Those of
 * experts have fewer copies: replicas / ep.
 *
 * Volumes of sharded training, per optimizer step and in units of an all-reduce
 * (Rajbhandari et al. 2020, sections 5 and 7): 1 with ZeRO-1 and ZeRO-2, whose second
 * half gathers the new weights after the optimizer; 1.5 with ZeRO-3 and FSDP, which
 * gather the weights in every forward and backward pass. HSDP does that within a node
 * and reduces the gradients' shards between nodes (Zhao et al. 2023, section 3.2.2).
 *
 * Tensor parallelism: the output of a block's attention and of its feed-forward part is
 * reduced, forward and backward (Shoeybi et al., arXiv 1909.08053). With sequence
 * parallelism an all-gather before and a reduce-scatter behind each part take the place
 * of the all-reduce: the same bytes in twice as many kernels (Korthikanti et al. 2022,
 * arXiv 2205.05198, section 4.2.2).
 *
 * Expert parallelism: each token is sent to its experts and back, forward and backward
 * (Lepikhin et al., arXiv 2006.16668).
 *
 * Context parallelism: keys and values are passed around a ring while attention to
 * those at hand is computed, in the backward pass with their gradients (Liu et al.,
 * arXiv 2310.01889).
 *
 * Pipelines: activations and gradients are handed to the next stage, v times as often
 * with v chunks per stage (Narayanan et al. 2021, section 2.2). The devices of a stage
 * have the same ones: in Megatron-LM each sends its share of them, and those of the
 * next stage gather (Narayanan et al. 2021, section 4.1).
 *
 * ZeRO-Offload (Ren et al., arXiv 2101.06840) sends the gradients of the device's shard
 * to the host while the backward pass computes others, updates the weights there and
 * brings them back: 2 + 2 bytes per parameter and step in mixed precision. Where the
 * weights are on the host, they come in both passes, a block ahead of its use
 * (ZeRO-Infinity, arXiv 2104.07857). Activations go out in the forward pass and come
 * back in the backward pass.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/stages.h"

#include <math.h>

/* Do the devices of a node have links of their own, faster than those to the host, and
 * does the job use them?
 */
static bool has_links (const struct dn_setup *c)
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
        return dn_min (dn_max (n - 1, 1) / others, 1);
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
    return has_links (c) ? c->constants->nvlink_start_s : c->constants->pcie_start_s;
}

/* Byte/s that a ring of n devices of one node carries.
 *
 * The measured rate is of all devices of a node; fewer devices without switches may
 * have fewer links.
 */
static double link_rate (const struct dn_setup *c, double n)
{
    const struct dn_constants *k = c->constants;
    double share = mesh_share (c, n);
    double all = mesh_share (c, (double) c->device->per_node);

    if (is_measured (c))
        return c->device->measured.ring
               * (has_links (c) && share > 0 && all > 0 ? share / all : 1);
    if (!has_links (c))
        return c->device->pcie_bw * k->pcie_eff;
    if (c->device->generation->link_ring)
        return c->device->link_bw;
    return c->device->link_bw * (share > 0 ? share * k->mesh_eff : k->nvlink_eff);
}

/* Byte/s between a node and the others for 'devices' of it together.
 *
 * A device uses one adapter at a time. Where neither net= nor the catalogue knows them,
 * nodes with links of their own have an adapter per device, others one.
 */
static double node_rate (const struct dn_setup *c, double devices)
{
    const struct dn_constants *k = c->constants;
    double share = c->net.rdma ? k->net_rdma : k->net_sockets;

    if (c->net.rate > 0)
        return c->net.rate * share * dn_min (c->net.adapters, ceil (devices));
    return has_links (c) ? k->node_bw * devices : k->node_bw_pcie;
}

/* Seconds of a reduce-scatter or an all-gather of 'bytes' among n devices of a node. */
static double half_ring (const struct dn_setup *c, double bytes, double n)
{
    const struct dn_constants *k = c->constants;

    if (n <= 1 || bytes <= 0)
        return 0;
    return start_time (c) / 2 + (n - 1) * k->hop_s
           + (n - 1) / n * bytes / link_rate (c, n);
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
    double rate = node_rate (c, ring->n / n * ring->sharing) / ring->sharing;
    double steps = dn_min (n - 1, ceil (log2 (dn_max (n, 1))));

    if (n <= 1)
        return 0;
    return steps * k->net_hop_s + (n - 1) / n * bytes / rate;
}

/* Seconds of a reduce-scatter or an all-gather of 'bytes', half an all-reduce. */
static double half_reduce (const struct dn_setup *c,
                           double bytes,
                           const struct dn_ring *ring)
{
    if (ring->n <= 1 || bytes <= 0)
        return 0;
    return half_ring (c, bytes, dn_ring_in_node (ring).n)
           + dn_half_between (c, bytes, ring);
}

/* The same in messages of about 'bucket' bytes. */
static double half_buckets (const struct dn_setup *c,
                            double bytes,
                            double bucket,
                            const struct dn_ring *ring)
{
    double n = bytes > 0 ? ceil (bytes / bucket) : 0;

    return n > 0 ? n * half_reduce (c, bytes / n, ring) : 0;
}

/* Seconds of an all-to-all in which each device has 'bytes' for all devices together,
 * itself among them. Links of a node and the network carry their parts at the same
 * time. */
static double all_to_all (const struct dn_setup *c,
                          double bytes,
                          const struct dn_ring *ring)
{
    const struct dn_constants *k = c->constants;
    double near = dn_ring_in_node (ring).n;
    double far = ring->n - near;
    double within;
    double between = 0;

    if (ring->n <= 1 || bytes <= 0)
        return 0;
    within = (near - 1) / ring->n * bytes / link_rate (c, near);
    if (far > 0)
        between = near * far / ring->n * bytes * ring->sharing
                  / node_rate (c, near * ring->sharing);
    return start_time (c) + (ring->n - 1) * k->hop_s + dn_max (within, between);
}

/* Seconds in which each device sends 'bytes' to the next one. Around a ring one link of
 * a node leads to the next one. */
static double pass_on (const struct dn_setup *c,
                       double bytes,
                       const struct dn_ring *ring)
{
    double rate = link_rate (c, dn_ring_in_node (ring).n);

    if (ring->nodes > 1)
        rate = dn_min (rate, node_rate (c, ring->sharing) / ring->sharing);
    return start_time (c) / 2 + c->constants->hop_s + bytes / rate;
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
 * weights have none. Over PCIe they flow in only one direction, and therefore faster
 * than around a ring of all-reduces.
 */
static struct dn_traffic data_parallel (const struct dn_setup *c,
                                        double bytes,
                                        double frozen)
{
    double rate = has_links (c) ? link_rate (c, c->replicas)
                                : c->constants->dataparallel_pcie * c->device->pcie_bw;

    return (struct dn_traffic){.open = (2 * bytes + frozen) / rate};
}

/* Weights of one device, in bytes, and the devices that have the same ones. */
struct portion {
    struct dn_ring copies;
    double gradients;
    double first;   /* of them, those that are complete last */
    double updated; /* weights that learn, as they are sent */
    double weights; /* all of them, as they are sent */
    double frozen;  /* of the gradients' element size */
};

/* 'first' are parameters of the first layers. */
static struct portion portion_of (const struct dn_setup *c,
                                  const struct dn_held *held,
                                  double experts,
                                  double first)
{
    return (struct portion){
        .copies = dn_ring_of (c, c->replicas / experts, c->model_parallel * experts),
        .gradients = held->params * gradient_bytes (c),
        .first = first / c->model_parallel * gradient_bytes (c),
        .updated = held->params * c->traits->activation,
        .weights = held->params * c->traits->activation + held->frozen_bytes,
        .frozen = held->frozen * gradient_bytes (c)};
}

/* Block by block: the gradients are reduced, the weights are gathered twice among the
 * devices of 'ring'. The device waits for the first block.
 */
static struct dn_traffic gathering (const struct dn_setup *c,
                                    const struct portion *all,
                                    const struct dn_ring *ring,
                                    double bucket)
{
    double layers = dn_max ((double) c->graph->block_layers, 1);
    double between = 2 * dn_half_between (c, all->gradients, &all->copies);
    double last = half_reduce (c, dn_min (all->gradients, bucket), ring);

    if (ring->nodes > 1)
        between = 0;
    return (struct dn_traffic){
        .behind = (double) c->spec->grad_accum
                  * (half_buckets (c, all->gradients, bucket, ring) + between
                     + 2 * half_buckets (c, all->weights, all->weights / layers, ring)),
        .last = last + half_reduce (c, all->weights / layers, ring),
        .passes = true};
}

static struct dn_traffic traffic_of (const struct dn_setup *c,
                                     const struct portion *all)
{
    const double bucket = 25e6; /* DistributedDataParallel */
    struct dn_ring node = dn_ring_in_node (&all->copies);
    double scatter = half_buckets (c, all->gradients, bucket, &all->copies);
    double last = half_reduce (
        c, dn_min (all->gradients, dn_max (bucket, all->first)), &all->copies);

    if (all->copies.n <= 1 || all->weights <= 0)
        return (struct dn_traffic){0};
    switch (c->parallel) {
    case DN_PARALLEL_DATAPARALLEL:
        return data_parallel (c, all->gradients, all->frozen);
    case DN_PARALLEL_ZERO2: /* gradients are sent in every pass, to free memory */
        scatter *= (double) c->spec->grad_accum; /* fall through */
    case DN_PARALLEL_ZERO1:
        return (struct dn_traffic){.behind = scatter,
                                   .last = last,
                                   .open = half_reduce (c, all->updated, &all->copies),
                                   .passes = c->parallel == DN_PARALLEL_ZERO2};
    case DN_PARALLEL_ZERO3:
    case DN_PARALLEL_FSDP:
        return gathering (c, all, &all->copies, bucket);
    case DN_PARALLEL_HSDP:
        return gathering (c, all, &node, bucket);
    default:
        return (struct dn_traffic){.behind = 2 * scatter, .last = 2 * last};
    }
}

struct dn_traffic dn_data_traffic (const struct dn_setup *c)
{
    struct portion dense = portion_of (c, &c->dense, 1, c->first_params);
    struct portion experts = portion_of (c, &c->in_experts, c->experts, 0);
    struct dn_traffic a = traffic_of (c, &dense);
    struct dn_traffic b = traffic_of (c, &experts);

    return (struct dn_traffic){.behind = a.behind + b.behind,
                               .last = a.last + b.last,
                               .open = a.open + b.open,
                               .passes = a.passes || b.passes,
                               .far = dense.copies.nodes > 1};
}

/* Bytes of an activation between two blocks on one device. */
static double boundary_bytes (const struct dn_setup *c)
{
    return c->graph->block_boundary * c->batch / c->context * c->traits->activation;
}

static struct dn_exchange tensor_exchange (const struct dn_setup *c)
{
    struct dn_ring ring = dn_ring_of (c, (double) c->spec->tp, 1);
    double n = c->spec->tp > 1 ? 2 * (double) c->graph->block_layers : 0;
    double seconds = n * 2 * half_reduce (c, boundary_bytes (c), &ring);

    return (struct dn_exchange){.calls = n * (c->spec->sp == 1 ? 2 : 1),
                                .seconds = seconds,
                                .far = ring.nodes > 1 ? seconds : 0};
}

/* A device sends the tokens that it has: with sequence parallelism its share of them.
 */
static struct dn_exchange expert_exchange (const struct dn_setup *c)
{
    struct dn_ring ring = dn_ring_of (c, c->experts, (double) c->spec->tp);
    double n = c->experts > 1 ? 2 * c->expert_layers : 0;
    double bytes = c->dispatched * c->batch / c->context * c->traits->activation
                   / c->norm_split / dn_max (c->expert_layers, 1);
    double seconds = n * all_to_all (c, bytes, &ring);

    return (struct dn_exchange){
        .calls = n, .seconds = seconds, .far = ring.nodes > 1 ? seconds : 0};
}

struct dn_exchange dn_block_exchange (const struct dn_setup *c)
{
    struct dn_exchange tensor = tensor_exchange (c);
    struct dn_exchange expert = expert_exchange (c);

    return (struct dn_exchange){tensor.calls + expert.calls,
                                tensor.seconds + expert.seconds,
                                tensor.far + expert.far};
}

double dn_split_passes (const struct dn_setup *c)
{
    return c->spec->checkpointing == DN_CHECKPOINTING_FULL ? 3 : 2;
}

/* In separate kernels keys belong to the scores, values to the product with them: each
 * is the second operand.
 */
double dn_ring_attention (const struct dn_setup *c, const struct dn_op *op)
{
    double turns = c->context - 1;
    double elements;
    struct dn_ring ring;

    if (turns < 1 || (op->kind != DN_OP_MATMUL && op->kind != DN_OP_ATTENTION)
        || !dn_is_attention_core (c, op))
        return 0;
    ring = dn_ring_of (c, c->context, (double) c->spec->tp);
    elements = op->kind == DN_OP_ATTENTION
                   ? op->kv_heads * op->n * (op->k + op->value_dim)
                   : op->batches * op->k * op->n;
    elements *= c->batch / c->context;
    return op->repeat * turns
           * pass_on (
               c, elements * c->traits->activation / (double) c->spec->tp, &ring);
}

double dn_handing_time (const struct dn_setup *c)
{
    const struct dn_constants *k = c->constants;
    struct dn_ring stage = dn_ring_of (c, (double) c->spec->tp, 1);
    bool scatters = c->norm_split <= 1 && dn_has_habit (c, DN_HABIT_SCATTERS);
    double all = boundary_bytes (c) / c->norm_split;
    double bytes = scatters ? all / stage.n : all;
    double gather = scatters ? half_reduce (c, all, &stage) : 0;
    double devices = c->net.rate > 0 ? (double) c->spec->gpus / c->domains : 1;
    double rate = link_rate (c, DN_PER_NODE);

    if (c->domains > 1)
        rate = dn_min (rate, node_rate (c, devices) / devices);
    return 2 * (k->nvlink_start_s + bytes / rate + gather);
}

double dn_handings (const struct dn_setup *c)
{
    return (double) c->spec->grad_accum * c->chunks + (double) c->spec->pp - 1;
}
