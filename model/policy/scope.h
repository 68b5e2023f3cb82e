/* scope.h - Policy lines: other rules for whom they match
 *
 * "Policy Partition=debug,test Account=course Mode=observe" sets the mode of the jobs
 * of account course in partition debug or test: the scopes of a line must all match,
 * each by one of its names. What lines set goes over the rules of the whole site. Where
 * several lines match and set the same key, the strictest value wins, whatever their
 * order, so that no line can take away the care that another one demands; of a key
 * whose values have no order, the first line's.
 *
 * In: the lines of dnnest.conf, once; then, for every job, who submits it to where.
 * Out: the rules for that job. Matching allocates nothing and looks nobody up: names of
 * users and groups have become numbers when the lines were read.
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

/* A row per scope, in their order. */
const struct dn_scope_key *dn_scope_keys (void);

/* A group and those who are members without it being their primary one. */
struct dn_group {
    int64_t gid;
    int64_t *members; /* rising; owned */
    int n_members;
};

/* NULL-safe, leaves an empty one. */
void dn_group_free (struct dn_group *group);

/* Who stands behind a name. Return 0, or -1 with 'err', which names the name; of a
 * group, what is filled in belongs to the caller.
 */
struct dn_people {
    int (*find_user) (const void *self,
                      const char *name,
                      int64_t *uid,
                      struct dn_err *err);
    int (*find_group) (const void *self,
                       const char *name,
                       struct dn_group *group,
                       struct dn_err *err);
    const void *self;
};

/* Names to be found quickly: sorted, in small letters where case does not count. */
struct dn_name_set {
    char *text;
    struct dn_span *names; /* into the text */
    int n_names;
};

/* The scopes that are names to Slurm as well come first. */
#define DN_N_NAME_SCOPES DN_SCOPE_USER

struct dn_policy {
    int line;              /* in dnnest.conf */
    uint64_t set;          /* bit i: the rule of row i is set */
    struct dn_rules rules; /* of which those count */
    /* The names of each scope between commas, as written; NULL: everything. Owned. */
    char *names[DN_N_SCOPES];
    struct dn_name_set sets[DN_N_NAME_SCOPES]; /* owned */
    int64_t *users;                            /* a number per name of a user; owned */
    int n_users;
    struct dn_group *groups; /* a group per name of one; owned */
    int n_groups;
};

struct dn_policies {
    struct dn_policy list[DN_POLICY_LINES_MAX];
    int n_policies;
};

/* NULL-safe, leaves none. */
void dn_policies_free (struct dn_policies *policies);

/* Take a line that began with "Policy". 'people' may be NULL: then users and groups are
 * known by number only. Return -1 with 'err' and 'policies' as they were.
 */
int dn_policies_add (struct dn_policies *policies,
                     const struct dn_keyline *line,
                     const struct dn_people *people,
                     struct dn_err *err);

/* People whom some line names, and nobody else. Borrows 'policies'; without any, knows
 * nobody.
 */
struct dn_people dn_policies_people (const struct dn_policies *policies);

/* Who submits, to where. Texts are borrowed and NULL where nothing was given. */
struct dn_submitter {
    const char *partition; /* several between commas: one of them must match */
    const char *account;
    const char *qos;
    int64_t user_id; /* DN_UNSET: unknown */
    int64_t group_id;
};

struct dn_submitter dn_submitter_of (const struct dn_job *job);

bool dn_policy_matches (const struct dn_policy *policy,
                        const struct dn_submitter *submitter);

/* Where the value of each rule came from, by the row of its key: 0 from the rules of
 * the whole site, else the line.
 */
struct dn_origins {
    int line[DN_RULE_KEYS_MAX];
};

/* The rules for 'submitter': those of the site in 'rules' on entry, changed by the
 * lines that match. 'bound' has a bit per rule of the site that no line may undercut:
 * it counts as one more line, that matches all and comes last. 'origins' may be NULL.
 */
void dn_policies_apply (const struct dn_policies *policies,
                        uint64_t bound,
                        const struct dn_submitter *submitter,
                        struct dn_rules *rules,
                        struct dn_origins *origins);

#endif
