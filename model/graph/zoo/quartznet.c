/* quartznet.c - QuartzNet, Jasper with separable convolutions
 *
 * Kriman et al. (arXiv 1910.10261), 15x5, as NeMo implements it: fifteen blocks of five
 * depthwise convolutions over time, each followed by a 1x1 convolution, a residual
 * around each block. layers= is the number of blocks, a multiple of five; seq_len= is
 * in 10 ms frames.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"
#include "base/messages.h"

#include <math.h>

#define N_GROUPS       5
#define N_CONVOLUTIONS 5

struct quartznet {
    struct dn_zoo_entry entry;
    double blocks;
    double frames;
};

static const struct quartznet rows[] = {
    {{"quartznet", "quartznet"}, 15, 1670},
    /* End of rows */
};

/* Equal numbers of blocks of each size. */
static const struct {
    double channels;
    int kernel;
} sizes[N_GROUPS] = {{256, 33}, {256, 39}, {512, 51}, {512, 63}, {512, 75}};

/* A convolution for each channel, one across channels, normalisation. */
static void add_separable (struct dn_build *build,
                           double out,
                           int kernel,
                           int stride,
                           int dilation)
{
    const struct dn_conv conv = {.out = build->at.channels,
                                 .kernel = {kernel},
                                 .stride = {stride},
                                 .pad = {dilation * (kernel / 2)},
                                 .dilation = dilation,
                                 .groups = build->at.channels};

    dn_build_conv_of (build, &conv);
    dn_build_conv_norm (build, out, 1, 1, 1);
}

static void add_block (struct dn_build *build, double channels, int kernel)
{
    struct dn_shape start = build->at;
    struct dn_shape end;

    for (int i = 0; i < N_CONVOLUTIONS - 1; i++) {
        add_separable (build, channels, kernel, 1, 1);
        dn_build_activation (build, DN_ACTIVATION_RELU);
    }
    add_separable (build, channels, kernel, 1, 1);
    end = build->at;
    build->at = start;
    build->at.kept = true;
    dn_build_conv_norm (build, channels, 1, 1, 1);
    build->at = end;
    dn_build_add (build);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

static void add_group (struct dn_build *build, int i, double blocks)
{
    double outer;

    add_block (build, sizes[i].channels, sizes[i].kernel);
    outer = dn_build_repeat (build, blocks - 1);
    add_block (build, sizes[i].channels, sizes[i].kernel);
    dn_build_repeat_end (build, outer);
}

static void build_quartznet (struct dn_build *build, const void *data)
{
    const struct quartznet *row = data;
    double blocks = DN_WANT (build, layers, row->blocks);

    if (fmod (blocks, N_GROUPS) != 0)
        dn_build_fail (build,
                       DN_E_RANGE,
                       dn_say_err_zoo_multiple,
                       "layers",
                       blocks,
                       (double) N_GROUPS,
                       "quartznet");
    dn_build_features (
        build, DN_WANT (build, in_channels, 64), DN_WANT (build, seq_len, row->frames));
    add_separable (build, 256, 33, 2, 1);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    for (int i = 0; i < N_GROUPS; i++)
        add_group (build, i, blocks / N_GROUPS);
    add_separable (build, 512, 87, 1, 2);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    dn_build_conv_norm_relu (build, 1024, 1, 1, 1);
    dn_build_conv (build, DN_WANT (build, classes, 29), 1, 1, 0, 1, true);
    dn_build_loss_ctc (build);
}

const struct dn_zoo_family dn_zoo_quartznet = DN_ZOO_FAMILY (rows, build_quartznet);
