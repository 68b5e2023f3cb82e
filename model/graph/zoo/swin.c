/* swin.c - Swin Transformer
 *
 * Liu et al. (arXiv 2103.14030) as torchvision implements it: attention within windows
 * of 7x7 patches with a table of relative positions, every second block on shifted
 * windows; patches are merged four to one between stages. An image whose size is not a
 * multiple of the window is padded. V2 (Liu et al., 2111.09883): windows of 8x8,
 * normalisation after each part, attention by the cosine with a learned scale per head,
 * and positions from a small network.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#include <math.h>

#define N_STAGES 4
#define PATCH    4

/* Features of a head. */
#define HEAD 32.0

/* Inner features of the network that gives the positions of V2. */
#define POSITION_DIM 512

struct swin {
    const char *name;
    double channels;
    double blocks[N_STAGES];
    double window; /* patches in each dimension */
    bool second;   /* V2 */
};

static const struct swin rows[] = {
    {"swin_t", 96, {2, 2, 6, 2}, 7, false},
    {"swin_s", 96, {2, 2, 18, 2}, 7, false},
    {"swin_b", 128, {2, 2, 18, 2}, 7, false},
    {"swin_large_patch4_window7_224", 192, {2, 2, 18, 2}, 7, false},
    {"swin_v2_t", 96, {2, 2, 6, 2}, 8, true},
    {"swin_v2_s", 96, {2, 2, 18, 2}, 8, true},
    {"swin_v2_b", 128, {2, 2, 18, 2}, 8, true},
    /* End of rows */
};

/* What is added to the scores of 'heads' heads by the distance of two patches. */
static void add_positions (struct dn_build *build, const struct swin *row, double heads)
{
    double distances = (2 * row->window - 1) * (2 * row->window - 1);
    double params = 3 * POSITION_DIM + POSITION_DIM * heads;

    if (!row->second) {
        dn_build_add_learned (build, distances * heads);
        return;
    }
    /* Computed once for all samples. */
    dn_build_op (build,
                 DN_OP (COPY,
                        .in = params,
                        .out = distances * heads,
                        .params = params,
                        .tensors = 3));
    dn_build_elementwise (build, 1);
}

/* The scale of the scores: of the query, or a learned one per head. */
static void add_score_scale (struct dn_build *build,
                             const struct swin *row,
                             double heads)
{
    double tokens = build->at.channels;

    if (!row->second) {
        dn_build_elementwise (build, 1);
        return;
    }
    build->at.channels = heads;
    build->at.dim[1] *= tokens / heads;
    dn_build_scale (build);
    build->at.dim[1] /= tokens / heads;
    build->at.channels = tokens;
}

static void add_products (struct dn_build *build, const struct swin *row)
{
    double tokens = row->window * row->window;
    struct dn_shape start = build->at;
    double heads = start.channels / HEAD;
    double batches = dn_shape_positions (&start) / tokens * heads;

    if (row->second) {
        /* Query and key of length 1. They share their memory with the value, which
         * remains with them.
         */

        DN_REPEAT (build, 2) {
            build->pending += build->repeat / 2 * dn_shape_elements (&start);
            dn_build_norm (build, DN_NORM_PLAIN);
        }
    }
    dn_build_matmul (
        build, batches, tokens, tokens, HEAD, 2 * dn_shape_elements (&start));
    build->at.channels = heads * tokens;
    build->at.kept = false;
    add_score_scale (build, row, heads);
    add_positions (build, row, heads);
    dn_build_softmax (build);
    dn_build_matmul (build, batches, tokens, HEAD, tokens, dn_shape_elements (&start));
    build->at = start;
    build->at.kept = false;
}

static void add_attention (struct dn_build *build, const struct swin *row)
{
    double window = row->window;
    double channels = build->at.channels;
    struct dn_shape at = build->at;

    if (!row->second)
        dn_build_norm (build, DN_NORM_LAYER);
    for (int i = 0; i < 2; i++)
        build->at.dim[i] = ceil (at.dim[i] / window) * window;
    /* Padding, shift and cutting into windows. */
    dn_build_copy (build);
    dn_build_linear (build, 3 * channels, true);
    dn_build_copy (build);
    build->at.channels = channels;
    add_products (build, row);
    dn_build_copy (build);
    dn_build_linear (build, channels, true);
    dn_build_copy (build);
    at.kept = false;
    build->at = at;
    if (row->second)
        dn_build_norm (build, DN_NORM_LAYER);
    dn_build_elementwise (build, 1);
    dn_build_add (build);
}

static void add_block (struct dn_build *build, const struct swin *row)
{
    double channels = build->at.channels;

    add_attention (build, row);
    if (!row->second)
        dn_build_norm (build, DN_NORM_LAYER);
    dn_build_linear (build, 4 * channels, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_linear (build, channels, true);
    if (row->second)
        dn_build_norm (build, DN_NORM_LAYER);
    /* Stochastic depth, then the sum. */
    dn_build_elementwise (build, 1);
    dn_build_add (build);
}

static void add_merging (struct dn_build *build, const struct swin *row)
{
    double channels = build->at.channels;

    for (int i = 0; i < 2; i++)
        build->at.dim[i] = ceil (build->at.dim[i] / 2);
    build->at.channels = 4 * channels;
    dn_build_copy (build);
    if (!row->second)
        dn_build_norm (build, DN_NORM_LAYER);
    dn_build_linear (build, 2 * channels, false);
    if (row->second)
        dn_build_norm (build, DN_NORM_LAYER);
}

static DN_COLD void build_swin (struct dn_build *build, const void *data)
{
    const struct swin *row = data;

    dn_build_image (build, 3, row->second ? 256 : 224, 2);
    dn_build_conv (build, row->channels, PATCH, PATCH, 0, 1, true);
    dn_build_norm (build, DN_NORM_LAYER);
    for (int i = 0; i < N_STAGES; i++) {
        if (i > 0)
            add_merging (build, row);
        DN_REPEAT (build, row->blocks[i])
            add_block (build, row);
    }
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_classifier (build, 1000, false);
}

const struct dn_zoo_family dn_zoo_swin = DN_ZOO_FAMILY ("swin", rows, build_swin);
