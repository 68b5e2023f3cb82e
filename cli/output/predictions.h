/* predictions.h - a table of runs with what was predicted for each, as CSV
 *
 * The file appears under its name when it is whole, and not before: until then it is a
 * temporary one beside it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PREDICTIONS_H
#define DN_PREDICTIONS_H

#include "learn/evaluate.h"
#include "replace.h"

struct dn_predictions {
    struct dn_replace out;
    bool begun; /* the head is written */
};

/* Begin the file 'path'. Free with dn_predictions_free (). */
int dn_predictions_open (struct dn_predictions *predictions,
                         const char *path,
                         struct dn_err *err);

/* Add a row: its own columns, then ours. Columns of the table that are named as ours
 * are left out. An error of writing is kept for dn_predictions_finish ().
 */
void dn_predictions_add (struct dn_predictions *predictions,
                         const struct dn_row *row,
                         const struct dn_row_result *result);

/* Put the file in its place. */
int dn_predictions_finish (struct dn_predictions *predictions, struct dn_err *err);

/* Take away what is not finished. NULL-safe. */
void dn_predictions_free (struct dn_predictions *predictions);

#endif
