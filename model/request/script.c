/* script.c - resources that a batch script names
 *
 * Shell syntax is not parsed. Any text that looks like a request counts: after a wrong
 * guess the job only keeps what it requested.
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

/* Find the next 'text' in the line, from '*at' on; false if there is none. memmem () is
 * fast enough for a script of a megabyte.
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

/* Is the argument a number, or a variable other than Slurm's? */
static bool is_count (struct dn_span argument)
{
    static const char slurm[] = "SLURM_";
    size_t at = 0;

    while (at < argument.len && strchr ("${", argument.text[at]))
        at++;
    return at == 0 || argument.len - at < sizeof (slurm) - 1
           || memcmp (argument.text + at, slurm, sizeof (slurm) - 1) != 0;
}

/* Options for CPUs per task or GPU, and for tasks. No word begins with two of them. */
static const struct option {
    const char *text;
    bool of_srun; /* only in a line with srun: "-n" means something else to most
                     commands */
} options[] = {{"-c", false},
               {"--cpus-per-task", false},
               {"--cpus-per-gpu", false},
               {"SRUN_CPUS_PER_TASK", false},
               {"-n", true},
               {"--ntasks", true}};

#define N_OPTIONS ((int) DN_N_ELEMENTS (options))

/* The option that a word begins with, -1 for none, and its argument, whose text is NULL
 * where there is none.
 */
static int option_of (struct dn_span word, struct dn_span *argument)
{
    for (int i = 0; i < N_OPTIONS; i++) {
        size_t at = 0;

        while (at < word.len && word.text[at] == options[i].text[at])
            at++;
        if (options[i].text[at] != '\0')
            continue;
        while (at < word.len && strchr (" \t=\"{", word.text[at]))
            at++;
        *argument = (struct dn_span){NULL, 0};
        if (at < word.len && (is_digit (word.text[at]) || word.text[at] == '$'))
            *argument = (struct dn_span){word.text + at, word.len - at};
        return i;
    }
    return -1;
}

/* Position of the next word that begins with 'lead', from 'at' on; the line's length if
 * there is none. memchr () is fast enough for a script of a megabyte.
 */
static size_t next_word (struct dn_span line, char lead, size_t at)
{
    for (; at < line.len; at++) {
        const char *found = memchr (line.text + at, lead, line.len - at);

        if (!found)
            break;
        at = (size_t) (found - line.text);
        if (at == 0 || found[-1] == ' ' || found[-1] == '\t')
            return at;
    }
    return line.len;
}

/* Does one of the options that begin with 'lead' set a number of CPUs or tasks? Only
 * the first argument of an option in a line is read.
 */
static bool options_count (struct dn_span line, char lead)
{
    bool given[N_OPTIONS] = {false};

    for (size_t at = next_word (line, lead, 0); at < line.len;
         at = next_word (line, lead, at + 1)) {
        struct dn_span argument;
        int i = option_of ((struct dn_span){line.text + at, line.len - at}, &argument);

        if (i < 0 || given[i] || !argument.text)
            continue;
        given[i] = true;
        if (is_count (argument) && (!options[i].of_srun || holds_word (line, "srun")))
            return true;
    }
    return false;
}

/* Anywhere in the line, since a command may continue over several lines. */
static bool counts_cpus (struct dn_span line, const char *word)
{
    (void) word;
    return options_count (line, '-') || options_count (line, 'S');
}

bool dn_script_names (const char *script, const char *word)
{
    size_t len = script ? strnlen (script, DN_SCRIPT_MAX + 1) : 0;

    /* Most scripts do not contain the word, which is found without splitting lines. */
    if (len <= DN_SCRIPT_MAX && !(len > 0 && memmem (script, len, word, strlen (word))))
        return false;
    return any_line (script, holds_word, word);
}

bool dn_script_counts_cpus (const char *script)
{
    return script && any_line (script, counts_cpus, NULL);
}
