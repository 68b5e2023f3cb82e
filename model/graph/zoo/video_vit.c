/* video_vit.c - vision transformers over clips: TimeSformer, ViViT, VideoMAE
 *
 * Bertasius et al. (arXiv 2102.05095; attention over the frames of a patch, then over
 * the patches of a frame), Arnab et al. (2103.15691, its first model) and Tong et al.
 * (2203.12602), as Hugging Face implements them. image= is frames x height x width. All
 * have a classifier; head=pretrain of VideoMAE encodes a tenth of the patches and
 * decodes the pixels of all.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/transformer.h"
#include "zoo.h"

#include <math.h>

#define PATCH 16

enum kind {
    KIND_DIVIDED, /* TimeSformer */
    KIND_JOINT,   /* ViViT */
    KIND_MASKED   /* VideoMAE */
};

struct video_vit {
    struct dn_zoo_entry entry;
    enum kind kind;
    struct dn_transformer_sizes sizes;
    double frames;
    struct dn_transformer_sizes decoder; /* of pre-training */
};

#define ROW(name, ...)                                                                 \
    {                                                                                  \
        {name, "video_vit"}, __VA_ARGS__                                               \
    }

static const struct video_vit rows[] = {
    ROW ("timesformer_base",
         KIND_DIVIDED,
         {12, 768, 12, 0, 3072, 0},
         8,
         {0, 0, 0, 0, 0, 0}),
    ROW ("vivit_b_16x2", KIND_JOINT, {12, 768, 12, 0, 3072, 0}, 32, {0, 0, 0, 0, 0, 0}),
    ROW ("videomae_small",
         KIND_MASKED,
         {12, 384, 6, 0, 1536, 0},
         16,
         {4, 192, 3, 0, 768, 0}),
    ROW ("videomae_base",
         KIND_MASKED,
         {12, 768, 12, 0, 3072, 0},
         16,
         {4, 384, 6, 0, 1536, 0}),
    ROW ("videomae_large",
         KIND_MASKED,
         {24, 1024, 16, 0, 4096, 0},
         16,
         {12, 512, 8, 0, 2048, 0}),
    /* End of rows */
};

static struct dn_transformer body_of (enum kind kind)
{
    struct dn_transformer body = {
        .norm = DN_NORM_LAYER,
        .activation = kind == KIND_JOINT ? DN_ACTIVATION_GELU_TANH : DN_ACTIVATION_GELU,
        .norm_first = true,
        .bias = true};

    body.attention.bias = true;
    body.attention.no_key_bias = kind == KIND_MASKED;
    body.attention.out_bias = true;
    body.attention.unmasked = true;
    return body;
}

/* Attention within 'windows' windows that share all tokens evenly. */
static void add_windows (struct dn_build *build,
                         const struct dn_transformer *body,
                         double windows)
{
    double hidden = body->hidden;
    double heads = body->attention.heads * windows;
    double tokens = build->at.dim[0] / windows;
    double features = hidden * build->at.dim[0];
    struct dn_shape at = build->at;

    dn_build_norm (build, body->norm);
    dn_build_linear (build, 3 * hidden, true);
    dn_build_copy (build);
    dn_build_matmul (
        build, heads, tokens, tokens, hidden * windows / heads, 2 * features);
    build->at.channels = body->attention.heads * tokens;
    dn_build_elementwise (build, 1);
    dn_build_softmax (build);
    dn_build_matmul (build, heads, tokens, hidden * windows / heads, tokens, features);
    build->at = at;
    build->at.kept = false;
    dn_build_copy (build);
    dn_build_linear (build, hidden, true);
}

/* Over the frames of each patch, then over the patches of each frame. The token of the
 * class joins the patches of each frame.
 */
static void add_divided (struct dn_build *build,
                         const struct dn_transformer *body,
                         double frames,
                         double patches)
{
    double outer = dn_build_repeat (build, body->layers);
    struct dn_shape at = build->at;

    build->at.dim[0] = frames * patches;
    dn_build_copy (build);
    add_windows (build, body, patches);
    dn_build_copy (build);
    dn_build_linear (build, body->hidden, true);
    dn_build_add (build);
    build->at.dim[0] = frames * (patches + 1);
    dn_build_copy (build);
    add_windows (build, body, frames);
    dn_build_copy (build);
    build->at = at;
    build->at.kept = false;
    dn_build_add (build);
    dn_transformer_add_ffn (build, body);
    dn_build_repeat_end (build, outer);
}

/* A learned vector, such as the token of the class. */
static void add_vector (struct dn_build *build)
{
    const struct dn_op op = {.kind = DN_OP_COPY,
                             .in = dn_shape_elements (&build->at),
                             .out = dn_shape_elements (&build->at),
                             .weights = build->at.channels,
                             .params = build->at.channels,
                             .tensors = 1};

    dn_build_op (build, &op);
}

/* From a clip to tokens, with their positions. */
static void add_patches (struct dn_build *build, enum kind kind, double hidden)
{
    int frames = kind == KIND_DIVIDED ? 1 : 2;
    const struct dn_conv conv = {.out = hidden,
                                 .kernel = {frames, PATCH, PATCH},
                                 .stride = {frames, PATCH, PATCH},
                                 .groups = 1,
                                 .bias = true};
    double depth;
    double patches;

    dn_build_conv_of (build, &conv);
    depth = build->at.dim[0];
    patches = build->at.dim[1] * build->at.dim[2];
    build->at.dim[0] = depth * patches + (kind == KIND_MASKED ? 0 : 1);
    build->at.n_dims = 1;
    dn_build_copy (build);
    if (kind == KIND_MASKED) {
        dn_build_elementwise (build, 1);
        return;
    }
    add_vector (build);
    if (kind == KIND_JOINT) {
        dn_build_add_learned (build, hidden * build->at.dim[0]);
        return;
    }
    dn_build_add_learned (build, hidden * (patches + 1));
    dn_build_add_learned (build, hidden * depth);
}

/* A tenth of the patches of each frame, which is a whole number, and the decoder. */
static void add_pretraining (struct dn_build *build,
                             const struct video_vit *row,
                             const struct dn_transformer *encoder,
                             double frames)
{
    struct dn_transformer body = body_of (KIND_MASKED);
    double tokens = build->at.dim[0];
    double pixels = 2 * PATCH * PATCH * DN_WANT (build, in_channels, 3);
    double visible = ceil (tokens / frames / 10) * frames;
    double outer;

    build->at.dim[0] = visible;
    dn_build_copy (build);
    dn_transformer_add_blocks (build, encoder);
    body.layers = row->decoder.layers;
    body.hidden = row->decoder.hidden;
    body.ffn = row->decoder.ffn;
    body.attention.heads = row->decoder.heads;
    body.attention.head_dim = body.hidden / body.attention.heads;
    dn_build_linear (build, body.hidden, false);
    add_vector (build);
    build->at.dim[0] = tokens;
    dn_build_elementwise (build, 1);
    outer = dn_build_repeat (build, body.layers);
    dn_transformer_add_block (build, &body);
    dn_build_repeat_end (build, outer);
    build->at.dim[0] = tokens - visible;
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_linear (build, pixels, true);
    dn_build_loss (build);
}

static void build_video_vit (struct dn_build *build, const void *data)
{
    const struct video_vit *row = data;
    const double clip[] = {row->frames, 224, 224};
    struct dn_transformer body = body_of (row->kind);
    unsigned pretrain = row->kind == KIND_MASKED ? DN_HEAD_BIT (PRETRAIN) : 0;
    struct dn_shape grid;
    double frames;

    dn_transformer_sizes_read (build, &row->sizes, &body);
    if (row->kind == KIND_DIVIDED)
        dn_transformer_plain_heads (build, true);
    build->graph.decode = DN_DECODE_VIDEO;
    dn_build_image_of (build, 3, clip, 3, 4);
    frames = floor (build->at.dim[0] / (row->kind == KIND_DIVIDED ? 1 : 2));
    add_patches (build, row->kind, body.hidden);
    grid = build->at;
    if (pretrain
        && dn_build_head (build, DN_HEAD_CLASSIFIER, pretrain) == DN_HEAD_PRETRAIN) {
        add_pretraining (build, row, &body, frames);
        return;
    }
    if (row->kind == KIND_DIVIDED)
        add_divided (build, &body, frames, (grid.dim[0] - 1) / frames);
    else
        dn_transformer_add_blocks (build, &body);
    if (row->kind == KIND_MASKED)
        dn_build_pool_global (build);
    dn_build_norm (build, DN_NORM_LAYER);
    if (row->kind != KIND_MASKED) {
        build->at.dim[0] = 1;
        dn_build_flatten (build);
    }
    dn_build_classifier (build, 400, false);
}

const struct dn_zoo_family dn_zoo_video_vit = DN_ZOO_FAMILY (rows, build_video_vit);
