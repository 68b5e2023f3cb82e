/* apps_build.h - the history of all applications, from the store of finished jobs
 *
 * In: finished jobs, in the order of their owners, applications and ends. Out: struct
 * dn_apps (predict/apps.h), one row per application, GPU type and number of GPUs. The
 * store is streamed: memory holds the newest runs of one owner, and the rows.
 *
 * No user changes the bound of another: only an owner's own jobs enter his rows, and
 * the spread that is taken before he has run an application often is that of his own
 * other applications, or the shipped one. An owner has at most DN_BUILD_OWNER_MAX rows,
 * so no user displaces the rows of another.
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

struct dn_build {
    int64_t now_s;        /* time of the history, seconds since 1970 */
    int64_t until_s;      /* only jobs that ended before it; 0: all */
    bool by_account;      /* owners are accounts, else users */
    const char *bundle;   /* in force; "" none */
    dn_build_base_f base; /* NULL: jobs of other bundles count as not predicted */
    void *base_to;
};

/* Build the history. NULL with 'err'; freed with dn_apps_free (). */
struct dn_apps *dn_build_apps (struct dn_store *store,
                               const struct dn_build *build,
                               struct dn_err *err);

/* The owner's key of a job; 0 without an application, or without the account. */
dn_app_key dn_build_key (const struct dn_finished *job, bool by_account);

/* What a job says of the time of its application's next run. False: nothing. */
bool dn_build_run (const struct dn_build *build,
                   const struct dn_finished *job,
                   enum dn_work_unit *unit,
                   struct dn_fit_run *run);

#endif
