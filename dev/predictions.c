/* predictions.c - a table of runs with what was predicted for each, as CSV
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predictions.h"

#include <string.h>

#include "output/csv_cell.h"
#include "output/show.h"

static const char *const columns[] = {"predicted_step_ms",
                                      "predicted_step_ms_p95",
                                      "predicted_mem_gb",
                                      "predicted_power_w",
                                      "confidence",
                                      "skipped_reason"};

static bool is_ours (const char *name)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (columns); i++)
        if (strcmp (columns[i], name) == 0)
            return true;
    return false;
}

int dn_predictions_open (struct dn_predictions *predictions,
                         const char *path,
                         struct dn_err *err)
{
    return dn_replace_open (&predictions->out, path, err);
}

static void write_head (struct dn_predictions *predictions, const struct dn_row *row)
{
    for (int i = 0; i < row->n_columns; i++)
        if (!is_ours (row->names[i])) {
            dn_csv_cell (predictions->out.file, row->names[i]);
            fputc (',', predictions->out.file);
        }
    for (size_t i = 0; i < DN_N_ELEMENTS (columns); i++)
        fprintf (predictions->out.file, "%s%s", i > 0 ? "," : "", columns[i]);
    fputc ('\n', predictions->out.file);
}

void dn_predictions_add (struct dn_predictions *predictions,
                         const struct dn_row *row,
                         const struct dn_row_result *result)
{
    const struct dn_estimate *estimate = &result->estimate;
    FILE *file = predictions->out.file;

    if (!predictions->begun)
        write_head (predictions, row);
    predictions->begun = true;
    for (int i = 0; i < row->n_columns; i++)
        if (!is_ours (row->names[i])) {
            dn_csv_cell (file, row->values[i]);
            fputc (',', file);
        }
    if (result->predicted)
        fprintf (file,
                 "%.6g,%.6g,%.6g,%.4g,%.3g,",
                 estimate->step_s.p50 * 1000,
                 dn_shown_upper (estimate->step_s) * 1000,
                 result->memory.p50 / DN_GIB,
                 estimate->power_w,
                 estimate->confidence);
    else
        fputs (",,,,,", file);
    dn_csv_cell (file, result->reason);
    fputc ('\n', file);
}

int dn_predictions_finish (struct dn_predictions *predictions, struct dn_err *err)
{
    return dn_replace_finish (&predictions->out, err);
}

void dn_predictions_free (struct dn_predictions *predictions)
{
    if (predictions)
        dn_replace_free (&predictions->out);
}
