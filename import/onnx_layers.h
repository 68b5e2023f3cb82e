/* onnx_layers.h - the layers of an ONNX graph
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ONNX_LAYERS_H
#define DN_ONNX_LAYERS_H

#include "graph/sidecar.h"
#include "import/onnx_shape.h"

/* What an import reports besides its layers. */
struct dn_onnx_summary {
    double params;
    int n_nodes;
    int n_unknown;
    char unknown[DN_NAME_MAX]; /* the first unknown operator */
    double samples;            /* of a file with a fixed batch; 0: any number */
};

/* Fill sidecar->layers of the forward pass in 'file', with a loss after each result. -1
 * with 'err' naming the node.
 */
int dn_onnx_layers (const struct dn_onnx *file,
                    const struct dn_onnx_sizes *sizes,
                    struct dn_sidecar *sidecar,
                    struct dn_onnx_summary *summary,
                    struct dn_err *err);

#endif
