/* unet.c - the U-Net of the paper, and with padding
 *
 * Ronneberger et al. (arXiv 1505.04597): unpadded 3x3 convolutions without
 * normalisation, 2x2 transposed convolutions, crop and concatenation. 572x572 pixels
 * in, 388x388 out. hidden= is the number of channels of the first level, layers= the
 * number of levels below it.
 *
 * unet_industrial is the 'tiny' variant of NVIDIA's DeepLearningExamples for surface
 * defects: padded convolutions, 512x512 pixels, and transposed convolutions that follow
 * the convolutions of a level.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"
#include "base/messages.h"

#include <math.h>

#define DEPTH_MAX 16

struct unet {
    const char *name;
    dn_zoo_build_f build;
};

static void check_depth (struct dn_build *build, double depth)
{
    if (depth > DEPTH_MAX)
        dn_build_fail (build,
                       DN_E_RANGE,
                       dn_say_err_zoo_layers,
                       depth,
                       1,
                       DEPTH_MAX,
                       build->graph.name);
}

static void add_conv (struct dn_build *build, double channels, int pad)
{
    dn_build_conv (build, channels, 3, 1, pad, 1, true);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

static void add_pair (struct dn_build *build, double channels)
{
    add_conv (build, channels, 0);
    add_conv (build, channels, 0);
}

/* Up one level: the channels halve, the left side's activation is cropped and joined.
 */
static void add_up (struct dn_build *build)
{
    double channels = build->at.channels / 2;
    struct dn_shape left;

    dn_build_conv_transpose (build, channels, 2, 2, 0, true);
    left = build->at;
    dn_build_concat (build, &left);
    add_pair (build, channels);
}

static void build_unet (struct dn_build *build, const void *row)
{
    double channels = DN_WANT (build, hidden, 64);
    double depth = DN_WANT (build, layers, 4);
    double classes = DN_WANT (build, classes, 2);

    (void) row;
    check_depth (build, depth);
    dn_build_image (build, 1, 572, 2, 4);
    add_pair (build, channels);
    for (int i = 0; i < depth && !build->failed; i++) {
        dn_build_pool (build, &(struct dn_pool){DN_POOL_MAX, .kernel = 2, .stride = 2});
        channels *= 2;
        add_pair (build, channels);
    }
    for (int i = 0; i < depth && !build->failed; i++)
        add_up (build);
    dn_build_conv (build, classes, 1, 1, 0, 1, true);
    dn_build_loss (build);
}

/* Transposed convolution to twice the size. */
static void add_double (struct dn_build *build, double channels)
{
    dn_build_conv_transpose (build, channels, 2, 2, 0, true);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

/* Two convolutions to 'channels' and 'out', with the left side's activation joined. */
static void add_join (struct dn_build *build,
                      const struct dn_shape *left,
                      double channels,
                      double out)
{
    dn_build_concat (build, left);
    add_conv (build, channels, 1);
    add_conv (build, out, 1);
}

static void build_industrial (struct dn_build *build, const void *row)
{
    double first = DN_WANT (build, hidden, 32);
    double depth = DN_WANT (build, layers, 4);
    struct dn_shape levels[DEPTH_MAX] = {{0}};

    (void) row;
    check_depth (build, depth);
    dn_build_image (build, 1, 512, 2, 4);
    for (int i = 0; i < depth && !build->failed; i++) {
        double channels = i == 0 ? first : ldexp (first, i - 1);

        add_conv (build, channels, 1);
        add_conv (build, channels, 1);
        levels[i] = build->at;
        dn_build_pool (build, &(struct dn_pool){DN_POOL_MAX, .kernel = 2, .stride = 2});
    }
    add_conv (build, ldexp (first, (int) depth - 1), 1);
    add_conv (build, build->at.channels, 1);
    add_double (build, build->at.channels / 2);
    for (int i = (int) depth - 1; i > 0 && !build->failed; i--) {
        add_join (build, &levels[i], levels[i].channels, levels[i].channels / 2);
        add_double (build, build->at.channels);
    }
    add_join (build, &levels[0], first, first);
    dn_build_conv (build, DN_WANT (build, classes, 1), 1, 1, 0, 1, true);
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
    dn_build_loss (build);
}

static const struct unet rows[] = {
    {"unet", build_unet},
    {"unet_industrial", build_industrial},
    /* End of rows */
};

static void build_family (struct dn_build *build, const void *data)
{
    const struct unet *row = data;

    row->build (build, row);
}

const struct dn_zoo_family dn_zoo_unet = DN_ZOO_FAMILY ("unet", rows, build_family);
