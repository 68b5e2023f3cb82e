/* tacotron2.c - Tacotron 2, mel frames from text, one after the other
 *
 * Shen et al. (arXiv 1712.05884) with the sizes of NVIDIA's DeepLearningExamples:
 * seq_len= symbols in, tgt_len= mel frames out. A frame takes two LSTM cells and
 * location-sensitive attention, which cannot be batched over time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#define MEL            80.0
#define EMBED          512.0
#define PRENET         256.0
#define ATTENTION      128.0
#define FILTERS        32.0
#define FILTER_KERNEL  31.0
#define ENCODER_LAYERS 3
#define POSTNET_LAYERS 5

struct tacotron2 {
    struct dn_zoo_entry entry;
    double symbols; /* different symbols */
    double tokens;
    double frames;
    double hidden; /* of the LSTM cells */
};

static const struct tacotron2 rows[] = {
    {{"tacotron2", "tacotron2"}, 148, 100, 566, 1024},
    /* End of rows */
};

static void add_conv_norm (struct dn_build *build, double out)
{
    dn_build_conv (build, out, 5, 1, 2, 1, true);
    dn_build_norm (build, DN_NORM_BATCH);
}

static void add_encoder (struct dn_build *build)
{
    const struct dn_rnn rnn = {.hidden = EMBED / 2, .gates = 4, .bidirectional = true};

    for (int i = 0; i < ENCODER_LAYERS; i++) {
        add_conv_norm (build, EMBED);
        dn_build_activation (build, DN_ACTIVATION_RELU);
        dn_build_dropout (build);
    }
    dn_build_rnn (build, &rnn);
}

static void add_prenet (struct dn_build *build)
{
    for (int i = 0; i < 2; i++) {
        dn_build_linear (build, PRENET, false);
        dn_build_activation (build, DN_ACTIVATION_RELU);
        dn_build_dropout (build);
    }
}

/* An LSTM cell for each frame; the cursor gets 'hidden' features. */
static void add_cell (struct dn_build *build, double in, double hidden)
{
    const struct dn_rnn rnn = {.hidden = hidden, .gates = 4};

    build->at.channels = in;
    dn_build_copy (build);
    dn_build_rnn (build, &rnn);
    dn_build_dropout (build);
}

/* A product that is computed frame by frame. */
static void add_product (struct dn_build *build,
                         enum dn_op_kind kind,
                         double frames,
                         double m,
                         double n,
                         double k,
                         double kept)
{
    struct dn_op op = {.kind = kind,
                       .m = m,
                       .n = n,
                       .k = k,
                       .batches = 1,
                       .flops = 2 * frames * m * n * k,
                       .in = frames * m * k,
                       .out = frames * m * n,
                       .saved = kept,
                       .steps = frames};

    op.m = frames * m;
    if (kind != DN_OP_MATMUL) {
        op.weights = n * k;
        op.params = n * k;
        op.tensors = 1;
    }
    dn_build_op (build, &op);
}

/* Energies of all symbols from the query, the symbols and the earlier weights; softmax;
 * the weighted mean of the symbols.
 */
static void add_attention (struct dn_build *build, double tokens, double hidden)
{
    double frames = build->at.dim[0];
    double pairs = frames * tokens;
    const struct dn_op energy = {.kind = DN_OP_ACTIVATION,
                                 .repeat = 2,
                                 .in = pairs * ATTENTION,
                                 .out = pairs * ATTENTION,
                                 .saved = pairs * ATTENTION / 2,
                                 .steps = frames};
    const struct dn_op weigh = {.kind = DN_OP_SOFTMAX,
                                .in = pairs,
                                .out = pairs,
                                .saved = pairs,
                                .steps = frames};

    add_product (build, DN_OP_LINEAR, frames, 1, ATTENTION, hidden, frames * hidden);
    add_product (
        build, DN_OP_CONV, frames, tokens, FILTERS, 2 * FILTER_KERNEL, 2 * pairs);
    add_product (
        build, DN_OP_LINEAR, frames, tokens, ATTENTION, FILTERS, pairs * FILTERS);
    dn_build_op (build, &energy);
    add_product (build, DN_OP_LINEAR, frames, tokens, 1, ATTENTION, 0);
    dn_build_op (build, &weigh);
    add_product (build, DN_OP_MATMUL, frames, 1, EMBED, tokens, 0);
}

/* Add the decoder; the cursor is then on the mel frames. */
static void add_decoder (struct dn_build *build, double tokens, double hidden)
{
    struct dn_shape end;

    /* A loop on the host, over the longest clip of the batch. */
    build->calls = build->at.dim[0] * DN_SPEECH_PADDING;
    add_cell (build, PRENET + EMBED, hidden);
    add_attention (build, tokens, hidden);
    add_cell (build, hidden + EMBED, hidden);
    build->calls = 0;
    build->at.channels = hidden + EMBED;
    dn_build_keep (build);
    end = build->at;
    dn_build_linear (build, 1, true);
    dn_build_loss (build);
    build->at = end;
    dn_build_linear (build, MEL, true);
    dn_build_loss (build);
}

static void add_postnet (struct dn_build *build)
{
    for (int i = 0; i < POSTNET_LAYERS; i++) {
        add_conv_norm (build, i + 1 < POSTNET_LAYERS ? EMBED : MEL);
        if (i + 1 < POSTNET_LAYERS)
            dn_build_activation (build, DN_ACTIVATION_SIGMOID);
        dn_build_dropout (build);
    }
    dn_build_add (build);
    dn_build_loss (build);
}

static void build_tacotron2 (struct dn_build *build, const void *data)
{
    const struct tacotron2 *row = data;
    double tokens = DN_WANT (build, seq_len, row->tokens);
    double frames = DN_WANT (build, tgt_len, row->frames);
    double hidden = DN_WANT (build, hidden, row->hidden);

    build->graph.padding = DN_SPEECH_PADDING;
    dn_build_tokens (build, tokens);
    dn_build_embedding (build, DN_WANT (build, vocab, row->symbols), EMBED);
    add_encoder (build);
    /* The keys of the attention, computed once for all frames. */
    dn_build_linear (build, ATTENTION, false);
    dn_build_features (build, MEL, frames);
    add_prenet (build);
    add_decoder (build, tokens, hidden);
    add_postnet (build);
}

const struct dn_zoo_family dn_zoo_tacotron2 = DN_ZOO_FAMILY (rows, build_tacotron2);
