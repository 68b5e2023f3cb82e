/* apps_build.h - the history of all applications, from the store of finished jobs
 *
 * In: finished jobs, in the order of their owners, applications and ends. Out: struct
 * dn_apps (predict/apps.h), one row per application, GPU type and number of GPUs. The
 * store is streamed: memory holds the newest runs of one owner, and the rows.
 *
 * Owners are users. Where the site shares histories by account, accounts are owners in
 * addition, of rows that may only widen a bound (predict/learned.h). No user narrows
 * the bound of another: only an owner's own jobs enter his rows, and the spread that is
 * taken before he has run an application often is that of his own other applications,
 * or the shipped one. An owner has at most DN_BUILD_OWNER_MAX rows, so no user
 * displaces the rows of another.
 *
 * A row of a user that the gate refuses is replaced by the law in force, or left out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_APPS_BUILD_H
#define DN_APPS_BUILD_H

#include "jobs/history/fit_apps.h"
#include "jobs/store.h"

/* Rows of one owner, the newest. */
#define DN_BUILD_OWNER_MAX 1000

/* The median that is predicted today, without history, for a job of another bundle [s];
 * NaN: it is not known.
 */
typedef double (*dn_build_base_f) (void *to, const struct dn_finished *job);

/* May the new row of an application be installed? Each of the newest runs of an
 * application of a user is predicted from those before it, as learning would have, and
 * beside it is what was predicted when it was submitted, which is what was in force. Is
 * the row worse, the one in force stays. Each application of a user is judged by
 * itself, so that no runs of others change what it gets.
 *
 * A run that was submitted without a prediction is compared with nothing; the bound
 * must hold as stated. With too few new runs nothing is judged: the row is installed,
 * since its bounds are wide.
 */

/* The newest fifth of the runs, within these numbers; before are two at least. */
#define DN_GATE_RUNS_MIN 3
#define DN_GATE_RUNS_MAX 5

/* How much worse the error may be, as a share of it and in addition, and how many more
 * runs may exceed the bound. Less is chance.
 */
#define DN_GATE_ERROR_SHARE 0.05
#define DN_GATE_ERROR_MORE  0.05
#define DN_GATE_BEYOND      1

/* How many of the runs without a prediction may exceed the bound. */
#define DN_GATE_BEYOND_ALONE 2

#define DN_GATE_QUANTILE 0.95

/* How well runs were predicted: means over applications, one vote each. */
struct dn_judged {
    int64_t votes;
    int64_t runs;
    double error;    /* of |ln (run time / predicted)|; NaN without runs */
    double coverage; /* share of runs within the 95 % bound; NaN without runs */
};

struct dn_gate {
    struct dn_judged before; /* what was in force */
    struct dn_judged after;  /* the history, of the same runs */
    struct dn_judged alone;  /* the history, of runs without a prediction */
    int64_t n_rows;          /* that were to be installed */
    int64_t n_judged;
    int64_t n_worse;
    bool passed;             /* not all rows are worse */
    char why[DN_REASON_MAX]; /* in figures */
};

struct dn_build {
    int64_t now_s;        /* time of the history, seconds since 1970 */
    bool by_account;      /* accounts are owners, too */
    const char *bundle;   /* in force; "" none */
    dn_build_base_f base; /* NULL: jobs of other bundles count as not predicted */
    void *base_to;
    const struct dn_apps *in_force; /* NULL: none */
};

/* Build the history, and judge it. NULL with 'err'; freed with dn_apps_free (). */
struct dn_apps *dn_build_apps (struct dn_store *store,
                               const struct dn_build *build,
                               struct dn_gate *gate,
                               struct dn_err *err);

/* What applications have described of themselves. In: the finished jobs of users, those
 * of an application together, the oldest first. Out: the descriptions of dn_apps
 * (predict/apps.h): for each application of a user that of its newest completed run
 * with a capture (host/capture_file.h), how many of its GPUs its last two runs have
 * used, and the networks, each once.
 *
 * Memory is bounded: at any time at most DN_KNOWN_ITEMS_MAX descriptions and
 * DN_KNOWN_BYTES_MAX bytes of texts are kept, the most useful ones: those that ran on
 * the latest day, then those with the most GPU hours.
 */
#define DN_KNOWN_ITEMS_MAX ((int64_t) 3 * DN_APPS_KNOWN_MAX / 2)
#define DN_KNOWN_BYTES_MAX ((size_t) 2 * DN_APPS_TEXTS_MAX)

struct dn_known_list;

/* An empty list, or NULL without memory; freed with dn_known_list_free (). */
struct dn_known_list *dn_known_list_new (void);
void dn_known_list_free (struct dn_known_list *list);

/* Note a completed job of the application. -1 with 'err' without memory. */
int dn_known_note (struct dn_known_list *list,
                   dn_app_key key,
                   const struct dn_finished *job,
                   struct dn_err *err);

/* After the last job: add the most useful descriptions to 'apps', in its order. */
int dn_known_end (struct dn_known_list *list, struct dn_apps *apps, struct dn_err *err);

#endif
