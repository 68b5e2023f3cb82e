/* efficientdet.c - EfficientDet-D0
 *
 * Tan et al. (arXiv 1911.09070) as effdet's tf_efficientdet_d0: EfficientNet-B0, three
 * bidirectional pyramids of 64 features with learned weights, and two heads that all
 * five levels share, with separate normalisation per level. image= is a multiple of
 * 128. Matching of boxes is not counted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"
#include "base/messages.h"

#include <math.h>

#define FEATURES 64.0
#define N_LEVELS 5
#define N_CELLS  3
#define N_LAYERS 3
#define ANCHORS  9.0
#define DIVISOR  128.0
#define BACKBONE 3 /* levels of the backbone */

struct efficientdet {
    struct dn_zoo_entry entry;
};

static const struct efficientdet rows[] = {
    {{"efficientdet_d0", "efficientdet"}},
    /* End of rows */
};

/* A level of the backbone to FEATURES features. */
static void add_lateral (struct dn_build *build)
{
    dn_build_conv (build, FEATURES, 1, 1, 0, 1, true);
    dn_build_norm (build, DN_NORM_BATCH);
}

/* Half the size; padded on one side. */
static void add_down (struct dn_build *build)
{
    dn_build_pool (build,
                   &(struct dn_pool){DN_POOL_MAX, .kernel = 3, .stride = 2, .pad = 1});
}

/* Weight one of the activations that a node sums; product and quotient are kept. */
static void add_weighted (struct dn_build *build)
{
    dn_build_keep (build);
    dn_build_elementwise (build, 1);
    dn_build_keep (build);
    dn_build_elementwise (build, 1);
}

/* A depthwise and a 1x1 convolution. */
static void add_separable (struct dn_build *build, double out)
{
    dn_build_conv (build, build->at.channels, 3, 1, 1, build->at.channels, false);
    dn_build_conv (build, out, 1, 1, 0, 1, true);
}

/* The sum of 'n' weighted activations, activation, convolution, normalisation. */
static void add_node (struct dn_build *build, double n)
{
    const struct dn_op weights = {
        .kind = DN_OP_ELEMENTWISE, .weights = n, .params = n, .tensors = 1};

    dn_build_op (build, &weights);
    dn_build_add (build);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    add_separable (build, FEATURES);
    dn_build_norm (build, DN_NORM_BATCH);
}

/* Weight 'level', projected to FEATURES first if it is a level of the backbone. */
static void add_input (struct dn_build *build, struct dn_shape *level)
{
    build->at = *level;
    if (level->channels != FEATURES) {
        dn_build_keep (build);
        level->kept = true;
        add_lateral (build);
        add_weighted (build);
        return;
    }
    add_weighted (build);
    level->kept = true;
}

/* One pyramid: down the levels, then up again. */
static void add_cell (struct dn_build *build, struct dn_shape levels[N_LEVELS])
{
    struct dn_shape middle[N_LEVELS];

    middle[N_LEVELS - 1] = levels[N_LEVELS - 1];
    for (int i = N_LEVELS - 2; i >= 0; i--) {
        add_input (build, &levels[i]);
        build->at = middle[i + 1];
        dn_build_upsample (build, 2);
        add_weighted (build);
        add_node (build, 2);
        middle[i] = build->at;
    }
    levels[0] = middle[0];
    for (int i = 1; i < N_LEVELS; i++) {
        bool last = i == N_LEVELS - 1;

        add_input (build, &levels[i]);
        if (!last)
            add_input (build, &middle[i]);
        build->at = levels[i - 1];
        dn_build_keep (build);
        levels[i - 1].kept = true;
        add_down (build);
        add_weighted (build);
        add_node (build, last ? 2 : 3);
        levels[i] = build->at;
    }
}

/* Convolutions that all levels share, with separate normalisations. */
static void add_head (struct dn_build *build, struct dn_shape *levels, double out)
{
    for (int i = 0; i < N_LEVELS; i++) {
        build->at = levels[i];
        dn_build_keep (build);
        levels[i].kept = true;
        for (int j = 0; j < N_LAYERS; j++) {
            build->shared = i > 0;
            add_separable (build, FEATURES);
            build->shared = false;
            dn_build_norm (build, DN_NORM_BATCH);
            dn_build_activation (build, DN_ACTIVATION_GELU);
        }
        build->shared = i > 0;
        add_separable (build, out);
        build->shared = false;
    }
    dn_build_loss (build);
}

static void build_efficientdet (struct dn_build *build, const void *row)
{
    double classes = DN_WANT (build, classes, 90);
    struct dn_shape levels[N_LEVELS] = {{0}};

    (void) row;
    dn_build_image (build, 3, 512, 2, 4);
    for (int i = 0; i < 2; i++)
        if (fmod (build->at.dim[i], DIVISOR) != 0)
            dn_build_fail (build,
                           DN_E_RANGE,
                           dn_say_err_zoo_multiple,
                           "image",
                           build->at.dim[i],
                           DIVISOR,
                           "efficientdet_d0");
    dn_zoo_efficientnet_b0_add (build, levels);
    build->at = levels[BACKBONE - 1];
    dn_build_keep (build);
    levels[BACKBONE - 1].kept = true;
    add_lateral (build);
    add_down (build);
    levels[BACKBONE] = build->at;
    dn_build_keep (build);
    levels[BACKBONE].kept = true;
    add_down (build);
    levels[BACKBONE + 1] = build->at;
    for (int i = 0; i < N_CELLS; i++)
        add_cell (build, levels);
    add_head (build, levels, ANCHORS * classes);
    add_head (build, levels, ANCHORS * 4);
}

const struct dn_zoo_family dn_zoo_efficientdet =
    DN_ZOO_FAMILY (rows, build_efficientdet);
