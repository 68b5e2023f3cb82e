/* swin3d.c - Video Swin Transformer
 *
 * Liu et al. (arXiv 2106.13230) as torchvision.models.video implements it: attention
 * within windows of 8 x 7 x 7 patches of 2 frames and 4 x 4 pixels, with a table of
 * relative positions; four patches of a frame are merged to one between stages. image=
 * is frames x height x width.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#include <math.h>

#define N_STAGES 4

static const double window[3] = {8, 7, 7};

struct swin3d {
    struct dn_zoo_entry entry;
    double channels;
    double blocks[N_STAGES];
};

static const struct swin3d rows[] = {
    {{"swin3d_t", "swin3d"}, 96, {2, 2, 6, 2}},
    {{"swin3d_s", "swin3d"}, 96, {2, 2, 18, 2}},
    {{"swin3d_b", "swin3d"}, 128, {2, 2, 18, 2}},
    /* End of rows */
};

/* Attention within the windows that the padded activation is cut into. */
static void add_products (struct dn_build *build)
{
    struct dn_shape start = build->at;
    double tokens = 1;
    double offsets = 1;

    for (int i = 0; i < 3; i++) {
        tokens *= fmin (window[i], start.dim[i]);
        offsets *= 2 * window[i] - 1;
    }
    dn_zoo_window_scores_add (build, tokens);
    /* Scaled query, and the table of relative positions. */
    dn_build_elementwise (build, 1);
    dn_build_add_learned (build, offsets * start.channels / DN_WINDOW_HEAD);
    dn_zoo_window_values_add (build, tokens, &start);
}

static void add_block (struct dn_build *build)
{
    struct dn_shape at = build->at;
    double channels = at.channels;

    dn_build_norm (build, DN_NORM_LAYER);
    for (int i = 0; i < 3; i++)
        if (at.dim[i] > window[i])
            build->at.dim[i] = ceil (at.dim[i] / window[i]) * window[i];
    /* Padding, shift and cutting into windows. */
    dn_build_copy (build);
    dn_build_linear (build, 3 * channels, true);
    build->at.channels = channels;
    dn_build_copy (build);
    add_products (build);
    dn_build_copy (build);
    dn_build_linear (build, channels, true);
    dn_build_copy (build);
    at.kept = false;
    build->at = at;
    dn_build_elementwise (build, 1);
    dn_build_add (build);
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

    for (int i = 1; i < 3; i++)
        build->at.dim[i] = ceil (build->at.dim[i] / 2);
    build->at.channels = 4 * channels;
    dn_build_copy (build);
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_linear (build, 2 * channels, false);
}

static void build_swin3d (struct dn_build *build, const void *data)
{
    const struct swin3d *row = data;
    static const double clip[] = {16, 224, 224};
    const struct dn_conv patches = {.out = row->channels,
                                    .kernel = {2, 4, 4},
                                    .stride = {2, 4, 4},
                                    .groups = 1,
                                    .bias = true};

    build->graph.decode = DN_DECODE_VIDEO;
    dn_build_image_of (build, 3, clip, 3, 4);
    dn_build_conv_of (build, &patches);
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
    dn_build_classifier (build, 400, false);
}

const struct dn_zoo_family dn_zoo_swin3d = DN_ZOO_FAMILY (rows, build_swin3d);
