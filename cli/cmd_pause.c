/* cmd_pause.c - stops changes of jobs at once, and lets them go on
 *
 * The file has a line for each pause. Lines that no pause has written are dropped: the
 * plugin would not load a file with one that it cannot read.
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
    struct dn_options *given;
    const char *account;
    const char *user;
    char line[LINE_MAX_LEN]; /* of this pause */
    char path[DN_SITE_PATH_MAX];
    char *text; /* of the file; owned */
};

static void free_call (struct call *call)
{
    free (call->text);
}

static const struct dn_option options[] = {
    DN_OPT_TEXT ("account", "NAME", "only the jobs of this account", account),
    DN_OPT_TEXT ("user", "NAME", "only the jobs of this user", user),
    DN_OPT_END,
};

/* A name that needs no quotes in dnnest.conf. */
static bool is_plain (const char *name)
{
    return name[0] != '\0' && strcspn (name, " \t\n\"#=,") == strlen (name)
           && strlen (name) < DN_NAME_MAX;
}

static int take_options (struct call *call)
{
    struct dn_options *given = call->given;
    const char *name;
    int64_t uid;

    if (!dn_options_all (given, call, 0, 0))
        return -1;
    name = call->account ? call->account : call->user;
    if (call->account && call->user)
        dn_options_misuse (given, "--account and --user cannot be combined");
    else if (name && !is_plain (name))
        dn_options_misuse (
            given, "'%s' is not one name", dn_quote (name, strlen (name)).text);
    else if (call->user)
        given->exit_code = dn_options_user (call->user, &uid);
    if (given->exit_code != DN_EXIT_DONE)
        return -1;
    if (name)
        snprintf (call->line,
                  sizeof (call->line),
                  "Policy %s=%s " DN_PAUSE_RULE,
                  call->account ? "Account" : "User",
                  name);
    else
        snprintf (call->line, sizeof (call->line), DN_PAUSE_RULE);
    return 0;
}

/* Find the file, and read it; it need not exist. */
static int read_file (struct call *call, struct dn_err *err)
{
    const char *conf = call->given->paths.conf;
    struct stat st;

    if (!conf || stat (conf, &st) < 0 || !S_ISREG (st.st_mode))
        return dn_err_set (err,
                           DN_E_IO,
                           "%s: no such file, so no job is changed",
                           conf ? conf : DNNEST_CONF);
    dn_load_beside (conf, DN_PAUSE_FILE, call->path);
    if (access (call->path, F_OK) == 0)
        return dn_read_input (call->path, &call->text, err);
    call->text = strdup ("");
    return call->text ? 0 : dn_err_set (err, DN_E_NOMEM, "out of memory");
}

/* The next line of a pause. False at the end. */
static bool next_line (struct dn_span *rest, struct dn_span *line)
{
    static const char policy[] = "Policy ";

    while ((*line = dn_span_cut (rest, "\n")).text) {
        *line = dn_span_trim (*line);
        if (dn_span_is (*line, DN_PAUSE_RULE)
            || (line->len > sizeof (policy)
                && memcmp (line->text, policy, sizeof (policy) - 1) == 0))
            return true;
    }
    return false;
}

static int count_lines (const struct call *call, const char *which)
{
    struct dn_span rest = dn_span_of (call->text);
    struct dn_span line;
    int n = 0;

    while (next_line (&rest, &line))
        n += !which || dn_span_is (line, which);
    return n;
}

/* Write the lines but that of the call, which comes first if it is to be there: the
 * rule of all is looked for at the beginning.
 */
static int write_lines (struct call *call, bool pause, struct dn_err *err)
{
    dn_cleanup (dn_replace_free) struct dn_replace replace = {.file = NULL};
    bool all = dn_span_is (dn_span_of (call->line), DN_PAUSE_RULE);
    struct dn_span rest = dn_span_of (call->text);
    struct dn_span line;

    if (dn_replace_open (&replace, call->path, err) < 0)
        return -1;
    if (fchmod (fileno (replace.file), 0644) < 0)
        return dn_err_set (err, DN_E_IO, "%s: cannot set its mode", call->path);
    if (pause && all)
        fprintf (replace.file, "%s\n", call->line);
    while (next_line (&rest, &line))
        if (!dn_span_is (line, call->line))
            fprintf (replace.file, "%.*s\n", (int) line.len, line.text);
    if (pause && !all)
        fprintf (replace.file, "%s\n", call->line);
    return dn_replace_finish (&replace, err);
}

static void print_done (const struct call *call, bool pause, int others)
{
    const char *done = pause ? "not changed any more" : "changed again";

    if (call->account)
        printf ("%s: the jobs of account %s\n", done, call->account);
    else if (call->user)
        printf ("%s: the jobs of user %s\n", done, call->user);
    else
        printf ("%s: all jobs\n", done);
    if (others > 0)
        printf ("still paused: what %d more line%s of %s say%s\n",
                others,
                others == 1 ? "" : "s",
                call->path,
                others == 1 ? "s" : "");
}

static int change (struct dn_options *given, bool pause)
{
    dn_cleanup (free_call) struct call call = {.given = given};
    struct dn_err err = {0};
    int others;

    if (take_options (&call) < 0)
        return given->exit_code;
    if (read_file (&call, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    others = count_lines (&call, NULL) - count_lines (&call, call.line);
    if (!pause && count_lines (&call, call.line) == 0) {
        dn_complain (call.text[0] == '\0'
                         ? "nothing is paused: %s is not there, or empty"
                         : "%s has no line '%s'",
                     call.path,
                     call.line);
        return DN_EXIT_DATA;
    }
    if (!pause && others == 0 && unlink (call.path) == 0) {
        print_done (&call, pause, others);
        return DN_EXIT_DONE;
    }
    if (write_lines (&call, pause, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    print_done (&call, pause, others);
    return DN_EXIT_DONE;
}

static int run_pause (struct dn_options *given)
{
    return change (given, true);
}

static int run_resume (struct dn_options *given)
{
    return change (given, false);
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
