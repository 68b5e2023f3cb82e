/* setup.c - what a case comes to: the precision that runs, copies, nodes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/setup.h"

#include <math.h>

double dn_activation_bytes (enum dn_precision precision)
{
    return precision == DN_PRECISION_FP16 || precision == DN_PRECISION_BF16
                   || precision == DN_PRECISION_HALF
               ? 2
               : 4;
}

bool dn_is_sparse (const struct dn_op *op)
{
    /* Language models read hundreds of rows per sample; the tables of NCF are smaller.
     */
    return op->kind == DN_OP_EMBEDDING && op->in <= 64 && op->params > 64e6;
}

static double dense_params (const struct dn_graph *graph)
{
    double params = graph->params;

    for (int i = 0; i < graph->n_ops; i++)
        if (dn_is_sparse (&graph->ops[i]))
            params -= graph->ops[i].repeat * graph->ops[i].params;
    return params;
}

/* tf32 work runs as fp32 where the catalogue has no such unit. Without a stated
 * precision the slowest is assumed: a limit must not be built on hope.
 */
static enum dn_precision effective_precision (const struct dn_spec *spec,
                                              const struct dn_device *device)
{
    if (spec->precision == DN_PRECISION_UNKNOWN)
        return DN_PRECISION_FP32;
    if (spec->precision == DN_PRECISION_TF32 && device->tf32 <= 0)
        return DN_PRECISION_FP32;
    return spec->precision;
}

/* Jobs of more devices than a node holds run across nodes, whatever was said. */
static double node_count (const struct dn_spec *spec, const struct dn_device *device)
{
    return fmax ((double) spec->nodes,
                 ceil ((double) spec->gpus / (double) device->per_node));
}

/* A run of forward and backward passes alone on several GPUs of one node times a
 * network, it does not train one. In PyTorch that takes one line, nn.DataParallel; all
 * else needs a launcher, process groups and a sampler, which belong to a training
 * script, and that has an optimizer.
 */
static enum dn_parallel effective_parallel (const struct dn_spec *spec)
{
    bool simple = spec->framework == DN_FRAMEWORK_PYTORCH && spec->stack != DN_STACK_NGC
                  && spec->nodes <= 1 && spec->tp <= 1 && spec->pp <= 1;

    if (spec->parallel != DN_PARALLEL_UNKNOWN)
        return spec->parallel;
    return simple && spec->gpus > 1 && spec->optimizer == DN_OPTIMIZER_NONE
               ? DN_PARALLEL_DATAPARALLEL
               : DN_PARALLEL_DP;
}

void dn_setup_init (struct dn_setup *setup, const struct dn_case *c)
{
    double model_parallel = (double) (c->spec->tp * c->spec->pp);

    *setup = (struct dn_setup){
        .constants = c->constants,
        .spec = c->spec,
        .graph = c->graph,
        .device = c->device,
        .cpus_per_gpu = c->cpus_per_gpu,
        .precision = effective_precision (c->spec, c->device),
        .replicas = (double) c->spec->gpus / model_parallel,
        .model_parallel = model_parallel,
        .dense_params = dense_params (c->graph),
        .nodes = node_count (c->spec, c->device),
        .parallel = effective_parallel (c->spec),
    };
    dn_setup_batch (setup, c->spec->batch);
}

void dn_setup_batch (struct dn_setup *setup, int64_t batch)
{
    setup->batch = (double) batch;
    setup->padded = (double) batch * setup->graph->padding;
}
