/* revise_plan.h - the new limit of a pending job whose application has run meanwhile
 *
 * In: the record of the job, its limit, the row of its application, the rules. Out: a
 * lower limit, or the reason why there is none. No clock, no Slurm, no memory.
 *
 * A limit is only lowered, and only where it still is what dnnest or the user wrote at
 * the submission: any other value is a human's. What the new one is made of is what a
 * submission at this moment would get.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_REVISE_PLAN_H
#define DN_REVISE_PLAN_H

#include "policy/rules.h"
#include "predict/apps.h"
#include "rewrite/recorded.h"

/* A gain of less than this share of the limit is not worth a change. */
#define DN_REVISE_GAIN 0.1

struct dn_revise_case {
    const struct dn_recorded *recorded;
    const struct dn_app_row *row;    /* NULL: none */
    const struct dn_app_row *others; /* of the account, which widens; NULL: none */
    const struct dn_rules *rules;
    int64_t limit_s;    /* of the job; DN_UNLIMITED */
    int64_t time_min_s; /* --time-min; 0 none */
    int64_t submit_s;   /* seconds since 1970, as the next two */
    int64_t now_s;
    int64_t reserved_from;    /* the first reservation of its GPU type; 0: none */
    bool guarded;             /* a guard is alive, and trusts the user */
    int64_t guard_interval_s; /* then: between two passes */
};

/* Changes of one pass, and those of one user in it; the others follow in the next. */
#define DN_REVISE_CHANGES 500
#define DN_REVISE_SHARE   50

/* What users had of a pass; begins zeroed. */
struct dn_shares {
    int64_t total;
    int n_users;
    struct {
        int64_t user;
        int64_t n;
    } users[DN_REVISE_CHANGES];
};

/* Take one for the user. False: he or the pass has had them all. */
bool dn_shares_take (struct dn_shares *shares, int64_t user);

enum dn_revise_verdict {
    DN_REVISE_LOWER,
    DN_REVISE_MODE,      /* the job is not dnnest's: mode, verdict, Revise=no */
    DN_REVISE_HANDS_OFF, /* its limit is a human's */
    DN_REVISE_NO_NEWS,   /* no run of the application since the submission */
    DN_REVISE_RESERVED,  /* its user's limit would run into a reservation */
    DN_REVISE_NO_GAIN
};

/* With DN_REVISE_LOWER 'revision' is filled. */
enum dn_revise_verdict dn_revise_plan (const struct dn_revise_case *c,
                                       struct dn_revision *revision);

#endif
