/* rules.c - the table of the admin's keys
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/policy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const mode_text[] = {"unknown", "observe", "advise", "enforce"};
static const char *const opt_in_text[] = {"unknown", "metadata", "all"};
static const char *const time_text[] = {"unknown", "keep", "time_min", "limit"};
static const char *const choice_text[] = {"unknown", "keep", "choose"};
static const char *const objective_text[] = {"unknown", "cost", "time", "energy"};
static const char *const yes_text[] = {"unknown", "no", "yes"};
static const char *const message_text[] = {"unknown", "change", "always", "never"};
static const char *const record_text[] = {"unknown", "admin_comment", "none"};

#define NAMES(array)                                                                   \
    {                                                                                  \
        array, (int) DN_N_ELEMENTS (array)                                             \
    }
#define MEMBER(member) offsetof (struct dn_rules, member)

const struct dn_names dn_mode_names = NAMES (mode_text);

static const struct dn_rule_key rule_keys[] = {
    {"Mode",
     DN_RULE_ENUM,
     MEMBER (mode),
     0,
     0,
     NAMES (mode_text),
     DN_STRICT_LOWER,
     "advise",
     "observe: record only; advise: tell the user as well; enforce: rewrite the job"},
    {"OptIn",
     DN_RULE_ENUM,
     MEMBER (opt_in),
     0,
     0,
     NAMES (opt_in_text),
     DN_STRICT_LOWER,
     "metadata",
     "judge the jobs that describe themselves, or record all that want GPUs"},
    {"ControlGroup",
     DN_RULE_PERCENT,
     MEMBER (control_group),
     0,
     100,
     {NULL, 0},
     DN_STRICT_HIGHER,
     "0",
     "share of the jobs that is left alone, to measure against"},
    {"TimeLimit",
     DN_RULE_ENUM,
     MEMBER (time_limit),
     0,
     0,
     NAMES (time_text),
     DN_STRICT_LOWER,
     "limit",
     "keep the limit, set --time-min to the bound, or lower the limit to it"},
    {"TimeQuantile",
     DN_RULE_RATIO,
     MEMBER (time_quantile),
     0.5,
     0.9999,
     {NULL, 0},
     DN_STRICT_HIGHER,
     "0.99",
     "share of jobs that must finish within the bound"},
    {"TimeMargin",
     DN_RULE_RATIO,
     MEMBER (time_margin),
     0,
     10,
     {NULL, 0},
     DN_STRICT_HIGHER,
     "0.1",
     "added to the bound, as a share of it"},
    {"TimeMin",
     DN_RULE_TIME,
     MEMBER (time_min_s),
     60,
     3.2e7,
     {NULL, 0},
     DN_STRICT_HIGHER,
     "00:30:00",
     "no limit is set below this"},
    {"TimeMax",
     DN_RULE_TIME,
     MEMBER (time_max_s),
     60,
     3.2e7,
     {NULL, 0},
     DN_STRICT_LOWER,
     "1-00:00:00",
     "no limit is raised above this, or set above it where the user gave none"},
    {"FillUnset",
     DN_RULE_ENUM,
     MEMBER (fill_unset),
     0,
     0,
     NAMES (yes_text),
     DN_STRICT_LOWER,
     "no",
     "set a limit where the user gave none"},
    {"GpuType",
     DN_RULE_ENUM,
     MEMBER (gpu_type),
     0,
     0,
     NAMES (choice_text),
     DN_STRICT_LOWER,
     "choose",
     "keep the GPU type, or choose the best one for the objective"},
    {"Objective",
     DN_RULE_ENUM,
     MEMBER (objective),
     0,
     0,
     NAMES (objective_text),
     DN_STRICT_NONE,
     "cost",
     "what a choice of GPU minimises; the job's own objective= goes first"},
    {"MaxSlowdown",
     DN_RULE_RATIO,
     MEMBER (max_slowdown),
     1,
     1000,
     {NULL, 0},
     DN_STRICT_LOWER,
     "2.5",
     "longest predicted time on another GPU type, relative to the requested one"},
    {"MinGain",
     DN_RULE_RATIO,
     MEMBER (min_gain),
     0,
     1,
     {NULL, 0},
     DN_STRICT_HIGHER,
     "0.1",
     "smallest gain, as a share of the objective, that is worth another GPU type"},
    {"MemoryHeadroom",
     DN_RULE_RATIO,
     MEMBER (memory_headroom),
     0,
     10,
     {NULL, 0},
     DN_STRICT_HIGHER,
     "0.05",
     "GPU memory left free above the bound, as a share of it, on another type"},
    {"Cpus",
     DN_RULE_ENUM,
     MEMBER (cpus),
     0,
     0,
     NAMES (choice_text),
     DN_STRICT_LOWER,
     "choose",
     "keep the CPU count, or lower it to what the input pipeline needs"},
    {"CpusPerGpuMin",
     DN_RULE_COUNT,
     MEMBER (cpus_per_gpu_min),
     1,
     1024,
     {NULL, 0},
     DN_STRICT_HIGHER,
     "2",
     "fewest CPUs per GPU that a job is left with"},
    {"CpusPerGpuMax",
     DN_RULE_COUNT,
     MEMBER (cpus_per_gpu_max),
     1,
     1024,
     {NULL, 0},
     DN_STRICT_LOWER,
     "64",
     "a job that needs more CPUs per GPU than this keeps what it asked for"},
    {"MinConfidence",
     DN_RULE_RATIO,
     MEMBER (min_confidence),
     0,
     1,
     {NULL, 0},
     DN_STRICT_HIGHER,
     "0.5",
     "predictions less sure than this change nothing"},
    {"NeverRaise",
     DN_RULE_ENUM,
     MEMBER (never_raise),
     0,
     0,
     NAMES (yes_text),
     DN_STRICT_HIGHER,
     "yes",
     "no: raise a time limit or CPUs that do not suffice"},
    {"Message",
     DN_RULE_ENUM,
     MEMBER (message),
     0,
     0,
     NAMES (message_text),
     DN_STRICT_NONE,
     "change",
     "when the user is told: if something changes, always, or never"},
    {"Record",
     DN_RULE_ENUM,
     MEMBER (record),
     0,
     0,
     NAMES (record_text),
     DN_STRICT_NONE,
     "admin_comment",
     "where the decision and the original request are kept"},
    /* End of rule_keys */
};

_Static_assert(DN_N_ELEMENTS (rule_keys) <= DN_RULE_KEYS_MAX, "a bit per key");

const struct dn_rule_key *dn_rule_keys (int *n_keys)
{
    *n_keys = (int) DN_N_ELEMENTS (rule_keys);
    return rule_keys;
}

static int read_time (const struct dn_rule_key *key,
                      struct dn_span value,
                      int64_t *out,
                      struct dn_err *err)
{
    int64_t seconds;

    if (dn_time_read (value, key->name, &seconds, err) < 0)
        return -1;
    if (seconds < (int64_t) key->min || seconds > (int64_t) key->max)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "%s: %s out of range %s..%s",
                           key->name,
                           dn_quote (value.text, value.len).text,
                           dn_time_write ((int64_t) key->min).text,
                           dn_time_write ((int64_t) key->max).text);
    *out = seconds;
    return 0;
}

int dn_rules_read (const struct dn_rule_key *key,
                   struct dn_span value,
                   struct dn_rules *rules,
                   struct dn_err *err)
{
    void *at = (char *) rules + key->offset;
    double ratio = 0;
    int64_t count = 0;
    int constant = 0;

    switch (key->type) {
    case DN_RULE_ENUM:
        if (dn_enum_read (value, key->name, &key->names, &constant, err) < 0)
            return -1;
        memcpy (at, &constant, sizeof (constant));
        return 0;
    case DN_RULE_RATIO:
    case DN_RULE_PERCENT:
        if (dn_real_read (value, key->name, key->min, key->max, &ratio, err) < 0)
            return -1;
        memcpy (at, &ratio, sizeof (ratio));
        return 0;
    case DN_RULE_COUNT:
        if (dn_int_read (
                value, key->name, (int64_t) key->min, (int64_t) key->max, &count, err)
            < 0)
            return -1;
        memcpy (at, &count, sizeof (count));
        return 0;
    case DN_RULE_TIME:
        if (read_time (key, value, &count, err) < 0)
            return -1;
        memcpy (at, &count, sizeof (count));
        return 0;
    case DN_N_RULE_TYPES:
        break;
    }
    return dn_err_set (err, DN_E_BUG, "%s: key of unknown type", key->name);
}

struct dn_rules dn_rules_default (void)
{
    struct dn_rules rules;

    memset (&rules, 0, sizeof (rules));
    for (size_t i = 0; i < DN_N_ELEMENTS (rule_keys); i++)
        dn_rules_read (&rule_keys[i], dn_span_of (rule_keys[i].value), &rules, NULL);
    return rules;
}

const struct dn_rule_key *dn_rules_find (struct dn_span key)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (rule_keys); i++)
        if (dn_span_is (key, rule_keys[i].name))
            return &rule_keys[i];
    return NULL;
}

int dn_rules_set (struct dn_rules *rules,
                  struct dn_span key,
                  struct dn_span value,
                  struct dn_err *err)
{
    const struct dn_rule_key *row = dn_rules_find (key);

    if (!row)
        return dn_err_set (
            err, DN_E_RANGE, "unknown key '%s'", dn_quote (key.text, key.len).text);
    return dn_rules_read (row, value, rules, err);
}

static size_t value_size (const struct dn_rule_key *key)
{
    switch (key->type) {
    case DN_RULE_ENUM:
        return sizeof (int);
    case DN_RULE_RATIO:
    case DN_RULE_PERCENT:
        return sizeof (double);
    default:
        return sizeof (int64_t);
    }
}

void dn_rules_copy (const struct dn_rule_key *key,
                    const struct dn_rules *from,
                    struct dn_rules *to)
{
    memcpy (
        (char *) to + key->offset, (const char *) from + key->offset, value_size (key));
}

/* A rule as a number that compares. Counts and times are far below 2^53. */
static double value_number (const struct dn_rule_key *key, const struct dn_rules *rules)
{
    const char *at = (const char *) rules + key->offset;
    int64_t count;
    double real;
    int constant;

    switch (key->type) {
    case DN_RULE_ENUM:
        memcpy (&constant, at, sizeof (constant));
        return constant;
    case DN_RULE_RATIO:
    case DN_RULE_PERCENT:
        memcpy (&real, at, sizeof (real));
        return real;
    default:
        memcpy (&count, at, sizeof (count));
        return (double) count;
    }
}

bool dn_rules_is_stricter (const struct dn_rule_key *key,
                           const struct dn_rules *a,
                           const struct dn_rules *b)
{
    double a_number = value_number (key, a);
    double b_number = value_number (key, b);

    switch (key->strict) {
    case DN_STRICT_LOWER:
        return a_number < b_number;
    case DN_STRICT_HIGHER:
        return a_number > b_number;
    default:
        return false;
    }
}
