/* attention.c - multi-head attention as its kernels
 *
 * Unfused, as eager PyTorch and Megatron run it: a product for the scores, scaling and
 * mask, softmax, dropout, a product with the values. The probabilities and the output
 * of their dropout are kept: the 5 a s / h of Korthikanti et al. (arXiv 2205.05198, eq.
 * 2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/build.h"

/* Sizes of one attention. */
struct sizes {
    double heads;
    double kv_heads;
    double dim;    /* of a head */
    double tokens; /* of the queries */
    double keys;   /* and values */
};

static struct sizes measure (const struct dn_build *build,
                             const struct dn_attention *attention)
{
    const struct dn_shape *memory = attention->memory ? attention->memory : &build->at;

    return (struct sizes){
        .heads = attention->heads,
        .kv_heads = attention->kv_heads > 0 ? attention->kv_heads : attention->heads,
        .dim = attention->head_dim,
        .tokens = dn_shape_positions (&build->at),
        .keys = dn_shape_positions (memory) + attention->memory_keys,
    };
}

/* The layers of keys and values, which are equal. The cursor does not move. */
static void add_key_value (struct dn_build *build,
                           const struct dn_attention *attention,
                           const struct sizes *size,
                           struct dn_shape *memory)
{
    struct dn_shape at = build->at;
    double outer;

    build->at = *memory;
    build->at.dim[0] += attention->memory_keys;
    if (!memory->kept && build->at.n_dims > 0)
        dn_build_keep (build);
    memory->kept = true;
    build->at.kept = true;
    build->role = DN_ROLE_KEY_VALUE;
    if (attention->no_key_bias) {
        struct dn_shape start = build->at;

        dn_build_linear (build, size->kv_heads * size->dim, false);
        build->at = start;
        build->role = DN_ROLE_KEY_VALUE;
        dn_build_linear (build, size->kv_heads * size->dim, attention->bias);
    } else {
        outer = dn_build_repeat (build, 2);
        dn_build_linear (build, size->kv_heads * size->dim, attention->bias);
        dn_build_repeat_end (build, outer);
    }
    build->at = at;
}

/* The layers before the products. The cursor is then on the query. */
static void add_projections (struct dn_build *build,
                             const struct dn_attention *attention,
                             const struct sizes *size)
{
    struct dn_shape source = build->at;
    double features = size->heads * size->dim;

    if (attention->fused) {
        /* Tokens of the memory pass through the same layer; their queries are dropped.
         */
        if (attention->memory_keys > 0) {
            build->at.dim[0] = size->keys;
            dn_build_copy (build);
        }
        build->role = DN_ROLE_QKV;
        dn_build_linear (
            build, features + 2 * size->kv_heads * size->dim, attention->bias);
        build->at.channels = features;
        build->at.dim[0] = size->tokens;
        return;
    }
    build->role = DN_ROLE_QUERY;
    dn_build_linear (build, features, attention->bias);
    source.kept = true;
    add_key_value (
        build, attention, size, attention->memory ? attention->memory : &source);
}

static void add_query_norm (struct dn_build *build,
                            double heads,
                            double positions,
                            double dim,
                            enum dn_query_norm norm)
{
    double elements = heads * positions * dim;
    double features = norm == DN_QUERY_NORM_HEAD ? dim : heads * dim;
    struct dn_op op = {.kind = DN_OP_NORM,
                       .in = elements,
                       .out = elements,
                       .weights = features,
                       .params = features,
                       .tensors = 1,
                       .saved = 2 * elements};

    dn_build_op (build, &op);
}

/* Query and key rotated by their positions: two products, a rotation and a sum, of
 * both. The features that are not rotated are joined to them.
 */
static void add_rotation (struct dn_build *build,
                          const struct sizes *size,
                          double share)
{
    double elements =
        size->dim * (size->heads * size->tokens + size->kv_heads * size->keys);
    double rotated = share > 0 ? share * elements : elements;
    struct dn_op op = {
        .kind = DN_OP_ELEMENTWISE, .repeat = 4, .in = rotated, .out = rotated};
    struct dn_op join = {.kind = DN_OP_COPY, .in = elements, .out = elements};

    dn_build_op (build, &op);
    if (rotated < elements)
        dn_build_op (build, &join);
}

/* A column of learned scores is joined for the softmax, and removed after it. */
static void add_sinks (struct dn_build *build, const struct sizes *size)
{
    double elements = size->heads * size->tokens * size->keys;
    struct dn_op op = {.kind = DN_OP_COPY,
                       .in = elements,
                       .out = elements,
                       .weights = size->heads,
                       .params = size->heads,
                       .tensors = 1};

    dn_build_op (build, &op);
}

/* Transposes to (heads, tokens, size) and back; shared keys are copied to all heads. */
static void add_transposes (struct dn_build *build, const struct sizes *size)
{
    double query = size->heads * size->tokens * size->dim;
    double pair = 2 * size->heads * size->keys * size->dim;
    struct dn_op op = {.kind = DN_OP_COPY, .in = query + pair, .out = query + pair};

    dn_build_op (build, &op);
}

static void add_products (struct dn_build *build,
                          const struct dn_attention *attention,
                          const struct sizes *size)
{
    double query = size->heads * size->tokens * size->dim;
    double key = size->heads * size->keys * size->dim;
    struct dn_shape scores = {
        .channels = size->heads * size->keys, .dim = {size->tokens}, .n_dims = 1};
    struct dn_shape at = build->at;

    dn_build_matmul (
        build, size->heads, size->tokens, size->keys, size->dim, query + key);
    build->at = scores;
    dn_build_elementwise (build, attention->unmasked ? 1 : 2);
    if (attention->capped) {
        dn_build_activation (build, DN_ACTIVATION_SIGMOID);
        dn_build_elementwise (build, 2);
    }
    if (attention->sinks)
        add_sinks (build, size);
    dn_build_softmax (build);
    if (attention->dropout) {
        dn_build_dropout (build);
        dn_build_keep (build);
    }
    dn_build_matmul (build, size->heads, size->tokens, size->dim, size->keys, key);
    build->at = at;
    build->at.kept = false;
}

void dn_build_attention_products (struct dn_build *build,
                                  const struct dn_attention *attention)
{
    struct sizes size = measure (build, attention);

    if (build->failed)
        return;
    if (attention->rotary)
        add_rotation (build, &size, attention->rotary_share);
    add_transposes (build, &size);
    add_products (build, attention, &size);
    dn_build_copy (build);
}

void dn_build_attention (struct dn_build *build, const struct dn_attention *attention)
{
    struct sizes size = measure (build, attention);
    double features = attention->out > 0 ? attention->out : build->at.channels;

    if (build->failed)
        return;
    add_projections (build, attention, &size);
    if (attention->query_norm != DN_QUERY_NORM_NONE) {
        add_query_norm (
            build, size.heads, size.tokens, size.dim, attention->query_norm);
        add_query_norm (
            build, size.kv_heads, size.keys, size.dim, attention->query_norm);
    }
    dn_build_attention_products (build, attention);
    build->role = DN_ROLE_ATTENTION_OUT;
    dn_build_linear (build, features, attention->out_bias);
}
