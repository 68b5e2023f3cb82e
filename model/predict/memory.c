/* memory.c - peak memory of one device, by class
 *
 * Classes as in Centimani (ATC'24) and DNNMem: weights, gradients, optimizer state,
 * activations saved for the backward pass, workspace; and what a process on a real GPU
 * adds: context, communication buckets, the allocator's rounding. Bytes per parameter
 * by precision and optimizer are those of PyTorch's native mixed precision.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/stages.h"

#include <math.h>

/* 4-byte states that an optimizer keeps per parameter. */
static double optimizer_states (enum dn_optimizer optimizer)
{
    switch (optimizer) {
    case DN_OPTIMIZER_NONE:
    case DN_OPTIMIZER_SGD:
    case DN_OPTIMIZER_ADAFACTOR: /* rows and columns only */
        return 0;
    case DN_OPTIMIZER_ADAM:
    case DN_OPTIMIZER_ADAMW:
    case DN_OPTIMIZER_LAMB:
    case DN_OPTIMIZER_ADADELTA:
        return 2;
    case DN_OPTIMIZER_UNKNOWN: /* Adam's: memory must not be underestimated */
        return 2;
    default:
        return 1;
    }
}

/* Bytes saved for the backward pass. Full checkpointing keeps the block boundaries and
 * the inside of one block.
 */
static double activation_bytes (const struct dn_case *c)
{
    const struct dn_graph *graph = c->graph;
    double element = dn_activation_bytes (c->precision);
    double bytes = 0;
    double blocks = (double) graph->block_layers;

    for (int i = 0; i < graph->n_ops; i++)
        bytes += graph->ops[i].repeat
                 * (graph->ops[i].saved * element + graph->ops[i].masks);
    if (c->spec->checkpointing == DN_CHECKPOINTING_FULL && blocks > 1)
        bytes = bytes / blocks + graph->block_boundary * element * blocks;
    return bytes * c->batch / c->model_parallel;
}

/* The largest tensors that live besides: gradient of the largest output, and the
 * logits' fp32 copies of a loss.
 */
static double transient_bytes (const struct dn_case *c)
{
    double element = dn_activation_bytes (c->precision);
    double largest = 0;
    double loss = 0;

    for (int i = 0; i < c->graph->n_ops; i++) {
        const struct dn_op *op = &c->graph->ops[i];

        largest = fmax (largest, (op->in + op->out) * element);
        if (op->kind == DN_OP_LOSS)
            loss = fmax (loss, op->in * 4 * 2);
    }
    return (largest + loss) * c->batch / c->model_parallel;
}

static void parameter_bytes (const struct dn_case *c,
                             double memory[DN_N_MEMORY_CLASSES])
{
    double params = c->dense_params / c->model_parallel;
    double tables = (c->graph->params - c->dense_params) / (double) c->spec->gpus;
    double n = c->replicas;
    bool mixed = c->precision == DN_PRECISION_FP16 || c->precision == DN_PRECISION_BF16;
    bool pure = c->precision == DN_PRECISION_HALF;
    enum dn_parallel parallel = c->spec->parallel;

    memory[DN_MEMORY_WEIGHTS] = params * (pure ? 2 : 4) + (mixed ? params * 2 : 0);
    memory[DN_MEMORY_GRADIENTS] = params * (pure ? 2 : 4);
    memory[DN_MEMORY_OPTIMIZER] = params * 4 * optimizer_states (c->spec->optimizer);
    if (n > 1 && parallel < DN_PARALLEL_ZERO2)
        memory[DN_MEMORY_BUCKETS] = memory[DN_MEMORY_GRADIENTS];
    if (parallel >= DN_PARALLEL_ZERO1)
        memory[DN_MEMORY_OPTIMIZER] /= n;
    if (parallel >= DN_PARALLEL_ZERO2)
        memory[DN_MEMORY_GRADIENTS] /= n;
    if (parallel >= DN_PARALLEL_ZERO3) {
        memory[DN_MEMORY_WEIGHTS] /= n;
        memory[DN_MEMORY_BUCKETS] =
            c->graph->block_layers > 0
                ? 2 * params * 2 / (double) c->graph->block_layers
                : params * 2;
    }
    memory[DN_MEMORY_WEIGHTS] += tables * 4;
}

void dn_predict_memory (const struct dn_case *c, struct dn_estimate *estimate)
{
    const struct dn_constants *k = c->constants;
    double *memory = estimate->memory;
    double allocated = 0;
    double per_node = (double) c->spec->gpus / (double) c->spec->nodes;
    double workers = c->spec->workers >= 0 ? (double) c->spec->workers : 4;

    parameter_bytes (c, memory);
    memory[DN_MEMORY_ACTIVATIONS] = activation_bytes (c) + transient_bytes (c);
    memory[DN_MEMORY_WORKSPACE] = k->workspace_bytes;
    for (int i = 0; i <= DN_MEMORY_BUCKETS; i++)
        allocated += memory[i];
    memory[DN_MEMORY_SLACK] = k->slack * allocated;
    memory[DN_MEMORY_CONTEXT] = k->context_bytes;
    estimate->gpu_mem.p50 =
        allocated + memory[DN_MEMORY_SLACK] + memory[DN_MEMORY_CONTEXT];
    estimate->host_mem = per_node
                         * (k->host_process + workers * k->host_worker
                            + 2 * workers * c->batch * c->graph->input_bytes);
}
