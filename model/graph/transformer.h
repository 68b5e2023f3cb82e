/* transformer.h - the block of bert, gpt, t5 and similar networks
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TRANSFORMER_H
#define DN_TRANSFORMER_H

#include "graph/build.h"

/* What the blocks of a transformer have, as one word. A family names the words of its
 * networks, such as LLAMA = BEFORE | RMS | GATED | ROTARY, and adds bits of its own
 * from OWN_TRAIT on.
 *
 * Without any: norms of layers, after each sum; GELU or SiLU; no bias, no dropout. */
enum dn_trait {
    RMS = 1 << 0, /* norms: DN_NORM_RMS, DN_NORM_SCALE, DN_NORM_PLAIN */
    SCALE = 1 << 1,
    PLAIN_NORM = 1 << 2,
    RELU = 1 << 3,
    GELU_TANH = 1 << 4,
    BEFORE = 1 << 5,        /* norms before a block's two parts, not after their sums */
    INSIDE = 1 << 6,        /* norms after the two parts, before their sums */
    PARALLEL = 1 << 7,      /* both parts start from the norm before the attention, */
    PARALLEL_PAIR = 1 << 8, /* or from two norms of the block's input */
    GATED = 1 << 9,         /* the product of two layers is passed on (GLU), */
    FUSED_GATE = 1 << 10,   /* one layer gives both of them */
    BIAS_QKV = 1 << 11,
    BIAS_OUT = 1 << 12, /* of the attention */
    BIAS_FFN = 1 << 13,
    BIAS_BLOCK = BIAS_QKV | BIAS_OUT | BIAS_FFN,
    FUSED = 1 << 14, /* query, key and value in one layer */
    ROTARY = 1 << 15,
    QUARTER = 1 << 16, /* of a head's features are rotated; with HALF three of them */
    HALF = 1 << 17,
    HEAD_NORM =
        1 << 18, /* of each query and key, with one scale for all heads (Qwen3), */
    ALL_NORM = 1 << 19, /* or of all heads together (OLMo 2); before the rotation */
    CAPPED = 1 << 20,   /* the scores, and those of the words, pass a scaled tanh */
    SINKS = 1 << 21,    /* each head has a learned score that no token has */
    DROPOUT = 1 << 22,  /* after attention and feed-forward */
    SCORE_DROPOUT = 1 << 23, /* of the attention's probabilities */
    OWN_TRAIT = 1 << 24
};

/* In multi-latent attention (DeepSeek-AI, arXiv 2405.04434, 2.1) keys and values are
 * projected from a short vector per token, and queries may be; only a part of a key,
 * which all heads share, carries the position.
 */
struct dn_transformer {
    unsigned traits;
    double layers;
    double hidden;
    double tokens;
    double ffn;
    double heads;
    double kv_heads;
    double head_dim;       /* of queries and keys */
    double value_dim;      /* of values; 0: as head_dim */
    double window;         /* keys that a query attends to; 0: all */
    double latent;         /* multi-latent: features of keys and values; or 0 */
    double query_rank;     /* multi-latent: features of queries; 0: the input's */
    double rope_dim;       /* multi-latent: the part of head_dim with the position */
    bool causal;           /* a query attends to earlier keys only */
    bool unmasked;         /* no mask is added to the scores */
    bool composed;         /* scores have terms that no fused kernel computes: positions
                              of T5 and DeBERTa */
    bool no_key_bias;      /* BIAS_QKV, but not of the key layer */
    bool gated;            /* the query layer gives a gate of the values' sums, too */
    bool recent;           /* published in 2023 or later */
    bool scaled;           /* a learned scale per feature before each sum */
    bool inner_dropout;    /* within the feed-forward layers */
    bool ffn_dropout_only; /* not after attention */
};

/* The norm and the activation among the traits. */
enum dn_norm dn_norm_of (unsigned traits);
enum dn_activation dn_activation_of (unsigned traits);

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
                                struct dn_transformer *transformer) DN_COLD;

/* The rows of a learned table of positions, positions= or 'usual': at least one for
 * each of the cursor's tokens.
 */
double dn_transformer_read_positions (struct dn_build *build, double usual);

/* One block, or its halves. Keys and values are of 'memory', or if it is NULL of the
 * cursor's tokens.
 */
void dn_transformer_add_block (struct dn_build *build,
                               const struct dn_transformer *transformer);
void dn_transformer_add_attention (struct dn_build *build,
                                   const struct dn_transformer *transformer,
                                   struct dn_shape *memory);
void dn_transformer_add_ffn (struct dn_build *build,
                             const struct dn_transformer *transformer);

/* From hidden= to ffn= features and through the activation: the first half of a
 * feed-forward part.
 */
void dn_transformer_add_inner (struct dn_build *build,
                               const struct dn_transformer *transformer);

/* Query, key, value and output layers, and attention between them: attention.c. */
void dn_transformer_attend (struct dn_build *build,
                            const struct dn_transformer *transformer,
                            struct dn_shape *memory) DN_COLD;

/* All blocks. */
void dn_transformer_add_blocks (struct dn_build *build,
                                const struct dn_transformer *transformer);

#endif
