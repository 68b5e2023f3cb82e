/* yolo_csp.c - detectors of the YOLO line with cross-stage partial blocks
 *
 * YOLOv5, YOLOv8 and YOLO11 as ultralytics implements them, YOLOX (Ge et al., arXiv
 * 2107.08430): a backbone of five strides, spatial pyramid pooling, a pyramid downwards
 * and upwards (PANet, 1803.01534), and outputs on three levels. The sizes of a family
 * scale depth and channels. classes= are COCO's 80. Assigning boxes counts as small
 * kernels, image by image.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "backbone.h"
#include "zoo.h"

#include <math.h>

#define N_LEVELS 3

/* Levels of box distances that a position chooses from, and coordinates of a box. */
#define BINS   16.0
#define COORDS 4.0

#define ANCHORS  3.0
#define DIVISOR  8.0
#define HEAD_DIM 64.0

enum version {
    V5,
    V8,
    V11,
    VX
};

struct yolo {
    struct dn_zoo_entry entry;
    enum version version;
    double depth;
    double width;
    double most;   /* channels before scaling are at most these */
    bool deep;     /* V11: all blocks have blocks within */
    bool separate; /* VX: depthwise convolutions */
    double image;
};

#define ROW(name, ...)                                                                 \
    {                                                                                  \
        {name, "yolo"}, __VA_ARGS__                                                    \
    }

static const struct yolo rows[] = {
    ROW ("yolov5n", V5, .33, .25, 1024, false, false, 640),
    ROW ("yolov5s", V5, .33, .50, 1024, false, false, 640),
    ROW ("yolov5m", V5, .67, .75, 1024, false, false, 640),
    ROW ("yolov5l", V5, 1.00, 1.00, 1024, false, false, 640),
    ROW ("yolov5x", V5, 1.33, 1.25, 1024, false, false, 640),
    ROW ("yolov8n", V8, .33, .25, 1024, false, false, 640),
    ROW ("yolov8s", V8, .33, .50, 1024, false, false, 640),
    ROW ("yolov8m", V8, .67, .75, 768, false, false, 640),
    ROW ("yolov8l", V8, 1.00, 1.00, 512, false, false, 640),
    ROW ("yolov8x", V8, 1.00, 1.25, 512, false, false, 640),
    ROW ("yolo11n", V11, .50, .25, 1024, false, false, 640),
    ROW ("yolo11s", V11, .50, .50, 1024, false, false, 640),
    ROW ("yolo11m", V11, .50, 1.00, 512, true, false, 640),
    ROW ("yolo11l", V11, 1.00, 1.00, 512, true, false, 640),
    ROW ("yolo11x", V11, 1.00, 1.50, 512, true, false, 640),
    ROW ("yolox_nano", VX, .33, .25, 1024, false, true, 416),
    ROW ("yolox_tiny", VX, .33, .375, 1024, false, false, 416),
    ROW ("yolox_s", VX, .33, .50, 1024, false, false, 640),
    ROW ("yolox_m", VX, .67, .75, 1024, false, false, 640),
    ROW ("yolox_l", VX, 1.00, 1.00, 1024, false, false, 640),
    ROW ("yolox_x", VX, 1.33, 1.25, 1024, false, false, 640),
    /* End of rows */
};

/* Channels after scaling. */
static double scale (const struct yolo *row, double channels)
{
    return ceil (fmin (channels, row->most) * row->width / DIVISOR) * DIVISOR;
}

/* Blocks after scaling. */
static double deepen (const struct yolo *row, double n)
{
    if (row->version == VX)
        return n / 3 * fmax (rint (3 * row->depth), 1);
    return fmax (rint (n * row->depth), 1);
}

static void add_conv (struct dn_build *build, double out, int kernel, int stride)
{
    dn_build_conv_norm_gelu (build, out, kernel, stride, 1);
}

static void add_depthwise (struct dn_build *build, int stride)
{
    dn_build_conv_norm_gelu (build, build->at.channels, 3, stride, build->at.channels);
}

/* A 3x3 convolution, or a depthwise and a 1x1 one. */
static void add_conv3 (struct dn_build *build,
                       const struct yolo *row,
                       double out,
                       int stride)
{
    if (row->separate) {
        add_depthwise (build, stride);
        add_conv (build, out, 1, 1);
    } else {
        add_conv (build, out, 3, stride);
    }
}

/* 'n' pairs of convolutions, the second one 3x3, with 'inner' channels between them. */
static void add_pairs (struct dn_build *build,
                       const struct yolo *row,
                       double n,
                       int kernel,
                       double inner,
                       bool residual)
{
    double outer = dn_build_repeat (build, n);
    double channels = build->at.channels;

    add_conv (build, inner, kernel, 1);
    add_conv3 (build, row, channels, 1);
    if (residual)
        dn_build_add (build);
    dn_build_repeat_end (build, outer);
}

/* Half of the channels pass 'n' pairs, half do not (C3). */
static void add_partial (struct dn_build *build,
                         const struct yolo *row,
                         double out,
                         double n,
                         int kernel,
                         bool residual)
{
    struct dn_shape start;

    dn_build_keep (build);
    start = build->at;
    add_conv (build, out / 2, 1, 1);
    add_pairs (build, row, n, kernel, out / 2, residual);
    build->at = start;
    add_conv (build, out / 2, 1, 1);
    dn_build_concat (build, &(struct dn_shape){.channels = out / 2});
    add_conv (build, out, 1, 1);
}

/* One of the blocks within add_split (). */
static void add_inner (struct dn_build *build,
                       const struct yolo *row,
                       bool within,
                       bool residual)
{
    double channels = build->at.channels;

    if (within)
        add_partial (build, row, channels, 2, 3, residual);
    else
        add_pairs (
            build, row, 1, 3, row->version == V11 ? channels / 2 : channels, residual);
}

/* All blocks in a row contribute to the output (C2f, C3k2); the first one's input is a
 * half of the convolution before them, which is kept as a whole.
 */
static void add_split (struct dn_build *build,
                       const struct yolo *row,
                       double out,
                       double n,
                       double inner,
                       bool within,
                       bool residual)
{
    double outer;

    add_conv (build, 2 * inner, 1, 1);
    dn_build_keep (build);
    build->at.channels = inner;
    add_inner (build, row, within, residual);
    outer = dn_build_repeat (build, n - 1);
    build->at.kept = false;
    add_inner (build, row, within, residual);
    dn_build_repeat_end (build, outer);
    build->at.channels = (n + 1) * inner;
    dn_build_concat (build, &(struct dn_shape){.channels = inner});
    add_conv (build, out, 1, 1);
}

/* The block of a stage of the backbone or of the pyramid. */
static void add_block (struct dn_build *build,
                       const struct yolo *row,
                       double out,
                       double n,
                       bool residual)
{
    n = deepen (row, n);
    if (row->version == V8)
        add_split (build, row, out, n, out / 2, false, residual);
    else
        add_partial (build, row, out, n, 1, residual);
}

/* The same in YOLO11: 'share' of the channels are within, where there may be more
 * blocks.
 */
static void add_block_v11 (struct dn_build *build,
                           const struct yolo *row,
                           double out,
                           double share,
                           bool within)
{
    add_split (build,
               row,
               out,
               deepen (row, 2),
               floor (out * share),
               within || row->deep,
               true);
}

/* Maxima of windows of several sizes, side by side. */
static void add_pooling (struct dn_build *build, const struct yolo *row)
{
    double channels = build->at.channels;
    struct dn_shape start;

    add_conv (build, channels / 2, 1, 1);
    dn_build_keep (build);
    start = build->at;
    for (int i = 0; i < N_LEVELS; i++) {
        int kernel = row->version == VX ? 5 + 4 * i : 5;

        if (row->version == VX)
            build->at = start;
        dn_build_pool (
            build,
            &(struct dn_pool){
                DN_POOL_MAX, .kernel = kernel, .stride = 1, .pad = kernel / 2});
    }
    build->at.channels = channels;
    dn_build_concat (build, &(struct dn_shape){.channels = channels});
    add_conv (build, channels, 1, 1);
}

/* Attention over all positions, a depthwise convolution of the values, and a
 * feed-forward part; queries and keys have half the features of values.
 */
static void add_attention (struct dn_build *build)
{
    struct dn_shape start = build->at;
    double heads = start.channels / HEAD_DIM;
    double positions = dn_shape_positions (&start);

    dn_build_conv_norm (build, 2 * start.channels, 1, 1, 1);
    dn_build_keep (build);
    dn_build_matmul (build, heads, positions, positions, HEAD_DIM / 2, 0);
    build->at = (struct dn_shape){
        .channels = heads * positions, .dim = {positions}, .n_dims = 1};
    dn_build_elementwise (build, 1);
    dn_build_softmax (build);
    dn_build_matmul (build, heads, positions, HEAD_DIM, positions, 0);
    start.kept = false;
    build->at = start;
    dn_build_conv_norm (build, start.channels, 3, 1, start.channels);
    dn_build_add (build);
    dn_build_conv_norm (build, start.channels, 1, 1, 1);
    dn_build_add (build);
    add_conv (build, 2 * start.channels, 1, 1);
    dn_build_conv_norm (build, start.channels, 1, 1, 1);
    dn_build_add (build);
}

/* Half of the channels pass blocks of attention. */
static void add_attentions (struct dn_build *build, const struct yolo *row)
{
    double channels = build->at.channels;
    double outer;

    add_conv (build, channels, 1, 1);
    build->at.channels = channels / 2;
    outer = dn_build_repeat (build, deepen (row, 2));
    add_attention (build);
    dn_build_repeat_end (build, outer);
    dn_build_concat (build, &(struct dn_shape){.channels = channels / 2});
    add_conv (build, channels, 1, 1);
}

static void add_stem (struct dn_build *build, const struct yolo *row)
{
    const struct dn_conv six = {.out = scale (row, 64),
                                .kernel = {6, 6},
                                .stride = {2, 2},
                                .pad = {2, 2},
                                .groups = 1};

    if (row->version == V5) {
        dn_build_conv_of (build, &six);
        dn_build_norm (build, DN_NORM_BATCH);
        dn_build_activation (build, DN_ACTIVATION_GELU);
    } else if (row->version == VX) {
        /* Four neighbouring pixels become channels of one. */
        build->at.channels *= 4;
        for (int i = 0; i < 2; i++)
            build->at.dim[i] = floor (build->at.dim[i] / 2);
        dn_build_copy (build);
        build->at.input = true;
        add_conv (build, scale (row, 64), 3, 1);
    } else {
        add_conv (build, scale (row, 64), 3, 2);
    }
}

/* The backbone; the activations of the last three sizes are stored in 'levels'. */
static void add_backbone (struct dn_build *build,
                          const struct yolo *row,
                          struct dn_shape levels[N_LEVELS])
{
    const int n_sizes = 4;
    const double second = row->version == VX ? 9 : 6;
    const double third = row->version == V8 ? 6 : 9;
    const double blocks[] = {3, second, third, 3};

    add_stem (build, row);
    for (int i = 0; i < n_sizes; i++) {
        double channels = ldexp (128, i);
        bool last = i == n_sizes - 1;

        add_conv3 (build, row, scale (row, channels), 2);
        if (last && row->version == VX)
            add_pooling (build, row);
        if (row->version == V11)
            add_block_v11 (build,
                           row,
                           scale (row, i < 2 ? 2 * channels : channels),
                           i < 2 ? .25 : .5,
                           i >= 2);
        else
            add_block (build,
                       row,
                       scale (row, channels),
                       blocks[i],
                       !(last && row->version == VX));
        if (last && row->version != VX)
            add_pooling (build, row);
        if (last && row->version == V11)
            add_attentions (build, row);
        if (i > 0)
            levels[i - 1] = build->at;
    }
}

/* Join with 'other', then the block of level 'i' of the pyramid. */
static void add_join (struct dn_build *build,
                      const struct yolo *row,
                      const struct dn_shape *other,
                      int i,
                      bool within)
{
    double out = scale (row, ldexp (256, i));

    dn_build_concat (build, other);
    if (row->version == V11)
        add_block_v11 (build, row, out, .5, within);
    else
        add_block (build, row, out, 3, false);
}

/* The pyramid, from the last level down to the first and up again. */
static void add_pyramid (struct dn_build *build,
                         const struct yolo *row,
                         struct dn_shape levels[N_LEVELS])
{
    bool narrow = row->version == V5 || row->version == VX;

    for (int i = N_LEVELS - 1; i > 0; i--) {
        struct dn_shape below = levels[i - 1];

        if (narrow)
            add_conv (build, below.channels, 1, 1);
        levels[i] = build->at;
        dn_build_upsample (build, 2);
        build->at.dim[0] = below.dim[0];
        build->at.dim[1] = below.dim[1];
        add_join (build, row, &below, i - 1, false);
    }
    levels[0] = build->at;
    for (int i = 1; i < N_LEVELS; i++) {
        dn_build_keep (build);
        levels[i - 1].kept = true;
        add_conv3 (build, row, build->at.channels, 2);
        add_join (build, row, &levels[i], i, i == N_LEVELS - 1);
        levels[i] = build->at;
    }
}

/* A branch of the head of YOLO11 that classifies: depthwise, 1x1, twice. */
static void add_light (struct dn_build *build, double channels)
{
    for (int i = 0; i < 2; i++) {
        add_depthwise (build, 1);
        add_conv (build, channels, 1, 1);
    }
}

/* Distances and classes on one level, without anchors. */
static void add_distances (struct dn_build *build,
                           const struct yolo *row,
                           double classes,
                           double first)
{
    double coords = fmax (fmax (16, floor (first / 4)), COORDS * BINS);
    double channels = fmax (first, fmin (classes, 100));
    struct dn_shape start;

    dn_build_keep (build);
    start = build->at;
    for (int i = 0; i < 2; i++)
        add_conv (build, coords, 3, 1);
    dn_build_conv (build, COORDS * BINS, 1, 1, 0, 1, true);
    build->at = start;
    if (row->version == V11) {
        add_light (build, channels);
    } else {
        for (int i = 0; i < 2; i++)
            add_conv (build, channels, 3, 1);
    }
    dn_build_conv (build, classes, 1, 1, 0, 1, true);
    dn_build_concat (build, &(struct dn_shape){.channels = COORDS * BINS});
}

/* Classes, and boxes with objectness, in two branches (YOLOX). */
static void add_branches (struct dn_build *build,
                          const struct yolo *row,
                          double classes)
{
    double channels = scale (row, 256);
    struct dn_shape start;

    add_conv (build, channels, 1, 1);
    dn_build_keep (build);
    start = build->at;
    for (int i = 0; i < 2; i++)
        add_conv3 (build, row, channels, 1);
    dn_build_conv (build, classes, 1, 1, 0, 1, true);
    build->at = start;
    for (int i = 0; i < 2; i++)
        add_conv3 (build, row, channels, 1);
    dn_build_keep (build);
    start = build->at;
    dn_build_conv (build, COORDS, 1, 1, 0, 1, true);
    build->at = start;
    dn_build_conv (build, 1, 1, 1, 0, 1, true);
    build->at.channels = COORDS + 1;
    dn_build_concat (build, &(struct dn_shape){.channels = classes});
}

static void add_outputs (struct dn_build *build,
                         const struct yolo *row,
                         const struct dn_shape levels[N_LEVELS])
{
    double classes = DN_WANT (build, classes, 80);
    const struct dn_op bins = {
        .kind = DN_OP_ELEMENTWISE, .weights = BINS, .params = BINS, .tensors = 1};

    for (int i = 0; i < N_LEVELS; i++) {
        build->at = levels[i];
        if (row->version == V5)
            dn_build_conv (build, ANCHORS * (5 + classes), 1, 1, 0, 1, true);
        else if (row->version == VX)
            add_branches (build, row, classes);
        else
            add_distances (build, row, classes, levels[0].channels);
        dn_build_loss (build);
    }
    if (row->version == V8 || row->version == V11)
        dn_build_op (build, &bins);
    dn_build_each (build, DN_MATCH_KERNELS);
}

static void build_yolo (struct dn_build *build, const void *data)
{
    const struct yolo *row = data;
    struct dn_shape levels[N_LEVELS] = {{0}};

    dn_build_image (build, 3, row->image, 2, 4);
    add_backbone (build, row, levels);
    add_pyramid (build, row, levels);
    add_outputs (build, row, levels);
}

const struct dn_zoo_family dn_zoo_yolo_csp = DN_ZOO_FAMILY (rows, build_yolo);
