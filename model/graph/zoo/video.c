/* video.c - residual networks over clips
 *
 * r3d_18, mc3_18 and r2plus1d_18 (Tran et al., arXiv 1711.11248) as
 * torchvision.models.video implements them: ResNet-18 whose convolutions see three
 * frames, see them in the first stage only, or are cut in two, over pixels and over
 * frames. image= is frames x height x width.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"
#include "base/messages.h"

#include <math.h>

#define N_STAGES 4

/* Convolutions of a stage. */
enum convs {
    CONVS_3D,
    CONVS_2D,    /* of single frames */
    CONVS_SPLIT, /* of single frames, then of single pixels */
};

struct video {
    struct dn_zoo_entry entry;
    enum convs stages[N_STAGES];
};

static const struct video rows[] = {
    {{"r3d_18", "video"}, {CONVS_3D, CONVS_3D, CONVS_3D, CONVS_3D}},
    {{"mc3_18", "video"}, {CONVS_3D, CONVS_2D, CONVS_2D, CONVS_2D}},
    {{"r2plus1d_18", "video"}, {CONVS_SPLIT, CONVS_SPLIT, CONVS_SPLIT, CONVS_SPLIT}},
    /* End of rows */
};

void dn_zoo_clip_conv (struct dn_build *build, const struct dn_clip_conv *conv)
{
    int frames = conv->frames ? conv->frames : 1;
    int pixels = conv->pixels ? conv->pixels : 1;
    int hop = conv->hop ? conv->hop : 1;
    int stride = conv->stride ? conv->stride : 1;
    const struct dn_conv full = {.out = conv->out,
                                 .kernel = {frames, pixels, pixels},
                                 .stride = {hop, stride, stride},
                                 .pad = {frames / 2, pixels / 2, pixels / 2},
                                 .groups = conv->groups > 0 ? conv->groups : 1};

    dn_build_conv_of (build, &full);
}

void dn_zoo_clip_conv_norm (struct dn_build *build, const struct dn_clip_conv *conv)
{
    dn_zoo_clip_conv (build, conv);
    dn_build_norm (build, DN_NORM_BATCH);
}

void dn_zoo_clip_conv_norm_relu (struct dn_build *build,
                                 const struct dn_clip_conv *conv)
{
    dn_zoo_clip_conv_norm (build, conv);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

void dn_zoo_clip_pool (struct dn_build *build, int frames, int pixels)
{
    double depth = build->at.dim[0];
    struct dn_shape start = build->at;
    struct dn_op op = {.kind = DN_OP_POOL};

    dn_build_keep (build);
    op.in = dn_shape_elements (&start);
    build->at.dim[0] =
        frames > 2 ? floor ((depth - 1) / 2) + 1 : floor (depth / frames);
    for (int i = 1; i < 3 && pixels > 1; i++)
        build->at.dim[i] =
            pixels > 2 ? floor ((start.dim[i] - 1) / 2) + 1 : floor (start.dim[i] / 2);
    op.out = dn_shape_elements (&build->at);
    op.masks = 8 * op.out;
    if (op.out < 1)
        dn_build_fail (build, DN_E_RANGE, dn_say_err_zoo_video, build->graph.name);
    dn_build_op (build, &op);
    build->at.kept = false;
}

/* Channels between the halves of a convolution that is cut in two: as many as give it
 * the parameters of a whole one.
 */
static double split_channels (double in, double out)
{
    return floor (in * out * 27 / (in * 9 + 3 * out));
}

static void add_conv (struct dn_build *build,
                      enum convs convs,
                      double out,
                      double between,
                      int stride)
{
    if (convs == CONVS_SPLIT) {
        dn_zoo_clip_conv_norm_relu (
            build,
            &(struct dn_clip_conv){.out = between, .pixels = 3, .stride = stride});
        dn_zoo_clip_conv_norm (
            build, &(struct dn_clip_conv){.out = out, .frames = 3, .hop = stride});
        return;
    }
    dn_zoo_clip_conv_norm (build,
                           &(struct dn_clip_conv){.out = out,
                                                  .frames = convs == CONVS_3D ? 3 : 1,
                                                  .pixels = 3,
                                                  .hop = convs == CONVS_3D ? stride : 1,
                                                  .stride = stride});
}

static void add_block (struct dn_build *build, enum convs convs, double out, int stride)
{
    struct dn_shape start = build->at;
    double between = split_channels (start.channels, out);
    struct dn_shape end;

    add_conv (build, convs, out, between, stride);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    add_conv (build, convs, out, between, 1);
    end = build->at;
    if (stride != 1 || start.channels != out) {
        build->at = start;
        build->at.kept = true;
        dn_zoo_clip_conv_norm (
            build,
            &(struct dn_clip_conv){
                .out = out, .hop = convs == CONVS_2D ? 1 : stride, .stride = stride});
        build->at = end;
    }
    dn_build_add (build);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

static void build_video (struct dn_build *build, const void *data)
{
    const struct video *row = data;
    static const double clip[] = {16, 112, 112};

    build->graph.decode = DN_DECODE_VIDEO;
    dn_build_image_of (build, 3, clip, 3, 4);
    if (row->stages[0] == CONVS_SPLIT) {
        dn_zoo_clip_conv_norm_relu (
            build, &(struct dn_clip_conv){.out = 45, .pixels = 7, .stride = 2});
        dn_zoo_clip_conv_norm_relu (build,
                                    &(struct dn_clip_conv){.out = 64, .frames = 3});
    } else {
        dn_zoo_clip_conv_norm_relu (
            build,
            &(struct dn_clip_conv){.out = 64, .frames = 3, .pixels = 7, .stride = 2});
    }
    for (int i = 0; i < N_STAGES; i++) {
        add_block (build, row->stages[i], ldexp (64, i), i > 0 ? 2 : 1);
        add_block (build, row->stages[i], ldexp (64, i), 1);
    }
    dn_build_classifier (build, 400, false);
}

const struct dn_zoo_family dn_zoo_video = DN_ZOO_FAMILY (rows, build_video);
