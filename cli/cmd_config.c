/* cmd_config.c - the rules in force, and whether a dnnest.conf is right
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "show.h"
#include "grid.h"

enum {
    OPTION_CHECK,
    OPTION_SET
};

static const struct dn_option options[] = {
    [OPTION_CHECK] = {"check", 0, "FILE", "say whether this dnnest.conf is right"},
    [OPTION_SET] = {"set", 0, "KEY=VALUE", "another value for a rule; may be repeated"},
    {NULL, 0, NULL, NULL},
};

static const char *const type_text[] = {"enum", "ratio", "count", "time"};
static const struct dn_names type_names = {type_text, (int) DN_N_ELEMENTS (type_text)};

/* The value of a rule as one writes it in dnnest.conf. */
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
    }
    return out;
}

/* "0.5..0.9999", "keep limit": what a value may be. */
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

static void add_rules (struct json_object *json, const struct dn_rules *rules)
{
    struct json_object *array = dn_json_add_array (json, "rules");
    int n_keys;
    const struct dn_rule_key *keys = dn_rule_keys (&n_keys);

    for (int i = 0; i < n_keys; i++) {
        struct json_object *row = dn_json_append_object (array);
        char range[DN_ERR_TEXT_MAX];
        struct dn_buf buf = dn_buf_on (range, sizeof (range));

        write_range (&keys[i], &buf);
        dn_json_add_text (row, "key", keys[i].name);
        dn_json_add_text (row, "value", rule_value (rules, &keys[i]).text);
        dn_json_add_text (row, "default", keys[i].value);
        dn_json_add_text (row, "type", dn_names_get (&type_names, (int) keys[i].type));
        dn_json_add_text (row, "range", range);
        dn_json_add_text (row, "help", keys[i].help);
    }
}

/* A number of the site; negative: unset. */
static double site_real (const struct dn_site *site, const struct dn_site_key *key)
{
    double real;

    memcpy (&real, (const char *) site + key->offset, sizeof (real));
    return real;
}

/* Paths are texts, numbers numbers. */
static void add_site (struct json_object *json, const struct dn_site *site)
{
    struct json_object *array = dn_json_add_array (json, "site");
    int n_keys;
    const struct dn_site_key *keys = dn_site_keys (&n_keys);

    for (int i = 0; i < n_keys; i++) {
        struct json_object *row = dn_json_append_object (array);
        const char *path = (const char *) site + keys[i].offset;
        char range[DN_ERR_TEXT_MAX];
        struct dn_buf buf = dn_buf_on (range, sizeof (range));

        dn_buf_add (&buf,
                    "%s..%s",
                    dn_show_bound (keys[i].min).text,
                    dn_show_bound (keys[i].max).text);
        dn_json_add_text (row, "key", keys[i].name);
        if (keys[i].type != DN_SITE_REAL)
            dn_json_add_text (row, "value", path);
        else
            dn_json_add_real (row, "value", site_real (site, &keys[i]));
        dn_json_add_text (row, "range", keys[i].type != DN_SITE_REAL ? NULL : range);
        dn_json_add_text (row, "help", keys[i].help);
    }
}

/* The longest time of a type's partition, as one writes it; NULL: not stated. */
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

static void print_json (const char *conf, const struct dn_site *site)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();

    dn_json_add_text (json, "conf", conf);
    add_rules (json, &site->rules);
    add_site (json, site);
    add_gpus (json, &site->gpu_types);
    dn_json_print (json);
}

static int print_rules (const struct dn_site *site)
{
    static const struct dn_grid_column columns[] = {{"KEY", false},
                                                    {"VALUE", false},
                                                    {"DEFAULT", false},
                                                    {"RANGE", false},
                                                    {"MEANING", false}};
    dn_cleanup (dn_grid_free) struct dn_grid grid = dn_grid_of (columns, 5);
    int n_keys;
    const struct dn_rule_key *keys = dn_rule_keys (&n_keys);

    for (int i = 0; i < n_keys; i++) {
        char range[DN_ERR_TEXT_MAX];
        struct dn_buf buf = dn_buf_on (range, sizeof (range));

        write_range (&keys[i], &buf);
        dn_grid_add (&grid, "%s", keys[i].name);
        dn_grid_add (&grid, "%s", rule_value (&site->rules, &keys[i]).text);
        dn_grid_add (&grid, "%s", keys[i].value);
        dn_grid_add (&grid, "%s", range);
        dn_grid_add (&grid, "%s", keys[i].help);
    }
    return dn_grid_print (&grid);
}

static void print_site (const struct dn_site *site)
{
    int n_keys;
    const struct dn_site_key *keys = dn_site_keys (&n_keys);

    printf ("\n");
    for (int i = 0; i < n_keys; i++)
        if (keys[i].type != DN_SITE_REAL)
            printf ("%s=%s\n", keys[i].name, (const char *) site + keys[i].offset);
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

/* How jobs ask for the type, other than by gres: "-p gpu-v100", "-C v100". */
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
        printf ("No Gpu lines: no gres type is known, every job is kept as written.\n");
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

static int print_text (const char *conf, const struct dn_site *site)
{
    printf ("dnnest.conf: %s\n\n", conf ? conf : "none, all rules at their defaults");
    if (print_rules (site) != DN_EXIT_DONE)
        return DN_EXIT_BUG;
    print_site (site);
    return print_gpus (&site->gpu_types);
}

static int run (const struct dn_command *self, int argc, char **argv)
{
    dn_cleanup (dn_site_cleanup) struct dn_site *site = NULL;
    struct dn_settings settings = {.len = 0};
    struct dn_options given;
    const char *check = NULL;
    int option;

    dn_options_begin (&given, self, argc, argv);
    while ((option = dn_options_next (&given)) >= 0) {
        if (option == OPTION_CHECK) {
            check = given.argument;
            dn_options_conf (&given, check);
        } else if (!dn_settings_add (&settings, self, given.argument))
            return DN_EXIT_USAGE;
    }
    if (option != DN_OPTION_END || !dn_options_count (&given, 0, 0))
        return given.exit_code;
    site = dn_options_site (&given, settings.len > 0 ? settings.text : NULL);
    if (!site)
        return given.exit_code;
    if (check && site->bundle_err.code != DN_E_NONE)
        return DN_EXIT_CONF; /* dn_options_site () has said why */
    if (given.json)
        print_json (given.paths.conf, site);
    else if (check)
        printf ("%s: ok\n", check);
    else
        return print_text (given.paths.conf, site);
    return DN_EXIT_DONE;
}

const struct dn_command dn_cmd_config = {
    .name = "config",
    .summary = "Show the rules in force, or check a dnnest.conf",
    .arguments = "",
    .options = options,
    .run = run,
};
