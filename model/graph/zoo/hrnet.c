/* hrnet.c - a backbone whose branches of several sizes run side by side
 *
 * Wang et al. (arXiv 1908.07919) as mmsegmentation builds it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "backbone.h"

#include <math.h>

#define N_BRANCHES DN_BACKBONE_STAGES
#define STEM       64.0

static void add_down (struct dn_build *build, double out)
{
    dn_build_conv_norm_relu (build, out, 3, 2, 1);
}

/* A bottleneck of the first stage, to four times the channels of the stem. */
static void add_bottleneck (struct dn_build *build)
{
    struct dn_shape start = build->at;
    double out = 4 * STEM;
    struct dn_shape end;

    dn_build_conv_norm_relu (build, STEM, 1, 1, 1);
    dn_build_conv_norm_relu (build, STEM, 3, 1, 1);
    dn_build_conv_norm (build, out, 1, 1, 1);
    if (start.channels != out) {
        end = build->at;
        start.kept = true;
        build->at = start;
        dn_build_conv_norm (build, out, 1, 1, 1);
        build->at = end;
    }
    dn_build_add (build);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

/* Two 3x3 convolutions and a sum. */
static void add_basic (struct dn_build *build)
{
    double channels = build->at.channels;

    dn_build_conv_norm_relu (build, channels, 3, 1, 1);
    dn_build_conv_norm (build, channels, 3, 1, 1);
    dn_build_add (build);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}

/* Bring branch 'from' to the channels and the size of branch 'to'. */
static void add_path (struct dn_build *build,
                      const struct dn_shape *branches,
                      int from,
                      int to)
{
    double channels = branches[to].channels;

    build->at = branches[from];
    for (int i = from; i < to - 1; i++)
        add_down (build, branches[from].channels);
    if (from < to) {
        dn_build_conv_norm (build, channels, 3, 2, 1);
    } else if (from > to) {
        dn_build_conv_norm (build, channels, 1, 1, 1);
        dn_build_upsample (build, ldexp (1, from - to));
        build->at.dim[0] = branches[to].dim[0];
        build->at.dim[1] = branches[to].dim[1];
    }
}

/* Blocks on each of 'n' branches; then each becomes the sum of all. */
static void add_module (struct dn_build *build,
                        struct dn_shape *branches,
                        int n,
                        double blocks)
{
    struct dn_shape sums[N_BRANCHES];

    for (int i = 0; i < n; i++) {
        double outer;

        build->at = branches[i];
        dn_build_keep (build);
        outer = dn_build_repeat (build, blocks);
        add_basic (build);
        dn_build_repeat_end (build, outer);
        branches[i] = build->at;
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            add_path (build, branches, j, i);
            if (j > 0)
                dn_build_add (build);
        }
        dn_build_activation (build, DN_ACTIVATION_RELU);
        sums[i] = build->at;
    }
    for (int i = 0; i < n; i++)
        branches[i] = sums[i];
}

void dn_hrnet_add (struct dn_build *build,
                   const struct dn_hrnet *hrnet,
                   struct dn_shape levels[DN_BACKBONE_STAGES])
{
    struct dn_shape stem;
    double outer;

    for (int i = 0; i < 2; i++)
        add_down (build, STEM);
    add_bottleneck (build);
    outer = dn_build_repeat (build, hrnet->blocks - 1);
    add_bottleneck (build);
    dn_build_repeat_end (build, outer);
    stem = build->at;
    dn_build_conv_norm_relu (build, hrnet->channels, 3, 1, 1);
    levels[0] = build->at;
    build->at = stem;
    for (int i = 1; i < N_BRANCHES; i++) {
        dn_build_keep (build);
        add_down (build, ldexp (hrnet->channels, i));
        levels[i] = build->at;
        for (int j = 0; j < hrnet->modules[i - 1]; j++)
            add_module (build, levels, i + 1, hrnet->blocks);
        build->at = levels[i];
    }
}
