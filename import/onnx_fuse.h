/* onnx_fuse.h - nodes of ONNX that are one operator of a framework
 *
 * Exporters take layers apart: normalisation before set 17 into nine nodes, GELU before
 * set 20 into five, a linear layer into product and sum. Each runs as one kernel.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ONNX_FUSE_H
#define DN_ONNX_FUSE_H

#include "import/onnx_shape.h"

#define DN_ONNX_FUSED_CONSTANTS_MAX 2

/* What became of one node. */
struct dn_onnx_fused {
    enum dn_layer_kind kind; /* what it stands for now; unknown: itself */
    bool hidden;             /* it is a part of another node */
    int source;              /* the value that is read instead of its inputs, or -1 */
    int constants[DN_ONNX_FUSED_CONSTANTS_MAX]; /* learned, from hidden nodes */
    int n_constants;
    double more; /* elements of copies that are a part of this one */
    bool narrow; /* all that it reads is made of one array: counted once */
};

/* All owned. */
struct dn_onnx_fusion {
    struct dn_onnx_fused *nodes; /* as many as the file has */
    int *maker;                  /* of a value: the node that computes it, or -1 */
    int *uses;                   /* how many nodes read it, and the results */
    int *user;                   /* the last of them, or -1 */
    int *source;                 /* the value that it is made of element by element */
};

int dn_onnx_fuse (const struct dn_onnx_run *run,
                  struct dn_onnx_fusion *fusion,
                  struct dn_err *err);
void dn_onnx_fusion_free (struct dn_onnx_fusion *fusion);

#endif
