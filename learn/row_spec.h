/* row_spec.h - the run that a row of a table describes
 *
 * In: a row with the column spec: metadata, or @FILE, a sidecar; and, where there is
 * one, the column sidecar: its JSON, which goes before the file and below the metadata.
 * Out: the specification and the graph.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ROW_SPEC_H
#define DN_ROW_SPEC_H

#include "graph/sidecar.h"
#include "learn/table.h"

/* The text of the row's sidecar, to be freed by the caller, or NULL if it has none. -1
 * with 'err' where it cannot be had.
 */
int dn_row_sidecar (const struct dn_row *row, char **text, struct dn_err *err);

/* Read the run of a row; the caller frees the graph. -1 with the reason why it cannot
 * be told. The row must have the column spec.
 */
int dn_row_spec (const struct dn_row *row,
                 const struct dn_datasets *datasets,
                 struct dn_spec *spec,
                 struct dn_graph *graph,
                 struct dn_err *err);

#endif
