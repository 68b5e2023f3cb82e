/* script.c - what a batch script needs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/messages.h"
#include "request/shell.h"

/* The interpreter of "#!/usr/bin/env -S bash -l", "sh" without one. */
static struct dn_span interpreter_of (struct dn_span script)
{
    struct dn_span rest = script;
    struct dn_span line = dn_span_cut (&rest, "\n");
    struct dn_span name;

    if (line.len < 2 || memcmp (line.text, "#!", 2) != 0)
        return dn_span_of ("sh");
    line = dn_span_trim ((struct dn_span){line.text + 2, line.len - 2});
    do {
        struct dn_span path = dn_span_cut (&line, " \t");

        name = path;
        while (path.text)
            name = dn_span_cut (&path, "/");
    } while (line.text
             && (!name.text || name.len == 0 || name.text[0] == '-'
                 || dn_shell_is (name, "env")));
    return name.text ? name : dn_span_of ("?");
}

static bool is_shell (struct dn_span interpreter)
{
    static const char *const shells[] = {"sh", "bash", "dash", "zsh", "ksh"};

    for (size_t i = 0; i < DN_N_ELEMENTS (shells); i++)
        if (dn_shell_is (interpreter, shells[i]))
            return true;
    return false;
}

int dn_script_read (const char *script,
                    const struct dn_script_job *job,
                    const struct dn_deadline *deadline,
                    struct dn_script *out,
                    struct dn_err *err)
{
    struct dn_span text = {script, script ? strnlen (script, DN_SCRIPT_MAX + 1) : 0};
    dn_cleanup (dn_free_ptr) struct dn_shell *shell = NULL;
    struct dn_span interpreter;

    memset (out, 0, sizeof (*out));
    if (text.len == 0)
        return 0;
    interpreter = interpreter_of (text);
    if (text.len > DN_SCRIPT_MAX)
        snprintf (
            out->unclear, DN_REASON_MAX, dn_say_script_long, DN_SCRIPT_MAX / 1024);
    else if (!is_shell (interpreter))
        dn_finding (out->unclear, 1, interpreter, dn_say_script_no_shell);
    if (out->unclear[0] != '\0')
        return 0;
    shell = calloc (1, sizeof (*shell));
    if (!shell)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory_for, "script");
    shell->job = job;
    shell->found = out;
    return dn_shell_read (shell, text, deadline, err);
}

/* --- words -------------------------------------------------------------------------
 */

static bool is_name (char c)
{
    return dn_shell_is_name (c) || c == '.';
}

/* Does a comment begin in the line in front of 'at'? In quotes a '#' is none. */
static bool in_comment (const char *line, const char *at)
{
    char quote = '\0';

    for (const char *c = line; c < at; c++) {
        if (quote == '\0' && *c == '#' && (c == line || strchr (" \t;", c[-1])))
            return true;
        if (*c == '\\' && quote != '\'')
            c++;
        else if (*c == quote)
            quote = '\0';
        else if (quote == '\0' && (*c == '"' || *c == '\''))
            quote = *c;
    }
    return false;
}

/* Does the line only print a text? */
static bool is_message (struct dn_span line)
{
    line = dn_span_trim (line);
    if (line.len < 5 || memcmp (line.text, "echo ", 5) != 0)
        return false;
    for (size_t i = 0; i < line.len; i++)
        if (strchr ("|>;&$`\\", line.text[i]))
            return false;
    return true;
}

/* Is what stands at 'at' a name of its own? "DGXA100.sh" and "*A100*" have a name of
 * three characters or more, short ones must stand alone.
 */
static bool is_named (const char *script, const char *at, size_t len)
{
    char next = at[len];

    if (len >= 3)
        return next < '0' || next > '9';
    return (at == script || !is_name (at[-1])) && !is_name (next);
}

/* Every line is looked at once for a comment: behind one the search goes on in the next
 * line, and else it ends. The same for messages.
 */
int dn_script_names (const char *script, const char *word)
{
    size_t n = script ? strnlen (script, DN_SCRIPT_MAX + 1) : 0;
    size_t len = strlen (word);
    const char *begin = script;
    const char *at = script;
    int line = 1;

    if (n > DN_SCRIPT_MAX)
        return -1;
    while (n > 0 && len > 0 && (at = strcasestr (at, word))) {
        const char *newline;

        while ((newline = memchr (begin, '\n', (size_t) (at - begin)))) {
            begin = newline + 1;
            line++;
        }
        if (!is_named (script, at, len)) {
            at++;
            continue;
        }
        newline = strchrnul (at, '\n');
        if (!in_comment (begin, at)
            && !is_message ((struct dn_span){begin, (size_t) (newline - begin)}))
            return line;
        at = newline;
    }
    return 0;
}
