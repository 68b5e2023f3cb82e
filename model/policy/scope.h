/* scope.h - Policy lines: other rules for the jobs that they match
 *
 * "Policy Partition=debug,test Account=course Mode=observe" sets the mode of the jobs
 * of account course in partition debug or test: the scopes of a line must all match,
 * each by one of its names. A line overrides the rules of the whole site. Where several
 * lines match and set the same key, the strictest value holds, in any order, so that no
 * line can relax another one. For a key whose values have no order, the first line
 * holds.
 *
 * In: the lines of dnnest.conf, once; then, for every job, its owner, account, QOS and
 * partition. Out: the rules for that job. Matching allocates nothing and looks up no
 * user: names of users and groups are converted to numbers when the lines are read.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SCOPE_H
#define DN_SCOPE_H

#include "base/keyline.h"
#include "policy/policy.h"

enum dn_scope {
    DN_SCOPE_PARTITION,
    DN_SCOPE_ACCOUNT,
    DN_SCOPE_QOS,
    DN_SCOPE_USER,
    DN_SCOPE_GROUP,
    DN_N_SCOPES
};

struct dn_scope_key {
    const char *name; /* as in dnnest.conf */
    const char *help;
};

/* A row per scope, in the order of enum dn_scope. */
const struct dn_scope_key *dn_scope_keys (void);

/* A user, or a group and its members; users whose primary group it is are not listed.
 */
struct dn_person {
    int64_t id;
    int64_t *members; /* in ascending order; owned */
    int n_members;
};

/* NULL-safe, leaves no user. */
void dn_person_free (struct dn_person *person);

/* The order of members, for qsort () and bsearch (). */
int dn_person_compare (const void *a, const void *b);

/* Looks up users and groups. The functions return 0, or -1 with 'err', which contains
 * the name. Its code is DN_E_RANGE only if there is no such user or group, and another
 * one if that could not be found out. The caller frees a group's members.
 */
struct dn_people {
    int (*find_user) (const void *self,
                      const char *name,
                      int64_t *uid,
                      struct dn_err *err);
    int (*find_group) (const void *self,
                       const char *name,
                       struct dn_person *group,
                       struct dn_err *err);
    const void *self;
};

/* The names of one scope. */
struct dn_scope_names {
    char *text; /* separated by commas, as configured; NULL: all jobs match; owned */
    struct dn_person *persons; /* the users or groups of these names; owned */
    int n;                     /* of them, 0 where none exists */
};

struct dn_policy {
    int line;              /* in dnnest.conf */
    uint64_t set;          /* bit i: the rule of row i is set */
    struct dn_rules rules; /* only those of 'set' count */
    struct dn_scope_names scopes[DN_N_SCOPES];
};

/* A name that no user or group has. */
struct dn_unknown {
    int line;
    enum dn_scope scope;
    char name[DN_NAME_MAX];
};

struct dn_policies {
    struct dn_policy list[DN_POLICY_LINES_MAX];
    int n_policies;
    struct dn_unknown unknown[DN_POLICY_UNKNOWN_MAX]; /* the first of them */
    int n_unknown;                                    /* all of them */
};

/* Write "line 9: User: 'alice' is not known, the name is skipped" to 'text'. Return
 * 'text'. */
char *dn_unknown_write (const struct dn_unknown *unknown,
                        char text[DN_ERR_TEXT_MAX]) DN_COLD;

/* NULL-safe, leaves an empty list. */
void dn_policies_free (struct dn_policies *policies) DN_COLD;

/* Add a line that begins with "Policy". 'people' may be NULL: then users and groups can
 * be given by number only. A name that does not exist is noted in 'unknown' and
 * skipped; if all names of a scope are, the line matches no job. Return -1 with 'err'
 * and 'policies' unchanged.
 */
int dn_policies_add (struct dn_policies *policies,
                     const struct dn_keyline *line,
                     const struct dn_people *people,
                     struct dn_err *err) DN_COLD;

/* What the scopes are matched against. Texts are borrowed, NULL where unset. */
struct dn_submitter {
    const char *partition; /* one or a comma-separated list: one must match */
    const char *account;
    const char *qos;
    int64_t user_id; /* DN_UNSET: unknown */
    int64_t group_id;
};

struct dn_submitter dn_submitter_of (const struct dn_job *job);

bool dn_policy_matches (const struct dn_policy *policy,
                        const struct dn_submitter *submitter);

/* Where the value of each rule came from, by the row of its key: the number of the
 * Policy line, or 0 for the rules of the whole site.
 */
struct dn_origins {
    int line[DN_RULE_KEYS_MAX];
};

/* The rules for a job that this line matches and no other; 'bound' and 'rules' as in
 * dn_policies_apply ().
 */
void dn_policy_apply (const struct dn_policy *policy,
                      uint64_t bound,
                      struct dn_rules *rules);

/* The rules for 'submitter': 'rules' has those of the site on entry and is changed by
 * the lines that match. 'bound' has a bit per rule of the site that no line may relax:
 * the site's values of these count as one more line, which matches all jobs and comes
 * last. 'origins' may be NULL.
 */
void dn_policies_apply (const struct dn_policies *policies,
                        uint64_t bound,
                        const struct dn_submitter *submitter,
                        struct dn_rules *rules,
                        struct dn_origins *origins) DN_COLD;

#endif
