/* recorded.h - the decision record, read back from an admin comment, and changed in it
 *
 * In: the admin comment of a job, which may have other text around the record. Out:
 * struct dn_recorded with all that is read of a record, or the comment with a changed
 * record. The programs use it; slurmctld does not load it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_RECORDED_H
#define DN_RECORDED_H

#include "base/err.h"
#include "base/limits.h"
#include "policy/policy.h"

#define DN_EXTENSIONS_MAX 8

struct dn_open_type {
    char gpu[DN_NAME_MAX];
    char features[DN_NAME_MAX * 4]; /* the whole constraint there; "": see the next */
    char partition[DN_NAME_MAX * 4];
    int64_t slow; /* predicted time there in % of that on the requested type */
};

/* Counts that the record does not state are DN_UNSET, reals NaN, texts "", flags 0.
 * 12 KB.
 */
struct dn_recorded {
    bool found; /* there is a record, of a version that is known */
    char mode[DN_NAME_MAX];
    char verdict[DN_NAME_MAX];
    bool changed; /* the decision was applied: verdict change, mode enforce */
    char why[DN_REASON_MAX]; /* a sentence; of a code that is not known its name */
    char warn[DN_RECORD_MAX + 1];
    char spec[DN_RECORD_MAX + 1];
    char app[DN_RECORD_MAX + 1];
    char kin[DN_KIN_MAX];
    char by_run[DN_NAME_MAX]; /* the job whose run describes it */
    char work_unit[DN_NAME_MAX];
    double work;

    /* what the user had requested */
    int64_t asked_s;                         /* the limit; DN_UNLIMITED */
    int64_t signal_s;                        /* --signal: that long before the limit */
    char asked_gpu[DN_NAME_MAX];             /* "": untyped, or not changed */
    char asked_partition[DN_RECORD_MAX + 1]; /* "": not changed, as the next */
    char asked_features[DN_RECORD_MAX + 1];
    int64_t by_gres; /* 1: only --gres has the GPU type, no variable of the job */
    int64_t gpus;
    int64_t tasks;
    int64_t asked_cpus_each_gpu;
    int64_t asked_cpus_per_task;
    int64_t asked_mem_mb; /* host memory of a node */

    /* what dnnest set at the submission */
    int64_t set_s;
    int64_t soft_s;    /* --time-min */
    int64_t set_cap_s; /* what the requested limit amounts to; DN_UNSET: itself */
    char set_gpu[DN_NAME_MAX];
    int64_t set_cpus_each_gpu;
    int64_t set_cpus_per_task;
    int64_t set_mem_mb;
    int64_t set_gpus; /* of the whole job */

    char set_features[DN_RECORD_MAX + 1];

    /* GPU types that it may get, the requested one first ("open"), and the last move to
     * one of them by dnnestd ("steer") */
    struct dn_open_type open[DN_OPEN_MAX];
    int n_open;
    int64_t either;              /* 1: Slurm chooses the type at the start */
    char steer_gpu[DN_NAME_MAX]; /* "": not moved */
    int64_t steer_s;             /* the limit that was set with it */
    int64_t cap_s;               /* what the user's limit amounts to on that type */
    int64_t steered_at_s;        /* seconds since 1970 */

    /* what it predicted: time, with and without history, and quantiles */
    int64_t likely_s;
    int64_t p95_s;
    int64_t p99_s;
    double base_s;
    double bound_s; /* the limit was made from it */
    double bound_bp;
    char pred_gpu[DN_NAME_MAX];
    double pred_mem_mb;
    double pred_cpus;  /* per GPU */
    double confidence; /* in % */
    char bundle[DN_RECORD_MAX + 1];
    int64_t history_runs;
    int64_t wait_s; /* expected at the submission */

    /* what happened since */
    int64_t later_s[DN_EXTENSIONS_MAX]; /* limits that the guard set ("later") */
    int n_later;
    int64_t rescued; /* 1: started again with the original request */
};

/* Find and read the record in an admin comment. Return 1, 0 if there is none, or -1
 * with 'err' for one that is not valid: then no job may be changed by it. What is not
 * valid is not stated in 'recorded', all else is.
 */
int dn_record_read (const char *admin_comment,
                    struct dn_recorded *recorded,
                    struct dn_err *err);

/* The GPU type that the job was sent to: the one that was set, or requested; "" where
 * Slurm chooses it.
 */
const char *dn_recorded_gpu (const struct dn_recorded *recorded);

/* --- open jobs: a limit follows the GPU type ------------------------------------- */

/* The entry of "open" of that type; -1: there is none. */
int dn_open_find (const struct dn_recorded *recorded, const char *gpu);

/* Has a job with that constraint and partition, which may be NULL, those of the entry?
 */
bool dn_open_is_place (const struct dn_open_type *type,
                       const char *features,
                       const char *partition);

/* The entry that the job had at its submission: the requested type, or the one that was
 * set; of a job of which Slurm chooses the type the slowest, which its limit is for.
 * -1: the job is not open.
 */
int dn_open_home (const struct dn_recorded *recorded);

/* The entry that it has now: that, or the one of the last move. */
int dn_open_now (const struct dn_recorded *recorded);

/* A limit that is for the type of the entry 'from' as one for 'to', in whole minutes,
 * rounded up. DN_UNLIMITED stays.
 */
int64_t dn_open_limit (const struct dn_recorded *recorded,
                       int64_t limit_s,
                       int from,
                       int to);

/* What the user's own limit amounts to on the type of the job; DN_UNLIMITED, DN_UNSET.
 */
int64_t dn_recorded_cap (const struct dn_recorded *recorded);

/* The limit that dnnest set while the job was pending, for the type that it has;
 * DN_UNSET: none.
 */
int64_t dn_recorded_set (const struct dn_recorded *recorded);

/* The limit that the job has if only dnnest has changed it, in whole minutes; of
 * one that was given none DN_UNSET.
 */
int64_t dn_recorded_written (const struct dn_recorded *recorded);

/* Predicted seconds on the type of the job, of those that were predicted at the
 * submission.
 */
double dn_recorded_there (const struct dn_recorded *recorded, double seconds);

/* The same admin comment with the move of a job, and no "later"; NULL: with none. It is
 * freed with free (); NULL with 'err'.
 */
struct dn_steering {
    const char *gpu;
    int64_t limit_s;
    int64_t cap_s; /* DN_UNLIMITED and DN_UNSET: not stated */
    int64_t at_s;
};
char *dn_record_steer (const char *admin_comment,
                       const struct dn_steering *steering,
                       struct dn_err *err);

/* A limit that replaces the one of the submission, while the job is pending. Seconds.
 */
struct dn_revision {
    int64_t limit_s;
    int64_t likely_s; /* predicted median, and quantiles */
    int64_t p95_s;
    int64_t p99_s;
    int64_t runs; /* of the application that say so */
};

/* The same admin comment as if the limit had been set at the submission. It is freed
 * with free (); NULL with 'err'.
 */
char *dn_record_revise (const char *admin_comment,
                        const struct dn_revision *revision,
                        struct dn_err *err);

/* The same admin comment with one more limit in "later" (the oldest is dropped beyond
 * DN_EXTENSIONS_MAX) or, with DN_UNSET, with "rescued". It is freed with free (); NULL
 * with 'err'.
 */
char *dn_record_note (const char *admin_comment, int64_t limit_s, struct dn_err *err);

#endif
