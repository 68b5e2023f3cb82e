/* jasper.c - Jasper, a convolutional speech recogniser
 *
 * Li et al. (arXiv 1904.03288), 10x5 with dense residuals: ten blocks of five
 * convolutions over time; each block also adds the outputs of all earlier blocks, each
 * through a 1x1 convolution. 64 features of each 10 ms frame; seq_len= is in frames.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#define N_BLOCKS       10
#define N_CONVOLUTIONS 5

struct jasper {
    struct dn_zoo_entry entry;
    double frames;
};

static const struct jasper rows[] = {
    {{"jasper", "jasper"}, 1670},
    /* End of rows */
};

/* Two blocks each. */
static const struct {
    double channels;
    int kernel;
} sizes[N_BLOCKS / 2] = {{256, 11}, {384, 13}, {512, 17}, {640, 21}, {768, 25}};

static void add_conv_norm (struct dn_build *build,
                           double out,
                           int kernel,
                           int stride,
                           int dilation)
{
    struct dn_conv conv = {.out = out,
                           .kernel = {kernel},
                           .stride = {stride},
                           .pad = {dilation * (kernel / 2)},
                           .dilation = dilation,
                           .groups = 1};

    dn_build_conv_of (build, &conv);
    dn_build_norm (build, DN_NORM_BATCH);
}

static void add_end (struct dn_build *build)
{
    dn_build_activation (build, DN_ACTIVATION_RELU);
    dn_build_dropout (build);
}

/* 'before' are the 'i' + 1 activations that block 'i' reads. */
static void add_block (struct dn_build *build, struct dn_shape *before, int i)
{
    double channels = sizes[i / 2].channels;
    int kernel = sizes[i / 2].kernel;
    struct dn_shape end;

    for (int j = 0; j < N_CONVOLUTIONS - 1; j++) {
        add_conv_norm (build, channels, kernel, 1, 1);
        add_end (build);
    }
    add_conv_norm (build, channels, kernel, 1, 1);
    end = build->at;
    for (int j = 0; j <= i; j++) {
        build->at = before[j];
        build->at.kept = true;
        add_conv_norm (build, channels, 1, 1, 1);
        build->at = end;
        dn_build_add (build);
    }
    add_end (build);
    before[i + 1] = build->at;
}

static void build_jasper (struct dn_build *build, const void *data)
{
    const struct jasper *row = data;
    struct dn_shape before[N_BLOCKS + 1] = {{0}};

    dn_build_features (
        build, DN_WANT (build, in_channels, 64), DN_WANT (build, seq_len, row->frames));
    add_conv_norm (build, 256, 11, 2, 1);
    add_end (build);
    before[0] = build->at;
    for (int i = 0; i < N_BLOCKS; i++)
        add_block (build, before, i);
    add_conv_norm (build, 896, 29, 1, 2);
    add_end (build);
    add_conv_norm (build, 1024, 1, 1, 1);
    add_end (build);
    dn_build_conv (build, DN_WANT (build, classes, 29), 1, 1, 0, 1, true);
    dn_build_loss_ctc (build);
}

const struct dn_zoo_family dn_zoo_jasper = DN_ZOO_FAMILY (rows, build_jasper);
