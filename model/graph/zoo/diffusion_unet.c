/* diffusion_unet.c - U-Nets that remove noise
 *
 * DDPM (Ho et al., arXiv 2006.11239) works on pixels, as diffusers.UNet2DModel. Stable
 * Diffusion (Rombach et al., arXiv 2112.10752; XL: Podell et al., arXiv 2307.01952)
 * works on latents with text as memory of cross attention, as
 * diffusers.UNet2DConditionModel. The encoder of the autoencoder and the text encoders
 * are run forward and do not learn; a name that ends in _latents leaves them out: their
 * results were computed before. ControlNet (Zhang et al., arXiv 2302.05543) learns a
 * copy of the encoder of a U-Net that does not learn itself.
 *
 * image= is in pixels, seq_len= the tokens of the text.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#include <math.h>

#define LEVELS_MAX 6
#define N_BLOCKS   2
#define SKIPS_MAX  (LEVELS_MAX * (N_BLOCKS + 1))

/* Pixels of a latent in each dimension. */
#define LATENT_PIXELS 8

struct net {
    int n_levels;
    double channels[LEVELS_MAX];
    int blocks[LEVELS_MAX]; /* transformer blocks after a residual block; without text:
                               whether there is an attention */
    int middle;             /* the same between encoder and decoder */
    double heads;           /* 0: of 'head_dim' */
    double head_dim;
    double context; /* features of a token of the text; 0: no text */
    double pooled;  /* features of the whole text and of the sizes; 0: none */
    bool conv;      /* transformers begin and end with 1x1 convolutions */
};

static const struct net ddpm_32 = {.n_levels = 4,
                                   .channels = {128, 256, 256, 256},
                                   .blocks = {0, 1, 0, 0},
                                   .middle = 1,
                                   .heads = 1};
static const struct net ddpm_256 = {.n_levels = 6,
                                    .channels = {128, 128, 256, 256, 512, 512},
                                    .blocks = {0, 0, 0, 0, 1, 0},
                                    .middle = 1,
                                    .heads = 1};
static const struct net sd1 = {.n_levels = 4,
                               .channels = {320, 640, 1280, 1280},
                               .blocks = {1, 1, 1, 0},
                               .middle = 1,
                               .heads = 8,
                               .context = 768,
                               .conv = true};
static const struct net sd2 = {.n_levels = 4,
                               .channels = {320, 640, 1280, 1280},
                               .blocks = {1, 1, 1, 0},
                               .middle = 1,
                               .head_dim = 64,
                               .context = 1024};
static const struct net sdxl = {.n_levels = 3,
                                .channels = {320, 640, 1280},
                                .blocks = {0, 2, 10},
                                .middle = 10,
                                .head_dim = 64,
                                .context = 2048,
                                .pooled = 2816};

struct diffusion {
    struct dn_zoo_entry entry;
    const struct net *net;
    double image;
    enum dn_zoo_text texts[2];
    bool control; /* ControlNet */
    bool latents; /* computed before */
};

#define ROW(name, ...)                                                                 \
    {                                                                                  \
        {name, "diffusion_unet"}, __VA_ARGS__                                          \
    }

#define CLIP_L                                                                         \
    {                                                                                  \
        DN_ZOO_TEXT_CLIP_L                                                             \
    }
#define OPEN_H                                                                         \
    {                                                                                  \
        DN_ZOO_TEXT_OPENCLIP_H                                                         \
    }
#define CLIP_BOTH                                                                      \
    {                                                                                  \
        DN_ZOO_TEXT_CLIP_L, DN_ZOO_TEXT_OPENCLIP_G                                     \
    }

static const struct diffusion rows[] = {
    ROW ("ddpm_cifar10_32", &ddpm_32, 32, {0}, false, false),
    ROW ("ddpm_celebahq_256", &ddpm_256, 256, {0}, false, false),
    ROW ("stable_diffusion_v1_5", &sd1, 512, CLIP_L, false, false),
    ROW ("stable_diffusion_v1_5_latents", &sd1, 512, CLIP_L, false, true),
    ROW ("stable_diffusion_2_base", &sd2, 512, OPEN_H, false, false),
    ROW ("stable_diffusion_2_base_latents", &sd2, 512, OPEN_H, false, true),
    ROW ("stable_diffusion_2", &sd2, 768, OPEN_H, false, false),
    ROW ("stable_diffusion_2_latents", &sd2, 768, OPEN_H, false, true),
    ROW ("stable_diffusion_xl", &sdxl, 1024, CLIP_BOTH, false, false),
    ROW ("stable_diffusion_xl_latents", &sdxl, 1024, CLIP_BOTH, false, true),
    ROW ("controlnet_sd_v1_5", &sd1, 512, CLIP_L, true, false),
    ROW ("controlnet_sd_2_1", &sd2, 512, OPEN_H, true, false),
    ROW ("controlnet_sdxl", &sdxl, 1024, CLIP_BOTH, true, false),
    /* End of rows */
};

/* A pass through a network: what all its blocks read, and the activations that the
 * decoder joins.
 */
struct pass {
    const struct net *net;
    struct dn_shape text;
    double time; /* features of the time */
    struct dn_shape skips[SKIPS_MAX];
    int n_skips;
};

static void push (struct dn_build *build, struct pass *pass)
{
    if (pass->n_skips < SKIPS_MAX)
        pass->skips[pass->n_skips++] = build->at;
}

static double head_dim_of (const struct net *net, double channels)
{
    return net->heads > 0 ? channels / net->heads : net->head_dim;
}

/* From 'features' to the features that each residual block reads. */
static void add_embedding (struct dn_build *build, double features, double time)
{
    build->at = (struct dn_shape){.channels = features, .input = true};
    dn_build_linear (build, time, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_linear (build, time, true);
}

static void add_time (struct dn_build *build, struct pass *pass)
{
    struct dn_shape at = build->at;

    pass->time = 4 * pass->net->channels[0];
    add_embedding (build, pass->net->channels[0], pass->time);
    if (pass->net->pooled > 0) {
        add_embedding (build, pass->net->pooled, pass->time);
        dn_build_add (build);
    }
    build->at = at;
}

/* Feed-forward layers with a gate: one layer gives both halves. */
static void add_ffn (struct dn_build *build)
{
    double channels = build->at.channels;
    struct dn_shape half;

    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_linear (build, 8 * channels, true);
    build->at.channels = 4 * channels;
    half = build->at;
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_multiply (build, &half);
    dn_build_linear (build, channels, true);
    dn_build_add (build);
}

static void add_attention (struct dn_build *build,
                           const struct net *net,
                           struct dn_shape *memory)
{
    double head_dim = head_dim_of (net, build->at.channels);
    struct dn_attention attention = {.heads = build->at.channels / head_dim,
                                     .head_dim = head_dim,
                                     .memory = memory,
                                     .out_bias = true,
                                     .unmasked = true};

    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_attention (build, &attention);
    dn_build_elementwise (build, 1);
    dn_build_add (build);
}

static void add_project (struct dn_build *build, bool conv)
{
    if (conv)
        dn_build_conv (build, build->at.channels, 1, 1, 0, 1, true);
    else
        dn_build_linear (build, build->at.channels, true);
}

/* 'n' blocks of self-attention, cross-attention and feed-forward layers. */
static void add_transformer (struct dn_build *build, struct pass *pass, int n)
{
    struct dn_shape start = build->at;
    double outer;

    dn_build_norm (build, DN_NORM_GROUP);
    build->at.dim[0] = dn_shape_positions (&start);
    build->at.n_dims = 1;
    add_project (build, pass->net->conv);
    dn_build_copy (build);
    outer = dn_build_repeat (build, n);
    add_attention (build, pass->net, NULL);
    add_attention (build, pass->net, &pass->text);
    add_ffn (build);
    dn_build_repeat_end (build, outer);
    add_project (build, pass->net->conv);
    dn_build_copy (build);
    start.kept = false;
    build->at = start;
    dn_build_add (build);
}

static void add_mixing (struct dn_build *build, struct pass *pass, int n)
{
    if (n > 0 && pass->net->context > 0)
        add_transformer (build, pass, n);
    else if (n > 0)
        dn_zoo_diffusion_attention_add (build,
                                        head_dim_of (pass->net, build->at.channels));
}

static void add_encoder (struct dn_build *build, struct pass *pass)
{
    const struct net *net = pass->net;

    push (build, pass);
    for (int i = 0; i < net->n_levels && !build->failed; i++) {
        for (int k = 0; k < N_BLOCKS; k++) {
            dn_zoo_diffusion_residual_add (build, net->channels[i], pass->time);
            add_mixing (build, pass, net->blocks[i]);
            push (build, pass);
        }
        if (i < net->n_levels - 1) {
            dn_build_conv (build, net->channels[i], 3, 2, 1, 1, true);
            push (build, pass);
        }
    }
}

static void add_middle (struct dn_build *build, struct pass *pass)
{
    double channels = build->at.channels;

    dn_zoo_diffusion_residual_add (build, channels, pass->time);
    add_mixing (build, pass, pass->net->middle);
    dn_zoo_diffusion_residual_add (build, channels, pass->time);
}

static void add_decoder (struct dn_build *build, struct pass *pass)
{
    const struct net *net = pass->net;

    for (int i = net->n_levels - 1; i >= 0 && !build->failed; i--) {
        for (int k = 0; k < N_BLOCKS + 1; k++) {
            dn_build_concat (build, &pass->skips[--pass->n_skips]);
            dn_zoo_diffusion_residual_add (build, net->channels[i], pass->time);
            add_mixing (build, pass, net->blocks[i]);
        }
        if (i > 0) {
            struct dn_shape next = pass->skips[pass->n_skips - 1];

            /* Sizes that are not even are met by the interpolation. */
            next.channels = build->at.channels;
            next.kept = next.input = false;
            build->at = next;
            dn_build_copy (build);
            dn_build_conv (build, build->at.channels, 3, 1, 1, 1, true);
        }
    }
}

static void add_output (struct dn_build *build, double out)
{
    dn_build_norm (build, DN_NORM_GROUP);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_conv (build, out, 3, 1, 1, 1, true);
    dn_build_loss (build);
}

/* The frozen U-Net up to its decoder, which is returned in 'pass'. */
static void add_frozen_encoder (struct dn_build *build, struct pass *pass)
{
    struct dn_shape at = build->at;

    build->frozen = build->fixed = true;
    add_time (build, pass);
    dn_build_conv (build, pass->net->channels[0], 3, 1, 1, 1, true);
    add_encoder (build, pass);
    add_middle (build, pass);
    build->frozen = build->fixed = false;
    build->at = at;
    build->at.kept = false;
    build->at.input = true;
    pass->text.kept = false;
}

/* Small convolutions that bring the control image to the size of the latents. */
static void add_hint (struct dn_build *build, const struct dn_shape *image, double out)
{
    static const double channels[] = {16, 32, 96, 256};

    build->at = *image;
    dn_build_conv (build, channels[0], 3, 1, 1, 1, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    for (size_t i = 0; i + 1 < DN_N_ELEMENTS (channels); i++) {
        dn_build_conv (build, channels[i], 3, 1, 1, 1, true);
        dn_build_activation (build, DN_ACTIVATION_GELU);
        dn_build_conv (build, channels[i + 1], 3, 2, 1, 1, true);
        dn_build_activation (build, DN_ACTIVATION_GELU);
    }
    dn_build_conv (build, out, 3, 1, 1, 1, true);
}

/* A 1x1 convolution of each activation that the decoder joins, added to it. */
static void add_controls (struct dn_build *build, const struct pass *pass)
{
    for (int i = 0; i < pass->n_skips; i++) {
        build->at = pass->skips[i];
        build->at.kept = true;
        dn_build_conv (build, build->at.channels, 1, 1, 0, 1, true);
        dn_build_elementwise (build, 1);
        dn_build_add (build);
    }
}

static void add_control (struct dn_build *build,
                         struct pass *pass,
                         const struct dn_shape *image)
{
    struct pass copy = {.net = pass->net, .text = pass->text};
    struct dn_shape latents;
    struct dn_shape middle;

    add_frozen_encoder (build, pass);
    latents = build->at;
    copy.text.kept = false;
    add_time (build, &copy);
    add_hint (build, image, pass->net->channels[0]);
    build->at = latents;
    dn_build_conv (build, pass->net->channels[0], 3, 1, 1, 1, true);
    dn_build_add (build);
    add_encoder (build, &copy);
    add_middle (build, &copy);
    middle = build->at;
    add_controls (build, &copy);
    build->at = middle;
    dn_build_conv (build, middle.channels, 1, 1, 0, 1, true);
    dn_build_elementwise (build, 1);
    dn_build_add (build);
    build->fixed = true;
    add_decoder (build, pass);
    add_output (build, latents.channels);
    build->fixed = false;
}

/* Latents and text: run the encoders, or take their results as the sample. */
static void add_inputs (struct dn_build *build,
                        const struct diffusion *row,
                        struct pass *pass)
{
    double tokens = DN_WANT (build, seq_len, 77);
    double latent = 4;

    pass->text = (struct dn_shape){
        .channels = row->net->context, .dim = {tokens}, .n_dims = 1, .input = true};
    if (!row->latents) {
        struct dn_shape image = build->at;

        for (size_t i = 0; i < DN_N_ELEMENTS (row->texts); i++)
            dn_zoo_text_add (build, row->texts[i], tokens);
        build->at = image;
        dn_zoo_latents_add (build, latent);
        return;
    }
    build->at.channels = latent;
    for (int i = 0; i < build->at.n_dims; i++)
        build->at.dim[i] = floor (build->at.dim[i] / LATENT_PIXELS);
    build->graph.input = dn_shape_elements (&build->at)
                         + dn_shape_elements (&pass->text) + row->net->pooled;
    build->graph.input_bytes = 4 * build->graph.input;
    build->graph.decode = DN_DECODE_NONE;
    dn_build_ignore (build, DN_KEYSET (in_channels));
}

static void build_diffusion (struct dn_build *build, const void *data)
{
    const struct diffusion *row = data;
    struct pass pass = {.net = row->net};
    struct dn_shape image;
    double out;

    dn_build_image (build, 3, row->image, 2, 4);
    image = build->at;
    if (row->net->context > 0)
        add_inputs (build, row, &pass);
    if (build->failed)
        return;
    if (row->control) {
        build->graph.input += dn_shape_elements (&image);
        build->graph.input_bytes += 4 * dn_shape_elements (&image);
        add_control (build, &pass, &image);
        return;
    }
    out = build->at.channels;
    add_time (build, &pass);
    dn_build_conv (build, row->net->channels[0], 3, 1, 1, 1, true);
    add_encoder (build, &pass);
    add_middle (build, &pass);
    add_decoder (build, &pass);
    add_output (build, out);
}

const struct dn_zoo_family dn_zoo_diffusion_unet =
    DN_ZOO_FAMILY (rows, build_diffusion);
