/* evaluate.h - compare predictions with measured runs
 *
 * In: rows that are measured runs (run_spec.h). Out: the figures of 'dnnest
 * evaluate' (dnnest-dev(1)). A metric whose cell is empty is left out. Memory is
 * bounded (score.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_EVALUATE_H
#define DN_EVALUATE_H

#include "learn/run_spec.h"
#include "learn/score.h"
#include "policy/policy.h"
#include "predict/predict.h"

/* The reasons of the first skipped rows are kept; further rows are only counted. */
#define DN_SKIPPED_MAX 1000

struct dn_skipped {
    int64_t line;
    char reason[DN_ERR_TEXT_MAX];
};

/* What is predicted and measured. */
enum dn_metric {
    DN_METRIC_STEP_TIME,
    DN_METRIC_GPU_MEMORY,
    DN_METRIC_POWER,
    DN_N_METRICS
};

extern const struct dn_names dn_metric_names;

/* What the rows are grouped by. */
enum dn_grouping {
    DN_BY_ALL, /* one group, "all" */
    DN_BY_GPU,
    DN_BY_MODEL,
    DN_BY_GROUP, /* the table's own column */
    DN_BY_SOURCE,
    DN_BY_PRECISION,
    DN_N_GROUPINGS
};

extern const struct dn_names dn_grouping_names;

struct dn_evaluation {
    struct dn_predictor predictor; /* borrowed, as are the next three */
    const struct dn_rules *rules;
    struct dn_run_tables tables;
    const struct dn_people *people; /* knows the users of runs; NULL: none is known */
    int64_t n_rows;
    int64_t n_predicted;
    int64_t n_skipped;
    struct dn_skipped *skipped; /* the first DN_SKIPPED_MAX; owned */
    struct dn_score scores[DN_N_METRICS][DN_N_GROUPINGS];
    struct dn_score white_box; /* the step time without the residual, all rows */
    int64_t n_judged;          /* rows that state whether the run fitted */
    int64_t n_oom;             /* those of them that did not fit */
    int64_t n_false_fit;       /* predicted to fit (95 % bound), did not fit */
    int64_t n_false_no_fit;    /* predicted not to fit (median), did fit */
    int64_t n_false_move;      /* the same two by the policy's rule, which ... */
    int64_t n_false_stay;      /* ... adds its head room to the bound */
};

/* The prediction of one row, for callers that print it. */
struct dn_row_result {
    bool predicted;
    char reason[DN_ERR_TEXT_MAX]; /* why there is no prediction */
    struct dn_estimate estimate;
    struct dn_range memory;        /* counted as the row counts it (mem_metric) */
    double measured[DN_N_METRICS]; /* in the units of the table; 0: not measured */
};

/* NULL-safe. */
void dn_evaluation_free (struct dn_evaluation *evaluation);

/* Predict one row and add it. A row that cannot be read or predicted is skipped with
 * its reason and is no error. -1 with DN_E_NOMEM, or with DN_E_SYNTAX if the table has
 * no column spec or gpu.
 */
int dn_evaluation_add (struct dn_evaluation *evaluation,
                       const struct dn_row *row,
                       struct dn_row_result *result,
                       struct dn_err *err);

#endif
