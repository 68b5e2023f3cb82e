/* seq2seq.c - encoder and decoder: Transformer, BART, T5, Switch Transformer
 *
 * Vaswani et al. (arXiv 1706.03762; sinusoidal positions, both sides and the output
 * share one word embedding), Lewis et al. (1910.13461) and Raffel et al. (1910.10683),
 * as Hugging Face implements them. layers= is the number of blocks of each side;
 * seq_len= is the source, tgt_len= the target. The head is 'lm' unless head=none.
 *
 * In Switch Transformers (Fedus et al., 2101.03961) every second feed-forward part is
 * one of experts= experts for each token (or top_k= of them). switch_xl4 has the sizes
 * of T5 3B and four experts. Tokens are assumed to spread evenly over the experts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/experts.h"
#include "zoo.h"

#include <math.h>

/* Buckets of T5's relative positions, one number per head. */
#define BUCKETS 32

/* What a network has besides the traits of its blocks. */
enum {
    INNER_DROPOUT = OWN_TRAIT, /* within the feed-forward layers */
    EMBED_NORM = OWN_TRAIT << 1,
    UNTIED = OWN_TRAIT << 2,         /* the output has weights of its own */
    NO_END_DROPOUT = OWN_TRAIT << 3, /* after the last norm of a side */
    RELATIVE = OWN_TRAIT << 4 /* positions as a table per side, added to the scores */
};

/* With BEFORE, there is a norm at the end of each side, too. */
enum style {
    VASWANI = RELU | BIAS_BLOCK | DROPOUT | SCORE_DROPOUT,
    BART = BIAS_BLOCK | DROPOUT | EMBED_NORM,
    /* UL2 (Tay et al., 2205.05131), with SiLU */
    UL2 = BEFORE | RMS | GATED | DROPOUT | INNER_DROPOUT | SCORE_DROPOUT | UNTIED
          | RELATIVE,
    /* T5 1.1, mT5 (Xue et al., 2010.11934), Flan-T5 (Chung et al., 2210.11416) */
    T5_GATED = UL2 | GELU_TANH,
    T5 = BEFORE | RMS | RELU | DROPOUT | INNER_DROPOUT | SCORE_DROPOUT | RELATIVE,
    /* Liu et al., 2001.08210 */
    MBART = BART | BEFORE | NO_END_DROPOUT,
    /* Zhang et al., 1912.08777: sinusoidal positions */
    PEGASUS = VASWANI | BEFORE | NO_END_DROPOUT,
    /* Tiedemann and Thottingal 2020, with SiLU */
    MARIAN = BIAS_BLOCK | DROPOUT
};

struct seq2seq {
    const char *name;
    unsigned traits;
    struct dn_transformer_sizes sizes;
    double target; /* tokens of it */
    double vocab;
    double
        positions;  /* of a learned table per side, which has two more rows; 0: none */
    double experts; /* 0: none */
};

/* style, {layers, hidden, heads, heads of keys, ffn, tokens, size of a head}, target,
 * vocabulary, positions
 */
static const struct seq2seq rows[] = {
    ROW ("transformer_base", VASWANI, {6, 512, 8, 0, 0, 32}, 32, 37000),
    ROW ("transformer_big", VASWANI, {6, 1024, 16, 0, 0, 32}, 32, 37000),
    ROW ("bart_base", BART, {6, 768, 12, 0, 0, 1024}, 1024, 50265, 1024),
    ROW ("bart_large", BART, {12, 1024, 16, 0, 0, 1024}, 1024, 50265, 1024),
    ROW ("plbart_base", BART, {6, 768, 12, 0, 0, 1024}, 1024, 50005, 1024),
    ROW ("t5_small", T5, {6, 512, 8, 0, 0, 512}, 512, 32128),
    ROW ("t5_base", T5, {12, 768, 12, 0, 0, 512}, 512, 32128),
    ROW ("t5_large", T5, {24, 1024, 16, 0, 0, 512}, 512, 32128),
    ROW ("t5_3b", T5, {24, 1024, 32, 0, 16384, 512, 128}, 512, 32128),
    ROW ("t5_11b", T5, {24, 1024, 128, 0, 65536, 512, 128}, 512, 32128),
    ROW ("t5_efficient_tiny", T5, {4, 256, 4, 0, 1024, 512, 64}, 512, 32128),
    ROW ("t5_efficient_mini", T5, {4, 384, 8, 0, 1536, 512, 64}, 512, 32128),
    ROW ("codet5_small", T5, {6, 512, 8, 0, 0, 512}, 512, 32100),
    ROW ("codet5_base", T5, {12, 768, 12, 0, 0, 512}, 512, 32100),
    ROW ("codet5_large", T5, {24, 1024, 16, 0, 0, 512}, 512, 32100),
    ROW ("prot_t5_xl", T5, {24, 1024, 32, 0, 16384, 512, 128}, 512, 128),
    ROW ("mbart_large", MBART, {12, 1024, 16, 0, 0, 1024}, 1024, 250027, 1024),
    ROW ("mbart_large_50", MBART, {12, 1024, 16, 0, 0, 1024}, 1024, 250054, 1024),
    ROW ("pegasus_large", PEGASUS, {16, 1024, 16, 0, 0, 512}, 128, 96103),
    ROW ("nllb_200_distilled_600m", PEGASUS, {12, 1024, 16, 0, 0, 512}, 512, 256206),
    ROW ("nllb_200_1.3b", PEGASUS, {24, 1024, 16, 0, 8192, 512}, 512, 256206),
    ROW ("nllb_200_3.3b", PEGASUS, {24, 2048, 16, 0, 8192, 512}, 512, 256206),
    ROW ("m2m100_418m", PEGASUS, {12, 1024, 16, 0, 0, 512}, 512, 128112),
    ROW ("m2m100_1.2b", PEGASUS, {24, 1024, 16, 0, 8192, 512}, 512, 128112),
    ROW ("opus_mt", MARIAN, {6, 512, 8, 0, 0, 128}, 128, 58101),
    ROW ("t5_v1_1_small", T5_GATED, {8, 512, 6, 0, 1024, 512, 64}, 512, 32128),
    ROW ("t5_v1_1_base", T5_GATED, {12, 768, 12, 0, 2048, 512, 64}, 512, 32128),
    ROW ("t5_v1_1_large", T5_GATED, {24, 1024, 16, 0, 2816, 512, 64}, 512, 32128),
    ROW ("t5_v1_1_xl", T5_GATED, {24, 2048, 32, 0, 5120, 512, 64}, 512, 32128),
    ROW ("t5_v1_1_xxl", T5_GATED, {24, 4096, 64, 0, 10240, 512, 64}, 512, 32128),
    ROW ("flan_t5_small", T5_GATED, {8, 512, 6, 0, 1024, 512, 64}, 512, 32128),
    ROW ("flan_t5_base", T5_GATED, {12, 768, 12, 0, 2048, 512, 64}, 512, 32128),
    ROW ("flan_t5_large", T5_GATED, {24, 1024, 16, 0, 2816, 512, 64}, 512, 32128),
    ROW ("flan_t5_xl", T5_GATED, {24, 2048, 32, 0, 5120, 512, 64}, 512, 32128),
    ROW ("flan_t5_xxl", T5_GATED, {24, 4096, 64, 0, 10240, 512, 64}, 512, 32128),
    ROW ("mt5_small", T5_GATED, {8, 512, 6, 0, 1024, 512, 64}, 512, 250112),
    ROW ("mt5_base", T5_GATED, {12, 768, 12, 0, 2048, 512, 64}, 512, 250112),
    ROW ("mt5_large", T5_GATED, {24, 1024, 16, 0, 2816, 512, 64}, 512, 250112),
    ROW ("mt5_xl", T5_GATED, {24, 2048, 32, 0, 5120, 512, 64}, 512, 250112),
    ROW ("mt5_xxl", T5_GATED, {24, 4096, 64, 0, 10240, 512, 64}, 512, 250112),
    ROW ("ul2", UL2, {32, 4096, 16, 0, 16384, 512, 256}, 512, 32128),
    ROW ("flan_ul2", T5_GATED, {32, 4096, 16, 0, 16384, 512, 256}, 512, 32128),
    ROW ("switch_xl4",
         T5,
         {24, 1024, 32, 0, 16384, 512, 128},
         512,
         32128,
         .experts = 4),
    /* End of rows */
};

/* The word embedding of one side; the decoder uses the encoder's: its 'vocab' is 0. */
static void add_embeddings (struct dn_build *build,
                            const struct seq2seq *row,
                            double vocab,
                            double hidden)
{
    struct dn_shape tokens = build->at;

    dn_build_embedding (build, vocab, hidden);
    if (row->positions > 0) {
        build->at = tokens;
        dn_build_embedding (
            build, dn_transformer_read_positions (build, row->positions) + 2, hidden);
    }
    if (!(row->traits & RELATIVE))
        dn_build_add (build);
    if (row->traits & EMBED_NORM)
        dn_build_norm (build, dn_norm_of (row->traits));
    dn_build_dropout (build);
}

/* The table of relative positions and its spread over the scores, once per side. */
static void add_relative (struct dn_build *build, double heads)
{
    double numbers = BUCKETS * heads;
    double tokens = build->at.dim[0];

    dn_build_op (build,
                 DN_OP (EMBEDDING,
                        .in = numbers,
                        .out = numbers,
                        .params = numbers,
                        .tensors = 1,
                        .masks = 8 * tokens * tokens,
                        .first = true));
}

static void add_side_end (struct dn_build *build, unsigned traits)
{
    if (!(traits & BEFORE))
        return;
    dn_build_norm (build, dn_norm_of (traits));
    if (!(traits & NO_END_DROPOUT))
        dn_build_dropout (build);
}

/* One layer; 'memory' is what a decoder attends to. */
static void add_layer (struct dn_build *build,
                       const struct dn_transformer *body,
                       struct dn_shape *memory,
                       const struct dn_experts *experts)
{
    struct dn_transformer self = *body;

    self.causal = memory;
    dn_transformer_add_attention (build, &self, NULL);
    if (memory)
        dn_transformer_add_attention (build, body, memory);
    if (experts)
        dn_experts_add (build, body, experts);
    else
        dn_transformer_add_ffn (build, body);
}

static void add_layers (struct dn_build *build,
                        const struct dn_transformer *body,
                        struct dn_shape *memory,
                        const struct dn_experts *experts)
{
    double sparse = experts->n > 0 ? floor (body->layers / 2) : 0;

    DN_REPEAT (build, body->layers - sparse)
        add_layer (build, body, memory, NULL);
    if (sparse > 0)
        DN_REPEAT (build, sparse)
            add_layer (build, body, memory, experts);
}

static DN_COLD void build_seq2seq (struct dn_build *build, const void *data)
{
    const struct seq2seq *row = data;
    struct dn_transformer body = {.traits = row->traits,
                                  .inner_dropout = (row->traits & INNER_DROPOUT) != 0,
                                  .composed = (row->traits & RELATIVE) != 0};
    double vocab = DN_WANT (build, vocab, row->vocab);
    struct dn_experts experts = {.n = row->experts, .top_k = 1, .inner_dropout = true};
    struct dn_shape memory;

    dn_transformer_sizes_read (build, &row->sizes, &body);
    dn_experts_read (build, &experts);
    dn_build_tokens (build, body.tokens);
    add_embeddings (build, row, vocab, body.hidden);
    build->part = DN_PART_ENCODER;
    dn_build_blocks (build, 2 * body.layers);
    if (row->traits & RELATIVE)
        add_relative (build, body.heads);
    add_layers (build, &body, NULL, &experts);
    add_side_end (build, row->traits);
    dn_build_keep (build);
    memory = build->at;
    build->part = DN_PART_DECODER;
    dn_build_tokens (build, DN_WANT (build, tgt_len, row->target));
    add_embeddings (build, row, 0, body.hidden);
    if (row->traits & RELATIVE)
        add_relative (build, body.heads);
    add_layers (build, &body, &memory, &experts);
    add_side_end (build, row->traits);
    build->part = DN_PART_HEAD;
    if (dn_build_head (build, DN_HEAD_LM, DN_HEAD_BIT (NONE)) == DN_HEAD_NONE)
        return;
    dn_build_output (
        build, vocab, false, DN_WANT (build, tied, row->traits & UNTIED ? 0 : 1) > 0);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_seq2seq =
    DN_ZOO_FAMILY ("seq2seq", rows, build_seq2seq);
