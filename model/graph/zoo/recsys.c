/* recsys.c - small recommenders: SASRec, DeepFM, two towers
 *
 * sasrec: the next item after seq_len= items by attention (Kang and McAuley, arXiv
 * 1808.09781, sizes of pmixers/SASRec.pytorch on MovieLens-1M); vocab= is the items.
 * deepfm: products of all pairs of tables= embeddings beside layers= layers of hidden=
 * features (Guo et al., 1703.04247, as rixwew/pytorch-fm implements it with the
 * features of Criteo); vocab= is the rows of all tables. two_tower: one embedding of
 * the user and one of the item, layers for each, and their product (torchrec's
 * example).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/transformer.h"
#include "zoo.h"

struct recsys {
    struct dn_zoo_entry entry;
    dn_zoo_build_f build;
};

/* Row 0 of its tables stands for nothing. */
static void build_sasrec (struct dn_build *build, const void *row)
{
    static const struct dn_transformer_sizes sizes = {2, 50, 1, 0, 50, 200};
    struct dn_transformer body = {.norm = DN_NORM_LAYER,
                                  .activation = DN_ACTIVATION_RELU,
                                  .norm_first = true,
                                  .bias = true,
                                  .inner_dropout = true,
                                  .dropout = true};
    double items = DN_WANT (build, vocab, 3416) + 1;
    struct dn_shape result;

    (void) row;
    dn_transformer_sizes_read (build, &sizes, &body);
    body.attention.bias = true;
    body.attention.out_bias = true;
    body.attention.fused = true;
    body.attention.dropout = true;
    dn_build_tokens (build, body.tokens);
    dn_build_embedding (build, items, body.hidden);
    dn_build_elementwise (build, 1);
    dn_build_add_learned (build, (body.tokens + 1) * body.hidden);
    dn_build_dropout (build);
    dn_transformer_add_blocks (build, &body);
    dn_build_norm (build, DN_NORM_LAYER);
    result = build->at;
    /* The item that followed, and one that did not. */
    for (int i = 0; i < 2; i++) {
        dn_build_tokens (build, body.tokens);
        dn_build_embedding_tied (build, body.hidden);
        dn_build_multiply (build, &result);
    }
    build->at.channels = 2;
    dn_build_loss (build);
}

static void add_layers (struct dn_build *build, double layers, double hidden)
{
    for (int i = 0; i < layers && !build->failed; i++) {
        dn_build_linear (build, hidden, true);
        dn_build_norm (build, DN_NORM_BATCH);
        dn_build_activation (build, DN_ACTIVATION_GELU);
        dn_build_dropout (build);
    }
}

/* One table of all features, and one of a number for each. */
static void build_deepfm (struct dn_build *build, const void *row)
{
    double tables = DN_WANT (build, tables, 39);
    double vocab = DN_WANT (build, vocab, 1086810);
    double features = DN_WANT (build, embed_dim, 16);
    struct dn_shape embedded;

    (void) row;
    dn_build_tokens (build, tables);
    dn_build_embedding (build, vocab, features);
    embedded = build->at;
    build->at.channels = 1;
    dn_build_embedding (build, vocab, 1);
    dn_build_add_learned (build, 1);
    build->at = embedded;
    dn_build_keep (build);
    dn_build_elementwise (build, 4);
    build->at = embedded;
    build->at.kept = true;
    dn_build_flatten (build);
    add_layers (build, DN_WANT (build, layers, 2), DN_WANT (build, hidden, 16));
    dn_build_linear (build, 1, true);
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
    dn_build_loss (build);
}

static void build_two_tower (struct dn_build *build, const void *row)
{
    double features = DN_WANT (build, embed_dim, 64);
    double vocab = DN_WANT (build, vocab, 2 * 1048576);
    double hidden = DN_WANT (build, hidden, 128);
    struct dn_shape towers[2];

    (void) row;
    for (int i = 0; i < 2; i++) {
        dn_build_tokens (build, 1);
        dn_build_embedding (build, vocab / 2, features);
        dn_build_linear (build, hidden, true);
        dn_build_activation (build, DN_ACTIVATION_RELU);
        dn_build_linear (build, features, true);
        dn_build_activation (build, DN_ACTIVATION_RELU);
        towers[i] = build->at;
    }
    dn_build_multiply (build, &towers[0]);
    build->at.channels = 1;
    dn_build_loss (build);
}

static const struct recsys rows[] = {
    {{"sasrec", "recsys"}, build_sasrec},
    {{"deepfm", "recsys"}, build_deepfm},
    {{"two_tower", "recsys"}, build_two_tower},
    /* End of rows */
};

static void build_recsys (struct dn_build *build, const void *data)
{
    const struct recsys *row = data;

    row->build (build, row);
}

const struct dn_zoo_family dn_zoo_recsys = DN_ZOO_FAMILY (rows, build_recsys);
