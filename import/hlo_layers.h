/* hlo_layers.h - an HLO module as the layers of a sidecar
 *
 * In: a parsed module. Out: products and convolutions with their shapes per sample, all
 * other kernels as the bytes that they move, and the keys of the specification that the
 * module shows. A training step is taken as it is.
 *
 * What all samples share (gradients of weights, the optimizer) is counted at the
 * module's batch, a share of it per sample. Collectives between devices are left out:
 * the predictor knows what a job on several devices sends.
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
    double products; /* of those, of matrix products and convolutions */
    double kernels;  /* that run, layers of which are merged */
    double bytes;    /* that they move, products included */
    double replicas; /* devices that the module's collectives join; 1 */
    double batch;
    double params;
    int instructions;
    int computations;
    int unknown_trips; /* loops taken to run once */
    int unknown_calls; /* custom calls of which only the bytes are known */
    bool step;
    bool optimised; /* fusions are the module's own, not estimated */
};

/* Fill the layers of 'sidecar' and those keys of its specification that are not given.
 * 'batch' 0: to be found. -1 with 'err' and 'sidecar' as it was.
 */
int dn_hlo_layers (const struct dn_hlo *module,
                   enum dn_hlo_pass pass,
                   double batch,
                   struct dn_sidecar *sidecar,
                   struct dn_hlo_summary *summary,
                   struct dn_err *err);

#endif
