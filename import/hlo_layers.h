/* hlo_layers.h - an HLO module as the layers of a sidecar
 *
 * In: a parsed module. Out: products and convolutions with their shapes per sample, all
 * other kernels as the bytes that they move, and the keys of the specification that the
 * module shows. A training step is not changed.
 *
 * Work that all samples share (gradients of weights, the optimizer) is counted at the
 * module's batch and divided by it. Collectives between devices are left out: the
 * predictor adds the communication of a job on several devices.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_HLO_LAYERS_H
#define DN_HLO_LAYERS_H

#include "graph/sidecar.h"
#include "import/hlo_cost.h"
#include "import/hlo_entry.h"

struct dn_hlo_summary {
    double flops;    /* of the whole batch, as XLA counts them */
    double products; /* of these, in matrix products and convolutions */
    double kernels;  /* that run; their layers are merged */
    double bytes;    /* that they move, products included */
    double replicas; /* devices that the module's collectives join; 1 */
    double batch;
    double params;
    int instructions;
    int computations;
    int unknown_trips; /* loops assumed to run once */
    int unknown_calls; /* custom calls of which only the bytes are known */
    bool step;
    bool optimised; /* the fusions are the module's, not estimated */
};

/* Fill the layers of 'sidecar' and the unset keys of its specification. 'batch' 0: find
 * it. -1 with 'err' and 'sidecar' unchanged.
 */
int dn_hlo_layers (const struct dn_hlo *module,
                   enum dn_hlo_pass pass,
                   double batch,
                   struct dn_sidecar *sidecar,
                   struct dn_hlo_summary *summary,
                   struct dn_err *err);

#endif
