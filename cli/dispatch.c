/* dispatch.c - finds the command of a program and runs it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "dispatch.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct dn_program *program;
static bool never_fails; /* the command, here */

static int print_help (void)
{
    printf ("Usage: %s COMMAND [OPTION]... [ARGUMENT]...\n%s.\n\n",
            dn_program,
            program->summary);
    for (int i = 0; program->commands[i]; i++)
        printf (
            "  %-10s %s\n", program->commands[i]->name, program->commands[i]->summary);
    printf (
        "'%s COMMAND --help' prints the options of a command. Exit codes: 0 done,\n"
        "1 abstained, 2 usage or metadata, 3 configuration, 4 model or data, 5 bug.\n"
        "Manual: %s\n",
        dn_program,
        program->manual);
    return DN_EXIT_DONE;
}

static const char *command_name (const void *names, int i)
{
    (void) names;
    return program->commands[i] ? program->commands[i]->name : NULL;
}

static int unknown_command (const char *name)
{
    char near[DN_ERR_TEXT_MAX];
    struct dn_buf buf = dn_buf_on (near, sizeof (near));

    dn_add_near (&buf, name, command_name, NULL);
    dn_complain ("unknown command '%s'%s (try '%s --help')",
                 dn_quote (name, strlen (name)).text,
                 near,
                 dn_program);
    return DN_EXIT_USAGE;
}

static int run_command (int argc, char **argv)
{
    const char *job = getenv ("SLURM_JOB_ID");

    for (int i = 0; program->commands[i]; i++) {
        const struct dn_command *command = program->commands[i];
        struct dn_options given;
        int exit_code;

        if (strcmp (command->name, argv[0]) != 0)
            continue;
        never_fails = command->never_fails_in_job && job && job[0] != '\0';
        dn_options_begin (&given, command, argc, argv);
        exit_code = command->run (&given);
        dn_load_free (given.site);
        return exit_code;
    }
    return unknown_command (argv[0]);
}

/* "help", "help COMMAND" */
static int help (int argc, char **argv)
{
    char *line[] = {argv[1], (char *) "--help", NULL};

    if (argc <= 1)
        return print_help ();
    if (argc == 2)
        return run_command (2, line);
    dn_complain ("unexpected argument '%s' (try '%s --help')",
                 dn_quote (argv[2], strlen (argv[2])).text,
                 dn_program);
    return DN_EXIT_USAGE;
}

static int dispatch (int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;

    if (!name) {
        dn_complain ("command missing (try '%s --help')", dn_program);
        return DN_EXIT_USAGE;
    }
    if (strcmp (name, "-h") == 0 || strcmp (name, "--help") == 0)
        return print_help ();
    if (strcmp (name, "-V") == 0 || strcmp (name, "--version") == 0) {
        dn_print_version ();
        return DN_EXIT_DONE;
    }
    if (strcmp (name, "help") == 0)
        return help (argc - 1, argv + 1);
    return run_command (argc - 1, argv + 1);
}

int dn_dispatch (const struct dn_program *of, int argc, char **argv)
{
    int exit_code;

    program = of;
    dn_program = of->name;
    /* dn_finish () looks at what became of the output. */
    signal (SIGPIPE, SIG_IGN);
    exit_code = dn_finish (dispatch (argc, argv));
    return never_fails ? DN_EXIT_DONE : exit_code;
}
