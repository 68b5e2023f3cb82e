/* segformer.c - SegFormer
 *
 * Xie et al. (arXiv 2105.15203) as transformers implements it: four stages of
 * transformer blocks whose keys and values are taken from fewer positions and whose
 * feed-forward parts have a depthwise convolution; all stages are projected to the same
 * features and joined at a quarter of the image's size.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "segment.h"
#include "zoo.h"

#include <math.h>

#define N_STAGES DN_BACKBONE_STAGES
#define EXPAND   4.0

struct segformer {
    struct dn_zoo_entry entry;
    double features; /* of the first stage */
    double blocks[N_STAGES];
    double joined; /* features of the head */
};

static const struct segformer rows[] = {
    {{"segformer_b0", "segformer"}, 32, {2, 2, 2, 2}, 256},
    {{"segformer_b1", "segformer"}, 64, {2, 2, 2, 2}, 256},
    {{"segformer_b2", "segformer"}, 64, {3, 4, 6, 3}, 768},
    {{"segformer_b3", "segformer"}, 64, {3, 4, 18, 3}, 768},
    {{"segformer_b4", "segformer"}, 64, {3, 8, 27, 3}, 768},
    {{"segformer_b5", "segformer"}, 64, {3, 6, 40, 3}, 768},
    /* End of rows */
};

/* Of each stage: features by those of the first, which is also the number of heads, and
 * the side of the squares that keys and values are taken from.
 */
static const double ratios[N_STAGES] = {1, 2, 5, 8};
static const int squares[N_STAGES] = {8, 4, 2, 1};

/* The image's positions as a sequence. */
static void add_sequence (struct dn_build *build)
{
    build->at.dim[0] *= build->at.dim[1];
    build->at.n_dims = 1;
}

/* The sequence as an image again. */
static void set_image (struct dn_build *build, const struct dn_shape *image)
{
    build->at.n_dims = 2;
    build->at.dim[0] = image->dim[0];
    build->at.dim[1] = image->dim[1];
}

static void add_attention (struct dn_build *build,
                           const struct dn_shape *image,
                           double heads,
                           int square)
{
    struct dn_attention attention = {.heads = heads,
                                     .head_dim = build->at.channels / heads,
                                     .bias = true,
                                     .out_bias = true,
                                     .unmasked = true};
    struct dn_shape memory;
    struct dn_shape at;

    dn_build_norm (build, DN_NORM_LAYER);
    if (square > 1) {
        dn_build_keep (build);
        at = build->at;
        set_image (build, image);
        dn_build_conv (build, at.channels, square, square, 0, 1, true);
        add_sequence (build);
        dn_build_norm (build, DN_NORM_LAYER);
        memory = build->at;
        attention.memory = &memory;
        build->at = at;
    }
    dn_build_attention (build, &attention);
    dn_build_elementwise (build, 1);
    dn_build_add (build);
}

/* Stochastic depth, then the sum, ends each half. */
static void add_block (struct dn_build *build,
                       const struct dn_shape *image,
                       double heads,
                       int square)
{
    double features = build->at.channels;

    add_attention (build, image, heads, square);
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_linear (build, EXPAND * features, true);
    set_image (build, image);
    dn_build_conv (build, EXPAND * features, 3, 1, 1, EXPAND * features, true);
    add_sequence (build);
    dn_build_copy (build);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_linear (build, features, true);
    dn_build_elementwise (build, 1);
    dn_build_add (build);
}

static void add_stage (struct dn_build *build, const struct segformer *row, int i)
{
    struct dn_shape image;
    double outer;

    dn_build_conv (build,
                   row->features * ratios[i],
                   i == 0 ? 7 : 3,
                   i == 0 ? 4 : 2,
                   i == 0 ? 3 : 1,
                   1,
                   true);
    image = build->at;
    add_sequence (build);
    dn_build_norm (build, DN_NORM_LAYER);
    outer = dn_build_repeat (build, row->blocks[i]);
    add_block (build, &image, ratios[i], squares[i]);
    dn_build_repeat_end (build, outer);
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_copy (build);
    set_image (build, &image);
}

static void build_segformer (struct dn_build *build, const void *data)
{
    const struct segformer *row = data;
    struct dn_segment segment = {.classes = DN_WANT (build, classes, 150)};

    dn_build_image (build, 3, 512, 2, 4);
    segment.image = build->at;
    for (int i = 0; i < N_STAGES; i++) {
        add_stage (build, row, i);
        dn_build_keep (build);
        segment.levels[i] = build->at;
    }
    for (int i = 0; i < N_STAGES; i++) {
        build->at = segment.levels[i];
        dn_build_linear (build, row->joined, true);
        dn_segment_resize (build, &segment.levels[0]);
    }
    build->at.channels = (N_STAGES - 1) * row->joined;
    dn_build_concat (build, &(struct dn_shape){.channels = row->joined});
    dn_build_conv (build, row->joined, 1, 1, 0, 1, false);
    dn_build_norm (build, DN_NORM_BATCH);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    dn_build_dropout (build);
    dn_segment_loss (build, &segment);
}

const struct dn_zoo_family dn_zoo_segformer = DN_ZOO_FAMILY (rows, build_segformer);
