/* experts.c - a feed-forward part that is a mixture of experts
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/experts.h"
#include "base/messages.h"

#include <math.h>

void dn_experts_read (struct dn_build *build, struct dn_experts *experts)
{
    if (experts->n <= 0)
        return;
    experts->n = DN_WANT (build, experts, experts->n);
    experts->top_k = DN_WANT (build, top_k, experts->top_k);
    experts->ffn = DN_WANT (build, expert_ffn, experts->ffn);
    experts->shared = DN_WANT (build, shared_experts, experts->shared);
    experts->capacity = DN_WANT_REAL (build, capacity, experts->capacity);
    if (experts->top_k > experts->n)
        dn_build_refuse (
            build, net_most, "top_k", experts->top_k, "experts", experts->n);
    if (!build->failed && fmod (experts->n, dn_max ((double) build->spec->ep, 1)) != 0)
        dn_build_refuse (build, ep_experts, build->spec->ep, (int64_t) experts->n);
}

/* The experts' feed-forward parts, on the tokens that the router sends to each. */
static void add_routed (struct dn_build *build,
                        const struct dn_transformer *transformer,
                        const struct dn_experts *experts)
{
    struct dn_shape start = build->at;
    struct dn_transformer one = *transformer;
    double places = experts->capacity > 0 ? experts->capacity : 1;

    one.ffn = experts->ffn > 0 ? experts->ffn : transformer->ffn;
    dn_build_linear (build, experts->n, experts->router_bias);
    dn_build_softmax (build);
    build->at = start;
    build->at.kept = false;
    build->at.dim[0] *= experts->top_k / experts->n * places;
    build->expert = true;
    DN_REPEAT (build, experts->n) {
        dn_build_copy (build);
        dn_transformer_add_inner (build, &one);
        if (experts->inner_dropout)
            dn_build_dropout (build);
        build->role = DN_ROLE_DOWN;
        dn_build_linear (build, transformer->hidden, transformer->traits & BIAS_FFN);
        dn_build_keep (build);
        dn_build_elementwise (build, 1);
        dn_build_copy (build);
    }
    build->expert = false;
    build->at = start;
    build->at.kept = false;
}

static void add_shared (struct dn_build *build,
                        const struct dn_transformer *transformer,
                        const struct dn_experts *experts)
{
    struct dn_shape start = build->at;
    struct dn_transformer part = *transformer;
    double one = experts->ffn > 0 ? experts->ffn : transformer->ffn;

    part.ffn = experts->shared_ffn > 0 ? experts->shared_ffn : experts->shared * one;
    build->at.kept = true;
    if (experts->shared_gate) {
        dn_build_linear (build, 1, false);
        build->at = start;
        build->at.kept = true;
    }
    dn_transformer_add_inner (build, &part);
    build->role = DN_ROLE_DOWN;
    dn_build_linear (build, transformer->hidden, transformer->traits & BIAS_FFN);
    if (experts->shared_gate)
        dn_build_elementwise (build, 1);
    dn_build_add (build);
}

void dn_experts_add (struct dn_build *build,
                     const struct dn_transformer *transformer,
                     const struct dn_experts *experts)
{
    build->graph.experts = experts->n;
    if (transformer->traits & BEFORE)
        dn_build_norm (build, dn_norm_of (transformer->traits));
    dn_build_elementwise (build, 1);
    dn_build_keep (build);
    add_routed (build, transformer, experts);
    if (experts->shared > 0)
        add_shared (build, transformer, experts);
    if (transformer->traits & DROPOUT)
        dn_build_dropout (build);
    dn_build_add (build);
    if (!(transformer->traits & BEFORE))
        dn_build_norm (build, dn_norm_of (transformer->traits));
}
