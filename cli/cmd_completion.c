/* cmd_completion.c - completion of command lines in bash, zsh and fish
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "completion/line_words.h"

/* The scripts for the shells: bash_script, zsh_script, fish_script. */
#include "generated/completion_scripts.inc"

/* An answer that takes longer is of no use: a person waits for it. */
#define ANSWER_MS 400

/* Longest word that is completed. */
#define WORD_MAX 4096

static const struct dn_command *const commands[] = {DN_COMMAND_ROWS};

static const struct shell {
    const char *name;
    const char *script;
} shells[] = {
    {"bash", bash_script},
    {"zsh", zsh_script},
    {"fish", fish_script},
};

static const struct dn_option options[] = {
    {NULL, 0, NULL, NULL},
};

static void leave (int signal)
{
    (void) signal;
    _exit (DN_EXIT_DONE);
}

/* End without a word when a file system does not answer. */
static void limit_time (void)
{
    const struct itimerval limit = {.it_value.tv_usec = ANSWER_MS * 1000};

    signal (SIGALRM, leave);
    setitimer (ITIMER_REAL, &limit, NULL);
}

/* Answer for the line, unless its last word can have no answer. */
static int answer_line (const struct dn_line *line, struct dn_options *given)
{
    const char *word = line->words[line->n - 1];
    struct dn_answer answer = {.word = word, .end = word, .given = given};

    if (strnlen (word, WORD_MAX) < WORD_MAX) {
        if (strcmp (dn_base_name (line->words[0]), "dnnest") == 0)
            dn_line_words (line, commands, &answer);
        else
            dn_slurm_line_words (line, &answer);
    }
    dn_answer_end (&answer);
    return DN_EXIT_DONE;
}

/* The words are no options of this command, whatever they are. */
static int print_words (const struct dn_command *self, int n, char **words)
{
    static char *none[] = {NULL, NULL};
    struct dn_options given;

    if (n < 2)
        return dn_options_misuse (self, "words: a command line is missing");
    none[0] = words[0];
    limit_time ();
    dn_options_begin (&given, self, 1, none);
    return answer_line (&(struct dn_line){words, n}, &given);
}

static int print_script (const struct dn_command *self, const char *name)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (shells); i++)
        if (strcmp (shells[i].name, name) == 0) {
            fputs (shells[i].script, stdout);
            return DN_EXIT_DONE;
        }
    return dn_options_misuse (self,
                              "'%s' is unknown, expected bash, zsh, fish or words",
                              dn_quote (name, strlen (name)).text);
}

static const char words_word[] = "words";

static int run (const struct dn_command *self, int argc, char **argv)
{
    struct dn_options given;

    if (argc > 1 && strcmp (argv[1], words_word) == 0)
        return print_words (self, argc - 2, argv + 2);
    dn_options_begin (&given, self, argc, argv);
    if (!dn_options_only_common (&given, 1, -1))
        return given.exit_code;
    if (strcmp (given.args[0], words_word) == 0)
        return dn_options_misuse (self, "words: options before it are not accepted");
    if (!dn_options_count (&given, 1, 1))
        return given.exit_code;
    return print_script (self, given.args[0]);
}

const struct dn_command dn_cmd_completion = {
    .name = "completion",
    .summary = "Print what completes command lines in a shell",
    .arguments = "bash|zsh|fish|words [ARGUMENT]...",
    .options = options,
    .run = run,
};
