/* mmdit.c - transformers that remove noise, over the tokens of image and text together
 *
 * Stable Diffusion 3 (Esser et al., arXiv 2403.03206), FLUX.1 and FLUX.2 (Black Forest
 * Labs) as diffusers implements them. Image and text have their own layers and one
 * attention; FLUX then has blocks in which they are one sequence. Latents and texts are
 * encoded before, since the text encoders are as large as the network: neither is part
 * of it. image= is in pixels, seq_len= the tokens of the text.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/transformer.h"
#include "zoo.h"

#include <math.h>

/* Pixels of a patch of 2x2 latents in each dimension. */
#define PATCH_PIXELS 16

/* Features of the time and of the strength of the guidance. */
#define TIME 256

struct mmdit {
    struct dn_zoo_entry entry;
    struct dn_transformer_sizes sizes; /* of the blocks with two streams */
    double singles;                    /* blocks with one stream */
    double features;                   /* of a patch */
    double text;                       /* features of a token of the text */
    double pooled;                     /* of the whole text; 0: none */
    bool guidance;                     /* is an input */
    bool head_norm;                    /* queries and keys are normalised per head */
    double twice; /* blocks with a second attention, of the image */
    bool second;  /* FLUX.2: one modulation for all blocks, feed-forward
                     layers with gates, no bias */
    bool open;    /* the text ends with the last attention */
};

#define ROW(name, ...)                                                                 \
    {                                                                                  \
        {name, "mmdit"}, __VA_ARGS__                                                   \
    }

static const struct mmdit rows[] = {
    ROW ("stable_diffusion_3_medium",
         {24, 1536, 24, 0, 0, 333},
         .features = 64,
         .text = 4096,
         .pooled = 2048,
         .open = true),
    ROW ("stable_diffusion_3.5_medium",
         {24, 1536, 24, 0, 0, 333},
         .features = 64,
         .text = 4096,
         .pooled = 2048,
         .head_norm = true,
         .twice = 13,
         .open = true),
    ROW ("stable_diffusion_3.5_large",
         {38, 2432, 38, 0, 0, 333},
         .features = 64,
         .text = 4096,
         .pooled = 2048,
         .head_norm = true,
         .open = true),
    ROW ("flux.1_dev",
         {19, 3072, 24, 0, 0, 512},
         .singles = 38,
         .features = 64,
         .text = 4096,
         .pooled = 768,
         .guidance = true,
         .head_norm = true),
    ROW ("flux.1_schnell",
         {19, 3072, 24, 0, 0, 512},
         .singles = 38,
         .features = 64,
         .text = 4096,
         .pooled = 768,
         .head_norm = true),
    ROW ("flux.2_dev",
         {8, 6144, 48, 0, 18432, 512},
         .singles = 48,
         .features = 128,
         .text = 15360,
         .guidance = true,
         .head_norm = true,
         .second = true),
    ROW ("flux.2_klein_4b",
         {5, 3072, 24, 0, 9216, 512},
         .singles = 20,
         .features = 128,
         .text = 7680,
         .head_norm = true,
         .second = true),
    ROW ("flux.2_klein_9b",
         {8, 4096, 32, 0, 12288, 512},
         .singles = 24,
         .features = 128,
         .text = 12288,
         .head_norm = true,
         .second = true),
    /* End of rows */
};

/* What all blocks read, and the activations of the two streams. */
struct streams {
    const struct mmdit *row;
    struct dn_transformer body;
    bool bias;
    struct dn_shape image;
    struct dn_shape text;
};

static void add_modulation (struct dn_build *build, const struct streams *all, double n)
{
    if (!all->row->second)
        dn_zoo_modulation_add (build, n, all->body.hidden, true);
}

/* Queries and keys are normalised per head. */
static void add_head_norms (struct dn_build *build, const struct streams *all)
{
    struct dn_shape at = build->at;
    double outer;

    if (!all->row->head_norm)
        return;
    build->at.channels = all->body.attention.head_dim;
    build->at.dim[0] *= all->body.attention.heads;
    build->at.kept = false;
    outer = dn_build_repeat (build, 2);
    dn_build_norm (build, DN_NORM_RMS);
    dn_build_repeat_end (build, outer);
    build->at = at;
    build->at.kept = false;
}

/* Query, key and value of one stream. */
static void add_queries (struct dn_build *build, const struct streams *all)
{
    double outer;

    dn_build_linear (build, all->body.hidden, all->bias);
    build->at.kept = true;
    outer = dn_build_repeat (build, 2);
    dn_build_linear (build, all->body.hidden, all->bias);
    build->at.kept = true;
    dn_build_repeat_end (build, outer);
    add_head_norms (build, all);
}

/* One attention of the tokens of both streams. */
static void add_joint_attention (struct dn_build *build, struct streams *all)
{
    build->at = all->text;
    add_queries (build, all);
    build->at = all->image;
    add_queries (build, all);
    build->at.dim[0] += all->text.dim[0];
    build->at.channels *= 3;
    dn_build_copy (build);
    build->at.channels /= 3;
    dn_build_attention_products (build, &all->body.attention);
}

/* The product of one half and the other's activation. */
static void add_gate (struct dn_build *build, double ffn)
{
    struct dn_shape half;

    build->at.channels = ffn;
    half = build->at;
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_multiply (build, &half);
}

/* The first of the feed-forward layers, and what follows it. */
static void add_inner (struct dn_build *build, const struct streams *all)
{
    if (all->row->second) {
        dn_build_linear (build, 2 * all->body.ffn, false);
        add_gate (build, all->body.ffn);
        return;
    }
    dn_build_linear (build, all->body.ffn, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
}

static void add_ffn (struct dn_build *build, const struct streams *all)
{
    dn_zoo_modulate (build);
    add_inner (build, all);
    dn_build_linear (build, all->body.hidden, all->bias);
    dn_zoo_gated_add (build);
}

/* The end of a stream in a block: output layer and feed-forward layers. */
static struct dn_shape add_rest (struct dn_build *build,
                                 const struct streams *all,
                                 struct dn_shape stream)
{
    stream.kept = false;
    build->at = stream;
    dn_build_linear (build, all->body.hidden, all->bias);
    dn_zoo_gated_add (build);
    return build->at;
}

/* The second attention of the image alone. */
static void add_twice (struct dn_build *build, const struct streams *all)
{
    dn_zoo_gated_add (build);
    add_queries (build, all);
    dn_build_attention_products (build, &all->body.attention);
    dn_build_linear (build, all->body.hidden, all->bias);
    dn_zoo_gated_add (build);
}

/* A block with two streams. 'open': the text is not needed any more. */
static void add_double (struct dn_build *build,
                        struct streams *all,
                        bool twice,
                        bool open)
{
    build->at = all->text;
    add_modulation (build, all, open ? 2 : 6);
    dn_zoo_modulate (build);
    all->text = build->at;
    build->at = all->image;
    add_modulation (build, all, twice ? 9 : 6);
    dn_zoo_modulate (build);
    all->image = build->at;
    add_joint_attention (build, all);
    if (!open) {
        build->at = add_rest (build, all, all->text);
        add_ffn (build, all);
        all->text = build->at;
    }
    build->at = add_rest (build, all, all->image);
    if (twice)
        add_twice (build, all);
    add_ffn (build, all);
    all->image = build->at;
}

/* 'n' of them in a row. */
static void add_doubles (struct dn_build *build,
                         struct streams *all,
                         double n,
                         bool twice)
{
    double outer = dn_build_repeat (build, n);

    add_double (build, all, twice, false);
    dn_build_repeat_end (build, outer);
}

/* What a block with one stream begins with, in FLUX.2 as one layer: the cursor is then
 * on the queries. Return the inner activation of the feed-forward layers.
 */
static struct dn_shape add_parallel (struct dn_build *build, const struct streams *all)
{
    struct dn_shape start;
    struct dn_shape inner;

    if (all->row->second) {
        dn_build_linear (build, 3 * all->body.hidden + 2 * all->body.ffn, false);
        start = build->at;
        add_gate (build, all->body.ffn);
        inner = build->at;
        build->at = start;
        build->at.channels = all->body.hidden;
        add_head_norms (build, all);
        return inner;
    }
    start = build->at;
    add_inner (build, all);
    inner = build->at;
    build->at = start;
    build->at.kept = true;
    add_queries (build, all);
    return inner;
}

/* A block with one stream: attention and feed-forward layers side by side. */
static void add_single (struct dn_build *build, const struct streams *all)
{
    struct dn_shape inner;

    add_modulation (build, all, 3);
    dn_zoo_modulate (build);
    inner = add_parallel (build, all);
    dn_build_attention_products (build, &all->body.attention);
    dn_build_concat (build, &inner);
    dn_build_linear (build, all->body.hidden, all->bias);
    dn_zoo_gated_add (build);
}

static void add_conditions (struct dn_build *build, const struct streams *all)
{
    double hidden = all->body.hidden;

    dn_zoo_condition_add (build, TIME, hidden, all->bias);
    if (all->row->guidance) {
        dn_zoo_condition_add (build, TIME, hidden, all->bias);
        dn_build_add (build);
    }
    if (all->row->pooled > 0) {
        dn_zoo_condition_add (build, all->row->pooled, hidden, true);
        dn_build_add (build);
    }
    if (all->row->second) {
        dn_zoo_modulation_add (build, 6, hidden, false);
        dn_zoo_modulation_add (build, 6, hidden, false);
        dn_zoo_modulation_add (build, 3, hidden, false);
    }
}

/* The sample: patches and text as the encoders gave them. */
static void add_inputs (struct dn_build *build, struct streams *all)
{
    double patches = 1;

    dn_build_image (build, 3, 1024, 2, 4);
    for (int i = 0; i < 2; i++)
        patches *= floor (build->at.dim[i] / PATCH_PIXELS);
    build->graph.input = build->graph.input_bytes = 0;
    dn_build_features (build, all->row->features, fmax (patches, 1));
    dn_build_linear (build, all->body.hidden, all->bias);
    all->image = build->at;
    dn_build_features (build, all->row->text, all->body.tokens);
    dn_build_linear (build, all->body.hidden, all->bias);
    all->text = build->at;
    build->graph.input += all->row->pooled;
    build->graph.input_bytes += 4 * all->row->pooled;
    build->graph.decode = DN_DECODE_NONE;
    dn_build_ignore (build, DN_KEYSET (in_channels));
}

static void build_mmdit (struct dn_build *build, const void *data)
{
    const struct mmdit *row = data;
    struct streams all = {.row = row, .bias = !row->second};
    double layers;
    double twice;
    double outer;

    dn_transformer_sizes_read (build, &row->sizes, &all.body);
    dn_transformer_plain_heads (build, false);
    all.body.attention.kv_heads = 0;
    all.body.attention.unmasked = true;
    all.body.attention.rotary = row->singles > 0;
    layers = all.body.layers - (row->open ? 1 : 0);
    twice = fmin (row->twice, layers);
    add_inputs (build, &all);
    add_conditions (build, &all);
    build->at = all.image;
    dn_build_blocks (build, fmax (all.body.layers, row->singles));
    add_doubles (build, &all, twice, true);
    add_doubles (build, &all, layers - twice, false);
    if (row->open)
        add_double (build, &all, false, true);
    if (row->singles > 0) {
        build->at.dim[0] += all.text.dim[0];
        outer = dn_build_repeat (build, row->singles);
        add_single (build, &all);
        dn_build_repeat_end (build, outer);
        build->at.dim[0] -= all.text.dim[0];
    }
    dn_zoo_modulation_add (build, 2, all.body.hidden, all.bias);
    dn_zoo_modulate (build);
    dn_build_linear (build, row->features, all.bias);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_mmdit = DN_ZOO_FAMILY (rows, build_mmdit);
