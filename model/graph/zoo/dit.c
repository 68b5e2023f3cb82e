/* dit.c - transformers that remove noise from latents
 *
 * DiT (Peebles and Xie, arXiv 2212.09748) as facebookresearch/DiT implements it: the
 * class and the time give scales, shifts and gates of each block. The encoder of the
 * latents is run forward and does not learn; a name that ends in _latents leaves it
 * out. image= is in pixels.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/transformer.h"
#include "zoo.h"

#include <math.h>

/* Channels of a latent, and its pixels in each dimension. */
#define LATENT        4
#define LATENT_PIXELS 8

struct dit {
    struct dn_zoo_entry entry;
    struct dn_transformer_sizes sizes;
    int patch;
    bool latents; /* computed before */
};

/* clang-format off */
#define ROWS(name, patch, ...)                                                         \
    {{name, "dit"}, {__VA_ARGS__}, patch, false},                                      \
    {{name "_latents", "dit"}, {__VA_ARGS__}, patch, true}

static const struct dit rows[] = {
    ROWS ("dit_s_2", 2, 12, 384, 6, 0, 0, 0),
    ROWS ("dit_s_4", 4, 12, 384, 6, 0, 0, 0),
    ROWS ("dit_s_8", 8, 12, 384, 6, 0, 0, 0),
    ROWS ("dit_b_2", 2, 12, 768, 12, 0, 0, 0),
    ROWS ("dit_b_4", 4, 12, 768, 12, 0, 0, 0),
    ROWS ("dit_b_8", 8, 12, 768, 12, 0, 0, 0),
    ROWS ("dit_l_2", 2, 24, 1024, 16, 0, 0, 0),
    ROWS ("dit_l_4", 4, 24, 1024, 16, 0, 0, 0),
    ROWS ("dit_l_8", 8, 24, 1024, 16, 0, 0, 0),
    ROWS ("dit_xl_2", 2, 28, 1152, 16, 0, 0, 0),
    ROWS ("dit_xl_4", 4, 28, 1152, 16, 0, 0, 0),
    ROWS ("dit_xl_8", 8, 28, 1152, 16, 0, 0, 0),
    /* End of rows */
};
/* clang-format on */

void dn_zoo_condition_add (struct dn_build *build,
                           double features,
                           double hidden,
                           bool bias)
{
    build->at = (struct dn_shape){.channels = features, .input = true};
    dn_build_linear (build, hidden, bias);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_linear (build, hidden, bias);
}

void dn_zoo_modulation_add (struct dn_build *build, double n, double hidden, bool bias)
{
    struct dn_shape at = build->at;

    build->at = (struct dn_shape){.channels = hidden, .kept = true};
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_linear (build, n * hidden, bias);
    dn_build_keep (build);
    build->at = at;
}

void dn_zoo_modulate (struct dn_build *build)
{
    dn_build_norm (build, DN_NORM_PLAIN);
    dn_build_keep (build);
    dn_build_elementwise (build, 2);
}

void dn_zoo_gated_add (struct dn_build *build)
{
    dn_build_keep (build);
    dn_build_elementwise (build, 1);
    dn_build_add (build);
}

/* The latents of the image, as the sample or by their encoder. */
static void add_latents (struct dn_build *build, bool latents)
{
    if (!latents) {
        dn_zoo_latents_add (build, LATENT);
        return;
    }
    build->at.channels = LATENT;
    for (int i = 0; i < build->at.n_dims; i++)
        build->at.dim[i] = floor (build->at.dim[i] / LATENT_PIXELS);
    build->graph.input = dn_shape_elements (&build->at);
    build->graph.input_bytes = 4 * build->graph.input;
    build->graph.decode = DN_DECODE_NONE;
    dn_build_ignore (build, DN_KEYSET (in_channels));
}

static void add_conditions (struct dn_build *build, double hidden, double classes)
{
    struct dn_shape at = build->at;

    dn_zoo_condition_add (build, 256, hidden, true);
    dn_build_tokens (build, 1);
    /* One more class stands for no class. */
    dn_build_embedding (build, classes + 1, hidden);
    dn_build_add (build);
    build->at = at;
}

static void add_block (struct dn_build *build, const struct dn_transformer *body)
{
    dn_zoo_modulation_add (build, 6, body->hidden, true);
    dn_zoo_modulate (build);
    dn_build_attention (build, &body->attention);
    dn_zoo_gated_add (build);
    dn_zoo_modulate (build);
    dn_build_linear (build, body->ffn, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_linear (build, body->hidden, true);
    dn_zoo_gated_add (build);
}

static void build_dit (struct dn_build *build, const void *data)
{
    const struct dit *row = data;
    struct dn_transformer body = {0};
    double classes = DN_WANT (build, classes, 1000);
    double outer;

    dn_transformer_sizes_read (build, &row->sizes, &body);
    body.attention.bias = body.attention.out_bias = true;
    body.attention.fused = body.attention.unmasked = true;
    dn_build_image (build, 3, 256, 2, 4);
    add_latents (build, row->latents);
    dn_build_conv (build, body.hidden, row->patch, row->patch, 0, 1, true);
    build->at.dim[0] *= build->at.dim[1];
    build->at.n_dims = 1;
    /* Positions, which do not learn. */
    build->fixed = true;
    dn_build_add_learned (build, dn_shape_elements (&build->at));
    build->fixed = false;
    add_conditions (build, body.hidden, classes);
    dn_build_blocks (build, body.layers);
    outer = dn_build_repeat (build, body.layers);
    add_block (build, &body);
    dn_build_repeat_end (build, outer);
    dn_zoo_modulation_add (build, 2, body.hidden, true);
    dn_zoo_modulate (build);
    /* Noise and variance of each pixel of a latent. */
    dn_build_linear (build, 2.0 * LATENT * row->patch * row->patch, true);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_dit = DN_ZOO_FAMILY (rows, build_dit);
