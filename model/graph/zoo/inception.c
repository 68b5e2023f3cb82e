/* inception.c - networks of parallel convolutions
 *
 * GoogLeNet (Szegedy et al., arXiv 1409.4842) and Inception v3 (1512.00567) as
 * torchvision implements them, with the auxiliary classifiers that training uses.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#define N_BRANCHES_MAX 6

struct inception {
    struct dn_zoo_entry entry;
    bool v3;
};

static const struct inception rows[] = {
    {{"googlenet", "inception"}, false},
    {{"inception_v3", "inception"}, true},
    /* End of rows */
};

/* The ends of parallel branches, which all read one activation. */
struct branches {
    struct dn_shape start;
    struct dn_shape ends[N_BRANCHES_MAX];
    int n_ends;
};

static struct branches fork_here (const struct dn_build *build)
{
    return (struct branches){.start = build->at};
}

/* End the branch here and move the cursor back to the start, whose activation some
 * operator has read, so that it is kept.
 */
static void end_branch (struct dn_build *build, struct branches *branches)
{
    branches->ends[branches->n_ends++] = build->at;
    build->at = branches->start;
    build->at.kept = true;
}

static void join (struct dn_build *build, const struct branches *branches)
{
    struct dn_shape others = {0};

    build->at = branches->ends[0];
    for (int i = 1; i < branches->n_ends; i++)
        others.channels += branches->ends[i].channels;
    dn_build_concat (build, &others);
}

/* A convolution with a window of 'height' x 'width', normalised and rectified. */
static void add_window (struct dn_build *build, double out, int height, int width)
{
    struct dn_conv conv = {.out = out,
                           .kernel = {height, width},
                           .stride = {1, 1},
                           .pad = {height / 2, width / 2},
                           .groups = 1};

    dn_build_conv_of (build, &conv);
    dn_build_norm (build, DN_NORM_BATCH);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

static void add_conv (struct dn_build *build, double out, int kernel)
{
    add_window (build, out, kernel, kernel);
}

/* Without padding. */
static void add_inner (struct dn_build *build, double out, int kernel, int stride)
{
    dn_build_conv (build, out, kernel, stride, 0, 1, false);
    dn_build_norm (build, DN_NORM_BATCH);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

static void add_pool (struct dn_build *build,
                      enum dn_pool_kind kind,
                      int kernel,
                      int stride,
                      int pad)
{
    /* GoogLeNet keeps partial windows; the windows of Inception v3 fit exactly. */
    dn_build_pool (build, &(struct dn_pool){kind, kernel, stride, pad, .ceil = true});
}

/* GoogLeNet: channels of the four branches and within two of them. */
struct sizes {
    double one;
    double three_in;
    double three;
    double five_in;
    double five;
    double pool;
};

static void add_block (struct dn_build *build, const struct sizes *size)
{
    struct branches branches = fork_here (build);

    add_conv (build, size->one, 1);
    end_branch (build, &branches);
    add_conv (build, size->three_in, 1);
    add_conv (build, size->three, 3);
    end_branch (build, &branches);
    add_conv (build, size->five_in, 1);
    add_conv (build, size->five, 3);
    end_branch (build, &branches);
    add_pool (build, DN_POOL_MAX, 3, 1, 1);
    add_conv (build, size->pool, 1);
    end_branch (build, &branches);
    join (build, &branches);
}

/* GoogLeNet's auxiliary classifier; the cursor does not move, its activation is kept.
 */
static void add_auxiliary (struct dn_build *build, double classes)
{
    struct dn_shape start;

    dn_build_keep (build);
    start = build->at;
    dn_build_pool_to (build, 4);
    add_conv (build, 128, 1);
    dn_build_flatten (build);
    dn_build_linear (build, 1024, true);
    dn_build_activation (build, DN_ACTIVATION_RELU);
    dn_build_dropout (build);
    dn_build_linear (build, classes, true);
    dn_build_loss (build);
    build->at = start;
}

static void add_googlenet (struct dn_build *build, double classes)
{
    static const struct sizes sizes[] = {
        {64, 96, 128, 16, 32, 32},
        {128, 128, 192, 32, 96, 64},
        {192, 96, 208, 16, 48, 64},
        {160, 112, 224, 24, 64, 64},
        {128, 128, 256, 24, 64, 64},
        {112, 144, 288, 32, 64, 64},
        {256, 160, 320, 32, 128, 128},
        {256, 160, 320, 32, 128, 128},
        {384, 192, 384, 48, 128, 128},
    };

    dn_build_image (build, 3, 224, 2, 4);
    dn_build_conv_norm_relu (build, 64, 7, 2, 1);
    add_pool (build, DN_POOL_MAX, 3, 2, 0);
    add_conv (build, 64, 1);
    add_conv (build, 192, 3);
    add_pool (build, DN_POOL_MAX, 3, 2, 0);
    for (int i = 0; i < (int) DN_N_ELEMENTS (sizes); i++) {
        if (i == 2 || i == 7)
            add_pool (build, DN_POOL_MAX, i == 2 ? 3 : 2, 2, 0);
        if (i == 3 || i == 6)
            add_auxiliary (build, classes);
        add_block (build, &sizes[i]);
    }
}

/* Inception v3, figure 5: two 3x3 in place of a 5x5. */
static void add_block_a (struct dn_build *build, double pool)
{
    struct branches branches = fork_here (build);

    add_conv (build, 64, 1);
    end_branch (build, &branches);
    add_conv (build, 48, 1);
    add_conv (build, 64, 5);
    end_branch (build, &branches);
    add_conv (build, 64, 1);
    add_conv (build, 96, 3);
    add_conv (build, 96, 3);
    end_branch (build, &branches);
    add_pool (build, DN_POOL_AVERAGE, 3, 1, 1);
    add_conv (build, pool, 1);
    end_branch (build, &branches);
    join (build, &branches);
}

/* Half the size, three branches. */
static void add_block_b (struct dn_build *build)
{
    struct branches branches = fork_here (build);

    add_inner (build, 384, 3, 2);
    end_branch (build, &branches);
    add_conv (build, 64, 1);
    add_conv (build, 96, 3);
    add_inner (build, 96, 3, 2);
    end_branch (build, &branches);
    dn_build_pool (build, &(struct dn_pool){DN_POOL_MAX, .kernel = 3, .stride = 2});
    end_branch (build, &branches);
    join (build, &branches);
}

/* Figure 6: 7x7 as 1x7 and 7x1. */
static void add_block_c (struct dn_build *build, double inner)
{
    struct branches branches = fork_here (build);

    add_conv (build, 192, 1);
    end_branch (build, &branches);
    add_conv (build, inner, 1);
    add_window (build, inner, 1, 7);
    add_window (build, 192, 7, 1);
    end_branch (build, &branches);
    add_conv (build, inner, 1);
    for (int i = 0; i < 2; i++) {
        add_window (build, inner, 7, 1);
        add_window (build, i == 0 ? inner : 192, 1, 7);
    }
    end_branch (build, &branches);
    add_pool (build, DN_POOL_AVERAGE, 3, 1, 1);
    add_conv (build, 192, 1);
    end_branch (build, &branches);
    join (build, &branches);
}

static void add_block_d (struct dn_build *build)
{
    struct branches branches = fork_here (build);

    add_conv (build, 192, 1);
    add_inner (build, 320, 3, 2);
    end_branch (build, &branches);
    add_conv (build, 192, 1);
    add_window (build, 192, 1, 7);
    add_window (build, 192, 7, 1);
    add_inner (build, 192, 3, 2);
    end_branch (build, &branches);
    dn_build_pool (build, &(struct dn_pool){DN_POOL_MAX, .kernel = 3, .stride = 2});
    end_branch (build, &branches);
    join (build, &branches);
}

/* 1x3 and 3x1 side by side. */
static void add_pair (struct dn_build *build)
{
    struct branches branches;

    branches = fork_here (build);
    add_window (build, 384, 1, 3);
    end_branch (build, &branches);
    add_window (build, 384, 3, 1);
    end_branch (build, &branches);
    join (build, &branches);
}

/* Figure 7. */
static void add_block_e (struct dn_build *build)
{
    struct branches branches = fork_here (build);

    add_conv (build, 320, 1);
    end_branch (build, &branches);
    add_conv (build, 384, 1);
    add_pair (build);
    end_branch (build, &branches);
    add_conv (build, 448, 1);
    add_conv (build, 384, 3);
    add_pair (build);
    end_branch (build, &branches);
    add_pool (build, DN_POOL_AVERAGE, 3, 1, 1);
    add_conv (build, 192, 1);
    end_branch (build, &branches);
    join (build, &branches);
}

static void add_v3_auxiliary (struct dn_build *build, double classes)
{
    struct dn_shape start;

    dn_build_keep (build);
    start = build->at;
    dn_build_pool (build, &(struct dn_pool){DN_POOL_AVERAGE, .kernel = 5, .stride = 3});
    add_conv (build, 128, 1);
    add_inner (build, 768, 5, 1);
    dn_build_pool_global (build);
    dn_build_linear (build, classes, true);
    dn_build_loss (build);
    build->at = start;
}

static void add_v3 (struct dn_build *build, double classes)
{
    dn_build_image (build, 3, 299, 2, 4);
    add_inner (build, 32, 3, 2);
    add_inner (build, 32, 3, 1);
    add_conv (build, 64, 3);
    dn_build_pool (build, &(struct dn_pool){DN_POOL_MAX, .kernel = 3, .stride = 2});
    add_inner (build, 80, 1, 1);
    add_inner (build, 192, 3, 1);
    dn_build_pool (build, &(struct dn_pool){DN_POOL_MAX, .kernel = 3, .stride = 2});
    add_block_a (build, 32);
    add_block_a (build, 64);
    add_block_a (build, 64);
    add_block_b (build);
    add_block_c (build, 128);
    add_block_c (build, 160);
    add_block_c (build, 160);
    add_block_c (build, 192);
    add_v3_auxiliary (build, classes);
    add_block_d (build);
    add_block_e (build);
    add_block_e (build);
}

static void build_inception (struct dn_build *build, const void *data)
{
    const struct inception *row = data;
    double classes = DN_WANT (build, classes, 1000);

    if (row->v3)
        add_v3 (build, classes);
    else
        add_googlenet (build, classes);
    dn_build_classifier (build, classes, true);
}

const struct dn_zoo_family dn_zoo_inception = DN_ZOO_FAMILY (rows, build_inception);
