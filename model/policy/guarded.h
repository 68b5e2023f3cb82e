/* guarded.h - what the guard leaves for the plugin: its heartbeat, and whom it trusts
 *
 * In: the text of the file 'guard', lines of Key=Value. Out: struct dn_guarded. While
 * its time is recent, limits may follow GuardedQuantile, because the guard extends
 * them. Trust is earned: what jobs run beyond their first limits is a debt in GPU
 * seconds, of their user and of their application, that only runs within their first
 * limits pay. An application in debt has no GuardedQuantile. A user whose last jobs
 * needed more too often gets no lowered limit, until they no longer did and the debt is
 * paid.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_GUARDED_H
#define DN_GUARDED_H

#include "predict/apps.h"

/* Version 1 had no cluster and no debts. */
#define DN_GUARDED_VERSION 2

/* Its name in StateDir. */
#define DN_GUARDED_FILE "guard"

/* Jobs of a user that count, the newest. */
#define DN_GUARDED_JOBS 20

/* Tallies at most: those with the newest jobs are kept. */
#define DN_GUARDED_USERS_MAX 20000

/* The last jobs of one user, or of one application of a user, that ended or passed the
 * first limit that dnnest had set. An application has one while it is in debt.
 */
struct dn_tally {
    int64_t user_id;
    dn_app_key app;                /* 0: all jobs of the user */
    int64_t n_jobs;                /* at most DN_GUARDED_JOBS */
    int64_t jobs[DN_GUARDED_JOBS]; /* ids, the newest first */
    uint32_t needed;               /* bit i: jobs[i] needed more than that limit */
    int64_t debt_s;                /* GPU seconds beyond such limits, not yet paid */
    int64_t worst; /* the largest share that needed more while in debt, in 1/1000 */
};

struct dn_guarded {
    int64_t version;           /* of the file */
    char cluster[DN_NAME_MAX]; /* "": not stated */
    int64_t time_s;            /* of the last complete pass, seconds since 1970; 0: the
                                  guard has ended */
    int64_t interval_s;        /* between two passes */
    struct dn_tally *tallies;  /* sorted by user and application; owned */
    int64_t n_tallies;
};

/* The kinds of lines of the file, in the order in which they come. */
enum dn_guarded_line {
    DN_GUARDED_LINE_GUARD,
    DN_GUARDED_LINE_USER,
    DN_GUARDED_LINE_END,
    DN_N_GUARDED_LINES
};

/* The lines that are no struct of these, as they are written. */
struct dn_guarded_user {
    struct dn_tally tally;           /* but for its jobs */
    char jobs[DN_GUARDED_JOBS * 12]; /* "14+,13,12": '+' has needed more */
};
struct dn_guarded_tail {
    int64_t users;
};

extern const struct dn_line_kind dn_guarded_kinds[];

/* Read the file. NULL with 'err'; freed with dn_guarded_free (). */
struct dn_guarded *dn_guarded_read (struct dn_span text,
                                    const char *file,
                                    struct dn_err *err) DN_COLD;

/* Write it, by calls of 'put' with pieces of the text. Return what 'put' returned, if
 * not 0.
 */
int dn_guarded_write (const struct dn_guarded *guarded, dn_put_f put, void *to);

/* NULL-safe. */
void dn_guarded_free (struct dn_guarded *guarded) DN_COLD;

/* The tally of a user ('app' 0) or of an application of the user, or NULL. */
struct dn_tally *dn_guarded_find (const struct dn_guarded *guarded,
                                  int64_t user_id,
                                  dn_app_key app);

/* Index of that tally or of the first later one; index of a job, or -1. */
int64_t dn_guarded_place (const struct dn_guarded *guarded,
                          int64_t user_id,
                          dn_app_key app);
int dn_tally_find (const struct dn_tally *tally, int64_t job_id);

/* The share of its jobs that needed more; -1: fewer than three did. */
double dn_tally_share (const struct dn_tally *tally);

/* What a job says of its user and application. */
struct dn_guarded_run {
    int64_t user_id;
    dn_app_key app; /* dn_app_key_of_user (); 0: unknown */
    int64_t job_id;
    bool lowered;  /* dnnest lowered its limit; else it only pays */
    bool needed;   /* it has passed its first limit; else it has completed within it */
    int64_t gpu_s; /* needed: GPU seconds beyond it since the last note; else of the run
                    */
};

/* Note a job. One that is noted already pays nothing more. Without memory -1 with
 * 'err'.
 */
int dn_guarded_note (struct dn_guarded *guarded,
                     const struct dn_guarded_run *run,
                     struct dn_err *err);

/* Seconds before the end of a limit in which the guard extends it, at least. */
int64_t dn_guarded_lead (int64_t interval_s);

/* Seconds before it in which a job of --signal= must be done, which Slurm may send a
 * minute early. 0 without --signal=.
 */
int64_t dn_signal_lead (int64_t signal_s);

/* Is a guard alive at 'now_s' (its last pass is not older than four intervals, and at
 * most one in the future)? False for NULL.
 */
bool dn_guarded_is_alive (const struct dn_guarded *guarded, int64_t now_s);

/* May limits of this user be lowered: did less than a quarter of the last jobs need
 * more, or fewer than three, now and since the user was last without debt? True for
 * NULL.
 */
bool dn_guarded_trusts (const struct dn_guarded *guarded, int64_t user_id);

/* May limits of this application follow GuardedQuantile: is it without debt? True for
 * NULL.
 */
bool dn_guarded_earned (const struct dn_guarded *guarded,
                        int64_t user_id,
                        const char *app);

#endif
