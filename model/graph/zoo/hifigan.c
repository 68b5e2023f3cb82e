/* hifigan.c - HiFi-GAN, speech from mel frames, adversarially
 *
 * Kong et al. (arXiv 2010.05646), version 1, as NVIDIA's DeepLearningExamples train it:
 * a generator of transposed convolutions with residual blocks of three kernel sizes,
 * discriminators of five periods and of three scales. seq_len= counts audio samples,
 * hidden= the generator's channels at the mel frames' rate. One training step is one
 * pass of the generator and four of the discriminators: recorded and generated speech
 * to train the discriminators, and both again to train the generator.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#include <math.h>

#define MEL 80.0
#define HOP 256.0

struct hifigan {
    struct dn_zoo_entry entry;
    double hidden;
    double samples;
};

static const struct hifigan rows[] = {
    {{"hifigan", "hifigan"}, 512, 8192},
    /* End of rows */
};

/* Weights are directions and a length for each of 'n' channels. */
static void add_lengths (struct dn_build *build, double n)
{
    const struct dn_op lengths = {
        .kind = DN_OP_NORM, .weights = n, .params = n, .tensors = 1};

    dn_build_op (build, &lengths);
}

static void add_conv (struct dn_build *build, double out, int kernel, int dilation)
{
    const struct dn_conv conv = {.out = out,
                                 .kernel = {kernel},
                                 .stride = {1},
                                 .pad = {dilation * (kernel / 2)},
                                 .dilation = dilation,
                                 .groups = 1,
                                 .bias = true};

    dn_build_conv_of (build, &conv);
    add_lengths (build, out);
}

/* Leaky ReLU, not in place: its input is kept. */
static void add_leaky (struct dn_build *build)
{
    dn_build_activation (build, DN_ACTIVATION_GELU);
}

static void add_residual (struct dn_build *build, int kernel)
{
    double channels = build->at.channels;

    for (int i = 0; i < 3; i++) {
        add_leaky (build);
        add_conv (build, channels, kernel, 1 + 2 * i);
        add_leaky (build);
        add_conv (build, channels, kernel, 1);
        dn_build_add (build);
    }
}

/* The mean of three residual blocks that read the same activation. */
static void add_fusion (struct dn_build *build)
{
    static const int kernels[] = {3, 7, 11};
    struct dn_shape start;

    dn_build_keep (build);
    start = build->at;
    for (size_t i = 0; i < DN_N_ELEMENTS (kernels); i++) {
        build->at = start;
        add_residual (build, kernels[i]);
        dn_build_add (build);
    }
}

static void add_generator (struct dn_build *build, double frames, double hidden)
{
    static const struct {
        int kernel;
        int stride;
    } steps[] = {{16, 8}, {16, 8}, {4, 2}, {4, 2}};

    dn_build_features (build, MEL, frames);
    add_conv (build, hidden, 7, 1);
    for (size_t i = 0; i < DN_N_ELEMENTS (steps); i++) {
        double in = build->at.channels;
        int pad = (steps[i].kernel - steps[i].stride) / 2;

        add_leaky (build);
        dn_build_conv_transpose (build,
                                 fmax (1, floor (in / 2)),
                                 steps[i].kernel,
                                 steps[i].stride,
                                 pad,
                                 true);
        add_lengths (build, in);
        add_fusion (build);
    }
    add_leaky (build);
    add_conv (build, 1, 7, 1);
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
}

/* One discriminator of a period: samples folded to columns. */
static void add_period (struct dn_build *build, const struct dn_shape *wave, int period)
{
    static const double channels[] = {32, 128, 512, 1024, 1024, 1};

    build->at = (struct dn_shape){.channels = 1,
                                  .dim = {ceil (wave->dim[0] / period), period},
                                  .n_dims = 2,
                                  .input = wave->input};
    dn_build_copy (build);
    build->at.input = wave->input;
    for (size_t i = 0; i < DN_N_ELEMENTS (channels); i++) {
        const struct dn_conv conv = {.out = channels[i],
                                     .kernel = {i < 5 ? 5 : 3, 1},
                                     .stride = {i < 4 ? 3 : 1, 1},
                                     .pad = {i < 5 ? 2 : 1, 0},
                                     .groups = 1,
                                     .bias = true};

        dn_build_conv_of (build, &conv);
        add_lengths (build, channels[i]);
        if (i < 5)
            add_leaky (build);
    }
    dn_build_loss (build);
}

/* One discriminator of a scale; the first has spectral normalisation, which adds no
 * parameters.
 */
static void add_scale (struct dn_build *build, bool spectral)
{
    static const struct {
        double channels;
        int kernel;
        int stride;
        double groups;
    } layers[] = {{128, 15, 1, 1},
                  {128, 41, 2, 4},
                  {256, 41, 2, 16},
                  {512, 41, 4, 16},
                  {1024, 41, 4, 16},
                  {1024, 41, 1, 16},
                  {1024, 5, 1, 1},
                  {1, 3, 1, 1}};

    for (size_t i = 0; i < DN_N_ELEMENTS (layers); i++) {
        dn_build_conv (build,
                       layers[i].channels,
                       layers[i].kernel,
                       layers[i].stride,
                       layers[i].kernel / 2,
                       layers[i].groups,
                       true);
        if (!spectral)
            add_lengths (build, layers[i].channels);
        if (i + 1 < DN_N_ELEMENTS (layers))
            add_leaky (build);
    }
    dn_build_loss (build);
}

static void add_discriminators (struct dn_build *build, struct dn_shape wave)
{
    static const int periods[] = {2, 3, 5, 7, 11};

    for (size_t i = 0; i < DN_N_ELEMENTS (periods); i++)
        add_period (build, &wave, periods[i]);
    for (int i = 0; i < 3; i++) {
        build->at = wave;
        add_scale (build, i == 0);
        build->at = wave;
        build->at.kept = true;
        dn_build_pool (
            build,
            &(struct dn_pool){DN_POOL_AVERAGE, .kernel = 4, .stride = 2, .pad = 2});
        wave = build->at;
    }
}

static void build_hifigan (struct dn_build *build, const void *data)
{
    const struct hifigan *row = data;
    double samples = DN_WANT (build, seq_len, row->samples);
    double frames = fmax (1, floor (samples / HOP));
    struct dn_shape real;
    struct dn_shape fake;
    double outer;

    dn_build_features (build, 1, frames * HOP);
    real = build->at;
    add_generator (build, frames, DN_WANT (build, hidden, row->hidden));
    fake = build->at;
    add_discriminators (build, real);
    build->shared = true;
    add_discriminators (build, real);
    outer = dn_build_repeat (build, 2);
    add_discriminators (build, fake);
    dn_build_repeat_end (build, outer);
    build->shared = false;
}

const struct dn_zoo_family dn_zoo_hifigan = DN_ZOO_FAMILY (rows, build_hifigan);
