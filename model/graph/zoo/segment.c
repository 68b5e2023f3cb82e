/* segment.c - networks that classify every pixel
 *
 * FCN (Long et al., arXiv 1411.4038), PSPNet (1612.01105), DeepLabV3 (1706.05587),
 * DeepLabV3+ (1802.02611), UPerNet (1807.10221), Semantic FPN (1901.02446), PointRend
 * (1912.08193) and the heads of segment_context.c, as mmsegmentation combines them with
 * backbones: d8 and d16 are the strides of the last stage, whose convolutions are
 * dilated. An auxiliary head on the third stage has a loss of its own. torchvision's
 * networks have narrower heads; LR-ASPP (1905.02244) is one of them. Dilation does not
 * change the work of a convolution.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "segment.h"
#include "zoo.h"

#include <math.h>

#define CHANNELS 512.0
#define NARROW   256.0 /* of torchvision's DeepLabV3, of auxiliary heads */
#define LOW      48.0  /* of the low level that DeepLabV3+ adds */
#define FUSED    128.0 /* of Semantic FPN */
#define POINTS   2048.0

#define TOP   3
#define THIRD 2

enum mobile {
    MOBILE_NONE,
    MOBILE_V2,
    MOBILE_V3
};

struct segment {
    struct dn_zoo_entry entry;
    dn_segment_head_f head;
    dn_segment_head_f auxiliary; /* NULL: none */
    double classes;
    double dims[2];
    struct dn_backbone backbone;
    struct dn_hrnet hrnet; /* of channels > 0: in its place */
    enum mobile mobile;    /* in its place */
};

static void add_conv (struct dn_build *build, double out, int kernel)
{
    dn_build_conv_norm_relu (build, out, kernel, 1, 1);
}

static void add_separable (struct dn_build *build, double out)
{
    dn_build_conv_norm_relu (build, build->at.channels, 3, 1, build->at.channels);
    add_conv (build, out, 1);
}

static void add_fcn (struct dn_build *build, struct dn_segment *segment)
{
    dn_segment_take (build, segment, TOP);
    for (int i = 0; i < 2; i++)
        add_conv (build, CHANNELS, 3);
    dn_build_concat (build, &segment->levels[TOP]);
    add_conv (build, CHANNELS, 3);
    dn_segment_end (build, segment);
}

static void add_auxiliary (struct dn_build *build, struct dn_segment *segment)
{
    dn_segment_take (build, segment, THIRD);
    add_conv (build, NARROW, 3);
    dn_segment_end (build, segment);
}

/* Averages over a grid of 'size' x 'size', interpolated to the size before. */
static void add_average (struct dn_build *build,
                         const struct dn_shape *from,
                         double size,
                         double out)
{
    struct dn_op op = {.kind = DN_OP_POOL, .in = dn_shape_elements (from)};

    build->at = *from;
    build->at.kept = false;
    build->at.dim[0] = size;
    build->at.dim[1] = size;
    op.out = dn_shape_elements (&build->at);
    dn_build_op (build, &op);
    add_conv (build, out, 1);
    dn_segment_resize (build, from);
}

/* Pyramid pooling on the last level. */
static void add_pooling (struct dn_build *build, struct dn_segment *segment)
{
    static const double sizes[] = {1, 2, 3, 6};
    const struct dn_shape top = segment->levels[TOP];
    const int n = (int) DN_N_ELEMENTS (sizes);

    for (int i = 0; i < n; i++)
        add_average (build, &top, sizes[i], CHANNELS);
    build->at = top;
    build->at.channels = n * CHANNELS;
    dn_build_concat (build, &top);
    add_conv (build, CHANNELS, 3);
}

static void add_psp (struct dn_build *build, struct dn_segment *segment)
{
    add_pooling (build, segment);
    dn_segment_end (build, segment);
}

/* Convolutions of several dilations on the last level, side by side. */
static void add_dilated (struct dn_build *build,
                         struct dn_segment *segment,
                         double channels,
                         bool separable)
{
    const struct dn_shape top = segment->levels[TOP];
    const int n = 3;

    add_average (build, &top, 1, channels);
    dn_segment_take (build, segment, TOP);
    add_conv (build, channels, 1);
    for (int i = 0; i < n; i++) {
        dn_segment_take (build, segment, TOP);
        if (separable)
            add_separable (build, channels);
        else
            add_conv (build, channels, 3);
    }
    build->at.channels = (n + 1) * channels;
    dn_build_concat (build, &(struct dn_shape){.channels = channels});
}

static void add_deeplab (struct dn_build *build, struct dn_segment *segment)
{
    add_dilated (build, segment, CHANNELS, false);
    add_conv (build, CHANNELS, 3);
    dn_segment_end (build, segment);
}

static void add_deeplab_plus (struct dn_build *build, struct dn_segment *segment)
{
    struct dn_shape low;

    add_dilated (build, segment, CHANNELS, true);
    add_conv (build, CHANNELS, 3);
    low = build->at;
    dn_segment_take (build, segment, 0);
    add_conv (build, LOW, 1);
    build->at.channels = low.channels;
    dn_segment_resize (build, &segment->levels[0]);
    dn_build_concat (build, &(struct dn_shape){.channels = LOW});
    for (int i = 0; i < 2; i++)
        add_separable (build, CHANNELS);
    dn_segment_end (build, segment);
}

static void add_upernet (struct dn_build *build, struct dn_segment *segment)
{
    struct dn_shape sum;

    add_pooling (build, segment);
    for (int i = TOP - 1; i >= 0; i--) {
        sum = build->at;
        dn_segment_take (build, segment, i);
        add_conv (build, CHANNELS, 1);
        build->at = sum;
        dn_segment_resize (build, &segment->levels[i]);
        dn_build_add (build);
        sum = build->at;
        add_conv (build, CHANNELS, 3);
        sum.kept = true;
        build->at = sum;
    }
    for (int i = TOP; i > 0; i--)
        dn_segment_resize (build, &segment->levels[0]);
    build->at.channels = TOP * CHANNELS;
    dn_build_concat (build, &(struct dn_shape){.channels = CHANNELS});
    add_conv (build, CHANNELS, 3);
    dn_segment_end (build, segment);
}

static void add_fpn (struct dn_build *build, struct dn_segment *segment)
{
    dn_pyramid_add (build, segment->levels, 0, DN_NORM_PLAIN);
    for (int i = 0; i <= TOP; i++) {
        dn_segment_take (build, segment, i);
        for (int j = 0; j < (i > 0 ? i : 1); j++) {
            add_conv (build, FUSED, 3);
            if (i > 0)
                dn_build_upsample (build, 2);
        }
        dn_segment_resize (build, &segment->levels[0]);
        if (i > 0)
            dn_build_add (build);
    }
    dn_segment_end (build, segment);
}

/* After the coarse classes, layers classify some points again. */
static void add_pointrend (struct dn_build *build, struct dn_segment *segment)
{
    double input = DN_PYRAMID;

    add_fpn (build, segment);
    for (int i = 0; i < 3; i++) {
        build->at = (struct dn_shape){
            .channels = input + segment->classes, .dim = {POINTS}, .n_dims = 1};
        dn_build_copy (build);
        dn_build_linear (build, DN_PYRAMID, true);
        dn_build_activation (build, DN_ACTIVATION_RELU);
    }
    build->at.channels += segment->classes;
    dn_build_copy (build);
    dn_build_linear (build, segment->classes, true);
    dn_build_loss (build);
}

/* All levels, interpolated to the first. */
static void add_joined (struct dn_build *build, const struct dn_segment *segment)
{
    double channels = segment->levels[0].channels;

    for (int i = 1; i <= TOP; i++) {
        build->at = segment->levels[i];
        dn_segment_resize (build, &segment->levels[0]);
        channels += build->at.channels;
    }
    build->at.channels = channels - segment->levels[0].channels;
    dn_build_concat (build, &segment->levels[0]);
    dn_build_keep (build);
}

static void add_fcn_joined (struct dn_build *build, struct dn_segment *segment)
{
    add_joined (build, segment);
    add_conv (build, build->at.channels, 1);
    dn_segment_loss (build, segment);
}

static void add_ocrnet_joined (struct dn_build *build, struct dn_segment *segment)
{
    struct dn_shape joined;

    add_joined (build, segment);
    joined = build->at;
    add_conv (build, joined.channels, 1);
    dn_segment_loss (build, segment);
    dn_segment_add_objects (build, segment, &joined);
}

/* torchvision: one convolution, dropout, classes. */
static void add_narrow (struct dn_build *build,
                        struct dn_segment *segment,
                        int level,
                        double channels)
{
    dn_segment_take (build, segment, level);
    add_conv (build, channels, 3);
    dn_build_dropout (build);
    dn_segment_loss (build, segment);
}

static void add_narrow_fcn (struct dn_build *build, struct dn_segment *segment)
{
    add_narrow (build, segment, TOP, floor (segment->levels[TOP].channels / 4));
}

static void add_narrow_auxiliary (struct dn_build *build, struct dn_segment *segment)
{
    add_narrow (build, segment, THIRD, floor (segment->levels[THIRD].channels / 4));
}

static void add_low_auxiliary (struct dn_build *build, struct dn_segment *segment)
{
    add_narrow (build, segment, 0, floor (segment->levels[0].channels / 4));
}

/* One convolution, times a gate per channel, and the classes of two levels. */
static void add_lraspp (struct dn_build *build, struct dn_segment *segment)
{
    struct dn_shape x;

    dn_segment_take (build, segment, TOP);
    add_conv (build, FUSED, 1);
    x = build->at;
    dn_segment_take (build, segment, TOP);
    dn_build_pool_global (build);
    dn_build_conv (build, FUSED, 1, 1, 0, 1, false);
    dn_build_activation (build, DN_ACTIVATION_SIGMOID);
    dn_build_multiply (build, &x);
    dn_segment_resize (build, &segment->levels[0]);
    dn_build_conv (build, segment->classes, 1, 1, 0, 1, true);
    dn_segment_take (build, segment, 0);
    dn_build_conv (build, segment->classes, 1, 1, 0, 1, true);
    dn_build_add (build);
    dn_segment_resize (build, &segment->image);
    dn_build_loss (build);
}

static void add_narrow_deeplab (struct dn_build *build, struct dn_segment *segment)
{
    add_dilated (build, segment, NARROW, false);
    add_conv (build, NARROW, 1);
    dn_build_dropout (build);
    add_conv (build, NARROW, 3);
    dn_segment_loss (build, segment);
}

/* clang-format off */
#define ROW(name, head, auxiliary, ...)                                                \
    {{name, "segment"}, head, auxiliary, 19, {512, 1024},                              \
     .backbone = {.deep = true, __VA_ARGS__}}
#define PLAIN(name, head, auxiliary)                                                   \
    ROW (name "_r50", head, auxiliary, .net = DN_RESNET_50),                           \
    ROW (name "_r101", head, auxiliary, .net = DN_RESNET_101)
#define D8(name, head, auxiliary)                                                      \
    ROW (name "_r50_d8", head, auxiliary, .net = DN_RESNET_50, .dense = 2),            \
    ROW (name "_r101_d8", head, auxiliary, .net = DN_RESNET_101, .dense = 2)
#define D16(name, head, auxiliary)                                                     \
    ROW (name "_r101_d16", head, auxiliary, .net = DN_RESNET_101, .dense = 3)
#define TORCHVISION(name, head, resnet)                                                \
    {{name, "segment"}, head, add_narrow_auxiliary, 21, {520, 520},                    \
     .backbone = {.net = (resnet), .dense = 2}}

#define HRNET(name, ...)                                                               \
    {{"fcn_" name, "segment"}, add_fcn_joined, NULL, 19, {512, 1024},                  \
     .hrnet = {__VA_ARGS__}},                                                          \
    {{"ocrnet_" name, "segment"}, add_ocrnet_joined, NULL, 19, {512, 1024},            \
     .hrnet = {__VA_ARGS__}}
#define MOBILE(name, head)                                                             \
    {{name "_m_v2_d8", "segment"}, head, add_auxiliary, 19, {512, 1024},               \
     .mobile = MOBILE_V2}
#define TORCHVISION_MOBILE(name, head, auxiliary)                                      \
    {{name "_mobilenet_v3_large", "segment"}, head, auxiliary, 21, {520, 520},         \
     .mobile = MOBILE_V3}

static const struct segment rows[] = {
    TORCHVISION ("fcn_resnet50", add_narrow_fcn, DN_RESNET_50),
    TORCHVISION ("fcn_resnet101", add_narrow_fcn, DN_RESNET_101),
    TORCHVISION ("deeplabv3_resnet50", add_narrow_deeplab, DN_RESNET_50),
    TORCHVISION ("deeplabv3_resnet101", add_narrow_deeplab, DN_RESNET_101),
    TORCHVISION_MOBILE ("deeplabv3", add_narrow_deeplab, add_low_auxiliary),
    TORCHVISION_MOBILE ("lraspp", add_lraspp, NULL),
    D8 ("fcn", add_fcn, add_auxiliary),
    D8 ("pspnet", add_psp, add_auxiliary),
    D8 ("deeplabv3", add_deeplab, add_auxiliary),
    D16 ("deeplabv3", add_deeplab, add_auxiliary),
    D8 ("deeplabv3plus", add_deeplab_plus, add_auxiliary),
    D16 ("deeplabv3plus", add_deeplab_plus, add_auxiliary),
    PLAIN ("upernet", add_upernet, add_auxiliary),
    PLAIN ("fpn", add_fpn, NULL),
    PLAIN ("pointrend", add_pointrend, NULL),
    D8 ("ann", dn_segment_ann, add_auxiliary),
    D8 ("ccnet", dn_segment_ccnet, add_auxiliary),
    D8 ("danet", dn_segment_danet, add_auxiliary),
    D8 ("dnlnet", dn_segment_dnlnet, add_auxiliary),
    D8 ("emanet", dn_segment_emanet, add_auxiliary),
    D8 ("encnet", dn_segment_encnet, add_auxiliary),
    D8 ("gcnet", dn_segment_gcnet, add_auxiliary),
    D8 ("nonlocal", dn_segment_nonlocal, add_auxiliary),
    D8 ("ocrnet", dn_segment_ocrnet, NULL),
    D8 ("psanet", dn_segment_psanet, add_auxiliary),
    HRNET ("hr18s", 18, 2, {1, 3, 2}),
    HRNET ("hr18", 18, 4, {1, 4, 3}),
    HRNET ("hr48", 48, 4, {1, 4, 3}),
    MOBILE ("fcn", add_fcn),
    MOBILE ("pspnet", add_psp),
    MOBILE ("deeplabv3", add_deeplab),
    MOBILE ("deeplabv3plus", add_deeplab_plus),
    /* End of rows */
};
/* clang-format on */

static void build_segment (struct dn_build *build, const void *data)
{
    const struct segment *row = data;
    struct dn_segment segment = {.classes = DN_WANT (build, classes, row->classes)};

    dn_build_image_of (build, 3, row->dims, 2, 4);
    segment.image = build->at;
    if (row->hrnet.channels > 0)
        dn_hrnet_add (build, &row->hrnet, segment.levels);
    else if (row->mobile == MOBILE_V2)
        dn_mobilenet_v2_add (build, segment.levels);
    else if (row->mobile == MOBILE_V3)
        dn_mobilenet_v3_add (
            build, &(struct dn_mobilenet_v3){.dense = true}, segment.levels);
    else
        dn_backbone_add (build, &row->backbone, segment.levels);
    row->head (build, &segment);
    if (row->auxiliary)
        row->auxiliary (build, &segment);
}

const struct dn_zoo_family dn_zoo_segment = DN_ZOO_FAMILY (rows, build_segment);
