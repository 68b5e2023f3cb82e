/* tally.c - how many trainings a script runs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/shell.h"

#include <stdio.h>
#include <string.h>

#include "base/messages.h"

/* Calls of functions by functions that are followed, and the bytes that each of them
 * counts as.
 */
#define CALLS_DEEP_MAX 4
#define CALL_BYTES     16

void dn_tally_then (struct dn_tally *a, const struct dn_tally *b)
{
    if (a->n == 0) {
        *a = *b;
    } else if (a->n == 1 && b->n > 0) {
        struct dn_tally first = *a;

        *a = *b;
        if (b->n > 1)
            return;
        a->n = 2;
        a->why = DN_SEVERAL_SEQUENCE;
        a->other_line = first.line;
        memcpy (a->other, first.word, sizeof (a->other));
    }
}

void dn_tally_or (struct dn_tally *a, const struct dn_tally *b)
{
    bool both = a->n == 1 && b->n == 1;

    if (both && strcmp (a->word, b->word) == 0)
        return;
    dn_tally_then (a, b);
    if (both)
        a->why = DN_SEVERAL_BRANCHES;
}

void dn_tally_loop (struct dn_tally *a)
{
    if (a->n != 1)
        return;
    a->n = 2;
    a->why = DN_SEVERAL_LOOP;
}

static void add (struct dn_shell *shell, const struct dn_tally *tally)
{
    dn_tally_then (&dn_shell_top (shell)->tally, tally);
}

/* The name of a program without the folders that lead to it, in an array of
 * DN_SHELL_SAID_MAX.
 */
static void say (char *out, struct dn_span word)
{
    struct dn_span base = dn_shell_base (word);

    if (base.len > 0)
        word = base;
    snprintf (out,
              DN_SHELL_SAID_MAX,
              "%.*s",
              DN_SHELL_SAID_MAX - 1,
              dn_quote (word.text, word.len).text);
}

bool dn_tally_is_training (struct dn_span name)
{
    static const char *const parts[] = {"train", "tune", "tuning", "main", "pretrain"};

    for (size_t i = 0; i < DN_N_ELEMENTS (parts); i++)
        if (memmem (name.text, name.len, parts[i], strlen (parts[i])))
            return true;
    return false;
}

void dn_tally_program (struct dn_shell *shell, struct dn_span word, int line, bool loop)
{
    struct dn_tally tally = {.n = 1, .line = line};

    if (shell->n_mute > 0 || (shell->n_captured > 0 && !dn_tally_is_training (word)))
        return;
    say (tally.word, word);
    if (loop)
        dn_tally_loop (&tally);
    add (shell, &tally);
}

static int find_function (const struct dn_shell *shell, struct dn_span name)
{
    for (int i = 0; i < shell->n_functions; i++)
        if (dn_shell_is (name, shell->functions[i].name))
            return i;
    return -1;
}

/* What a call of the function runs, with the functions that it calls. */
/* NOLINTNEXTLINE(misc-no-recursion): CALLS_DEEP_MAX limits the depth */
static struct dn_tally total_of (const struct dn_shell *shell, int i, int deep)
{
    const struct dn_function *function = &shell->functions[i];
    struct dn_tally total = function->tally;

    shell->found->n_visited += CALL_BYTES;
    for (int c = 0; c < function->n_calls && total.n < 2; c++) {
        const struct dn_call *call = &function->calls[c];
        int callee = find_function (shell, dn_span_of (call->name));
        struct dn_tally tally = {.n = 1, .line = call->line};

        say (tally.word, dn_span_of (call->name));
        if (callee >= 0 && callee != i && deep < CALLS_DEEP_MAX)
            tally = total_of (shell, callee, deep + 1);
        if (call->loop)
            dn_tally_loop (&tally);
        dn_tally_then (&total, &tally);
    }
    return total;
}

bool dn_tally_call_later (struct dn_shell *shell,
                          struct dn_span name,
                          int line,
                          bool loop)
{
    struct dn_function *function;
    struct dn_call *call;

    if (shell->function < 0 || shell->n_mute > 0 || name.len >= DN_SHELL_NAME_MAX)
        return false;
    function = &shell->functions[shell->function];
    if (function->n_calls == DN_SHELL_CALLS_MAX)
        return false;
    call = &function->calls[function->n_calls++];
    memset (call, 0, sizeof (*call));
    memcpy (call->name, name.text, name.len);
    call->line = line;
    call->loop = loop;
    for (int i = shell->n_frames - 1; i > 0 && shell->frames[i].function < 0; i--)
        call->loop |= shell->frames[i].kind == DN_FRAME_LOOP;
    return true;
}

bool dn_tally_call (struct dn_shell *shell, struct dn_span name, int line, bool loop)
{
    int i = find_function (shell, name);
    struct dn_tally total;

    if (i < 0)
        return false;
    if (shell->n_mute > 0 || i == shell->function)
        return true;
    total = total_of (shell, i, 0);
    if (total.n == 1)
        total.line = line;
    if (loop)
        dn_tally_loop (&total);
    add (shell, &total);
    return true;
}

bool dn_tally_script (struct dn_shell *shell, struct dn_span path, int line)
{
    int i = find_function (shell, dn_shell_base (path));

    if (i < 0 || i == shell->function || total_of (shell, i, 0).n < 2)
        return false;
    return dn_tally_call (shell, dn_shell_base (path), line, false);
}

void dn_tally_file (struct dn_shell *shell, struct dn_span name, int line)
{
    struct dn_tally tally = {.n = 1, .line = line};
    int i = dn_tally_define (shell, name);

    if (i < 0)
        return;
    say (tally.word, name);
    dn_tally_loop (&tally);
    shell->functions[i].tally = tally;
}

int dn_tally_define (struct dn_shell *shell, struct dn_span name)
{
    int i = find_function (shell, name);

    if (i >= 0)
        return i;
    if (shell->n_functions == DN_SHELL_FUNCTIONS_MAX || name.len >= DN_SHELL_NAME_MAX)
        return -1;
    i = shell->n_functions++;
    memset (&shell->functions[i], 0, sizeof (shell->functions[i]));
    memcpy (shell->functions[i].name, name.text, name.len);
    return i;
}

void dn_tally_body (struct dn_shell *shell, int function, const struct dn_tally *tally)
{
    dn_tally_or (&shell->functions[function].tally, tally);
}

void dn_tally_report (struct dn_shell *shell)
{
    const struct dn_tally *tally = &shell->frames[0].tally;
    struct dn_script *found = shell->found;
    char *out = found->several;

    found->n_trainings = tally->n;
    if (tally->n < 2)
        return;
    if (tally->why == DN_SEVERAL_LOOP)
        snprintf (out, DN_REASON_MAX, dn_say_script_loop, tally->line, tally->word);
    else
        snprintf (out,
                  DN_REASON_MAX,
                  tally->why == DN_SEVERAL_BRANCHES ? dn_say_script_branches
                                                    : dn_say_script_sequence,
                  tally->line,
                  tally->word,
                  tally->other,
                  tally->other_line);
}
