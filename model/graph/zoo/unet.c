/* unet.c - the U-Net of the paper
 *
 * Ronneberger et al. (arXiv 1505.04597): unpadded 3x3 convolutions without
 * normalisation, 2x2 transposed convolutions, crop and concatenation. 572x572 pixels
 * in, 388x388 out. hidden= is the number of channels of the first level, layers= the
 * number of levels below it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"
#include "base/messages.h"

#define DEPTH_MAX 16

struct unet {
    const char *name;
};

static const struct unet rows[] = {
    {"unet"},
    /* End of rows */
};

static void add_pair (struct dn_build *build, double channels)
{
    for (int i = 0; i < 2; i++) {
        dn_build_conv (build, channels, 3, 1, 0, 1, true);
        dn_build_activation (build, DN_ACTIVATION_RELU);
    }
}

/* Up one level: the channels halve, the left side's activation is cropped and joined.
 */
static void add_up (struct dn_build *build)
{
    double channels = build->at.channels / 2;
    struct dn_shape left;

    dn_build_conv_transpose (build, channels, 2);
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
    if (depth > DEPTH_MAX)
        dn_build_fail (
            build, DN_E_RANGE, dn_say_err_zoo_layers, depth, 1, DEPTH_MAX, "unet");
    dn_build_image (build, 1, 572, 2);
    add_pair (build, channels);
    for (int i = 0; i < depth && !build->failed; i++) {
        dn_build_pool_max (build, 2, 2, 0);
        channels *= 2;
        add_pair (build, channels);
    }
    for (int i = 0; i < depth && !build->failed; i++)
        add_up (build);
    dn_build_conv (build, classes, 1, 1, 0, 1, true);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_unet = DN_ZOO_FAMILY ("unet", rows, build_unet);
