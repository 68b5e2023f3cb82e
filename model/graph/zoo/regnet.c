/* regnet.c - RegNet
 *
 * Radosavovic et al. (arXiv 2003.13678) as torchvision implements it: widths follow a
 * line that is quantised to powers of 'step', blocks are ResNeXt's with a bottleneck of
 * 1, Y adds a gate.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#include <math.h>

/* Blocks of the largest network, over all stages. */
#define DEPTH_MAX 32

struct regnet {
    const char *name;
    int depth;
    double first;
    double slope;
    double step;
    double group;
    bool gate;
};

/* Table of the paper's appendix, with torchvision's names. */
static const struct regnet rows[] = {
    {"regnet_y_400mf", 16, 48, 27.89, 2.09, 8, true},
    {"regnet_y_800mf", 14, 56, 38.84, 2.4, 16, true},
    {"regnet_y_1_6gf", 27, 48, 20.71, 2.65, 24, true},
    {"regnet_y_3_2gf", 21, 80, 42.63, 2.66, 24, true},
    {"regnet_y_8gf", 17, 192, 76.82, 2.19, 56, true},
    {"regnet_y_16gf", 18, 200, 106.23, 2.48, 112, true},
    {"regnet_y_32gf", 20, 232, 115.89, 2.53, 232, true},
    {"regnet_y_128gf", 27, 456, 160.83, 2.52, 264, true},
    {"regnet_x_400mf", 22, 24, 24.48, 2.54, 16, false},
    {"regnet_x_800mf", 16, 56, 35.73, 2.28, 16, false},
    {"regnet_x_1_6gf", 18, 80, 34.01, 2.25, 24, false},
    {"regnet_x_3_2gf", 25, 88, 26.31, 2.25, 48, false},
    {"regnet_x_8gf", 23, 80, 49.56, 2.88, 120, false},
    {"regnet_x_16gf", 22, 216, 55.59, 2.1, 128, false},
    {"regnet_x_32gf", 23, 320, 69.86, 2.0, 168, false},
    /* End of rows */
};

/* The quantised width of block 'i'. */
static double width_at (const struct regnet *row, int i)
{
    double line = row->first + row->slope * i;
    double power = nearbyint (log (line / row->first) / log (row->step));

    return nearbyint (row->first * pow (row->step, power) / 8) * 8;
}

static void add_block (struct dn_build *build,
                       const struct regnet *row,
                       double out,
                       int stride)
{
    struct dn_shape start = build->at;
    double groups = out / fmin (row->group, out);
    struct dn_shape end;

    dn_build_conv_norm_relu (build, out, 1, 1, 1);
    dn_build_conv_norm_relu (build, out, 3, stride, groups);
    if (row->gate)
        dn_build_gate (build,
                       nearbyint (start.channels / 4),
                       DN_ACTIVATION_RELU,
                       DN_ACTIVATION_SIGMOID);
    dn_build_conv_norm (build, out, 1, 1, 1);
    end = build->at;
    if (stride != 1 || start.channels != out) {
        build->at = start;
        build->at.kept = true;
        dn_build_conv_norm (build, out, 1, stride, 1);
        build->at = end;
    }
    dn_build_add (build);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

static void build_regnet (struct dn_build *build, const void *data)
{
    const struct regnet *row = data;

    dn_build_image (build, 3, 224, 2, 4);
    dn_build_conv_norm_relu (build, 32, 3, 2, 1);
    for (int i = 0; i < row->depth && i < DEPTH_MAX;) {
        double width = width_at (row, i);
        double group = fmin (row->group, width);
        /* Widths must divide into groups. */
        double out = dn_build_round (width, group);
        int n = 0;
        double outer;

        while (i < row->depth && width_at (row, i) == width) {
            i++;
            n++;
        }
        add_block (build, row, out, 2);
        outer = dn_build_repeat (build, n - 1);
        add_block (build, row, out, 1);
        dn_build_repeat_end (build, outer);
    }
    dn_build_classifier (build, 1000, false);
}

const struct dn_zoo_family dn_zoo_regnet = DN_ZOO_FAMILY ("regnet", rows, build_regnet);
