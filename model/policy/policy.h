/* policy.h - whether to change a job, and to what
 *
 * In: the request, the candidates with their estimates, the admin's rules. Out: struct
 * dn_decision: keep or change per field, with a reason for every step. Never: the names
 * of Slurm's fields.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_POLICY_H
#define DN_POLICY_H

#include <math.h>

#include "hardware/hardware.h"
#include "policy/rules.h"
#include "policy/view.h"
#include "predict/whitebox.h"
#include "request/request.h"

/* clang-format off */
#define DN_VERDICTS(ROW)                                                               \
    ROW (VERDICT_NONE, "none")                                                         \
    ROW (VERDICT_ABSTAIN, "abstain") /* a decision is not possible, enum dn_abstain */ \
    ROW (VERDICT_KEEP, "keep") /* the request needs no change */                       \
    ROW (VERDICT_CHANGE, "change")                                                     \
    ROW (VERDICT_CONTROL, "control") /* in the control group: unchanged */
/* clang-format on */
DN_ENUM (dn_verdict, VERDICTS);

extern const struct dn_names dn_verdict_names;

/* Why a decision is not possible. */
/* clang-format off */
#define DN_ABSTAIN(ROW)                                                                \
    ROW (ABSTAIN_NONE, "none")                                                         \
    ROW (ABSTAIN_NO_METADATA, "no_metadata") /* OptIn=all */                           \
    ROW (ABSTAIN_COMPONENT, "heterogeneous") /* of a heterogeneous job */              \
    ROW (ABSTAIN_NO_GPU, "no_gpu") /* none was requested */                            \
    ROW (ABSTAIN_UNMAPPED, "unmapped_type") /* no Gpu line for the type */             \
    ROW (ABSTAIN_GPUS, "gpus_mismatch") /* more are stated, or they are slices */      \
    ROW (ABSTAIN_UNSUPPORTED, "unsupported_precision") /* precision, by the device */  \
    ROW (ABSTAIN_MEMORY, "memory") /* does not fit */                                  \
    ROW (ABSTAIN_CONFIDENCE, "confidence") /* below MinConfidence */                   \
    ROW (ABSTAIN_UNREAD_KEY, "unread_key") /* of the network, by its builder */        \
    ROW (ABSTAIN_HISTORY, "history") /* neither a model nor runs to learn from */      \
    ROW (ABSTAIN_START, "start") /* StartChanges jobs were changed in this hour */
/* clang-format on */
DN_ENUM (dn_abstain, ABSTAIN);

extern const struct dn_names dn_abstain_names;

/* What the user is warned of, the most serious first. */
/* clang-format off */
#define DN_WARNINGS(ROW)                                                               \
    ROW (WARNING_NONE, "none")                                                         \
    ROW (WARNING_MEMORY, "memory") /* the training does not fit the GPU type */        \
    ROW (WARNING_PRECISION, "precision") /* the GPU type lacks something */            \
    ROW (WARNING_NODES, "nodes") /* no node with the GPU type is available */          \
    ROW (WARNING_LIMIT, "limit") /* the time limit is below the likely time */         \
    ROW (WARNING_DEADLINE, "deadline") /* a deadline is */                             \
    ROW (WARNING_METADATA, "metadata") /* contradictory, or not read */                \
    ROW (WARNING_IDLE, "idle") /* earlier runs used fewer GPUs than they had */        \
    ROW (WARNING_OPEN, "open") /* the number of GPUs is open */
/* clang-format on */
DN_ENUM (dn_warning_kind, WARNINGS);

extern const struct dn_names dn_warning_names;

/* What is likely to go wrong with the job as the user wrote it: one sentence in parts,
 * such as "needs about 34 GiB of GPU memory, v100 has 32", "; moved to a100".
 */
#define DN_WARNING_PARTS_MAX 4
struct dn_warning {
    enum dn_warning_kind kind;
    struct dn_reason parts[DN_WARNING_PARTS_MAX];
    int n_parts;
};

/* A GPU type that a job may get when it can start. */
#define DN_OPEN_MAX 4
struct dn_open {
    const struct dn_gpu_type *gpu;
    const char *feature; /* that selects it; NULL: none */
    double slow;         /* time of the run there / on the requested type */
};

/* How much longer than on the requested type a run may take on one where it takes
 * 'slow' times as long: a limit means work, and the ratio of two predictions has an
 * error of 10 %, for which no job may be killed.
 */
#define DN_OPEN_MARGIN 1.3
static inline double dn_open_factor (double slow)
{
    return dn_max (1, slow * DN_OPEN_MARGIN);
}

/* What to change. A field that is kept has DN_UNSET or NULL. */
struct dn_decision {
    enum dn_verdict verdict;
    enum dn_abstain abstain; /* of verdict abstain */
    int64_t time_limit_s;    /* new limit, whole minutes */
    int64_t time_min_s;      /* new --time-min, whole minutes */
    double time_quantile;    /* of the bound; 0: there is none */
    bool extended; /* the guard extends the new limit, up to the requested one */
    const struct dn_gpu_type *gpu;  /* new type */
    const struct dn_gpu_type *from; /* the type that it replaces */
    const char *feature;            /* that selects the new type; NULL: none */
    const char *from_feature;
    struct dn_open open[DN_OPEN_MAX]; /* the requested type first */
    int n_open;                       /* 0: the type is as requested, or 'gpu' */
    bool either;    /* the job starts on any of them; false: dnnestd says on which */
    double factor;  /* of the limit that its user requested: more time elsewhere */
    int64_t wait_s; /* expected until the first of its types starts it, */
    int64_t own_wait_s; /* and until the requested one does; DN_UNSET: unknown */
    double cost;        /* of a new type per GPU hour, and of the one */
    double from_cost;   /* that it replaces */
    bool starts_now;    /* the new type has idle nodes, the one that it replaces none */
    int64_t cpus_per_task; /* new count */
    bool rescued;          /* 'gpu' replaces a type on which the job cannot run */
    int64_t cpus_each_gpu; /* new count, where CPUs were requested per GPU */
    int64_t gpus;          /* new number */
    int64_t mem_mb;        /* new host memory of a node */
    int base;   /* index of the candidate that it runs on as submitted, -1 unknown */
    int chosen; /* that it will run on */
    int n_reasons;
    int abstained; /* the reason that is why it abstains */
    int n_warnings;
    char remedy[DN_REMEDY_MAX];   /* borrowed by its warning */
    char assumed[DN_ASSUMED_LEN]; /* what is taken for keys that were not given; "" */
    char assumed_input[DN_ASSUMED_LEN]; /* the same with those of the loaders */
    struct dn_reason note;              /* for the user, with any verdict */
    char app[DN_NAME_MAX];  /* its application, for the record; "" unknown */
    char kin[DN_KIN_MAX];   /* that of its kin (request/fingerprint.h); "": the same */
    const char *by_run;     /* the job whose run describes it; NULL: none */
    const char *python_dir; /* the job describes itself, by the hook below it */
    const char *progress_dir; /* the job reports there how far it is; NULL: nowhere */
    struct dn_reason reasons[DN_REASONS_MAX];
    struct dn_warning warnings[DN_WARNINGS_MAX]; /* the most serious first */
};

/* Start with no decision. Reasons and warnings are not cleared: there are none. */
void dn_policy_begin (struct dn_decision *decision);

/* Add a reason; beyond DN_REASONS_MAX it is dropped. */
void dn_decision_say (struct dn_decision *decision, const struct dn_reason *reason);

/* Warn the user, with any verdict or none. Beyond DN_WARNINGS_MAX the least serious
 * warning is dropped. NULL if that is this one.
 */
struct dn_warning *dn_decision_warn (struct dn_decision *decision,
                                     enum dn_warning_kind kind,
                                     const struct dn_reason *reason);

/* Add a part to its sentence; 'warning' may be NULL. */
void dn_warning_add (struct dn_warning *warning, const struct dn_reason *part);

/* The whole sentence. */
struct dn_warning_text {
    char text[DN_WARNING_MAX];
};
struct dn_warning_text dn_warning_text (const struct dn_warning *warning);

/* The warning of that kind, or NULL. */
struct dn_warning *dn_decision_warning (struct dn_decision *decision,
                                        enum dn_warning_kind kind);

/* Bytes of GPU memory that a device must have before the rules move a run to it: the
 * bound of the estimate plus the headroom.
 */
double dn_policy_memory (const struct dn_rules *rules,
                         const struct dn_estimate *estimate);

/* Decide. 'estimates' has one entry per candidate; 'view' (not NULL) has no cluster
 * that is too old; 'decision' has begun, and keeps its warnings. Cannot fail: a field
 * about which there is doubt is kept, with the reason.
 */
void dn_policy_decide (const struct dn_rules *rules,
                       const struct dn_request *request,
                       const struct dn_spec *spec,
                       const struct dn_candidates *candidates,
                       const struct dn_estimate *estimates,
                       const struct dn_view *view,
                       struct dn_decision *decision) DN_COLD;

/* The reason, if a QOS or association of the job in that partition limits TRES minutes,
 * of which Slurm charges the whole time limit, or is not in the snapshot.
 */
struct dn_reason dn_policy_minutes (const struct dn_cluster *cluster,
                                    const struct dn_job *job,
                                    const char *partition);

/* Is the job in the control group? 'spec' is the job's own description, before anything
 * was derived from it.
 *
 * The group is a share of all submissions, so that the effect of dnnest can be
 * measured. With ControlBy=job each submission is drawn by a number of its own: jobs of
 * one user and script are in both groups, so the comparison is the sharpest. A dry run
 * has no number, and is in the group if all are. With ControlBy=app, where what a job
 * gets changes what its owner requests next, the draw uses the owner, the description
 * and the script (its head, DN_SCRIPT_HEAD_MAX):
 *
 * - It is stable: a resubmission gets the same result, the siblings of a federation
 *   agree, and 'dnnest advise' predicts what the plugin will do.
 * - It does not depend on the request. dnnest influences what users request the next
 *   time; if the draw used the request, treated jobs would change groups because of the
 *   treatment.
 * - It uses the script, because there are few users and descriptions: a user with one
 *   network would always be in one group, and 10 % of twenty users are two. A new
 *   version of a script is a new, independent draw.
 * - With a larger percentage all previous members stay in the group.
 *
 * No user gains from influencing the draw: dnnest:off opts out.
 */
bool dn_policy_in_control (const struct dn_rules *rules,
                           const struct dn_job *job,
                           const struct dn_spec *spec) DN_COLD;

/* Lower the GPUs of a request with Gpus=choose to the number of the description, where
 * nothing in the request or the script could use more: one node, one task. All that
 * follows is about the lower number.
 */
void dn_policy_lower_gpus (const struct dn_rules *rules,
                           const struct dn_spec *spec,
                           struct dn_request *request);

/* Give a decision the verdict control; what it would have changed stays in it. One that
 * abstains is not changed, since it treats no job in either group.
 */
void dn_policy_set_control (struct dn_decision *decision);

/* May one more job be changed? In the first hour after a start 'first' jobs may, in
 * each next hour twice as many, so that a mistake shows before it spreads; after some
 * hours, and with 'first' 0, all. If it may, it is counted. From any thread.
 */
bool dn_policy_may_change (const struct dn_view *view, double first);

/* Leave a job beyond them as it is. */
void dn_policy_leave (struct dn_decision *decision);

/* Decide whether a job describes itself, by the hook below 'python_dir', in
 * 'progress_dir' (NULL: the site has none). Both are borrowed. A job of a heterogeneous
 * one does not.
 */
void dn_policy_capture (const struct dn_rules *rules,
                        const struct dn_job *job,
                        const struct dn_spec *spec,
                        bool opted_in,
                        const char *python_dir,
                        const char *progress_dir,
                        struct dn_decision *decision);

/* The decision about a job that is not predicted: one without metadata, where
 * OptIn=all, or a component of a heterogeneous job.
 */
void dn_policy_abstain (struct dn_decision *decision,
                        enum dn_abstain why,
                        const struct dn_reason *reason);

/* Does the estimate depend on every key of the network that was given? If not, the note
 * names the others. Keys of the training that it does not depend on are named among the
 * reasons only.
 */
bool dn_policy_reads_network (const struct dn_spec *spec,
                              const struct dn_estimate *estimate,
                              struct dn_decision *decision) DN_COLD;

/* The largest batch per GPU that the rules would move to 'device': the bound of its
 * memory plus the headroom fits. 0 when none does.
 */
int64_t dn_policy_largest_batch (const struct dn_rules *rules, const struct dn_case *c);

/* May one sample fit the device, though no batch does for sure? */
bool dn_policy_may_hold_one (const struct dn_case *c);

/* The largest batch by 'estimate', which is that of the case, and may differ from the
 * white box by a factor and in its bound.
 */
int64_t dn_policy_fitting_batch (const struct dn_rules *rules,
                                 const struct dn_case *c,
                                 const struct dn_estimate *estimate);

/* Say, in the decision and in its warnings about memory and time, which keys were not
 * given that the estimate of the run depends on.
 */
void dn_policy_say_assumed (const struct dn_spec *spec,
                            const struct dn_estimate *estimate,
                            struct dn_decision *decision) DN_COLD;

#endif
