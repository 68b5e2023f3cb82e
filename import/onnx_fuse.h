/* onnx_fuse.h - nodes of ONNX that form one operator of a framework
 *
 * Exporters split layers: normalisation before opset 17 into nine nodes, GELU before
 * opset 20 into five, a linear layer into product and sum. Each runs as one kernel.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ONNX_FUSE_H
#define DN_ONNX_FUSE_H

#include "import/onnx_shape.h"

#define DN_ONNX_FUSED_CONSTANTS_MAX 2

/* The result of fusion for one node. */
struct dn_onnx_fused {
    enum dn_layer_kind kind; /* the kind that it represents; unknown: its own */
    bool hidden;             /* it is a part of another node */
    int source;              /* the value that is read instead of its inputs, or -1 */
    int constants[DN_ONNX_FUSED_CONSTANTS_MAX]; /* learned, from hidden nodes */
    int n_constants;
    double more;  /* elements of copies that count with this one */
    bool narrow;  /* all its inputs come from one array: counted once */
    int scores;   /* attention: the product of query and key */
    bool causal;  /* attention: its mask is a triangle */
    bool dropout; /* attention: of the probabilities */
    bool moved;   /* attention: transposes before and after it are hidden */
};

/* All owned. */
struct dn_onnx_fusion {
    struct dn_onnx_fused *nodes; /* one per node of the file */
    int *maker;                  /* of a value: the node that computes it, or -1 */
    int *uses;                   /* how many nodes read it, and the results */
    int *user;                   /* the last of them, or -1 */
    int *source; /* the value that it is computed from element by element */
};

int dn_onnx_fuse (const struct dn_onnx_run *run,
                  struct dn_onnx_fusion *fusion,
                  struct dn_err *err);
void dn_onnx_fusion_free (struct dn_onnx_fusion *fusion);

#endif
