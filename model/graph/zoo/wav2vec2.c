/* wav2vec2.c - speech from raw waves: wav2vec 2.0, HuBERT, WavLM
 *
 * Baevski et al. (arXiv 2006.11477), Hsu et al. (2106.07447) and Chen et al.
 * (2110.13900) as Hugging Face implements them: seven convolutions reduce seq_len=
 * audio samples to one token per 320 samples, a convolution gives positions,
 * transformer blocks follow. WavLM adds relative positions through a gate per token and
 * head. The blocks of wav2vec2_conformer are those of Conformer (2005.08100) with
 * relative or rotated positions; its convolution for positions has parameters but is
 * not used.
 *
 * Heads: 'lm' (the default) is fine-tuning, a layer to vocab= letters for CTC;
 * 'pretrain', of wav2vec 2.0 only, quantises the targets and projects both sides;
 * 'none' ends with the last block.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/transformer.h"
#include "zoo.h"

#define WAVE_FEATURES 512.0

/* Features that targets and predictions are compared in, and the code book: groups,
 * entries of each, features of both together.
 */
#define COMPARED      256.0
#define BOOK_GROUPS   2.0
#define BOOK_ENTRIES  320.0
#define BOOK_FEATURES 256.0

#define POSITION_KERNEL 128
#define POSITION_GROUPS 16.0

/* Rows of WavLM's table of distances, and outputs of the layer before its gates. */
#define DISTANCES    320.0
#define GATE_OUTPUTS 8.0

/* Blocks of a network. */
enum blocks {
    BLOCKS_TRANSFORMER,
    BLOCKS_GATED, /* with gated relative positions */
    BLOCKS_CONFORMER,
    BLOCKS_CONFORMER_ROTARY
};

struct style {
    enum blocks blocks;
    bool conv_bias;  /* of the convolutions over the wave */
    bool layer_norm; /* after each of these; else one after the first */
    bool norm_first; /* within the blocks */
    bool pretrain;   /* has the head of that name */
};

static const struct style first = {.pretrain = true};
static const struct style stable = {.conv_bias = true,
                                    .layer_norm = true,
                                    .norm_first = true,
                                    .pretrain = true};
static const struct style hubert = {0};
static const struct style hubert_stable = {.conv_bias = true,
                                           .layer_norm = true,
                                           .norm_first = true};
static const struct style wavlm = {.blocks = BLOCKS_GATED};
static const struct style wavlm_stable = {.blocks = BLOCKS_GATED,
                                          .layer_norm = true,
                                          .norm_first = true};
static const struct style relative = {.blocks = BLOCKS_CONFORMER,
                                      .conv_bias = true,
                                      .layer_norm = true};
static const struct style rotary = {.blocks = BLOCKS_CONFORMER_ROTARY,
                                    .conv_bias = true,
                                    .layer_norm = true};

struct wav2vec2 {
    struct dn_zoo_entry entry;
    const struct style *style;
    struct dn_transformer_sizes sizes; /* tokens are audio samples */
};

#define BASE                                                                           \
    {                                                                                  \
        12, 768, 12, 0, 3072, 196800                                                   \
    }
#define LARGE                                                                          \
    {                                                                                  \
        24, 1024, 16, 0, 4096, 196800                                                  \
    }

static const struct wav2vec2 rows[] = {
    {{"wav2vec2_base", "wav2vec2"}, &first, BASE},
    {{"wav2vec2_large", "wav2vec2"}, &first, LARGE},
    {{"wav2vec2_large_lv60", "wav2vec2"}, &stable, LARGE},
    {{"hubert_base", "wav2vec2"}, &hubert, BASE},
    {{"hubert_large", "wav2vec2"}, &hubert_stable, LARGE},
    {{"wavlm_base", "wav2vec2"}, &wavlm, BASE},
    {{"wavlm_large", "wav2vec2"}, &wavlm_stable, LARGE},
    {{"wav2vec2_conformer_rel_pos", "wav2vec2"}, &relative, LARGE},
    {{"wav2vec2_conformer_rope", "wav2vec2"}, &rotary, LARGE},
    /* End of rows */
};

#define LETTERS 32.0

static const struct {
    int kernel;
    int stride;
} layers[] = {{10, 5}, {3, 2}, {3, 2}, {3, 2}, {3, 2}, {2, 2}, {2, 2}};

static void add_waves (struct dn_build *build,
                       const struct style *style,
                       double samples)
{
    dn_build_features (build, 1, samples);
    for (size_t i = 0; i < DN_N_ELEMENTS (layers); i++) {
        dn_build_conv (build,
                       WAVE_FEATURES,
                       layers[i].kernel,
                       layers[i].stride,
                       0,
                       1,
                       style->conv_bias);
        if (style->layer_norm) {
            dn_build_copy (build);
            dn_build_norm (build, DN_NORM_LAYER);
            dn_build_copy (build);
        } else if (i == 0) {
            dn_build_norm (build, DN_NORM_GROUP);
        }
        dn_build_activation (build, DN_ACTIVATION_GELU);
    }
}

/* A grouped convolution whose weights are a direction and a length for each position of
 * the kernel; one position too many is cut off.
 */
static void add_positions (struct dn_build *build)
{
    const struct dn_op lengths = {.kind = DN_OP_NORM,
                                  .weights = POSITION_KERNEL,
                                  .params = POSITION_KERNEL,
                                  .tensors = 1};
    double tokens = build->at.dim[0];

    dn_build_keep (build);
    dn_build_op (build, &lengths);
    dn_build_conv (build,
                   build->at.channels,
                   POSITION_KERNEL,
                   1,
                   POSITION_KERNEL / 2,
                   POSITION_GROUPS,
                   true);
    build->at.dim[0] = tokens;
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_add (build);
}

/* The parameters of the same, without its work. */
static void add_unused_positions (struct dn_build *build)
{
    double hidden = build->at.channels;
    double params =
        hidden * (hidden / POSITION_GROUPS * POSITION_KERNEL + 1) + POSITION_KERNEL;
    const struct dn_op op = {.kind = DN_OP_COPY, .params = params, .tensors = 3};

    dn_build_op (build, &op);
}

/* Relative positions are gated by a layer of the token for each head. */
static void add_gate (struct dn_build *build, const struct dn_transformer *body)
{
    double heads = body->attention.heads;
    struct dn_shape at = build->at;
    /* Query, key and value read transposed copies, which they keep. */
    const struct dn_op inputs = {.kind = DN_OP_COPY,
                                 .repeat = 3,
                                 .in = dn_shape_elements (&at),
                                 .out = dn_shape_elements (&at),
                                 .saved = 2 * dn_shape_elements (&at) / 3};
    const struct dn_op scale = {.kind = DN_OP_ELEMENTWISE,
                                .in = 2 * heads * at.dim[0],
                                .out = heads * at.dim[0],
                                .weights = heads,
                                .params = heads,
                                .tensors = 1};

    dn_build_op (build, &inputs);
    dn_build_copy (build);
    build->at.channels = body->attention.head_dim;
    build->at.dim[0] = heads * at.dim[0];
    dn_build_linear (build, GATE_OUTPUTS, true);
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
    dn_build_op (build, &scale);
    build->at.channels = at.dim[0];
    dn_build_elementwise (build, 1);
    build->at = at;
}

static void add_gated_blocks (struct dn_build *build, const struct dn_transformer *body)
{
    double heads = body->attention.heads;
    double outer;
    const struct dn_op distances = {.kind = DN_OP_EMBEDDING,
                                    .in = DISTANCES * heads,
                                    .out = build->at.dim[0] * build->at.dim[0] * heads,
                                    .weights = DISTANCES * heads,
                                    .params = DISTANCES * heads,
                                    .tensors = 1,
                                    .saved =
                                        build->at.dim[0] * build->at.dim[0] * heads,
                                    .first = true};

    dn_build_op (build, &distances);
    dn_build_blocks (build, body->layers);
    outer = dn_build_repeat (build, body->layers);
    add_gate (build, body);
    dn_transformer_add_block (build, body);
    dn_build_repeat_end (build, outer);
}

static void add_blocks (struct dn_build *build,
                        const struct style *style,
                        const struct dn_transformer *body)
{
    const struct dn_conformer conformer = {.layers = body->layers,
                                           .hidden = body->hidden,
                                           .heads = body->attention.heads,
                                           .ffn = body->ffn,
                                           .kernel = 31,
                                           .rotary = style->blocks
                                                     == BLOCKS_CONFORMER_ROTARY};

    if (style->blocks >= BLOCKS_CONFORMER) {
        add_unused_positions (build);
        dn_build_dropout (build);
        dn_zoo_conformer_add (build, &conformer);
        dn_build_norm (build, DN_NORM_LAYER);
        return;
    }
    add_positions (build);
    if (!style->norm_first)
        dn_build_norm (build, DN_NORM_LAYER);
    dn_build_dropout (build);
    if (style->blocks == BLOCKS_GATED)
        add_gated_blocks (build, body);
    else
        dn_transformer_add_blocks (build, body);
    if (style->norm_first)
        dn_build_norm (build, DN_NORM_LAYER);
}

/* The learned vector that replaces masked tokens. */
static void add_mask (struct dn_build *build)
{
    const struct dn_op mask = {.kind = DN_OP_COPY,
                               .in = dn_shape_elements (&build->at),
                               .out = dn_shape_elements (&build->at),
                               .weights = build->at.channels,
                               .params = build->at.channels,
                               .tensors = 1};

    dn_build_op (build, &mask);
}

/* Targets: choose an entry of each group of the code book for each token. */
static void add_targets (struct dn_build *build, struct dn_shape *waves)
{
    double tokens = waves->dim[0];
    const struct dn_op book = {.kind = DN_OP_ELEMENTWISE,
                               .in = tokens * BOOK_ENTRIES * BOOK_FEATURES,
                               .out = tokens * BOOK_FEATURES,
                               .weights = BOOK_ENTRIES * BOOK_FEATURES,
                               .params = BOOK_ENTRIES * BOOK_FEATURES,
                               .tensors = 1,
                               .saved = tokens * BOOK_GROUPS * BOOK_ENTRIES};

    build->at = *waves;
    dn_build_dropout (build);
    dn_build_linear (build, BOOK_GROUPS * BOOK_ENTRIES, true);
    dn_build_softmax (build);
    dn_build_softmax (build);
    dn_build_op (build, &book);
    build->at.channels = BOOK_FEATURES;
    build->at.kept = false;
    dn_build_linear (build, COMPARED, true);
}

static void add_head (struct dn_build *build,
                      const struct wav2vec2 *row,
                      struct dn_shape *waves)
{
    unsigned pretrain = row->style->pretrain ? DN_HEAD_BIT (PRETRAIN) : 0;
    enum dn_head head =
        dn_build_head (build, DN_HEAD_LM, pretrain | DN_HEAD_BIT (NONE));

    if (head == DN_HEAD_NONE)
        return;
    if (head == DN_HEAD_PRETRAIN) {
        dn_build_linear (build, COMPARED, true);
        add_targets (build, waves);
        dn_build_loss (build);
    } else {
        dn_build_dropout (build);
        dn_build_linear (build, DN_WANT (build, vocab, LETTERS), true);
        dn_build_loss_ctc (build);
    }
}

static void build_wav2vec2 (struct dn_build *build, const void *data)
{
    const struct wav2vec2 *row = data;
    struct dn_transformer body = {.norm = DN_NORM_LAYER,
                                  .activation = DN_ACTIVATION_GELU,
                                  .norm_first = row->style->norm_first,
                                  .bias = true,
                                  .dropout = true,
                                  .inner_dropout = true};
    struct dn_shape waves;

    dn_transformer_sizes_read (build, &row->sizes, &body);
    if (row->style->blocks >= BLOCKS_CONFORMER)
        dn_transformer_plain_heads (build, true);
    body.attention.bias = true;
    body.attention.out_bias = true;
    body.attention.dropout = true;
    body.attention.unmasked = true;
    add_waves (build, row->style, body.tokens);
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_keep (build);
    waves = build->at;
    dn_build_linear (build, body.hidden, true);
    dn_build_dropout (build);
    add_mask (build);
    add_blocks (build, row->style, &body);
    /* fairseq, the original implementation, computes these in single precision. */
    for (int i = 0; i < build->graph.n_ops; i++)
        if (build->graph.ops[i].kind == DN_OP_ACTIVATION
            || build->graph.ops[i].kind == DN_OP_NORM)
            build->graph.ops[i].single = true;
    add_head (build, row, &waves);
}

const struct dn_zoo_family dn_zoo_wav2vec2 = DN_ZOO_FAMILY (rows, build_wav2vec2);
