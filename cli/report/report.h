/* report.h - what 'dnnest report' shows, and its forms
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_REPORT_H
#define DN_REPORT_H

#include <stdio.h>

#include "jobs/worth/own_runs.h"
#include "jobs/worth/sums.h"
#include "output/grid.h"
#include "output/show.h"

/* Rows of a table of groups, and users per kind of waste. */
#define DN_REPORT_ROWS 20
#define DN_REPORT_WIDE 5

/* Applications of --me. */
#define DN_REPORT_APPS_MAX 1000

struct dn_report {
    const char *store;   /* borrowed */
    const char *cluster; /* "" unless one was asked for */
    int64_t since_s;     /* 0: all */
    int64_t until_s;
    int64_t now_s;
    bool me;
    bool prices; /* money is known */
    /* Idle GPUs now that have too few CPUs or too little memory beside them; DN_UNSET
     * without a snapshot. */
    int64_t stranded_cpus;
    int64_t stranded_mem;
    struct dn_sums *sums;
    /* of --me, newest use is not sorted: in the order of applications; owned */
    struct dn_own_app *apps;
    int n_apps;
    FILE *page; /* that tables are written into; NULL: stdout */
};

/* "1,234", "12.3", "0.25"; "-" where it is not finite. */
struct dn_shown dn_report_number (double value);

/* "94.2 %" of a share; "-" where it is not finite. */
struct dn_shown dn_report_share (double share);

/* a / b, NaN where b is 0. */
double dn_report_ratio (double a, double b);

/* Median error of predictions as a share: exp (median |ln|) - 1. NaN without. */
double dn_report_error (struct dn_sums_judged *judged);

/* For people: what a group of jobs, a quantity, a waste, an effect is. */
const char *dn_report_quantity (enum dn_measure quantity);
const char *dn_report_waste (enum dn_waste waste);
const char *dn_report_effect (enum dn_effect_of effect);

/* Call 'take' with the name and value of every figure of a part, in the order of the
 * CSV table.
 */
typedef void (*dn_report_figure_f) (void *to, const char *name, double value);
void dn_report_figures (const struct dn_sums_part *part,
                        dn_report_figure_f take,
                        void *to);

/* The tables that a terminal and the page have. Each returns an enum dn_exit.
 */
int dn_report_amounts (const struct dn_report *report);
int dn_report_waits (const struct dn_report *report);
int dn_report_effects (const struct dn_report *report);
int dn_report_kept (const struct dn_report *report);
int dn_report_wasted (const struct dn_report *report, enum dn_waste waste);
int dn_report_idle (const struct dn_report *report);
int dn_report_groups (const struct dn_report *report);

/* The forms; on stdout. Each returns an enum dn_exit, and sorts groups. */
int dn_report_text (struct dn_report *report);
int dn_report_json (struct dn_report *report);
int dn_report_csv (struct dn_report *report);

/* One page without scripts or other files. -1 with 'err'. */
int dn_report_html (struct dn_report *report, const char *path, struct dn_err *err);

#endif
