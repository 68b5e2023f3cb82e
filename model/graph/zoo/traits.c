/* traits.c - what the blocks of a transformer have, as one word
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "traits.h"

static bool has (unsigned traits, enum dn_trait trait)
{
    return (traits & trait) != 0;
}

enum dn_norm dn_norm_of (unsigned traits)
{
    if (has (traits, RMS))
        return DN_NORM_RMS;
    if (has (traits, SCALE))
        return DN_NORM_SCALE;
    return has (traits, PLAIN_NORM) ? DN_NORM_PLAIN : DN_NORM_LAYER;
}

static enum dn_activation activation_of (unsigned traits)
{
    if (has (traits, RELU))
        return DN_ACTIVATION_RELU;
    return has (traits, GELU_TANH) ? DN_ACTIVATION_GELU_TANH : DN_ACTIVATION_GELU;
}

static enum dn_block block_of (unsigned traits)
{
    if (has (traits, PARALLEL))
        return DN_BLOCK_PARALLEL;
    return has (traits, PARALLEL_PAIR) ? DN_BLOCK_PARALLEL_PAIR : DN_BLOCK_SERIAL;
}

static enum dn_query_norm query_norm_of (unsigned traits)
{
    if (has (traits, HEAD_NORM))
        return DN_QUERY_NORM_HEAD;
    return has (traits, ALL_NORM) ? DN_QUERY_NORM_ALL : DN_QUERY_NORM_NONE;
}

struct dn_transformer dn_transformer_of (unsigned traits)
{
    return (struct dn_transformer){
        .norm = dn_norm_of (traits),
        .activation = activation_of (traits),
        .norm_first = has (traits, BEFORE),
        .norm_inside = has (traits, INSIDE),
        .block = block_of (traits),
        .gated = has (traits, GATED),
        .fused_gate = has (traits, FUSED_GATE),
        .bias = has (traits, BIAS_FFN),
        .dropout = has (traits, DROPOUT),
        .attention = {.bias = has (traits, BIAS_QKV),
                      .out_bias = has (traits, BIAS_OUT),
                      .fused = has (traits, FUSED),
                      .rotary = has (traits, ROTARY),
                      .rotary_share = (has (traits, QUARTER) ? 0.25 : 0)
                                      + (has (traits, HALF) ? 0.5 : 0),
                      .query_norm = query_norm_of (traits),
                      .capped = has (traits, CAPPED),
                      .sinks = has (traits, SINKS),
                      .dropout = has (traits, SCORE_DROPOUT)}};
}
