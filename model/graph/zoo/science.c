/* science.c - small networks of the sciences, and of short recordings
 *
 * candle_uno: dose response of tumours (ECP-CANDLE/Benchmarks, Pilot1/Uno) from 942
 * genes and two drugs of 5,270 descriptors and 2,048 fingerprint bits; layers= layers
 * of hidden= features for each kind of feature, and layers= more after them. braggnn:
 * positions of Bragg peaks in patches of 11x11 pixels (Liu et al., IUCrJ 9, 2022;
 * lzhengchun/BraggNN); hidden= features after the convolutions, halved with each of
 * four layers. m5: sounds from raw waves of seq_len= samples (Dai et al., arXiv
 * 1610.00087); hidden= channels of the first layer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#include <math.h>

#define GENES        942.0
#define DESCRIPTORS  5270.0
#define FINGERPRINTS 2048.0
#define DRUGS        2

struct science {
    struct dn_zoo_entry entry;
    dn_zoo_build_f build;
};

static void add_layers (struct dn_build *build, double layers, double hidden)
{
    for (int i = 0; i < layers && !build->failed; i++) {
        dn_build_linear (build, hidden, true);
        dn_build_activation (build, DN_ACTIVATION_RELU);
    }
}

/* Layers of one kind of feature; both drugs share them. */
static void add_features (struct dn_build *build,
                          double features,
                          int n,
                          double layers,
                          double hidden)
{
    for (int i = 0; i < n; i++) {
        dn_build_features (build, features, 0);
        add_layers (build, layers, hidden);
        build->shared = true;
    }
    build->shared = false;
}

static void build_uno (struct dn_build *build, const void *row)
{
    double layers = DN_WANT (build, layers, 3);
    double hidden = DN_WANT (build, hidden, 1000);
    struct dn_shape others = {.channels = 2 * DRUGS * hidden};

    (void) row;
    add_features (build, GENES, 1, layers, hidden);
    add_features (build, DESCRIPTORS, DRUGS, layers, hidden);
    add_features (build, FINGERPRINTS, DRUGS, layers, hidden);
    /* The doses. */
    others.channels += DRUGS;
    build->graph.input += DRUGS;
    build->graph.input_bytes += 4 * DRUGS;
    dn_build_concat (build, &others);
    add_layers (build, layers, hidden);
    dn_build_linear (build, 1, true);
    dn_build_loss (build);
}

/* Attention between pixels, as a residual. */
static void add_nonlocal (struct dn_build *build)
{
    struct dn_shape start;
    double inner = floor (build->at.channels / 2);
    double pixels = dn_shape_positions (&build->at);
    double outer;

    dn_build_keep (build);
    start = build->at;
    outer = dn_build_repeat (build, 3);
    dn_build_conv (build, inner, 1, 1, 0, 1, true);
    build->at = start;
    dn_build_repeat_end (build, outer);
    dn_build_matmul (build, 1, pixels, pixels, inner, 2 * pixels * inner);
    build->at = (struct dn_shape){.channels = pixels, .dim = {pixels}, .n_dims = 1};
    dn_build_softmax (build);
    dn_build_matmul (build, 1, pixels, inner, pixels, pixels * inner);
    build->at = start;
    build->at.channels = inner;
    dn_build_copy (build);
    dn_build_conv (build, start.channels, 1, 1, 0, 1, true);
    dn_build_add (build);
}

/* Leaky rectifiers are not in place: they keep their input. */
static void build_braggnn (struct dn_build *build, const void *row)
{
    double hidden = DN_WANT (build, hidden, 16);

    (void) row;
    dn_build_image (build, 1, 11, 2, 4);
    dn_build_conv (build, 64, 3, 1, 0, 1, true);
    add_nonlocal (build);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_conv (build, 32, 3, 1, 0, 1, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_conv (build, 8, 3, 1, 0, 1, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_flatten (build);
    for (int i = 0; i < 4; i++) {
        dn_build_linear (build, fmax (1, floor (ldexp (hidden, -i))), true);
        dn_build_activation (build, DN_ACTIVATION_GELU);
    }
    dn_build_linear (build, 2, true);
    dn_build_loss (build);
}

static void build_m5 (struct dn_build *build, const void *row)
{
    double hidden = DN_WANT (build, hidden, 128);

    (void) row;
    dn_build_features (build, 1, DN_WANT (build, seq_len, 32000));
    for (int i = 0; i < 4; i++) {
        double channels = ldexp (hidden, i > 0 ? i - 1 : 0);

        dn_build_conv (build, channels, i == 0 ? 80 : 3, i == 0 ? 4 : 1, 0, 1, true);
        dn_build_norm (build, DN_NORM_BATCH);
        dn_build_activation (build, DN_ACTIVATION_RELU);
        dn_build_pool (build, &(struct dn_pool){DN_POOL_MAX, .kernel = 4, .stride = 4});
    }
    dn_build_classifier (build, 10, false);
}

static const struct science rows[] = {
    {{"candle_uno", "science"}, build_uno},
    {{"braggnn", "science"}, build_braggnn},
    {{"m5", "science"}, build_m5},
    /* End of rows */
};

static void build_science (struct dn_build *build, const void *data)
{
    const struct science *row = data;

    row->build (build, row);
}

const struct dn_zoo_family dn_zoo_science = DN_ZOO_FAMILY (rows, build_science);
