/* speecht5.c - SpeechT5, synthesis of speech
 *
 * Ao et al. (arXiv 2110.07205) as Hugging Face fine-tunes it (SpeechT5ForTextToSpeech):
 * seq_len= characters in, tgt_len= mel frames out, two for each step of the decoder,
 * which sees all frames before at once, and the voice as a vector. layers= is the
 * number of blocks of the encoder; the decoder has half as many. Layers are not
 * skipped.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/transformer.h"
#include "zoo.h"

#include <math.h>

#define MEL            80.0
#define VOICE          512.0
#define PRENET         256.0
#define POSTNET        256.0
#define POSTNET_LAYERS 5
#define REDUCTION      2.0   /* frames of a step */
#define DISTANCES      320.0 /* rows of the table of relative positions */

struct speecht5 {
    struct dn_zoo_entry entry;
    struct dn_transformer_sizes sizes; /* tokens are characters */
    double vocab;
    double frames;
};

static const struct speecht5 rows[] = {
    {{"speecht5_tts", "speecht5"}, {12, 768, 12, 0, 0, 100}, 81, 566},
    /* End of rows */
};

/* Sinusoids times a learned number. */
static void add_positions (struct dn_build *build)
{
    dn_build_add_learned (build, 1);
    dn_build_dropout (build);
}

/* A vector for each pair of tokens, which all blocks and heads share. */
static void add_distances (struct dn_build *build, double features)
{
    struct dn_shape at = build->at;
    double pairs = at.dim[0] * at.dim[0];
    const struct dn_op op = {.kind = DN_OP_EMBEDDING,
                             .in = pairs,
                             .out = pairs * features,
                             .weights = DISTANCES * features,
                             .params = DISTANCES * features,
                             .tensors = 1,
                             .saved = pairs * (features + 1),
                             .first = true};

    dn_build_op (build, &op);
}

/* Scores are sums of two products: with the keys and with the distances. */
static void add_encoder (struct dn_build *build, const struct dn_transformer *body)
{
    double tokens = build->at.dim[0];
    double head_dim = body->attention.head_dim;
    double outer;

    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_dropout (build);
    add_distances (build, head_dim);
    outer = dn_build_repeat (build, body->layers);
    dn_build_matmul (build, tokens, body->attention.heads, tokens, head_dim, 0);
    dn_transformer_add_block (build, body);
    dn_build_repeat_end (build, outer);
    dn_build_keep (build);
}

/* Two heads of a block are to attend near the diagonal. */
static void add_guide (struct dn_build *build, double tokens)
{
    double scores = 2 * build->at.dim[0] * tokens;
    const struct dn_op op = {.kind = DN_OP_ELEMENTWISE,
                             .repeat = 2,
                             .in = scores,
                             .out = scores,
                             .saved = scores};

    dn_build_op (build, &op);
}

static void add_decoder (struct dn_build *build,
                         const struct dn_transformer *body,
                         struct dn_shape *memory)
{
    struct dn_attention self = body->attention;
    struct dn_attention cross = body->attention;
    double outer = dn_build_repeat (build, ceil (body->layers / 2));

    self.causal = true;
    cross.memory = memory;
    dn_transformer_add_attention (build, body, &self);
    dn_transformer_add_attention (build, body, &cross);
    add_guide (build, memory->dim[0]);
    dn_transformer_add_ffn (build, body);
    dn_build_repeat_end (build, outer);
}

/* The frame before and the voice. */
static void add_prenet (struct dn_build *build, double hidden)
{
    const struct dn_shape voice = {.channels = VOICE};

    for (int i = 0; i < 2; i++) {
        dn_build_linear (build, PRENET, true);
        dn_build_activation (build, DN_ACTIVATION_RELU);
        dn_build_dropout (build);
    }
    dn_build_linear (build, hidden, true);
    add_positions (build);
    build->graph.input += VOICE;
    build->graph.input_bytes += 4 * VOICE;
    dn_build_concat (build, &voice);
    dn_build_linear (build, hidden, true);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

/* Whether speech ends, the frames, and what is added to them. */
static void add_postnet (struct dn_build *build)
{
    struct dn_shape end;

    dn_build_keep (build);
    end = build->at;
    dn_build_linear (build, REDUCTION, true);
    dn_build_loss (build);
    build->at = end;
    dn_build_linear (build, REDUCTION * MEL, true);
    build->at.channels = MEL;
    build->at.dim[0] *= REDUCTION;
    dn_build_loss (build);
    for (int i = 0; i < POSTNET_LAYERS; i++) {
        bool last = i + 1 == POSTNET_LAYERS;

        dn_build_conv (build, last ? MEL : POSTNET, 5, 1, 2, 1, false);
        dn_build_norm (build, DN_NORM_BATCH);
        if (!last)
            dn_build_activation (build, DN_ACTIVATION_SIGMOID);
        dn_build_dropout (build);
    }
    dn_build_add (build);
    dn_build_loss (build);
}

static void build_speecht5 (struct dn_build *build, const void *data)
{
    const struct speecht5 *row = data;
    struct dn_transformer body = {.norm = DN_NORM_LAYER,
                                  .activation = DN_ACTIVATION_GELU,
                                  .bias = true,
                                  .dropout = true,
                                  .inner_dropout = true};
    double frames = DN_WANT (build, tgt_len, row->frames);
    struct dn_shape memory;

    dn_transformer_sizes_read (build, &row->sizes, &body);
    body.attention.bias = true;
    body.attention.out_bias = true;
    body.attention.dropout = true;
    body.attention.composed = true;
    build->graph.padding = DN_SPEECH_PADDING;
    dn_build_tokens (build, body.tokens);
    dn_build_embedding (build, DN_WANT (build, vocab, row->vocab), body.hidden);
    add_positions (build);
    build->part = DN_PART_ENCODER;
    add_encoder (build, &body);
    memory = build->at;
    build->part = DN_PART_DECODER;
    dn_build_features (build, MEL, fmax (1, floor (frames / REDUCTION)));
    add_prenet (build, body.hidden);
    add_decoder (build, &body, &memory);
    build->part = DN_PART_HEAD;
    add_postnet (build);
}

const struct dn_zoo_family dn_zoo_speecht5 = DN_ZOO_FAMILY (rows, build_speecht5);
