/* segment.h - networks that classify every pixel: what their heads share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SEGMENT_H
#define DN_SEGMENT_H

#include "backbone.h"

/* What a head works on. */
struct dn_segment {
    double classes;
    struct dn_shape image;
    struct dn_shape levels[DN_BACKBONE_STAGES]; /* of the backbone */
};

typedef void (*dn_segment_head_f) (struct dn_build *build, struct dn_segment *segment);

/* Put the cursor on a level of the backbone, from 0; its activation is kept. */
void dn_segment_take (struct dn_build *build, struct dn_segment *segment, int level);

/* The end of a head: dropout of whole channels, a 1x1 convolution to classes=,
 * interpolation to the size of the image, loss. The cursor is left on the classes
 * before the interpolation.
 */
void dn_segment_end (struct dn_build *build, const struct dn_segment *segment);

/* The same without dropout. */
void dn_segment_loss (struct dn_build *build, const struct dn_segment *segment);

/* Interpolate to the size of 'other'. */
void dn_segment_resize (struct dn_build *build, const struct dn_shape *other);

/* Heads that weigh positions, channels or classes with each other. */
void dn_segment_ann (struct dn_build *build, struct dn_segment *segment);
void dn_segment_ccnet (struct dn_build *build, struct dn_segment *segment);
void dn_segment_danet (struct dn_build *build, struct dn_segment *segment);
void dn_segment_dnlnet (struct dn_build *build, struct dn_segment *segment);
void dn_segment_emanet (struct dn_build *build, struct dn_segment *segment);
void dn_segment_encnet (struct dn_build *build, struct dn_segment *segment);
void dn_segment_gcnet (struct dn_build *build, struct dn_segment *segment);
void dn_segment_nonlocal (struct dn_build *build, struct dn_segment *segment);
void dn_segment_ocrnet (struct dn_build *build, struct dn_segment *segment);
void dn_segment_psanet (struct dn_build *build, struct dn_segment *segment);

/* The second part of object context, on 'from', after a first head whose classes are at
 * the cursor.
 */
void dn_segment_add_objects (struct dn_build *build,
                             struct dn_segment *segment,
                             const struct dn_shape *from);

#endif
