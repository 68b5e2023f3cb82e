/* run_spec.h - the device, specification and graph of a measured run
 *
 * In: a row of a CSV table (table.h), as struct dn_run, with a member for each column
 * that is read. Its spec is metadata or @FILE, a sidecar. It may also have a sidecar
 * column, whose JSON overrides the file and is overridden by the metadata. Out: the
 * device, the specification and the graph.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_RUN_SPEC_H
#define DN_RUN_SPEC_H

#include "graph/sidecar.h"
#include "hardware/hardware.h"
#include "learn/table.h"
#include "policy/scope.h"
#include "predict/estimate.h"

/* What the names in a row mean; borrowed. */
struct dn_run_tables {
    const struct dn_catalogue *catalogue;
    const struct dn_datasets *datasets;
    const struct dn_networks *networks;
};

/* Numbers are in the units of the columns, NaN or DN_UNSET where they are unknown.
 * Texts are borrowed from a row and valid until the next one is read, "" where they are
 * unknown.
 */
struct dn_run {
    const struct dn_row_files *files; /* that @FILE may name; NULL: none */
    const char *spec;                 /* metadata, or @FILE */
    const char *gpu;                  /* device of the catalogue */
    double step_ms;                   /* wall time of an optimizer step */
    double peak_mem_gb;               /* peak memory of one GPU [GiB] */
    double power_w;                   /* mean power of one GPU */
    double cores_per_gpu;             /* CPUs per GPU that the run had */
    const char *group;                /* application */
    const char *source;               /* where the figures are from */
    int64_t oom;                      /* 1: failed for lack of GPU memory */
    int64_t censored;       /* 1: killed at its limit, figures are at least these */
    const char *user;       /* who ran it: uid, name, or a hash of that */
    const char *sidecar;    /* JSON of the sidecar */
    const char *mem_metric; /* what peak_mem_gb counts: device, reserved, allocated */
};

/* Set all members to unknown. */
void dn_run_clear (struct dn_run *run);

/* Which cells must be readable: what was measured, at least 1e-9, and to learn the
 * flags, too. In the other columns, an unreadable cell is unknown.
 */
enum dn_run_use {
    DN_RUN_JUDGE,
    DN_RUN_LEARN
};

/* Check that the row has the columns that every run needs. -1 with DN_E_SYNTAX. */
int dn_run_check (const struct dn_row *row, struct dn_err *err);

/* Read a row. -1 with 'err', which names the first column whose cell cannot be read.
 * The other cells are read nevertheless.
 */
int dn_run_read (const struct dn_row *row,
                 enum dn_run_use use,
                 struct dn_run *run,
                 struct dn_err *err);

/* The user that a cell of that column names: a number, or the number of a name that
 * 'people' (NULL: none) knows; DN_UNSET where it is empty. Any other text has a
 * number of its own below DN_UNSET, which no user of the system has.
 */
int64_t dn_run_user (const char *text, const struct dn_people *people);

/* What the run's memory counts, by the first word of mem_metric, after "framework" if
 * that is there: "allocated", "reserved"; anything else is the memory of the device.
 */
enum dn_memory_count dn_run_memory_count (const struct dn_run *run);

/* The number; 0 if it is unknown. */
double dn_run_known (double value);

/* The run's device in the catalogue, or NULL with 'err'. */
const struct dn_device *dn_run_device (const struct dn_run *run,
                                       const struct dn_catalogue *catalogue,
                                       struct dn_err *err);

/* Read the specification of a run. The caller frees the graph. -1 with 'err', the
 * reason why the specification is unknown.
 */
int dn_run_spec (const struct dn_run *run,
                 const struct dn_run_tables *tables,
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
                      const struct dn_run_tables *tables,
                      struct dn_run_case *measured,
                      struct dn_err *err);
void dn_run_case_free (struct dn_run_case *measured);

#endif
