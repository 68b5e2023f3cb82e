/* mobilenet.c - inverted residuals without gates: MobileNetV2 and MNASNet
 *
 * MobileNetV2 (Sandler et al., arXiv 1801.04381) and MNASNet (Tan et al., 1807.11626)
 * as torchvision implements them. width= multiplies all channels. stem=cifar of
 * MobileNetV2, as in kuangliu/pytorch-cifar: neither the first layer nor the second
 * stage has a stride.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#include <math.h>

/* A stage of 'n' blocks; the first has the stride. */
struct stage {
    int expand;
    int channels;
    int n;
    int stride;
    int kernel;
};

#define N_STAGES_MAX 7

/* The stage that has no stride with stem=cifar. */
#define CIFAR_STAGE 1

struct mobilenet {
    struct dn_zoo_entry entry;
    double width;
    const struct stage *stages;
    bool mnasnet;
};

static const struct stage mobilenet_v2_stages[N_STAGES_MAX] = {
    {1, 16, 1, 1, 3},
    {6, 24, 2, 2, 3},
    {6, 32, 3, 2, 3},
    {6, 64, 4, 2, 3},
    {6, 96, 3, 1, 3},
    {6, 160, 3, 2, 3},
    {6, 320, 1, 1, 3},
};

static const struct stage mnasnet_stages[N_STAGES_MAX] = {
    {1, 16, 1, 1, 3},
    {3, 24, 3, 2, 3},
    {3, 40, 3, 2, 5},
    {6, 80, 3, 2, 5},
    {6, 96, 2, 1, 3},
    {6, 192, 4, 2, 5},
    {6, 320, 1, 1, 3},
};

#define ROW(name, ...)                                                                 \
    {                                                                                  \
        {name, "mobilenet"}, __VA_ARGS__                                               \
    }

static const struct mobilenet rows[] = {
    ROW ("mobilenet_v2", 1.0, mobilenet_v2_stages, false),
    ROW ("mnasnet0_5", 0.5, mnasnet_stages, true),
    ROW ("mnasnet0_75", 0.75, mnasnet_stages, true),
    ROW ("mnasnet1_0", 1.0, mnasnet_stages, true),
    ROW ("mnasnet1_3", 1.3, mnasnet_stages, true),
    /* End of rows */
};

/* MNASNet never rounds down by more than 10 % either, but has no minimum. */
static double scale (double channels, double width)
{
    return dn_build_round (channels * width, 8);
}

/* MobileNetV2's rectifier is ReLU6, which keeps its input. */
static void add_conv (struct dn_build *build,
                      const struct mobilenet *row,
                      double out,
                      int kernel,
                      int stride,
                      double groups)
{
    dn_build_conv_norm (build, out, kernel, stride, groups);
    dn_build_activation (build, row->mnasnet ? DN_ACTIVATION_RELU : DN_ACTIVATION_GELU);
}

static void add_block (struct dn_build *build,
                       const struct mobilenet *row,
                       const struct stage *stage,
                       double out,
                       int stride)
{
    double inner = build->at.channels * stage->expand;
    bool residual = stride == 1 && build->at.channels == out;

    if (stage->expand != 1)
        add_conv (build, row, inner, 1, 1, 1);
    add_conv (build, row, inner, stage->kernel, stride, inner);
    dn_build_conv_norm (build, out, 1, 1, 1);
    if (residual)
        dn_build_add (build);
}

static void add_stage (struct dn_build *build,
                       const struct mobilenet *row,
                       const struct stage *stage,
                       double out,
                       int stride)
{
    double outer;

    add_block (build, row, stage, out, stride);
    outer = dn_build_repeat (build, stage->n - 1);
    add_block (build, row, stage, out, 1);
    dn_build_repeat_end (build, outer);
}

static void build_mobilenet (struct dn_build *build, const void *data)
{
    const struct mobilenet *row = data;
    double width = DN_WANT_REAL (build, width, row->width);
    bool cifar =
        !row->mnasnet && dn_build_stem (build, DN_STEM_IMAGENET) == DN_STEM_CIFAR;
    double last = row->mnasnet ? 1280 : dn_build_round (1280 * fmax (width, 1), 8);

    dn_build_image (build, 3, cifar ? 32 : 224, 2, 4);
    add_conv (build, row, scale (32, width), 3, cifar ? 1 : 2, 1);
    for (int i = 0; i < N_STAGES_MAX; i++) {
        const struct stage *stage = &row->stages[i];

        add_stage (build,
                   row,
                   stage,
                   scale (stage->channels, width),
                   cifar && i == CIFAR_STAGE ? 1 : stage->stride);
    }
    add_conv (build, row, last, 1, 1, 1);
    dn_build_classifier (build, cifar ? 10 : 1000, true);
}

const struct dn_zoo_family dn_zoo_mobilenet = DN_ZOO_FAMILY (rows, build_mobilenet);
