/* convnext.c - ConvNeXt
 *
 * Liu et al. (arXiv 2201.03545) as torchvision implements it: 7x7 depthwise
 * convolution, normalisation, two linear layers with GELU between them, a learned
 * scale.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#define N_STAGES 4

struct convnext {
    struct dn_zoo_entry entry;
    double channels[N_STAGES];
    double blocks[N_STAGES];
};

static const struct convnext rows[] = {
    {{"convnext_tiny", "convnext"}, {96, 192, 384, 768}, {3, 3, 9, 3}},
    {{"convnext_small", "convnext"}, {96, 192, 384, 768}, {3, 3, 27, 3}},
    {{"convnext_base", "convnext"}, {128, 256, 512, 1024}, {3, 3, 27, 3}},
    {{"convnext_large", "convnext"}, {192, 384, 768, 1536}, {3, 3, 27, 3}},
    /* End of rows */
};

static void add_block (struct dn_build *build, double channels)
{
    dn_build_conv (build, channels, 7, 1, 3, channels, true);
    dn_build_copy (build);
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_linear (build, 4 * channels, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_linear (build, channels, true);
    dn_build_scale (build);
    /* Stochastic depth, then the sum. */
    dn_build_elementwise (build, 1);
    dn_build_add (build);
}

static void build_convnext (struct dn_build *build, const void *data)
{
    const struct convnext *row = data;
    double classes = DN_WANT (build, classes, 1000);

    dn_build_image (build, 3, 224, 2, 4);
    for (int i = 0; i < N_STAGES; i++) {
        double outer;

        if (i == 0) {
            dn_build_conv (build, row->channels[i], 4, 4, 0, 1, true);
            dn_build_norm (build, DN_NORM_LAYER);
        } else {
            dn_build_norm (build, DN_NORM_LAYER);
            dn_build_conv (build, row->channels[i], 2, 2, 0, 1, true);
        }
        outer = dn_build_repeat (build, row->blocks[i]);
        add_block (build, row->channels[i]);
        dn_build_repeat_end (build, outer);
    }
    dn_build_pool_global (build);
    if (dn_build_head (build, DN_HEAD_CLASSIFIER, DN_HEAD_BIT (NONE)) == DN_HEAD_NONE)
        return;
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_linear (build, classes, true);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_convnext = DN_ZOO_FAMILY (rows, build_convnext);
