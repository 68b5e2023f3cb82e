/* scope.c - tests of Policy lines: which jobs they match, and which value holds
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "scene.h"

/* Users alice 1001, bob 1002; groups staff 50 with member bob, void 51. */
static int find_user (const void *self,
                      const char *name,
                      int64_t *uid,
                      struct dn_err *err)
{
    if (strcmp (name, "down") == 0)
        return dn_err_set (err, DN_E_IO, "User: '%s' cannot be looked up", name);
    if (strcmp (name, "alice") != 0 && strcmp (name, "bob") != 0)
        return dn_err_set (err, DN_E_RANGE, "User: '%s' is not known", name);
    *uid = name[0] == 'a' ? 1001 : 1002;
    return 0;
}

static int find_group (const void *self,
                       const char *name,
                       struct dn_person *group,
                       struct dn_err *err)
{
    if (strcmp (name, "down") == 0)
        return dn_err_set (err, DN_E_IO, "Group: '%s' cannot be looked up", name);
    if (strcmp (name, "staff") != 0 && strcmp (name, "void") != 0)
        return dn_err_set (err, DN_E_RANGE, "Group: '%s' is not known", name);
    group->id = name[0] == 's' ? 50 : 51;
    if (group->id == 51)
        return 0;
    group->members = calloc (1, sizeof (group->members[0]));
    assert_non_null (group->members);
    group->members[0] = 1002;
    group->n_members = 1;
    return 0;
}

static const struct dn_people people = {find_user, find_group, NULL};

static int read_conf (struct dn_site *site, const char *conf, struct dn_err *err)
{
    return dn_site_read (site,
                         dn_span_of (conf),
                         "conf",
                         &(struct dn_site_reading){.people = &people, .gpus = true},
                         err);
}

static struct dn_site *site_of (const char *conf)
{
    struct dn_site *site = scene_site ("");

    assert_done (read_conf (site, conf, &unit_err));
    return site;
}

static struct dn_submitter no_user (void)
{
    return (struct dn_submitter){.user_id = 1009, .group_id = 59};
}

TEST ("a line matches by all of its scopes")
{
    static const struct {
        const char *scopes;
        struct dn_submitter who;
        bool matches;
    } cases[] = {
        {"Partition=gpu", {"gpu", NULL, NULL, 1, 1}, true},
        {"Partition=gpu", {"cpu", NULL, NULL, 1, 1}, false},
        {"Partition=gpu", {NULL, NULL, NULL, 1, 1}, false},
        {"Partition=gpu", {"", NULL, NULL, 1, 1}, false},
        {"Partition=gpu", {"gpu2", NULL, NULL, 1, 1}, false},
        {"Partition=gpu", {"GPU", NULL, NULL, 1, 1}, false},
        {"Partition=a,gpu", {"gpu", NULL, NULL, 1, 1}, true},
        {"Partition=gpu", {"cpu,gpu", NULL, NULL, 1, 1}, true},
        {"Partition=gpu", {"cpu, gpu", NULL, NULL, 1, 1}, true},
        {"Partition=gpu,x", {"y,z", NULL, NULL, 1, 1}, false},
        {"Account=chem", {NULL, "chem", NULL, 1, 1}, true},
        {"Account=chem", {NULL, "CHEM", NULL, 1, 1}, true},
        {"Account=che-m", {NULL, "che_m", NULL, 1, 1}, false},
        {"Account=chem", {NULL, "chemistry", NULL, 1, 1}, false},
        {"Account=chem", {"chem", NULL, "chem", 1, 1}, false},
        {"QOS=High", {NULL, NULL, "high", 1, 1}, true},
        {"QOS=high", {NULL, NULL, "low", 1, 1}, false},
        {"User=alice", {NULL, NULL, NULL, 1001, 1}, true},
        {"User=alice", {NULL, NULL, NULL, 1002, 1}, false},
        {"User=alice,bob", {NULL, NULL, NULL, 1002, 1}, true},
        {"User=1234", {NULL, NULL, NULL, 1234, 1}, true},
        {"User=0", {NULL, NULL, NULL, 0, 1}, true},
        {"User=0", {NULL, NULL, NULL, -1, -1}, false},
        {"Group=staff", {NULL, NULL, NULL, 1, 50}, true},
        {"Group=staff", {NULL, NULL, NULL, 1002, 1}, true},
        {"Group=staff", {NULL, NULL, NULL, 1001, 1}, false},
        {"Group=void,7", {NULL, NULL, NULL, 1, 7}, true},
        {"Group=void", {NULL, NULL, NULL, 51, 52}, false},
        {"Partition=gpu User=alice", {"gpu", NULL, NULL, 1001, 1}, true},
        {"Partition=gpu User=alice", {"gpu", NULL, NULL, 1002, 1}, false},
        {"Partition=gpu User=alice", {"cpu", NULL, NULL, 1001, 1}, false},
        {"partition=gpu ACCOUNT=a QoS=q user=bob group=staff",
         {"gpu", "a", "q", 1002, 1},
         true},
        {"partition=gpu ACCOUNT=a QoS=q user=bob group=staff",
         {"gpu", "a", "p", 1002, 1},
         false},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_site *site =
            site_of (unit_text ("Policy %s Mode=observe", cases[i].scopes));

        assert_int_equal (site->policies.n_policies, 1);
        if (dn_policy_matches (&site->policies.list[0], &cases[i].who)
            != cases[i].matches)
            fail_msg ("case %zu: %s", i, cases[i].scopes);
    }
}

/* Two values per key that are not the default, the stricter one first. */
static const char *const pairs[][3] = {
    {"Mode", "observe", "enforce"},
    {"OptIn", "all", "history"},
    {"HistoryShare", "user", "account"},
    {"Revise", "no", "yes"},
    {"ControlGroup", "20", "10"},
    {"TimeLimit", "keep", "time_min"},
    {"TimeQuantile", "0.999", "0.9"},
    {"TimeMargin", "0.5", "0.2"},
    {"TimeMin", "2:00:00", "1:00:00"},
    {"TimeMax", "1:00:00", "2:00:00"},
    {"FillUnset", "no", "yes"},
    {"GpuType", "keep", "choose"},
    {"MaxSlowdown", "1.5", "3"},
    {"MemoryHeadroom", "0.2", "0.1"},
    {"Cpus", "keep", "choose"},
    {"CpusPerGpuMin", "8", "4"},
    {"CpusPerGpuMax", "16", "32"},
    {"MinConfidence", "0.9", "0.6"},
    {"NeverRaise", "yes", "no"},
    {"Objective", "time", "energy"},
    {"ControlBy", "job", "app"},
    {"Message", "always", "never"},
    {"Record", "none", "admin_comment"},
    {"Upgrade", "no", "rescue"},
    {"Steer", "no", "cheaper"},
    {"Keep", "0.5", "0.1"},
    {"Memory", "keep", "measured"},
    {"Gpus", "keep", "choose"},
    {"UserObjective", "no", "yes"},
    {"GuardedQuantile", "0.9", "0.7"},
    {"EvidenceTime", "enough", "words"},
    {"EvidenceCpus", "some", "words"},
    {"EvidenceMemory", "enough", "some"},
    {"Rescue", "off", "requeue"},
    {"Shorten", "no", "yes"},
    {"Capture", "no", "yes"},
};

static bool has_order (const char *key)
{
    return strcmp (key, "Objective") != 0 && strcmp (key, "Message") != 0
           && strcmp (key, "Record") != 0 && strcmp (key, "ControlBy") != 0;
}

/* Has the rule of 'key' in 'rules' the value that is written 'value'? */
static bool is_value (const struct dn_rules *rules, const char *key, const char *value)
{
    struct dn_rules want = *rules;

    assert_int_equal (
        dn_rules_read (
            dn_rules_find (dn_span_of (key)), dn_span_of (value), &want, NULL),
        0);
    return memcmp (&want, rules, sizeof (want)) == 0;
}

TEST ("of several lines the strictest value holds")
{
    int n_keys;

    dn_rule_keys (&n_keys);
    assert_int_equal (n_keys, DN_N_ELEMENTS (pairs));
    for (size_t i = 0; i < 2 * DN_N_ELEMENTS (pairs); i++) {
        const char *const *pair = pairs[i / 2];
        const char *first = pair[1 + i % 2];
        const char *second = pair[2 - i % 2];
        const struct dn_submitter who = {.user_id = 7, .group_id = 8};
        struct dn_origins origins;
        int line = 0;
        char *conf =
            unit_text ("Policy User=7 %s=%s\nPolicy Group=8 %s=%s\nPolicy User=6 %s=%s",
                       pair[0],
                       first,
                       pair[0],
                       second,
                       pair[0],
                       pair[1]);
        struct dn_site *site = site_of (conf);
        struct dn_rules rules = dn_site_rules (site, &who, &origins);

        if (!is_value (&rules, pair[0], has_order (pair[0]) ? pair[1] : first))
            fail_msg ("%s=%s, then %s", pair[0], first, second);
        for (int k = 0; k < n_keys; k++)
            if (origins.line[k] != 0) {
                assert_int_equal (line, 0);
                line = origins.line[k];
            }
        assert_int_equal (line, has_order (pair[0]) && i % 2 == 1 ? 2 : 1);
    }
}

TEST ("a line overrides the site even when it is less strict")
{
    struct dn_site *site = site_of ("Mode=observe TimeMargin=2\n"
                                    "Policy User=alice Mode=enforce TimeMargin=0.1");
    struct dn_submitter who = no_user ();
    struct dn_origins origins;
    struct dn_rules rules = dn_site_rules (site, &who, &origins);

    assert_int_equal (rules.mode, DN_MODE_OBSERVE);
    assert_int_equal (origins.line[0], 1);
    who.user_id = 1001;
    rules = dn_site_rules (site, &who, &origins);
    assert_int_equal (rules.mode, DN_MODE_ENFORCE);
    assert_numbers ("0.1 2", rules.time_margin, origins.line[0]);
    assert_int_equal (rules.gpu_type, DN_TYPE_CHOOSE);
}

TEST ("slurm.conf bounds the lines")
{
    static const struct {
        const char *override;
        const char *line;
        enum dn_mode mode;
        int origin;
    } cases[] = {
        {"dnnest_mode=observe", "enforce", DN_MODE_OBSERVE, DN_ORIGIN_SLURM},
        {"dnnest_mode=enforce", "observe", DN_MODE_OBSERVE, 1},
        {"dnnest_mode=enforce", "advise", DN_MODE_ADVISE, 1},
        {"dnnest_mode=enforce", "enforce", DN_MODE_ENFORCE, 1},
        {"dnnest_timemin=30", "enforce", DN_MODE_ENFORCE, 1},
    };
    const struct dn_submitter who = {.user_id = 7, .group_id = 8};

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_rules rules;
        struct dn_origins origins;
        struct dn_site *site = site_of (
            unit_text ("Policy User=7 Mode=%s Objective=energy", cases[i].line));

        assert_int_equal (dn_site_override (site, cases[i].override, NULL), 0);
        assert_int_equal (dn_site_override (site, "dnnest_objective=time", NULL), 0);
        rules = dn_site_rules (site, &who, &origins);
        assert_int_equal (rules.mode, cases[i].mode);
        rules = site->rules;
        dn_policy_apply (&site->policies.list[0], site->bound, &rules);
        assert_int_equal (rules.mode, cases[i].mode);
        assert_int_equal (origins.line[0], cases[i].origin);
        /* A key without an order has the first value, that of the line. */
        assert_int_equal (rules.objective, DN_OBJECTIVE_ENERGY);
    }
}

TEST ("a setting of the command line overrides everything")
{
    struct dn_site *site = site_of ("Policy User=7 Mode=observe Cpus=keep");
    const struct dn_submitter who = {.user_id = 7, .group_id = 8};
    struct dn_origins origins;
    struct dn_rules rules;

    assert_int_equal (dn_site_override (site, "dnnest_mode=observe", NULL), 0);
    assert_int_equal (dn_site_set (site, "mode=enforce,TimeMin=60", NULL), 0);
    assert_int_equal (dn_site_set (site, NULL, NULL), 0);
    rules = dn_site_rules (site, &who, &origins);
    assert_int_equal (rules.mode, DN_MODE_ENFORCE);
    assert_int_equal (origins.line[0], DN_ORIGIN_SETTING);
    assert_int_equal (rules.time_min_s, 3600);
    assert_int_equal (rules.cpus, DN_CHOICE_KEEP);
    assert_int_equal (dn_site_set (site, "mode=wild", NULL), -1);
}

TEST ("wrong lines are named")
{
    static const char *const cases[][2] = {
        {"Policy", "a Policy line needs a scope"},
        {"Policy Mode=observe", "a Policy line needs a scope"},
        {"Policy User=alice", "a Policy line needs a scope"},
        {"Policy User=down Mode=observe", "User: 'down' cannot be looked up"},
        {"Policy Group=down Mode=observe", "Group: 'down' cannot be looked up"},
        {"Policy User=alice,carol,down Mode=observe", "'down' cannot be looked up"},
        {"Policy User= Mode=observe", "User: an empty name in the list"},
        {"Policy User=alice,,bob Mode=observe", "User: an empty name in the list"},
        {"Policy User=alice, Mode=observe", "User: an empty name in the list"},
        {"Policy User=99999999999 Mode=observe", "User: 99999999999 out of range"},
        {"Policy User=4294967294 Mode=observe", "User: 4294967294 out of range"},
        {"Policy Group=4294967295 Mode=observe", "Group: 4294967295 out of range"},
        {"Policy Partition=\"a b\" Mode=observe", "'a b' has a blank"},
        {"Policy Partition=a\tx Mode=observe", "not of the form Key=Value"},
        {"Policy Account=\033[31m Mode=observe", "'?[31m' has a blank or a control"},
        {"Policy User=alice User=bob Mode=observe", "User: given twice"},
        {"Policy User=alice Mode=observe mode=advise", "Mode: given twice"},
        {"Policy User=alice Mode=wild", "Mode: 'wild' is unknown"},
        {"Policy User=alice TimeMargin=much", "TimeMargin: 'much' is not a number"},
        {"Policy User=alice TimeMin=0", "TimeMin: 0 out of range"},
        {"Policy User=alice ControlGroup=101", "ControlGroup: 101 out of range"},
        {"Policy User=alice DataDir=/x", "'DataDir' is neither a scope"},
        {"Policy User=alice DecisionLog=/x", "'DecisionLog' is neither a scope"},
        {"Policy User=alice Partitions=a", "'Partitions' is neither a scope"},
        {"Policy User=alice Mode", "'Mode' is not of the form"},
        {"Policies User=alice Mode=observe", "'Policies' is not of the form"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_site *site = scene_site ("");
        char *conf = unit_text ("Mode=advise\n%s\n", cases[i][0]);

        if (read_conf (site, conf, &unit_err) == 0)
            fail_msg ("%s was accepted", cases[i][0]);
        assert_contains (unit_err.text, cases[i][1]);
        assert_contains (unit_err.text, "conf: line 2: ");
        assert_numbers ("0 0", site->policies.n_policies, site->policies.n_unknown);
    }
}

static enum dn_mode mode_of (const struct dn_site *site, struct dn_submitter who)
{
    return dn_site_rules (site, &who, NULL).mode;
}

TEST ("a name that does not exist is noted and skipped")
{
    struct dn_site *site = site_of ("Mode=enforce\n"
                                    "Policy User=carol,alice Mode=observe\n"
                                    "Policy Group=gone,staff Mode=advise\n");
    struct dn_submitter alice = {.user_id = 1001, .group_id = 59};
    struct dn_submitter bob = {.user_id = 1002, .group_id = 59};
    char text[DN_ERR_TEXT_MAX];

    assert_int_equal (mode_of (site, alice), DN_MODE_OBSERVE);
    assert_int_equal (mode_of (site, bob), DN_MODE_ADVISE);
    assert_int_equal (mode_of (site, no_user ()), DN_MODE_ENFORCE);
    assert_int_equal (site->policies.n_unknown, 2);
    assert_string_equal (dn_unknown_write (&site->policies.unknown[0], text),
                         "line 2: User: 'carol' is not known, the name is skipped");
    assert_string_equal (dn_unknown_write (&site->policies.unknown[1], text),
                         "line 3: Group: 'gone' is not known, the name is skipped");
}

TEST ("a line of names that do not exist matches no job")
{
    struct dn_site *site = site_of ("Mode=enforce\n"
                                    "Policy User=carol,dave Mode=observe\n"
                                    "Policy Group=gone Mode=observe\n"
                                    "Policy Partition=gpu User=carol Mode=observe\n"
                                    "Policy User=1001 Group=gone Mode=observe\n");
    /* Users and groups that are unset, 0, or of somebody must all not match. */
    static const int64_t ids[] = {DN_UNSET, 0, 1, 50, 1001, 1002, 4294967294};

    assert_numbers ("4 5", site->policies.n_policies, site->policies.n_unknown);
    for (size_t i = 0; i < DN_N_ELEMENTS (ids); i++)
        for (size_t j = 0; j < DN_N_ELEMENTS (ids); j++)
            assert_int_equal (
                mode_of (site,
                         (struct dn_submitter){"gpu", NULL, NULL, ids[i], ids[j]}),
                DN_MODE_ENFORCE);
}

TEST ("names that do not exist are counted beyond those kept")
{
    struct dn_site *site;
    char conf[1024] = "Policy Mode=observe User=x0";

    for (int i = 1; i < DN_POLICY_NAMES_MAX; i++)
        strcat (conf, unit_text (",x%d", i));
    site = site_of (conf);
    assert_int_equal (site->policies.n_unknown, DN_POLICY_NAMES_MAX);
    assert_string_equal (site->policies.unknown[DN_POLICY_UNKNOWN_MAX - 1].name, "x15");
}

static int read_new (const char *conf)
{
    return read_conf (scene_site (""), conf, &unit_err);
}

TEST ("lines and names are bounded")
{
    static const char line[] = "Policy User=1 Mode=observe\n";
    const size_t len = sizeof (line) - 1;
    struct dn_site *site = scene_site ("");
    const char *name = unit_repeat ("x", 64);

    assert_error (read_conf (site, unit_repeat (line, 100000 * len), &unit_err),
                  "conf: line 65: more than 64 Policy lines");
    assert_int_equal (site->policies.n_policies, DN_POLICY_LINES_MAX);
    assert_done (
        read_new (unit_text ("Policy Mode=observe Partition=p%s",
                             unit_repeat (",p", 2 * (DN_POLICY_NAMES_MAX - 1)))));
    assert_error (read_new (unit_text ("Policy Mode=observe User=1%s",
                                       unit_repeat (",1", 2 * DN_POLICY_NAMES_MAX))),
                  "User: more than 64 names");
    assert_done (read_new (unit_text ("Policy Mode=observe QOS=%s", name + 1)));
    assert_error (read_new (unit_text ("Policy Mode=observe QOS=%s", name)),
                  "is longer than 63 characters");
}

TEST ("a long list of partitions ends")
{
    struct dn_site *site = site_of ("Policy Partition=gpu Mode=observe");
    struct dn_submitter who = no_user ();

    who.partition = unit_repeat (",", 1000000);
    assert_false (dn_policy_matches (&site->policies.list[0], &who));
    who.partition = unit_repeat ("x", 1000000);
    assert_false (dn_policy_matches (&site->policies.list[0], &who));
}
