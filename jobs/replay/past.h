/* past.h - what was known of past runs at any time of a replay
 *
 * In: jobs in the order of their submission. Out: the history of an application, and
 * the guard's tally of each user, as of the submission of a later job: of the runs that
 * had ended by then. Memory is bounded: the newest DN_FIT_RUNS_MAX runs per
 * application, GPU type and number of GPUs, of up to DN_APPS_MAX applications; and the
 * jobs that had been submitted and not ended.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PAST_H
#define DN_PAST_H

#include "jobs/history/fit_apps.h"
#include "policy/guarded.h"

struct dn_past;

struct dn_past *dn_past_new (void);

/* NULL-safe. */
void dn_past_free (struct dn_past *past);

/* A submitted job. It counts from run.end_s on. */
struct dn_past_job {
    struct dn_fit_run run;
    dn_app_key key;   /* 0: of no application */
    const char *type; /* GPU type as Slurm names it; copied */
    int64_t gpus;
    enum dn_work_unit unit;
    int64_t user;
    int64_t id;
    bool says_time; /* its run time is evidence */
    bool lowered;   /* its limit was lowered under the guard, which counts it: */
    bool needed;    /* it needed more */
    bool honest;    /* it ended within that limit, or within what was predicted */
    int64_t gpu_s;  /* GPU seconds beyond that limit, or of such a run */
    dn_app_key app; /* dn_app_key_of_user (); 0: unknown */
};
int dn_past_add (struct dn_past *past,
                 const struct dn_past_job *job,
                 struct dn_err *err);

/* Learn from all jobs that had ended by 'now_s', which never goes back. */
int dn_past_until (struct dn_past *past, int64_t now_s, struct dn_err *err);

/* The history of that application alone, until the next call; NULL: none is known. */
const struct dn_apps *dn_past_history (struct dn_past *past, dn_app_key key);

/* The tallies, to be given a time. */
struct dn_guarded *dn_past_guarded (struct dn_past *past);

#endif
