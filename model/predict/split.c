/* split.c - communication between devices that work on the same samples
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
 * with v chunks per stage (Narayanan et al. 2021, section 2.2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/collective.h"
#include "predict/stages.h"

#include <math.h>

/* Bytes of an activation between two blocks on one device. */
static double boundary_bytes (const struct dn_setup *c)
{
    return c->graph->block_boundary * c->batch / c->context * c->traits->activation;
}

static struct dn_exchange tensor_exchange (const struct dn_setup *c)
{
    struct dn_ring ring = dn_ring_of (c, (double) c->spec->tp, 1);
    double n = c->spec->tp > 1 ? 2 * (double) c->graph->block_layers : 0;
    double seconds = n * 2 * dn_half_reduce (c, boundary_bytes (c), &ring);

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
                   / c->norm_split / fmax (c->expert_layers, 1);
    double seconds = n * dn_all_to_all (c, bytes, &ring);

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
           * dn_pass_on (
               c, elements * c->traits->activation / (double) c->spec->tp, &ring);
}

double dn_handing_time (const struct dn_setup *c)
{
    const struct dn_constants *k = c->constants;
    double bytes = boundary_bytes (c) / c->norm_split;
    double devices = c->net.rate > 0 ? (double) c->spec->gpus / c->nodes : 1;
    double rate = dn_link_rate (c, DN_PER_NODE);

    if (c->nodes > 1)
        rate = fmin (rate, dn_node_rate (c, devices) / devices);
    return 2 * (k->nvlink_start_s + bytes / rate);
}

double dn_handings (const struct dn_setup *c)
{
    return (double) c->spec->grad_accum * c->chunks + (double) c->spec->pp - 1;
}
