/* cmd_completion.c - the scripts that complete command lines, and names for them
 *
 * A script has a table of all words that do not depend on the site, made from the
 * tables of commands, options, keys and rules. A row is "GROUP WORD KINDS HELP". The
 * group is "dnnest", a command, "spec" (metadata) or "rule". The word is a command, an
 * option, a key, or "-" for the arguments. The kinds say what follows the word, with
 * commas: words of their own, "@files" and the like, or "-" for nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "graph/tune.h"
#include "graph/zoo/names.h"
#include "jobs/worth/sums.h"
#include "process/sbatch.h"

/* The scripts for the shells: bash_script, zsh_script, fish_script. */
#include "generated/completion_scripts.inc"

/* A person waits for the names. */
#define NAMES_SECONDS 2

static const struct dn_command *const commands[] = {DN_COMMAND_ROWS};

/* --- the table ------------------------------------------------------------------- */

/* In the scripts the table is between apostrophes (of ASCII). */
static void print_row (const char *group,
                       const char *before,
                       const char *word,
                       const char *after,
                       const char *kinds,
                       const char *help)
{
    printf ("%s %s%s%s %s ", group, before, word, after, kinds[0] ? kinds : "-");
    for (; *help; help++)
        if (*help == '\'')
            fputs ("\xe2\x80\x99", stdout);
        else
            putchar (*help);
    putchar ('\n');
}

static void add_kind (struct dn_buf *kinds, struct dn_span kind)
{
    dn_buf_add (kinds, "%s%.*s", kinds->len > 0 ? "," : "", (int) kind.len, kind.text);
}

/* All names of a table but the first, which is none. */
static void add_names (struct dn_buf *kinds, const struct dn_names *names)
{
    for (int i = 1; i < names->n_names; i++)
        add_kind (kinds, dn_span_of (names->names[i]));
}

static void add_words (struct dn_buf *kinds, const struct dn_tune_words *words)
{
    for (int i = 0; i < words->n; i++) {
        struct dn_span same = dn_span_of (words->list[i].words);

        for (struct dn_span word; (word = dn_span_cut (&same, " ")).text;)
            add_kind (kinds, word);
    }
}

/* Is the part of a usage line a word, and not the name of something? */
static bool is_word (struct dn_span part)
{
    for (size_t i = 0; i < part.len; i++)
        if (part.text[i] < 'a' || part.text[i] > 'z')
            return false;
    return part.len > 1;
}

/* Add the kinds of what a usage line calls its arguments: "yes|no", "SPEC|FILE.json".
 */
static void add_arguments (struct dn_buf *kinds, const char *usage)
{
    static const struct {
        const char *name;
        const char *kinds;
    } named[] = {
        {"SPEC", "@name,@spec"},
        {"FILE", "@files"},
        {"PATH", "@files"},
        {"SCRIPT", "@files"},
        {"DIR", "@directories"},
        {"BUNDLE", "@directories"},
        {"PATTERN", "@networks"},
        {"KEY=VALUE", "@rule"},
        {"[TYPE:]N", "@types"},
        {"WHEN", "auto,always,never"},
    };
    struct dn_span rest = dn_span_of (usage);

    for (size_t i = 0; i < DN_N_ELEMENTS (named); i++)
        if (strcmp (named[i].name, usage) == 0) {
            add_kind (kinds, dn_span_of (named[i].kinds));
            return;
        }
    while (rest.text) {
        struct dn_span part = dn_span_cut (&rest, " |[]=");

        if (dn_span_is (part, "--")) { /* a command, which the scripts know */
            add_kind (kinds, dn_span_of ("@after"));
            return;
        }
        if (is_word (part))
            add_kind (kinds, part);
        for (size_t i = 0; i < DN_N_ELEMENTS (named); i++)
            if (dn_span_is (part, named[i].name))
                add_kind (kinds, dn_span_of (named[i].kinds));
        if (part.len > 5 && memcmp (part.text + part.len - 5, ".json", 5) == 0)
            add_kind (kinds, dn_span_of ("@files"));
    }
}

static void add_option (struct dn_buf *kinds, const struct dn_option *option)
{
    if (strcmp (option->name, "gpu") == 0)
        add_kind (kinds, dn_span_of ("@gpus"));
    else if (strcmp (option->name, "user") == 0)
        add_kind (kinds, dn_span_of ("@users"));
    else if (strcmp (option->name, "by") == 0)
        add_names (kinds, &dn_by_names);
    else if (option == &dn_sbatch_options[DN_SBATCH_DNNEST])
        add_kind (kinds, dn_span_of ("@spec,@files,off,help"));
    else if (option == &dn_sbatch_options[DN_SBATCH_COMMENT])
        add_kind (kinds, dn_span_of ("@comment"));
    else
        add_arguments (kinds, option->argument);
}

static void print_options (const char *group, const struct dn_option *rows)
{
    for (; rows && rows->name; rows++) {
        char text[DN_METADATA_MAX];
        struct dn_buf kinds = dn_buf_on (text, sizeof (text));

        if (!rows->help)
            continue;
        if (!rows->argument || dn_option_is_optional (rows))
            print_row (group, "--", rows->name, "", "-", rows->help);
        if (!rows->argument)
            continue;
        add_option (&kinds, rows);
        print_row (group, "--", rows->name, "=", text, rows->help);
    }
}

static void print_command (const struct dn_command *command)
{
    char text[DN_METADATA_MAX];
    struct dn_buf kinds = dn_buf_on (text, sizeof (text));

    print_row ("dnnest", "", command->name, "", "-", command->summary);
    add_arguments (&kinds, command->arguments);
    print_row (command->name, "", "-", "", text, "");
    print_options (command->name, command->options);
    print_options (command->name, command->guest_options);
    print_options (command->name, dn_options_common);
}

static void print_key (const struct dn_key *key)
{
    char text[DN_METADATA_MAX];
    struct dn_buf kinds = dn_buf_on (text, sizeof (text));

    if (key->type == DN_KEY_ENUM)
        add_names (&kinds, &key->names);
    else if (key->type == DN_KEY_INT && key->min >= 0 && key->max == 1)
        add_kind (&kinds, dn_span_of ("0,1"));
    else if (key->offset == offsetof (struct dn_spec, model))
        add_kind (&kinds, dn_span_of ("@networks"));
    else if (key->offset == offsetof (struct dn_spec, dataset))
        add_kind (&kinds, dn_span_of ("@datasets"));
    else if (key->offset == offsetof (struct dn_spec, lora_targets))
        add_words (&kinds, &dn_adapter_words);
    else if (key->offset == offsetof (struct dn_spec, frozen)
             || dn_key_takes_words (key))
        add_words (&kinds, &dn_part_words);
    print_row ("spec", "", key->name, "=", text, key->help);
}

static void print_rules (void)
{
    int n;
    const struct dn_rule_key *rules = dn_rule_keys (&n);
    const struct dn_site_key *numbers;

    for (int i = 0; i < n; i++) {
        char text[DN_METADATA_MAX];
        struct dn_buf kinds = dn_buf_on (text, sizeof (text));

        if (rules[i].type == DN_RULE_ENUM)
            add_names (&kinds, &rules[i].names);
        print_row ("rule", "", rules[i].name, "=", text, rules[i].help);
    }
    numbers = dn_site_keys (&n);
    for (int i = 0; i < n; i++)
        if (numbers[i].type == DN_SITE_REAL)
            print_row ("rule", "", numbers[i].name, "=", "-", numbers[i].help);
}

/* The line @TABLE@ of a script is replaced. */
static int print_script (const char *script)
{
    static const char mark[] = "@TABLE@\n";
    const char *at = strstr (script, mark);
    int n;
    const struct dn_key *keys = dn_spec_keys (&n);

    printf ("%.*s", (int) (at - script), script);
    for (int i = 0; commands[i]; i++)
        print_command (commands[i]);
    print_row ("dnnest", "", "help", "", "-", "print the help of a command");
    print_row ("dnnest", "", "--help", "", "-", "print the help");
    print_row ("dnnest", "", "--version", "", "-", "print the version");
    for (int i = 0; i < n; i++)
        print_key (&keys[i]);
    print_rules ();
    fputs (at + strlen (mark), stdout);
    return DN_EXIT_DONE;
}

/* --- the names of a site --------------------------------------------------------- */

/* A shell would interpret other characters. */
static void print_name (const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789-_.+:,/@";

    if (name[strspn (name, plain)] == '\0')
        printf ("%s\n", name);
}

/* The name of a hub: a pattern with what its '*' stands for in the name of a network.
 */
static void print_hub_name (const struct dn_networks *networks,
                            const struct dn_pattern *row,
                            const char *network)
{
    const char *star = strchr (row->name, '*');
    const char *at = strchr (row->text, '*');
    size_t before = star ? (size_t) (star - row->name) : 0;
    size_t after = star ? strlen (star + 1) : 0;
    size_t len = strlen (network);
    struct dn_model model;
    char name[DN_NAME_MAX];

    if (!star || !at || len <= before + after
        || strncmp (row->name, network, before) != 0
        || strcmp (network + len - after, star + 1) != 0)
        return;
    snprintf (name,
              sizeof (name),
              "%.*s%.*s%s",
              (int) (at - row->text),
              row->text,
              (int) (len - before - after),
              network + before,
              at + 1);
    if (dn_model_find (networks, name, &model)
        && strcmp (model.entry.name, network) == 0)
        print_name (name);
}

/* The size of images in the name of a hub is not completed. 'who' is the publisher of
 * the name, with a '/', or empty.
 */
static void print_networks (const struct dn_site *site, const char *who)
{
    const struct dn_networks *networks = &site->networks;
    const char *network;
    const char *name;

    for (int i = 0; (name = dn_model_at (networks, i)); i++)
        if (dn_publishes (who, name))
            print_name (name);
    for (const struct dn_pattern *row = dn_patterns; row->text; row++) {
        struct dn_model model;

        if (strchr (row->text, '%'))
            continue;
        if (!strchr (row->text, '*') && dn_model_find (networks, row->text, &model)
            && dn_publishes (who, model.entry.name))
            print_name (row->text);
        for (int i = 0; (network = dn_zoo_at (networks, i).name); i++)
            if (dn_publishes (who, network))
                print_hub_name (networks, row, network);
    }
}

static void print_datasets (const struct dn_site *site, const char *who)
{
    (void) who;
    for (int i = 0; i < site->datasets.n_rows; i++)
        print_name (site->datasets.rows[i].name);
}

/* The types of Gpu lines and their devices; without such lines the catalogue. */
static void print_gpus (const struct dn_site *site, const char *who)
{
    const struct dn_gpu_types *types = &site->gpu_types;

    (void) who;
    for (int i = 0; i < types->n_types; i++) {
        print_name (types->types[i].type);
        print_name (types->types[i].device->name);
    }
    for (int i = 0; types->n_types == 0 && i < site->catalogue.n_devices; i++)
        if (!site->catalogue.devices[i].slice)
            print_name (site->catalogue.devices[i].name);
}

/* The problems of a configuration are those of 'dnnest config --check'. */
static void ignore (void *to, const struct dn_err *err)
{
    (void) to;
    (void) err;
}

/* Print the names of a site, without its bundle and with all of dnnest.conf that can be
 * read; without a site none.
 */
static int print_names (struct dn_options *given,
                        void (*print) (const struct dn_site *site, const char *who))
{
    const char *slash = strchr (given->args[0], '/');
    struct dn_problems problems = {.report = ignore};
    struct dn_load_context context = {.problems = &problems};
    struct dn_err err = {0};

    alarm (NAMES_SECONDS);
    given->paths.model = DN_SITE_NONE;
    given->site = dn_load_site (&given->paths, &context, &err);
    if (!given->site) {
        given->paths.conf = NULL;
        given->site = dn_load_site (&given->paths, &context, &err);
    }
    if (given->site)
        print (given->site, slash ? slash + 1 : "");
    return DN_EXIT_DONE;
}

static int run (struct dn_options *given)
{
    static const struct {
        const char *name;
        const char *script;
        void (*print) (const struct dn_site *site, const char *who);
    } kinds[] = {
        {"bash", bash_script, NULL},
        {"zsh", zsh_script, NULL},
        {"fish", fish_script, NULL},
        {"networks", NULL, print_networks},
        {"datasets", NULL, print_datasets},
        {"gpus", NULL, print_gpus},
    };

    if (!dn_options_all (given, NULL, 1, 1))
        return given->exit_code;
    for (size_t i = 0; i < DN_N_ELEMENTS (kinds); i++)
        /* The scripts ask for "networks/PUBLISHER/". */
        if (strcmp (kinds[i].name, given->args[0]) == 0
            || (kinds[i].print == print_networks
                && strncmp (given->args[0], "networks/", 9) == 0))
            return kinds[i].script ? print_script (kinds[i].script)
                                   : print_names (given, kinds[i].print);
    return dn_options_misuse (given,
                              "'%s' is unknown, expected bash, zsh, fish, networks, "
                              "datasets or gpus",
                              dn_quote (given->args[0], strlen (given->args[0])).text);
}

const struct dn_command dn_cmd_completion = {
    .name = "completion",
    .summary = "Print what completes command lines in a shell",
    .arguments = "bash|zsh|fish|networks|datasets|gpus",
    .run = run,
};
