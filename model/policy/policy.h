/* policy.h - whether to change a job, and to what
 *
 * In: the request, the candidates with their estimates, the admin's rules. Out: struct
 * dn_decision: keep or change per field, every step with its reason. Never: how a field
 * is spelled in Slurm.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_POLICY_H
#define DN_POLICY_H

#include "hardware/hardware.h"
#include "policy/rules.h"
#include "predict/whitebox.h"
#include "request/request.h"

enum dn_verdict {
    DN_VERDICT_NONE,
    DN_VERDICT_ABSTAIN, /* cannot or must not tell */
    DN_VERDICT_KEEP,    /* the request is right as it is */
    DN_VERDICT_CHANGE,
    DN_VERDICT_CONTROL, /* keep or change, but left alone to measure against */
    DN_N_VERDICTS
};

extern const struct dn_names dn_verdict_names;

/* Why nothing can be told. */
enum dn_abstain {
    DN_ABSTAIN_NONE,
    DN_ABSTAIN_NO_METADATA, /* OptIn=all */
    DN_ABSTAIN_NO_GPU,      /* none was requested */
    DN_ABSTAIN_UNMAPPED,    /* no Gpu line for the type */
    DN_ABSTAIN_GPUS,        /* more of them in the metadata than requested */
    DN_ABSTAIN_UNSUPPORTED, /* the precision */
    DN_ABSTAIN_MEMORY,      /* does not fit */
    DN_ABSTAIN_CONFIDENCE,  /* below MinConfidence */
    DN_N_ABSTAIN
};

extern const struct dn_names dn_abstain_names;

/* What to change. A field that stays has DN_UNSET or NULL. */
struct dn_decision {
    enum dn_verdict verdict;
    enum dn_abstain abstain;        /* of verdict abstain */
    int64_t time_limit_s;           /* new limit, whole minutes */
    int64_t time_min_s;             /* new least time, whole minutes */
    const struct dn_gpu_type *gpu;  /* new type */
    const struct dn_gpu_type *from; /* the one it takes the place of */
    int64_t cpus_per_task;          /* new count */
    int64_t cpus_each_gpu;          /* new count, where CPUs were requested per GPU */
    int chosen; /* index of the candidate that the job will run on, -1 unknown */
    char reasons[DN_REASONS_MAX][DN_REASON_MAX]; /* one sentence each */
    int n_reasons;
    char note[DN_REASON_MAX]; /* what the user should know, whatever is decided */
    const char *hook_dir;     /* the job becomes a probe of itself, by the hook there */
};

/* Nothing is decided yet. The text of the sentences is left as it is: 'n_reasons' says
 * that there are none.
 */
void dn_policy_begin (struct dn_decision *decision);

/* Bytes of GPU memory that a device must have before the rules move a run there: the
 * bound of the estimate with the head room on top.
 */
double dn_policy_memory (const struct dn_rules *rules,
                         const struct dn_estimate *estimate);

/* Decide. 'estimates' has one entry per candidate. Cannot fail: every doubt is a field
 * that stays, with its reason.
 */
void dn_policy_decide (const struct dn_rules *rules,
                       const struct dn_request *request,
                       const struct dn_spec *spec,
                       const struct dn_candidates *candidates,
                       const struct dn_estimate *estimates,
                       struct dn_decision *decision);

/* Is the job one of the control group? 'spec' is what the job says of itself, before
 * anything was derived from it.
 *
 * The group is a share of all submissions, so that what dnnest does can be told from
 * what would have happened anyway. At a submission there is no job id; what is drawn
 * from is the owner, the description and the script (its head, DN_SCRIPT_HEAD_MAX):
 *
 * - It is stable: whoever submits the same again gets the same lot, no resubmission
 *   throws the dice anew, the siblings of a federation agree, and 'dnnest advise' tells
 *   beforehand what the plugin will do.
 * - It does not hang on the request. dnnest changes what people request the next time;
 *   if the draw saw it, the treated would leave their group because of the treatment.
 * - The script is in it, for users and descriptions alone are few: a user with one
 *   network would be in one group for ever, and a group of 10 % of twenty users is two.
 *   A new version of a script is a new draw, whose outcome does not depend on the old.
 * - A larger percentage keeps all who were in the group before.
 *
 * Nobody gains from steering the draw: who wants to be left alone says dnnest:off.
 */
bool dn_policy_in_control (const struct dn_rules *rules,
                           const struct dn_job *job,
                           const struct dn_spec *spec);

/* Make a decision one of the control group: what it would have changed stays in it.
 * One that abstains stays as it is, since it treats no job, in either group.
 */
void dn_policy_spare (struct dn_decision *decision);

/* A job with probe= is measured on what it asked for: nothing of its request changes.
 */
void dn_policy_keep_for_probe (const struct dn_spec *spec, struct dn_request *request);

/* Decide whether a job with probe= becomes a probe, by the hook in 'hook_dir' (NULL:
 * the site has none); where it does not, the note says why. 'hook_dir' is borrowed.
 */
void dn_policy_probe (const struct dn_rules *rules,
                      const struct dn_job *job,
                      const struct dn_spec *spec,
                      const char *hook_dir,
                      struct dn_decision *decision);

/* The decision about a job without metadata, where OptIn=all. */
void dn_policy_abstain (struct dn_decision *decision, const char *reason);

/* The largest batch per GPU that the rules would move to 'device': its memory's bound,
 * head room on top, fits. 0 when none does.
 */
int64_t dn_policy_largest_batch (const struct dn_rules *rules, const struct dn_case *c);

#endif
