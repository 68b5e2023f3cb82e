/* onnx_attend.h - attention in ONNX: the nodes between two products become one operator
 *
 * Exporters write attention as a product, a scale, a mask, a softmax and a product,
 * with casts, dropout and guards between them. Whatever the spelling, the second
 * product becomes the operator, and the others are hidden. Where something learned is
 * added to the scores, such as relative positions, no fused kernel computes them, and
 * the nodes stay as they are.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ONNX_ATTEND_H
#define DN_ONNX_ATTEND_H

#include "import/onnx_fuse.h"

/* Mark the attentions in 'fusion', which dn_onnx_fuse () has filled. -1 with
 * DN_E_NOMEM.
 */
int dn_onnx_attend (const struct dn_onnx_run *run,
                    struct dn_onnx_fusion *fusion,
                    struct dn_err *err);

#endif
