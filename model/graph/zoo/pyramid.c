/* pyramid.c - the feature pyramid of detectors and segmenters
 *
 * Lin et al. (arXiv 1612.03144).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "backbone.h"

/* A convolution with a bias or a normalisation. */
static void add_conv (struct dn_build *build, int kernel, enum dn_norm norm)
{
    dn_build_conv (build, DN_PYRAMID, kernel, 1, kernel / 2, 1, norm == DN_NORM_PLAIN);
    if (norm != DN_NORM_PLAIN)
        dn_build_norm (build, norm);
}

void dn_pyramid_add (struct dn_build *build,
                     struct dn_shape levels[DN_BACKBONE_STAGES],
                     int first,
                     enum dn_norm norm)
{
    /* A level is kept by the next stage's convolution. */
    for (int i = DN_BACKBONE_STAGES - 1; i >= first; i--) {
        build->at = levels[i];
        build->at.kept = true;
        add_conv (build, 1, norm);
        if (i < DN_BACKBONE_STAGES - 1) {
            dn_build_copy (build);
            dn_build_add (build);
        }
        add_conv (build, 3, norm);
        levels[i] = build->at;
    }
}

void dn_pyramid_add_conv_relu (struct dn_build *build, double out)
{
    dn_build_conv (build, out, 3, 1, 1, 1, true);
    dn_build_activation (build, DN_ACTIVATION_RELU);
}
