/* sam.c - Segment Anything
 *
 * Kirillov et al. (arXiv 2304.02643) as transformers implements it: a vision
 * transformer with attention within windows, and in four blocks over all patches, both
 * with tables of relative positions per axis; an encoder of prompts, and a decoder
 * whose few tokens and the image attend to each other. One point is the prompt.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#include <math.h>

#define PATCH    16
#define WINDOW   14.0
#define N_GLOBAL 4.0
#define EXPAND   4.0

/* The decoder. */
#define FEATURES 256.0
#define HEADS    8.0
#define HIDDEN   2048.0
#define LAYERS   2
#define N_MASKS  4
#define N_TOKENS (1.0 + N_MASKS + 2.0) /* quality, masks, the point and its end */

struct sam {
    struct dn_zoo_entry entry;
    double layers;
    double features;
    double heads;
};

static const struct sam rows[] = {
    {{"sam_vit_b", "sam"}, 12, 768, 12},
    {{"sam_vit_l", "sam"}, 24, 1024, 16},
    {{"sam_vit_h", "sam"}, 32, 1280, 16},
    /* End of rows */
};

/* Scores from the distances along one axis of 'size' patches. */
static void add_distances (struct dn_build *build,
                           double windows,
                           double heads,
                           double head_dim,
                           double size)
{
    const double tokens = size * size;
    const struct dn_op table = {.kind = DN_OP_EMBEDDING,
                                .in = tokens,
                                .out = tokens * head_dim,
                                .weights = tokens * head_dim,
                                .params = (2 * size - 1) * head_dim,
                                .tensors = 1};

    dn_build_op (build, &table);
    dn_build_matmul (build,
                     size,
                     windows * heads * size,
                     size,
                     head_dim,
                     tokens * head_dim + windows * heads * tokens * head_dim);
}

/* Attention within 'windows' windows of 'size' x 'size' patches. */
static void add_products (struct dn_build *build,
                          double windows,
                          double heads,
                          double size)
{
    struct dn_shape at = build->at;
    double tokens = size * size;
    double head_dim = at.channels / heads;
    double elements = dn_shape_elements (&at);

    dn_build_matmul (build, windows * heads, tokens, tokens, head_dim, 4 * elements);
    for (int i = 0; i < 2; i++)
        add_distances (build, windows, heads, head_dim, size);
    build->at.channels = heads * tokens;
    dn_build_elementwise (build, 2);
    dn_build_softmax (build);
    dn_build_matmul (build, windows * heads, tokens, head_dim, tokens, 0);
    at.kept = false;
    build->at = at;
    dn_build_copy (build);
}

/* One block; 'size' patches along each axis of a window, which divide a padded image.
 */
static void add_block (struct dn_build *build, double heads, double size)
{
    struct dn_shape start = build->at;
    double features = start.channels;

    dn_build_norm (build, DN_NORM_LAYER);
    for (int i = 0; i < 2; i++)
        build->at.dim[i] = ceil (start.dim[i] / size) * size;
    dn_build_copy (build);
    dn_build_linear (build, 3 * features, true);
    build->at.channels = features;
    dn_build_copy (build);
    add_products (build, dn_shape_positions (&build->at) / (size * size), heads, size);
    dn_build_linear (build, features, true);
    start.kept = false;
    build->at = start;
    dn_build_add (build);
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_linear (build, EXPAND * features, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_linear (build, features, true);
    dn_build_add (build);
}

/* Patches, blocks, and the projection to the features of the decoder. */
static void add_encoder (struct dn_build *build, const struct sam *row)
{
    double layers = DN_WANT (build, layers, row->layers);
    double global = fmin (N_GLOBAL, layers);
    double outer;

    dn_build_conv (build, row->features, PATCH, PATCH, 0, 1, true);
    dn_build_copy (build);
    dn_build_add_learned (build, dn_shape_elements (&build->at));
    dn_build_blocks (build, layers);
    outer = dn_build_repeat (build, layers - global);
    add_block (build, row->heads, WINDOW);
    dn_build_repeat_end (build, outer);
    outer = dn_build_repeat (build, global);
    add_block (build, row->heads, build->at.dim[0]);
    dn_build_repeat_end (build, outer);
    dn_build_conv (build, FEATURES, 1, 1, 0, 1, false);
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_conv (build, FEATURES, 3, 1, 1, 1, false);
    dn_build_norm (build, DN_NORM_LAYER);
}

/* Parameters for points, boxes and masks that are given; without them little is done.
 */
static void add_prompts (struct dn_build *build)
{
    const double masks =
        (4 * 4 + 4) + 2 * 4 + (4 * 16 * 4 + 16) + 2 * 16 + (16 * FEATURES + FEATURES);
    const struct dn_op prompts = {.kind = DN_OP_ELEMENTWISE,
                                  .in = FEATURES,
                                  .out = FEATURES,
                                  .params = masks + 6 * FEATURES + FEATURES,
                                  .tensors = 10 + 6 + 1};

    dn_build_op (build, &prompts);
}

/* Attention of 'from' to 'to' with 'features' within. */
static void add_attention (struct dn_build *build,
                           struct dn_shape *from,
                           struct dn_shape *to,
                           double features)
{
    const struct dn_attention attention = {.heads = HEADS,
                                           .head_dim = features / HEADS,
                                           .memory = to == from ? NULL : to,
                                           .bias = true,
                                           .out_bias = true,
                                           .unmasked = true};

    build->at = *from;
    dn_build_elementwise (build, to == from ? 0 : 2);
    dn_build_attention (build, &attention);
    dn_build_add (build);
    dn_build_norm (build, DN_NORM_LAYER);
    *from = build->at;
}

static void add_two_ways (struct dn_build *build,
                          struct dn_shape *tokens,
                          struct dn_shape *image)
{
    for (int i = 0; i < LAYERS; i++) {
        add_attention (build, tokens, tokens, FEATURES);
        add_attention (build, tokens, image, FEATURES / 2);
        build->at = *tokens;
        dn_build_linear (build, HIDDEN, true);
        dn_build_activation (build, DN_ACTIVATION_RELU);
        dn_build_linear (build, FEATURES, true);
        dn_build_add (build);
        dn_build_norm (build, DN_NORM_LAYER);
        *tokens = build->at;
        add_attention (build, image, tokens, FEATURES / 2);
    }
    add_attention (build, tokens, image, FEATURES / 2);
}

/* Three layers of a token. */
static void add_layers (struct dn_build *build, double out)
{
    build->at = (struct dn_shape){.channels = FEATURES};
    for (int i = 0; i < 2; i++) {
        dn_build_linear (build, FEATURES, true);
        dn_build_activation (build, DN_ACTIVATION_RELU);
    }
    dn_build_linear (build, out, true);
}

static void add_decoder (struct dn_build *build)
{
    struct dn_shape map = build->at;
    struct dn_shape image = {
        .channels = FEATURES, .dim = {dn_shape_positions (&map)}, .n_dims = 1};
    struct dn_shape tokens = {.channels = FEATURES, .dim = {N_TOKENS}, .n_dims = 1};
    const struct dn_op embeddings = {
        .kind = DN_OP_ELEMENTWISE, .params = (1 + N_MASKS) * FEATURES, .tensors = 2};

    dn_build_op (build, &embeddings);
    add_two_ways (build, &tokens, &image);
    map.kept = false;
    build->at = map;
    dn_build_copy (build);
    dn_build_conv_transpose (build, FEATURES / 4, 2, 2, 0, true);
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_conv_transpose (build, FEATURES / 8, 2, 2, 0, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_keep (build);
    map = build->at;
    for (int i = 0; i < N_MASKS; i++)
        add_layers (build, FEATURES / 8);
    add_layers (build, N_MASKS);
    dn_build_matmul (build, 1, N_MASKS, dn_shape_positions (&map), FEATURES / 8, 0);
    build->at = map;
    build->at.channels = N_MASKS - 1;
    dn_build_loss (build);
}

static void build_sam (struct dn_build *build, const void *data)
{
    dn_build_image (build, 3, 1024, 2, 4);
    add_encoder (build, data);
    add_prompts (build);
    add_decoder (build);
}

const struct dn_zoo_family dn_zoo_sam = DN_ZOO_FAMILY (rows, build_sam);
