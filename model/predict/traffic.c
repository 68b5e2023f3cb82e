/* traffic.c - communication between the copies of one model
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
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/collective.h"
#include "predict/stages.h"

#include <math.h>

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
    double rate = dn_has_links (c)
                      ? dn_link_rate (c, c->replicas)
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
    double layers = fmax ((double) c->graph->block_layers, 1);
    double between = 2 * dn_half_between (c, all->gradients, &all->copies);
    double last = dn_half_reduce (c, fmin (all->gradients, bucket), ring);

    if (ring->nodes > 1)
        between = 0;
    return (struct dn_traffic){
        .behind =
            (double) c->spec->grad_accum
            * (dn_half_buckets (c, all->gradients, bucket, ring) + between
               + 2 * dn_half_buckets (c, all->weights, all->weights / layers, ring)),
        .last = last + dn_half_reduce (c, all->weights / layers, ring),
        .passes = true};
}

static struct dn_traffic traffic_of (const struct dn_setup *c,
                                     const struct portion *all)
{
    const double bucket = 25e6; /* DistributedDataParallel */
    struct dn_ring node = dn_ring_in_node (&all->copies);
    double scatter = dn_half_buckets (c, all->gradients, bucket, &all->copies);
    double last = dn_half_reduce (
        c, fmin (all->gradients, fmax (bucket, all->first)), &all->copies);

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
                                   .open =
                                       dn_half_reduce (c, all->updated, &all->copies),
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
