/* yolov7.c - YOLOv7
 *
 * Wang et al. (arXiv 2207.02696) as its authors train it: blocks that join the outputs
 * of a chain of convolutions, two branches wherever the size is halved, convolutions of
 * two sizes side by side before the outputs, which have learned offsets and factors.
 * Assigning boxes counts as small kernels, image by image.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "backbone.h"
#include "zoo.h"

#include <math.h>

#define N_LEVELS 3
#define ANCHORS  3.0
#define N_CHAIN  4

struct yolo {
    struct dn_zoo_entry entry;
};

static const struct yolo rows[] = {
    {{"yolov7", "yolo"}},
    /* End of rows */
};

static void add_conv (struct dn_build *build, double out, int kernel, int stride)
{
    dn_build_conv_norm_gelu (build, out, kernel, stride, 1);
}

/* Two 1x1 convolutions to 'first' channels and a chain of 3x3 ones after the second;
 * the two and 'n' of the chain are joined.
 */
static void add_block (struct dn_build *build,
                       double first,
                       double inner,
                       int n,
                       double out)
{
    struct dn_shape start;

    dn_build_keep (build);
    start = build->at;
    add_conv (build, first, 1, 1);
    build->at = start;
    add_conv (build, first, 1, 1);
    for (int i = 0; i < N_CHAIN; i++)
        add_conv (build, inner, 3, 1);
    build->at.channels = n * inner;
    dn_build_concat (build, &(struct dn_shape){.channels = 2 * first});
    add_conv (build, out, 1, 1);
}

static void add_narrow_block (struct dn_build *build, double inner, double out)
{
    add_block (build, inner, inner, 2, out);
}

static void add_wide_block (struct dn_build *build, double out)
{
    add_block (build, out, out / 2, N_CHAIN, out);
}

/* Half the size by a pool and by a convolution, joined with 'more' channels. */
static void add_down (struct dn_build *build, double inner, double more)
{
    struct dn_shape start;

    dn_build_keep (build);
    start = build->at;
    dn_build_pool (build, &(struct dn_pool){DN_POOL_MAX, .kernel = 2, .stride = 2});
    add_conv (build, inner, 1, 1);
    build->at = start;
    add_conv (build, inner, 1, 1);
    add_conv (build, inner, 3, 2);
    dn_build_concat (build, &(struct dn_shape){.channels = inner + more});
}

/* Maxima of windows of several sizes in one of two branches. */
static void add_pooling (struct dn_build *build, double channels)
{
    struct dn_shape start;
    struct dn_shape pooled;

    dn_build_keep (build);
    start = build->at;
    add_conv (build, channels, 1, 1);
    add_conv (build, channels, 3, 1);
    add_conv (build, channels, 1, 1);
    dn_build_keep (build);
    pooled = build->at;
    for (int kernel = 5; kernel <= 13; kernel += 4) {
        build->at = pooled;
        dn_build_pool (
            build,
            &(struct dn_pool){
                DN_POOL_MAX, .kernel = kernel, .stride = 1, .pad = kernel / 2});
    }
    build->at.channels = 3 * channels;
    dn_build_concat (build, &pooled);
    add_conv (build, channels, 1, 1);
    add_conv (build, channels, 3, 1);
    build->at = start;
    add_conv (build, channels, 1, 1);
    dn_build_concat (build, &(struct dn_shape){.channels = channels});
    add_conv (build, channels, 1, 1);
}

/* The backbone; the activations of the last three sizes are stored in 'levels'. */
static void add_backbone (struct dn_build *build, struct dn_shape levels[N_LEVELS])
{
    add_conv (build, 32, 3, 1);
    add_conv (build, 64, 3, 2);
    add_conv (build, 64, 3, 1);
    add_conv (build, 128, 3, 2);
    add_narrow_block (build, 64, 256);
    for (int i = 0; i < N_LEVELS; i++) {
        add_down (build, ldexp (128, i), 0);
        add_narrow_block (
            build, fmin (ldexp (128, i), 256), fmin (ldexp (512, i), 1024));
        levels[i] = build->at;
    }
}

/* Down the levels and up again; the results take the place of 'levels'. */
static void add_pyramid (struct dn_build *build, struct dn_shape levels[N_LEVELS])
{
    add_pooling (build, 512);
    levels[N_LEVELS - 1] = build->at;
    for (int i = N_LEVELS - 2; i >= 0; i--) {
        double channels = ldexp (128, i);

        add_conv (build, channels, 1, 1);
        dn_build_upsample (build, 2);
        build->at = levels[i];
        dn_build_keep (build);
        add_conv (build, channels, 1, 1);
        dn_build_concat (build, &(struct dn_shape){.channels = channels});
        add_wide_block (build, channels);
        levels[i] = build->at;
    }
    for (int i = 1; i < N_LEVELS; i++) {
        build->at = levels[i - 1];
        add_down (build, ldexp (64, i), levels[i].channels);
        levels[i - 1].kept = true;
        add_wide_block (build, ldexp (128, i));
        levels[i] = build->at;
    }
}

void dn_twin_conv (struct dn_build *build, double channels)
{
    struct dn_shape start;

    dn_build_keep (build);
    start = build->at;
    dn_build_conv_norm (build, channels, 3, 1, 1);
    build->at = start;
    dn_build_conv_norm (build, channels, 1, 1, 1);
    dn_build_add (build);
    dn_build_activation (build, DN_ACTIVATION_GELU);
}

/* Two convolutions side by side, then the outputs of one level. */
static void add_output (struct dn_build *build, double channels, double out)
{
    dn_twin_conv (build, channels);
    dn_build_add_learned (build, channels);
    dn_build_conv (build, out, 1, 1, 0, 1, true);
    dn_build_scale (build);
    dn_build_loss (build);
}

static void build_yolo (struct dn_build *build, const void *row)
{
    double out = ANCHORS * (5 + DN_WANT (build, classes, 80));
    struct dn_shape levels[N_LEVELS] = {{0}};

    (void) row;
    dn_build_image (build, 3, 640, 2, 4);
    add_backbone (build, levels);
    add_pyramid (build, levels);
    for (int i = 0; i < N_LEVELS; i++) {
        build->at = levels[i];
        add_output (build, 2 * levels[i].channels, out);
    }
    dn_build_each (build, DN_MATCH_KERNELS);
}

const struct dn_zoo_family dn_zoo_yolov7 = DN_ZOO_FAMILY (rows, build_yolo);
