/* ncf.c - neural collaborative filtering
 *
 * NeuMF (He et al., arXiv 1708.05031): a product of two embeddings beside an MLP on two
 * others; a sample is one pair of user and item. By default as NVIDIA's
 * DeepLearningExamples train it on MovieLens-20M (138,493 users and 26,744 items, MLP
 * 256-256-128-64). With layers= or embed_dim= the MLP halves per layer, as in the
 * paper, from embed_dim 2^layers down to embed_dim. vocab= is the number of users and
 * items together.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <math.h>

#include "base/messages.h"
#include "zoo.h"

/* Limit of layers=, because the MLP doubles with each layer. */
#define LAYERS_MAX 16

struct ncf {
    const char *name;
    double rows;
    double factors;
    double features; /* of one embedding of the MLP */
    double mlp[3];
};

static const struct ncf rows[] = {
    {"ncf", 138493 + 26744, 64, 128, {256, 128, 64}},
    /* End of rows */
};

/* Look up one user and one item in their tables, which have 'vocab' rows together: two
 * vectors.
 */
static void add_pair (struct dn_build *build, double vocab, double features)
{
    struct dn_op op = {.kind = DN_OP_EMBEDDING,
                       .repeat = 2,
                       .in = 1,
                       .out = features,
                       .weights = features,
                       .params = vocab / 2 * features,
                       .tensors = 1,
                       .masks = 8,
                       .first = true};

    dn_build_op (build, &op);
    build->at = (struct dn_shape){.channels = features};
}

static void add_layer (struct dn_build *build, double out)
{
    dn_build_linear (build, out, true);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

static void add_mlp (struct dn_build *build, const struct ncf *row)
{
    double layers = DN_WANT (build, layers, 3);
    bool halving =
        build->spec->layers != DN_UNSET || build->spec->embed_dim != DN_UNSET;

    if (layers > LAYERS_MAX)
        dn_build_fail (
            build, DN_E_RANGE, dn_say_err_zoo_layers, layers, 1, LAYERS_MAX, "ncf");
    for (int i = 0; i < layers && !build->failed; i++)
        add_layer (build, halving ? build->at.channels / 2 : row->mlp[i]);
}

static void build_ncf (struct dn_build *build, const void *data)
{
    const struct ncf *row = data;
    double vocab = DN_WANT (build, vocab, row->rows);
    double factors = DN_WANT (build, embed_dim, row->factors);
    double layers = DN_WANT (build, layers, 3);
    double features = factors * pow (2, layers - 1);
    struct dn_shape product;

    if (build->spec->layers == DN_UNSET && build->spec->embed_dim == DN_UNSET)
        features = row->features;
    dn_build_tokens (build, 2);
    add_pair (build, vocab, factors);
    product = build->at;
    dn_build_multiply (build, &product);
    product = build->at;
    add_pair (build, vocab, features);
    dn_build_concat (build, &build->at);
    add_mlp (build, row);
    dn_build_concat (build, &product);
    dn_build_linear (build, 1, true);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_ncf = DN_ZOO_FAMILY ("ncf", rows, build_ncf);
