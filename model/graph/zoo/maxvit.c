/* maxvit.c - MaxViT
 *
 * Tu et al. (arXiv 2204.01697) as torchvision implements it: each layer is an inverted
 * residual with a gate, then attention within windows of 7x7 positions, then within a
 * grid of 7x7 positions that are far apart, both with a table of relative positions.
 * The size of an image must divide into windows after each stage.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"
#include "base/messages.h"

#include <math.h>

#define N_STAGES 4
#define WINDOW   7.0

struct maxvit {
    struct dn_zoo_entry entry;
    double
        channels; /* of the stem and of the first stage; each further one has twice */
    double layers[N_STAGES];
};

static const struct maxvit rows[] = {
    {{"maxvit_t", "maxvit"}, 64, {2, 2, 5, 2}},
    /* End of rows */
};

/* The input joins the result through a pool and a convolution if its size changes. */
static void add_inverted (struct dn_build *build, double out, int stride)
{
    const struct dn_pool pool = {
        DN_POOL_AVERAGE, .kernel = 3, .stride = stride, .pad = 1};
    struct dn_shape start;

    dn_build_keep (build);
    start = build->at;
    if (stride != 1)
        dn_build_pool (build, &pool);
    if (stride != 1 || start.channels != out)
        dn_build_conv (build, out, 1, 1, 0, 1, true);
    build->at = start;
    dn_build_norm (build, DN_NORM_BATCH);
    dn_build_conv_norm_gelu (build, 4 * out, 1, 1, 1);
    dn_build_conv_norm_gelu (build, 4 * out, 3, stride, 4 * out);
    dn_build_gate (build, floor (out / 4), DN_ACTIVATION_GELU, DN_ACTIVATION_SIGMOID);
    dn_build_conv (build, out, 1, 1, 0, 1, true);
    /* Stochastic depth, then the sum. */
    dn_build_elementwise (build, 1);
    dn_build_add (build);
}

static void add_products (struct dn_build *build)
{
    const double tokens = WINDOW * WINDOW;
    const double distances = (2 * WINDOW - 1) * (2 * WINDOW - 1);
    struct dn_shape start = build->at;

    dn_build_elementwise (build, 1);
    dn_zoo_window_scores_add (build, tokens);
    dn_build_add_learned (build, distances * start.channels / DN_WINDOW_HEAD);
    dn_zoo_window_values_add (build, tokens, &start);
}

/* Attention within parts of the image, and layers for each position. */
static void add_attention (struct dn_build *build)
{
    double channels = build->at.channels;

    dn_build_copy (build);
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_linear (build, 3 * channels, true);
    build->at.channels = channels;
    add_products (build);
    dn_build_copy (build);
    dn_build_linear (build, channels, true);
    dn_build_elementwise (build, 1);
    dn_build_add (build);
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_linear (build, 4 * channels, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_linear (build, channels, true);
    dn_build_elementwise (build, 1);
    dn_build_add (build);
    dn_build_copy (build);
}

static void check_windows (struct dn_build *build)
{
    for (int i = 0; i < build->at.n_dims; i++) {
        if (build->failed || fmod (build->at.dim[i], WINDOW) == 0)
            continue;
        dn_build_fail (build,
                       DN_E_RANGE,
                       dn_say_err_zoo_stage,
                       build->at.dim[i],
                       build->graph.name,
                       WINDOW);
    }
}

static void add_layer (struct dn_build *build, double out, int stride)
{
    add_inverted (build, out, stride);
    check_windows (build);
    for (int i = 0; i < 2; i++)
        add_attention (build);
}

static void add_head (struct dn_build *build)
{
    dn_build_pool_global (build);
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_linear (build, build->at.channels, true);
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
    dn_build_linear (build, DN_WANT (build, classes, 1000), false);
    dn_build_loss (build);
}

static void build_maxvit (struct dn_build *build, const void *data)
{
    const struct maxvit *row = data;
    double channels = row->channels;

    dn_build_image (build, 3, 224, 2, 4);
    dn_build_conv_norm_gelu (build, channels, 3, 2, 1);
    dn_build_conv (build, channels, 3, 1, 1, 1, true);
    for (int i = 0; i < N_STAGES; i++) {
        double outer;

        add_layer (build, channels, 2);
        outer = dn_build_repeat (build, row->layers[i] - 1);
        add_layer (build, channels, 1);
        dn_build_repeat_end (build, outer);
        channels *= 2;
    }
    add_head (build);
}

const struct dn_zoo_family dn_zoo_maxvit = DN_ZOO_FAMILY (rows, build_maxvit);
