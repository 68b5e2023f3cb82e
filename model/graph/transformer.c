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
        dn_build_fail (build, DN_E_RANGE, dn_say_err_net_heads, heads, hidden);
    return hidden / heads;
}

static double read_kv_heads (struct dn_build *build,
                             const struct dn_transformer_sizes *sizes,
                             double heads)
{
    double otherwise = heads;
    double kv_heads;

    if (sizes->kv_heads > 0)
        otherwise = fmax (1, floor (heads * sizes->kv_heads / sizes->heads));
    kv_heads = DN_WANT (build, kv_heads, otherwise);
    if (kv_heads > heads || fmod (heads, kv_heads) != 0)
        dn_build_fail (build,
                       DN_E_RANGE,
                       dn_say_err_net_divisor,
                       "kv_heads",
                       kv_heads,
                       "heads",
                       heads);
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
    transformer->attention.heads = heads;
    transformer->attention.head_dim =
        read_head_dim (build, sizes->head_dim, hidden, heads);
    transformer->attention.kv_heads = read_kv_heads (build, sizes, heads);
}

double dn_transformer_read_positions (struct dn_build *build, double usual)
{
    double tokens = build->at.dim[0];
    double positions = DN_WANT (build, positions, fmax (usual, tokens));

    if (positions < tokens)
        dn_build_fail (build, DN_E_RANGE, dn_say_err_net_positions, positions, tokens);
    return positions;
}

/* The end of attention or feed-forward: their sum with what went around them. */
static void add_sum (struct dn_build *build, const struct dn_transformer *transformer)
{
    if (transformer->norm_inside)
        dn_build_norm (build, transformer->norm);
    dn_build_add (build);
    if (!transformer->norm_first && !transformer->norm_inside)
        dn_build_norm (build, transformer->norm);
}

void dn_transformer_add_attention (struct dn_build *build,
                                   const struct dn_transformer *transformer,
                                   const struct dn_attention *attention)
{
    if (transformer->norm_first)
        dn_build_norm (build, transformer->norm);
    dn_build_attention (build, attention);
    if (transformer->scaled)
        dn_build_scale (build);
    if (transformer->dropout && !transformer->ffn_dropout_only)
        dn_build_dropout (build);
    add_sum (build, transformer);
}

/* Gate and input of the product from one layer. */
static void add_fused_gate (struct dn_build *build,
                            const struct dn_transformer *transformer)
{
    struct dn_shape gate;

    build->role = DN_ROLE_GATE;
    dn_build_linear (build, 2 * transformer->ffn, transformer->bias);
    build->at.channels = transformer->ffn;
    gate = build->at;
    dn_build_activation (build, transformer->activation);
    dn_build_multiply (build, &gate);
}

void dn_transformer_add_inner (struct dn_build *build,
                               const struct dn_transformer *transformer)
{
    struct dn_shape start = build->at;
    struct dn_shape gate;

    if (transformer->gated && transformer->fused_gate) {
        add_fused_gate (build, transformer);
        return;
    }
    build->role = transformer->gated ? DN_ROLE_GATE : DN_ROLE_UP;
    dn_build_linear (build, transformer->ffn, transformer->bias);
    dn_build_activation (build, transformer->activation);
    if (!transformer->gated)
        return;
    gate = build->at;
    build->at = start;
    build->at.kept = true;
    build->role = DN_ROLE_UP;
    dn_build_linear (build, transformer->ffn, transformer->bias);
    dn_build_multiply (build, &gate);
}

void dn_transformer_add_ffn (struct dn_build *build,
                             const struct dn_transformer *transformer)
{
    if (transformer->norm_first)
        dn_build_norm (build, transformer->norm);
    dn_transformer_add_inner (build, transformer);
    if (transformer->inner_dropout)
        dn_build_dropout (build);
    build->role = DN_ROLE_DOWN;
    dn_build_linear (build, transformer->hidden, transformer->bias);
    if (transformer->scaled)
        dn_build_scale (build);
    if (transformer->dropout)
        dn_build_dropout (build);
    add_sum (build, transformer);
}

/* Both parts start from the block's input, and are added to it together. */
static void add_parallel_block (struct dn_build *build,
                                const struct dn_transformer *transformer)
{
    struct dn_shape start = build->at;

    dn_build_norm (build, transformer->norm);
    if (transformer->block == DN_BLOCK_PARALLEL)
        start = build->at;
    start.kept = true;
    dn_build_attention (build, &transformer->attention);
    if (transformer->dropout)
        dn_build_dropout (build);
    build->at = start;
    if (transformer->block == DN_BLOCK_PARALLEL_PAIR)
        dn_build_norm (build, transformer->norm);
    dn_transformer_add_inner (build, transformer);
    build->role = DN_ROLE_DOWN;
    dn_build_linear (build, transformer->hidden, transformer->bias);
    if (transformer->dropout)
        dn_build_dropout (build);
    dn_build_add (build);
    dn_build_add (build);
}

void dn_transformer_add_block (struct dn_build *build,
                               const struct dn_transformer *transformer)
{
    if (transformer->block != DN_BLOCK_SERIAL) {
        add_parallel_block (build, transformer);
        return;
    }
    dn_transformer_add_attention (build, transformer, &transformer->attention);
    dn_transformer_add_ffn (build, transformer);
}

void dn_transformer_add_blocks (struct dn_build *build,
                                const struct dn_transformer *transformer)
{
    double outer;

    dn_build_blocks (build, transformer->layers);
    outer = dn_build_repeat (build, transformer->layers);
    dn_transformer_add_block (build, transformer);
    dn_build_repeat_end (build, outer);
}
