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

#include "jobs/history/gate.h"
#include "jobs/store.h"

/* Rows of one owner, the newest. */
#define DN_BUILD_OWNER_MAX 1000

/* The median that is predicted today, without history, for a job of another bundle [s];
 * NaN: it is not known.
 */
typedef double (*dn_build_base_f) (void *to, const struct dn_finished *job);

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

#endif
