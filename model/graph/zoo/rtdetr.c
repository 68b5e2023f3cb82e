/* rtdetr.c - RT-DETR
 *
 * Zhao et al. (arXiv 2304.08069) as transformers implements it: a residual network
 * whose normalisation does not learn, attention within its last level only, pyramids
 * downwards and upwards of convolutions, and a decoder whose queries are the positions
 * with the best scores. In training, queries of noisy boxes and classes join them, two
 * for each of 100. Matching counts as small kernels, image by image.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "backbone.h"
#include "zoo.h"

#define HEADS    8.0
#define N_LEVELS 3
#define REPEATED 3.0 /* blocks of a part of the pyramids */

/* Of the decoder. */
#define HIDDEN  256.0
#define FFN     1024.0
#define QUERIES 300.0
#define NOISY   200.0

struct rtdetr {
    struct dn_zoo_entry entry;
    enum dn_resnet net;
    double layers;    /* of the decoder */
    double hidden;    /* of the encoder */
    double ffn;       /* the same */
    double expansion; /* inner channels of the pyramids' parts by their outer ones */
};

static const struct rtdetr rows[] = {
    {{"rtdetr_r18vd", "rtdetr"}, DN_RESNET_18, 3, 256, 1024, 0.5},
    {{"rtdetr_r34vd", "rtdetr"}, DN_RESNET_34, 4, 256, 1024, 0.5},
    {{"rtdetr_r50vd", "rtdetr"}, DN_RESNET_50, 6, 256, 1024, 1},
    {{"rtdetr_r101vd", "rtdetr"}, DN_RESNET_101, 6, 384, 2048, 1},
    /* End of rows */
};

static void add_ffn (struct dn_build *build, double ffn, enum dn_activation activation)
{
    double hidden = build->at.channels;

    dn_build_linear (build, ffn, true);
    dn_build_activation (build, activation);
    dn_build_linear (build, hidden, true);
    dn_build_add (build);
    dn_build_norm (build, DN_NORM_LAYER);
}

/* Positions are added to queries and keys. */
static void add_self (struct dn_build *build)
{
    const struct dn_attention attention = {.heads = HEADS,
                                           .head_dim = build->at.channels / HEADS,
                                           .bias = true,
                                           .out_bias = true,
                                           .unmasked = true};

    dn_build_elementwise (build, 1);
    dn_build_attention (build, &attention);
    dn_build_add (build);
    dn_build_norm (build, DN_NORM_LAYER);
}

/* Attention within the level at the cursor. */
static void add_encoder (struct dn_build *build, double ffn)
{
    struct dn_shape image = build->at;

    build->at.dim[0] = dn_shape_positions (&image);
    build->at.n_dims = 1;
    dn_build_copy (build);
    add_self (build);
    add_ffn (build, ffn, DN_ACTIVATION_GELU);
    dn_build_copy (build);
    image.kept = false;
    image.number = build->at.number;
    build->at = image;
}

/* The cursor's level and another one, joined. */
static void add_joined (struct dn_build *build,
                        const struct dn_shape *other,
                        const struct rtdetr *row)
{
    double inner = row->hidden * row->expansion;
    struct dn_shape start;
    double outer;

    dn_build_concat (build, other);
    dn_build_keep (build);
    start = build->at;
    dn_build_conv_norm_gelu (build, inner, 1, 1, 1);
    outer = dn_build_repeat (build, REPEATED);
    dn_twin_conv (build, build->at.channels);
    dn_build_repeat_end (build, outer);
    build->at = start;
    dn_build_conv_norm_gelu (build, inner, 1, 1, 1);
    dn_build_add (build);
    if (inner != row->hidden)
        dn_build_conv_norm_gelu (build, row->hidden, 1, 1, 1);
}

/* Both pyramids over three levels, whose results take their place. */
static void add_pyramids (struct dn_build *build,
                          struct dn_shape *levels,
                          const struct rtdetr *row)
{
    for (int i = N_LEVELS - 1; i > 0; i--) {
        build->at = levels[i];
        dn_build_conv_norm_gelu (build, row->hidden, 1, 1, 1);
        levels[i] = build->at;
        dn_build_upsample (build, 2);
        add_joined (build, &levels[i - 1], row);
        levels[i - 1] = build->at;
    }
    for (int i = 1; i < N_LEVELS; i++) {
        build->at = levels[i - 1];
        dn_build_conv_norm_gelu (build, row->hidden, 3, 2, 1);
        add_joined (build, &levels[i], row);
        levels[i] = build->at;
    }
}

/* The levels side by side, and the best of their positions as queries. */
static struct dn_shape add_queries (struct dn_build *build,
                                    const struct dn_shape *levels,
                                    double classes)
{
    double positions = 0;
    struct dn_shape memory;

    for (int i = 0; i < N_LEVELS; i++) {
        build->at = levels[i];
        dn_build_conv_norm (build, HIDDEN, 1, 1, 1);
        positions += dn_shape_positions (&build->at);
    }
    build->at = (struct dn_shape){.channels = HIDDEN, .dim = {positions}, .n_dims = 1};
    dn_build_copy (build);
    dn_build_keep (build);
    memory = build->at;
    dn_build_linear (build, HIDDEN, true);
    dn_build_norm (build, DN_NORM_LAYER);
    dn_query_outputs (build, classes);
    /* Noisy classes, one of which stands for none. */
    dn_build_tokens (build, NOISY);
    dn_build_embedding (build, classes + 1, HIDDEN);
    build->at.dim[0] += QUERIES;
    dn_build_copy (build);
    return memory;
}

/* Positions of the queries' boxes: two layers that all blocks share. */
static void add_positions (struct dn_build *build, bool again)
{
    struct dn_shape at = build->at;

    build->at.channels = 4;
    build->at.kept = false;
    build->shared = again;
    dn_build_linear (build, 2 * HIDDEN, true);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    dn_build_linear (build, HIDDEN, true);
    build->shared = false;
    build->at = at;
}

static void add_decoder (struct dn_build *build,
                         const struct dn_shape *memory,
                         double layers,
                         double classes)
{
    for (int i = 0; i < layers; i++) {
        add_positions (build, i > 0);
        add_self (build);
        dn_detr_add_sampled (build, memory, N_LEVELS);
        dn_build_add (build);
        dn_build_norm (build, DN_NORM_LAYER);
        add_ffn (build, FFN, DN_ACTIVATION_RELU);
        dn_query_outputs (build, classes);
    }
}

static void build_rtdetr (struct dn_build *build, const void *data)
{
    const struct rtdetr *row = data;
    const struct dn_backbone backbone = {
        .net = row->net, .norm = DN_BACKBONE_FIXED, .deep = true, .average = true};
    double layers = DN_WANT (build, layers, row->layers);
    double classes = DN_WANT (build, classes, 80);
    struct dn_shape levels[DN_BACKBONE_STAGES];
    struct dn_shape memory;

    dn_build_image (build, 3, 640, 2, 4);
    dn_backbone_add (build, &backbone, levels);
    for (int i = 1; i <= N_LEVELS; i++) {
        build->at = levels[i];
        dn_build_conv_norm (build, row->hidden, 1, 1, 1);
        levels[i] = build->at;
    }
    add_encoder (build, row->ffn);
    levels[N_LEVELS] = build->at;
    add_pyramids (build, &levels[1], row);
    memory = add_queries (build, &levels[1], classes);
    add_decoder (build, &memory, layers, classes);
}

const struct dn_zoo_family dn_zoo_rtdetr = DN_ZOO_FAMILY (rows, build_rtdetr);
