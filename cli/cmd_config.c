/* cmd_config.c - shows the rules that apply, and checks a dnnest.conf
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "base/messages.h"
#include "contradictions.h"
#include "discover.h"
#include "host/people.h"
#include "output/json.h"
#include "output/show.h"
#include "output/grid.h"
#include "seen.h"
#include "site_advice.h"
#include "slurm_conf.h"
#include "slurm_version.h"

enum {
    OPTION_ACCOUNT,
    OPTION_ASK_NODES,
    OPTION_CHECK,
    OPTION_DISCOVER,
    OPTION_GROUP,
    OPTION_NVIDIA_SMI,
    OPTION_PARTITION,
    OPTION_QOS,
    OPTION_SET,
    OPTION_SLURM,
    OPTION_USER
};

static const struct dn_option options[] = {
    [OPTION_ACCOUNT] = {"account", 'A', "NAME", "the rules for jobs of this account"},
    [OPTION_ASK_NODES] = {"ask-nodes",
                          0,
                          NULL,
                          "with --discover: run nvidia-smi on a node of each type"},
    [OPTION_CHECK] = {"check", 0, "[=FILE]", "print all errors of this dnnest.conf"},
    [OPTION_DISCOVER] = {"discover",
                         0,
                         "[=FILE]",
                         "print Gpu lines for the nodes of this snapshot"},
    [OPTION_GROUP] = {"group", 0, "NAME", "the rules for jobs of this group"},
    [OPTION_NVIDIA_SMI] = {"nvidia-smi",
                           0,
                           "FILE",
                           "with --discover: what 'nvidia-smi -L' printed"},
    [OPTION_PARTITION] = {"partition",
                          'p',
                          "NAME",
                          "the rules for jobs in this partition"},
    [OPTION_QOS] = {"qos", 'q', "NAME", "the rules for jobs of this QOS"},
    [OPTION_SET] = {"set", 0, "KEY=VALUE", "override a rule; may be repeated"},
    [OPTION_SLURM] = {"slurm", 0, "VERSION", "the version of Slurm to answer for"},
    [OPTION_USER] = {"user", 0, "NAME", "the rules for jobs of this user"},
    {NULL, 0, NULL, NULL},
};

static const char *const type_text[] = {
    [DN_RULE_ENUM] = "enum",
    [DN_RULE_RATIO] = "ratio",
    [DN_RULE_COUNT] = "count",
    [DN_RULE_TIME] = "time",
    [DN_RULE_PERCENT] = "percent",
};
static const struct dn_names type_names = DN_NAMES (type_text, DN_N_RULE_TYPES);

/* The options of a call, and the rules that apply. */
struct call {
    struct dn_options given;
    struct dn_settings settings;
    struct dn_submitter submitter;
    bool submits; /* a submitter was named */
    bool check;
    bool discovers;
    struct dn_discover discover;
    const char *slurm; /* the version */
    struct dn_rules rules;
    struct dn_origins origins;
    struct dn_seen seen;
};

/* The value of a rule in the syntax of dnnest.conf. */
static struct dn_shown rule_value (const struct dn_rules *rules,
                                   const struct dn_rule_key *key)
{
    const char *at = (const char *) rules + key->offset;
    struct dn_shown out = {""};
    struct dn_buf buf = dn_buf_on (out.text, sizeof (out.text));
    int constant;
    int64_t count;
    double ratio;

    switch (key->type) {
    case DN_RULE_ENUM:
        memcpy (&constant, at, sizeof (constant));
        dn_buf_add (&buf, "%s", dn_names_get (&key->names, constant));
        break;
    case DN_RULE_RATIO:
    case DN_RULE_PERCENT:
        memcpy (&ratio, at, sizeof (ratio));
        dn_buf_add (&buf, "%.10g", ratio);
        break;
    case DN_RULE_COUNT:
        memcpy (&count, at, sizeof (count));
        dn_buf_add (&buf, "%" PRId64, count);
        break;
    case DN_RULE_TIME:
        memcpy (&count, at, sizeof (count));
        dn_buf_add (&buf, "%s", dn_time_write (count).text);
        break;
    case DN_N_RULE_TYPES:
        break;
    }
    return out;
}

/* The valid values: "0.5..0.9999", "keep limit". */
static void write_range (const struct dn_rule_key *key, struct dn_buf *buf)
{
    if (key->type == DN_RULE_TIME)
        dn_buf_add (buf,
                    "%s..%s",
                    dn_time_write ((int64_t) key->min).text,
                    dn_time_write ((int64_t) key->max).text);
    else if (key->type != DN_RULE_ENUM)
        dn_buf_add (buf,
                    "%s..%s",
                    dn_show_bound (key->min).text,
                    dn_show_bound (key->max).text);
    for (int i = 1; i < key->names.n_names; i++)
        dn_buf_add (buf, "%s%s", i > 1 ? " " : "", key->names.names[i]);
}

/* The values from the strictest on, or which of two numbers is stricter. NULL: the
 * key's values have no order.
 */
static const char *write_order (const struct dn_rule_key *key, struct dn_buf *buf)
{
    int n = key->names.n_names;

    if (key->strict == DN_STRICT_NONE)
        return NULL;
    if (key->type != DN_RULE_ENUM)
        dn_buf_add (buf, "%s", key->strict == DN_STRICT_LOWER ? "less" : "more");
    for (int i = 1; i < n; i++)
        dn_buf_add (buf,
                    "%s%s",
                    i > 1 ? " " : "",
                    key->names.names[key->strict == DN_STRICT_LOWER ? i : n - i]);
    return buf->text;
}

/* Where a value came from: "default", "slurm.conf", "--set", or the line of 'file'. */
static struct dn_shown write_origin (const char *file, int line)
{
    struct dn_shown out = {""};
    struct dn_buf buf = dn_buf_on (out.text, sizeof (out.text));

    if (line == DN_ORIGIN_DEFAULT)
        dn_buf_add (&buf, "default");
    else if (line == DN_ORIGIN_SLURM)
        dn_buf_add (&buf, "slurm.conf");
    else if (line == DN_ORIGIN_SETTING)
        dn_buf_add (&buf, "--set");
    else
        dn_buf_add (&buf, "%s:%d", file, line);
    return out;
}

static void add_rules (struct json_object *json, const struct call *call)
{
    struct json_object *array = dn_json_add_array (json, "rules");
    const char *file = dn_base_name (call->given.paths.conf);
    int n_keys;
    const struct dn_rule_key *keys = dn_rule_keys (&n_keys);

    for (int i = 0; i < n_keys; i++) {
        struct json_object *row = dn_json_append_object (array);
        char range[DN_ERR_TEXT_MAX];
        char order[DN_ERR_TEXT_MAX];
        struct dn_buf range_buf = dn_buf_on (range, sizeof (range));
        struct dn_buf order_buf = dn_buf_on (order, sizeof (order));

        write_range (&keys[i], &range_buf);
        dn_json_add_text (row, "key", keys[i].name);
        dn_json_add_text (row, "value", rule_value (&call->rules, &keys[i]).text);
        dn_json_add_text (row, "from", write_origin (file, call->origins.line[i]).text);
        dn_json_add_text (row, "default", keys[i].value);
        dn_json_add_text (row, "type", dn_names_get (&type_names, (int) keys[i].type));
        dn_json_add_text (row, "range", range);
        dn_json_add_text (row, "stricter", write_order (&keys[i], &order_buf));
        dn_json_add_text (row, "help", keys[i].help);
    }
}

/* The lines, whether or not they match. */
static void add_policies (struct json_object *json,
                          const struct dn_site *site,
                          const struct call *call)
{
    struct json_object *array = dn_json_add_array (json, "policy_keys");
    const struct dn_scope_key *scopes = dn_scope_keys ();
    int n_keys;
    const struct dn_rule_key *keys = dn_rule_keys (&n_keys);

    for (int i = 0; i < DN_N_SCOPES; i++) {
        struct json_object *row = dn_json_append_object (array);

        dn_json_add_text (row, "key", scopes[i].name);
        dn_json_add_text (row, "help", scopes[i].help);
    }
    array = dn_json_add_array (json, "policies");
    for (int i = 0; i < site->policies.n_policies; i++) {
        const struct dn_policy *policy = &site->policies.list[i];
        struct json_object *row = dn_json_append_object (array);
        struct json_object *part;

        dn_json_add_count (row, "line", policy->line);
        part = dn_json_add_object (row, "for");
        for (int scope = 0; scope < DN_N_SCOPES; scope++)
            if (policy->names[scope])
                dn_json_add_text (part, scopes[scope].name, policy->names[scope]);
        part = dn_json_add_object (row, "sets");
        for (int k = 0; k < n_keys; k++)
            if (policy->set & (UINT64_C (1) << k))
                dn_json_add_text (
                    part, keys[k].name, rule_value (&policy->rules, &keys[k]).text);
        dn_json_add_bool (row,
                          "matches",
                          call->submits
                              && dn_policy_matches (policy, &call->submitter));
    }
}

/* A number of the site; negative: unset. */
static double site_real (const struct dn_site *site, const struct dn_site_key *key)
{
    double real;

    memcpy (&real, (const char *) site + key->offset, sizeof (real));
    return real;
}

/* A path, "set" for a text that is not shown, or "" for what is unset. */
static const char *site_text (const struct dn_site *site, const struct dn_site_key *key)
{
    const char *text = (const char *) site + key->offset;

    return key->type == DN_SITE_SECRET && text[0] != '\0' ? "set" : text;
}

/* Paths are texts, numbers numbers. */
static void add_site (struct json_object *json, const struct dn_site *site)
{
    struct json_object *array = dn_json_add_array (json, "site");
    int n_keys;
    const struct dn_site_key *keys = dn_site_keys (&n_keys);

    for (int i = 0; i < n_keys; i++) {
        struct json_object *row = dn_json_append_object (array);
        char range[DN_ERR_TEXT_MAX];
        struct dn_buf buf = dn_buf_on (range, sizeof (range));

        dn_buf_add (&buf,
                    "%s..%s",
                    dn_show_bound (keys[i].min).text,
                    dn_show_bound (keys[i].max).text);
        dn_json_add_text (row, "key", keys[i].name);
        if (keys[i].type != DN_SITE_REAL)
            dn_json_add_text (row, "value", site_text (site, &keys[i]));
        else
            dn_json_add_real (row, "value", site_real (site, &keys[i]));
        dn_json_add_text (row, "range", keys[i].type != DN_SITE_REAL ? NULL : range);
        dn_json_add_text (row, "help", keys[i].help);
    }
}

/* The maximum time of a type's partition; NULL: not given. */
static struct json_object *max_time_json (int64_t seconds)
{
    if (seconds == DN_UNSET)
        return NULL;
    return dn_json_text (seconds == DN_UNLIMITED ? "UNLIMITED"
                                                 : dn_time_write (seconds).text);
}

static void add_gpus (struct json_object *json, const struct dn_gpu_types *types)
{
    struct json_object *array = dn_json_add_array (json, "gpu_keys");
    int n_keys;
    const struct dn_gpu_key *keys = dn_gpu_keys (&n_keys);

    for (int i = 0; i < n_keys; i++) {
        struct json_object *row = dn_json_append_object (array);

        dn_json_add_text (row, "key", keys[i].name);
        dn_json_add_text (row, "help", keys[i].help);
    }
    array = dn_json_add_array (json, "gpus");
    for (int i = 0; i < types->n_types; i++) {
        const struct dn_gpu_type *type = &types->types[i];
        struct json_object *row = dn_json_append_object (array);

        dn_json_add_text (row, "type", type->type);
        dn_json_add_text (row, "device", type->device->name);
        dn_json_add_real (row, "cost_per_hour", type->cost);
        dn_json_add_count (row, "per_node", type->per_node);
        dn_json_add_count (row, "nodes", type->n_nodes);
        dn_json_add_count (row, "node_cpus", type->node_cpus);
        dn_json_add_count (row, "node_memory_mb", type->node_mem_mb);
        dn_json_add_count (row, "node_tmp_mb", type->node_tmp_mb);
        dn_json_add_count (row, "threads_per_core", type->threads_per_core);
        dn_json_add_bool (row, "move_to", !type->no_moves);
        dn_json_add_text (
            row, "partitions", type->partitions[0] ? type->partitions : NULL);
        dn_json_add_text (
            row, "by_partition", type->by_partition[0] ? type->by_partition : NULL);
        json_object_object_add (row, "max_time", max_time_json (type->max_time_s));
        dn_json_add_text (
            row, "by_feature", type->by_feature[0] ? type->by_feature : NULL);
        dn_json_add_text (row, "features", type->features[0] ? type->features : NULL);
    }
}

static void add_state_file (struct json_object *array, const struct dn_seen_file *file)
{
    struct json_object *row = dn_json_append_object (array);

    dn_json_add_text (row, "file", file->path.text);
    dn_json_add_text (row, "state", dn_seen_name (file->state));
    if (file->state == DN_SEEN_USED || file->state == DN_SEEN_OLD)
        dn_json_add_count (row, "age_s", file->age_s);
    else
        json_object_object_add (row, "age_s", NULL);
    dn_json_add_text (
        row, "error", file->state == DN_SEEN_BROKEN ? file->err.text : NULL);
}

/* The files of dnnestd. */
static void add_state_files (struct json_object *json, const struct dn_seen *seen)
{
    struct json_object *array = dn_json_add_array (json, "state_files");

    add_state_file (array, &seen->cluster);
    add_state_file (array, &seen->guarded);
}

static void print_json (const struct dn_site *site, const struct call *call)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();

    dn_json_add_text (json, "conf", call->given.paths.conf);
    add_rules (json, call);
    add_policies (json, site, call);
    add_site (json, site);
    add_gpus (json, &site->gpu_types);
    add_state_files (json, &call->seen);
    dn_json_print (json);
}

static int print_rules (const struct call *call)
{
    static const struct dn_grid_column columns[] = {{"KEY", false},
                                                    {"VALUE", false},
                                                    {"FROM", false},
                                                    {"DEFAULT", false},
                                                    {"RANGE", false},
                                                    {"MEANING", false}};
    static const char *const spare[] = {"DEFAULT", NULL};
    dn_cleanup (dn_grid_free) struct dn_grid grid = dn_grid_of (columns, 6);
    const char *file = dn_base_name (call->given.paths.conf);
    int n_keys;
    const struct dn_rule_key *keys = dn_rule_keys (&n_keys);

    grid.spare = spare;
    for (int i = 0; i < n_keys; i++) {
        char range[DN_ERR_TEXT_MAX];
        struct dn_buf buf = dn_buf_on (range, sizeof (range));

        write_range (&keys[i], &buf);
        dn_grid_add (&grid, "%s", keys[i].name);
        dn_grid_add (&grid, "%s", rule_value (&call->rules, &keys[i]).text);
        dn_grid_add (&grid, "%s", write_origin (file, call->origins.line[i]).text);
        dn_grid_add (&grid, "%s", keys[i].value);
        dn_grid_add (&grid, "%s", range);
        dn_grid_add (&grid, "%s", keys[i].help);
    }
    return dn_grid_print (&grid);
}

/* Print every Policy line, and whether it matches the named submitter. */
static void print_policies (const struct dn_site *site, const struct call *call)
{
    const struct dn_scope_key *scopes = dn_scope_keys ();
    int n_keys;
    const struct dn_rule_key *keys = dn_rule_keys (&n_keys);

    if (site->policies.n_policies > 0)
        printf ("\n");
    for (int i = 0; i < site->policies.n_policies; i++) {
        const struct dn_policy *policy = &site->policies.list[i];

        printf ("line %d: Policy", policy->line);
        for (int scope = 0; scope < DN_N_SCOPES; scope++)
            if (policy->names[scope])
                printf (" %s=%s", scopes[scope].name, policy->names[scope]);
        for (int k = 0; k < n_keys; k++)
            if (policy->set & (UINT64_C (1) << k))
                printf (
                    " %s=%s", keys[k].name, rule_value (&policy->rules, &keys[k]).text);
        if (call->submits)
            printf (" (%s)",
                    dn_policy_matches (policy, &call->submitter) ? "matches"
                                                                 : "does not match");
        printf ("\n");
    }
}

static void print_site (const struct dn_site *site)
{
    int n_keys;
    const struct dn_site_key *keys = dn_site_keys (&n_keys);

    printf ("\n");
    for (int i = 0; i < n_keys; i++)
        if (keys[i].type != DN_SITE_REAL)
            printf ("%s=%s\n", keys[i].name, site_text (site, &keys[i]));
        else
            printf ("%s=%s\n",
                    keys[i].name,
                    site_real (site, &keys[i]) < 0
                        ? "unset"
                        : dn_show_bound (site_real (site, &keys[i])).text);
}

static void add_count (struct dn_grid *grid, int64_t count)
{
    if (count == DN_UNSET)
        dn_grid_add (grid, "-");
    else
        dn_grid_add (grid, "%" PRId64, count);
}

/* How jobs request the type, other than by gres: "-p gpu-v100", "-C v100". */
static void add_by (struct dn_grid *grid, const struct dn_gpu_type *type)
{
    bool partition = type->by_partition[0] != '\0';
    bool feature = type->by_feature[0] != '\0';

    if (!partition && !feature)
        dn_grid_add (grid, "-");
    else
        dn_grid_add (grid,
                     "%s%s%s%s%s",
                     partition ? "-p " : "",
                     type->by_partition,
                     partition && feature ? ", " : "",
                     feature ? "-C " : "",
                     type->by_feature);
}

static int print_gpus (const struct dn_gpu_types *types)
{
    static const struct dn_grid_column columns[] = {{"GPU TYPE", false},
                                                    {"DEVICE", false},
                                                    {"COST/h", true},
                                                    {"PER NODE", true},
                                                    {"NODES", true},
                                                    {"NODE CPUS", true},
                                                    {"NODE MB", true},
                                                    {"PARTITIONS", false},
                                                    {"BY", false}};
    dn_cleanup (dn_grid_free) struct dn_grid grid = dn_grid_of (columns, 9);

    printf ("\n");
    if (types->n_types == 0) {
        printf ("No Gpu lines: no gres type is known, no job is changed.\n");
        return DN_EXIT_DONE;
    }
    for (int i = 0; i < types->n_types; i++) {
        const struct dn_gpu_type *type = &types->types[i];

        dn_grid_add (&grid, "%s", type->type);
        dn_grid_add (&grid, "%s", type->device->name);
        dn_grid_add (&grid, "%s", dn_show_real (type->cost, 2).text);
        add_count (&grid, type->per_node);
        add_count (&grid, type->n_nodes);
        add_count (&grid, type->node_cpus);
        add_count (&grid, type->node_mem_mb);
        dn_grid_add (&grid, "%s", type->partitions[0] ? type->partitions : "-");
        add_by (&grid, type);
    }
    return dn_grid_print (&grid);
}

static void print_state_file (const struct dn_seen_file *file)
{
    if (file->state == DN_SEEN_BROKEN)
        printf ("%s\n", file->err.text);
    else if (file->state == DN_SEEN_NONE)
        printf ("%s: none\n", file->path.text);
    else
        printf ("%s: %" PRId64 " s old, %s\n",
                file->path.text,
                file->age_s,
                file->state == DN_SEEN_USED ? "used" : "not used");
}

static int print_text (const struct dn_site *site, const struct call *call)
{
    const char *conf = call->given.paths.conf;

    printf ("dnnest.conf: %s\n\n", conf ? conf : "none, all rules at their defaults");
    if (print_rules (call) != DN_EXIT_DONE)
        return DN_EXIT_BUG;
    print_policies (site, call);
    print_site (site);
    printf ("\n");
    print_state_file (&call->seen.cluster);
    print_state_file (&call->seen.guarded);
    return print_gpus (&site->gpu_types);
}

/* Errors that are printed; the others are counted. */
#define PROBLEMS_MAX 100

/* The errors of a check: printed immediately, or collected for the JSON. */
struct findings {
    struct json_object *array; /* NULL: print them */
    const char *prefix;        /* of what is printed */
    int n;
};

static void find (void *to, const struct dn_err *err)
{
    struct findings *findings = to;

    if (++findings->n > PROBLEMS_MAX)
        return;
    if (findings->array)
        json_object_array_add (findings->array, dn_json_text (err->text));
    else
        dn_complain ("%s%s", findings->prefix, err->text);
}

/* The names of the Policy lines that no user or group has: no error, since the line
 * matches by its other names. 'array' is NULL: print them.
 */
static void warn_unknown (const char *conf,
                          const struct dn_policies *policies,
                          struct json_object *array)
{
    int n = policies->n_unknown < DN_POLICY_UNKNOWN_MAX ? policies->n_unknown
                                                        : DN_POLICY_UNKNOWN_MAX;

    for (int i = 0; i < n; i++) {
        char text[DN_ERR_TEXT_MAX];

        dn_unknown_write (&policies->unknown[i], text);
        if (array)
            json_object_array_add (array, dn_json_text (text));
        else
            dn_complain ("warning: %s: %s", conf, text);
    }
    if (policies->n_unknown > n && !array)
        dn_complain (
            "warning: %s: and %d more such names", conf, policies->n_unknown - n);
}

static const char *advice_for (const struct call *call, const struct dn_site *site)
{
    struct dn_slurm_conf slurm;

    if (dn_slurm_conf_read (call->given.paths.conf, &slurm, NULL) < 0)
        slurm.found = false;
    return dn_site_advice (site, call->given.slurm_version, slurm.found);
}

/* A file that is not there has no errors, but it is not what an admin wants to check.
 */
static void find_contradictions (struct call *call,
                                 const struct dn_site *site,
                                 struct dn_problems *problems,
                                 struct dn_problems *warnings)
{
    const char *conf = call->given.paths.conf;
    struct dn_err err = {0};

    if (!conf) {
        dn_err_set (&err,
                    DN_E_IO,
                    "%s: there is no such file, the defaults apply",
                    dn_load_default_paths ().conf);
        dn_problems_take (problems, &err);
        return;
    }
    dn_seen_read (&call->seen, site, NULL);
    dn_contradictions_find (
        site, dn_seen_cluster (&call->seen), conf, problems, warnings);
}

/* Report every error of the file, one per line. Return an enum dn_exit. */
static int check (struct call *call)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    dn_cleanup (dn_site_cleanup) struct dn_site *site = NULL;
    const char *conf = call->given.paths.conf;
    struct findings findings = {NULL, "", 0};
    struct findings doubts = {NULL, "warning: ", 0};
    struct dn_problems problems = {find, &findings, 0};
    struct dn_problems warnings = {find, &doubts, 0};
    const char *advice;

    dn_json_add_text (json, "conf", conf);
    if (call->given.json) {
        findings.array = dn_json_add_array (json, "errors");
        doubts.array = dn_json_add_array (json, "warnings");
    }
    site = dn_options_site_with (&call->given, call->settings.text, &problems);
    if (!site)
        return call->given.exit_code;
    if (findings.n == 0)
        find_contradictions (call, site, &problems, &warnings);
    if (findings.array && site->bundle_err.code != DN_E_NONE)
        find (&findings, &site->bundle_err);
    if (findings.n > PROBLEMS_MAX)
        dn_complain ("and %d more", findings.n - PROBLEMS_MAX);
    warn_unknown (conf, &site->policies, doubts.array);
    advice = advice_for (call, site);
    dn_json_add_text (json, "advice", advice);
    if (findings.array)
        dn_json_print (json);
    if (findings.n > 0 || site->bundle_err.code != DN_E_NONE)
        return DN_EXIT_CONF; /* dn_options_site_with () has reported the bundle */
    if (!findings.array)
        printf ("%s: ok%s%s\n", conf, advice ? "\nadvice: " : "", advice ? advice : "");
    return DN_EXIT_DONE;
}

/* Look up a user of this system, by name or number. */
static bool find_user (const char *name, struct dn_submitter *submitter)
{
    const struct passwd *entry;

    if (!dn_options_user (name, &submitter->user_id))
        return false;
    /* cppcheck-suppress getpwuidCalled ; there is one thread */
    entry = getpwuid ((uid_t) submitter->user_id);
    if (entry && submitter->group_id == DN_UNSET)
        submitter->group_id = (int64_t) entry->pw_gid;
    return true;
}

static bool find_group (const char *name, struct dn_submitter *submitter)
{
    const struct dn_people *system = &dn_people_of_system;
    struct dn_group group = {0};
    struct dn_err err = {0};

    if (dn_int_read (dn_span_of (name), "group", 0, UINT32_MAX, &group.gid, NULL) < 0
        && system->find_group (system->self, name, &group, &err) < 0) {
        dn_complain ("--group: %s", err.text);
        return false;
    }
    submitter->group_id = group.gid;
    dn_group_free (&group);
    return true;
}

/* The option that getopt has just returned; false after a complaint. */
static bool take_option (struct call *call, const struct dn_command *self, int option)
{
    struct dn_submitter *submitter = &call->submitter;
    const char *argument = call->given.argument;

    switch (option) {
    case OPTION_CHECK:
        call->check = true;
        if (argument)
            dn_options_conf (&call->given, argument);
        return true;
    case OPTION_DISCOVER:
        call->discovers = true;
        call->discover.snapshot = argument;
        return true;
    case OPTION_ASK_NODES:
        call->discover.ask_nodes = true;
        return true;
    case OPTION_NVIDIA_SMI:
        call->discover.nvidia_smi = argument;
        return true;
    case OPTION_SLURM:
        call->slurm = argument;
        return true;
    case OPTION_SET:
        return dn_settings_add (&call->settings, self, argument);
    case OPTION_ACCOUNT:
        submitter->account = argument;
        break;
    case OPTION_PARTITION:
        submitter->partition = argument;
        break;
    case OPTION_QOS:
        submitter->qos = argument;
        break;
    case OPTION_GROUP:
        if (!find_group (argument, submitter))
            return false;
        break;
    case OPTION_USER:
        if (!find_user (argument, submitter))
            return false;
        break;
    default:
        break;
    }
    call->submits = true;
    return true;
}

/* Refuse options that have no effect together. Return an enum dn_exit. */
static int check_options (const struct call *call, const struct dn_command *self)
{
    if (call->check && call->discovers)
        return dn_options_misuse (self, "--check cannot be combined with --discover");
    if (!call->discovers && (call->discover.ask_nodes || call->discover.nvidia_smi))
        return dn_options_misuse (self, "--ask-nodes and --nvidia-smi need --discover");
    return DN_EXIT_DONE;
}

/* Return false to leave with the exit code of 'given'. */
static bool take_options (struct call *call,
                          const struct dn_command *self,
                          int argc,
                          char **argv)
{
    struct dn_options *given = &call->given;
    int option;

    dn_options_begin (given, self, argc, argv);
    while ((option = dn_options_next (given)) >= 0)
        if (!take_option (call, self, option)) {
            given->exit_code = DN_EXIT_USAGE;
            return false;
        }
    if (option != DN_OPTION_END || !dn_options_count (given, 0, call->check ? 1 : 0))
        return false;
    if (given->n_args > 0)
        dn_options_conf (given, given->args[0]);
    given->exit_code = check_options (call, self);
    return given->exit_code == DN_EXIT_DONE;
}

static void free_call (struct call *call)
{
    dn_seen_free (&call->seen);
}

static int run (const struct dn_command *self, int argc, char **argv)
{
    dn_cleanup (dn_site_cleanup) struct dn_site *site = NULL;
    dn_cleanup (free_call) struct call call = {
        .submitter = {.user_id = DN_UNSET, .group_id = DN_UNSET},
        .slurm = dn_slurm_version_default};
    struct dn_err err = {0};

    if (!take_options (&call, self, argc, argv))
        return call.given.exit_code;
    if (dn_slurm_version_read (call.slurm, &call.given.slurm_version, &err) < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    if (call.check)
        return check (&call);
    site = dn_options_site (&call.given, call.settings.text);
    if (!site)
        return call.given.exit_code;
    call.discover.json = call.given.json;
    if (call.discovers)
        return dn_discover (&call.discover, site);
    if (site->time_min_refused)
        dn_complain ("%s", dn_say_time_min_refused);
    warn_unknown (call.given.paths.conf, &site->policies, NULL);
    dn_seen_read (&call.seen, site, NULL);
    call.rules = dn_site_rules (site, &call.submitter, &call.origins);
    if (!call.given.json)
        return print_text (site, &call);
    print_json (site, &call);
    return DN_EXIT_DONE;
}

const struct dn_command dn_cmd_config = {
    .name = "config",
    .summary = "Show the rules that apply, and to whom, or check a dnnest.conf",
    .arguments = "",
    .options = options,
    .run = run,
};
