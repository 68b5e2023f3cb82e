/* setup.c - values that follow from a case: the precision that runs, copies, nodes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/stages.h"

#include <math.h>

bool dn_is_sparse (const struct dn_op *op)
{
    /* Language models read hundreds of rows per sample; the tables of NCF are smaller.
     * Both bounds are estimates by hand.
     */
    const double most_rows = 64; /* per sample */
    const double least_params = 64e6;

    return op->kind == DN_OP_EMBEDDING && op->in <= most_rows
           && op->params + op->frozen_params > least_params;
}

bool dn_is_odd (const struct dn_spec *spec, const struct dn_op *op)
{
    return op->kind == DN_OP_LINEAR && spec->framework != DN_FRAMEWORK_MEGATRON
           && (fmod (op->n, 8) != 0 || fmod (op->k, 8) != 0);
}

/* What a network has in experts. */
struct experts {
    struct dn_held held;
    double tensors;
};

/* Bytes by which quantised weights of an operator are shorter than activations. */
static double quantised_by (const struct dn_setup *setup, const struct dn_op *op)
{
    double bytes = op->frozen_params * setup->traits->activation;

    return op->frozen_bytes > 0 ? op->repeat * dn_max (bytes - op->frozen_bytes, 0) : 0;
}

/* What one of 'devices' that share it holds. */
static struct dn_held share_of (const struct dn_held *held, double devices)
{
    return (struct dn_held){
        held->params / devices, held->frozen / devices, held->frozen_bytes / devices};
}

/* Tokens enter the experts at the first operator of these. */
static void count_expert (struct dn_setup *setup,
                          const struct dn_op *op,
                          struct experts *sum)
{
    if (op == setup->graph->ops || !op[-1].expert) {
        setup->dispatched += op->repeat * op->in;
        setup->expert_layers += op->repeat / setup->graph->experts;
    }
    sum->held.params += op->repeat * op->params;
    sum->held.frozen += op->repeat * op->frozen_params;
    sum->held.frozen_bytes += op->repeat * op->frozen_params * setup->traits->activation
                              - quantised_by (setup, op);
    sum->tensors += op->repeat * op->tensors;
}

/* Weights that a pass computes from directions and lengths, which learn (weight
 * normalisation, arXiv 1602.07868): torch.nn.utils.weight_norm keeps them in the module
 * until the next pass. The lengths are a norm without elements behind the product.
 */
static bool is_normed (const struct dn_graph *graph, int i)
{
    const struct dn_op *norm = &graph->ops[i + 1];

    return i + 1 < graph->n_ops && norm->kind == DN_OP_NORM && norm->params > 0
           && norm->out <= 0 && dn_op_has_weights (&graph->ops[i]);
}

/* Look for attention, and set the parameters by what happens to them. */
static void count_network (struct dn_setup *setup)
{
    const struct dn_graph *graph = setup->graph;
    struct experts split = {0};
    struct dn_held rest;
    double shorter = 0;

    setup->dense_params = graph->params;
    setup->frozen_params = graph->frozen_params;
    for (int i = 0; i < graph->n_ops; i++) {
        const struct dn_op *op = &graph->ops[i];

        setup->scores = setup->scores || op->kind == DN_OP_SOFTMAX;
        setup->attention = setup->attention || op->kind == DN_OP_ATTENTION;
        setup->odd = setup->odd || dn_is_odd (setup->spec, op);
        shorter += quantised_by (setup, op);
        if (is_normed (graph, i))
            setup->normed_params += op->repeat * op->params;
        if (setup->experts > 1 && op->expert)
            count_expert (setup, op, &split);
        if (op->kind == DN_OP_EMBEDDING && !dn_is_sparse (op))
            setup->first_params += op->repeat * op->params;
        if (!dn_is_sparse (op))
            continue;
        setup->dense_params -= op->repeat * op->params;
        setup->frozen_params -= op->repeat * op->frozen_params;
        setup->table_params += op->repeat * (op->params + op->frozen_params);
    }
    rest = (struct dn_held){setup->dense_params - split.held.params,
                            setup->frozen_params - split.held.frozen,
                            setup->frozen_params * setup->traits->activation - shorter
                                - split.held.frozen_bytes};
    setup->dense = share_of (&rest, setup->model_parallel);
    setup->in_experts = share_of (&split.held, setup->model_parallel * setup->experts);
    setup->tensors = graph->tensors - split.tensors + split.tensors / setup->experts;
}

/* 'nodes' have the devices of the job, or domains of links. */
static struct dn_ring ring_over (const struct dn_setup *c,
                                 double nodes,
                                 double n,
                                 double stride)
{
    double devices = (double) c->spec->gpus / nodes;
    double members = dn_max (devices / stride, 1);

    return (struct dn_ring){.n = n,
                            .nodes = dn_max (ceil (n / members), 1),
                            .sharing = dn_min (stride, devices)};
}

struct dn_ring dn_ring_of (const struct dn_setup *c, double n, double stride)
{
    return ring_over (c, c->domains, n, stride);
}

struct dn_ring dn_ring_in_node (const struct dn_ring *ring)
{
    return (struct dn_ring){ceil (ring->n / ring->nodes), 1, ring->sharing};
}

/* The devices that share the state of parameters with 'copies' copies. HSDP shards
 * among the processes that a launcher starts on one node.
 */
static double shard_count (const struct dn_setup *setup, double copies, double stride)
{
    struct dn_ring ring = ring_over (setup, setup->nodes, copies, stride);

    if (setup->parallel == DN_PARALLEL_HSDP)
        return dn_ring_in_node (&ring).n;
    return setup->parallel >= DN_PARALLEL_ZERO1 ? copies : 1;
}

static double count_of (int64_t value)
{
    return value == DN_UNSET ? 1 : (double) value;
}

static void split_work (struct dn_setup *setup)
{
    const struct dn_spec *spec = setup->spec;

    setup->norm_split = spec->sp == 1 ? (double) spec->tp : 1;
    setup->context = count_of (spec->cp);
    setup->chunks = setup->graph->block_layers > 1 ? count_of (spec->vpp) : 1;
    setup->experts = setup->graph->experts > 0 ? count_of (spec->ep) : 1;
}

/* How state is sharded depends on the devices of a node. */
static void split_state (struct dn_setup *setup)
{
    double stride = setup->model_parallel;

    setup->shards = shard_count (setup, setup->replicas, stride);
    setup->expert_shards =
        shard_count (setup, setup->replicas / setup->experts, stride * setup->experts);
    if (dn_net_read (setup->spec->net, &setup->net, NULL) < 0)
        setup->net = (struct dn_net){.rdma = true,
                                     .rate = setup->device->adapter_bw,
                                     .adapters = (double) setup->device->adapters};
}

/* Jobs of more devices than a node has run on several nodes, even if nodes= is less. */
static double node_count (const struct dn_spec *spec, const struct dn_device *device)
{
    return dn_max ((double) spec->nodes,
                   ceil ((double) spec->gpus / (double) device->per_node));
}

/* Nodes that share a domain of links are one to the traffic. */
static double domain_count (const struct dn_setup *setup)
{
    double domain = (double) setup->device->domain;

    if (domain <= 0 || setup->spec->link == DN_LINK_PCIE)
        return setup->nodes;
    return dn_min (ceil ((double) setup->spec->gpus / domain), setup->nodes);
}

/* A run without an optimizer on several GPUs of one node measures a network, it does
 * not train one. In PyTorch that takes one line, nn.DataParallel. All else needs a
 * launcher, process groups and a sampler, which are part of a training script, and such
 * a script has an optimizer.
 */
static enum dn_parallel effective_parallel (const struct dn_spec *spec)
{
    bool simple = (dn_habits_of (spec) & DN_HABIT_LAUNCHER) == 0 && spec->nodes <= 1
                  && spec->tp <= 1 && spec->pp <= 1 && spec->cp <= 1;

    if (spec->parallel != DN_PARALLEL_UNKNOWN)
        return spec->parallel;
    return simple && spec->gpus > 1 && spec->optimizer == DN_OPTIMIZER_NONE
               ? DN_PARALLEL_DATAPARALLEL
               : DN_PARALLEL_DP;
}

/* What does not depend on the device, but for its precision. */
static void set_case (struct dn_setup *setup,
                      const struct dn_case *c,
                      enum dn_precision precision)
{
    double model_parallel = (double) (c->spec->tp * c->spec->pp);

    *setup = (struct dn_setup){
        .constants = c->constants,
        .spec = c->spec,
        .graph = c->graph,
        .cpus_per_gpu = c->cpus_per_gpu,
        .precision = precision,
        .traits = &dn_precision_traits[precision],
        .habits = dn_habits_of (c->spec),
        .replicas = (double) c->spec->gpus / model_parallel,
        .model_parallel = model_parallel,
        .parallel = effective_parallel (c->spec),
        .share = dn_attention_share (c),
    };
    split_work (setup);
    count_network (setup);
    dn_setup_batch (setup, c->spec->batch);
}

void dn_setup_init (struct dn_setup *setup,
                    const struct dn_case *c,
                    const struct dn_setup *other)
{
    enum dn_precision precision = dn_device_precision (c->device, c->spec->precision);

    if (other && other->precision == precision)
        *setup = *other;
    else
        set_case (setup, c, precision);
    setup->device = c->device;
    setup->stack = dn_stack_factors_of (c);
    setup->nodes = node_count (c->spec, c->device);
    setup->domains = domain_count (setup);
    split_state (setup);
}

double dn_own_params (const struct dn_setup *setup)
{
    return setup->dense.params + setup->in_experts.params;
}

double dn_shard_params (const struct dn_setup *setup)
{
    return setup->dense.params / setup->shards
           + setup->in_experts.params / setup->expert_shards;
}

bool dn_is_attention_core (const struct dn_setup *setup, const struct dn_op *op)
{
    enum dn_op_kind last;

    if (op->kernel || op->kind == DN_OP_ATTENTION)
        return op->kind != DN_OP_COPY;
    last = op > setup->graph->ops ? op[-1].kind : DN_OP_UNKNOWN;
    switch (op->kind) {
    case DN_OP_MATMUL:
        return setup->scores;
    case DN_OP_SOFTMAX:
        return true;
    case DN_OP_DROPOUT:
        return last == DN_OP_SOFTMAX;
    case DN_OP_ELEMENTWISE: /* scale and mask */
        return setup->scores && last == DN_OP_MATMUL;
    default:
        return false;
    }
}

double dn_kernels_of (const struct dn_setup *setup, const struct dn_op *op)
{
    if (op->expert)
        return 1
               / (dn_has_habit (setup, DN_HABIT_GROUPED)
                      ? dn_max (setup->graph->experts, 1)
                      : setup->experts);
    return dn_is_attention_core (setup, op) ? setup->context : 1;
}

bool dn_is_offloaded (const struct dn_setup *setup)
{
    return setup->spec->offload == DN_OFFLOAD_PARAMS
           || (setup->spec->offload == DN_OFFLOAD_OPTIMIZER
               && setup->spec->optimizer != DN_OPTIMIZER_NONE);
}

void dn_setup_batch (struct dn_setup *setup, int64_t batch)
{
    setup->batch = (double) batch;
    setup->padded = (double) batch * setup->graph->padding / setup->context;
    setup->computed = setup->padded * setup->share;
}

double dn_usual_cores (const struct dn_setup *setup)
{
    return setup->device->cores > 0 ? (double) setup->device->cores
                                    : setup->constants->cores;
}
