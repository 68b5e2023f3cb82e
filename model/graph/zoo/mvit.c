/* mvit.c - multiscale vision transformers over clips
 *
 * MViT (Fan et al., arXiv 2104.11227) and MViTv2 (Li et al., 2112.01526) as
 * torchvision.models.video implements them: attention whose keys and values, and with a
 * new scale the queries, are pooled by a convolution per channel of a head. The second
 * version has tables of relative positions and pools all queries. image= is frames x
 * height x width.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#include <math.h>

#define N_SCALES 4
#define CHANNELS 96.0
#define HEAD_DIM 96.0

struct mvit {
    struct dn_zoo_entry entry;
    double blocks[N_SCALES]; /* of each scale */
    bool second;             /* the second version */
};

static const struct mvit rows[] = {
    {{"mvit_v1_b", "mvit"}, {1, 2, 11, 2}, false},
    {{"mvit_v2_s", "mvit"}, {1, 2, 11, 2}, true},
    /* End of rows */
};

/* Positions of a clip, and one token for its class. */
struct grid {
    double frames;
    double height;
    double width;
};

static double tokens_of (const struct grid *grid)
{
    return 1 + grid->frames * grid->height * grid->width;
}

struct block {
    struct grid grid; /* of its input */
    double in;
    double inner; /* of its attention */
    double out;
    double heads;
    int shrink; /* stride of the queries */
    int sparse; /* stride of keys and values */
    bool pool;  /* of the queries */
    bool second;
};

static struct grid shrunk (const struct grid *grid, double stride)
{
    return (struct grid){
        grid->frames, ceil (grid->height / stride), ceil (grid->width / stride)};
}

/* One convolution for all heads, then a normalisation within each. */
static void add_pooling (struct dn_build *build, const struct block *block, int stride)
{
    const struct dn_clip_conv conv = {.out = HEAD_DIM,
                                      .frames = 3,
                                      .pixels = 3,
                                      .stride = stride,
                                      .groups = HEAD_DIM};
    struct grid grid = shrunk (&block->grid, stride);
    struct dn_shape at = build->at;

    build->at = (struct dn_shape){.channels = HEAD_DIM,
                                  .dim = {block->heads * block->grid.frames,
                                          block->grid.height,
                                          block->grid.width},
                                  .n_dims = 3};
    dn_build_copy (build);
    dn_zoo_clip_conv (build, &conv);
    build->at.dim[0] = block->heads * tokens_of (&grid);
    build->at.n_dims = 1;
    dn_build_copy (build);
    dn_build_norm (build, DN_NORM_LAYER);
    at.dim[0] = tokens_of (&grid);
    build->at = at;
}

/* A table of relative positions along one dimension, times all queries. */
static void add_table (struct dn_build *build,
                       const struct block *block,
                       double positions,
                       double offsets,
                       double keys)
{
    struct dn_op op = {.kind = DN_OP_EMBEDDING,
                       .in = offsets * HEAD_DIM,
                       .out = offsets * HEAD_DIM,
                       .weights = offsets * HEAD_DIM,
                       .params = offsets * HEAD_DIM,
                       .tensors = 1,
                       .first = true};

    dn_build_op (build, &op);
    positions *= block->heads;
    /* Each product permutes the queries into a copy of its own. */
    dn_build_matmul (build, 1, positions, keys, HEAD_DIM, positions * HEAD_DIM);
}

static void add_relative (struct dn_build *build,
                          const struct block *block,
                          const struct grid *to,
                          const struct grid *from)
{
    double positions = tokens_of (to) - 1;
    double side = fmax (block->grid.height, block->grid.width);
    double side_to = floor (side / fmin (block->shrink, block->sparse));
    double offsets = fmax (2 * side_to - 1, 1);

    add_table (build, block, positions, offsets, from->height);
    add_table (build, block, positions, offsets, from->width);
    add_table (build, block, positions, 2 * to->frames - 1, from->frames);
    dn_build_elementwise (build, 3);
}

static void add_products (struct dn_build *build, const struct block *block)
{
    struct grid to = shrunk (&block->grid, block->shrink);
    struct grid from = shrunk (&block->grid, block->sparse);
    double queries = tokens_of (&to);
    double keys = tokens_of (&from);
    double features = HEAD_DIM * block->heads;

    dn_build_elementwise (build, 1);
    dn_build_matmul (
        build, block->heads, queries, keys, HEAD_DIM, features * (queries + keys));
    build->at.channels = block->heads * keys;
    if (block->second)
        add_relative (build, block, &to, &from);
    dn_build_softmax (build);
    dn_build_matmul (build, block->heads, queries, HEAD_DIM, keys, features * keys);
    build->at.channels = features;
    build->at.kept = false;
    if (block->second)
        dn_build_add (build);
    dn_build_copy (build);
    dn_build_linear (build, block->inner, true);
}

static void add_attention (struct dn_build *build, const struct block *block)
{
    struct dn_shape at;

    dn_build_linear (build, 3 * block->inner, true);
    build->at.channels = block->inner;
    at = build->at;
    for (int i = 0; i < 2; i++) {
        build->at = at;
        add_pooling (build, block, block->sparse);
    }
    build->at = at;
    if (block->pool)
        add_pooling (build, block, block->shrink);
    add_products (build, block);
}

/* What is added to the attention's result. */
static void add_shortcut (struct dn_build *build, const struct block *block)
{
    struct grid to = shrunk (&block->grid, block->shrink);
    struct dn_op op = {.kind = DN_OP_POOL, .in = dn_shape_elements (&build->at)};

    if (block->second && block->in != block->out)
        dn_build_linear (build, block->out, true);
    if (block->shrink == 1)
        return;
    dn_build_copy (build);
    dn_build_keep (build);
    build->at.dim[0] = tokens_of (&to);
    op.out = dn_shape_elements (&build->at);
    op.masks = 8 * op.out;
    dn_build_op (build, &op);
    dn_build_copy (build);
}

static void add_block (struct dn_build *build, const struct block *block)
{
    struct dn_shape start = build->at;
    struct dn_shape end;

    dn_build_norm (build, DN_NORM_LAYER);
    if (block->second && block->in != block->out)
        start = build->at;
    start.kept = true;
    add_attention (build, block);
    end = build->at;
    build->at = start;
    add_shortcut (build, block);
    build->at = end;
    dn_build_elementwise (build, 1);
    dn_build_add (build);
    dn_build_norm (build, DN_NORM_LAYER);
    if (!block->second && block->in != block->out) {
        end = build->at;
        dn_build_linear (build, block->out, true);
        end.kept = true;
        build->at = end;
    }
    dn_build_linear (build, 4 * block->inner, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_linear (build, block->out, true);
    dn_build_elementwise (build, 1);
    dn_build_add (build);
}

/* The first version doubles its channels in the last block of a scale, the second in
 * the first block of the next.
 */
static void add_scale (struct dn_build *build,
                       const struct mvit *row,
                       struct grid *grid,
                       int i)
{
    double channels = ldexp (CHANNELS, i);
    struct block block = {.grid = *grid,
                          .in = build->at.channels,
                          .inner = channels,
                          .out = channels,
                          .heads = ldexp (1, i),
                          .shrink = i > 0 ? 2 : 1,
                          .sparse = 8 >> i,
                          .pool = i > 0 || row->second,
                          .second = row->second};

    for (int n = (int) row->blocks[i]; n > 0; n--) {
        if (!row->second && n == 1 && i < N_SCALES - 1)
            block.out = 2 * channels;
        add_block (build, &block);
        block.grid = shrunk (&block.grid, block.shrink);
        block.in = block.out;
        block.shrink = 1;
        block.pool = row->second;
    }
    *grid = block.grid;
}

static void add_positions (struct dn_build *build,
                           const struct mvit *row,
                           const struct grid *grid)
{
    const struct dn_op class = {.kind = DN_OP_COPY,
                                .in = dn_shape_elements (&build->at),
                                .out = dn_shape_elements (&build->at),
                                .weights = CHANNELS,
                                .params = CHANNELS,
                                .tensors = 1};

    dn_build_op (build, &class);
    build->at =
        (struct dn_shape){.channels = CHANNELS, .dim = {tokens_of (grid)}, .n_dims = 1};
    if (row->second)
        return;
    dn_build_add_learned (build, CHANNELS * grid->height * grid->width);
    dn_build_add_learned (build, CHANNELS * grid->frames);
    dn_build_add_learned (build, CHANNELS);
}

static void build_mvit (struct dn_build *build, const void *data)
{
    const struct mvit *row = data;
    static const double clip[] = {16, 224, 224};
    const struct dn_conv patches = {.out = CHANNELS,
                                    .kernel = {3, 7, 7},
                                    .stride = {2, 4, 4},
                                    .pad = {1, 3, 3},
                                    .groups = 1,
                                    .bias = true};
    struct grid grid;

    build->graph.decode = DN_DECODE_VIDEO;
    dn_build_image_of (build, 3, clip, 3, 4);
    dn_build_conv_of (build, &patches);
    grid = (struct grid){build->at.dim[0], build->at.dim[1], build->at.dim[2]};
    add_positions (build, row, &grid);
    for (int i = 0; i < N_SCALES; i++)
        add_scale (build, row, &grid, i);
    dn_build_norm (build, DN_NORM_LAYER);
    build->at.dim[0] = 1;
    dn_build_flatten (build);
    dn_build_classifier (build, 400, true);
}

const struct dn_zoo_family dn_zoo_mvit = DN_ZOO_FAMILY (rows, build_mvit);
