/* config_view.c - the rules and the GPU types of a site, as text and as JSON
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config/config_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "output/rows.h"
#include "output/show.h"

static const char *const type_text[] = {
    [DN_RULE_ENUM] = "enum",
    [DN_RULE_RATIO] = "ratio",
    [DN_RULE_COUNT] = "count",
    [DN_RULE_TIME] = "time",
    [DN_RULE_PERCENT] = "percent",
};
static const struct dn_names type_names = DN_NAMES (type_text, DN_N_RULE_TYPES);

struct dn_shown dn_config_value (const struct dn_rules *rules,
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

const char *dn_config_order (const struct dn_rule_key *key, struct dn_buf *buf)
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

static struct json_object *rules_of (const struct dn_config_view *view)
{
    struct json_object *array = json_object_new_array ();
    const char *file = dn_base_name (view->conf);
    int n_keys;
    const struct dn_rule_key *keys = dn_rule_keys (&n_keys);

    for (int i = 0; i < n_keys; i++) {
        struct json_object *row = dn_json_append_object (array);
        char range[DN_ERR_TEXT_MAX];
        char order[DN_ERR_TEXT_MAX];
        struct dn_buf range_buf = dn_buf_on (range, sizeof (range));
        struct dn_buf order_buf = dn_buf_on (order, sizeof (order));

        if (keys[i].type != DN_RULE_ENUM)
            dn_show_bounds (
                &range_buf, keys[i].min, keys[i].max, keys[i].type == DN_RULE_TIME);
        dn_show_names (&range_buf, &keys[i].names, " ");
        dn_json_add_text (row, "key", keys[i].name);
        dn_json_add_text (row, "value", dn_config_value (view->rules, &keys[i]).text);
        dn_json_add_text (
            row, "from", write_origin (file, view->origins->line[i]).text);
        dn_json_add_text (row, "default", keys[i].value);
        dn_json_add_text (row, "type", dn_names_get (&type_names, (int) keys[i].type));
        dn_json_add_text (row, "range", range);
        dn_json_add_text (row, "stricter", dn_config_order (&keys[i], &order_buf));
        dn_json_add_text (row, "help", keys[i].help);
    }
    return array;
}

/* The lines, whether or not they match. */
static void add_policies (struct json_object *json, const struct dn_config_view *view)
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
    for (int i = 0; i < view->site->policies.n_policies; i++) {
        const struct dn_policy *policy = &view->site->policies.list[i];
        struct json_object *row = dn_json_append_object (array);
        struct json_object *part;

        dn_json_add_count (row, "line", policy->line);
        part = dn_json_add_object (row, "for");
        for (int scope = 0; scope < DN_N_SCOPES; scope++)
            if (policy->scopes[scope].text)
                dn_json_add_text (part, scopes[scope].name, policy->scopes[scope].text);
        part = dn_json_add_object (row, "sets");
        for (int k = 0; k < n_keys; k++)
            if (policy->set & (UINT64_C (1) << k))
                dn_json_add_text (part,
                                  keys[k].name,
                                  dn_config_value (&policy->rules, &keys[k]).text);
        dn_json_add_bool (row,
                          "matches",
                          view->submitter
                              && dn_policy_matches (policy, view->submitter));
    }
}

/* A number of the site; negative: unset. */
static double site_real (const struct dn_site *site, const struct dn_site_key *key)
{
    double real;

    memcpy (&real, (const char *) site + key->offset, sizeof (real));
    return real;
}

/* A path, or "" for what is unset. */
static const char *site_text (const struct dn_site *site, const struct dn_site_key *key)
{
    return (const char *) site + key->offset;
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

        dn_show_bounds (&buf, keys[i].min, keys[i].max, false);
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

static struct json_object *gpu_keys_of (void)
{
    struct json_object *array = json_object_new_array ();
    int n_keys;
    const struct dn_gpu_key *keys = dn_gpu_keys (&n_keys);

    for (int i = 0; i < n_keys; i++) {
        struct json_object *row = dn_json_append_object (array);

        dn_json_add_text (row, "key", keys[i].name);
        dn_json_add_text (row, "help", keys[i].help);
    }
    return array;
}

static struct json_object *gpus_of (const struct dn_gpu_types *types)
{
    struct json_object *array = json_object_new_array ();

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
        dn_json_add_name (row, "partitions", type->partitions);
        dn_json_add_name (row, "by_partition", type->by_partition);
        json_object_object_add (row, "max_time", max_time_json (type->max_time_s));
        dn_json_add_name (row, "by_feature", type->by_feature);
        dn_json_add_name (row, "features", type->features);
    }
    return array;
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

void dn_config_print_json (const struct dn_config_view *view)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    struct json_object *files;

    dn_json_add_text (json, "conf", view->conf);
    json_object_object_add (json, "rules", rules_of (view));
    add_policies (json, view);
    add_site (json, view->site);
    json_object_object_add (json, "gpu_keys", gpu_keys_of ());
    json_object_object_add (json, "gpus", gpus_of (&view->site->gpu_types));
    files = dn_json_add_array (json, "state_files");
    add_state_file (files, &view->seen->cluster);
    add_state_file (files, &view->seen->guarded);
    dn_json_print (json);
}

/* Print every Policy line, and whether it matches the named submitter. */
static void print_policies (const struct dn_config_view *view)
{
    const struct dn_scope_key *scopes = dn_scope_keys ();
    int n_keys;
    const struct dn_rule_key *keys = dn_rule_keys (&n_keys);

    if (view->site->policies.n_policies > 0)
        printf ("\n");
    for (int i = 0; i < view->site->policies.n_policies; i++) {
        const struct dn_policy *policy = &view->site->policies.list[i];

        printf ("line %d: Policy", policy->line);
        for (int scope = 0; scope < DN_N_SCOPES; scope++)
            if (policy->scopes[scope].text)
                printf (" %s=%s", scopes[scope].name, policy->scopes[scope].text);
        for (int k = 0; k < n_keys; k++)
            if (policy->set & (UINT64_C (1) << k))
                printf (" %s=%s",
                        keys[k].name,
                        dn_config_value (&policy->rules, &keys[k]).text);
        if (view->submitter)
            printf (" (%s)",
                    dn_policy_matches (policy, view->submitter) ? "matches"
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

/* How jobs request the type, other than by gres: "-p gpu-v100", "-C v100". */
static void add_by (struct json_object *row, const struct dn_gpu_type *type)
{
    bool partition = type->by_partition[0] != '\0';
    bool feature = type->by_feature[0] != '\0';
    char text[2 * DN_NAME_MAX + 16];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    if (partition)
        dn_buf_add (&buf, "-p %s", type->by_partition);
    if (feature)
        dn_buf_add (&buf, "%s-C %s", partition ? ", " : "", type->by_feature);
    dn_json_add_name (row, "by", text);
}

static int print_gpus (const struct dn_gpu_types *types)
{
    struct json_object *rows;

    printf ("\n");
    if (types->n_types == 0) {
        printf ("No Gpu lines: no gres type is known, no job is changed.\n");
        return DN_EXIT_DONE;
    }
    rows = gpus_of (types);
    for (int i = 0; i < types->n_types; i++)
        add_by (json_object_array_get_idx (rows, (size_t) i), &types->types[i]);
    return dn_rows_print (rows,
                          "GPU TYPE=type|DEVICE=device|COST/h>=cost_per_hour .2|"
                          "PER NODE>=per_node|NODES>=nodes|NODE CPUS>=node_cpus|"
                          "NODE MB>=node_memory_mb|PARTITIONS=partitions|BY=by",
                          NULL);
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

int dn_config_print (const struct dn_config_view *view)
{
    printf ("dnnest.conf: %s\n\n",
            view->conf ? view->conf : "none, all rules at their defaults");
    if (dn_rows_print (rules_of (view),
                       "KEY=key|VALUE=value|FROM=from|DEFAULT=default|RANGE=range|"
                       "MEANING=help",
                       "DEFAULT")
        != DN_EXIT_DONE)
        return DN_EXIT_BUG;
    print_policies (view);
    print_site (view->site);
    printf ("\n");
    print_state_file (&view->seen->cluster);
    print_state_file (&view->seen->guarded);
    return print_gpus (&view->site->gpu_types);
}
