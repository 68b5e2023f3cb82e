/* calibrate.h - predictions of all devices, corrected by a measurement on one
 *
 * In: what a probe has measured on a device, and what the predictor says of that and of
 * others. Out: the estimates with what can be concluded, and how. Never: what is
 * measured how.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_CALIBRATE_H
#define DN_CALIBRATE_H

#include "predict/whitebox.h"

/* What a probe has measured. 0: unknown. */
struct dn_probed {
    const struct dn_device *device; /* NULL unknown: nothing follows for any */
    double step_s;
    double sigma;      /* of its logarithm */
    double confidence; /* 0..1 */
    double stall_s;    /* of a step, in which it waits for data */
    bool serial;       /* the process that computes loads them itself */
    double start_s;    /* before the steps were steady; -1 unknown */
    double gpu_mem;    /* bytes */
    double power_w;
};

/* Where an estimate is from. */
enum dn_basis {
    DN_BASIS_UNKNOWN,
    DN_BASIS_MEASURED,
    DN_BASIS_CHIP,   /* measured on the same chip, on another board */
    DN_BASIS_SCALED, /* measured on another device, moved by the model */
    DN_BASIS_MODEL,  /* by the model alone */
    DN_N_BASES
};

extern const struct dn_names dn_basis_names;

/* Correct 'estimate', of a device, by what was measured; 'own' is what the predictor
 * says of the measured device.
 */
enum dn_basis dn_calibrate (const struct dn_probed *measured,
                            const struct dn_constants *constants,
                            const struct dn_spec *spec,
                            const struct dn_estimate *own,
                            struct dn_estimate *estimate);

#endif
