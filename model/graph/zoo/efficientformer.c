/* efficientformer.c - EfficientFormer
 *
 * Li et al. (arXiv 2206.01191) as timm implements it: blocks that mix positions by
 * pooling, and at the end of the last stage blocks with attention, whose table of
 * positions fits images that leave 7x7 of them. Two classifiers are averaged.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"
#include "base/messages.h"

#define N_STAGES 4
#define SIZE     7.0
#define HEADS    8.0
#define KEY_DIM  32.0

/* Features of a value, of those of a key. */
#define VALUE_RATIO 4.0

struct efficientformer {
    struct dn_zoo_entry entry;
    double channels[N_STAGES];
    double blocks[N_STAGES];
    double attentive; /* blocks of the last stage with attention */
};

static const struct efficientformer rows[] = {
    {{"efficientformer_l1", "efficientformer"}, {48, 96, 224, 448}, {3, 2, 6, 4}, 1},
    {{"efficientformer_l3", "efficientformer"}, {64, 128, 320, 512}, {4, 4, 12, 6}, 4},
    {{"efficientformer_l7", "efficientformer"}, {96, 192, 384, 768}, {6, 6, 18, 8}, 8},
    /* End of rows */
};

static void add_conv (struct dn_build *build, double out, int kernel, int stride)
{
    dn_build_conv (build, out, kernel, stride, kernel / 2, 1, true);
    dn_build_norm (build, DN_NORM_BATCH);
}

/* A learned scale, then the sum. */
static void add_sum (struct dn_build *build)
{
    dn_build_scale (build);
    dn_build_add (build);
}

static void add_pooling_block (struct dn_build *build)
{
    const struct dn_pool pool = {DN_POOL_AVERAGE, .kernel = 3, .stride = 1, .pad = 1};
    double channels = build->at.channels;

    dn_build_pool (build, &pool);
    dn_build_elementwise (build, 1);
    add_sum (build);
    add_conv (build, 4 * channels, 1, 1);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    add_conv (build, channels, 1, 1);
    add_sum (build);
}

static void add_attention (struct dn_build *build)
{
    double channels = build->at.channels;
    double tokens = build->at.dim[0];
    double keys = HEADS * KEY_DIM;
    double values = VALUE_RATIO * keys;

    dn_build_linear (build, 2 * keys + values, true);
    dn_build_matmul (build, HEADS, tokens, tokens, KEY_DIM, 2 * tokens * keys);
    build->at.channels = HEADS * tokens;
    build->at.kept = false;
    dn_build_elementwise (build, 1);
    dn_build_add_learned (build, HEADS * SIZE * SIZE);
    dn_build_softmax (build);
    dn_build_matmul (
        build, HEADS, tokens, VALUE_RATIO * KEY_DIM, tokens, tokens * values);
    build->at.channels = values;
    build->at.kept = false;
    dn_build_copy (build);
    dn_build_linear (build, channels, true);
}

static void add_attentive_block (struct dn_build *build)
{
    double channels = build->at.channels;

    dn_build_norm (build, DN_NORM_LAYER);
    add_attention (build);
    add_sum (build);
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_linear (build, 4 * channels, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_linear (build, channels, true);
    add_sum (build);
}

/* Positions as tokens. */
static void add_tokens (struct dn_build *build)
{
    if (!build->failed && (build->at.dim[0] != SIZE || build->at.dim[1] != SIZE))
        dn_build_fail (build,
                       DN_E_RANGE,
                       dn_say_err_zoo_leaves,
                       build->at.dim[0],
                       build->at.dim[1],
                       build->graph.name,
                       SIZE,
                       SIZE);
    build->at.dim[0] *= build->at.dim[1];
    build->at.n_dims = 1;
}

static void add_head (struct dn_build *build)
{
    double classes = DN_WANT (build, classes, 1000);
    struct dn_shape mean;

    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_pool_global (build);
    mean = build->at;
    dn_build_linear (build, classes, true);
    mean.kept = true;
    build->at = mean;
    dn_build_linear (build, classes, true);
    dn_build_add (build);
    dn_build_elementwise (build, 1);
    dn_build_loss (build);
}

static void build_efficientformer (struct dn_build *build, const void *data)
{
    const struct efficientformer *row = data;
    double outer;

    dn_build_image (build, 3, 224, 2, 4);
    for (int i = 1; i >= 0; i--) {
        add_conv (build, row->channels[0] / (i + 1), 3, 2);
        dn_build_activation (build, DN_ACTIVATION_RELU);
    }
    for (int i = 0; i < N_STAGES; i++) {
        double attentive = i == N_STAGES - 1 ? row->attentive : 0;

        if (i > 0)
            add_conv (build, row->channels[i], 3, 2);
        outer = dn_build_repeat (build, row->blocks[i] - attentive);
        add_pooling_block (build);
        dn_build_repeat_end (build, outer);
    }
    add_tokens (build);
    outer = dn_build_repeat (build, row->attentive);
    add_attentive_block (build);
    dn_build_repeat_end (build, outer);
    add_head (build);
}

const struct dn_zoo_family dn_zoo_efficientformer =
    DN_ZOO_FAMILY (rows, build_efficientformer);
