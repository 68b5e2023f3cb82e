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

#define DN_EXTENSIONS_MAX 8

/* Counts that the record does not state are DN_UNSET, reals NaN, texts "", flags 0.
 * 8 KB.
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

    /* what dnnest set at the submission */
    int64_t set_s;
    int64_t soft_s; /* --time-min */
    char set_gpu[DN_NAME_MAX];
    int64_t set_cpus_each_gpu;
    int64_t set_cpus_per_task;

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

/* The GPU type that the job was sent to: the one that was set, or requested. */
const char *dn_recorded_gpu (const struct dn_recorded *recorded);

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
