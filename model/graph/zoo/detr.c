/* detr.c - detectors that let queries look for objects
 *
 * DETR (Carion et al., arXiv 2005.12872) and Deformable DETR (2010.04159): a residual
 * network whose stem, first stage and normalisation do not learn, an encoder over its
 * positions and a decoder over a fixed number of queries. After each layer of the
 * decoder classes and boxes are computed and have losses. Deformable attention weighs a
 * few sampled points of four levels. Matching counts as small kernels, image by image.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "backbone.h"
#include "zoo.h"

#define HIDDEN 256.0
#define HEADS  8.0
#define LAYERS 6.0

/* Levels of Deformable DETR. */
#define N_LEVELS 4

/* Sampled points of each level for each head, and their coordinates. */
#define POINTS 4.0
#define COORDS 2.0

struct detr {
    struct dn_zoo_entry entry;
    bool deformable;
    double queries;
    double ffn;
    struct dn_backbone backbone;
};

#define ROW(name, deformable, queries, ffn, ...)                                       \
    {                                                                                  \
        {name, "detr"}, deformable, queries, ffn,                                      \
        {                                                                              \
            .norm = DN_BACKBONE_FIXED, .frozen = true, __VA_ARGS__                     \
        }                                                                              \
    }

static const struct detr rows[] = {
    ROW ("detr_resnet_50", false, 100, 2048, .net = DN_RESNET_50),
    ROW ("detr_resnet_101", false, 100, 2048, .net = DN_RESNET_101),
    ROW ("detr_resnet_50_dc5", false, 100, 2048, .net = DN_RESNET_50, .dense = 3),
    ROW ("detr_resnet_101_dc5", false, 100, 2048, .net = DN_RESNET_101, .dense = 3),
    ROW ("deformable_detr", true, 300, 1024, .net = DN_RESNET_50),
    /* End of rows */
};

/* The positions of an image as a sequence. */
static void add_sequence (struct dn_build *build)
{
    build->at.dim[0] = dn_shape_positions (&build->at);
    build->at.n_dims = 1;
    dn_build_copy (build);
}

/* One projection of the last level, or one of each of four levels, side by side. */
static void add_inputs (struct dn_build *build,
                        const struct detr *row,
                        const struct dn_shape levels[DN_BACKBONE_STAGES])
{
    double positions = 0;

    build->at = levels[3];
    if (!row->deformable) {
        dn_build_conv (build, HIDDEN, 1, 1, 0, 1, true);
        add_sequence (build);
        return;
    }
    for (int i = 1; i <= N_LEVELS; i++) {
        bool top = i == N_LEVELS;

        build->at = levels[top ? 3 : i];
        build->at.kept = true;
        dn_build_conv (build, HIDDEN, top ? 3 : 1, top ? 2 : 1, top ? 1 : 0, 1, true);
        dn_build_norm (build, DN_NORM_GROUP);
        positions += dn_shape_positions (&build->at);
    }
    build->at = (struct dn_shape){.channels = HIDDEN, .dim = {positions}, .n_dims = 1};
    /* An embedding of each level is added. */
    dn_build_add_learned (build, N_LEVELS * HIDDEN);
}

void dn_detr_add_sampled (struct dn_build *build,
                          const struct dn_shape *memory,
                          double levels)
{
    double points = HEADS * levels * POINTS;
    struct dn_shape start;
    struct dn_shape values;

    dn_build_elementwise (build, 1);
    dn_build_keep (build);
    start = build->at;
    dn_build_linear (build, points * COORDS, true);
    build->at = start;
    dn_build_linear (build, points, true);
    dn_build_softmax (build);
    values = memory ? *memory : start;
    build->at = values;
    dn_build_linear (build, HIDDEN, true);
    dn_build_keep (build);
    /* Four neighbours of each point are read. */
    build->at = start;
    build->at.channels = 4 * points / HEADS * HIDDEN;
    dn_build_elementwise (build, 1);
    start.kept = false;
    build->at = start;
    dn_build_linear (build, HIDDEN, true);
}

/* Dropout, sum, normalisation. */
static void add_end (struct dn_build *build)
{
    dn_build_dropout (build);
    dn_build_add (build);
    dn_build_norm (build, DN_NORM_LAYER);
}

static void add_attention (struct dn_build *build,
                           struct dn_shape *memory,
                           bool deformable)
{
    const struct dn_attention attention = {.heads = HEADS,
                                           .head_dim = HIDDEN / HEADS,
                                           .memory = memory,
                                           .bias = true,
                                           .out_bias = true,
                                           .dropout = true};

    if (deformable) {
        dn_detr_add_sampled (build, memory, N_LEVELS);
    } else {
        /* Positions are added to queries and keys. */
        dn_build_elementwise (build, 2);
        dn_build_attention (build, &attention);
    }
    add_end (build);
}

static void add_ffn (struct dn_build *build, double ffn)
{
    dn_build_linear (build, ffn, true);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    dn_build_dropout (build);
    dn_build_linear (build, HIDDEN, true);
    add_end (build);
}

static void add_encoder (struct dn_build *build, const struct detr *row)
{
    double layers = DN_WANT (build, layers, LAYERS);
    double outer;

    dn_build_blocks (build, layers);
    outer = dn_build_repeat (build, layers);
    add_attention (build, NULL, row->deformable);
    add_ffn (build, row->ffn);
    dn_build_repeat_end (build, outer);
}

void dn_query_outputs (struct dn_build *build, double classes)
{
    double hidden = build->at.channels;
    struct dn_shape start;

    dn_build_keep (build);
    start = build->at;
    dn_build_linear (build, classes, true);
    dn_build_loss (build);
    build->at = start;
    for (int i = 0; i < 2; i++) {
        dn_build_linear (build, hidden, true);
        dn_build_activation (build, DN_ACTIVATION_RELU);
    }
    dn_build_linear (build, 4, true);
    dn_build_loss (build);
    dn_build_each (build, DN_MATCH_KERNELS);
    build->at = start;
}

/* Classes and boxes of the queries; of all layers by the same parameters. */
static void add_outputs (struct dn_build *build, const struct detr *row)
{
    double classes = DN_WANT (build, classes, 91);

    if (!row->deformable)
        dn_build_norm (build, DN_NORM_LAYER);
    dn_query_outputs (build, classes + (row->deformable ? 0 : 1));
    build->at.kept = false;
}

static void add_decoder (struct dn_build *build, const struct detr *row)
{
    double layers = DN_WANT (build, layers, LAYERS);
    struct dn_shape memory;

    dn_build_keep (build);
    memory = build->at;
    build->at =
        (struct dn_shape){.channels = HIDDEN, .dim = {row->queries}, .n_dims = 1};
    dn_build_add_learned (build, row->queries * HIDDEN * (row->deformable ? 2 : 1));
    if (row->deformable) {
        dn_build_linear (build, COORDS, true);
        build->at.channels = HIDDEN;
    }
    for (int i = 0; i < layers; i++) {
        add_attention (build, NULL, false);
        add_attention (build, &memory, row->deformable);
        add_ffn (build, row->ffn);
        build->shared = i > 0;
        add_outputs (build, row);
        build->shared = false;
    }
}

static void build_detr (struct dn_build *build, const void *data)
{
    const struct detr *row = data;
    const double dims[2] = {800, 1333};
    struct dn_shape levels[DN_BACKBONE_STAGES];

    dn_build_image_of (build, 3, dims, 2, 4);
    dn_backbone_add (build, &row->backbone, levels);
    add_inputs (build, row, levels);
    add_encoder (build, row);
    add_decoder (build, row);
}

const struct dn_zoo_family dn_zoo_detr = DN_ZOO_FAMILY (rows, build_detr);
