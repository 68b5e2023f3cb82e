/* vnet.c - V-Net
 *
 * Milletari et al. (arXiv 1606.04797) with the sizes of NVIDIA's DeepLearningExamples
 * (TensorFlow): 3x3x3 convolutions with batch normalisation, three of them in each
 * residual block, three levels below the first. hidden= is the number of channels of
 * the first level, layers= the number of levels below it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"
#include "base/messages.h"

#define DEPTH_MAX 16

/* Convolutions of a residual block. */
#define N_CONVOLUTIONS 3

struct vnet {
    struct dn_zoo_entry entry;
};

static const struct vnet rows[] = {
    {{"vnet", "vnet"}},
    /* End of rows */
};

static void add_conv (struct dn_build *build, double out, int kernel, int stride)
{
    dn_build_conv (build, out, kernel, stride, stride == 1 ? kernel / 2 : 0, 1, true);
    dn_build_norm (build, DN_NORM_BATCH);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

static void add_up (struct dn_build *build, double out)
{
    dn_build_conv_transpose (build, out, 2, 2, 0, true);
    dn_build_norm (build, DN_NORM_BATCH);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

static void add_residual (struct dn_build *build)
{
    for (int i = 0; i < N_CONVOLUTIONS; i++)
        add_conv (build, build->at.channels, 3, 1);
    dn_build_add (build);
}

static void build_vnet (struct dn_build *build, const void *row)
{
    double channels = DN_WANT (build, hidden, 16);
    double depth = DN_WANT (build, layers, 3);
    struct dn_shape levels[DEPTH_MAX + 1] = {{0}};

    (void) row;
    if (depth > DEPTH_MAX)
        dn_build_fail (
            build, DN_E_RANGE, dn_say_err_zoo_layers, depth, 1, DEPTH_MAX, "vnet");
    dn_build_image (build, 1, 32, 3, 4);
    add_conv (build, channels, 3, 1);
    dn_build_add (build);
    for (int i = 0; i < depth && !build->failed; i++) {
        levels[i] = build->at;
        add_conv (build, 2 * build->at.channels, 2, 2);
        add_residual (build);
    }
    for (int i = (int) depth - 1; i > 0 && !build->failed; i--) {
        add_up (build, levels[i].channels);
        dn_build_concat (build, &levels[i]);
        add_residual (build);
    }
    add_up (build, levels[0].channels);
    dn_build_conv (build, DN_WANT (build, classes, 3), 3, 1, 1, 1, true);
    dn_build_softmax (build);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_vnet = DN_ZOO_FAMILY (rows, build_vnet);
