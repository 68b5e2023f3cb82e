/* points.c - networks over points of space: PointNet, PointNet++, NeRFs, SchNet
 *
 * pointnet: classes of clouds of seq_len= points (Qi et al., arXiv 1612.00593, as
 * fxia22/pointnet.pytorch implements it with both transforms). pointnet2_ssg: the same
 * in three scales (1706.02413, as yanx27/Pointnet_Pointnet2_pytorch implements it).
 * nerf: the colour of a ray from seq_len= points and tgt_len= more where the first saw
 * something (Mildenhall et al., 2003.08934, sizes of yenchenlin/nerf-pytorch); layers=
 * layers of hidden= features. instant_ngp: the same from tables of a grid in tables=
 * resolutions, of at most vocab= rows of embed_dim= features, and two small networks of
 * hidden= features (Mueller et al., 2201.05989, as ashawkey/torch-ngp implements it);
 * seq_len= points of a ray lie where the scene is not empty. schnet: the energy of a
 * molecule of seq_len= atoms and tgt_len= pairs of neighbours (Schuett et al.,
 * 1706.08566, as PyTorch Geometric implements it); layers= interactions of hidden=
 * features.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"
#include "base/messages.h"

#include <math.h>

struct points {
    struct dn_zoo_entry entry;
    dn_zoo_build_f build;
};

/* A layer of each point, or of the whole cloud. */
static void add_layer (struct dn_build *build, double out)
{
    if (build->at.n_dims > 0)
        dn_build_conv (build, out, 1, 1, 0, 1, true);
    else
        dn_build_linear (build, out, true);
    dn_build_norm (build, DN_NORM_BATCH);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

/* The largest value of each feature, over 'points' each. */
static void add_maximum (struct dn_build *build, double points)
{
    struct dn_op op = {.kind = DN_OP_POOL, .in = dn_shape_elements (&build->at)};

    build->at.dim[0] /= points;
    op.out = dn_shape_elements (&build->at);
    op.masks = 8 * op.out;
    dn_build_op (build, &op);
    build->at.kept = false;
    if (build->at.dim[0] <= 1)
        dn_build_flatten (build);
}

/* A matrix for the features of all points, from a network of its own. */
static void add_transform (struct dn_build *build)
{
    struct dn_shape start;
    double features = build->at.channels;
    double points = build->at.dim[0];

    dn_build_keep (build);
    start = build->at;
    add_layer (build, 64);
    add_layer (build, 128);
    add_layer (build, 1024);
    add_maximum (build, points);
    add_layer (build, 512);
    add_layer (build, 256);
    dn_build_linear (build, features * features, true);
    dn_build_elementwise (build, 1);
    dn_build_matmul (build, 1, points, features, features, features * features);
    build->at = start;
    build->at.kept = false;
    build->at.input = false;
}

static void add_classes (struct dn_build *build)
{
    add_layer (build, 512);
    dn_build_linear (build, 256, true);
    dn_build_dropout (build);
    dn_build_norm (build, DN_NORM_BATCH);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    dn_build_linear (build, DN_WANT (build, classes, 40), true);
    dn_build_loss (build);
}

static void build_pointnet (struct dn_build *build, const void *row)
{
    double points = DN_WANT (build, seq_len, 2500);

    (void) row;
    dn_build_features (build, 3, points);
    add_transform (build);
    add_layer (build, 64);
    add_transform (build);
    add_layer (build, 128);
    dn_build_conv (build, 1024, 1, 1, 0, 1, true);
    dn_build_norm (build, DN_NORM_BATCH);
    add_maximum (build, points);
    add_classes (build);
}

struct scale {
    double centres;
    double neighbours;
    double out[3];
};

/* The host chooses one centre after the other, each with seven kernels over all points;
 * the neighbours of a centre are found by sorting.
 */
static void add_grouping (struct dn_build *build,
                          const struct scale *scale,
                          double points)
{
    const struct dn_op choice = {
        .kind = DN_OP_ELEMENTWISE, .repeat = 7, .in = 3 * points, .out = points};
    const struct dn_op distances = {.kind = DN_OP_COPY,
                                    .repeat = 4,
                                    .in = scale->centres * points,
                                    .out = scale->centres * points};

    build->calls = scale->centres;
    dn_build_op (build, &choice);
    build->calls = 0;
    dn_build_op (build, &distances);
    build->at.dim[0] = scale->centres * scale->neighbours;
    dn_build_copy (build);
}

static void build_pointnet2 (struct dn_build *build, const void *row)
{
    double points = DN_WANT (build, seq_len, 1024);
    const struct scale scales[] = {
        {512, 32, {64, 64, 128}},
        {128, 64, {128, 128, 256}},
        {1, 128, {256, 512, 1024}},
    };

    (void) row;
    dn_build_features (build, 3, points);
    for (size_t i = 0; i < DN_N_ELEMENTS (scales); i++) {
        /* Features of the point beside its place; at first there are none. */
        if (i > 0)
            build->at.channels += 3;
        if (scales[i].centres > 1)
            add_grouping (build, &scales[i], points);
        for (size_t j = 0; j < DN_N_ELEMENTS (scales[i].out); j++)
            add_layer (build, scales[i].out[j]);
        add_maximum (build, scales[i].neighbours);
        points = scales[i].centres;
    }
    add_layer (build, 512);
    dn_build_dropout (build);
    add_layer (build, 256);
    dn_build_dropout (build);
    dn_build_linear (build, DN_WANT (build, classes, 40), true);
    dn_build_loss (build);
}

/* Sines and cosines of a place in ten octaves, of a direction in four. */
#define PLACE     63.0
#define DIRECTION 27.0

static void add_relu (struct dn_build *build, double out)
{
    dn_build_linear (build, out, true);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

/* The place joins again after the fifth layer. */
static void add_field (struct dn_build *build,
                       double layers,
                       double hidden,
                       double points)
{
    struct dn_shape trunk;

    build->at = (struct dn_shape){
        .channels = PLACE, .dim = {points}, .n_dims = 1, .input = true};
    dn_build_elementwise (build, 2);
    for (int i = 0; i < layers && !build->failed; i++) {
        add_relu (build, hidden);
        if (i == 4)
            dn_build_concat (build, &(struct dn_shape){.channels = PLACE});
    }
    dn_build_keep (build);
    trunk = build->at;
    dn_build_linear (build, 1, true);
    build->at = trunk;
    dn_build_linear (build, hidden, true);
    dn_build_concat (build, &(struct dn_shape){.channels = DIRECTION});
    add_relu (build, floor (hidden / 2));
    dn_build_linear (build, 3, true);
    dn_build_elementwise (build, 6);
}

static void build_nerf (struct dn_build *build, const void *row)
{
    double first = DN_WANT (build, seq_len, 64);
    double second = DN_WANT (build, tgt_len, 128);
    double layers = DN_WANT (build, layers, 8);
    double hidden = DN_WANT (build, hidden, 256);

    (void) row;
    build->graph.decode = DN_DECODE_NONE;
    /* Origin and direction of a ray, and its colour. */
    dn_build_features (build, 9, 0);
    add_field (build, layers, hidden, first);
    dn_build_elementwise (build, 6);
    add_field (build, layers, hidden, first + second);
    build->at.dim[0] = 1;
    dn_build_loss (build);
}

/* Positions of the coarsest and the finest grid along a side, corners of a cell, and
 * what the first network gives to the second beside the density, which joins spherical
 * harmonics of the direction.
 */
#define COARSEST  16.0
#define FINEST    2048.0
#define CORNERS   8.0
#define GEOMETRY  15.0
#define HARMONICS 16.0

/* Grids that anyone could want. */
#define GRIDS_MAX 1024.0

/* Rows of all tables: a grid that has fewer corners than 'most' has one for each, in
 * multiples of 8.
 */
static double table_rows (struct dn_build *build, double tables, double most)
{
    double n_rows = 0;

    if (tables > GRIDS_MAX) {
        dn_build_fail (
            build, DN_E_RANGE, dn_say_err_real_range, "tables", tables, 1.0, GRIDS_MAX);
        return 0;
    }
    for (int i = 0; i < tables; i++) {
        double share = tables > 1 ? i / (tables - 1) : 0;
        double side = ceil (COARSEST * pow (FINEST / COARSEST, share)) + 1;

        n_rows += 8 * ceil (fmin (most, side * side * side) / 8);
    }
    return n_rows;
}

/* A point's cell in each grid: its corners are read and weighed in one kernel. */
static void add_tables (struct dn_build *build, double points)
{
    double tables = DN_WANT (build, tables, 16);
    double features = DN_WANT (build, embed_dim, 2);
    double most = DN_WANT (build, vocab, 524288);
    double read = points * tables * CORNERS;
    double params = table_rows (build, tables, most) * features;
    const struct dn_op op = {.kind = DN_OP_EMBEDDING,
                             .in = read,
                             .out = read * features,
                             .weights = read * features,
                             .params = params,
                             .tensors = 1,
                             .saved = 3 * points,
                             .first = true};

    dn_build_op (build, &op);
    build->at =
        (struct dn_shape){.channels = tables * features, .dim = {points}, .n_dims = 1};
}

static void build_ngp (struct dn_build *build, const void *row)
{
    double points = DN_WANT (build, seq_len, 64);
    double hidden = DN_WANT (build, hidden, 64);

    (void) row;
    build->graph.decode = DN_DECODE_NONE;
    dn_build_features (build, 9, 0);
    add_tables (build, points);
    dn_build_linear (build, hidden, false);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    dn_build_linear (build, 1 + GEOMETRY, false);
    dn_build_elementwise (build, 1);
    build->at.channels = GEOMETRY;
    dn_build_concat (build, &(struct dn_shape){.channels = HARMONICS});
    for (int i = 0; i < 2; i++) {
        dn_build_linear (build, hidden, false);
        dn_build_activation (build, DN_ACTIVATION_RELU);
    }
    dn_build_linear (build, 3, false);
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
    /* Colours are summed up along the ray in one kernel. */
    dn_build_elementwise (build, 1);
    build->at.dim[0] = 1;
    dn_build_loss (build);
}

/* Bumps that a distance is expanded in. */
#define BUMPS 50.0

/* Filters of the pairs times the features of their atoms. */
static void add_interaction (struct dn_build *build, double hidden, double pairs)
{
    struct dn_shape atoms = build->at;
    struct dn_op sum = {.kind = DN_OP_ELEMENTWISE,
                        .repeat = 2,
                        .in = 2 * pairs * hidden,
                        .out = pairs * hidden,
                        .saved = pairs * hidden};

    build->at = (struct dn_shape){
        .channels = BUMPS, .dim = {pairs}, .n_dims = 1, .kept = true, .input = true};
    dn_build_linear (build, hidden, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_linear (build, hidden, true);
    dn_build_elementwise (build, 1);
    build->at = atoms;
    dn_build_linear (build, hidden, false);
    dn_build_op (build, &sum);
    dn_build_linear (build, hidden, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_linear (build, hidden, true);
    dn_build_add (build);
}

static void build_schnet (struct dn_build *build, const void *row)
{
    double hidden = DN_WANT (build, hidden, 128);
    double atoms = DN_WANT (build, seq_len, 18);
    double pairs = DN_WANT (build, tgt_len, 306);
    double outer;

    (void) row;
    build->graph.decode = DN_DECODE_NONE;
    dn_build_tokens (build, atoms);
    dn_build_embedding (build, 100, hidden);
    outer = dn_build_repeat (build, DN_WANT (build, layers, 6));
    add_interaction (build, hidden, pairs);
    dn_build_repeat_end (build, outer);
    dn_build_linear (build, floor (hidden / 2), true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_linear (build, 1, true);
    dn_build_pool_global (build);
    dn_build_loss (build);
}

static const struct points rows[] = {
    {{"pointnet", "points"}, build_pointnet},
    {{"pointnet2_ssg", "points"}, build_pointnet2},
    {{"nerf", "points"}, build_nerf},
    {{"instant_ngp", "points"}, build_ngp},
    {{"schnet", "points"}, build_schnet},
    /* End of rows */
};

static void build_points (struct dn_build *build, const void *data)
{
    const struct points *row = data;

    row->build (build, row);
}

const struct dn_zoo_family dn_zoo_points = DN_ZOO_FAMILY (rows, build_points);
