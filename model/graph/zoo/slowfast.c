/* slowfast.c - ResNet-50 and 101 over clips, with one path or two
 *
 * As pytorchvideo implements them: slow_r50 and slowfast_r50/r101 (Feichtenhofer et
 * al., arXiv 1812.03982), i3d_r50 (Carreira and Zisserman, 1705.07750, as a ResNet),
 * c2d_r50 (Wang et al., 1711.07971). SlowFast has a second path that sees all frames
 * with an eighth of the channels and passes its activations to the first, which sees
 * one frame of four. tsn_r50 (Wang et al., 1608.00859) and tsm_r50 (Lin et al.,
 * 1811.08383) are ResNet-50 on single frames, whose scores are averaged; TSM moves an
 * eighth of the channels to the next frame and an eighth to the one before. image= is
 * frames x height x width.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#include <math.h>

#define N_STAGES 4

/* Frames of the fast path for one of the slow path; channels of the slow path for one
 * of the fast.
 */
#define SPEED 4
#define RATIO 8

/* Frames that the first convolution of a block sees: in even and in odd blocks. */
struct reach {
    int even;
    int odd;
};

struct path {
    int stem; /* frames that it sees */
    struct reach reach[N_STAGES];
};

static const struct path slow = {1, {{1, 1}, {1, 1}, {3, 3}, {3, 3}}};
static const struct path fast = {5, {{3, 3}, {3, 3}, {3, 3}, {3, 3}}};
static const struct path inflated = {5, {{3, 3}, {3, 1}, {3, 1}, {1, 3}}};
static const struct path flat = {1, {{1, 1}, {1, 1}, {1, 1}, {1, 1}}};

struct slowfast {
    struct dn_zoo_entry entry;
    const struct path *path;
    double blocks[N_STAGES];
    double frames;
    int joining; /* frames that see the activation of a fast path; 0: no such path */
    bool halved; /* half of the frames after the first stage */
    bool single; /* frames are images: kernels of two dimensions */
    bool moved;  /* channels move between frames */
};

#define ROW(name, ...)                                                                 \
    {                                                                                  \
        {name, "slowfast"}, __VA_ARGS__                                                \
    }

static const struct slowfast rows[] = {
    ROW ("slow_r50", &slow, {3, 4, 6, 3}, 8, 0, false, false, false),
    ROW ("slowfast_r50", &slow, {3, 4, 6, 3}, 32, 7, false, false, false),
    ROW ("slowfast_r101", &slow, {3, 4, 23, 3}, 32, 5, false, false, false),
    ROW ("i3d_r50", &inflated, {3, 4, 6, 3}, 8, 0, true, false, false),
    ROW ("c2d_r50", &flat, {3, 4, 6, 3}, 8, 0, true, false, false),
    ROW ("tsn_r50", &flat, {3, 4, 6, 3}, 8, 0, false, true, false),
    ROW ("tsm_r50", &flat, {3, 4, 6, 3}, 8, 0, false, true, true),
    /* End of rows */
};

static void add_stem (struct dn_build *build, const struct path *path, double channels)
{
    dn_zoo_clip_conv_norm_relu (
        build,
        &(struct dn_clip_conv){
            .out = channels, .frames = path->stem, .pixels = 7, .stride = 2});
    dn_zoo_clip_pool (build, 1, 3);
}

static void add_block (struct dn_build *build,
                       double inner,
                       int reach,
                       int stride,
                       bool moved)
{
    struct dn_shape start;
    struct dn_shape end;

    dn_build_keep (build);
    start = build->at;
    if (moved) {
        dn_build_copy (build);
        dn_build_keep (build);
    }
    dn_zoo_clip_conv_norm_relu (build,
                                &(struct dn_clip_conv){.out = inner, .frames = reach});
    dn_zoo_clip_conv_norm_relu (
        build, &(struct dn_clip_conv){.out = inner, .pixels = 3, .stride = stride});
    dn_zoo_clip_conv_norm (build, &(struct dn_clip_conv){.out = 4 * inner});
    end = build->at;
    if (stride != 1 || start.channels != 4 * inner) {
        build->at = start;
        dn_zoo_clip_conv_norm (
            build, &(struct dn_clip_conv){.out = 4 * inner, .stride = stride});
        build->at = end;
    }
    dn_build_add (build);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

/* Stage 'i' of a path that has 'channels' in its first. */
static void add_stage (struct dn_build *build,
                       const struct slowfast *row,
                       const struct path *path,
                       int i,
                       double channels)
{
    double inner = ldexp (channels, i);
    double outer;

    add_block (build, inner, path->reach[i].even, i > 0 ? 2 : 1, row->moved);
    outer = dn_build_repeat (build, floor (row->blocks[i] / 2));
    add_block (build, inner, path->reach[i].odd, 1, row->moved);
    dn_build_repeat_end (build, outer);
    outer = dn_build_repeat (build, ceil (row->blocks[i] / 2) - 1);
    add_block (build, inner, path->reach[i].even, 1, row->moved);
    dn_build_repeat_end (build, outer);
}

/* The fast path's activation joins that of the slow path. */
static struct dn_shape join (struct dn_build *build,
                             const struct dn_shape *first,
                             struct dn_shape *second,
                             int frames)
{
    build->at = *second;
    dn_zoo_clip_conv_norm_relu (build,
                                &(struct dn_clip_conv){.out = 2 * second->channels,
                                                       .frames = frames,
                                                       .hop = SPEED});
    second->kept = true;
    dn_build_concat (build, first);
    return build->at;
}

static void build_both (struct dn_build *build, const struct slowfast *row)
{
    struct dn_shape first = build->at;
    struct dn_shape second = build->at;

    first.dim[0] = floor (first.dim[0] / SPEED);
    build->at = first;
    add_stem (build, row->path, 64);
    first = build->at;
    build->at = second;
    add_stem (build, &fast, 64.0 / RATIO);
    second = build->at;
    for (int i = 0; i < N_STAGES; i++) {
        build->at = join (build, &first, &second, row->joining);
        add_stage (build, row, row->path, i, 64);
        first = build->at;
        build->at = second;
        add_stage (build, row, &fast, i, 64.0 / RATIO);
        second = build->at;
    }
    dn_build_pool_global (build);
    build->at = first;
    dn_build_pool_global (build);
    dn_build_concat (build, &(struct dn_shape){.channels = second.channels});
}

static void build_one (struct dn_build *build, const struct slowfast *row)
{
    add_stem (build, row->path, 64);
    for (int i = 0; i < N_STAGES; i++) {
        add_stage (build, row, row->path, i, 64);
        if (i == 0 && row->halved)
            dn_zoo_clip_pool (build, 2, 1);
    }
    if (!row->single)
        return;
    for (int i = 0; i < build->graph.n_ops; i++)
        if (build->graph.ops[i].kind == DN_OP_CONV)
            build->graph.ops[i].dims = 2;
}

static void build_slowfast (struct dn_build *build, const void *data)
{
    const struct slowfast *row = data;
    const double clip[] = {row->frames, 224, 224};

    build->graph.decode = DN_DECODE_VIDEO;
    dn_build_image_of (build, 3, clip, 3, 4);
    if (row->joining)
        build_both (build, row);
    else
        build_one (build, row);
    dn_build_classifier (build, 400, true);
}

const struct dn_zoo_family dn_zoo_slowfast = DN_ZOO_FAMILY (rows, build_slowfast);
