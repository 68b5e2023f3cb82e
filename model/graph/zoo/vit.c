/* vit.c - vision transformers
 *
 * ViT (Dosovitskiy et al., arXiv 2010.11929) as torchvision implements it: patches, a
 * class token, learned positions, normalisation before each part. The number of
 * positions follows image=, as when the table is interpolated.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/transformer.h"
#include "zoo.h"

struct vit {
    struct dn_zoo_entry entry;
    struct dn_transformer_sizes sizes;
    int patch;
};

static const struct vit rows[] = {
    {{"vit_b_16", "vit"}, {12, 768, 12, 0, 3072, 0}, 16},
    {{"vit_b_32", "vit"}, {12, 768, 12, 0, 3072, 0}, 32},
    {{"vit_l_16", "vit"}, {24, 1024, 16, 0, 4096, 0}, 16},
    {{"vit_l_32", "vit"}, {24, 1024, 16, 0, 4096, 0}, 32},
    /* End of rows */
};

static void add_patches (struct dn_build *build, double hidden, int patch)
{
    dn_build_image (build, 3, 224, 2, 4);
    dn_build_conv (build, hidden, patch, patch, 0, 1, true);
    build->at.dim[0] *= build->at.dim[1];
    build->at.n_dims = 1;
    dn_build_copy (build);
    build->at.dim[0] += 1;
    /* Class token and positions. */
    dn_build_add_learned (build, hidden);
    dn_build_add_learned (build, dn_shape_elements (&build->at));
}

static void build_vit (struct dn_build *build, const void *data)
{
    const struct vit *row = data;
    struct dn_transformer body = {.norm = DN_NORM_LAYER,
                                  .activation = DN_ACTIVATION_GELU,
                                  .norm_first = true,
                                  .bias = true};
    double classes = DN_WANT (build, classes, 1000);

    dn_transformer_sizes_read (build, &row->sizes, &body);
    body.attention.bias = true;
    body.attention.out_bias = true;
    body.attention.fused = true;
    body.attention.unmasked = true;
    add_patches (build, body.hidden, row->patch);
    dn_transformer_add_blocks (build, &body);
    dn_build_norm (build, DN_NORM_LAYER);
    if (dn_build_head (build, DN_HEAD_CLASSIFIER, DN_HEAD_BIT (NONE)) == DN_HEAD_NONE)
        return;
    build->at.dim[0] = 1;
    build->at.n_dims = 0;
    dn_build_linear (build, classes, true);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_vit = DN_ZOO_FAMILY (rows, build_vit);
