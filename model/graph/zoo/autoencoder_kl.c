/* autoencoder_kl.c - the autoencoder of latent diffusion
 *
 * Rombach et al. (arXiv 2112.10752) as diffusers.AutoencoderKL implements it: an image
 * of an eighth of the pixels per dimension, with hidden= channels (128) at full
 * resolution. Training is counted with the losses of pixels and latents only, without
 * a perceptual network and a discriminator.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#define N_LEVELS 4
#define N_BLOCKS 2

struct autoencoder_kl {
    struct dn_zoo_entry entry;
    double latent;  /* channels of a latent */
    bool quantised; /* 1x1 convolutions before and after the latents */
};

static const struct autoencoder_kl rows[] = {
    {{"autoencoder_kl", "autoencoder_kl"}, 4, true},
    {{"autoencoder_kl_sd3", "autoencoder_kl"}, 16, false},
    /* End of rows */
};

/* Multiples of the first level's channels. */
static const double widths[N_LEVELS] = {1, 2, 4, 4};

static void add_norm_conv (struct dn_build *build, double out)
{
    dn_build_norm (build, DN_NORM_GROUP);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_conv (build, out, 3, 1, 1, 1, true);
}

/* The time's features, through a linear layer, are added to each position. */
static void add_time (struct dn_build *build, double time)
{
    struct dn_shape at = build->at;

    build->at = (struct dn_shape){.channels = time, .kept = true};
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_linear (build, at.channels, true);
    build->at = at;
    dn_build_add (build);
}

void dn_zoo_diffusion_residual_add (struct dn_build *build, double out, double time)
{
    struct dn_shape start = build->at;
    struct dn_shape end;

    add_norm_conv (build, out);
    if (time > 0)
        add_time (build, time);
    add_norm_conv (build, out);
    end = build->at;
    if (start.channels != out) {
        build->at = start;
        build->at.kept = true;
        dn_build_conv (build, out, 1, 1, 0, 1, true);
        build->at = end;
    }
    dn_build_add (build);
    /* Divided by a constant. */
    dn_build_elementwise (build, 1);
}

void dn_zoo_diffusion_attention_add (struct dn_build *build, double head_dim)
{
    struct dn_shape start = build->at;
    struct dn_attention attention = {.heads = start.channels / head_dim,
                                     .head_dim = head_dim,
                                     .bias = true,
                                     .out_bias = true,
                                     .unmasked = true};

    dn_build_norm (build, DN_NORM_GROUP);
    build->at.dim[0] = dn_shape_positions (&start);
    build->at.n_dims = 1;
    dn_build_attention (build, &attention);
    start.kept = false;
    build->at = start;
    dn_build_copy (build);
    dn_build_add (build);
    dn_build_elementwise (build, 1);
}

static void add_middle (struct dn_build *build)
{
    double channels = build->at.channels;

    dn_zoo_diffusion_residual_add (build, channels, 0);
    dn_zoo_diffusion_attention_add (build, channels);
    dn_zoo_diffusion_residual_add (build, channels, 0);
}

/* From pixels to the mean and the logarithm of the variance of latents. */
static void add_encoder (struct dn_build *build,
                         double channels,
                         double latent,
                         bool quantised)
{
    dn_build_conv (build, channels, 3, 1, 1, 1, true);
    for (int i = 0; i < N_LEVELS; i++) {
        for (int k = 0; k < N_BLOCKS; k++)
            dn_zoo_diffusion_residual_add (build, widths[i] * channels, 0);
        if (i < N_LEVELS - 1)
            dn_build_conv (build, build->at.channels, 3, 2, 1, 1, true);
    }
    add_middle (build);
    add_norm_conv (build, 2 * latent);
    if (quantised)
        dn_build_conv (build, 2 * latent, 1, 1, 0, 1, true);
}

static void add_decoder (struct dn_build *build,
                         double channels,
                         double latent,
                         bool quantised)
{
    if (quantised)
        dn_build_conv (build, latent, 1, 1, 0, 1, true);
    dn_build_conv (build, widths[N_LEVELS - 1] * channels, 3, 1, 1, 1, true);
    add_middle (build);
    for (int i = N_LEVELS - 1; i >= 0; i--) {
        for (int k = 0; k < N_BLOCKS + 1; k++)
            dn_zoo_diffusion_residual_add (build, widths[i] * channels, 0);
        if (i > 0) {
            dn_build_upsample (build, 2);
            dn_build_conv (build, build->at.channels, 3, 1, 1, 1, true);
        }
    }
}

void dn_zoo_latents_add (struct dn_build *build, double latent)
{
    bool frozen = build->frozen;

    build->frozen = build->fixed = true;
    add_encoder (build, 128, latent, latent == rows[0].latent);
    build->frozen = frozen;
    build->fixed = false;
    build->at.channels = latent;
    build->at.kept = false;
    build->at.input = true;
}

static void build_autoencoder_kl (struct dn_build *build, const void *data)
{
    const struct autoencoder_kl *row = data;
    double channels = DN_WANT (build, hidden, 128);
    double colours;

    dn_build_image (build, 3, 256, 2, 4);
    colours = build->at.channels;
    add_encoder (build, channels, row->latent, row->quantised);
    /* Exponential of half the logarithm, times noise, plus mean. */
    build->at.channels = row->latent;
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
    dn_build_elementwise (build, 2);
    add_decoder (build, channels, row->latent, row->quantised);
    add_norm_conv (build, colours);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_autoencoder_kl =
    DN_ZOO_FAMILY (rows, build_autoencoder_kl);
