/* rules.h - the admin's rules: what dnnest may do to a job
 *
 * In: the keys and values of dnnest.conf and slurm.conf. Out: struct dn_rules, each
 * value within its range. Never: a file, or a job.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_RULES_H
#define DN_RULES_H

#include "spec/spec.h"

/* The values of each rule whose values are words, in the order of strictness, and the
 * words. The first cannot be configured.
 */
enum dn_mode {
    DN_MODE_UNKNOWN,
    DN_MODE_OBSERVE,
    DN_MODE_ADVISE,
    DN_MODE_ENFORCE,
    DN_N_MODES
};
#define DN_MODE_WORDS                                                                  \
    {                                                                                  \
        [DN_MODE_UNKNOWN] = "unknown", [DN_MODE_OBSERVE] = "observe",                  \
        [DN_MODE_ADVISE] = "advise", [DN_MODE_ENFORCE] = "enforce"                     \
    }

enum dn_opt_in {
    DN_OPT_IN_UNKNOWN,
    DN_OPT_IN_METADATA,
    DN_OPT_IN_ALL,
    DN_OPT_IN_HISTORY,
    DN_N_OPT_INS
};
#define DN_OPT_IN_WORDS                                                                \
    {                                                                                  \
        [DN_OPT_IN_UNKNOWN] = "unknown", [DN_OPT_IN_METADATA] = "metadata",            \
        [DN_OPT_IN_ALL] = "all", [DN_OPT_IN_HISTORY] = "history"                       \
    }

/* Whose runs a history is made of. */
enum dn_share {
    DN_SHARE_UNKNOWN,
    DN_SHARE_USER,
    DN_SHARE_ACCOUNT,
    DN_N_SHARES
};
#define DN_SHARE_WORDS                                                                 \
    {                                                                                  \
        [DN_SHARE_UNKNOWN] = "unknown", [DN_SHARE_USER] = "user",                      \
        [DN_SHARE_ACCOUNT] = "account"                                                 \
    }

enum dn_time_mode {
    DN_TIME_UNKNOWN,
    DN_TIME_KEEP,
    DN_TIME_TIME_MIN, /* keep the limit, set --time-min */
    DN_TIME_AUTO,     /* time_min where it is a soft limit, else limit */
    DN_TIME_LIMIT,
    DN_N_TIME_MODES
};
#define DN_TIME_WORDS                                                                  \
    {                                                                                  \
        [DN_TIME_UNKNOWN] = "unknown", [DN_TIME_KEEP] = "keep",                        \
        [DN_TIME_TIME_MIN] = "time_min", [DN_TIME_AUTO] = "auto",                      \
        [DN_TIME_LIMIT] = "limit"                                                      \
    }

enum dn_choice {
    DN_CHOICE_UNKNOWN,
    DN_CHOICE_KEEP,
    DN_CHOICE_CHOOSE,
    DN_N_CHOICES
};
#define DN_CHOICE_WORDS                                                                \
    {                                                                                  \
        [DN_CHOICE_UNKNOWN] = "unknown", [DN_CHOICE_KEEP] = "keep",                    \
        [DN_CHOICE_CHOOSE] = "choose"                                                  \
    }

enum dn_message {
    DN_MESSAGE_UNKNOWN,
    DN_MESSAGE_CHANGE,
    DN_MESSAGE_ALWAYS,
    DN_MESSAGE_NEVER,
    DN_N_MESSAGES
};
#define DN_MESSAGE_WORDS                                                               \
    {                                                                                  \
        [DN_MESSAGE_UNKNOWN] = "unknown", [DN_MESSAGE_CHANGE] = "change",              \
        [DN_MESSAGE_ALWAYS] = "always", [DN_MESSAGE_NEVER] = "never"                   \
    }

/* May a job move to a GPU type of higher Cost? */
enum dn_upgrade {
    DN_UPGRADE_UNKNOWN,
    DN_UPGRADE_NO,
    DN_UPGRADE_RESCUE, /* if it cannot run on its own */
    DN_UPGRADE_YES,    /* if the objective gains by it */
    DN_N_UPGRADES
};
#define DN_UPGRADE_WORDS                                                               \
    {                                                                                  \
        [DN_UPGRADE_UNKNOWN] = "unknown", [DN_UPGRADE_NO] = "no",                      \
        [DN_UPGRADE_RESCUE] = "rescue", [DN_UPGRADE_YES] = "yes"                       \
    }

enum dn_record {
    DN_RECORD_UNKNOWN,
    DN_RECORD_ADMIN_COMMENT,
    DN_RECORD_ANONYMOUS, /* the same without names out of the metadata */
    DN_RECORD_NONE,
    DN_N_RECORDS
};
#define DN_RECORD_WORDS                                                                \
    {                                                                                  \
        [DN_RECORD_UNKNOWN] = "unknown", [DN_RECORD_ADMIN_COMMENT] = "admin_comment",  \
        [DN_RECORD_ANONYMOUS] = "anonymous", [DN_RECORD_NONE] = "none"                 \
    }

enum dn_yes {
    DN_YES_UNKNOWN,
    DN_YES_NO,
    DN_YES_YES,
    DN_N_YES
};
#define DN_YES_WORDS                                                                   \
    {                                                                                  \
        [DN_YES_UNKNOWN] = "unknown", [DN_YES_NO] = "no", [DN_YES_YES] = "yes"         \
    }

/* A job that dnnest moved to another GPU type and whose memory was too small for it. */
enum dn_rescue {
    DN_RESCUE_UNKNOWN,
    DN_RESCUE_OFF,
    DN_RESCUE_REQUEUE, /* start it again as it was requested */
    DN_N_RESCUES
};
#define DN_RESCUE_WORDS                                                                \
    {                                                                                  \
        [DN_RESCUE_UNKNOWN] = "unknown", [DN_RESCUE_OFF] = "off",                      \
        [DN_RESCUE_REQUEUE] = "requeue"                                                \
    }

extern const struct dn_names dn_mode_names;

/* One entry per key. It gives the member of struct dn_rules and the row of the key
 * table, which the parser, the defaults, 'dnnest config', the tests of the man page and
 * of the sample file read.
 *
 * ENUM: enum, member, key, stricter, default, help, number of constants, their words.
 * NUMBER: type, member, key, minimum, maximum (of a time in seconds), stricter,
 * default, help. The stricter of two values is the LOWER, the HIGHER or NONE.
 */
/* clang-format off */
#define DN_RULES(ENUM, NUMBER)                                                         \
    ENUM (dn_mode, mode, "Mode", LOWER, "advise",                                      \
          "observe: record only; advise: also inform the user; enforce: rewrite the "  \
          "job",                                                                       \
          DN_N_MODES, DN_MODE_WORDS)                                                   \
    ENUM (dn_opt_in, opt_in, "OptIn", LOWER, "metadata",                               \
          "consider jobs with metadata only, or also record all that request GPUs, "   \
          "or also set the limits of those that have run before",                      \
          DN_N_OPT_INS, DN_OPT_IN_WORDS)                                               \
    ENUM (dn_share, history_share, "HistoryShare", LOWER, "user",                      \
          "whose runs of an application predict the next one: the user's own, or all " \
          "of the account",                                                            \
          DN_N_SHARES, DN_SHARE_WORDS)                                                 \
    ENUM (dn_yes, revise, "Revise", LOWER, "no",                                       \
          "lower the limits of pending jobs when their application has run",           \
          DN_N_YES, DN_YES_WORDS)                                                      \
    NUMBER (PERCENT, control_group, "ControlGroup", 0, 100, HIGHER, "0",               \
            "percentage of the jobs that is not changed, as the control group")        \
    ENUM (dn_time_mode, time_limit, "TimeLimit", LOWER, "auto",                        \
          "keep the limit, set --time-min to the bound, or set the limit to it; auto: "\
          "--time-min where Slurm has it as a soft limit, else the limit",             \
          DN_N_TIME_MODES, DN_TIME_WORDS)                                              \
    NUMBER (RATIO, time_quantile, "TimeQuantile", 0.5, 0.9999, HIGHER, "0.99",         \
            "share of jobs that must finish within a limit that nothing extends")      \
    NUMBER (RATIO, guarded_quantile, "GuardedQuantile", 0.5, 0.9999, HIGHER, "0.8",    \
            "the same for a limit that the guard extends, and for --time-min")         \
    NUMBER (RATIO, guard_trust, "GuardTrust", 0, 1, LOWER, "0.25",                     \
            "share of a user's last jobs that needed more, from which the limits "     \
            "follow TimeQuantile")                                                     \
    NUMBER (RATIO, time_margin, "TimeMargin", 0, 10, HIGHER, "0.1",                    \
            "added to the bound, as a share of it")                                    \
    NUMBER (TIME, time_min_s, "TimeMin", 60, 3.2e7, HIGHER, "00:30:00",                \
            "no limit is set below this")                                              \
    NUMBER (TIME, time_max_s, "TimeMax", 60, 3.2e7, LOWER, "1-00:00:00",               \
            "no limit is raised above this, or set above it where none was requested") \
    ENUM (dn_yes, fill_unset, "FillUnset", LOWER, "no",                                \
          "set a limit where none was requested",                                      \
          DN_N_YES, DN_YES_WORDS)                                                      \
    ENUM (dn_choice, gpu_type, "GpuType", LOWER, "choose",                             \
          "keep the GPU type, or choose the best one for the objective",               \
          DN_N_CHOICES, DN_CHOICE_WORDS)                                               \
    ENUM (dn_objective, objective, "Objective", NONE, "cost",                          \
          "what the choice of a GPU type minimises",                                   \
          DN_N_OBJECTIVES, DN_OBJECTIVE_WORDS)                                         \
    ENUM (dn_yes, user_objective, "UserObjective", LOWER, "no",                        \
          "yes: objective= of a job overrides Objective",                              \
          DN_N_YES, DN_YES_WORDS)                                                      \
    ENUM (dn_upgrade, upgrade, "Upgrade", LOWER, "rescue",                             \
          "move a job to a GPU type of higher Cost: never, if it cannot run on its "   \
          "own, or also for the objective",                                            \
          DN_N_UPGRADES, DN_UPGRADE_WORDS)                                             \
    NUMBER (RATIO, max_slowdown, "MaxSlowdown", 1, 1000, LOWER, "2.5",                 \
            "maximum predicted time on another GPU type, relative to the requested "   \
            "one")                                                                     \
    NUMBER (RATIO, min_gain, "MinGain", 0, 1, HIGHER, "0.1",                           \
            "minimum gain, as a share of the objective, for a move to another GPU "    \
            "type")                                                                    \
    NUMBER (RATIO, memory_headroom, "MemoryHeadroom", 0, 10, HIGHER, "0.05",           \
            "GPU memory left free above the bound, as a share of it, on another type") \
    ENUM (dn_choice, cpus, "Cpus", LOWER, "choose",                                    \
          "keep the CPU count, or lower it to what the input pipeline needs",          \
          DN_N_CHOICES, DN_CHOICE_WORDS)                                               \
    NUMBER (COUNT, cpus_per_gpu_min, "CpusPerGpuMin", 1, 1024, HIGHER, "2",            \
            "minimum number of CPUs per GPU that a job keeps")                         \
    NUMBER (COUNT, cpus_per_gpu_max, "CpusPerGpuMax", 1, 1024, LOWER, "64",            \
            "a job that needs more CPUs per GPU than this keeps what it requested")    \
    NUMBER (RATIO, min_confidence, "MinConfidence", 0, 1, HIGHER, "0.5",               \
            "predictions with a lower confidence change nothing")                      \
    ENUM (dn_yes, never_raise, "NeverRaise", HIGHER, "yes",                            \
          "no: also raise a time limit or CPUs that do not suffice",                   \
          DN_N_YES, DN_YES_WORDS)                                                      \
    ENUM (dn_message, message, "Message", NONE, "change",                              \
          "when the user gets a message: if something changes or is wrong, always, "   \
          "or never",                                                                  \
          DN_N_MESSAGES, DN_MESSAGE_WORDS)                                             \
    ENUM (dn_record, record, "Record", NONE, "admin_comment",                          \
          "where the decision and the original request are recorded; anonymous: in "   \
          "the admin comment without names of the metadata",                           \
          DN_N_RECORDS, DN_RECORD_WORDS)                                               \
    ENUM (dn_rescue, rescue, "Rescue", LOWER, "off",                                   \
          "requeue: start a moved job that ran out of GPU memory again with its "      \
          "original request",                                                          \
          DN_N_RESCUES, DN_RESCUE_WORDS)                                               \
    ENUM (dn_yes, shorten, "Shorten", LOWER, "no",                                     \
          "yes: also lower a limit that dnnest set, by the progress of the job",       \
          DN_N_YES, DN_YES_WORDS)                                                      \
    /* End of DN_RULES */
/* clang-format on */

#define DN_RULE_TYPE_RATIO   double
#define DN_RULE_TYPE_PERCENT double
#define DN_RULE_TYPE_COUNT   int64_t
#define DN_RULE_TYPE_TIME    int64_t

#define DN_RULE_ENUM_MEMBER(type, member, ...)   enum type member;
#define DN_RULE_NUMBER_MEMBER(type, member, ...) DN_RULE_TYPE_##type member;

/* The admin's rules. Times are in seconds; the key list has every range. */
struct dn_rules {
    DN_RULES (DN_RULE_ENUM_MEMBER, DN_RULE_NUMBER_MEMBER)
};

enum dn_rule_type {
    DN_RULE_ENUM,
    DN_RULE_RATIO,
    DN_RULE_COUNT,
    DN_RULE_TIME,
    DN_RULE_PERCENT,
    DN_N_RULE_TYPES
};

/* Which of two values of a key is stricter: changes jobs less, or with more care. Names
 * of enums are listed in the order of strictness.
 */
enum dn_strict {
    DN_STRICT_NONE, /* neither is */
    DN_STRICT_LOWER,
    DN_STRICT_HIGHER
};

struct dn_rule_key {
    const char *name; /* as in dnnest.conf */
    enum dn_rule_type type;
    size_t offset; /* in struct dn_rules */
    double min;
    double max;
    struct dn_names names;
    enum dn_strict strict;
    const char *value; /* the default, as in dnnest.conf */
    const char *help;
};

/* Capacity of a set of keys (a 64-bit mask). */
#define DN_RULE_KEYS_MAX 64

const struct dn_rule_key *dn_rule_keys (int *n_keys);

/* All defaults. */
struct dn_rules dn_rules_default (void);

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

#endif
