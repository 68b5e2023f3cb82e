/* dlrm.c - deep learning recommendation model
 *
 * Naumov et al. (arXiv 1906.00091) with the sizes of MLPerf training on Criteo's
 * terabyte: 13 numbers through an MLP of 512, 256 and embed_dim= features, one row of
 * each of tables= tables, the products of all pairs, an MLP of 1024, 1024, 512, 256.
 * vocab= is the rows of all tables together.
 *
 * dcn_v2 replaces the products by the low-rank cross network of Wang et al.
 * (2008.13535), as in torchrec's DLRM_DCN and DeepLearningExamples; layers= is the
 * number of its layers, hidden= their rank. dlrm_dcnv2 is the same with the data of
 * MLPerf since 2023 (mlcommons/training, recommendation_v2): 214 rows of the tables are
 * read for a sample and summed up per table.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

struct dlrm {
    const char *name;
    double numbers; /* dense features */
    double tables;
    double vocab;
    double features;
    double crosses; /* layers of a cross network in place of the pairs' products */
    double reads;   /* rows of a table that a sample reads, on average */
};

/* Features within a cross layer. */
#define CROSS_RANK 512

static const struct dlrm rows[] = {
    {"dlrm", 13, 26, 187767399, 128, 0, 1},
    {"dcn_v2", 13, 26, 187767399, 128, 3, 1},
    {"dlrm_dcnv2", 13, 26, 204184588, 128, 3, 214.0 / 26},
    /* End of rows */
};

/* 'reads' rows of each table, summed up. */
static void add_tables (struct dn_build *build,
                        double tables,
                        double vocab,
                        double features,
                        double reads)
{
    build->graph.input += reads * tables;
    build->graph.input_bytes += 8 * reads * tables;
    /* Programs written for such tables read all of them with one kernel. */
    build->calls = 1 / tables;
    dn_build_op (build,
                 DN_OP (EMBEDDING,
                        .repeat = tables,
                        .in = reads,
                        .out = features,
                        .weights = reads * features,
                        .params = vocab / tables * features,
                        .tensors = 1,
                        .masks = 8 * reads,
                        .first = true));
    build->calls = 0;
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

/* x0 (V (U x) + b) + x. */
static void add_cross (struct dn_build *build, struct dn_shape *start, double rank)
{
    dn_build_linear (build, rank, false);
    dn_build_linear (build, start->channels, true);
    dn_build_multiply (build, start);
    dn_build_add (build);
}

/* 'layers' of them over all vectors side by side; x is x0 in the first. */
static void add_crosses (struct dn_build *build, double vectors, double layers)
{
    double rank = DN_WANT (build, hidden, CROSS_RANK);
    struct dn_shape start;

    build->at.channels *= vectors;
    build->at.kept = false;
    dn_build_copy (build);
    dn_build_keep (build);
    start = build->at;
    add_cross (build, &start, rank);
    DN_REPEAT (build, layers - 1)
        add_cross (build, &start, rank);
}

static DN_COLD void build_dlrm (struct dn_build *build, const void *data)
{
    const struct dlrm *row = data;
    double tables = DN_WANT (build, tables, row->tables);
    double vocab = DN_WANT (build, vocab, row->vocab);
    double features = DN_WANT (build, embed_dim, row->features);
    static const double top[] = {1024, 1024, 512, 256};

    dn_build_features (build, DN_WANT (build, in_channels, row->numbers), 0);
    dn_build_linear_relu (build, 512);
    dn_build_linear_relu (build, 256);
    dn_build_linear_relu (build, features);
    add_tables (build, tables, vocab, features, row->reads);
    if (row->crosses > 0)
        add_crosses (build, tables + 1, DN_WANT (build, layers, row->crosses));
    else
        add_interaction (build, tables + 1);
    for (size_t i = 0; i < DN_N_ELEMENTS (top); i++)
        dn_build_linear_relu (build, top[i]);
    dn_build_linear (build, 1, true);
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_dlrm = DN_ZOO_FAMILY ("dlrm", rows, build_dlrm);
