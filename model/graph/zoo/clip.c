/* clip.c - images and texts in one space
 *
 * CLIP (Radford et al., arXiv 2103.00020) as transformers.CLIPModel implements it, with
 * the residual networks of openai/CLIP; SigLIP (Zhai et al., arXiv 2303.15343) and
 * SigLIP 2 (Tschannen et al., 2502.14786), whose texts have more words, as
 * transformers.SiglipModel. A sample is a pair of image and text of seq_len= tokens.
 * The comparison of all pairs of a batch is left out: it is small beside the towers.
 * layers=, hidden= and heads= are not read, since two towers have them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/transformer.h"
#include "zoo.h"

#include <math.h>

/* Tokens that the position table of CLIP has, and its words. */
#define CLIP_TOKENS 77
#define CLIP_WORDS  49408

#define N_STAGES 4

struct tower {
    double layers;
    double hidden;
    double heads;
    double ffn; /* 0: four times hidden */
};

struct clip {
    struct dn_zoo_entry entry;
    double image;
    int patch; /* 0: a residual network */
    struct tower vision;
    int blocks[N_STAGES]; /* of the residual network of vision.hidden channels */
    struct tower text;
    double embed; /* features of the common space; 0: SigLIP, as the text */
    enum dn_activation activation;
    double words;
};

#define ROW(name, ...)                                                                 \
    {                                                                                  \
        {name, "clip"}, __VA_ARGS__                                                    \
    }
#define CLIP(name, ...) ROW (name, __VA_ARGS__, CLIP_WORDS)
#define QUICK           DN_ACTIVATION_GELU_QUICK
#define GELU            DN_ACTIVATION_GELU
#define NO                                                                             \
    {                                                                                  \
        0                                                                              \
    }
#define BASE                                                                           \
    {                                                                                  \
        12, 512, 8, 0                                                                  \
    }
#define B_512                                                                          \
    {                                                                                  \
        12, 768, 12, 0                                                                 \
    }
#define LARGE                                                                          \
    {                                                                                  \
        24, 1024, 16, 0                                                                \
    }
#define SO400                                                                          \
    {                                                                                  \
        27, 1152, 16, 4304                                                             \
    }

static const struct clip rows[] = {
    CLIP ("clip_vit_base_patch32", 224, 32, B_512, NO, BASE, 512, QUICK),
    CLIP ("clip_vit_base_patch16", 224, 16, B_512, NO, BASE, 512, QUICK),
    CLIP ("clip_vit_large_patch14", 224, 14, LARGE, NO, B_512, 768, QUICK),
    CLIP ("clip_vit_large_patch14_336", 336, 14, LARGE, NO, B_512, 768, QUICK),
    CLIP ("clip_vit_h_14",
          224,
          14,
          {32, 1280, 16, 0},
          NO,
          {24, 1024, 16, 0},
          1024,
          GELU),
    CLIP ("clip_vit_bigg_14",
          224,
          14,
          {48, 1664, 16, 8192},
          NO,
          {32, 1280, 20, 0},
          1280,
          GELU),
    CLIP ("clip_rn50", 224, 0, {0, 64, 32, 0}, {3, 4, 6, 3}, BASE, 1024, QUICK),
    CLIP ("clip_rn101", 224, 0, {0, 64, 32, 0}, {3, 4, 23, 3}, BASE, 512, QUICK),
    CLIP ("clip_rn50x4",
          288,
          0,
          {0, 80, 40, 0},
          {4, 6, 10, 6},
          {12, 640, 10, 0},
          640,
          QUICK),
    ROW ("siglip_base_patch16_224", 224, 16, B_512, NO, B_512, 0, GELU, 32000),
    ROW ("siglip_large_patch16_256", 256, 16, LARGE, NO, LARGE, 0, GELU, 32000),
    ROW ("siglip_so400m_patch14_384", 384, 14, SO400, NO, SO400, 0, GELU, 32000),
    ROW ("siglip2_base_patch16_224", 224, 16, B_512, NO, B_512, 0, GELU, 256000),
    ROW ("siglip2_large_patch16_256", 256, 16, LARGE, NO, LARGE, 0, GELU, 256000),
    ROW ("siglip2_so400m_patch14_384", 384, 14, SO400, NO, SO400, 0, GELU, 256000),
    ROW ("siglip2_so400m_patch16_256", 256, 16, SO400, NO, SO400, 0, GELU, 256000),
    /* End of rows */
};

static struct dn_transformer transformer_of (const struct tower *tower,
                                             enum dn_activation activation)
{
    return (struct dn_transformer){
        .layers = tower->layers,
        .hidden = tower->hidden,
        .ffn = tower->ffn > 0 ? tower->ffn : 4 * tower->hidden,
        .attention = {.heads = tower->heads,
                      .head_dim = tower->hidden / tower->heads,
                      .bias = true,
                      .out_bias = true,
                      .unmasked = true},
        .norm = DN_NORM_LAYER,
        .activation = activation,
        .norm_first = true,
        .bias = true};
}

/* The blocks; those of the images are the ones that count as the network's. */
static void add_blocks (struct dn_build *build,
                        const struct dn_transformer *body,
                        bool own)
{
    double outer;

    if (own) {
        dn_transformer_add_blocks (build, body);
        return;
    }
    outer = dn_build_repeat (build, body->layers);
    dn_transformer_add_block (build, body);
    dn_build_repeat_end (build, outer);
}

static void take_token (struct dn_build *build)
{
    build->at.dim[0] = 1;
    build->at.n_dims = 0;
    build->at.kept = false;
}

/* The words with their positions in a table of 'positions' rows, and the blocks. */
static void add_text (struct dn_build *build,
                      const struct dn_transformer *body,
                      double words,
                      double positions)
{
    struct dn_shape tokens = build->at;

    dn_build_embedding (build, words, body->hidden);
    build->at = tokens;
    dn_build_embedding (build, fmax (positions, tokens.dim[0]), body->hidden);
    dn_build_add (build);
    add_blocks (build, body, false);
    dn_build_norm (build, DN_NORM_LAYER);
}

void dn_zoo_text_add (struct dn_build *build, enum dn_zoo_text text, double tokens)
{
    static const struct {
        struct tower tower;
        double projection;
        enum dn_activation activation;
    } texts[DN_ZOO_N_TEXTS] = {
        [DN_ZOO_TEXT_CLIP_L] = {{12, 768, 12, 0}, 0, QUICK},
        [DN_ZOO_TEXT_OPENCLIP_H] = {{23, 1024, 16, 0}, 0, GELU},
        [DN_ZOO_TEXT_OPENCLIP_G] = {{32, 1280, 20, 0}, 1280, GELU},
    };
    struct dn_transformer body;

    if (text == DN_ZOO_TEXT_NONE)
        return;
    body = transformer_of (&texts[text].tower, texts[text].activation);
    body.attention.unmasked = false;
    build->frozen = build->fixed = true;
    dn_build_tokens (build, tokens);
    add_text (build, &body, CLIP_WORDS, CLIP_TOKENS);
    if (texts[text].projection > 0) {
        take_token (build);
        dn_build_linear (build, texts[text].projection, false);
    }
    build->frozen = build->fixed = false;
}

/* Patches as tokens, with 'more' tokens before them, and a learned table of positions.
 */
static void add_patches (struct dn_build *build,
                         double hidden,
                         int patch,
                         int more,
                         bool bias)
{
    dn_build_conv (build, hidden, patch, patch, 0, 1, bias);
    build->at.dim[0] *= build->at.dim[1];
    build->at.n_dims = 1;
    dn_build_copy (build);
    build->at.dim[0] += more;
    if (more > 0)
        dn_build_add_learned (build, hidden);
    dn_build_add_learned (build, dn_shape_elements (&build->at));
}

static void add_clip_vision (struct dn_build *build,
                             const struct dn_transformer *body,
                             int patch,
                             bool own)
{
    add_patches (build, body->hidden, patch, 1, false);
    dn_build_norm (build, DN_NORM_LAYER);
    add_blocks (build, body, own);
}

void dn_zoo_clip_vision_add (struct dn_build *build)
{
    static const struct tower large = LARGE;
    struct dn_transformer body = transformer_of (&large, QUICK);

    add_clip_vision (build, &body, 14, false);
}

/* A block of the residual networks: the stride is an average before the last layer. */
static void add_residual (struct dn_build *build, double planes, int stride)
{
    struct dn_pool pool = {DN_POOL_AVERAGE, .kernel = stride, .stride = stride};
    struct dn_shape start = build->at;
    struct dn_shape end;

    dn_build_conv_norm_relu (build, planes, 1, 1, 1);
    dn_build_conv_norm_relu (build, planes, 3, 1, 1);
    if (stride > 1)
        dn_build_pool (build, &pool);
    dn_build_conv_norm (build, 4 * planes, 1, 1, 1);
    end = build->at;
    if (stride > 1 || start.channels != 4 * planes) {
        build->at = start;
        build->at.kept = true;
        if (stride > 1)
            dn_build_pool (build, &pool);
        dn_build_conv_norm (build, 4 * planes, 1, 1, 1);
        build->at = end;
    }
    dn_build_add (build);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

/* The mean of all positions asks all positions. */
static void add_pool_attention (struct dn_build *build, double heads, double out)
{
    struct dn_shape positions;
    struct dn_attention attention = {.heads = heads,
                                     .head_dim = build->at.channels / heads,
                                     .memory = &positions,
                                     .out = out,
                                     .bias = true,
                                     .out_bias = true,
                                     .unmasked = true};

    build->at.dim[0] *= build->at.dim[1];
    build->at.n_dims = 1;
    dn_build_copy (build);
    build->at.dim[0] += 1;
    dn_build_add_learned (build, dn_shape_elements (&build->at));
    positions = build->at;
    build->at.dim[0] = 1;
    dn_build_attention (build, &attention);
    build->at.n_dims = 0;
}

static void add_resnet (struct dn_build *build, const struct clip *row)
{
    double width = row->vision.hidden;
    struct dn_pool half = {DN_POOL_AVERAGE, .kernel = 2, .stride = 2};

    dn_build_conv_norm_relu (build, width / 2, 3, 2, 1);
    dn_build_conv_norm_relu (build, width / 2, 3, 1, 1);
    dn_build_conv_norm_relu (build, width, 3, 1, 1);
    dn_build_pool (build, &half);
    for (int i = 0; i < N_STAGES; i++) {
        double outer;

        add_residual (build, ldexp (width, i), i == 0 ? 1 : 2);
        outer = dn_build_repeat (build, row->blocks[i] - 1);
        add_residual (build, ldexp (width, i), 1);
        dn_build_repeat_end (build, outer);
    }
    add_pool_attention (build, row->vision.heads, row->embed);
}

/* SigLIP: a learned token asks all patches, with a feed-forward block. */
static void add_probe (struct dn_build *build, const struct dn_transformer *body)
{
    struct dn_attention attention = body->attention;
    struct dn_shape patches = build->at;

    attention.memory = &patches;
    dn_build_keep (build);
    patches.kept = true;
    build->at.dim[0] = 1;
    dn_build_add_learned (build, body->hidden);
    dn_build_attention (build, &attention);
    dn_transformer_add_ffn (build, body);
    build->at.n_dims = 0;
}

static void add_siglip (struct dn_build *build, const struct clip *row)
{
    struct dn_transformer vision = transformer_of (&row->vision, row->activation);
    struct dn_transformer text = transformer_of (&row->text, row->activation);

    add_patches (build, vision.hidden, row->patch, 0, true);
    add_blocks (build, &vision, true);
    dn_build_norm (build, DN_NORM_LAYER);
    add_probe (build, &vision);
    dn_build_tokens (build, DN_WANT (build, seq_len, 64));
    add_text (build, &text, DN_WANT (build, vocab, row->words), 64);
    take_token (build);
    dn_build_linear (build, text.hidden, true);
}

static void add_clip (struct dn_build *build, const struct clip *row)
{
    struct dn_transformer vision = transformer_of (&row->vision, row->activation);
    struct dn_transformer text = transformer_of (&row->text, row->activation);

    text.attention.unmasked = false;
    if (row->patch > 0) {
        add_clip_vision (build, &vision, row->patch, true);
        take_token (build);
        dn_build_norm (build, DN_NORM_LAYER);
        dn_build_linear (build, row->embed, false);
    } else {
        add_resnet (build, row);
    }
    dn_build_tokens (build, DN_WANT (build, seq_len, CLIP_TOKENS));
    add_text (build, &text, DN_WANT (build, vocab, row->words), CLIP_TOKENS);
    take_token (build);
    dn_build_linear (build, row->embed, false);
}

static void build_clip (struct dn_build *build, const void *data)
{
    const struct clip *row = data;

    dn_build_image (build, 3, row->image, 2, 4);
    if (row->embed > 0)
        add_clip (build, row);
    else
        add_siglip (build, row);
    /* Length 1, then a learned temperature; SigLIP adds a learned offset. */
    dn_build_elementwise (build, 2);
    dn_build_add_learned (build, 1);
    if (row->embed <= 0)
        dn_build_add_learned (build, 1);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_clip = DN_ZOO_FAMILY (rows, build_clip);
