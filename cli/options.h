/* options.h - one table of options per command, used for parsing and help
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_OPTIONS_H
#define DN_OPTIONS_H

#include <getopt.h>
#include <limits.h>

#include "common.h"
#include "host/load.h"

/* What an option does to the struct of a call. */
enum dn_option_use {
    DN_OPTION_OTHER, /* nothing: dn_options_take () returns its row */
    DN_OPTION_FLAG,  /* a bool becomes true */
    DN_OPTION_TEXT,  /* a const char * becomes its argument */
    DN_OPTION_PATH,  /* the same, as an absolute path, in 'path_text' of 'min' */
    DN_OPTION_INT,   /* an int64_t becomes that number, from 'min' to 'max' */
    DN_OPTION_REAL,  /* a double, likewise */
    DN_OPTION_TIME,  /* an int64_t becomes the seconds of "1-00:00:00" */
    DN_OPTION_ENUM,  /* an enum becomes the one of the 'names' */
    DN_OPTION_WHEN,  /* an int64_t becomes that time (report/when.h) */
    DN_OPTION_USER,  /* an int64_t becomes the number of a user of the system */
    DN_OPTION_OLD,   /* nothing, with a warning that ends with its 'usual' */
    DN_OPTION_RULE,  /* the "KEY=VALUE" is added to a struct dn_settings */
    DN_OPTION_CALL   /* 'take' is called with the member; it returns an enum dn_exit */
};

struct dn_options;
typedef int (*dn_option_f) (struct dn_options *options, void *member);

struct dn_option {
    const char *name;
    int letter;           /* 0 if it has none */
    const char *argument; /* NULL: takes none; "[=WORD]": may be left out */
    const char *help;     /* NULL: not shown */
    enum dn_option_use use;
    size_t at; /* the member */
    double min;
    double max;
    const struct dn_names *names;
    dn_option_f take;
    const char *usual; /* what stands for an argument that is left out */
};

/* Rows: of an option that does nothing by itself, of those that set a member of struct
 * call, and the end.
 */
#define DN_OPTION_ROW(name_, letter_, argument_, help_)                                \
    {                                                                                  \
        .name = (name_), .letter = (letter_), .argument = (argument_), .help = (help_) \
    }
#define DN_OPT(name_, argument_, help_, use_, ...)                                     \
    {                                                                                  \
        .name = (name_), .argument = (argument_), .help = (help_),                     \
        .use = DN_OPTION_##use_, __VA_ARGS__                                           \
    }
#define DN_OPT_AT(member, ...) .at = offsetof (struct call, member), ##__VA_ARGS__
#define DN_OPT_FLAG(name, help, ...)                                                   \
    DN_OPT (name, NULL, help, FLAG, DN_OPT_AT (__VA_ARGS__))
#define DN_OPT_TEXT(name, argument, help, ...)                                         \
    DN_OPT (name, argument, help, TEXT, DN_OPT_AT (__VA_ARGS__))
#define DN_OPT_USER(name, argument, help, member)                                      \
    DN_OPT (name, argument, help, USER, DN_OPT_AT (member))
#define DN_OPT_RULE(name, argument, help, member)                                      \
    DN_OPT (name, argument, help, RULE, DN_OPT_AT (member))
#define DN_OPT_WHEN(name, help, member)                                                \
    DN_OPT (name, "TIME", help, WHEN, DN_OPT_AT (member))
#define DN_OPT_TIME(name, argument, help, member)                                      \
    DN_OPT (name, argument, help, TIME, DN_OPT_AT (member))
#define DN_OPT_INT(name, argument, help, member, least, ...)                           \
    DN_OPT (name,                                                                      \
            argument,                                                                  \
            help,                                                                      \
            INT,                                                                       \
            DN_OPT_AT (member, .min = (least), .max = __VA_ARGS__))
#define DN_OPT_REAL(name, argument, help, member, least, most)                         \
    DN_OPT (                                                                           \
        name, argument, help, REAL, DN_OPT_AT (member, .min = (least), .max = (most)))
#define DN_OPT_ENUM(name, argument, help, member, of)                                  \
    DN_OPT (name, argument, help, ENUM, DN_OPT_AT (member, .names = &(of)))
#define DN_OPT_TAKE(name, argument, help, ...)                                         \
    DN_OPT (name, argument, help, CALL, .take = __VA_ARGS__)
#define DN_OPT_SLURM                                                                   \
    DN_OPT_TAKE (                                                                      \
        "slurm", "VERSION", "the version of Slurm to answer for", dn_options_slurm)
/* An option that was dropped is accepted with a warning for one version. */
#define DN_OPT_OLD(name, argument, instead)                                            \
    DN_OPT (name, argument, NULL, OLD, .usual = (instead))
#define DN_OPT_END                                                                     \
    {                                                                                  \
        .name = NULL                                                                   \
    }

struct dn_command {
    const char *name;
    const char *summary;   /* one sentence without its full stop */
    const char *arguments; /* after the options, for the usage line */
    /* Ends with a row without name; may be NULL. */
    const struct dn_option *options;
    /* A second table of options; its rows are numbered after those of the first. An
     * option in neither table is refused on the command line, and returned from a
     * script (dn_options_begin_bare ()). Options end at the first argument, as in
     * sbatch. */
    const struct dn_option *guest_options;
    /* Within a job the exit code is 0 in any case: a script with 'set -e' goes on. */
    bool never_fails_in_job;
    /* Return an enum dn_exit. */
    int (*run) (struct dn_options *given);
};

/* May the argument be left out? */
bool dn_option_is_optional (const struct dn_option *option);

/* The options that all commands have; ends with a row without name. */
extern const struct dn_option dn_options_common[];

/* Maximum number of options of a command, including the guest's and common ones.
 * "advise" has about 115, most of them those of sbatch. More are a bug, which any call
 * of the command reports.
 */
#define DN_OPTIONS_MAX 160

struct dn_options {
    /* what the options common to all commands have set */
    bool json;
    struct dn_load_paths paths;
    /* 2411 for 24.11: that of --slurm, else of the plugins */
    int slurm_version;
    /* the argument of the option just returned, NULL if it has none */
    const char *argument;
    /* that option, if it is one of the command */
    const struct dn_option *row;
    /* the arguments that are not options, after DN_OPTION_END */
    char **args;
    int n_args;
    /* the exit code, after DN_OPTION_LEAVE */
    int exit_code;
    /* that of dn_options_site (); freed by dn_dispatch () */
    struct dn_site *site;
    /* private */
    const struct dn_command *command;
    int argc;
    char **argv;
    int n_options;
    int n_common; /* the last of them */
    bool too_many;
    bool tolerant; /* unknown options are no errors */
    struct option longs[DN_OPTIONS_MAX + 1];
    const struct dn_option *rows[DN_OPTIONS_MAX];
    bool has[DN_OPTIONS_MAX]; /* which of them were given */
    char shorts[3 * DN_OPTIONS_MAX + 3];
    char letter[3];
    char path_text[5][PATH_MAX];
};

enum {
    DN_OPTION_END = -1,
    DN_OPTION_LEAVE = -2,  /* help was printed, or an error */
    DN_OPTION_UNKNOWN = -3 /* of a script: 'argument' is its text */
};

/* Begin to parse the arguments of a command; argv[0] is its name. */
void dn_options_begin (struct dn_options *options,
                       const struct dn_command *command,
                       int argc,
                       char **argv);

/* The same without the options common to all commands, for directives of a script. An
 * unknown one is DN_OPTION_UNKNOWN: it may be that of a SPANK plugin of the site.
 */
void dn_options_begin_bare (struct dn_options *options,
                            const struct dn_command *command,
                            int argc,
                            char **argv);

/* Return the row of the next option, or one of the constants above. */
int dn_options_next (struct dn_options *options);

/* The same, but do what the rows say to 'call': only the row of one that says nothing
 * is returned.
 */
int dn_options_take (struct dn_options *options, void *call);

/* Take all options, and check that there are at least 'min' and at most 'max' arguments
 * (-1: any). Return true to continue.
 */
bool dn_options_all (struct dn_options *options, void *call, int min, int max);
bool dn_options_count (struct dn_options *o, int min, int max);

/* Was the option of that name given? */
bool dn_options_has (const struct dn_options *o, const char *name);

/* Print a usage error with a hint to the command's help, and return DN_EXIT_USAGE,
 * which becomes the exit code of 'given'.
 */
int dn_options_misuse (struct dn_options *given, const char *format, ...)
    DN_PRINTF (2, 3);

/* Trusted files are opened by absolute paths, but users may give relative ones. Return
 * 'path' or its absolute form in 'text'. */
const char *dn_options_absolute (char text[PATH_MAX], const char *path);

/* Use the configuration 'file', as --conf does. */
void dn_options_conf (struct dn_options *options, const char *file);

/* Use the bundle in 'dir', or "none", as --model does. */
void dn_options_model (struct dn_options *options, const char *dir);

/* Load the site that the options name, as the plugin does: with the parameters of
 * slurm.conf in the directory of dnnest.conf, overridden by 'settings'
 * ("key=value,...", may be NULL). On failure print a message and return false.
 */
bool dn_options_site (struct dn_options *options, const char *settings);

/* The same; 'problems' gets every error. If it is NULL, the first one is printed. */
bool dn_options_site_with (struct dn_options *options,
                           const char *settings,
                           struct dn_problems *problems);

/* Rules set on the command line: "key=value,...". */
struct dn_settings {
    char text[2048];
    size_t len;
};

/* Add "KEY=VALUE" of --set. Return an enum dn_exit: USAGE, and a message, if it is
 * malformed.
 */
int dn_settings_add (struct dn_settings *settings,
                     struct dn_options *given,
                     const char *argument);

/* Look up a user of this system, by name or number, for --user. Return an enum dn_exit:
 * USAGE, and a message, if there is none.
 */
int dn_options_user (const char *name, int64_t *user);

/* Take the argument of --slurm: "22.05" or "22.05.8" is 2205. */
int dn_options_slurm (struct dn_options *given, void *to);

/* For -V, --version. */
void dn_print_version (void);

/* How the table of a program's commands declares and lists them. */
#define DN_COMMAND_DECLARE(name) extern const struct dn_command dn_cmd_##name;
#define DN_COMMAND_ROW(name)     &dn_cmd_##name,

#endif
