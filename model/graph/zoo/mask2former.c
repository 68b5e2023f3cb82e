/* mask2former.c - Mask2Former
 *
 * Cheng et al. (arXiv 2112.01527) as transformers implements it: deformable attention
 * over three levels of a backbone, a map of features at a quarter of the image's size,
 * and a decoder in which each query attends to the positions of one level that its mask
 * of the block before covers. Classes and masks are computed after each block and have
 * losses. Images are 1024 x 1024, classes those of COCO's things and stuff. Matching
 * counts as small kernels, image by image.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "backbone.h"
#include "segment.h"
#include "zoo.h"

#define HIDDEN      256.0
#define HEADS       8.0
#define QUERIES     100.0
#define ENCODER     6.0
#define ENCODER_FFN 1024.0
#define DECODER     9.0
#define DECODER_FFN 2048.0
#define N_LEVELS    3

/* Points of a mask that its losses are computed on. */
#define POINTS 12544.0

enum backbone {
    BACKBONE_RESNET_50,
    BACKBONE_RESNET_101,
    BACKBONE_SWIN_T,
    BACKBONE_SWIN_S
};

struct mask2former {
    struct dn_zoo_entry entry;
    enum backbone backbone;
};

static const struct mask2former rows[] = {
    {{"mask2former_r50", "mask2former"}, BACKBONE_RESNET_50},
    {{"mask2former_r101", "mask2former"}, BACKBONE_RESNET_101},
    {{"mask2former_swin_tiny", "mask2former"}, BACKBONE_SWIN_T},
    {{"mask2former_swin_small", "mask2former"}, BACKBONE_SWIN_S},
    /* End of rows */
};

static void add_backbone (struct dn_build *build,
                          enum backbone backbone,
                          struct dn_shape levels[DN_BACKBONE_STAGES])
{
    struct dn_backbone resnet = {.net = DN_RESNET_50, .norm = DN_BACKBONE_FIXED};

    if (backbone == BACKBONE_RESNET_101)
        resnet.net = DN_RESNET_101;
    if (backbone == BACKBONE_SWIN_T || backbone == BACKBONE_SWIN_S)
        dn_swin_add (
            build, backbone == BACKBONE_SWIN_T ? DN_SWIN_T : DN_SWIN_S, levels);
    else
        dn_backbone_add (build, &resnet, levels);
}

/* The sum with what the part began with, and its norm. */
static void add_end (struct dn_build *build)
{
    dn_build_add (build);
    dn_build_norm (build, DN_NORM_LAYER);
}

static void add_ffn (struct dn_build *build, double ffn)
{
    dn_build_linear (build, ffn, true);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    dn_build_linear (build, HIDDEN, true);
    add_end (build);
}

/* The upper levels side by side through deformable attention; the results take their
 * place.
 */
static void add_encoder (struct dn_build *build,
                         struct dn_shape levels[DN_BACKBONE_STAGES])
{
    double positions = 0;
    double outer;

    for (int i = DN_BACKBONE_STAGES - 1; i >= DN_BACKBONE_STAGES - N_LEVELS; i--) {
        build->at = levels[i];
        dn_build_conv (build, HIDDEN, 1, 1, 0, 1, true);
        dn_build_norm (build, DN_NORM_GROUP);
        levels[i] = build->at;
        positions += dn_shape_positions (&build->at);
    }
    build->at = (struct dn_shape){.channels = HIDDEN, .dim = {positions}, .n_dims = 1};
    /* An embedding of each level is added to the positions. */
    dn_build_add_learned (build, N_LEVELS * HIDDEN);
    outer = dn_build_repeat (build, ENCODER);
    dn_detr_add_sampled (build, NULL, N_LEVELS);
    add_end (build);
    add_ffn (build, ENCODER_FFN);
    dn_build_repeat_end (build, outer);
}

/* The map of features at a quarter of the image's size, from the largest of the
 * encoder's levels.
 */
static struct dn_shape add_pixels (struct dn_build *build,
                                   const struct dn_shape levels[DN_BACKBONE_STAGES])
{
    struct dn_shape lateral;

    build->at = levels[0];
    dn_build_conv (build, HIDDEN, 1, 1, 0, 1, false);
    dn_build_norm (build, DN_NORM_GROUP);
    lateral = build->at;
    build->at = levels[1];
    dn_segment_resize (build, &lateral);
    dn_build_add (build);
    dn_build_conv (build, HIDDEN, 3, 1, 1, 1, false);
    dn_build_norm (build, DN_NORM_GROUP);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    dn_build_conv (build, HIDDEN, 1, 1, 0, 1, true);
    dn_build_keep (build);
    return build->at;
}

/* Classes and masks of the queries, and for each head the positions of 'level' that a
 * mask covers.
 */
static void add_outputs (struct dn_build *build,
                         const struct dn_shape *pixels,
                         const struct dn_shape *level,
                         double classes)
{
    struct dn_shape queries = build->at;
    struct dn_shape start;

    dn_build_norm (build, DN_NORM_LAYER);
    dn_build_keep (build);
    start = build->at;
    dn_build_linear (build, classes + 1, true);
    dn_build_loss (build);
    build->at = start;
    for (int i = 0; i < 3; i++) {
        dn_build_linear (build, HIDDEN, true);
        if (i < 2)
            dn_build_activation (build, DN_ACTIVATION_RELU);
    }
    dn_build_keep (build);
    dn_build_matmul (build, 1, QUERIES, dn_shape_positions (pixels), HIDDEN, 0);
    build->at = *pixels;
    build->at.channels = QUERIES;
    dn_segment_resize (build, level);
    build->at.channels *= HEADS;
    dn_build_elementwise (build, 3);
    build->at = (struct dn_shape){.channels = 1, .dim = {QUERIES, POINTS}, .n_dims = 2};
    dn_build_loss (build);
    dn_build_each (build, DN_MATCH_KERNELS);
    build->at = queries;
}

static void add_attention (struct dn_build *build, struct dn_shape *memory)
{
    const struct dn_attention attention = {.heads = HEADS,
                                           .head_dim = HIDDEN / HEADS,
                                           .memory = memory,
                                           .bias = true,
                                           .out_bias = true,
                                           .unmasked = !memory};

    /* Positions are added to queries and keys. */
    dn_build_elementwise (build, 2);
    dn_build_attention (build, &attention);
    add_end (build);
}

static void add_decoder (struct dn_build *build,
                         const struct dn_shape levels[DN_BACKBONE_STAGES],
                         const struct dn_shape *pixels,
                         double classes)
{
    double layers = DN_WANT (build, layers, DECODER);

    build->at = (struct dn_shape){.channels = HIDDEN, .dim = {QUERIES}, .n_dims = 1};
    dn_build_add_learned (build, QUERIES * HIDDEN);
    dn_build_add_learned (build, QUERIES * HIDDEN);
    /* An embedding of each level. */
    dn_build_add_learned (build, N_LEVELS * HIDDEN);
    for (int i = 0; i <= layers; i++) {
        struct dn_shape memory = levels[DN_BACKBONE_STAGES - 1 - i % N_LEVELS];

        build->shared = i > 0;
        add_outputs (build, pixels, &memory, classes);
        build->shared = false;
        if (i == layers)
            break;
        memory.dim[0] = dn_shape_positions (&memory);
        memory.n_dims = 1;
        memory.kept = i >= N_LEVELS;
        add_attention (build, &memory);
        add_attention (build, NULL);
        add_ffn (build, DECODER_FFN);
    }
}

static void build_mask2former (struct dn_build *build, const void *data)
{
    const struct mask2former *row = data;
    double classes = DN_WANT (build, classes, 133);
    struct dn_shape levels[DN_BACKBONE_STAGES];
    struct dn_shape pixels;

    dn_build_image (build, 3, 1024, 2, 4);
    add_backbone (build, row->backbone, levels);
    add_encoder (build, levels);
    pixels = add_pixels (build, levels);
    add_decoder (build, levels, &pixels, classes);
}

const struct dn_zoo_family dn_zoo_mask2former = DN_ZOO_FAMILY (rows, build_mask2former);
