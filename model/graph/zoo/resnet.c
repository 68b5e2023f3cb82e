/* resnet.c - residual networks
 *
 * ResNet (He et al., arXiv 1512.03385), ResNeXt (1611.05431), Wide ResNet (1605.07146)
 * as torchvision.models.resnet implements them: the stride is in the 3x3 convolution.
 * SE- ResNeXt adds the gates of Hu et al. (1709.01507), as in timm and
 * DeepLearningExamples. stem=cifar is the small-image variant: a 3x3 convolution of
 * stride 1, no pooling. width= multiplies the inner channels of a bottleneck.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "backbone.h"
#include "zoo.h"

#include <math.h>

#define N_STAGES DN_BACKBONE_STAGES

/* Ratio of the channels before a gate to those within it. */
#define GATE_PART 16

/* Taps of a 3x3 convolution, and two offsets for each. */
#define TAPS    9.0
#define OFFSETS (2 * TAPS)

struct net {
    int blocks[N_STAGES];
    bool bottleneck;
    double groups;
    double group_width; /* inner channels of a group in the first stage */
    bool gate;          /* squeeze and excitation after each block */
};

struct resnet {
    struct dn_zoo_entry entry;
    struct net net;
};

#define ROW(name, ...)                                                                 \
    {                                                                                  \
        {name, "resnet"},                                                              \
        {                                                                              \
            __VA_ARGS__                                                                \
        }                                                                              \
    }

static const struct resnet rows[DN_N_RESNETS] = {
    [DN_RESNET_18] = ROW ("resnet18", {2, 2, 2, 2}, false, 1, 64, false),
    [DN_RESNET_34] = ROW ("resnet34", {3, 4, 6, 3}, false, 1, 64, false),
    [DN_RESNET_50] = ROW ("resnet50", {3, 4, 6, 3}, true, 1, 64, false),
    [DN_RESNET_101] = ROW ("resnet101", {3, 4, 23, 3}, true, 1, 64, false),
    [DN_RESNET_152] = ROW ("resnet152", {3, 8, 36, 3}, true, 1, 64, false),
    [DN_RESNEXT_50_32X4D] = ROW ("resnext50_32x4d", {3, 4, 6, 3}, true, 32, 4, false),
    [DN_RESNEXT_101_32X4D] =
        ROW ("resnext101_32x4d", {3, 4, 23, 3}, true, 32, 4, false),
    [DN_RESNEXT_101_32X8D] =
        ROW ("resnext101_32x8d", {3, 4, 23, 3}, true, 32, 8, false),
    [DN_RESNEXT_101_64X4D] =
        ROW ("resnext101_64x4d", {3, 4, 23, 3}, true, 64, 4, false),
    [DN_SE_RESNEXT_101_32X4D] =
        ROW ("se_resnext101_32x4d", {3, 4, 23, 3}, true, 32, 4, true),
    [DN_WIDE_RESNET_50_2] = ROW ("wide_resnet50_2", {3, 4, 6, 3}, true, 1, 128, false),
    [DN_WIDE_RESNET_101_2] =
        ROW ("wide_resnet101_2", {3, 4, 23, 3}, true, 1, 128, false),
    [DN_RESNEXT_152_32X8D] =
        ROW ("resnext152_32x8d", {3, 8, 36, 3}, true, 32, 8, false),
    /* End of rows */
};

/* A normalisation, as the backbone has it. */
static void add_norm (struct dn_build *build, const struct dn_backbone *backbone)
{
    bool fixed = backbone->norm == DN_BACKBONE_FIXED;
    bool shared = build->shared;

    build->fixed_norm = fixed || backbone->norm == DN_BACKBONE_SCALES;
    build->shared = shared || fixed;
    dn_build_norm (build,
                   backbone->norm == DN_BACKBONE_GROUP ? DN_NORM_GROUP : DN_NORM_BATCH);
    build->fixed_norm = false;
    build->shared = shared;
}

static void add_conv_norm (struct dn_build *build,
                           const struct dn_backbone *backbone,
                           double out,
                           int kernel,
                           int stride,
                           double groups)
{
    dn_build_conv (build, out, kernel, stride, kernel / 2, groups, false);
    add_norm (build, backbone);
}

static void add_conv_norm_relu (struct dn_build *build,
                                const struct dn_backbone *backbone,
                                double out,
                                int kernel,
                                int stride,
                                double groups)
{
    add_conv_norm (build, backbone, out, kernel, stride, groups);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

/* The 3x3 convolution of a bottleneck whose taps are shifted and weighted by what a
 * convolution before it finds: windows are gathered, then multiplied with the weights.
 */
static void add_deformable (struct dn_build *build,
                            const struct dn_backbone *backbone,
                            double out,
                            int stride,
                            double groups)
{
    struct dn_shape start = build->at;
    struct dn_shape windows;

    dn_build_conv (build, OFFSETS, 3, stride, 1, 1, true);
    dn_build_keep (build);
    build->at = start;
    build->at.kept = true;
    dn_build_conv (build, out, 3, stride, 1, groups, false);
    windows = build->at;
    build->at.channels = TAPS * start.channels;
    dn_build_copy (build);
    build->at = windows;
    add_norm (build, backbone);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

/* What is added to the block that begins with the cursor's activation. */
static void add_shortcut (struct dn_build *build,
                          const struct dn_backbone *backbone,
                          double out,
                          int stride)
{
    const struct dn_pool halves = {
        DN_POOL_AVERAGE, .kernel = 2, .stride = 2, .ceil = true};

    build->at.kept = true;
    if (backbone->average && stride == 2) {
        dn_build_pool (build, &halves);
        stride = 1;
    }
    add_conv_norm (build, backbone, out, 1, stride, 1);
}

/* One residual block with 'planes' channels (four times as many after a bottleneck),
 * the first of its stage or a later one.
 */
static void add_block (struct dn_build *build,
                       const struct dn_backbone *backbone,
                       double planes,
                       int stride,
                       bool deform,
                       bool first)
{
    const struct net *net = &rows[backbone->net].net;
    struct dn_shape start = build->at;
    double width = net->bottleneck ? DN_WANT_REAL (build, width, 1) : 1;
    double out = net->bottleneck ? 4 * planes : planes;
    double inner = floor (planes * net->group_width * width / 64) * net->groups;
    int early = backbone->early ? stride : 1;
    struct dn_shape end;

    if (net->bottleneck) {
        add_conv_norm_relu (build, backbone, inner, 1, early, 1);
        if (deform)
            add_deformable (build, backbone, inner, stride / early, net->groups);
        else
            add_conv_norm_relu (build, backbone, inner, 3, stride / early, net->groups);
        add_conv_norm (build, backbone, out, 1, 1, 1);
    } else {
        add_conv_norm_relu (build, backbone, planes, 3, stride, 1);
        add_conv_norm (build, backbone, planes, 3, 1, 1);
    }
    if (net->gate)
        dn_build_gate (build,
                       floor (build->at.channels / GATE_PART),
                       DN_ACTIVATION_RELU,
                       DN_ACTIVATION_SIGMOID);
    end = build->at;
    if (stride != 1 || start.channels != out || (first && backbone->average)) {
        build->at = start;
        add_shortcut (build, backbone, out, stride);
        build->at = end;
    }
    dn_build_add (build);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

static void add_stem (struct dn_build *build, const struct dn_backbone *backbone)
{
    if (dn_build_stem (build, DN_STEM_IMAGENET) == DN_STEM_CIFAR) {
        add_conv_norm_relu (build, backbone, 64, 3, 1, 1);
        return;
    }
    if (backbone->deep) {
        add_conv_norm_relu (build, backbone, 32, 3, 2, 1);
        add_conv_norm_relu (build, backbone, 32, 3, 1, 1);
        add_conv_norm_relu (build, backbone, 64, 3, 1, 1);
    } else {
        add_conv_norm_relu (build, backbone, 64, 7, 2, 1);
    }
    dn_build_pool (build,
                   &(struct dn_pool){DN_POOL_MAX, .kernel = 3, .stride = 2, .pad = 1});
}

/* Of 64 x 2^i planes. */
void dn_backbone_add_stage (struct dn_build *build,
                            const struct dn_backbone *backbone,
                            int i)
{
    bool dense = backbone->dense && i >= backbone->dense;
    bool deform = backbone->deform && i >= backbone->deform;
    double planes = ldexp (64, i);
    double outer;

    add_block (build, backbone, planes, i == 0 || dense ? 1 : 2, deform, true);
    outer = dn_build_repeat (build, rows[backbone->net].net.blocks[i] - 1);
    add_block (build, backbone, planes, 1, deform, false);
    dn_build_repeat_end (build, outer);
}

void dn_backbone_add (struct dn_build *build,
                      const struct dn_backbone *backbone,
                      struct dn_shape levels[DN_BACKBONE_STAGES])
{
    int n = backbone->stages ? backbone->stages : N_STAGES;

    build->frozen = backbone->frozen;
    add_stem (build, backbone);
    for (int i = 0; i < n; i++) {
        dn_backbone_add_stage (build, backbone, i);
        levels[i] = build->at;
        if (build->frozen) {
            build->at.input = true;
            build->at.kept = false;
        }
        build->frozen = false;
    }
}

static void build_resnet (struct dn_build *build, const void *data)
{
    const struct resnet *row = data;
    const struct dn_backbone backbone = {.net = (enum dn_resnet) (row - rows)};
    bool cifar = dn_build_stem (build, DN_STEM_IMAGENET) == DN_STEM_CIFAR;
    struct dn_shape levels[N_STAGES];

    dn_build_image (build, 3, cifar ? 32 : 224, 2, 4);
    dn_backbone_add (build, &backbone, levels);
    dn_build_classifier (build, cifar ? 10 : 1000, false);
}

const struct dn_zoo_family dn_zoo_resnet = DN_ZOO_FAMILY (rows, build_resnet);
