/* zoo_seq2seq.c - encoder and decoder: Transformer, BART, T5
 *
 * Vaswani et al. (arXiv 1706.03762; sinusoidal positions, one table of words for both
 * sides and the output), Lewis et al. (1910.13461) and Raffel et al. (1910.10683), as
 * Hugging Face has them. layers= counts each side; seq_len= is the source, tgt_len= the
 * target. The head is 'lm' unless 'none' is asked for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/transformer.h"
#include "graph/zoo.h"

#include <math.h>

/* Buckets of T5's relative positions, one number per head each. */
#define BUCKETS 32

struct style {
    enum dn_norm norm;
    enum dn_activation activation;
    bool norm_first; /* and once more behind each side */
    bool bias;
    bool inner_dropout;     /* within the feed-forward layers */
    bool attention_dropout; /* of probabilities */
    bool embedding_norm;
    bool relative; /* positions as a table per side, added to the scores */
};

static const struct style vaswani = {.norm = DN_NORM_LAYER,
                                     .activation = DN_ACTIVATION_RELU,
                                     .bias = true,
                                     .attention_dropout = true};

static const struct style bart = {.norm = DN_NORM_LAYER,
                                  .activation = DN_ACTIVATION_GELU,
                                  .bias = true,
                                  .embedding_norm = true};

static const struct style t5 = {.norm = DN_NORM_RMS,
                                .activation = DN_ACTIVATION_RELU,
                                .norm_first = true,
                                .inner_dropout = true,
                                .attention_dropout = true,
                                .relative = true};

struct seq2seq {
    struct dn_zoo_entry entry;
    const struct style *style;
    struct dn_transformer_sizes sizes;
    double target; /* tokens of it */
    double vocab;
    double positions; /* rows of a learned table per side; 0: none */
};

#define ROW(name, ...)                                                                 \
    {                                                                                  \
        {name, "seq2seq"}, __VA_ARGS__                                                 \
    }

static const struct seq2seq rows[] = {
    ROW ("transformer_base", &vaswani, {6, 512, 8, 0, 0, 32}, 32, 37000, 0),
    ROW ("transformer_big", &vaswani, {6, 1024, 16, 0, 0, 32}, 32, 37000, 0),
    ROW ("bart_large", &bart, {12, 1024, 16, 0, 0, 1024}, 1024, 50265, 1026),
    ROW ("t5_small", &t5, {6, 512, 8, 0, 0, 512}, 512, 32128, 0),
    ROW ("t5_base", &t5, {12, 768, 12, 0, 0, 512}, 512, 32128, 0),
    ROW ("t5_large", &t5, {24, 1024, 16, 0, 0, 512}, 512, 32128, 0),
    /* End of rows */
};

/* The words of one side; the decoder's are those of the encoder. */
static void add_embeddings (struct dn_build *build,
                            const struct seq2seq *row,
                            double vocab,
                            double hidden,
                            bool again)
{
    struct dn_shape tokens = build->at;

    if (again)
        dn_build_embedding_tied (build, hidden);
    else
        dn_build_embedding (build, vocab, hidden);
    if (row->positions > 0) {
        build->at = tokens;
        dn_build_embedding (build, fmax (row->positions, tokens.dim[0] + 2), hidden);
    }
    if (!row->style->relative)
        dn_build_add (build);
    if (row->style->embedding_norm)
        dn_build_norm (build, row->style->norm);
    dn_build_dropout (build);
}

/* The table of relative positions and its spread over the scores, once per side. */
static void add_relative (struct dn_build *build, double heads)
{
    struct dn_shape at = build->at;
    struct dn_op op = {.kind = DN_OP_EMBEDDING,
                       .in = BUCKETS * heads,
                       .out = BUCKETS * heads,
                       .weights = BUCKETS * heads,
                       .params = BUCKETS * heads,
                       .tensors = 1,
                       .masks = 8 * at.dim[0] * at.dim[0],
                       .first = true};

    dn_build_op (build, &op);
    build->at = at;
}

static void add_side_end (struct dn_build *build, const struct style *style)
{
    if (!style->norm_first)
        return;
    dn_build_norm (build, style->norm);
    dn_build_dropout (build);
}

static void add_encoder (struct dn_build *build, const struct dn_transformer *body)
{
    double outer = dn_build_repeat (build, body->layers);

    dn_transformer_add_block (build, body);
    dn_build_repeat_end (build, outer);
}

static void add_decoder (struct dn_build *build,
                         const struct dn_transformer *body,
                         struct dn_shape *memory)
{
    struct dn_attention cross = body->attention;
    double outer;

    cross.memory = memory;
    outer = dn_build_repeat (build, body->layers);
    dn_transformer_add_attention (build, body, &body->attention);
    dn_transformer_add_attention (build, body, &cross);
    dn_transformer_add_ffn (build, body);
    dn_build_repeat_end (build, outer);
}

static struct dn_transformer read_body (struct dn_build *build,
                                        const struct seq2seq *row)
{
    const struct style *style = row->style;
    struct dn_transformer body = {.norm = style->norm,
                                  .activation = style->activation,
                                  .norm_first = style->norm_first,
                                  .bias = style->bias,
                                  .inner_dropout = style->inner_dropout,
                                  .dropout = true};

    dn_transformer_sizes_read (build, &row->sizes, &body);
    body.attention.bias = style->bias;
    body.attention.out_bias = style->bias;
    body.attention.dropout = style->attention_dropout;
    return body;
}

static void build_seq2seq (struct dn_build *build, const void *data)
{
    const struct seq2seq *row = data;
    struct dn_transformer body = read_body (build, row);
    double vocab = DN_WANT (build, vocab, row->vocab);
    struct dn_shape memory;

    dn_build_tokens (build, body.tokens);
    add_embeddings (build, row, vocab, body.hidden, false);
    dn_build_blocks (build, 2 * body.layers);
    if (row->style->relative)
        add_relative (build, body.attention.heads);
    add_encoder (build, &body);
    add_side_end (build, row->style);
    dn_build_keep (build);
    memory = build->at;
    dn_build_tokens (build, DN_WANT (build, tgt_len, row->target));
    add_embeddings (build, row, vocab, body.hidden, true);
    if (row->style->relative)
        add_relative (build, body.attention.heads);
    add_decoder (build, &body, &memory);
    add_side_end (build, row->style);
    if (dn_build_head (build, DN_HEAD_LM) == DN_HEAD_NONE)
        return;
    dn_build_linear_tied (build, vocab, false);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_seq2seq = DN_ZOO_FAMILY (rows, build_seq2seq);
