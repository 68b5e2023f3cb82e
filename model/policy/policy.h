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
enum dn_time_mode {
    DN_TIME_UNKNOWN,
    DN_TIME_KEEP,
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
    enum dn_time_mode time_limit;
    double time_quantile;
    double time_margin;
    int64_t time_min_s;
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
    enum dn_message message;
    enum dn_record record;
};

enum dn_rule_type {
    DN_RULE_ENUM,
    DN_RULE_RATIO,
    DN_RULE_COUNT,
    DN_RULE_TIME
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
    const char *value; /* the default, as one writes it */
    const char *help;
};

const struct dn_rule_key *dn_rule_keys (int *n_keys);

/* All defaults. */
struct dn_rules dn_rules_default (void);

/* Set one rule. -1 with DN_E_RANGE for an unknown key or a value outside of its range.
 */
int dn_rules_set (struct dn_rules *rules,
                  struct dn_span key,
                  struct dn_span value,
                  struct dn_err *err);

enum dn_verdict {
    DN_VERDICT_NONE,
    DN_VERDICT_ABSTAIN, /* cannot or must not tell */
    DN_VERDICT_KEEP,    /* the request is right as it is */
    DN_VERDICT_CHANGE
};

extern const struct dn_names dn_verdict_names;

/* What to change. A field that stays has DN_UNSET or NULL. */
struct dn_decision {
    enum dn_verdict verdict;
    int64_t time_limit_s;           /* new limit, whole minutes */
    const struct dn_gpu_type *gpu;  /* new type */
    const struct dn_gpu_type *from; /* the one it takes the place of */
    int64_t cpus_per_task;          /* new count */
    int64_t cpus_each_gpu;          /* new count, where CPUs were requested per GPU */
    int chosen; /* index of the candidate that the job will run on, -1 unknown */
    char reasons[DN_REASONS_MAX][DN_REASON_MAX]; /* one sentence each */
    int n_reasons;
    char note[DN_REASON_MAX]; /* what the user should know, whatever is decided */
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

/* The largest batch per GPU that the rules would move to 'device': its memory's bound,
 * head room on top, fits. 0 when none does.
 */
int64_t dn_policy_largest_batch (const struct dn_rules *rules,
                                 const struct dn_constants *constants,
                                 const struct dn_spec *spec,
                                 const struct dn_graph *graph,
                                 const struct dn_device *device);

#endif
