/* mae.c - masked autoencoders
 *
 * MAE (He et al., arXiv 2111.06377) as facebookresearch/mae pre-trains it: the encoder
 * is a ViT over a quarter of the patches, the decoder eight narrow blocks over all of
 * them, which give the pixels of the others. layers=, hidden= and heads= are those of
 * the encoder. A trained encoder is fine-tuned as a ViT (vit_base_patch16_224).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/transformer.h"
#include "zoo.h"

#include <math.h>

/* Share of the patches that the encoder sees. */
#define SEEN 0.25

struct mae {
    struct dn_zoo_entry entry;
    struct dn_transformer_sizes sizes;
    int patch;
};

static const struct mae rows[] = {
    {{"mae_vit_base_patch16", "mae"}, {12, 768, 12, 0, 3072, 0}, 16},
    {{"mae_vit_large_patch16", "mae"}, {24, 1024, 16, 0, 4096, 0}, 16},
    {{"mae_vit_huge_patch14", "mae"}, {32, 1280, 16, 0, 5120, 0}, 14},
    /* End of rows */
};

static const struct dn_transformer decoder = {
    .layers = 8,
    .hidden = 512,
    .ffn = 2048,
    .attention = {.heads = 16,
                  .head_dim = 32,
                  .bias = true,
                  .out_bias = true,
                  .fused = true,
                  .unmasked = true},
    .norm = DN_NORM_LAYER,
    .activation = DN_ACTIVATION_GELU,
    .norm_first = true,
    .bias = true,
};

/* Sines that do not learn, one row per patch and one of the class token. */
static void add_positions (struct dn_build *build, double patches)
{
    build->fixed = true;
    dn_build_add_learned (build, (patches + 1) * build->at.channels);
    build->fixed = false;
}

static void build_mae (struct dn_build *build, const void *data)
{
    const struct mae *row = data;
    struct dn_transformer body = decoder;
    double patches;
    double colours;
    double outer;

    body.attention.head_dim = 0;
    dn_transformer_sizes_read (build, &row->sizes, &body);
    dn_build_image (build, 3, 224, 2, 4);
    colours = build->at.channels;
    dn_build_conv (build, body.hidden, row->patch, row->patch, 0, 1, true);
    patches = build->at.dim[0] * build->at.dim[1];
    build->at.dim[0] = patches;
    build->at.n_dims = 1;
    add_positions (build, patches);
    build->at.dim[0] = fmax (floor (patches * SEEN), 1);
    dn_build_copy (build);
    build->at.dim[0] += 1;
    dn_build_add_learned (build, body.hidden);
    dn_transformer_add_blocks (build, &body);
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_linear (build, decoder.hidden, true);
    build->at.dim[0] = patches + 1;
    dn_build_copy (build);
    /* The token that stands for a patch that was not seen. */
    dn_build_add_learned (build, decoder.hidden);
    add_positions (build, patches);
    outer = dn_build_repeat (build, decoder.layers);
    dn_transformer_add_block (build, &decoder);
    dn_build_repeat_end (build, outer);
    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_linear (build, colours * row->patch * row->patch, true);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_mae = DN_ZOO_FAMILY (rows, build_mae);
