/* run_spec.h - what a measured run was: its device, specification and graph
 *
 * In: a run (measured_run.h), whose spec is metadata, or @FILE, a sidecar; and, where
 * there is one, its sidecar: the JSON, which goes before the file and below the
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

/* The text of the run's sidecar, to be freed by the caller, or NULL if it has none. -1
 * with 'err' where it cannot be had.
 */
int dn_run_sidecar (const struct dn_run *run, char **text, struct dn_err *err);

/* Read the specification of a run; the caller frees the graph. -1 with the reason why
 * it cannot be told.
 */
int dn_run_spec (const struct dn_run *run,
                 const struct dn_datasets *datasets,
                 struct dn_spec *spec,
                 struct dn_graph *graph,
                 struct dn_err *err);

/* Can the device run the precision? -1 with 'err'. */
int dn_run_supported (const struct dn_device *device,
                      const struct dn_spec *spec,
                      struct dn_err *err);

/* A run with all that a prediction of it needs. */
struct dn_run_case {
    struct dn_run run;
    const struct dn_device *device;
    struct dn_spec spec;
    struct dn_graph graph; /* owned */
};

/* Read a row. -1 with the reason why it cannot be predicted. Freed with
 * dn_run_case_free () in both cases.
 */
int dn_run_case_read (const struct dn_row *row,
                      enum dn_run_use use,
                      const struct dn_catalogue *catalogue,
                      const struct dn_datasets *datasets,
                      struct dn_run_case *measured,
                      struct dn_err *err);
void dn_run_case_free (struct dn_run_case *measured);

#endif
