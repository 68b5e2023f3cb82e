/* replay.h - what today's policy would have done with past jobs
 *
 * In: finished jobs in the order of their submission, a site. Out: for each job what
 * dn_advise () decides at its submission, with the history of the runs that had ended
 * by then, and what that would have meant for the run; and the sums of all of them.
 *
 * Assumed: a job runs as long as it did, whatever its limit; on another GPU type, as
 * much longer or shorter as the prediction says; the other jobs end when they did.
 *
 * Memory does not grow with the number of jobs (past.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_REPLAY_H
#define DN_REPLAY_H

#include "advise.h"
#include "jobs/finished.h"
#include "jobs/replay/past.h"
#include "request/request.h"

/* The submission of a finished job that dn_advise () takes, and its texts that are not
 * in the row of a store or of a trace. Only what the row has is in it: no script, no
 * environment, no features. A job of n CPUs on one node has one task of n CPUs, one on
 * several nodes a task on each.
 */
struct dn_rebuilt {
    struct dn_job job;
    char tres[DN_NAME_MAX + 48];
    char app[DN_NAME_MAX]; /* the name of its application; "" none */
    char *comment;         /* owned */
};

/* The request before dnnest: its limit (seconds, DN_UNSET, DN_UNLIMITED), GPU type,
 * CPUs of the whole job, and host memory of each node.
 */
int64_t dn_rebuild_limit (const struct dn_finished *row);
const char *dn_rebuild_gpu (const struct dn_finished *row);
int64_t dn_rebuild_cpus (const struct dn_finished *row);
int64_t dn_rebuild_mem_mb (const struct dn_finished *row);

/* 'rebuilt' borrows from the row; dn_rebuilt_free () frees it. -1 without memory. */
int dn_rebuild (const struct dn_finished *row,
                struct dn_rebuilt *rebuilt,
                struct dn_err *err);
void dn_rebuilt_free (struct dn_rebuilt *rebuilt);

/* GPU types with sums of their own; more are in those of all types only. */
#define DN_REPLAY_TYPES_MAX 32

#define DN_REPLAY_LIMITS_MAX 4

/* What the policy does with a job. */
/* clang-format off */
#define DN_REPLAY_FATES(ROW)                                                           \
    ROW (REPLAY_SILENT, "silent") /* no metadata and no history, or off */             \
    ROW (REPLAY_REFUSED, "refused") /* the metadata or the request cannot be read */   \
    ROW (REPLAY_ABSTAINED, "abstained")                                                \
    ROW (REPLAY_KEPT, "kept")                                                          \
    ROW (REPLAY_CONTROL, "control")                                                    \
    ROW (REPLAY_CHANGED, "changed")
DN_ENUM (dn_replay_fate, REPLAY_FATES);
/* clang-format on */

const char *dn_replay_fate_text (enum dn_replay_fate fate);

/* Another type that a job is left open to. */
struct dn_replay_open {
    const char *gpu;
    double slow; /* the predicted time there, of that on its own type */
};

struct dn_replayed {
    enum dn_replay_fate fate;
    enum dn_evidence evidence;
    double ran_s;     /* of the job as it was */
    double runs_s;    /* as the policy would have it: on the GPU type that it chose */
    int64_t gpus;     /* of the job */
    const char *from; /* GPU type; "" any */
    const char *gpu;  /* the same with the policy */
    int64_t cpus;     /* of the job, 0 unknown, before and after */
    int64_t cpus_after;
    int64_t nodes;
    int64_t mem_mb; /* of each node, 0 unknown, before and after */
    int64_t mem_after_mb;
    int64_t limit_s; /* that the user had requested; DN_UNSET, DN_UNLIMITED */
    /* With the policy: the first, and those that the guard would give it later. Of a
     * soft minimum time, that and the user's own. n_limits 0: as limit_s. */
    double limits_s[DN_REPLAY_LIMITS_MAX];
    int n_limits;
    bool guarded;  /* the guard extends the limit */
    bool soft;     /* it is an estimate for the scheduler, and ends nothing */
    bool extended; /* the guard would have to */
    bool killed;   /* at a limit below the user's own, not extended */
    int64_t runs;  /* of its application that were known */
    struct dn_replay_open open[DN_OPEN_MAX];
    int n_open;
    double likely_s; /* predicted run time on its own type, of open jobs */
};

struct dn_replay_options {
    bool guard;      /* dnnestd extends limits */
    bool history;    /* the runs that had ended count */
    int64_t since_s; /* jobs submitted before only teach; 0: none */
    int64_t until_s; /* jobs submitted from then on are left out; 0: none */
};

/* Ratios of limits and run times, in classes of 2 %, from 1/100 to 10^4. */
#define DN_REPLAY_CLASSES 700

struct dn_replay_sums {
    char type[DN_NAME_MAX]; /* that was requested; "" of all */
    int64_t jobs;
    int64_t fates[DN_N_REPLAY_FATES];
    int64_t with_history; /* advised jobs of which runs were known */
    int64_t lowered;      /* limits */
    int64_t raised;
    int64_t moved; /* to another GPU type */
    int64_t fewer_cpus;
    int64_t less_memory;
    int64_t extended;
    int64_t killed;
    double used_gpu_h;  /* of the jobs with a limit, GPU hours used, requested, */
    double asked_gpu_h; /* and requested with the policy */
    double set_gpu_h;
    double asked_cpu_h; /* CPU hours of all jobs, while they ran */
    double set_cpu_h;
    double asked_mem_h; /* GiB hours of host memory, likewise */
    double set_mem_h;
    int64_t ratios;                   /* jobs with exact run time, a limit, and a */
    int64_t asked[DN_REPLAY_CLASSES]; /* decision: limit / run time before, */
    int64_t set[DN_REPLAY_CLASSES];   /* and with the policy */
};

struct dn_replay;

/* 'site' is borrowed. NULL without memory; freed with dn_replay_free (), NULL-safe. */
struct dn_replay *dn_replay_new (const struct dn_site *site,
                                 const struct dn_replay_options *options);
void dn_replay_free (struct dn_replay *replay);

/* Replay a job. 1: 'out' (whose texts live until the next call) has what became of it;
 * 0: it is outside of the period; -1 with 'err', also for a job that was submitted
 * before the last one.
 */
int dn_replay_job (struct dn_replay *replay,
                   const struct dn_finished *row,
                   struct dn_replayed *out,
                   struct dn_err *err);

/* The sums of all jobs (i 0), then of each GPU type; NULL after the last. */
const struct dn_replay_sums *dn_replay_sums (const struct dn_replay *replay, int i);

/* Add a job to sums. */
void dn_replay_count (struct dn_replay_sums *sums, const struct dn_replayed *job);

/* The median of classes of ratios, to 1 %; NaN without any. */
double dn_replay_median (const int64_t classes[DN_REPLAY_CLASSES]);

#endif
