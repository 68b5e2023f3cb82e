/* run_spec.h - the device, specification and graph of a measured run
 *
 * In: a run (measured_run.h). Its spec is metadata or @FILE, a sidecar. It may also
 * have a sidecar column, whose JSON overrides the file and is overridden by the
 * metadata. Out: the device, the specification and the graph.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_RUN_SPEC_H
#define DN_RUN_SPEC_H

#include "graph/sidecar.h"
#include "hardware/hardware.h"
#include "learn/measured_run.h"

/* The run's device in the catalogue, or NULL with 'err'. */
const struct dn_device *dn_run_device (const struct dn_run *run,
                                       const struct dn_catalogue *catalogue,
                                       struct dn_err *err);

/* Read the specification of a run. The caller frees the graph. -1 with 'err', the
 * reason why the specification is unknown.
 */
int dn_run_spec (const struct dn_run *run,
                 const struct dn_datasets *datasets,
                 const struct dn_networks *networks,
                 struct dn_spec *spec,
                 struct dn_graph *graph,
                 struct dn_err *err);

/* A run with all that is needed to predict it. */
struct dn_run_case {
    struct dn_run run;
    const struct dn_device *device;
    struct dn_spec spec;
    struct dn_graph graph; /* owned */
};

/* Read a row. -1 with 'err', the reason why it cannot be predicted. Freed with
 * dn_run_case_free () in both cases.
 */
int dn_run_case_read (const struct dn_row *row,
                      enum dn_run_use use,
                      const struct dn_catalogue *catalogue,
                      const struct dn_datasets *datasets,
                      const struct dn_networks *networks,
                      struct dn_run_case *measured,
                      struct dn_err *err);
void dn_run_case_free (struct dn_run_case *measured);

#endif
