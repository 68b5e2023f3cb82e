/* cmd_daemon.c - hands the tasks of dnnestd to it: this program knows no Slurm
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OPTION_ONCE,
    OPTION_DRY_RUN,
    OPTION_OUT,
    OPTION_VERBOSE
};

static const struct dn_option options[] = {
    [OPTION_ONCE] = {"once", 0, NULL, "run the task once and end"},
    [OPTION_DRY_RUN] = {"dry-run",
                        0,
                        NULL,
                        "change nothing, and say what would be changed"},
    [OPTION_OUT] = {"out", 0, "FILE", "write FILE, - for stdout, not that in StateDir"},
    [OPTION_VERBOSE] = {"verbose", 'v', NULL, "also say what is not changed, and why"},
    {NULL, 0, NULL, NULL},
};

/* The command line of dnnestd: program, task, the options above, --conf, NULL. */
#define ARGS_MAX 8

struct line {
    char *args[ARGS_MAX];
    int n_args;
    bool done; /* help was printed, or an error */
    char program[PATH_MAX];
    char out[PATH_MAX + 8];
    char conf[PATH_MAX + 8];
};

/* execv () takes texts that it does not change as if it did. */
static void add (struct line *line, const char *argument)
{
    if (line->n_args < ARGS_MAX - 1)
        memcpy (&line->args[line->n_args++], &argument, sizeof (argument));
}

/* "--out=FILE"; only the last one counts. */
static int set_path (const struct dn_command *self,
                     char text[PATH_MAX + 8],
                     const char *option,
                     const char *path)
{
    struct dn_buf buf = dn_buf_on (text, PATH_MAX + 8);

    dn_buf_add (&buf, "%s=%s", option, path);
    return buf.cut ? dn_options_misuse (self, "%s: the path is too long", option)
                   : DN_EXIT_DONE;
}

/* --- where dnnestd is --------------------------------------------------------------
 */

/* Beside this program, as in a tree where it was built; else where it is installed. */
static void find_program (struct line *line)
{
    const char *named = getenv ("DNNESTD");
    struct dn_buf buf = dn_buf_on (line->program, sizeof (line->program));
    char own[PATH_MAX];
    ssize_t len = readlink ("/proc/self/exe", own, sizeof (own) - 1);
    char *slash;

    if (named && named[0] != '\0') {
        dn_buf_add (&buf, "%s", named);
        return;
    }
    own[len > 0 ? len : 0] = '\0';
    slash = strrchr (own, '/');
    if (slash) {
        dn_buf_add (&buf, "%.*s/dnnestd", (int) (slash - own), own);
        if (!buf.cut && access (line->program, X_OK) == 0)
            return;
    }
    buf = dn_buf_on (line->program, sizeof (line->program));
    dn_buf_add (&buf, "%s/dnnestd", DNNEST_SBINDIR);
}

/* Only returns where dnnestd cannot be started. */
static int become (struct line *line)
{
    signal (SIGPIPE, SIG_DFL);
    execv (line->program, line->args);
    signal (SIGPIPE, SIG_IGN);
    dn_complain (
        "%s: %s (dnnestd is built where libslurm is installed; DNNESTD= names another)",
        line->program,
        strerror (errno));
    return DN_EXIT_CONF;
}

/* Read the options into 'line'; a flag that is given twice counts once. */
static int take_options (const struct dn_command *self,
                         struct dn_options *given,
                         struct line *line)
{
    bool flags[DN_N_ELEMENTS (options)] = {false};
    static const char *const words[] = {[OPTION_ONCE] = "--once",
                                        [OPTION_DRY_RUN] = "--dry-run",
                                        [OPTION_VERBOSE] = "-v"};
    int rc = DN_EXIT_DONE;
    int option;

    while (rc == DN_EXIT_DONE && (option = dn_options_next (given)) >= 0) {
        flags[option] = true;
        if (option == OPTION_OUT)
            rc = set_path (self, line->out, "--out", given->argument);
    }
    if (rc != DN_EXIT_DONE)
        return rc;
    if (option != DN_OPTION_END || !dn_options_count (given, 0, 0)) {
        line->done = true;
        return given->exit_code;
    }
    if (given->json)
        return dn_options_misuse (self, "--json: dnnestd prints none");
    if (given->paths.conf)
        rc = set_path (self, line->conf, "--conf", given->paths.conf);
    for (size_t i = 0; i < DN_N_ELEMENTS (words); i++)
        if (flags[i] && words[i])
            add (line, words[i]);
    return rc;
}

static int run (const struct dn_command *self, int argc, char **argv)
{
    struct line line = {.n_args = 0};
    struct dn_options given;
    int rc;

    find_program (&line);
    add (&line, line.program);
    add (&line, self->name);
    dn_options_begin (&given, self, argc, argv);
    rc = take_options (self, &given, &line);
    if (rc != DN_EXIT_DONE || line.done)
        return rc;
    if (line.out[0] != '\0')
        add (&line, line.out);
    if (line.conf[0] != '\0')
        add (&line, line.conf);
    return become (&line);
}

const struct dn_command dn_cmd_watch = {
    .name = "watch",
    .summary = "Run dnnestd's task that writes the snapshot of the cluster",
    .arguments = "",
    .options = options,
    .run = run,
};

const struct dn_command dn_cmd_guard = {
    .name = "guard",
    .summary = "Run dnnestd's task that extends lowered limits of running jobs",
    .arguments = "",
    .options = options,
    .run = run,
};
