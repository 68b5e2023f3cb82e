/* runs.c - fuzz target: a table of measured runs
 *
 * Attack surface: CSV, with many cells that users wrote. Every row is evaluated,
 * learned from, and read as a run of the site. The table is read in two pieces and in
 * one, with the same result.
 *
 * Aims at: learn/table.c learn/run_spec.c learn/evaluate.c
 * learn/runs.c learn/score.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"

#include "../unit/scene.h"
#include "learn/evaluate.h"
#include "learn/runs.h"
#include "tests/unit/networks.h"

struct reader {
    struct dn_evaluation evaluation;
    struct dn_runs runs;
    int64_t n_rows;
    size_t n_bytes; /* of all cells */
};

static void check_run (const struct dn_row *row, const struct dn_run_tables *tables)
{
    dn_cleanup (dn_run_case_free) struct dn_run_case found = {.device = NULL};
    const struct dn_run *run = &found.run;
    struct dn_err err = {0};

    if (dn_run_check (row, &err) < 0
        || dn_run_case_read (row, DN_RUN_JUDGE, tables, &found, &err) < 0)
        expect_message (&err);
    else
        expect (isfinite (dn_run_known (run->step_ms))
                    && isfinite (dn_run_known (run->peak_mem_gb))
                    && isfinite (dn_run_known (run->power_w))
                    && isfinite (dn_run_known (run->cores_per_gpu)),
                "a measured value");
}

static int count_row (const struct dn_row *row, void *context, struct dn_err *err)
{
    struct reader *reader = context;

    (void) err;
    reader->n_rows++;
    for (int i = 0; i < row->n_columns; i++)
        reader->n_bytes += strlen (row->values[i]);
    return 0;
}

static int use_row (const struct dn_row *row, void *context, struct dn_err *err)
{
    struct reader *reader = context;
    struct dn_row_result result = {.predicted = false};

    count_row (row, context, err);
    if (dn_evaluation_add (&reader->evaluation, row, &result, err) < 0
        || dn_runs_add (&reader->runs, row, err) < 0)
        return -1;
    if (result.predicted)
        expect (isfinite (result.estimate.step_s.p50), "a step time");
    else
        expect (is_printable (result.reason), "a reason");
    check_run (row, &reader->runs.tables);
    return 0;
}

/* Read 'size' bytes, the first 'first' of them in a separate piece. */
static int read_table (struct dn_table *table, struct dn_span text, size_t first)
{
    struct dn_err err = {0};

    if ((first > 0 && dn_table_feed (table, text.text, first, &err) < 0)
        || (text.len > first
            && dn_table_feed (table, text.text + first, text.len - first, &err) < 0)
        || dn_table_feed (table, NULL, 0, &err) < 0) {
        expect_message (&err);
        return -1;
    }
    return 0;
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static struct dn_site *site;
    struct dn_span text = {(const char *) data, size};
    struct reader whole = {.n_rows = 0};
    struct reader pieces = {.n_rows = 0};
    struct dn_table *table;
    int rc;

    if (!site)
        site = scene_site ("");
    whole.runs = dn_runs_start (4, 1);
    whole.runs.tables =
        (struct dn_run_tables){&site->catalogue, &site->datasets, shipped_networks ()};
    whole.evaluation = (struct dn_evaluation){
        .predictor = dn_site_predictor (site),
        .rules = &site->rules,
        .tables = {&site->catalogue, &site->datasets, &site->networks},
    };
    table = dn_table_new (use_row, &whole);
    rc = read_table (table, text, 0);
    dn_table_free (table);
    expect (whole.evaluation.n_rows
                == whole.evaluation.n_predicted + whole.evaluation.n_skipped,
            "rows");
    if (rc == 0) {
        table = dn_table_new (count_row, &pieces);
        expect (read_table (table, text, size / 2) == 0, "not in pieces");
        expect (pieces.n_rows == whole.n_rows && pieces.n_bytes == whole.n_bytes,
                "other rows in pieces");
        dn_table_free (table);
    }
    dn_evaluation_free (&whole.evaluation);
    dn_runs_free (&whole.runs);
    return 0;
}
