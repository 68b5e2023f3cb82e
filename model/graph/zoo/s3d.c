/* s3d.c - separable three-dimensional Inception
 *
 * Xie et al. (arXiv 1712.04851) as torchvision.models.video implements it: Inception
 * blocks whose convolutions are cut in two, over pixels and over frames. image= is
 * frames x height x width.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

struct s3d {
    struct dn_zoo_entry entry;
};

static const struct s3d rows[] = {
    {{"s3d", "s3d"}},
    /* End of rows */
};

/* Outputs of the four branches, with those within the second and the third. 'frames'
 * and 'pixels' of the pool before the block; 0: none.
 */
struct block {
    double first;
    double mid[2];
    double out[2];
    double pooled;
    int frames;
    int pixels;
};

static const struct block blocks[] = {
    {64, {96, 16}, {128, 32}, 32, 0, 0},
    {128, {128, 32}, {192, 96}, 64, 0, 0},
    {192, {96, 16}, {208, 48}, 64, 3, 3},
    {160, {112, 24}, {224, 64}, 64, 0, 0},
    {128, {128, 24}, {256, 64}, 64, 0, 0},
    {112, {144, 32}, {288, 64}, 64, 0, 0},
    {256, {160, 32}, {320, 128}, 128, 0, 0},
    {256, {160, 32}, {320, 128}, 128, 2, 2},
    {384, {192, 48}, {384, 128}, 128, 0, 0},
};

static void add_point (struct dn_build *build, double out)
{
    dn_zoo_clip_conv_norm_relu (build, &(struct dn_clip_conv){.out = out});
}

static void add_separable (struct dn_build *build, double out, int kernel, int stride)
{
    dn_zoo_clip_conv_norm_relu (
        build, &(struct dn_clip_conv){.out = out, .pixels = kernel, .stride = stride});
    dn_zoo_clip_conv_norm_relu (
        build, &(struct dn_clip_conv){.out = out, .frames = kernel, .hop = stride});
}

static void add_block (struct dn_build *build, const struct block *block)
{
    static const struct dn_pool pool = {
        DN_POOL_MAX, .kernel = 3, .stride = 1, .pad = 1};
    struct dn_shape start;

    dn_build_keep (build);
    start = build->at;
    add_point (build, block->first);
    for (int i = 0; i < 2; i++) {
        build->at = start;
        add_point (build, block->mid[i]);
        add_separable (build, block->out[i], 3, 1);
    }
    build->at = start;
    dn_build_pool (build, &pool);
    add_point (build, block->pooled);
    build->at.channels = block->first + block->out[0] + block->out[1];
    dn_build_concat (build, &(struct dn_shape){.channels = block->pooled});
}

static void build_s3d (struct dn_build *build, const void *row)
{
    static const double clip[] = {64, 224, 224};

    (void) row;
    build->graph.decode = DN_DECODE_VIDEO;
    dn_build_image_of (build, 3, clip, 3, 4);
    add_separable (build, 64, 7, 2);
    dn_zoo_clip_pool (build, 1, 3);
    add_point (build, 64);
    add_separable (build, 192, 3, 1);
    dn_zoo_clip_pool (build, 1, 3);
    for (size_t i = 0; i < DN_N_ELEMENTS (blocks); i++) {
        if (blocks[i].frames > 0)
            dn_zoo_clip_pool (build, blocks[i].frames, blocks[i].pixels);
        add_block (build, &blocks[i]);
    }
    dn_build_classifier (build, 400, true);
}

const struct dn_zoo_family dn_zoo_s3d = DN_ZOO_FAMILY (rows, build_s3d);
