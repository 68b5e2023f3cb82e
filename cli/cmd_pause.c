/* cmd_pause.c - stops changes of jobs at once, and lets them go on
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replace.h"

#define LINE_MAX_LEN 256

struct call {
    struct dn_options given;
    const char *account;
    const char *user;
    char line[LINE_MAX_LEN]; /* of the file */
    char path[DN_SITE_PATH_MAX];
};

static const struct dn_option options[] = {
    DN_OPT_TEXT ("account", 0, "NAME", "only the jobs of this account", account),
    DN_OPT_TEXT ("user", 0, "NAME", "only the jobs of this user", user),
    DN_OPT_END,
};

/* A name that needs no quotes in dnnest.conf. */
static bool is_plain (const char *name)
{
    return name[0] != '\0' && strcspn (name, " \t\n\"#=,") == strlen (name)
           && strlen (name) < DN_NAME_MAX;
}

static int take_options (const struct dn_command *self, struct call *call)
{
    const char *name = call->account ? call->account : call->user;

    if (!dn_options_all (&call->given, call, 0, 0))
        return -1;
    name = call->account ? call->account : call->user;
    call->given.exit_code = DN_EXIT_DONE;
    if (call->account && call->user)
        call->given.exit_code =
            dn_options_misuse (self, "--account and --user cannot be combined");
    else if (name && !is_plain (name))
        call->given.exit_code = dn_options_misuse (
            self, "'%s' is not one name", dn_quote (name, strlen (name)).text);
    if (name)
        snprintf (call->line,
                  sizeof (call->line),
                  "Policy %s=%s " DN_PAUSE_RULE "\n",
                  call->account ? "Account" : "User",
                  name);
    else
        snprintf (call->line, sizeof (call->line), DN_PAUSE_RULE "\n");
    return call->given.exit_code == DN_EXIT_DONE ? 0 : -1;
}

/* Who is paused or resumed, for a message. */
static void print_done (const struct call *call, const char *done)
{
    if (call->account)
        printf ("%s: the jobs of account %s\n", done, call->account);
    else if (call->user)
        printf ("%s: the jobs of user %s\n", done, call->user);
    else
        printf ("%s: all jobs\n", done);
}

/* The lines of the file; "" if there is none. */
static char *read_lines (const char *path, struct dn_err *err)
{
    char *text = NULL;

    if (access (path, F_OK) < 0)
        return strdup ("");
    return dn_read_input (path, &text, err) < 0 ? NULL : text;
}

/* Write the lines but 'line', which comes first if it is to be there. */
static int write_lines (const struct call *call,
                        const char *text,
                        bool pause,
                        struct dn_err *err)
{
    dn_cleanup (dn_replace_free) struct dn_replace replace = {.file = NULL};
    struct dn_span rest = dn_span_of (text);
    size_t own = strlen (call->line) - 1; /* without its end */
    struct dn_span line;

    if (dn_replace_open (&replace, call->path, err) < 0)
        return -1;
    if (fchmod (fileno (replace.file), 0644) < 0)
        return dn_err_set (err, DN_E_IO, "%s: cannot set its mode", call->path);
    /* The rule of all is found at the beginning. */
    if (pause && call->line[0] == 'M')
        fputs (call->line, replace.file);
    while ((line = dn_span_cut (&rest, "\n")).text)
        if (line.len > 0
            && (line.len != own || memcmp (line.text, call->line, own) != 0))
            fprintf (replace.file, "%.*s\n", (int) line.len, line.text);
    if (pause && call->line[0] != 'M')
        fputs (call->line, replace.file);
    return dn_replace_finish (&replace, err);
}

static int change (const struct dn_command *self, int argc, char **argv, bool pause)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct call call = {.account = NULL};
    struct dn_err err = {0};
    const char *conf;

    dn_options_begin (&call.given, self, argc, argv);
    if (take_options (self, &call) < 0)
        return call.given.exit_code;
    conf = call.given.paths.conf;
    if (!conf) {
        dn_complain ("there is no %s, so no job is changed", DNNEST_CONF);
        return DN_EXIT_CONF;
    }
    dn_load_beside (conf, DN_PAUSE_FILE, call.path);
    text = read_lines (call.path, &err);
    if (!text || (!pause && !strstr (text, call.line))) {
        if (text)
            dn_err_set (&err, DN_E_RANGE, "%s: it is not paused", call.path);
        return dn_fail (DN_EXIT_DATA, &err);
    }
    if (!pause && strcmp (text, call.line) == 0 && unlink (call.path) == 0) {
        print_done (&call, "changed again from now on");
        return DN_EXIT_DONE;
    }
    if (write_lines (&call, text, pause, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    print_done (&call, pause ? "not changed any more" : "changed again from now on");
    return DN_EXIT_DONE;
}

static int run_pause (const struct dn_command *self, int argc, char **argv)
{
    return change (self, argc, argv, true);
}

static int run_resume (const struct dn_command *self, int argc, char **argv)
{
    return change (self, argc, argv, false);
}

const struct dn_command dn_cmd_pause = {
    .name = "pause",
    .summary = "Stop all changes of jobs at once",
    .arguments = "",
    .options = options,
    .run = run_pause,
};

const struct dn_command dn_cmd_resume = {
    .name = "resume",
    .summary = "Let jobs be changed again",
    .arguments = "",
    .options = options,
    .run = run_resume,
};
