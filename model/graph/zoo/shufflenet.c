/* shufflenet.c - ShuffleNet V2
 *
 * Ma et al. (arXiv 1807.11164) as torchvision implements it: half of the channels pass
 * through a block unchanged, then the halves are interleaved. stem=cifar, as in
 * kuangliu/pytorch-cifar: the first layer has no stride, and no pooling follows.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#define N_STAGES 3

struct shufflenet {
    struct dn_zoo_entry entry;
    double channels[N_STAGES];
    double last;
};

static const struct shufflenet rows[] = {
    {{"shufflenet_v2_x0_5", "shufflenet"}, {48, 96, 192}, 1024},
    {{"shufflenet_v2_x1_0", "shufflenet"}, {116, 232, 464}, 1024},
    {{"shufflenet_v2_x1_5", "shufflenet"}, {176, 352, 704}, 1024},
    {{"shufflenet_v2_x2_0", "shufflenet"}, {244, 488, 976}, 2048},
    /* End of rows */
};

static const int blocks[N_STAGES] = {4, 8, 4};

/* The branch with convolutions: 1x1, depthwise, 1x1. */
static void add_branch (struct dn_build *build, double half, int stride)
{
    dn_build_conv_norm_relu (build, half, 1, 1, 1);
    dn_build_conv_norm (build, half, 3, stride, half);
    dn_build_conv_norm_relu (build, half, 1, 1, 1);
}

/* Join both branches and interleave their channels. */
static void add_shuffle (struct dn_build *build, const struct dn_shape *other)
{
    dn_build_concat (build, other);
    dn_build_copy (build);
}

static void add_down (struct dn_build *build, double half)
{
    struct dn_shape start = build->at;
    struct dn_shape left;

    dn_build_conv_norm (build, start.channels, 3, 2, start.channels);
    dn_build_conv_norm_relu (build, half, 1, 1, 1);
    left = build->at;
    build->at = start;
    build->at.kept = true;
    add_branch (build, half, 2);
    add_shuffle (build, &left);
}

static void add_block (struct dn_build *build, double half)
{
    struct dn_shape left = build->at;

    /* The convolution keeps its half as a view of the whole. */
    dn_build_keep (build);
    left.channels = half;
    build->at.channels = half;
    add_branch (build, half, 1);
    add_shuffle (build, &left);
}

static void build_shufflenet (struct dn_build *build, const void *data)
{
    const struct shufflenet *row = data;
    bool cifar = dn_build_stem (build, DN_STEM_IMAGENET) == DN_STEM_CIFAR;

    dn_build_image (build, 3, cifar ? 32 : 224, 2, 4);
    dn_build_conv_norm_relu (build, 24, 3, cifar ? 1 : 2, 1);
    if (!cifar)
        dn_build_pool (
            build, &(struct dn_pool){DN_POOL_MAX, .kernel = 3, .stride = 2, .pad = 1});
    for (int i = 0; i < N_STAGES; i++) {
        double outer;

        add_down (build, row->channels[i] / 2);
        outer = dn_build_repeat (build, blocks[i] - 1);
        add_block (build, row->channels[i] / 2);
        dn_build_repeat_end (build, outer);
    }
    dn_build_conv_norm_relu (build, row->last, 1, 1, 1);
    dn_build_classifier (build, cifar ? 10 : 1000, false);
}

const struct dn_zoo_family dn_zoo_shufflenet = DN_ZOO_FAMILY (rows, build_shufflenet);
