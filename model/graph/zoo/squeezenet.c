/* squeezenet.c - SqueezeNet
 *
 * Iandola et al. (arXiv 1602.07360) as torchvision implements it; 1_1 pools earlier.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#define N_FIRES 8

struct squeezenet {
    struct dn_zoo_entry entry;
    double stem;
    int stem_kernel;
    int pools[2]; /* indices, from 0, of the fire modules that follow a pooling */
};

static const struct squeezenet rows[] = {
    {{"squeezenet1_0", "squeezenet"}, 96, 7, {3, 7}},
    {{"squeezenet1_1", "squeezenet"}, 64, 3, {2, 4}},
    /* End of rows */
};

/* Squeezed channels of the fire modules; each expands to eight times that number. */
static const double squeeze[N_FIRES] = {16, 16, 32, 32, 48, 48, 64, 64};

static void add_conv (struct dn_build *build,
                      double out,
                      int kernel,
                      int stride,
                      int pad)
{
    dn_build_conv (build, out, kernel, stride, pad, 1, true);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

static void add_pool (struct dn_build *build)
{
    dn_build_pool (
        build, &(struct dn_pool){DN_POOL_MAX, .kernel = 3, .stride = 2, .ceil = true});
}

static void add_fire (struct dn_build *build, double squeezed)
{
    struct dn_shape start;
    struct dn_shape left;

    add_conv (build, squeezed, 1, 1, 0);
    start = build->at;
    add_conv (build, 4 * squeezed, 1, 1, 0);
    left = build->at;
    build->at = start;
    add_conv (build, 4 * squeezed, 3, 1, 1);
    dn_build_concat (build, &left);
}

static void build_squeezenet (struct dn_build *build, const void *data)
{
    const struct squeezenet *row = data;
    double classes = DN_WANT (build, classes, 1000);

    dn_build_image (build, 3, 224, 2, 4);
    add_conv (build, row->stem, row->stem_kernel, 2, 0);
    add_pool (build);
    for (int i = 0; i < N_FIRES; i++) {
        if (i == row->pools[0] || i == row->pools[1])
            add_pool (build);
        add_fire (build, squeeze[i]);
    }
    if (dn_build_head (build, DN_HEAD_CLASSIFIER, DN_HEAD_BIT (NONE)) == DN_HEAD_NONE)
        return;
    dn_build_dropout (build);
    add_conv (build, classes, 1, 1, 0);
    dn_build_pool_global (build);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_squeezenet = DN_ZOO_FAMILY (rows, build_squeezenet);
