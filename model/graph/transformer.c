/* transformer.c - the block of bert, gpt, t5 and similar networks
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/transformer.h"
#include "base/messages.h"

#include <math.h>

/* Feed-forward layers that are not four times the hidden size grow in proportion, to a
 * multiple of this (LLaMA's rule).
 */
#define FFN_MULTIPLE 256

static double scaled_ffn (const struct dn_transformer_sizes *sizes, double hidden)
{
    if (sizes->ffn <= 0)
        return 4 * hidden;
    if (hidden == sizes->hidden)
        return sizes->ffn;
    return ceil (hidden * sizes->ffn / sizes->hidden / FFN_MULTIPLE) * FFN_MULTIPLE;
}

/* Heads of a changed hidden size: the size of a head is kept if possible. */
static double scaled_heads (const struct dn_transformer_sizes *sizes, double hidden)
{
    double head_dim = sizes->hidden / sizes->heads;

    return fmod (hidden, head_dim) == 0 ? hidden / head_dim : sizes->heads;
}

/* The size of a head: head_dim=, else 'usual', else hidden / heads, which must be
 * whole.
 */
static double read_head_dim (struct dn_build *build,
                             double usual,
                             double hidden,
                             double heads)
{
    double head_dim = DN_WANT (build, head_dim, usual);

    if (head_dim > 0)
        return head_dim;
    if (fmod (hidden, heads) != 0)
        dn_build_refuse (build, net_heads, heads, hidden);
    return hidden / heads;
}

static double read_kv_heads (struct dn_build *build,
                             const struct dn_transformer_sizes *sizes,
                             double heads)
{
    double otherwise = heads;
    double kv_heads;

    if (sizes->kv_heads > 0)
        otherwise = dn_max (1, floor (heads * sizes->kv_heads / sizes->heads));
    kv_heads = DN_WANT (build, kv_heads, otherwise);
    if (kv_heads > heads || fmod (heads, kv_heads) != 0)
        dn_build_refuse (build, net_divisor, "kv_heads", kv_heads, "heads", heads);
    return kv_heads;
}

void dn_transformer_sizes_read (struct dn_build *build,
                                const struct dn_transformer_sizes *sizes,
                                struct dn_transformer *transformer)
{
    double hidden = DN_WANT (build, hidden, sizes->hidden);
    double heads = DN_WANT (build, heads, scaled_heads (sizes, hidden));

    transformer->layers = DN_WANT (build, layers, sizes->layers);
    transformer->hidden = hidden;
    transformer->tokens =
        sizes->tokens > 0 ? DN_WANT (build, seq_len, sizes->tokens) : 0;
    transformer->ffn = DN_WANT (build, ffn, scaled_ffn (sizes, hidden));
    transformer->heads = heads;
    transformer->head_dim = read_head_dim (build, sizes->head_dim, hidden, heads);
    transformer->kv_heads = read_kv_heads (build, sizes, heads);
}

double dn_transformer_read_positions (struct dn_build *build, double usual)
{
    double tokens = build->at.dim[0];
    double positions = DN_WANT (build, positions, dn_max (usual, tokens));

    if (positions < tokens)
        dn_build_refuse (build, net_positions, positions, tokens);
    return positions;
}

enum dn_norm dn_norm_of (unsigned traits)
{
    if (traits & RMS)
        return DN_NORM_RMS;
    if (traits & SCALE)
        return DN_NORM_SCALE;
    return traits & PLAIN_NORM ? DN_NORM_PLAIN : DN_NORM_LAYER;
}

enum dn_activation dn_activation_of (unsigned traits)
{
    if (traits & RELU)
        return DN_ACTIVATION_RELU;
    return traits & GELU_TANH ? DN_ACTIVATION_GELU_TANH : DN_ACTIVATION_GELU;
}

/* The norm, if the network has it there. */
static void add_norm (struct dn_build *build,
                      const struct dn_transformer *transformer,
                      bool there)
{
    if (there)
        dn_build_norm (build, dn_norm_of (transformer->traits));
}

/* The end of attention or feed-forward: their sum with what went around them. */
static void add_sum (struct dn_build *build, const struct dn_transformer *transformer)
{
    unsigned traits = transformer->traits;

    add_norm (build, transformer, traits & INSIDE);
    dn_build_add (build);
    add_norm (build, transformer, !(traits & (BEFORE | INSIDE)));
}

void dn_transformer_add_attention (struct dn_build *build,
                                   const struct dn_transformer *transformer,
                                   struct dn_shape *memory)
{
    add_norm (build, transformer, transformer->traits & BEFORE);
    dn_transformer_attend (build, transformer, memory);
    if (transformer->scaled)
        dn_build_scale (build);
    if (transformer->traits & DROPOUT && !transformer->ffn_dropout_only)
        dn_build_dropout (build);
    add_sum (build, transformer);
}

static void add_linear (struct dn_build *build,
                        const struct dn_transformer *transformer,
                        enum dn_role role,
                        double out)
{
    build->role = role;
    dn_build_linear (build, out, transformer->traits & BIAS_FFN);
}

/* One layer gives gate and input of the product, or two do. */
void dn_transformer_add_inner (struct dn_build *build,
                               const struct dn_transformer *transformer)
{
    struct dn_shape start = build->at;
    bool gated = transformer->traits & GATED;
    bool fused = gated && transformer->traits & FUSED_GATE;
    struct dn_shape gate;

    add_linear (build,
                transformer,
                gated ? DN_ROLE_GATE : DN_ROLE_UP,
                (fused ? 2 : 1) * transformer->ffn);
    build->at.channels = transformer->ffn;
    gate = build->at;
    dn_build_activation (build, dn_activation_of (transformer->traits));
    if (!gated)
        return;
    if (!fused) {
        gate = build->at;
        build->at = start;
        build->at.kept = true;
        add_linear (build, transformer, DN_ROLE_UP, transformer->ffn);
    }
    dn_build_multiply (build, &gate);
}

/* The second half. */
static void add_outer (struct dn_build *build, const struct dn_transformer *transformer)
{
    if (transformer->inner_dropout)
        dn_build_dropout (build);
    add_linear (build, transformer, DN_ROLE_DOWN, transformer->hidden);
    if (transformer->scaled)
        dn_build_scale (build);
    if (transformer->traits & DROPOUT)
        dn_build_dropout (build);
}

void dn_transformer_add_ffn (struct dn_build *build,
                             const struct dn_transformer *transformer)
{
    add_norm (build, transformer, transformer->traits & BEFORE);
    dn_transformer_add_inner (build, transformer);
    add_outer (build, transformer);
    add_sum (build, transformer);
}

/* Both parts start from the block's input, and are added to it together. */
static void add_parallel_block (struct dn_build *build,
                                const struct dn_transformer *transformer)
{
    struct dn_shape start = build->at;

    add_norm (build, transformer, true);
    if (transformer->traits & PARALLEL)
        start = build->at;
    start.kept = true;
    dn_transformer_attend (build, transformer, NULL);
    if (transformer->traits & DROPOUT)
        dn_build_dropout (build);
    build->at = start;
    add_norm (build, transformer, transformer->traits & PARALLEL_PAIR);
    dn_transformer_add_inner (build, transformer);
    add_outer (build, transformer);
    dn_build_add (build);
    dn_build_add (build);
}

void dn_transformer_add_block (struct dn_build *build,
                               const struct dn_transformer *transformer)
{
    if (transformer->traits & (PARALLEL | PARALLEL_PAIR)) {
        add_parallel_block (build, transformer);
        return;
    }
    dn_transformer_add_attention (build, transformer, NULL);
    dn_transformer_add_ffn (build, transformer);
}

void dn_transformer_add_blocks (struct dn_build *build,
                                const struct dn_transformer *transformer)
{
    dn_build_blocks (build, transformer->layers);
    DN_REPEAT (build, transformer->layers)
        dn_transformer_add_block (build, transformer);
}
