/* conformer.c - convolution and attention for speech
 *
 * Gulati et al. (arXiv 2005.08100) with the sizes of NVIDIA's NeMo: two convolutions
 * reduce seq_len= frames of 10 ms with in_channels= frequencies to one token of four
 * frames, layers= blocks of two feed-forward parts with relative attention and a
 * convolution between them, a layer to vocab= pieces of words and a blank for CTC.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/transformer.h"
#include "zoo.h"

#include <math.h>

#define FREQUENCIES 80.0
#define PIECES      1024.0

struct conformer {
    struct dn_zoo_entry entry;
    struct dn_transformer_sizes sizes;
};

/* Frames: the clips of LibriSpeech last 12.3 s on average. */
static const struct conformer rows[] = {
    {{"conformer_s", "conformer"}, {16, 176, 4, 0, 0, 1230}},
    {{"conformer_m", "conformer"}, {18, 256, 4, 0, 0, 1230}},
    {{"conformer_l", "conformer"}, {18, 512, 8, 0, 0, 1230}},
    /* End of rows */
};

/* Half of a feed-forward part is added to the activation. */
static void add_half (struct dn_build *build, const struct dn_conformer *conformer)
{
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_linear (build, conformer->ffn, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_dropout (build);
    dn_build_linear (build, conformer->hidden, true);
    dn_build_dropout (build);
    dn_build_elementwise (build, 1);
    dn_build_add (build);
}

/* Products of queries with a layer of the distances between tokens, which is the same
 * for all samples of a batch: its work is left out.
 */
static void add_distances (struct dn_build *build, const struct dn_conformer *conformer)
{
    double tokens = build->at.dim[0];
    double hidden = conformer->hidden;
    const struct dn_op distances = {.kind = DN_OP_COPY,
                                    .weights = hidden * hidden,
                                    .params = hidden * hidden,
                                    .tensors = 1};
    struct dn_op bias = {.kind = DN_OP_ELEMENTWISE,
                         .repeat = 2,
                         .in = tokens * hidden,
                         .out = tokens * hidden,
                         .weights = hidden,
                         .params = hidden,
                         .tensors = 1};
    struct dn_shape at = build->at;

    dn_build_op (build, &distances);
    dn_build_op (build, &bias);
    dn_build_matmul (build,
                     conformer->heads,
                     tokens,
                     2 * tokens - 1,
                     hidden / conformer->heads,
                     tokens * hidden);
    build->at.channels = conformer->heads * tokens;
    /* Shifted, scaled and added. */
    dn_build_copy (build);
    dn_build_elementwise (build, 2);
    build->at = at;
}

static void add_attention (struct dn_build *build, const struct dn_conformer *conformer)
{
    const struct dn_attention attention = {.heads = conformer->heads,
                                           .head_dim =
                                               conformer->hidden / conformer->heads,
                                           .bias = true,
                                           .out_bias = true,
                                           .dropout = true,
                                           .rotary = conformer->rotary,
                                           .unmasked = true};

    dn_build_norm (build, DN_NORM_LAYER);
    if (!conformer->rotary)
        add_distances (build, conformer);
    dn_build_attention (build, &attention);
    dn_build_dropout (build);
    dn_build_add (build);
}

static void add_conv (struct dn_build *build, const struct dn_conformer *conformer)
{
    double hidden = conformer->hidden;
    bool bias = conformer->conv_bias;
    struct dn_op gate = {.kind = DN_OP_ELEMENTWISE};

    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_copy (build);
    dn_build_conv (build, 2 * hidden, 1, 1, 0, 1, bias);
    dn_build_keep (build);
    gate.in = dn_shape_elements (&build->at);
    gate.out = gate.in / 2;
    dn_build_op (build, &gate);
    build->at.channels = hidden;
    build->at.kept = false;
    dn_build_conv (
        build, hidden, conformer->kernel, 1, conformer->kernel / 2, hidden, bias);
    dn_build_norm (build, DN_NORM_BATCH);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_conv (build, hidden, 1, 1, 0, 1, bias);
    dn_build_dropout (build);
    dn_build_copy (build);
    dn_build_add (build);
}

void dn_zoo_conformer_add (struct dn_build *build, const struct dn_conformer *conformer)
{
    double outer;

    dn_build_blocks (build, conformer->layers);
    outer = dn_build_repeat (build, conformer->layers);
    add_half (build, conformer);
    add_attention (build, conformer);
    add_conv (build, conformer);
    add_half (build, conformer);
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_repeat_end (build, outer);
}

/* From a spectrogram to tokens. */
static void add_stem (struct dn_build *build, double hidden, double frames)
{
    build->graph.decode = DN_DECODE_AUDIO;
    dn_build_features (build, DN_WANT (build, in_channels, FREQUENCIES), frames);
    build->at = (struct dn_shape){
        .channels = 1, .dim = {frames, build->at.channels}, .n_dims = 2, .input = true};
    for (int i = 0; i < 2; i++) {
        dn_build_conv (build, hidden, 3, 2, 1, 1, true);
        dn_build_activation (build, DN_ACTIVATION_RELU);
    }
    build->at = (struct dn_shape){
        .channels = hidden * build->at.dim[1], .dim = {build->at.dim[0]}, .n_dims = 1};
    dn_build_copy (build);
    dn_build_linear (build, hidden, true);
}

static void build_conformer (struct dn_build *build, const void *data)
{
    const struct conformer *row = data;
    struct dn_transformer body = {0};
    struct dn_conformer conformer = {.kernel = 31, .conv_bias = true};

    dn_transformer_sizes_read (build, &row->sizes, &body);
    dn_transformer_plain_heads (build, true);
    conformer.layers = body.layers;
    conformer.hidden = body.hidden;
    conformer.heads = body.attention.heads;
    conformer.ffn = body.ffn;
    add_stem (build, body.hidden, body.tokens);
    dn_build_elementwise (build, 1);
    dn_build_dropout (build);
    dn_zoo_conformer_add (build, &conformer);
    dn_build_linear (build, DN_WANT (build, vocab, PIECES) + 1, true);
    dn_build_loss_ctc (build);
}

const struct dn_zoo_family dn_zoo_conformer = DN_ZOO_FAMILY (rows, build_conformer);
