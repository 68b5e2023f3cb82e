/* transformer.h - the block that bert, gpt, t5 and their kin are made of
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TRANSFORMER_H
#define DN_TRANSFORMER_H

#include "graph/build.h"

struct dn_transformer {
    double layers;
    double hidden;
    double tokens;
    double ffn;
    struct dn_attention attention;
    enum dn_norm norm;
    enum dn_activation activation;
    bool gated;      /* two layers whose product goes on (GLU) */
    bool norm_first; /* in front of attention and feed-forward, not behind their sums */
    bool bias;       /* of the feed-forward layers */
    bool dropout;    /* behind attention and feed-forward */
    bool inner_dropout;    /* within the feed-forward layers */
    bool ffn_dropout_only; /* not behind attention */
};

/* Sizes that a model has of itself, before keys override them. */
struct dn_transformer_sizes {
    double layers;
    double hidden;
    double heads;
    double kv_heads; /* 0: as heads */
    double ffn;      /* 0: four times hidden */
    double tokens;
};

/* Read layers=, hidden=, heads=, kv_heads=, head_dim=, ffn= and seq_len= over 'sizes'.
 * Where only hidden= is given, the size of a head stays and ffn grows with it. Fails
 * when heads do not divide what they share.
 */
void dn_transformer_sizes_read (struct dn_build *build,
                                const struct dn_transformer_sizes *sizes,
                                struct dn_transformer *transformer);

/* One block, or its halves. */
void dn_transformer_add_block (struct dn_build *build,
                               const struct dn_transformer *transformer);
void dn_transformer_add_attention (struct dn_build *build,
                                   const struct dn_transformer *transformer,
                                   const struct dn_attention *attention);
void dn_transformer_add_ffn (struct dn_build *build,
                             const struct dn_transformer *transformer);

/* All blocks. */
void dn_transformer_add_blocks (struct dn_build *build,
                                const struct dn_transformer *transformer);

#endif
