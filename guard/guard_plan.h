/* guard_plan.h - what the guard does with the time limit of one job
 *
 * In: what the record says (struct dn_promise), the job as slurmctld has it, the limits
 * around it, the time. Out: one verdict, and a new limit. No clock, no Slurm, no
 * memory: the same job at the same time always gets the same answer, so that two guards
 * do no harm.
 *
 * A lowered limit is extended before the job reaches it: at once to what the job needs,
 * if it has reported its progress, else first to the times that 95 and 99 % of such
 * runs need; then to what the user had asked for, never beyond. Slurm accepted that
 * limit at the submission, so no MaxTime, QOS or partition of a later time shortens it.
 * A limit is not touched once a human has lowered it, or raised it to the user's own.
 * To what a human adds while the job runs what dnnest had taken is added, at once: a
 * guard that comes later would not know what the human had seen. With Shorten=yes,
 * progress also lowers it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_GUARD_PLAN_H
#define DN_GUARD_PLAN_H

#include "host/progress_file.h"
#include "predict/apps.h"
#include "rewrite/recorded.h"

/* The limit that dnnest lowered, all in seconds; DN_UNSET: not known. */
struct dn_promise {
    int64_t asked_s;   /* by the user, for the type that the job got (dn_recorded_cap);
                          DN_UNLIMITED; DN_UNSET: none was given */
    int64_t set_s;     /* before the start; DN_UNSET: there is nothing to guard */
    int64_t written_s; /* the last value that dnnest wrote */
    int64_t p95_s;     /* of the run, without a margin */
    int64_t p99_s;
    int64_t signal_s; /* of --signal */
    int64_t gpus;     /* at least 1 */
    dn_app_key app;   /* of its user; 0: unknown */
};

/* What a valid record promises; 'set_s' DN_UNSET, if it did not lower the limit. */
struct dn_promise dn_promise_of (const struct dn_recorded *recorded);

/* One job at one time. */
struct dn_guard_case {
    struct dn_promise promise;
    int64_t now_s;      /* seconds since 1970, like 'end_s' and 'deadline' */
    int64_t interval_s; /* between two passes */
    double margin;      /* TimeMargin */
    int64_t pace_s;     /* run time that the job needs by its reports; 0: unknown */
    bool shorten;       /* and its limit may be lowered to that */
    bool restore; /* the guard leaves: the user's limit at once, also if pending */
    /* The job. */
    int64_t limit_s; /* or DN_UNLIMITED */
    int64_t end_s;   /* when it reaches its limit; while suspended, if it resumed now */
    int64_t base_s;  /* before what a human has added while it runs; 0: unknown */
    int64_t start_s;
    int64_t deadline; /* 0: none */
    int64_t restarts;
    int64_t default_s; /* of its partition, if its user gave no limit; DN_UNSET */
    /* A reservation of its nodes for others that was known when the job started, and
     * that its user's limit would have crossed; 0: none. */
    int64_t reserved_from;
};

enum dn_guard_verdict {
    DN_GUARD_NONE,      /* no limit was lowered */
    DN_GUARD_KEEP,      /* enough time is left */
    DN_GUARD_EXTEND,    /* to 'limit_s' */
    DN_GUARD_SHORTEN,   /* to 'limit_s' */
    DN_GUARD_OWN,       /* it has what its user asked for */
    DN_GUARD_HANDS_OFF, /* its limit is not what dnnest wrote: a human's */
    DN_GUARD_HELD       /* 'holder' allows no extension */
};

/* What bounds an extension. */
enum dn_guard_holder {
    DN_HOLDER_NONE,
    DN_HOLDER_DEADLINE,
    DN_HOLDER_RESERVATION,
    DN_N_HOLDERS
};

/* Its name in a sentence. */
const char *dn_guard_holder_text (enum dn_guard_holder holder);

struct dn_guard_plan {
    enum dn_guard_verdict verdict;
    int64_t limit_s;             /* whole minutes, with EXTEND and SHORTEN */
    enum dn_guard_holder holder; /* also of an extension that it shortened */
};

struct dn_guard_plan dn_guard_plan (const struct dn_guard_case *c);

/* Is the limit near, or to be changed at once, so that limits around the job matter? It
 * needs those of the job only.
 */
bool dn_guard_is_due (const struct dn_guard_case *c);

/* Seconds before the end of a limit in which it is extended: so many that, should the
 * guard die, its silence is noticed and the limit restored before (dn_guarded_lead ()).
 */
int64_t dn_guard_lead (const struct dn_guard_case *c, int64_t limit_s);

/* What the user had asked for, and a human has added to the limit, in whole minutes. */
int64_t dn_guard_own (const struct dn_guard_case *c);

/* How long a job needs, by what it has reported.
 *
 * In: the reports of a job, its start, the time. Out: the time limit that it needs. The
 * pace is measured between the first report and the last, so that the start of the
 * program does not count as work; the margin follows from how much the pace varies, and
 * is at least a tenth of what is left. Reports that contradict each other, come from
 * the future, or have stopped coming give no answer. Wrong reports of a job can
 * shorten its own limit only, and no report extends it beyond what its user has
 * requested.
 */
struct dn_pace_job {
    int64_t start_s;    /* of the present run, seconds since 1970 */
    int64_t now_s;      /* seconds since 1970 */
    int64_t ran_s;      /* without suspensions */
    int64_t interval_s; /* between two looks */
};

struct dn_pace {
    int64_t needed_s; /* run time of the whole job, with margin; DN_UNSET: unknown */
    bool steady;      /* enough was seen to give time back */
};

struct dn_pace dn_pace_needed (const struct dn_progress *progress,
                               const struct dn_pace_job *job);

#endif
