/* convnext.c - ConvNeXt
 *
 * Liu et al. (arXiv 2201.03545) as torchvision implements it: 7x7 depthwise
 * convolution, normalisation, two linear layers with GELU between them, a learned
 * scale. ConvNeXt V2 (Woo et al., arXiv 2301.00808) as timm implements it: a
 * normalisation over the positions of a channel within the two layers, and no scale.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#define N_STAGES 4

struct convnext {
    const char *name;
    double channels[N_STAGES];
    double blocks[N_STAGES];
    bool second; /* V2 */
};

static const struct convnext rows[] = {
    {"convnext_tiny", {96, 192, 384, 768}, {3, 3, 9, 3}, false},
    {"convnext_small", {96, 192, 384, 768}, {3, 3, 27, 3}, false},
    {"convnext_base", {128, 256, 512, 1024}, {3, 3, 27, 3}, false},
    {"convnext_large", {192, 384, 768, 1536}, {3, 3, 27, 3}, false},
    {"convnext_xlarge", {256, 512, 1024, 2048}, {3, 3, 27, 3}, false},
    {"convnextv2_atto", {40, 80, 160, 320}, {2, 2, 6, 2}, true},
    {"convnextv2_femto", {48, 96, 192, 384}, {2, 2, 6, 2}, true},
    {"convnextv2_pico", {64, 128, 256, 512}, {2, 2, 6, 2}, true},
    {"convnextv2_nano", {80, 160, 320, 640}, {2, 2, 8, 2}, true},
    {"convnextv2_tiny", {96, 192, 384, 768}, {3, 3, 9, 3}, true},
    {"convnextv2_base", {128, 256, 512, 1024}, {3, 3, 27, 3}, true},
    {"convnextv2_large", {192, 384, 768, 1536}, {3, 3, 27, 3}, true},
    {"convnextv2_huge", {352, 704, 1408, 2816}, {3, 3, 27, 3}, true},
    /* End of rows */
};

/* The response of a channel relative to the others', scaled, shifted and added. */
static void add_response_norm (struct dn_build *build)
{
    dn_build_norm (build, DN_NORM_PLAIN);
    dn_build_scale (build);
    dn_build_add_learned (build, build->at.channels);
    dn_build_add (build);
}

static void add_block (struct dn_build *build, double channels, bool second)
{
    dn_build_conv (build, channels, 7, 1, 3, channels, true);
    dn_build_copy (build);
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_linear (build, 4 * channels, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    if (second)
        add_response_norm (build);
    dn_build_linear (build, channels, true);
    if (!second)
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
        add_block (build, row->channels[i], row->second);
        dn_build_repeat_end (build, outer);
    }
    dn_build_pool_global (build);
    if (dn_build_head (build, DN_HEAD_CLASSIFIER, DN_HEAD_BIT (NONE)) == DN_HEAD_NONE)
        return;
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_linear (build, classes, true);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_convnext =
    DN_ZOO_FAMILY ("convnext", rows, build_convnext);
