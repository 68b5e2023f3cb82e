/* line_words.c - commands, options and arguments that may follow in a command line
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "completion/line_words.h"

#include <stdio.h>
#include <string.h>

#include "completion/metadata_words.h"
#include "process/sbatch.h"

/* What the words before the last one mean for it. */
struct place {
    const struct dn_command *command;
    const struct dn_option *option; /* it is the argument of this one; NULL: of none */
    int n_arguments;                /* before it */
    bool ended;                     /* by "--" */
    int n_before_end;               /* arguments before "--" */
};

/* --- the tables ------------------------------------------------------------------ */

/* The i-th table of options of a command. */
static const struct dn_option *table_at (const struct dn_command *command, int i)
{
    const struct dn_option *const tables[] = {
        command->options, command->guest_options, dn_options_common};

    return tables[i];
}
#define N_TABLES 3

static const struct dn_option *find_long (const struct dn_command *command,
                                          struct dn_span name)
{
    for (int i = 0; i < N_TABLES; i++)
        for (const struct dn_option *row = table_at (command, i); row && row->name;
             row++)
            if (strlen (row->name) == name.len
                && memcmp (row->name, name.text, name.len) == 0)
                return row;
    return NULL;
}

static const struct dn_option *find_letter (const struct dn_command *command,
                                            char letter)
{
    for (int i = 0; i < N_TABLES; i++)
        for (const struct dn_option *row = table_at (command, i); row && row->name;
             row++)
            if (row->letter && row->letter == letter)
                return row;
    return NULL;
}

static bool needs_argument (const struct dn_option *option)
{
    return option && option->argument && !dn_option_is_optional (option);
}

/* The option of "--name", "--name=value" or "-x", NULL if it is unknown. '*value' is
 * what is behind '=', NULL if nothing is.
 */
static const struct dn_option *find_option (const struct dn_command *command,
                                            const char *word,
                                            const char **value)
{
    const char *equals = strchr (word, '=');
    size_t len = strlen (word);

    *value = NULL;
    if (strncmp (word, "--", 2) != 0)
        return len == 2 ? find_letter (command, word[1]) : NULL;
    if (equals) {
        *value = equals + 1;
        len = (size_t) (equals - word);
    }
    return find_long (command, (struct dn_span){word + 2, len - 2});
}

/* --- the words before the last one ----------------------------------------------- */

static void take_word (struct place *place, const char *word, struct dn_answer *answer)
{
    const char *value;

    if (place->option) {
        dn_options_take_path (answer->given, place->option->name, word);
        place->option = NULL;
        return;
    }
    if (place->ended || word[0] != '-' || word[1] == '\0'
        || (place->command->guest_options && place->n_arguments > 0)) {
        place->n_arguments++;
        return;
    }
    if (strcmp (word, "--") == 0) {
        place->ended = true;
        place->n_before_end = place->n_arguments;
        return;
    }
    place->option = find_option (place->command, word, &value);
    if (value && place->option)
        dn_options_take_path (answer->given, place->option->name, value);
    if (value || !needs_argument (place->option))
        place->option = NULL;
}

/* --- what the last word may be --------------------------------------------------- */

/* Does the name of an argument end like the name of a file: "CONFIG.json"? */
static bool has_suffix (struct dn_span part)
{
    return memchr (part.text, '.', part.len) != NULL;
}

/* Is the part a word, and not the name of something? */
static bool is_word (struct dn_span part)
{
    for (size_t i = 0; i < part.len; i++)
        if (part.text[i] != dn_lower (part.text[i]))
            return false;
    return part.len > 1;
}

static void answer_word (struct dn_answer *answer, struct dn_span part)
{
    char text[DN_NAME_MAX];

    if (dn_span_copy (part, text, sizeof (text), "word", NULL) == 0)
        dn_answer_offer (answer, text, "", NULL);
}

/* A note may be a file without '@', too; both are looked for at the same place. */
static void answer_metadata (struct dn_answer *answer, bool file)
{
    bool path = answer->end[0] == '/' || answer->end[0] == '.';

    if (file && (path || !strpbrk (answer->end, "=@")))
        answer->flags[DN_ANSWER_FILES] = true;
    if (!path)
        dn_metadata_words_of_note (answer);
}

/* Answer by the name of an argument: "yes|no", "SPEC|FILE.json", "[TYPE:]N". */
static void answer_kind (struct dn_answer *answer, struct dn_span kind)
{
    static const char *const files[] = {
        "FILE", "PATH", "SCRIPT", "RECORDS", "ARGUMENT", NULL};
    bool file = false;
    bool metadata = false;

    while (kind.text) {
        struct dn_span part = dn_span_cut (&kind, "|");

        for (int i = 0; files[i]; i++)
            file = file || dn_span_is (part, files[i]);
        file = file || has_suffix (part);
        metadata = metadata || dn_span_is (part, "SPEC");
        if (is_word (part))
            answer_word (answer, part);
        else if (dn_span_is (part, "DIR") || dn_span_is (part, "BUNDLE"))
            answer->flags[DN_ANSWER_DIRECTORIES] = true;
        else if (dn_span_is (part, "COMMAND"))
            answer->flags[DN_ANSWER_COMMANDS] = true;
    }
    if (metadata)
        answer_metadata (answer, file);
    else if (file)
        answer->flags[DN_ANSWER_FILES] = true;
}

/* The argument of --dnnest=. */
static void answer_note (struct dn_answer *answer)
{
    bool begins = !strpbrk (answer->end, ",=@");

    answer_metadata (answer, true);
    if (!begins)
        return;
    dn_answer_offer (answer, "off", "", "leave this job unchanged");
    dn_answer_offer (answer, "help", "", "how to describe a job");
}

/* The row of a command for the option of that name, or for its arguments (NULL). */
static const struct dn_option_words *find_words (const struct dn_command *command,
                                                 const char *option)
{
    const struct dn_option_words *row = command->words;

    for (; row && row->source != DN_WORDS_END; row++)
        if (row->option && option ? strcmp (row->option, option) == 0
                                  : row->option == option)
            return row;
    return NULL;
}

static void answer_words (struct dn_answer *answer, const struct dn_option_words *row)
{
    if (row->source == DN_WORDS_NAMES)
        dn_answer_offer_names (answer, row->names);
    else if (row->source == DN_WORDS_DEVICES)
        dn_device_words (answer, "");
    else
        dn_network_words (answer);
}

static void answer_argument_of (struct dn_answer *answer,
                                const struct dn_command *command,
                                const struct dn_option *option)
{
    const struct dn_option_words *row = find_words (command, option->name);
    struct dn_span kind = dn_span_of (option->argument);

    if (row)
        answer_words (answer, row);
    else if (strcmp (option->name, "gpu") == 0)
        dn_device_words (answer, "");
    else if (strcmp (option->name, "user") == 0)
        answer->flags[DN_ANSWER_USERS] = true;
    else if (option == &dn_sbatch_options[DN_SBATCH_DNNEST])
        answer_note (answer);
    else if (option == &dn_sbatch_options[DN_SBATCH_COMMENT])
        dn_metadata_words_of_comment (answer);
    else if (dn_span_is (kind, "KEY=VALUE"))
        dn_rule_words (answer);
    else if (dn_span_is (kind, "[TYPE:]N")) {
        answer->flags[DN_ANSWER_NOSPACE] = true;
        dn_device_words (answer, ":");
    } else {
        if (dn_option_is_optional (option)) { /* "[=WHEN]" */
            kind.text += 2;
            kind.len -= 3;
        }
        answer_kind (answer, kind);
    }
}

/* Every option, as it would be written: "--gpu=", "--json". */
static void answer_options (struct dn_answer *answer, const struct dn_command *command)
{
    for (int i = 0; i < N_TABLES; i++) {
        const struct dn_option *row = table_at (command, i);

        for (; row && row->name; row++) {
            char text[DN_NAME_MAX];
            struct dn_buf buf = dn_buf_on (text, sizeof (text));

            dn_buf_add (&buf, "--%s", row->name);
            if (!row->help)
                continue;
            if (!needs_argument (row))
                dn_answer_offer (answer, text, "", row->help);
            if (row->argument)
                dn_answer_offer (answer, text, "=", row->help);
        }
    }
}

/* The next word of a usage line without its brackets: "[ARGUMENT]..." is "ARGUMENT",
 * and '*repeated'.
 */
static struct dn_span next_argument (struct dn_span *usage, bool *repeated)
{
    struct dn_span word = dn_span_cut (usage, " ");

    *repeated = false;
    while (word.len > 0 && strchr ("].", word.text[word.len - 1])) {
        *repeated = *repeated || word.text[word.len - 1] == '.';
        word.len--;
    }
    while (word.len > 0 && word.text[0] == '[') {
        word.text++;
        word.len--;
    }
    return word;
}

/* Answer by one form of the usage line: "SPEC", "[CONFIG.json] [SPEC]", "[SPEC] --
 * COMMAND [ARGUMENT]...". Options of it take no place.
 */
static void answer_form (struct dn_answer *answer,
                         const struct place *place,
                         struct dn_span form)
{
    int at =
        place->ended ? place->n_arguments - place->n_before_end : place->n_arguments;
    bool ended = !place->ended || !memmem (form.text, form.len, "-- ", 3);
    bool repeated = false;

    while (form.text) {
        struct dn_span word = next_argument (&form, &repeated);
        const char *value;
        char text[DN_NAME_MAX];

        if (dn_span_is (word, "--")) {
            if (ended)
                return;
            ended = true;
        } else if (word.len > 2 && word.text[0] == '-'
                   && dn_span_copy (word, text, sizeof (text), "option", NULL) == 0) {
            if (needs_argument (find_option (place->command, text, &value)) && !value)
                next_argument (&form, &repeated);
        } else if (ended && word.len > 0 && (at-- == 0 || (repeated && at < 0))) {
            answer_kind (answer, word);
            return;
        }
    }
}

/* The next form of a usage line; they are separated by " | ". */
static struct dn_span next_form (struct dn_span *usage)
{
    struct dn_span form = *usage;
    const char *bar = form.len > 0 ? memmem (form.text, form.len, " | ", 3) : NULL;

    if (!bar) {
        *usage = (struct dn_span){NULL, 0};
        return form;
    }
    form.len = (size_t) (bar - form.text);
    *usage = (struct dn_span){bar + 3, usage->len - form.len - 3};
    return form;
}

static void answer_argument (struct dn_answer *answer, const struct place *place)
{
    const struct dn_option_words *row = find_words (place->command, NULL);
    struct dn_span usage = dn_span_of (place->command->arguments);
    int n = answer->n;

    if (row)
        answer_words (answer, row);
    while (usage.text) {
        struct dn_span form = next_form (&usage);

        answer_form (answer, place, form);
    }
    if (answer->n == n && answer->end[0] == '\0' && !place->ended
        && !answer->flags[DN_ANSWER_FILES])
        answer_options (answer, place->command);
}

/* --- whole lines ----------------------------------------------------------------- */

static void answer_command (struct dn_answer *answer,
                            const struct dn_command *const commands[])
{
    for (int i = 0; commands[i]; i++)
        dn_answer_offer (answer, commands[i]->name, "", commands[i]->summary);
    if (answer->end[0] != '-')
        return;
    dn_answer_offer (answer, "--help", "", NULL);
    dn_answer_offer (answer, "--version", "", NULL);
}

static const struct dn_command *find_command (const struct dn_command *const commands[],
                                              const char *name)
{
    for (int i = 0; commands[i]; i++)
        if (strcmp (commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static const char help_word[] = "help";

/* Does a word of the line begin an option there? */
static bool may_be_option (const struct place *place)
{
    return !place->ended && (!place->command->guest_options || place->n_arguments == 0);
}

void dn_line_words (const struct dn_line *line,
                    const struct dn_command *const commands[],
                    struct dn_answer *answer)
{
    struct place place = {.option = NULL};
    const struct dn_option *option;
    const char *value;

    if (line->n == 2 || (line->n == 3 && strcmp (line->words[1], help_word) == 0))
        answer_command (answer, commands);
    if (line->n == 2) {
        dn_answer_offer (answer, help_word, "", "print the help of a command");
        return;
    }
    place.command = find_command (commands, line->words[1]);
    if (!place.command)
        return;
    for (int i = 2; i < line->n - 1; i++)
        take_word (&place, line->words[i], answer);
    if (place.option) {
        answer_argument_of (answer, place.command, place.option);
        return;
    }
    if (answer->word[0] != '-' || !may_be_option (&place)) {
        answer_argument (answer, &place);
        return;
    }
    option = find_option (place.command, answer->word, &value);
    if (!value) {
        answer_options (answer, place.command);
        return;
    }
    answer->end = value;
    if (option && option->argument)
        answer_argument_of (answer, place.command, option);
}

/* sbatch, salloc and srun have the options of sbatch here. */
static const struct dn_command slurm_command = {.options = dn_sbatch_options};

/* The option of a word, if it carries metadata; else NULL. */
static const struct dn_option *find_carrier (const char *word, const char **value)
{
    const struct dn_option *option = find_option (&slurm_command, word, value);

    return option
                   && (option == &dn_sbatch_options[DN_SBATCH_COMMENT]
                       || option == &dn_sbatch_options[DN_SBATCH_DNNEST])
               ? option
               : NULL;
}

void dn_slurm_line_words (const struct dn_line *line, struct dn_answer *answer)
{
    const char *before = line->n > 2 ? line->words[line->n - 2] : "";
    const char *value;
    const struct dn_option *option = find_carrier (before, &value);

    if (option && !value) {
        answer_argument_of (answer, &slurm_command, option);
        return;
    }
    option = find_carrier (answer->word, &value);
    if (option && value) {
        answer->end = value;
        answer_argument_of (answer, &slurm_command, option);
        return;
    }
    answer->flags[DN_ANSWER_OPEN] = true;
    if (strncmp (answer->word, "--", 2) == 0 && answer->word[2] != '\0') {
        answer->flags[DN_ANSWER_NOSPACE] = true;
        dn_answer_offer (
            answer, "--dnnest", "=", dn_sbatch_options[DN_SBATCH_DNNEST].help);
    }
}
