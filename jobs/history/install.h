/* install.h - learns the history, and installs it if the gate lets it
 *
 * Files in StateDir: 'history' (predict/apps.h) in force, 'history.1' the one before,
 * 'learn.log' with a JSON line per installation, refusal and rollback, 'learn.hold'
 * after a rollback: until it is removed, nothing is installed unless a human asks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_INSTALL_H
#define DN_INSTALL_H

#include "jobs/history/apps_build.h"
#include "site.h"

#define DN_LEARN_LOG  "learn.log"
#define DN_LEARN_HOLD "learn.hold"

struct dn_learning {
    const struct dn_site *site;
    const char *db;  /* the store; NULL: that of StateDir */
    const char *out; /* write this file and install nothing; NULL: that of StateDir */
    int64_t now_s;   /* seconds since 1970 */
    bool dry_run;    /* judge only */
    bool asked;      /* by a human, which ends a hold */
};

enum dn_learned_result {
    DN_LEARNED_INSTALLED,
    DN_LEARNED_REFUSED, /* by the gate */
    DN_LEARNED_HELD,    /* after a rollback */
    DN_LEARNED_JUDGED   /* a dry run, or another file: it would have been installed */
};

struct dn_learned {
    enum dn_learned_result result;
    struct dn_gate gate;
    int64_t n_rows;  /* of the new history */
    int64_t n_apps;  /* applications in it */
    int64_t took_ms; /* in all */
};

/* What a store says, where 'in_force' (NULL: none) is the history until now. NULL with
 * 'err'; freed with dn_apps_free ().
 */
struct dn_apps *dn_history_of (const struct dn_site *site,
                               struct dn_store *store,
                               const struct dn_apps *in_force,
                               int64_t now_s,
                               struct dn_gate *gate,
                               struct dn_err *err);

/* Learn. -1 with 'err': the store cannot be read, or a file not be written; the history
 * in force is then unchanged.
 */
int dn_history_learn (const struct dn_learning *learning,
                      struct dn_learned *learned,
                      struct dn_err *err);

/* Put the history before the present one in its place, and hold. -1 with 'err'. */
int dn_history_rollback (const struct dn_site *site, int64_t now_s, struct dn_err *err);

#endif
