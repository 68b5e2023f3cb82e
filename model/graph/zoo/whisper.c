/* whisper.c - Whisper, speech recognition with encoder and decoder
 *
 * Radford et al. (arXiv 2212.04356) as Hugging Face implements it: two convolutions
 * halve seq_len= frames of 10 ms with in_channels= frequencies, layers= blocks encode
 * them; as many blocks decode tgt_len= tokens, whose word embedding is also the output.
 * The positions of the encoder are fixed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/transformer.h"
#include "zoo.h"

#include <math.h>

/* Rows of the table of positions of the decoder, at least. */
#define POSITIONS 448.0

struct whisper {
    struct dn_zoo_entry entry;
    struct dn_transformer_sizes sizes;
    double decoder; /* its layers; 0: as the encoder */
    double frequencies;
    double vocab;
};

static const struct whisper rows[] = {
    {{"whisper_tiny", "whisper"}, {4, 384, 6, 0, 0, 3000}, 0, 80, 51865},
    {{"whisper_base", "whisper"}, {6, 512, 8, 0, 0, 3000}, 0, 80, 51865},
    {{"whisper_small", "whisper"}, {12, 768, 12, 0, 0, 3000}, 0, 80, 51865},
    {{"whisper_medium", "whisper"}, {24, 1024, 16, 0, 0, 3000}, 0, 80, 51865},
    {{"whisper_large", "whisper"}, {32, 1280, 20, 0, 0, 3000}, 0, 80, 51865},
    {{"whisper_large_v3", "whisper"}, {32, 1280, 20, 0, 0, 3000}, 0, 128, 51866},
    {{"whisper_large_v3_turbo", "whisper"}, {32, 1280, 20, 0, 0, 3000}, 4, 128, 51866},
    /* End of rows */
};

static void add_encoder (struct dn_build *build,
                         const struct dn_transformer *body,
                         double frequencies)
{
    struct dn_op positions = {.kind = DN_OP_ELEMENTWISE};

    build->graph.decode = DN_DECODE_AUDIO;
    dn_build_features (build, frequencies, body->tokens);
    dn_build_conv (build, body->hidden, 3, 1, 1, 1, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_conv (build, body->hidden, 3, 2, 1, 1, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    positions.in = dn_shape_elements (&build->at);
    positions.out = positions.in;
    positions.weights = positions.in;
    positions.frozen_params = positions.in;
    dn_build_op (build, &positions);
    build->at.kept = false;
    dn_transformer_add_blocks (build, body);
    dn_build_norm (build, body->norm);
}

static void add_decoder (struct dn_build *build,
                         const struct whisper *row,
                         const struct dn_transformer *body,
                         struct dn_shape *memory)
{
    struct dn_attention cross = body->attention;
    double target = DN_WANT (build, tgt_len, POSITIONS);
    double vocab = DN_WANT (build, vocab, row->vocab);
    double layers = row->decoder > 0 ? row->decoder : body->layers;
    double outer;

    cross.memory = memory;
    cross.unmasked = true;
    dn_build_tokens (build, target);
    dn_build_embedding (build, vocab, body->hidden);
    dn_build_add_learned (build, fmax (POSITIONS, target) * body->hidden);
    outer = dn_build_repeat (build, layers);
    dn_transformer_add_attention (build, body, &body->attention);
    dn_transformer_add_attention (build, body, &cross);
    dn_transformer_add_ffn (build, body);
    dn_build_repeat_end (build, outer);
    dn_build_norm (build, body->norm);
    if (dn_build_head (build, DN_HEAD_LM, DN_HEAD_BIT (NONE)) == DN_HEAD_NONE)
        return;
    dn_build_linear_tied (build, vocab, false);
    dn_build_loss (build);
}

static void build_whisper (struct dn_build *build, const void *data)
{
    const struct whisper *row = data;
    struct dn_transformer body = {.norm = DN_NORM_LAYER,
                                  .activation = DN_ACTIVATION_GELU,
                                  .norm_first = true,
                                  .bias = true};
    struct dn_shape memory;

    dn_transformer_sizes_read (build, &row->sizes, &body);
    body.attention.bias = true;
    body.attention.no_key_bias = true;
    body.attention.out_bias = true;
    body.attention.unmasked = true;
    add_encoder (build, &body, DN_WANT (build, in_channels, row->frequencies));
    dn_build_keep (build);
    memory = build->at;
    body.attention.unmasked = false;
    add_decoder (build, row, &body, &memory);
}

const struct dn_zoo_family dn_zoo_whisper = DN_ZOO_FAMILY (rows, build_whisper);
