/* vgg.c - plain convolutional networks: VGG and AlexNet
 *
 * VGG (Simonyan and Zisserman, arXiv 1409.1556) and the one-column AlexNet (Krizhevsky,
 * arXiv 1404.5997) as torchvision implements them: convolutions with bias, an adaptive
 * pooling before two wide linear layers, dropout of 0.5.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#define N_STAGES 5

/* Features of the two hidden linear layers. */
#define HIDDEN 4096

struct vgg {
    const char *name;
    int layers[N_STAGES]; /* convolutions of each stage; all 0: AlexNet */
    bool norm;
};

static const struct vgg rows[] = {
    {"vgg11", {1, 1, 2, 2, 2}, false},
    {"vgg13", {2, 2, 2, 2, 2}, false},
    {"vgg16", {2, 2, 3, 3, 3}, false},
    {"vgg19", {2, 2, 4, 4, 4}, false},
    {"vgg11_bn", {1, 1, 2, 2, 2}, true},
    {"vgg13_bn", {2, 2, 2, 2, 2}, true},
    {"vgg16_bn", {2, 2, 3, 3, 3}, true},
    {"vgg19_bn", {2, 2, 4, 4, 4}, true},
    {"alexnet", {0}, false},
    /* End of rows */
};

static void add_conv (struct dn_build *build,
                      double out,
                      int kernel,
                      int stride,
                      int pad,
                      bool norm)
{
    dn_build_conv (build, out, kernel, stride, pad, 1, true);
    if (norm)
        dn_build_norm (build, DN_NORM_BATCH);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

static void add_pool (struct dn_build *build, int kernel)
{
    dn_build_pool (build,
                   &(struct dn_pool){DN_POOL_MAX, .kernel = kernel, .stride = 2});
}

static void add_vgg (struct dn_build *build, const struct vgg *row)
{
    double channels = 64;

    for (int i = 0; i < N_STAGES; i++) {
        double outer;

        add_conv (build, channels, 3, 1, 1, row->norm);
        outer = dn_build_repeat (build, row->layers[i] - 1);
        add_conv (build, channels, 3, 1, 1, row->norm);
        dn_build_repeat_end (build, outer);
        add_pool (build, 2);
        channels = channels < 512 ? 2 * channels : 512;
    }
}

static void add_alexnet (struct dn_build *build)
{
    add_conv (build, 64, 11, 4, 2, false);
    add_pool (build, 3);
    add_conv (build, 192, 5, 1, 2, false);
    add_pool (build, 3);
    add_conv (build, 384, 3, 1, 1, false);
    add_conv (build, 256, 3, 1, 1, false);
    add_conv (build, 256, 3, 1, 1, false);
    add_pool (build, 3);
}

/* Two hidden layers; AlexNet has dropout before each, VGG after. */
static void add_head (struct dn_build *build, bool drop_first)
{
    double classes = DN_WANT (build, classes, 1000);

    if (dn_build_head (build, DN_HEAD_CLASSIFIER, DN_HEAD_BIT (NONE)) == DN_HEAD_NONE)
        return;
    dn_build_pool_to (build, drop_first ? 6 : 7);
    dn_build_flatten (build);
    for (int i = 0; i < 2; i++) {
        if (drop_first)
            dn_build_dropout (build);
        dn_build_linear (build, HIDDEN, true);
        dn_build_activation (build, DN_ACTIVATION_RELU);
        if (!drop_first)
            dn_build_dropout (build);
    }
    dn_build_linear (build, classes, true);
    dn_build_loss (build);
}

static void build_vgg (struct dn_build *build, const void *data)
{
    const struct vgg *row = data;
    bool alexnet = row->layers[0] == 0;

    dn_build_image (build, 3, 224, 2, 4);
    if (alexnet)
        add_alexnet (build);
    else
        add_vgg (build, row);
    add_head (build, alexnet);
}

const struct dn_zoo_family dn_zoo_vgg = DN_ZOO_FAMILY ("vgg", rows, build_vgg);
