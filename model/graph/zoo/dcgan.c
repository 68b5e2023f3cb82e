/* dcgan.c - adversarial images
 *
 * DCGAN (Radford et al., arXiv 1511.06434) as pytorch/examples implements it: 64x64
 * pixels from 100 random numbers, hidden= channels next to the image. One training step
 * is one pass of the generator and three of the discriminator: on real images, on
 * generated ones, and on generated ones again to train the generator.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"
#include "base/messages.h"

#include <math.h>

#define NOISE    100.0
#define N_PASSES 3

/* Layers between image and vector, which halve 64 pixels to 4. */
#define N_LAYERS 4

struct dcgan {
    struct dn_zoo_entry entry;
};

static const struct dcgan rows[] = {
    {{"dcgan", "dcgan"}},
    /* End of rows */
};

static void add_generator (struct dn_build *build, double hidden, double colours)
{
    build->at =
        (struct dn_shape){.channels = NOISE, .dim = {1, 1}, .n_dims = 2, .input = true};
    for (int i = N_LAYERS - 1; i >= 0; i--) {
        bool first = i == N_LAYERS - 1;

        dn_build_conv_transpose (
            build, ldexp (hidden, i), 4, first ? 1 : 2, first ? 0 : 1, false);
        dn_build_norm (build, DN_NORM_BATCH);
        dn_build_activation (build, DN_ACTIVATION_RELU);
    }
    dn_build_conv_transpose (build, colours, 4, 2, 1, false);
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
}

static void add_discriminator (struct dn_build *build, double hidden)
{
    for (int i = 0; i < N_LAYERS; i++) {
        dn_build_conv (build, ldexp (hidden, i), 4, 2, 1, 1, false);
        if (i > 0)
            dn_build_norm (build, DN_NORM_BATCH);
        dn_build_activation (build, DN_ACTIVATION_RELU);
    }
    dn_build_conv (build, 1, 4, 1, 0, 1, false);
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
    dn_build_loss (build);
}

static void build_dcgan (struct dn_build *build, const void *row)
{
    double hidden = DN_WANT (build, hidden, 64);
    double colours = DN_WANT (build, in_channels, 3);
    struct dn_shape image;
    struct dn_shape fake;

    (void) row;
    dn_build_image (build, colours, 64, 2, 4);
    if (build->at.dim[0] != 64 || build->at.dim[1] != 64)
        dn_build_fail (build, DN_E_RANGE, dn_say_err_zoo_dcgan);
    image = build->at;
    add_generator (build, hidden, colours);
    fake = build->at;
    for (int i = 0; i < N_PASSES; i++) {
        build->at = i == 0 ? image : fake;
        add_discriminator (build, hidden);
        build->shared = true;
    }
    build->shared = false;
}

const struct dn_zoo_family dn_zoo_dcgan = DN_ZOO_FAMILY (rows, build_dcgan);
