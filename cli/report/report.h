/* report.h - what 'dnnest report' shows, and its forms
 *
 * All forms begin with the jobs that ended worse than their request would have let them
 * (jobs/worth/harm.h), then compare with the control group, then say what others got
 * (jobs/worth/freed.h), and how predictions held. Users have numbers, unless their
 * names were asked for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_REPORT_H
#define DN_REPORT_H

#include <stdio.h>

#include "jobs/worth/freed.h"
#include "jobs/worth/harm.h"
#include "jobs/worth/own_runs.h"
#include "jobs/worth/sums.h"
#include "output/grid.h"
#include "output/show.h"
#include "policy/rules.h"

/* Rows of a table of groups, of harmed jobs on a terminal, and in a page; users per
 * kind of waste.
 */
#define DN_REPORT_ROWS   20
#define DN_REPORT_HARMED 1000
#define DN_REPORT_WIDE   5

/* Applications of --me. */
#define DN_REPORT_APPS_MAX 1000

struct dn_report {
    const char *store; /* borrowed */
    /* What the jobs are of: clusters and modes, "a, b"; the rules of the site now. */
    char clusters[DN_NAME_MAX * 4];
    bool modes[DN_N_MODES];
    const struct dn_rules *rules; /* borrowed */
    int64_t since_s;              /* 0: all */
    int64_t until_s;
    int64_t now_s;
    bool me;
    bool names;  /* of users */
    bool prices; /* money is known */
    /* Idle GPUs now that have too few CPUs or too little memory beside them; DN_UNSET
     * without a snapshot. */
    int64_t stranded_cpus;
    int64_t stranded_mem;
    struct dn_sums *sums;
    struct dn_harm *harm;
    struct dn_freed freed;
    /* of --me, newest use is not sorted: in the order of applications; owned */
    struct dn_own_app *apps;
    int n_apps;
    FILE *page; /* that tables are written into; NULL: stdout */
};

static inline struct dn_shown dn_report_count (int64_t count)
{
    return dn_show_number ((double) count);
}

/* a / b, NaN where b is 0. */
double dn_report_ratio (double a, double b);

/* Median error of predictions that are known as a share: exp (median |ln|) - 1. NaN
 * without. */
double dn_report_error (struct dn_sums_judged *judged);

/* Is anything known of that harm: could it be looked for, or could it happen to none?
 */
bool dn_report_looked (const struct dn_report *report, enum dn_harm_kind kind);

/* For people: "2 of 40", "0 of 40", "not known". */
struct dn_shown dn_report_harmed (const struct dn_report *report,
                                  enum dn_harm_kind kind);

/* Why it is not known of some, or of any; NULL: it is known of all. */
const char *dn_report_unknown (const struct dn_report *report, enum dn_harm_kind kind);

/* "killed at 02:00:00 of 10:00:00; ..." */
void dn_report_happened (const struct dn_harm_job *job, struct dn_buf *buf);

/* Why the GPU hours that others got are not known; NULL: they are. */
const char *dn_report_not_freed (const struct dn_report *report);

/* The name of a group, or of a user who has a number instead: "user 3". */
struct dn_report_name {
    char text[DN_NAME_MAX];
};
struct dn_report_name dn_report_name (const struct dn_report *report,
                                      const struct dn_sums_group *group,
                                      bool is_user);

/* "enforce, advise"; "Mode=enforce TimeLimit=auto ..." */
void dn_report_modes (const struct dn_report *report, struct dn_buf *buf);
void dn_report_rules (const struct dn_report *report, struct dn_buf *buf);

/* For people: what a harm, a quantity, a waste, an effect is. */
const char *dn_report_harm (enum dn_harm_kind kind);
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

/* Rows that the tables and JSON have, owned by the caller: the members of what is known
 * of predictions, applications with idle GPUs, and groups, at most so many.
 */
void dn_report_put_judged (struct json_object *row, struct dn_sums_judged *judged);
struct json_object *dn_report_idle_rows (const struct dn_report *report, int64_t most);
struct json_object *dn_report_group_rows (const struct dn_report *report, int64_t most);

/* The tables that a terminal and the page have. Each returns an enum dn_exit.
 */
int dn_report_harms (const struct dn_report *report);
int dn_report_harm_jobs (const struct dn_report *report);
int dn_report_judged (const struct dn_report *report);
int dn_report_freed (const struct dn_report *report);
int dn_report_amounts (const struct dn_report *report);
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
