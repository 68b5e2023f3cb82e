/* densenet.c - DenseNet
 *
 * Huang et al. (arXiv 1608.06993) as torchvision implements it: the input of a layer is
 * the concatenated outputs of all earlier layers of its block; normalisation and ReLU
 * come before each convolution.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#define N_BLOCKS 4

struct densenet {
    const char *name;
    double growth;
    double stem;
    int layers[N_BLOCKS];
};

static const struct densenet rows[] = {
    {"densenet121", 32, 64, {6, 12, 24, 16}},
    {"densenet161", 48, 96, {6, 12, 36, 24}},
    {"densenet169", 32, 64, {6, 12, 32, 32}},
    {"densenet201", 32, 64, {6, 12, 48, 32}},
    /* End of rows */
};

static void add_norm_conv (struct dn_build *build, double out, int kernel)
{
    dn_build_norm (build, DN_NORM_BATCH);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    dn_build_conv (build, out, kernel, 1, kernel / 2, 1, false);
}

/* A layer concatenates the earlier outputs into a copy, squeezes it and adds 'growth'
 * channels.
 */
static void add_layer (struct dn_build *build, double growth)
{
    struct dn_shape start;

    dn_build_copy (build);
    start = build->at;
    add_norm_conv (build, 4 * growth, 1);
    add_norm_conv (build, growth, 3);
    build->at = start;
    build->at.channels += growth;
}

static void build_densenet (struct dn_build *build, const void *data)
{
    const struct densenet *row = data;

    dn_build_image (build, 3, 224, 2, 4);
    dn_build_conv_norm_relu (build, row->stem, 7, 2, 1);
    dn_build_pool (build,
                   &(struct dn_pool){DN_POOL_MAX, .kernel = 3, .stride = 2, .pad = 1});
    for (int i = 0; i < N_BLOCKS; i++) {
        if (i > 0) {
            add_norm_conv (build, build->at.channels / 2, 1);
            dn_build_pool (
                build, &(struct dn_pool){DN_POOL_AVERAGE, .kernel = 2, .stride = 2});
        }
        for (int j = 0; j < row->layers[i]; j++)
            add_layer (build, row->growth);
        dn_build_copy (build);
    }
    dn_build_norm (build, DN_NORM_BATCH);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    dn_build_classifier (build, 1000, false);
}

const struct dn_zoo_family dn_zoo_densenet =
    DN_ZOO_FAMILY ("densenet", rows, build_densenet);
