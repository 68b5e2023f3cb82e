/* llava.c - language models that see
 *
 * LLaVA 1.5 (Liu et al., arXiv 2310.03744): patches of CLIP-L/14 at 336 pixels, which
 * does not learn, through two linear layers into LLaMA. seq_len= counts the tokens of
 * text and patches together. A name that ends in _pretrain is the first stage of the
 * training, in which only the two layers learn.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "base/messages.h"
#include "graph/transformer.h"
#include "zoo.h"

struct llava {
    struct dn_zoo_entry entry;
    struct dn_transformer_sizes sizes;
    bool pretrain;
};

static const struct llava rows[] = {
    {{"llava_1.5_7b", "llava"}, {32, 4096, 32, 0, 11008, 2048}, false},
    {{"llava_1.5_13b", "llava"}, {40, 5120, 40, 0, 13824, 2048}, false},
    {{"llava_1.5_7b_pretrain", "llava"}, {32, 4096, 32, 0, 11008, 2048}, true},
    {{"llava_1.5_13b_pretrain", "llava"}, {40, 5120, 40, 0, 13824, 2048}, true},
    /* End of rows */
};

/* The cursor is then on the patches as LLaMA's tokens. */
static void add_images (struct dn_build *build, double hidden)
{
    dn_build_image (build, 3, 336, 2, 4);
    build->frozen = build->fixed = true;
    dn_zoo_clip_vision_add (build);
    build->frozen = build->fixed = false;
    /* Without the class token. */
    build->at.dim[0] -= 1;
    build->at.kept = false;
    build->at.input = true;
    dn_build_linear (build, hidden, true);
    dn_build_activation (build, DN_ACTIVATION_GELU);
    dn_build_linear (build, hidden, true);
}

static void build_llava (struct dn_build *build, const void *data)
{
    const struct llava *row = data;
    struct dn_transformer body = {.norm = DN_NORM_RMS,
                                  .activation = DN_ACTIVATION_GELU,
                                  .gated = true,
                                  .norm_first = true};
    double words = DN_WANT (build, vocab, 32000);

    dn_transformer_sizes_read (build, &row->sizes, &body);
    body.attention.rotary = true;
    add_images (build, body.hidden);
    if (!build->failed && build->at.dim[0] >= body.tokens)
        dn_build_fail (
            build, DN_E_RANGE, dn_say_err_zoo_patches, body.tokens, build->at.dim[0]);
    build->fixed = row->pretrain;
    dn_build_tokens (build, body.tokens);
    dn_build_embedding (build, words, body.hidden);
    /* The patches among the words. */
    dn_build_copy (build);
    dn_transformer_add_blocks (build, &body);
    dn_build_norm (build, DN_NORM_RMS);
    dn_build_linear (build, words, false);
    dn_build_loss (build);
    build->fixed = false;
}

const struct dn_zoo_family dn_zoo_llava = DN_ZOO_FAMILY (rows, build_llava);
