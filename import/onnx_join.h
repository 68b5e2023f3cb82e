/* onnx_join.h - copies of ONNX that are no kernel, or part of another
 *
 * In: the shapes for two and for three samples, and the fusion. Out: more nodes that
 * are hidden, and the elements of those that count with another. Nodes that compute are
 * not changed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ONNX_JOIN_H
#define DN_ONNX_JOIN_H

#include "import/onnx_fuse.h"

/* 'large' equals 'small' where the number of samples is fixed. */
void dn_onnx_join (const struct dn_onnx_run *small,
                   const struct dn_onnx_run *large,
                   struct dn_onnx_fusion *fusion);

#endif
