/* txl.c - Transformer-XL
 *
 * Dai et al. (arXiv 1901.02860) with the sizes of NVIDIA's DeepLearningExamples for
 * WikiText-103: relative positions, a memory of mem_len= tokens (as many as seq_len=),
 * a softmax that shares the word embedding. The softmax covers all words unless it is
 * adaptive (train.py --adaptive, here head=adaptive); without that it needs more than
 * twice the memory. The embedding of the large model is always adaptive too (Baevski
 * and Auli, 1809.10853): rarer words have fewer features, which one layer per cluster
 * projects to hidden. The layer of the relative positions runs once per batch, not per
 * sample; its FLOPs are counted as for a batch of POSITION_BATCH.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/transformer.h"
#include "zoo.h"

#include <math.h>

#define POSITION_BATCH 16

/* Adaptive softmax: frequent words are decided in a first step, the rest in clusters.
 * 'share' is the fraction of the tokens that reaches a cluster, which depends on the
 * text. On WikiText-103 about 7 % of tokens are outside the 20,000 most frequent words.
 */
static const struct cluster {
    double first;
    double share;
} clusters[] = {
    {0, 1},
    {19997, 0.03},
    {39997, 0.035},
    {199997, 0.005},
};

#define N_CLUSTERS ((int) DN_N_ELEMENTS (clusters))

struct txl {
    struct dn_zoo_entry entry;
    struct dn_transformer_sizes sizes;
    double vocab;
    double divide; /* ratio of the features of a cluster's words to those of the next;
                      0: equal */
};

static const struct txl rows[] = {
    {{"transformer_xl_base", "txl"}, {16, 512, 8, 0, 2048, 192}, 267735, 0},
    {{"transformer_xl_large", "txl"}, {18, 1024, 16, 0, 4096, 384}, 267735, 4},
    /* End of rows */
};

/* Project 'keys' relative positions, and score each query against each of them. */
static void add_positions (struct dn_build *build,
                           const struct dn_transformer *body,
                           double keys)
{
    double features = body->attention.heads * body->attention.head_dim;
    double tokens = build->at.dim[0];
    struct dn_shape at = build->at;

    build->at.dim[0] = keys / POSITION_BATCH;
    build->at.channels = body->hidden;
    dn_build_linear (build, features, false);
    build->at = at;
    dn_build_matmul (build,
                     body->attention.heads,
                     tokens,
                     keys,
                     body->attention.head_dim,
                     tokens * features);
    /* Query plus either bias, the shift to relative positions, the sum of scores. */
    dn_build_elementwise (build, 2);
    build->at.channels = body->attention.heads * keys;
    dn_build_copy (build);
    dn_build_add (build);
    build->at = at;
}

static void add_block (struct dn_build *build,
                       const struct dn_transformer *body,
                       double keys)
{
    dn_build_keep (build);
    add_positions (build, body, keys);
    dn_transformer_add_block (build, body);
}

/* Words of cluster 'i'. */
static double cluster_size (int i, double vocab)
{
    double end = i + 1 < N_CLUSTERS && clusters[i + 1].first < vocab
                     ? clusters[i + 1].first
                     : vocab;

    return end - clusters[i].first;
}

/* Features of the words of cluster 'i', at least one. */
static double cluster_features (const struct txl *row, int i, double hidden)
{
    return row->divide > 0 ? fmax (1, floor (hidden / pow (row->divide, i))) : hidden;
}

static void add_embedding (struct dn_build *build,
                           const struct txl *row,
                           double vocab,
                           double hidden)
{
    struct dn_shape tokens = build->at;

    if (row->divide <= 0) {
        dn_build_embedding (build, vocab, hidden);
        return;
    }
    for (int i = 0; i < N_CLUSTERS && clusters[i].first < vocab; i++) {
        build->at = tokens;
        build->at.dim[0] = tokens.dim[0] * clusters[i].share;
        dn_build_embedding (
            build, cluster_size (i, vocab), cluster_features (row, i, hidden));
        dn_build_linear (build, hidden, false);
    }
    build->at.dim[0] = tokens.dim[0];
    dn_build_copy (build);
}

/* From hidden to the features of the words of cluster 'i'; all but the first share the
 * embedding's layer.
 */
static void add_projection (struct dn_build *build, const struct txl *row, int i)
{
    double features = cluster_features (row, i, build->at.channels);

    if (row->divide > 0 && i == 0)
        dn_build_linear (build, features, false);
    else if (row->divide > 0)
        dn_build_linear_tied (build, features, false);
}

static void add_adaptive_softmax (struct dn_build *build,
                                  const struct txl *row,
                                  double vocab)
{
    struct dn_shape end = build->at;

    dn_build_keep (build);
    end.kept = true;
    for (int i = 0; i < N_CLUSTERS && clusters[i].first < vocab; i++) {
        build->at = end;
        build->at.dim[0] = end.dim[0] * clusters[i].share;
        add_projection (build, row, i);
        dn_build_linear_tied (build, cluster_size (i, vocab), false);
        /* The biases of all words. */
        if (i == 0)
            dn_build_add_learned (build, vocab);
        dn_build_loss (build);
    }
    /* One output for each cluster after the first. */
    build->at = end;
    dn_build_linear (build, N_CLUSTERS - 1, true);
}

static void build_txl (struct dn_build *build, const void *data)
{
    const struct txl *row = data;
    struct dn_transformer body = {.norm = DN_NORM_LAYER,
                                  .activation = DN_ACTIVATION_RELU,
                                  .bias = true,
                                  .dropout = true};
    double vocab = DN_WANT (build, vocab, row->vocab);
    enum dn_head head =
        dn_build_head (build,
                       row->divide > 0 ? DN_HEAD_ADAPTIVE : DN_HEAD_LM,
                       DN_HEAD_BIT (LM) | DN_HEAD_BIT (ADAPTIVE) | DN_HEAD_BIT (NONE));
    double features;
    double outer;

    dn_transformer_sizes_read (build, &row->sizes, &body);
    body.tokens = DN_WANT (build, tgt_len, body.tokens);
    body.attention.memory_keys = DN_WANT (build, mem_len, body.tokens);
    body.attention.fused = true;
    body.attention.dropout = row->divide > 0;
    body.attention.causal = true;
    body.attention.composed = true;
    body.inner_dropout = true;
    features = body.attention.heads * body.attention.head_dim;
    dn_build_tokens (build, body.tokens);
    add_embedding (build, row, vocab, body.hidden);
    dn_build_dropout (build);
    dn_build_blocks (build, body.layers);
    outer = dn_build_repeat (build, body.layers);
    add_block (build, &body, body.tokens + body.attention.memory_keys);
    dn_build_repeat_end (build, outer);
    /* The two biases that all layers add to their queries. */
    dn_build_add_learned (build, features);
    dn_build_add_learned (build, features);
    dn_build_dropout (build);
    if (head == DN_HEAD_NONE)
        return;
    if (head == DN_HEAD_ADAPTIVE) {
        add_adaptive_softmax (build, row, vocab);
        return;
    }
    dn_build_linear_tied (build, vocab, true);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_txl = DN_ZOO_FAMILY (rows, build_txl);
