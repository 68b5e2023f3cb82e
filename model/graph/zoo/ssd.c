/* ssd.c - SSD300 on a ResNet-50, SSDLite on MobileNetV3
 *
 * Liu et al. (arXiv 1512.02325) with the network of NVIDIA's DeepLearningExamples and
 * MLPerf: the first three stages of the backbone, the third without stride, five more
 * blocks, and on each of the six levels one convolution to boxes and one to classes.
 * Matching of boxes is not counted. SSDLite (Sandler et al., 1801.04381) as torchvision
 * trains it: two levels of the backbone and four more, all outputs separable.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "backbone.h"
#include "zoo.h"

/* Boxes at each position of a level of SSDLite. */
#define LITE_BOXES 6.0

struct ssd {
    struct dn_zoo_entry entry;
    bool lite;
};

static const struct ssd rows[] = {
    {{"ssd300_resnet50", "ssd"}, false},
    {{"ssdlite320_mobilenet_v3_large", "ssd"}, true},
    /* End of rows */
};

/* Blocks after the backbone. */
static const struct {
    double inner;
    double out;
    int stride; /* 1: without padding */
} blocks[] = {{256, 512, 2},
              {256, 512, 2},
              {128, 256, 2},
              {128, 256, 1},
              {128, 256, 1}};

/* Boxes at each position of a level. */
static const double boxes[] = {4, 6, 6, 6, 4, 4};

#define N_BLOCKS ((int) DN_N_ELEMENTS (blocks))

void dn_ssd_add_outputs (struct dn_build *build, double n, double classes)
{
    struct dn_shape level;

    dn_build_keep (build);
    level = build->at;
    dn_build_conv (build, 4 * n, 3, 1, 1, 1, true);
    dn_build_loss (build);
    build->at = level;
    dn_build_conv (build, n * classes, 3, 1, 1, 1, true);
    dn_build_loss (build);
    build->at = level;
}

/* Coordinates and classes on a level, each of a convolution per channel and one across
 * them.
 */
static void add_lite_outputs (struct dn_build *build,
                              struct dn_shape level,
                              double classes)
{
    const double outputs[] = {4, classes};

    for (int i = 0; i < (int) DN_N_ELEMENTS (outputs); i++) {
        build->at = level;
        dn_build_keep (build);
        level.kept = true;
        dn_build_conv_norm_gelu (build, level.channels, 3, 1, level.channels);
        dn_build_conv (build, LITE_BOXES * outputs[i], 1, 1, 0, 1, true);
        dn_build_loss (build);
    }
    build->at = level;
}

static void build_lite (struct dn_build *build)
{
    static const double outs[] = {512, 256, 256, 128};
    double classes = DN_WANT (build, classes, 91);
    struct dn_shape levels[DN_BACKBONE_STAGES];

    dn_build_image (build, 3, 320, 2, 4);
    dn_mobilenet_v3_add (build, &(struct dn_mobilenet_v3){.narrow = true}, levels);
    add_lite_outputs (build, levels[1], classes);
    add_lite_outputs (build, levels[3], classes);
    for (int i = 0; i < (int) DN_N_ELEMENTS (outs); i++) {
        dn_build_conv_norm_gelu (build, outs[i] / 2, 1, 1, 1);
        dn_build_conv_norm_gelu (build, outs[i] / 2, 3, 2, outs[i] / 2);
        dn_build_conv_norm_gelu (build, outs[i], 1, 1, 1);
        add_lite_outputs (build, build->at, classes);
    }
    dn_build_each (build, DN_MATCH_KERNELS);
}

static void build_resnet (struct dn_build *build)
{
    const struct dn_backbone backbone = {.net = DN_RESNET_50, .stages = 3, .dense = 2};
    double classes = DN_WANT (build, classes, 81);
    struct dn_shape levels[DN_BACKBONE_STAGES];

    dn_build_image (build, 3, 300, 2, 4);
    dn_backbone_add (build, &backbone, levels);
    dn_ssd_add_outputs (build, boxes[0], classes);
    for (int i = 0; i < N_BLOCKS; i++) {
        int stride = blocks[i].stride;

        dn_build_conv_norm_relu (build, blocks[i].inner, 1, 1, 1);
        dn_build_conv (build, blocks[i].out, 3, stride, stride == 2, 1, false);
        dn_build_norm (build, DN_NORM_BATCH);
        dn_build_activation (build, DN_ACTIVATION_RELU);
        dn_ssd_add_outputs (build, boxes[i + 1], classes);
    }
}

static void build_ssd (struct dn_build *build, const void *data)
{
    const struct ssd *row = data;

    if (row->lite)
        build_lite (build);
    else
        build_resnet (build);
}

const struct dn_zoo_family dn_zoo_ssd = DN_ZOO_FAMILY (rows, build_ssd);
