/* detection.c - detectors that classify regions of an image
 *
 * Faster R-CNN (Ren et al., arXiv 1506.01497), Mask R-CNN (1703.06870), Cascade R-CNN
 * (1712.00726), Panoptic FPN (1901.02446) and Hybrid Task Cascade (1901.07518) on a
 * residual network with a feature pyramid, on its fourth stage (c4) or on its dilated
 * fifth (dc5), and Faster R-CNN with a pyramid on MobileNetV3. Three libraries name
 * them: torchvision (maskrcnn_resnet50_fpn), detectron2 (mask_rcnn_r_50_fpn) and
 * mmdetection (mask_rcnn_r50_fpn). They start from a backbone pretrained on ImageNet
 * (detectron2's ResNet and that of c4 is the one of the original authors, with strides
 * in the 1x1 convolutions): its stem, first stage and statistics are frozen; only in
 * detectron2 the scales do not count as parameters. In training, 512 regions are
 * sampled per image, of which at most 128 have masks or keypoints; those numbers are
 * counted. Matching and suppression count as small kernels, image by image.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "backbone.h"
#include "zoo.h"

#include <math.h>

#define REGIONS       512.0
#define MASK_REGIONS  128.0
#define REGION_SIZE   7.0
#define MASK_SIZE     14.0
#define REGION_HIDDEN 1024.0
#define KEYPOINTS     17.0

/* Anchors per position: of a level of the pyramid, of a single level. */
#define LEVEL_ANCHORS  3.0
#define SINGLE_ANCHORS 15.0

/* Images are padded to a multiple of this. */
#define PADDING 32

#define N_LEVELS        5
#define N_MOBILE_LEVELS 3
#define N_CASCADE       3

/* Work done image by image: boxes are decoded and suppressed on each level, matched
 * with the ground truth, sampled and encoded, for the proposals and for the regions;
 * masks are cut out.
 */
#define LEVEL_KERNELS 16.0 /* decode, clip, drop the small, sort, suppress */
#define MASK_KERNELS  40.0

/* Classes of the semantic branch: things and stuff as detectron2 counts them for
 * Panoptic FPN, stuff of COCO for Hybrid Task Cascade.
 */
#define PANOPTIC_CLASSES 54.0
#define STUFF_CLASSES    183.0

enum neck {
    NECK_FPN,
    NECK_MOBILE, /* a pyramid on the last two levels of MobileNetV3 */
    NECK_C4,
    NECK_DC5
};

struct head {
    bool given; /* the regions come with the sample: no network proposes them */
    int boxes;
    int masks;
    bool keypoints;
    bool semantic;   /* a semantic branch (Panoptic FPN) */
    bool flow;       /* of a hybrid task cascade */
    int depth;       /* convolutions before the proposals; 0: one */
    double classes;  /* default */
    bool background; /* is one more class */
};

static const struct head maskrcnn = {.boxes = 1, .masks = 1, .classes = 91};
static const struct head fasterrcnn = {.boxes = 1, .classes = 91};
static const struct head keypointrcnn = {.boxes = 1, .keypoints = true, .classes = 2};

static const struct head maskrcnn_v2 = {.boxes = 1,
                                        .masks = 1,
                                        .depth = 2,
                                        .classes = 91};
static const struct head fasterrcnn_v2 = {.boxes = 1, .depth = 2, .classes = 91};

#define COCO .classes = 80, .background = true
static const struct head rpn = {COCO};
static const struct head fast = {.given = true, .boxes = 1, COCO};
static const struct head fast_mask = {.given = true, .boxes = 1, .masks = 1, COCO};
static const struct head faster = {.boxes = 1, COCO};
static const struct head mask = {.boxes = 1, .masks = 1, COCO};
static const struct head keypoint = {.boxes = 1,
                                     .keypoints = true,
                                     .classes = 1,
                                     .background = true};
static const struct head cascade = {.boxes = N_CASCADE, COCO};
static const struct head cascade_one_mask = {.boxes = N_CASCADE, .masks = 1, COCO};
static const struct head cascade_mask = {.boxes = N_CASCADE, .masks = N_CASCADE, COCO};
static const struct head panoptic = {.boxes = 1, .masks = 1, .semantic = true, COCO};
static const struct head hybrid = {.boxes = N_CASCADE,
                                   .masks = N_CASCADE,
                                   .flow = true,
                                   COCO};

struct detection {
    struct dn_zoo_entry entry;
    const struct head *head;
    enum neck neck;
    enum dn_norm norm; /* of the pyramid and the heads; DN_NORM_PLAIN: none */
    struct dn_backbone backbone;
    double dims[2]; /* of the image; 0: 800 x 1333 */
};

/* clang-format off */
#define ROW_OF(name, head, neck, norm, ...)                                            \
    {{name, "detection"}, &(head), neck, norm, .backbone = {__VA_ARGS__}}
#define ROW(name, head, neck, ...)                                                     \
    ROW_OF (name, head, neck, DN_NORM_PLAIN, .frozen = true, __VA_ARGS__)

#define TORCHVISION(name, head)                                                        \
    ROW (name, head, NECK_FPN, .net = DN_RESNET_50, .norm = DN_BACKBONE_SCALES)

#define TORCHVISION_MOBILE(name, head, height, width)                                  \
    {{name, "detection"}, &(head), NECK_MOBILE, DN_NORM_PLAIN, .dims = {height, width}}

#define TORCHVISION_V2(name, head)                                                     \
    ROW_OF (name, head, NECK_FPN, DN_NORM_BATCH, .frozen = true, .net = DN_RESNET_50)

#define DETECTRON(name, head, neck, ...)                                               \
    ROW (name, head, neck, .norm = DN_BACKBONE_FIXED, __VA_ARGS__)
#define ORIGINAL(name, head, neck, ...)                                                \
    DETECTRON (name, head, neck, .early = true, __VA_ARGS__)
#define DETECTRON_C4(name, head)                                                       \
    ORIGINAL (name "_r_50_c4", head, NECK_C4, .net = DN_RESNET_50, .stages = 3),      \
    ORIGINAL (name "_r_101_c4", head, NECK_C4, .net = DN_RESNET_101, .stages = 3)
#define DETECTRON_DC5(name, head)                                                      \
    ORIGINAL (name "_r_50_dc5", head, NECK_DC5, .net = DN_RESNET_50, .dense = 3),     \
    ORIGINAL (name "_r_101_dc5", head, NECK_DC5, .net = DN_RESNET_101, .dense = 3)
#define DETECTRON_FPN(name, head)                                                      \
    ORIGINAL (name "_r_50_fpn", head, NECK_FPN, .net = DN_RESNET_50),                 \
    ORIGINAL (name "_r_101_fpn", head, NECK_FPN, .net = DN_RESNET_101),               \
    DETECTRON (name "_x_101_32x8d_fpn", head, NECK_FPN, .net = DN_RESNEXT_101_32X8D)

#define MMDETECTION(name, head, neck, ...)                                             \
    ROW (name, head, neck, .norm = DN_BACKBONE_SCALES, __VA_ARGS__)
#define MMDETECTION_C4(name, head)                                                     \
    MMDETECTION (name "_r50_c4", head, NECK_C4, .net = DN_RESNET_50, .stages = 3,      \
                 .early = true)
#define MMDETECTION_FPN(name, head)                                                    \
    MMDETECTION (name "_r50_fpn", head, NECK_FPN, .net = DN_RESNET_50),                \
    MMDETECTION (name "_r101_fpn", head, NECK_FPN, .net = DN_RESNET_101),              \
    MMDETECTION (name "_x101_32x4d_fpn", head, NECK_FPN,                               \
                 .net = DN_RESNEXT_101_32X4D),                                         \
    MMDETECTION (name "_x101_64x4d_fpn", head, NECK_FPN,                               \
                 .net = DN_RESNEXT_101_64X4D)

static const struct detection rows[] = {
    TORCHVISION ("maskrcnn_resnet50_fpn", maskrcnn),
    TORCHVISION ("fasterrcnn_resnet50_fpn", fasterrcnn),
    TORCHVISION ("keypointrcnn_resnet50_fpn", keypointrcnn),
    TORCHVISION_V2 ("maskrcnn_resnet50_fpn_v2", maskrcnn_v2),
    TORCHVISION_V2 ("fasterrcnn_resnet50_fpn_v2", fasterrcnn_v2),
    TORCHVISION_MOBILE ("fasterrcnn_mobilenet_v3_large_fpn", fasterrcnn, 800, 1333),
    TORCHVISION_MOBILE ("fasterrcnn_mobilenet_v3_large_320_fpn", fasterrcnn, 320,
                        640),
    DETECTRON_C4 ("rpn", rpn),
    DETECTRON_C4 ("faster_rcnn", faster),
    DETECTRON_C4 ("mask_rcnn", mask),
    DETECTRON_DC5 ("faster_rcnn", faster),
    DETECTRON_DC5 ("mask_rcnn", mask),
    DETECTRON_FPN ("rpn", rpn),
    DETECTRON_FPN ("fast_rcnn", fast),
    DETECTRON_FPN ("faster_rcnn", faster),
    DETECTRON_FPN ("mask_rcnn", mask),
    DETECTRON_FPN ("keypoint_rcnn", keypoint),
    DETECTRON_FPN ("cascade_mask_rcnn", cascade_one_mask),
    ORIGINAL ("panoptic_fpn_r_50", panoptic, NECK_FPN, .net = DN_RESNET_50),
    ORIGINAL ("panoptic_fpn_r_101", panoptic, NECK_FPN, .net = DN_RESNET_101),
    ORIGINAL ("mask_rcnn_r_50_fpn_dconv_c3_c5", mask, NECK_FPN,
               .net = DN_RESNET_50, .deform = 1),
    ROW_OF ("mask_rcnn_r_50_fpn_gn", mask, NECK_FPN, DN_NORM_GROUP, .frozen = true,
            .net = DN_RESNET_50, .norm = DN_BACKBONE_GROUP),
    ROW_OF ("mask_rcnn_r_50_fpn_syncbn", mask, NECK_FPN, DN_NORM_BATCH, .frozen = true,
            .net = DN_RESNET_50, .early = true),
    ROW_OF ("scratch_mask_rcnn_r_50_fpn_gn", mask, NECK_FPN, DN_NORM_GROUP,
            .net = DN_RESNET_50, .norm = DN_BACKBONE_GROUP),
    ROW_OF ("scratch_mask_rcnn_r_50_fpn_syncbn", mask, NECK_FPN, DN_NORM_BATCH,
            .net = DN_RESNET_50),
    MMDETECTION_C4 ("rpn", rpn),
    MMDETECTION_C4 ("fast_rcnn", fast),
    MMDETECTION_C4 ("fast_mask_rcnn", fast_mask),
    MMDETECTION_C4 ("faster_rcnn", faster),
    MMDETECTION_C4 ("mask_rcnn", mask),
    MMDETECTION_C4 ("cascade_rcnn", cascade),
    MMDETECTION_C4 ("cascade_mask_rcnn", cascade_mask),
    MMDETECTION_FPN ("rpn", rpn),
    MMDETECTION_FPN ("fast_rcnn", fast),
    MMDETECTION_FPN ("fast_mask_rcnn", fast_mask),
    MMDETECTION_FPN ("faster_rcnn", faster),
    MMDETECTION_FPN ("mask_rcnn", mask),
    MMDETECTION_FPN ("cascade_rcnn", cascade),
    MMDETECTION_FPN ("cascade_mask_rcnn", cascade_mask),
    MMDETECTION_FPN ("htc", hybrid),
    /* End of rows */
};
/* clang-format on */

/* Two outputs per anchor and position from one activation. */
static void add_outputs (struct dn_build *build, double anchors)
{
    struct dn_shape at;

    dn_build_keep (build);
    at = build->at;
    dn_build_conv (build, anchors, 1, 1, 0, 1, true);
    build->at = at;
    dn_build_conv (build, 4 * anchors, 1, 1, 0, 1, true);
}

/* Region proposals on 'n' levels with one set of parameters. */
static void add_proposals (struct dn_build *build,
                           const struct head *head,
                           struct dn_shape *levels,
                           int n)
{
    double anchors = n == N_LEVELS ? LEVEL_ANCHORS : SINGLE_ANCHORS;

    for (int i = 0; i < n; i++) {
        build->at = levels[i];
        dn_build_keep (build);
        levels[i].kept = true;
        for (int j = 0; j < (head->depth ? head->depth : 1); j++)
            dn_pyramid_add_conv_relu (build, levels[i].channels);
        add_outputs (build, anchors);
        build->shared = true;
    }
    build->shared = false;
}

/* Cut 'n' regions of 'size' x 'size' out of activations with 'channels'. */
static void add_crop (struct dn_build *build, double channels, double n, double size)
{
    build->at =
        (struct dn_shape){.channels = channels, .dim = {n, size, size}, .n_dims = 3};
    dn_build_copy (build);
}

/* The regions as one image: kernels of 1 or with padding do not change its size. */
static void add_joined (struct dn_build *build)
{
    build->at.dim[0] *= build->at.dim[1];
    build->at.dim[1] = build->at.dim[2];
    build->at.n_dims = 2;
}

/* Classes and boxes of a flat activation per region. */
static void add_classes (struct dn_build *build, const struct head *head)
{
    double classes = DN_WANT (build, classes, head->classes);
    double boxes = head->boxes > 1 ? 1 : classes;
    struct dn_shape at = build->at;

    dn_build_linear (build, classes + head->background, true);
    dn_build_loss (build);
    at.kept = true;
    build->at = at;
    dn_build_linear (build, 4 * boxes, true);
}

/* The first dimension counts regions; kernels do not extend over it. */
static void add_region_convs (struct dn_build *build,
                              int n,
                              double out,
                              enum dn_norm norm)
{
    struct dn_conv conv = {.out = out,
                           .kernel = {1, 3, 3},
                           .stride = {1, 1, 1},
                           .pad = {0, 1, 1},
                           .groups = 1,
                           .bias = norm == DN_NORM_PLAIN};

    for (int i = 0; i < n; i++) {
        dn_build_conv_of (build, &conv);
        if (norm != DN_NORM_PLAIN)
            dn_build_norm (build, norm);
        dn_build_activation (build, DN_ACTIVATION_RELU);
    }
}

/* The regions of one box head on a pyramid or a dilated stage: two layers, or with
 * normalisation four convolutions and one layer.
 */
static void add_regions (struct dn_build *build,
                         const struct head *head,
                         double channels,
                         enum dn_norm norm)
{
    bool plain = norm == DN_NORM_PLAIN;

    add_crop (build, channels, REGIONS, REGION_SIZE);
    add_region_convs (build, plain ? 0 : 4, channels, norm);
    build->at = (struct dn_shape){.channels = channels * REGION_SIZE * REGION_SIZE,
                                  .dim = {REGIONS},
                                  .n_dims = 1,
                                  .kept = !plain};
    for (int i = 0; i < (plain ? 2 : 1); i++) {
        dn_build_linear (build, REGION_HIDDEN, true);
        dn_build_activation (build, DN_ACTIVATION_RELU);
    }
    add_classes (build, head);
}

/* The regions of a box head on the fourth stage; the fifth works on each of them. */
static void add_regions_c4 (struct dn_build *build,
                            const struct head *head,
                            const struct dn_backbone *backbone,
                            double channels)
{
    add_crop (build, channels, REGIONS, MASK_SIZE);
    add_joined (build);
    dn_backbone_add_stage (build, backbone, DN_BACKBONE_STAGES - 1);
    build->at.dim[0] = REGIONS;
    build->at.n_dims = 1;
    dn_build_copy (build);
    build->shared = false;
    add_classes (build, head);
}

/* Twice the size, rectifier, masks of all classes. */
static void add_mask_outputs (struct dn_build *build, double classes)
{
    dn_build_conv_transpose (build, DN_PYRAMID, 2, 2, 0, true);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    dn_build_conv (build, classes, 1, 1, 0, 1, true);
    dn_build_loss (build);
}

static void add_masks (struct dn_build *build,
                       const struct head *head,
                       double channels,
                       enum dn_norm norm)
{
    double classes = DN_WANT (build, classes, head->classes);

    add_crop (build, channels, MASK_REGIONS, MASK_SIZE);
    add_region_convs (build, 4, DN_PYRAMID, norm);
    /* As one image of all regions: stride and kernel are equal, so nothing overlaps. */
    add_joined (build);
    add_mask_outputs (build, classes);
    dn_build_each (build, MASK_KERNELS);
}

/* Masks on the fourth stage, from what the fifth has made of the regions. */
static void add_masks_c4 (struct dn_build *build,
                          const struct head *head,
                          double channels)
{
    double classes = DN_WANT (build, classes, head->classes);

    add_crop (build, 2 * channels, MASK_REGIONS, REGION_SIZE);
    add_joined (build);
    add_mask_outputs (build, classes);
    dn_build_each (build, MASK_KERNELS);
}

/* Masks of stage 'stage' of a hybrid task cascade: the convolutions of the stages
 * before run again, and what they find is added to the regions.
 */
static void add_masks_flow (struct dn_build *build, const struct head *head, int stage)
{
    double classes = DN_WANT (build, classes, head->classes);
    struct dn_conv conv = {.out = DN_PYRAMID,
                           .kernel = {1, 1, 1},
                           .stride = {1, 1, 1},
                           .groups = 1,
                           .bias = true};

    add_crop (build, DN_PYRAMID, MASK_REGIONS, MASK_SIZE);
    dn_build_add (build);
    for (int i = 0; i <= stage; i++) {
        build->shared = i < stage;
        if (i > 0) {
            dn_build_conv_of (build, &conv);
            dn_build_activation (build, DN_ACTIVATION_RELU);
            dn_build_add (build);
        }
        add_region_convs (build, 4, DN_PYRAMID, DN_NORM_PLAIN);
    }
    build->shared = false;
    add_joined (build);
    add_mask_outputs (build, classes);
    dn_build_each (build, MASK_KERNELS);
}

/* Heat maps of keypoints; the transposed convolution doubles the size. */
static void add_keypoints (struct dn_build *build)
{
    add_crop (build, DN_PYRAMID, MASK_REGIONS, MASK_SIZE);
    add_region_convs (build, 8, 512, DN_NORM_PLAIN);
    add_joined (build);
    dn_build_conv_transpose (build, KEYPOINTS, 4, 2, 1, true);
    dn_build_upsample (build, 2);
    dn_build_loss (build);
    dn_build_each (build, MASK_KERNELS);
}

/* The semantic branch of Panoptic FPN: all levels become 128 channels at a quarter of
 * the image's size.
 */
static void add_semantic (struct dn_build *build, struct dn_shape *levels)
{
    for (int i = 0; i < DN_BACKBONE_STAGES; i++) {
        build->at = levels[i];
        levels[i].kept = true;
        for (int j = 0; j < (i > 0 ? i : 1); j++) {
            dn_build_conv (build, DN_PYRAMID / 2, 3, 1, 1, 1, false);
            dn_build_norm (build, DN_NORM_GROUP);
            dn_build_activation (build, DN_ACTIVATION_RELU);
            if (i > 0)
                dn_build_upsample (build, 2);
        }
        if (i > 0)
            dn_build_add (build);
    }
    build->at = levels[0];
    build->at.channels = DN_PYRAMID / 2;
    build->at.kept = false;
    dn_build_conv (build, PANOPTIC_CLASSES, 1, 1, 0, 1, true);
    dn_build_upsample (build, 4);
    dn_build_loss (build);
}

/* A 1x1 convolution and a rectifier. */
static void add_mixing (struct dn_build *build)
{
    dn_build_conv (build, DN_PYRAMID, 1, 1, 0, 1, true);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

/* The semantic branch of a hybrid task cascade, at an eighth of the image's size. */
static void add_fused_semantic (struct dn_build *build, struct dn_shape *levels)
{
    struct dn_shape end;

    for (int i = 0; i < N_LEVELS; i++) {
        build->at = levels[i];
        levels[i].kept = true;
        build->at.dim[0] = levels[1].dim[0];
        build->at.dim[1] = levels[1].dim[1];
        if (i != 1)
            dn_build_copy (build);
        add_mixing (build);
        if (i > 0)
            dn_build_add (build);
    }
    for (int i = 0; i < 4; i++)
        dn_pyramid_add_conv_relu (build, DN_PYRAMID);
    end = build->at;
    dn_build_conv (build, STUFF_CLASSES, 1, 1, 0, 1, true);
    dn_build_loss (build);
    end.kept = true;
    build->at = end;
    add_mixing (build);
}

/* Number of levels that regions are proposed on. */
static int n_levels_of (const struct detection *row)
{
    if (row->neck == NECK_MOBILE)
        return N_MOBILE_LEVELS;
    return row->neck == NECK_FPN ? N_LEVELS : 1;
}

/* Masks, keypoints and the semantic branch. */
static void add_others (struct dn_build *build,
                        const struct detection *row,
                        struct dn_shape *levels)
{
    const struct head *head = row->head;

    for (int i = 0; i < head->masks; i++) {
        if (head->flow)
            add_masks_flow (build, head, i);
        else if (row->neck == NECK_C4)
            add_masks_c4 (build, head, levels[0].channels);
        else
            add_masks (build, head, levels[0].channels, row->norm);
    }
    if (head->keypoints)
        add_keypoints (build);
    if (head->semantic)
        add_semantic (build, levels);
}

static void add_heads (struct dn_build *build,
                       const struct detection *row,
                       struct dn_shape *levels)
{
    const struct head *head = row->head;
    int n = n_levels_of (row);
    double kernels = 0;

    if (!head->given) {
        add_proposals (build, head, levels, n);
        kernels = n * LEVEL_KERNELS + DN_MATCH_KERNELS;
    }
    if (head->flow)
        add_fused_semantic (build, levels);
    for (int i = 0; i < head->boxes; i++) {
        build->shared = row->neck == NECK_C4 && i > 0;
        if (row->neck == NECK_C4)
            add_regions_c4 (build, head, &row->backbone, levels[0].channels);
        else
            add_regions (build, head, levels[0].channels, row->norm);
        kernels += DN_MATCH_KERNELS;
    }
    dn_build_each (build, kernels);
    add_others (build, row, levels);
}

/* The levels that regions are proposed on, from the image on. */
static void add_levels (struct dn_build *build,
                        const struct detection *row,
                        struct dn_shape levels[N_LEVELS])
{
    bool mobile = row->neck == NECK_MOBILE;
    int first = mobile ? 2 : 0;

    if (mobile) {
        build->fixed_norm = true;
        dn_mobilenet_v3_add (build, &(struct dn_mobilenet_v3){.frozen = true}, levels);
        build->fixed_norm = false;
        dn_build_keep (build);
    } else {
        dn_backbone_add (build, &row->backbone, levels);
    }
    if (!mobile && row->neck != NECK_FPN) {
        levels[0] = levels[row->neck == NECK_C4 ? 2 : 3];
        return;
    }
    dn_pyramid_add (build, levels, first, row->norm);
    build->at = levels[3];
    dn_build_pool (build, &(struct dn_pool){DN_POOL_MAX, .kernel = 1, .stride = 2});
    levels[3].kept = true;
    levels[4] = build->at;
    for (int i = 0; i + first < N_LEVELS; i++)
        levels[i] = levels[i + first];
}

static void build_detection (struct dn_build *build, const void *data)
{
    const struct detection *row = data;
    const double usual[2] = {800, 1333};
    struct dn_shape levels[N_LEVELS] = {{0}};

    dn_build_image_of (build, 3, row->dims[0] > 0 ? row->dims : usual, 2, 4);
    for (int i = 0; i < 2; i++)
        build->at.dim[i] = ceil (build->at.dim[i] / PADDING) * PADDING;
    add_levels (build, row, levels);
    add_heads (build, row, levels);
}

const struct dn_zoo_family dn_zoo_detection = DN_ZOO_FAMILY (rows, build_detection);
