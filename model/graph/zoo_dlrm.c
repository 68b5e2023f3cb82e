/* zoo_dlrm.c - deep learning recommendation model
 *
 * Naumov et al. (arXiv 1906.00091) with the sizes of MLPerf training on Criteo's
 * terabyte: 13 numbers through an MLP of 512, 256 and embed_dim= features, one row of
 * each of tables= tables, the products of all pairs, an MLP of 1024, 1024, 512, 256.
 * vocab= is the rows of all tables together.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/zoo.h"

struct dlrm {
    struct dn_zoo_entry entry;
    double numbers; /* dense features */
    double tables;
    double vocab;
    double features;
};

static const struct dlrm rows[] = {
    {{"dlrm", "dlrm"}, 13, 26, 187767399, 128},
    /* End of rows */
};

static void add_layer (struct dn_build *build, double out)
{
    dn_build_linear (build, out, true);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

/* One row of each table. */
static void add_tables (struct dn_build *build,
                        double tables,
                        double vocab,
                        double features)
{
    struct dn_op op = {.kind = DN_OP_EMBEDDING,
                       .repeat = tables,
                       .in = 1,
                       .out = features,
                       .weights = features,
                       .params = vocab / tables * features,
                       .tensors = 1,
                       .masks = 8,
                       .first = true};

    build->graph.input += tables;
    build->graph.input_bytes += 8 * tables;
    dn_build_op (build, &op);
}

/* All vectors side by side, their products with each other, one of each pair. */
static void add_interaction (struct dn_build *build, double vectors)
{
    struct dn_shape bottom = build->at;
    double features = bottom.channels;

    build->at.channels *= vectors;
    build->at.kept = false;
    dn_build_copy (build);
    dn_build_matmul (build, 1, vectors, vectors, features, vectors * features);
    build->at.channels = vectors * (vectors - 1) / 2;
    dn_build_copy (build);
    dn_build_concat (build, &bottom);
}

static void build_dlrm (struct dn_build *build, const void *data)
{
    const struct dlrm *row = data;
    double tables = DN_WANT (build, tables, row->tables);
    double vocab = DN_WANT (build, vocab, row->vocab);
    double features = DN_WANT (build, embed_dim, row->features);
    static const double top[] = {1024, 1024, 512, 256};

    dn_build_features (build, DN_WANT (build, in_channels, row->numbers), 0);
    add_layer (build, 512);
    add_layer (build, 256);
    add_layer (build, features);
    add_tables (build, tables, vocab, features);
    add_interaction (build, tables + 1);
    for (size_t i = 0; i < DN_N_ELEMENTS (top); i++)
        add_layer (build, top[i]);
    dn_build_linear (build, 1, true);
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_dlrm = DN_ZOO_FAMILY (rows, build_dlrm);
