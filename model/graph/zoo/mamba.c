/* mamba.c - language models without attention: Mamba, Mamba-2, RWKV
 *
 * Gu and Dao (arXiv 2312.00752) and Dao and Gu (2405.21060) with the fused kernels of
 * mamba_ssm, which compute most of a block again in the backward pass; the word
 * embedding is also the output. RWKV-4 (Peng et al., 2305.13048) as Hugging Face
 * implements it, RWKV-5 and RWKV-6 (Eagle and Finch, 2404.05892) as BlinkDL/RWKV-LM
 * trains them, with an output of their own. seq_len= is the context of training.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"
#include "base/messages.h"

#include <math.h>

#define EXPANSION 2.0 /* inner features for one of the block */
#define WINDOW    4.0 /* tokens that the convolution sees */

/* Mamba: features of a state; features of a block for one of the time step's rank. */
#define STATE    16.0
#define RANK_OUT 16.0

/* Mamba-2: features of a state, of a head, and tokens of a chunk. */
#define STATE_2 128.0
#define HEAD_2  64.0
#define CHUNK_2 256.0

/* RWKV-5 and RWKV-6: features of a head. RWKV-6: what is mixed by the input, through so
 * many features, and those that the decay comes from; twice as many of both from
 * LARGE features of a block on.
 */
#define HEAD_5 64.0
#define MIXES  5.0
#define RANK_6 32.0
#define DECAY  64.0
#define LARGE  4096.0

enum kind {
    KIND_MAMBA,
    KIND_MAMBA2,
    KIND_RWKV4,
    KIND_RWKV5,
    KIND_RWKV6
};

struct mamba {
    struct dn_zoo_entry entry;
    enum kind kind;
    double layers;
    double hidden;
};

static const struct mamba rows[] = {
    {{"mamba_130m", "mamba"}, KIND_MAMBA, 24, 768},
    {{"mamba_370m", "mamba"}, KIND_MAMBA, 48, 1024},
    {{"mamba_790m", "mamba"}, KIND_MAMBA, 48, 1536},
    {{"mamba_1.4b", "mamba"}, KIND_MAMBA, 48, 2048},
    {{"mamba_2.8b", "mamba"}, KIND_MAMBA, 64, 2560},
    {{"mamba2_130m", "mamba"}, KIND_MAMBA2, 24, 768},
    {{"mamba2_370m", "mamba"}, KIND_MAMBA2, 48, 1024},
    {{"mamba2_780m", "mamba"}, KIND_MAMBA2, 48, 1536},
    {{"mamba2_1.3b", "mamba"}, KIND_MAMBA2, 48, 2048},
    {{"mamba2_2.7b", "mamba"}, KIND_MAMBA2, 64, 2560},
    {{"rwkv4_169m", "mamba"}, KIND_RWKV4, 12, 768},
    {{"rwkv4_430m", "mamba"}, KIND_RWKV4, 24, 1024},
    {{"rwkv4_1.5b", "mamba"}, KIND_RWKV4, 24, 2048},
    {{"rwkv4_3b", "mamba"}, KIND_RWKV4, 32, 2560},
    {{"rwkv4_7b", "mamba"}, KIND_RWKV4, 32, 4096},
    {{"rwkv4_14b", "mamba"}, KIND_RWKV4, 40, 5120},
    {{"rwkv5_0.4b", "mamba"}, KIND_RWKV5, 24, 1024},
    {{"rwkv5_1.5b", "mamba"}, KIND_RWKV5, 24, 2048},
    {{"rwkv5_3b", "mamba"}, KIND_RWKV5, 32, 2560},
    {{"rwkv5_7b", "mamba"}, KIND_RWKV5, 32, 4096},
    {{"rwkv6_1.6b", "mamba"}, KIND_RWKV6, 24, 2048},
    {{"rwkv6_3b", "mamba"}, KIND_RWKV6, 32, 2560},
    {{"rwkv6_7b", "mamba"}, KIND_RWKV6, 32, 4096},
    {{"rwkv6_14b", "mamba"}, KIND_RWKV6, 61, 4096},
    /* End of rows */
};

/* A convolution per channel over the last tokens, with its activation: one kernel of
 * causal_conv1d, which memory bounds.
 */
static void add_window (struct dn_build *build)
{
    const struct dn_op conv = {.kind = DN_OP_ELEMENTWISE,
                               .in = dn_shape_elements (&build->at),
                               .out = dn_shape_elements (&build->at),
                               .weights = (WINDOW + 1) * build->at.channels,
                               .params = (WINDOW + 1) * build->at.channels,
                               .tensors = 2};

    dn_build_op (build, &conv);
    build->at.kept = true;
}

/* The recurrence in one kernel: it reads what the layers gave, and keeps its state at
 * the ends of long chunks only.
 */
static void add_scan (struct dn_build *build, double inner, double kept)
{
    double tokens = build->at.dim[0];
    const struct dn_op scan = {.kind = DN_OP_ELEMENTWISE,
                               .in = tokens * (3 * inner + 2 * STATE),
                               .out = tokens * inner,
                               .weights = inner * (STATE + 1),
                               .params = inner * (STATE + 1),
                               .tensors = 2,
                               .saved = tokens * kept};

    dn_build_op (build, &scan);
    build->at.channels = inner;
    build->at.kept = true;
}

/* The inner activation, its gate, the small layers' result with copies of two parts,
 * and the scan's result are kept.
 */
static void add_mamba (struct dn_build *build)
{
    double hidden = build->at.channels;
    double inner = EXPANSION * hidden;
    double rank = ceil (hidden / RANK_OUT);

    dn_build_linear (build, 2 * inner, false);
    build->at.channels = inner;
    add_window (build);
    dn_build_linear (build, rank + 2 * STATE, false);
    build->at.channels = rank;
    build->at.kept = true;
    dn_build_linear (build, inner, true);
    add_scan (build, inner, 3 * inner + rank + 4 * STATE);
    dn_build_linear (build, hidden, false);
}

/* Within a chunk products as in attention, between chunks by states. */
static void add_chunks (struct dn_build *build, double inner, double heads)
{
    double tokens = build->at.dim[0];
    double chunk = fmin (CHUNK_2, tokens);
    double chunks = ceil (tokens / chunk);
    const struct dn_op vectors = {.kind = DN_OP_ELEMENTWISE,
                                  .repeat = 3,
                                  .in = tokens * heads,
                                  .out = tokens * heads,
                                  .weights = heads,
                                  .params = heads,
                                  .tensors = 1};

    dn_build_op (build, &vectors);
    dn_build_matmul (build, chunks, chunk, chunk, STATE_2, tokens * inner);
    dn_build_matmul (build, chunks * heads, chunk, HEAD_2, chunk, 0);
    dn_build_matmul (build, chunks * heads, STATE_2, HEAD_2, chunk, 0);
    dn_build_matmul (build, chunks * heads, chunk, HEAD_2, STATE_2, 0);
}

static void add_mamba2 (struct dn_build *build)
{
    double hidden = build->at.channels;
    double inner = EXPANSION * hidden;
    double heads = inner / HEAD_2;

    dn_build_linear (build, 2 * inner + 2 * STATE_2 + heads, false);
    dn_build_keep (build);
    build->at.channels = inner + 2 * STATE_2;
    add_window (build);
    add_chunks (build, inner, heads);
    build->at.channels = inner;
    build->at.kept = true;
    dn_build_norm (build, DN_NORM_RMS);
    build->at.kept = true;
    dn_build_linear (build, hidden, false);
}

/* A learned mean with the token before, for each of 'n' layers, which keep it. */
static void add_mix (struct dn_build *build, int n)
{
    double elements = dn_shape_elements (&build->at);
    const struct dn_op mix = {.kind = DN_OP_ELEMENTWISE,
                              .repeat = n,
                              .in = 3 * elements,
                              .out = elements,
                              .weights = build->at.channels,
                              .params = build->at.channels,
                              .tensors = 1,
                              .saved = elements};

    dn_build_op (build, &mix);
    build->at.kept = true;
}

static void add_layers (struct dn_build *build, const struct dn_shape *from, int n)
{
    for (int i = 0; i < n; i++) {
        build->at = *from;
        build->at.kept = true;
        dn_build_linear (build, from->channels, false);
    }
}

static void add_rwkv_attention (struct dn_build *build)
{
    struct dn_shape start = build->at;
    double elements = dn_shape_elements (&start);
    const struct dn_op sum = {.kind = DN_OP_ELEMENTWISE,
                              .in = 2 * elements,
                              .out = elements,
                              .weights = 2 * start.channels,
                              .params = 2 * start.channels,
                              .tensors = 2,
                              .saved = 3 * elements};

    add_mix (build, 3);
    add_layers (build, &start, 3);
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
    dn_build_op (build, &sum);
    dn_build_multiply (build, &build->at);
    dn_build_linear (build, start.channels, false);
    dn_build_add (build);
}

/* What mixes a token with the one before depends on the token: a small layer, and one
 * for each mix.
 */
static void add_mix_of_input (struct dn_build *build, double rank)
{
    struct dn_shape start = build->at;
    double tokens = start.dim[0];
    double weights = MIXES * rank * start.channels;
    const struct dn_op layers = {.kind = DN_OP_LINEAR,
                                 .m = tokens,
                                 .n = start.channels,
                                 .k = rank,
                                 .batches = MIXES,
                                 .flops = 2 * tokens * weights,
                                 .in = tokens * MIXES * rank,
                                 .out = MIXES * tokens * start.channels,
                                 .weights = weights,
                                 .params = weights,
                                 .tensors = 1};

    add_mix (build, 1);
    dn_build_linear (build, MIXES * rank, false);
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
    dn_build_op (build, &layers);
    build->at = start;
    add_mix (build, (int) MIXES);
}

/* The decay of each token's state, from two layers. */
static void add_decay (struct dn_build *build, double rank)
{
    double hidden = build->at.channels;

    build->at.kept = true;
    dn_build_linear (build, rank, false);
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
    dn_build_linear (build, hidden, false);
}

/* A matrix is the state of a head. One kernel reads what the layers gave and the decay,
 * which RWKV-5 has for all tokens together, and keeps what it reads.
 */
static void add_states (struct dn_build *build, enum kind kind)
{
    double elements = dn_shape_elements (&build->at);
    double arrays = kind == KIND_RWKV6 ? 4 : 3;
    const struct dn_op states = {.kind = DN_OP_ELEMENTWISE,
                                 .in = arrays * elements,
                                 .out = elements,
                                 .weights = 2 * build->at.channels,
                                 .params = 2 * build->at.channels,
                                 .tensors = 2,
                                 .saved = arrays * elements};

    dn_build_op (build, &states);
}

static void add_rwkv_heads (struct dn_build *build, enum kind kind)
{
    struct dn_shape start = build->at;
    double larger = start.channels >= LARGE ? 2 : 1;
    struct dn_shape gate;

    if (kind == KIND_RWKV6) {
        add_mix_of_input (build, larger * RANK_6);
        add_decay (build, larger * DECAY);
    } else {
        add_mix (build, 4);
    }
    add_layers (build, &start, 4);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    gate = build->at;
    add_states (build, kind);
    build->at = start;
    build->at.kept = false;
    dn_build_norm (build, DN_NORM_GROUP);
    dn_build_multiply (build, &gate);
    dn_build_linear (build, start.channels, false);
    dn_build_add (build);
}

/* RWKV-4 has four features within for one of the block, later versions three and a
 * half, in multiples of 32.
 */
static double usual_ffn (double hidden, enum kind kind)
{
    return kind == KIND_RWKV4 ? 4 * hidden : 32 * floor (3.5 * hidden / 32);
}

static void add_rwkv_ffn (struct dn_build *build, enum kind kind)
{
    struct dn_shape start = build->at;
    double ffn = DN_WANT (build, ffn, usual_ffn (start.channels, kind));
    struct dn_shape gate;

    add_mix (build, 2);
    add_layers (build, &start, 1);
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
    gate = build->at;
    build->at = start;
    build->at.kept = true;
    dn_build_linear (build, ffn, false);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    dn_build_elementwise (build, 1);
    dn_build_linear (build, start.channels, false);
    dn_build_multiply (build, &gate);
    dn_build_add (build);
}

static void add_block (struct dn_build *build, enum kind kind)
{
    dn_build_norm (build, kind >= KIND_RWKV4 ? DN_NORM_LAYER : DN_NORM_RMS);
    if (kind >= KIND_RWKV4) {
        if (kind == KIND_RWKV4)
            add_rwkv_attention (build);
        else
            add_rwkv_heads (build, kind);
        dn_build_norm (build, DN_NORM_LAYER);
        add_rwkv_ffn (build, kind);
        return;
    }
    if (kind == KIND_MAMBA)
        add_mamba (build);
    else
        add_mamba2 (build);
    dn_build_add (build);
}

static void build_mamba (struct dn_build *build, const void *data)
{
    static const struct usual {
        double vocab;
        double tokens;
        double parts; /* hidden= is a multiple of it */
    } usual[] = {
        [KIND_MAMBA] = {50280, 2048, 1},
        [KIND_MAMBA2] = {50280, 2048, HEAD_2 / EXPANSION},
        [KIND_RWKV4] = {50277, 1024, 1},
        [KIND_RWKV5] = {65536, 4096, HEAD_5},
        [KIND_RWKV6] = {65536, 4096, HEAD_5},
    };
    const struct mamba *row = data;
    const struct usual *sizes = &usual[row->kind];
    bool rwkv = row->kind >= KIND_RWKV4;
    double layers = DN_WANT (build, layers, row->layers);
    double hidden = DN_WANT (build, hidden, row->hidden);
    double vocab = DN_WANT (build, vocab, sizes->vocab);
    double outer;

    if (fmod (hidden, sizes->parts) != 0)
        dn_build_fail (build,
                       DN_E_RANGE,
                       dn_say_err_zoo_multiple,
                       "hidden",
                       hidden,
                       sizes->parts,
                       build->graph.name);
    build->graph.decode = DN_DECODE_TEXT;
    dn_build_tokens (build, DN_WANT (build, seq_len, sizes->tokens));
    dn_build_embedding (build, vocab, hidden);
    if (rwkv)
        dn_build_norm (build, DN_NORM_LAYER);
    dn_build_blocks (build, layers);
    outer = dn_build_repeat (build, layers);
    add_block (build, row->kind);
    dn_build_repeat_end (build, outer);
    dn_build_norm (build, rwkv ? DN_NORM_LAYER : DN_NORM_RMS);
    if (dn_build_head (build, DN_HEAD_LM, DN_HEAD_BIT (NONE)) == DN_HEAD_NONE)
        return;
    if (rwkv)
        dn_build_linear (build, vocab, false);
    else
        dn_build_linear_tied (build, vocab, false);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_mamba = DN_ZOO_FAMILY (rows, build_mamba);
