/* kind.c - what sort of run a bundle was validated on
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/kind.h"

#include <string.h>

/* Shares of the FLOPs of a network, or of its convolutions, from which they make its
 * kind; recurrent layers are slow from a quarter on, and depthwise convolutions have
 * few FLOPs even where they take most of the time.
 */
#define RECURRENT 0.25
#define MOST      0.5
#define DEPTHWISE 0.03

static const char *kind_of_conv (const struct dn_graph *graph, double all)
{
    double by_dims[4] = {0};
    double grouped = 0;

    for (int i = 0; i < graph->n_ops; i++) {
        const struct dn_op *op = &graph->ops[i];
        double flops = op->repeat * op->flops;

        if (op->kind != DN_OP_CONV)
            continue;
        by_dims[op->dims >= 1 && op->dims <= 3 ? op->dims : 2] += flops;
        grouped += op->batches > 1 ? flops : 0;
    }
    if (by_dims[1] > MOST * all)
        return "signal";
    if (by_dims[3] > MOST * all)
        return "volume";
    return grouped > DEPTHWISE * all ? "depthwise" : "conv";
}

const char *dn_network_kind (const struct dn_graph *graph)
{
    double flops[DN_N_OP_KINDS] = {0};
    double tables = 0;

    for (int i = 0; i < graph->n_ops; i++) {
        const struct dn_op *op = &graph->ops[i];

        flops[op->kind] += op->repeat * op->flops;
        if (op->kind == DN_OP_EMBEDDING)
            tables += op->repeat * (op->params + op->frozen_params);
    }
    if (flops[DN_OP_RNN] > RECURRENT * graph->flops)
        return "recurrent";
    if (flops[DN_OP_CONV] > MOST * graph->flops)
        return kind_of_conv (graph, flops[DN_OP_CONV]);
    if (tables > MOST * (graph->params + graph->frozen_params))
        return "tables";
    return flops[DN_OP_MATMUL] + flops[DN_OP_ATTENTION] > 0 ? "attention" : "other";
}

static const char *name_in (const char *key, int value)
{
    return dn_names_get (&dn_spec_key (dn_span_of (key))->names, value);
}

void dn_stack_name (const struct dn_spec *spec, char name[DN_NAME_MAX])
{
    struct dn_buf buf = dn_buf_on (name, DN_NAME_MAX);

    dn_buf_add (&buf,
                "%s",
                spec->framework == DN_FRAMEWORK_UNKNOWN
                    ? DN_STACK_UNSTATED
                    : name_in ("framework", (int) spec->framework));
    if (spec->stack != DN_STACK_UNKNOWN && spec->stack != DN_STACK_PLAIN)
        dn_buf_add (&buf, "+%s", name_in ("stack", (int) spec->stack));
    if (spec->compile == 1)
        dn_buf_add (&buf, "+compile");
}
