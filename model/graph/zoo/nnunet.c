/* nnunet.c - nnU-Net, and the 3-D U-Net derived from it
 *
 * Isensee et al. (Nature Methods 18, 2021) with the network of NVIDIA's
 * DeepLearningExamples, which is MONAI's DynUNet: pairs of 3x3 convolutions with
 * instance normalisation and leaky ReLU, strided convolutions down, transposed ones up,
 * two more outputs for deep supervision. layers= is the number of levels below the
 * first.
 *
 * unet3d is DeepLearningExamples' UNet_3D_Medical (TensorFlow): the same
 * levels, one output through a 3x3x3 convolution. hidden= is the number of channels of
 * the first level.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"
#include "base/messages.h"

#include <math.h>

#define DEPTH_MAX 16

/* Levels below the first that have their own output. */
#define SUPERVISED 2

struct nnunet {
    struct dn_zoo_entry entry;
    int n_dims;
    double image[3];
    double channels_max;
    double in_channels;
    bool plain; /* one output, biases in transposed convolutions */
};

static const struct nnunet rows[] = {
    {{"nnunet_2d", "nnunet"}, 2, {192, 160, 0}, 512, 5, false},
    {{"nnunet_3d", "nnunet"}, 3, {128, 128, 128}, 320, 5, false},
    {{"unet3d", "nnunet"}, 3, {128, 128, 128}, 320, 4, true},
    /* End of rows */
};

static void add_conv (struct dn_build *build, double out, int stride)
{
    dn_build_conv (build, out, 3, stride, 1, 1, false);
    dn_build_norm (build, DN_NORM_INSTANCE);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

/* Channels of level 'i', from 0. */
static double channels_at (const struct nnunet *row, double first, int i)
{
    return fmin (first * pow (2, i), fmax (first, row->channels_max));
}

/* The output of a level, resized to the first level. */
static void add_output (struct dn_build *build, double classes, int level)
{
    struct dn_shape at = build->at;

    dn_build_conv (build, classes, 1, 1, 0, 1, true);
    if (level > 0)
        dn_build_upsample (build, pow (2, level));
    dn_build_loss (build);
    build->at = at;
    build->at.kept = true;
}

/* Up one level, joined with the left side's activation. */
static void add_up (struct dn_build *build, struct dn_shape *left, bool bias)
{
    dn_build_conv_transpose (build, left->channels, 2, 2, 0, bias);
    dn_build_concat (build, left);
    add_conv (build, left->channels, 1);
    add_conv (build, left->channels, 1);
}

static void build_nnunet (struct dn_build *build, const void *data)
{
    const struct nnunet *row = data;
    double first = DN_WANT (build, hidden, 32);
    double depth = DN_WANT (build, layers, 5);
    double classes = DN_WANT (build, classes, 4);
    struct dn_shape levels[DEPTH_MAX + 1] = {{0}};

    if (depth > DEPTH_MAX)
        dn_build_fail (build,
                       DN_E_RANGE,
                       dn_say_err_zoo_layers,
                       depth,
                       1,
                       DEPTH_MAX,
                       row->entry.name);
    dn_build_image_of (build, row->in_channels, row->image, row->n_dims, 4);
    for (int i = 0; i <= depth && !build->failed; i++) {
        add_conv (build, channels_at (row, first, i), i == 0 ? 1 : 2);
        add_conv (build, channels_at (row, first, i), 1);
        levels[i] = build->at;
    }
    for (int i = (int) depth - 1; i >= 0 && !build->failed; i--) {
        add_up (build, &levels[i], row->plain);
        if (!row->plain && i <= SUPERVISED)
            add_output (build, classes, i);
    }
    if (row->plain) {
        dn_build_conv (build, classes, 3, 1, 1, 1, true);
        dn_build_softmax (build);
        dn_build_loss (build);
    }
}

const struct dn_zoo_family dn_zoo_nnunet = DN_ZOO_FAMILY (rows, build_nnunet);
