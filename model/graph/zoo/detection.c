/* detection.c - detectors on a ResNet-50 with a feature pyramid
 *
 * Mask R-CNN (He et al., arXiv 1703.06870), Faster R-CNN (1506.01497), RetinaNet
 * (1708.02002) and the pyramid (1612.03144) as torchvision trains them. The two-stage
 * ones start from a backbone pretrained on ImageNet: its stem, first stage and
 * statistics are frozen (their scales still count as parameters). In training, 512
 * regions are sampled per image, of which at most 128 have masks; those numbers are
 * counted. Matching and suppression count as small kernels, image by image.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#include <math.h>

/* Features of each level of the pyramid. */
#define PYRAMID 256.0

#define REGIONS       512.0
#define MASK_REGIONS  128.0
#define REGION_SIZE   7.0
#define MASK_SIZE     14.0
#define REGION_HIDDEN 1024.0

/* COCO with its unused class numbers, and background. */
#define CLASSES 91.0

/* Anchors per position. */
#define REGION_ANCHORS 3.0
#define RETINA_ANCHORS 9.0

/* Images are padded to a multiple of this. */
#define PADDING 32

#define N_LEVELS 5

/* Work done image by image: boxes are decoded and suppressed on each level, matched
 * with the ground truth, sampled and encoded, for the proposals and for the regions;
 * masks are cut out.
 */
#define LEVEL_KERNELS 16.0 /* decode, clip, drop the small, sort, suppress */
#define MATCH_KERNELS 80.0 /* overlaps, matches, samples, encoding: a quarter each */
#define MASK_KERNELS  40.0

struct detection {
    struct dn_zoo_entry entry;
    bool retina;
    bool mask;
};

static const struct detection rows[] = {
    {{"maskrcnn_resnet50_fpn", "detection"}, false, true},
    {{"fasterrcnn_resnet50_fpn", "detection"}, false, false},
    {{"retinanet_resnet50_fpn", "detection"}, true, false},
    /* End of rows */
};

static void add_conv_relu (struct dn_build *build, double out)
{
    dn_build_conv (build, out, 3, 1, 1, 1, true);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

/* Lateral 1x1 convolutions, sums from above and 3x3 convolutions on the levels 'first'
 * to 3; the results take their place. A level is kept by the next stage's convolution.
 */
static void add_pyramid (struct dn_build *build, struct dn_shape *levels, int first)
{
    for (int i = 3; i >= first; i--) {
        build->at = levels[i];
        build->at.kept = true;
        dn_build_conv (build, PYRAMID, 1, 1, 0, 1, true);
        if (i < 3) {
            dn_build_copy (build);
            dn_build_add (build);
        }
        dn_build_conv (build, PYRAMID, 3, 1, 1, 1, true);
        levels[i] = build->at;
    }
}

/* Two outputs per anchor and position from one activation. */
static void add_outputs (struct dn_build *build, double classes, double boxes)
{
    struct dn_shape at;

    dn_build_keep (build);
    at = build->at;
    dn_build_conv (build, classes, 1, 1, 0, 1, true);
    build->at = at;
    dn_build_conv (build, boxes, 1, 1, 0, 1, true);
}

/* Region proposals on all levels with one set of parameters. */
static void add_proposals (struct dn_build *build, struct dn_shape *levels)
{
    for (int i = 0; i < N_LEVELS; i++) {
        build->at = levels[i];
        dn_build_keep (build);
        levels[i].kept = true;
        add_conv_relu (build, PYRAMID);
        add_outputs (build, REGION_ANCHORS, 4 * REGION_ANCHORS);
        build->shared = true;
    }
    build->shared = false;
}

/* Cut 'n' regions of 'size' x 'size' out of the pyramid. */
static void add_crop (struct dn_build *build, double n, double size)
{
    build->at =
        (struct dn_shape){.channels = PYRAMID, .dim = {n, size, size}, .n_dims = 3};
    dn_build_copy (build);
}

static void add_regions (struct dn_build *build, double classes)
{
    struct dn_shape at;

    add_crop (build, REGIONS, REGION_SIZE);
    build->at = (struct dn_shape){
        .channels = PYRAMID * REGION_SIZE * REGION_SIZE, .dim = {REGIONS}, .n_dims = 1};
    for (int i = 0; i < 2; i++) {
        dn_build_linear (build, REGION_HIDDEN, true);
        dn_build_activation (build, DN_ACTIVATION_RELU);
    }
    at = build->at;
    dn_build_linear (build, classes, true);
    dn_build_loss (build);
    build->at = at;
    dn_build_linear (build, 4 * classes, true);
}

/* The first dimension counts regions; kernels do not extend over it. */
static void add_masks (struct dn_build *build, double classes)
{
    struct dn_conv conv = {.out = PYRAMID,
                           .kernel = {1, 3, 3},
                           .stride = {1, 1, 1},
                           .pad = {0, 1, 1},
                           .groups = 1,
                           .bias = true};

    add_crop (build, MASK_REGIONS, MASK_SIZE);
    for (int i = 0; i < 4; i++) {
        dn_build_conv_of (build, &conv);
        dn_build_activation (build, DN_ACTIVATION_RELU);
    }
    /* As one image of all regions: stride and kernel are equal, so nothing overlaps. */
    build->at.dim[0] *= build->at.dim[1];
    build->at.dim[1] = build->at.dim[2];
    build->at.n_dims = 2;
    dn_build_conv_transpose (build, PYRAMID, 2, 2, 0, true);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    dn_build_conv (build, classes, 1, 1, 0, 1, true);
    dn_build_loss (build);
}

static void add_rcnn (struct dn_build *build, struct dn_shape *levels, bool mask)
{
    double classes = DN_WANT (build, classes, CLASSES);

    add_pyramid (build, levels, 0);
    build->at = levels[3];
    dn_build_pool (build, &(struct dn_pool){DN_POOL_MAX, .kernel = 1, .stride = 2});
    levels[4] = build->at;
    levels[3].kept = true;
    add_proposals (build, levels);
    add_regions (build, classes);
    dn_build_each (build, N_LEVELS * LEVEL_KERNELS + 2 * MATCH_KERNELS);
    if (mask) {
        add_masks (build, classes);
        dn_build_each (build, MASK_KERNELS);
    }
}

/* One of the two towers of RetinaNet, on all levels with one set of parameters. */
static void add_tower (struct dn_build *build,
                       const struct dn_shape *levels,
                       double out)
{
    for (int i = 1; i < 1 + N_LEVELS; i++) {
        build->at = levels[i];
        for (int j = 0; j < 4; j++)
            add_conv_relu (build, PYRAMID);
        dn_build_conv (build, out, 3, 1, 1, 1, true);
        build->shared = true;
    }
    build->shared = false;
}

static void add_retina (struct dn_build *build, struct dn_shape *levels)
{
    double classes = DN_WANT (build, classes, CLASSES);

    add_pyramid (build, levels, 1);
    build->at = levels[3];
    dn_build_conv (build, PYRAMID, 3, 2, 1, 1, true);
    levels[4] = build->at;
    dn_build_activation (build, DN_ACTIVATION_RELU);
    dn_build_conv (build, PYRAMID, 3, 2, 1, 1, true);
    levels[5] = build->at;
    levels[3].kept = true;
    add_tower (build, levels, RETINA_ANCHORS * classes);
    for (int i = 1; i < 1 + N_LEVELS; i++)
        levels[i].kept = true;
    add_tower (build, levels, RETINA_ANCHORS * 4);
    dn_build_loss (build);
    dn_build_each (build, MATCH_KERNELS);
}

static void build_detection (struct dn_build *build, const void *data)
{
    const struct detection *row = data;
    const double dims[2] = {800, 1333};
    struct dn_shape levels[1 + N_LEVELS] = {{0}};

    dn_build_image_of (build, 3, dims, 2, 4);
    for (int i = 0; i < 2; i++)
        build->at.dim[i] = ceil (build->at.dim[i] / PADDING) * PADDING;
    if (row->retina) {
        dn_zoo_resnet50_add (build, levels);
        add_retina (build, levels);
    } else {
        dn_zoo_resnet50_add_tuned (build, levels);
        add_rcnn (build, levels, row->mask);
    }
}

const struct dn_zoo_family dn_zoo_detection = DN_ZOO_FAMILY (rows, build_detection);
