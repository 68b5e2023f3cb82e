/* transformer.h - the block of bert, gpt, t5 and similar networks
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TRANSFORMER_H
#define DN_TRANSFORMER_H

#include "graph/build.h"

/* Where the second part of a block starts from. */
enum dn_block {
    DN_BLOCK_SERIAL,       /* from the sum after the attention */
    DN_BLOCK_PARALLEL,     /* from the norm before the attention */
    DN_BLOCK_PARALLEL_PAIR /* from a second norm of the block's input */
};

struct dn_transformer {
    double layers;
    double hidden;
    double tokens;
    double ffn;
    struct dn_attention attention;
    enum dn_norm norm;
    enum dn_activation activation;
    bool gated;       /* the product of two layers is passed on (GLU) */
    bool fused_gate;  /* one layer gives both of them */
    bool scaled;      /* a learned scale per feature before each sum */
    bool norm_first;  /* before attention and feed-forward, not after their sums */
    bool norm_inside; /* after attention and feed-forward, before their sums */
    enum dn_block block;
    bool bias;             /* of the feed-forward layers */
    bool dropout;          /* after attention and feed-forward */
    bool inner_dropout;    /* within the feed-forward layers */
    bool ffn_dropout_only; /* not after attention */
};

/* Default sizes of a model, before keys override them. */
struct dn_transformer_sizes {
    double layers;
    double hidden;
    double heads;
    double kv_heads; /* 0: as heads */
    double ffn;      /* 0: four times hidden */
    double tokens;   /* 0: those of the image */
    double head_dim; /* 0: hidden / heads */
};

/* Read layers=, hidden=, heads=, kv_heads=, head_dim=, ffn= and, where there are
 * tokens, seq_len=, with 'sizes' as defaults. If only hidden= is given, the size of a
 * head is kept and ffn grows with it. Fails when heads do not divide what they share.
 */
void dn_transformer_sizes_read (struct dn_build *build,
                                const struct dn_transformer_sizes *sizes,
                                struct dn_transformer *transformer);

/* The rows of a learned table of positions, positions= or 'usual': at least one for
 * each of the cursor's tokens.
 */
double dn_transformer_read_positions (struct dn_build *build, double usual);

/* One block, or its halves. */
void dn_transformer_add_block (struct dn_build *build,
                               const struct dn_transformer *transformer);
void dn_transformer_add_attention (struct dn_build *build,
                                   const struct dn_transformer *transformer,
                                   const struct dn_attention *attention);
void dn_transformer_add_ffn (struct dn_build *build,
                             const struct dn_transformer *transformer);

/* From hidden= to ffn= features and through the activation: the first half of a
 * feed-forward part.
 */
void dn_transformer_add_inner (struct dn_build *build,
                               const struct dn_transformer *transformer);

/* All blocks. */
void dn_transformer_add_blocks (struct dn_build *build,
                                const struct dn_transformer *transformer);

#endif
