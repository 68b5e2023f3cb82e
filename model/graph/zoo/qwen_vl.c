/* qwen_vl.c - language models that see: Qwen2-VL, Qwen2.5-VL and Qwen3-VL
 *
 * Qwen2-VL (Wang et al., arXiv 2409.12191), Qwen2.5-VL (Bai et al., arXiv 2502.13923)
 * and Qwen3-VL (Bai et al., arXiv 2511.21631) as transformers implements them, with
 * their sizes: Qwen2VL-, Qwen2_5_VL- and Qwen3VLForConditionalGeneration. All of a
 * network learns: the vision tower with its merger is the encoder of frozen=.
 *
 * A sample is one image and its text. The sides of the image are rounded to whole
 * tokens, as the image processors round them. Four patches give one token; seq_len=
 * counts the tokens of text and image together. The keys of sizes are those of the
 * language model.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "base/messages.h"
#include "graph/transformer.h"
#include "zoo.h"

#include <math.h>

/* The authors advise 256 to 1280 tokens for an image. This has 576 of 28 pixels, in the
 * middle of the two, or 441 of 32, and consists of whole windows.
 */
#define IMAGE 672

/* A patch takes so many frames: the same one twice if the sample is an image. */
#define FRAMES 2

/* Patches per side of what becomes a token, and of a window of 112 pixels. */
#define MERGED 2
#define WINDOW 8

#define HEADS 16

/* Qwen3-VL: rows of the table of positions, those that a patch takes the mean of, and
 * blocks of the tower that give tokens to a block of the language model.
 */
#define POSITIONS 2304
#define NEAREST   4
#define STACKED   3

struct vision {
    double layers;
    double hidden;
    double ffn;
    int patch;
    enum dn_norm norm;
    enum dn_activation activation;
    bool gated;
    double period; /* of so many blocks the last one has no windows; 0: none has */
    bool stacked;  /* Qwen3-VL; the language model is then that of Qwen3 */
};

static const struct vision second = {.layers = 32,
                                     .hidden = 1280,
                                     .ffn = 5120,
                                     .patch = 14,
                                     .norm = DN_NORM_LAYER,
                                     .activation = DN_ACTIVATION_GELU_QUICK};
static const struct vision windows = {.layers = 32,
                                      .hidden = 1280,
                                      .ffn = 3420,
                                      .patch = 14,
                                      .norm = DN_NORM_RMS,
                                      .activation = DN_ACTIVATION_GELU,
                                      .gated = true,
                                      .period = 8};
static const struct vision windows_wide = {.layers = 32,
                                           .hidden = 1280,
                                           .ffn = 3456,
                                           .patch = 14,
                                           .norm = DN_NORM_RMS,
                                           .activation = DN_ACTIVATION_GELU,
                                           .gated = true,
                                           .period = 8};
static const struct vision third = {.layers = 27,
                                    .hidden = 1152,
                                    .ffn = 4304,
                                    .patch = 16,
                                    .norm = DN_NORM_LAYER,
                                    .activation = DN_ACTIVATION_GELU,
                                    .stacked = true};
static const struct vision third_small = {.layers = 24,
                                          .hidden = 1024,
                                          .ffn = 4096,
                                          .patch = 16,
                                          .norm = DN_NORM_LAYER,
                                          .activation = DN_ACTIVATION_GELU,
                                          .stacked = true};

struct qwen_vl {
    struct dn_zoo_entry entry;
    const struct vision *vision;
    struct dn_transformer_sizes sizes;
    double vocab;
    bool tied;
};

#define ROW(name, ...)                                                                 \
    {                                                                                  \
        {name, "qwen_vl"}, __VA_ARGS__                                                 \
    }

/* vision, {layers, hidden, heads, heads of keys, ffn, tokens}, vocabulary, tied */
static const struct qwen_vl rows[] = {
    ROW ("qwen2_vl_2b", &second, {28, 1536, 12, 2, 8960, 2048}, 151936, true),
    ROW ("qwen2_vl_7b", &second, {28, 3584, 28, 4, 18944, 2048}, 152064, false),
    ROW ("qwen2_vl_72b", &second, {80, 8192, 64, 8, 29568, 2048}, 152064, false),
    ROW ("qwen2.5_vl_3b", &windows, {36, 2048, 16, 2, 11008, 2048}, 151936, true),
    ROW ("qwen2.5_vl_7b", &windows, {28, 3584, 28, 4, 18944, 2048}, 152064, false),
    ROW ("qwen2.5_vl_32b",
         &windows_wide,
         {64, 5120, 40, 8, 27648, 2048},
         152064,
         false),
    ROW ("qwen2.5_vl_72b",
         &windows_wide,
         {80, 8192, 64, 8, 29568, 2048},
         152064,
         false),
    ROW ("qwen3_vl_2b", &third_small, {28, 2048, 16, 8, 6144, 2048}, 151936, true),
    ROW ("qwen3_vl_4b", &third_small, {36, 2560, 32, 8, 9728, 2048}, 151936, true),
    ROW ("qwen3_vl_8b", &third, {36, 4096, 32, 8, 12288, 2048}, 151936, false),
    ROW ("qwen3_vl_32b", &third, {64, 5120, 64, 8, 25600, 2048}, 151936, false),
    /* End of rows */
};

/* Patches of a side of the window that a patch is in, in the mean over 'side' patches:
 * the last window may be smaller.
 */
static double mean_window (double side)
{
    double rest = fmod (side, WINDOW);

    return (WINDOW * (side - rest) + rest * rest) / side;
}

/* Rows of the table, weighted by their distance from the patch. */
static void add_positions (struct dn_build *build, const struct vision *vision)
{
    struct dn_shape patches = build->at;

    build->at.dim[0] *= NEAREST;
    build->at.kept = true;
    dn_build_embedding (build, POSITIONS, vision->hidden);
    dn_build_elementwise (build, 2);
    build->at = patches;
    dn_build_add (build);
}

/* The patches of the image. Return those of a window. */
static double add_patches (struct dn_build *build, const struct vision *vision)
{
    double step = MERGED * vision->patch;
    double window;

    dn_build_image (build, 3, IMAGE, 2, 4 * FRAMES);
    for (int i = 0; i < 2; i++)
        build->at.dim[i] = step * fmax (round (build->at.dim[i] / step), 1);
    build->at.channels *= FRAMES;
    dn_build_conv (
        build, vision->hidden, vision->patch, vision->patch, 0, 1, vision->stacked);
    window = mean_window (build->at.dim[0]) * mean_window (build->at.dim[1]);
    build->at.dim[0] *= build->at.dim[1];
    build->at.n_dims = 1;
    if (vision->stacked)
        add_positions (build, vision);
    /* In the order of the windows. */
    if (vision->period > 0)
        dn_build_copy (build);
    return window;
}

/* Attention within windows of so many patches, as one kernel computes them all. The
 * names of its layers are not those that adapters of the language model have. Query and
 * key are rotated into new arrays, the value keeps that of all three.
 */
static void add_attention (struct dn_build *build,
                           const struct vision *vision,
                           double window)
{
    double patches = build->at.dim[0];
    double n = patches / window;
    const struct dn_attention attention = {.heads = HEADS * n,
                                           .head_dim = vision->hidden / HEADS,
                                           .rotary = true,
                                           .unmasked = true};

    dn_build_norm (build, vision->norm);
    dn_build_linear (build, 3 * vision->hidden, true);
    build->at.channels = 2 * vision->hidden;
    dn_build_keep (build);
    build->at.channels = n * vision->hidden;
    build->at.dim[0] = window;
    dn_build_attention_products (build, &attention);
    build->at.channels = vision->hidden;
    build->at.dim[0] = patches;
    dn_build_linear (build, vision->hidden, true);
    dn_build_add (build);
}

static void add_ffn (struct dn_build *build, const struct vision *vision)
{
    const struct dn_transformer gated = {.hidden = vision->hidden,
                                         .ffn = vision->ffn,
                                         .norm = vision->norm,
                                         .activation = vision->activation,
                                         .gated = true,
                                         .norm_first = true,
                                         .bias = true};

    if (vision->gated) {
        dn_transformer_add_ffn (build, &gated);
        return;
    }
    dn_build_norm (build, vision->norm);
    dn_build_linear (build, vision->ffn, true);
    dn_build_activation (build, vision->activation);
    dn_build_linear (build, vision->hidden, true);
    dn_build_add (build);
}

/* 'n' blocks with windows of so many patches. */
static void add_blocks (struct dn_build *build,
                        const struct vision *vision,
                        double n,
                        double window)
{
    double outer = dn_build_repeat (build, n);

    add_attention (build, vision, window);
    add_ffn (build, vision);
    dn_build_repeat_end (build, outer);
}

/* Four patches become one token of 'hidden' features. */
static void add_merger (struct dn_build *build,
                        const struct vision *vision,
                        double hidden,
                        bool norm_first)
{
    if (norm_first)
        dn_build_norm (build, vision->norm);
    build->at.channels *= MERGED * MERGED;
    build->at.dim[0] /= MERGED * MERGED;
    if (!norm_first)
        dn_build_norm (build, vision->norm);
    dn_build_linear (build, build->at.channels, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_linear (build, hidden, true);
}

/* The blocks of both parts are those of the network; the boundary is their mean. */
static void count_blocks (struct dn_build *build,
                          const struct vision *vision,
                          const struct dn_transformer *body)
{
    double n = vision->layers + body->layers;

    dn_build_blocks (build, n);
    build->graph.block_boundary = (vision->layers * dn_shape_elements (&build->at)
                                   + body->layers * body->tokens * body->hidden)
                                  / n;
}

/* The cursor is then on the tokens of the image. */
static void add_vision (struct dn_build *build,
                        const struct vision *vision,
                        const struct dn_transformer *body)
{
    double window = add_patches (build, vision);
    double n_whole =
        vision->period > 0 ? floor (vision->layers / vision->period) : vision->layers;
    struct dn_shape patches;

    count_blocks (build, vision, body);
    add_blocks (build, vision, vision->layers - n_whole, window);
    add_blocks (build, vision, n_whole, build->at.dim[0]);
    patches = build->at;
    for (int i = 0; i < STACKED && vision->stacked; i++) {
        build->at.kept = true;
        add_merger (build, vision, body->hidden, false);
        build->at = patches;
    }
    add_merger (build, vision, body->hidden, true);
    if (vision->period > 0)
        dn_build_copy (build);
}

/* Qwen3-VL: what the merged features of inner blocks are added to, after each of the
 * first blocks, is a copy of the tokens.
 */
static void add_stacked (struct dn_build *build, double tokens)
{
    struct dn_shape all = build->at;

    for (int i = 0; i < STACKED; i++) {
        dn_build_copy (build);
        build->at.dim[0] = tokens;
        dn_build_add (build);
        dn_build_copy (build);
        build->at = all;
    }
}

static struct dn_transformer read_body (struct dn_build *build,
                                        const struct qwen_vl *row)
{
    bool stacked = row->vision->stacked;
    struct dn_transformer body = {.norm = DN_NORM_RMS,
                                  .activation = DN_ACTIVATION_GELU,
                                  .gated = true,
                                  .norm_first = true};

    body.attention.head_dim = stacked ? 128 : 0;
    dn_transformer_sizes_read (build, &row->sizes, &body);
    body.attention.bias = !stacked;
    body.attention.rotary = true;
    body.attention.causal = true;
    body.attention.query_norm = stacked ? DN_QUERY_NORM_HEAD : DN_QUERY_NORM_NONE;
    return body;
}

static void build_qwen_vl (struct dn_build *build, const void *data)
{
    const struct qwen_vl *row = data;
    struct dn_transformer body = read_body (build, row);
    double words = DN_WANT (build, vocab, row->vocab);
    double outer;
    double seen;

    build->part = DN_PART_ENCODER;
    add_vision (build, row->vision, &body);
    seen = build->at.dim[0];
    if (!build->failed && seen >= body.tokens)
        dn_build_fail (build, DN_E_RANGE, dn_say_err_zoo_patches, body.tokens, seen);
    build->part = DN_PART_DECODER;
    dn_build_tokens (build, body.tokens);
    dn_build_embedding (build, words, body.hidden);
    /* The image among the words. */
    dn_build_copy (build);
    if (row->vision->stacked)
        add_stacked (build, seen);
    outer = dn_build_repeat (build, body.layers);
    dn_transformer_add_block (build, &body);
    dn_build_repeat_end (build, outer);
    dn_build_norm (build, DN_NORM_RMS);
    build->part = DN_PART_HEAD;
    if (DN_WANT (build, tied, row->tied) > 0)
        dn_build_linear_tied (build, words, false);
    else
        dn_build_linear (build, words, false);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_qwen_vl = DN_ZOO_FAMILY (rows, build_qwen_vl);
