/* backbone.h - what detectors and segmenters are built on
 *
 * A residual network cut after its stages, and the feature pyramid over its levels.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_BACKBONE_H
#define DN_BACKBONE_H

#include "graph/build.h"

#define DN_BACKBONE_STAGES 4

/* Features of each level of the pyramid. */
#define DN_PYRAMID 256.0

/* Rows of the family resnet. */
enum dn_resnet {
    DN_RESNET_18,
    DN_RESNET_34,
    DN_RESNET_50,
    DN_RESNET_101,
    DN_RESNET_152,
    DN_RESNEXT_50_32X4D,
    DN_RESNEXT_101_32X4D,
    DN_RESNEXT_101_32X8D,
    DN_RESNEXT_101_64X4D,
    DN_SE_RESNEXT_101_32X4D,
    DN_WIDE_RESNET_50_2,
    DN_WIDE_RESNET_101_2,
    DN_RESNEXT_152_32X8D,
    DN_N_RESNETS
};

/* What a library does with the normalisation of a backbone. */
enum dn_backbone_norm {
    DN_BACKBONE_BATCH,  /* statistics of the batch */
    DN_BACKBONE_SCALES, /* fixed statistics; scale and shift are parameters */
    DN_BACKBONE_FIXED,  /* nothing of it is a parameter */
    DN_BACKBONE_GROUP   /* of groups of channels */
};

struct dn_backbone {
    enum dn_resnet net;
    enum dn_backbone_norm norm;
    bool frozen; /* the stem and the first stage do not learn */
    bool deep;   /* three 3x3 convolutions are the stem (ResNet-C of He et al., arXiv
                    1812.01187) */
    int stages;  /* how many are built; 0: all */
    int dense;   /* the stages from this one on have no stride but dilation; 0: none */
    int deform;  /* the stages from this one on are deformable (arXiv 1811.11168); 0 */
};

/* The network from the stem on. The activation after stage i is stored in levels[i]. */
void dn_backbone_add (struct dn_build *build,
                      const struct dn_backbone *backbone,
                      struct dn_shape levels[DN_BACKBONE_STAGES]);

/* One stage of it, of number 'i', at the cursor. */
void dn_backbone_add_stage (struct dn_build *build,
                            const struct dn_backbone *backbone,
                            int i);

/* A feature pyramid (arXiv 1612.03144): lateral 1x1 convolutions, sums from above and
 * 3x3 convolutions on the levels 'first' to 3; the results take their place. With
 * 'norm' each convolution has a normalisation of groups instead of a bias.
 */
void dn_pyramid_add (struct dn_build *build,
                     struct dn_shape levels[DN_BACKBONE_STAGES],
                     int first,
                     bool norm);

/* A convolution with bias that keeps the size, and a rectifier. */
void dn_pyramid_add_conv_relu (struct dn_build *build, double out);

#endif
