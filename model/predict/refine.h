/* refine.h - the white box and what was learned, for one run on several devices
 *
 * The one way to a prediction: plugin and command line call dn_predict_devices ().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_REFINE_H
#define DN_REFINE_H

#include "base/deadline.h"
#include "predict/bundle.h"
#include "predict/predict.h"

/* What a site predicts with. */
struct dn_predictor {
    const struct dn_constants *constants;
    const struct dn_bundle *bundle; /* NULL: the white box alone */
    /* What the bundle was made with, for features; NULL: those that ship. */
    const struct dn_constants *shipped;
    const struct dn_deadline *deadline; /* NULL: none */
};

/* Predict the run of 'graph' as 'spec' describes it on each of 'n_devices' devices. All
 * else as dn_predict (). Return 0, or -1 with 'err' when the deadline has passed or
 * a residual cannot be told; the estimates mean nothing then: the bundle's bounds hold
 * for what its residuals have corrected, not for the white box.
 */
int dn_predict_devices (const struct dn_predictor *predictor,
                        const struct dn_spec *spec,
                        const struct dn_graph *graph,
                        const struct dn_device *const devices[],
                        int n_devices,
                        double cpus_per_gpu,
                        struct dn_estimate estimates[],
                        struct dn_err *err);

/* The kind of network under which a bundle keeps its bounds: "conv", "recurrent",
 * "attention" or "other", by what most of the FLOPs are spent on.
 */
const char *dn_network_kind (const struct dn_graph *graph);

#endif
