/* ssd.c - SSD300 on a ResNet-50
 *
 * Liu et al. (arXiv 1512.02325) with the network of NVIDIA's DeepLearningExamples and
 * MLPerf: the first three stages of the backbone, the third without stride, five more
 * blocks, and on each of the six levels one convolution to boxes and one to classes.
 * Matching of boxes is not counted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "backbone.h"
#include "zoo.h"

struct ssd {
    struct dn_zoo_entry entry;
};

static const struct ssd rows[] = {
    {{"ssd300_resnet50", "ssd"}},
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

static void build_ssd (struct dn_build *build, const void *row)
{
    const struct dn_backbone backbone = {.net = DN_RESNET_50, .stages = 3, .dense = 2};
    double classes = DN_WANT (build, classes, 81);
    struct dn_shape levels[DN_BACKBONE_STAGES];

    (void) row;
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

const struct dn_zoo_family dn_zoo_ssd = DN_ZOO_FAMILY (rows, build_ssd);
