/* yolo.c - YOLOv3
 *
 * Redmon and Farhadi (arXiv 1804.02767): Darknet-53 and three outputs of three boxes
 * each, with coordinates, objectness and classes= classes (COCO's 80). Assigning boxes
 * is not counted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#include <math.h>

#define BOXES   3.0
#define N_SIZES 5

struct yolo {
    struct dn_zoo_entry entry;
};

static const struct yolo rows[] = {
    {{"yolov3", "yolo"}},
    /* End of rows */
};

/* Residual blocks of each size. */
static const int blocks[N_SIZES] = {1, 2, 8, 8, 4};

static void add_residual (struct dn_build *build)
{
    double channels = build->at.channels;

    dn_build_conv_norm_relu (build, channels / 2, 1, 1, 1);
    dn_build_conv_norm_relu (build, channels, 3, 1, 1);
    dn_build_add (build);
}

/* Darknet-53; the activations of all sizes are stored in 'levels'. */
static void add_backbone (struct dn_build *build, struct dn_shape levels[N_SIZES])
{
    dn_build_conv_norm_relu (build, 32, 3, 1, 1);
    for (int i = 0; i < N_SIZES; i++) {
        double outer;

        dn_build_conv_norm_relu (build, 2 * build->at.channels, 3, 2, 1);
        add_residual (build);
        outer = dn_build_repeat (build, blocks[i] - 1);
        add_residual (build);
        dn_build_repeat_end (build, outer);
        levels[i] = build->at;
    }
}

/* Five convolutions, from which an output branches off; the cursor is then after the
 * five.
 */
static void add_output (struct dn_build *build, double channels, double out)
{
    struct dn_shape end;

    for (int i = 0; i < 5; i++)
        dn_build_conv_norm_relu (
            build, i % 2 ? 2 * channels : channels, i % 2 ? 3 : 1, 1, 1);
    end = build->at;
    dn_build_conv_norm_relu (build, 2 * channels, 3, 1, 1);
    dn_build_conv (build, out, 1, 1, 0, 1, true);
    dn_build_loss (build);
    build->at = end;
    build->at.kept = true;
}

static void build_yolo (struct dn_build *build, const void *row)
{
    double out = BOXES * (5 + DN_WANT (build, classes, 80));
    struct dn_shape levels[N_SIZES] = {{0}};

    (void) row;
    dn_build_image (build, 3, 416, 2, 4);
    add_backbone (build, levels);
    for (int i = N_SIZES - 1; i >= N_SIZES - 3; i--) {
        double channels = ldexp (32, i);

        if (i < N_SIZES - 1) {
            dn_build_conv_norm_relu (build, channels, 1, 1, 1);
            dn_build_upsample (build, 2);
            build->at.dim[0] = levels[i].dim[0];
            build->at.dim[1] = levels[i].dim[1];
            dn_build_concat (build, &levels[i]);
        }
        add_output (build, channels, out);
    }
}

const struct dn_zoo_family dn_zoo_yolo = DN_ZOO_FAMILY (rows, build_yolo);
