/* graph.c - names of operators, and freeing a graph
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/graph.h"
#include "base/messages.h"

#include <math.h>
#include <stdlib.h>

const struct dn_names dn_op_kind_names = DN_NAMES_OF (OP_KINDS);

bool dn_op_is_frozen (const struct dn_op *op)
{
    return op->passed || op->fixed || (op->frozen_params > 0 && op->params <= 0);
}

bool dn_op_has_weights (const struct dn_op *op)
{
    return op->kind == DN_OP_CONV || op->kind == DN_OP_LINEAR || op->kind == DN_OP_RNN;
}

bool dn_op_is_product (const struct dn_op *op)
{
    return dn_op_has_weights (op) || op->kind == DN_OP_MATMUL
           || op->kind == DN_OP_ATTENTION;
}

void dn_graph_count (struct dn_graph *graph, const struct dn_op *op)
{
    graph->params += op->repeat * op->params;
    graph->tensors += op->repeat * op->tensors;
    graph->frozen_params += op->repeat * op->frozen_params;
}

bool dn_graph_has (const struct dn_graph *graph, enum dn_op_kind kind)
{
    for (int i = 0; i < graph->n_ops; i++)
        if (graph->ops[i].kind == kind)
            return true;
    return false;
}

void dn_op_keep_nothing (struct dn_op *op)
{
    op->saved = op->input_saved = op->wide_saved = op->amp_saved = op->masks = 0;
    op->cast_saved = 0;
}

int dn_head_of (const struct dn_graph *graph)
{
    bool loss = false;

    for (int i = graph->n_ops - 1; i >= 0; i--) {
        const struct dn_op *op = &graph->ops[i];

        loss = loss || op->kind == DN_OP_LOSS;
        if (dn_op_has_weights (op) && op->weights > 0)
            return loss && op->role == DN_ROLE_OTHER && op->repeat <= 1 ? i : -1;
    }
    return -1;
}

/* The time of a product in units of one operation. An element read or written takes as
 * long as some 200 of them on recent devices.
 */
static double product_cost (const struct dn_op *op)
{
    return op->flops + 200 * (op->in + op->out);
}

/* The largest share of the time of the weights' gradients that a share of the learned
 * parameters can have: as if all of it were where a parameter costs most, such as in
 * the first convolutions of an image network. Adapters add parameters beside those of a
 * layer, and as many operations for each.
 */
static double largest_work (const struct dn_graph *graph, double share)
{
    double all = 0;
    double most = 0;

    for (int i = 0; i < graph->n_ops; i++) {
        const struct dn_op *op = &graph->ops[i];

        if (op->weights <= 0 || op->flops <= 0 || dn_op_is_frozen (op))
            continue;
        all += op->repeat * product_cost (op);
        most = dn_max (most, product_cost (op) / op->weights);
    }
    return all > 0 ? dn_min (share * graph->params * most / all, 1) : 1;
}

void dn_graph_freeze (struct dn_graph *graph, double share)
{
    double wanted = share * (graph->params + graph->frozen_params);
    double left = graph->params > 0 ? wanted / graph->params : 1;

    if (left >= 1)
        return;
    graph->spared = 1 - largest_work (graph, left);
    graph->frozen_params += graph->params * (1 - left);
    graph->params *= left;
    for (int i = 0; i < graph->n_ops; i++) {
        struct dn_op *op = &graph->ops[i];

        if (op->frozen_bytes > 0)
            op->frozen_bytes += op->params * (1 - left) * 4;
        op->frozen_params += op->params * (1 - left);
        op->params *= left;
    }
}

int dn_graph_check (const struct dn_graph *graph,
                    const struct dn_spec *spec,
                    struct dn_err *err)
{
    if (spec->cp <= 1)
        return 0;
    if (dn_graph_has (graph, DN_OP_SOFTMAX) || dn_graph_has (graph, DN_OP_ATTENTION))
        return 0;
    return dn_refuse (
        err, net_cp, spec->cp, graph->name[0] ? graph->name : dn_say_unread_network);
}

void dn_graph_free (struct dn_graph *graph)
{
    if (!graph)
        return;
    free (graph->ops);
    *graph = (struct dn_graph){0};
}
