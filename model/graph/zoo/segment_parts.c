/* segment_parts.c - what the heads of segmenters share: levels, sizes, losses
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "segment.h"

void dn_segment_take (struct dn_build *build, struct dn_segment *segment, int level)
{
    build->at = segment->levels[level];
    dn_build_keep (build);
    segment->levels[level].kept = true;
}

void dn_segment_resize (struct dn_build *build, const struct dn_shape *other)
{
    struct dn_op op = {.kind = DN_OP_COPY, .in = dn_shape_elements (&build->at)};

    build->at.dim[0] = other->dim[0];
    build->at.dim[1] = other->dim[1];
    build->at.kept = false;
    op.out = dn_shape_elements (&build->at);
    dn_build_op (build, &op);
}

void dn_segment_loss (struct dn_build *build, const struct dn_segment *segment)
{
    struct dn_shape classes;

    dn_build_conv (build, segment->classes, 1, 1, 0, 1, true);
    classes = build->at;
    dn_segment_resize (build, &segment->image);
    dn_build_loss (build);
    build->at = classes;
}

void dn_segment_end (struct dn_build *build, const struct dn_segment *segment)
{
    dn_build_elementwise (build, 1);
    dn_segment_loss (build, segment);
}
