/* traits.h - what the blocks of a transformer have, as one word
 *
 * A family names the words of its networks, such as LLAMA = BEFORE | RMS | GATED |
 * ROTARY, and adds bits of its own from OWN_TRAIT on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ZOO_TRAITS_H
#define DN_ZOO_TRAITS_H

#include "graph/transformer.h"

/* Without any: norms of layers, after each sum; GELU or SiLU; no bias, no dropout. */
enum dn_trait {
    RMS = 1 << 0, /* norms: DN_NORM_RMS, DN_NORM_SCALE, DN_NORM_PLAIN */
    SCALE = 1 << 1,
    PLAIN_NORM = 1 << 2,
    RELU = 1 << 3,
    GELU_TANH = 1 << 4,
    BEFORE = 1 << 5, /* norms before a block's two parts, not after their sums */
    INSIDE = 1 << 6, /* norms after the two parts, before their sums */
    PARALLEL = 1 << 7,
    PARALLEL_PAIR = 1 << 8,
    GATED = 1 << 9,
    FUSED_GATE = 1 << 10,
    BIAS_QKV = 1 << 11,
    BIAS_OUT = 1 << 12, /* of the attention */
    BIAS_FFN = 1 << 13,
    BIAS_BLOCK = BIAS_QKV | BIAS_OUT | BIAS_FFN,
    FUSED = 1 << 14, /* query, key and value in one layer */
    ROTARY = 1 << 15,
    QUARTER = 1 << 16, /* of a head's features are rotated; with HALF three of them */
    HALF = 1 << 17,
    HEAD_NORM = 1 << 18, /* of queries and keys: DN_QUERY_NORM_HEAD, _ALL */
    ALL_NORM = 1 << 19,
    CAPPED = 1 << 20, /* the scores, and those of the words */
    SINKS = 1 << 21,
    DROPOUT = 1 << 22,       /* after attention and feed-forward */
    SCORE_DROPOUT = 1 << 23, /* of the attention's probabilities */
    OWN_TRAIT = 1 << 24
};

/* A transformer that has these, without sizes. */
struct dn_transformer dn_transformer_of (unsigned traits);

/* The norm among the traits. */
enum dn_norm dn_norm_of (unsigned traits);

#endif
