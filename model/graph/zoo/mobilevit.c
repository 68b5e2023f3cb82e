/* mobilevit.c - MobileViT
 *
 * Mehta and Rastegari (arXiv 2110.02178) as timm implements it: inverted residuals, and
 * blocks in which the positions of equal place in all patches of 2x2 attend to each
 * other. V2 (2206.02680): attention by one score per position, without a product of
 * positions by positions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#include <math.h>

#define N_STAGES 5
#define HEADS    4.0
#define PATCH    2.0 /* positions of a patch in each dimension */

struct mobilevit {
    struct dn_zoo_entry entry;
    double channels[N_STAGES];
    double features[N_STAGES]; /* of the transformer of a stage; 0: none */
    double expand;             /* inner channels of a residual by its outer ones */
    double last;               /* channels of the last convolution; 0: none */
    double width;              /* factor of all channels */
    bool second;               /* V2 */
};

#define V1(name, ...)                                                                  \
    {                                                                                  \
        {name, "mobilevit"}, __VA_ARGS__, 1, false                                     \
    }
#define V2(name, width)                                                                \
    {                                                                                  \
        {name, "mobilevit"}, {64, 128, 256, 384, 512}, {0, 0, 128, 192, 256}, 2, 0,    \
            width, true                                                                \
    }

static const struct mobilevit rows[] = {
    V1 ("mobilevit_xxs", {16, 24, 48, 64, 80}, {0, 0, 64, 80, 96}, 2, 320),
    V1 ("mobilevit_xs", {32, 48, 64, 80, 96}, {0, 0, 96, 120, 144}, 4, 384),
    V1 ("mobilevit_s", {32, 64, 96, 128, 160}, {0, 0, 144, 192, 240}, 4, 640),
    V2 ("mobilevitv2_050", 0.5),
    V2 ("mobilevitv2_075", 0.75),
    V2 ("mobilevitv2_100", 1),
    V2 ("mobilevitv2_125", 1.25),
    V2 ("mobilevitv2_150", 1.5),
    V2 ("mobilevitv2_175", 1.75),
    V2 ("mobilevitv2_200", 2),
    /* End of rows */
};

/* Of each stage: its residuals in V1 and V2, and its transformer's blocks. */
static const double residuals[2][N_STAGES] = {{1, 3, 1, 1, 1}, {1, 2, 1, 1, 1}};
static const double layers[N_STAGES] = {0, 0, 2, 4, 3};

static void add_residual (struct dn_build *build, double out, int stride, double expand)
{
    double in = build->at.channels;
    double inner = dn_build_round (in * expand, 8);

    if (stride == 1 && in == out)
        dn_build_keep (build);
    dn_build_conv_norm_gelu (build, inner, 1, 1, 1);
    dn_build_conv_norm_gelu (build, inner, 3, stride, inner);
    dn_build_conv_norm (build, out, 1, 1, 1);
    if (stride == 1 && in == out)
        dn_build_add (build);
}

/* The positions of each place in the patches are heads of their own. */
static void add_attention (struct dn_build *build)
{
    double places = PATCH * PATCH;
    double features = build->at.channels;
    struct dn_shape start;
    const struct dn_attention attention = {
        .heads = HEADS * places, .head_dim = features / HEADS, .unmasked = true};

    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_linear (build, 3 * features, true);
    build->at.channels = features;
    start = build->at;
    build->at.channels *= places;
    build->at.dim[0] /= places;
    dn_build_attention_products (build, &attention);
    build->at.channels = features;
    build->at.dim[0] = start.dim[0];
    dn_build_linear (build, features, true);
    dn_build_add (build);
}

/* The sum of all keys by their scores weighs the values. */
static void add_linear_attention (struct dn_build *build)
{
    double features = build->at.channels;
    struct dn_shape start;
    struct dn_shape values;

    dn_build_norm (build, DN_NORM_GROUP);
    dn_build_conv (build, 2 * features + 1, 1, 1, 0, 1, true);
    start = build->at;
    build->at.channels = 1;
    dn_build_softmax (build);
    start.channels = features;
    start.kept = false;
    build->at = start;
    dn_build_keep (build);
    dn_build_elementwise (build, 2);
    build->at = start;
    dn_build_activation (build, DN_ACTIVATION_RELU);
    values = build->at;
    build->at.dim[1] = 1;
    build->at.kept = false;
    dn_build_multiply (build, &values);
    dn_build_conv (build, features, 1, 1, 0, 1, true);
    dn_build_add (build);
}

static void add_ffn (struct dn_build *build, bool second)
{
    double features = build->at.channels;

    dn_build_norm (build, second ? DN_NORM_GROUP : DN_NORM_LAYER);
    dn_build_linear (build, 2 * features, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_linear (build, features, true);
    dn_build_add (build);
}

/* The cursor's image as places by patches, or as one sequence; its size is rounded up
 * to whole patches.
 */
static void add_unfold (struct dn_build *build, bool second)
{
    double patches = 1;

    for (int i = 0; i < 2; i++)
        patches *= ceil (build->at.dim[i] / PATCH);
    build->at.dim[0] = PATCH * PATCH * (second ? 1 : patches);
    build->at.dim[1] = second ? patches : 0;
    build->at.n_dims = second ? 2 : 1;
    dn_build_copy (build);
}

static void add_transformer (struct dn_build *build, const struct mobilevit *row, int i)
{
    double channels = build->at.channels;
    struct dn_shape image;
    double outer;

    if (!row->second)
        dn_build_keep (build);
    image = build->at;
    dn_build_conv_norm_gelu (build, channels, 3, 1, row->second ? channels : 1);
    dn_build_conv (
        build, dn_build_round (row->features[i] * row->width, 8), 1, 1, 0, 1, false);
    add_unfold (build, row->second);
    outer = dn_build_repeat (build, layers[i]);
    if (row->second)
        add_linear_attention (build);
    else
        add_attention (build);
    add_ffn (build, row->second);
    dn_build_repeat_end (build, outer);
    dn_build_norm (build, row->second ? DN_NORM_GROUP : DN_NORM_LAYER);
    dn_build_copy (build);
    build->at.n_dims = 2;
    build->at.dim[0] = image.dim[0];
    build->at.dim[1] = image.dim[1];
    dn_build_conv_norm (build, channels, 1, 1, 1);
    if (row->second)
        return;
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_concat (build, &image);
    dn_build_conv_norm_gelu (build, channels, 3, 1, 1);
}

static void build_mobilevit (struct dn_build *build, const void *data)
{
    const struct mobilevit *row = data;

    dn_build_image (build, 3, 256, 2, 4);
    dn_build_conv_norm_gelu (
        build, row->second ? floor (32 * row->width) : 16, 3, 2, 1);
    for (int i = 0; i < N_STAGES; i++) {
        double out = floor (row->channels[i] * row->width);
        double outer;

        add_residual (build, out, i == 0 ? 1 : 2, row->expand);
        outer = dn_build_repeat (build, residuals[row->second][i] - 1);
        add_residual (build, out, 1, row->expand);
        dn_build_repeat_end (build, outer);
        if (row->features[i] > 0)
            add_transformer (build, row, i);
    }
    if (row->last > 0)
        dn_build_conv_norm_gelu (build, row->last, 1, 1, 1);
    dn_build_classifier (build, 1000, false);
}

const struct dn_zoo_family dn_zoo_mobilevit = DN_ZOO_FAMILY (rows, build_mobilevit);
