/* graph.c - names of operators, and freeing a graph
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/graph.h"

#include <stdlib.h>

static const char *const kind_text[] = {
    [DN_OP_UNKNOWN] = "unknown",
    [DN_OP_CONV] = "conv",
    [DN_OP_LINEAR] = "linear",
    [DN_OP_MATMUL] = "matmul",
    [DN_OP_EMBEDDING] = "embedding",
    [DN_OP_RNN] = "rnn",
    [DN_OP_NORM] = "norm",
    [DN_OP_ACTIVATION] = "activation",
    [DN_OP_ELEMENTWISE] = "elementwise",
    [DN_OP_SOFTMAX] = "softmax",
    [DN_OP_POOL] = "pool",
    [DN_OP_DROPOUT] = "dropout",
    [DN_OP_COPY] = "copy",
    [DN_OP_LOSS] = "loss",
};

const struct dn_names dn_op_kind_names = DN_NAMES (kind_text, DN_N_OP_KINDS);

void dn_graph_free (struct dn_graph *graph)
{
    if (!graph)
        return;
    free (graph->ops);
    *graph = (struct dn_graph){0};
}
