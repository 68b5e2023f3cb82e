/* x3d.c - X3D, small networks over clips
 *
 * Feichtenhofer (arXiv 2004.04730) as pytorchvideo implements it: bottlenecks with a
 * convolution per channel over three frames, a gate in every second one. The names
 * differ in depth and in the clip, image= is frames x height x width.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#include <math.h>

#define N_STAGES 4

struct x3d {
    struct dn_zoo_entry entry;
    double depth; /* factor of the number of blocks */
    double clip[3];
};

static const struct x3d rows[] = {
    {{"x3d_xs", "x3d"}, 2.2, {4, 160, 160}},
    {{"x3d_s", "x3d"}, 2.2, {13, 160, 160}},
    {{"x3d_m", "x3d"}, 2.2, {16, 224, 224}},
    {{"x3d_l", "x3d"}, 5, {16, 312, 312}},
    /* End of rows */
};

static const struct {
    double blocks;
    double out;
} stages[N_STAGES] = {{1, 24}, {2, 48}, {5, 96}, {3, 192}};

/* Of the inner channels of a block to its outer ones. */
#define EXPANSION 2.25

/* Of the channels within a gate to those before it. */
#define GATE_PART 0.0625

static void add_block (struct dn_build *build, double out, int stride, bool gate)
{
    double inner = floor (EXPANSION * out);
    struct dn_shape start;
    struct dn_shape end;

    dn_build_keep (build);
    start = build->at;
    dn_zoo_clip_conv_norm_relu (build, &(struct dn_clip_conv){.out = inner});
    dn_zoo_clip_conv_norm (
        build,
        &(struct dn_clip_conv){
            .out = inner, .frames = 3, .pixels = 3, .stride = stride, .groups = inner});
    if (gate)
        dn_build_gate (build,
                       dn_build_round (inner * GATE_PART, 8),
                       DN_ACTIVATION_RELU,
                       DN_ACTIVATION_SIGMOID);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_zoo_clip_conv_norm (build, &(struct dn_clip_conv){.out = out});
    end = build->at;
    if (stride != 1 || start.channels != out) {
        const struct dn_clip_conv shortcut = {.out = out, .stride = stride};

        build->at = start;
        if (start.channels != out)
            dn_zoo_clip_conv_norm (build, &shortcut);
        else
            dn_zoo_clip_conv (build, &shortcut);
        build->at = end;
    }
    dn_build_add (build);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

/* The gates are in the blocks 0, 2, 4, ... of a stage. */
static void add_stage (struct dn_build *build, double blocks, double out)
{
    double outer;

    add_block (build, out, 2, true);
    outer = dn_build_repeat (build, floor (blocks / 2));
    add_block (build, out, 1, false);
    dn_build_repeat_end (build, outer);
    outer = dn_build_repeat (build, ceil (blocks / 2) - 1);
    add_block (build, out, 1, true);
    dn_build_repeat_end (build, outer);
}

static void build_x3d (struct dn_build *build, const void *data)
{
    const struct x3d *row = data;

    build->graph.decode = DN_DECODE_VIDEO;
    dn_build_image_of (build, 3, row->clip, 3, 4);
    dn_zoo_clip_conv (
        build, &(struct dn_clip_conv){.out = stages[0].out, .pixels = 3, .stride = 2});
    dn_zoo_clip_conv_norm_relu (build,
                                &(struct dn_clip_conv){.out = stages[0].out,
                                                       .frames = 5,
                                                       .groups = stages[0].out});
    for (int i = 0; i < N_STAGES; i++)
        add_stage (build, ceil (row->depth * stages[i].blocks), stages[i].out);
    dn_zoo_clip_conv_norm_relu (
        build, &(struct dn_clip_conv){.out = floor (EXPANSION * build->at.channels)});
    dn_build_pool_global (build);
    dn_build_linear (build, 2048, false);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    dn_build_classifier (build, 400, true);
}

const struct dn_zoo_family dn_zoo_x3d = DN_ZOO_FAMILY (rows, build_x3d);
