/* white.h - descriptions on a device, as the white box predicts them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TEST_WHITE_H
#define DN_TEST_WHITE_H

#include "graph/sidecar.h"
#include "scene.h"

/* A description that is read, resolved and built, on a device. The graph is kept for
 * the test (unit_keep ()).
 */
struct white {
    const struct dn_site *site; /* scene_plain () */
    struct dn_spec spec;
    struct dn_graph graph;
    const struct dn_device *device;
    struct dn_case c;            /* of the last white_case () */
    struct dn_estimate estimate; /* of white_run () */
};

/* Devices of the scene, for 'device' below. */
#define V100 0
#define A100 1

/* -1 with 'err': the description is wrong. */
int white_try (const char *text, int device, struct white *white, struct dn_err *err);

/* The same, or the test fails. */
struct white white_of (const char *text, int device);

/* The same, with its estimate. */
struct white white_run (const char *text, int device);
struct white white_run_on (const char *text, const struct dn_device *device);

/* A sidecar, whose layers are kept for the test, and the graph of its layers and keys,
 * kept, too; or the test fails.
 */
struct dn_sidecar white_sidecar (const char *text);
struct dn_graph white_graph (struct dn_sidecar *sidecar);

/* A sidecar with further keys, on the A100, with its estimate. */
struct white white_described (const char *text, const char *keys);

/* What the predictor takes, valid until the next call with that 'white'. */
const struct dn_case *white_case (struct white *white, double cpus_per_gpu);

/* The estimate of 'text'; its device is not known. On a device of the test's own: */
struct dn_estimate white_estimate (const char *text, int device, double cpus_per_gpu);
struct dn_estimate white_estimate_on (const char *text,
                                      const struct dn_device *device,
                                      double cpus_per_gpu);

#endif
