/* segment_context.c - heads of segmenters with attention or pooled context
 *
 * Asymmetric non-local (Zhu et al., arXiv 1908.07678), criss-cross attention
 * (1811.11721), dual attention (1809.02983), disentangled non-local (2006.06668),
 * expectation maximization (1907.13426), context encoding (1803.08904), global context
 * (1904.11492), non-local (1711.07971), object context (1909.11065) and point-wise
 * attention (PSANet, Zhao et al. 2018), as mmsegmentation has them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "segment.h"

#include <math.h>

#define CHANNELS 512.0
#define INNER    256.0

#define TOP   3
#define THIRD 2

/* Cells of the pyramid that asymmetric attention averages over: 1, 9, 36, 64. */
#define CELLS 110.0

#define BASES      64.0
#define ITERATIONS 3
#define CODES      32.0
#define REACH      97.0 /* of point-wise attention, both ways */

static void add_conv (struct dn_build *build, double out, int kernel)
{
    dn_build_conv_norm_relu (build, out, kernel, 1, 1);
}

/* A 1x1 convolution with bias of 'from', which is kept. */
static void add_project (struct dn_build *build, struct dn_shape *from, double out)
{
    build->at = *from;
    dn_build_keep (build);
    from->kept = true;
    dn_build_conv (build, out, 1, 1, 0, 1, true);
}

/* The same with normalisation and rectifier. */
static void add_project_norm (struct dn_build *build, struct dn_shape *from, double out)
{
    build->at = *from;
    dn_build_keep (build);
    from->kept = true;
    add_conv (build, out, 1);
}

/* Scores of 'positions' x 'keys', softmax, and the values they weigh; the operands keep
 * 'operands' elements. The cursor ends on the weighed values, of the shape 'out'.
 */
static void add_products (struct dn_build *build,
                          double keys,
                          double features,
                          double operands,
                          const struct dn_shape *out)
{
    double positions = dn_shape_positions (out);

    dn_build_matmul (build, 1, positions, keys, features, operands);
    build->at = (struct dn_shape){.channels = keys, .dim = {positions}, .n_dims = 1};
    dn_build_elementwise (build, 1);
    dn_build_softmax (build);
    dn_build_matmul (build, 1, positions, out->channels, keys, keys * out->channels);
    build->at = *out;
    build->at.kept = false;
    dn_build_copy (build);
}

/* Two convolutions with 'middle' between them, then one of input and output. */
static void add_between (struct dn_build *build,
                         struct dn_segment *segment,
                         void (*middle) (struct dn_build *build))
{
    dn_segment_take (build, segment, TOP);
    add_conv (build, CHANNELS, 3);
    middle (build);
    add_conv (build, CHANNELS, 3);
    dn_build_concat (build, &segment->levels[TOP]);
    add_conv (build, CHANNELS, 3);
    dn_segment_end (build, segment);
}

/* Query, key and value of half the features, and the weighed values. */
static void add_pairs (struct dn_build *build, struct dn_shape *start)
{
    double inner = start->channels / 2;
    double positions = dn_shape_positions (start);
    struct dn_shape out = *start;

    for (int i = 0; i < 3; i++)
        add_project (build, start, inner);
    out.channels = inner;
    add_products (build, positions, inner, 2 * positions * inner, &out);
}

/* The end of a non-local block: back to all features, then the sum. */
static void add_back (struct dn_build *build, const struct dn_shape *start)
{
    dn_build_conv_norm (build, start->channels, 1, 1, 1);
    dn_build_add (build);
}

static void add_nonlocal (struct dn_build *build)
{
    struct dn_shape start = build->at;

    add_pairs (build, &start);
    add_back (build, &start);
}

/* Query and key lose their means; a term that is equal for all positions is added. */
static void add_disentangled (struct dn_build *build)
{
    struct dn_shape start = build->at;
    struct dn_shape pairs;

    add_pairs (build, &start);
    dn_build_elementwise (build, 2);
    pairs = build->at;
    add_project (build, &start, 1);
    dn_build_softmax (build);
    dn_build_matmul (build, 1, 1, start.channels / 2, dn_shape_positions (&start), 0);
    build->at = pairs;
    dn_build_add (build);
    add_back (build, &start);
}

/* One context for all positions, through two small layers. */
static void add_global (struct dn_build *build)
{
    struct dn_shape start = build->at;
    double positions = dn_shape_positions (&start);

    add_project (build, &start, 1);
    dn_build_softmax (build);
    dn_build_matmul (build, 1, start.channels, 1, positions, 0);
    build->at = (struct dn_shape){.channels = start.channels};
    dn_build_linear (build, start.channels / 4, true);
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    dn_build_linear (build, start.channels, true);
    start.kept = false;
    build->at = start;
    dn_build_add (build);
}

/* Attention along the row and the column of each position, twice. */
static void add_cross (struct dn_build *build)
{
    const struct dn_op scale = {
        .kind = DN_OP_ELEMENTWISE, .weights = 1, .params = 1, .tensors = 1};

    for (int i = 0; i < 2; i++) {
        struct dn_shape start = build->at;
        struct dn_shape out = start;
        double keys = start.dim[0] + start.dim[1];
        double queries = dn_shape_positions (&start) * start.channels / 8;

        add_project (build, &start, start.channels / 8);
        add_project (build, &start, start.channels / 8);
        add_project (build, &start, start.channels);
        add_products (build, keys, start.channels / 8, 2 * queries, &out);
        dn_build_keep (build);
        dn_build_op (build, &scale);
        build->at.kept = false;
        dn_build_add (build);
        build->shared = true;
    }
    build->shared = false;
}

void dn_segment_nonlocal (struct dn_build *build, struct dn_segment *segment)
{
    add_between (build, segment, add_nonlocal);
}

void dn_segment_dnlnet (struct dn_build *build, struct dn_segment *segment)
{
    add_between (build, segment, add_disentangled);
}

void dn_segment_gcnet (struct dn_build *build, struct dn_segment *segment)
{
    add_between (build, segment, add_global);
}

void dn_segment_ccnet (struct dn_build *build, struct dn_segment *segment)
{
    add_between (build, segment, add_cross);
}

/* A learned factor of the weighed values, whose sum with 'start' is convolved. */
static void add_gain (struct dn_build *build)
{
    const struct dn_op scale = {
        .kind = DN_OP_ELEMENTWISE, .weights = 1, .params = 1, .tensors = 1};

    dn_build_keep (build);
    dn_build_op (build, &scale);
    build->at.kept = false;
    dn_build_add (build);
    add_conv (build, CHANNELS, 3);
}

/* Attention over positions and over channels, each with a loss, and of their sum. */
void dn_segment_danet (struct dn_build *build, struct dn_segment *segment)
{
    struct dn_shape start;
    struct dn_shape out;
    double positions;

    dn_segment_take (build, segment, TOP);
    add_conv (build, CHANNELS, 3);
    start = build->at;
    positions = dn_shape_positions (&start);
    add_project (build, &start, CHANNELS / 8);
    add_project (build, &start, CHANNELS / 8);
    add_project (build, &start, CHANNELS);
    add_products (build, positions, CHANNELS / 8, 2 * positions * CHANNELS / 8, &start);
    add_gain (build);
    out = build->at;
    dn_segment_end (build, segment);
    dn_segment_take (build, segment, TOP);
    add_conv (build, CHANNELS, 3);
    dn_build_matmul (build, 1, CHANNELS, CHANNELS, positions, 0);
    build->at = (struct dn_shape){.channels = CHANNELS * CHANNELS};
    dn_build_elementwise (build, 2);
    dn_build_softmax (build);
    dn_build_matmul (build, 1, CHANNELS, positions, CHANNELS, 0);
    build->at = start;
    build->at.kept = false;
    add_gain (build);
    dn_segment_end (build, segment);
    build->at = out;
    dn_build_add (build);
    dn_segment_end (build, segment);
}

/* Average key or value over the cells of a pyramid. */
static void add_cells (struct dn_build *build)
{
    struct dn_op op = {.kind = DN_OP_POOL, .repeat = 4};

    op.in = dn_shape_elements (&build->at);
    op.out = build->at.channels * CELLS / 4;
    dn_build_op (build, &op);
}

/* Attention of 'query' to averages over 'memory', which is 'query' or another level. */
static void add_asymmetric (struct dn_build *build,
                            struct dn_shape *query,
                            struct dn_shape *memory)
{
    struct dn_shape out = *query;
    double positions = dn_shape_positions (query);

    out.channels = INNER;
    add_project_norm (build, query, INNER);
    /* Of one level, both are projected by the same parameters. */
    build->shared = memory == query;
    add_project_norm (build, memory, INNER);
    build->shared = false;
    add_cells (build);
    add_project (build, memory, INNER);
    add_cells (build);
    add_products (build, CELLS, INNER, (positions + CELLS) * INNER, &out);
    dn_build_conv (build, query->channels, 1, 1, 0, 1, true);
    dn_build_concat (build, query);
}

void dn_segment_ann (struct dn_build *build, struct dn_segment *segment)
{
    struct dn_shape start;

    add_asymmetric (build, &segment->levels[TOP], &segment->levels[THIRD]);
    dn_build_conv_norm (build, segment->levels[TOP].channels, 1, 1, 1);
    dn_build_elementwise (build, 1);
    add_conv (build, CHANNELS, 3);
    start = build->at;
    add_asymmetric (build, &start, &start);
    add_conv (build, CHANNELS, 1);
    dn_segment_end (build, segment);
}

/* Positions are described by a few bases, which are found without gradients. */
void dn_segment_emanet (struct dn_build *build, struct dn_segment *segment)
{
    struct dn_shape start;
    struct dn_op step = {.kind = DN_OP_MATMUL, .first = true};

    dn_segment_take (build, segment, TOP);
    add_conv (build, CHANNELS, 3);
    start = build->at;
    dn_build_conv (build, CHANNELS, 1, 1, 0, 1, true);
    step.m = dn_shape_positions (&start);
    step.n = BASES;
    step.k = CHANNELS;
    step.batches = 1;
    step.flops = 2 * step.m * step.n * step.k;
    step.in = step.m * step.k;
    step.out = step.m * step.n;
    for (int i = 0; i < 2 * ITERATIONS + 1; i++)
        dn_build_op (build, &step);
    build->at = start;
    dn_build_activation (build, DN_ACTIVATION_RELU);
    dn_build_conv_norm (build, CHANNELS, 1, 1, 1);
    dn_build_add (build);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    add_conv (build, INNER, 3);
    dn_build_concat (build, &segment->levels[TOP]);
    add_conv (build, INNER, 3);
    dn_segment_end (build, segment);
}

/* Distances of all positions to code words, feature by feature, weigh the differences;
 * their sum gates the channels.
 */
static void add_encoding (struct dn_build *build)
{
    struct dn_shape start = build->at;
    double positions = dn_shape_positions (&start);
    struct dn_op codes = {.kind = DN_OP_ELEMENTWISE,
                          .weights = CODES * CHANNELS + CODES,
                          .params = CODES * CHANNELS + CODES,
                          .tensors = 2};

    add_conv (build, CHANNELS, 1);
    dn_build_copy (build);
    dn_build_op (build, &codes);
    build->at = (struct dn_shape){
        .channels = CHANNELS * CODES, .dim = {positions}, .n_dims = 1};
    for (int i = 0; i < 2; i++) {
        dn_build_elementwise (build, 1);
        dn_build_keep (build);
        dn_build_elementwise (build, 1);
    }
    build->at = (struct dn_shape){.channels = CODES, .dim = {positions}, .n_dims = 1};
    dn_build_softmax (build);
    build->at = (struct dn_shape){.channels = CODES, .dim = {CHANNELS}, .n_dims = 1};
    dn_build_norm (build, DN_NORM_BATCH);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    build->at = (struct dn_shape){.channels = CHANNELS};
    dn_build_linear (build, CHANNELS, true);
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
    dn_build_multiply (build, &start);
    dn_build_add (build);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

void dn_segment_encnet (struct dn_build *build, struct dn_segment *segment)
{
    dn_segment_take (build, segment, TOP);
    add_conv (build, CHANNELS, 3);
    add_encoding (build);
    dn_segment_end (build, segment);
    build->at = (struct dn_shape){.channels = CHANNELS};
    dn_build_linear (build, segment->classes, true);
    dn_build_loss (build);
}

/* One direction of point-wise attention at half the size: scores of a fixed reach, of
 * which those within the image are used.
 */
static void add_reach (struct dn_build *build, const struct dn_shape *half)
{
    double positions = dn_shape_positions (half);
    struct dn_shape small;

    dn_segment_resize (build, half);
    small = build->at;
    dn_build_keep (build);
    add_conv (build, CHANNELS, 1);
    dn_build_conv (build, REACH * REACH, 1, 1, 0, 1, false);
    build->at =
        (struct dn_shape){.channels = positions, .dim = {positions}, .n_dims = 1};
    dn_build_copy (build);
    dn_build_softmax (build);
    dn_build_matmul (build, 1, CHANNELS, positions, positions, 0);
    small.kept = false;
    build->at = small;
    dn_build_elementwise (build, 1);
}

void dn_segment_psanet (struct dn_build *build, struct dn_segment *segment)
{
    const struct dn_shape top = segment->levels[TOP];
    struct dn_shape half = top;

    half.dim[0] = ceil (top.dim[0] / 2);
    half.dim[1] = ceil (top.dim[1] / 2);
    for (int i = 0; i < 2; i++) {
        dn_segment_take (build, segment, TOP);
        add_conv (build, CHANNELS, 1);
        add_reach (build, &half);
    }
    dn_build_concat (build, &(struct dn_shape){.channels = CHANNELS});
    add_conv (build, top.channels, 1);
    dn_segment_resize (build, &top);
    dn_build_concat (build, &top);
    add_conv (build, CHANNELS, 3);
    dn_segment_end (build, segment);
}

/* Regions of the classes that the first head finds, with attention of all positions to
 * them.
 */
void dn_segment_add_objects (struct dn_build *build,
                             struct dn_segment *segment,
                             const struct dn_shape *from)
{
    struct dn_shape regions = {
        .channels = CHANNELS, .dim = {segment->classes, 1}, .n_dims = 2};
    struct dn_shape start;
    struct dn_shape out;
    double positions;

    dn_build_softmax (build);
    build->at = *from;
    dn_build_keep (build);
    add_conv (build, CHANNELS, 3);
    start = build->at;
    positions = dn_shape_positions (&start);
    dn_build_matmul (build, 1, segment->classes, CHANNELS, positions, 0);
    add_project_norm (build, &start, INNER);
    add_conv (build, INNER, 1);
    add_project_norm (build, &regions, INNER);
    add_conv (build, INNER, 1);
    add_project_norm (build, &regions, INNER);
    out = start;
    out.channels = INNER;
    add_products (build, segment->classes, INNER, positions * INNER, &out);
    add_conv (build, CHANNELS, 1);
    dn_build_concat (build, &start);
    add_conv (build, CHANNELS, 1);
    dn_segment_end (build, segment);
}

void dn_segment_ocrnet (struct dn_build *build, struct dn_segment *segment)
{
    dn_segment_take (build, segment, THIRD);
    add_conv (build, INNER, 3);
    dn_segment_end (build, segment);
    dn_segment_add_objects (build, segment, &segment->levels[TOP]);
}
