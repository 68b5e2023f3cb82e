/* calibrate.h - correct the predictions of all devices by a measurement on one
 *
 * In: what a probe measured on a device, and the predictions for that device and for
 * others. Out: the corrected estimates and the basis of each. Never: measuring.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_CALIBRATE_H
#define DN_CALIBRATE_H

#include "predict/whitebox.h"

/* What a probe measured. 0: unknown. */
struct dn_probed {
    const struct dn_device *device; /* NULL if unknown: no estimate is corrected */
    double step_s;
    double sigma;      /* of its logarithm */
    double confidence; /* 0..1 */
    double stall_s;    /* part of a step that waits for data */
    bool serial;       /* the computing process loads its data itself */
    double start_s;    /* until the steps were steady; -1 unknown */
    double gpu_mem;    /* bytes */
    double power_w;
};

/* What an estimate is based on. */
enum dn_basis {
    DN_BASIS_UNKNOWN,
    DN_BASIS_MEASURED,
    DN_BASIS_CHIP,   /* measured on the same chip, on another board */
    DN_BASIS_SCALED, /* measured on another device, scaled by the model */
    DN_BASIS_MODEL,  /* the model alone */
    DN_N_BASES
};

extern const struct dn_names dn_basis_names;

/* Correct 'estimate', the prediction for a device, by the measurement. 'own' is the
 * prediction for the measured device.
 */
enum dn_basis dn_calibrate (const struct dn_probed *measured,
                            const struct dn_constants *constants,
                            const struct dn_spec *spec,
                            const struct dn_estimate *own,
                            struct dn_estimate *estimate);

#endif
