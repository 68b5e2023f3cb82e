/* dense.c - detectors that classify every position of a feature pyramid
 *
 * RetinaNet (Lin et al., arXiv 1708.02002) and FCOS (1904.01355). Three libraries name
 * them, as in detection.c: torchvision (retinanet_resnet50_fpn) takes the level above
 * the pyramid from the pyramid, the others from the backbone. The network that MLPerf
 * trains (retinanet_resnext50_32x4d_fpn) is torchvision's on the 264 classes of
 * OpenImages that it uses; its submitters' code is assumed to match the boxes of a
 * batch at once. Otherwise matching counts as small kernels, image by image.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "backbone.h"
#include "zoo.h"

#include <math.h>

/* Anchors per position of RetinaNet. */
#define ANCHORS 9.0

/* Images are padded to a multiple of this. */
#define PADDING 32

/* Levels of the pyramid: the first of those used, and the end. */
#define FIRST 1
#define END   6

struct dense {
    struct dn_zoo_entry entry;
    bool fcos;
    bool norm;    /* of groups, in the towers */
    bool above;   /* the level above the pyramid comes from the backbone */
    bool at_once; /* the boxes of all images of a batch are matched */
    double classes;
    double dims[2];
    struct dn_backbone backbone;
};

/* clang-format off */
#define ROW(name, fcos, above, classes, ...)                                           \
    {{name, "detection"}, fcos, fcos, above, false, classes, {800, 1333}, {__VA_ARGS__}}
#define DETECTRON(name, resnet)                                                        \
    ROW (name, false, true, 80, .net = (resnet), .norm = DN_BACKBONE_FIXED,            \
         .frozen = true, .early = true)
#define MMDETECTION(name, resnet)                                                      \
    ROW (name, false, true, 80, .net = (resnet), .norm = DN_BACKBONE_SCALES,           \
         .frozen = true)

static const struct dense rows[] = {
    ROW ("retinanet_resnet50_fpn", false, false, 91, .net = DN_RESNET_50),
    ROW ("fcos_resnet50_fpn", true, false, 91, .net = DN_RESNET_50),
    {{"retinanet_resnet50_fpn_v2", "detection"}, false, true, true, false, 91,
     {800, 1333}, {.net = DN_RESNET_50}},
    {{"retinanet_resnext50_32x4d_fpn", "detection"}, false, false, false, true, 264,
     {800, 800},
     {.net = DN_RESNEXT_50_32X4D, .norm = DN_BACKBONE_FIXED, .frozen = true}},
    DETECTRON ("retinanet_r_50_fpn", DN_RESNET_50),
    DETECTRON ("retinanet_r_101_fpn", DN_RESNET_101),
    MMDETECTION ("retinanet_r50_fpn", DN_RESNET_50),
    MMDETECTION ("retinanet_r101_fpn", DN_RESNET_101),
    MMDETECTION ("retinanet_x101_32x4d_fpn", DN_RESNEXT_101_32X4D),
    MMDETECTION ("retinanet_x101_64x4d_fpn", DN_RESNEXT_101_64X4D),
    /* End of rows */
};
/* clang-format on */

/* The convolutions of a tower on one level. */
static void add_convs (struct dn_build *build, const struct dense *row)
{
    for (int i = 0; i < 4; i++) {
        dn_build_conv (build, DN_PYRAMID, 3, 1, 1, 1, row->fcos || !row->norm);
        if (row->norm)
            dn_build_norm (build, DN_NORM_GROUP);
        dn_build_activation (build, DN_ACTIVATION_RELU);
    }
}

/* A tower on all levels with one set of parameters. Its end has 'out' outputs; FCOS has
 * 'more' besides.
 */
static void add_tower (struct dn_build *build,
                       const struct dn_shape *levels,
                       const struct dense *row,
                       double out,
                       double more)
{
    for (int i = FIRST; i < END; i++) {
        struct dn_shape end;

        build->at = levels[i];
        add_convs (build, row);
        end = build->at;
        dn_build_conv (build, out, 3, 1, 1, 1, true);
        if (more > 0) {
            build->at = end;
            dn_build_conv (build, more, 3, 1, 1, 1, true);
        }
        build->shared = true;
    }
    build->shared = false;
}

/* Two levels above the pyramid. */
static void add_tops (struct dn_build *build, struct dn_shape *levels)
{
    dn_build_conv (build, DN_PYRAMID, 3, 2, 1, 1, true);
    levels[4] = build->at;
    dn_build_activation (build, DN_ACTIVATION_RELU);
    dn_build_conv (build, DN_PYRAMID, 3, 2, 1, 1, true);
    levels[5] = build->at;
}

static void add_levels (struct dn_build *build,
                        const struct dense *row,
                        struct dn_shape *levels)
{
    struct dn_shape top = levels[3];

    dn_pyramid_add (build, levels, FIRST, DN_NORM_PLAIN);
    build->at = levels[3];
    if (row->above) {
        build->at = top;
        build->at.kept = true;
    } else {
        levels[3].kept = true;
    }
    add_tops (build, levels);
}

static void build_dense (struct dn_build *build, const void *data)
{
    const struct dense *row = data;
    double classes = DN_WANT (build, classes, row->classes);
    double anchors = row->fcos ? 1 : ANCHORS;
    struct dn_shape levels[END] = {{0}};

    dn_build_image_of (build, 3, row->dims, 2, 4);
    for (int i = 0; i < 2; i++)
        build->at.dim[i] = ceil (build->at.dim[i] / PADDING) * PADDING;
    dn_backbone_add (build, &row->backbone, levels);
    add_levels (build, row, levels);
    add_tower (build, levels, row, anchors * classes, 0);
    for (int i = FIRST; i < END; i++)
        levels[i].kept = true;
    add_tower (build, levels, row, anchors * 4, row->fcos ? 1 : 0);
    dn_build_loss (build);
    if (!row->at_once)
        dn_build_each (build, DN_MATCH_KERNELS);
}

const struct dn_zoo_family dn_zoo_dense = DN_ZOO_FAMILY (rows, build_dense);
