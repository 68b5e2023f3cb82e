/* choices.h - the stages of a decision, private to policy/
 *
 * In: one struct dn_deciding. Out: members of its decision, each with its reason. Each
 * stage is in a file of its own: choose_gpu.c, choose_cpus.c,
 * choose_memory.c, choose_time.c, warn.c; decide.c calls them in order. waiting.c and
 * limits_kept.c tell what the snapshot says of a choice, extend.c what the guard can do
 * for the job, and what its history is evidence for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_CHOICES_H
#define DN_CHOICES_H

#include "hardware/standing.h"
#include "policy/policy.h"

/* What is found out about a candidate before anything is chosen. */
struct dn_option {
    int64_t
        cpus; /* that a run needs, in the unit of the request: per GPU or per task */
    struct dn_reason
        cpus_kept;   /* why these are the requested ones; none: they are not */
    bool starts_now; /* by the snapshot; false without one */
    int64_t wait_s;  /* 0: it starts now; DN_UNSET: unknown */
};

/* The input and output of one decision. */
struct dn_deciding {
    const struct dn_rules *rules;
    const struct dn_request *request;
    const struct dn_spec *spec;
    const struct dn_candidates *candidates;
    const struct dn_estimate *estimates; /* one per candidate */
    const struct dn_view *view;          /* not NULL; its members may be */
    struct dn_decision *decision;
    int base; /* the candidate that the job runs on as submitted; -1: none is mapped */
    struct dn_option *options; /* one per candidate */
    /* The objective finish counts waits only if those of all candidates that it could
     * run on are known.
     */
    bool waits_known;
    struct dn_standing *standings; /* in the partitions that the job names */
    int n_standings;               /* 0 without a snapshot, at most DN_PARTITIONS_MAX */
    int64_t least_node_cpus;       /* by its memory and MaxMemPerCPU */
};

/* Why a run on a candidate fails from the start. */
enum dn_failure {
    DN_FAILURE_NONE,
    DN_FAILURE_PRECISION, /* the stated one, by the device */
    DN_FAILURE_MEMORY     /* it is not likely to fit */
};

/* A candidate in place of the requested one. */
struct dn_other {
    int index;            /* -1: none can run the job */
    struct dn_reason why; /* why the job must not move to it; none: it may */
};

void dn_deciding_say (const struct dn_deciding *d, const struct dn_reason *reason);

/* The reason whose one value is the GPU type of candidate 'i'. */
void dn_deciding_say_of (const struct dn_deciding *d, enum dn_reason_code code, int i);

/* What is kept, or not heeded: the reason whose one place is for 'why'. */
void dn_deciding_say_kept (const struct dn_deciding *d,
                           enum dn_reason_code code,
                           const struct dn_reason *why);

/* Why it is not candidate 'i'. */
void dn_deciding_say_not (const struct dn_deciding *d,
                          int i,
                          const struct dn_reason *why);

/* The GPU type of candidate 'i', for a reason. */
struct dn_arg dn_deciding_type (const struct dn_deciding *d, int i);

/* Does candidate 'i' lack the unit that the script needs? */
bool dn_deciding_lacks (const struct dn_deciding *d, int i);

/* Would the run fail on candidate 'i' from the start? */
enum dn_failure dn_deciding_failure (const struct dn_deciding *d, int i);

/* Why the run would fail on candidate 'i': precision, kernels, unit, memory, or several
 * slices. '*why' is none before, and stays so if it would not; the same below.
 */
void dn_deciding_unable (const struct dn_deciding *d, int i, struct dn_reason *why);

/* Why candidate 'i' cannot hold the run: the same, precision, unit, memory with the
 * headroom of a move, confidence.
 */
void dn_deciding_unfit (const struct dn_deciding *d, int i, struct dn_reason *why);

/* The objective's value of the run on candidate 'i', per GPU: with its start, and where
 * the objective is finish with its wait. Of one step where the amount of work is
 * unknown.
 */
double dn_deciding_price (const struct dn_deciding *d, int i);

/* Fill 'starts_now' and 'wait_s' of the options, whose CPUs are known. */
void dn_deciding_look_at_waits (struct dn_deciding *d) DN_COLD;

/* Count the job's GPUs as no longer idle on candidate 'i' to which it moves, until the
 * next snapshot.
 */
void dn_deciding_note_move (const struct dn_deciding *d, int i);

/* The limit of its QOS, association and partition that the job keeps as submitted, and
 * would exceed if moved to candidate 'i' and with 'cpus' CPUs in all (DN_UNSET: as
 * requested); none: it keeps all, or there is no snapshot.
 */
void dn_broken_limit (const struct dn_deciding *d,
                      int i,
                      int64_t cpus,
                      struct dn_reason *why) DN_COLD;

/* The reason, if a limit of the QOS, association or partition on candidate 'i' counts
 * GPUs of one type: a job that names none would escape it.
 */
void dn_deciding_typed_limit (const struct dn_deciding *d,
                              int i,
                              struct dn_reason *why) DN_COLD;

/* The longest time limit on candidate 'i' by its partition, QOS and association;
 * INT64_MAX: none is known.
 */
int64_t dn_longest_limit (const struct dn_deciding *d, int i);

/* Fill the standings, and what they limit. */
void dn_deciding_look_at_limits (struct dn_deciding *d);

/* Leave the type open, where another one is as good for the job but for the time; the
 * decision gets the types. Return the candidate to run on: the requested one or, with
 * GpuType=choose, one of them that can start the job now and saves a tenth by the
 * objective.
 */
int dn_choose_gpu (const struct dn_deciding *d) DN_COLD;

/* Is candidate 'i' an open type besides the requested one? */
bool dn_deciding_is_open (const struct dn_deciding *d, int i);

/* The best candidate that can run a job that cannot run on the requested one: first
 * those that it may move to.
 */
void dn_find_rescue (const struct dn_deciding *d, struct dn_other *other) DN_COLD;

/* CPUs on one node when each task or GPU has 'count'; all of them if the number of
 * nodes is open; DN_UNSET if unknown.
 */
int64_t dn_cpus_on_node (const struct dn_request *request, int64_t count);

/* CPUs of the whole job when each task or GPU has 'count'; DN_UNSET if unknown. */
int64_t dn_all_cpus (const struct dn_request *request, int64_t count);

/* Fill the CPUs of the options; limits are known. */
void dn_deciding_look_at_cpus (struct dn_deciding *d) DN_COLD;

void dn_choose_cpus (const struct dn_deciding *d) DN_COLD;

/* Choose the host memory, when the CPUs are chosen. */
void dn_choose_memory (const struct dn_deciding *d) DN_COLD;

/* The time limit that a run on candidate 'i' needs by TimeQuantile, a multiple of five
 * minutes, or below half an hour of one; DN_UNSET if unknown.
 */
int64_t dn_needed_time (const struct dn_deciding *d, int i);

/* What the requested limit will at most be lowered to, on the requested type. */
int64_t dn_lowered_limit (const struct dn_deciding *d);

/* Does a run of that length meet the deadlines if it starts immediately? The deadline
 * of the metadata is a duration, that of --deadline a point in time.
 */
bool dn_keeps_deadline (const struct dn_deciding *d, int64_t seconds);

/* Is the prediction on candidate 'i' sure enough to change the job? Finished runs on
 * its type suffice where the network is known, by words or by a run: the limit follows
 * how far their times scatter, and nothing else does.
 */
bool dn_deciding_is_sure (const struct dn_deciding *d, int i);

/* The seconds of a time limit that the job has before --signal; at least 0. */
int64_t dn_time_before_signal (const struct dn_request *request, int64_t limit_s);

/* Why so many finished runs of the application do not suffice for 'key', which its
 * caller's text continues; none if they do.
 */
void dn_lacks_evidence (enum dn_needs needs,
                        int64_t runs,
                        const char *key,
                        struct dn_reason *why);

/* Runs of the user's own application that the time on candidate 'i' is by. */
int64_t dn_deciding_runs (const struct dn_deciding *d, int i);

/* The reason, if a QOS or association of the job on candidate 'i' limits TRES minutes,
 * of which Slurm charges the whole time limit, or is not in the snapshot.
 */
void dn_deciding_minutes (const struct dn_deciding *d, int i, struct dn_reason *why);

/* Is a guard alive for limits that these rules set? */
bool dn_deciding_has_guard (const struct dn_deciding *d);

/* Why the guard cannot extend a lower limit of this job up to the requested one;
 * DN_REASON_NONE if it can.
 */
enum dn_reason_code dn_deciding_unguarded (const struct dn_deciding *d);

/* The least limit in seconds, without --signal, with which the guard sees the job long
 * enough before its end. There must be a guard.
 */
int64_t dn_deciding_least_guarded (const struct dn_deciding *d);

void dn_choose_time (const struct dn_deciding *d) DN_COLD;

/* Warnings: of what the request and the metadata say; of a failure on the requested
 * type, with the type that could run the job; of time that does not suffice.
 */
void dn_warn_of_request (const struct dn_deciding *d) DN_COLD;
void dn_warn_of_failure (const struct dn_deciding *d,
                         enum dn_failure failure,
                         const struct dn_other *other) DN_COLD;
void dn_warn_of_need (const struct dn_deciding *d);
void dn_warn_of_nodes (const struct dn_deciding *d) DN_COLD;
void dn_warn_of_time (const struct dn_deciding *d) DN_COLD;

#endif
