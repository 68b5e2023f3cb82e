/* setup.c - values that follow from a case: the precision that runs, copies, nodes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/setup.h"

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

/* Set the parameters by what happens to them. */
static void count_params (struct dn_setup *setup)
{
    const struct dn_graph *graph = setup->graph;

    setup->dense_params = graph->params;
    setup->frozen_params = graph->frozen_params;
    for (int i = 0; i < graph->n_ops; i++) {
        const struct dn_op *op = &graph->ops[i];

        if (!dn_is_sparse (op))
            continue;
        setup->dense_params -= op->repeat * op->params;
        setup->frozen_params -= op->repeat * op->frozen_params;
        setup->table_params += op->repeat * (op->params + op->frozen_params);
    }
}

/* Jobs of more devices than a node has run on several nodes, even if nodes= is less. */
static double node_count (const struct dn_spec *spec, const struct dn_device *device)
{
    return fmax ((double) spec->nodes,
                 ceil ((double) spec->gpus / (double) device->per_node));
}

/* A run without an optimizer on several GPUs of one node measures a network, it does
 * not train one. In PyTorch that takes one line, nn.DataParallel. All else needs a
 * launcher, process groups and a sampler, which are part of a training script, and such
 * a script has an optimizer.
 */
static enum dn_parallel effective_parallel (const struct dn_spec *spec)
{
    bool simple = (dn_habits_of (spec) & DN_HABIT_LAUNCHER) == 0 && spec->nodes <= 1
                  && spec->tp <= 1 && spec->pp <= 1;

    if (spec->parallel != DN_PARALLEL_UNKNOWN)
        return spec->parallel;
    return simple && spec->gpus > 1 && spec->optimizer == DN_OPTIMIZER_NONE
               ? DN_PARALLEL_DATAPARALLEL
               : DN_PARALLEL_DP;
}

void dn_setup_init (struct dn_setup *setup, const struct dn_case *c)
{
    double model_parallel = (double) (c->spec->tp * c->spec->pp);
    enum dn_precision precision = dn_device_precision (c->device, c->spec->precision);

    *setup = (struct dn_setup){
        .constants = c->constants,
        .spec = c->spec,
        .graph = c->graph,
        .device = c->device,
        .cpus_per_gpu = c->cpus_per_gpu,
        .precision = precision,
        .traits = &dn_precision_traits[precision],
        .habits = dn_habits_of (c->spec),
        .replicas = (double) c->spec->gpus / model_parallel,
        .model_parallel = model_parallel,
        .nodes = node_count (c->spec, c->device),
        .parallel = effective_parallel (c->spec),
        .share = dn_attention_share (c),
    };
    count_params (setup);
    dn_setup_batch (setup, c->spec->batch);
}

bool dn_has_habit (const struct dn_setup *setup, enum dn_habit habit)
{
    return (setup->habits & (unsigned) habit) != 0;
}

void dn_setup_batch (struct dn_setup *setup, int64_t batch)
{
    setup->batch = (double) batch;
    setup->padded = (double) batch * setup->graph->padding;
    setup->computed = setup->padded * setup->share;
}
