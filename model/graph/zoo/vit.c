/* vit.c - vision transformers
 *
 * ViT (Dosovitskiy et al., arXiv 2010.11929) as torchvision and timm implement it:
 * patches, a class token, learned positions, normalisation before each part. The number
 * of positions follows image=, as when the table is interpolated. DeiT (Touvron et al.,
 * 2012.12877), DeiT III (2204.07118), BEiT (Bao et al., 2106.08254) and DINOv2 (Oquab
 * et al., 2304.07193), DINOv3 (Simeoni et al., 2508.10104) and EVA-02 (Fang et al.,
 * 2303.11331) as timm implements them: DINOv2, DINOv3 and EVA-02 at 224 pixels have no
 * classifier. timm leaves the biases of queries and values out, which are zero in the
 * published weights of DINOv3, except in the networks that end in qkvb. Those of CLIP
 * (Radford et al., 2103.00020) and SigLIP (Zhai et al., 2303.15343) are the parts of
 * images; a SigLIP whose name has no gap pools by attention: the layer of its keys and
 * values is counted as two.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/transformer.h"
#include "zoo.h"

enum {
    TWO_TOKENS = 1 << 0,      /* learned ones before the patches, and a classifier for
                                 each; otherwise one */
    REGISTERS = 1 << 1,       /* four further ones */
    PATCH_POSITIONS = 1 << 2, /* only patches have positions */
    NO_POSITIONS = 1 << 3,    /* no learned ones in the input */
    SCALED = 1 << 4,          /* a learned scale per feature before each sum */
    GATES = 1 << 5,           /* feed-forward layers with gates */
    RELATIVE = 1 << 6,        /* positions are a table of distances per block */
    MEAN = 1 << 7,            /* the classifier reads the mean of the patches */
    FEATURES = 1 << 8,        /* no classifier */
    ROTATED = 1 << 9, /* positions are rotated into queries and keys, and the gates are
                        a layer of their own */
    INNER_NORM = 1 << 10, /* EVA-02: a normalisation within the feed-forward layers; the
                             features are a normalised mean */
    /* Biases of the layers of queries, keys and values; without any of these all three
     * have one: those of queries and values in three layers, the same two joined for
     * the one layer of all, or none.
     */
    BIASES_APART = 1 << 11,
    BIASES_JOINED = 1 << 12,
    BIASES_NONE = 1 << 13,
    NORM_FIRST = 1 << 14, /* after the positions; the patches have no bias */
    NO_TOKEN = 1 << 15,   /* of a class; the features are the mean, */
    LATENT = 1 << 16      /* or what a learned query attends to */
};

enum style {
    PLAIN = 0,
    DISTILLED = TWO_TOKENS,
    DEIT3 = PATCH_POSITIONS | SCALED,
    BEIT = SCALED | NO_POSITIONS | RELATIVE | MEAN | BIASES_JOINED,
    DINO = SCALED | FEATURES,
    DINO_GIANT = DINO | GATES,
    DINO_REG = DINO | REGISTERS | PATCH_POSITIONS,
    DINO_REG_GIANT = DINO_REG | GATES,
    /* Its networks called plus, and that of 7 billion parameters, have gates. */
    DINO3 = DINO | REGISTERS | NO_POSITIONS | ROTATED | BIASES_NONE,
    DINO3_GATED = DINO3 | GATES,
    DINO3_BIASED = DINO | REGISTERS | NO_POSITIONS | ROTATED | BIASES_JOINED,
    DINO3_GATED_BIASED = DINO3_BIASED | GATES,
    EVA_CLASSES = GATES | MEAN | ROTATED | INNER_NORM | BIASES_APART,
    EVA = EVA_CLASSES | FEATURES,
    EVA_1 = MEAN | BIASES_JOINED,
    CLIP = NORM_FIRST,
    SIGLIP = NO_TOKEN | LATENT | FEATURES,
    SIGLIP_MEAN = NO_TOKEN | FEATURES,
    MEDIUM_MEAN = NO_TOKEN | SCALED | BIASES_NONE
};

struct vit {
    const char *name;
    unsigned traits;
    int patch;
    double image;
    struct dn_transformer_sizes sizes;
};

/* clang-format off */

/* Layers, features and heads of the usual sizes. */
#define TINY      {12, 192, 3, 0, 768, 0, 0}
#define SMALL     {12, 384, 6, 0, 1536, 0, 0}
#define BASE      {12, 768, 12, 0, 3072, 0, 0}
#define LARGE     {24, 1024, 16, 0, 4096, 0, 0}
#define HUGE_     {32, 1280, 16, 0, 5120, 0, 0}
#define HUGE_PLUS {32, 1280, 20, 0, 5120, 0, 0}
#define GIANT     {40, 1536, 24, 0, 4096, 0, 0}
#define SO400M    {27, 1152, 16, 0, 4304, 0, 0}

static const struct vit rows[] = {
    {"vit_b_16", PLAIN, 16, 224, BASE},
    {"vit_b_32", PLAIN, 32, 224, BASE},
    {"vit_l_16", PLAIN, 16, 224, LARGE},
    {"vit_l_32", PLAIN, 32, 224, LARGE},
    {"vit_h_14", PLAIN, 14, 224, HUGE_},
    {"vit_tiny_patch16_224", PLAIN, 16, 224, TINY},
    {"vit_small_patch16_224", PLAIN, 16, 224, SMALL},
    {"vit_small_patch32_224", PLAIN, 32, 224, SMALL},
    {"vit_base_patch8_224", PLAIN, 8, 224, BASE},
    {"vit_base_patch16_224", PLAIN, 16, 224, BASE},
    {"vit_base_patch32_224", PLAIN, 32, 224, BASE},
    {"vit_base_patch16_384", PLAIN, 16, 384, BASE},
    {"vit_large_patch14_224", PLAIN, 14, 224, LARGE},
    {"vit_large_patch16_224", PLAIN, 16, 224, LARGE},
    {"vit_large_patch16_384", PLAIN, 16, 384, LARGE},
    {"vit_huge_patch14_224", PLAIN, 14, 224, HUGE_},
    {"vit_giant_patch14_224", PLAIN, 14, 224, {40, 1408, 16, 0, 6144, 0, 0}},
    {"vit_gigantic_patch14_224", PLAIN, 14, 224, {48, 1664, 16, 0, 8192, 0, 0}},
    {"deit_tiny_patch16_224", PLAIN, 16, 224, TINY},
    {"deit_small_patch16_224", PLAIN, 16, 224, SMALL},
    {"deit_base_patch16_224", PLAIN, 16, 224, BASE},
    {"deit_tiny_distilled_patch16_224", DISTILLED, 16, 224, TINY},
    {"deit_small_distilled_patch16_224", DISTILLED, 16, 224, SMALL},
    {"deit_base_distilled_patch16_224", DISTILLED, 16, 224, BASE},
    {"deit3_small_patch16_224", DEIT3, 16, 224, SMALL},
    {"deit3_base_patch16_224", DEIT3, 16, 224, BASE},
    {"deit3_large_patch16_224", DEIT3, 16, 224, LARGE},
    {"deit3_huge_patch14_224", DEIT3, 14, 224, HUGE_},
    {"beit_base_patch16_224", BEIT, 16, 224, BASE},
    {"beit_large_patch16_224", BEIT, 16, 224, LARGE},
    {"beitv2_base_patch16_224", BEIT, 16, 224, BASE},
    {"beitv2_large_patch16_224", BEIT, 16, 224, LARGE},
    {"vit_small_patch14_dinov2", DINO, 14, 518, SMALL},
    {"vit_base_patch14_dinov2", DINO, 14, 518, BASE},
    {"vit_large_patch14_dinov2", DINO, 14, 518, LARGE},
    {"vit_giant_patch14_dinov2", DINO_GIANT, 14, 518, GIANT},
    {"vit_small_patch14_reg4_dinov2", DINO_REG, 14, 518, SMALL},
    {"vit_base_patch14_reg4_dinov2", DINO_REG, 14, 518, BASE},
    {"vit_large_patch14_reg4_dinov2", DINO_REG, 14, 518, LARGE},
    {"vit_giant_patch14_reg4_dinov2", DINO_REG_GIANT, 14, 518, GIANT},
    {"vit_small_patch16_dinov3", DINO3, 16, 256, SMALL},
    {"vit_small_plus_patch16_dinov3", DINO3_GATED, 16, 256, SMALL},
    {"vit_base_patch16_dinov3", DINO3, 16, 256, BASE},
    {"vit_large_patch16_dinov3", DINO3, 16, 256, LARGE},
    {"vit_huge_plus_patch16_dinov3", DINO3_GATED, 16, 256, HUGE_PLUS},
    {"vit_7b_patch16_dinov3", DINO3_GATED, 16, 256, {40, 4096, 32, 0, 8192, 0, 0}},
    {"vit_small_patch16_dinov3_qkvb", DINO3_BIASED, 16, 256, SMALL},
    {"vit_small_plus_patch16_dinov3_qkvb", DINO3_GATED_BIASED, 16, 256, SMALL},
    {"vit_base_patch16_dinov3_qkvb", DINO3_BIASED, 16, 256, BASE},
    {"vit_large_patch16_dinov3_qkvb", DINO3_BIASED, 16, 256, LARGE},
    {"vit_huge_plus_patch16_dinov3_qkvb", DINO3_GATED_BIASED, 16, 256, HUGE_PLUS},
    {"eva02_base_patch14_224", EVA, 14, 224, {12, 768, 12, 0, 2048, 0, 0}},
    {"eva02_large_patch14_224", EVA, 14, 224, {24, 1024, 16, 0, 2730, 0, 0}},
    {"eva02_base_patch14_448", EVA_CLASSES, 14, 448, {12, 768, 12, 0, 2048, 0, 0}},
    {"eva02_large_patch14_448", EVA_CLASSES, 14, 448,
         {24, 1024, 16, 0, 2730, 0, 0}},
    {"vit_base_patch32_clip_224", CLIP, 32, 224, BASE},
    {"vit_large_patch14_clip_224", CLIP, 14, 224, LARGE},
    {"vit_huge_patch14_clip_224", CLIP, 14, 224, HUGE_},
    {"vit_giant_patch14_clip_224", CLIP, 14, 224, {40, 1408, 16, 0, 6144, 0, 0}},
    {"vit_gigantic_patch14_clip_224", CLIP, 14, 224, {48, 1664, 16, 0, 8192, 0, 0}},
    {"vit_base_patch16_siglip_224", SIGLIP, 16, 224, BASE},
    {"vit_large_patch16_siglip_256", SIGLIP, 16, 256, LARGE},
    {"vit_so400m_patch14_siglip_224", SIGLIP, 14, 224, SO400M},
    {"vit_so400m_patch16_siglip_256", SIGLIP, 16, 256, SO400M},
    {"vit_base_patch16_siglip_gap_224", SIGLIP_MEAN, 16, 224, BASE},
    {"vit_large_patch16_siglip_gap_256", SIGLIP_MEAN, 16, 256, LARGE},
    {"vit_so400m_patch14_siglip_gap_224", SIGLIP_MEAN, 14, 224, SO400M},
    {"vit_so400m_patch16_siglip_gap_256", SIGLIP_MEAN, 16, 256, SO400M},
    {"vit_medium_patch16_gap_256", MEDIUM_MEAN, 16, 256, {12, 512, 8, 0, 2048, 0, 0}},
    {"flexivit_small", PATCH_POSITIONS, 16, 240, SMALL},
    {"flexivit_base", PATCH_POSITIONS, 16, 240, BASE},
    {"flexivit_large", PATCH_POSITIONS, 16, 240, LARGE},
    {"eva_giant_patch14_224", EVA_1, 14, 224, {40, 1408, 16, 0, 6144, 0, 0}},
    /* End of rows */
};
/* clang-format on */

/* Patches, learned tokens and positions. Return the distances between two patches. */
static double add_patches (struct dn_build *build, const struct vit *row, double hidden)
{
    unsigned traits = row->traits;
    int tokens = traits & TWO_TOKENS ? 2 : traits & NO_TOKEN ? 0 : 1;
    int registers = traits & REGISTERS ? 4 : 0;
    double patches;
    double distances;

    dn_build_image (build, 3, row->image, 2);
    dn_build_conv (build, hidden, row->patch, row->patch, 0, 1, !(traits & NORM_FIRST));
    distances = (2 * build->at.dim[0] - 1) * (2 * build->at.dim[1] - 1);
    patches = build->at.dim[0] * build->at.dim[1];
    build->at.dim[0] = patches;
    build->at.n_dims = 1;
    if (traits & PATCH_POSITIONS)
        dn_build_add_learned (build, patches * hidden);
    dn_build_copy (build);
    build->at.dim[0] += tokens + registers;
    for (int i = 0; i < tokens; i++)
        dn_build_add_learned (build, hidden);
    if (registers > 0)
        dn_build_add_learned (build, registers * hidden);
    if (!(traits & (NO_POSITIONS | PATCH_POSITIONS)))
        dn_build_add_learned (build, dn_shape_elements (&build->at));
    if (traits & NORM_FIRST)
        dn_build_norm (build, DN_NORM_LAYER);
    return distances;
}

/* The block of EVA-02: a normalisation before the last layer. */
static void add_inner_norm_block (struct dn_build *build,
                                  const struct dn_transformer *body)
{
    dn_transformer_add_attention (build, body, NULL);
    dn_build_norm (build, DN_NORM_LAYER);
    dn_transformer_add_inner (build, body);
    dn_build_norm (build, DN_NORM_LAYER);
    build->role = DN_ROLE_DOWN;
    dn_build_linear (build, body->hidden, true);
    dn_build_add (build);
}

static void add_blocks (struct dn_build *build,
                        const struct dn_transformer *body,
                        unsigned traits,
                        double distances)
{
    double table = body->heads * (distances + 3);

    dn_build_blocks (build, body->layers);
    DN_REPEAT (build, body->layers) {
        /* The biases of queries and values, with zeros for the keys between them. */
        if (traits & BIASES_JOINED)
            dn_build_op (build,
                         DN_OP (COPY,
                                .in = 2 * body->hidden,
                                .out = 3 * body->hidden,
                                .params = 2 * body->hidden,
                                .tensors = 2));
        /* BEiT: the table of distances, with three more of the class token, is spread
         * over the scores.
         */
        if (traits & RELATIVE)
            dn_build_op (
                build,
                DN_OP (COPY, .in = table, .out = table, .params = table, .tensors = 1));
        if (traits & INNER_NORM)
            add_inner_norm_block (build, body);
        else
            dn_transformer_add_block (build, body);
    }
}

/* A learned query attends to all patches. */
static void add_latent (struct dn_build *build, const struct dn_transformer *body)
{
    struct dn_transformer one = *body;
    struct dn_shape patches = build->at;

    one.traits &= ~(unsigned) FUSED;
    build->at.dim[0] = 1;
    build->at.kept = false;
    dn_build_add_learned (build, body->hidden);
    dn_transformer_attend (build, &one, &patches);
    dn_transformer_add_ffn (build, &one);
}

static void add_mean (struct dn_build *build)
{
    dn_build_pool_global (build);
    dn_build_norm (build, DN_NORM_LAYER);
}

static void add_classifier (struct dn_build *build, unsigned traits, double classes)
{
    struct dn_shape token;

    if (traits & MEAN)
        add_mean (build);
    build->at.dim[0] = 1;
    build->at.n_dims = 0;
    token = build->at;
    dn_build_linear (build, classes, true);
    if (traits & TWO_TOKENS) {
        build->at = token;
        dn_build_linear (build, classes, true);
        dn_build_add (build);
    }
    dn_build_loss (build);
}

/* Those of the blocks, from a row's. */
static unsigned traits_of (unsigned traits)
{
    unsigned of_blocks = BEFORE | BIAS_FFN | BIAS_OUT;

    if (!(traits & (BIASES_JOINED | BIASES_NONE)))
        of_blocks |= BIAS_QKV;
    if (!(traits & BIASES_APART))
        of_blocks |= FUSED;
    if (traits & ROTATED)
        of_blocks |= ROTARY;
    if (traits & GATES)
        of_blocks |= traits & ROTATED ? GATED : GATED | FUSED_GATE;
    return of_blocks;
}

static DN_COLD void build_vit (struct dn_build *build, const void *data)
{
    const struct vit *row = data;
    unsigned traits = row->traits;
    enum dn_head otherwise = traits & FEATURES ? DN_HEAD_NONE : DN_HEAD_CLASSIFIER;
    struct dn_transformer body = {.traits = traits_of (traits),
                                  .scaled = (traits & SCALED) != 0,
                                  .no_key_bias = (traits & BIASES_APART) != 0,
                                  .unmasked = !(traits & RELATIVE)};
    double distances;

    dn_transformer_sizes_read (build, &row->sizes, &body);
    distances = add_patches (build, row, body.hidden);
    add_blocks (build, &body, traits, distances);
    if (!(traits & MEAN))
        dn_build_norm (build, DN_NORM_LAYER);
    if (traits & LATENT)
        add_latent (build, &body);
    else if (traits & NO_TOKEN)
        dn_build_pool_global (build);
    if (dn_build_head (build, otherwise, DN_HEAD_BIT (CLASSIFIER) | DN_HEAD_BIT (NONE))
        == DN_HEAD_CLASSIFIER)
        add_classifier (build, traits, DN_WANT (build, classes, 1000));
    else if (traits & INNER_NORM)
        add_mean (build);
}

const struct dn_zoo_family dn_zoo_vit = DN_ZOO_FAMILY ("vit", rows, build_vit);
