/* wav2vec2.c - wav2vec 2.0, speech from raw waves
 *
 * Baevski et al. (arXiv 2006.11477) as Hugging Face implements it: seven convolutions
 * reduce seq_len= audio samples to one token per 320 samples, a convolution gives
 * positions, transformer blocks follow.
 *
 * Heads: 'lm' (the default) is fine-tuning, a layer to vocab= letters for CTC;
 * 'pretrain' quantises the targets and projects both sides; 'none' ends with the last
 * block.
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

struct wav2vec2 {
    struct dn_zoo_entry entry;
    struct dn_transformer_sizes sizes; /* tokens are audio samples */
    double letters;
};

static const struct wav2vec2 rows[] = {
    {{"wav2vec2_base", "wav2vec2"}, {12, 768, 12, 0, 3072, 196800}, 32},
    /* End of rows */
};

static const struct {
    int kernel;
    int stride;
} layers[] = {{10, 5}, {3, 2}, {3, 2}, {3, 2}, {3, 2}, {2, 2}, {2, 2}};

static void add_waves (struct dn_build *build, double samples)
{
    dn_build_features (build, 1, samples);
    for (size_t i = 0; i < DN_N_ELEMENTS (layers); i++) {
        dn_build_conv (
            build, WAVE_FEATURES, layers[i].kernel, layers[i].stride, 0, 1, false);
        if (i == 0)
            dn_build_norm (build, DN_NORM_GROUP);
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
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_dropout (build);
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
    enum dn_head head =
        dn_build_head (build, DN_HEAD_LM, DN_HEAD_BIT (PRETRAIN) | DN_HEAD_BIT (NONE));

    if (head == DN_HEAD_NONE)
        return;
    if (head == DN_HEAD_PRETRAIN) {
        dn_build_linear (build, COMPARED, true);
        add_targets (build, waves);
        dn_build_loss (build);
    } else {
        dn_build_dropout (build);
        dn_build_linear (build, DN_WANT (build, vocab, row->letters), true);
        dn_build_loss_ctc (build);
    }
}

static void build_wav2vec2 (struct dn_build *build, const void *data)
{
    const struct wav2vec2 *row = data;
    struct dn_transformer body = {.norm = DN_NORM_LAYER,
                                  .activation = DN_ACTIVATION_GELU,
                                  .bias = true,
                                  .dropout = true,
                                  .inner_dropout = true};
    struct dn_shape waves;

    dn_transformer_sizes_read (build, &row->sizes, &body);
    body.attention.bias = true;
    body.attention.out_bias = true;
    body.attention.dropout = true;
    body.attention.unmasked = true;
    add_waves (build, body.tokens);
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_keep (build);
    waves = build->at;
    dn_build_linear (build, body.hidden, true);
    dn_build_dropout (build);
    add_mask (build);
    add_positions (build);
    dn_transformer_add_blocks (build, &body);
    /* fairseq, the original implementation, computes these in single precision. */
    for (int i = 0; i < build->graph.n_ops; i++)
        if (build->graph.ops[i].kind == DN_OP_ACTIVATION
            || build->graph.ops[i].kind == DN_OP_NORM)
            build->graph.ops[i].single = true;
    add_head (build, row, &waves);
}

const struct dn_zoo_family dn_zoo_wav2vec2 = DN_ZOO_FAMILY (rows, build_wav2vec2);
