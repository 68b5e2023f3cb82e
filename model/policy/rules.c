/* rules.c - reads, copies and compares the admin's rules
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/rules.h"
#include "base/messages.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ENUM_TEXT(type, words, member, key, strict, value, help)                       \
    static const char *const member##_text[] = {words (DN_ENUM_WORD)};
#define NUMBER_TEXT(...)
DN_RULES (ENUM_TEXT, NUMBER_TEXT)

const struct dn_names dn_mode_names = DN_NAMES (mode_text, DN_N_MODES);

/* clang-format off */
#define ENUM_ROW(type, words, member, key, strict, value, help)                        \
    {key, DN_RULE_ENUM, offsetof (struct dn_rules, member), 0, 0,                      \
     {member##_text, (int) DN_N_ELEMENTS (member##_text)}, DN_STRICT_##strict,         \
     value, help},
#define NUMBER_ROW(type, member, key, min, max, strict, value, help)                   \
    {key, DN_RULE_##type, offsetof (struct dn_rules, member), min, max,                \
     {NULL, 0}, DN_STRICT_##strict, value, help},
/* clang-format on */

static const struct dn_rule_key rule_keys[] = {DN_RULES (ENUM_ROW, NUMBER_ROW)};

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
        return dn_refuse (err,
                          time_range,
                          key->name,
                          DN_QUOTED_SPAN (value),
                          dn_time_write ((int64_t) key->min).text,
                          dn_time_write ((int64_t) key->max).text);
    *out = seconds;
    return 0;
}

/* A value of any type. */
union value {
    int constant;
    double real;
    int64_t count;
};

static const size_t sizes[DN_N_RULE_TYPES] = {
    [DN_RULE_ENUM] = sizeof (int),
    [DN_RULE_RATIO] = sizeof (double),
    [DN_RULE_PERCENT] = sizeof (double),
    [DN_RULE_COUNT] = sizeof (int64_t),
    [DN_RULE_TIME] = sizeof (int64_t),
};

int dn_rules_read (const struct dn_rule_key *key,
                   struct dn_span value,
                   struct dn_rules *rules,
                   struct dn_err *err)
{
    const int64_t min = (int64_t) key->min;
    const int64_t max = (int64_t) key->max;
    union value out = {0};
    int rc = -1;

    switch (key->type) {
    case DN_RULE_ENUM:
        rc = dn_enum_read (value, key->name, &key->names, &out.constant, err);
        break;
    case DN_RULE_RATIO:
    case DN_RULE_PERCENT:
        rc = dn_real_read (value, key->name, key->min, key->max, &out.real, err);
        break;
    case DN_RULE_COUNT:
        rc = dn_int_read (value, key->name, min, max, &out.count, err);
        break;
    case DN_RULE_TIME:
        rc = read_time (key, value, &out.count, err);
        break;
    case DN_N_RULE_TYPES:
        return dn_refuse (err, key_type, key->name);
    }
    if (rc == 0)
        memcpy ((char *) rules + key->offset, &out, sizes[key->type]);
    return rc;
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

#define DROPPED_ROW(name, instead) {name, instead},
static const char *const dropped[][2] = {DN_DROPPED_KEYS (DROPPED_ROW)};

int dn_rules_dropped (struct dn_span key)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (dropped); i++)
        if (dn_span_is (key, dropped[i][0]))
            return (int) i;
    return -1;
}

char *dn_rules_dropped_write (int row, char text[DN_ERR_TEXT_MAX])
{
    snprintf (
        text, DN_ERR_TEXT_MAX, dn_say_key_dropped, dropped[row][0], dropped[row][1]);
    return text;
}

void dn_rules_copy (const struct dn_rule_key *key,
                    const struct dn_rules *from,
                    struct dn_rules *to)
{
    memcpy (
        (char *) to + key->offset, (const char *) from + key->offset, sizes[key->type]);
}

/* A rule as a number that can be compared. Counts and times are far below 2^53. */
static double value_number (const struct dn_rule_key *key, const struct dn_rules *rules)
{
    union value value;

    memcpy (&value, (const char *) rules + key->offset, sizes[key->type]);
    if (key->type == DN_RULE_ENUM)
        return value.constant;
    return key->type == DN_RULE_COUNT || key->type == DN_RULE_TIME
               ? (double) value.count
               : value.real;
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
