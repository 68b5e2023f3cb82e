/* swin.c - Swin Transformer
 *
 * Liu et al. (arXiv 2103.14030) as torchvision implements it: attention within windows
 * of 7x7 patches with a table of relative positions, every second block on shifted
 * windows; patches are merged four to one between stages. An image whose size is not a
 * multiple of the window is padded.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#include <math.h>

#define N_STAGES 4
#define WINDOW   7.0
#define PATCH    4
#define HEAD_DIM 32.0

struct swin {
    struct dn_zoo_entry entry;
    double channels;
    double blocks[N_STAGES];
};

static const struct swin rows[] = {
    {{"swin_t", "swin"}, 96, {2, 2, 6, 2}},
    {{"swin_s", "swin"}, 96, {2, 2, 18, 2}},
    {{"swin_b", "swin"}, 128, {2, 2, 18, 2}},
    /* End of rows */
};

/* Attention within 'windows' windows of 'tokens' patches each. */
static void add_products (struct dn_build *build, double windows, double heads)
{
    double tokens = WINDOW * WINDOW;
    struct dn_shape at = build->at;
    double features = windows * tokens * at.channels;

    dn_build_matmul (build, windows * heads, tokens, tokens, HEAD_DIM, 2 * features);
    build->at.channels = heads * tokens;
    /* Scaled query, and the table of relative positions. */
    dn_build_elementwise (build, 1);
    dn_build_add_learned (build, (2 * WINDOW - 1) * (2 * WINDOW - 1) * heads);
    dn_build_softmax (build);
    dn_build_matmul (build, windows * heads, tokens, HEAD_DIM, tokens, features);
    build->at = at;
    build->at.kept = false;
}

static void add_attention (struct dn_build *build)
{
    double channels = build->at.channels;
    struct dn_shape at = build->at;

    dn_build_norm (build, DN_NORM_LAYER);
    for (int i = 0; i < 2; i++)
        build->at.dim[i] = ceil (at.dim[i] / WINDOW) * WINDOW;
    /* Padding, shift and cutting into windows. */
    dn_build_copy (build);
    dn_build_linear (build, 3 * channels, true);
    build->at.channels = channels;
    dn_build_copy (build);
    add_products (build,
                  dn_shape_positions (&build->at) / (WINDOW * WINDOW),
                  channels / HEAD_DIM);
    dn_build_copy (build);
    dn_build_linear (build, channels, true);
    dn_build_copy (build);
    at.kept = false;
    build->at = at;
    dn_build_elementwise (build, 1);
    dn_build_add (build);
}

static void add_block (struct dn_build *build)
{
    double channels = build->at.channels;

    add_attention (build);
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_linear (build, 4 * channels, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_linear (build, channels, true);
    /* Stochastic depth, then the sum. */
    dn_build_elementwise (build, 1);
    dn_build_add (build);
}

static void add_merging (struct dn_build *build)
{
    double channels = build->at.channels;

    for (int i = 0; i < 2; i++)
        build->at.dim[i] = ceil (build->at.dim[i] / 2);
    build->at.channels = 4 * channels;
    dn_build_copy (build);
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_linear (build, 2 * channels, false);
}

static void build_swin (struct dn_build *build, const void *data)
{
    const struct swin *row = data;

    dn_build_image (build, 3, 224, 2, 4);
    dn_build_conv (build, row->channels, PATCH, PATCH, 0, 1, true);
    dn_build_norm (build, DN_NORM_LAYER);
    for (int i = 0; i < N_STAGES; i++) {
        double outer;

        if (i > 0)
            add_merging (build);
        outer = dn_build_repeat (build, row->blocks[i]);
        add_block (build);
        dn_build_repeat_end (build, outer);
    }
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_classifier (build, 1000, false);
}

const struct dn_zoo_family dn_zoo_swin = DN_ZOO_FAMILY (rows, build_swin);
