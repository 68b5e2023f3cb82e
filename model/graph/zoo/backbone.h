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

/* Kernels that match the outputs of an image with its ground truth: overlaps, matches,
 * samples, encoding, a quarter each.
 */
#define DN_MATCH_KERNELS 80.0

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
    bool frozen;  /* the stem and the first stage do not learn */
    bool deep;    /* three 3x3 convolutions are the stem (ResNet-C of He et al., arXiv
                     1812.01187) */
    bool average; /* shortcuts average before their convolution, and each stage has one
                     (ResNet-D, the same) */
    bool early;   /* the stride of a bottleneck is in its first convolution */
    int stages;   /* how many are built; 0: all */
    int dense;    /* the stages from this one on have no stride but dilation; 0: none */
    int deform;   /* the stages from this one on are deformable (arXiv 1811.11168); 0 */
};

/* The network from the stem on. The activation after stage i is stored in levels[i]. */
void dn_backbone_add (struct dn_build *build,
                      const struct dn_backbone *backbone,
                      struct dn_shape levels[DN_BACKBONE_STAGES]);

/* One stage of it, of number 'i', at the cursor. */
void dn_backbone_add_stage (struct dn_build *build,
                            const struct dn_backbone *backbone,
                            int i);

/* Rows of the family swin. */
enum dn_swin {
    DN_SWIN_T,
    DN_SWIN_S
};

/* Swin Transformer, with a norm of its own after each stage. */
void dn_swin_add (struct dn_build *build,
                  enum dn_swin net,
                  struct dn_shape levels[DN_BACKBONE_STAGES]);

/* A network of four branches of several sizes: 'channels' in the first one, twice as
 * many in each further one, which begins with the next stage.
 */
struct dn_hrnet {
    double channels;
    double blocks;                          /* of each branch of a module */
    double modules[DN_BACKBONE_STAGES - 1]; /* of each stage after the first */
};

void dn_hrnet_add (struct dn_build *build,
                   const struct dn_hrnet *hrnet,
                   struct dn_shape levels[DN_BACKBONE_STAGES]);

/* MobileNetV2 without its last convolution; the sizes after the second end at an eighth
 * of the image's. The levels are those that mmsegmentation takes.
 */
void dn_mobilenet_v2_add (struct dn_build *build,
                          struct dn_shape levels[DN_BACKBONE_STAGES]);

/* MobileNetV3-Large without its classifier, as torchvision cuts it. */
struct dn_mobilenet_v3 {
    bool frozen; /* the stem and the stages up to an eighth of the size do not learn */
    bool dense;  /* the last stage has no stride but dilation */
    bool narrow; /* half the channels from the last stage on */
};

/* The levels: the first block of an eighth of the image's size, what the first block of
 * a 32nd expands, its end, the last convolution.
 */
void dn_mobilenet_v3_add (struct dn_build *build,
                          const struct dn_mobilenet_v3 *net,
                          struct dn_shape levels[DN_BACKBONE_STAGES]);

/* A feature pyramid (arXiv 1612.03144): lateral 1x1 convolutions, sums from above and
 * 3x3 convolutions on the levels 'first' to 3; the results take their place. Each
 * convolution has a normalisation, or a bias if that is DN_NORM_PLAIN.
 */
void dn_pyramid_add (struct dn_build *build,
                     struct dn_shape levels[DN_BACKBONE_STAGES],
                     int first,
                     enum dn_norm norm);

/* The outputs of SSD on the level at the cursor: coordinates and classes of 'n' boxes
 * for each position. The cursor does not move.
 */
void dn_ssd_add_outputs (struct dn_build *build, double n, double classes);

/* Attention of the cursor, of 256 features, to four sampled points in each of 'levels'
 * levels of 'memory' (NULL: of itself) for each of eight heads (Deformable DETR).
 */
void dn_detr_add_sampled (struct dn_build *build,
                          const struct dn_shape *memory,
                          double levels);

/* A convolution with bias that keeps the size, and a rectifier. */
void dn_pyramid_add_conv_relu (struct dn_build *build, double out);

/* Outputs of a detector with queries, at the cursor: classes, and boxes behind two
 * layers; both are matched with the ground truth. The cursor does not move.
 */
void dn_query_outputs (struct dn_build *build, double classes);

/* A convolution of 3x3 and one of 1x1 side by side, which are one when the network is
 * used (Ding et al., arXiv 2101.03697), with GELU or the like behind their sum.
 */
void dn_twin_conv (struct dn_build *build, double channels);

#endif
