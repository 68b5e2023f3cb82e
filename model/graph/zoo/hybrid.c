/* hybrid.c - decoders whose blocks are state spaces, but for a few with attention
 *
 * As Hugging Face implements them. A block has a part that mixes tokens, attention or a
 * state space (Mamba: Gu and Dao, arXiv 2312.00752; Mamba-2: arXiv 2405.21060), and a
 * feed-forward part, dense or a mixture of experts; those of Nemotron-H have one part.
 * With layers= the kinds of parts keep their shares.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/experts.h"
#include "zoo.h"

#include <math.h>

enum trait {
    TIED = OWN_TRAIT,        /* the head has the weights of the word embedding */
    BESIDE = OWN_TRAIT << 1, /* attention and state space start from one norm */
    BARE = OWN_TRAIT << 2,   /* the scan's output has a gate, but no norm */
    DELTA = OWN_TRAIT << 3   /* a gated delta rule in the place of the state space */
};

enum style {
    /* Lieber et al., arXiv 2403.19887; transformers.JambaForCausalLM */
    JAMBA = BEFORE | RMS | GATED,
    /* IBM 2024; transformers.BambaForCausalLM */
    BAMBA = BEFORE | RMS | GATED | ROTARY | HALF,
    /* IBM 2025; transformers.GraniteMoeHybridForCausalLM */
    GRANITE = BEFORE | RMS | GATED | FUSED_GATE | TIED,
    /* NVIDIA, arXiv 2504.03624; transformers.NemotronHForCausalLM */
    NEMOTRON = BEFORE | RMS | RELU,
    /* TII, arXiv 2507.22448; transformers.FalconH1ForCausalLM */
    FALCON = BEFORE | RMS | GATED | ROTARY | BESIDE,
    /* Qwen 2025, Yang et al., arXiv 2412.06464; transformers.Qwen3NextForCausalLM */
    QWEN_NEXT = BEFORE | RMS | GATED | ROTARY | QUARTER | HEAD_NORM | DELTA,
    /* Zyphra, arXiv 2411.15242; transformers.Zamba2ForCausalLM */
    ZAMBA = BEFORE | RMS | GATED | FUSED_GATE | TIED
};

/* A state space, or a delta rule: its inner size is that of the values, 'state' that of
 * a key, 'groups' are heads of keys.
 */
struct space {
    double inner;
    double state;
    double groups; /* Mamba-2: of heads, with one input and output of the state each */
    double heads;  /* 0: Mamba */
    double rank;   /* Mamba: of the step sizes */
};

/* The attention and feed-forward part of Zamba2: a few, which all their uses share but
 * for adapters, and which read the word embedding, too.
 */
struct common {
    double copies; /* 0: each has weights of its own */
    double rank;   /* of the adapters */
    bool queries;  /* of query, key and value, too */
};

struct hybrid {
    const char *name;
    unsigned traits;
    struct dn_transformer_sizes sizes;
    double vocab;
    struct space space;
    double spaces; /* parts of each kind, of all layers */
    double attentions;
    double dense;
    double mixtures;
    struct dn_experts experts;
    struct common common;
};

/* clang-format off */
#define PARTS(spaces, attentions, dense, mixtures) spaces, attentions, dense, mixtures

/* style, {layers, hidden, heads, heads of keys, ffn, tokens, size of a head},
 * vocabulary, state space, parts, experts: their number, how many a token visits, inner
 * size of one, how many process every token
 */
static const struct hybrid rows[] = {
    ROW ("jamba_v0.1", JAMBA, {32, 4096, 32, 8, 14336, 4096}, 65536,
         {8192, 16, 1, 0, 256}, PARTS (28, 4, 16, 16), {16, 2}),
    ROW ("bamba_9b", BAMBA, {32, 4096, 32, 8, 14336, 4096}, 128256,
         {8192, 128, 1, 128}, PARTS (29, 3, 32, 0)),
    ROW ("granite_4.0_h_micro", GRANITE, {40, 2048, 32, 8, 8192, 4096}, 100352,
         {4096, 128, 1, 64}, PARTS (36, 4, 40, 0)),
    ROW ("granite_4.0_h_tiny", GRANITE, {40, 1536, 12, 4, 512, 4096}, 100352,
         {3072, 128, 1, 48}, PARTS (36, 4, 0, 40), {64, 6, 512, 2}),
    ROW ("granite_4.0_h_small", GRANITE, {40, 4096, 32, 8, 768, 4096}, 100352,
         {8192, 128, 1, 128}, PARTS (36, 4, 0, 40), {72, 10, 768, 2}),
    ROW ("nemotron_h_8b", NEMOTRON, {52, 4096, 32, 8, 21504, 4096}, 131072,
         {8192, 128, 8, 128}, PARTS (24, 4, 24, 0)),
    ROW ("falcon_h1_0.5b", FALCON | BARE, {36, 1024, 8, 2, 2048, 4096, 64}, 32784,
         {1536, 128, 1, 24}, PARTS (36, 36, 36, 0)),
    ROW ("falcon_h1_1.5b", FALCON | BARE, {24, 2048, 8, 2, 4608, 4096, 128}, 65536,
         {3072, 256, 1, 48}, PARTS (24, 24, 24, 0)),
    ROW ("falcon_h1_1.5b_deep", FALCON | BARE, {66, 1280, 6, 2, 3072, 4096, 128}, 65536,
         {1536, 256, 1, 24}, PARTS (66, 66, 66, 0)),
    ROW ("falcon_h1_3b", FALCON | BARE, {32, 2560, 10, 2, 6144, 4096, 128}, 65536,
         {4096, 256, 1, 32}, PARTS (32, 32, 32, 0)),
    ROW ("falcon_h1_7b", FALCON | BARE, {44, 3072, 12, 2, 12288, 4096, 128}, 130048,
         {3072, 256, 1, 24}, PARTS (44, 44, 44, 0)),
    ROW ("falcon_h1_34b", FALCON, {72, 5120, 20, 4, 21504, 4096, 128}, 261120,
         {4096, 256, 2, 32}, PARTS (72, 72, 72, 0)),
    ROW ("qwen3_next_80b_a3b", QWEN_NEXT, {48, 2048, 16, 2, 512, 4096, 256}, 151936,
         {4096, 128, 16, 32}, PARTS (36, 12, 0, 48),
         {512, 10, 512, 1, .shared_gate = true}),
    ROW ("zamba2_1.2b", ZAMBA | ROTARY, {38, 2048, 32, 0, 8192, 4096, 128}, 32000,
         {4096, 128, 1, 64}, PARTS (38, 6, 6, 0), .common = {1, 128, true}),
    ROW ("zamba2_2.7b", ZAMBA, {54, 2560, 32, 0, 10240, 4096, 160}, 32000,
         {5120, 64, 1, 80}, PARTS (54, 9, 9, 0), .common = {2, 128}),
    ROW ("zamba2_7b", ZAMBA | ROTARY, {81, 3584, 32, 0, 14336, 4096, 224}, 32000,
         {7168, 64, 2, 112}, PARTS (81, 13, 13, 0), .common = {2, 128}),
    /* End of rows */
};
/* clang-format on */

/* The convolution over the last four tokens. */
#define TAPS 4

/* The scan is one kernel, which reads what the layers before it give and keeps it. */
static void add_scan (struct dn_build *build, const struct space *space)
{
    struct dn_shape at = build->at;
    double tokens = dn_shape_positions (&at);
    double inner = space->inner * tokens;
    double given = space->rank + 2 * space->state;

    dn_build_op (build,
                 DN_OP (ELEMENTWISE,
                        .in = inner,
                        .out = inner,
                        .params = space->inner * (TAPS + 1),
                        .tensors = 2));
    build->at.channels = space->inner;
    build->at.kept = true;
    dn_build_linear (build, given, false);
    dn_build_op (build,
                 DN_OP (NORM,
                        .in = given * tokens,
                        .out = given * tokens,
                        .params = given,
                        .tensors = 3,
                        .saved = given * tokens));
    build->at.channels = space->rank;
    build->at.kept = true;
    dn_build_linear (build, space->inner, true);
    dn_build_op (build,
                 DN_OP (ELEMENTWISE,
                        .in = 3 * inner + 2 * space->state * tokens,
                        .out = inner,
                        .params = space->inner * (space->state + 1),
                        .tensors = 2,
                        .saved = 3 * inner + (given + 2 * space->state) * tokens));
}

/* The convolution over what the scan reads, and the learned numbers of each head: step
 * sizes, decay, skip. A delta rule has neither a bias nor a skip.
 */
static void add_before_chunks (struct dn_build *build,
                               const struct space *space,
                               bool delta)
{
    double tokens = dn_shape_positions (&build->at);
    double channels = space->inner + 2 * space->groups * space->state;

    dn_build_op (build,
                 DN_OP (ELEMENTWISE,
                        .in = channels * tokens,
                        .out = channels * tokens,
                        .params = channels * (delta ? TAPS : TAPS + 1),
                        .tensors = delta ? 1 : 2,
                        .saved = dn_shape_elements (&build->at)));
    for (int i = 0; i < (delta ? 2 : 3); i++)
        dn_build_op (build,
                     DN_OP (ELEMENTWISE,
                            .in = space->heads * tokens,
                            .out = space->heads * tokens,
                            .params = space->heads,
                            .tensors = 1));
}

/* Tokens of a chunk of Mamba-2, and of a delta rule. */
#define CHUNK       256
#define CHUNK_DELTA 64

/* Products within chunks and between them. */
static void add_chunks (struct dn_build *build, const struct space *space)
{
    double tokens = dn_shape_positions (&build->at);
    double chunk = fmin (CHUNK, tokens);
    double chunks = tokens / chunk;
    double heads = space->heads * chunks;
    double size = space->inner / space->heads;

    dn_build_matmul (build,
                     space->groups * chunks,
                     chunk,
                     chunk,
                     space->state,
                     space->inner * tokens);
    dn_build_matmul (build, heads, chunk, size, chunk, 0);
    dn_build_matmul (build, heads, space->state, size, chunk, 0);
    dn_build_matmul (build, heads, chunk, size, space->state, 0);
}

/* The same of a delta rule: what each key changes is solved for within the chunk, from
 * products of keys, and taken from what the chunks before have left. Query and key of
 * each head, the values and the system of each chunk are kept.
 */
static void add_delta_chunks (struct dn_build *build, const struct space *space)
{
    double tokens = dn_shape_positions (&build->at);
    double chunk = fmin (CHUNK_DELTA, tokens);
    double heads = space->heads * tokens / chunk;
    double size = space->inner / space->heads;
    double key = space->state;

    dn_build_matmul (build,
                     heads,
                     chunk,
                     chunk,
                     key,
                     (space->heads * (2 * key + chunk) + space->inner) * tokens);
    DN_REPEAT (build, 2) {
        dn_build_matmul (build, heads, chunk, chunk, key, 0);
        dn_build_matmul (build, heads, chunk, size, chunk, 0);
    }
    DN_REPEAT (build, 3)
        dn_build_matmul (build, heads, chunk, size, key, 0);
}

/* The gate of the scan's output, and its norm: of all features, or of each head's. */
static void add_scan_end (struct dn_build *build,
                          const struct space *space,
                          unsigned traits)
{
    struct dn_shape at = build->at;

    at.channels = space->inner;
    at.kept = false;
    build->at = at;
    if (traits & BARE) {
        dn_build_multiply (build, &at);
        return;
    }
    if (traits & DELTA) {
        build->at.channels /= space->heads;
        build->at.dim[0] *= space->heads;
    }
    dn_build_norm (build, DN_NORM_RMS);
    build->at.channels = at.channels;
    build->at.dim[0] = at.dim[0];
}

static void add_space (struct dn_build *build,
                       const struct space *space,
                       const struct dn_transformer *body)
{
    bool delta = body->traits & DELTA;
    double joined =
        2 * space->inner + (space->heads > 0 ? 2 * space->groups * space->state : 0);
    struct dn_shape start;

    if (body->traits & BESIDE)
        build->at.kept = true;
    else
        dn_build_norm (build, DN_NORM_RMS);
    start = build->at;
    start.kept = true;
    dn_build_linear (build, joined + (delta ? 0 : space->heads), false);
    if (delta) { /* the rate and the decay of each head */
        build->at = start;
        dn_build_linear (build, 2 * space->heads, false);
        build->at.channels = joined;
    }
    if (space->heads > 0) {
        add_before_chunks (build, space, delta);
        (delta ? add_delta_chunks : add_chunks) (build, space);
        add_scan_end (build, space, body->traits);
    } else {
        add_scan (build, space);
    }
    dn_build_linear (build, body->hidden, false);
    dn_build_add (build);
}

/* What an adapter adds to a layer of 'out' features; it has weights at each use. */
static void add_adapter (struct dn_build *build, double rank, double out)
{
    struct dn_shape start = build->at;
    bool shared = build->shared;

    build->shared = false;
    build->at.kept = true;
    dn_build_linear (build, rank, false);
    dn_build_linear (build, out, false);
    dn_build_add (build);
    build->shared = shared;
    build->at = start;
}

static void add_common (struct dn_build *build,
                        const struct common *common,
                        const struct dn_transformer *body)
{
    struct dn_shape start = build->at;
    double features = body->heads * body->head_dim;
    bool shared = build->shared;

    dn_build_concat (build, &start);
    dn_build_norm (build, DN_NORM_RMS);
    for (int i = 0; i < (common->queries ? 3 : 0); i++)
        add_adapter (build, common->rank, features);
    dn_transformer_attend (build, body, NULL);
    dn_build_norm (build, DN_NORM_RMS);
    add_adapter (build, common->rank, 2 * body->ffn);
    dn_transformer_add_inner (build, body);
    dn_build_linear (build, body->hidden, false);
    build->shared = false;
    dn_build_linear (build, body->hidden, false);
    dn_build_add (build);
    build->shared = shared;
    build->at = start;
}

/* The first uses have the weights, the others those of the first. */
static void add_commons (struct dn_build *build,
                         const struct common *common,
                         const struct dn_transformer *body,
                         double uses)
{
    double first = fmin (common->copies, uses);

    DN_REPEAT (build, first)
        add_common (build, common, body);
    DN_REPEAT (build, uses - first) {
        build->shared = true;
        add_common (build, common, body);
        build->shared = false;
    }
}

/* So many parts of a kind with these layers as the row has with its own. */
static double parts (const struct hybrid *row,
                     const struct dn_transformer *body,
                     double n)
{
    return n > 0 ? fmax (round (n * body->layers / row->sizes.layers), 1) : 0;
}

static void add_blocks (struct dn_build *build,
                        const struct hybrid *row,
                        const struct dn_transformer *body)
{
    struct dn_experts experts = row->experts;
    double attentions = parts (row, body, row->attentions);

    dn_experts_read (build, &experts);
    if (row->dense <= 0) /* nothing has the inner size of the dense part */
        build->wanted = dn_keyset_minus (build->wanted, DN_KEYSET (ffn));
    dn_build_blocks (build, body->layers);
    DN_REPEAT (build, parts (row, body, row->spaces))
        add_space (build, &row->space, body);
    if (row->common.copies > 0) {
        add_commons (build, &row->common, body, attentions);
        return;
    }
    DN_REPEAT (build, attentions)
        dn_transformer_add_attention (build, body, NULL);
    if (row->dense > 0)
        DN_REPEAT (build, parts (row, body, row->dense))
            dn_transformer_add_ffn (build, body);
    if (row->mixtures > 0)
        DN_REPEAT (build, parts (row, body, row->mixtures))
            dn_experts_add (build, body, &experts);
}

static DN_COLD void build_hybrid (struct dn_build *build, const void *data)
{
    const struct hybrid *row = data;
    struct dn_transformer body = {.traits = row->traits,
                                  .causal = true,
                                  .gated = row->traits & DELTA,
                                  .recent = true};
    double vocab = DN_WANT (build, vocab, row->vocab);

    dn_transformer_sizes_read (build, &row->sizes, &body);
    dn_build_tokens (build, body.tokens);
    dn_build_embedding (build, vocab, body.hidden);
    add_blocks (build, row, &body);
    dn_build_norm (build, DN_NORM_RMS);
    dn_build_output (
        build, vocab, false, DN_WANT (build, tied, row->traits & TIED ? 1 : 0) > 0);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_hybrid = DN_ZOO_FAMILY ("hybrid", rows, build_hybrid);
