/* gpt.c - decoders: GPT-2, OPT, BLOOM, LLaMA and similar models
 *
 * As Hugging Face implements them. A row gives the sizes, its style the structure. The
 * head is 'lm' unless head=none; its weights are the word embedding where the style
 * ties them. seq_len= beyond the position table lengthens the table.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/transformer.h"
#include "zoo.h"

#include <math.h>

struct style {
    enum dn_norm norm;
    enum dn_activation activation;
    bool gated;
    bool bias;
    bool fused; /* query, key and value in one layer */
    bool rotary;
    bool tied;
    bool embedding_dropout;
    bool dropout;           /* after attention and feed-forward */
    bool attention_dropout; /* of probabilities */
    bool embedding_norm;
    double extra_positions; /* rows of the position table that no token has */
};

/* Radford et al. 2019; transformers.GPT2LMHeadModel */
static const struct style gpt2 = {.norm = DN_NORM_LAYER,
                                  .activation = DN_ACTIVATION_GELU_TANH,
                                  .bias = true,
                                  .fused = true,
                                  .tied = true,
                                  .embedding_dropout = true,
                                  .dropout = true,
                                  .attention_dropout = true};

/* Zhang et al., arXiv 2205.01068; transformers.OPTForCausalLM. Two positions are
 * reserved for padding.
 */
static const struct style opt = {.norm = DN_NORM_LAYER,
                                 .activation = DN_ACTIVATION_RELU,
                                 .bias = true,
                                 .tied = true,
                                 .dropout = true,
                                 .extra_positions = 2};

/* Le Scao et al., arXiv 2211.05100; transformers.BloomForCausalLM */
static const struct style bloom = {.norm = DN_NORM_LAYER,
                                   .activation = DN_ACTIVATION_GELU,
                                   .bias = true,
                                   .fused = true,
                                   .tied = true,
                                   .embedding_norm = true};

/* Touvron et al., arXiv 2302.13971; transformers.LlamaForCausalLM */
static const struct style llama = {.norm = DN_NORM_RMS,
                                   .activation = DN_ACTIVATION_GELU,
                                   .gated = true,
                                   .rotary = true};

struct gpt {
    struct dn_zoo_entry entry;
    const struct style *style;
    struct dn_transformer_sizes sizes;
    double vocab;
    double positions; /* rows of a learned table; 0: none */
};

#define ROW(name, ...)                                                                 \
    {                                                                                  \
        {name, "gpt"}, __VA_ARGS__                                                     \
    }

static const struct gpt rows[] = {
    ROW ("gpt2", &gpt2, {12, 768, 12, 0, 0, 1024}, 50257, 1024),
    ROW ("gpt2_medium", &gpt2, {24, 1024, 16, 0, 0, 1024}, 50257, 1024),
    ROW ("gpt2_large", &gpt2, {36, 1280, 20, 0, 0, 1024}, 50257, 1024),
    ROW ("gpt2_xl", &gpt2, {48, 1600, 25, 0, 0, 1024}, 50257, 1024),
    /* Brown et al., arXiv 2005.14165, table 2.1, with GPT-2's structure */
    ROW ("gpt3_xl", &gpt2, {24, 2048, 16, 0, 0, 2048}, 50257, 2048),
    ROW ("gpt3_2.7b", &gpt2, {32, 2560, 32, 0, 0, 2048}, 50257, 2048),
    ROW ("opt_125m", &opt, {12, 768, 12, 0, 0, 2048}, 50272, 2048),
    ROW ("opt_1.3b", &opt, {24, 2048, 32, 0, 0, 2048}, 50272, 2048),
    ROW ("opt_2.7b", &opt, {32, 2560, 32, 0, 0, 2048}, 50272, 2048),
    ROW ("opt_6.7b", &opt, {32, 4096, 32, 0, 0, 2048}, 50272, 2048),
    ROW ("bloom_560m", &bloom, {24, 1024, 16, 0, 0, 2048}, 250880, 0),
    ROW ("llama_7b", &llama, {32, 4096, 32, 0, 11008, 2048}, 32000, 0),
    ROW ("llama_13b", &llama, {40, 5120, 40, 0, 13824, 2048}, 32000, 0),
    ROW ("tinyllama_1.1b", &llama, {22, 2048, 32, 4, 5632, 2048}, 32000, 0),
    ROW ("mistral_7b", &llama, {32, 4096, 32, 8, 14336, 4096}, 32000, 0),
    /* End of rows */
};

static void add_embeddings (struct dn_build *build,
                            const struct gpt *row,
                            double vocab,
                            double hidden)
{
    const struct style *style = row->style;
    struct dn_shape tokens = build->at;

    dn_build_embedding (build, vocab, hidden);
    if (row->positions > 0) {
        build->at = tokens;
        dn_build_embedding (build,
                            fmax (row->positions, tokens.dim[0])
                                + style->extra_positions,
                            hidden);
        dn_build_add (build);
    }
    if (style->embedding_norm)
        dn_build_norm (build, style->norm);
    if (style->embedding_dropout)
        dn_build_dropout (build);
}

/* Hugging Face's classifiers score every token, and take the score of the last. */
static void add_head (struct dn_build *build, const struct style *style, double vocab)
{
    enum dn_head head = dn_build_head (
        build, DN_HEAD_LM, DN_HEAD_BIT (CLASSIFIER) | DN_HEAD_BIT (NONE));

    if (head == DN_HEAD_NONE)
        return;
    if (head == DN_HEAD_CLASSIFIER)
        dn_build_linear (build, DN_WANT (build, classes, 2), false);
    else if (style->tied)
        dn_build_linear_tied (build, vocab, false);
    else
        dn_build_linear (build, vocab, false);
    dn_build_loss (build);
}

static void build_gpt (struct dn_build *build, const void *data)
{
    const struct gpt *row = data;
    const struct style *style = row->style;
    struct dn_transformer body = {.norm = style->norm,
                                  .activation = style->activation,
                                  .gated = style->gated,
                                  .norm_first = true,
                                  .bias = style->bias,
                                  .dropout = style->dropout};
    double vocab = DN_WANT (build, vocab, row->vocab);

    /* Megatron fuses bias and GELU into one kernel. */
    if (build->spec->framework == DN_FRAMEWORK_MEGATRON)
        body.activation = DN_ACTIVATION_GELU;
    dn_transformer_sizes_read (build, &row->sizes, &body);
    body.attention.bias = style->bias;
    body.attention.out_bias = style->bias;
    body.attention.fused = style->fused;
    body.attention.rotary = style->rotary;
    body.attention.dropout = style->attention_dropout;
    body.attention.causal = true;
    body.attention.window = DN_WANT (build, window, 0);
    dn_build_tokens (build, body.tokens);
    add_embeddings (build, row, vocab, body.hidden);
    dn_transformer_add_blocks (build, &body);
    dn_build_norm (build, style->norm);
    add_head (build, style, vocab);
}

const struct dn_zoo_family dn_zoo_gpt =
    DN_ZOO_FAMILY_OF (rows, build_gpt, "transformer", "gpt2");
