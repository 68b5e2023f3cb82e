/* own_runs.h - what a user's own runs say that the next job should request
 *
 * In: the finished jobs of a user in the order of application and end. Out: per
 * application, one call with what its newest DN_OWN_RUNS runs took and used. Pure.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_OWN_RUNS_H
#define DN_OWN_RUNS_H

#include "jobs/finished.h"

#define DN_OWN_RUNS 7

struct dn_own_app {
    char name[DN_NAME_MAX];
    char job[DN_NAME_MAX]; /* name of the newest job */
    int64_t runs;          /* all that ended in the period */
    int n;                 /* newest runs that are looked at */
    bool exact;            /* all of them completed, else some would have run longer */
    double shortest_s;
    double longest_s;
    int64_t asked_s; /* what the newest requested, DN_UNSET unknown */
    int64_t cpus;    /* that the newest had */
    int64_t gpus;
    double busy_cpus; /* the most of these runs; NaN unknown */
    double busy_gpus; /* mean share of time, the most; NaN unknown */
    int64_t limit_s;  /* what to request: see below; 0: fewer than two runs completed */
    int64_t request_cpus; /* 0: as before */
};

/* The limit that is named: the longest run and a quarter, and at least 10 minutes more,
 * in steps of 5 minutes; where a run was killed, the double of the longest. CPUs: the
 * most that were busy and a quarter, where that is less than half of what was had.
 */
typedef int (*dn_own_app_f) (void *to, const struct dn_own_app *app);

/* Zeroed but for 'take' and 'to'. */
struct dn_own_runs {
    dn_own_app_f take;
    void *to;
    struct dn_own_app app; /* of the application that is being read */
    struct {
        double ran_s;
        double busy_cpus;
        double busy_gpus;
        bool exact;
    } runs[DN_OWN_RUNS]; /* a ring */
    int64_t n_runs;      /* that count */
    int64_t n_exact;
};

/* Add the next job. Return what 'take' returned. */
int dn_own_runs_add (struct dn_own_runs *own, const struct dn_finished *job);

/* After the last job. */
int dn_own_runs_end (struct dn_own_runs *own);

#endif
