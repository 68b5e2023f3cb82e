/* onnx_join.h - copies of ONNX that are none, or a part of another
 *
 * In: the shapes of two and of three samples, and what was fused. Out: more nodes that
 * are hidden, and the elements of those that count with another. Never: nodes that
 * compute.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ONNX_JOIN_H
#define DN_ONNX_JOIN_H

#include "import/onnx_fuse.h"

/* 'large' is 'small' where the number of samples is fixed. */
void dn_onnx_join (const struct dn_onnx_run *small,
                   const struct dn_onnx_run *large,
                   struct dn_onnx_fusion *fusion);

#endif
