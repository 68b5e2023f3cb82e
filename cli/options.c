/* options.c - one table of options per command, used for parsing and help
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/people.h"
#include "output/terminal.h"
#include "slurm_conf.h"
#include "slurm_version.h"

/* Values of getopt_long () for rows without a letter; larger than any character. */
#define FIRST_ROW_VALUE 1000

/* A line of names in the help has at most so many columns. */
#define HELP_COLUMNS 78

enum {
    COMMON_JSON,
    COMMON_CONF,
    COMMON_HARDWARE,
    COMMON_DATASETS,
    COMMON_ZOO,
    COMMON_MODEL,
    COMMON_COLOR,
    COMMON_HELP,
    COMMON_VERSION
};

const struct dn_option dn_options_common[] = {
    [COMMON_JSON] = DN_OPTION_ROW ("json", 0, NULL, "print JSON"),
    [COMMON_CONF] = DN_OPTION_ROW ("conf", 0, "FILE", "read this dnnest.conf"),
    [COMMON_HARDWARE] = DN_OPTION_ROW ("hardware",
                                       0,
                                       "DIR",
                                       "hardware catalogue, if dnnest.conf names none"),
    [COMMON_DATASETS] = DN_OPTION_ROW ("datasets",
                                       0,
                                       "FILE",
                                       "table of data sets, if dnnest.conf names none"),
    [COMMON_ZOO] = DN_OPTION_ROW ("zoo",
                                  0,
                                  "DIR",
                                  "networks that are files, if dnnest.conf names none"),
    [COMMON_MODEL] =
        DN_OPTION_ROW ("model",
                       0,
                       "BUNDLE",
                       "model bundle, or none, instead of that of dnnest.conf"),
    [COMMON_COLOR] = DN_OPTION_ROW ("color",
                                    0,
                                    "[=WHEN]",
                                    "colour: auto (on a terminal), always or never"),
    [COMMON_HELP] = DN_OPTION_ROW ("help", 'h', NULL, "print this help"),
    [COMMON_VERSION] = DN_OPTION_ROW ("version", 'V', NULL, "print the version"),
    DN_OPT_END,
};

bool dn_option_is_optional (const struct dn_option *option)
{
    return option->argument && strncmp (option->argument, "[=", 2) == 0;
}

static void add_row (struct dn_options *o, const struct dn_option *row)
{
    struct dn_buf shorts = dn_buf_on (o->shorts + strlen (o->shorts),
                                      sizeof (o->shorts) - strlen (o->shorts));
    int has_arg = no_argument;

    if (o->n_options == DN_OPTIONS_MAX) {
        o->too_many = true;
        return;
    }
    if (row->argument)
        has_arg = dn_option_is_optional (row) ? optional_argument : required_argument;
    o->rows[o->n_options] = row;
    o->longs[o->n_options] =
        (struct option){row->name,
                        has_arg,
                        NULL,
                        row->letter ? row->letter : FIRST_ROW_VALUE + o->n_options};
    o->longs[++o->n_options] = (struct option){NULL, 0, NULL, 0};
    if (row->letter)
        dn_buf_add (&shorts, "%c%.*s", row->letter, has_arg, "::");
}

static void add_rows (struct dn_options *o, const struct dn_option *rows)
{
    for (; rows && rows->name; rows++)
        add_row (o, rows);
}

static void begin (struct dn_options *o,
                   const struct dn_command *command,
                   bool common,
                   int argc,
                   char **argv)
{
    memset (o, 0, sizeof (*o));
    o->command = command;
    o->argc = argc;
    o->argv = argv;
    o->paths = dn_load_default_paths ();
    o->shorts[0] = command->guest_options ? '+' : ':';
    o->shorts[1] = command->guest_options ? ':' : '\0';
    add_rows (o, command->options);
    add_rows (o, command->guest_options);
    if (common) {
        int n_own = o->n_options;

        add_rows (o, dn_options_common);
        o->n_common = o->n_options - n_own;
    }
    optind = 0; /* glibc: reset, also after another argv */
    opterr = 0;
}

int dn_options_cut (int argc, char **argv, char *const **command)
{
    for (int i = 1; i < argc; i++)
        if (strcmp (argv[i], "--") == 0) {
            *command = argv + i + 1;
            return i;
        }
    return argc;
}

void dn_options_begin (struct dn_options *options,
                       const struct dn_command *command,
                       int argc,
                       char **argv)
{
    begin (options, command, true, argc, argv);
    /* An installation without dnnest.conf works with the defaults. */
    if (options->paths.conf && access (options->paths.conf, F_OK) < 0
        && errno == ENOENT)
        options->paths.conf = NULL;
}

void dn_options_begin_bare (struct dn_options *options,
                            const struct dn_command *command,
                            int argc,
                            char **argv)
{
    begin (options, command, false, argc, argv);
    options->tolerant = true;
}

static void print_rows (const struct dn_option *rows)
{
    for (const struct dn_option *row = rows; row && row->name; row++) {
        char text[80];
        struct dn_buf buf = dn_buf_on (text, sizeof (text));

        if (!row->help)
            continue;
        if (row->letter)
            dn_buf_add (&buf, "  -%c, --%s", row->letter, row->name);
        else
            dn_buf_add (&buf, "      --%s", row->name);
        if (dn_option_is_optional (row))
            dn_buf_add (&buf, "%s", row->argument);
        else if (row->argument)
            dn_buf_add (&buf, "=%s", row->argument);
        printf ("%-28s %s\n", text, row->help);
    }
}

/* The names alone, below 'title'. */
static void print_names (const char *title, const struct dn_option *rows)
{
    size_t column = HELP_COLUMNS;

    printf ("\n%s", title);
    for (const struct dn_option *row = rows; row->name; row++) {
        size_t len = strlen (row->name) + 3;

        if (!row->help)
            continue;
        if (column + len > HELP_COLUMNS) {
            printf ("\n ");
            column = 1;
        }
        printf (" --%s", row->name);
        column += len;
    }
    printf ("\n");
}

static void print_help (const struct dn_command *command)
{
    printf ("Usage: %s %s [OPTION]...%s%s\n%s.\n",
            dn_program,
            command->name,
            command->arguments[0] ? " " : "",
            command->arguments,
            command->summary);
    if (command->options)
        printf ("\nOptions:\n");
    print_rows (command->options);
    if (command->guest_options)
        print_names ("Options of sbatch(1) that count; all others are ignored:",
                     command->guest_options);
    print_names ("Options of all commands, see dnnest(1):", dn_options_common);
    printf ("\nManual: %s(1)\n", dn_program);
}

bool dn_options_user (const char *name, int64_t *user)
{
    const struct dn_people *system = &dn_people_of_system;
    struct dn_err err = {0};

    if (dn_int_read (dn_span_of (name), "user", 0, UINT32_MAX, user, NULL) == 0
        || system->find_user (system->self, name, user, &err) == 0)
        return true;
    dn_complain ("--user: %s", err.text);
    return false;
}

void dn_print_version (void)
{
    printf ("%s %s\n", dn_program, PACKAGE_VERSION);
}

int dn_options_misuse (const struct dn_command *command, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start (args, format);
    vsnprintf (text, sizeof (text), format, args);
    va_end (args);
    dn_complain ("%s (try '%s %s --help')", text, dn_program, command->name);
    return DN_EXIT_USAGE;
}

static int leave (struct dn_options *o, int exit_code)
{
    o->exit_code = exit_code;
    return DN_OPTION_LEAVE;
}

const char *dn_options_absolute (char text[PATH_MAX], const char *path)
{
    struct dn_buf buf;

    if (path[0] == '/' || !getcwd (text, PATH_MAX))
        return path;
    buf = dn_buf_on (text + strlen (text), PATH_MAX - strlen (text));
    dn_buf_add (&buf, "/%s", path);
    return buf.cut ? path : text;
}

void dn_options_conf (struct dn_options *o, const char *file)
{
    o->paths.conf = dn_options_absolute (o->path_text[0], file);
}

void dn_options_model (struct dn_options *o, const char *dir)
{
    o->paths.model = strcmp (dir, DN_SITE_NONE) == 0
                         ? dir
                         : dn_options_absolute (o->path_text[3], dir);
}

/* --color without a word is --color=always, as in other programs. */
static int take_color (struct dn_options *o)
{
    const char *when = o->argument ? o->argument : "always";

    if (dn_terminal_color (when))
        return 0;
    dn_options_misuse (o->command,
                       "--color: '%s', expected auto, always or never",
                       dn_quote (when, strlen (when)).text);
    return leave (o, DN_EXIT_USAGE);
}

/* Act on a row of the common table. Return DN_OPTION_LEAVE, or 0 to go on. */
static int take_common (struct dn_options *o, int row)
{
    switch (row) {
    case COMMON_JSON:
        o->json = true;
        return 0;
    case COMMON_CONF:
        dn_options_conf (o, o->argument);
        return 0;
    case COMMON_HARDWARE:
        o->paths.hardware = dn_options_absolute (o->path_text[1], o->argument);
        return 0;
    case COMMON_DATASETS:
        o->paths.datasets = dn_options_absolute (o->path_text[2], o->argument);
        return 0;
    case COMMON_ZOO:
        o->paths.zoo = dn_options_absolute (o->path_text[4], o->argument);
        return 0;
    case COMMON_MODEL:
        dn_options_model (o, o->argument);
        return 0;
    case COMMON_COLOR:
        return take_color (o);
    case COMMON_HELP:
        print_help (o->command);
        return leave (o, DN_EXIT_DONE);
    default:
        dn_print_version ();
        return leave (o, DN_EXIT_DONE);
    }
}

static int find_row (const struct dn_options *o, int value)
{
    for (int i = 0; i < o->n_options; i++)
        if (o->longs[i].val == value)
            return i;
    return -1;
}

static const char *option_at (const void *options, int i)
{
    const struct dn_options *o = options;

    return i < o->n_options ? o->longs[i].name : NULL;
}

/* The name of "--name" or "--name=value"; empty for other options. */
static struct dn_span name_of (const char *argument)
{
    struct dn_span rest = dn_span_of (argument);

    if (strncmp (argument, "--", 2) != 0)
        return (struct dn_span){argument, 0};
    rest.text += 2;
    rest.len -= 2;
    return dn_span_cut (&rest, "=");
}

static void misuse_unknown (struct dn_options *o)
{
    const char *nearest = dn_word_nearest (name_of (o->argument), option_at, o);

    o->exit_code = dn_options_misuse (o->command,
                                      "unknown option '%s'%s%s%s",
                                      dn_quote (o->argument, strlen (o->argument)).text,
                                      nearest ? ", did you mean --" : "",
                                      nearest ? nearest : "",
                                      nearest ? "?" : "");
}

/* getopt_long () found an unknown option, a missing argument, or an argument that the
 * option does not take. optopt is the option's value; 0 for an unknown long option.
 */
static int take_error (struct dn_options *o, int found)
{
    int row = optopt ? find_row (o, optopt) : -1;

    if (row >= 0) {
        dn_options_misuse (o->command,
                           "option --%s %s",
                           o->longs[row].name,
                           found == ':' ? "needs an argument" : "takes no argument");
        return leave (o, DN_EXIT_USAGE);
    }
    o->letter[0] = '-';
    o->letter[1] = (char) optopt;
    o->argument = optopt ? o->letter : o->argv[optind - 1];
    if (o->tolerant)
        return DN_OPTION_UNKNOWN;
    misuse_unknown (o);
    return leave (o, DN_EXIT_USAGE);
}

int dn_options_next (struct dn_options *o)
{
    int n_own = o->n_options - o->n_common;

    if (o->too_many) {
        dn_complain ("%s: more than %d options", o->command->name, DN_OPTIONS_MAX);
        return leave (o, DN_EXIT_BUG);
    }
    for (;;) {
        int found = getopt_long (o->argc, o->argv, o->shorts, o->longs, NULL);
        int row;

        if (found == -1) {
            o->args = o->argv + optind;
            o->n_args = o->argc - optind;
            return DN_OPTION_END;
        }
        if (found == '?' || found == ':')
            return take_error (o, found);
        row = find_row (o, found);
        o->argument = optarg;
        o->row = o->rows[row];
        if (row < n_own)
            return row;
        if (take_common (o, row - n_own) == DN_OPTION_LEAVE)
            return DN_OPTION_LEAVE;
    }
}

bool dn_options_count (struct dn_options *o, int min, int max)
{
    if (o->n_args >= min && (max < 0 || o->n_args <= max))
        return true;
    o->exit_code =
        o->n_args < min
            ? dn_options_misuse (o->command, "%s is missing", o->command->arguments)
            : dn_options_misuse (o->command,
                                 "unexpected argument '%s'",
                                 dn_quote (o->args[max], strlen (o->args[max])).text);
    return false;
}

/* Do what a row says. Return an enum dn_exit. */
static int use (struct dn_options *o, const struct dn_option *row, void *call)
{
    void *member = (char *) call + row->at;
    struct dn_err err = {0};

    switch (row->use) {
    case DN_OPTION_FLAG:
        *(bool *) member = true;
        return DN_EXIT_DONE;
    case DN_OPTION_TEXT:
        *(const char **) member = o->argument;
        return DN_EXIT_DONE;
    case DN_OPTION_INT:
        return dn_int_read (dn_span_of (o->argument),
                            row->name,
                            row->min,
                            row->max,
                            member,
                            &err)
                       == 0
                   ? DN_EXIT_DONE
                   : dn_options_misuse (o->command, "--%s", err.text);
    case DN_OPTION_OLD:
        dn_complain ("--%s is ignored, and will be an error: %s", row->name, row->old);
        return DN_EXIT_DONE;
    case DN_OPTION_USER:
        return dn_options_user (o->argument, member) ? DN_EXIT_DONE : DN_EXIT_USAGE;
    case DN_OPTION_RULE:
        return dn_settings_add (member, o->command, o->argument) ? DN_EXIT_DONE
                                                                 : DN_EXIT_USAGE;
    default:
        return row->take (o, call);
    }
}

int dn_options_take (struct dn_options *o, void *call)
{
    int row;

    while ((row = dn_options_next (o)) >= 0 && o->row->use != DN_OPTION_OTHER) {
        int exit_code = use (o, o->row, call);

        if (exit_code != DN_EXIT_DONE)
            return leave (o, exit_code);
    }
    return row;
}

bool dn_options_all (struct dn_options *o, void *call, int min, int max)
{
    return dn_options_take (o, call) == DN_OPTION_END && dn_options_count (o, min, max);
}

static int slurm_version (const struct dn_options *o)
{
    int version = o->slurm_version;

    if (version == 0)
        dn_slurm_version_read (dn_slurm_version_default, &version, NULL);
    return version;
}

struct dn_site *dn_options_site (struct dn_options *o, const char *settings)
{
    return dn_options_site_with (o, settings, NULL);
}

struct dn_site *dn_options_site_with (struct dn_options *o,
                                      const char *settings,
                                      struct dn_problems *problems)
{
    struct dn_slurm_conf slurm;
    struct dn_err err = {0};
    struct dn_load_context context = {.slurm_version = slurm_version (o),
                                      .settings =
                                          settings && settings[0] ? settings : NULL,
                                      .problems = problems};
    struct dn_site *site;

    if (dn_slurm_conf_read (o->paths.conf, &slurm, &err) < 0)
        dn_complain ("%s; going on without slurm.conf", err.text);
    context.slurmctld_parameters = slurm.slurmctld_parameters;
    context.scheduler_parameters = slurm.scheduler_parameters;
    context.cluster = slurm.cluster;
    site = dn_load_site (&o->paths, &context, &err);
    if (!site) {
        o->exit_code = dn_fail (DN_EXIT_CONF, &err);
        return NULL;
    }
    if (site->n_networks_err > 0)
        dn_complain ("%s; going on without this network", site->networks_err.text);
    if (site->bundle_err.code == DN_E_NONE)
        return site;
    /* The plugin runs without its bundle: warn and continue. A bundle that was named by
     * --model is required. */
    if (!o->paths.model) {
        dn_complain ("%s; going on without a model bundle", site->bundle_err.text);
        return site;
    }
    o->exit_code = dn_fail (DN_EXIT_DATA, &site->bundle_err);
    dn_load_free (site);
    return NULL;
}

void dn_site_cleanup (struct dn_site **site)
{
    dn_load_free (*site);
}

bool dn_settings_add (struct dn_settings *settings,
                      const struct dn_command *command,
                      const char *argument)
{
    struct dn_buf buf = dn_buf_on (settings->text + settings->len,
                                   sizeof (settings->text) - settings->len);

    if (!strchr (argument, '=') || strchr (argument, ',')) {
        dn_options_misuse (command,
                           "--set: '%s', expected KEY=VALUE without a comma",
                           dn_quote (argument, strlen (argument)).text);
        return false;
    }
    dn_buf_add (&buf, "%s%s", settings->len > 0 ? "," : "", argument);
    settings->len += buf.len;
    if (buf.cut)
        dn_options_misuse (
            command, "--set: more than %zu characters", sizeof (settings->text));
    return !buf.cut;
}
