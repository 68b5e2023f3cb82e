/* esm.c - encoders of protein sequences: ESM-1b, ESM-1v, ESM-2
 *
 * Rives et al. (PNAS 118, 2021), Meier et al. (NeurIPS 2021) and Lin et al. (Science
 * 379, 2023) as Hugging Face implements them: a token is an amino acid, norms come
 * first, nothing is dropped. seq_len= residues of a crop.
 *
 * Heads: 'lm' (the default) predicts the masked residues with the weights of the word
 * embedding, 'classifier' the class of the sequence (classes=, 2), 'none' ends with the
 * last norm. The layer that reads contacts from the attention is there in all of them,
 * without a gradient.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/transformer.h"
#include "zoo.h"

#define TOKENS    1024.0
#define LETTERS   33.0
#define POSITIONS 1026.0

/* Where positions come from. */
enum style {
    STYLE_ROTARY,
    STYLE_LEARNED,
    STYLE_LEARNED_NORM /* with a norm of the embeddings */
};

struct esm {
    struct dn_zoo_entry entry;
    struct dn_transformer_sizes sizes;
    enum style style;
};

static const struct esm rows[] = {
    {{"esm1b_t33_650m", "esm"}, {33, 1280, 20, 0, 0, TOKENS}, STYLE_LEARNED_NORM},
    {{"esm1v_t33_650m", "esm"}, {33, 1280, 20, 0, 0, TOKENS}, STYLE_LEARNED},
    {{"esm2_t6_8m", "esm"}, {6, 320, 20, 0, 0, TOKENS}, STYLE_ROTARY},
    {{"esm2_t12_35m", "esm"}, {12, 480, 20, 0, 0, TOKENS}, STYLE_ROTARY},
    {{"esm2_t30_150m", "esm"}, {30, 640, 20, 0, 0, TOKENS}, STYLE_ROTARY},
    {{"esm2_t33_650m", "esm"}, {33, 1280, 20, 0, 0, TOKENS}, STYLE_ROTARY},
    {{"esm2_t36_3b", "esm"}, {36, 2560, 40, 0, 0, TOKENS}, STYLE_ROTARY},
    {{"esm2_t48_15b", "esm"}, {48, 5120, 40, 0, 0, TOKENS}, STYLE_ROTARY},
    /* End of rows */
};

/* Masked residues are set to zero, the others scaled. */
static void add_embeddings (struct dn_build *build,
                            enum style style,
                            double vocab,
                            double hidden)
{
    struct dn_shape tokens = build->at;

    dn_build_embedding (build, vocab, hidden);
    dn_build_elementwise (build, 3);
    if (style == STYLE_ROTARY)
        return;
    build->at = tokens;
    dn_build_embedding (
        build, dn_transformer_read_positions (build, POSITIONS), hidden);
    dn_build_add (build);
    if (style == STYLE_LEARNED_NORM)
        dn_build_norm (build, DN_NORM_LAYER);
}

/* A number for each head of each block, and a bias; training does not run it. */
static void add_contacts (struct dn_build *build, const struct dn_transformer *body)
{
    const struct dn_op op = {.kind = DN_OP_COPY,
                             .params = body->layers * body->attention.heads + 1,
                             .tensors = 2};

    dn_build_op (build, &op);
}

static void add_head (struct dn_build *build, double vocab)
{
    enum dn_head head = dn_build_head (
        build, DN_HEAD_LM, DN_HEAD_BIT (CLASSIFIER) | DN_HEAD_BIT (NONE));
    double hidden = build->at.channels;

    if (head == DN_HEAD_NONE)
        return;
    if (head == DN_HEAD_CLASSIFIER)
        build->at.dim[0] = 1;
    dn_build_linear (build, hidden, true);
    if (head == DN_HEAD_CLASSIFIER) {
        dn_build_activation (build, DN_ACTIVATION_SIGMOID);
        dn_build_linear (build, DN_WANT (build, classes, 2), true);
    } else {
        dn_build_activation (build, DN_ACTIVATION_GELU_ERF);
        dn_build_norm (build, DN_NORM_LAYER);
        dn_build_linear_tied (build, vocab, true);
    }
    dn_build_loss (build);
}

static void build_esm (struct dn_build *build, const void *data)
{
    const struct esm *row = data;
    struct dn_transformer body = {.norm = DN_NORM_LAYER,
                                  .activation = DN_ACTIVATION_GELU_ERF,
                                  .norm_first = true,
                                  .bias = true};
    double vocab = DN_WANT (build, vocab, LETTERS);

    dn_transformer_sizes_read (build, &row->sizes, &body);
    body.attention.bias = true;
    body.attention.out_bias = true;
    body.attention.rotary = row->style == STYLE_ROTARY;
    dn_build_tokens (build, body.tokens);
    add_embeddings (build, row->style, vocab, body.hidden);
    dn_transformer_add_blocks (build, &body);
    dn_build_norm (build, DN_NORM_LAYER);
    add_contacts (build, &body);
    add_head (build, vocab);
}

const struct dn_zoo_family dn_zoo_esm = DN_ZOO_FAMILY (rows, build_esm);
