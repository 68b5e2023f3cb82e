/* resnet.c - residual networks
 *
 * ResNet (He et al., arXiv 1512.03385), ResNeXt (1611.05431), Wide ResNet (1605.07146)
 * as torchvision.models.resnet implements them: the stride is in the 3x3 convolution.
 * SE- ResNeXt adds the gates of Hu et al. (1709.01507), as in timm and
 * DeepLearningExamples. Those that end in c and d (He et al., 1812.01187), as in timm,
 * begin with three 3x3 convolutions; those in d average before a shortcut. stem=cifar
 * is the small-image variant: a 3x3 convolution of stride 1, no pooling; resnet20 to
 * resnet110 (1512.03385, 4.2) have no other, and layers in their shortcuts, as in
 * pytorchcv. width= multiplies the inner channels of a bottleneck.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#include <math.h>

#define N_STAGES 4

/* Ratio of the channels before a gate to those within it. */
#define GATE_PART 16

struct resnet {
    const char *name;
    int blocks[N_STAGES]; /* 0: the stage is missing */
    bool bottleneck;
    double groups;
    double group_width; /* inner channels of a group in the first stage */
    bool gate;          /* squeeze and excitation after each block */
    bool deep;          /* three 3x3 convolutions in place of the first one */
    bool average;       /* before a shortcut's convolution, which has no stride */
};

static const struct resnet rows[] = {
    ROW ("resnet18", {2, 2, 2, 2}, false, 1, 64, false),
    ROW ("resnet34", {3, 4, 6, 3}, false, 1, 64, false),
    ROW ("resnet50", {3, 4, 6, 3}, true, 1, 64, false),
    ROW ("resnet101", {3, 4, 23, 3}, true, 1, 64, false),
    ROW ("resnet152", {3, 8, 36, 3}, true, 1, 64, false),
    ROW ("resnext50_32x4d", {3, 4, 6, 3}, true, 32, 4, false),
    ROW ("resnext101_32x4d", {3, 4, 23, 3}, true, 32, 4, false),
    ROW ("resnext101_32x8d", {3, 4, 23, 3}, true, 32, 8, false),
    ROW ("resnext101_64x4d", {3, 4, 23, 3}, true, 64, 4, false),
    ROW ("se_resnext101_32x4d", {3, 4, 23, 3}, true, 32, 4, true),
    ROW ("wide_resnet50_2", {3, 4, 6, 3}, true, 1, 128, false),
    ROW ("wide_resnet101_2", {3, 4, 23, 3}, true, 1, 128, false),
    ROW ("resnext152_32x8d", {3, 8, 36, 3}, true, 32, 8, false),
    ROW ("resnext101_32x16d", {3, 4, 23, 3}, true, 32, 16, false),
    ROW ("resnext101_32x32d", {3, 4, 23, 3}, true, 32, 32, false),
    ROW ("resnext101_32x48d", {3, 4, 23, 3}, true, 32, 48, false),
    ROW ("resnet26", {2, 2, 2, 2}, true, 1, 64, false),
    ROW ("seresnet50", {3, 4, 6, 3}, true, 1, 64, true),
    ROW ("seresnet101", {3, 4, 23, 3}, true, 1, 64, true),
    ROW ("seresnet152", {3, 8, 36, 3}, true, 1, 64, true),
    ROW ("seresnext50_32x4d", {3, 4, 6, 3}, true, 32, 4, true),
    ROW ("seresnext101_32x8d", {3, 4, 23, 3}, true, 32, 8, true),
    ROW ("legacy_seresnet18", {2, 2, 2, 2}, false, 1, 64, true),
    ROW ("legacy_seresnet34", {3, 4, 6, 3}, false, 1, 64, true),
    ROW ("resnet50c", {3, 4, 6, 3}, true, 1, 64, false, true),
    ROW ("resnet101c", {3, 4, 23, 3}, true, 1, 64, false, true),
    ROW ("resnet152c", {3, 8, 36, 3}, true, 1, 64, false, true),
    ROW ("resnet18d", {2, 2, 2, 2}, false, 1, 64, false, true, true),
    ROW ("resnet26d", {2, 2, 2, 2}, true, 1, 64, false, true, true),
    ROW ("resnet34d", {3, 4, 6, 3}, false, 1, 64, false, true, true),
    ROW ("resnet101d", {3, 4, 23, 3}, true, 1, 64, false, true, true),
    ROW ("resnet152d", {3, 8, 36, 3}, true, 1, 64, false, true, true),
    ROW ("resnet200d", {3, 24, 36, 3}, true, 1, 64, false, true, true),
    ROW ("seresnet152d", {3, 8, 36, 3}, true, 1, 64, true, true, true),
    ROW ("seresnext101d_32x8d", {3, 4, 23, 3}, true, 32, 8, true, true, true),
    ROW ("resnet20", {3, 3, 3}, false, 1, 16, false),
    ROW ("resnet32", {5, 5, 5}, false, 1, 16, false),
    ROW ("resnet44", {7, 7, 7}, false, 1, 16, false),
    ROW ("resnet56", {9, 9, 9}, false, 1, 16, false),
    ROW ("resnet110", {18, 18, 18}, false, 1, 16, false),
    /* End of rows */
};

static void add_average (struct dn_build *build)
{
    struct dn_op op = {.kind = DN_OP_POOL, .in = dn_shape_elements (&build->at)};

    for (int i = 0; i < build->at.n_dims; i++)
        build->at.dim[i] = ceil (build->at.dim[i] / 2);
    op.out = dn_shape_elements (&build->at);
    dn_build_op (build, &op);
    build->at.number = ++build->n_shapes;
    build->at.kept = false;
}

static void add_shortcut (struct dn_build *build,
                          const struct resnet *row,
                          double out,
                          int stride)
{
    build->at.kept = true;
    if (row->average && stride != 1) {
        add_average (build);
        stride = 1;
    }
    dn_build_conv_norm (build, out, 1, stride, 1);
}

/* One residual block with 'planes' channels, four times as many after a bottleneck. */
static void add_block (struct dn_build *build,
                       const struct resnet *row,
                       double width,
                       double planes,
                       int stride)
{
    struct dn_shape start = build->at;
    double out = row->bottleneck ? 4 * planes : planes;
    double inner = floor (planes * row->group_width * width / 64) * row->groups;
    struct dn_shape end;

    if (row->bottleneck) {
        dn_build_conv_norm_relu (build, inner, 1, 1, 1);
        dn_build_conv_norm_relu (build, inner, 3, stride, row->groups);
        dn_build_conv_norm (build, out, 1, 1, 1);
    } else {
        dn_build_conv_norm_relu (build, planes, 3, stride, 1);
        dn_build_conv_norm (build, planes, 3, 1, 1);
    }
    if (row->gate)
        dn_build_gate (build,
                       floor (build->at.channels / GATE_PART),
                       DN_ACTIVATION_RELU,
                       DN_ACTIVATION_SIGMOID);
    end = build->at;
    if (stride != 1 || start.channels != out) {
        build->at = start;
        add_shortcut (build, row, out, stride);
        build->at = end;
    }
    dn_build_add (build);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

static DN_COLD void build_resnet (struct dn_build *build, const void *data)
{
    const struct resnet *row = data;
    bool small = row->blocks[N_STAGES - 1] == 0;
    bool cifar = dn_build_stem (build, DN_STEM_IMAGENET) == DN_STEM_CIFAR || small;
    double width = row->bottleneck ? DN_WANT_REAL (build, width, 1) : 1;
    double channels = small ? row->group_width : 64;

    dn_build_image (build, 3, cifar ? 32 : 224, 2);
    if (row->deep) {
        dn_build_conv_norm_relu (build, 32, 3, cifar ? 1 : 2, 1);
        dn_build_conv_norm_relu (build, 32, 3, 1, 1);
    }
    dn_build_conv_norm_relu (
        build, channels, row->deep || cifar ? 3 : 7, row->deep || cifar ? 1 : 2, 1);
    if (!cifar)
        dn_build_pool_max (build, 3, 2, 1);
    for (int i = 0; i < N_STAGES && row->blocks[i] > 0; i++) {
        add_block (build, row, width, ldexp (channels, i), i == 0 ? 1 : 2);
        DN_REPEAT (build, row->blocks[i] - 1)
            add_block (build, row, width, ldexp (channels, i), 1);
    }
    dn_build_classifier (build, cifar ? 10 : 1000, false);
}

const struct dn_zoo_family dn_zoo_resnet = DN_ZOO_FAMILY ("resnet", rows, build_resnet);
