/* fastpitch.c - FastPitch, a parallel synthesiser of speech
 *
 * Lancucki (arXiv 2006.06873) as NVIDIA's DeepLearningExamples train version 1.1: six
 * transformer blocks with convolutions over seq_len= symbols, six more over tgt_len=
 * mel frames, predictors of duration, pitch and energy, and an aligner that learns
 * which symbol a frame belongs to (arXiv 2108.10447). layers= is the number of blocks
 * of each side.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/transformer.h"
#include "zoo.h"

#define MEL                80.0
#define PREDICTOR_FEATURES 256.0
#define N_PREDICTORS       3

struct fastpitch {
    struct dn_zoo_entry entry;
    double layers;
    double hidden;
    double heads;
    double head_dim;
    double ffn;
    double symbols; /* different symbols */
    double tokens;
    double frames;
};

static const struct fastpitch rows[] = {
    {{"fastpitch", "fastpitch"}, 6, 384, 1, 64, 1536, 148, 100, 566},
    /* End of rows */
};

static void add_conv (struct dn_build *build, double out, int kernel)
{
    dn_build_conv (build, out, kernel, 1, kernel / 2, 1, true);
}

/* The padding mask of a sample, repeated for each head and each query symbol. The
 * backward pass reads it again.
 */
static void add_mask (struct dn_build *build, double heads)
{
    double tokens = build->at.dim[0];
    const struct dn_op mask = {
        .kind = DN_OP_COPY, .in = tokens, .masks = heads * tokens * tokens};

    dn_build_op (build, &mask);
}

static void add_blocks (struct dn_build *build,
                        const struct dn_transformer *body,
                        double layers)
{
    double outer = dn_build_repeat (build, layers);

    add_mask (build, body->attention.heads);
    dn_transformer_add_attention (build, body, &body->attention);
    dn_build_elementwise (build, 1);
    add_conv (build, body->ffn, 3);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    add_conv (build, body->hidden, 3);
    dn_build_dropout (build);
    dn_build_add (build);
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_elementwise (build, 1);
    dn_build_repeat_end (build, outer);
}

/* One number for each symbol; the cursor does not move. */
static void add_predictors (struct dn_build *build)
{
    struct dn_shape start = build->at;
    double outer = dn_build_repeat (build, N_PREDICTORS);

    dn_build_elementwise (build, 1);
    for (int i = 0; i < 2; i++) {
        add_conv (build, PREDICTOR_FEATURES, 3);
        dn_build_activation (build, DN_ACTIVATION_RELU);
        dn_build_norm (build, DN_NORM_LAYER);
        dn_build_dropout (build);
    }
    dn_build_linear (build, 1, true);
    dn_build_loss (build);
    dn_build_repeat_end (build, outer);
    build->at = start;
}

/* Pitch and energy, of the recording, to features that are added. */
static void add_conditions (struct dn_build *build)
{
    struct dn_shape at = build->at;

    for (int i = 0; i < 2; i++) {
        build->at.channels = 1;
        build->at.input = true;
        build->at.kept = false;
        add_conv (build, at.channels, 3);
        dn_build_add (build);
    }
}

/* Distance of each frame to each symbol, a distribution over the symbols, and its
 * losses. The last convolution of the original is never used, but it is a parameter.
 */
static void add_aligner (struct dn_build *build, double frames, struct dn_shape text)
{
    double features = text.channels;
    double tokens = text.dim[0];
    int first;
    const struct dn_op unused = {
        .kind = DN_OP_COPY, .weights = MEL + 1, .params = MEL + 1, .tensors = 2};

    build->at = text;
    add_conv (build, 2 * features, 3);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    add_conv (build, MEL, 1);
    dn_build_features (build, MEL, frames);
    add_conv (build, 2 * MEL, 3);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    add_conv (build, MEL, 1);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    add_conv (build, MEL, 1);
    dn_build_op (build, &unused);
    /* Difference, square (its input is kept), scale, sum. */
    build->at.channels = MEL * tokens;
    first = build->graph.n_ops;
    dn_build_elementwise (build, 1);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_elementwise (build, 1);
    for (int i = first; i < build->graph.n_ops; i++)
        build->graph.ops[i].single = true;
    build->at.channels = tokens;
    dn_build_softmax (build);
    dn_build_add (build);
    dn_build_softmax (build);
    dn_build_loss_ctc (build);
}

/* Spread symbols over the frames that they last, by a product with a matrix of ones. */
static void add_frames (struct dn_build *build, double frames)
{
    double tokens = build->at.dim[0];

    dn_build_matmul (build, 1, frames, build->at.channels, tokens, frames * tokens);
    build->at.dim[0] = frames;
    build->at.kept = false;
    dn_build_elementwise (build, 1);
    dn_build_dropout (build);
}

static void build_fastpitch (struct dn_build *build, const void *data)
{
    const struct fastpitch *row = data;
    double frames = DN_WANT (build, tgt_len, row->frames);
    double layers = DN_WANT (build, layers, row->layers);
    struct dn_transformer body = {.hidden = DN_WANT (build, hidden, row->hidden),
                                  .ffn = DN_WANT (build, ffn, row->ffn),
                                  .norm = DN_NORM_LAYER,
                                  .dropout = true};
    struct dn_shape text;
    struct dn_shape end;

    body.attention =
        (struct dn_attention){.heads = DN_WANT (build, heads, row->heads),
                              .head_dim = DN_WANT (build, head_dim, row->head_dim),
                              .bias = true,
                              .fused = true,
                              .dropout = true};
    dn_build_tokens (build, DN_WANT (build, seq_len, row->tokens));
    dn_build_embedding (build, DN_WANT (build, vocab, row->symbols), body.hidden);
    build->graph.padding = DN_SPEECH_PADDING;
    text = build->at;
    dn_build_elementwise (build, 1);
    dn_build_dropout (build);
    add_blocks (build, &body, layers);
    add_predictors (build);
    end = build->at;
    add_aligner (build, frames, text);
    build->at = end;
    add_conditions (build);
    add_frames (build, frames);
    add_blocks (build, &body, layers);
    dn_build_linear (build, MEL, true);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_fastpitch = DN_ZOO_FAMILY (rows, build_fastpitch);
