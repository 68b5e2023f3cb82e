/* gnn.c - networks over the nodes of a graph: GCN, GAT, GraphSAGE
 *
 * Kipf and Welling (arXiv 1609.02907), Velickovic et al. (1710.10903; hidden= features
 * of all heads= together) and Hamilton et al. (1706.02216), layers as PyTorch Geometric
 * and DGL implement them, sizes of DGL's examples on Cora and ogbn-products. The sums
 * over neighbours are the fused kernels of DGL, which store no messages.
 *
 * A sample is a graph of seq_len= nodes and tgt_len= edges, which stays on the device:
 * batch=1 trains on one whole graph. Without these keys graphsage samples 5, 10 and 15
 * neighbours on the hops from each node of the batch; none is drawn twice.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"
#include "base/messages.h"

/* Neighbours that are sampled on each hop from a node of the batch. */
static const double fans[] = {5, 10, 15};
#define N_HOPS ((int) DN_N_ELEMENTS (fans))

/* An edge of a graph is two node numbers of 64 bits, in each of three orders: as given,
 * by source, by destination.
 */
#define EDGE_BYTES 48.0

enum kind {
    KIND_GCN,
    KIND_GAT,
    KIND_SAGE
};

struct gnn {
    struct dn_zoo_entry entry;
    enum kind kind;
    double layers;
    double features;
    double hidden;
    double heads;
    double classes;
    double nodes; /* 0: sampled */
    double edges;
};

static const struct gnn rows[] = {
    {{"gcn", "gnn"}, KIND_GCN, 2, 1433, 16, 0, 7, 2708, 10556},
    {{"gat", "gnn"}, KIND_GAT, 2, 1433, 64, 8, 7, 2708, 10556},
    {{"graphsage", "gnn"}, KIND_SAGE, 3, 100, 256, 0, 47, 0, 0},
    /* End of rows */
};

/* What one layer works on. */
struct part {
    enum kind kind;
    double sources; /* nodes that are read */
    double nodes;   /* nodes that are written */
    double edges;
    double heads;
    double out; /* features, of all heads */
    bool last;
};

/* Rows of the neighbours are read and summed up. */
static void add_sum (struct dn_build *build, const struct part *part, double kept)
{
    double features = build->at.channels;
    const struct dn_op sum = {.kind = DN_OP_ELEMENTWISE,
                              .in = part->edges * features,
                              .out = part->nodes * features,
                              .saved = kept};

    dn_build_op (build, &sum);
    build->at.dim[0] = part->nodes;
    build->at.kept = false;
}

static void add_gcn (struct dn_build *build, const struct part *part)
{
    dn_build_linear (build, part->out, false);
    dn_build_elementwise (build, 2);
    add_sum (build, part, 0);
    dn_build_add_learned (build, part->out);
}

/* A score for each edge and head: the sum of those of its ends, through a leaky
 * rectifier and a softmax over the edges of a node, of five kernels.
 */
static void add_gat (struct dn_build *build, const struct part *part)
{
    const struct dn_op vectors = {.kind = DN_OP_ELEMENTWISE,
                                  .repeat = 2,
                                  .in = part->sources * part->out,
                                  .out = part->sources * part->out,
                                  .weights = part->out,
                                  .params = part->out,
                                  .tensors = 1};
    struct dn_shape at;

    dn_build_linear (build, part->out, false);
    dn_build_keep (build);
    dn_build_op (build, &vectors);
    at = build->at;
    build->at.channels = part->heads;
    build->at.dim[0] = part->edges;
    dn_build_add (build);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_elementwise (build, 4);
    dn_build_softmax (build);
    dn_build_dropout (build);
    dn_build_keep (build);
    build->at = at;
    add_sum (build, part, 0);
    dn_build_add_learned (build, part->out);
}

/* A layer for the node and one for the mean of its neighbours. */
static void add_sage (struct dn_build *build, const struct part *part)
{
    struct dn_shape own = build->at;

    dn_build_copy (build);
    add_sum (build, part, 0);
    dn_build_linear (build, part->out, true);
    own.dim[0] = part->nodes;
    own.kept = true;
    build->at = own;
    dn_build_linear (build, part->out, false);
    dn_build_add (build);
}

static void add_layer (struct dn_build *build, const struct part *part)
{
    if (part->kind == KIND_GAT)
        add_gat (build, part);
    else if (part->kind == KIND_GCN)
        add_gcn (build, part);
    else
        add_sage (build, part);
    if (part->last)
        return;
    dn_build_activation (
        build, part->kind == KIND_GAT ? DN_ACTIVATION_GELU : DN_ACTIVATION_RELU);
    dn_build_dropout (build);
}

/* All layers on one graph. The last of several heads has one. */
static void add_whole (struct dn_build *build,
                       const struct part *part,
                       double layers,
                       double classes)
{
    struct part inner = *part;
    struct part last = *part;
    double outer;

    last.out = classes;
    last.heads = 1;
    last.last = true;
    if (layers > 1)
        add_layer (build, &inner);
    outer = dn_build_repeat (build, layers - 2);
    if (layers > 2)
        add_layer (build, &inner);
    dn_build_repeat_end (build, outer);
    add_layer (build, &last);
}

/* Each layer on the nodes that the later ones need. */
static void add_sampled (struct dn_build *build,
                         const struct part *part,
                         double layers,
                         double classes)
{
    double nodes[N_HOPS + 1] = {1};
    double edges[N_HOPS] = {0};
    int n = (int) layers;

    if (n > N_HOPS) {
        dn_build_fail (
            build, DN_E_RANGE, dn_say_err_zoo_hops, layers, N_HOPS, build->graph.name);
        return;
    }
    for (int i = 0; i < n; i++) {
        edges[i] = nodes[i] * fans[i];
        nodes[i + 1] = nodes[i] + edges[i];
    }
    dn_build_features (build, build->at.channels, nodes[n]);
    for (int i = n - 1; i >= 0; i--) {
        struct part one = *part;

        one.sources = nodes[i + 1];
        one.nodes = nodes[i];
        one.edges = edges[i];
        one.last = i == 0;
        one.out = one.last ? classes : part->out;
        add_layer (build, &one);
    }
}

static void build_gnn (struct dn_build *build, const void *data)
{
    const struct gnn *row = data;
    double features = DN_WANT (build, in_channels, row->features);
    double layers = DN_WANT (build, layers, row->layers);
    double classes = DN_WANT (build, classes, row->classes);
    double nodes = DN_WANT (build, seq_len, row->nodes);
    double edges = DN_WANT (build, tgt_len, row->edges);
    struct part part = {.kind = row->kind,
                        .sources = nodes,
                        .nodes = nodes,
                        .edges = edges + (row->kind == KIND_SAGE ? 0 : nodes),
                        .heads =
                            row->heads > 0 ? DN_WANT (build, heads, row->heads) : 1,
                        .out = DN_WANT (build, hidden, row->hidden)};
    const struct dn_op graph = {.kind = DN_OP_COPY, .masks = EDGE_BYTES * edges};

    build->graph.decode = DN_DECODE_NONE;
    build->at.channels = features;
    if ((nodes > 0) != (edges > 0)) {
        dn_build_fail (
            build, DN_E_RANGE, dn_say_err_zoo_graph, nodes > 0 ? "tgt_len" : "seq_len");
    } else if (nodes > 0) {
        dn_build_features (build, features, nodes);
        build->graph.input_bytes = 0;
        dn_build_op (build, &graph);
        add_whole (build, &part, layers, classes);
    } else {
        add_sampled (build, &part, layers, classes);
    }
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_gnn = DN_ZOO_FAMILY (rows, build_gnn);
