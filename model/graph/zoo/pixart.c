/* pixart.c - PixArt, transformers that remove noise from latents by a text
 *
 * PixArt-alpha (Chen et al., arXiv 2310.00426) and PixArt-Sigma (2403.04692) as
 * diffusers implements them: DiT whose blocks share one modulation by the time, to
 * which each adds a table of its own, and attend to the text. Networks of 1024 pixels
 * are told size and aspect ratio of the image, too, except Sigma's. Latents and texts
 * are encoded before: neither encoder is part of the network. image= is in pixels,
 * seq_len= the tokens of the text.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/transformer.h"
#include "zoo.h"

#include <math.h>

/* Channels of a latent, its pixels in each dimension, latents of a patch. */
#define LATENT        4
#define LATENT_PIXELS 8
#define PATCH         2

/* Features of the time and of each other condition; of a token of the text. */
#define TIME 256
#define TEXT 4096

struct pixart {
    struct dn_zoo_entry entry;
    double image;
    struct dn_transformer_sizes sizes;
    bool sized; /* size and aspect ratio are conditions */
};

static const struct pixart rows[] = {
    {{"pixart_xl_2_256x256", "pixart"}, 256, {28, 1152, 16, 0, 0, 120}, false},
    {{"pixart_xl_2_512x512", "pixart"}, 512, {28, 1152, 16, 0, 0, 120}, false},
    {{"pixart_xl_2_1024_ms", "pixart"}, 1024, {28, 1152, 16, 0, 0, 120}, true},
    {{"pixart_sigma_xl_2_256x256", "pixart"}, 256, {28, 1152, 16, 0, 0, 300}, false},
    {{"pixart_sigma_xl_2_512_ms", "pixart"}, 512, {28, 1152, 16, 0, 0, 300}, false},
    {{"pixart_sigma_xl_2_1024_ms", "pixart"}, 1024, {28, 1152, 16, 0, 0, 300}, false},
    /* End of rows */
};

/* The sample: latents and text as the encoders gave them. The cursor is then on the
 * patches.
 */
static struct dn_shape add_inputs (struct dn_build *build,
                                   double image,
                                   const struct dn_transformer *body)
{
    double dims[2];
    struct dn_shape text;

    dn_build_image (build, 3, image, 2, 4);
    for (int i = 0; i < 2; i++)
        dims[i] = fmax (floor (build->at.dim[i] / LATENT_PIXELS), PATCH);
    build->graph.input = build->graph.input_bytes = 0;
    dn_build_features (build, TEXT, body->tokens);
    dn_build_linear (build, body->hidden, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_linear (build, body->hidden, true);
    dn_build_keep (build);
    text = build->at;
    dn_build_features (build, LATENT, dims[0] * dims[1]);
    build->at.n_dims = 2;
    build->at.dim[0] = dims[0];
    build->at.dim[1] = dims[1];
    dn_build_conv (build, body->hidden, PATCH, PATCH, 0, 1, true);
    build->at.dim[0] *= build->at.dim[1];
    build->at.n_dims = 1;
    dn_build_elementwise (build, 1);
    build->graph.decode = DN_DECODE_NONE;
    dn_build_ignore (build, DN_KEYSET (in_channels));
    return text;
}

/* Two layers of one more condition, 'n' numbers of which have 'features' each. */
static void add_condition (struct dn_build *build, double n, double features)
{
    build->at =
        (struct dn_shape){.channels = TIME, .dim = {n}, .n_dims = 1, .input = true};
    dn_build_linear (build, features, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_linear (build, features, true);
}

static void add_conditions (struct dn_build *build, double hidden, bool sized)
{
    struct dn_shape at = build->at;

    dn_zoo_condition_add (build, TIME, hidden, true);
    if (sized) {
        /* Height and width, and their ratio. */
        add_condition (build, 2, floor (hidden / 3));
        add_condition (build, 1, floor (hidden / 3));
        build->at = (struct dn_shape){.channels = hidden};
        dn_build_add (build);
    }
    build->at = at;
    dn_zoo_modulation_add (build, 6, hidden, true);
}

/* What 'n' numbers per feature add to the modulation that all blocks share. */
static void add_table (struct dn_build *build, double n)
{
    struct dn_shape at = build->at;

    build->at = (struct dn_shape){.channels = n * at.channels};
    dn_build_add_learned (build, n * at.channels);
    build->at = at;
}

static void add_block (struct dn_build *build,
                       const struct dn_transformer *body,
                       struct dn_shape *text)
{
    struct dn_attention cross = body->attention;

    cross.memory = text;
    add_table (build, 6);
    dn_zoo_modulate (build);
    dn_build_attention (build, &body->attention);
    dn_zoo_gated_add (build);
    dn_build_attention (build, &cross);
    dn_build_add (build);
    dn_zoo_modulate (build);
    dn_build_linear (build, body->ffn, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_linear (build, body->hidden, true);
    dn_zoo_gated_add (build);
}

static void build_pixart (struct dn_build *build, const void *data)
{
    const struct pixart *row = data;
    struct dn_transformer body = {0};
    struct dn_shape text;
    double outer;

    dn_transformer_sizes_read (build, &row->sizes, &body);
    dn_transformer_plain_heads (build, false);
    body.attention.kv_heads = 0;
    body.attention.bias = body.attention.out_bias = true;
    body.attention.unmasked = true;
    text = add_inputs (build, row->image, &body);
    add_conditions (build, body.hidden, row->sized);
    dn_build_blocks (build, body.layers);
    outer = dn_build_repeat (build, body.layers);
    add_block (build, &body, &text);
    dn_build_repeat_end (build, outer);
    add_table (build, 2);
    dn_zoo_modulate (build);
    /* Noise and variance of each pixel of a latent. */
    dn_build_linear (build, 2.0 * LATENT * PATCH * PATCH, true);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_pixart = DN_ZOO_FAMILY (rows, build_pixart);
