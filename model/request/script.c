/* script.c - what a batch script says of its own resources
 *
 * No shell is parsed: whatever looks like a request counts, since the price of a wrong
 * guess is only that the job keeps what it asked for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/script.h"

#include <string.h>

#include "base/limits.h"

/* Reads one command line; true ends the search. */
typedef bool (*line_f) (struct dn_span line, const char *word);

static bool any_line (const char *script, line_f test, const char *word)
{
    struct dn_span rest = {script, strnlen (script, DN_SCRIPT_MAX + 1)};

    if (rest.len > DN_SCRIPT_MAX)
        return true;
    while (rest.text) {
        struct dn_span line = dn_span_trim (dn_span_cut (&rest, "\n"));

        if (line.len > 0 && line.text[0] != '#' && test (line, word))
            return true;
    }
    return false;
}

static bool is_name (char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
           || c == '_' || c == '.';
}

static bool is_digit (char c)
{
    return c >= '0' && c <= '9';
}

/* Where 'text' stands in the line next, from '*at' on; false if nowhere. A script may
 * have a megabyte, so this is left to the library.
 */
static bool find_next (struct dn_span line, const char *text, size_t len, size_t *at)
{
    const char *found =
        *at < line.len ? memmem (line.text + *at, line.len - *at, text, len) : NULL;

    if (found)
        *at = (size_t) (found - line.text);
    return found;
}

static bool holds_word (struct dn_span line, const char *word)
{
    size_t len = strlen (word);

    for (size_t i = 0; find_next (line, word, len, &i); i++)
        if ((i == 0 || !is_name (line.text[i - 1]))
            && (i + len == line.len || !is_name (line.text[i + len])))
            return true;
    return false;
}

/* The argument of 'option', which begins a word; text NULL if the line has none. */
static struct dn_span option_argument (struct dn_span line, const char *option)
{
    size_t len = strlen (option);

    for (size_t i = 0; find_next (line, option, len, &i); i++) {
        size_t at = i + len;

        if (i > 0 && line.text[i - 1] != ' ' && line.text[i - 1] != '\t')
            continue;
        while (at < line.len && strchr (" \t=\"{", line.text[at]))
            at++;
        if (at < line.len && (is_digit (line.text[at]) || line.text[at] == '$'))
            return (struct dn_span){line.text + at, line.len - at};
    }
    return (struct dn_span){NULL, 0};
}

/* Does the line give 'option' a number, or a variable other than Slurm's own? */
static bool gives_number (struct dn_span line, const char *option)
{
    static const char slurm[] = "SLURM_";
    struct dn_span argument = option_argument (line, option);
    size_t at = 0;

    if (!argument.text)
        return false;
    while (at < argument.len && strchr ("${", argument.text[at]))
        at++;
    return at == 0 || argument.len - at < sizeof (slurm) - 1
           || memcmp (argument.text + at, slurm, sizeof (slurm) - 1) != 0;
}

/* CPUs per task or GPU anywhere, for a command may go on over several lines; tasks only
 * behind srun, since "-n" means something else to most commands.
 */
static bool counts_cpus (struct dn_span line, const char *word)
{
    (void) word;
    return gives_number (line, "-c") || gives_number (line, "--cpus-per-task")
           || gives_number (line, "--cpus-per-gpu")
           || gives_number (line, "SRUN_CPUS_PER_TASK")
           || (holds_word (line, "srun")
               && (gives_number (line, "-n") || gives_number (line, "--ntasks")));
}

bool dn_script_names (const char *script, const char *word)
{
    return script && any_line (script, holds_word, word);
}

bool dn_script_counts_cpus (const char *script)
{
    return script && any_line (script, counts_cpus, NULL);
}
