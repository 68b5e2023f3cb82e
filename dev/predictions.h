/* predictions.h - a table of runs with what was predicted for each, as CSV
 *
 * The rows are written to a temporary file in the same directory, which is renamed when
 * it is complete.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PREDICTIONS_H
#define DN_PREDICTIONS_H

#include "learn/evaluate.h"
#include "replace.h"

struct dn_predictions {
    struct dn_replace out;
    bool begun; /* the header line is written */
};

/* Begin the file 'path'. Free with dn_predictions_free (). */
int dn_predictions_open (struct dn_predictions *predictions,
                         const char *path,
                         struct dn_err *err);

/* Add a row: its own columns, then ours. Columns of the table with the names of ours
 * are left out. dn_predictions_finish () reports write errors.
 */
void dn_predictions_add (struct dn_predictions *predictions,
                         const struct dn_row *row,
                         const struct dn_row_result *result);

/* Rename the file to its name. */
int dn_predictions_finish (struct dn_predictions *predictions, struct dn_err *err);

/* Remove an unfinished file. NULL-safe. */
void dn_predictions_free (struct dn_predictions *predictions);

#endif
