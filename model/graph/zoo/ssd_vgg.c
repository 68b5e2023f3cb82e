/* ssd_vgg.c - SSD on a VGG16
 *
 * Liu et al. (arXiv 1512.02325): the convolutions of VGG16, two in place of its linear
 * layers, the first of these dilated, and further pairs that halve the size; on each
 * level one convolution to boxes and one to classes. ssd300_vgg16 as torchvision trains
 * it (the first pair does not learn), ssd300 and ssd512 as mmdetection. Matching of
 * boxes counts as small kernels, image by image.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "backbone.h"
#include "zoo.h"

#define N_EXTRAS_MAX 5

/* A 1x1 and a larger convolution after the backbone. */
struct extra {
    double inner;
    double out;
    int kernel;
    int stride;
    int pad;
    double boxes; /* of each position */
};

struct ssd {
    struct dn_zoo_entry entry;
    double image;
    double classes;
    bool background; /* is one more class */
    bool frozen;
    double boxes; /* of each position of the first level */
    struct extra extras[N_EXTRAS_MAX];
};

#define SMALL                                                                          \
    {                                                                                  \
        {256, 512, 3, 2, 1, 6}, {128, 256, 3, 2, 1, 6}, {128, 256, 3, 1, 0, 4},        \
            {128, 256, 3, 1, 0, 4},                                                    \
    }

static const struct ssd rows[] = {
    {{"ssd300_vgg16", "ssd"}, 300, 91, false, true, 4, SMALL},
    {{"ssd300", "ssd"}, 300, 80, true, false, 4, SMALL},
    {{"ssd512", "ssd"},
     512,
     80,
     true,
     false,
     4,
     {{256, 512, 3, 2, 1, 6},
      {128, 256, 3, 2, 1, 6},
      {128, 256, 3, 2, 1, 6},
      {128, 256, 3, 2, 1, 4},
      {128, 256, 4, 1, 1, 4}}},
    /* End of rows */
};

static void add_conv (struct dn_build *build, double out, int kernel)
{
    dn_build_conv (build, out, kernel, 1, kernel / 2, 1, true);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

static void add_pool (struct dn_build *build, int kernel, int stride, bool ceil)
{
    dn_build_pool (build,
                   &(struct dn_pool){DN_POOL_MAX,
                                     .kernel = kernel,
                                     .stride = stride,
                                     .pad = kernel / 2 * (kernel % 2),
                                     .ceil = ceil});
}

/* The convolutions of VGG16 up to the fourth size. */
static void add_backbone (struct dn_build *build, bool frozen)
{
    const int n_convs[] = {2, 2, 3, 3};
    double channels = 64;

    for (int i = 0; i < (int) DN_N_ELEMENTS (n_convs); i++) {
        if (i > 0)
            add_pool (build, 2, 2, i == 3);
        build->frozen = frozen && i == 0;
        for (int j = 0; j < n_convs[i]; j++)
            add_conv (build, channels, 3);
        if (build->frozen)
            build->at.input = true;
        build->frozen = false;
        channels = channels < 512 ? 2 * channels : 512;
    }
}

static void build_ssd (struct dn_build *build, const void *data)
{
    const struct ssd *row = data;
    double classes = DN_WANT (build, classes, row->classes) + row->background;
    struct dn_shape level;

    dn_build_image (build, 3, row->image, 2, 4);
    add_backbone (build, row->frozen);
    level = build->at;
    /* Divided by their norm, then scaled. */
    dn_build_elementwise (build, 1);
    dn_build_scale (build);
    dn_ssd_add_outputs (build, row->boxes, classes);
    build->at = level;
    add_pool (build, 2, 2, false);
    for (int i = 0; i < 3; i++)
        add_conv (build, 512, 3);
    add_pool (build, 3, 1, false);
    add_conv (build, 1024, 3);
    add_conv (build, 1024, 1);
    dn_ssd_add_outputs (build, 6, classes);
    for (int i = 0; i < N_EXTRAS_MAX && row->extras[i].inner > 0; i++) {
        const struct extra *extra = &row->extras[i];

        add_conv (build, extra->inner, 1);
        dn_build_conv (
            build, extra->out, extra->kernel, extra->stride, extra->pad, 1, true);
        dn_build_activation (build, DN_ACTIVATION_RELU);
        dn_ssd_add_outputs (build, extra->boxes, classes);
    }
    dn_build_each (build, DN_MATCH_KERNELS);
}

const struct dn_zoo_family dn_zoo_ssd_vgg = DN_ZOO_FAMILY (rows, build_ssd);
