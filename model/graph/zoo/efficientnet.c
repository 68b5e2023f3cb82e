/* efficientnet.c - inverted residuals: EfficientNet and MobileNet
 *
 * EfficientNet (Tan and Le, arXiv 1905.11946), EfficientNetV2 (2104.00298) and
 * MobileNetV3 (Howard et al., 1905.02244) as torchvision implements them; 'widese' is
 * the variant of NVIDIA's DeepLearningExamples whose gates squeeze a quarter of the
 * expanded channels. width= multiplies the channels.
 *
 * The family mobilenet has no gates: MobileNetV2 (Sandler et al., 1801.04381) and
 * MNASNet (Tan et al., 1807.11626). stem=cifar of MobileNetV2, as in
 * kuangliu/pytorch-cifar: neither the first layer nor the second stage has a stride.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#include <math.h>

#define N_STAGES_MAX 15

/* The stage that has no stride with stem=cifar. */
#define CIFAR_STAGE 1

enum block {
    BLOCK_NONE,
    BLOCK_INVERTED, /* expand, depthwise, project */
    BLOCK_FUSED     /* one full convolution in place of the first two */
};

struct stage {
    enum block block;
    double expand; /* ratio; MobileNetV3: channels */
    int kernel;
    int stride;
    double channels;
    double n;
    bool gate;    /* squeeze and excitation */
    bool rectify; /* ReLU in place of hard-swish or ReLU6 */
};

struct efficientnet {
    const char *name;
    const struct stage *stages;
    double width;
    double depth;
    double image;
    double stem;
    double last;    /* channels of the last convolution; 0: four times its input */
    double hidden;  /* MobileNetV3: features of the linear layer in the head */
    bool wide_gate; /* squeezes a part of the expanded channels, not of the input's */
    bool rectify;   /* ReLU around the stages */
    bool mobile;    /* no stochastic depth */
    bool small;     /* stem=cifar is possible, and width= widens the last one, too */
};

static const struct stage b0_stages[N_STAGES_MAX] = {
    {BLOCK_INVERTED, 1, 3, 1, 16, 1, true, false},
    {BLOCK_INVERTED, 6, 3, 2, 24, 2, true, false},
    {BLOCK_INVERTED, 6, 5, 2, 40, 2, true, false},
    {BLOCK_INVERTED, 6, 3, 2, 80, 3, true, false},
    {BLOCK_INVERTED, 6, 5, 1, 112, 3, true, false},
    {BLOCK_INVERTED, 6, 5, 2, 192, 4, true, false},
    {BLOCK_INVERTED, 6, 3, 1, 320, 1, true, false},
};

static const struct stage v2_s_stages[N_STAGES_MAX] = {
    {BLOCK_FUSED, 1, 3, 1, 24, 2, false, false},
    {BLOCK_FUSED, 4, 3, 2, 48, 4, false, false},
    {BLOCK_FUSED, 4, 3, 2, 64, 4, false, false},
    {BLOCK_INVERTED, 4, 3, 2, 128, 6, true, false},
    {BLOCK_INVERTED, 6, 3, 1, 160, 9, true, false},
    {BLOCK_INVERTED, 6, 3, 2, 256, 15, true, false},
};

static const struct stage v2_m_stages[N_STAGES_MAX] = {
    {BLOCK_FUSED, 1, 3, 1, 24, 3, false, false},
    {BLOCK_FUSED, 4, 3, 2, 48, 5, false, false},
    {BLOCK_FUSED, 4, 3, 2, 80, 5, false, false},
    {BLOCK_INVERTED, 4, 3, 2, 160, 7, true, false},
    {BLOCK_INVERTED, 6, 3, 1, 176, 14, true, false},
    {BLOCK_INVERTED, 6, 3, 2, 304, 18, true, false},
    {BLOCK_INVERTED, 6, 3, 1, 512, 5, true, false},
};

static const struct stage v2_l_stages[N_STAGES_MAX] = {
    {BLOCK_FUSED, 1, 3, 1, 32, 4, false, false},
    {BLOCK_FUSED, 4, 3, 2, 64, 7, false, false},
    {BLOCK_FUSED, 4, 3, 2, 96, 7, false, false},
    {BLOCK_INVERTED, 4, 3, 2, 192, 10, true, false},
    {BLOCK_INVERTED, 6, 3, 1, 224, 19, true, false},
    {BLOCK_INVERTED, 6, 3, 2, 384, 25, true, false},
    {BLOCK_INVERTED, 6, 3, 1, 640, 7, true, false},
};

static const struct stage v3_large_stages[N_STAGES_MAX] = {
    {BLOCK_INVERTED, 16, 3, 1, 16, 1, false, true},
    {BLOCK_INVERTED, 64, 3, 2, 24, 1, false, true},
    {BLOCK_INVERTED, 72, 3, 1, 24, 1, false, true},
    {BLOCK_INVERTED, 72, 5, 2, 40, 1, true, true},
    {BLOCK_INVERTED, 120, 5, 1, 40, 2, true, true},
    {BLOCK_INVERTED, 240, 3, 2, 80, 1, false, false},
    {BLOCK_INVERTED, 200, 3, 1, 80, 1, false, false},
    {BLOCK_INVERTED, 184, 3, 1, 80, 2, false, false},
    {BLOCK_INVERTED, 480, 3, 1, 112, 1, true, false},
    {BLOCK_INVERTED, 672, 3, 1, 112, 1, true, false},
    {BLOCK_INVERTED, 672, 5, 2, 160, 1, true, false},
    {BLOCK_INVERTED, 960, 5, 1, 160, 2, true, false},
};

static const struct stage v3_small_stages[N_STAGES_MAX] = {
    {BLOCK_INVERTED, 16, 3, 2, 16, 1, true, true},
    {BLOCK_INVERTED, 72, 3, 2, 24, 1, false, true},
    {BLOCK_INVERTED, 88, 3, 1, 24, 1, false, true},
    {BLOCK_INVERTED, 96, 5, 2, 40, 1, true, false},
    {BLOCK_INVERTED, 240, 5, 1, 40, 2, true, false},
    {BLOCK_INVERTED, 120, 5, 1, 48, 1, true, false},
    {BLOCK_INVERTED, 144, 5, 1, 48, 1, true, false},
    {BLOCK_INVERTED, 288, 5, 2, 96, 1, true, false},
    {BLOCK_INVERTED, 576, 5, 1, 96, 2, true, false},
};

static const struct stage mobilenet_v2_stages[N_STAGES_MAX] = {
    {BLOCK_INVERTED, 1, 3, 1, 16, 1, false, false},
    {BLOCK_INVERTED, 6, 3, 2, 24, 2, false, false},
    {BLOCK_INVERTED, 6, 3, 2, 32, 3, false, false},
    {BLOCK_INVERTED, 6, 3, 2, 64, 4, false, false},
    {BLOCK_INVERTED, 6, 3, 1, 96, 3, false, false},
    {BLOCK_INVERTED, 6, 3, 2, 160, 3, false, false},
    {BLOCK_INVERTED, 6, 3, 1, 320, 1, false, false},
};

static const struct stage mnasnet_stages[N_STAGES_MAX] = {
    {BLOCK_INVERTED, 1, 3, 1, 16, 1, false, true},
    {BLOCK_INVERTED, 3, 3, 2, 24, 3, false, true},
    {BLOCK_INVERTED, 3, 5, 2, 40, 3, false, true},
    {BLOCK_INVERTED, 6, 5, 2, 80, 3, false, true},
    {BLOCK_INVERTED, 6, 3, 1, 96, 2, false, true},
    {BLOCK_INVERTED, 6, 5, 2, 192, 4, false, true},
    {BLOCK_INVERTED, 6, 3, 1, 320, 1, false, true},
};

#define MOBILE(name, stages, width, ...)                                               \
    {                                                                                  \
        name, stages, width, 1.0, 224, 32, 1280, 0, false, __VA_ARGS__                 \
    }

static const struct efficientnet rows[] = {
    ROW ("efficientnet_b0", b0_stages, 1.0, 1.0, 224, 32, 0, 0, false),
    ROW ("efficientnet_b1", b0_stages, 1.0, 1.1, 240, 32, 0, 0, false),
    ROW ("efficientnet_b2", b0_stages, 1.1, 1.2, 288, 32, 0, 0, false),
    ROW ("efficientnet_b3", b0_stages, 1.2, 1.4, 300, 32, 0, 0, false),
    ROW ("efficientnet_b4", b0_stages, 1.4, 1.8, 380, 32, 0, 0, false),
    ROW ("efficientnet_b5", b0_stages, 1.6, 2.2, 456, 32, 0, 0, false),
    ROW ("efficientnet_b6", b0_stages, 1.8, 2.6, 528, 32, 0, 0, false),
    ROW ("efficientnet_b7", b0_stages, 2.0, 3.1, 600, 32, 0, 0, false),
    ROW ("efficientnet_l2", b0_stages, 4.3, 5.3, 800, 32, 0, 0, false),
    ROW ("efficientnet_widese_b0", b0_stages, 1.0, 1.0, 224, 32, 0, 0, true),
    ROW ("efficientnet_widese_b4", b0_stages, 1.4, 1.8, 380, 32, 0, 0, true),
    ROW ("efficientnet_v2_s", v2_s_stages, 1.0, 1.0, 384, 24, 1280, 0, false),
    ROW ("efficientnet_v2_m", v2_m_stages, 1.0, 1.0, 480, 24, 1280, 0, false),
    ROW ("efficientnet_v2_l", v2_l_stages, 1.0, 1.0, 480, 32, 1280, 0, false),
    ROW ("mobilenet_v3_large", v3_large_stages, 1.0, 1.0, 224, 16, 0, 1280, false),
    ROW ("mobilenet_v3_small", v3_small_stages, 1.0, 1.0, 224, 16, 0, 1024, false),
    /* End of rows */
};

static const struct efficientnet mobile_rows[] = {
    MOBILE ("mobilenet_v2", mobilenet_v2_stages, 1.0, false, true, true),
    MOBILE ("mobilenetv2_050", mobilenet_v2_stages, 0.5, false, true, true),
    MOBILE ("mobilenetv2_140", mobilenet_v2_stages, 1.4, false, true, true),
    MOBILE ("mnasnet0_5", mnasnet_stages, 0.5, true, true, false),
    MOBILE ("mnasnet0_75", mnasnet_stages, 0.75, true, true, false),
    MOBILE ("mnasnet1_0", mnasnet_stages, 1.0, true, true, false),
    MOBILE ("mnasnet1_3", mnasnet_stages, 1.3, true, true, false),
    /* End of mobile_rows */
};

static void add_conv (struct dn_build *build,
                      double out,
                      int kernel,
                      int stride,
                      double groups,
                      bool rectify)
{
    dn_build_conv_norm (build, out, kernel, stride, groups);
    dn_build_activation (build, rectify ? DN_ACTIVATION_RELU : DN_ACTIVATION_GELU);
}

/* MobileNetV3's are of ReLU and hard-sigmoid. */
static void add_gate (struct dn_build *build,
                      const struct efficientnet *row,
                      double in,
                      double inner)
{
    if (row->hidden > 0)
        dn_build_gate (build,
                       dn_build_round (floor (inner / 4), 8),
                       DN_ACTIVATION_RELU,
                       DN_ACTIVATION_GELU);
    else
        dn_build_gate (build,
                       fmax (1, floor ((row->wide_gate ? inner : in) / 4)),
                       DN_ACTIVATION_GELU,
                       DN_ACTIVATION_SIGMOID);
}

static void add_block (struct dn_build *build,
                       const struct efficientnet *row,
                       const struct stage *stage,
                       double out,
                       int stride,
                       double width)
{
    double in = build->at.channels;
    bool v3 = row->hidden > 0;
    double inner = v3 ? dn_build_round (stage->expand * width, 8)
                      : dn_build_round (in * stage->expand, 8);

    if (stage->block == BLOCK_FUSED) {
        add_conv (build, inner == in ? out : inner, stage->kernel, stride, 1, false);
    } else {
        if (inner != in)
            add_conv (build, inner, 1, 1, 1, stage->rectify);
        add_conv (build, inner, stage->kernel, stride, inner, stage->rectify);
        if (stage->gate)
            add_gate (build, row, in, inner);
    }
    if (stage->block == BLOCK_INVERTED || inner != in)
        dn_build_conv_norm (build, out, 1, 1, 1);
    if (stride == 1 && in == out) {
        /* Stochastic depth skips the block for some of the samples. */
        if (!v3 && !row->mobile)
            dn_build_elementwise (build, 1);
        dn_build_add (build);
    }
}

static void add_stage (struct dn_build *build,
                       const struct efficientnet *row,
                       const struct stage *stage,
                       int stride,
                       double width)
{
    double out = dn_build_round (stage->channels * width, 8);

    add_block (build, row, stage, out, stride, width);
    DN_REPEAT (build, ceil (stage->n * row->depth) - 1)
        add_block (build, row, stage, out, 1, width);
}

/* MobileNetV3 has an extra linear layer after the average. */
static void add_head (struct dn_build *build,
                      const struct efficientnet *row,
                      double classes)
{
    bool none =
        dn_build_head (build, DN_HEAD_CLASSIFIER, DN_HEAD_BIT (NONE)) == DN_HEAD_NONE;

    if (row->hidden <= 0 || none) {
        dn_build_classifier (build, classes, true);
        return;
    }
    dn_build_pool_global (build);
    dn_build_linear (build, row->hidden, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_dropout (build);
    dn_build_linear (build, DN_WANT (build, classes, classes), true);
    dn_build_loss (build);
}

static DN_COLD void build_efficientnet (struct dn_build *build, const void *data)
{
    const struct efficientnet *row = data;
    double width = DN_WANT_REAL (build, width, row->width);
    bool cifar = row->small && dn_build_stem (build, DN_STEM_IMAGENET) == DN_STEM_CIFAR;
    double last = row->last;

    dn_build_image (build, 3, cifar ? 32 : row->image, 2);
    add_conv (build,
              dn_build_round (row->stem * width, 8),
              3,
              cifar ? 1 : 2,
              1,
              row->rectify);
    for (int i = 0; i < N_STAGES_MAX && row->stages[i].block != BLOCK_NONE; i++) {
        bool flat = cifar && i == CIFAR_STAGE;

        add_stage (
            build, row, &row->stages[i], flat ? 1 : row->stages[i].stride, width);
    }
    if (last <= 0)
        last = (row->hidden > 0 ? 6 : 4) * build->at.channels;
    if (row->small)
        last = dn_build_round (last * fmax (width, 1), 8);
    add_conv (build, last, 1, 1, 1, row->rectify);
    add_head (build, row, cifar ? 10 : 1000);
}

const struct dn_zoo_family dn_zoo_efficientnet =
    DN_ZOO_FAMILY ("efficientnet", rows, build_efficientnet);
const struct dn_zoo_family dn_zoo_mobilenet =
    DN_ZOO_FAMILY ("mobilenet", mobile_rows, build_efficientnet);
