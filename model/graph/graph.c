/* graph.c - a list of operators: its names and its end
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/graph.h"

#include <stdlib.h>

static const char *const op_kind_names[] = {"unknown",
                                            "conv",
                                            "linear",
                                            "matmul",
                                            "embedding",
                                            "rnn",
                                            "norm",
                                            "activation",
                                            "elementwise",
                                            "softmax",
                                            "pool",
                                            "dropout",
                                            "copy",
                                            "loss"};

const struct dn_names dn_op_kind_names = {op_kind_names,
                                          (int) DN_N_ELEMENTS (op_kind_names)};

void dn_graph_free (struct dn_graph *graph)
{
    if (!graph)
        return;
    free (graph->ops);
    *graph = (struct dn_graph){0};
}
