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
#include "predict/predict.h"
#include "request/request.h"

enum dn_mode {
    DN_MODE_UNKNOWN,
    DN_MODE_OBSERVE,
    DN_MODE_ADVISE,
    DN_MODE_ENFORCE
};
enum dn_opt_in {
    DN_OPT_IN_UNKNOWN,
    DN_OPT_IN_METADATA,
    DN_OPT_IN_ALL
};
enum dn_time_mode {
    DN_TIME_UNKNOWN,
    DN_TIME_KEEP,
    DN_TIME_TIME_MIN, /* leave the limit, set the least time */
    DN_TIME_LIMIT
};
enum dn_choice {
    DN_CHOICE_UNKNOWN,
    DN_CHOICE_KEEP,
    DN_CHOICE_CHOOSE
};
enum dn_message {
    DN_MESSAGE_UNKNOWN,
    DN_MESSAGE_CHANGE,
    DN_MESSAGE_ALWAYS,
    DN_MESSAGE_NEVER
};
enum dn_record {
    DN_RECORD_UNKNOWN,
    DN_RECORD_ADMIN_COMMENT,
    DN_RECORD_NONE
};
enum dn_yes {
    DN_YES_UNKNOWN,
    DN_YES_NO,
    DN_YES_YES
};

extern const struct dn_names dn_mode_names;

/* The admin's rules. Defaults are in the key table below. */
struct dn_rules {
    enum dn_mode mode;
    enum dn_opt_in opt_in;
    double control_group; /* percent */
    enum dn_time_mode time_limit;
    double time_quantile;
    double time_margin;
    int64_t time_min_s;
    int64_t time_max_s;
    enum dn_yes fill_unset;
    enum dn_choice gpu_type;
    enum dn_objective objective;
    double max_slowdown;
    double min_gain;
    double memory_headroom;
    enum dn_choice cpus;
    int64_t cpus_per_gpu_min;
    int64_t cpus_per_gpu_max;
    double min_confidence;
    enum dn_yes never_raise;
    enum dn_message message;
    enum dn_record record;
};

enum dn_rule_type {
    DN_RULE_ENUM,
    DN_RULE_RATIO,
    DN_RULE_COUNT,
    DN_RULE_TIME,
    DN_RULE_PERCENT,
    DN_N_RULE_TYPES
};

/* Which of two values of a key is stricter: intervenes less, or with more care. Names
 * of enums are listed in their order.
 */
enum dn_strict {
    DN_STRICT_NONE, /* neither is */
    DN_STRICT_LOWER,
    DN_STRICT_HIGHER
};

/* One row per key: parser, default, range, 'dnnest config', man page and sample file
 * all read this table.
 */
struct dn_rule_key {
    const char *name; /* as in dnnest.conf */
    enum dn_rule_type type;
    size_t offset; /* in struct dn_rules */
    double min;
    double max;
    struct dn_names names;
    enum dn_strict strict;
    const char *value; /* the default, as one writes it */
    const char *help;
};

/* Keys that a set of them can hold. */
#define DN_RULE_KEYS_MAX 64

const struct dn_rule_key *dn_rule_keys (int *n_keys);

/* All defaults. */
struct dn_rules dn_rules_default (void);

/* Set one rule. -1 with DN_E_RANGE for an unknown key or a value outside of its range.
 */
int dn_rules_set (struct dn_rules *rules,
                  struct dn_span key,
                  struct dn_span value,
                  struct dn_err *err);

/* The row of a key, or NULL. */
const struct dn_rule_key *dn_rules_find (struct dn_span key);

/* Read 'value' into the rule of that row. */
int dn_rules_read (const struct dn_rule_key *key,
                   struct dn_span value,
                   struct dn_rules *rules,
                   struct dn_err *err);

void dn_rules_copy (const struct dn_rule_key *key,
                    const struct dn_rules *from,
                    struct dn_rules *to);

/* Is the key's value in 'a' stricter than in 'b'? */
bool dn_rules_is_stricter (const struct dn_rule_key *key,
                           const struct dn_rules *a,
                           const struct dn_rules *b);

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

/* The decision about a job without metadata, where OptIn=all. */
void dn_policy_abstain (struct dn_decision *decision, const char *reason);

/* The largest batch per GPU that the rules would move to 'device': its memory's bound,
 * head room on top, fits. 0 when none does.
 */
int64_t dn_policy_largest_batch (const struct dn_rules *rules,
                                 const struct dn_constants *constants,
                                 const struct dn_spec *spec,
                                 const struct dn_graph *graph,
                                 const struct dn_device *device);

#endif
