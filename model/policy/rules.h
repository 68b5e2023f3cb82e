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

/* The values of each rule whose values are words, in the order of strictness: rows of a
 * constant and its word. The first cannot be configured.
 */
/* clang-format off */
#define DN_MODES(ROW)                                                                  \
    ROW (MODE_UNKNOWN, "unknown")                                                      \
    ROW (MODE_OBSERVE, "observe")                                                      \
    ROW (MODE_ADVISE, "advise")                                                        \
    ROW (MODE_ENFORCE, "enforce")
DN_ENUM (dn_mode, MODES);

#define DN_OPT_INS(ROW)                                                                \
    ROW (OPT_IN_UNKNOWN, "unknown")                                                    \
    ROW (OPT_IN_METADATA, "metadata")                                                  \
    ROW (OPT_IN_ALL, "all")                                                            \
    ROW (OPT_IN_HISTORY, "history")
DN_ENUM (dn_opt_in, OPT_INS);

/* Whose runs a history is made of. */
#define DN_SHARES(ROW)                                                                 \
    ROW (SHARE_UNKNOWN, "unknown")                                                     \
    ROW (SHARE_USER, "user")                                                           \
    ROW (SHARE_ACCOUNT, "account")
DN_ENUM (dn_share, SHARES);

#define DN_TIME_MODES(ROW)                                                             \
    ROW (TIME_UNKNOWN, "unknown")                                                      \
    ROW (TIME_KEEP, "keep")                                                            \
    ROW (TIME_TIME_MIN, "time_min") /* keep the limit, set --time-min */               \
    ROW (TIME_AUTO, "auto") /* time_min where it is a soft limit, else limit */        \
    ROW (TIME_LIMIT, "limit")
DN_ENUM (dn_time_mode, TIME_MODES);

/* Finished runs of the user's application without which a field is not narrowed: none
 * (words), one, two. auto: none where a net is under a lowered limit, else two.
 */
#define DN_RUN_NEEDS(ROW)                                                              \
    ROW (NEEDS_UNKNOWN, "unknown")                                                     \
    ROW (NEEDS_WORDS, "words")                                                         \
    ROW (NEEDS_SOME, "some")                                                           \
    ROW (NEEDS_ENOUGH, "enough")
DN_ENUM (dn_needs, RUN_NEEDS);

#define DN_TIME_NEEDS(ROW)                                                             \
    ROW (TIME_NEEDS_UNKNOWN, "unknown")                                                \
    ROW (TIME_NEEDS_WORDS, "words")                                                    \
    ROW (TIME_NEEDS_AUTO, "auto")                                                      \
    ROW (TIME_NEEDS_SOME, "some")                                                      \
    ROW (TIME_NEEDS_ENOUGH, "enough")
DN_ENUM (dn_time_needs, TIME_NEEDS);

#define DN_CHOICES(ROW)                                                                \
    ROW (CHOICE_UNKNOWN, "unknown")                                                    \
    ROW (CHOICE_KEEP, "keep")                                                          \
    ROW (CHOICE_CHOOSE, "choose")
DN_ENUM (dn_choice, CHOICES);

/* The GPU type of a job. */
#define DN_TYPE_CHOICES(ROW)                                                           \
    ROW (TYPE_UNKNOWN, "unknown")                                                      \
    ROW (TYPE_KEEP, "keep")                                                            \
    ROW (TYPE_OPEN, "open") /* leave it open until the job can start */                \
    ROW (TYPE_CHOOSE, "choose") /* the same, and move it to one that is idle */
DN_ENUM (dn_type_choice, TYPE_CHOICES);

/* Host memory: what only follows from a default per CPU goes down with the CPUs, and
 * what was requested in words too, as far as finished runs say so.
 */
#define DN_MEMORIES(ROW)                                                               \
    ROW (MEMORY_UNKNOWN, "unknown")                                                    \
    ROW (MEMORY_KEEP, "keep")                                                          \
    ROW (MEMORY_DEFAULT, "default")                                                    \
    ROW (MEMORY_MEASURED, "measured")
DN_ENUM (dn_memory_rule, MEMORIES);

/* GPUs that the description says the job does not use. */
#define DN_GPUS_RULES(ROW)                                                             \
    ROW (GPUS_UNKNOWN, "unknown")                                                      \
    ROW (GPUS_KEEP, "keep")                                                            \
    ROW (GPUS_ADVISE, "advise")                                                        \
    ROW (GPUS_CHOOSE, "choose")
DN_ENUM (dn_gpus_rule, GPUS_RULES);

#define DN_MESSAGES(ROW)                                                               \
    ROW (MESSAGE_UNKNOWN, "unknown")                                                   \
    ROW (MESSAGE_CHANGE, "change")                                                     \
    ROW (MESSAGE_ALWAYS, "always")                                                     \
    ROW (MESSAGE_NEVER, "never")
DN_ENUM (dn_message, MESSAGES);

/* May dnnestd give a pending job another GPU type? */
#define DN_STEERS(ROW)                                                                 \
    ROW (STEER_UNKNOWN, "unknown")                                                     \
    ROW (STEER_NO, "no")                                                               \
    ROW (STEER_CHEAPER, "cheaper") /* of no higher Cost */                             \
    ROW (STEER_BOTH, "both")
DN_ENUM (dn_steer, STEERS);

/* May a job move to a GPU type of higher Cost? */
#define DN_UPGRADES(ROW)                                                               \
    ROW (UPGRADE_UNKNOWN, "unknown")                                                   \
    ROW (UPGRADE_NO, "no")                                                             \
    ROW (UPGRADE_RESCUE, "rescue") /* if it cannot run on its own */                   \
    ROW (UPGRADE_YES, "yes") /* if the objective gains by it */
DN_ENUM (dn_upgrade, UPGRADES);

#define DN_RECORDS(ROW)                                                                \
    ROW (RECORD_UNKNOWN, "unknown")                                                    \
    ROW (RECORD_ADMIN_COMMENT, "admin_comment")                                        \
    ROW (RECORD_ANONYMOUS, "anonymous") /* without names of the metadata */            \
    ROW (RECORD_NONE, "none")
DN_ENUM (dn_record, RECORDS);

#define DN_YES(ROW)                                                                    \
    ROW (YES_UNKNOWN, "unknown")                                                       \
    ROW (YES_NO, "no")                                                                 \
    ROW (YES_YES, "yes")
DN_ENUM (dn_yes, YES);

/* What is drawn for the control group. */
#define DN_DRAWS(ROW)                                                                  \
    ROW (DRAW_UNKNOWN, "unknown")                                                      \
    ROW (DRAW_JOB, "job")                                                              \
    ROW (DRAW_APP, "app") /* all jobs of a script and description of a user */
DN_ENUM (dn_draw, DRAWS);

/* Which jobs load the hook that describes them. */
#define DN_CAPTURES(ROW)                                                               \
    ROW (CAPTURE_UNKNOWN, "unknown")                                                   \
    ROW (CAPTURE_NO, "no")                                                             \
    ROW (CAPTURE_OPT_IN, "opt-in") /* those with metadata */                           \
    ROW (CAPTURE_YES, "yes") /* all that request GPUs */
DN_ENUM (dn_capture_rule, CAPTURES);

/* A job that dnnest moved to another GPU type and whose memory was too small for it. */
#define DN_RESCUES(ROW)                                                                \
    ROW (RESCUE_UNKNOWN, "unknown")                                                    \
    ROW (RESCUE_OFF, "off")                                                            \
    ROW (RESCUE_REQUEUE, "requeue") /* start it again as it was requested */
DN_ENUM (dn_rescue, RESCUES);
/* clang-format on */

extern const struct dn_names dn_mode_names;

/* One entry per key. It gives the member of struct dn_rules and the row of the key
 * table, which the parser, the defaults, 'dnnest config', the tests of the man page and
 * of the sample file read.
 *
 * ENUM: enum, its words, member, key, stricter, default, help.
 * NUMBER: type, member, key, minimum, maximum (of a time in seconds), stricter,
 * default, help. The stricter of two values is the LOWER, the HIGHER or NONE.
 */
/* clang-format off */
#define DN_RULES(ENUM, NUMBER)                                                         \
    ENUM (dn_mode, DN_MODES, mode, "Mode", LOWER, "advise",                            \
          "observe: record only; advise: also inform the user; enforce: rewrite the "  \
          "job")                                                                       \
    ENUM (dn_opt_in, DN_OPT_INS, opt_in, "OptIn", LOWER, "metadata",                   \
          "consider jobs with metadata only, or also record all that request GPUs, "   \
          "or also set the limits of those that have run before")                      \
    ENUM (dn_share, DN_SHARES, history_share, "HistoryShare", LOWER, "user",           \
          "whose runs of an application count: the user's own, or also longer runs, "  \
          "and larger needs, of others of the account")                                \
    ENUM (dn_yes, DN_YES, revise, "Revise", LOWER, "no",                               \
          "lower the limits of pending jobs when their application has run")           \
    NUMBER (PERCENT, control_group, "ControlGroup", 0, 100, HIGHER, "0",               \
            "percentage of the jobs that is not changed, as the control group")        \
    ENUM (dn_draw, DN_DRAWS, control_by, "ControlBy", NONE, "job",                     \
          "draw each job for it, or all of a script and description of a user")        \
    ENUM (dn_time_mode, DN_TIME_MODES, time_limit, "TimeLimit", LOWER, "auto",         \
          "keep the limit, set --time-min to the bound, or set the limit to it; auto: "\
          "--time-min where Slurm has it as a soft limit, else the limit")             \
    ENUM (dn_time_needs, DN_TIME_NEEDS, evidence_time, "EvidenceTime", HIGHER, "auto", \
          "finished runs of the application without which no limit is lowered: none, " \
          "one or two; auto: none where the guard extends it or it is soft, else two") \
    NUMBER (RATIO, time_quantile, "TimeQuantile", 0.5, 0.9999, HIGHER, "0.99",         \
            "share of jobs that must finish within a limit that nothing extends")      \
    NUMBER (RATIO, guarded_quantile, "GuardedQuantile", 0.5, 0.9999, HIGHER, "0.8",    \
            "the same where the guard extends it, and for --time-min, after two runs") \
    NUMBER (RATIO, time_margin, "TimeMargin", 0, 10, HIGHER, "0.1",                    \
            "added to the bound, as a share of it")                                    \
    NUMBER (TIME, time_min_s, "TimeMin", 60, 3.2e7, HIGHER, "00:30:00",                \
            "no limit is set below this")                                              \
    NUMBER (TIME, time_max_s, "TimeMax", 60, 3.2e7, LOWER, "1-00:00:00",               \
            "no limit is raised above this, or set above it where none was requested") \
    ENUM (dn_yes, DN_YES, fill_unset, "FillUnset", LOWER, "no",                        \
          "set a limit where none was requested")                                      \
    ENUM (dn_type_choice, DN_TYPE_CHOICES, gpu_type, "GpuType", LOWER, "open",         \
          "keep the GPU type, leave it open until the job can start, or also move it " \
          "to the best idle one for the objective")                                    \
    ENUM (dn_steer, DN_STEERS, steer, "Steer", LOWER, "both",                          \
          "which types dnnestd may give a pending job whose type is open: none, of no "\
          "higher Cost, or all")                                                       \
    NUMBER (RATIO, keep, "Keep", 0, 1, HIGHER, "0.85",                                 \
            "share of a GPU type that is left to the jobs that request it")    \
    ENUM (dn_objective, DN_OBJECTIVES, objective, "Objective", NONE, "finish",         \
          "what GpuType=choose minimises")                                             \
    ENUM (dn_yes, DN_YES, user_objective, "UserObjective", LOWER, "no",                \
          "yes: objective= of a job overrides Objective")                              \
    ENUM (dn_upgrade, DN_UPGRADES, upgrade, "Upgrade", LOWER, "rescue",                \
          "move a job to a GPU type of higher Cost: never, if it cannot run on its "   \
          "own, or also for the objective")                                            \
    NUMBER (RATIO, max_slowdown, "MaxSlowdown", 1, 1000, LOWER, "2.5",                 \
            "maximum predicted time on another GPU type, relative to the requested "   \
            "one")                                                                     \
    NUMBER (RATIO, memory_headroom, "MemoryHeadroom", 0, 10, HIGHER, "0.05",           \
            "GPU memory left free above the bound, as a share of it, on another type") \
    ENUM (dn_choice, DN_CHOICES, cpus, "Cpus", LOWER, "choose",                        \
          "keep the CPU count, or lower it to what the input pipeline needs")          \
    ENUM (dn_needs, DN_RUN_NEEDS, evidence_cpus, "EvidenceCpus", HIGHER, "words",      \
          "finished runs of the application without which no CPUs are given back")     \
    NUMBER (COUNT, cpus_per_gpu_min, "CpusPerGpuMin", 1, 1024, HIGHER, "2",            \
            "minimum number of CPUs per GPU that a job keeps")                         \
    NUMBER (COUNT, cpus_per_gpu_max, "CpusPerGpuMax", 1, 1024, LOWER, "64",            \
            "a job that needs more CPUs per GPU than this keeps what it requested")    \
    ENUM (dn_memory_rule, DN_MEMORIES, memory, "Memory", LOWER, "default",             \
          "keep host memory, or lower what only follows from a default per CPU, or "   \
          "also what was requested, to what finished runs needed")                     \
    ENUM (dn_needs, DN_RUN_NEEDS, evidence_memory, "EvidenceMemory", HIGHER, "some",   \
          "finished runs that measured memory without which none is given back")       \
    ENUM (dn_gpus_rule, DN_GPUS_RULES, gpus, "Gpus", LOWER, "advise",                  \
          "GPUs above those of the description: keep them, tell the user, or request " \
          "fewer on one node")                                                         \
    NUMBER (RATIO, min_confidence, "MinConfidence", 0, 1, HIGHER, "0.45",              \
            "predictions with a lower confidence change nothing")                      \
    ENUM (dn_yes, DN_YES, never_raise, "NeverRaise", HIGHER, "yes",                    \
          "no: also raise a time limit or CPUs that do not suffice")                   \
    ENUM (dn_message, DN_MESSAGES, message, "Message", NONE, "change",                 \
          "when the user gets a message: if something changes or is wrong, always, "   \
          "or never")                                                                  \
    ENUM (dn_record, DN_RECORDS, record, "Record", NONE, "admin_comment",              \
          "where the decision and the original request are recorded; anonymous: in "   \
          "the admin comment without names of the metadata")                           \
    ENUM (dn_rescue, DN_RESCUES, rescue, "Rescue", LOWER, "off",                       \
          "requeue: start a moved job that ran out of GPU memory again with its "      \
          "original request")                                                          \
    ENUM (dn_yes, DN_YES, shorten, "Shorten", LOWER, "no",                             \
          "yes: also lower a limit that dnnest set, by the progress of the job")       \
    ENUM (dn_capture_rule, DN_CAPTURES, capture, "Capture", LOWER, "opt-in",           \
          "which jobs describe themselves in ProgressDir: none, those with metadata, " \
          "or all batch jobs with GPUs")                                               \
    /* End of DN_RULES */
/* clang-format on */

#define DN_RULE_TYPE_RATIO   double
#define DN_RULE_TYPE_PERCENT double
#define DN_RULE_TYPE_COUNT   int64_t
#define DN_RULE_TYPE_TIME    int64_t

#define DN_RULE_ENUM_MEMBER(type, words, member, ...) enum type member;
#define DN_RULE_NUMBER_MEMBER(type, member, ...)      DN_RULE_TYPE_##type member;

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

/* Keys of dnnest.conf that were dropped, and what to do about each. They are accepted
 * with a warning for one version. The last four are still obeyed (DN_SITE_OTHER_KEYS).
 */
/* clang-format off */
#define DN_DROPPED_KEYS(ROW)                                                           \
    ROW ("GuardTrust", "it is always 0.25")                                            \
    ROW ("MinGain", "it is always 0.1")                                                \
    ROW ("PUE", "multiply Carbon by it")                                               \
    ROW ("ControlSalt", "each job is drawn by itself")                                 \
    ROW ("BundleKeys", "packages ship bundles")                                        \
    ROW ("ProbeDir", "PythonDir names the Python modules")                             \
    ROW ("AccountingToken", "slurmrestd is not read any more")                         \
    ROW ("HardwareDir", "DataDir is the folder above hardware")                        \
    ROW ("Datasets", "DataDir is the folder of datasets.conf")                         \
    ROW ("ZooDir", "DataDir is the folder above zoo")                                  \
    ROW ("PrometheusQueries", "put them into StateDir/prometheus.queries")             \
    /* End of DN_DROPPED_KEYS */
/* clang-format on */

/* The row of a key that was dropped; -1 if it is none. */
int dn_rules_dropped (struct dn_span key);

/* What to do about the key of a row. */
char *dn_rules_dropped_write (int row, char text[DN_ERR_TEXT_MAX]) DN_COLD;

/* Read 'value' into the rule of that row. */
int dn_rules_read (const struct dn_rule_key *key,
                   struct dn_span value,
                   struct dn_rules *rules,
                   struct dn_err *err) DN_COLD;

void dn_rules_copy (const struct dn_rule_key *key,
                    const struct dn_rules *from,
                    struct dn_rules *to);

/* Is the key's value in 'a' stricter than in 'b'? */
bool dn_rules_is_stricter (const struct dn_rule_key *key,
                           const struct dn_rules *a,
                           const struct dn_rules *b);

#endif
