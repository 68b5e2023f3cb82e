/* patchtst.c - forecasts of time series from patches
 *
 * PatchTST (Nie et al., arXiv 2211.14730) as Hugging Face implements it: seq_len= steps
 * of in_channels= series, each in patches of 16 steps every 8, transformer blocks with
 * batch normalisation within each series, one layer for the next tgt_len= steps.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "base/messages.h"
#include "graph/transformer.h"
#include "zoo.h"

#include <math.h>

#define PATCH  16.0
#define STRIDE 8.0

struct patchtst {
    struct dn_zoo_entry entry;
    struct dn_transformer_sizes sizes; /* tokens are steps */
    double series;
    double steps; /* of the forecast */
};

static const struct patchtst rows[] = {
    {{"patchtst", "patchtst"}, {3, 128, 16, 0, 256, 336}, 7, 96},
    /* End of rows */
};

/* Attention between the patches of each of 'series'. */
static void add_attention (struct dn_build *build,
                           const struct dn_transformer *body,
                           double series)
{
    struct dn_shape at;
    double heads = body->attention.heads * series;
    double head_dim = body->attention.head_dim;
    double patches = build->at.dim[0] / series;
    double features = dn_shape_elements (&build->at);
    double outer;

    dn_build_norm (build, DN_NORM_BATCH);
    at = build->at;
    dn_build_linear (build, body->hidden, true);
    outer = dn_build_repeat (build, 2);
    build->at = at;
    build->at.kept = true;
    dn_build_linear (build, body->hidden, true);
    dn_build_repeat_end (build, outer);
    dn_build_copy (build);
    at = build->at;
    dn_build_matmul (build, heads, patches, patches, head_dim, 2 * features);
    build->at.channels = body->attention.heads * patches;
    dn_build_elementwise (build, 1);
    dn_build_softmax (build);
    dn_build_matmul (build, heads, patches, head_dim, patches, features);
    build->at = at;
    dn_build_copy (build);
    dn_build_linear (build, body->hidden, true);
    dn_build_add (build);
}

static void build_patchtst (struct dn_build *build, const void *data)
{
    const struct patchtst *row = data;
    struct dn_transformer body = {.norm = DN_NORM_BATCH,
                                  .activation = DN_ACTIVATION_GELU,
                                  .norm_first = true,
                                  .bias = true,
                                  .inner_dropout = true};
    double series = DN_WANT (build, in_channels, row->series);
    double patches;
    double outer;

    dn_transformer_sizes_read (build, &row->sizes, &body);
    dn_transformer_plain_heads (build, false);
    build->graph.decode = DN_DECODE_NONE;
    dn_build_features (build, series, body.tokens);
    if (body.tokens < PATCH)
        dn_build_fail (build,
                       DN_E_RANGE,
                       dn_say_err_zoo_least,
                       "seq_len",
                       body.tokens,
                       PATCH,
                       build->graph.name);
    patches = floor ((body.tokens - PATCH) / STRIDE) + 1;
    /* Scaled to their mean and deviation, cut into patches. */
    dn_build_elementwise (build, 5);
    build->at = (struct dn_shape){
        .channels = PATCH, .dim = {series * patches}, .n_dims = 1, .input = true};
    dn_build_copy (build);
    dn_build_linear (build, body.hidden, true);
    dn_build_add_learned (build, patches * body.hidden);
    outer = dn_build_repeat (build, body.layers);
    add_attention (build, &body, series);
    dn_transformer_add_ffn (build, &body);
    dn_build_repeat_end (build, outer);
    build->at.channels *= patches;
    build->at.dim[0] = series;
    dn_build_linear (build, DN_WANT (build, tgt_len, row->steps), true);
    dn_build_elementwise (build, 2);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_patchtst = DN_ZOO_FAMILY (rows, build_patchtst);
