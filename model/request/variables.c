/* variables.c - the variables that a script assigns
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/shell.h"

#include <string.h>

static int find (const struct dn_shell *shell, struct dn_span name)
{
    for (int i = 0; i < shell->n_variables; i++)
        if (dn_shell_is (name, shell->variables[i].name))
            return i;
    return -1;
}

const struct dn_variable *dn_variable_find (const struct dn_shell *shell,
                                            struct dn_span name)
{
    int i = name.len > 0 ? find (shell, name) : -1;

    return i < 0 ? NULL : &shell->variables[i];
}

struct dn_span dn_variable_value (const struct dn_shell *shell,
                                  const struct dn_variable *variable)
{
    return (struct dn_span){shell->values + variable->start, variable->len};
}

/* Append to the values; the last one grows. False if there is no room. */
static bool add_value (struct dn_shell *shell, struct dn_span value)
{
    if (value.len > DN_SHELL_VALUES_MAX - shell->values_len)
        return false;
    memcpy (shell->values + shell->values_len, value.text, value.len);
    shell->values_len += (uint32_t) value.len;
    shell->found->n_visited += value.len;
    return true;
}

/* May the command not run, or run again? */
static bool in_branch (const struct dn_shell *shell)
{
    enum dn_frame_kind kind = shell->frames[shell->n_frames - 1].kind;

    return shell->conditional || kind == DN_FRAME_IF || kind == DN_FRAME_CASE
           || kind == DN_FRAME_LOOP;
}

static bool has_options (struct dn_span value)
{
    return value.len > 0
           && (value.text[0] == '-' || memchr (value.text, ' ', value.len));
}

static bool equal (struct dn_span a, struct dn_span b)
{
    return a.len == b.len && memcmp (a.text, b.text, a.len) == 0;
}

/* Words of both values may be used, so that both are searched. */
static void set_several (struct dn_shell *shell,
                         struct dn_variable *variable,
                         struct dn_span old,
                         struct dn_span value)
{
    static const struct dn_span blank = {" ", 1};
    uint32_t start = shell->values_len;

    if (equal (old, value) && variable->known)
        return;
    variable->known = variable->known && (has_options (old) || has_options (value))
                      && add_value (shell, old) && add_value (shell, blank)
                      && add_value (shell, value);
    variable->start = start;
    variable->len = shell->values_len - start;
}

void dn_variable_set (struct dn_shell *shell,
                      struct dn_span name,
                      struct dn_span value,
                      bool append)
{
    uint32_t start = shell->values_len;
    struct dn_variable *variable;
    int i = find (shell, name);

    if (name.len >= DN_SHELL_NAME_MAX)
        return;
    if (i >= 0 && !append && in_branch (shell)) {
        variable = &shell->variables[i];
        set_several (shell, variable, dn_variable_value (shell, variable), value);
        return;
    }
    if (i < 0) {
        if (shell->n_variables == DN_SHELL_VARIABLES_MAX)
            return;
        i = shell->n_variables++;
        variable = &shell->variables[i];
        memset (variable, 0, sizeof (*variable));
        memcpy (variable->name, name.text, name.len);
        variable->known = true;
    }
    variable = &shell->variables[i];
    variable->known =
        (!append
         || (variable->known && add_value (shell, dn_variable_value (shell, variable))))
        && add_value (shell, value);
    variable->start = start;
    variable->len = shell->values_len - start;
}

void dn_variable_forget (struct dn_shell *shell, struct dn_span name)
{
    int i = name.len > 0 ? find (shell, name) : -1;

    if (i >= 0)
        shell->variables[i].known = false;
}

bool dn_variable_split (struct dn_span word,
                        struct dn_span *name,
                        struct dn_span *value,
                        bool *append)
{
    size_t at = 0;

    while (at < word.len && dn_shell_is_name (word.text[at]))
        at++;
    *name = (struct dn_span){word.text, at};
    *append = at < word.len && (word.text[at] == '+' || word.text[at] == '[');
    if (*append && word.text[at] == '[')
        while (at < word.len && word.text[at] != ']')
            at++;
    at += *append;
    if (name->len == 0 || at >= word.len || word.text[at] != '=')
        return false;
    *value = (struct dn_span){word.text + at + 1, word.len - at - 1};
    return true;
}
