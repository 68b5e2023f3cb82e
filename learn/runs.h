/* runs.h - the measured runs that are learned from
 *
 * In: rows that are measured runs (run_spec.h). A 'censored' run was killed at its
 * limit, so its step_ms is a lower limit of the step time. Out: features and ln
 * (measured / white box) of each run, with the constants that ship. Memory is bounded:
 * of a table longer than 'max' rows an even random sample is kept (reservoir), drawn by
 * the seed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_RUNS_H
#define DN_RUNS_H

#include "learn/run_spec.h"
#include "learn/table.h"
#include "predict/bundle.h"

/* 350 bytes each. More rows do not make better trees: rows of one model are similar. */
#define DN_RUNS_MAX 100000

/* What distinguishes runs, and what they are left out by. */
enum dn_label {
    DN_LABEL_MODEL,  /* the table's column 'group', else the model's name */
    DN_LABEL_SOURCE, /* the table's column 'source', else the user */
    DN_LABEL_GPU,
    DN_LABEL_CODE,   /* the family of the source: sources that run the same code */
    DN_LABEL_FAMILY, /* the family of the model */
    DN_LABEL_KIND,   /* of network, and its stack (predict/features.h) */
    DN_LABEL_STACK,
    DN_N_LABELS
};

/* Names of one label in order of first occurrence. */
struct dn_label_names {
    char (*names)[DN_NAME_MAX]; /* owned */
    int n;
};

/* What is learned from one run. */
struct dn_example {
    float features[DN_N_FEATURES];
    double ratio[DN_N_QUANTITIES]; /* ln (measured / white box); NaN: not measured */
    double doubt;                  /* variance of what the job did not state */
    double memory_sigma;           /* spread of the memory that the white box states */
    int label[DN_N_LABELS];
    const char *kind; /* of network; static */
    bool censored;
};

struct dn_runs {
    struct dn_example *runs; /* owned */
    int n;
    int size;
    int max;
    struct dn_run_tables tables;        /* must be set before a row is added */
    const struct dn_families *families; /* NULL: every value is a family; borrowed */
    uint64_t state;                     /* of the random numbers */
    int64_t n_seen;                     /* rows that are usable */
    int64_t n_rows;                     /* all of them */
    int64_t n_censored;
    struct dn_label_names labels[DN_N_LABELS];
    char reason[DN_ERR_TEXT_MAX]; /* why the first skipped row was skipped */
    int64_t reason_line;
};

struct dn_runs dn_runs_start (int max, uint64_t seed);
void dn_runs_free (struct dn_runs *runs);

/* Add a row. An unusable row is counted and is no error. -1 with DN_E_NOMEM, or with
 * DN_E_SYNTAX if the table has no column spec or gpu.
 */
int dn_runs_add (struct dn_runs *runs, const struct dn_row *row, struct dn_err *err);

/* The indices of the runs in which a quantity was measured, owned by the caller. NULL
 * without memory.
 */
int *dn_runs_with (const struct dn_runs *runs, enum dn_quantity quantity, int *n);

#define DN_FAMILIES_MAX 256

/* One pattern: '*' matches any text, also none. */
struct dn_family {
    char column[16];
    char pattern[DN_NAME_MAX];
    char name[DN_NAME_MAX];
};

/* Rows of sources that share code, and of models that are alike, are not independent:
 * to judge a prediction on rows that nothing has seen, all of a family are left out
 * (learn/data/families.csv). The table has the columns 'column' (source or group),
 * 'pattern' and 'family'. The first pattern of the column that matches counts; the
 * family '=' is the value itself.
 */
struct dn_families {
    struct dn_family rows[DN_FAMILIES_MAX];
    int n;
};

/* A dn_row_f, with the families as context: add a row. -1 with 'err' where a cell is
 * missing or too long, or if there are too many rows.
 */
int dn_families_add (const struct dn_row *row, void *context, struct dn_err *err);

/* The family of a value of a column: 'value' itself if no pattern matches. Valid as
 * long as 'families' and 'value'.
 */
const char *dn_family_of (const struct dn_families *families,
                          const char *column,
                          const char *value);

#endif
