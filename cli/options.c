/* options.c - one table of options per command, used for parsing and help
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/people.h"
#include "output/terminal.h"
#include "report/when.h"
#include "slurm_conf.h"

/* Values of getopt_long () for rows without a letter; larger than any character. */
#define FIRST_ROW_VALUE 1000

/* Without Slurm's headers: the oldest version that is supported. */
#ifndef DN_SLURM_VERSION
#define DN_SLURM_VERSION "22.05"
#endif

#define YEAR_OLDEST 20

/* A line of names in the help has at most so many columns. */
#define HELP_COLUMNS 78

#define COMMON(member)         .at = offsetof (struct dn_options, member)
#define COMMON_PATH(i, member) COMMON (member), .min = (i)

static int take_model (struct dn_options *o, void *to);
static int take_color (struct dn_options *o, void *to);
static int take_help (struct dn_options *o, void *to);
static int take_version (struct dn_options *o, void *to);

const struct dn_option dn_options_common[] = {
    DN_OPT ("json", NULL, "print JSON", FLAG, COMMON (json)),
    DN_OPT ("conf", "FILE", "read this dnnest.conf", PATH, COMMON_PATH (0, paths.conf)),
    DN_OPT ("hardware",
            "DIR",
            "hardware catalogue, if dnnest.conf names none",
            PATH,
            COMMON_PATH (1, paths.hardware)),
    DN_OPT ("datasets",
            "FILE",
            "table of data sets, if dnnest.conf names none",
            PATH,
            COMMON_PATH (2, paths.datasets)),
    DN_OPT ("zoo",
            "DIR",
            "networks that are files, if dnnest.conf names none",
            PATH,
            COMMON_PATH (4, paths.zoo)),
    DN_OPT_TAKE ("model",
                 "BUNDLE",
                 "model bundle, or none, instead of that of dnnest.conf",
                 take_model),
    DN_OPT_TAKE ("color",
                 "[=WHEN]",
                 "colour: auto (on a terminal), always or never",
                 take_color),
    DN_OPT_TAKE ("help", NULL, "print this help", take_help, .letter = 'h'),
    DN_OPT_TAKE ("version", NULL, "print the version", take_version, .letter = 'V'),
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

/* "22.05" or "22.05.8" as 2205. -1: it is no version. */
static int read_version (const char *text, int *version)
{
    struct dn_span rest = dn_span_of (text);
    struct dn_span year = dn_span_cut (&rest, ".");
    struct dn_span month = dn_span_cut (&rest, ".");
    int64_t number[2];

    if (dn_int_read (year, "year", YEAR_OLDEST, 99, &number[0], NULL) < 0 || !month.text
        || month.len != 2 || dn_int_read (month, "month", 1, 12, &number[1], NULL) < 0)
        return -1;
    *version = (int) (number[0] * 100 + number[1]);
    return 0;
}

int dn_options_slurm (struct dn_options *given, void *to)
{
    (void) to;
    if (read_version (given->argument, &given->slurm_version) == 0)
        return DN_EXIT_DONE;
    dn_complain (
        "--slurm: '%s' is not a version, expected 20.02 or later, such as 22.05 "
        "or 24.11.5",
        dn_quote (given->argument, strlen (given->argument)).text);
    return DN_EXIT_USAGE;
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
    read_version (DN_SLURM_VERSION, &o->slurm_version);
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

int dn_options_user (const char *name, int64_t *user)
{
    const struct dn_people *system = &dn_people_of_system;
    struct dn_err err = {0};

    if (dn_int_read (dn_span_of (name), "user", 0, UINT32_MAX, user, NULL) == 0
        || system->find_user (system->self, name, user, &err) == 0)
        return DN_EXIT_DONE;
    dn_complain ("--user: %s", err.text);
    return DN_EXIT_USAGE;
}

void dn_print_version (void)
{
    printf ("%s %s\n", dn_program, PACKAGE_VERSION);
}

int dn_options_misuse (struct dn_options *given, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start (args, format);
    vsnprintf (text, sizeof (text), format, args);
    va_end (args);
    dn_complain ("%s (try '%s %s --help')", text, dn_program, given->command->name);
    return given->exit_code = DN_EXIT_USAGE;
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

static int take_model (struct dn_options *o, void *to)
{
    (void) to;
    dn_options_model (o, o->argument);
    return DN_EXIT_DONE;
}

/* --color without a word is --color=always, as in other programs. */
static int take_color (struct dn_options *o, void *to)
{
    const char *when = o->argument ? o->argument : "always";

    (void) to;
    return dn_terminal_color (when)
               ? DN_EXIT_DONE
               : dn_options_misuse (o,
                                    "--color: '%s', expected auto, always or never",
                                    dn_quote (when, strlen (when)).text);
}

static int take_help (struct dn_options *o, void *to)
{
    (void) to;
    print_help (o->command);
    return leave (o, DN_EXIT_DONE);
}

static int take_version (struct dn_options *o, void *to)
{
    (void) to;
    dn_print_version ();
    return leave (o, DN_EXIT_DONE);
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

static int misuse_unknown (struct dn_options *o)
{
    const char *nearest = dn_word_nearest (name_of (o->argument), option_at, o);

    return dn_options_misuse (o,
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

    o->letter[0] = '-';
    o->letter[1] = (char) optopt;
    o->argument = optopt ? o->letter : o->argv[optind - 1];
    if (row < 0 && o->tolerant)
        return DN_OPTION_UNKNOWN;
    if (row < 0)
        misuse_unknown (o);
    else
        dn_options_misuse (o,
                           "option --%s %s",
                           o->longs[row].name,
                           found == ':' ? "needs an argument" : "takes no argument");
    return DN_OPTION_LEAVE;
}

/* Do what a row says. Return an enum dn_exit, or DN_OPTION_LEAVE. */
static int use (struct dn_options *o, const struct dn_option *row, void *call)
{
    void *member = (char *) call + row->at;
    const char *text = o->argument ? o->argument : row->usual;
    struct dn_span span = dn_span_of (text);
    int64_t min = (int64_t) row->min;
    struct dn_err err = {0};
    int rc = 0;

    switch (row->use) {
    case DN_OPTION_FLAG:
        *(bool *) member = true;
        break;
    case DN_OPTION_TEXT:
        *(const char **) member = text;
        break;
    case DN_OPTION_PATH:
        *(const char **) member = dn_options_absolute (o->path_text[min], text);
        break;
    case DN_OPTION_INT:
        rc = dn_int_read (span, row->name, min, (int64_t) row->max, member, &err);
        break;
    case DN_OPTION_REAL:
        rc = dn_real_read (span, row->name, row->min, row->max, member, &err);
        break;
    case DN_OPTION_TIME:
        rc = dn_time_read (span, row->name, member, &err);
        break;
    case DN_OPTION_ENUM:
        rc = dn_enum_read (span, row->name, row->names, member, &err);
        break;
    case DN_OPTION_WHEN:
        rc = dn_when_read (text, row->name, (int64_t) time (NULL), member, &err);
        break;
    case DN_OPTION_OLD:
        dn_complain (
            "--%s is ignored, and will be an error: %s", row->name, row->usual);
        break;
    case DN_OPTION_USER:
        return dn_options_user (text, member);
    case DN_OPTION_RULE:
        return dn_settings_add (member, o, text);
    default:
        return row->take (o, member);
    }
    return rc < 0 ? dn_options_misuse (o, "--%s", err.text) : DN_EXIT_DONE;
}

int dn_options_next (struct dn_options *o)
{
    int rc = DN_EXIT_DONE;

    if (o->too_many) {
        dn_complain ("%s: more than %d options", o->command->name, DN_OPTIONS_MAX);
        return leave (o, DN_EXIT_BUG);
    }
    while (rc == DN_EXIT_DONE) {
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
        o->has[row] = true;
        if (row < o->n_options - o->n_common)
            return row;
        rc = use (o, o->row, o);
    }
    return DN_OPTION_LEAVE;
}

bool dn_options_has (const struct dn_options *o, const char *name)
{
    for (int i = 0; i < o->n_options; i++)
        if (strcmp (o->rows[i]->name, name) == 0)
            return o->has[i];
    return false;
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

bool dn_options_count (struct dn_options *o, int min, int max)
{
    if (o->n_args < min)
        dn_options_misuse (o, "%s is missing", o->command->arguments);
    else if (max >= 0 && o->n_args > max)
        dn_options_misuse (o,
                           "unexpected argument '%s'",
                           dn_quote (o->args[max], strlen (o->args[max])).text);
    else
        return true;
    return false;
}

bool dn_options_all (struct dn_options *o, void *call, int min, int max)
{
    return dn_options_take (o, call) == DN_OPTION_END && dn_options_count (o, min, max);
}

bool dn_options_site (struct dn_options *o, const char *settings)
{
    return dn_options_site_with (o, settings, NULL);
}

bool dn_options_site_with (struct dn_options *o,
                           const char *settings,
                           struct dn_problems *problems)
{
    struct dn_slurm_conf slurm;
    struct dn_err err = {0};
    struct dn_load_context context = {.slurm_version = o->slurm_version,
                                      .settings =
                                          settings && settings[0] ? settings : NULL,
                                      .problems = problems};
    const struct dn_site *site;

    if (dn_slurm_conf_read (o->paths.conf, &slurm, &err) < 0)
        dn_complain ("%s; going on without slurm.conf", err.text);
    context.slurmctld_parameters = slurm.slurmctld_parameters;
    context.scheduler_parameters = slurm.scheduler_parameters;
    context.cluster = slurm.cluster;
    site = o->site = dn_load_site (&o->paths, &context, &err);
    if (!site) {
        o->exit_code = dn_fail (DN_EXIT_CONF, &err);
        return false;
    }
    if (site->n_networks_err > 0)
        dn_complain ("%s; going on without this network", site->networks_err.text);
    if (site->bundle_err.code == DN_E_NONE)
        return true;
    /* The plugin runs without its bundle: warn and continue. A bundle that was named by
     * --model is required. */
    if (!o->paths.model) {
        dn_complain ("%s; going on without a model bundle", site->bundle_err.text);
        return true;
    }
    o->exit_code = dn_fail (DN_EXIT_DATA, &site->bundle_err);
    return false;
}

int dn_settings_add (struct dn_settings *settings,
                     struct dn_options *given,
                     const char *argument)
{
    struct dn_buf buf = dn_buf_on (settings->text + settings->len,
                                   sizeof (settings->text) - settings->len);

    if (!strchr (argument, '=') || strchr (argument, ','))
        return dn_options_misuse (given,
                                  "--set: '%s', expected KEY=VALUE without a comma",
                                  dn_quote (argument, strlen (argument)).text);
    dn_buf_add (&buf, "%s%s", settings->len > 0 ? "," : "", argument);
    settings->len += buf.len;
    return buf.cut ? dn_options_misuse (
               given, "--set: more than %zu characters", sizeof (settings->text))
                   : DN_EXIT_DONE;
}
