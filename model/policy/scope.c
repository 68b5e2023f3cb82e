/* scope.c - Policy lines: other rules for the jobs that they match
 *
 * A site has a handful of lines, at most DN_POLICY_LINES_MAX. They are checked in order
 * for each job, because an index would cost more than it saves.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/scope.h"
#include "base/messages.h"

#include <stdlib.h>
#include <string.h>

/* No uid or gid is larger: the last two of 32 bits mean "none". */
#define ID_MAX INT64_C (4294967293)

static const struct dn_scope_key scope_keys[] = {
    [DN_SCOPE_PARTITION] = {"Partition", "partitions, one of which the job names"},
    [DN_SCOPE_ACCOUNT] = {"Account", "accounts, one of which the job names"},
    [DN_SCOPE_QOS] = {"QOS", "QOS, one of which the job names"},
    [DN_SCOPE_USER] = {"User", "owners of the job, by name or number"},
    [DN_SCOPE_GROUP] = {"Group", "groups of its owner, by name or number"},
};

const struct dn_scope_key *dn_scope_keys (void)
{
    return scope_keys;
}

void dn_person_free (struct dn_person *person)
{
    if (!person)
        return;
    free (person->members);
    memset (person, 0, sizeof (*person));
}

static void free_policy (struct dn_policy *policy)
{
    for (int i = 0; i < DN_N_SCOPES; i++) {
        struct dn_scope_names *names = &policy->scopes[i];

        for (int k = 0; names->persons && k < names->n; k++)
            dn_person_free (&names->persons[k]);
        free (names->persons);
        free (names->text);
    }
    memset (policy, 0, sizeof (*policy));
}

void dn_policies_free (struct dn_policies *policies)
{
    if (!policies)
        return;
    for (int i = 0; i < policies->n_policies; i++)
        free_policy (&policies->list[i]);
    policies->n_policies = 0;
    policies->n_unknown = 0;
}

/* --- reading --------------------------------------------------------------------- */

static int find_scope (struct dn_span key)
{
    for (int i = 0; i < DN_N_SCOPES; i++)
        if (dn_span_is (key, scope_keys[i].name))
            return i;
    return -1;
}

static bool is_number (struct dn_span name)
{
    for (size_t i = 0; i < name.len; i++)
        if (name.text[i] < '0' || name.text[i] > '9')
            return false;
    return true;
}

/* Check and count the names of a list. */
static int count_names (const char *scope,
                        struct dn_span list,
                        size_t *n,
                        struct dn_err *err)
{
    for (*n = 0; list.text; ++*n) {
        struct dn_span name = dn_span_cut (&list, ",");
        char copy[DN_NAME_MAX];

        if (*n == DN_POLICY_NAMES_MAX)
            return dn_refuse (err, names, scope, DN_POLICY_NAMES_MAX);
        if (name.len == 0)
            return dn_refuse (err, name_empty, scope);
        if (dn_span_copy (name, copy, sizeof (copy), scope, err) < 0)
            return -1;
        for (size_t i = 0; i < name.len; i++)
            if (copy[i] <= ' ' || copy[i] == 127)
                return dn_refuse (err, name_char, scope, DN_QUOTED_SPAN (name));
    }
    return 0;
}

static bool is_people (enum dn_scope scope)
{
    return scope == DN_SCOPE_USER || scope == DN_SCOPE_GROUP;
}

static int read_person (enum dn_scope scope,
                        struct dn_span span,
                        const struct dn_people *people,
                        struct dn_person *person,
                        struct dn_err *err)
{
    const char *key = scope_keys[scope].name;
    char name[DN_NAME_MAX];

    if (is_number (span))
        return dn_int_read (span, key, 0, ID_MAX, &person->id, err);
    if (dn_span_copy (span, name, sizeof (name), key, err) < 0)
        return -1;
    if (!people)
        return dn_refuse (err, people_unknown, key, dn_quote (name, span.len).text);
    return scope == DN_SCOPE_USER
               ? people->find_user (people->self, name, &person->id, err)
               : people->find_group (people->self, name, person, err);
}

/* A name that does not exist is noted and skipped: users leave, and their lines stay.
 */
static void note_unknown (struct dn_policies *policies,
                          int line,
                          enum dn_scope scope,
                          struct dn_span name)
{
    struct dn_unknown *unknown;

    if (policies->n_unknown++ >= DN_POLICY_UNKNOWN_MAX)
        return;
    unknown = &policies->unknown[policies->n_unknown - 1];
    unknown->line = line;
    unknown->scope = scope;
    memcpy (unknown->name, name.text, name.len);
    unknown->name[name.len] = '\0';
}

static int read_people (struct dn_policies *policies,
                        int line,
                        enum dn_scope scope,
                        const struct dn_people *people,
                        struct dn_scope_names *names,
                        struct dn_err *err)
{
    struct dn_span rest = dn_span_of (names->text);

    while (rest.text) {
        struct dn_span name = dn_span_cut (&rest, ",");
        struct dn_err problem = {.code = DN_E_NONE};

        if (read_person (scope, name, people, &names->persons[names->n], &problem)
            == 0) {
            names->n++;
            continue;
        }
        /* Those who were looked for may have left. */
        if (!people || is_number (name) || problem.code != DN_E_RANGE) {
            if (err)
                *err = problem;
            return -1;
        }
        note_unknown (policies, line, scope, name);
    }
    return 0;
}

static int read_scope (struct dn_policies *policies,
                       struct dn_policy *policy,
                       enum dn_scope scope,
                       struct dn_span list,
                       const struct dn_people *people,
                       struct dn_err *err)
{
    struct dn_scope_names *names = &policy->scopes[scope];
    size_t n;

    if (names->text)
        return dn_refuse (err, twice, scope_keys[scope].name);
    if (count_names (scope_keys[scope].name, list, &n, err) < 0)
        return -1;
    names->text = strndup (list.text, list.len);
    if (is_people (scope))
        names->persons = calloc (n, sizeof (names->persons[0]));
    if (!names->text || (is_people (scope) && !names->persons))
        return dn_refuse (err, policy_memory);
    return is_people (scope)
               ? read_people (policies, policy->line, scope, people, names, err)
               : 0;
}

static int read_rule (struct dn_policy *policy,
                      const struct dn_pair *pair,
                      struct dn_err *err)
{
    int n_keys;
    const struct dn_rule_key *keys = dn_rule_keys (&n_keys);
    const struct dn_rule_key *key = dn_rules_find (pair->key);
    uint64_t bit;

    if (!key && dn_rules_dropped (pair->key) >= 0)
        return 0;
    if (!key)
        return dn_refuse (err, no_rule, DN_QUOTED_SPAN (pair->key));
    bit = UINT64_C (1) << (key - keys);
    if (policy->set & bit)
        return dn_refuse (err, twice, key->name);
    policy->set |= bit;
    return dn_rules_read (key, pair->value, &policy->rules, err);
}

static int read_policy (struct dn_policies *policies,
                        struct dn_policy *policy,
                        const struct dn_keyline *line,
                        const struct dn_people *people,
                        struct dn_err *err)
{
    bool scoped = false;
    bool ruled = false;

    for (int i = 0; i < line->n_pairs; i++) {
        const struct dn_pair *pair = &line->pairs[i];
        int scope = find_scope (pair->key);

        if (scope >= 0
                ? read_scope (
                      policies, policy, (enum dn_scope) scope, pair->value, people, err)
                      < 0
                : read_rule (policy, pair, err) < 0)
            return -1;
        scoped = scoped || scope >= 0;
        ruled = ruled || scope < 0;
    }
    if (!scoped || !ruled)
        return dn_refuse (err, no_scope);
    return 0;
}

int dn_policies_add (struct dn_policies *policies,
                     const struct dn_keyline *line,
                     const struct dn_people *people,
                     struct dn_err *err)
{
    struct dn_policy *policy = &policies->list[policies->n_policies];
    int n_unknown = policies->n_unknown;

    if (policies->n_policies == DN_POLICY_LINES_MAX)
        return dn_refuse (err, policies, DN_POLICY_LINES_MAX);
    memset (policy, 0, sizeof (*policy));
    policy->line = line->line;
    if (read_policy (policies, policy, line, people, err) < 0) {
        policies->n_unknown = n_unknown;
        free_policy (policy);
        return -1;
    }
    policies->n_policies++;
    return 0;
}

char *dn_unknown_write (const struct dn_unknown *unknown, char text[DN_ERR_TEXT_MAX])
{
    struct dn_buf buf = dn_buf_on (text, DN_ERR_TEXT_MAX);

    dn_buf_add (&buf,
                dn_say_err_name_skipped,
                unknown->line,
                scope_keys[unknown->scope].name,
                DN_QUOTED (unknown->name));
    return text;
}

/* --- matching -------------------------------------------------------------------- */

struct dn_submitter dn_submitter_of (const struct dn_job *job)
{
    return (struct dn_submitter){
        job->partition, job->account, job->qos, job->user_id, job->group_id};
}

/* Any total order will do. Comparing lengths first is fastest. */
static int compare_exact (const void *a, const void *b)
{
    const struct dn_span *left = a;
    const struct dn_span *right = b;

    if (left->len != right->len)
        return left->len < right->len ? -1 : 1;
    return memcmp (left->text, right->text, left->len);
}

static int compare_folded (const void *a, const void *b)
{
    const struct dn_span *left = a;
    const struct dn_span *right = b;
    int difference = 0;

    if (left->len != right->len)
        return left->len < right->len ? -1 : 1;
    for (size_t i = 0; i < left->len && difference == 0; i++)
        difference = dn_lower (left->text[i]) - dn_lower (right->text[i]);
    return difference;
}

/* Slurm compares partitions as they are written, accounts and QOS without case; in some
 * locales the lower case of I is not i.
 */
static int (*order_of (enum dn_scope scope)) (const void *, const void *)
{
    return scope == DN_SCOPE_PARTITION ? compare_exact : compare_folded;
}

/* The names of a job, split and sorted once for all lines. */
struct seeker {
    const struct dn_submitter *submitter;
    struct {
        struct dn_span list[DN_POLICY_NAMES_MAX];
        int n;
    } names[DN_SCOPE_USER];
};

/* Split the job's list of one scope; a job names one account and one QOS, but may name
 * several partitions. Names too long for a Policy line are skipped.
 */
static void cut_names (struct seeker *seeker, enum dn_scope scope, const char *text)
{
    struct dn_span list = {text, text ? strnlen (text, DN_TRES_MAX) : 0};
    int n = 0;

    while (list.text && n < DN_POLICY_NAMES_MAX) {
        struct dn_span name = dn_span_trim (dn_span_cut (&list, ","));

        if (name.len > 0 && name.len < DN_NAME_MAX)
            seeker->names[scope].list[n++] = name;
    }
    if (n > 1)
        qsort (seeker->names[scope].list,
               (size_t) n,
               sizeof (seeker->names[scope].list[0]),
               order_of (scope));
    seeker->names[scope].n = n;
}

static void seek (struct seeker *seeker, const struct dn_submitter *submitter)
{
    seeker->submitter = submitter;
    cut_names (seeker, DN_SCOPE_PARTITION, submitter->partition);
    cut_names (seeker, DN_SCOPE_ACCOUNT, submitter->account);
    cut_names (seeker, DN_SCOPE_QOS, submitter->qos);
}

int dn_person_compare (const void *a, const void *b)
{
    int64_t left;
    int64_t right;

    memcpy (&left, a, sizeof (left));
    memcpy (&right, b, sizeof (right));
    return left < right ? -1 : left > right;
}

/* Is the submitter that user, or of that group? */
static bool is_person (enum dn_scope scope,
                       const struct dn_person *person,
                       const struct dn_submitter *submitter)
{
    int64_t id = scope == DN_SCOPE_USER ? submitter->user_id : submitter->group_id;

    return person->id == id
           || (person->n_members > 0
               && bsearch (&submitter->user_id,
                           person->members,
                           (size_t) person->n_members,
                           sizeof (person->members[0]),
                           dn_person_compare));
}

static bool matches_scope (const struct dn_policy *policy,
                           enum dn_scope scope,
                           const struct seeker *seeker)
{
    const struct dn_scope_names *names = &policy->scopes[scope];
    struct dn_span rest = dn_span_of (names->text);

    if (!names->text)
        return true;
    for (int i = 0; i < names->n; i++)
        if (is_person (scope, &names->persons[i], seeker->submitter))
            return true;
    while (!is_people (scope) && rest.text) {
        struct dn_span name = dn_span_cut (&rest, ",");

        if (bsearch (&name,
                     seeker->names[scope].list,
                     (size_t) seeker->names[scope].n,
                     sizeof (name),
                     order_of (scope)))
            return true;
    }
    return false;
}

static bool matches (const struct dn_policy *policy, const struct seeker *seeker)
{
    for (int scope = 0; scope < DN_N_SCOPES; scope++)
        if (!matches_scope (policy, (enum dn_scope) scope, seeker))
            return false;
    return true;
}

bool dn_policy_matches (const struct dn_policy *policy,
                        const struct dn_submitter *submitter)
{
    struct seeker seeker;

    seek (&seeker, submitter);
    return matches (policy, &seeker);
}

/* A value that the line sets overrides the one in force if this line is the first to
 * set it or is stricter than the lines before. */
static void apply_policy (const struct dn_policy *policy,
                          uint64_t *set,
                          struct dn_rules *rules,
                          struct dn_origins *origins)
{
    int n_keys;
    const struct dn_rule_key *keys = dn_rule_keys (&n_keys);

    for (int i = 0; i < n_keys; i++) {
        uint64_t bit = UINT64_C (1) << i;

        if (!(policy->set & bit)
            || ((*set & bit)
                && !dn_rules_is_stricter (&keys[i], &policy->rules, rules)))
            continue;
        dn_rules_copy (&keys[i], &policy->rules, rules);
        *set |= bit;
        if (origins)
            origins->line[i] = policy->line;
    }
}

void dn_policy_apply (const struct dn_policy *policy,
                      uint64_t bound,
                      struct dn_rules *rules)
{
    const struct dn_policy site = {.set = bound, .rules = *rules};
    uint64_t set = 0;

    apply_policy (policy, &set, rules, NULL);
    apply_policy (&site, &set, rules, NULL);
}

void dn_policies_apply (const struct dn_policies *policies,
                        uint64_t bound,
                        const struct dn_submitter *submitter,
                        struct dn_rules *rules,
                        struct dn_origins *origins)
{
    const struct dn_policy site = {.set = bound, .rules = *rules};
    struct seeker seeker;
    uint64_t set = 0;

    if (origins)
        memset (origins, 0, sizeof (*origins));
    if (policies->n_policies > 0)
        seek (&seeker, submitter);
    for (int i = 0; i < policies->n_policies; i++)
        if (matches (&policies->list[i], &seeker))
            apply_policy (&policies->list[i], &set, rules, origins);
    apply_policy (&site, &set, rules, origins);
}
