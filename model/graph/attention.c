/* attention.c - multi-head attention: its layers, and one operator between them
 *
 * The operator says what is computed, not how. Its numbers are those of separate
 * kernels, as eager PyTorch before 2.0 and Megatron run them: a product for the scores,
 * scaling and mask, softmax, dropout, a product with the values. The probabilities and
 * the output of their dropout are kept: the 5 a s / h of Korthikanti et al. (arXiv
 * 2205.05198, eq. 2). Fused kernels are derived in predict/.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/transformer.h"

/* Sizes of one attention. */
struct sizes {
    double heads;
    double kv_heads;
    double dim;    /* of a head's query and key */
    double value;  /* of a head's value */
    double tokens; /* of the queries */
    double keys;   /* and values */
};

static struct sizes measure (const struct dn_build *build,
                             const struct dn_transformer *transformer,
                             const struct dn_shape *memory)
{
    double dim = transformer->head_dim;

    return (struct sizes){
        .heads = transformer->heads,
        .kv_heads = transformer->kv_heads,
        .dim = dim,
        .value = transformer->value_dim > 0 ? transformer->value_dim : dim,
        .tokens = dn_shape_positions (&build->at),
        .keys = dn_shape_positions (memory ? memory : &build->at),
    };
}

/* The layers of keys and values. The cursor does not move. */
static void add_key_value (struct dn_build *build,
                           const struct dn_transformer *transformer,
                           const struct sizes *size,
                           struct dn_shape *memory)
{
    bool bias = transformer->traits & BIAS_QKV;
    bool key_bias = bias && !transformer->no_key_bias;
    bool equal = size->value == size->dim && key_bias == bias;
    struct dn_shape at = build->at;

    build->at = *memory;
    if (!memory->kept && build->at.n_dims > 0)
        dn_build_keep (build);
    memory->kept = true;
    build->at.kept = true;
    DN_REPEAT (build, equal ? 2 : 1) {
        build->role = equal ? DN_ROLE_KEY_VALUE : DN_ROLE_KEY;
        dn_build_linear (build, size->kv_heads * size->dim, key_bias);
    }
    if (!equal) {
        build->at = *memory;
        build->role = DN_ROLE_VALUE;
        dn_build_linear (build, size->kv_heads * size->value, bias);
    }
    build->at = at;
}

/* The layers of multi-latent attention. The cursor is then on the query. */
static void add_latent (struct dn_build *build,
                        const struct dn_transformer *transformer,
                        const struct sizes *size)
{
    double content = size->dim - transformer->rope_dim;
    struct dn_shape source = build->at;
    struct dn_shape query;

    if (transformer->query_rank > 0) {
        dn_build_linear (
            build, transformer->query_rank, transformer->traits & BIAS_QKV);
        dn_build_norm (build, DN_NORM_RMS);
    }
    dn_build_linear (build, size->heads * size->dim, false);
    query = build->at;
    build->at = source;
    build->at.kept = true;
    dn_build_linear (build,
                     transformer->latent + transformer->rope_dim,
                     transformer->traits & BIAS_QKV);
    build->at.channels = transformer->latent;
    dn_build_norm (build, DN_NORM_RMS);
    dn_build_linear (build, size->heads * (content + size->value), false);
    build->at = query;
}

/* The layers before the products. The cursor is then on the query. */
static void add_projections (struct dn_build *build,
                             const struct dn_transformer *transformer,
                             const struct sizes *size,
                             struct dn_shape *memory)
{
    struct dn_shape source = build->at;
    double features = size->heads * size->dim;

    if (transformer->latent > 0) {
        add_latent (build, transformer, size);
        return;
    }
    if (transformer->traits & FUSED) {
        build->role = DN_ROLE_QKV;
        dn_build_linear (build,
                         features + size->kv_heads * (size->dim + size->value),
                         transformer->traits & BIAS_QKV);
        build->at.channels = features;
        return;
    }
    build->role = DN_ROLE_QUERY;
    dn_build_linear (
        build, (transformer->gated ? 2 : 1) * features, transformer->traits & BIAS_QKV);
    build->at.channels = features;
    source.kept = true;
    add_key_value (build, transformer, size, memory ? memory : &source);
}

/* The norm of queries or of keys, 'heads' of them at 'positions'. */
static void add_query_norm (struct dn_build *build,
                            const struct dn_transformer *transformer,
                            double heads,
                            double dim,
                            double positions)
{
    bool each = transformer->traits & HEAD_NORM;
    struct dn_shape at = build->at;

    build->at = (struct dn_shape){.channels = each ? dim : heads * dim,
                                  .dim = {each ? heads * positions : positions},
                                  .n_dims = 1};
    dn_build_norm (build, DN_NORM_RMS);
    build->at = at;
}

/* Query and key rotated by their positions: two products, a rotation and a sum, of
 * both. In multi-latent attention of the part with the position, whose key is then
 * copied to all heads beside the rest; where a share is rotated, the rest is joined
 * too.
 */
static void add_rotation (struct dn_build *build,
                          const struct dn_transformer *transformer,
                          const struct sizes *size)
{
    bool latent = transformer->latent > 0;
    double dim = latent ? transformer->rope_dim : size->dim;
    double kv_heads = latent ? 1 : size->kv_heads;
    double share = (transformer->traits & QUARTER ? 0.25 : 0)
                   + (transformer->traits & HALF ? 0.5 : 0);
    double elements = (share > 0 ? share : 1) * dim
                      * (size->heads * size->tokens + kv_heads * size->keys);
    double joined =
        size->dim
        * (size->heads * size->tokens + (latent ? size->heads : kv_heads) * size->keys);

    dn_build_op (build,
                 DN_OP (ELEMENTWISE, .repeat = 4, .in = elements, .out = elements));
    if (latent || share > 0)
        dn_build_op (build, DN_OP (COPY, .in = joined, .out = joined));
}

/* Scores through a scaled tanh, whose output is kept. */
static void add_cap (struct dn_build *build, const struct sizes *size)
{
    double scores = size->heads * size->tokens * size->keys;

    dn_build_op (build,
                 DN_OP (ACTIVATION, .in = scores, .out = scores, .saved = scores));
    dn_build_op (build, DN_OP (ELEMENTWISE, .repeat = 2, .in = scores, .out = scores));
}

void dn_op_set_attention (struct dn_op *op)
{
    double query = op->batches * op->m * op->k;
    double scores = op->batches * op->m * op->n;
    double pair = op->n * (op->k + op->value_dim); /* of one head */

    op->kind = DN_OP_ATTENTION;
    op->flops = 2 * scores * (op->k + op->value_dim);
    op->in = query + op->kv_heads * pair;
    op->out = op->batches * op->m * op->value_dim;
    op->saved = query + op->batches * pair + scores * (op->dropout ? 2 : 1) + op->out;
    op->masks = op->dropout ? scores : 0;
}

/* The operator. The cursor is then on its output, which it keeps. */
static void add_core (struct dn_build *build,
                      const struct dn_transformer *transformer,
                      const struct sizes *size)
{
    struct dn_op op = {.m = size->tokens,
                       .n = size->keys,
                       .k = size->dim,
                       .batches = size->heads,
                       .kv_heads = size->kv_heads,
                       .value_dim = size->value,
                       .window = transformer->window,
                       .causal = transformer->causal,
                       .masked = !transformer->unmasked,
                       .dropout = (transformer->traits & SCORE_DROPOUT) != 0,
                       .composed =
                           transformer->composed || transformer->traits & CAPPED,
                       .recent = transformer->recent,
                       .moved = true};

    dn_op_set_attention (&op);
    dn_build_op (build, &op);
    build->at.channels = size->heads * size->value;
    build->at.kept = true;
    build->at.input = false;
}

/* The cursor's activation times the sigmoid of a gate of the same shape. */
static void add_gate (struct dn_build *build)
{
    struct dn_shape sums = build->at;

    build->at.kept = false;
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
    dn_build_multiply (build, &sums);
    build->at.kept = false;
}

void dn_transformer_attend (struct dn_build *build,
                            const struct dn_transformer *transformer,
                            struct dn_shape *memory)
{
    struct sizes size = measure (build, transformer, memory);
    unsigned traits = transformer->traits;

    if (build->failed)
        return;
    add_projections (build, transformer, &size, memory);
    if (traits & (HEAD_NORM | ALL_NORM)) {
        add_query_norm (build, transformer, size.heads, size.dim, size.tokens);
        add_query_norm (build, transformer, size.kv_heads, size.dim, size.keys);
    }
    if (traits & ROTARY)
        add_rotation (build, transformer, &size);
    if (traits & CAPPED)
        add_cap (build, &size);
    /* A learned score per head, which joins those of the keys. */
    if (traits & SINKS)
        dn_build_op (build,
                     DN_OP (COPY,
                            .in = size.heads,
                            .out = size.heads,
                            .params = size.heads,
                            .tensors = 1));
    add_core (build, transformer, &size);
    if (transformer->gated)
        add_gate (build);
    build->role = DN_ROLE_ATTENTION_OUT;
    dn_build_linear (build, transformer->hidden, traits & BIAS_OUT);
}
