/* vit.c - vision transformers
 *
 * ViT (Dosovitskiy et al., arXiv 2010.11929) as torchvision and timm implement it:
 * patches, a class token, learned positions, normalisation before each part. The number
 * of positions follows image=, as when the table is interpolated. DeiT (Touvron et al.,
 * 2012.12877), DeiT III (2204.07118), BEiT (Bao et al., 2106.08254) and DINOv2 (Oquab
 * et al., 2304.07193), DINOv3 (Simeoni et al., 2508.10104) and EVA-02 (Fang et al.,
 * 2303.11331) as timm implements them: DINOv2, DINOv3 and EVA-02 at 224 pixels have no
 * classifier. timm leaves the biases of queries and values out, which are zero in the
 * published weights of DINOv3, except in the networks that end in qkvb.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/transformer.h"
#include "zoo.h"

/* Which of the layers of queries, keys and values have a bias. */
enum biases {
    BIASES_ALL,
    BIASES_APART,  /* those of queries and values: three layers */
    BIASES_JOINED, /* the same two, joined for the one layer of all */
    BIASES_NONE
};

struct style {
    double tokens;        /* learned ones before the patches */
    double registers;     /* further ones */
    bool patch_positions; /* only patches have positions */
    bool no_positions;    /* no learned ones in the input */
    bool scaled;          /* a learned scale per feature before each sum */
    bool gated;           /* feed-forward layers with gates */
    bool relative;        /* positions are a table of distances per block */
    bool distilled;       /* a classifier for each of two tokens */
    bool mean;            /* the classifier reads the mean of the patches */
    bool features;        /* no classifier */
    bool rotary;          /* positions are rotated into queries and keys, and the gates
                             are a layer of their own */
    bool inner_norm;      /* EVA-02: a normalisation within the feed-forward layers; the
                             features are a normalised mean */
    enum biases biases;
};

static const struct style plain = {.tokens = 1};
static const struct style distilled = {.tokens = 2, .distilled = true};
static const struct style deit3 = {.tokens = 1,
                                   .patch_positions = true,
                                   .scaled = true};
static const struct style beit = {.tokens = 1,
                                  .scaled = true,
                                  .no_positions = true,
                                  .relative = true,
                                  .mean = true,
                                  .biases = BIASES_JOINED};
static const struct style dino = {.tokens = 1, .scaled = true, .features = true};
static const struct style dino_giant = {.tokens = 1,
                                        .scaled = true,
                                        .gated = true,
                                        .features = true};
static const struct style dino_reg = {.tokens = 1,
                                      .registers = 4,
                                      .patch_positions = true,
                                      .scaled = true,
                                      .features = true};
static const struct style dino_reg_giant = {.tokens = 1,
                                            .registers = 4,
                                            .patch_positions = true,
                                            .scaled = true,
                                            .gated = true,
                                            .features = true};

/* DINOv3; its networks called plus, and that of 7 billion parameters, have gates. */
#define DINO3(with_gates, which)                                                       \
    {                                                                                  \
        .tokens = 1, .registers = 4, .no_positions = true, .scaled = true,             \
        .gated = (with_gates), .features = true, .rotary = true, .biases = (which)     \
    }
static const struct style dino3 = DINO3 (false, BIASES_NONE);
static const struct style dino3_biased = DINO3 (false, BIASES_JOINED);
static const struct style dino3_gated = DINO3 (true, BIASES_NONE);
static const struct style dino3_gated_biased = DINO3 (true, BIASES_JOINED);

static const struct style eva = {.tokens = 1,
                                 .gated = true,
                                 .mean = true,
                                 .features = true,
                                 .rotary = true,
                                 .inner_norm = true,
                                 .biases = BIASES_APART};
static const struct style eva_classifier = {.tokens = 1,
                                            .gated = true,
                                            .mean = true,
                                            .rotary = true,
                                            .inner_norm = true,
                                            .biases = BIASES_APART};

struct vit {
    struct dn_zoo_entry entry;
    const struct style *style;
    int patch;
    double image;
    struct dn_transformer_sizes sizes;
};

#define ROW(name, ...)                                                                 \
    {                                                                                  \
        {name, "vit"}, __VA_ARGS__                                                     \
    }

/* Layers, features and heads of the usual sizes. */
#define TINY                                                                           \
    {                                                                                  \
        12, 192, 3, 0, 768, 0                                                          \
    }
#define SMALL                                                                          \
    {                                                                                  \
        12, 384, 6, 0, 1536, 0                                                         \
    }
#define BASE                                                                           \
    {                                                                                  \
        12, 768, 12, 0, 3072, 0                                                        \
    }
#define LARGE                                                                          \
    {                                                                                  \
        24, 1024, 16, 0, 4096, 0                                                       \
    }
#define HUGE_                                                                          \
    {                                                                                  \
        32, 1280, 16, 0, 5120, 0                                                       \
    }
#define HUGE_PLUS                                                                      \
    {                                                                                  \
        32, 1280, 20, 0, 5120, 0                                                       \
    }
#define GIANT                                                                          \
    {                                                                                  \
        40, 1536, 24, 0, 4096, 0                                                       \
    }

static const struct vit rows[] = {
    ROW ("vit_b_16", &plain, 16, 224, BASE),
    ROW ("vit_b_32", &plain, 32, 224, BASE),
    ROW ("vit_l_16", &plain, 16, 224, LARGE),
    ROW ("vit_l_32", &plain, 32, 224, LARGE),
    ROW ("vit_h_14", &plain, 14, 224, HUGE_),
    ROW ("vit_tiny_patch16_224", &plain, 16, 224, TINY),
    ROW ("vit_small_patch16_224", &plain, 16, 224, SMALL),
    ROW ("vit_small_patch32_224", &plain, 32, 224, SMALL),
    ROW ("vit_base_patch8_224", &plain, 8, 224, BASE),
    ROW ("vit_base_patch16_224", &plain, 16, 224, BASE),
    ROW ("vit_base_patch32_224", &plain, 32, 224, BASE),
    ROW ("vit_base_patch16_384", &plain, 16, 384, BASE),
    ROW ("vit_large_patch14_224", &plain, 14, 224, LARGE),
    ROW ("vit_large_patch16_224", &plain, 16, 224, LARGE),
    ROW ("vit_large_patch16_384", &plain, 16, 384, LARGE),
    ROW ("vit_huge_patch14_224", &plain, 14, 224, HUGE_),
    ROW ("vit_giant_patch14_224", &plain, 14, 224, {40, 1408, 16, 0, 6144, 0}),
    ROW ("vit_gigantic_patch14_224", &plain, 14, 224, {48, 1664, 16, 0, 8192, 0}),
    ROW ("deit_tiny_patch16_224", &plain, 16, 224, TINY),
    ROW ("deit_small_patch16_224", &plain, 16, 224, SMALL),
    ROW ("deit_base_patch16_224", &plain, 16, 224, BASE),
    ROW ("deit_tiny_distilled_patch16_224", &distilled, 16, 224, TINY),
    ROW ("deit_small_distilled_patch16_224", &distilled, 16, 224, SMALL),
    ROW ("deit_base_distilled_patch16_224", &distilled, 16, 224, BASE),
    ROW ("deit3_small_patch16_224", &deit3, 16, 224, SMALL),
    ROW ("deit3_base_patch16_224", &deit3, 16, 224, BASE),
    ROW ("deit3_large_patch16_224", &deit3, 16, 224, LARGE),
    ROW ("deit3_huge_patch14_224", &deit3, 14, 224, HUGE_),
    ROW ("beit_base_patch16_224", &beit, 16, 224, BASE),
    ROW ("beit_large_patch16_224", &beit, 16, 224, LARGE),
    ROW ("beitv2_base_patch16_224", &beit, 16, 224, BASE),
    ROW ("beitv2_large_patch16_224", &beit, 16, 224, LARGE),
    ROW ("vit_small_patch14_dinov2", &dino, 14, 518, SMALL),
    ROW ("vit_base_patch14_dinov2", &dino, 14, 518, BASE),
    ROW ("vit_large_patch14_dinov2", &dino, 14, 518, LARGE),
    ROW ("vit_giant_patch14_dinov2", &dino_giant, 14, 518, GIANT),
    ROW ("vit_small_patch14_reg4_dinov2", &dino_reg, 14, 518, SMALL),
    ROW ("vit_base_patch14_reg4_dinov2", &dino_reg, 14, 518, BASE),
    ROW ("vit_large_patch14_reg4_dinov2", &dino_reg, 14, 518, LARGE),
    ROW ("vit_giant_patch14_reg4_dinov2", &dino_reg_giant, 14, 518, GIANT),
    ROW ("vit_small_patch16_dinov3", &dino3, 16, 256, SMALL),
    ROW ("vit_small_plus_patch16_dinov3", &dino3_gated, 16, 256, SMALL),
    ROW ("vit_base_patch16_dinov3", &dino3, 16, 256, BASE),
    ROW ("vit_large_patch16_dinov3", &dino3, 16, 256, LARGE),
    ROW ("vit_huge_plus_patch16_dinov3", &dino3_gated, 16, 256, HUGE_PLUS),
    ROW ("vit_7b_patch16_dinov3", &dino3_gated, 16, 256, {40, 4096, 32, 0, 8192, 0}),
    ROW ("vit_small_patch16_dinov3_qkvb", &dino3_biased, 16, 256, SMALL),
    ROW ("vit_small_plus_patch16_dinov3_qkvb", &dino3_gated_biased, 16, 256, SMALL),
    ROW ("vit_base_patch16_dinov3_qkvb", &dino3_biased, 16, 256, BASE),
    ROW ("vit_large_patch16_dinov3_qkvb", &dino3_biased, 16, 256, LARGE),
    ROW ("vit_huge_plus_patch16_dinov3_qkvb", &dino3_gated_biased, 16, 256, HUGE_PLUS),
    ROW ("eva02_base_patch14_224", &eva, 14, 224, {12, 768, 12, 0, 2048, 0}),
    ROW ("eva02_large_patch14_224", &eva, 14, 224, {24, 1024, 16, 0, 2730, 0}),
    ROW ("eva02_base_patch14_448", &eva_classifier, 14, 448, {12, 768, 12, 0, 2048, 0}),
    ROW ("eva02_large_patch14_448",
         &eva_classifier,
         14,
         448,
         {24, 1024, 16, 0, 2730, 0}),
    /* End of rows */
};

/* Patches, learned tokens and positions. Return the distances between two patches. */
static double add_patches (struct dn_build *build, const struct vit *row, double hidden)
{
    const struct style *style = row->style;
    double patches;
    double distances;

    dn_build_image (build, 3, row->image, 2, 4);
    dn_build_conv (build, hidden, row->patch, row->patch, 0, 1, true);
    distances = (2 * build->at.dim[0] - 1) * (2 * build->at.dim[1] - 1);
    patches = build->at.dim[0] * build->at.dim[1];
    build->at.dim[0] = patches;
    build->at.n_dims = 1;
    if (style->patch_positions)
        dn_build_add_learned (build, patches * hidden);
    dn_build_copy (build);
    build->at.dim[0] += style->tokens + style->registers;
    for (int i = 0; i < style->tokens; i++)
        dn_build_add_learned (build, hidden);
    if (style->registers > 0)
        dn_build_add_learned (build, style->registers * hidden);
    if (!style->no_positions && !style->patch_positions)
        dn_build_add_learned (build, dn_shape_elements (&build->at));
    return distances;
}

/* The biases of queries and values, with zeros for the keys between them. */
static void add_joined_biases (struct dn_build *build, double hidden)
{
    struct dn_op biases = {.kind = DN_OP_COPY,
                           .in = 2 * hidden,
                           .out = 3 * hidden,
                           .weights = 2 * hidden,
                           .params = 2 * hidden,
                           .tensors = 2};

    dn_build_op (build, &biases);
}

/* BEiT: the table of distances, with three more of the class token, is spread over the
 * scores.
 */
static void add_relative (struct dn_build *build,
                          const struct dn_transformer *body,
                          double distances)
{
    double table = body->attention.heads * (distances + 3);
    struct dn_op spread = {.kind = DN_OP_COPY,
                           .in = table,
                           .out = table,
                           .weights = table,
                           .params = table,
                           .tensors = 1};

    dn_build_op (build, &spread);
}

/* The block of EVA-02: a normalisation before the last layer. */
static void add_inner_norm_block (struct dn_build *build,
                                  const struct dn_transformer *body)
{
    dn_transformer_add_attention (build, body, &body->attention);
    dn_build_norm (build, DN_NORM_LAYER);
    dn_transformer_add_inner (build, body);
    dn_build_norm (build, DN_NORM_LAYER);
    build->role = DN_ROLE_DOWN;
    dn_build_linear (build, body->hidden, true);
    dn_build_add (build);
}

static void add_blocks (struct dn_build *build,
                        const struct dn_transformer *body,
                        const struct style *style,
                        double distances)
{
    double outer;

    dn_build_blocks (build, body->layers);
    outer = dn_build_repeat (build, body->layers);
    if (style->biases == BIASES_JOINED)
        add_joined_biases (build, body->hidden);
    if (style->relative)
        add_relative (build, body, distances);
    if (style->inner_norm)
        add_inner_norm_block (build, body);
    else
        dn_transformer_add_block (build, body);
    dn_build_repeat_end (build, outer);
}

static void add_mean (struct dn_build *build)
{
    dn_build_pool_global (build);
    dn_build_norm (build, DN_NORM_LAYER);
}

static void add_classifier (struct dn_build *build,
                            const struct style *style,
                            double classes)
{
    struct dn_shape token;

    if (style->mean)
        add_mean (build);
    build->at.dim[0] = 1;
    build->at.n_dims = 0;
    token = build->at;
    dn_build_linear (build, classes, true);
    if (style->distilled) {
        build->at = token;
        dn_build_linear (build, classes, true);
        dn_build_add (build);
    }
    dn_build_loss (build);
}

static void build_vit (struct dn_build *build, const void *data)
{
    const struct vit *row = data;
    const struct style *style = row->style;
    enum dn_head otherwise = style->features ? DN_HEAD_NONE : DN_HEAD_CLASSIFIER;
    struct dn_transformer body = {.norm = DN_NORM_LAYER,
                                  .activation = DN_ACTIVATION_GELU,
                                  .norm_first = true,
                                  .bias = true,
                                  .gated = style->gated,
                                  .fused_gate = style->gated && !style->rotary,
                                  .scaled = style->scaled};
    double distances;

    dn_transformer_sizes_read (build, &row->sizes, &body);
    body.attention.bias = style->biases == BIASES_ALL || style->biases == BIASES_APART;
    body.attention.out_bias = true;
    body.attention.fused = style->biases != BIASES_APART;
    body.attention.no_key_bias = style->biases == BIASES_APART;
    body.attention.rotary = style->rotary;
    body.attention.unmasked = !style->relative;
    distances = add_patches (build, row, body.hidden);
    add_blocks (build, &body, style, distances);
    if (!style->mean)
        dn_build_norm (build, DN_NORM_LAYER);
    if (dn_build_head (build, otherwise, DN_HEAD_BIT (CLASSIFIER) | DN_HEAD_BIT (NONE))
        == DN_HEAD_CLASSIFIER)
        add_classifier (build, style, DN_WANT (build, classes, 1000));
    else if (style->inner_norm)
        add_mean (build);
}

const struct dn_zoo_family dn_zoo_vit = DN_ZOO_FAMILY (rows, build_vit);
