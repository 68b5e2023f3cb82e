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

/* The head has the weights of the word embedding. */
#define TIED OWN_TRAIT

enum style {
    /* Lieber et al., arXiv 2403.19887; transformers.JambaForCausalLM */
    JAMBA = BEFORE | RMS | GATED,
    /* IBM 2024; transformers.BambaForCausalLM */
    BAMBA = BEFORE | RMS | GATED | ROTARY | HALF,
    /* IBM 2025; transformers.GraniteMoeHybridForCausalLM */
    GRANITE = BEFORE | RMS | GATED | FUSED_GATE | TIED,
    /* NVIDIA, arXiv 2504.03624; transformers.NemotronHForCausalLM */
    NEMOTRON = BEFORE | RMS | RELU
};

/* A state space. */
struct space {
    double inner;
    double state;
    double groups; /* Mamba-2: of heads, with one input and output of the state each */
    double heads;  /* 0: Mamba */
    double rank;   /* Mamba: of the step sizes */
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

    dn_build_kernel (
        build, DN_OP_ELEMENTWISE, inner, inner, space->inner * (TAPS + 1), 2, 0);
    build->at.channels = space->inner;
    build->at.kept = true;
    dn_build_linear (build, given, false);
    dn_build_kernel (
        build, DN_OP_NORM, given * tokens, given * tokens, given, 3, given * tokens);
    build->at.channels = space->rank;
    build->at.kept = true;
    dn_build_linear (build, space->inner, true);
    dn_build_kernel (build,
                     DN_OP_ELEMENTWISE,
                     3 * inner + 2 * space->state * tokens,
                     inner,
                     space->inner * (space->state + 1),
                     2,
                     3 * inner + (given + 2 * space->state) * tokens);
}

/* Tokens of a chunk. */
#define CHUNK 256

/* Products within chunks and between them, then a norm, with a gate. */
static void add_chunks (struct dn_build *build, const struct space *space)
{
    double tokens = dn_shape_positions (&build->at);
    double channels = space->inner + 2 * space->groups * space->state;
    double chunk = fmin (CHUNK, tokens);
    double chunks = tokens / chunk;
    double heads = space->heads * chunks;
    double size = space->inner / space->heads;

    dn_build_kernel (build,
                     DN_OP_ELEMENTWISE,
                     channels * tokens,
                     channels * tokens,
                     channels * (TAPS + 1),
                     2,
                     dn_shape_elements (&build->at));
    for (int i = 0; i < 3; i++) /* step sizes, decay, skip */
        dn_build_kernel (build,
                         DN_OP_ELEMENTWISE,
                         space->heads * tokens,
                         space->heads * tokens,
                         space->heads,
                         1,
                         0);
    dn_build_matmul (build,
                     space->groups * chunks,
                     chunk,
                     chunk,
                     space->state,
                     space->inner * tokens);
    dn_build_matmul (build, heads, chunk, size, chunk, 0);
    dn_build_matmul (build, heads, space->state, size, chunk, 0);
    dn_build_matmul (build, heads, chunk, size, space->state, 0);
    build->at.channels = space->inner;
    build->at.kept = false;
    dn_build_norm (build, DN_NORM_RMS);
}

static void add_space (struct dn_build *build,
                       const struct space *space,
                       const struct dn_transformer *body)
{
    double joined =
        2 * space->inner
        + (space->heads > 0 ? 2 * space->groups * space->state + space->heads : 0);

    dn_build_norm (build, DN_NORM_RMS);
    dn_build_linear (build, joined, false);
    if (space->heads > 0)
        add_chunks (build, space);
    else
        add_scan (build, space);
    dn_build_linear (build, body->hidden, false);
    dn_build_add (build);
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
    double outer;

    dn_experts_read (build, &experts);
    if (row->dense <= 0) /* nothing has the inner size of the dense part */
        build->wanted = dn_keyset_minus (build->wanted, DN_KEYSET (ffn));
    dn_build_blocks (build, body->layers);
    outer = dn_build_repeat (build, parts (row, body, row->spaces));
    add_space (build, &row->space, body);
    dn_build_repeat_end (build, outer);
    outer = dn_build_repeat (build, parts (row, body, row->attentions));
    dn_transformer_add_attention (build, body, NULL);
    dn_build_repeat_end (build, outer);
    outer = dn_build_repeat (build, parts (row, body, row->dense));
    if (row->dense > 0)
        dn_transformer_add_ffn (build, body);
    dn_build_repeat_end (build, outer);
    outer = dn_build_repeat (build, parts (row, body, row->mixtures));
    if (row->mixtures > 0)
        dn_experts_add (build, body, &experts);
    dn_build_repeat_end (build, outer);
}

static DN_COLD void build_hybrid (struct dn_build *build, const void *data)
{
    const struct hybrid *row = data;
    struct dn_transformer body = {
        .traits = row->traits, .causal = true, .recent = true};
    double vocab = DN_WANT (build, vocab, row->vocab);

    dn_transformer_sizes_read (build, &row->sizes, &body);
    dn_build_tokens (build, body.tokens);
    dn_build_embedding (build, vocab, body.hidden);
    add_blocks (build, row, &body);
    dn_build_norm (build, DN_NORM_RMS);
    if (DN_WANT (build, tied, row->traits & TIED ? 1 : 0) > 0)
        dn_build_linear_tied (build, vocab, false);
    else
        dn_build_linear (build, vocab, false);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_hybrid = DN_ZOO_FAMILY ("hybrid", rows, build_hybrid);
