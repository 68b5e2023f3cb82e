/* bert.c - encoders: BERT and its kin
 *
 * BERT (Devlin et al., arXiv 1810.04805) as Hugging Face implements it: three
 * embeddings, normalisation after each sum, GELU.
 *
 * Heads: 'pretrain' (the default) predicts masked tokens and the next sentence, 'lm'
 * masked tokens only, 'classifier' the class of the sequence (classes=, 2), 'none' ends
 * with the pooler. Masked tokens are gathered first, as in the paper's code and
 * NVIDIA's: 15 % of the sequence, or tgt_len= tokens. With tgt_len equal to seq_len,
 * the graph is that of Hugging Face's BertForPreTraining.
 *
 * DeBERTa v3 (He et al., 2111.09543) has neither positions nor segments in its input: a
 * table of relative distances, which all blocks share, passes the query and key layers
 * of each block, and two products of it with keys and queries are added to the scores.
 * In v2 a convolution over the embeddings is added to the first block's result.
 *
 * ModernBERT (Warner et al., 2412.13663) has a norm before each part, rotated
 * positions, gated feed-forward layers and hardly a bias. A third of its blocks attend
 * to all tokens, the others to window= of them.
 *
 * ELECTRA (Clark et al., 2003.10555) has no pooler: 'pretrain' is its discriminator,
 * which decides for each token whether it was replaced, 'lm' its generator.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "base/messages.h"
#include "graph/transformer.h"
#include "zoo.h"

#include <math.h>

/* Fraction of the tokens of a sequence that is masked (paper, section 3.1). */
#define MASKED 0.15

/* That of ModernBERT, and its blocks for each one that attends to all tokens (paper,
 * 2.1).
 */
#define MODERN_MASKED 0.3
#define MODERN_PERIOD 3

/* What a network has besides the traits of its blocks. */
enum {
    ONE_BLOCK = OWN_TRAIT,      /* one block's parameters serve all layers */
    NO_POOLER = OWN_TRAIT << 1, /* and no dropout after attention: DistilBERT */
    OWN_HEADS = OWN_TRAIT << 2, /* those of ELECTRA */
    HEAD_LM = OWN_TRAIT << 3,   /* by default; otherwise 'pretrain' */
    HEAD_NONE = OWN_TRAIT << 4
};

enum style {
    BERT = BIAS_BLOCK | DROPOUT | SCORE_DROPOUT,
    ROBERTA = BERT | HEAD_LM,
    DISTILBERT = ROBERTA | NO_POOLER,
    ELECTRA = BERT | OWN_HEADS,
    ALBERT = BIAS_BLOCK | GELU_TANH | ONE_BLOCK,
    MEAN = BERT | HEAD_NONE,
    MODERN = BEFORE | SCALE | GATED | FUSED_GATE | FUSED | ROTARY | NO_POOLER | HEAD_LM
};

struct bert {
    const char *name;
    struct dn_transformer_sizes sizes;
    double vocab;
    double positions; /* rows of the position table */
    double types;     /* rows of the segment table; 0: none */
    double embed;     /* features of the embeddings; 0: hidden */
    unsigned traits;
    double buckets;   /* of relative positions, one number per head; 0: none */
    double window;    /* of ModernBERT; 0: another network */
    double distances; /* rows of DeBERTa's table of relative distances; 0: none */
    int kernel;       /* of the convolution of DeBERTa v2 over the tokens; 0: none */
};

/* Layers, features and heads of the usual sizes. */
/* clang-format off */
#define SMALL {12, 384, 12, 0, 0, 512}
#define BASE  {12, 768, 12, 0, 0, 512}
#define LARGE {24, 1024, 16, 0, 0, 512}
/* clang-format on */

#define MPNET      ROBERTA, .buckets = 32
#define MODERNBERT MODERN, .window = 128
#define DEBERTA    DISTILBERT, .distances = 512
#define DEBERTA_V2 DEBERTA, .kernel = 3

static const struct bert rows[] = {
    ROW ("bert_base", BASE, 30522, 512, 2, 0, BERT),
    ROW ("bert_large", LARGE, 30522, 512, 2, 0, BERT),
    ROW ("bert_tiny", {2, 128, 2, 0, 0, 512}, 30522, 512, 2, 0, BERT),
    ROW ("bert_mini", {4, 256, 4, 0, 0, 512}, 30522, 512, 2, 0, BERT),
    ROW ("bert_small", {4, 512, 8, 0, 0, 512}, 30522, 512, 2, 0, BERT),
    ROW ("bert_medium", {8, 512, 8, 0, 0, 512}, 30522, 512, 2, 0, BERT),
    ROW ("bert_base_chinese", BASE, 21128, 512, 2, 0, BERT),
    ROW ("bert_large_chinese", LARGE, 21128, 512, 2, 0, BERT),
    ROW ("biobert_large", LARGE, 58996, 512, 2, 0, BERT),
    ROW ("bert_base_multilingual", BASE, 119547, 512, 2, 0, BERT),
    ROW ("bert_base_multilingual_uncased", BASE, 105879, 512, 2, 0, BERT),
    ROW ("muril_base", BASE, 197285, 512, 2, 0, BERT),
    ROW ("prot_bert", {30, 1024, 16, 0, 0, 512}, 30, 40000, 2, 0, BERT),
    ROW ("roberta_base", BASE, 50265, 514, 1, 0, ROBERTA),
    ROW ("roberta_large", LARGE, 50265, 514, 1, 0, ROBERTA),
    ROW ("distilroberta_base", {6, 768, 12, 0, 0, 512}, 50265, 514, 1, 0, ROBERTA),
    ROW ("xlm_roberta_base", BASE, 250002, 514, 1, 0, ROBERTA),
    ROW ("xlm_roberta_large", LARGE, 250002, 514, 1, 0, ROBERTA),
    ROW ("camembert_base", BASE, 32005, 514, 1, 0, ROBERTA),
    ROW ("camembert_large", LARGE, 32005, 514, 1, 0, ROBERTA),
    ROW ("distilbert", {6, 768, 12, 0, 0, 512}, 30522, 512, 0, 0, DISTILBERT),
    ROW ("distilbert_multilingual",
         {6, 768, 12, 0, 0, 512},
         119547,
         512,
         0,
         0,
         DISTILBERT),
    ROW ("electra_small", {12, 256, 4, 0, 0, 512}, 30522, 512, 2, 128, ELECTRA),
    ROW ("electra_base", BASE, 30522, 512, 2, 0, ELECTRA),
    ROW ("electra_large", LARGE, 30522, 512, 2, 0, ELECTRA),
    ROW ("albert_base", BASE, 30000, 512, 2, 128, ALBERT),
    ROW ("albert_large", LARGE, 30000, 512, 2, 128, ALBERT),
    ROW ("albert_xlarge", {24, 2048, 16, 0, 0, 512}, 30000, 512, 2, 128, ALBERT),
    ROW ("albert_xxlarge", {12, 4096, 64, 0, 0, 512}, 30000, 512, 2, 128, ALBERT),
    ROW ("mpnet_base", BASE, 30527, 514, 0, 0, MPNET),
    ROW ("deberta_v2_xlarge", {24, 1536, 24, 0, 0, 512}, 128100, 0, 0, 0, DEBERTA_V2),
    ROW ("deberta_v2_xxlarge", {48, 1536, 24, 0, 0, 512}, 128100, 0, 0, 0, DEBERTA_V2),
    ROW ("deberta_v3_xsmall", {12, 384, 6, 0, 0, 512}, 128100, 0, 0, 0, DEBERTA),
    ROW ("deberta_v3_small", {6, 768, 12, 0, 0, 512}, 128100, 0, 0, 0, DEBERTA),
    ROW ("deberta_v3_base", BASE, 128100, 0, 0, 0, DEBERTA),
    ROW ("deberta_v3_large", LARGE, 128100, 0, 0, 0, DEBERTA),
    ROW ("mdeberta_v3_base", BASE, 251000, 0, 0, 0, DEBERTA),
    ROW ("modernbert_base", {22, 768, 12, 0, 1152, 1024}, 50368, 0, 0, 0, MODERNBERT),
    ROW ("modernbert_large", {28, 1024, 16, 0, 2624, 1024}, 50368, 0, 0, 0, MODERNBERT),
    /* Sentence encoders: the loss compares the means of the tokens. */
    ROW ("all_minilm_l6_v2", {6, 384, 12, 0, 0, 256}, 30522, 512, 2, 0, MEAN),
    ROW ("all_minilm_l12_v2", {12, 384, 12, 0, 0, 128}, 30522, 512, 2, 0, MEAN),
    ROW ("labse", BASE, 501153, 512, 2, 0, MEAN),
    ROW ("bge_small", SMALL, 30522, 512, 2, 0, MEAN),
    ROW ("bge_base", BASE, 30522, 512, 2, 0, MEAN),
    ROW ("bge_large", LARGE, 30522, 512, 2, 0, MEAN),
    ROW ("bge_m3", {24, 1024, 16, 0, 0, 8192}, 250002, 8194, 1, 0, MEAN),
    ROW ("bge_small_zh", {4, 512, 8, 0, 0, 512}, 21128, 512, 2, 0, MEAN),
    ROW ("bge_base_zh", BASE, 21128, 512, 2, 0, MEAN),
    ROW ("bge_large_zh", LARGE, 21128, 512, 2, 0, MEAN),
    ROW ("e5_small", SMALL, 30522, 512, 2, 0, MEAN),
    ROW ("e5_base", BASE, 30522, 512, 2, 0, MEAN),
    ROW ("e5_large", LARGE, 30522, 512, 2, 0, MEAN),
    ROW ("multilingual_e5_small", SMALL, 250037, 512, 2, 0, MEAN),
    ROW ("multilingual_e5_base", BASE, 250002, 514, 1, 0, MEAN),
    ROW ("multilingual_e5_large", LARGE, 250002, 514, 1, 0, MEAN),
    ROW ("gte_small", SMALL, 30522, 512, 2, 0, MEAN),
    ROW ("gte_base", BASE, 30522, 512, 2, 0, MEAN),
    ROW ("gte_large", LARGE, 30522, 512, 2, 0, MEAN),
    /* End of rows */
};

static void add_embeddings (struct dn_build *build,
                            const struct bert *row,
                            double vocab,
                            double features)
{
    struct dn_shape tokens = build->at;

    dn_build_embedding (build, vocab, features);
    if (row->positions > 0) {
        build->at = tokens;
        dn_build_embedding (
            build, dn_transformer_read_positions (build, row->positions), features);
        dn_build_add (build);
    }
    if (row->types > 0) {
        build->at = tokens;
        dn_build_embedding (build, row->types, features);
        dn_build_add (build);
    }
    dn_build_norm (build, dn_norm_of (row->traits));
    if (row->traits & DROPOUT)
        dn_build_dropout (build);
}

/* DeBERTa's table of relative distances, and its norm. */
static void add_distances (struct dn_build *build, double n, double features)
{
    dn_build_op (
        build, DN_OP (EMBEDDING, .params = n * features, .tensors = 1, .first = true));
    dn_build_op (
        build,
        DN_OP (
            NORM, .weights = (n + 2) * features, .params = 2 * features, .tensors = 2));
}

/* What the distances add to the scores of a block (paper 2006.03654, 3.1): from content
 * to position and back, a product with each row of the table, of which each pair of
 * tokens gathers one. The table after dropout and a layer is the same for all samples,
 * and only its copies for each sample are counted.
 */
static void add_distance_scores (struct dn_build *build,
                                 const struct dn_transformer *body,
                                 double n)
{
    double tokens = body->tokens;
    double heads = body->heads;
    double features = heads * body->head_dim;
    double table = n * features;
    double keys = tokens * features;
    double near = heads * tokens * n;
    double scores = heads * tokens * tokens;

    dn_build_op (build, DN_OP (ELEMENTWISE, .in = keys, .out = keys, .saved = keys));
    dn_build_op (build,
                 DN_OP (COPY,
                        .repeat = 2,
                        .in = table,
                        .out = table,
                        .weights = table + body->hidden * features,
                        .saved = table));
    DN_REPEAT (build, 2)
        dn_build_matmul (build, heads, tokens, n, body->head_dim, 0);
    dn_build_op (build,
                 DN_OP (COPY, .repeat = 2, .in = near, .out = scores, .saved = near));
    /* Two are scaled and all are added; masked scores are filled. */
    dn_build_op (build,
                 DN_OP (ELEMENTWISE,
                        .repeat = 5,
                        .in = scores,
                        .out = scores,
                        .masks = tokens * tokens / 5));
}

/* Predict the masked tokens with the weights of the word embedding. */
static void add_masked_lm (struct dn_build *build,
                           const struct bert *row,
                           double features,
                           double vocab)
{
    double share = row->window > 0 ? MODERN_MASKED : MASKED;
    double tokens = build->at.dim[0];
    double masked = DN_WANT (build, tgt_len, ceil (share * tokens));

    if (masked > tokens)
        dn_build_refuse (build, zoo_masked, masked, tokens);
    if (masked < tokens) {
        build->at.dim[0] = masked;
        dn_build_copy (build);
    }
    dn_build_linear (build, features, row->window <= 0);
    dn_build_activation (build, dn_activation_of (row->traits));
    dn_build_norm (build, dn_norm_of (row->traits));
    dn_build_output (build, vocab, true, true);
    dn_build_loss (build);
}

/* What add_scores () adds to its two layers. */
enum {
    FIRST = 1 << 0, /* they read the first token only */
    DROP_BEFORE = 1 << 1,
    DROP = 1 << 2, /* between them */
    NORM = 1 << 3,
    NO_BIAS = 1 << 4
};

/* A layer, then the classes of the sequence from its first token, or of each token;
 * 'classes' 0: the layer only.
 */
static void add_scores (struct dn_build *build,
                        enum dn_activation activation,
                        unsigned with,
                        double classes)
{
    if (with & FIRST)
        build->at.dim[0] = 1;
    if (with & DROP_BEFORE)
        dn_build_dropout (build);
    dn_build_linear (build, build->at.channels, !(with & NO_BIAS));
    dn_build_activation (build, activation);
    if (with & DROP)
        dn_build_dropout (build);
    if (with & NORM)
        dn_build_norm (build, DN_NORM_SCALE);
    if (classes <= 0)
        return;
    dn_build_linear (build, classes, true);
    dn_build_loss (build);
}

static enum dn_head usual_head (const struct bert *row)
{
    if (row->traits & HEAD_LM)
        return DN_HEAD_LM;
    return row->traits & HEAD_NONE ? DN_HEAD_NONE : DN_HEAD_PRETRAIN;
}

static void add_head (struct dn_build *build,
                      const struct bert *row,
                      double features,
                      double vocab)
{
    bool pooler = !(row->traits & NO_POOLER);
    enum dn_head head =
        dn_build_head (build,
                       usual_head (row),
                       (pooler ? DN_HEAD_BIT (PRETRAIN) : 0) | DN_HEAD_BIT (LM)
                           | DN_HEAD_BIT (CLASSIFIER) | DN_HEAD_BIT (NONE));
    bool own = (row->traits & OWN_HEADS) != 0;
    bool classifies = head == DN_HEAD_CLASSIFIER;
    double classes = classifies ? DN_WANT (build, classes, 2) : 2;
    struct dn_shape end = build->at;

    if (head == DN_HEAD_LM || (head == DN_HEAD_PRETRAIN && !own))
        add_masked_lm (build, row, features, vocab);
    if (head == DN_HEAD_LM)
        return;
    build->at = end;
    if (own && head == DN_HEAD_PRETRAIN)
        add_scores (build, DN_ACTIVATION_GELU, 0, 1);
    else if (classifies && (own || row->distances > 0))
        add_scores (build, DN_ACTIVATION_GELU, FIRST | DROP_BEFORE | DROP, classes);
    else if (classifies && row->window > 0)
        add_scores (build, DN_ACTIVATION_GELU, FIRST | NORM | NO_BIAS, classes);
    else if (classifies && !pooler)
        add_scores (build, DN_ACTIVATION_RELU, FIRST | DROP, classes);
    else if (pooler && !own)
        add_scores (build,
                    DN_ACTIVATION_SIGMOID,
                    FIRST | (classifies ? DROP : 0),
                    head == DN_HEAD_NONE ? 0 : classes);
}

/* The first block attends to all tokens, as every third does, and has no norm before
 * that: the embeddings have one.
 */
static void add_modern_blocks (struct dn_build *build,
                               const struct bert *row,
                               const struct dn_transformer *body)
{
    struct dn_transformer local = *body;
    double wide = ceil (body->layers / MODERN_PERIOD);

    local.window = DN_WANT (build, window, row->window);
    local.unmasked = false;
    dn_build_blocks (build, body->layers);
    dn_transformer_attend (build, body, NULL);
    dn_build_add (build);
    dn_transformer_add_ffn (build, body);
    DN_REPEAT (build, wide - 1)
        dn_transformer_add_block (build, body);
    DN_REPEAT (build, body->layers - wide)
        dn_transformer_add_block (build, &local);
    dn_build_norm (build, dn_norm_of (body->traits));
}

/* Beside the first block, whose result the cursor is on. Padding is filled, and taken
 * out again at the end.
 */
static void add_conv (struct dn_build *build, struct dn_shape start, int kernel)
{
    struct dn_shape end = build->at;

    if (kernel == 0)
        return;
    start.kept = false;
    build->at = start;
    dn_build_copy (build);
    dn_build_conv (build, start.channels, kernel, 1, kernel / 2, 1, true);
    dn_build_copy (build);
    dn_build_elementwise (build, 1);
    dn_build_dropout (build);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    build->at = end;
    dn_build_add (build);
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_elementwise (build, 1);
}

static void add_distance_blocks (struct dn_build *build,
                                 const struct bert *row,
                                 const struct dn_transformer *body)
{
    struct dn_shape start = build->at;
    double first = row->kernel > 0 ? 1 : 0;

    dn_build_blocks (build, body->layers);
    for (int i = 0; i < 2; i++) {
        DN_REPEAT (build, i == 0 ? first : body->layers - first) {
            add_distance_scores (build, body, row->distances);
            dn_transformer_add_block (build, body);
            if (i == 0)
                add_conv (build, start, row->kernel);
        }
    }
}

/* Where one block serves all layers, its parameters are those of the first. */
static void add_blocks (struct dn_build *build,
                        const struct bert *row,
                        const struct dn_transformer *body)
{
    struct dn_transformer rest = *body;

    if (row->window > 0) {
        add_modern_blocks (build, row, body);
        return;
    }
    if (row->distances > 0) {
        add_distance_blocks (build, row, body);
        return;
    }
    if (!(row->traits & ONE_BLOCK)) {
        dn_transformer_add_blocks (build, body);
        return;
    }
    rest.layers = 1;
    dn_transformer_add_blocks (build, &rest);
    rest.layers = body->layers - 1;
    build->shared = true;
    dn_transformer_add_blocks (build, &rest);
    build->shared = false;
    dn_build_blocks (build, body->layers);
}

static DN_COLD void build_bert (struct dn_build *build, const void *data)
{
    const struct bert *row = data;
    bool modern = row->window > 0;
    struct dn_transformer body = {.traits = row->traits};
    double vocab = DN_WANT (build, vocab, row->vocab);
    double features;
    double relative;

    dn_transformer_sizes_read (build, &row->sizes, &body);
    body.ffn_dropout_only = row->traits & NO_POOLER && row->distances <= 0;
    body.unmasked = modern;
    body.composed = row->distances > 0;
    features = body.hidden;
    relative = row->buckets * body.heads;
    if (row->distances <= 0 && !modern)
        features = DN_WANT (build, embed_dim, row->embed > 0 ? row->embed : features);
    dn_build_tokens (build, body.tokens);
    add_embeddings (build, row, vocab, features);
    if (features != body.hidden)
        dn_build_linear (build, body.hidden, true);
    /* A number per head and bucket of distances, which every block adds to its scores.
     */
    if (row->buckets > 0)
        dn_build_op (build,
                     DN_OP (EMBEDDING,
                            .in = relative,
                            .out = relative,
                            .params = relative,
                            .tensors = 1,
                            .first = true));
    if (row->distances > 0)
        add_distances (build, row->distances, body.hidden);
    add_blocks (build, row, &body);
    add_head (build, row, features, vocab);
}

const struct dn_zoo_family dn_zoo_bert = DN_ZOO_FAMILY ("bert", rows, build_bert);
