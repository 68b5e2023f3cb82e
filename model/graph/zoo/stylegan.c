/* stylegan.c - images from styles
 *
 * StyleGAN2 (Karras et al., arXiv 1912.04958) and StyleGAN3 (arXiv 2106.12423), T with
 * 3x3 and R with 1x1 convolutions, as NVlabs/stylegan3 implements them; image= is a
 * power of two, width= multiplies the channels (--cbase is 32768 times width).
 *
 * A training step has two phases. The generator makes images and learns from the
 * discriminator's gradients, whose weights get none. Then it makes images without a
 * gradient, and the discriminator learns from these and from real ones. The first phase
 * keeps most for its backward pass. Every 16th step the discriminator is regularised by
 * gradients of gradients, of twice the work of a pass; every fourth step StyleGAN2's
 * generator is, on half of the batch.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"
#include "base/messages.h"

#include <math.h>

#define STYLE        512.0 /* features of a style, and of the noise before it */
#define CHANNELS     32768.0
#define CHANNELS_MAX 512.0
#define IMAGE_MAX    4096

/* Work of the regularisations per step, in passes. */
#define REGULARISED_D (2.0 / 16)
#define REGULARISED_G (2.0 / 2 / 4)

/* StyleGAN3: layers, those at full resolution, pixels around the image. */
#define N_LAYERS   14
#define N_CRITICAL 2
#define MARGIN     10

struct stylegan {
    struct dn_zoo_entry entry;
    double mapping; /* layers between noise and style */
    bool third;
    int kernel;      /* of StyleGAN3's convolutions */
    double channels; /* of its generator, multiplied by this */
};

static const struct stylegan rows[] = {
    {{"stylegan2", "stylegan"}, 8, false, 3, 1},
    {{"stylegan3_t", "stylegan"}, 2, true, 3, 1},
    {{"stylegan3_r", "stylegan"}, 2, true, 1, 2},
    /* End of rows */
};

/* What both networks are made with. */
struct sizes {
    double image;
    double colours;
    double width;
};

static double channels_at (const struct sizes *sizes, double resolution)
{
    return fmin (floor (CHANNELS * sizes->width / resolution), CHANNELS_MAX);
}

static void add_layer (struct dn_build *build, double out, int kernel, int stride)
{
    dn_build_conv (build, out, kernel, stride, kernel / 2, 1, true);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

static void add_mapping (struct dn_build *build, double layers)
{
    double outer;

    build->at = (struct dn_shape){.channels = STYLE, .input = true};
    outer = dn_build_repeat (build, layers);
    dn_build_linear (build, STYLE, true);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    dn_build_repeat_end (build, outer);
}

/* The style of a layer: a factor for each of 'features'. */
static void add_style (struct dn_build *build, double features)
{
    struct dn_shape at = build->at;

    build->at = (struct dn_shape){.channels = STYLE, .kept = true};
    dn_build_linear (build, features, true);
    build->at = at;
}

static void add_scaled (struct dn_build *build)
{
    dn_build_keep (build);
    dn_build_elementwise (build, 1);
}

/* A layer of StyleGAN2: its input and its output are scaled per sample. */
static void add_styled (struct dn_build *build, double out, bool up)
{
    add_style (build, build->at.channels);
    add_scaled (build);
    if (up) {
        dn_build_conv_transpose (build, out, 3, 2, 0, true);
        for (int i = 0; i < 2; i++)
            build->at.dim[i] -= 1;
        /* A filter. */
        dn_build_copy (build);
    } else {
        dn_build_conv (build, out, 3, 1, 1, 1, true);
    }
    add_scaled (build);
    /* Noise of a learned strength. */
    dn_build_add_learned (build, 1);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

/* Colours of a resolution, added to those of the one below. */
static void add_colours (struct dn_build *build, double colours, bool first)
{
    struct dn_shape at = build->at;

    at.kept = true;
    add_style (build, at.channels);
    add_scaled (build);
    dn_build_conv (build, colours, 1, 1, 0, 1, true);
    if (!first) {
        dn_build_copy (build);
        dn_build_add (build);
    }
    build->at = at;
}

static void add_second (struct dn_build *build, const struct sizes *sizes)
{
    build->at = (struct dn_shape){
        .channels = channels_at (sizes, 4), .dim = {4, 4}, .n_dims = 2, .input = true};
    dn_build_add_learned (build, dn_shape_elements (&build->at));
    add_styled (build, build->at.channels, false);
    add_colours (build, sizes->colours, true);
    for (int size = 8; size <= sizes->image && !build->failed; size *= 2) {
        add_styled (build, channels_at (sizes, size), true);
        add_styled (build, channels_at (sizes, size), false);
        add_colours (build, sizes->colours, false);
    }
}

/* A layer of StyleGAN3: frequencies up to a cutoff, sampled at a rate. */
struct band {
    double rate;
    double size;
    double channels;
};

/* The smallest power of two that is not below 'value'. */
static double power_above (double value)
{
    double power = 1;

    while (power < value)
        power *= 2;
    return power;
}

static struct band band_of (const struct sizes *sizes, double channels, int i)
{
    double share = fmin ((double) i / (N_LAYERS - N_CRITICAL), 1);
    double cutoff = 2 * pow (sizes->image / 2 / 2, share);
    double first = pow (2, 2.1);
    double stop = first * pow (sizes->image / 2 * pow (2, 0.3) / first, share);
    struct band band;

    band.rate = power_above (fmin (2 * stop, sizes->image));
    band.size = i >= N_LAYERS - 1 ? sizes->image : band.rate + 2 * MARGIN;
    band.channels = i == N_LAYERS
                        ? sizes->colours
                        : round (fmin (channels * CHANNELS * sizes->width / 2 / cutoff,
                                       channels * CHANNELS_MAX));
    return band;
}

/* The weights of a convolution are scaled per sample, in three kernels of which two
 * keep their result.
 */
static void add_weights (struct dn_build *build, double elements)
{
    struct dn_op op = {.kind = DN_OP_ELEMENTWISE,
                       .repeat = 3,
                       .in = elements,
                       .out = elements,
                       .saved = elements * 2 / 3};

    dn_build_op (build, &op);
}

/* Filter to twice the rate of the faster of two layers, rectifier, filter to the rate
 * of the next layer: one kernel, whose work is that of the elements between the
 * filters. It keeps two bits of each of them.
 */
static void add_filtered (struct dn_build *build,
                          const struct band *from,
                          const struct band *to)
{
    double up = 2 * fmax (from->rate, to->rate) / to->rate;
    struct dn_op op = {.kind = DN_OP_ACTIVATION, .repeat = up * up};

    for (int i = 0; i < 2; i++)
        build->at.dim[i] = to->size;
    op.in = op.out = dn_shape_elements (&build->at);
    op.masks = op.out / 4;
    dn_build_op (build, &op);
    build->at.kept = false;
}

static void add_third (struct dn_build *build,
                       const struct stylegan *row,
                       const struct sizes *sizes)
{
    struct band from = band_of (sizes, row->channels, 0);

    /* Sines whose frequencies follow the style. */
    add_style (build, 4);
    build->at = (struct dn_shape){.channels = from.channels,
                                  .dim = {from.size, from.size},
                                  .n_dims = 2,
                                  .input = true};
    dn_build_elementwise (build, 3);
    dn_build_linear (build, from.channels, false);
    dn_build_copy (build);
    for (int i = 0; i <= N_LAYERS && !build->failed; i++) {
        struct band to = band_of (sizes, row->channels, i);
        int kernel = i == N_LAYERS ? 1 : row->kernel;

        add_style (build, from.channels);
        add_weights (build, from.channels * to.channels * kernel * kernel);
        dn_build_conv (build, to.channels, kernel, 1, kernel - 1, 1, true);
        add_filtered (build, &from, &to);
        from = to;
    }
}

static void add_generator (struct dn_build *build,
                           const struct stylegan *row,
                           const struct sizes *sizes)
{
    add_mapping (build, row->mapping);
    if (row->third)
        add_third (build, row, sizes);
    else
        add_second (build, sizes);
}

static void add_discriminator (struct dn_build *build, const struct sizes *sizes)
{
    build->at = (struct dn_shape){
        .channels = sizes->colours, .dim = {sizes->image, sizes->image}, .n_dims = 2};
    add_layer (build, channels_at (sizes, sizes->image), 1, 1);
    for (int size = (int) sizes->image; size > 4 && !build->failed; size /= 2) {
        struct dn_shape start = build->at;
        struct dn_shape end;

        add_layer (build, start.channels, 3, 1);
        dn_build_copy (build);
        add_layer (build, channels_at (sizes, size / 2.0), 3, 2);
        end = build->at;
        build->at = start;
        build->at.dim[0] = end.dim[0];
        build->at.dim[1] = end.dim[1];
        dn_build_copy (build);
        dn_build_conv (build, end.channels, 1, 1, 0, 1, false);
        build->at = end;
        dn_build_add (build);
    }
    /* The deviation within the batch is a further channel. */
    dn_build_copy (build);
    build->at.channels += 1;
    add_layer (build, channels_at (sizes, 4), 3, 1);
    dn_build_flatten (build);
    dn_build_linear (build, channels_at (sizes, 4), true);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    dn_build_linear (build, 1, true);
    dn_build_loss (build);
}

/* The phase of the discriminator, whose parameters this phase counts. */
static void add_second_phase (struct dn_build *build,
                              const struct stylegan *row,
                              const struct sizes *sizes)
{
    double outer;

    build->shared = build->frozen = true;
    add_generator (build, row, sizes);
    build->shared = build->frozen = false;
    build->released = true;
    add_discriminator (build, sizes);
    build->shared = true;
    add_discriminator (build, sizes);
    outer = dn_build_repeat (build, REGULARISED_D);
    add_discriminator (build, sizes);
    dn_build_repeat_end (build, outer);
    if (!row->third) {
        outer = dn_build_repeat (build, REGULARISED_G);
        add_generator (build, row, sizes);
        dn_build_repeat_end (build, outer);
    }
    build->shared = build->released = false;
}

static void build_stylegan (struct dn_build *build, const void *data)
{
    const struct stylegan *row = data;
    struct sizes sizes = {.width = DN_WANT_REAL (build, width, 1)};

    dn_build_image (build, 3, 1024, 2, 4);
    sizes.image = build->at.dim[0];
    sizes.colours = build->at.channels;
    if (power_above (sizes.image) != sizes.image || sizes.image != build->at.dim[1]
        || sizes.image < 16 || sizes.image > IMAGE_MAX)
        dn_build_fail (build,
                       DN_E_RANGE,
                       dn_say_err_zoo_square,
                       build->at.dim[0],
                       build->at.dim[1],
                       IMAGE_MAX,
                       build->graph.name);
    if (build->failed)
        return;
    add_generator (build, row, &sizes);
    build->shared = build->fixed = true;
    add_discriminator (build, &sizes);
    build->shared = build->fixed = false;
    add_second_phase (build, row, &sizes);
}

const struct dn_zoo_family dn_zoo_stylegan = DN_ZOO_FAMILY (rows, build_stylegan);
